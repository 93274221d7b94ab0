/* board/command/bridge.c - boreside bridge: other protocols' clients in front of a service */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "board/command/command.h"
#include "core/log.h"
#include "core/memory/pools.h"
#include "drivers/bridge/server.h"
#include "ipc/wire/wire.h"

#define NICE 5 /* niceness of the bridge: it yields to everything that a scan needs */

struct request {
	const char *which, *config;
	uint32_t parent, report;
};

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPERAND, 0, NULL, "mrd", AT(which), .help = "which bridge: mrd", .required = true },
	{ BS_OPTION_TEXT, 'c', "config", "FILE", AT(config),
	  .help = "the site file: its bridges and endpoints", .required = true },
	{ BS_OPTION_U32, 0, "parent", "PID", AT(parent),
	  .help = "ends with this process, as the service starts it (0: none)" },
	{ BS_OPTION_U32, 0, "report", "FD", AT(report),
	  .help = "a pipe that takes what the status shows of the clients, likewise (0: none)" },
	{ 0 },
};

/* Bytes of the largest acquisition that the service takes and of the largest image message. */
static int measure(const struct bs_site *site, uint64_t *acquisition, uint64_t *image,
		   struct bs_fail *why)
{
	struct bs_pools pools;
	const int rc = bs_pools_size(&pools, site, why);

	*acquisition = bs_wire_kspace_max(pools.acq_bytes) - BS_WIRE_BYTES;
	*image = pools.image_bytes + 4096; /* a STORED message adds less than this to an image */
	return rc;
}

static int serve_clients(const struct bs_site *site, uint32_t report)
{
	const volatile sig_atomic_t *stop = bs_command_stop();
	struct bs_server server = { .listen_fd = -1 };
	struct bs_fail why = { 0 };
	uint64_t acquisition;
	uint64_t image;
	int rc = measure(site, &acquisition, &image, &why);

	if (rc == 0)
		rc = bs_server_open(&server, site, acquisition, image, &why);
	if (rc == 0)
		rc = bs_server_run(&server, stop, (int)report, &why);
	if (rc != 0)
		bs_log(BS_LOG_ERROR, "%s: %s", bs_err_name(rc), why.text);
	bs_server_close(&server);
	return rc == 0 ? 0 : 1;
}

static int run_bridge(void *request)
{
	struct request *q = request;
	struct bs_site *site;
	int rc;

	if (strcmp(q->which, "mrd") != 0)
		return bs_options_wrong("no bridge '%s': mrd", q->which);
	(void)signal(SIGPIPE, SIG_IGN);
	if (q->parent != 0 && !bs_command_child(q->parent))
		return 1;
	(void)prctl(PR_SET_NAME, "bs-mrd");
	if (nice(NICE) == -1)
		bs_log(BS_LOG_DEBUG, "nice: not changed");
	site = bs_command_site(q->config);
	if (site == NULL)
		return 1;
	bs_command_log_as(site, "mrd");
	if (site->mrd.listen[0] == '\0')
		rc = bs_command_fail("%s: bridges.mrd.listen is not given", q->config);
	else
		rc = serve_clients(site, q->report);
	free(site);
	return rc;
}

const struct bs_command bs_command_bridge = {
	.name = "bridge",
	.summary = "MRD clients over TCP in front of a running service",
	.options = options,
	.notes =
		"`boreside serve` starts it where the site file has bridges.mrd.listen, and starts "
		"it again when it ends. board/doc/BRIDGES.md says how clients are pointed at it.",
	.request = &(struct request){ 0 },
	.run = run_bridge,
};

/* board/command/status.c - boreside status: asks a running service what it is doing */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "board/command/command.h"
#include "board/status/status.h"
#include "config/config.h"
#include "core/thread/clock.h"
#include "ipc/endpoint.h"

#define DEFAULT_URL "ipc:///run/boreside/status.ipc"
#define WAIT_MS     3000

static void print_fault(void *arg, const char *line)
{
	(void)arg;
	(void)fprintf(stderr, "%s\n", line);
}

/* One question, one answer into reply (NUL-terminated). */
static int ask(const char *url, const char *what, char *reply, int wait_ms, struct bs_fail *why)
{
	struct bs_endpoint e;
	size_t len = 0;
	int rc = bs_endpoint_connect(&e, BS_ENDPOINT_STATUS_ASK, url, BS_STATUS_MAX, why);

	if (rc != 0)
		return rc;
	rc = bs_endpoint_send(&e, what, strlen(what), NULL, 0, wait_ms, why);
	if (rc == 0)
		rc = bs_endpoint_recv(&e, reply, BS_STATUS_MAX - 1, &len, wait_ms, why);
	bs_endpoint_close(&e);
	reply[rc == 0 ? len : 0] = '\0';
	return rc == 0 ? 0 : rc > 0 ? bs_fail(why, BS_ERR_TIMEOUT, "no service answers") : rc;
}

static int show(const char *url, const char *what)
{
	static char reply[BS_STATUS_MAX];
	struct bs_fail why = { 0 };

	if (ask(url, what, reply, WAIT_MS, &why) != 0) {
		(void)fprintf(stderr, "boreside status: %s: %s\n", url, why.text);
		return 1;
	}
	(void)fputs(reply, stdout);
	return 0;
}

/* Until every worker is ready: what a script needs between `serve` and the first scan. */
static int wait_ready(const char *url, double seconds)
{
	static char reply[BS_STATUS_MAX];
	int64_t until_ns = bs_now_ns() + (int64_t)(seconds * 1e9);
	const struct timespec pause = { 0, 20000000 };
	struct bs_fail why = { 0 };

	do {
		if (ask(url, "ready", reply, 500, &why) == 0 && strcmp(reply, "yes\n") == 0)
			return 0;
		(void)nanosleep(&pause, NULL);
	} while (bs_now_ns() < until_ns);
	(void)fprintf(stderr, "boreside status: %s: not ready after %g s\n", url, seconds);
	return 1;
}

int bs_cmd_status(int argc, char **argv)
{
	const char *file = NULL;
	bool json = false;
	bool latency = false;
	const char *url = DEFAULT_URL;
	const char *what;
	double wait_s = -1.0;
	struct bs_site *site = NULL;
	int status = 1;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			json = true;
		} else if (strcmp(argv[i], "--latency") == 0) {
			latency = true;
		} else if (strcmp(argv[i], "-c") == 0 && i + 1 < argc) {
			file = argv[++i];
		} else if (strcmp(argv[i], "--wait") == 0 && i + 1 < argc) {
			char *end;

			wait_s = strtod(argv[++i], &end);
			if (end == argv[i] || *end != '\0' || !(wait_s >= 0.0)) {
				(void)fprintf(stderr, "boreside status: --wait %s: seconds\n",
					      argv[i]);
				return 2;
			}
		} else {
			(void)fprintf(
				stderr,
				"usage: boreside status [-c FILE] [--latency] [--json] | --wait SECONDS\n"
				"  --latency: each protocol's stages and whole images, misses, stalls of the "
				"machine\n"
				"  --wait: say nothing, end with 0 once the service is ready\n");
			return 2;
		}
	}
	if (file != NULL) {
		site = malloc(sizeof(*site));
		if (site == NULL || bs_config_load(site, file, print_fault, NULL) != 0)
			goto out;
		url = site->status_url;
	}
	what = latency ? (json ? "latency.json" : "latency") : (json ? "json" : "text");
	status = wait_s >= 0.0 ? wait_ready(url, wait_s) : show(url, what);
out:
	free(site);
	return status;
}

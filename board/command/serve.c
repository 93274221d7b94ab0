/* board/command/serve.c - boreside serve: the service, in the foreground */
#include <stdlib.h>

#include "board/command/command.h"
#include "board/service/supervisor.h"
#include "config/config.h"
#include "core/log.h"

struct request {
	const char *config;
};

static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", offsetof(struct request, config),
	  .help = "the site file", .required = true },
	{ 0 },
};

static void log_fault(void *arg, const char *line)
{
	(void)arg;
	bs_log(BS_LOG_ERROR, "%s", line);
}

static int run_serve(void *request)
{
	struct request *q = request;
	struct bs_site *site;
	int status;

	site = malloc(sizeof(*site));
	if (site == NULL)
		return bs_command_fail("no memory for the site file");
	status = 1;
	bs_log_init("serve", BS_LOG_INFO);
	if (bs_config_load(site, q->config, log_fault, NULL) == 0) {
		bs_command_log_as(site, "serve");
		status = bs_supervisor_run(site);
	}
	free(site);
	return status;
}

const struct bs_command bs_command_serve = {
	.name = "serve",
	.summary = "the service, in the foreground",
	.options = options,
	.request = &(struct request){ 0 },
	.run = run_serve,
};

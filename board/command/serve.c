/* board/command/serve.c - boreside serve -c FILE: the service, in the foreground */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/command/command.h"
#include "board/service/supervisor.h"
#include "config/config.h"
#include "core/log.h"

static void print_fault(void *arg, const char *line)
{
	(void)arg;
	bs_log(BS_LOG_ERROR, "%s", line);
}

int bs_cmd_serve(int argc, char **argv)
{
	struct bs_site *site;
	int status = 1;

	if (argc != 3 || strcmp(argv[1], "-c") != 0) {
		(void)fprintf(stderr, "usage: boreside serve -c FILE\n");
		return 2;
	}
	site = malloc(sizeof(*site));
	if (site == NULL)
		return 1;
	bs_log_init("serve", BS_LOG_INFO);
	if (bs_config_load(site, argv[2], print_fault, NULL) == 0) {
		bs_log_init("serve", (enum bs_log_level)site->log_level);
		status = bs_supervisor_run(site);
	}
	free(site);
	return status;
}

/* board/main.c - the one binary: finds the subcommand and runs it */
#include "board/command/command.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "check", bs_cmd_check,
	  "[--measure] FILE | --keys   is a site file valid; its memory plan and budgets" },
	{ "recon", bs_cmd_recon,
	  "-c FILE [-p PROTOCOL] RECORDING -o OUT   the pipeline in one process" },
	{ "compare", bs_cmd_compare,
	  "A B                  percent error, NRMSE after optimal scaling, PSNR" },
	{ "serve", bs_cmd_serve, "-c FILE              the service, in the foreground" },
	{ "status", bs_cmd_status,
	  "[-c FILE] [--latency] [--json]   what a running service is doing" },
	{ "phantom", bs_cmd_phantom,
	  "[options] -o RECORDING   a simulated scan and its true image" },
	{ "replay", bs_cmd_replay,
	  "[options] RECORDING    act as the scanner: stream a recording to the service" },
	{ "arm", bs_cmd_arm,
	  "-c FILE [-p PROTOCOL]    computes what arming needs ahead of time: Q into the cache" },
	{ "prior", bs_cmd_prior,
	  "[options] -o W.mtx REFERENCE...   an anatomical constraint for ls" },
	{ "tune", bs_cmd_tune, "-c FILE -p PROTOCOL [options]   noise and resolution over lambda" },
	{ "certify", bs_cmd_certify,
	  "-c FILE -p PROTOCOL [options] RECORDING   does the budget hold on this machine" },
	{ "version", bs_cmd_version,
	  "                     the release and what it was built with" },
	{ "worker", bs_cmd_worker, NULL }, /* the service's own */
};

static int usage(FILE *to, int status)
{
	(void)fprintf(to, "usage: boreside COMMAND [options]\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].help != NULL)
			(void)fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
	return status;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage(stderr, 2);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return usage(stdout, 0);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	(void)fprintf(stderr, "boreside: no command '%s'\n", argv[1]);
	return usage(stderr, 2);
}

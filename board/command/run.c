/* board/command/run.c - finds the command and runs it; see command.h */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "board/command/command.h"
#include "board/service/worker.h"
#include "config/hint/near.h"

static int help(const struct bs_command *const *list)
{
	(void)printf("usage: boreside COMMAND [options]\n");
	for (size_t i = 0; list[i] != NULL; i++)
		(void)printf("  %-10s %s\n", list[i]->name, list[i]->summary);
	(void)printf("boreside help COMMAND: its options, with their defaults in parentheses\n");
	return 0;
}

static const struct bs_command *find_command(const struct bs_command *const *list, const char *name)
{
	struct bs_near near;
	char hint[BS_NEAR_HINT];

	for (size_t i = 0; list[i] != NULL; i++)
		if (strcmp(name, list[i]->name) == 0)
			return list[i];
	bs_near_begin(&near, name);
	for (size_t i = 0; list[i] != NULL; i++)
		bs_near_offer(&near, list[i]->name);
	(void)fprintf(stderr, "boreside: no command '%s'%s; see 'boreside help'\n", name,
		      bs_near_hint(&near, hint));
	return NULL;
}

int bs_command_run(const struct bs_command *const *list, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct bs_command *c;

	(void)signal(SIGXFSZ, SIG_IGN); /* a limit of files' sizes is a full disk (EFBIG) */
	if (argc < 2) {
		(void)fprintf(stderr, "boreside: COMMAND is missing; see 'boreside help'\n");
		return 2;
	}
	if (strcmp(name, "worker") == 0) /* the supervisor alone runs workers */
		return bs_worker_main(argc - 1, argv + 1);
	if (strcmp(name, "help") == 0 && argc > 2) {
		c = find_command(list, argv[2]);
		return c != NULL ? bs_options_help(c) : 2;
	}
	if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return help(list);
	c = find_command(list, strcmp(name, "--version") == 0 ? "version" : name);
	return c != NULL ? bs_options_run(c, argc - 1, argv + 1) : 2;
}

int bs_command_said(int status)
{
	errno = 0;
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return status;
	/* an earlier write's error may have been that of a command */
	(void)fprintf(stderr, "boreside: not all was printed%s%s\n", errno != 0 ? ": " : "",
		      errno != 0 ? strerror(errno) : "");
	return status != 0 ? status : 1;
}

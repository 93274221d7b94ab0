/* board/main.c - the program: finds the command and runs it */
#include <stdio.h>
#include <string.h>

#include "board/command/command.h"
#include "board/service/worker.h"
#include "config/hint/near.h"

static const struct bs_command *const commands[] = {
	&bs_command_init,   &bs_command_doctor,  &bs_command_serve,   &bs_command_check,
	&bs_command_replay, &bs_command_status,  &bs_command_certify, &bs_command_recon,
	&bs_command_arm,    &bs_command_phantom, &bs_command_compare, &bs_command_prior,
	&bs_command_tune,   &bs_command_delays,  &bs_command_record,  &bs_command_receive,
	&bs_command_log,    &bs_command_drain,   &bs_command_reload,  &bs_command_bridge,
	&bs_command_web,    &bs_command_key,     &bs_command_version,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int help(void)
{
	(void)printf("usage: boreside COMMAND [options]\n");
	for (size_t i = 0; i < COMMANDS; i++)
		(void)printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	(void)printf("boreside help COMMAND: its options, with their defaults in parentheses\n");
	return 0;
}

static const struct bs_command *find(const char *name)
{
	struct bs_near near;
	char hint[BS_NEAR_HINT];

	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(name, commands[i]->name) == 0)
			return commands[i];
	bs_near_begin(&near, name);
	for (size_t i = 0; i < COMMANDS; i++)
		bs_near_offer(&near, commands[i]->name);
	(void)fprintf(stderr, "boreside: no command '%s'%s; see 'boreside help'\n", name,
		      bs_near_hint(&near, hint));
	return NULL;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct bs_command *c;

	if (argc < 2) {
		(void)fprintf(stderr, "boreside: COMMAND is missing; see 'boreside help'\n");
		return 2;
	}
	if (strcmp(name, "worker") == 0) /* the supervisor's own */
		return bs_worker_main(argc - 1, argv + 1);
	if (strcmp(name, "help") == 0 && argc > 2) {
		c = find(argv[2]);
		return c != NULL ? bs_options_help(c) : 2;
	}
	if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return help();
	c = find(strcmp(name, "--version") == 0 ? "version" : name);
	return c != NULL ? c->run(argc - 1, argv + 1) : 2;
}

/* board/main.c - the daemon alone: what a scan needs, without the tools (make lean) */
#include <stddef.h>

#include "board/command/command.h"

static const struct bs_command *const commands[] = {
	&bs_command_serve,   &bs_command_check,
	&bs_command_status,  &bs_command_drain,
	&bs_command_reload,  &bs_command_bridge,
	&bs_command_web,     &bs_command_key,
	&bs_command_version, NULL,
};

int main(int argc, char **argv)
{
	return bs_command_said(bs_command_run(commands, argc, argv));
}

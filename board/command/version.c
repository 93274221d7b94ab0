/* board/command/version.c - boreside version: the release and what this binary was built with */
#include "board/command/command.h"

#include <stdio.h>

int bs_cmd_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)printf("boreside 0.1, CUDA %s, compiler %s\n", BS_GPU ? "built in" : "not built in",
		     __VERSION__);
	return 0;
}

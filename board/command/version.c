/* board/command/version.c - boreside version: the release and what this binary was built with */
#include <stdio.h>

#include "board/command/command.h"
#include "core/version.h"

static int run_version(void *request)
{
	(void)request;
	(void)printf("boreside %s, CUDA %s, compiler %s\n", BS_VERSION,
		     BS_GPU ? "built in" : "not built in", __VERSION__);
	return 0;
}

const struct bs_command bs_command_version = {
	.name = "version",
	.summary = "the release and what it was built with",
	.run = run_version,
};

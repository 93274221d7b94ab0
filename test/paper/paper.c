/* test/paper/paper.c - the program paper: the experiments and optimizations of the two papers */
#include "test/paper/paper.h"

#include <stdio.h>
#include <string.h>

static const char usage_text[] =
	"usage: paper reproduce [--small] [--only 2008|2007|echoes] -o FOLDER\n"
	"       paper ladder [options]   the papers' optimizations, timed on this GPU\n";

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	if (strcmp(word, "reproduce") == 0)
		return bs_paper_reproduce(argc - 1, argv + 1);
	if (strcmp(word, "ladder") == 0)
		return bs_paper_ladder(argc - 1, argv + 1);
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		(void)fputs(usage_text, stdout);
		return 0;
	}
	(void)fprintf(stderr, "paper: no command '%s'; paper --help lists them\n", word);
	return 2;
}

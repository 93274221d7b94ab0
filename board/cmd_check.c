/* board/cmd_check.c - boreside check: is a site file valid, and what memory will it take */
#include "board/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/memplan.h"
#include "config/config.h"

static void print_fault(void *arg, const char *line)
{
	(void)fprintf(arg, "%s\n", line);
}

/* The plan is printed as comments behind the resolved site file, which stays a valid one. */
static int check(const char *path, struct bs_site *site, struct bs_memplan *plan)
{
	int rc = 0;

	if (bs_config_load(site, path, print_fault, stderr) != 0)
		return 1;
	rc = bs_memplan_make(plan, site, print_fault, stderr);
	(void)printf("# %s, as resolved\n", site->file);
	bs_config_print(stdout, site);
	(void)printf("#\n");
	bs_memplan_print(stdout, plan, site, "# ");
	return rc != 0;
}

int bs_cmd_check(int argc, char **argv)
{
	struct bs_site *site = NULL;
	struct bs_memplan *plan = NULL;
	int rc = 1;

	if (argc == 2 && strcmp(argv[1], "--keys") == 0) {
		bs_config_print_keys(stdout);
		return 0;
	}
	if (argc != 2 || argv[1][0] == '-') {
		(void)fprintf(stderr, "usage: boreside check FILE | --keys\n");
		return 2;
	}
	site = malloc(sizeof(*site));
	plan = malloc(sizeof(*plan));
	if (site == NULL || plan == NULL)
		(void)fprintf(stderr, "boreside check: no memory\n");
	else
		rc = check(argv[1], site, plan);
	free(plan);
	free(site);
	return rc;
}

/* board/cmd_check.c - boreside check: is a site file valid, and what memory will it take */
#include "board/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/pools.h"

static void print_fault(void *arg, const char *line)
{
	(void)fprintf(arg, "%s\n", line);
}

static void print_pool(const char *what, uint64_t slots, uint64_t bytes)
{
	(void)printf("#   %-28s %8llu x %12llu = %14llu bytes\n", what, (unsigned long long)slots,
		     (unsigned long long)bytes, (unsigned long long)(slots * bytes));
}

/* The plan is printed as comments behind the resolved site file, which stays a valid one. */
static int print_plan(const struct bs_site *site)
{
	struct bs_pools pools;
	struct bs_fail why;

	if (bs_pools_size(&pools, site, &why) != 0) {
		(void)fprintf(stderr, "%s: %s\n", site->file, why.text);
		return 1;
	}
	(void)printf("#\n# Memory plan\n# shared by ingest, recon and emit:\n");
	print_pool("acquisition slots", pools.acq_slots, pools.acq_bytes);
	print_pool("image slots", pools.image_slots, pools.image_bytes);
	(void)printf("#   total %llu bytes of %u MiB\n", (unsigned long long)pools.total_bytes,
		     site->memory_mib);
	return 0;
}

int bs_cmd_check(int argc, char **argv)
{
	struct bs_site *site = NULL;
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
	if (site == NULL) {
		(void)fprintf(stderr, "boreside check: no memory\n");
		return 1;
	}
	if (bs_config_load(site, argv[1], print_fault, stderr) == 0) {
		(void)printf("# %s, as resolved\n", site->file);
		bs_config_print(stdout, site);
		rc = print_plan(site);
	}
	free(site);
	return rc;
}

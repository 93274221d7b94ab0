/* test/bench/ls_gpu.c - the least-squares operators on the GPU, as a Markdown table */
#include <stdio.h>
#include <string.h>

#if BS_GPU
#include "test/bench/gpu.h"
#include "gpu/device/memory.h"

static int wanted(void *arg, const char *name)
{
	return arg == NULL || strstr(name, arg) != NULL;
}

static void print_row(void *arg, const struct bs_gpu_row *r)
{
	char error[32] = "";

	(void)arg;
	if (r->error >= 0.0)
		(void)snprintf(error, sizeof(error), "%.1e", r->error);
	printf("| %-46s | %9.4f | %9.4f | %9.4f | %6.2f | %8s | %s, median of %d |\n", r->name,
	       r->median_ms, r->min_ms, r->floor_ms, r->median_ms / r->floor_ms, error, r->detail,
	       r->n);
	(void)fflush(stdout);
}
#endif

int main(int argc, char **argv)
{
#if BS_GPU
	struct bs_gpu_info gpu;
	struct bs_fail why;

	if (bs_gpu_probe(&gpu, &why) != 0) {
		(void)fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	printf("%s, CUDA driver %u.%u\n\n", gpu.name, gpu.driver / 1000, gpu.driver % 1000 / 10);
	printf("| work | median ms | least ms | floor ms | ratio | error | how |\n");
	printf("|---|---|---|---|---|---|---|\n");
	if (bs_bench_gpu_ls(wanted, print_row, argc > 1 ? argv[1] : NULL, &why) != 0) {
		(void)fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	return 0;
#else
	(void)argc;
	(void)argv;
	(void)fprintf(stderr, "built with GPU=0\n");
	return 1;
#endif
}

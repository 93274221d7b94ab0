/* test/bench/exact.cu - the exact sums at every setting that decides their time; see gpu.h */
#include "test/bench/sum.cuh"

#define FEW 5 /* times: many settings are tried */

/*
 * Every setting of one sum: samples of a chunk, parts of the voxels, the sums' place in the caches.
 */
static int exact_grid(struct bench *b, const char *name, struct problem *p, enum bs_exact_sum sum,
		      const uint32_t (&chunk)[5], const uint32_t (&parts)[3], float *out)
{
	struct bs_exact_cuda_spec how = exact_of(sum, BS_EXACT_SINGLE);
	int err = exact_row(b, name, p, &how, out);

	for (uint32_t n : parts)
		for (uint32_t c : chunk)
			for (uint32_t stream = 1; stream <= 2 && n > 0 && c > 0 && err == 0;
			     stream++) {
				how.parts = n;
				how.chunk = c;
				how.stream = stream;
				err = exact_row(b, name, p, &how, out);
			}
	return err;
}

static int bench_exact(struct bench *b)
{
	static const struct {
		const char *name;
		uint32_t n, coils;
		uint64_t samples;
		enum bs_exact_sum sum;
		uint32_t chunk[5], parts[3]; /* 0: none */
	} rows[] = {
		{ "gpu tune exact Q 128^3 (256^3) x 284592",
		  128,
		  1,
		  284592,
		  BS_EXACT_Q,
		  { 4096, 10752, 16384, 32768, 65536 },
		  { 1, 2, 4 } },
		{ "gpu tune exact F^H d 128^3 x 284592",
		  128,
		  1,
		  284592,
		  BS_EXACT_FHD,
		  { 4096, 8192, 16384, 32768, 65536 },
		  { 1 } },
		{ "gpu tune exact F^H d 128^3 x 35584, 8 coils",
		  128,
		  8,
		  35584,
		  BS_EXACT_FHD,
		  { 3584, 7168, 17920 },
		  { 1, 4 } },
		{ "gpu tune exact F^H d 64^3 x 3200000",
		  64,
		  1,
		  3200000,
		  BS_EXACT_FHD,
		  { 8192, 16384, 32768, 65536, 131072 },
		  { 1 } },
	};
	int err = 0;

	b->runs = FEW;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && err == 0; i++) {
		const uint32_t n = rows[i].n;
		struct problem p;
		float *q = NULL;

		if (!asked(b, rows[i].name))
			continue;
		err = open_problem(&p, 3, n, n, n, rows[i].coils, rows[i].samples, b->why);
		if (err == 0 && rows[i].sum == BS_EXACT_Q)
			BS_CUDA_GO(cudaMalloc(&q, 4 * p.voxels * sizeof(float2)), b->why, err, out);
		if (err == 0)
			err = exact_grid(b, rows[i].name, &p, rows[i].sum, rows[i].chunk,
					 rows[i].parts, q != NULL ? q : p.image);
	out:
		(void)cudaFree(q);
		close_problem(&p);
	}
	return err;
}

int bs_bench_gpu_exact(int (*wanted)(void *arg, const char *name),
		       void (*row)(void *arg, const struct bs_gpu_row *r), void *arg,
		       struct bs_fail *why)
{
	struct bench b;
	int err = open_bench(&b, wanted, row, arg, why);

	if (err == 0)
		err = bench_exact(&b);
	bs_stopwatch_close(&b.watch);
	return err;
}

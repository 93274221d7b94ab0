/*
 * test/bench/cg.cu - conjugate gradients on 2D images, a solve as one graph; see gpu.h
 *
 * Q is a bell, so that the matrix is positive, and a hundredth of the identity is added to it, or
 * of W^H W; right-hand sides and maps are random. An iteration's time is the difference of solves
 * of twenty and of ten, a tenth of it.
 */
#include "test/bench/gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/protocol.h"
#include "gpu/device/check.h"
#include "gpu/solve/pcg_cuda.h"
#include "test/bench/repeat.cuh"

#define RUNS 20
#define TEN  10u

struct solver {
	struct bs_toeplitz_spec spec;
	bool sense, w;
	struct bs_devmem mem;
	struct bs_toeplitz_cuda *normal;
	struct bs_csr_cuda gram;
	struct bs_pcg_cuda *pcg;
	float *q, *maps, *b, *x;
	uint32_t iterations;
	struct bs_stopwatch watch;
};

static int run_solve(void *self, cudaStream_t stream, struct bs_fail *why)
{
	struct solver *s = (struct solver *)self;

	return bs_pcg_cuda_queue(s->pcg, s->iterations, stream, why);
}

static int bell(float *q, const uint32_t n[3], struct bs_fail *why)
{
	const size_t count = (size_t)n[0] * 2 * n[1];
	float2 *host = (float2 *)calloc(count, sizeof(*host));
	cudaError_t e;

	if (host == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "bench");
	for (size_t i = 0; i < count; i++) {
		const double x = (double)(i % n[0]);
		const double y = (double)(i / n[0]) - (i / n[0] < n[1] ? 0.0 : 2.0 * n[1]);

		host[i].x = (float)exp(-(x * x + y * y) / 8.0);
	}
	e = cudaMemcpy(q, host, count * sizeof(*host), cudaMemcpyHostToDevice);
	free(host);
	BS_CUDA(e, why);
	return 0;
}

static int open_inputs(struct solver *s, struct bs_fail *why)
{
	const size_t voxels = (size_t)s->spec.matrix[0] * s->spec.matrix[1];
	const size_t all = voxels * s->spec.coils * 2;
	int err;

	BS_CUDA(cudaMalloc(&s->q, voxels * 16), why);
	BS_CUDA(cudaMalloc(&s->maps, all * 4), why);
	BS_CUDA(cudaMalloc(&s->b, all * 4), why);
	BS_CUDA(cudaMalloc(&s->x, all * 4), why);
	err = bell(s->q, s->spec.matrix, why);
	if (err == 0)
		err = bs_stopwatch_fill(s->maps, all, 5, why);
	return err != 0 ? err : bs_stopwatch_fill(s->b, all, 6, why);
}

static int make_gram(struct bs_csr *gram, const uint32_t n[3], struct bs_fail *why)
{
	struct bs_csr w;
	int err;

	memset(&w, 0, sizeof(w));
	err = bs_bench_w(&w, n, why);
	if (err == 0)
		err = bs_csr_gram(gram, &w, UINT64_MAX, why);
	bs_csr_close(&w);
	return err;
}

static int open_solver(struct solver *s, struct bs_fail *why)
{
	struct bs_pcg_cuda_spec cg;
	struct bs_pcg_cuda_system system;
	struct bs_csr gram;
	uint64_t bytes[3] = { 0, 0, 0 };
	int err = open_inputs(s, why);

	memset(&gram, 0, sizeof(gram));
	memset(&cg, 0, sizeof(cg));
	memset(&system, 0, sizeof(system));
	cg.voxels = (uint64_t)s->spec.matrix[0] * s->spec.matrix[1];
	cg.iterations = s->iterations;
	cg.images = s->sense ? 1 : s->spec.coils;
	if (err == 0)
		err = bs_toeplitz_cuda_need(&s->spec, &bytes[0], why);
	if (err == 0)
		err = bs_pcg_cuda_need(&cg, &bytes[1], why);
	if (err == 0 && s->w)
		err = make_gram(&gram, s->spec.matrix, why);
	if (err == 0 && s->w)
		bytes[2] = bs_csr_cuda_need(&gram, BS_CSR_PLAIN);
	if (err == 0)
		err = bs_devmem_open(&s->mem, bytes[0] + bytes[1] + bytes[2], "bench", why);
	if (err == 0)
		err = bs_toeplitz_cuda_plan(&s->normal, &s->spec, s->q, &s->mem, why);
	if (err == 0 && s->w)
		err = bs_csr_cuda_plan(&s->gram, &gram, BS_CSR_PLAIN, &s->mem, why);
	bs_csr_close(&gram);
	system.gram = s->w ? &s->gram : NULL;
	system.normal = s->normal;
	system.coils = s->spec.coils;
	system.maps = s->sense ? s->maps : NULL;
	system.mu = 0.01;
	system.b = s->b;
	system.x = s->x;
	if (err == 0)
		err = bs_pcg_cuda_plan(&s->pcg, &cg, &system, &s->mem, why);
	return err != 0 ? err : bs_stopwatch_open(&s->watch, why);
}

static void close_solver(struct solver *s)
{
	bs_stopwatch_close(&s->watch);
	bs_pcg_cuda_close(s->pcg);
	bs_toeplitz_cuda_close(s->normal);
	bs_devmem_close(&s->mem);
	(void)cudaFree(s->q);
	(void)cudaFree(s->maps);
	(void)cudaFree(s->b);
	(void)cudaFree(s->x);
}

/* The time of a solve of so many iterations, and the worst residual of its images. */
static int time_solve(const struct bs_toeplitz_spec *spec, bool sense, bool w, uint32_t iterations,
		      double *median, double *least, double *residual, struct bs_fail *why)
{
	struct bs_pcg_result result[BS_COILS_MAX];
	struct solver s;
	float ms[RUNS];
	int err;

	memset(&s, 0, sizeof(s));
	s.spec = *spec;
	s.sense = sense;
	s.w = w;
	s.iterations = iterations;
	err = open_solver(&s, why);
	if (err == 0)
		err = repeat_time(&s.watch, false, run_solve, &s, ms, RUNS, why);
	if (err == 0)
		err = bs_pcg_cuda_wait(s.pcg, s.watch.stream, result, why);
	for (uint32_t i = 0; err == 0 && i < (sense ? 1 : spec->coils); i++) {
		*residual = fmax(i > 0 ? *residual : 0.0, result[i].residual);
		if (result[i].iterations != iterations)
			err = bs_fail(why, BS_ERR_STATE, "bench: %u of %u iterations",
				      result[i].iterations, iterations);
	}
	*median = repeat_median(ms, RUNS);
	*least = (double)ms[0];
	close_solver(&s);
	return err;
}

int bs_bench_gpu_cg(int (*wanted)(void *arg, const char *name),
		    void (*write)(void *arg, const struct bs_gpu_row *r), void *arg,
		    struct bs_fail *why)
{
	static const struct {
		uint32_t n, coils;
		bool sense, w;
	} rows[] = {
		{ 128, 8, true, false },  { 192, 8, true, false },   { 256, 8, true, false },
		{ 256, 32, true, false }, { 320, 16, true, false },  { 256, 1, false, false },
		{ 256, 8, false, false }, { 320, 16, false, false }, { 256, 8, true, true },
		{ 256, 1, false, true },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && err == 0; i++) {
		struct bs_toeplitz_spec s;
		struct bs_gpu_row row;
		double residual = 0.0;
		double longer = 0.0;
		double unused = 0.0;
		char name[64];
		char detail[96];

		memset(&s, 0, sizeof(s));
		memset(&row, 0, sizeof(row));
		s.dims = 2;
		s.matrix[0] = s.matrix[1] = rows[i].n;
		s.matrix[2] = 1;
		s.coils = rows[i].coils;
		(void)snprintf(name, sizeof(name), "%s%s %u^2, %u coil%s, 10 iterations",
			       rows[i].sense ? "sense" : "ls", rows[i].w ? " with W" : "",
			       s.matrix[0], s.coils, s.coils == 1 ? "" : "s");
		if (!wanted(arg, name))
			continue;
		err = time_solve(&s, rows[i].sense, rows[i].w, 2 * TEN, &longer, &unused, &residual,
				 why);
		if (err == 0)
			err = time_solve(&s, rows[i].sense, rows[i].w, TEN, &row.seen.median_ms,
					 &row.min_ms, &residual, why);
		(void)snprintf(detail, sizeof(detail), "an iteration %.1f us; residual %.1e",
			       (longer - row.seen.median_ms) * 1e3 / TEN, residual);
		row.name = name;
		row.detail = detail;
		row.seen.error = -1.0;
		row.floor_ms = row.seen.median_ms;
		row.n = RUNS;
		if (err == 0)
			write(arg, &row);
	}
	return err;
}

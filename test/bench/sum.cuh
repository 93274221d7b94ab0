/*
 * test/bench/sum.cuh - the exact sums' problems, timed and held against double precision; for
 * gpu.cu and exact.cu alone
 */
#ifndef BS_TEST_BENCH_SUM_CUH
#define BS_TEST_BENCH_SUM_CUH

#include "test/bench/gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/bench/truth.cuh"
#include "gpu/device/check.h"
#include "gpu/exact/exact_cuda.h"
#include "test/bench/power.h"
#include "test/bench/repeat.cuh"

#define RUNS  20
#define PROBE 256 /* voxels held against double precision */

struct bench {
	int (*wanted)(void *arg, const char *name);
	void (*row)(void *arg, const struct bs_gpu_row *r);
	void *arg;
	struct bs_fail *why;
	struct bs_stopwatch watch;
	double bytes_ms;    /* copy bandwidth, bytes a millisecond */
	double products_ms; /* tensor multiply-adds a millisecond */
	double fmas_ms;     /* of the ordinary cores, fp32 */
	int runs;
};

/* One problem: a trajectory drawn at random, data, and the voxels that are checked. */
struct problem {
	uint32_t dims, n[3], coils;
	uint64_t samples;
	size_t voxels;
	float *k, *d, *image;
	int *probe;
	double2 *truth;
};

/* F^H d in double at probe[b] (offsets x, y, z); d NULL: Q. */
static __global__ void true_sums(const float *k, const float2 *d, uint64_t samples, int dims,
				 const int *probe, double2 *out)
{
	double2 sum = make_double2(0.0, 0.0);

	for (uint64_t m = threadIdx.x; m < samples; m += blockDim.x) {
		double turn = 0.0;
		double s;
		double c;

		for (int i = 0; i < dims; i++)
			turn += (double)k[m * dims + i] * probe[3 * blockIdx.x + i];
		turn -= rint(turn);
		sincospi(2.0 * turn, &s, &c);
		const double x = d != NULL ? d[m].x : 1.0;
		const double y = d != NULL ? d[m].y : 0.0;

		sum.x += x * c - y * s;
		sum.y += x * s + y * c;
	}
	reduce_into(out + blockIdx.x, sum);
}

/* Times the work b->runs times after two that are not counted. */
static int time_it(struct bench *b, bool graph, bs_stopwatch_work work, void *self,
		   struct bs_gpu_row *row)
{
	float ms[RUNS];
	int err = repeat_show(&b->watch, work, self, b->why);

	if (err == 0)
		err = repeat_time(&b->watch, graph, work, self, ms, b->runs, b->why);
	if (err != 0)
		return err;
	row->seen.median_ms = repeat_median(ms, b->runs);
	row->min_ms = ms[0];
	row->n = b->runs;
	return bs_power_measure(&b->watch, graph, work, self, ms[0], &row->seen.mj, b->why);
}

static int open_problem(struct problem *p, uint32_t dims, uint32_t x, uint32_t y, uint32_t z,
			uint32_t coils, uint64_t samples, struct bs_fail *why)
{
	int probe[3 * PROBE];

	memset(p, 0, sizeof(*p));
	p->dims = dims;
	p->n[0] = x;
	p->n[1] = y;
	p->n[2] = z;
	p->coils = coils;
	p->samples = samples;
	p->voxels = (size_t)x * y * z;
	BS_CUDA(cudaMalloc(&p->k, samples * dims * sizeof(float)), why);
	BS_CUDA(cudaMalloc(&p->d, samples * coils * sizeof(float2)), why);
	BS_CUDA(cudaMalloc(&p->image, p->voxels * coils * sizeof(float2)), why);
	BS_CUDA(cudaMalloc(&p->probe, sizeof(probe)), why);
	BS_CUDA(cudaMalloc(&p->truth, PROBE * sizeof(double2)), why);
	random_values(p->k, samples * dims, 1);
	random_values(p->d, samples * coils * 2, 2);
	for (int i = 0; i < 3 * PROBE; i++)
		probe[i] = (int)(draw((uint64_t)i) * p->n[i % 3]) - (int)(p->n[i % 3] / 2);
	BS_CUDA(cudaMemcpy(p->probe, probe, sizeof(probe), cudaMemcpyHostToDevice), why);
	return 0;
}

static void close_problem(struct problem *p)
{
	(void)cudaFree(p->k);
	(void)cudaFree(p->d);
	(void)cudaFree(p->image);
	(void)cudaFree(p->probe);
	(void)cudaFree(p->truth);
}

/* Relative difference of an array of values at the probes from the truth already computed. */
static int probe_error(const struct problem *p, const float *values, bool q, double *error,
		       struct bs_fail *why)
{
	int probe[3 * PROBE];
	double2 truth[PROBE];
	double e = 0.0;
	double r = 0.0;

	BS_CUDA(cudaMemcpy(probe, p->probe, sizeof(probe), cudaMemcpyDeviceToHost), why);
	BS_CUDA(cudaMemcpy(truth, p->truth, sizeof(truth), cudaMemcpyDeviceToHost), why);
	for (int i = 0; i < PROBE; i++) {
		int at[3];
		size_t index;
		float2 v;

		for (int a = 0; a < 3; a++)
			at[a] = probe[3 * i + a] + (q ? 0 : (int)(p->n[a] / 2));
		if (q && at[0] < 0)
			continue; /* the half that is not kept */
		if (q)
			index = ((size_t)(at[2] < 0 ? at[2] + 2 * (int)p->n[2] : at[2]) * 2 *
					 p->n[1] +
				 (size_t)(at[1] < 0 ? at[1] + 2 * (int)p->n[1] : at[1])) *
					p->n[0] +
				(size_t)at[0];
		else
			index = ((size_t)at[2] * p->n[1] + (size_t)at[1]) * p->n[0] + (size_t)at[0];
		BS_CUDA(cudaMemcpy(&v, values + 2 * index, sizeof(v), cudaMemcpyDeviceToHost), why);
		e += (v.x - truth[i].x) * (v.x - truth[i].x) +
		     (v.y - truth[i].y) * (v.y - truth[i].y);
		r += truth[i].x * truth[i].x + truth[i].y * truth[i].y;
	}
	*error = sqrt(e / r);
	return 0;
}

struct exact_run {
	struct bs_devmem mem;
	struct bs_exact_cuda *plan;
	const struct problem *p;
	const float *data;
	float *out;
	double products;
	char detail[96];
};

static int run_exact(void *self, cudaStream_t stream, struct bs_fail *why)
{
	struct exact_run *r = (struct exact_run *)self;

	return bs_exact_cuda_sum(r->plan, 0, r->data, r->p->samples, r->out, stream, why);
}

/* how: sum, precision, route, chunk, parts, stream. */
static int open_exact(struct exact_run *r, const struct problem *p,
		      const struct bs_exact_cuda_spec *how, float *out, struct bs_fail *why)
{
	struct bs_exact_cuda_spec s = *how;
	struct bs_exact_cuda_info info;
	uint64_t bytes;
	int err;

	memset(r, 0, sizeof(*r));
	s.dims = p->dims;
	memcpy(s.matrix, p->n, sizeof(s.matrix));
	s.coils = s.sum == BS_EXACT_Q ? 1 : p->coils;
	s.states = 1;
	s.samples = p->samples;
	r->p = p;
	r->data = s.sum == BS_EXACT_Q ? NULL : p->d;
	r->out = out;
	err = bs_exact_cuda_need(&s, &bytes, why);
	if (err == 0)
		err = bs_devmem_open(&r->mem, bytes, "bench", why);
	if (err == 0)
		err = bs_exact_cuda_plan(&r->plan, &s, p->k, NULL, &r->mem, why);
	if (err != 0)
		return err;
	bs_exact_cuda_info(r->plan, &info);
	r->products = info.products;
	(void)snprintf(r->detail, sizeof(r->detail), "%s, chunks of %u, %u part%s%s", info.route,
		       info.chunk, info.parts, info.parts > 1 ? "s" : "",
		       info.streamed ? ", sums streamed" : "");
	return 0;
}

static struct bs_exact_cuda_spec exact_of(enum bs_exact_sum sum, enum bs_exact_class precision)
{
	struct bs_exact_cuda_spec s;

	memset(&s, 0, sizeof(s));
	s.sum = sum;
	s.precision = precision;
	return s;
}

static void close_exact(struct exact_run *r)
{
	bs_exact_cuda_close(r->plan);
	bs_devmem_close(&r->mem);
}

static bool asked(const struct bench *b, const char *name)
{
	return b->wanted(b->arg, name) != 0;
}

/* One exact sum: time, floor, error. out: where the result goes. */
static int exact_row(struct bench *b, const char *name, struct problem *p,
		     const struct bs_exact_cuda_spec *how, float *out)
{
	struct exact_run r;
	struct bs_gpu_row row;
	int err;

	if (!asked(b, name))
		return 0;
	memset(&row, 0, sizeof(row));
	err = open_exact(&r, p, how, out, b->why);
	if (err == 0)
		err = time_it(b, false, run_exact, &r, &row);
	if (err == 0) {
		true_sums<<<PROBE, BLOCK>>>(p->k, (const float2 *)r.data, p->samples, (int)p->dims,
					    p->probe, p->truth);
		err = probe_error(p, out, how->sum == BS_EXACT_Q, &row.seen.error, b->why);
	}
	if (err == 0) {
		row.name = name;
		row.detail = r.detail;
		row.floor_ms = r.products / b->products_ms;
		b->row(b->arg, &row);
	}
	close_exact(&r);
	return err;
}

#define COPY ((size_t)1 << 30)

static int run_copy(void *self, cudaStream_t stream, struct bs_fail *why)
{
	unsigned char *m = (unsigned char *)self;

	BS_CUDA(cudaMemcpyAsync(m + COPY, m, COPY, cudaMemcpyDeviceToDevice, stream), why);
	return 0;
}

/* What a copy inside the device's memory reaches, read and written bytes together. */
static int measure_copy(struct bench *b)
{
	unsigned char *m = NULL;
	float ms[3];
	int err;

	BS_CUDA(cudaMalloc(&m, 2 * COPY), b->why);
	err = repeat_time(&b->watch, false, run_copy, m, ms, 3, b->why);
	if (err == 0)
		b->bytes_ms = 2.0 * (double)COPY / repeat_median(ms, 3);
	(void)cudaFree(m);
	return err;
}

static int open_bench(struct bench *b, int (*wanted)(void *arg, const char *name),
		      void (*row)(void *arg, const struct bs_gpu_row *r), void *arg,
		      struct bs_fail *why)
{
	int khz = 0;
	int count = 0;
	int major = 0;
	int err;

	memset(b, 0, sizeof(*b));
	b->wanted = wanted;
	b->row = row;
	b->arg = arg;
	b->why = why;
	b->runs = RUNS;
	BS_CUDA(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), why);
	BS_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), why);
	BS_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), why);
	b->products_ms = (double)khz * count * (major >= 9 ? 2048.0 : 1024.0);
	b->fmas_ms = (double)khz * count * 128.0;
	err = bs_stopwatch_open(&b->watch, why);
	return err != 0 ? err : measure_copy(b);
}

#endif

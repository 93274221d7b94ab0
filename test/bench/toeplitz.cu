/*
 * test/bench/toeplitz.cu - the Toeplitz operator beside pruned cuFFT, as graphs; see gpu.h
 *
 * cuFFT, pruned: images padded, planes that are not zero transformed (in 2D: rows), then the last
 * axis, times the real spectrum, and back, cropped; all coils in one batch, on the grid of ours and
 * on twice the matrix, whichever takes less. In 2D also the whole transform.
 */
#include "test/bench/gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"
#include "gpu/toeplitz/cuda/spectrum.cuh"
#include "test/bench/power.h"
#include "test/bench/repeat.cuh"
#include "test/bench/rivals/cufft.cuh"

#define RUNS    20
#define APPLIES 4 /* in a graph, as a solver runs them */

struct rival {
	uint32_t dims, n[3], coils;
	int g[3];
	bool whole;
	cufftHandle inner, outer;
	float2 *grid; /* [last axis][coil][the others], or whole [coil][...] */
	float *spectrum;
	const float2 *in;
	float2 *out;
};

struct places {
	int n[2], g[2]; /* along x; along y, 1 in 2D */
	int last, coils, rows;
	int padded; /* last axis */
	bool whole;
};

#define ACROSS 64 /* threads along x */

/* Where a row of the padded grid lies in the spectrum and in the image; false beyond the image. */
static __device__ bool row_of(const places &p, int row, long long *line, long long *voxel)
{
	const int y = row % p.g[1];
	const int outer = row / p.g[1];
	const int l = p.whole ? outer % p.padded : outer / p.coils;
	const int c = p.whole ? outer / p.padded : outer % p.coils;

	*line = ((long long)l * p.g[1] + y) * p.g[0];
	*voxel = (((long long)c * p.last + l) * p.n[1] + y) * p.n[0];
	return l < p.last && y < p.n[1];
}

static __global__ void pad(const places p, float2 *grid, const float2 *in)
{
	const int row = (int)(blockIdx.x * blockDim.y + threadIdx.y);
	long long line;
	long long voxel;

	if (row >= p.rows)
		return;
	const bool held = row_of(p, row, &line, &voxel);

	grid += (long long)row * p.g[0];
	for (int x = (int)threadIdx.x; x < p.g[0]; x += ACROSS)
		grid[x] = held && x < p.n[0] ? in[voxel + x] : make_float2(0.0f, 0.0f);
}

static __global__ void multiply(const places p, float2 *grid, const float *spectrum)
{
	const int row = (int)(blockIdx.x * blockDim.y + threadIdx.y);
	long long line;
	long long voxel;

	if (row >= p.rows)
		return;
	(void)row_of(p, row, &line, &voxel);
	grid += (long long)row * p.g[0];
	for (int x = (int)threadIdx.x; x < p.g[0]; x += ACROSS) {
		const float s = spectrum[line + x];

		grid[x] = make_float2(grid[x].x * s, grid[x].y * s);
	}
}

static __global__ void crop(const places p, float2 *out, const float2 *grid)
{
	const int row = (int)(blockIdx.x * blockDim.y + threadIdx.y);
	long long line;
	long long voxel;

	if (row >= p.rows || !row_of(p, row, &line, &voxel))
		return;
	grid += (long long)row * p.g[0];
	for (int x = (int)threadIdx.x; x < p.n[0]; x += ACROSS)
		out[voxel + x] = grid[x];
}

static long long points_of(const struct rival *r)
{
	return (long long)r->g[0] * r->g[1] * r->g[2] * r->coils;
}

static int both(struct rival *r, int sign, cudaStream_t stream, struct bs_fail *why)
{
	cufftComplex *grid = (cufftComplex *)r->grid;

	BS_CUFFT(cufftSetStream(r->inner, stream), why);
	if (!r->whole)
		BS_CUFFT(cufftSetStream(r->outer, stream), why);
	if (!r->whole && sign > 0)
		BS_CUFFT(cufftExecC2C(r->outer, grid, grid, CUFFT_INVERSE), why);
	BS_CUFFT(cufftExecC2C(r->inner, grid, grid, sign > 0 ? CUFFT_INVERSE : CUFFT_FORWARD), why);
	if (!r->whole && sign < 0)
		BS_CUFFT(cufftExecC2C(r->outer, grid, grid, CUFFT_FORWARD), why);
	return 0;
}

static int run_rival(void *self, cudaStream_t stream, struct bs_fail *why)
{
	struct rival *r = (struct rival *)self;
	const int last = (int)r->dims - 1;
	const dim3 threads(ACROSS, 4);
	struct places p;
	int err = 0;

	memset(&p, 0, sizeof(p));
	p.n[0] = (int)r->n[0];
	p.g[0] = r->g[0];
	p.n[1] = r->dims == 3 ? (int)r->n[1] : 1;
	p.g[1] = r->dims == 3 ? r->g[1] : 1;
	p.last = (int)r->n[last];
	p.padded = r->g[last];
	p.coils = (int)r->coils;
	p.whole = r->whole;
	p.rows = (int)(points_of(r) / r->g[0]);
	/* what crop reads, unless whole: the planes (rows) that hold voxels */
	struct places kept = p;

	if (!r->whole)
		kept.rows = p.rows / p.padded * p.last;
	const unsigned blocks = (unsigned)(p.rows + 3) / 4;
	const unsigned few = (unsigned)(kept.rows + 3) / 4;

	for (int i = 0; i < APPLIES && err == 0; i++) {
		pad<<<blocks, threads, 0, stream>>>(p, r->grid, r->in);
		err = both(r, -1, stream, why);
		multiply<<<blocks, threads, 0, stream>>>(p, r->grid, r->spectrum);
		if (err == 0)
			err = both(r, 1, stream, why);
		crop<<<few, threads, 0, stream>>>(kept, r->out, r->grid);
		BS_CUDA(cudaGetLastError(), why);
	}
	return err;
}

static void close_rival(struct rival *r)
{
	if (r->inner != 0)
		(void)cufftDestroy(r->inner);
	if (r->outer != 0)
		(void)cufftDestroy(r->outer);
	(void)cudaFree(r->grid);
	(void)cudaFree(r->spectrum);
}

static int open_rival(struct rival *r, const struct bs_toeplitz_spec *s, const float *q,
		      struct bs_fail *why)
{
	const int last = r->g[s->dims - 1];
	const int batch = (int)(points_of(r) / last);
	int size[3] = { r->g[2], r->g[1], r->g[0] };
	int *of = size + 3 - s->dims;

	BS_CUDA(cudaMalloc(&r->grid, (size_t)points_of(r) * sizeof(float2)), why);
	BS_CUDA(cudaMalloc(&r->spectrum, (size_t)points_of(r) / r->coils * sizeof(float)), why);
	if (r->whole) {
		BS_CUFFT(cufftPlanMany(&r->inner, (int)s->dims, of, NULL, 1, 0, NULL, 1, 0,
				       CUFFT_C2C, (int)r->coils),
			 why);
	} else {
		BS_CUFFT(cufftPlanMany(&r->inner, (int)s->dims - 1, of + 1, NULL, 1, 0, NULL, 1, 0,
				       CUFFT_C2C, (int)(r->n[s->dims - 1] * r->coils)),
			 why);
		BS_CUFFT(cufftPlanMany(&r->outer, 1, of, of, batch, 1, of, batch, 1, CUFFT_C2C,
				       batch),
			 why);
	}
	return bs_toeplitz_spectrum(r->spectrum, s, r->g, q, why);
}

struct ours {
	struct bs_toeplitz_cuda *plan;
	struct bs_devmem mem;
	uint64_t bytes;
	uint32_t coils;
	float *in, *out, *truth, *q;
	struct bs_stopwatch watch;
};

static int run_ours(void *self, cudaStream_t stream, struct bs_fail *why)
{
	struct ours *o = (struct ours *)self;
	int err = 0;

	for (int i = 0; i < APPLIES && err == 0; i++)
		err = bs_toeplitz_cuda_apply(o->plan, o->coils, o->in, o->out, stream, why);
	return err;
}

static int time_of(struct ours *o, bs_stopwatch_work work, void *arg, double *median, double *least,
		   struct bs_fail *why)
{
	float ms[RUNS];
	int err = repeat_time(&o->watch, true, work, arg, ms, RUNS, why);

	*median = repeat_median(ms, RUNS) / APPLIES;
	*least = (double)ms[0] / APPLIES;
	return err;
}

static int energy_of(struct ours *o, bs_stopwatch_work work, void *arg, struct bs_gpu_seen *seen,
		     struct bs_fail *why)
{
	const int err = bs_power_measure(&o->watch, true, work, arg, seen->median_ms * APPLIES,
					 &seen->mj, why);

	seen->mj /= APPLIES;
	return err;
}

/* One of the rival's grids and ways; false: it has not this one. */
static bool way_of(struct rival *r, const struct ours *o, const struct bs_toeplitz_spec *s, int way)
{
	memset(r, 0, sizeof(*r));
	r->dims = s->dims;
	r->coils = s->coils;
	r->whole = way >= 2;
	r->in = (const float2 *)o->in;
	r->out = (float2 *)o->truth;
	for (uint32_t a = 0; a < 3; a++) {
		r->n[a] = s->matrix[a];
		r->g[a] = a >= s->dims ? 1
			  : way % 2    ? bs_toeplitz_cuda_padded(s->dims, s->matrix[a])
				       : (int)(2 * s->matrix[a]);
	}
	return !(r->whole && s->dims == 3) && !(way % 2 == 1 && r->g[0] == (int)(2 * r->n[0]));
}

/* The rival's least time over its grids and ways, its energy there; its result is in o->truth. */
static int time_rivals(struct ours *o, const struct bs_toeplitz_spec *s, struct bs_gpu_seen *best,
		       int *on, struct bs_fail *why)
{
	struct rival r;
	int chosen = 0;
	int err = 0;

	for (int way = 0; way < 4 && err == 0; way++) {
		double median = 0.0;
		double least;

		if (!way_of(&r, o, s, way))
			continue;
		err = open_rival(&r, s, o->q, why);
		if (err == 0)
			err = time_of(o, run_rival, &r, &median, &least, why);
		if (err == 0 && (best->median_ms == 0.0 || median < best->median_ms)) {
			best->median_ms = median;
			*on = r.g[0];
			chosen = way;
		}
		close_rival(&r);
	}
	if (err == 0 && bs_power_asked() && way_of(&r, o, s, chosen)) {
		err = open_rival(&r, s, o->q, why);
		if (err == 0)
			err = energy_of(o, run_rival, &r, best, why);
		close_rival(&r);
	}
	return err;
}

static int difference(struct ours *o, size_t floats, double *error, struct bs_fail *why)
{
	float *a = (float *)malloc(2 * floats * sizeof(*a));
	double e = 0.0;
	double t = 0.0;
	int err = a == NULL ? bs_fail(why, BS_ERR_NOMEM, "bench") : 0;

	if (err == 0 &&
	    (cudaMemcpy(a, o->out, floats * 4, cudaMemcpyDeviceToHost) != cudaSuccess ||
	     cudaMemcpy(a + floats, o->truth, floats * 4, cudaMemcpyDeviceToHost) != cudaSuccess))
		err = bs_fail(why, BS_ERR_GPU, "bench: results");
	for (size_t i = 0; err == 0 && i < floats; i++) {
		const double d = (double)a[i] - a[floats + i];

		e += d * d;
		t += (double)a[floats + i] * a[floats + i];
	}
	*error = sqrt(e / t);
	free(a);
	return err;
}

static int open_ours(struct ours *o, const struct bs_toeplitz_spec *s, size_t voxels,
		     struct bs_fail *why)
{
	const size_t q = voxels * (s->dims == 3 ? 4 : 2) * 2;
	const size_t image = voxels * s->coils * 2;
	int err;

	BS_CUDA(cudaMalloc(&o->in, image * 4), why);
	BS_CUDA(cudaMalloc(&o->out, image * 4), why);
	BS_CUDA(cudaMalloc(&o->truth, image * 4), why);
	BS_CUDA(cudaMalloc(&o->q, q * 4), why);
	o->coils = s->coils;
	err = bs_stopwatch_fill(o->q, q, 5, why);
	if (err == 0)
		err = bs_stopwatch_fill(o->in, image, 6, why);
	if (err == 0)
		err = bs_toeplitz_cuda_need(s, &o->bytes, why);
	if (err == 0)
		err = bs_devmem_open(&o->mem, o->bytes, "bench", why);
	if (err == 0)
		err = bs_toeplitz_cuda_plan(&o->plan, s, o->q, &o->mem, why);
	return err == 0 ? bs_stopwatch_open(&o->watch, why) : err;
}

static void close_ours(struct ours *o)
{
	bs_stopwatch_close(&o->watch);
	bs_toeplitz_cuda_close(o->plan);
	bs_devmem_close(&o->mem);
	(void)cudaFree(o->in);
	(void)cudaFree(o->out);
	(void)cudaFree(o->truth);
	(void)cudaFree(o->q);
}

static int size_row(const char *name, const struct bs_toeplitz_spec *s, double bytes_ms,
		    void (*write)(void *arg, const struct bs_gpu_row *r), void *arg,
		    struct bs_fail *why)
{
	const size_t voxels = (size_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	struct bs_gpu_row row;
	struct ours o;
	char detail[64];
	char how[64];
	double padded = s->coils * sizeof(float2);
	int on = 0;
	int err;

	memset(&row, 0, sizeof(row));
	memset(&o, 0, sizeof(o));
	for (uint32_t a = 0; a < s->dims; a++)
		padded *= bs_toeplitz_cuda_padded(s->dims, s->matrix[a]);
	err = open_ours(&o, s, voxels, why);
	if (err == 0)
		err = time_rivals(&o, s, &row.rival, &on, why);
	if (err == 0)
		err = repeat_show(&o.watch, run_ours, &o, why);
	if (err == 0)
		err = time_of(&o, run_ours, &o, &row.seen.median_ms, &row.min_ms, why);
	if (err == 0)
		err = energy_of(&o, run_ours, &o, &row.seen, why);
	if (err == 0)
		err = difference(&o, voxels * s->coils * 2, &row.seen.error, why);
	if (err == 0) {
		(void)snprintf(detail, sizeof(detail), "on %d; %.2f of the padded grid",
			       bs_toeplitz_cuda_padded(s->dims, s->matrix[0]),
			       (double)o.bytes / padded);
		(void)snprintf(how, sizeof(how), "cuFFT pruned, on %d, graph", on);
		row.name = name;
		row.detail = detail;
		row.rival_how = how;
		row.demand_ms = row.rival.median_ms / 2.5;
		row.floor_ms = (double)bs_toeplitz_cuda_bytes(o.plan, s->coils) / bytes_ms;
		row.n = RUNS;
		write(arg, &row);
	}
	close_ours(&o);
	return err;
}

int bs_bench_gpu_toeplitz(int (*wanted)(void *arg, const char *name),
			  void (*write)(void *arg, const struct bs_gpu_row *r), void *arg,
			  double bytes_ms, struct bs_fail *why)
{
	static const uint32_t sizes[][2] = {
		{ 3, 96 },  { 3, 128 }, { 3, 144 }, { 3, 160 }, { 3, 192 },
		{ 3, 220 }, { 3, 256 }, { 2, 192 }, { 2, 256 }, { 2, 320 },
	};
	int err = 0;

	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]) && err == 0; i++) {
		const uint32_t n = sizes[i / 2][1];
		struct bs_toeplitz_spec s;
		char name[64];

		memset(&s, 0, sizeof(s));
		s.dims = sizes[i / 2][0];
		s.matrix[0] = s.matrix[1] = n;
		s.matrix[2] = s.dims == 3 ? n : 1;
		s.coils = i % 2 == 0 ? 1 : 8;
		(void)snprintf(name, sizeof(name), "Toeplitz %u^%u, %u coil%s", n, s.dims, s.coils,
			       s.coils == 1 ? "" : "s");
		if (wanted(arg, name))
			err = size_row(name, &s, bytes_ms, write, arg, why);
	}
	return err;
}

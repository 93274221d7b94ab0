/*
 * test/bench/errors.cuh - a gridding's result held against sums in double precision; for nufft.cu
 *
 * Of the last coil. white, structured: relative l2 at positions drawn at random. worst: where the
 * error is largest, relative to the root mean square of the whole. Adjoint: the zones of the image
 * (each axis in four, narrower towards the edge), white data; from 64 voxels of a zone, so it is
 * off by some 6 %, and the largest of them rather above than below. Forward: a single voxel in the
 * corner, to all samples.
 * open -> { truth, against* }* -> close.
 */
#ifndef BS_TEST_BENCH_ERRORS_CUH
#define BS_TEST_BENCH_ERRORS_CUH

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"
#include "test/bench/gpu.h"
#include "test/bench/truth.cuh"

#define DRAWN  512 /* positions anywhere */
#define EACH   64  /* positions of a zone */
#define SIDE   4   /* zones of an axis */
#define ZONES  (SIDE * SIDE * SIDE)
#define PROBES (DRAWN + ZONES * EACH)

/* What goes in. */
enum input { WHITE, STRUCTURED, CORNER, INPUTS };

struct errors {
	bool forward;
	uint32_t dims;
	uint3 n;
	uint64_t samples, voxels;
	int zones;    /* 0: none are looked at */
	uint64_t *at; /* [probes], device */
	float2 *got;
	double2 *truth;
	double2 want[PROBES];
};

static inline int errors_probes(const struct errors *e)
{
	return DRAWN + e->zones * EACH;
}

/* A coordinate in a zone of its axis, either side of the center. */
static inline uint64_t errors_within(uint32_t n, int zone, uint64_t i)
{
	static const double edge[SIDE + 1] = { 0.0, 0.25, 0.4, 0.46, 0.5 };
	const double away = edge[zone] + (edge[zone + 1] - edge[zone]) * draw(i);
	const double x = (draw(i + 500009) < 0.5 ? 0.5 - away : 0.5 + away) * n;

	return x < 0.0 ? 0 : x >= n ? n - 1 : (uint64_t)x;
}

static inline int errors_open(struct errors *e, bool forward, uint32_t dims, const uint32_t n[3],
			      uint64_t samples, struct bs_fail *why)
{
	static uint64_t at[PROBES];
	int p = 0;

	memset(e, 0, sizeof(*e));
	e->forward = forward;
	e->dims = dims;
	e->n = make_uint3(n[0], n[1], n[2]);
	e->samples = samples;
	e->voxels = (uint64_t)n[0] * n[1] * n[2];
	e->zones = forward ? 0 : dims == 3 ? ZONES : SIDE * SIDE;
	for (; p < DRAWN; p++)
		at[p] = (uint64_t)(draw(77777 + (uint64_t)p) *
				   (double)(forward ? samples : e->voxels));
	for (; p < errors_probes(e); p++) {
		const int zone = (p - DRAWN) / EACH;
		const uint64_t i = 99991 + 3 * (uint64_t)p;
		const uint64_t x = errors_within(n[0], zone % SIDE, i);
		const uint64_t y = errors_within(n[1], zone / SIDE % SIDE, i + 1);
		const uint64_t z = dims == 3 ? errors_within(n[2], zone / SIDE / SIDE, i + 2) : 0;

		at[p] = (z * n[1] + y) * n[0] + x;
	}
	BS_CUDA(cudaMalloc(&e->at, sizeof(at)), why);
	BS_CUDA(cudaMalloc(&e->got, PROBES * sizeof(float2)), why);
	BS_CUDA(cudaMalloc(&e->truth, PROBES * sizeof(double2)), why);
	BS_CUDA(cudaMemcpy(e->at, at, sizeof(at), cudaMemcpyHostToDevice), why);
	return 0;
}

static inline void errors_close(struct errors *e)
{
	(void)cudaFree(e->at);
	(void)cudaFree(e->got);
	(void)cudaFree(e->truth);
}

/* In double: the voxel (adjoint) or the sample (forward) of each probe. weight NULL: 1. */
static __global__ void true_values(bool forward, uint32_t dims, uint3 n, uint64_t samples,
				   const float *k, const float *weight, const float2 *in,
				   const uint64_t *probe, double2 *out)
{
	const uint64_t voxels = (uint64_t)n.x * n.y * n.z;
	const uint64_t at = probe[blockIdx.x];
	double2 sum = make_double2(0.0, 0.0);

	for (uint64_t i = threadIdx.x; i < (forward ? voxels : samples); i += BLOCK) {
		const uint64_t v = forward ? i : at;
		const uint64_t m = forward ? at : i;
		const double w = !forward && weight != NULL ? (double)weight[m] : 1.0;
		double turn =
			(double)k[m * dims] * ((double)(v % n.x) - (double)(n.x / 2)) +
			(double)k[m * dims + 1] * ((double)(v / n.x % n.y) - (double)(n.y / 2));
		double s;
		double c;

		if (dims == 3)
			turn += (double)k[m * dims + 2] *
				((double)(v / n.x / n.y) - (double)(n.z / 2));
		turn -= rint(turn);
		sincospi(forward ? -2.0 * turn : 2.0 * turn, &s, &c);
		sum.x += w * (in[i].x * c - in[i].y * s);
		sum.y += w * (in[i].x * s + in[i].y * c);
	}
	reduce_into(out + blockIdx.x, sum);
}

static __global__ void pick(const float2 *from, const uint64_t *probe, int probes, float2 *out)
{
	const int i = (int)(blockIdx.x * BLOCK + threadIdx.x);

	if (i < probes)
		out[i] = from[probe[i]];
}

/* k, weight and in on the device, in of the coil that is looked at. */
static inline int errors_truth(struct errors *e, const float *k, const float *weight,
			       const float *in, struct bs_fail *why)
{
	true_values<<<errors_probes(e), BLOCK>>>(e->forward, e->dims, e->n, e->samples, k, weight,
						 (const float2 *)in, e->at, e->truth);
	BS_CUDA(cudaGetLastError(), why);
	BS_CUDA(cudaMemcpy(e->want, e->truth, (size_t)errors_probes(e) * sizeof(double2),
			   cudaMemcpyDeviceToHost),
		why);
	return 0;
}

/* sqrt(sum |got - want|^2 / sum |want|^2) of probes from .. to; with rms: over to - from of it. */
static inline double errors_of(const struct errors *e, const float2 *got, int from, int to,
			       double rms)
{
	double off = 0.0;
	double all = 0.0;

	for (int i = from; i < to; i++) {
		off += pow((double)got[i].x - e->want[i].x, 2.0) +
		       pow((double)got[i].y - e->want[i].y, 2.0);
		all += e->want[i].x * e->want[i].x + e->want[i].y * e->want[i].y;
	}
	return sqrt(off / (rms > 0.0 ? rms * rms * (to - from) : all));
}

static inline int errors_against(const struct errors *e, enum input input, const float *out,
				 struct bs_gpu_seen *seen, struct bs_fail *why)
{
	static float2 got[PROBES];
	const int probes = errors_probes(e);
	double rms = 0.0;
	double drawn;

	pick<<<(probes + BLOCK - 1) / BLOCK, BLOCK>>>((const float2 *)out, e->at, probes, e->got);
	BS_CUDA(cudaGetLastError(), why);
	BS_CUDA(cudaMemcpy(got, e->got, sizeof(got), cudaMemcpyDeviceToHost), why);
	drawn = errors_of(e, got, 0, DRAWN, 0.0);
	if (input == STRUCTURED)
		seen->structured = drawn;
	if (input == CORNER)
		seen->worst = drawn;
	if (input != WHITE)
		return 0;
	seen->error = drawn;
	for (int i = 0; i < DRAWN; i++)
		rms += (e->want[i].x * e->want[i].x + e->want[i].y * e->want[i].y) / DRAWN;
	for (int z = 0; z < e->zones; z++) {
		const int from = DRAWN + z * EACH;
		const double zone = errors_of(e, got, from, from + EACH, sqrt(rms));

		seen->worst = zone > seen->worst || isnan(zone) ? zone : seen->worst;
	}
	return 0;
}

#endif

/*
 * test/bench/nufft.cu - the gridding's rows of bench gpu; see gpu.h
 *
 * Accuracy 1e-3, random weights and values, each transform one graph, variants measured first (not
 * counted). Floor: every sample and every voxel moved once, and the samples' positions, at the
 * copy's rate.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"
#include "test/bench/repeat.cuh"
#include "gpu/nufft/cuda/tune.h"
#include "gpu/nufft/nufft_cuda.h"
#include "test/bench/gpu.h"
#include "test/bench/inputs.h"
#include "test/bench/truth.cuh"

#define RUNS  20
#define PROBE 64

struct job {
	struct bs_nufft_spec s;
	struct bs_devmem mem;
	struct bs_nufft_cuda *plan;
	float *k, *data, *image, *weight; /* device */
	double2 *truth;
	uint64_t voxels;
	struct bs_stopwatch watch;
};

/* The index below n that probe b looks at, the same in every run. */
static __host__ __device__ inline uint64_t probe_at(int b, uint64_t n)
{
	const uint64_t at = (uint64_t)(draw(77777 + (uint64_t)b) * (double)n);

	return at < n ? at : n - 1;
}

/* In double, of the last coil: the voxel (adjoint) or the sample (forward) of each probe. */
static __global__ void true_values(bool forward, uint32_t dims, uint3 n, uint64_t samples,
				   const float *k, const float *weight, const float2 *in,
				   double2 *out)
{
	const uint64_t voxels = (uint64_t)n.x * n.y * n.z;
	const uint64_t at = probe_at((int)blockIdx.x, forward ? samples : voxels);
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

static int error_of(struct job *j, bool forward, double *error, struct bs_fail *why)
{
	const uint64_t last = (uint64_t)(j->s.coils - 1) * 2;
	const float *got = forward ? j->data + last * j->s.samples : j->image + last * j->voxels;
	const float *in = forward ? j->image + last * j->voxels : j->data + last * j->s.samples;
	const uint64_t n = forward ? j->s.samples : j->voxels;
	double2 truth[PROBE];
	double e = 0.0;
	double r = 0.0;

	true_values<<<PROBE, BLOCK>>>(forward, j->s.dims,
				      make_uint3(j->s.matrix[0], j->s.matrix[1], j->s.matrix[2]),
				      j->s.samples, j->k, j->weight, (const float2 *)in, j->truth);
	BS_CUDA(cudaMemcpy(truth, j->truth, sizeof(truth), cudaMemcpyDeviceToHost), why);
	for (int b = 0; b < PROBE; b++) {
		float2 v;

		BS_CUDA(cudaMemcpy(&v, got + 2 * probe_at(b, n), sizeof(v), cudaMemcpyDeviceToHost),
			why);
		e += (v.x - truth[b].x) * (v.x - truth[b].x) +
		     (v.y - truth[b].y) * (v.y - truth[b].y);
		r += truth[b].x * truth[b].x + truth[b].y * truth[b].y;
	}
	*error = sqrt(e / r);
	return 0;
}

static int run_adjoint(void *arg, cudaStream_t stream, struct bs_fail *why)
{
	struct job *j = (struct job *)arg;

	return bs_nufft_cuda_adjoint(j->plan, j->data, j->image, stream, why);
}

static int run_forward(void *arg, cudaStream_t stream, struct bs_fail *why)
{
	struct job *j = (struct job *)arg;

	return bs_nufft_cuda_forward(j->plan, j->image, j->data, stream, why);
}

static int time_it(struct job *j, bool forward, struct bs_gpu_row *row, struct bs_fail *why)
{
	const bs_stopwatch_work work = forward ? run_forward : run_adjoint;
	float ms[RUNS];
	int rc = work(j, j->watch.stream, why); /* no kernel is loaded while a profiler looks */

	if (rc == 0)
		rc = repeat_show(&j->watch, work, j, why);
	if (rc == 0)
		rc = repeat_time(&j->watch, true, work, j, ms, RUNS, why);
	row->median_ms = rc == 0 ? repeat_median(ms, RUNS) : 0.0;
	row->min_ms = rc == 0 ? ms[0] : 0.0;
	row->n = RUNS;
	return rc;
}

static int open_job(struct job *j, const struct bs_traj *traj, const struct bs_tune *tune,
		    struct bs_fail *why)
{
	struct bs_need need;
	float *weight;
	int rc;

	memset(&need, 0, sizeof(need));
	j->s.tune = tune;
	j->voxels = (uint64_t)j->s.matrix[0] * j->s.matrix[1] * j->s.matrix[2];
	rc = bs_stopwatch_open(&j->watch, why);
	if (rc != 0)
		return rc;
	BS_CUDA(cudaMalloc(&j->k, j->s.samples * j->s.dims * 4), why);
	BS_CUDA(cudaMalloc(&j->data, j->s.samples * j->s.coils * 8), why);
	BS_CUDA(cudaMalloc(&j->image, j->voxels * j->s.coils * 8), why);
	BS_CUDA(cudaMalloc(&j->weight, j->s.samples * 4), why);
	BS_CUDA(cudaMalloc(&j->truth, PROBE * sizeof(double2)), why);
	BS_CUDA(cudaMemcpy(j->k, traj->k, j->s.samples * j->s.dims * 4, cudaMemcpyHostToDevice),
		why);
	weight = (float *)malloc(j->s.samples * 4);
	if (weight == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "weights");
	for (uint64_t m = 0; m < j->s.samples; m++)
		weight[m] = (float)(0.5 + draw(m));
	rc = bs_nufft_cuda_need(&j->s, &need, why);
	if (rc == 0)
		rc = bs_devmem_open(&j->mem, need.total_bytes, "bench", why);
	if (rc == 0)
		rc = bs_nufft_cuda_plan(&j->plan, &j->s, traj->k, weight, &j->mem, why);
	if (rc == 0)
		BS_CUDA_GO(cudaMemcpy(j->weight, weight, j->s.samples * 4, cudaMemcpyHostToDevice),
			   why, rc, out);
	random_values(j->data, j->s.samples * j->s.coils * 2, 3);
	random_values(j->image, j->voxels * j->s.coils * 2, 4);
	if (rc == 0)
		BS_CUDA_GO(cudaDeviceSynchronize(), why, rc, out);
out:
	free(weight);
	return rc;
}

static void close_job(struct job *j)
{
	bs_nufft_cuda_close(j->plan);
	bs_devmem_close(&j->mem);
	(void)cudaFree(j->k);
	(void)cudaFree(j->data);
	(void)cudaFree(j->image);
	(void)cudaFree(j->weight);
	(void)cudaFree(j->truth);
	bs_stopwatch_close(&j->watch);
}

static int measure(const struct bs_bench_case *c, bool forward, const char *name, double bytes_ms,
		   const struct bs_traj *traj, const struct bs_tuning *t,
		   void (*row)(void *arg, const struct bs_gpu_row *r), void *arg,
		   struct bs_fail *why)
{
	struct bs_gpu_row out;
	char words[BS_TUNE_TEXT] = "default";
	struct job j;
	int rc;

	memset(&j, 0, sizeof(j));
	memset(&out, 0, sizeof(out));
	j.s = bs_bench_nufft_spec(&bs_bench_sizes[c->shape], c->coils);
	j.s.states = 1;
	rc = open_job(&j, traj, t != NULL ? &t->trial[t->best].tune : NULL, why);
	if (rc == 0)
		rc = time_it(&j, forward, &out, why);
	if (rc == 0)
		rc = error_of(&j, forward, &out.error, why);
	if (rc == 0) {
		if (t != NULL)
			(void)bs_tune_text(words, t->kind, &t->trial[t->best].tune);
		out.name = name;
		out.detail = words;
		out.rival_ms = forward ? c->forward.rival_ms : c->adjoint.rival_ms;
		out.demand_ms = forward ? c->forward.demand_ms : c->adjoint.demand_ms;
		out.floor_ms = ((double)j.s.samples * (j.s.coils * 8.0 + j.s.dims * 4.0) +
				(double)j.voxels * j.s.coils * 8.0) /
			       bytes_ms;
		row(arg, &out);
	}
	close_job(&j);
	return rc;
}

int bs_bench_gpu_nufft(int (*wanted)(void *arg, const char *name),
		       void (*row)(void *arg, const struct bs_gpu_row *r), void *arg,
		       double tune_seconds, double bytes_ms, struct bs_fail *why)
{
	struct bs_tuning *t = (struct bs_tuning *)calloc(1, sizeof(*t));
	int failed = 0;

	for (size_t i = 0; t != NULL && i < BS_BENCH_CASES; i++) {
		const struct bs_bench_case *c = &bs_bench_cases[i];
		const struct bs_bench_size *size = &bs_bench_sizes[c->shape];
		const struct bs_nufft_spec s = bs_bench_nufft_spec(size, c->coils);
		struct bs_traj traj;
		char name[2][96];
		int rc;

		for (int f = 0; f < 2; f++)
			(void)snprintf(name[f], sizeof(name[f]), "%s %s, %u coil%s",
				       f ? "forward" : "adjoint", size->title, c->coils,
				       c->coils > 1 ? "s" : "");
		if (!wanted(arg, name[0]) && !wanted(arg, name[1]))
			continue;
		memset(&traj, 0, sizeof(traj));
		rc = bs_bench_traj(&traj, size, why);
		bool tuned = rc == 0 && tune_seconds > 0.0 &&
			     bs_nufft_tuned(t, &s, traj.k, "", tune_seconds, why) == 0;
		for (int f = 0; rc == 0 && f < 2; f++)
			if (wanted(arg, name[f]))
				rc = measure(c, f != 0, name[f], bytes_ms, &traj, tuned ? t : NULL,
					     row, arg, why);
		bs_traj_close(&traj);
		failed = rc != 0 ? rc : failed;
	}
	free(t);
	return failed;
}

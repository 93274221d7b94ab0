/*
 * test/bench/nufft.cu - the gridding's rows of bench gpu; see gpu.h
 *
 * Accuracy 1e-3, random weights and values, each transform one graph, variants measured first (not
 * counted). cuFINUFFT, where CUFINUFFT names it, at the same accuracy on the same trajectory and
 * data, the weights multiplied in beforehand, its settings the best of rivals/cufinufft.h. Floor:
 * every sample and every voxel moved once, and the samples' positions, at the copy's rate. Asked:
 * twice the rival from four coils on, else 1.5 times; or at most 1.3 times what cuFFT takes for the
 * grids of our plan (a stack: of its planes) with two empty launches, as a graph.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tool/phantom/phantom.h"
#include "gpu/device/check.h"
#include "gpu/nufft/cuda/tune.h"
#include "gpu/nufft/nufft_cuda.h"
#include "test/bench/errors.cuh"
#include "test/bench/gpu.h"
#include "test/bench/inputs.h"
#include "test/bench/power.h"
#include "test/bench/repeat.cuh"
#include "test/bench/rivals/cufft.cuh"
#include "test/bench/rivals/cufinufft.h"
#include "test/bench/truth.cuh"

#define RUNS 20

struct job {
	struct bs_nufft_spec s;
	struct bs_devmem mem;
	struct bs_nufft_cuda *plan;
	float *k, *data, *image, *weight; /* device */
	float *weighted;                  /* data times weight: a rival's */
	struct errors errors;
	uint64_t voxels;
	bool forward;
	struct bs_stopwatch watch;
	struct bs_cufinufft rival;
};

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

static int run_ours(struct job *j, struct bs_fail *why)
{
	const int rc = j->forward ? run_forward(j, j->watch.stream, why)
				  : run_adjoint(j, j->watch.stream, why);

	if (rc == 0)
		BS_CUDA(cudaStreamSynchronize(j->watch.stream), why);
	return rc;
}

static int time_it(struct job *j, struct bs_gpu_row *row, struct bs_fail *why)
{
	const bs_stopwatch_work work = j->forward ? run_forward : run_adjoint;
	float ms[RUNS];
	int rc = work(j, j->watch.stream, why); /* no kernel is loaded while a profiler looks */

	if (rc == 0)
		rc = repeat_show(&j->watch, work, j, why);
	if (rc == 0)
		rc = repeat_time(&j->watch, true, work, j, ms, RUNS, why);
	row->seen.median_ms = rc == 0 ? repeat_median(ms, RUNS) : 0.0;
	row->min_ms = rc == 0 ? ms[0] : 0.0;
	row->n = RUNS;
	return rc != 0 ? rc : bs_power_measure(&j->watch, true, work, j, ms[0], &row->seen.mj, why);
}

static int time_rival(struct job *j, struct bs_gpu_row *row, struct bs_fail *why)
{
	const float *in = j->forward ? j->image : j->weighted;
	float ms[RUNS];
	int rc = bs_cufinufft_open(&j->rival, &j->s, j->forward, j->k, in,
				   j->forward ? j->data : j->image, &j->watch, why);

	if (rc == 0)
		rc = repeat_time(&j->watch, j->rival.graph, bs_cufinufft_run, &j->rival, ms, RUNS,
				 why);
	if (rc != 0)
		return rc;
	row->rival.median_ms = repeat_median(ms, RUNS);
	row->rival_how = j->rival.how;
	return bs_power_measure(&j->watch, j->rival.graph, bs_cufinufft_run, &j->rival, ms[0],
				&row->rival.mj, why);
}

static int time_grid(struct job *j, struct bs_gpu_row *row, struct bs_fail *why)
{
	struct bs_nufft_info info;
	struct bs_grid_fft f;
	float ms[RUNS];

	bs_nufft_cuda_info(j->plan, &info);
	const bool planes = strcmp(info.route, "stack") == 0;
	int rc = bs_grid_fft_open(&f, planes ? 2 : j->s.dims, info.grid,
				  planes ? j->s.coils * j->s.matrix[2] : j->s.coils, why);

	if (rc == 0)
		rc = repeat_time(&j->watch, true, bs_grid_fft_run, &f, ms, RUNS, why);
	bs_grid_fft_close(&f);
	row->grid_ms = rc == 0 ? repeat_median(ms, RUNS) : 0.0;
	row->times = j->s.coils < 4 ? 1.5 : 2.0;
	return rc;
}

/* ---- what goes in, and what came out -------------------------------------------------------- */

/* data times weight |k|^(dims - 1) where ramp, else times weight. */
static __global__ void weigh(float2 *to, const float2 *from, const float *k, const float *weight,
			     uint32_t dims, uint64_t samples, bool ramp)
{
	const uint64_t m = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
	const uint64_t at = blockIdx.y * samples + m;
	float r2 = 0.0f;

	if (m >= samples)
		return;
	for (uint32_t a = 0; a < dims; a++)
		r2 += k[m * dims + a] * k[m * dims + a];
	const float w = ramp ? (dims == 3 ? r2 : sqrtf(r2)) / weight[m] : weight[m];

	to[at] = make_float2(w * from[at].x, w * from[at].y);
}

static int weigh_data(struct job *j, float *to, bool ramp, struct bs_fail *why)
{
	weigh<<<dim3((unsigned)((j->s.samples + BLOCK - 1) / BLOCK), j->s.coils), BLOCK>>>(
		(float2 *)to, (const float2 *)j->data, j->k, j->weight, j->s.dims, j->s.samples,
		ramp);
	BS_CUDA(cudaGetLastError(), why);
	BS_CUDA(cudaDeviceSynchronize(), why);
	return 0;
}

/* The head in every coil, a little turned in the complex plane from one to the next. */
static int put_object(struct job *j, struct bs_fail *why)
{
	float *image = (float *)malloc(j->voxels * 12);
	struct bs_phantom ph;
	int rc = image == NULL ? bs_fail(why, BS_ERR_NOMEM, "an object")
			       : bs_phantom_make(&ph, j->s.dims, j->s.matrix, 0, 1, 0, why);

	if (rc == 0)
		bs_phantom_image(&ph, 1, image + 2 * j->voxels, NULL);
	for (uint32_t c = 0; rc == 0 && c < j->s.coils; c++) {
		for (uint64_t v = 0; v < j->voxels; v++) {
			image[2 * v] = image[2 * j->voxels + v];
			image[2 * v + 1] = 0.1f * (float)(c + 1) * image[2 * v];
		}
		BS_CUDA_GO(cudaMemcpy(j->image + 2 * c * j->voxels, image, j->voxels * 8,
				      cudaMemcpyHostToDevice),
			   why, rc, out);
	}
out:
	free(image);
	return rc;
}

static int put_input(struct job *j, enum input input, struct bs_fail *why)
{
	int rc = 0;

	if (input == WHITE) {
		random_values(j->data, j->s.samples * j->s.coils * 2, 3);
		random_values(j->image, j->voxels * j->s.coils * 2, 4);
	} else if (input == STRUCTURED) {
		rc = put_object(j, why);
		if (rc == 0 && !j->forward)
			rc = run_forward(j, j->watch.stream, why);
		if (rc == 0 && !j->forward)
			BS_CUDA(cudaStreamSynchronize(j->watch.stream), why);
		if (rc == 0 && !j->forward)
			rc = weigh_data(j, j->data, true, why);
	} else {
		const float one = 1.0f;

		BS_CUDA(cudaMemset(j->image, 0, j->voxels * j->s.coils * 8), why);
		BS_CUDA(cudaMemcpy(j->image + (j->s.coils - 1) * j->voxels * 2, &one, sizeof(one),
				   cudaMemcpyHostToDevice),
			why);
	}
	return rc == 0 ? weigh_data(j, j->weighted, false, why) : rc;
}

static int compare(struct job *j, enum input input, struct bs_gpu_row *row, struct bs_fail *why)
{
	const uint64_t last = (uint64_t)(j->s.coils - 1) * 2;
	float *data = j->data + last * j->s.samples;
	float *image = j->image + last * j->voxels;
	int rc = errors_truth(&j->errors, j->k, j->weight, j->forward ? image : data, why);

	if (rc == 0)
		rc = run_ours(j, why);
	if (rc == 0)
		rc = errors_against(&j->errors, input, j->forward ? data : image, &row->seen, why);
	if (rc != 0 || j->rival.plan == NULL)
		return rc;
	rc = bs_cufinufft_run(&j->rival, j->watch.stream, why);
	if (rc == 0)
		BS_CUDA(cudaStreamSynchronize(j->watch.stream), why);
	return rc != 0 ? rc
		       : errors_against(&j->errors, input, j->forward ? data : image, &row->rival,
					why);
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
	if (rc == 0)
		rc = errors_open(&j->errors, j->forward, j->s.dims, j->s.matrix, j->s.samples, why);
	if (rc != 0)
		return rc;
	BS_CUDA(cudaMalloc(&j->k, j->s.samples * j->s.dims * 4), why);
	BS_CUDA(cudaMalloc(&j->data, j->s.samples * j->s.coils * 8), why);
	BS_CUDA(cudaMalloc(&j->weighted, j->s.samples * j->s.coils * 8), why);
	BS_CUDA(cudaMalloc(&j->image, j->voxels * j->s.coils * 8), why);
	BS_CUDA(cudaMalloc(&j->weight, j->s.samples * 4), why);
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
	if (rc == 0)
		rc = put_input(j, WHITE, why);
out:
	free(weight);
	return rc;
}

static void close_job(struct job *j)
{
	bs_cufinufft_close(&j->rival);
	bs_nufft_cuda_close(j->plan);
	bs_devmem_close(&j->mem);
	(void)cudaFree(j->k);
	(void)cudaFree(j->data);
	(void)cudaFree(j->image);
	(void)cudaFree(j->weight);
	(void)cudaFree(j->weighted);
	errors_close(&j->errors);
	bs_stopwatch_close(&j->watch);
}

/* Of a row's two directions. */
struct pair {
	const struct bs_bench_size *size;
	uint32_t coils;
	double allowed_ms[2]; /* adjoint, forward; 0: nothing is asked */
};

static int measure(const struct pair *c, bool forward, const char *name, double bytes_ms,
		   const struct bs_traj *traj, const struct bs_tuning *t,
		   void (*row)(void *arg, const struct bs_gpu_row *r), void *arg,
		   struct bs_fail *why)
{
	struct bs_fail rival;
	struct bs_gpu_row out;
	char words[BS_TUNE_TEXT] = "default";
	struct job j;
	int rc;

	memset(&j, 0, sizeof(j));
	memset(&out, 0, sizeof(out));
	j.s = bs_bench_nufft_spec(c->size, c->coils);
	j.s.states = 1;
	j.forward = forward;
	rc = open_job(&j, traj, t != NULL ? &t->trial[t->best].tune : NULL, why);
	if (rc == 0)
		rc = time_it(&j, &out, why);
	if (rc == 0)
		rc = time_grid(&j, &out, why);
	if (rc == 0 && bs_cufinufft_there(NULL) && time_rival(&j, &out, &rival) != 0) {
		(void)fprintf(stderr, "%s: %s\n", name,
			      rival.text); /* ours is measured all the same */
		memset(&out.rival, 0, sizeof(out.rival));
		bs_cufinufft_close(&j.rival);
	}
	for (int i = 0; rc == 0 && i < (forward ? INPUTS : INPUTS - 1); i++) {
		rc = put_input(&j, (enum input)i, why);
		if (rc == 0)
			rc = compare(&j, (enum input)i, &out, why);
	}
	if (rc == 0) {
		if (t != NULL)
			(void)bs_tune_text(words, t->kind, &t->trial[t->best].tune);
		out.name = name;
		out.detail = words;
		out.demand_ms = c->allowed_ms[forward];
		out.floor_ms = ((double)j.s.samples * (j.s.coils * 8.0 + j.s.dims * 4.0) +
				(double)j.voxels * j.s.coils * 8.0) /
			       bytes_ms;
		row(arg, &out);
	}
	close_job(&j);
	return rc;
}

/* Row i: those that are always there, then what DRAWN draws; size, title: where that is kept. */
static struct pair pair_of(size_t i, struct bs_bench_size *size, char title[64])
{
	const struct bs_bench_case *c = &bs_bench_cases[i < BS_BENCH_CASES ? i : 0];
	struct pair p = { &bs_bench_sizes[c->shape], c->coils, { c->adjoint_ms, c->forward_ms } };

	if (i >= BS_BENCH_CASES) {
		bs_bench_draw(size, title, &p.coils, strtoull(getenv("DRAWN"), NULL, 10),
			      (uint32_t)(i - BS_BENCH_CASES));
		p.size = size;
		p.allowed_ms[0] = p.allowed_ms[1] = 0.0;
	}
	return p;
}

int bs_bench_gpu_nufft(int (*wanted)(void *arg, const char *name),
		       void (*row)(void *arg, const struct bs_gpu_row *r), void *arg,
		       double tune_seconds, double bytes_ms, struct bs_fail *why)
{
	const size_t rows = BS_BENCH_CASES + (getenv("DRAWN") != NULL ? BS_BENCH_DRAWN : 0);
	struct bs_tuning *t = (struct bs_tuning *)calloc(1, sizeof(*t));
	int failed = 0;

	for (size_t i = 0; t != NULL && i < rows; i++) {
		struct bs_bench_size size;
		char title[64];
		const struct pair c = pair_of(i, &size, title);
		const struct bs_nufft_spec s = bs_bench_nufft_spec(c.size, c.coils);
		struct bs_traj traj;
		char name[2][96];
		int rc;

		for (int f = 0; f < 2; f++)
			(void)snprintf(name[f], sizeof(name[f]), "%s %s, %u coil%s",
				       f ? "forward" : "adjoint", c.size->title, c.coils,
				       c.coils > 1 ? "s" : "");
		if (!wanted(arg, name[0]) && !wanted(arg, name[1]))
			continue;
		memset(&traj, 0, sizeof(traj));
		rc = bs_bench_traj(&traj, c.size, why);
		bool tuned = rc == 0 && tune_seconds > 0.0 &&
			     bs_nufft_tuned(t, &s, traj.k, "", tune_seconds, why) == 0;
		for (int f = 0; rc == 0 && f < 2; f++)
			if (wanted(arg, name[f]))
				rc = measure(&c, f != 0, name[f], bytes_ms, &traj, tuned ? t : NULL,
					     row, arg, why);
		bs_traj_close(&traj);
		if (rc != 0)
			(void)fprintf(stderr, "%s: %s\n", name[0], why->text);
		failed = rc != 0 ? rc : failed;
	}
	free(t);
	return failed;
}

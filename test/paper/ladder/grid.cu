/* test/paper/ladder/grid.cu - the gridding ladder's memory and its steps; see ladder.h */
#include "test/paper/ladder/spread.cuh"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/nufft/cuda/plan.cuh"
#include "gpu/nufft/window.h"

struct bs_ladder_grid {
	struct ladder_spread a;
	void *device[8]; /* what the pointers of a point to */
	int taken;
	struct bs_devmem mem;
	struct bs_nufft_cuda *ours;
	float2 *data;
	cudaStream_t stream;
	cudaEvent_t from, to;
};

static int check_grid(uint32_t cells, uint64_t samples, const float *x, struct bs_fail *why)
{
	if (cells < 32 || cells > 1024 || cells % SPREAD_WIDE != 0)
		return bs_fail(why, BS_ERR_SIZE, "ladder: %u cells an axis", cells);
	if (samples < 1 || samples > 1000000)
		return bs_fail(why, BS_ERR_SIZE, "ladder: %llu samples",
			       (unsigned long long)samples);
	for (uint64_t i = 0; i < 2 * samples; i++)
		if (!(x[i] >= -0.5f * (float)cells && x[i] < 0.5f * (float)cells))
			return bs_fail(why, BS_ERR_SIZE, "ladder: sample %llu lies at %g",
				       (unsigned long long)(i / 2), (double)x[i]);
	return 0;
}

static int sector_of(const float *x, int cells, int side)
{
	const int u = (int)floorf(x[0]) + cells / 2;
	const int v = (int)floorf(x[1]) + cells / 2;

	return v / side * (cells / side) + u / side;
}

/* start [sectors + 1], order [sample]: by sector, then in the order of the scan. */
static void sort(int *start, int *order, const float *x, int samples, int cells, int side)
{
	const int sectors = (cells / side) * (cells / side);

	memset(start, 0, (size_t)(sectors + 1) * sizeof(int));
	for (int m = 0; m < samples; m++)
		start[sector_of(x + 2 * m, cells, side) + 1]++;
	for (int s = 0; s < sectors; s++)
		start[s + 1] += start[s];
	for (int m = 0; m < samples; m++)
		order[start[sector_of(x + 2 * m, cells, side)]++] = m;
	for (int s = sectors; s > 0; s--)
		start[s] = start[s - 1];
	start[0] = 0;
}

/* Takes device memory; from NULL: for results. */
static int take(struct bs_ladder_grid *l, void **to, const void *from, size_t bytes,
		struct bs_fail *why)
{
	BS_CUDA(cudaMalloc(to, bytes), why);
	l->device[l->taken++] = *to;
	if (from != NULL)
		BS_CUDA(cudaMemcpy(*to, from, bytes, cudaMemcpyHostToDevice), why);
	return 0;
}

static int take_sorted(struct bs_ladder_grid *l, struct ladder_sorted *to, const float *x,
		       const float *d, int side, const struct ladder_packed **packed,
		       struct bs_fail *why)
{
	const int cells = l->a.cells;
	const int samples = l->a.samples;
	const size_t sectors = (size_t)(cells / side) * (size_t)(cells / side);
	int *start = (int *)malloc((sectors + 1) * sizeof(int));
	int *order = (int *)malloc((size_t)samples * sizeof(int));
	float4 *word = (float4 *)malloc((size_t)samples * sizeof(*word));
	struct ladder_packed *p = (struct ladder_packed *)malloc((size_t)samples * sizeof(*p));
	void *at = NULL;
	int err = 0;

	if (start == NULL || order == NULL || word == NULL || p == NULL) {
		err = bs_fail(why, BS_ERR_NOMEM, "ladder: %d samples", samples);
	} else {
		sort(start, order, x, samples, cells, side);
		for (int i = 0; i < samples; i++) {
			const int m = order[i];

			p[i] = { x[2 * m], x[2 * m + 1], d[2 * m], d[2 * m + 1], 1.0f };
			word[i] = make_float4(p[i].x, p[i].y, p[i].re, p[i].im);
		}
		err = take(l, &at, start, (sectors + 1) * sizeof(int), why);
		to->start = (const int *)at;
	}
	if (err == 0)
		err = take(l, &at, word, (size_t)samples * sizeof(*word), why);
	to->word = (const float4 *)at;
	if (err == 0 && packed != NULL) {
		err = take(l, &at, p, (size_t)samples * sizeof(*p), why);
		*packed = (const struct ladder_packed *)at;
	}
	free(start);
	free(order);
	free(word);
	free(p);
	return err;
}

static int take_arrived(struct bs_ladder_grid *l, const float *x, const float *d,
			struct bs_fail *why)
{
	const size_t n = (size_t)l->a.samples;
	struct ladder_packed *p = (struct ladder_packed *)malloc(n * sizeof(*p));
	void *at = NULL;
	int err;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "ladder: %zu samples", n);
	for (size_t m = 0; m < n; m++)
		p[m] = { x[2 * m], x[2 * m + 1], d[2 * m], d[2 * m + 1], 1.0f };
	err = take(l, &at, p, n * sizeof(*p), why);
	l->a.arrived = (const struct ladder_packed *)at;
	free(p);
	return err;
}

/* The production plan with the same window and grid: k = x / cells, exact for a power of 2. */
static int plan_ours(struct bs_ladder_grid *l, const float *x, struct bs_fail *why)
{
	const size_t n = (size_t)l->a.samples;
	struct bs_nufft_spec s;
	struct bs_nufft_info info;
	struct bs_need need;
	float *k = (float *)malloc(2 * n * sizeof(float));
	int err;

	if (k == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "ladder: %zu samples", n);
	for (size_t i = 0; i < 2 * n; i++)
		k[i] = x[i] / (float)l->a.cells;
	memset(&s, 0, sizeof(s));
	memset(&need, 0, sizeof(need));
	s.dims = 2;
	s.matrix[0] = s.matrix[1] = (uint32_t)l->a.cells / 2;
	s.matrix[2] = 1;
	s.coils = 1;
	s.samples = n;
	s.states = 1;
	s.window = BS_WINDOW_GAUSS;
	s.width = BS_LADDER_WINDOW;
	s.oversampling = 2.0;
	err = bs_nufft_cuda_need(&s, &need, why);
	if (err == 0)
		err = bs_devmem_open(&l->mem, need.total_bytes + 64 * BS_DEV_ALIGN, "ladder", why);
	if (err == 0)
		err = bs_nufft_cuda_plan(&l->ours, &s, k, NULL, &l->mem, why);
	free(k);
	if (err != 0)
		return err;
	bs_nufft_cuda_info(l->ours, &info);
	if (info.grid[0] != (uint32_t)l->a.cells || info.grid[1] != (uint32_t)l->a.cells ||
	    info.width != BS_LADDER_WINDOW)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "ladder: the production grid is %u x %u, window %g", info.grid[0],
			       info.grid[1], info.width);
	return 0;
}

static int fill_tables(double sigma, struct bs_fail *why)
{
	float table[SPREAD_TABLE];
	int err;

	for (int i = 0; i < SPREAD_TABLE; i++) {
		const double d = (double)i / SPREAD_STEPS;

		table[i] = (float)exp(-d * d / (2.0 * sigma * sigma));
	}
	err = ladder_table_fill(table, why);
	if (err == 0)
		err = ladder_sectors_fill(table, why);
	return err != 0 ? err : ladder_blocks_fill(table, why);
}

static int open_all(struct bs_ladder_grid *l, const float *x, const float *d, double sigma,
		    struct bs_fail *why)
{
	const size_t cells = (size_t)l->a.cells * (size_t)l->a.cells;
	void *at = NULL;
	int err = take_arrived(l, x, d, why);

	if (err == 0)
		err = take_sorted(l, &l->a.wide, x, d, SPREAD_WIDE, &l->a.packed, why);
	if (err == 0)
		err = take_sorted(l, &l->a.small, x, d, SPREAD_SMALL, NULL, why);
	if (err == 0)
		err = take(l, &at, NULL, cells * sizeof(float2), why);
	l->a.grid = (float2 *)at;
	/* 8 x 8 cells padded to 16 x 16 are the most: four times the grid */
	if (err == 0)
		err = take(l, &at, NULL, 4 * cells * sizeof(float2), why);
	l->a.part = (float2 *)at;
	if (err == 0) {
		BS_CUDA(cudaMalloc(&l->data, (size_t)l->a.samples * sizeof(float2)), why);
		BS_CUDA(cudaMemcpy(l->data, d, (size_t)l->a.samples * sizeof(float2),
				   cudaMemcpyHostToDevice),
			why);
		err = fill_tables(sigma, why);
	}
	if (err == 0)
		err = plan_ours(l, x, why);
	if (err != 0)
		return err;
	BS_CUDA(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking), why);
	BS_CUDA(cudaEventCreate(&l->from), why);
	BS_CUDA(cudaEventCreate(&l->to), why);
	BS_CUDA(cudaDeviceSynchronize(), why);
	return 0;
}

int bs_ladder_grid_open(struct bs_ladder_grid **out, uint32_t cells, uint64_t samples,
			const float *x, const float *d, double *sigma, struct bs_fail *why)
{
	struct bs_ladder_grid *l;
	int err = check_grid(cells, samples, x, why);

	*out = NULL;
	if (err != 0)
		return err;
	l = (struct bs_ladder_grid *)calloc(1, sizeof(*l));
	if (l == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "ladder");
	*sigma = bs_window_make(BS_WINDOW_GAUSS, BS_LADDER_WINDOW, 2.0).shape;
	l->a.cells = (int)cells;
	l->a.samples = (int)samples;
	l->a.falloff = (float)(1.0 / (2.0 * *sigma * *sigma));
	err = open_all(l, x, d, *sigma, why);
	if (err != 0) {
		bs_ladder_grid_close(l);
		return err;
	}
	*out = l;
	return 0;
}

/* The production kernels: directly where a plan without tuning would, or through padded sectors. */
static int spread_ours(struct bs_ladder_grid *l, bool direct, struct bs_fail *why)
{
	struct bs_nufft_cuda *p = l->ours;

	if (direct)
		return bs_nufft_direct(&p->chunk[0].dev, p->choice.taps, l->data, l->a.grid,
				       p->close, l->stream, why);
	BS_CUDA(cudaMemsetAsync(l->a.grid, 0, bs_nufft_cells(p) * sizeof(float2), l->stream), why);
	return bs_nufft_add_chunk(p, 0, l->data, l->a.grid, l->stream, why);
}

static int queue(struct bs_ladder_grid *l, enum bs_ladder_grid_step step, struct bs_fail *why)
{
	static int (*const rung[])(const struct ladder_spread *, cudaStream_t, struct bs_fail *) = {
		ladder_naive, ladder_cache,   ladder_aligned,
		ladder_table, ladder_sectors, ladder_blocks_more,
	};

	if (step < BS_LADDER_GRID_SECTORS_OURS)
		return rung[step](&l->a, l->stream, why);
	return spread_ours(l, step == BS_LADDER_GRID_OURS && l->ours->direct, why);
}

/* The rung so many times over as one graph. */
static int capture(struct bs_ladder_grid *l, enum bs_ladder_grid_step step, uint32_t repeats,
		   cudaGraphExec_t *exec, struct bs_fail *why)
{
	cudaGraph_t graph = NULL;
	cudaError_t e;
	int err = 0;

	BS_CUDA(cudaStreamBeginCapture(l->stream, cudaStreamCaptureModeThreadLocal), why);
	for (uint32_t i = 0; i < repeats && err == 0; i++)
		err = queue(l, step, why);
	e = cudaStreamEndCapture(l->stream, &graph);
	if (err == 0 && e == cudaSuccess)
		e = cudaGraphInstantiate(exec, graph, 0);
	if (graph != NULL)
		(void)cudaGraphDestroy(graph);
	if (err == 0)
		BS_CUDA(e, why);
	return err;
}

static int time_graph(struct bs_ladder_grid *l, cudaGraphExec_t exec, float *ms,
		      struct bs_fail *why)
{
	BS_CUDA(cudaGraphLaunch(exec, l->stream), why);
	BS_CUDA(cudaEventRecord(l->from, l->stream), why);
	BS_CUDA(cudaGraphLaunch(exec, l->stream), why);
	BS_CUDA(cudaEventRecord(l->to, l->stream), why);
	BS_CUDA(cudaStreamSynchronize(l->stream), why);
	BS_CUDA(cudaEventElapsedTime(ms, l->from, l->to), why);
	return 0;
}

int bs_ladder_grid_step(struct bs_ladder_grid *l, enum bs_ladder_grid_step step, uint32_t repeats,
			float *grid, double *ms, struct bs_fail *why)
{
	const size_t bytes = (size_t)l->a.cells * (size_t)l->a.cells * sizeof(float2);
	cudaGraphExec_t exec = NULL;
	float elapsed = 0.0f;
	int err;

	if ((unsigned)step >= BS_LADDER_GRID_STEPS || repeats < 1 || repeats > 10000)
		return bs_fail(why, BS_ERR_SIZE, "ladder: step %d, %u times", (int)step, repeats);
	if (grid != NULL) /* no cell may be left over from the rung before */
		BS_CUDA(cudaMemset(l->a.grid, 0xff, bytes), why);
	BS_CUDA(cudaDeviceSynchronize(), why);
	err = queue(l, step, why); /* once for real: no kernel is loaded while capturing */
	if (err != 0)
		return err;
	BS_CUDA(cudaStreamSynchronize(l->stream), why);
	err = capture(l, step, repeats, &exec, why);
	if (err == 0)
		err = time_graph(l, exec, &elapsed, why);
	if (exec != NULL)
		(void)cudaGraphExecDestroy(exec);
	if (err != 0)
		return err;
	*ms = (double)elapsed / repeats;
	if (grid != NULL)
		BS_CUDA(cudaMemcpy(grid, l->a.grid, bytes, cudaMemcpyDeviceToHost), why);
	return 0;
}

void bs_ladder_grid_close(struct bs_ladder_grid *l)
{
	if (l == NULL)
		return;
	bs_nufft_cuda_close(l->ours);
	bs_devmem_close(&l->mem);
	for (int i = 0; i < l->taken; i++)
		(void)cudaFree(l->device[i]);
	(void)cudaFree(l->data);
	if (l->from != NULL)
		(void)cudaEventDestroy(l->from);
	if (l->to != NULL)
		(void)cudaEventDestroy(l->to);
	if (l->stream != NULL)
		(void)cudaStreamDestroy(l->stream);
	free(l);
}

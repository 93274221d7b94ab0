/* gpu/nufft/path.cu - see path_cuda.h */
#include "gpu/nufft/path_cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"
#include "gpu/device/stream.h"
#include "gpu/nufft/cuda/sample.cuh"
#include "gpu/nufft/density.h"

#define THREADS 256
#define TOTAL   1024   /* threads that add up readouts */
#define TILE    16     /* cells of a block's edge */
#define CHUNK   32     /* samples of a box */
#define COILS   4      /* of a block */
#define SLOTS   64u    /* readouts whose path may wait to be read */
#define CENTER  1e-6   /* as gpu/nufft/density.c */
#define NEVER   0x7f7f /* a first cell that no box of cells has: bytes that memset writes */

/* A sample: its window's first cells, before they are taken modulo the grid; offsets; weight. */
struct place {
	short cell[2];
	float offset[2], weight;
};

/* The first cells of a chunk's samples: from, to, of x and y. */
struct box {
	short from[2], to[2];
};

struct shape {
	uint32_t samples, readouts, chunks; /* chunks: of a readout */
	uint32_t grid[2], matrix[2], coils;
	double window;
	bool ramp, normalizes;
};

struct bs_path_cuda {
	struct shape shape;
	struct bs_nufft_spec spec;
	struct bs_nufft_choice choice;
	struct bs_kernel_window window;
	float2 *data; /* [state][coil][sample] */
	uint64_t data_step;
	struct place *place; /* [state][readout][sample] */
	struct box *box;     /* [state][readout][chunk] */
	double *seen; /* [state][readout] of an image of ones, weighted; behind them: of all */
	float2 *grid, *half;
	bs_line_pass pass[2];
	struct bs_pinned paths, sums; /* [slot][sample][2]; [state] */
	cudaEvent_t read[SLOTS];
	uint64_t made;
};

/* ---- kernels --------------------------------------------------------------------------------- */

static __device__ double radius(float2 k)
{
	return sqrt((double)k.x * k.x + (double)k.y * k.y);
}

static __device__ double ones_along(double k, uint32_t n, double *turn)
{
	const double s = sinpi(k);

	if (n % 2 == 0)
		*turn += k;
	return fabs(s) < 1e-12 ? (double)n : sinpi(k * n) / s;
}

/* Re D(k), the transform of an image of ones. */
static __device__ double ones(float2 k, const uint32_t matrix[2])
{
	double turn = 0.0;
	const double x = ones_along(k.x, matrix[0], &turn);
	const double y = ones_along(k.y, matrix[1], &turn);

	return x * y * cospi(turn);
}

/* What the block's threads have, by a fixed tree; in all threads. */
template <class F> static __device__ double block_fold(double v, double none, F f)
{
	__shared__ double part[32];

	for (int n = 16; n > 0; n >>= 1)
		v = f(v, __shfl_xor_sync(~0u, v, n));
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : none;
	for (int n = 16; n > 0; n >>= 1)
		v = f(v, __shfl_xor_sync(~0u, v, n));
	return v;
}

static __device__ double block_sum(double v)
{
	return block_fold(v, 0.0, [](double a, double b) { return a + b; });
}

/* As center_weight of gpu/nufft/density.c. */
static __device__ double center_weight(const float2 *k, uint32_t samples)
{
	double step = INFINITY;
	double at_center = 0.0;
	const bool through = radius(k[0]) > CENTER && radius(k[samples - 1]) > CENTER;

	for (uint32_t s = threadIdx.x; s < samples; s += THREADS) {
		const double r = radius(k[s]);

		at_center += r <= CENTER;
		if (r > CENTER && r < step)
			step = r;
	}
	at_center = block_sum(at_center);
	step = block_fold(step, INFINITY, [](double a, double b) { return fmin(a, b); });
	if (at_center == 0.0 || isinf(step))
		return 0.0;
	return step / (through ? 6.0 : 12.0) / at_center;
}

static __device__ short locate(double k, uint32_t grid, double window, float *offset)
{
	const double left = k * grid - 0.5 * window;
	const double first = ceil(left);

	*offset = (float)(first - left);
	return (short)first;
}

static __device__ int lane_least(int v)
{
	for (int n = 16; n > 0; n >>= 1)
		v = min(v, __shfl_xor_sync(~0u, v, n));
	return v;
}

/* One readout, a block; k: the host's memory. */
static __global__ void __launch_bounds__(THREADS)
	find_places(struct place *place, struct box *box, double *seen, const float2 *k,
		    const struct shape s)
{
	const double center = s.ramp && s.normalizes ? center_weight(k, s.samples) : 0.0;
	double sum = 0.0;

	for (uint32_t m = threadIdx.x; m < s.chunks * CHUNK; m += THREADS) {
		const bool is = m < s.samples;
		const float2 at = k[is ? m : 0];
		const double r = radius(at);
		struct place to;
		int low[2];
		int high[2];

		to.weight = (float)(!s.ramp ? 1.0 : r <= CENTER ? center : r);
		to.cell[0] = locate(at.x, s.grid[0], s.window, &to.offset[0]);
		to.cell[1] = locate(at.y, s.grid[1], s.window, &to.offset[1]);
		for (int a = 0; a < 2; a++) {
			low[a] = lane_least(is ? to.cell[a] : NEVER);
			high[a] = -lane_least(is ? -to.cell[a] : NEVER);
		}
		if (m % CHUNK == 0)
			box[m / CHUNK] = { { (short)low[0], (short)low[1] },
					   { (short)high[0], (short)high[1] } };
		if (!is)
			continue;
		place[m] = to;
		if (s.normalizes)
			sum += (double)to.weight * ones(at, s.matrix);
	}
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		*seen = sum;
}

/* seen[readouts], and *to in the host's memory, = what all readouts see */
static __global__ void __launch_bounds__(TOTAL) add_up(double *to, double *seen, uint32_t readouts)
{
	double sum = 0.0;

	for (uint32_t r = threadIdx.x; r < readouts; r += TOTAL)
		sum += seen[r];
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		*to = seen[readouts] = sum;
}

/* Whether windows with first cells in from .. to reach a tile's cells, of a periodic grid. */
static __device__ bool reaches(int from, int to, int taps, int tile, int grid)
{
	return (from < tile + TILE && to + taps > tile) ||
	       (from < tile + TILE - grid && to + taps > tile - grid);
}

/* The first cell as seen from the tile's first: 1 - taps .. TILE - 1 where it reaches the tile. */
static __device__ int from_tile(int cell, int tile, int taps, int grid)
{
	const int at = cell - tile;

	return at + taps <= 0 ? at + grid : at;
}

/* The places, in order, of those threads whose `is` holds; *count: of all. Ends in step. */
static __device__ uint32_t rank(bool is, uint32_t *count)
{
	__shared__ uint32_t before[THREADS / 32];
	const unsigned mask = __ballot_sync(~0u, is);
	const uint32_t warp = threadIdx.x / 32;
	uint32_t at = 0;

	__syncthreads();
	if (threadIdx.x % 32 == 0)
		before[warp] = __popc(mask);
	__syncthreads();
	*count = 0;
	for (uint32_t w = 0; w < THREADS / 32; w++) {
		at += w < warp ? before[w] : 0;
		*count += before[w];
	}
	return at + __popc(mask & ((1u << threadIdx.x % 32) - 1));
}

/* A tile of cells of COILS coils: the samples that reach it, in their order. A thread: a cell. */
template <int W>
static __global__ void __launch_bounds__(THREADS)
	collect(float2 *grid, const struct place *place, const struct box *box, const float2 *data,
		const double *total, const bs_kernel_window window, const struct shape s)
{
	__shared__ uint32_t list[THREADS];
	__shared__ float along[2][W][THREADS];
	__shared__ short first[2][THREADS];
	__shared__ float2 value[COILS][THREADS];
	const int tile[2] = { (int)blockIdx.x * TILE, (int)blockIdx.y * TILE };
	const int size[2] = { (int)s.grid[0], (int)s.grid[1] };
	const int x = (int)threadIdx.x % TILE;
	const int y = (int)threadIdx.x / TILE;
	const uint32_t coil = blockIdx.z * COILS;
	const uint64_t step = (uint64_t)s.samples * s.readouts;
	const uint32_t boxes = s.chunks * s.readouts;
	float2 sum[COILS] = {};

	for (uint32_t b0 = 0; b0 < boxes; b0 += THREADS) {
		const uint32_t b = b0 + threadIdx.x;
		bool is = b < boxes;
		uint32_t chunks;

		for (int a = 0; is && a < 2; a++)
			is = reaches(box[b].from[a], box[b].to[a], W, tile[a], size[a]);
		const uint32_t at = rank(is, &chunks);

		if (is)
			list[at] = b;
		__syncthreads();
		for (uint32_t c0 = 0; c0 < chunks; c0 += THREADS / CHUNK) {
			const uint32_t c = c0 + threadIdx.x / CHUNK;
			const uint32_t chunk = c < chunks ? list[c] : 0;
			const uint32_t m = chunk % s.chunks * CHUNK + threadIdx.x % CHUNK;
			const uint64_t sample = (uint64_t)(chunk / s.chunks) * s.samples + m;
			struct place p;
			uint32_t entries;
			bool near = c < chunks && m < s.samples;

			if (near)
				p = place[sample];
			for (int a = 0; near && a < 2; a++)
				near = reaches(p.cell[a], p.cell[a], W, tile[a], size[a]);
			const uint32_t e = rank(near, &entries);

			for (int a = 0; near && a < 2; a++) {
				float w[W];

				::window<W>(w, p.offset[a], window, a);
				for (int j = 0; j < W; j++)
					along[a][j][e] = w[j];
				first[a][e] = (short)from_tile(p.cell[a], tile[a], W, size[a]);
			}
			for (uint32_t i = 0; near && i < COILS && coil + i < s.coils; i++) {
				const float2 v = data[(coil + i) * step + sample];

				value[i][e] = make_float2(v.x * p.weight, v.y * p.weight);
			}
			__syncthreads();
			for (uint32_t i = 0; i < entries; i++) {
				const int jx = x - first[0][i];
				const int jy = y - first[1][i];

				if ((unsigned)jx >= W || (unsigned)jy >= W)
					continue;
				const float w = along[0][jx][i] * along[1][jy][i];

#pragma unroll
				for (int n = 0; n < COILS; n++) {
					sum[n].x = fmaf(w, value[n][i].x, sum[n].x);
					sum[n].y = fmaf(w, value[n][i].y, sum[n].y);
				}
			}
		}
	}
	if (tile[0] + x >= size[0] || tile[1] + y >= size[1])
		return;
	const float scale = s.normalizes ? (float)(1.0 / *total) : 1.0f;
	const size_t cells = (size_t)s.grid[0] * s.grid[1];
	const size_t cell = (size_t)(tile[1] + y) * s.grid[0] + tile[0] + x;

	for (uint32_t n = 0; n < COILS && coil + n < s.coils; n++)
		grid[(coil + n) * cells + cell] = make_float2(sum[n].x * scale, sum[n].y * scale);
}

/* ---- plan ------------------------------------------------------------------------------------ */

static int choose(struct bs_nufft_choice *c, struct bs_nufft_spec *s,
		  const struct bs_nufft_spec *nufft, struct bs_fail *why)
{
	*s = *nufft;
	s->chunk = s->part = 0;
	s->states = 0;
	s->peek = s->repath = false;
	s->tune = NULL;
	if (s->dims != 2)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "paths with the readouts in 3D");
	int rc = bs_nufft_choose(c, s, false, 0, why);

	/* a window reaches a tile from one side alone */
	for (int a = 0; rc == 0 && a < 2; a++)
		if (c->sectors.grid[a] < TILE + c->taps - 1)
			c->sectors.grid[a] = TILE + BS_KERNEL_TAPS_MAX;
	return rc;
}

static struct shape shape_of(const struct bs_protocol *p, const struct bs_nufft_choice *c)
{
	struct shape s;

	memset(&s, 0, sizeof(s));
	s.samples = p->samples;
	s.readouts = p->readouts;
	s.chunks = (p->samples + CHUNK - 1) / CHUNK;
	for (int a = 0; a < 2; a++) {
		s.grid[a] = c->sectors.grid[a];
		s.matrix[a] = p->matrix[a];
	}
	s.coils = p->coils;
	s.window = c->sectors.window;
	s.ramp = p->density == BS_DENSITY_RAMP;
	s.normalizes = bs_density_normalizes(p);
	return s;
}

enum region { DATA, PLACES, BOXES, SEEN, GRID, HALF, REGIONS };
static const char *const region_name[REGIONS] = {
	"device samples of frames", "device places of samples", "device boxes of samples",
	"device brightness",        "device oversampled grid",  "device half-transformed grid"
};

static void regions_of(uint64_t bytes[REGIONS], const struct bs_protocol *p, const struct shape *s)
{
	const uint64_t states = bs_protocol_frames(p);
	const uint64_t samples = bs_protocol_samples(p);

	bytes[DATA] = bs_devmem_round(samples * p->coils * 8) * states;
	bytes[PLACES] = states * samples * sizeof(struct place);
	bytes[BOXES] = states * s->readouts * s->chunks * sizeof(struct box);
	bytes[SEEN] = states * (s->readouts + 1ull) * sizeof(double);
	bytes[GRID] = (uint64_t)s->grid[0] * s->grid[1] * p->coils * 8;
	bytes[HALF] = (uint64_t)s->matrix[0] * s->grid[1] * p->coils * 8;
}

int bs_path_cuda_need(const struct bs_protocol *p, const struct bs_nufft_spec *nufft,
		      struct bs_need *need, struct bs_fail *why)
{
	struct bs_nufft_choice c;
	struct bs_nufft_spec spec;
	struct shape s;
	uint64_t bytes[REGIONS];
	int rc = choose(&c, &spec, nufft, why);

	if (rc != 0)
		return rc;
	s = shape_of(p, &c);
	regions_of(bytes, p, &s);
	for (int r = 0; r < REGIONS; r++)
		bs_need_add(need, region_name[r], 1, bs_devmem_round(bytes[r]));
	for (int a = 0; a < 2; a++)
		bs_need_add(need, "device line tables", 1,
			    bs_line_bytes(s.grid[a]) + bs_devmem_round(s.matrix[a] * 4u));
	return 0;
}

static int make_passes(struct bs_path_cuda *p, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct shape *s = &p->shape;
	float table[2 * BS_AXIS_MAX];
	int rc = bs_lines_cuda_init(why);

	for (uint32_t a = 0; rc == 0 && a < 2; a++) {
		bs_line_pass *l = &p->pass[a];
		float *scale = (float *)bs_devmem_take(mem, s->matrix[a] * sizeof(float));

		if (scale == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "gridding along paths: tables");
		bs_nufft_deapodize(table, &p->choice, &p->spec, a);
		BS_CUDA(cudaMemcpy(scale, table, s->matrix[a] * sizeof(float),
				   cudaMemcpyHostToDevice),
			why);
		rc = bs_line_make(&l->line, s->grid[a], mem, why);
		l->in_count = s->grid[a];
		l->out_count = s->matrix[a];
		l->out_half = s->matrix[a] / 2;
		l->scale_out = scale;
		l->outer = a == 0 ? (uint64_t)s->coils * s->grid[1] : s->coils;
		l->inner = a == 0 ? 1 : s->matrix[0];
	}
	return rc;
}

static int take_regions(struct bs_path_cuda *p, const struct bs_protocol *protocol,
			struct bs_devmem *mem, struct bs_fail *why)
{
	uint64_t bytes[REGIONS];

	regions_of(bytes, protocol, &p->shape);
	p->data_step = bytes[DATA] / bs_protocol_frames(protocol) / sizeof(float2);
	p->data = (float2 *)bs_devmem_take_readouts(mem, (size_t)bytes[DATA]);
	p->place = (struct place *)bs_devmem_take(mem, (size_t)bytes[PLACES]);
	p->box = (struct box *)bs_devmem_take(mem, (size_t)bytes[BOXES]);
	p->seen = (double *)bs_devmem_take(mem, (size_t)bytes[SEEN]);
	p->grid = (float2 *)bs_devmem_take(mem, (size_t)bytes[GRID]);
	p->half = (float2 *)bs_devmem_take(mem, (size_t)bytes[HALF]);
	return p->data == NULL || p->place == NULL || p->box == NULL || p->seen == NULL ||
			       p->grid == NULL || p->half == NULL
		       ? bs_fail(why, BS_ERR_NOMEM, "gridding along paths: device memory")
		       : 0;
}

int bs_path_cuda_plan(struct bs_path_cuda **plan, const struct bs_protocol *protocol,
		      const struct bs_nufft_spec *nufft, struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_path_cuda *p = (struct bs_path_cuda *)calloc(1, sizeof(*p));
	int rc = p == NULL ? bs_fail(why, BS_ERR_NOMEM, "gridding along paths")
			   : choose(&p->choice, &p->spec, nufft, why);

	*plan = NULL;
	if (rc == 0) {
		p->shape = shape_of(protocol, &p->choice);
		rc = bs_nufft_kernel_window(&p->window, &p->choice, &p->spec, why);
	}
	if (rc == 0)
		rc = take_regions(p, protocol, mem, why);
	if (rc == 0)
		rc = make_passes(p, mem, why);
	if (rc == 0)
		rc = bs_pinned_open(&p->paths, (uint64_t)SLOTS * protocol->samples * 8, why);
	if (rc == 0)
		rc = bs_pinned_open(&p->sums, bs_protocol_frames(protocol) * sizeof(double), why);
	for (uint32_t i = 0; rc == 0 && i < SLOTS; i++)
		rc = bs_stream_event(&p->read[i], why);
	if (rc == 0)
		rc = bs_cuda_copied(why);
	if (rc != 0) {
		bs_path_cuda_close(p);
		return rc;
	}
	*plan = p;
	return 0;
}

void bs_path_cuda_close(struct bs_path_cuda *p)
{
	if (p == NULL)
		return;
	for (uint32_t i = 0; i < SLOTS; i++)
		if (p->read[i] != NULL)
			(void)cudaEventDestroy(p->read[i]);
	bs_pinned_close(&p->paths);
	bs_pinned_close(&p->sums);
	free(p);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static double *seen_of(const struct bs_path_cuda *p, uint32_t state)
{
	return p->seen + (size_t)state * (p->shape.readouts + 1);
}

float2 *bs_path_cuda_samples(struct bs_path_cuda *p, uint32_t state)
{
	return p->data + state * p->data_step;
}

int bs_path_cuda_begin(struct bs_path_cuda *p, uint32_t state, cudaStream_t stream,
		       struct bs_fail *why)
{
	const size_t boxes = (size_t)p->shape.readouts * p->shape.chunks;

	BS_CUDA(cudaMemsetAsync(p->box + state * boxes, NEVER & 0xff, boxes * sizeof(struct box),
				stream),
		why);
	BS_CUDA(cudaMemsetAsync(seen_of(p, state), 0, p->shape.readouts * sizeof(double), stream),
		why);
	return 0;
}

int bs_path_cuda_path(struct bs_path_cuda *p, float **k, struct bs_fail *why)
{
	if (p->made >= SLOTS)
		BS_CUDA(cudaEventSynchronize(p->read[p->made % SLOTS]), why);
	*k = (float *)p->paths.host + p->made % SLOTS * p->shape.samples * 2;
	return 0;
}

int bs_path_cuda_arrived(struct bs_path_cuda *p, uint32_t state, uint32_t readout,
			 cudaStream_t stream, struct bs_fail *why)
{
	const struct shape *s = &p->shape;
	const uint64_t at = (uint64_t)state * s->readouts + readout;

	find_places<<<1, THREADS, 0, stream>>>(
		p->place + at * s->samples, p->box + at * s->chunks, seen_of(p, state) + readout,
		(const float2 *)p->paths.dev + p->made % SLOTS * s->samples, *s);
	BS_CUDA(cudaGetLastError(), why);
	BS_CUDA(cudaEventRecord(p->read[p->made % SLOTS], stream), why);
	p->made++;
	return 0;
}

int bs_path_cuda_finish(struct bs_path_cuda *p, uint32_t state, float2 *image, cudaStream_t stream,
			struct bs_fail *why)
{
	const struct shape *s = &p->shape;
	const uint64_t readouts = (uint64_t)state * s->readouts;
	const dim3 blocks((s->grid[0] + TILE - 1) / TILE, (s->grid[1] + TILE - 1) / TILE,
			  (s->coils + COILS - 1) / COILS);
	double *seen = seen_of(p, state);
	int rc;

	add_up<<<1, TOTAL, 0, stream>>>((double *)p->sums.dev + state, seen, s->readouts);
	BS_CUDA(cudaGetLastError(), why);
	bs_by_taps(p->choice.taps, [&](auto w) {
		collect<decltype(w)::value><<<blocks, THREADS, 0, stream>>>(
			p->grid, p->place + readouts * s->samples, p->box + readouts * s->chunks,
			bs_path_cuda_samples(p, state), seen + s->readouts, p->window, *s);
	});
	BS_CUDA(cudaGetLastError(), why);
	rc = bs_line_launch(&p->pass[0], 1, p->grid, p->half, stream, why);
	return rc != 0 ? rc : bs_line_launch(&p->pass[1], 1, p->half, image, stream, why);
}

double bs_path_cuda_bright(const struct bs_path_cuda *p, uint32_t state)
{
	return p->shape.normalizes ? ((const double *)p->sums.host)[state] : 1.0;
}

/*
 * gpu/grappa/slice.cu - CUDA twin of slice.c's apply; see slice_cuda.h
 *
 * load spreads the weights of a kernel's samples over the columns, once for a group: [output]
 * [input][column], an input being a line of the kernel and a coil. A warp then makes MADE outputs
 * of LINES measured lines at 32 columns; the warps of a block share what they read of the lines.
 * The ends of readouts and the phases of the bands follow, as in slice.c.
 */
#include "gpu/grappa/slice_cuda.h"

#include <stdlib.h>

#include "core/protocol.h"
#include "gpu/device/check.h"
#include "gpu/grappa/grappa.h"
#include "gpu/grappa/times.cuh"

#define WARP  32u
#define WARPS 4u
#define MADE  4u /* outputs of a thread */
#define LINES 8u /* lines of a thread */
#define NONE  UINT32_MAX
#define ENDS  (BS_GRAPPA_KERNEL_X - 1)

/* The arguments of the kernels. */
struct shape {
	uint32_t lines, columns, coils, outputs, taps, kernel_lines;
	bool wrapped;
	/* number of measured lines, then the numbers of these, then those of the others */
	const uint32_t *order;
	const float2 *wave;             /* [end][column], as in slice.c */
	const float2 *weights, *phases; /* weights and phases of the band */
	/* the band's weights spread over the columns, [output][input][column] */
	const float2 *spread;
};

struct bs_slice_cuda {
	struct bs_slice_spec s;
	uint32_t *order, *order_host;
	float2 *wave, *shift; /* shift [tap][column] */
	float2 *weights, *phases, *spread;
	float2 *samples; /* samples [coil][line][end]: the first and the last ones of a line */
};

static uint32_t outputs(const struct bs_slice_spec *s)
{
	return s->bands * s->coils;
}

static uint32_t inputs(const struct bs_slice_spec *s)
{
	return s->kernel[1] * s->coils;
}

static uint32_t ends_of(const struct bs_slice_spec *s)
{
	return s->kernel[0] / 2 * 2;
}

/* Returns the number of complex weights of a group. */
static uint64_t weights_of(const struct bs_slice_spec *s)
{
	return (uint64_t)outputs(s) * inputs(s) * s->kernel[0];
}

static uint64_t spread_of(const struct bs_slice_spec *s)
{
	return (uint64_t)outputs(s) * inputs(s) * s->columns;
}

static uint64_t phases_of(const struct bs_slice_spec *s)
{
	return (uint64_t)s->bands * s->lines_y;
}

static void take_all(struct bs_slice_cuda *p, struct bs_devroom *r)
{
	const struct bs_slice_spec *s = &p->s;

	bs_devroom_take(r, &p->order, (s->lines_y + 1) * sizeof(uint32_t));
	bs_devroom_take(r, &p->wave, (uint64_t)ends_of(s) * s->columns * sizeof(float2));
	bs_devroom_take(r, &p->shift, (uint64_t)s->kernel[0] * s->columns * sizeof(float2));
	bs_devroom_take(r, &p->weights, s->groups * weights_of(s) * sizeof(float2));
	bs_devroom_take(r, &p->phases, s->groups * phases_of(s) * sizeof(float2));
	bs_devroom_take(r, &p->spread, s->groups * spread_of(s) * sizeof(float2));
	bs_devroom_take(r, &p->samples,
			(uint64_t)s->coils * s->lines_y * ends_of(s) * sizeof(float2));
}

uint64_t bs_slice_cuda_bytes(const struct bs_slice_spec *s)
{
	struct bs_slice_cuda p = {};
	struct bs_devroom room = {};

	p.s = *s;
	take_all(&p, &room);
	return room.bytes;
}

/*
 * Makes exp(-i2pi k n / columns) at column n. k of a row: a tap's shift, or (ends) the place of one
 * of the first samples of a readout, then of the last.
 */
static __global__ void make_waves(uint32_t columns, uint32_t taps, bool ends, float2 *to)
{
	const int reach = (int)taps / 2;
	const int row = (int)blockIdx.x;
	const int first = row < reach ? row : (int)columns - 2 * reach + row;
	const int k = ends ? first - (int)columns / 2 : row - reach;

	for (uint32_t x = threadIdx.x; x < columns; x += WARP) {
		const int n = (int)x - (int)columns / 2;
		const double part = (double)((long long)k * n % (int)columns) / columns;

		to[(size_t)row * columns + x] =
			make_float2((float)cospi(2.0 * part), (float)-sinpi(2.0 * part));
	}
}

int bs_slice_cuda_plan(struct bs_slice_cuda **plan, const struct bs_slice_spec *s,
		       struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_slice_cuda *p = (struct bs_slice_cuda *)calloc(1, sizeof(*p));
	struct bs_devroom room = { mem, 0, false };

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "slice-GRAPPA plan");
	*plan = p;
	p->s = *s;
	take_all(p, &room);
	p->order_host = (uint32_t *)calloc(s->lines_y + 1, sizeof(uint32_t));
	if (room.full || p->order_host == NULL)
		BS_CUDA(cudaErrorMemoryAllocation, why);
	make_waves<<<s->kernel[0], WARP>>>(s->columns, s->kernel[0], false, p->shift);
	BS_CUDA(cudaGetLastError(), why);
	if (ends_of(s) > 0)
		make_waves<<<ends_of(s), WARP>>>(s->columns, s->kernel[0], true, p->wave);
	BS_CUDA(cudaGetLastError(), why);
	int rc = bs_slice_cuda_lines(p, NULL, cudaStreamLegacy, why);

	return rc != 0 ? rc : bs_cuda_copied(why);
}

void bs_slice_cuda_close(struct bs_slice_cuda *p)
{
	if (p == NULL)
		return;
	free(p->order_host);
	free(p);
}

/* Spreads weights [output][input][tap] over the columns; a block takes a warp of them. */
static __global__ void spread_weights(uint32_t columns, uint32_t taps, const float2 *weights,
				      const float2 *shift, float2 *to)
{
	const uint32_t x = blockIdx.y * WARP + threadIdx.x;
	float2 sum = make_float2(0.0f, 0.0f);

	if (x >= columns)
		return;
	for (uint32_t t = 0; t < taps; t++)
		add_times(&sum, weights[(size_t)blockIdx.x * taps + t],
			  shift[(size_t)t * columns + x]);
	to[(size_t)blockIdx.x * columns + x] = sum;
}

int bs_slice_cuda_load(struct bs_slice_cuda *p, uint32_t group, const struct bs_slice *host,
		       cudaStream_t stream, struct bs_fail *why)
{
	const struct bs_slice_spec *s = &p->s;
	float2 *weights = p->weights + group * weights_of(s);
	const dim3 blocks(outputs(s) * inputs(s), (s->columns + WARP - 1) / WARP);

	BS_CUDA(cudaMemcpyAsync(weights, bs_slice_weights(host, group),
				weights_of(s) * sizeof(float2), cudaMemcpyHostToDevice, stream),
		why);
	BS_CUDA(cudaMemcpyAsync(p->phases + group * phases_of(s), bs_slice_phases(host, group),
				phases_of(s) * sizeof(float2), cudaMemcpyHostToDevice, stream),
		why);
	spread_weights<<<blocks, WARP, 0, stream>>>(s->columns, s->kernel[0], weights, p->shift,
						    p->spread + group * spread_of(s));
	BS_CUDA(cudaGetLastError(), why);
	return BS_CUDA_RC(cudaStreamSynchronize(stream), why);
}

int bs_slice_cuda_lines(struct bs_slice_cuda *p, const uint8_t *have, cudaStream_t stream,
			struct bs_fail *why)
{
	const uint32_t lines = p->s.lines_y;
	uint32_t *order = p->order_host;
	uint32_t others = lines;

	order[0] = 0;
	for (uint32_t y = 0; y < lines; y++)
		if (have != NULL && have[y] == 1)
			order[++order[0]] = y;
	for (uint32_t y = lines; y-- > 0;)
		if (have == NULL || have[y] != 1)
			order[others--] = y;
	return BS_CUDA_RC(cudaMemcpyAsync(p->order, order, (lines + 1) * sizeof(uint32_t),
					  cudaMemcpyHostToDevice, stream),
			  why);
}

/* Where a line starts in a coil, in complex values. */
static __device__ __forceinline__ uint32_t line_start(const struct shape &s, uint32_t y)
{
	if (s.wrapped)
		y = y < s.lines / 2 ? y + s.lines - s.lines / 2 : y - s.lines / 2;
	return y * s.columns;
}

/* The line that line k of the kernel reads for line y; at least s.lines: none. */
static __device__ __forceinline__ uint32_t source_of(const struct shape &s, uint32_t y, uint32_t k)
{
	return (uint32_t)((int)y + (int)k - (int)s.kernel_lines / 2);
}

/* Adds the products of one line of the kernel: a sum for each output and line. */
static __device__ __forceinline__ void add_lines(const struct shape &s, const float2 *folded,
						 const uint32_t *at, uint32_t k, uint32_t first,
						 uint32_t x, float2 (*sum)[LINES])
{
	const size_t coil = (size_t)s.lines * s.columns;
	const uint32_t all = s.kernel_lines * s.coils;

	for (uint32_t c = 0; c < s.coils; c++) {
		float2 w[MADE];

#pragma unroll
		for (uint32_t o = 0; o < MADE; o++) {
			const uint32_t out = min(first + o, s.outputs - 1);

			w[o] = s.spread[((size_t)out * all + k * s.coils + c) * s.columns + x];
		}
#pragma unroll
		for (uint32_t l = 0; l < LINES; l++) {
			const float2 d = at[l] != NONE ? folded[c * coil + at[l] + x]
						       : make_float2(0.0f, 0.0f);

#pragma unroll
			for (uint32_t o = 0; o < MADE; o++)
				add_times(&sum[o][l], w[o], d);
		}
	}
}

/*
 * Separates the measured lines, but for ends and phases; a block takes (columns, outputs, lines of
 * the order).
 */
static __global__ void __launch_bounds__(WARP *WARPS)
	separate_lines(const struct shape s, const float2 *folded, float2 *out)
{
	const uint32_t x = blockIdx.x * WARP + threadIdx.x;
	const uint32_t first = (blockIdx.y * WARPS + threadIdx.y) * MADE;
	const uint32_t begin = blockIdx.z * LINES;
	const uint32_t measured = s.order[0];
	float2 sum[MADE][LINES] = {};

	if (begin >= measured || x >= s.columns || first >= s.outputs)
		return;
	for (uint32_t k = 0; k < s.kernel_lines; k++) {
		uint32_t at[LINES];

#pragma unroll
		for (uint32_t l = 0; l < LINES; l++) {
			const uint32_t y = begin + l < measured
						   ? source_of(s, s.order[1 + begin + l], k)
						   : NONE;

			at[l] = y < s.lines ? line_start(s, y) : NONE;
		}
		add_lines(s, folded, at, k, first, x, sum);
	}
#pragma unroll
	for (uint32_t l = 0; l < LINES; l++)
#pragma unroll
		for (uint32_t o = 0; o < MADE; o++)
			if (begin + l < measured && first + o < s.outputs)
				out[(size_t)(first + o) * s.lines * s.columns +
				    line_start(s, s.order[1 + begin + l]) + x] = sum[o][l];
}

/* Finds the samples at the ends of a line of a coil; a block of one warp takes it. */
static __global__ void find_ends(const struct shape s, const float2 *folded, float2 *samples)
{
	const uint32_t ends = s.taps / 2 * 2;
	const float2 *in =
		folded + (size_t)blockIdx.y * s.lines * s.columns + line_start(s, blockIdx.x);
	float2 *to = samples + ((size_t)blockIdx.y * s.lines + blockIdx.x) * ends;

	for (uint32_t i = 0; i < ends; i++) {
		float2 sum = make_float2(0.0f, 0.0f);

		for (uint32_t x = threadIdx.x; x < s.columns; x += WARP)
			add_times(&sum, in[x], __ldg(&s.wave[(size_t)i * s.columns + x]));
		for (int by = WARP / 2; by > 0; by /= 2) {
			sum.x += __shfl_down_sync(~0u, sum.x, by);
			sum.y += __shfl_down_sync(~0u, sum.y, by);
		}
		if (threadIdx.x == 0)
			to[i] = make_float2(sum.x / s.columns, sum.y / s.columns);
	}
}

/* Computes what an output's kernel has read beyond one end of line y. */
static __device__ float2 beyond(const struct shape &s, const float2 *samples, uint32_t output,
				uint32_t end, uint32_t y)
{
	const uint32_t reach = s.taps / 2;
	/* taps that leave the readout: the first ones at its start, the last ones at its end */
	const uint32_t from = end < reach ? 0 : 3 * reach - end;
	const uint32_t to = end < reach ? reach - end : s.taps;
	const float2 *w = s.weights + (size_t)output * s.kernel_lines * s.coils * s.taps;
	float2 sum = make_float2(0.0f, 0.0f);

	for (uint32_t k = 0; k < s.kernel_lines; k++) {
		const uint32_t source = source_of(s, y, k);

		for (uint32_t c = 0; source < s.lines && c < s.coils; c++)
			for (uint32_t t = from; t < to; t++)
				add_times(&sum, w[(k * s.coils + c) * s.taps + t],
					  samples[((size_t)c * s.lines + source) * 2 * reach +
						  (end + t + reach) % (2 * reach)]);
	}
	return sum;
}

/*
 * Finishes a line, all coils: ends and phase, or zeros where it was not measured. A block takes a
 * line of the order.
 */
static __global__ void finish_lines(const struct shape s, const float2 *samples, float2 *out)
{
	__shared__ float2 beside[BS_COILS_MAX * ENDS];
	const uint32_t y = s.order[1 + blockIdx.x];
	const uint32_t ends = s.taps / 2 * 2;
	const bool measured = blockIdx.x < s.order[0];
	const float2 phase = s.phases[y];
	float2 *line = out + line_start(s, y);

	for (uint32_t i = threadIdx.x; measured && i < s.coils * ends; i += blockDim.x)
		beside[i] = beyond(s, samples, i / ends, i % ends, y);
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < s.coils * s.columns; i += blockDim.x) {
		const uint32_t c = i / s.columns;
		const uint32_t x = i % s.columns;
		float2 *to = line + (size_t)c * s.lines * s.columns + x;
		float2 sum = measured ? *to : make_float2(0.0f, 0.0f);

		for (uint32_t e = 0; measured && e < ends; e++) {
			const float2 w = __ldg(&s.wave[(size_t)e * s.columns + x]);

			add_times(&sum, beside[c * ends + e], make_float2(-w.x, w.y));
		}
		*to = bs_cmul(sum, phase);
	}
}

int bs_slice_cuda_apply(struct bs_slice_cuda *p, uint32_t group, uint32_t band, const float *folded,
			bool wrapped, float *out, cudaStream_t stream, struct bs_fail *why)
{
	const struct bs_slice_spec *s = &p->s;
	const uint64_t which = (uint64_t)group * s->bands + band;
	const float2 *in = (const float2 *)folded;
	const dim3 blocks((s->columns + WARP - 1) / WARP,
			  (s->coils + WARPS * MADE - 1) / (WARPS * MADE),
			  (s->lines_y + LINES - 1) / LINES);
	const struct shape shape = { s->lines_y,
				     s->columns,
				     s->coils,
				     s->coils,
				     s->kernel[0],
				     s->kernel[1],
				     wrapped,
				     p->order,
				     p->wave,
				     p->weights + which * weights_of(s) / s->bands,
				     p->phases + which * phases_of(s) / s->bands,
				     p->spread + which * spread_of(s) / s->bands };

	separate_lines<<<blocks, dim3(WARP, WARPS), 0, stream>>>(shape, in, (float2 *)out);
	BS_CUDA(cudaGetLastError(), why);
	if (ends_of(s) > 0)
		find_ends<<<dim3(s->lines_y, s->coils), WARP, 0, stream>>>(shape, in, p->samples);
	BS_CUDA(cudaGetLastError(), why);
	finish_lines<<<s->lines_y, WARP * WARPS, 0, stream>>>(shape, p->samples, (float2 *)out);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

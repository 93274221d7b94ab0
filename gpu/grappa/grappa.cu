/*
 * gpu/grappa/grappa.cu - CUDA twin of grappa.c's fill; see grappa_cuda.h
 *
 * A block works on COLUMNS columns of one line of some coils. The weights of a kernel's samples are
 * multiplied by a column's phases where they are used; they are the same for all lines and come
 * from the cache. The ends of readouts follow, as in gpu/grappa/ends.c.
 */
#include "gpu/grappa/grappa_cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/protocol.h"
#include "gpu/device/check.h"
#include "gpu/grappa/times.cuh"

#define COLUMNS 128u
#define MADE    4u /* coils of a line that a thread makes */
#define NONE    UINT32_MAX
#define SUMMING 32u /* threads of a sum over columns */
/* Most products of coils and ends. */
#define ENDS_MOST (BS_COILS_MAX * (BS_GRAPPA_KERNEL_X - 1))

/* A neighborhood in device memory. */
struct near {
	uint32_t sources;
	size_t weights; /* index of its first weight */
	int8_t dy[BS_WINDOW_LINES], dz[BS_WINDOW_LINES];
};

/* Arguments of the kernels. */
struct shape {
	uint32_t size[2]; /* lines of k-space along y and z */
	uint32_t columns, coils, taps, reach;
	bool wrapped;
	const struct near *near;
	const uint32_t *of;            /* [line] number of its neighborhood; NONE */
	const float2 *wave;            /* [4 reach][column], as gpu/grappa/ends.h */
	const float2 *weights, *phase; /* weights, and phases [tap][column] */
};

struct bs_grappa_cuda {
	struct bs_grappa_spec s;
	struct shape shape;
	struct near *near;
	uint32_t *of;
	float2 *weights, *phase, *wave;
	float2 *samples;        /* samples at the ends, [line][coil][4 reach] */
	struct near *near_host; /* host memory that is copied to near */
	uint32_t *of_host;
};

static uint64_t weights_of(const struct bs_grappa_spec *s)
{
	const uint64_t all = (uint64_t)s->kernel[1] * s->kernel[2] - 1;
	const uint64_t sources = s->sources > 0 && s->sources < all ? s->sources : all;

	return s->neighborhoods * sources * s->kernel[0] * s->coils * s->coils *
	       (1 + s->kernel[0] / 2 * 2);
}

/* Number of samples near the ends of a readout. */
static uint32_t near_ends(const struct bs_grappa_spec *s)
{
	return s->kernel[0] / 2 * 4;
}

static void take_all(struct bs_grappa_cuda *g, const struct bs_grappa_spec *s, struct bs_devroom *r)
{
	const uint64_t lines = bs_grappa_lines_of(s);

	bs_devroom_take(r, &g->near, s->neighborhoods * sizeof(struct near));
	bs_devroom_take(r, &g->of, lines * sizeof(uint32_t));
	bs_devroom_take(r, &g->weights, weights_of(s) * sizeof(float2));
	bs_devroom_take(r, &g->phase, (uint64_t)s->kernel[0] * s->columns * sizeof(float2));
	bs_devroom_take(r, &g->wave, (uint64_t)near_ends(s) * s->columns * sizeof(float2));
	bs_devroom_take(r, &g->samples, lines * s->coils * near_ends(s) * sizeof(float2));
}

uint64_t bs_grappa_cuda_bytes(const struct bs_grappa_spec *s)
{
	struct bs_grappa_cuda unused;
	struct bs_devroom room = {};

	take_all(&unused, s, &room);
	return room.bytes;
}

/*
 * Makes exp(-i2pi t n / columns) at column n in device memory, [rows][columns]. t: the shifts of
 * the kernel, or (ends) the samples near the ends.
 */
static int make_waves(float2 *to, const struct bs_grappa_spec *s, uint32_t rows, bool ends,
		      struct bs_fail *why)
{
	const int columns = (int)s->columns;
	const int reach = (int)s->kernel[0] / 2;
	const size_t n = (size_t)rows * s->columns;
	float2 *host = (float2 *)malloc(n * sizeof(*host));

	if (host == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "grappa: phases");
	for (size_t i = 0; i < n; i++) {
		const int row = (int)(i / s->columns);
		const int place = (int)(i % s->columns) - columns / 2;
		const int sample = row < 2 * reach ? row : columns - 4 * reach + row;
		const int product = ends ? sample - columns / 2 : row - reach;
		const double part = -2.0 * M_PI * product * place / columns;

		host[i] = make_float2((float)cos(part), (float)sin(part));
	}
	int rc = BS_CUDA_RC(cudaMemcpy(to, host, n * sizeof(*host), cudaMemcpyHostToDevice), why);

	if (rc == 0)
		rc = bs_cuda_copied(why);
	free(host);
	return rc;
}

int bs_grappa_cuda_plan(struct bs_grappa_cuda **plan, const struct bs_grappa_spec *s,
			struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_grappa_cuda *g = (struct bs_grappa_cuda *)calloc(1, sizeof(*g));
	struct bs_devroom room = { mem, 0, false };

	if (g == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "grappa plan");
	*plan = g;
	g->s = *s;
	take_all(g, s, &room);
	g->near_host = (struct near *)calloc(s->neighborhoods, sizeof(struct near));
	g->of_host = (uint32_t *)calloc(bs_grappa_lines_of(s), sizeof(uint32_t));
	int rc = g->near_host == NULL || g->of_host == NULL
			 ? bs_fail(why, BS_ERR_NOMEM, "grappa: tables")
			 : bs_devroom_check(&room, "grappa", why);

	if (rc == 0)
		rc = make_waves(g->phase, s, s->kernel[0], false, why);
	if (rc == 0 && s->kernel[0] > 1)
		rc = make_waves(g->wave, s, near_ends(s), true, why);
	if (rc == 0)
		rc = bs_grappa_cuda_none(g, cudaStreamLegacy, why);
	g->shape = { { s->encoded[1], s->encoded[2] },
		     s->columns,
		     s->coils,
		     s->kernel[0],
		     s->kernel[0] / 2,
		     false,
		     g->near,
		     g->of,
		     g->wave,
		     g->weights,
		     g->phase };
	return rc != 0 ? rc : bs_cuda_copied(why);
}

void bs_grappa_cuda_close(struct bs_grappa_cuda *g)
{
	if (g == NULL)
		return;
	free(g->near_host);
	free(g->of_host);
	free(g);
}

int bs_grappa_cuda_none(struct bs_grappa_cuda *g, cudaStream_t stream, struct bs_fail *why)
{
	/* sets every line to NONE */
	return BS_CUDA_RC(
		cudaMemsetAsync(g->of, 0xff, bs_grappa_lines_of(&g->s) * sizeof(uint32_t), stream),
		why);
}

int bs_grappa_cuda_load(struct bs_grappa_cuda *g, const struct bs_grappa *host, cudaStream_t stream,
			struct bs_fail *why)
{
	const struct bs_neighbors *from = bs_grappa_neighbors(host);
	size_t at = 0;

	for (uint32_t i = 0; i < from->count; i++) {
		const struct bs_neighborhood *one = &from->one[i];
		const size_t n = (size_t)one->sources * g->s.kernel[0] * g->s.coils * g->s.coils;

		g->near_host[i].sources = one->sources;
		g->near_host[i].weights = at;
		memcpy(g->near_host[i].dy, one->dy, sizeof(one->dy));
		memcpy(g->near_host[i].dz, one->dz, sizeof(one->dz));
		BS_CUDA(cudaMemcpyAsync(g->weights + at, bs_grappa_weights(host, i),
					n * (1 + g->s.kernel[0] / 2 * 2) * sizeof(float2),
					cudaMemcpyHostToDevice, stream),
			why);
		at += n * (1 + g->s.kernel[0] / 2 * 2);
	}
	for (uint64_t l = 0; l < bs_grappa_lines_of(&g->s); l++)
		g->of_host[l] = from->of[l] < from->count ? from->of[l] : NONE;
	BS_CUDA(cudaMemcpyAsync(g->near, g->near_host, from->count * sizeof(struct near),
				cudaMemcpyHostToDevice, stream),
		why);
	BS_CUDA(cudaMemcpyAsync(g->of, g->of_host, bs_grappa_lines_of(&g->s) * sizeof(uint32_t),
				cudaMemcpyHostToDevice, stream),
		why);
	return BS_CUDA_RC(cudaStreamSynchronize(stream), why);
}

/* Returns where a line starts in a coil of hybrid, in complex values. */
static __device__ size_t line_start(const struct shape &s, uint32_t y, uint32_t z)
{
	if (s.wrapped) {
		y = y < s.size[0] / 2 ? y + s.size[0] - s.size[0] / 2 : y - s.size[0] / 2;
		z = z < s.size[1] / 2 ? z + s.size[1] - s.size[1] / 2 : z - s.size[1] / 2;
	}
	return ((size_t)z * s.size[0] + y) * s.columns;
}

/*
 * Fills the missing lines; a block takes (line, columns, coils). Only measured lines are read and
 * only missing ones are written, so hybrid is read by plain loads.
 */
static __global__ void fill_lines(const struct shape s, float2 *hybrid)
{
	const uint32_t x = blockIdx.y * COLUMNS + threadIdx.x;
	const uint32_t line = blockIdx.x;
	const uint32_t y = line % s.size[0];
	const uint32_t z = line / s.size[0];
	const uint32_t first = blockIdx.z * MADE;
	const size_t step = (size_t)s.size[0] * s.size[1] * s.columns;
	float2 sum[MADE] = {};

	if (s.of[line] == NONE || x >= s.columns)
		return;
	const struct near *near = &s.near[s.of[line]];
	const uint32_t inputs = near->sources * s.coils;

	for (uint32_t i = 0; i < inputs; i++) {
		const uint32_t source = i / s.coils;
		const float2 d = hybrid[(i % s.coils) * step +
					line_start(s, (uint32_t)((int)y + near->dy[source]),
						   (uint32_t)((int)z + near->dz[source])) +
					x];

		for (uint32_t t = 0; t < s.taps; t++) {
			const float2 v = bs_cmul(d, __ldg(&s.phase[(size_t)t * s.columns + x]));

			for (uint32_t o = 0; o < MADE && first + o < s.coils; o++)
				add_times(&sum[o],
					  s.weights[near->weights +
						    ((first + o) * inputs + i) * s.taps + t],
					  v);
		}
	}
	for (uint32_t o = 0; o < MADE && first + o < s.coils; o++)
		hybrid[(first + o) * step + line_start(s, y, z) + x] = sum[o];
}

/* Finds the samples near the ends of the measured lines; a block of one warp takes (line, coil). */
static __global__ void find_samples(const struct shape s, const float2 *hybrid, float2 *samples)
{
	const uint32_t line = blockIdx.x;
	const uint32_t n = 4 * s.reach;
	const float2 *in = hybrid + (size_t)blockIdx.y * s.size[0] * s.size[1] * s.columns +
			   line_start(s, line % s.size[0], line / s.size[0]);
	float2 *to = samples + ((size_t)line * s.coils + blockIdx.y) * n;

	if (s.of[line] != NONE)
		return;
	for (uint32_t i = 0; i < n; i++) {
		float2 sum = make_float2(0.0f, 0.0f);

		for (uint32_t x = threadIdx.x; x < s.columns; x += SUMMING)
			add_times(&sum, in[x], __ldg(&s.wave[(size_t)i * s.columns + x]));
		for (int by = SUMMING / 2; by > 0; by /= 2) {
			sum.x += __shfl_down_sync(~0u, sum.x, by);
			sum.y += __shfl_down_sync(~0u, sum.y, by);
		}
		if (threadIdx.x == 0)
			to[i] = make_float2(sum.x / s.columns, sum.y / s.columns);
	}
}

/*
 * The index of the sample that tap `tap` of the kernel at end `end` reads, wrapped around the
 * readout (gpu/grappa/ends.c).
 */
static __device__ uint32_t meets(const struct shape &s, uint32_t end, uint32_t tap)
{
	const int n = (int)(4 * s.reach);
	const int at = (int)end + (int)tap - (int)s.reach;

	if (end < s.reach)
		return (uint32_t)(at < 0 ? at + n : at);
	return (uint32_t)((at + n / 2) % n);
}

/* Computes what the wrapping weights leave wrong at one end of one coil of a missing line. */
static __device__ float2 lacks(const struct shape &s, const struct near *near, uint32_t line,
			       uint32_t coil, uint32_t end, const float2 *samples)
{
	const uint32_t inputs = near->sources * s.coils;
	const float2 *w =
		s.weights + near->weights + ((size_t)(1 + end) * s.coils + coil) * inputs * s.taps;
	float2 sum = make_float2(0.0f, 0.0f);

	for (uint32_t i = 0; i < inputs; i++) {
		const uint32_t from = i / s.coils;
		const int at = (int)line + near->dy[from] + (int)s.size[0] * near->dz[from];
		const float2 *d =
			samples + ((size_t)at * s.coils + i % s.coils) * (4 * (size_t)s.reach);

		for (uint32_t t = 0; t < s.taps; t++)
			add_times(&sum, w[(size_t)i * s.taps + t], d[meets(s, end, t)]);
	}
	return sum;
}

/* Corrects a missing line of all coils in each block. */
static __global__ void mend_lines(const struct shape s, const float2 *samples, float2 *hybrid)
{
	__shared__ float2 lacking[ENDS_MOST];
	const uint32_t line = blockIdx.x;
	const uint32_t ends = 2 * s.reach;
	const size_t start = line_start(s, line % s.size[0], line / s.size[0]);

	if (s.of[line] == NONE)
		return;
	for (uint32_t i = threadIdx.x; i < s.coils * ends; i += COLUMNS)
		lacking[i] = lacks(s, &s.near[s.of[line]], line, i / ends, i % ends, samples);
	__syncthreads();
	for (uint32_t c = 0; c < s.coils; c++) {
		float2 *to = hybrid + (size_t)c * s.size[0] * s.size[1] * s.columns + start;

		for (uint32_t x = threadIdx.x; x < s.columns; x += COLUMNS) {
			float2 sum = to[x];

			for (uint32_t e = 0; e < ends; e++) {
				const uint32_t place = e < s.reach ? e : e + ends;
				const float2 w = __ldg(&s.wave[(size_t)place * s.columns + x]);

				add_times(&sum, lacking[c * ends + e], make_float2(w.x, -w.y));
			}
			to[x] = sum;
		}
	}
}

int bs_grappa_cuda_fill(struct bs_grappa_cuda *g, float *hybrid, bool wrapped, cudaStream_t stream,
			struct bs_fail *why)
{
	const dim3 blocks((unsigned)bs_grappa_lines_of(&g->s),
			  (g->s.columns + COLUMNS - 1) / COLUMNS, (g->s.coils + MADE - 1) / MADE);
	struct shape s = g->shape;

	s.wrapped = wrapped;
	fill_lines<<<blocks, COLUMNS, 0, stream>>>(s, (float2 *)hybrid);
	BS_CUDA(cudaGetLastError(), why);
	if (s.reach == 0)
		return 0;
	find_samples<<<dim3((unsigned)bs_grappa_lines_of(&g->s), g->s.coils), SUMMING, 0, stream>>>(
		s, (const float2 *)hybrid, g->samples);
	BS_CUDA(cudaGetLastError(), why);
	mend_lines<<<(unsigned)bs_grappa_lines_of(&g->s), COLUMNS, 0, stream>>>(s, g->samples,
										(float2 *)hybrid);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

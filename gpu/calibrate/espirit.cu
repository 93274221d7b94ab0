/* gpu/calibrate/espirit.cu - CUDA twin of espirit.c; see espirit_cuda.h */
#include "gpu/calibrate/espirit_cuda.h"

#include <stdlib.h>

#include "gpu/calibrate/cuda/projector.cuh"
#include "gpu/device/check.h"

#define THREADS       128
#define SCRATCH_BYTES (64u << 20) /* approximate bytes of scratch of all threads together */

typedef float vec;
typedef bool mask;
#define FN              static __device__
#define AT(p, i)        (p)[(size_t)(i) * (gridDim.x * THREADS)]
#define ALL(x)          (x)
#define SELECT(m, a, b) ((m) ? (a) : (b))
#define AND(m, n)       ((m) && (n))
#define ANY(m)          (m)
#define SQRT(x)         sqrtf(x)
#define LEAST(a, b)     fminf(a, b)
#define MOST(a, b)      fmaxf(a, b)
#include "gpu/calibrate/eigen_loops.h"

/* The arguments of a voxel's thread; arrays are device memory. */
struct voxels {
	int coils, sets, pairs, reach;
	uint32_t nx, ny, line, phase_stride;
	size_t set_stride, coil_stride, value_stride;
	float crop;
	const float *rows;      /* rows of correlations, [y][re, im][line] */
	const float *phase_x;   /* phases [lag][cos, sin][x] */
	const float *reference; /* phase reference [coil] complex */
	float *scratch;
	float *maps, *values; /* maps and eigenvalues of the current plane */
};

struct bs_espirit_cuda {
	struct bs_espirit *host;
	struct bs_espirit_lags l;
	struct bs_projector_cuda *projector;
	float *corr, *plane, *rows, *phase_x, *phase_y, *phase_z, *reference, *scratch;
	float *block, *largest; /* largest: a double, the largest eigenvalue of A */
	unsigned blocks;
};

/* Sets to [out][re, im][n] to the sum over k of from [k] dft[out][k]. Each thread
 * makes one element of n. */
static __global__ void __launch_bounds__(THREADS)
	weigh(float *to, const float *from, size_t stride, size_t step, const float *dft,
	      uint32_t terms, uint32_t n)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	float re = 0.0f;
	float im = 0.0f;

	if (i >= n)
		return;
	from += blockIdx.y * step;
	dft += (size_t)blockIdx.z * 2 * terms;
	to += ((size_t)blockIdx.z * gridDim.y + blockIdx.y) * 2 * n;
	for (uint32_t k = 0; k < terms; k++) {
		const float r = from[k * stride + i];
		const float m = from[k * stride + n + i];

		re += r * dft[2 * k] - m * dft[2 * k + 1];
		im += r * dft[2 * k + 1] + m * dft[2 * k];
	}
	to[i] = re;
	to[n + i] = im;
}

/* Makes the lower triangle of a voxel's matrix. */
static __device__ void matrix(const struct voxels *v, float *a, uint32_t x, uint32_t y)
{
	const float *row = v->rows + (size_t)y * 2 * v->line + v->reach;

	for (int pair = 0; pair < v->pairs; pair++, row += 2 * v->reach + 1) {
		const float *im = row + v->line;
		float sr = row[0];
		float si = im[0];

		for (int k = 1; k <= v->reach; k++) {
			const float *t = v->phase_x + 2 * (size_t)(k - 1) * v->phase_stride + x;
			const float c = t[0];
			const float s = t[v->phase_stride];

			sr += (row[k] + row[-k]) * c + (im[k] - im[-k]) * s;
			si += (im[k] + im[-k]) * c - (row[k] - row[-k]) * s;
		}
		AT(a, 2 * pair) = sr;
		AT(a, 2 * pair + 1) = si;
	}
}

static __device__ void store(const struct voxels *v, int set, uint32_t at, float value,
			     const float *map)
{
	float tr = 0.0f;
	float ti = 0.0f;
	float size;

	for (int c = 0; c < v->coils; c++) {
		const float wr = v->reference[2 * c];
		const float wi = v->reference[2 * c + 1];

		tr += AT(map, 2 * c) * wr + AT(map, 2 * c + 1) * wi;
		ti += AT(map, 2 * c + 1) * wr - AT(map, 2 * c) * wi;
	}
	if (!(tr * tr + ti * ti > NOTHING)) {
		tr = 1.0f;
		ti = 0.0f;
	}
	size = value >= v->crop ? rsqrtf(tr * tr + ti * ti) : 0.0f;
	tr *= size;
	ti *= -size;
	for (int c = 0; c < v->coils; c++) {
		const float re = AT(map, 2 * c);
		const float im = AT(map, 2 * c + 1);

		((float2 *)v->maps)[set * v->set_stride + c * v->coil_stride + at] =
			make_float2(re * tr - im * ti, re * ti + im * tr);
	}
	if (v->values != NULL)
		v->values[set * v->value_stride + at] = value;
}

static __global__ void __launch_bounds__(THREADS) voxels(struct voxels v)
{
	const uint32_t thread = blockIdx.x * THREADS + threadIdx.x;
	const int n = v.coils;
	float *a = v.scratch + thread;
	float *copy = &AT(a, 2 * v.pairs);
	float *rows = &AT(copy, 2 * v.pairs);
	float *map = &AT(rows, EIGEN_ROWS * n);

	for (uint32_t at = thread; at < v.nx * v.ny; at += gridDim.x * THREADS) {
		matrix(&v, a, at % v.nx, at / v.nx);
		for (int i = 0; v.sets > 1 && i < 2 * v.pairs; i++)
			AT(copy, i) = AT(a, i);
		for (int set = 0; set < v.sets; set++) {
			float value;

			for (int i = 0; set > 0 && i < 2 * v.pairs; i++)
				AT(a, i) = AT(copy, i);
			value = eigen_largest(a, n, rows, map);
			store(&v, set, at, value, map);
			for (int c = 0; set + 1 < v.sets && c < n; c++)
				for (int d = 0; d <= c; d++) {
					const float cr = AT(map, 2 * c);
					const float ci = AT(map, 2 * c + 1);
					const float dr = AT(map, 2 * d);
					const float di = AT(map, 2 * d + 1);

					AT(copy, 2 * TRI(c, d)) -= value * (cr * dr + ci * di);
					AT(copy, 2 * TRI(c, d) + 1) -= value * (ci * dr - cr * di);
				}
		}
	}
}

/*
 * Number of blocks of threads: their scratch is about SCRATCH_BYTES, or they are enough for a
 * plane.
 */
static unsigned blocks_of(const struct bs_espirit_spec *s)
{
	const size_t floats = 2 * (size_t)s->coils * (s->coils + 1) + 12 * (size_t)s->coils;
	const size_t most = SCRATCH_BYTES / (floats * 4 * THREADS);
	const size_t wanted = ((size_t)s->matrix[0] * s->matrix[1] + THREADS - 1) / THREADS;
	const size_t least = most < 1 ? 1 : most;

	return (unsigned)(wanted < least ? wanted : least);
}

/* Bytes of each array, in the order in which they are taken. */
#define ARRAYS 10
static void sizes(const struct bs_espirit_spec *s, uint64_t bytes[ARRAYS])
{
	const uint64_t pairs = (uint64_t)s->coils * (s->coils + 1) / 2;
	const uint64_t line = (pairs * (2 * s->kernel[0] - 1) + 15) / 16 * 16 * 8;
	const uint64_t y = 2 * s->kernel[1] - 1;
	const uint64_t z = 2 * s->kernel[2] - 1;
	const uint64_t width = ((uint64_t)s->matrix[0] + 15) / 16 * 16;

	bytes[0] = z * y * line;
	bytes[1] = y * line;
	bytes[2] = s->matrix[1] * line;
	bytes[3] = 2 * s->kernel[0] * width * 4;
	bytes[4] = s->matrix[1] * y * 8;
	bytes[5] = s->matrix[2] * z * 8;
	bytes[6] = s->coils * 8u;
	bytes[7] = (uint64_t)blocks_of(s) * THREADS * (4 * pairs + 12 * s->coils) * 4;
	bytes[8] = (uint64_t)s->coils * s->block[0] * s->block[1] * s->block[2] * 8;
	bytes[9] = sizeof(double);
}

uint64_t bs_espirit_cuda_bytes(const struct bs_espirit_spec *s)
{
	uint64_t bytes[ARRAYS];
	uint64_t sum = bs_projector_cuda_bytes(s);

	sizes(s, bytes);
	for (int i = 0; i < ARRAYS; i++)
		sum += bs_devmem_round(bytes[i]);
	return sum;
}

static int copy_tables(struct bs_espirit_cuda *e, const uint64_t bytes[ARRAYS], struct bs_fail *why)
{
	BS_CUDA(cudaMemset(e->corr, 0, bytes[0]), why); /* the padding of its lines stays zero */
	BS_CUDA(cudaMemcpy(e->phase_x, e->l.phase_x, bytes[3], cudaMemcpyHostToDevice), why);
	BS_CUDA(cudaMemcpy(e->phase_y, e->l.phase_y, bytes[4], cudaMemcpyHostToDevice), why);
	BS_CUDA(cudaMemcpy(e->phase_z, e->l.phase_z, bytes[5], cudaMemcpyHostToDevice), why);
	return bs_cuda_copied(why);
}

int bs_espirit_cuda_plan(struct bs_espirit_cuda **plan, struct bs_espirit *host,
			 struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_espirit_cuda *e = (struct bs_espirit_cuda *)calloc(1, sizeof(*e));
	float **const to[ARRAYS] = { &e->corr,    &e->plane,   &e->rows,      &e->phase_x,
				     &e->phase_y, &e->phase_z, &e->reference, &e->scratch,
				     &e->block,   &e->largest };
	uint64_t bytes[ARRAYS];
	int rc = 0;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "coil maps");
	*plan = e;
	e->host = host;
	bs_espirit_lags(host, &e->l);
	sizes(e->l.spec, bytes);
	e->blocks = blocks_of(e->l.spec);
	for (int i = 0; rc == 0 && i < ARRAYS; i++) {
		*to[i] = (float *)bs_devmem_take(mem, bytes[i]);
		if (*to[i] == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "coil maps: device memory");
	}
	if (rc == 0)
		rc = bs_projector_cuda_plan(&e->projector, e->l.spec, mem, why);
	return rc != 0 ? rc : copy_tables(e, bytes, why);
}

void bs_espirit_cuda_close(struct bs_espirit_cuda *e)
{
	if (e == NULL)
		return;
	bs_projector_cuda_close(e->projector);
	free(e);
}

/* Makes the rows of plane z, then the plane's voxels. */
static int plane(struct bs_espirit_cuda *e, uint32_t z, float *maps, float *values,
		 struct CUstream_st *stream, struct bs_fail *why)
{
	const struct bs_espirit_spec *s = e->l.spec;
	const uint32_t ny = 2 * s->kernel[1] - 1;
	const uint32_t nz = 2 * s->kernel[2] - 1;
	const size_t line = 2 * (size_t)e->l.line;
	const unsigned across = (e->l.line + THREADS - 1) / THREADS;
	const size_t area = (size_t)s->matrix[0] * s->matrix[1];
	struct voxels v = { (int)s->coils,
			    (int)s->sets,
			    (int)(s->coils * (s->coils + 1) / 2),
			    (int)s->kernel[0] - 1,
			    s->matrix[0],
			    s->matrix[1],
			    e->l.line,
			    e->l.phase_stride,
			    s->coils * area * s->matrix[2],
			    area * s->matrix[2],
			    area * s->matrix[2],
			    (float)s->crop,
			    e->rows,
			    e->phase_x,
			    e->reference,
			    e->scratch,
			    maps + 2 * z * area,
			    values != NULL ? values + z * area : NULL };

	weigh<<<dim3(across, ny, 1), THREADS, 0, stream>>>(
		e->plane, e->corr, ny * line, line, e->phase_z + 2 * (size_t)z * nz, nz, e->l.line);
	weigh<<<dim3(across, 1, s->matrix[1]), THREADS, 0, stream>>>(e->rows, e->plane, line, 0,
								     e->phase_y, ny, e->l.line);
	voxels<<<e->blocks, THREADS, 0, stream>>>(v);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

int bs_espirit_cuda_run(struct bs_espirit_cuda *e, const uint32_t size[3], const float *block,
			float *maps, float *values, struct CUstream_st *stream, struct bs_fail *why)
{
	const struct bs_espirit_spec *s = e->l.spec;
	const size_t samples = (size_t)size[0] * size[1] * size[2];
	double largest = 0.0;
	int rc = bs_espirit_reference(e->host, size, block, why);

	if (rc != 0)
		return rc;
	BS_CUDA(cudaMemcpyAsync(e->block, block, samples * s->coils * 8, cudaMemcpyHostToDevice,
				stream),
		why);
	BS_CUDA(cudaMemcpyAsync(e->reference, e->l.reference, s->coils * 8u, cudaMemcpyHostToDevice,
				stream),
		why);
	rc = bs_projector_cuda_make(e->projector, size, (const float2 *)e->block, e->corr,
				    e->l.line, (double *)e->largest, stream, why);
	for (uint32_t z = 0; rc == 0 && z < s->matrix[2]; z++)
		rc = plane(e, z, maps, values, stream, why);
	if (rc != 0)
		return rc;
	BS_CUDA(cudaMemcpyAsync(&largest, e->largest, sizeof(largest), cudaMemcpyDeviceToHost,
				stream),
		why);
	BS_CUDA(cudaStreamSynchronize(stream), why);
	if (!(largest > 0.0))
		return bs_fail(why, BS_ERR_VALUE, "coil maps: the calibration data are all zero");
	return 0;
}

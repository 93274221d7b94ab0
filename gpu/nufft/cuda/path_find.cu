/* gpu/nufft/cuda/path_find.cu - see path.cuh */
#include "gpu/nufft/cuda/path.cuh"

#include "gpu/device/check.h"

#define THREADS 512
#define CENTER  1e-6 /* same value as CENTER in gpu/nufft/density.c */

static __device__ double radius(float2 k)
{
	return sqrt((double)k.x * k.x + (double)k.y * k.y);
}

static __device__ double ones_along(double k, uint32_t n, double *cycles)
{
	const double s = sinpi(k);

	if (n % 2 == 0)
		*cycles += k;
	return fabs(s) < 1e-12 ? (double)n : sinpi(k * n) / s;
}

/* Returns Re D(k), the transform of an image of ones. */
static __device__ double ones(float2 k, const uint32_t matrix[2])
{
	double cycles = 0.0;
	const double x = ones_along(k.x, matrix[0], &cycles);
	const double y = ones_along(k.y, matrix[1], &cycles);

	return x * y * cospi(cycles);
}

/* Returns the weight as center_weight in gpu/nufft/density.c does, from what
 * each thread has found. */
static __device__ double center_weight(double at_center, double step, bool through)
{
	at_center = bs_path_sum(at_center);
	step = bs_path_fold(step, INFINITY, [](double a, double b) { return fmin(a, b); });
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

/* Writes a sample's place, and the box of its chunk. is: the sample exists. */
static __device__ void put_place(const struct bs_path_grid &on, uint64_t place, uint64_t box,
				 bool is, float2 at, float weight)
{
	struct bs_path_place to;
	int low[2];
	int high[2];

	to.weight = weight;
	to.cell[0] = locate(at.x, on.size[0], on.window, &to.offset[0]);
	to.cell[1] = locate(at.y, on.size[1], on.window, &to.offset[1]);
	for (int a = 0; a < 2; a++) {
		low[a] = lane_least(is ? to.cell[a] : BS_PATH_NEVER);
		high[a] = -lane_least(is ? -to.cell[a] : BS_PATH_NEVER);
	}
	if (threadIdx.x % BS_PATH_CHUNK == 0)
		on.box[box] = { { (short)low[0], (short)low[1] },
				{ (short)high[0], (short)high[1] } };
	if (is)
		on.place[place] = to;
}

/*
 * Finds the places of one readout, in one block. k lies in the host's memory and is read once; it
 * is kept meanwhile where the places will be written. at: the readout's number, counted through all
 * frames.
 */
static __global__ void __launch_bounds__(THREADS)
	find_places(const struct bs_path_grid image, const struct bs_path_grid q, bool both,
		    double *seen, const float2 *k, uint64_t at, const struct bs_path_shape s)
{
	struct bs_path_place *mine = image.place + at * s.samples;
	const float2 ends[2] = { k[0], k[s.samples - 1] };
	double at_center = 0.0;
	double step = INFINITY;
	double sum = 0.0;

	for (uint32_t m = threadIdx.x; m < s.samples; m += THREADS) {
		const float2 here = k[m];
		const double r = radius(here);

		mine[m].offset[0] = here.x;
		mine[m].offset[1] = here.y;
		at_center += r <= CENTER;
		if (r > CENTER && r < step)
			step = r;
	}
	double center = 0.0;

	if (s.ramp && s.normalizes)
		center = center_weight(at_center, step,
				       radius(ends[0]) > CENTER && radius(ends[1]) > CENTER);

	for (uint32_t m = threadIdx.x; m < s.chunks * BS_PATH_CHUNK; m += THREADS) {
		const bool is = m < s.samples;
		const float2 here = is ? make_float2(mine[m].offset[0], mine[m].offset[1])
				       : make_float2(0.0f, 0.0f);
		const double r = radius(here);
		const float weight = (float)(!s.ramp ? 1.0 : r <= CENTER ? center : r);

		__syncwarp(); /* a lane beyond the samples writes nothing */
		put_place(image, at * s.samples + m, at * s.chunks + m / BS_PATH_CHUNK, is, here,
			  weight);
		if (both)
			put_place(q, at * s.samples + m, at * s.chunks + m / BS_PATH_CHUNK, is,
				  here, weight);
		if (is && s.normalizes)
			sum += (double)weight * ones(here, s.matrix);
	}
	sum = bs_path_sum(sum);
	if (threadIdx.x == 0)
		seen[at] = sum;
}

int bs_path_find(const struct bs_path_grid *image, const struct bs_path_grid *q, double *seen,
		 const float2 *k, uint64_t at, const struct bs_path_shape *s, cudaStream_t stream,
		 struct bs_fail *why)
{
	find_places<<<1, THREADS, 0, stream>>>(*image, q != NULL ? *q : *image, q != NULL, seen, k,
					       at, *s);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

/* gpu/toeplitz/cuda/spectrum.cu - Q's spectrum; see spectrum.cuh */
#include "gpu/toeplitz/cuda/spectrum.cuh"

#include <string.h>

#include "gpu/device/check.h"
#include "gpu/device/memory.h"
#include "gpu/fft/lines_cuda.h"

#define THREADS 128

/* Blocks of THREADS points of a line. */
static dim3 blocks_of(int3 g)
{
	return dim3((unsigned)(g.x + THREADS - 1) / THREADS, (unsigned)g.y, (unsigned)g.z);
}

/*
 * Copies q (half of the offsets, q.h) to the padded grid, offset n at n mod G, with zeros
 * elsewhere.
 */
static __global__ void spread_q(float2 *grid, const float2 *q, int3 g, int3 n)
{
	const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	const int y = (int)blockIdx.y;
	const int z = (int)blockIdx.z;
	int ox = x <= g.x / 2 ? x : x - g.x;
	int oy = y <= g.y / 2 ? y : y - g.y;
	int oz = z <= g.z / 2 ? z : z - g.z;
	const int rows = g.y > 1 ? 2 * n.y : 1;
	const int planes = g.z > 1 ? 2 * n.z : 1;
	float2 v = make_float2(0.0f, 0.0f);

	if (x >= g.x)
		return;
	if (abs(ox) < n.x && abs(oy) < n.y && abs(oz) < n.z) {
		const bool mirror = ox < 0;

		if (mirror) {
			ox = -ox;
			oy = -oy;
			oz = -oz;
		}
		oy += oy < 0 ? rows : 0;
		oz += oz < 0 ? planes : 0;
		v = q[((long long)oz * rows + oy) * n.x + ox];
		if (mirror)
			v.y = -v.y;
	}
	grid[((long long)z * g.y + y) * g.x + x] = v;
}

static __global__ void keep_real(float *out, const float2 *in, size_t count, float scale)
{
	const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		out[i] = in[i].x * scale;
}

/*
 * Transforms whole lines along each axis, from one grid to the other. The input is grid[0]; the
 * result is in grid[0] afterwards.
 */
static int transform_grid(float2 *grid[2], uint32_t dims, const uint32_t size[3],
			  struct bs_devmem *mem, struct bs_fail *why)
{
	int err = bs_lines_cuda_init(why);

	for (uint32_t a = 0; err == 0 && a < dims; a++) {
		bs_line_pass pass;
		float2 *from = grid[0];

		err = bs_line_whole(&pass, a, size, mem, why);
		if (err == 0)
			err = bs_line_launch(&pass, -1, from, grid[1], NULL, why);
		grid[0] = grid[1];
		grid[1] = from;
	}
	return err;
}

/* Transforms q in temporary memory. */
static int transform_q(float *spectrum, const struct bs_toeplitz_spec *spec, const uint32_t size[3],
		       const float *q, struct bs_devmem *mem, struct bs_fail *why)
{
	const size_t all = (size_t)size[0] * size[1] * size[2];
	const int3 g = make_int3((int)size[0], (int)size[1], (int)size[2]);
	const int3 n = make_int3((int)spec->matrix[0], (int)spec->matrix[1], (int)spec->matrix[2]);
	float2 *grid[2] = { (float2 *)bs_devmem_take(mem, all * sizeof(float2)),
			    (float2 *)bs_devmem_take(mem, all * sizeof(float2)) };
	int err;

	spread_q<<<blocks_of(g), THREADS>>>(grid[0], (const float2 *)q, g, n);
	BS_CUDA(cudaGetLastError(), why);
	err = transform_grid(grid, spec->dims, size, mem, why);
	if (err != 0)
		return err;
	keep_real<<<(unsigned)((all + THREADS - 1) / THREADS), THREADS>>>(
		spectrum, grid[0], all, (float)(1.0 / (double)all));
	BS_CUDA(cudaGetLastError(), why);
	return BS_CUDA_RC(cudaDeviceSynchronize(), why);
}

int bs_toeplitz_spectrum(float *spectrum, const struct bs_toeplitz_spec *spec, const int size[3],
			 const float *q, struct bs_fail *why)
{
	const uint32_t g[3] = { (uint32_t)size[0], (uint32_t)size[1], (uint32_t)size[2] };
	uint64_t bytes = 2 * bs_devmem_round((uint64_t)g[0] * g[1] * g[2] * sizeof(float2));
	struct bs_devmem temporary;
	int err;

	for (uint32_t a = 0; a < spec->dims; a++)
		bytes += bs_devmem_round(bs_line_bytes(g[a]));
	memset(&temporary, 0, sizeof(temporary));
	err = bs_devmem_open(&temporary, bytes, "(spectrum of Q)", why);
	if (err == 0)
		err = transform_q(spectrum, spec, g, q, &temporary, why);
	bs_devmem_close(&temporary);
	return err;
}

static __global__ void lay_spectrum(float *to, const float *from, int3 g, int a)
{
	const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	const int y = (int)blockIdx.y;
	const int z = (int)blockIdx.z;

	if (x >= g.x)
		return;
	to[(long long)x * g.y * g.z + bs_toeplitz_plane_at(a, g.z, y, z)] =
		from[((long long)z * g.y + y) * g.x + x];
}

int bs_toeplitz_lay_spectrum(float *to, const float *from, const int size[3], int a,
			     struct bs_fail *why)
{
	const int3 g = make_int3(size[0], size[1], size[2]);

	lay_spectrum<<<blocks_of(g), THREADS>>>(to, from, g, a);
	BS_CUDA(cudaGetLastError(), why);
	return BS_CUDA_RC(cudaDeviceSynchronize(), why);
}

static __global__ void make_twiddles(float2 *twiddles, int a, int b)
{
	const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	if (i < a * b) {
		double s;
		double c;

		sincospi(-2.0 * (double)(i / b) * (double)(i % b) / (double)(a * b), &s, &c);
		twiddles[i] = make_float2((float)c, (float)s);
		twiddles[a * b + i % b * a + i / b] = twiddles[i];
	}
}

int bs_toeplitz_twiddles(float2 *twiddles, int a, int b, struct bs_fail *why)
{
	make_twiddles<<<(unsigned)(a * b + THREADS - 1) / THREADS, THREADS>>>(twiddles, a, b);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

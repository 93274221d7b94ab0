/* gpu/encode/unwarp.cu - CUDA twin of unwarp.c; see unwarp.h */
#include "gpu/encode/unwarp.h"

#include "gpu/device/check.h"

#define THREADS  64
#define TOGETHER 8 /* coils of one thread, which share a voxel's weights */

struct sizes {
	uint32_t columns, lines, coils;
	double per_hz;
};

static __global__ void __launch_bounds__(THREADS)
	move_back(struct sizes z, const float *__restrict__ hz, const float2 *__restrict__ in,
		  float2 *__restrict__ out)
{
	const uint32_t x = blockIdx.x * THREADS + threadIdx.x;
	const uint32_t y = blockIdx.y;
	const uint32_t up = y + 1 < z.lines ? z.columns : 0;
	const uint32_t down = y > 0 ? z.columns : 0;
	const uint32_t at = y * z.columns + x;
	const uint32_t first = blockIdx.z * TOGETHER;
	const uint64_t image = (uint64_t)z.lines * z.columns;
	float2 sum[TOGETHER] = {};

	if (x >= z.columns)
		return;
	const double slope = z.per_hz * ((double)hz[at + up] - (double)hz[at - down]);
	const double to = y + z.per_hz * (double)hz[at];
	const double whole = rint(to);
	const double rest = fabs(to - whole) < BS_UNWARP_LEAST ? BS_UNWARP_LEAST : to - whole;
	double scale = fmax(1.0 + slope / (up > 0 && down > 0 ? 2.0 : 1.0), 0.0) * sinpi(rest) /
		       z.lines * (fmod(whole, 2.0) == 0.0 ? 1.0 : -1.0);

	for (uint32_t from = 0; from < z.lines; from++, scale = -scale) {
		const float2 *voxel = in + first * image + from * z.columns + x;
		double s, c;

		sincospi((fmod(whole - from, 2.0 * z.lines) + rest) / z.lines, &s, &c);
		const float w = (float)(scale * (z.lines % 2 == 0 ? c : 1.0) / s);

#pragma unroll
		for (int i = 0; i < TOGETHER; i++)
			if (first + i < z.coils) {
				sum[i].x += w * voxel[i * image].x;
				sum[i].y += w * voxel[i * image].y;
			}
	}
#pragma unroll
	for (int i = 0; i < TOGETHER; i++)
		if (first + i < z.coils)
			out[(first + i) * image + at] = sum[i];
}

int bs_unwarp_cuda(const struct bs_protocol *p, const float *hz, bool falling, const float *images,
		   float *out, struct CUstream_st *stream, struct bs_fail *why)
{
	const struct sizes z = { p->matrix[0], p->matrix[1], p->coils,
				 bs_unwarp_per_hz(p, falling) };
	const dim3 blocks((z.columns + THREADS - 1) / THREADS, z.lines,
			  (z.coils + TOGETHER - 1) / TOGETHER);

	move_back<<<blocks, THREADS, 0, stream>>>(z, hz, (const float2 *)images, (float2 *)out);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

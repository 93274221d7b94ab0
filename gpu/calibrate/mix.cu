/* gpu/calibrate/mix.cu - CUDA twin of mix.c; see mix.h */
#include "gpu/calibrate/mix.h"

#include "core/protocol.h"
#include "gpu/device/check.h"

#define THREADS 128 /* samples of a block */
#define TILE    8   /* virtual coils of a block, in registers */

static __global__ void __launch_bounds__(THREADS)
	mix(float2 *__restrict__ out, size_t out_stride, const float2 *__restrict__ matrix,
	    uint32_t virtual_coils, uint32_t coils, uint32_t samples,
	    const float2 *__restrict__ data, size_t stride)
{
	__shared__ float2 m[BS_COILS_MAX][TILE];
	const uint32_t s = blockIdx.x * THREADS + threadIdx.x;
	const uint32_t first = blockIdx.y * TILE;
	float2 sum[TILE] = {};

	for (uint32_t i = threadIdx.x; i < coils * TILE; i += THREADS) {
		const uint32_t v = first + i % TILE;

		m[i / TILE][i % TILE] = v < virtual_coils ? matrix[(size_t)v * coils + i / TILE]
							  : make_float2(0.0f, 0.0f);
	}
	__syncthreads();
	if (s >= samples)
		return;
	for (uint32_t c = 0; c < coils; c++) {
		const float2 d = data[c * stride + s];

#pragma unroll
		for (int v = 0; v < TILE; v++) {
			const float2 a = m[c][v];

			sum[v].x += a.x * d.x - a.y * d.y;
			sum[v].y += a.x * d.y + a.y * d.x;
		}
	}
#pragma unroll
	for (int v = 0; v < TILE; v++)
		if (first + v < virtual_coils)
			out[(first + v) * out_stride + s] = sum[v];
}

int bs_mix_cuda(float *out, size_t out_stride, const float *matrix, uint32_t virtual_coils,
		uint32_t coils, uint32_t samples, const float *data, size_t stride,
		struct CUstream_st *stream, struct bs_fail *why)
{
	const dim3 blocks((samples + THREADS - 1) / THREADS, (virtual_coils + TILE - 1) / TILE);

	mix<<<blocks, THREADS, 0, stream>>>((float2 *)out, out_stride, (const float2 *)matrix,
					    virtual_coils, coils, samples, (const float2 *)data,
					    stride);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

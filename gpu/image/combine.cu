/* gpu/image/combine.cu - CUDA twin of combine.c; see combine.h */
#include "gpu/image/combine.h"

#include "gpu/device/check.h"

#define THREADS 128

template <int HOW>
static __global__ void __launch_bounds__(THREADS)
	combine(uint32_t coils, uint64_t voxels, bool complex_out, const float2 *__restrict__ in,
		const float2 *__restrict__ maps, float *__restrict__ out)
{
	const uint64_t v = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	float2 sum = make_float2(0.0f, 0.0f);
	float power = 0.0f;

	if (v >= voxels)
		return;
	for (uint32_t c = 0; c < coils; c++) {
		const float2 d = __ldg(in + c * voxels + v);

		if (HOW == BS_COMBINE_NONE) {
			if (complex_out)
				((float2 *)out)[c * voxels + v] = d;
			else
				out[c * voxels + v] = sqrtf(d.x * d.x + d.y * d.y);
		} else if (HOW == BS_COMBINE_RSS) {
			power += d.x * d.x + d.y * d.y;
		} else {
			const float2 s = __ldg(maps + c * voxels + v);

			sum.x += s.x * d.x + s.y * d.y;
			sum.y += s.x * d.y - s.y * d.x;
			power += s.x * s.x + s.y * s.y;
		}
	}
	if (HOW == BS_COMBINE_NONE)
		return;
	if (HOW == BS_COMBINE_RSS) {
		sum.x = sqrtf(power);
	} else {
		const float inverse = power > 0.0f ? 1.0f / power : 0.0f;

		sum = make_float2(sum.x * inverse, sum.y * inverse);
	}
	if (complex_out)
		((float2 *)out)[v] = sum;
	else
		out[v] = HOW == BS_COMBINE_RSS ? sum.x : sqrtf(sum.x * sum.x + sum.y * sum.y);
}

int bs_combine_cuda(enum bs_combine how, enum bs_output output, uint32_t coils, uint64_t voxels,
		    const float *coil_images, const float *coil_maps, float *out,
		    struct CUstream_st *stream, struct bs_fail *why)
{
	const float2 *in = (const float2 *)coil_images;
	const float2 *maps = (const float2 *)coil_maps;
	const unsigned blocks = (unsigned)((voxels + THREADS - 1) / THREADS);
	const bool complex_out = output == BS_OUTPUT_COMPLEX;

	switch (how) {
	case BS_COMBINE_NONE:
		combine<BS_COMBINE_NONE>
			<<<blocks, THREADS, 0, stream>>>(coils, voxels, complex_out, in, maps, out);
		break;
	case BS_COMBINE_RSS:
		combine<BS_COMBINE_RSS>
			<<<blocks, THREADS, 0, stream>>>(coils, voxels, complex_out, in, maps, out);
		break;
	case BS_COMBINE_SENSE:
		combine<BS_COMBINE_SENSE>
			<<<blocks, THREADS, 0, stream>>>(coils, voxels, complex_out, in, maps, out);
		break;
	}
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

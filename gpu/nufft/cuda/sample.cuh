/*
 * gpu/nufft/cuda/sample.cuh - one sample of a CUDA gridding plan: its window and its values
 *
 * W cells of window an axis, CB channels at a time. For every kernel that spreads or interpolates.
 */
#ifndef BS_GPU_NUFFT_CUDA_SAMPLE_CUH
#define BS_GPU_NUFFT_CUDA_SAMPLE_CUH

#include "gpu/nufft/cuda/dev.cuh"

#define NO_CELL 0xffffffffu /* mark of a place without a sample */

template <int W>
static __device__ __forceinline__ void window(float (&w)[W], float offset,
					      const bs_kernel_window &p, int axis)
{
	const int terms = BS_KERNEL_TERMS_OF(W);
	const float u = 2.0f * offset - 1.0f;

#pragma unroll
	for (int j = 0; j < W; j++)
		w[j] = p.c[axis][0][j];
#pragma unroll
	for (int t = 1; t < terms; t++)
#pragma unroll
		for (int j = 0; j < W; j++)
			w[j] = fmaf(w[j], u, p.c[axis][t][j]);
	if (u > p.cut)
#pragma unroll
		for (int j = 0; j < W; j++)
			w[j] = j == (int)p.last ? 0.0f : w[j];
}

/* Reads CB channels of sample m; zeros beyond the last channel. */
template <int CB>
static __device__ __forceinline__ void read_values(float2 *v, const bs_nufft_dev &d, uint64_t m,
						   uint32_t channel, const float2 *data)
{
	const float2 *from = data + m * d.sample_step + channel * d.channel_step;

#pragma unroll
	for (int c = 0; c < CB; c++) {
		v[c] = make_float2(0.0f, 0.0f);
		if (channel + c < d.channels)
			v[c] = from[c * d.channel_step];
	}
}

/*
 * Reads CB channels of the sample with sorted index e, weighted. Each value is weighted as it
 * comes; weighting after all have come would keep fewer loads of spread_plane under way (5 to 8 %
 * slower with 8 coils).
 */
template <int CB>
static __device__ __forceinline__ void values_of(float2 *v, const bs_nufft_dev &d, uint64_t e,
						 uint32_t channel, const float2 *data)
{
	const uint64_t m = d.order[e];
	const float w = d.weight != NULL ? d.weight[e] : 1.0f;
	const float2 *from = data + m * d.sample_step + channel * d.channel_step;

#pragma unroll
	for (int c = 0; c < CB; c++) {
		float2 x = make_float2(0.0f, 0.0f);

		if (channel + c < d.channels)
			x = from[c * d.channel_step];
		v[c] = make_float2(x.x * w, x.y * w);
	}
}

/* Values of a lane's next sample, which are read while the samples before it are added. */
template <int DIM, int CB> struct sample_ahead {
	uint32_t cell;
	float offset[DIM], weight;
	float2 value[CB];
};

template <int DIM, int CB>
static __device__ __forceinline__ void read_ahead(sample_ahead<DIM, CB> &s, const bs_nufft_dev &d,
						  uint64_t e, uint64_t m, uint32_t channel,
						  const float2 *data)
{
	s.cell = d.cell[e];
#pragma unroll
	for (int a = 0; a < DIM; a++)
		s.offset[a] = d.offset[a * d.points + e];
	s.weight = d.weight != NULL ? d.weight[e] : 1.0f;
	read_values<CB>(s.value, d, m, channel, data);
}

#endif

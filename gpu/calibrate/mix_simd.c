/* gpu/calibrate/mix_simd.c - mixes blocks of samples, one virtual coil at a time; see mix_simd.h */
#include "gpu/calibrate/mix_simd.h"

#include "core/protocol.h"

#define BLOCK 64u /* samples of a block: the parts of all coils fit the first-level cache */

static void split_parts(float parts[][2][BLOCK], uint32_t coils, uint32_t n, const float *data,
			size_t stride)
{
	for (uint32_t c = 0; c < coils; c++) {
		for (uint32_t s = 0; s < n; s++) {
			parts[c][0][s] = data[2 * (c * stride + s)];
			parts[c][1][s] = data[2 * (c * stride + s) + 1];
		}
		for (uint32_t s = n; s < BLOCK; s++)
			parts[c][0][s] = parts[c][1][s] = 0.0f;
	}
}

static void mix(float *out, size_t out_stride, const struct bs_mix *by, uint32_t samples,
		const float *data, size_t stride)
{
	const uint32_t coils = by->coils;
	float parts[BS_COILS_MAX][2][BLOCK];

	for (uint32_t first = 0; first < samples; first += BLOCK) {
		const uint32_t n = samples - first < BLOCK ? samples - first : BLOCK;

		split_parts(parts, coils, n, data + 2 * (size_t)first, stride);
		for (uint32_t v = 0; v < by->virtual_coils; v++) {
			const float *m = by->matrix + 2 * (size_t)v * coils;
			float *to = out + 2 * (v * out_stride + first);
			float re[BLOCK] = { 0 };
			float im[BLOCK] = { 0 };

			for (uint32_t c = 0; c < coils; c++)
				for (uint32_t s = 0; s < BLOCK; s++) {
					const float a = parts[c][0][s];
					const float b = parts[c][1][s];

					re[s] += m[2 * c] * a - m[2 * c + 1] * b;
					im[s] += m[2 * c] * b + m[2 * c + 1] * a;
				}
			for (uint32_t s = 0; s < n; s++) {
				to[2 * s] = re[s];
				to[2 * s + 1] = im[s];
			}
		}
	}
}

const struct bs_mix_kernels BS_ISA_NAME(bs_mix_kernels) = { mix };

/*
 * gpu/fft/fft_simd.c - the transform of columns in float, one column in each lane, with loads and
 * stores
 */
#include "gpu/device/simd.h"

#include <string.h>

typedef float real;
typedef vf vr;
#define LANES       VW
#define PAIRS_FIRST 0
#include "gpu/fft/fft_loops.h"

/* Transposes a square of complex numbers, VW / 2 a side; each is moved as the bits of a double. */
INLINE void transpose(vd *v)
{
#if VW == 16
	vd t[8];

	UNROLL
	for (int i = 0; i < 4; i++) {
		t[2 * i] =
			__builtin_shufflevector(v[2 * i], v[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
		t[2 * i + 1] =
			__builtin_shufflevector(v[2 * i], v[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
	}
	UNROLL
	for (int i = 0; i < 8; i += 4)
		UNROLL
	for (int k = 0; k < 2; k++) {
		v[i + k] =
			__builtin_shufflevector(t[i + k], t[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
		v[i + k + 2] =
			__builtin_shufflevector(t[i + k], t[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
	}
	UNROLL
	for (int k = 0; k < 4; k++) {
		t[k] = __builtin_shufflevector(v[k], v[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
		t[k + 4] = __builtin_shufflevector(v[k], v[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
	}
	UNROLL
	for (int k = 0; k < 8; k++)
		v[k] = t[k];
#elif VW == 8
	vd t[4];

	UNROLL
	for (int i = 0; i < 4; i += 2) {
		t[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 4, 2, 6);
		t[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 1, 5, 3, 7);
	}
	UNROLL
	for (int k = 0; k < 2; k++) {
		v[k] = __builtin_shufflevector(t[k], t[k + 2], 0, 1, 4, 5);
		v[k + 2] = __builtin_shufflevector(t[k], t[k + 2], 2, 3, 6, 7);
	}
#else
	vd t = v[0];

	v[0] = __builtin_shufflevector(t, v[1], 0, 2);
	v[1] = __builtin_shufflevector(t, v[1], 1, 3);
#endif
}

static void cols_in(float *block, const float *from, size_t stride, uint32_t rows, uint32_t count,
		    const float *scale, bool accumulate)
{
	if (count < VW && !accumulate)
		memset(block, 0, (size_t)rows * CELL * sizeof(float));
	for (uint32_t i = 0; i < rows; i++) {
		const float *f = from + i * stride;
		float *b = block + (size_t)i * CELL;
		float s = scale != NULL ? scale[i] : 1.0f;

		if (count == VW) {
			vf p = loadu(f);
			vf q = loadu(f + VW);
			vf re = s * EVEN(p, q);
			vf im = s * ODD(p, q);

			if (accumulate) {
				re += *(vf *)b;
				im += *(vf *)(b + VW);
			}
			*(vf *)b = re;
			*(vf *)(b + VW) = im;
			continue;
		}
		for (uint32_t j = 0; j < count; j++) {
			b[j] += s * f[2 * j];
			b[j + VW] += s * f[2 * j + 1];
		}
	}
}

static void cols_out(float *to, size_t stride, const float *block, uint32_t rows, uint32_t count,
		     const float *scale)
{
	for (uint32_t i = 0; i < rows; i++) {
		const float *b = block + (size_t)i * CELL;
		float *t = to + i * stride;
		float s = scale != NULL ? scale[i] : 1.0f;

		if (count == VW) {
			vf re = s * *(const vf *)b;
			vf im = s * *(const vf *)(b + VW);

			storeu(t, LOW(re, im));
			storeu(t + VW, HIGH(re, im));
			continue;
		}
		for (uint32_t j = 0; j < count; j++) {
			t[2 * j] = s * b[j];
			t[2 * j + 1] = s * b[j + VW];
		}
	}
}

/* Squares of SQ x SQ complex numbers go through registers; what is left over goes one by one. */
#define SQ (VW / 2)

static void lines_in(float *block, const float *const *from, uint32_t rows, const float *scale)
{
	uint32_t i = 0;

	for (; i + SQ <= rows; i += SQ) {
		vd lo[SQ];
		vd hi[SQ];

		UNROLL
		for (int k = 0; k < SQ; k++) {
			lo[k] = *(const vdu *)(from[k] + 2 * i);
			hi[k] = *(const vdu *)(from[k + SQ] + 2 * i);
		}
		transpose(lo);
		transpose(hi);
		UNROLL
		for (int k = 0; k < SQ; k++) {
			float *b = block + (size_t)(i + (uint32_t)k) * CELL;
			float s = scale != NULL ? scale[i + (uint32_t)k] : 1.0f;

			*(vf *)b = s * EVEN((vf)lo[k], (vf)hi[k]);
			*(vf *)(b + VW) = s * ODD((vf)lo[k], (vf)hi[k]);
		}
	}
	for (; i < rows; i++)
		for (uint32_t j = 0; j < VW; j++) {
			float s = scale != NULL ? scale[i] : 1.0f;

			block[(size_t)i * CELL + j] = s * from[j][2 * i];
			block[(size_t)i * CELL + j + VW] = s * from[j][2 * i + 1];
		}
}

static void lines_out(float *const *to, const float *block, uint32_t rows, const float *scale)
{
	uint32_t i = 0;

	for (; i + SQ <= rows; i += SQ) {
		vd lo[SQ];
		vd hi[SQ];

		UNROLL
		for (int k = 0; k < SQ; k++) {
			const float *b = block + (size_t)(i + (uint32_t)k) * CELL;
			float s = scale != NULL ? scale[i + (uint32_t)k] : 1.0f;
			vf re = s * *(const vf *)b;
			vf im = s * *(const vf *)(b + VW);

			lo[k] = (vd)LOW(re, im);
			hi[k] = (vd)HIGH(re, im);
		}
		transpose(lo);
		transpose(hi);
		UNROLL
		for (int k = 0; k < SQ; k++) {
			*(vdu *)(to[k] + 2 * i) = lo[k];
			*(vdu *)(to[k + SQ] + 2 * i) = hi[k];
		}
	}
	for (; i < rows; i++)
		for (uint32_t j = 0; j < VW; j++) {
			float s = scale != NULL ? scale[i] : 1.0f;

			to[j][2 * i] = s * block[(size_t)i * CELL + j];
			to[j][2 * i + 1] = s * block[(size_t)i * CELL + j + VW];
		}
}

static void cells_in(float *block, const float *const *from, uint32_t width, uint32_t rows,
		     const float *scale)
{
	for (uint32_t i = 0; i < rows; i++) {
		float *b = block + (size_t)i * CELL;
		float s = scale != NULL ? scale[i] : 1.0f;
		vf v[2] = { { 0 }, { 0 } };

		if (width == SQ) {
			v[0] = loadu(from[0] + (size_t)i * VW);
			v[1] = loadu(from[1] + (size_t)i * VW);
		} else {
			for (uint32_t k = 0; k < VW / width; k++)
				memcpy((float *)v + (size_t)k * 2 * width,
				       from[k] + (size_t)i * 2 * width, 2 * width * sizeof(float));
		}
		*(vf *)b = s * EVEN(v[0], v[1]);
		*(vf *)(b + VW) = s * ODD(v[0], v[1]);
	}
}

static void cells_out(float *const *to, uint32_t width, const float *block, uint32_t rows,
		      const float *scale)
{
	for (uint32_t i = 0; i < rows; i++) {
		const float *b = block + (size_t)i * CELL;
		float s = scale != NULL ? scale[i] : 1.0f;
		vf re = s * *(const vf *)b;
		vf im = s * *(const vf *)(b + VW);
		vf v[2] = { LOW(re, im), HIGH(re, im) };

		if (width == SQ) {
			storeu(to[0] + (size_t)i * VW, v[0]);
			storeu(to[1] + (size_t)i * VW, v[1]);
			continue;
		}
		for (uint32_t k = 0; k < VW / width; k++)
			memcpy(to[k] + (size_t)i * 2 * width,
			       (const float *)v + (size_t)k * 2 * width, 2 * width * sizeof(float));
	}
}

const struct bs_fft_kernels BS_ISA_NAME(bs_fft_kernels) = {
	.lanes = VW,
	.run = run,
	.cols_in = cols_in,
	.cols_out = cols_out,
	.lines_in = lines_in,
	.lines_out = lines_out,
	.cells_in = cells_in,
	.cells_out = cells_out,
};

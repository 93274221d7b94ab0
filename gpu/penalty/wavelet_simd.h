/*
 * gpu/penalty/wavelet_simd.h - the inner loops of wavelet.c, for each instruction set
 *
 * strip    transforms n rows of `floats` floats, stride floats apart, in place
 * row      transforms one row of n complex values in place
 * from     row, or value, of the first tap; work: as long as what is transformed and 4 more of it
 * shrink   shrinks n complex values by t; returns the sum of the moduli that are left
 */
#ifndef BS_GPU_PENALTY_WAVELET_SIMD_H
#define BS_GPU_PENALTY_WAVELET_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/device/isa.h"

#define BS_WAVELET_TAPS 4

struct bs_wavelet_kernels {
	void (*strip)(float *at, size_t stride, uint32_t n, size_t floats, uint32_t from,
		      bool inverse, float *work);
	void (*row)(float *at, uint32_t n, uint32_t from, bool inverse, float *work);
	double (*shrink)(float *c, uint64_t n, float t);
};

BS_ISA_DECLARE(const struct bs_wavelet_kernels, bs_wavelet_kernels);

#endif

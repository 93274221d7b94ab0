/*
 * gpu/calibrate/mix_simd.h - the inner loops of mix, built once per instruction set
 */
#ifndef BS_GPU_CALIBRATE_MIX_SIMD_H
#define BS_GPU_CALIBRATE_MIX_SIMD_H

#include "gpu/calibrate/mix.h"
#include "gpu/device/isa.h"

struct bs_mix_kernels {
	/* does the work of bs_mix */
	void (*mix)(float *out, size_t out_stride, const struct bs_mix *by, uint32_t samples,
		    const float *data, size_t stride);
};

BS_ISA_DECLARE(const struct bs_mix_kernels, bs_mix_kernels);

#endif

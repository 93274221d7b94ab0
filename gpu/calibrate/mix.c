/* gpu/calibrate/mix.c - see mix.h */
#include "gpu/calibrate/mix.h"

#include "gpu/calibrate/mix_simd.h"

void bs_mix(float *out, size_t out_stride, const struct bs_mix *by, uint32_t samples,
	    const float *data, size_t stride)
{
	BS_ISA_PICK(bs_mix_kernels)->mix(out, out_stride, by, samples, data, stride);
}

void bs_mix_matrix(float *matrix, const double *a, uint32_t virtual_coils, uint32_t coils)
{
	for (size_t v = 0; v < virtual_coils; v++)
		for (size_t c = 0; c < coils; c++)
			for (int part = 0; part < 2; part++)
				matrix[2 * (v * coils + c) + part] =
					(float)a[2 * (v + virtual_coils * c) + part];
}

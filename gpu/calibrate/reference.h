/*
 * gpu/calibrate/reference.h - the virtual coil whose phase the coil maps refer to
 *
 * It is the first principal component of samples [coil][n] complex float: a vector [coil] complex
 * of length 1. Its largest element (the first of those equal within 1e-4) is real. gram
 * [coils][coils] and value [coils] are double, work is bs_dense_eigen_bytes(coils) bytes; value[0]
 * is the power of the component. BS_ERR_VALUE: samples are not finite. Allocates nothing.
 * Test: test/unit/gpu/calibrate/test_espirit.c
 */
#ifndef BS_GPU_CALIBRATE_REFERENCE_H
#define BS_GPU_CALIBRATE_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

int bs_reference(float *reference, uint32_t coils, size_t n, const float *samples, double *gram,
		 double *value, void *work, struct bs_fail *why);

#endif

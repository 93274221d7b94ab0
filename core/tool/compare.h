/*
 * core/tool/compare.h - how far one image is from another
 *
 * out, ref: n complex values each. mask: n complex values, or NULL; a value of 0 excludes its
 * voxel. With e = x - ref over the m values that count:
 *   NRMSE = ||e|| / ||ref||, percent error = 100 NRMSE,
 *   PSNR = 20 log10(max|ref| / (||e|| / sqrt m)),
 * for x = out ("unscaled") and for x = a out with a = <out, ref> / <out, out>, the complex scale
 * that makes ||e|| smallest ("scaled"; 0 when out is all zero). Sums are in double. Where ref is
 * all zero, NRMSE is 0 for equal images, else infinite. Pure; any thread. Test:
 * test/unit/core/tool/test_compare.c
 */
#ifndef BS_CORE_TOOL_COMPARE_H
#define BS_CORE_TOOL_COMPARE_H

#include <stdint.h>

#include "core/err.h"

struct bs_difference {
	double nrmse;
	double psnr_db; /* PSNR in dB, infinite for equal images */
};

struct bs_comparison {
	uint64_t values; /* number of values that the mask leaves */
	/*
	 * values that count and are not finite in out or ref; where there are any, nothing below is
	 * filled
	 */
	uint64_t not_finite;
	double scale[2]; /* real and imaginary part of the scale a */
	struct bs_difference scaled, unscaled;
	double max_abs;         /* ratio of the largest |a out - ref| to the largest |ref| */
	double magnitude_nrmse; /* NRMSE of the magnitudes: || |a out| - |ref| || / ||ref|| */
};

/* Returns BS_ERR_SIZE when the mask leaves nothing, BS_ERR_VALUE when a value is not finite. */
int bs_compare(struct bs_comparison *c, const float *out, const float *ref, const float *mask,
	       uint64_t n, struct bs_fail *why);

#endif

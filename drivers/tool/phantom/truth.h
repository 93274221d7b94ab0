/*
 * drivers/tool/phantom/truth.h - what a simulated scan's recording and its true images share
 *
 * Allocates; the calling thread and the team. Test: test/unit/board/test_scan.c
 */
#ifndef BS_DRIVERS_TOOL_PHANTOM_TRUTH_H
#define BS_DRIVERS_TOOL_PHANTOM_TRUTH_H

#include "core/tool/phantom/coils.h"
#include "core/tool/phantom/noise.h"
#include "drivers/tool/phantom/phantom.h"

/* Checks that the scan's sizes and figures make sense and fit each other. */
int bs_phantom_check(const struct bs_phantom_scan *scan, struct bs_fail *why);
/* Makes the correlation of the coils' noise. */
int bs_phantom_noise(const struct bs_phantom_scan *scan, struct bs_coil_noise *noise,
		     struct bs_fail *why);
/* Makes the coils of a slice. */
int bs_phantom_coils(const struct bs_phantom_scan *scan, uint32_t slice, struct bs_coils *coils,
		     struct bs_fail *why);
/* Finds the standard deviation of the noise in a complex sample, over all coils; 0: none. */
int bs_phantom_sigma(const struct bs_phantom_scan *scan, struct bs_team *team, double *sigma,
		     struct bs_fail *why);
/* Returns the noise deviation of the noise scan over that of the lines. */
double bs_phantom_noise_scale(const struct bs_phantom_scan *scan);
/* Makes the true image of a slice and contrast: [z][y][x] real. */
void bs_phantom_truth_image(const struct bs_phantom *ph, float *image, struct bs_team *team);
/* Makes the field of a slice: [z][y][x] Hz. */
void bs_phantom_field(const struct bs_phantom_scan *scan, uint32_t slice, float *hz);

#endif

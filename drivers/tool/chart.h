/*
 * drivers/tool/chart.h - curves over a logarithmic axis as a PNG
 *
 * Panels one above the other share x (positive, increasing); each has its own linear y axis from
 * 0, a title and ticks. A value that is not finite is left out. Letters are capitals of 3 x 5
 * dots; what the alphabet lacks is a blank. BS_ERR_SIZE for fewer than 2 points or a bad x.
 * Allocates; whole file or none. Test: test/unit/drivers/tool/test_chart.c
 */
#ifndef BS_DRIVERS_TOOL_CHART_H
#define BS_DRIVERS_TOOL_CHART_H

#include <stdint.h>

#include "core/err.h"

#define BS_CHART_WIDTH  480u
#define BS_CHART_HEIGHT 200u /* of a panel */

struct bs_chart_panel {
	const char *title;
	const double *y; /* [points] */
};

int bs_chart_write(const char *path, const char *x_title, const double *x, uint32_t points,
		   const struct bs_chart_panel *panels, uint32_t count, struct bs_fail *why);

#endif

/*
 * drivers/tool/phantom/source.h - the samples of a simulated scan, before noise
 *
 * Of every row of the trajectory, contrast and coil, where the readout really runs: beside the
 * trajectory's table by the gradients' delays, along a trapezoid, and for the lines of EPI that run
 * backwards by the shift between the two directions. The scan's plan says all
 * (drivers/tool/phantom/phantom.c completes it) and stays while the source is open.
 * Allocates; the calling thread and the team. Tests: as of drivers/tool/phantom/phantom.h
 */
#ifndef BS_DRIVERS_TOOL_PHANTOM_SOURCE_H
#define BS_DRIVERS_TOOL_PHANTOM_SOURCE_H

#include "drivers/tool/phantom/phantom.h"

struct bs_phantom_source;

/* Returns the path that a readout of a frame carries: [sample][dims]. */
const float *bs_phantom_path(const struct bs_phantom_scan *scan, uint32_t frame, uint32_t row);

int bs_phantom_source_open(struct bs_phantom_source **source, const struct bs_phantom_scan *scan,
			   struct bs_team *team, struct bs_fail *why);
void bs_phantom_source_close(struct bs_phantom_source *source);
/* Samples a slice in a frame, unless the source holds it already. */
int bs_phantom_source_hold(struct bs_phantom_source *source, uint32_t slice, uint32_t frame,
			   struct bs_fail *why);
/* Returns a row of a held slice: [coil][sample] complex, in the order of k for both directions. */
const float *bs_phantom_source_row(const struct bs_phantom_source *source, uint32_t slice,
				   uint32_t contrast, uint32_t row, bool reversed);

#endif

/*
 * drivers/tool/phantom/head.h - the headers of a simulated scan: of all of it, of each readout
 *
 * Allocates nothing. Thread rules: none. Tests: test/unit/board/test_scan.c,
 * test/unit/drivers/tool/test_phantomscan.c, test/unit/drivers/tool/test_phantomnoise.c,
 * test/unit/drivers/tool/test_phantomphysics.c
 */
#ifndef BS_DRIVERS_TOOL_PHANTOM_HEAD_H
#define BS_DRIVERS_TOOL_PHANTOM_HEAD_H

#include "drivers/tool/phantom/phantom.h"
#include "drivers/tool/phantom/scanxml.h"

void bs_phantom_info(const struct bs_phantom_scan *scan, const struct bs_scanlines *lines,
		     struct bs_scan_info *info);
/* count: the readouts before. */
struct bs_mrd_acq bs_phantom_head(const struct bs_phantom_scan *scan,
				  const struct bs_scanlines *lines, const struct bs_scanline *line,
				  uint32_t count);
/* The sample of a line, as it is sampled forward, that is nearest to the center of k-space. */
uint32_t bs_phantom_center(const struct bs_protocol *p);
/* Of a navigator. */
uint32_t bs_phantom_navigator_samples(const struct bs_phantom_scan *scan);
/* What the header says of the bands. */
struct bs_scanxml_multiband bs_phantom_multiband(const struct bs_phantom_scan *scan);

#endif

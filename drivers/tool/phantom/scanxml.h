/*
 * drivers/tool/phantom/scanxml.h - writes the MRD XML header of a scan
 *
 * The counterpart of ipc/wire/xml.h: what info says, as XML that is valid by the MRD schema. Names
 * are escaped. Limits that are not given are left out. Allocates nothing.
 * Returns BS_ERR_NOMEM when size is too small. Test: test/unit/board/test_scan.c
 */
#ifndef BS_DRIVERS_TOOL_PHANTOM_SCANXML_H
#define BS_DRIVERS_TOOL_PHANTOM_SCANXML_H

#include <stddef.h>

#include "core/err.h"
#include "core/mrd.h"
#include "core/traj/trapezoid.h"

#define BS_SCANXML_BYTES 32768u /* enough for any info, and the bands of 1000 slices */

/* Slices at once. A header says gap and delta_kz, and leaves their units open. */
struct bs_scanxml_multiband {
	uint32_t bands; /* number of slices at once; 0: each slice alone */
	uint32_t groups;
	double gap_mm; /* distance of neighboring bands (dZ) */
	/* cycles/mm from a line to the next, by which the phase of a band dZ away grows */
	double delta_kz;
};

struct bs_scanxml {
	const struct bs_scan_info *info;
	double tr_ms;
	const char *system;             /* name of the system that made the data */
	const char *sequence;           /* name of the sequence */
	double te_ms[3];                /* echo times; 0: not in the header */
	const struct bs_trapezoid *epi; /* gradient's shape under EPI readouts; NULL: no EPI */
	uint32_t train;                 /* lines of an EPI train */
	struct bs_scanxml_multiband multiband;
};

int bs_scanxml_write(char *out, size_t size, const struct bs_scanxml *x, struct bs_fail *why);

#endif

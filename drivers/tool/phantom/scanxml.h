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

/* Slices at once: a header says these lengths, and leaves their units open. */
struct bs_scanxml_multiband {
	uint32_t bands; /* 0: each slice alone */
	uint32_t groups;
	double gap_mm;   /* between neighboring bands (dZ) */
	double delta_kz; /* cycles/mm a line: a band dZ away is turned by delta_kz dZ cycles */
};

struct bs_scanxml {
	const struct bs_scan_info *info;
	double tr_ms;
	const char *system;             /* what made the data */
	const char *sequence;           /* in words */
	double te_ms[3];                /* 0: unsaid */
	const struct bs_trapezoid *epi; /* of its readouts; NULL: none */
	uint32_t train;                 /* EPI: lines of a train */
	struct bs_scanxml_multiband multiband;
};

int bs_scanxml_write(char *out, size_t size, const struct bs_scanxml *x, struct bs_fail *why);

#endif

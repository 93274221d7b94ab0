/*
 * ipc/wire/multiband.h - the header's element parallelImaging/multiband, as its parts are read
 *
 * It has a spacing for each group of bands, with a dZ for each band; deltaKz; and the number of
 * bands, multiband_factor. Any of these may be missing, and MRD states no units: dZ is read as mm
 * from the group's first band, deltaKz as cycles/mm from a line to the next. A text that is no
 * number counts as missing.
 * No state beside its arguments. Test: test/unit/ipc/test_xml.c
 */
#ifndef BS_IPC_WIRE_MULTIBAND_H
#define BS_IPC_WIRE_MULTIBAND_H

#include "core/mrd.h"

struct bs_multiband_read {
	uint32_t spacings; /* number of spacings that were read so far */
	uint32_t bands;    /* number of bands of the spacing that is being read */
};

void bs_multiband_spacing(struct bs_multiband_read *r);
void bs_multiband_place(struct bs_multiband_read *r, struct bs_scan_info *info, const char *dz);
void bs_multiband_step(struct bs_scan_info *info, const char *delta_kz);
void bs_multiband_factor(struct bs_scan_info *info, uint32_t factor);

#endif

/* ipc/wire/multiband.c - see multiband.h */
#include "ipc/wire/multiband.h"

#include <math.h>

#include "core/text.h"

/* A larger number is no place and no phase. */
#define MOST 1e6

void bs_multiband_spacing(struct bs_multiband_read *r)
{
	r->spacings++;
	r->bands = 0;
}

void bs_multiband_factor(struct bs_scan_info *info, uint32_t factor)
{
	info->bands = factor > info->bands ? factor : info->bands;
}

/* Of several groups, the places of the first one count. */
void bs_multiband_place(struct bs_multiband_read *r, struct bs_scan_info *info, const char *dz)
{
	const size_t room = sizeof(info->band_mm) / sizeof(info->band_mm[0]);
	double mm;

	bs_multiband_factor(info, ++r->bands);
	if (r->spacings > 1 || r->bands != info->places + 1 || r->bands > room ||
	    !bs_text_number(dz, &mm) || !(fabs(mm) <= MOST))
		return;
	info->band_mm[info->places++] = (float)mm;
}

void bs_multiband_step(struct bs_scan_info *info, const char *delta_kz)
{
	double cycles;

	if (!bs_text_number(delta_kz, &cycles) || !(fabs(cycles) <= MOST))
		return;
	info->delta_kz = (float)cycles;
	info->steps = 1;
}

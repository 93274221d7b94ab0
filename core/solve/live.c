/* core/solve/live.c - see live.h */
#include "core/solve/live.h"

#include <stdio.h>
#include <string.h>

void bs_live_judge(struct bs_live *l, const float *images, uint32_t count)
{
	struct bs_w_report *r = &l->report;
	struct bs_offset o;

	bs_offset_find(&o, l->spec.matrix, images, count, l->image, l->work);
	r->measured = o.found;
	memcpy(r->offset, o.voxels, sizeof(r->offset));
	if (!o.found)
		(void)snprintf(
			r->lacks, sizeof(r->lacks),
			"it cannot be told how far the scan lies from W's image, less than %d "
			"voxels",
			BS_OFFSET_MOST);
	else if ((double)o.length > l->limit)
		(void)snprintf(r->lacks, sizeof(r->lacks),
			       "the scan lies %.2f voxels from W's image, ls.w_off is %g",
			       (double)o.length, l->limit);
}

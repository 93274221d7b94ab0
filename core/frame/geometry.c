/* core/frame/geometry.c - see geometry.h */
#include "core/frame/geometry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/protocol.h"

static const char axes[] = "xyz";

/* One partition, and reconSpace knows how much of it a slice is. */
static bool is_slice(const struct bs_scan_info *info, int a)
{
	return a == 2 && info->encoded[2] == 1 && info->fov_mm[2] > 0.0f &&
	       info->fov_mm[2] < info->encoded_fov_mm[2];
}

/* mm that the header's voxels make of the protocol's matrix; 0: it does not say. */
static double by_header(const struct bs_protocol *p, const struct bs_scan_info *info, int a)
{
	if (is_slice(info, a))
		return (double)info->fov_mm[2];
	return info->encoded[a] > 0 && info->encoded_fov_mm[a] > 0.0f
		       ? (double)info->encoded_fov_mm[a] * p->matrix[a] / info->encoded[a]
		       : 0.0;
}

void bs_geometry_fov(float fov_mm[3], const struct bs_protocol *p, const struct bs_scan_info *info)
{
	for (int a = 0; a < 3; a++) {
		const double mm = by_header(p, info, a);

		fov_mm[a] = mm > 0.0 ? (float)mm : p->fov_mm[a];
	}
}

void bs_geometry_other(float fov_mm[3], const struct bs_protocol *p,
		       const struct bs_mrd_encoding *e)
{
	struct bs_scan_info info = { 0 };

	memcpy(info.encoded, e->encoded, sizeof(info.encoded));
	memcpy(info.encoded_fov_mm, e->encoded_fov_mm, sizeof(info.encoded_fov_mm));
	memcpy(info.fov_mm, e->fov_mm, sizeof(info.fov_mm));
	for (int a = 0; a < 3; a++)
		fov_mm[a] = (float)by_header(p, &info, a);
}

int bs_geometry_check(const struct bs_protocol *p, const struct bs_scan_info *info,
		      struct bs_fail *why)
{
	const bool on_grid = p->plan.on_grid;
	const float *fov_mm = info->encoded_fov_mm;

	if (fov_mm[0] > 0.0f && fov_mm[0] < 1.0f && fov_mm[1] > 0.0f && fov_mm[1] < 1.0f)
		return bs_fail(why, BS_ERR_SIZE,
			       "encodedSpace/fieldOfView_mm is %g x %g: less than a millimeter, as "
			       "if it were said in meters",
			       (double)fov_mm[0], (double)fov_mm[1]);
	for (int a = 0; a < 3; a++) {
		const double mm = by_header(p, info, a);
		const double recon_mm = (double)info->fov_mm[a];
		const uint32_t leaves = bs_protocol_image_axis(p, a);

		if (mm == 0.0)
			continue;
		if (p->fov_mm[a] > 0.0f && fabs((double)p->fov_mm[a] - mm) > 1e-3 * mm)
			return bs_fail(why, BS_ERR_SIZE,
				       "fov_mm %c of protocol '%s' is %g, but its %u voxels cover "
				       "%g mm: %s has %u over %g mm",
				       axes[a], p->name, (double)p->fov_mm[a], p->matrix[a], mm,
				       is_slice(info, a) ? "reconSpace" : "encodedSpace",
				       info->encoded[a],
				       is_slice(info, a) ? mm : (double)info->encoded_fov_mm[a]);
		if (p->fov_mm[a] > 0.0f || !on_grid || info->encoded[a] == 1 ||
		    info->recon[a] != leaves || recon_mm == 0.0)
			continue;
		if (fabs(recon_mm - mm) > (1.0 / info->encoded[a] + 1e-3) * mm)
			return bs_fail(
				why, BS_ERR_SIZE,
				"%c of the image: its %u voxels cover %g mm by encodedSpace and %g "
				"mm by reconSpace; fov_mm of protocol '%s' must say %g, or the "
				"header is wrong",
				axes[a], leaves, mm, recon_mm, p->name, mm);
	}
	return 0;
}

const char *bs_geometry_words(char words[BS_GEOMETRY_WORDS], const struct bs_protocol *p,
			      const struct bs_scan_info *info)
{
	float fov_mm[3];
	char which[8];
	int n = 0;

	bs_geometry_fov(fov_mm, p, info);
	for (int a = 0; a < 3; a++)
		if (!(fov_mm[a] > 0.0f))
			which[n++] = axes[a];
	which[n] = '\0';
	words[0] = '\0';
	if (n > 0)
		(void)snprintf(words, BS_GEOMETRY_WORDS,
			       "the images' field of view is 0 along %s: neither encodedSpace of "
			       "the header nor fov_mm of protocol '%.32s' says it",
			       which, p->name);
	return words;
}

/* board/tool/init/choose_image.c - see choose.h: the matrix of the image that leaves */
#include "board/tool/init/choose.h"

#include <math.h>

uint32_t bs_choose_kept(const struct bs_survey *s, int a, uint32_t times)
{
	const struct bs_scan_info *info = &s->info;
	const uint32_t encoded = info->encoded[a] * times;
	double share = 1.0;
	uint32_t n;

	if (encoded == 1)
		return 1;
	if (info->encoded_fov_mm[a] > 0.0f && info->fov_mm[a] > 0.0f)
		share = (double)info->fov_mm[a] / ((double)info->encoded_fov_mm[a] * times);
	else if (info->recon[a] > 0)
		share = (double)info->recon[a] / encoded;
	n = share >= 1.0 ? encoded : (uint32_t)lround(share * encoded);
	if (share < 1.0 && info->recon[a] > 0 && n + 1 >= info->recon[a] &&
	    n <= info->recon[a] + 1 && info->recon[a] <= encoded)
		/* reconSpace's size was rounded, too: it differs by 1 at most */
		n = info->recon[a];
	return n > 0 ? n : 1;
}

void bs_choose_image(const struct bs_choice *c, const uint32_t matrix[3])
{
	const uint32_t *recon = c->survey->info.recon;
	char text[64];

	if (recon[0] == 0 || recon[1] == 0 ||
	    (recon[0] == matrix[0] && recon[1] == matrix[1] &&
	     (recon[2] == matrix[2] || matrix[2] == 1 || recon[2] == 0)))
		return;
	for (int a = 0; a < 3; a++)
		if (recon[a] > BS_AXIS_MAX) {
			bs_outline_say(c->out,
				       "reconSpace of the header is %u x %u x %u, more than %u "
				       "along an axis: images leave on the matrix instead",
				       recon[0], recon[1], recon[2], BS_AXIS_MAX);
			return;
		}
	(void)snprintf(text, sizeof(text), "[%u, %u, %u]", recon[0], recon[1],
		       matrix[2] == 1 || recon[2] == 0 ? matrix[2] : recon[2]);
	bs_outline_put(c->out, "image.matrix", text,
		       "reconSpace of the header: k-space is zero-filled, or cut, to it");
}

/* board/tool/init/choose_image.c - see choose.h: the matrix of the image that leaves */
#include "board/tool/init/choose.h"

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

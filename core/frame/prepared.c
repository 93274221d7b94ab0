/* core/frame/prepared.c - what became of readouts before an engine saw them, for images to say */
#include "core/frame/part.h"

void bs_recon_prepared(struct bs_recon *r, const struct bs_prepared *prepared)
{
	r->prepared = *prepared;
}

void bs_recon_corrected(struct bs_recon *r, const struct bs_corrected *corrected)
{
	r->corrected = *corrected;
}

void bs_recon_earlier(struct bs_recon *r, const struct bs_earlier *earlier)
{
	r->earlier = *earlier;
}

void bs_recon_calibrated(struct bs_recon *r, uint32_t slice, int64_t spent_ns)
{
	if (slice < r->p->slices)
		r->frame[bs_protocol_frame(r->p, slice, 0)].calibration_ns += spent_ns;
}

int64_t bs_recon_take_calibration(struct bs_recon *r, uint32_t slot)
{
	const uint32_t slice = bs_protocol_frame_slice(r->p, slot);
	struct frame *first = &r->frame[bs_protocol_frame(r->p, slice, 0)];
	const int64_t spent_ns = first->calibration_ns;

	first->calibration_ns = 0;
	return spent_ns;
}

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

int bs_recon_center(struct bs_recon *r, const struct bs_mrd_acq *head, struct bs_fail *why)
{
	struct bs_center c;

	bs_center_of(&c, &r->p->encoded[1], &r->info, &head->idx);
	for (int a = 0; r->centered && a < 2; a++)
		if (c.line[a] != r->center.line[a])
			return bs_fail(why, BS_ERR_INDEX,
				       "acquisition %u: the center of kspace_encode_step_%d is %u "
				       "by %s, %u by the scan's first line",
				       head->scan_counter, a + 1, c.line[a],
				       c.told[a] ? "its idx.user" : "the header",
				       r->center.line[a]);
	if (!r->centered) {
		r->center = c;
		bs_lines_about(&r->lines, r->p, &r->info, &c);
	}
	r->centered = true;
	return 0;
}

void bs_frame_weigh(const struct bs_recon *r, uint32_t slot, const struct bs_mrd_acq *head,
		    uint32_t row, const float *data)
{
	struct frame *f = &r->frame[slot];
	bool told = true;
	float energy;

	for (int a = 0; a < 2; a++)
		told = told && (r->center.told[a] || r->lines.size[a] == 1);
	if (told)
		return;
	energy = bs_center_energy(data + 2 * (size_t)head->discard_pre, head->number_of_samples,
				  r->p->coils, r->p->samples);
	if (row == f->strongest && r->opens.at[slot].row[row] != 0)
		f->energy = energy; /* it came again, and the last counts */
	if (energy < f->energy ||
	    (energy == f->energy && row >= f->strongest && r->opens.at[slot].have > 0))
		return;
	f->energy = energy;
	f->strongest = row;
}

const struct bs_kinds *bs_recon_kinds(const struct bs_recon *r)
{
	return &r->kinds;
}

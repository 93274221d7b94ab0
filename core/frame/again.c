/* core/frame/again.c - lines that came more often than others, or not as they should; see part.h */
#include <string.h>

#include "core/frame/part.h"
#include "core/text.h"

/*
 * Each calibration line has all averages, each other line came once, and nothing was lost on its
 * way: the header's averages are those of calibration.
 */
static bool is_several_by_calibration(const struct bs_recon *r, const struct frame *f,
				      uint32_t rows)
{
	const uint32_t others = rows - f->calibrating.rows;

	return r->several && !r->opens.lost &&
	       f->calibrating.summed == f->calibrating.rows * r->expected &&
	       f->summed - f->calibrating.summed == others;
}

uint32_t bs_frame_fewer(const struct bs_recon *r, uint32_t slot, uint32_t rows)
{
	const struct frame *f = &r->frame[slot];

	return r->averages == NULL || is_several_by_calibration(r, f, rows)
		       ? 0
		       : rows * r->expected - f->summed;
}

/* One of a frame may have been bad. Of most of them: a counter is not told, and images mix. */
static void say_lines(struct bs_text *t, const char *what, uint32_t again, uint32_t of)
{
	if (again > 0)
		bs_text_put(t, "%s%u of %u %s came more than once: the last of each is in the image",
			    bs_text_between(t), again, of, what);
}

void bs_frame_say_broken(const struct bs_recon *r, struct bs_text *t)
{
	bs_text_put(t,
		    "%sno counter tells the %u echoes of a line, and %llu line%s more or fewer: which "
		    "is which is not known",
		    bs_text_between(t), r->p->contrasts, (unsigned long long)r->broken.lines,
		    r->broken.lines == 1 ? " had" : "s had");
}

void bs_frame_say_again(const struct bs_recon *r, uint32_t slot, struct bs_recon_image *image)
{
	const struct frame *f = &r->frame[slot];
	const uint32_t rows = r->opens.at[slot].have;
	const bool most = 2 * f->again[0] > rows;
	struct bs_text lacks = { image->lacks, sizeof(image->lacks), strlen(image->lacks), false };
	struct bs_text t = { image->readout, sizeof(image->readout), strlen(image->readout), false };

	if (image->preview || r->groups > 0)
		return;
	say_lines(most ? &lacks : &t,
		  most ? "lines (no counter tells what they differ in)" : "lines", f->again[0],
		  rows);
	say_lines(&t, "lines, of calibration,", f->again[1], rows);
	if (f->spare > 0)
		bs_text_put(&t, "%s%u readouts came when their lines had all averages, and are left out",
			    bs_text_between(&t), f->spare);
	if (r->broken.lines > 0)
		bs_frame_say_broken(r, &lacks);
	else if (r->echo.state == BS_ECHO_BY_ORDER)
		bs_text_put(&t, "%sno counter tells the %u echoes of a line: their order does",
			    bs_text_between(&t), r->p->contrasts);
	if (r->misfit.count > 0)
		bs_text_put(&t, "%s%llu readout%s left out, the last of %u channels and %u samples",
			    bs_text_between(&t), (unsigned long long)r->misfit.count,
			    r->misfit.count == 1 ? " is" : "s are", r->misfit.channels,
			    r->misfit.samples);
	if (r->averages != NULL && is_several_by_calibration(r, f, rows))
		bs_text_put(&t, "%scalibration lines alone have averages", bs_text_between(&t));
}

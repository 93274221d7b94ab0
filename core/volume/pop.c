/* core/volume/pop.c - the volumes that leave; see core/frame/part.h */
#include "core/frame/part.h"

/* Adds an image of a slice, which was made or passed over, to its volume. */
static int join_slice(struct bs_recon *r, uint32_t slot, struct bs_volume *to,
		      struct bs_recon_image *image, int64_t deadline_ns, struct bs_fail *why)
{
	struct bs_volumes *v = &r->volumes;
	const uint32_t slice = r->frame[slot].first.idx.slice;
	const struct bs_share *s = r->share;
	float *pixels = image->pixels;
	int rc;

	/* at most places - 1 volumes that begin later leave before this one */
	to->passed = to->number + v->places - 1 <= r->passed ||
		     (s != NULL && to->number % s->parts != s->part);
	image->pixels = bs_volume_slice(v, to, slice);
	rc = to->passed ? bs_frame_pass(r, slot, image, why)
			: bs_frame_make(r, slot, image, false,
					bs_volume_deadline(v, to, slice, deadline_ns, bs_now_ns()),
					why);
	image->pixels = pixels;
	if (rc < 0)
		return rc;
	bs_volumes_join(v, to, &r->frame[slot].first, image);
	return 0;
}

/* Takes the next volume that leaves. True: it is in *image and is to be handed on. */
static bool leaves(struct bs_recon *r, struct bs_recon_image *image)
{
	const struct bs_volume *v;

	while ((v = bs_volumes_leave(&r->volumes, image)) != NULL) {
		if (r->bands.on)
			bs_bands_image(&r->bands, v->key.repetition, image->number);
		if (!v->passed && image->number > r->passed &&
		    (r->share == NULL || !bs_share_made(r->share, image->number)))
			return true;
	}
	return false;
}

int bs_volume_pop(struct bs_recon *r, struct bs_recon_image *image, int64_t deadline_ns,
		  struct bs_fail *why)
{
	while (!leaves(r, image)) {
		struct bs_volume *to;
		uint32_t slot;
		int rc;

		bs_recon_wait(r);
		slot = bs_opens_over(&r->opens);
		if (slot == BS_OPEN_NONE && !(r->volumes.closed && bs_volumes_due(&r->volumes) > 0))
			return 0;
		if (slot == BS_OPEN_NONE) {
			bs_volumes_end(&r->volumes);
			continue;
		}
		to = bs_volumes_place(&r->volumes, &r->frame[slot].first);
		if (to == NULL)
			continue;
		bs_opens_empty(&r->opens, slot);
		rc = join_slice(r, slot, to, image, deadline_ns, why);
		if (rc != 0)
			return rc;
	}
	return 1;
}

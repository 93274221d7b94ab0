/* core/frame/readout.c - see readout.h */
#include "core/frame/readout.h"

#include <strings.h>

#include "core/text.h"

uint32_t bs_readout_oversampling(uint32_t samples, uint32_t encoded_x)
{
	if (samples <= encoded_x)
		return 1;
	return encoded_x > 0 && samples % encoded_x == 0 ? samples / encoded_x : 0;
}

uint32_t bs_readout_center(const struct bs_protocol *p, bool reversed)
{
	/* A partial echo lacks the start of the line. */
	const uint32_t center = p->encoded[0] / 2 - (p->encoded[0] - p->samples);

	return reversed ? p->samples - 1 - center : center;
}

static bool is_beyond(const struct bs_mrd_acq *head)
{
	return head->center_sample >= head->number_of_samples;
}

uint32_t bs_readout_oversampled(const struct bs_protocol *p, const struct bs_scan_info *info)
{
	if (info->encoded[0] == p->encoded[0])
		return 1;
	return bs_readout_whole(p) ? bs_readout_oversampling(p->samples, info->encoded[0]) : 0;
}

/*
 * center_sample of a whole line is the sample behind k = 0, which a simulator takes for the first
 * of kx > 0.
 */
static bool is_next(const struct bs_protocol *p, const struct bs_mrd_acq *head)
{
	return bs_readout_whole(p) && (head->flags & BS_MRD_IS_REVERSE) == 0 &&
	       head->center_sample == bs_readout_center(p, false) + head->discard_pre + 1u;
}

#define SHORT 2u /* samples; a line that lacks no more samples than this is a mistake */

bool bs_readout_lacks(const struct bs_protocol *p, const struct bs_mrd_acq *head, uint32_t *at)
{
	const uint32_t discarded = (uint32_t)head->discard_pre + head->discard_post;
	const uint32_t has = head->number_of_samples - discarded;
	const int64_t from =
		(int64_t)bs_readout_center(p, false) + head->discard_pre - head->center_sample;

	*at = from > 0 ? (uint32_t)from : 0;
	return (head->flags & BS_MRD_IS_REVERSE) == 0 && discarded < head->number_of_samples &&
	       has + SHORT < p->samples && 2 * has > p->samples &&
	       head->center_sample > head->discard_pre &&
	       head->center_sample < head->discard_pre + has && from >= 0 &&
	       from + has <= p->samples;
}

bool bs_readout_fits(const struct bs_protocol *p, const struct bs_mrd_acq *head)
{
	const bool reversed = (head->flags & BS_MRD_IS_REVERSE) != 0;
	const uint32_t center = bs_readout_center(p, reversed) + head->discard_pre;

	return head->center_sample == 0 || head->center_sample == center ||
	       (reversed && head->center_sample == center + 1) || is_next(p, head) ||
	       (is_beyond(head) && bs_readout_whole(p));
}

bool bs_readout_doubtful(const struct bs_protocol *p, const struct bs_mrd_acq *head)
{
	return (head->flags & BS_MRD_IS_REVERSE) != 0 && head->center_sample != 0 &&
	       head->center_sample + 1u == bs_readout_center(p, false) + head->discard_pre;
}

bool bs_readout_late(const struct bs_protocol *p, const struct bs_mrd_acq *head)
{
	return p->plan.on_grid && p->reversed_center == BS_REVERSED_STORED &&
	       !bs_plan_has(&p->plan, BS_PLAN_EPI) && bs_readout_doubtful(p, head);
}

/*
 * Notes which samples of a line that was filled up with zeros were measured: those that all such
 * lines have, and those of an echo whose lines lie one sample apart.
 */
static void see_filled(struct bs_readouts *all, const struct bs_mrd_acq *head)
{
	const uint32_t from = (uint32_t)head->user_int[0];
	const uint32_t to = (uint32_t)head->user_int[1];
	const bool first = all->measured[1] == 0;
	uint16_t *last = all->last[head->idx.contrast % 8];

	if (to - from == (uint32_t)last[1] - last[0] &&
	    (from == last[0] + 1u || from + 1 == last[0]))
		all->apart = to - from;
	all->measured[0] = first || from > all->measured[0] ? from : all->measured[0];
	all->measured[1] = first || to < all->measured[1] ? to : all->measured[1];
	last[0] = (uint16_t)from;
	last[1] = (uint16_t)to;
}

void bs_readouts_see(struct bs_readouts *all, const struct bs_protocol *p,
		     const struct bs_mrd_acq *head)
{
	const bool silent = head->center_sample == 0;
	const bool beyond = is_beyond(head);

	all->silent = all->silent || silent;
	all->beyond = all->beyond || beyond;
	all->next = all->next || is_next(p, head);
	all->said = all->said || !(silent || beyond);
	if (head->flags & BS_MRD_FILLED)
		see_filled(all, head);
	all->reversed = all->reversed || (head->flags & BS_MRD_IS_REVERSE) != 0;
	all->doubtful = all->doubtful || bs_readout_doubtful(p, head);
	all->calibrates = all->calibrates ||
			  (head->flags & (BS_MRD_IS_CALIBRATION | BS_MRD_IS_CALIBRATION_TOO)) != 0;
}

bool bs_readout_siemens(const struct bs_scan_info *info)
{
	return strncasecmp(info->vendor, "siemens", 7) == 0;
}

bool bs_readouts_untold(const struct bs_readouts *all, const struct bs_protocol *p,
			const struct bs_scan_info *info)
{
	return all->apart > 0 ||
	       (all->doubtful && !bs_plan_has(&p->plan, BS_PLAN_EPI) &&
		p->reversed_center == BS_REVERSED_AUTO && !bs_readout_siemens(info));
}

/* ---- words ---- */

static void put_reversed(struct bs_text *t, const struct bs_protocol *p, bool stored)
{
	const uint32_t place = bs_readout_center(p, true);

	bs_text_put(t,
		    "center_sample of reversed lines is %u: k = 0 is taken at sample %u (%s), not "
		    "%u (%s)",
		    place + 1, stored ? place + 1 : place,
		    stored ? "by MRD's text" : "as Siemens' converter copies it",
		    stored ? place : place + 1,
		    stored ? "as Siemens' converter copies it" : "by MRD's text");
}

const char *bs_readouts_words(char *out, size_t cap, const struct bs_readouts *all,
			      const struct bs_protocol *p, const struct bs_scan_info *info,
			      float epi_shift)
{
	const uint32_t oversampled = bs_readout_oversampled(p, info);
	struct bs_text t = { out, cap, 0, cap == 0 };

	if (cap > 0)
		out[0] = '\0';
	if (all->doubtful && !bs_readouts_untold(all, p, info)) {
		put_reversed(&t, p,
			     bs_plan_has(&p->plan, BS_PLAN_EPI)
				     ? epi_shift >= 0.5f
				     : p->reversed_center == BS_REVERSED_STORED);
		bs_text_put(&t, ", by %s",
			    bs_plan_has(&p->plan, BS_PLAN_EPI) ? "the phase-correction lines"
			    : p->reversed_center != BS_REVERSED_AUTO
				    ? "reversed_center of the protocol"
				    : "systemVendor of the header");
	}
	if (all->beyond || (all->silent && !all->said))
		bs_text_put(&t, "%scenter_sample is %s: k = 0 is taken at sample %u",
			    bs_text_between(&t), all->beyond ? "beyond the lines' end" : "0",
			    bs_readout_center(p, false));
	if (all->next)
		bs_text_put(&t, "%scenter_sample of some lines is %u: k = 0 is taken at sample %u",
			    bs_text_between(&t), bs_readout_center(p, false) + 1,
			    bs_readout_center(p, false));
	if (oversampled > 1)
		bs_text_put(&t,
			    "%sthe samples, not encodedSpace, tell the oversampling of %u: lines "
			    "have %u for %u",
			    bs_text_between(&t), oversampled, p->samples, info->encoded[0]);
	if (!all->calibrates && p->plan.calibrates &&
	    (info->acceleration[0] > 1 || info->acceleration[1] > 1))
		bs_text_put(&t, "%sthe image's own central lines calibrate: none is flagged for it",
			    bs_text_between(&t));
	return out;
}

const char *bs_readouts_untold_words(char *out, size_t cap, const struct bs_readouts *all,
				     const struct bs_protocol *p)
{
	struct bs_text t = { out, cap, 0, cap == 0 };

	if (all->apart > 0) {
		bs_text_put(&t,
			    "center_sample of lines of %u samples differs by one: nothing "
			    "tells which is right",
			    all->apart);
		return out;
	}
	put_reversed(&t, p, false);
	bs_text_put(&t, "; nothing tells which is right but the key reversed_center: \"converter\" "
			"or \"stored\"");
	return out;
}

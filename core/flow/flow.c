/* core/flow/flow.c - see flow.h */
#include "core/flow/flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame/recon.h"
#include "core/plan/scankey.h"
#include "core/text.h"

/* The VENC in cm/s: the header's, else the protocol's; 0: neither gives one. */
static float venc_of(const struct bs_protocol *p, const struct bs_scan_info *info)
{
	const float chosen = (float)bs_scankey_of(info, BS_SCANKEY_VENC);

	if (chosen > 0.0f)
		return chosen;
	return info->venc > 0.0f ? info->venc : (float)p->venc;
}

int bs_flow_admit(const struct bs_protocol *p, const struct bs_scan_info *info, struct bs_fail *why)
{
	if (!bs_plan_has(&p->plan, BS_PLAN_VELOCITY))
		return 0;
	if (info->encodings > 1)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "image.output velocity of protocol '%s' is of one encoding: the "
			       "header has %u",
			       p->name, info->encodings);
	if (info->venc_range[0] != info->venc_range[1])
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "image.output velocity of protocol '%s' takes one VENC: the header "
			       "has VENC_0, VENC_1, ... from %g to %g cm/s",
			       p->name, (double)info->venc_range[0], (double)info->venc_range[1]);
	if (!(venc_of(p, info) > 0.0f))
		return bs_fail(
			why, BS_ERR_CONFIG,
			"image.output velocity of protocol '%s': neither userParameterDouble "
			"VENC_0 of the header nor image.venc says the velocity of a phase of "
			"pi",
			p->name);
	if (info->set.given && info->set.max == info->set.min)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "image.output velocity of protocol '%s': the header has set %u "
			       "alone, a velocity is that of a set n against set 0",
			       p->name, info->set.max);
	if (info->set.given && info->set.min > 0)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "image.output velocity of protocol '%s': the header's sets %u to %u "
			       "are without the reference, set 0",
			       p->name, info->set.min, info->set.max);
	return 0;
}

int bs_flows_arm(struct bs_flows *f, const struct bs_protocol *p, struct bs_fail *why)
{
	f->p = p;
	f->places = bs_protocol_references(p);
	f->place = f->places > 0 ? calloc(f->places, sizeof(*f->place)) : NULL;
	return f->places > 0 && f->place == NULL
		       ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': references", p->name)
		       : 0;
}

void bs_flows_disarm(struct bs_flows *f)
{
	free(f->place);
}

void bs_flows_scan(struct bs_flows *f, const struct bs_protocol *p, const struct bs_scan_info *info)
{
	for (uint32_t i = 0; i < f->places; i++)
		f->place[i].held = false;
	f->closed = false;
	f->venc = venc_of(p, info);
}

/*
 * Returns true if the kept set 0 belongs to the frame: both have all other counters in common.
 * Where averages are summed, the average does not count.
 */
static bool is_of(const struct bs_flows *f, const struct bs_flow_kept *k,
		  const struct bs_mrd_idx *idx)
{
	const struct bs_mrd_idx *own = &k->idx;

	return k->held && own->slice == idx->slice && own->contrast == idx->contrast &&
	       own->phase == idx->phase && own->repetition == idx->repetition &&
	       (bs_plan_has(&f->p->plan, BS_PLAN_AVERAGE) || own->average == idx->average);
}

static const struct bs_flow_kept *find_kept(const struct bs_flows *f, const struct bs_mrd_idx *idx)
{
	for (uint32_t i = 0; i < f->places; i++)
		if (is_of(f, &f->place[i], idx))
			return &f->place[i];
	return NULL;
}

/*
 * Finds a place for another set 0: that of an earlier one of the same frame, an empty one, or the
 * oldest.
 */
static uint32_t place_for(const struct bs_flows *f, const struct bs_mrd_idx *idx)
{
	const struct bs_flow_kept *same = find_kept(f, idx);
	uint32_t best = 0;

	if (same != NULL)
		return (uint32_t)(same - f->place);
	for (uint32_t i = 1; i < f->places && f->place[best].held; i++)
		if (!f->place[i].held || f->place[i].number < f->place[best].number)
			best = i;
	return best;
}

void bs_flows_hold(const struct bs_flows *f, struct bs_opens *o)
{
	const uint32_t all = o->pairs * o->lanes;

	for (uint32_t i = 0; i < all; i++) {
		const struct bs_open *at = &o->at[i];

		if (at->state == BS_OPEN_OVER)
			bs_opens_wait(o, i,
				      at->idx.set != 0 && !at->urged &&
					      find_kept(f, &at->idx) == NULL,
				      false);
	}
	for (uint32_t i = 0; i < all && f->closed && o->over == 0; i++)
		if (o->at[i].state == BS_OPEN_OVER)
			bs_opens_wait(o, i, false, true);
}

void bs_flows_aim(const struct bs_flows *f, const struct bs_mrd_idx *idx,
		  struct bs_recon_image *image)
{
	const struct bs_flow_kept *kept = find_kept(f, idx);
	struct bs_flow *flow = &image->report.flow;

	memset(flow, 0, sizeof(*flow));
	if (image->preview)
		return;
	flow->venc = f->venc;
	if (idx->set == 0)
		flow->keep = 1 + place_for(f, idx);
	else if (kept != NULL)
		flow->against = 1 + (uint32_t)(kept - f->place);
}

void bs_flows_say(const struct bs_flows *f, const struct bs_mrd_idx *idx,
		  struct bs_recon_image *image)
{
	const struct bs_flow *flow = &image->report.flow;
	struct bs_text t = bs_text_behind(image->lacks, sizeof(image->lacks));
	const struct bs_flow_kept *kept;

	if (image->preview || idx->set == 0)
		return;
	if (flow->against == 0) {
		bs_text_put(&t, "%sno velocity but a magnitude: set 0, the reference, did not come",
			    bs_text_between(&t));
		return;
	}
	kept = &f->place[flow->against - 1];
	if (kept->lacks[0] != '\0')
		bs_text_put(&t, "%sof set 0, the reference: %s", bs_text_between(&t), kept->lacks);
	if (kept->last_ns > image->last_ns)
		image->last_ns = kept->last_ns;
}

void bs_flows_made(struct bs_flows *f, const struct bs_mrd_idx *idx, struct bs_recon_image *image)
{
	const struct bs_flow *flow = &image->report.flow;
	struct bs_flow_kept *kept;

	if (flow->against > 0 && f->place[flow->against - 1].cut)
		image->report.deadline_stop = true;
	if (flow->keep == 0)
		return;
	kept = &f->place[flow->keep - 1];
	*kept = (struct bs_flow_kept){ .held = true,
				       .cut = image->report.deadline_stop,
				       .idx = *idx,
				       .number = image->number,
				       .last_ns = image->last_ns };
	if (image->missing > 0 && image->lacks[0] == '\0')
		(void)snprintf(kept->lacks, sizeof(kept->lacks), "%u readouts", image->missing);
	else
		(void)snprintf(kept->lacks, sizeof(kept->lacks), "%.*s",
			       (int)sizeof(kept->lacks) - 1, image->lacks);
}

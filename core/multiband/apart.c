/* core/multiband/apart.c - see apart.h */
#include "core/multiband/apart.h"

#include <string.h>

#include "core/frame/kind.h"

/* The phase of a band from a line to the next: the protocol's, the header's, else 1 / bands. */
static double cycles_of(const struct bs_apart *a, const struct bs_scan_info *info, uint32_t band)
{
	const double shift = a->p->multiband.shift;

	if (shift != 0.0)
		return shift == 1.0 ? 0.0 : band * shift;
	return info->steps && info->places >= a->bands
		       ? (double)info->delta_kz * (double)info->band_mm[band]
		       : (double)band / a->bands;
}

void bs_apart_scan(struct bs_apart *a, const struct bs_protocol *p, const struct bs_scan_info *info)
{
	memset(a, 0, sizeof(*a));
	if (!bs_plan_has(&p->plan, BS_PLAN_APART))
		return;
	a->p = p;
	a->bands = p->multiband.factor;
	a->groups = bs_multiband_groups(&p->multiband, p->slices);
	a->by = p->multiband.references;
	a->embeds = bs_scan_embedded(info);
	a->places = info->places;
	memcpy(a->band_mm, info->band_mm, sizeof(a->band_mm));
	for (uint32_t b = 0; b < a->bands; b++)
		a->cycles[b] = cycles_of(a, info, b);
}

static void see_position(struct bs_apart *a, const struct bs_mrd_acq *head)
{
	const uint32_t slice = head->idx.slice;

	if (slice >= a->p->slices)
		return;
	a->known[slice] = 1;
	memcpy(a->position[slice], head->position, sizeof(a->position[slice]));
}

void bs_apart_reference(struct bs_apart *a, const struct bs_mrd_acq *head)
{
	a->flagged = true;
	if (a->by != BS_REFERENCES_FIRST)
		see_position(a, head);
}

/* Notes that slice s has come in the first repetition: another slice of its group may have, too. */
static void see_slice(struct bs_apart *a, uint32_t slice)
{
	if (slice >= a->p->slices)
		return;
	a->came[slice] = 1;
	for (uint32_t s = slice % a->groups; s < a->p->slices; s += a->groups)
		a->shown = a->shown || (s != slice && a->came[s]);
}

/*
 * Returns true if the line's counters are those of the first line. Averages that are summed tell
 * nothing.
 */
static bool is_first(const struct bs_apart *a, const struct bs_mrd_idx *idx)
{
	return idx->repetition == a->first.repetition && idx->set == a->first.set &&
	       idx->phase == a->first.phase &&
	       (idx->average == a->first.average || a->p->averages > 1);
}

bool bs_apart_embeds(const struct bs_apart *a, const struct bs_mrd_acq *head)
{
	return a->embeds && a->begun &&
	       (a->past[head->idx.slice % a->groups] ||
		(a->by == BS_REFERENCES_FIRST && !is_first(a, &head->idx)));
}

/*
 * Notes a line of a group: the group has no more references, and its lines' places count from here.
 */
static void see_group(struct bs_apart *a, const struct bs_mrd_acq *head)
{
	const uint32_t slice = head->idx.slice;

	a->past[slice % a->groups] = 1;
	if (slice >= a->p->slices || a->began[slice])
		return;
	a->began[slice] = 1;
	memcpy(a->start[slice], head->position, sizeof(a->start[slice]));
}

bool bs_apart_line(struct bs_apart *a, struct bs_mrd_acq *head)
{
	bool folded;

	if (!a->begun) {
		a->begun = true;
		a->first = head->idx;
		if (a->by == BS_REFERENCES_AUTO)
			a->by = a->flagged || !a->p->plan.calibrates ? BS_REFERENCES_FLAGGED
								     : BS_REFERENCES_FIRST;
	}
	a->over = a->over || !is_first(a, &head->idx);
	folded = a->by == BS_REFERENCES_FLAGGED || !is_first(a, &head->idx) ||
		 a->past[head->idx.slice % a->groups];
	if (folded) {
		see_group(a, head);
		head->flags &= ~(BS_MRD_IS_CALIBRATION | BS_MRD_IS_CALIBRATION_TOO);
		head->flags |= BS_MRD_FOLDED;
		return true;
	}
	see_slice(a, head->idx.slice);
	see_position(a, head);
	head->flags |= BS_MRD_IS_CALIBRATION_TOO;
	return false;
}

void bs_apart_band(const struct bs_apart *a, struct bs_mrd_acq *head, uint32_t band)
{
	const uint32_t own = head->idx.slice / a->groups;
	const uint32_t slice = head->idx.slice % a->groups + band * a->groups;

	if (own < a->bands && a->known[slice])
		for (int i = 0; i < 3; i++)
			head->position[i] = a->position[slice][i] +
					    (head->position[i] - a->start[head->idx.slice][i]);
	else if (band < a->places && own < a->places)
		for (int i = 0; i < 3; i++)
			head->position[i] +=
				head->slice_dir[i] * (a->band_mm[band] - a->band_mm[own]);
	head->idx.slice = (uint16_t)slice;
}

void bs_apart_hold(const struct bs_apart *a, struct bs_opens *o)
{
	const bool wait = a->by != BS_REFERENCES_FLAGGED && !a->shown && !a->over;

	for (uint32_t i = 0; i < o->pairs * o->lanes; i++)
		if (o->at[i].state == BS_OPEN_OVER && !o->at[i].urged && o->at[i].waits != wait)
			bs_opens_wait(o, i, wait, false);
}

/* core/multiband/bands.c - see bands.h */
#include "core/multiband/bands.h"

#include <string.h>

#include "core/text.h"

void bs_bands_scan(struct bs_bands *b, const struct bs_protocol *p, const struct bs_scan_info *info)
{
	memset(b, 0, sizeof(*b));
	b->on = p->slices > 1 || info->bands > 1;
	b->told = bs_plan_has(&p->plan, BS_PLAN_APART) ? 0 : info->bands;
	if (info->slice.given && info->slice.max > info->slice.min) {
		b->from = info->slice.min;
		b->to = info->slice.max;
	}
	b->slices = p->slices;
}

/* Ends a repetition; one behind the first is compared with the repetitions before. */
static void end_run(struct bs_bands *b)
{
	if (b->now == b->first)
		return;
	b->other = b->other || (b->of_later != 0 && b->of_now != b->of_later);
	b->of_later = b->of_now;
}

static void begin_run(struct bs_bands *b, uint16_t repetition)
{
	if (b->run++ == 0)
		b->first = repetition;
	b->now = repetition;
	b->of_now = 0;
	b->last = false;
}

void bs_bands_line(struct bs_bands *b, const struct bs_mrd_idx *idx, uint64_t flags)
{
	const uint16_t slice = idx->slice;

	if (slice >= BS_FRAMES_MAX)
		return;
	if (b->run > 0 && idx->repetition != b->now)
		end_run(b);
	if (b->run == 0 || idx->repetition != b->now)
		begin_run(b, idx->repetition);
	if (b->came[slice] != b->run) {
		b->came[slice] = b->run;
		b->of_now++;
		b->astray = b->astray || b->last;
		if (b->run == 1) {
			b->in_first[slice] = 1;
			b->of_first++;
		}
		b->other = b->other || !b->in_first[slice];
	}
	b->last =
		b->last || (flags & (BS_MRD_LAST_IN_REPETITION | BS_MRD_LAST_IN_MEASUREMENT)) != 0;
}

void bs_bands_close(struct bs_bands *b, bool cut)
{
	b->cut = b->closed ? b->cut : cut;
	b->closed = true;
}

/* Number of slices in each later repetition, where an image may hold several; 0: it cannot. */
static uint32_t suspected(const struct bs_bands *b)
{
	const bool over = (b->last && !b->astray) || (b->closed && !b->cut);
	uint32_t n = b->of_later;

	if (n == 0 && over && b->now != b->first)
		n = b->of_now;
	/* the last repetition has more slices than the others */
	if (b->now != b->first && b->of_now > n)
		return 0;
	return !b->other && n > 0 && n < b->of_first && b->of_first % n == 0 ? n : 0;
}

/* Counts promised slices that never came. *first: the first of them. */
static uint32_t absent(const struct bs_bands *b, uint32_t *first)
{
	uint32_t n = 0;

	for (uint32_t s = b->from; b->to > b->from && s <= b->to && s < b->slices; s++)
		if (b->came[s] == 0 && n++ == 0)
			*first = s;
	return n;
}

enum known { NOTHING, TOLD, SUSPECTED, ABSENT };

static enum known known_of(const struct bs_bands *b, uint16_t repetition)
{
	uint32_t first;

	if (b->told > 1)
		return TOLD;
	if (repetition != b->first && suspected(b) > 0)
		return SUSPECTED;
	return b->closed && absent(b, &first) > 0 ? ABSENT : NOTHING;
}

static void put_known(struct bs_text *t, const struct bs_bands *b, enum known known)
{
	const uint32_t n = suspected(b);
	uint32_t first = 0;
	uint32_t count;

	switch (known) {
	case NOTHING:
		break;
	case TOLD:
		bs_text_put(t,
			    "the header says multiband %u, and this protocol does not take slices "
			    "apart",
			    b->told);
		break;
	case SUSPECTED:
		bs_text_put(t,
			    "later repetitions have %u of the first one's %u slices, so that an "
			    "image may hold %u (multiband), which are not taken apart",
			    n, b->of_first, b->of_first / n);
		break;
	case ABSENT:
		count = absent(b, &first);
		bs_text_put(t, "of slices %u to %u, which the header promises, slice %u", b->from,
			    b->to, first);
		if (count > 1)
			bs_text_put(t, " and %u more", count - 1);
		bs_text_put(t, " did not come");
		break;
	}
}

static void extend(struct bs_bands_unsaid *u, uint64_t number)
{
	u->from = u->from == 0 ? number : u->from;
	u->to = number;
}

void bs_bands_image(struct bs_bands *b, uint16_t repetition, uint64_t number)
{
	const enum known known = known_of(b, repetition);

	if (known == NOTHING && repetition != b->first)
		extend(&b->early, number);
	if (!b->closed)
		extend(&b->open, number);
}

bool bs_bands_folded(const struct bs_bands *b)
{
	return b->told > 1 || suspected(b) > 0;
}

void bs_bands_lacks(const struct bs_bands *b, uint16_t repetition, char *out, size_t cap)
{
	struct bs_text t = bs_text_behind(out, cap);
	const enum known known = known_of(b, repetition);

	if (known != NOTHING && t.len > 0)
		bs_text_put(&t, "; ");
	put_known(&t, b, known);
}

const char *bs_bands_words(const struct bs_bands *b, char *out, size_t cap)
{
	struct bs_text t = { out, cap, 0, cap == 0 };
	const bool folded = suspected(b) > 0;
	const struct bs_bands_unsaid *u = folded ? &b->early : &b->open;
	uint32_t first;

	out[0] = '\0';
	if (b->told > 1 || u->from == 0 || (!folded && (!b->closed || absent(b, &first) == 0)))
		return out;
	bs_text_put(&t, u->from == u->to ? "image %llu" : "images %llu to %llu",
		    (unsigned long long)u->from, (unsigned long long)u->to);
	bs_text_put(&t, " left before it was known: ");
	put_known(&t, b, folded ? SUSPECTED : ABSENT);
	return out;
}

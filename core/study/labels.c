/* core/study/labels.c - see labels.h */
#include "core/study/labels.h"

#include <string.h>

#include "core/text.h"

#define LISTED 3u /* names that words list, at most */

static const char *name_of(const struct bs_named *s, uint32_t i)
{
	return s->labels->name[i];
}

/* Returns the label with that name; NONE: there is none. */
#define NONE UINT32_MAX
static uint32_t find_channel(const struct bs_named *s, const char *name, uint32_t channels)
{
	for (uint32_t i = 0; i < channels; i++)
		if (strcmp(name_of(s, i), name) == 0)
			return i;
	return NONE;
}

static void put_scan(struct bs_text *t, const struct bs_named *s, bool own)
{
	bs_text_put(t, own ? "this scan" : "scan");
	if (s->scan[0] != '\0')
		bs_text_put(t, " '%s'", s->scan);
}

/*
 * Returns true if the scan's labels identify its channels one by one; else t gets the reason why
 * not.
 */
static bool tells(const struct bs_named *s, bool own, uint32_t channels, struct bs_text *t)
{
	if (s->labels->count != channels) {
		put_scan(t, s, own);
		bs_text_put(t, " has %u coilLabel for %u channels", s->labels->count, channels);
		return false;
	}
	for (uint32_t i = 0; i < channels; i++) {
		if (name_of(s, i)[0] != '\0' && !s->labels->cut[i] &&
		    find_channel(s, name_of(s, i), channels) == i)
			continue;
		put_scan(t, s, own);
		bs_text_put(t, " has a coilLabel whose name is %s",
			    name_of(s, i)[0] == '\0' ? "empty"
			    : s->labels->cut[i]      ? "longer than 47 bytes"
						     : "another one's, too");
		return false;
	}
	return true;
}
_Static_assert(BS_LABEL_BYTES == 48, "as the words have it");

/* Writes the names that the other scan lacks. */
static void put_names(struct bs_text *t, const struct bs_named *s, const struct bs_named *other,
		      uint32_t channels)
{
	uint32_t n = 0;

	bs_text_put(t, " (");
	for (uint32_t i = 0; i < channels; i++) {
		if (find_channel(other, name_of(s, i), channels) != NONE)
			continue;
		if (n++ < LISTED)
			bs_text_put(t, "%s%s", n > 1 ? ", " : "", name_of(s, i));
	}
	if (n > LISTED)
		bs_text_put(t, " and %u more", n - LISTED);
	bs_text_put(t, ")");
}

/*
 * The channel of each label: by its coilNumber, if these numbers count the channels; else by the
 * label's place.
 */
static void counted(uint8_t at[BS_LABELS_MAX], const struct bs_labels *l, uint32_t channels)
{
	bool seen[BS_LABELS_MAX] = { false };
	uint32_t least = UINT32_MAX;
	bool counts = true;

	for (uint32_t i = 0; i < channels; i++)
		least = l->number[i] < least ? l->number[i] : least;
	for (uint32_t i = 0; i < channels; i++) {
		const uint32_t n = l->number[i] - least;

		counts = counts && n < channels && !seen[n];
		if (counts)
			seen[n] = true;
	}
	for (uint32_t i = 0; i < channels; i++)
		at[i] = (uint8_t)(counts ? l->number[i] - least : i);
}

/* Returns true if both readings of the headers, by place and by coilNumber, match
 * the same channels. */
static bool agrees(const struct bs_match *m, const struct bs_named *earlier,
		   const struct bs_named *own, uint32_t channels)
{
	uint8_t theirs[BS_LABELS_MAX];
	uint8_t mine[BS_LABELS_MAX];

	counted(theirs, earlier->labels, channels);
	counted(mine, own->labels, channels);
	for (uint32_t i = 0; i < channels; i++)
		if (m->of[theirs[i]] != mine[m->of[i]])
			return false;
	return true;
}

static bool match_names(struct bs_match *m, const struct bs_named *earlier,
			const struct bs_named *own, uint32_t channels, struct bs_text *t)
{
	for (uint32_t i = 0; i < channels; i++) {
		const uint32_t at = find_channel(own, name_of(earlier, i), channels);

		if (at == NONE) {
			bs_text_put(t, "channels of ");
			put_scan(t, earlier, false);
			put_names(t, earlier, own, channels);
			bs_text_put(t, " are not those of ");
			put_scan(t, own, true);
			put_names(t, own, earlier, channels);
			return false;
		}
		m->of[i] = (uint8_t)at;
	}
	if (agrees(m, earlier, own, channels))
		return true;
	bs_text_put(
		t,
		"coilNumber and the order of coilLabel contradict each other: which channel of ");
	put_scan(t, earlier, false);
	bs_text_put(t, " is which of ");
	put_scan(t, own, true);
	return false;
}

void bs_match_channels(struct bs_match *m, struct bs_named earlier, struct bs_named own,
		       uint32_t channels)
{
	struct bs_text t = { m->words, sizeof(m->words), 0, false };

	m->words[0] = '\0';
	for (uint32_t i = 0; i < BS_LABELS_MAX; i++)
		m->of[i] = (uint8_t)i;
	m->by = BS_MATCHED_NUMBER;
	if (channels > BS_LABELS_MAX || !tells(&earlier, false, channels, &t) ||
	    !tells(&own, true, channels, &t))
		return;
	m->by = match_names(m, &earlier, &own, channels, &t) ? BS_MATCHED_NAME : BS_MATCHED_NONE;
}

bool bs_match_moves(const struct bs_match *m, uint32_t channels)
{
	for (uint32_t i = 0; i < channels && i < BS_LABELS_MAX; i++)
		if (m->of[i] != i)
			return true;
	return false;
}

/* board/tool/init/turns.c - see turns.h */
#include "board/tool/init/turns.h"

#include <stdlib.h>
#include <string.h>

#include "core/frame/open.h"

#define LANES 512u /* most open frames; no key can ask for more */

int bs_turns_add(struct bs_turns *t, const struct bs_mrd_idx *idx, uint64_t flags, uint32_t row,
		 struct bs_fail *why)
{
	if (t->count == t->room) {
		const uint32_t room = t->room > 0 ? 2 * t->room : 4096;
		struct bs_turn *line = realloc(t->line, room * sizeof(*line));

		if (line == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "no memory for %u readouts", room);
		t->line = line;
		t->room = room;
	}
	t->line[t->count++] = (struct bs_turn){ *idx, flags, row };
	return 0;
}

void bs_turns_free(struct bs_turns *t)
{
	free(t->line);
	*t = (struct bs_turns){ 0 };
}

enum { KEY = 6 };

/* The counters that tell images apart, those of one slice and contrast in a row; then the line. */
struct place {
	uint16_t key[KEY];
	uint32_t row;
};

static struct place place_of(const struct bs_turn *line)
{
	const struct bs_mrd_idx *i = &line->idx;

	return (struct place){
		{ i->slice, i->contrast, i->repetition, i->set, i->phase, i->average }, line->row
	};
}

static int by_key(const struct place *a, const struct place *b)
{
	for (int i = 0; i < KEY; i++)
		if (a->key[i] != b->key[i])
			return a->key[i] < b->key[i] ? -1 : 1;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;
	const int order = by_key(x, y);

	return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

static void most(uint32_t *n, uint32_t value)
{
	*n = value > *n ? value : *n;
}

int bs_turns_frames(const struct bs_turns *t, const struct bs_lines *lines,
		    struct bs_turns_found *found, struct bs_fail *why)
{
	struct place *at = malloc((t->count > 0 ? t->count : 1) * sizeof(*at));
	uint32_t first = 0; /* readouts of the first image of this slice and contrast */

	*found = (struct bs_turns_found){ .alike = true, .phases = 1, .sets = 1, .repetitions = 1 };
	if (at == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for %u readouts", t->count);
	for (uint32_t i = 0; i < t->count; i++) {
		at[i] = place_of(&t->line[i]);
		found->beyond =
			found->beyond || (lines != NULL && !bs_lines_inside(lines, t->line[i].row));
	}
	qsort(at, t->count, sizeof(*at), by_place);
	for (uint32_t from = 0, to; from < t->count; from = to) {
		uint32_t different = 1;

		for (to = from + 1; to < t->count && by_key(&at[from], &at[to]) == 0; to++)
			different += at[to].row != at[to - 1].row;
		first = from > 0 ? first : to - from;
		found->alike = found->alike && to - from == first;
		most(&found->lines, different);
		found->frames++;
	}
	free(at);
	return 0;
}

/* Counts the pair's open frames that differ in one counter, the current one included. of:
 * returns that counter. */
static uint32_t different(const struct bs_opens *o, uint32_t pair, const struct bs_protocol *p,
			  uint64_t (*of)(const struct bs_protocol *p, const struct bs_mrd_idx *idx))
{
	const uint32_t from = pair * o->lanes;
	uint32_t n = 0;

	for (uint32_t i = from; i < from + o->lanes; i++) {
		bool again = o->at[i].state != BS_OPEN_FILLING;

		for (uint32_t j = from; !again && j < i; j++)
			again = o->at[j].state == BS_OPEN_FILLING &&
				of(p, &o->at[j].idx) == of(p, &o->at[i].idx);
		n += !again;
	}
	return n;
}

static uint64_t phase_of(const struct bs_protocol *p, const struct bs_mrd_idx *idx)
{
	(void)p;
	return idx->phase;
}

static uint64_t set_of(const struct bs_protocol *p, const struct bs_mrd_idx *idx)
{
	(void)p;
	return idx->set;
}

static uint64_t repetition_of(const struct bs_protocol *p, const struct bs_mrd_idx *idx)
{
	return (uint64_t)idx->repetition << 16 | (p->averages > 1 ? 0u : idx->average);
}

/* Takes a line. came [frame][row]: averages that came, where they are summed. */
static void take_line(struct bs_opens *o, const struct bs_protocol *p, const struct bs_turn *line,
		      uint8_t *came, struct bs_turns_found *found)
{
	const uint32_t pair = bs_protocol_pair(p, line->idx.slice, line->idx.contrast);
	const uint32_t row = o->lines != NULL ? line->row : 0;
	uint32_t slot = bs_opens_place(o, pair, &line->idx);
	uint32_t over;

	for (; slot == BS_OPEN_NONE; slot = bs_opens_place(o, pair, &line->idx))
		while ((over = bs_opens_over(o)) != BS_OPEN_NONE)
			bs_opens_empty(o, over);
	if (o->at[slot].state == BS_OPEN_EMPTY) {
		bs_opens_begin(o, slot, &line->idx);
		memset(came + (size_t)slot * o->rows, 0, o->rows);
		most(&found->phases, different(o, pair, p, phase_of));
		most(&found->sets, different(o, pair, p, set_of));
		most(&found->repetitions, different(o, pair, p, repetition_of));
	}
	if (o->lines == NULL ||
	    ++came[(size_t)slot * o->rows + row] == (p->averages > 1 ? p->averages : 1))
		bs_opens_row(o, slot, row);
	bs_opens_line(o, slot, line->flags, false);
	while ((over = bs_opens_over(o)) != BS_OPEN_NONE)
		bs_opens_empty(o, over);
}

int bs_turns_count(struct bs_turns *t, const struct bs_protocol *p, const struct bs_scan_info *info,
		   const struct bs_lines *lines, struct bs_turns_found *found, struct bs_fail *why)
{
	const uint32_t rows = lines != NULL ? lines->size[0] * lines->size[1] : 1;
	const uint32_t pairs = p->slices * p->contrasts;
	struct bs_opens o = { 0 };
	uint8_t *came;
	int rc;

	if (pairs == 0 || pairs > BS_FRAMES_MAX)
		return 0;
	const uint32_t room = BS_OPEN_MAX / pairs < LANES ? BS_OPEN_MAX / pairs : LANES;
	const uint32_t lanes = found->frames < room ? found->frames : room;
	came = calloc((size_t)pairs * lanes, rows);
	rc = bs_opens_make(&o, pairs, lanes, rows);
	if (rc == 0 && came != NULL) {
		bs_opens_scan(&o, p, info, lines);
		for (uint32_t i = 0; i < t->count; i++)
			take_line(&o, p, &t->line[i], came, found);
	} else {
		rc = bs_fail(why, BS_ERR_NOMEM, "no memory for %u frames", found->frames);
	}
	bs_opens_free(&o);
	free(came);
	return rc;
}

/* gpu/grappa/neighbors.c - see neighbors.h */
#include "gpu/grappa/neighbors.h"

#include <string.h>

#define NONE UINT16_MAX

static uint64_t lines_of(const struct bs_neighbors *n)
{
	return (uint64_t)n->size[0] * n->size[1];
}

/* Orders a window's lines by their distance, then by their place. */
static void order_lines(struct bs_neighbors *n)
{
	const int ky = (int)n->span[0];
	const int lines = ky * (int)n->span[1];
	int distance[BS_WINDOW_LINES];

	for (int o = 0; o < lines; o++) {
		const int y = o % ky - ky / 2;
		const int z = o / ky - (int)n->span[1] / 2;
		int at = o;

		distance[o] = y * y + z * z;
		for (; at > 0 && distance[n->nearest[at - 1]] > distance[o]; at--)
			n->nearest[at] = n->nearest[at - 1];
		n->nearest[at] = (uint8_t)o;
	}
}

void bs_neighbors_take(struct bs_neighbors *n, struct bs_room *r)
{
	bs_room_take(r, &n->one, "neighborhoods", 1, n->room * sizeof(*n->one));
	bs_room_take(r, &n->missing, "missing lines", 1, lines_of(n) * sizeof(*n->missing));
	bs_room_take(r, &n->of, "neighborhoods of lines", 1, lines_of(n) * sizeof(*n->of));
	order_lines(n);
}

/* Finds the measured lines nearest to a missing one, as bits of the window. */
static uint64_t window_of(const struct bs_neighbors *n, const uint8_t *have, int y, int z)
{
	const int ky = (int)n->span[0];
	const int kz = (int)n->span[1];
	uint64_t window = 0;
	uint32_t sources = 0;

	for (int i = 1; i < ky * kz && sources < n->most; i++) { /* index 0 is the line itself */
		const int o = n->nearest[i];
		const int at[2] = { y + o % ky - ky / 2, z + o / ky - kz / 2 };

		if (at[0] < 0 || at[0] >= (int)n->size[0] || at[1] < 0 ||
		    at[1] >= (int)n->size[1] ||
		    have[(size_t)at[1] * n->size[0] + (size_t)at[0]] != 1)
			continue;
		window |= UINT64_C(1) << o;
		sources++;
	}
	return window;
}

static void begin(const struct bs_neighbors *n, struct bs_neighborhood *p, uint64_t window)
{
	const int ky = (int)n->span[0];
	const int kz = (int)n->span[1];

	memset(p, 0, sizeof(*p));
	p->window = window;
	for (int o = 0; o < ky * kz; o++)
		if (window >> o & 1u) {
			p->dy[p->sources] = (int8_t)(o % ky - ky / 2);
			p->dz[p->sources++] = (int8_t)(o / ky - kz / 2);
		}
}

/*
 * Returns the number of the neighborhood of that window, in the order in which they are met. hint:
 * the number to try first.
 */
static uint32_t place(struct bs_neighbors *n, uint64_t window, uint32_t hint)
{
	if (hint < n->count && n->one[hint].window == window)
		return hint;
	for (uint32_t p = 0; p < n->count; p++)
		if (n->one[p].window == window)
			return p;
	if (n->count == n->room)
		return NONE;
	begin(n, &n->one[n->count], window);
	return n->count++;
}

static void sort_missing(struct bs_neighbors *n)
{
	n->missed = 0;
	for (uint32_t p = 0; p < n->count; p++) {
		n->one[p].first = n->missed;
		n->missed += n->one[p].count;
		n->one[p].count = 0;
	}
	for (uint32_t l = 0; l < lines_of(n); l++)
		if (n->of[l] != NONE) {
			struct bs_neighborhood *p = &n->one[n->of[l]];

			n->missing[p->first + p->count++] = l;
		}
}

int bs_neighbors_find(struct bs_neighbors *n, const uint8_t *have, struct bs_fail *why)
{
	uint32_t p = 0;

	n->count = 0;
	for (uint32_t l = 0; l < lines_of(n); l++) {
		const uint64_t window =
			have[l] ? 0
				: window_of(n, have, (int)(l % n->size[0]), (int)(l / n->size[0]));

		n->of[l] = NONE;
		if (window == 0)
			continue;
		p = place(n, window, p);
		if (p == NONE)
			return bs_fail(why, BS_ERR_SIZE,
				       "the measured lines make more than %u distinct "
				       "neighborhoods",
				       n->room);
		n->of[l] = (uint16_t)p;
		n->one[p].count++;
	}
	sort_missing(n);
	return 0;
}

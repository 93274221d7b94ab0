/*
 * core/frame/echo.h - echoes that no counter tells
 *
 * Of a header with several TE whose contrasts are one, some senders say contrast 0 of every echo,
 * and send the echoes of a line one after the other: of lines in a row with equal counters the
 * first is contrast 0, the next one 1, ... The first two lines of a scan tell whether it is so.
 * Pure but for the state that is given; any thread. Test: test/unit/core/frame/test_echo.c
 */
#ifndef BS_CORE_FRAME_ECHO_H
#define BS_CORE_FRAME_ECHO_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/mrd.h"

struct bs_echo {
	enum { BS_ECHO_NONE, BS_ECHO_FIRST, BS_ECHO_BY_ORDER, BS_ECHO_BY_COUNTER } state;
	struct bs_mrd_idx last; /* of the line before */
	uint16_t contrast;      /* its */
};

/* So many contrasts may lie in lines that say 0. */
static inline bool bs_echo_untold(const struct bs_scan_info *info, uint32_t contrasts)
{
	return contrasts > 1 && contrasts <= info->echoes &&
	       (!info->contrast.given || info->contrast.max == 0);
}

static inline void bs_echo_scan(struct bs_echo *e, const struct bs_scan_info *info,
				uint32_t contrasts)
{
	e->state = bs_echo_untold(info, contrasts) ? BS_ECHO_NONE : BS_ECHO_BY_COUNTER;
}

/* Counters that tell lines apart are those of the line before. */
static inline bool bs_echo_same(const struct bs_echo *e, const struct bs_mrd_idx *idx)
{
	return memcmp(idx, &e->last, 8 * sizeof(uint16_t)) == 0;
}
_Static_assert(offsetof(struct bs_mrd_idx, set) == 7 * sizeof(uint16_t), "all but segment, user");

/* A line comes. The first two decide: they are two echoes of one line, or two lines. */
static inline void bs_echo_decide(struct bs_echo *e, const struct bs_mrd_idx *idx)
{
	if (e->state <= BS_ECHO_FIRST && idx->contrast > 0)
		e->state = BS_ECHO_BY_COUNTER;
	if (e->state == BS_ECHO_FIRST)
		e->state = bs_echo_same(e, idx) ? BS_ECHO_BY_ORDER : BS_ECHO_BY_COUNTER;
}

/* Its contrast, of so many. */
static inline uint16_t bs_echo_next(const struct bs_echo *e, const struct bs_mrd_idx *idx,
				    uint32_t contrasts)
{
	return e->state == BS_ECHO_BY_ORDER && bs_echo_same(e, idx)
		       ? (uint16_t)((e->contrast + 1u) % contrasts)
		       : idx->contrast;
}

/* The line before it had more or fewer echoes: which one each of them was is not known. */
static inline bool bs_echo_breaks(const struct bs_echo *e, const struct bs_mrd_idx *idx,
				  uint32_t contrasts)
{
	return e->state == BS_ECHO_BY_ORDER && e->contrast + 1u != contrasts &&
	       (idx == NULL || !bs_echo_same(e, idx));
}

static inline void bs_echo_came(struct bs_echo *e, const struct bs_mrd_idx *idx, uint16_t contrast)
{
	e->state = e->state == BS_ECHO_NONE ? BS_ECHO_FIRST : e->state;
	e->last = *idx;
	e->contrast = contrast;
}

#endif

/*
 * core/solve/solved.h - how far the solves of a scan's frames went, where time decided it
 *
 * With budget.on_miss shed an image depends on when it was made: the ladder stood on some rung, or
 * the deadline stopped its solve. One word a frame says what came of that. A frame that has its
 * word is made by it, whatever the time, and its image has the same bytes. Frames are numbered from
 * 0 in the order in which they begin, which the readouts alone decide. Of frames beyond
 * BS_SOLVED_MAX nothing is kept.
 * The reconstruction writes a word when its image is made; in the service emit files it before the
 * image leaves (drivers/log/solved.h). Words are single stores: a successor may read them at any
 * moment. Tests: test/unit/core/frame/test_again.c, test/replay/again.sh
 */
#ifndef BS_CORE_SOLVE_SOLVED_H
#define BS_CORE_SOLVE_SOLVED_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define BS_SOLVED_MAX  65536u
#define BS_SOLVED_MOST 0xffffffu /* largest number of iterations in a word */

/* Bits of a word; 8 to 31: most iterations (0: the scan's own), 32 to 55: those that align W. */
enum bs_solved_bit {
	BS_SOLVED_MADE = 1,
	BS_SOLVED_GRIDDED = 2,
	BS_SOLVED_QUADRATIC = 4,
	BS_SOLVED_STOPPED = 8, /* the deadline stopped the solve */
	BS_SOLVED_FILED = 16   /* emit's: the word is in the scan's file */
};

struct bs_solved {
	_Atomic uint32_t used; /* words beyond are 0 */
	_Atomic uint64_t word[BS_SOLVED_MAX];
};

static inline uint32_t bs_solved_most(uint64_t word)
{
	return (uint32_t)(word >> 8) & BS_SOLVED_MOST;
}

static inline uint32_t bs_solved_first(uint64_t word)
{
	return (uint32_t)(word >> 32) & BS_SOLVED_MOST;
}

/* Returns a frame's word; 0: it has none. */
static inline uint64_t bs_solved_of(const struct bs_solved *s, uint64_t frame)
{
	return s != NULL && frame < BS_SOLVED_MAX ? atomic_load(&s->word[frame]) : 0;
}

static inline void bs_solved_put(struct bs_solved *s, uint64_t frame, uint64_t word)
{
	if (frame >= BS_SOLVED_MAX)
		return;
	if (frame >= atomic_load(&s->used))
		atomic_store(&s->used, (uint32_t)frame + 1);
	atomic_store(&s->word[frame], word);
}

static inline void bs_solved_clear(struct bs_solved *s)
{
	for (uint32_t i = atomic_load(&s->used); i-- > 0;)
		atomic_store(&s->word[i], 0);
	atomic_store(&s->used, 0);
}

#endif

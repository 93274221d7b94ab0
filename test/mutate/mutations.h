/*
 * test/mutate/mutations.h - what origins do to a scan, by the numbers of CONSOLE.md's section 8
 *
 * A letter behind a number is one of the values of that row. A mutation changes the plan before the
 * scan is made, or the scan afterwards, or both; two of them are done one after the other.
 */
#ifndef BS_TEST_MUTATE_MUTATIONS_H
#define BS_TEST_MUTATE_MUTATIONS_H

#include "test/mutate/scan.h"

/* What the table asks for: the right image; that or words; a refusal in words, or partial. */
enum asked { TAKE, MIND, REFUSE };

struct mutation {
	const char *row; /* number and letter */
	enum asked asked;
	const char *bases; /* letters of those that it can be done to */
	const char *name;
	void (*plan)(struct plan *p);
	void (*scan)(struct scan *s);
};

struct base {
	char letter;
	const char *name;
	struct plan plan;
};

extern const struct base bases[];
extern const unsigned base_count;
/* Tables by theme, ended by a row of NULL. */
extern const struct mutation header_mutations[], limit_mutations[], line_mutations[],
	order_mutations[], other_mutations[];

/* What is known to be answered otherwise, and why; printed as skipped. Ended by a row of NULL. */
struct not_yet {
	const char *row, *bases, *why;
};
extern const struct not_yet not_yet_right[];

#define EACH_IMAGING(s, l)                                                                         \
	for (struct line *l = (s)->lines; l < (s)->lines + (s)->count; l++)                        \
		if (l->role == ROLE_IMAGE || l->role == ROLE_CALIBRATION)

#endif

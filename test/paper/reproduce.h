/*
 * test/paper/reproduce.h - the papers' experiments, measured here, beside the papers' own figures
 *
 * Each experiment writes its part of the report (Markdown), its pictures, and one line
 * "name value" for each figure into figures.txt, which tests read. small: sizes for a test run.
 * Sources: Stone, Haldar, Tsao, Hwu, Sutton, Liang, J Parallel Distrib Comput 2008;68:1307-1318;
 * Stone, Yi, Hwu, Haldar, Sutton, Liang, How GPUs Can Improve the Quality of Magnetic Resonance
 * Imaging, GPGPU 2007. Test: test/unit/paper/reproduce.sh
 */
#ifndef BS_TEST_PAPER_REPRODUCE_H
#define BS_TEST_PAPER_REPRODUCE_H

#include <stdbool.h>
#include <stdio.h>

#include "core/err.h"
#include "core/thread/team.h"

/* What a piece of work took: on the wall, and the processor time of all threads over their number,
 * which is what it takes at best on a machine with nothing else to do. */
struct bs_took {
	double wall_s, busy_s;
};

struct bs_reproduce {
	FILE *md, *figures;
	const char *dir;
	bool small;
	struct bs_team *team;
};

int bs_reproduce_2008(struct bs_reproduce *r, struct bs_fail *why);
int bs_reproduce_2007(struct bs_reproduce *r, struct bs_fail *why);
int bs_reproduce_echoes(struct bs_reproduce *r, struct bs_fail *why);

/* A line of figures.txt. */
void bs_reproduce_figure(struct bs_reproduce *r, const char *name, double value);
/* "DIR/NAME"; false when it does not fit. */
bool bs_reproduce_path(const struct bs_reproduce *r, char *out, size_t size, const char *name);
struct bs_took bs_reproduce_now(const struct bs_reproduce *r);
struct bs_took bs_reproduce_since(const struct bs_reproduce *r, struct bs_took start);
/* Says on a terminal what takes a while. */
void bs_reproduce_say(const struct bs_reproduce *r, const char *what);

#endif

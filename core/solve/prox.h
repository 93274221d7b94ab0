/*
 * core/solve/prox.h - least squares with a prior: the minimum of 1/2 x^H A x - Re b^H x + P(x)
 *
 * A (Hermitian, positive semidefinite) and the penalty P are functions. With b = F^H d and
 * A = F^H F this is 1/2 ||F x - d||^2 + P(x) without the constant 1/2 ||d||^2. Quadratic terms
 * belong into A. Vectors have size complex float values.
 * Monotone FISTA with restart: one application of A and one proximal step an iteration. The
 * objective never rises, whatever the proximal step's error; x is always the result of such a step
 * (sparse, of low rank), so that a solve may end after any of them. It ends after `iterations`;
 * when two iterations in succession lower the objective by at most `tolerance` of its gain over
 * x = 0, or when nothing more can be gained in float; or when another iteration would not end
 * before `deadline_ns`, expected to last as long as the longest of this solve and the last. One
 * iteration is always made. A penalty that changes from one iteration to the next has no one
 * objective: each iteration is accepted then, and what is reported is told by the last one's.
 *
 * need -> plan -> { power | solve }* -> close. power and solve allocate nothing. Sums are in
 * double, in blocks of fixed size added in a fixed order: the same bytes for any number of threads,
 * and for equal numbers of iterations. One caller. Test: test/unit/core/test_prox.c
 * Sources: Beck & Teboulle, SIAM J Imaging Sci 2009;2:183-202; IEEE Trans Image Process
 * 2009;18:2419-2434 (monotone); O'Donoghue & Candes, Found Comput Math 2015;15:715-732 (restart).
 */
#ifndef BS_CORE_SOLVE_PROX_H
#define BS_CORE_SOLVE_PROX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/thread/team.h"

BS_C_BEGIN

#define BS_PROX_POWER_STEPS  60u  /* applications of A that find its largest eigenvalue well */
#define BS_PROX_POWER_MARGIN 1.02 /* factor on what they find */

struct bs_prox_spec {
	uint64_t size;       /* complex values of a vector */
	uint32_t iterations; /* most iterations of any solve */
};

struct bs_penalty {
	void *self;
	/* Returns P(x). */
	double (*value)(void *self, const float *x);
	/*
	 * Replaces x by the z that has the least 1/2 ||z - x||^2 + step P(z), and returns P(z).
	 * iteration counts from 0 in each solve, and starts what the penalty remembers anew.
	 */
	double (*prox)(void *self, double step, uint32_t iteration, float *x);
	/* Makes prox more exact for the rest of the solve; false: it is as exact as it gets. */
	bool (*refine)(void *self); /* NULL: prox is exact */
	bool changes;               /* P changes from one iteration to the next */
};

struct bs_prox_system {
	void *self;
	/* out = A in; in and out differ */
	void (*apply)(void *self, const float *in, float *out);
	double largest; /* at least A's largest eigenvalue */
	const struct bs_penalty *penalty;
};

struct bs_prox_stop {
	uint32_t iterations;
	/* relative gain that stops a solve; 0: iterations, deadline and rounding alone stop it */
	double tolerance;
	/* end of the time for the solve, by bs_now_ns's clock; INT64_MAX: none */
	int64_t deadline_ns;
	bool warm; /* the solve starts from the x that is given, else from 0 */
};

enum bs_prox_reason {
	BS_PROX_ITERATIONS, /* all iterations were made */
	BS_PROX_TOLERANCE,  /* the objective did not fall any more */
	BS_PROX_DEADLINE    /* the next iteration would not have fitted */
};

struct bs_prox_result {
	uint32_t iterations; /* iterations that were made */
	double objective;    /* objective after them, less 1/2 ||d||^2 */
	enum bs_prox_reason reason;
	/* [0 .. iterations] objectives; valid until the next solve */
	const double *history;
};

struct bs_prox;

int bs_prox_need(const struct bs_prox_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_prox_plan(struct bs_prox **plan, const struct bs_prox_spec *spec, struct bs_arena *arena,
		 struct bs_team *team, struct bs_fail *why);
void bs_prox_close(struct bs_prox *plan);

/*
 * Returns A's largest eigenvalue, by power iteration from a fixed start, times the margin above.
 * The penalty may be NULL. Should it be too small, a solve finds out and halves its step.
 */
double bs_prox_power(struct bs_prox *plan, const struct bs_prox_system *system, uint32_t steps);
void bs_prox_solve(struct bs_prox *plan, const struct bs_prox_system *system, const float *b,
		   float *x, const struct bs_prox_stop *stop, struct bs_prox_result *result);
/* Returns a reason in words: "iterations", "tolerance", "deadline". */
const char *bs_prox_reason_words(enum bs_prox_reason reason);

BS_C_END
#endif

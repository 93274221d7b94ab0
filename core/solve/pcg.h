/*
 * core/solve/pcg.h - preconditioned conjugate gradients for A x = b, A Hermitian, semidefinite
 *
 * Starts from x = 0. A (positive semidefinite) and the preconditioner are functions. Vectors have
 * size complex float values. Stops after `iterations`; when the relative residual ||b - A x|| /
 * ||b|| (2-norm) is at most `tolerance` by the recurrence; or when the next iteration and one more
 * application of A would not end before `deadline_ns`, each expected to last as long as the longest
 * iteration of this solve and the last. One iteration is always made, so that even a deadline in
 * the past leaves an image.
 * It also stops where the recurrence falls to 6e-8, whatever the tolerance, or where p^H A p is not
 * positive: float vectors get no closer.
 * The residual reported is that of the x handed back, not the recurrence's: A is applied once more
 * after the last iteration. Round-off can leave it above the tolerance.
 *
 * need -> plan -> solve* -> close. solve allocates nothing. Dot products are in double, in blocks
 * of fixed size added in a fixed order: the same bytes for any number of threads. One caller.
 * Sources: Hestenes & Stiefel, J Res Natl Bur Stand 1952;49:409-436; Saad, Iterative Methods for
 * Sparse Linear Systems, 2nd ed., algorithm 9.1. Test: test/unit/core/test_pcg.c
 */
#ifndef BS_CORE_SOLVE_PCG_H
#define BS_CORE_SOLVE_PCG_H

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/thread/team.h"

BS_C_BEGIN

/*
 * Half an ulp of float, relative: below it the recurrence no longer gives the residual of float
 * vectors.
 */
#define BS_PCG_ROUND_OFF 0x1p-24

struct bs_pcg_spec {
	uint64_t size;       /* complex values of a vector */
	uint32_t iterations; /* most iterations of any solve */
	bool precond;        /* a preconditioner will be given */
};

struct bs_pcg_system {
	void *self;
	/* out = A in; in and out differ */
	void (*apply)(void *self, const float *in, float *out);
	/* Computes out = M^-1 in, with M Hermitian positive definite; NULL: no preconditioner. */
	void (*precond)(void *self, const float *in, float *out);
};

struct bs_pcg_stop {
	uint32_t iterations;
	/* residual at which a solve stops; 0: only iterations and deadline stop it */
	double tolerance;
	/* end of the time for the solve, by bs_now_ns's clock; INT64_MAX: none */
	int64_t deadline_ns;
};

struct bs_pcg_result {
	uint32_t iterations; /* iterations that were made */
	double residual;     /* residual after the last iteration, ||b - A x|| / ||b|| */
	bool deadline_stop;
	/*
	 * [0 .. iterations] residuals by the recurrence; the last one is `residual`. Valid until
	 * the next solve.
	 */
	const double *history;
};

struct bs_pcg;

int bs_pcg_need(const struct bs_pcg_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_pcg_plan(struct bs_pcg **plan, const struct bs_pcg_spec *spec, struct bs_arena *arena,
		struct bs_team *team, struct bs_fail *why);
void bs_pcg_close(struct bs_pcg *plan);

void bs_pcg_solve(struct bs_pcg *plan, const struct bs_pcg_system *system, const float *b, float *x,
		  const struct bs_pcg_stop *stop, struct bs_pcg_result *result);

BS_C_END
#endif

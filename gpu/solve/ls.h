/*
 * gpu/solve/ls.h - regularized least squares: the system and its solution
 *
 * (F^H F + mu R) rho = F^H d,  mu = lambda Nvox,  R = W^H W (1 without W) + l2/lambda;
 * with sensitivities F^H F is sum_c S_c^H F^H F S_c and F^H d is sum_c S_c^H F^H d_c. Two images
 * with maps each (soft SENSE) explain what coils measure by their sum: S_c is a row of two, rho and
 * R have one of each. They have no preconditioner.
 * Nvox is the number of voxels: F^H F of a fully sampled grid is Nvox times the identity, so lambda
 * means the same for every matrix size; BART's pics -r has the same scale (its Fourier transform is
 * unitary).
 *
 * need -> plan -> { solve | apply }* -> close. q as in gpu/toeplitz/q.h (only plan reads it); maps
 * and w are the caller's and must live as long. Beside the arena plan allocates one vector, as long
 * as W has rows, and a number a set. use, solve and apply allocate nothing. One caller.
 * Preconditioners: Jacobi (the diagonal); circulant (T. Chan's optimal circulant approximation of
 * the Toeplitz part, times the mean of sum_c |S_c|^2, plus mu times the mean of R's diagonal).
 * Twins: ls.c (host), ls.cu with pcg.cu (CUDA).
 * Tests: test/unit/gpu/test_ls.c, test/replay/recordings.sh
 * Sources: Stone et al., J Parallel Distrib Comput 2008;68:1307-1318; Pruessmann et al., Magn Reson
 * Med 2001;46:638-651; T. Chan, SIAM J Sci Stat Comput 1988;9:766-771.
 */
#ifndef BS_GPU_SOLVE_LS_H
#define BS_GPU_SOLVE_LS_H

#include "core/engine.h"
#include "core/solve/csr.h"
#include "core/solve/pcg.h"
#include "core/protocol.h"

BS_C_BEGIN

struct bs_ls_spec {
	uint32_t dims;      /* number of dimensions, 2 or 3 */
	uint32_t matrix[3]; /* voxels of each axis; 1 beyond dims */
	/* number of coils of the sensitivities; 0: no sensitivities, one image at a time */
	uint32_t coils;
	/* number of sets of sensitivities, one of them in use at a time; 0: one */
	uint32_t sets;
	/* number of images solved for together, each with its own maps in a set; 0: one */
	uint32_t images;
	enum bs_precond precond;
	uint32_t iterations; /* most iterations of any solve */
	double lambda;
	double l2;  /* weight of the identity beside R, on the scale of lambda */
	bool given; /* F^H F is not made from Q: bs_ls_given gives it */
};

struct bs_ls;

int bs_ls_need(const struct bs_ls_spec *spec, struct bs_need *need, struct bs_fail *why);
/* maps [set][image][coil][z][y][x] complex; NULL without coils. w NULL: R is the identity. */
int bs_ls_plan(struct bs_ls **plan, const struct bs_ls_spec *spec, const float *q,
	       const float *maps, const struct bs_csr *w, const struct bs_arm_env *env,
	       struct bs_fail *why);
void bs_ls_close(struct bs_ls *plan);
/* Selects the set of sensitivities for the following solves; at first set 0. */
void bs_ls_use(struct bs_ls *plan, uint32_t set);
/* Tells the plan that the sensitivities of this set have changed. */
void bs_ls_changed(struct bs_ls *plan, uint32_t set);
/*
 * Gives, with spec.given, the function for out = sum_c conj(S_c) F^H F S_c in; maps are those of
 * the set in use. plan then reads only q's first value, the sum of the weights, and the circulant
 * preconditioner is not available.
 */
void bs_ls_given(struct bs_ls *plan,
		 void (*normal)(void *self, const float *maps, const float *in, float *out),
		 void *self);
/*
 * Sets, with spec.given, another sum of the weights. Call bs_ls_changed afterwards for each set
 * that is solved.
 */
void bs_ls_weights(struct bs_ls *plan, double sum);
/* Returns the mean of the diagonal of F^H F, with the set in use. */
double bs_ls_level(const struct bs_ls *plan);
/* Sets lambda for the following solves. */
void bs_ls_lambda(struct bs_ls *plan, double lambda);
/*
 * Solves from now on with W, whose values may have changed, or with l2 alone in its place: lambda
 * where l2 is 0.
 */
void bs_ls_hold(struct bs_ls *plan, bool hold);

/*
 * Returns the right-hand side of fhd, sum_c S_c^H of the coils', or fhd without sensitivities:
 * valid until the next call. solve does so by itself.
 */
const float *bs_ls_begin(struct bs_ls *plan, const float *fhd);
/* Solves. fhd: F^H d, with sensitivities [coil][z][y][x], else one image. rho: the images. */
void bs_ls_solve(struct bs_ls *plan, const float *fhd, float *rho, const struct bs_pcg_stop *stop,
		 struct bs_pcg_result *result);
/* Computes out = (F^H F + mu R) in. */
void bs_ls_apply(struct bs_ls *plan, const float *in, float *out);
/* Computes out = sum_c conj(S_c) in_c, in the order of coils. */
void bs_ls_combine(struct bs_ls *plan, const float *in, float *out);

BS_C_END
#endif

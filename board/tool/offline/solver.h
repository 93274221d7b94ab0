/*
 * board/tool/offline/solver.h - least squares outside of the service, to choose parameters and
 * experiment
 *
 * The operators of a protocol of method ls or sense over its tables, as the engine would arm them:
 * F^H d and Q by the routes that the protocol names, the conjugate gradients of gpu/solve/ls.h. For
 * ls one coil stands for all. open -> { fhd | solve | gram }* -> close; only open allocates. One
 * thread. Tests: test/unit/board/tool/tune.sh, test/unit/paper/reproduce.sh
 */
#ifndef BS_BOARD_TOOL_OFFLINE_SOLVER_H
#define BS_BOARD_TOOL_OFFLINE_SOLVER_H

#include "gpu/encode/encode.h"
#include "gpu/solve/ls.h"

struct bs_solver {
	const struct bs_protocol *p;
	const float *maps;
	float *spread;  /* [coil][z][y][x] for solve_image, with method sense */
	uint32_t coils; /* number of images that fhd makes: 1 with method ls */
	size_t voxels, samples;
	struct bs_arena arena[2];
	struct bs_encoder encoder;
	struct bs_ls *ls;
	double q_s; /* seconds that Q took */
};

/* Opens a solver. tables: trajectory, weight (or NULL), maps (sense), w; they must outlive it. */
int bs_solver_open(struct bs_solver *s, const struct bs_protocol *p, const struct bs_tables *tables,
		   struct bs_team *team, struct bs_fail *why);
void bs_solver_close(struct bs_solver *s);

/* Computes F^H d: data [coil][sample] to image [coil][z][y][x]. */
void bs_solver_fhd(struct bs_solver *s, const float *data, float *image);
/* Solves for one image from fhd [coil][z][y][x]. */
void bs_solver_solve(struct bs_solver *s, double lambda, const float *fhd, float *rho,
		     struct bs_pcg_result *result);
/*
 * Solves from the right-hand side itself, one image [z][y][x] as gram makes it: zero where no coil
 * sees.
 */
void bs_solver_solve_image(struct bs_solver *s, double lambda, const float *rhs, float *rho,
			   struct bs_pcg_result *result);
/* Computes out = F^H F in, summed over coils: what the scan makes of an image. */
void bs_solver_gram(struct bs_solver *s, const float *in, float *out);

#endif

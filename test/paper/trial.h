/*
 * test/paper/trial.h - an experiment on the phantom in memory: true images, data, reconstructions,
 * errors
 *
 * The data are the closed form (core/tool/phantom/phantom.h) on the protocol's trajectory, one
 * coil, contrast by contrast; the true images are means over voxels, as `boreside phantom` writes
 * them. Noise is complex Gaussian and white, its size as in drivers/tool/phantom/phantom.h (snr of
 * contrast 0). Gridded images are the density-compensated adjoint (gpu/nufft/density.h,
 * gpu/nufft/nufft.h). open allocates. One thread. Test: test/unit/paper/reproduce.sh
 */
#ifndef BS_BOARD_OFFLINE_TRIAL_H
#define BS_BOARD_OFFLINE_TRIAL_H

#include "board/tool/offline/solver.h"
#include "core/tool/compare.h"
#include "core/tool/phantom/phantom.h"

struct bs_trial {
	struct bs_protocol p;
	struct bs_traj traj;
	struct bs_team *team;
	size_t voxels, samples;
	float *truth[BS_PHANTOM_CONTRASTS]; /* [z][y][x] complex */
	float *data[BS_PHANTOM_CONTRASTS];  /* [readout][sample] complex, without noise */
	double energy;                      /* of truth[0] */
	float *weight;                      /* of gridding */
	struct bs_nufft *nufft;             /* with these weights */
	struct bs_arena arena;
};

/* What the experiments have in common: least squares in 3D, one coil, an accuracy of 1e-5, gridding
 * with weights after Pipe and Menon; Q and F^H d by the NUFFT. */
struct bs_protocol bs_trial_protocol(const char *name, uint32_t contrasts, uint32_t iterations);
/* p: sizes, trajectory, contrasts, density, accuracy; copied. */
int bs_trial_open(struct bs_trial *t, const struct bs_protocol *p, struct bs_team *team,
		  struct bs_fail *why);
void bs_trial_close(struct bs_trial *t);

/* A zeroed array of complex values, or NULL with the reason. */
float *bs_trial_take(size_t values, struct bs_fail *why);
/* out = data of a contrast + sigma x noise of the seed; data NULL: the noise alone. */
void bs_trial_noisy(const struct bs_trial *t, const float *data, double sigma, uint64_t seed,
		    float *out);
void bs_trial_grid(struct bs_trial *t, const float *data, float *image);
/*
 * Percent error and PSNR of an image against a true one: unscaled, and after the scale that is best
 * for it. A NaN in the image comes out as NaN.
 */
struct bs_comparison bs_trial_error(const struct bs_trial *t, const float *image,
				    const float *truth);
/* out = the true image of contrast 0 without its frequencies beyond reach (below 0.5) on an axis */
void bs_trial_cut(const struct bs_trial *t, double reach, float *out);
/* The noise at which the gridded image of contrast 0 has this percent error, scaled. */
int bs_trial_noise_for(struct bs_trial *t, double percent, uint64_t seed, double *sigma,
		       struct bs_fail *why);
/* Plane z of each image side by side, magnitudes, white at top. */
int bs_trial_picture(const struct bs_trial *t, const char *path, const char *title,
		     const float *const *images, uint32_t count, uint32_t z, double top,
		     struct bs_fail *why);

#endif

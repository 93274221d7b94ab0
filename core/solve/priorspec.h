/*
 * core/solve/priorspec.h - what a protocol's solver expects of images: key group solve
 *
 * Plain data of struct bs_protocol. The priors themselves: gpu/penalty/penalty.h.
 */
#ifndef BS_CORE_SOLVE_PRIORSPEC_H
#define BS_CORE_SOLVE_PRIORSPEC_H

#include <stdbool.h>
#include <stdint.h>

enum bs_prior {
	BS_PRIOR_NONE,
	BS_PRIOR_WAVELET,
	BS_PRIOR_TV,
	BS_PRIOR_TV_FRAMES,
	BS_PRIOR_TV_CYCLE,
	BS_PRIOR_LOW_RANK,
	BS_PRIOR_W,
	BS_PRIORS
};
extern const char *const bs_prior_names[BS_PRIORS + 1]; /* words of solve.prior, and NULL */

/* Where a solve starts. */
enum bs_start { BS_START_ZERO, BS_START_LAST };

/* Most frames or voxels of a block, whichever are fewer, that a GPU's low_rank takes. */
#define BS_PRIOR_SHORTER_MAX 48u

/* Share of the last image that solve.damp draws an image to. */
#define BS_DAMP_KEEP 0.9

/* The prior of ls, sense, and cartesian with parallel sense; key group solve. */
struct bs_prior_keys {
	enum bs_prior kind;
	double lambda; /* weight in the image's unit; 0: by the noise */
	double noise;  /* weight in the noise's standard deviation; 0: by lambda */
	uint32_t block;
	bool shifts;
	enum bs_start start;
	double damp; /* weight of the squared difference from BS_DAMP_KEEP times the last image */
};

#endif

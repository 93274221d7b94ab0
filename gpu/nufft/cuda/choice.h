/*
 * gpu/nufft/cuda/choice.h - what the CUDA gridding chooses and tabulates on the host
 *
 * The error rule is the host twin's (window.h). The costs differ, so window and grid often differ
 * from the host's. On the stack route the gridding is two-dimensional with channels = coils x
 * partitions. choose depends on the specification alone. positions: in-plane positions of a stack;
 * 0: the samples themselves are gridded.
 * Only gpu/nufft uses this. Test: test/twin/nufft/twin_nufft_choices.c
 */
#ifndef BS_GPU_NUFFT_CUDA_CHOICE_H
#define BS_GPU_NUFFT_CUDA_CHOICE_H

#include "gpu/nufft/nufft.h"
#include "gpu/nufft/cuda/sectors.h"

BS_C_BEGIN

/* narrowest window of the kernels, cells; a narrower window is padded with zeros */
#define BS_KERNEL_TAPS_MIN 4u
#define BS_KERNEL_TAPS_MAX 8u
#define BS_KERNEL_TERMS    9
/* number of polynomial terms that a kernel for this many taps evaluates */
#define BS_KERNEL_TERMS_OF(taps) ((taps) <= 5 ? 7 : (taps) == 6 ? 8 : 9)

/*
 * The window on each axis: its value in cell j is a polynomial in u = 2 offset - 1, highest power
 * first. Where u is beyond cut, cell `last` lies outside the window.
 */
struct bs_kernel_window {
	float c[3][BS_KERNEL_TERMS][BS_KERNEL_TAPS_MAX];
	float cut;
	uint32_t last; /* index of the last cell of the window */
};

/* The layout of the kernels' blocks. The same plan can be run with another layout. */
struct bs_nufft_launch {
	uint32_t cols;  /* most lines of a block; 0: chosen by the number of lines */
	uint32_t parts; /* threads that share a sample of the forward transform: 4 or 1 */
	bool registers; /* lines of known lengths are transformed in registers */
	bool close[2];  /* [adjoint, forward]: kernels may start while the one before them ends */
};

struct bs_nufft_choice {
	struct bs_sectors_spec sectors;
	uint32_t matrix[3];
	uint32_t taps;         /* taps of the kernel, 4 to 8 */
	uint32_t padded_cells; /* cells in a padded sector */
	uint32_t planes;       /* partitions of a stack; else 1 */
	/*
	 * coils that share the scratch in one turn; number of turns. The last turn may have fewer
	 * coils.
	 */
	uint32_t turn, turns;
	/* channels of a turn, and how they are gridded: `groups` times `lanes` channels */
	uint32_t channels, lanes, groups;
	bool mixed; /* samples are first laid out with the channels of a turn side by side */
	bool sums;  /* coils take turns, and chunks add up in images, not on grids */
	uint64_t points, chunk, chunks;
	uint64_t tasks;  /* most tasks of a chunk */
	bool collect;    /* 3D: cells collect their samples; there are no padded sectors */
	bool direct;     /* 2D, one coil, few samples: cells collect their samples (direct.cu) */
	bool may_direct; /* direct is possible, whatever the number of samples */
	bool fold;       /* 2D: the last block of a sector adds up the sector's copies */
	/* a sector with more copies than this has them added up by a kernel of its own */
	uint32_t crowd;
	struct bs_nufft_launch launch;
};

/*
 * Chooses all of *c. Fields of spec.tune that are set decide; BS_ERR_UNSUPPORTED where they cannot
 * be met.
 */
int bs_nufft_choose(struct bs_nufft_choice *c, const struct bs_nufft_spec *spec, bool stack,
		    uint64_t positions, struct bs_fail *why);
/* Returns the accuracy of a CUDA plan, as bs_nufft_accuracy does for the host. */
double bs_nufft_cuda_accuracy(const struct bs_nufft_spec *spec);
/*
 * Fits polynomials with as many terms as the kernel evaluates; BS_ERR_UNSUPPORTED when they do not
 * fit the window.
 */
int bs_nufft_kernel_window(struct bs_kernel_window *w, const struct bs_nufft_choice *c,
			   const struct bs_nufft_spec *spec, struct bs_fail *why);
/* Writes 1 / (transform of the window) for the indices of the matrix on one axis. */
void bs_nufft_deapodize(float *table, const struct bs_nufft_choice *c,
			const struct bs_nufft_spec *spec, uint32_t axis);

BS_C_END
#endif

/*
 * gpu/nufft/cuda/choice.h - what the CUDA gridding chooses and tabulates on the host
 *
 * Same error rule as the host twin (window.h); other costs, so often another window and grid.
 * On the stack route the gridding is two-dimensional with channels = coils x partitions.
 * choose depends on the specification alone, positions = 0: the samples themselves are gridded.
 * Only gpu/nufft uses this. Test: test/twin/nufft/twin_nufft_choices.c
 */
#ifndef BS_GPU_NUFFT_CUDA_CHOICE_H
#define BS_GPU_NUFFT_CUDA_CHOICE_H

#include "gpu/nufft/nufft.h"
#include "gpu/nufft/cuda/sectors.h"

BS_C_BEGIN

#define BS_KERNEL_TAPS_MIN 4u /* the kernels' own widths: narrower windows have zeros in the last */
#define BS_KERNEL_TAPS_MAX 8u
#define BS_KERNEL_TERMS    9
/* Terms that a kernel of so many taps evaluates. */
#define BS_KERNEL_TERMS_OF(taps) ((taps) <= 5 ? 7 : (taps) == 6 ? 8 : 9)

/* The window on each axis: its value in cell j is a polynomial in u = 2 offset - 1; past cut the
 * last cell lies outside. Highest power first. */
struct bs_kernel_window {
	float c[3][BS_KERNEL_TERMS][BS_KERNEL_TAPS_MAX];
	float cut;
	uint32_t last; /* the cell that cut is about */
};

/* How blocks are laid out: the same plan can be run with another. */
struct bs_nufft_launch {
	uint32_t cols;  /* lines of a block at most; 0: by their number */
	uint32_t parts; /* 4: several threads share a sample of the forward; else 1 */
	bool registers; /* lines of known lengths are transformed in registers */
	bool close[2];  /* adjoint, forward: kernels may start while the one before them ends */
};

struct bs_nufft_choice {
	struct bs_sectors_spec sectors;
	uint32_t matrix[3];
	uint32_t taps;         /* of the kernel, 4 .. 8 */
	uint32_t padded_cells; /* of a sector */
	uint32_t planes;       /* stack: partitions; else 1 */
	uint32_t turn, turns; /* coils that share the scratch, and how often; the last may be few */
	uint32_t channels, lanes, groups; /* of a turn; lanes of them are gridded at a time, groups
					     times */
	bool mixed; /* samples are first laid out with a turn's channels side by side */
	bool sums;  /* chunks add up in images, not on grids: where coils take turns */
	uint64_t points, chunk, chunks;
	uint64_t tasks;  /* at most, of a chunk */
	bool collect;    /* 3D: cells collect their samples; no padded sectors */
	bool direct;     /* 2D, one coil: the same with few samples (direct.cu) */
	bool may_direct; /* direct would be possible, whatever the number of samples */
	bool fold;       /* 2D: the last block of a sector adds up its copies */
	uint32_t crowd;  /* more copies of a sector than this are added up by a kernel of its own */
	struct bs_nufft_launch launch;
};

/* spec.tune, if any, decides its fields; BS_ERR_UNSUPPORTED where that is not possible. */
int bs_nufft_choose(struct bs_nufft_choice *c, const struct bs_nufft_spec *spec, bool stack,
		    uint64_t positions, struct bs_fail *why);
/* As bs_nufft_accuracy, of a CUDA plan. */
double bs_nufft_cuda_accuracy(const struct bs_nufft_spec *spec);
/* Polynomials of a kernel's number of terms; BS_ERR_UNSUPPORTED when they do not fit the window. */
int bs_nufft_kernel_window(struct bs_kernel_window *w, const struct bs_nufft_choice *c,
			   const struct bs_nufft_spec *spec, struct bs_fail *why);
/* 1 / transform of the window over the matrix's indices on one axis. */
void bs_nufft_deapodize(float *table, const struct bs_nufft_choice *c,
			const struct bs_nufft_spec *spec, uint32_t axis);

BS_C_END
#endif

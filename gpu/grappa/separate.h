/*
 * gpu/grappa/separate.h - the kernels of slice-GRAPPA on lines in hybrid space
 *
 * The kernel, a product in hybrid space, wraps around the readout: at the ends, its first and last
 * `reach` samples, some taps read samples of the other end. A pair is such an end and such a tap.
 * In padded, each line has behind its columns, as a column for each pair, the sample that the tap
 * reads; so the lines' weights, sorted by `choice`, make what is to be taken off again.
 * For slice.c alone. take -> tables -> { clear -> (lines into padded) -> run }*; take states sizes
 * or takes memory. The same bytes for any team. Test: test/unit/gpu/calibrate/test_slice.c
 */
#ifndef BS_GPU_GRAPPA_SEPARATE_H
#define BS_GPU_GRAPPA_SEPARATE_H

#include "gpu/grappa/grappa_simd.h"
#include "gpu/grappa/slice.h"

/* A separation of the lines in padded: of all, or of the lines that `have` marks. */
struct bs_separation {
	uint32_t bands; /* bands that are made; weights, phases and out begin with the first one */
	const float *weights; /* [band][coil out][kernel line][coil in][tap] complex */
	const float *phases;  /* [band][line] complex, factors of the lines; NULL: all are 1 */
	const uint8_t *have;
	uint32_t lines;
	bool wrapped;
	float *out;     /* [band][coil][line][column] complex */
	double *energy; /* [band][coil]: the sum of |out|^2; or NULL */
};

struct bs_separate {
	struct bs_slice_spec s;
	struct bs_team *team;
	const struct bs_grappa_kernels *simd;
	uint32_t pad, rows,
		/*
		 * lines of zeros around the lines in padded; number of padded's lines; length of
		 * one
		 */
		row;
	float *padded; /* [coil][rows][row] complex */
	float *phase;  /* [tap][re, im][column], each number twice */
	float *wave;   /* [end][re, im][column]: exp(-i2pi k n / columns), each number twice */
	size_t phase_step;
	float *choice;   /* [tap][re, im][pair]: 1 where a pair has that tap, each number twice */
	float *expanded; /* [BS_TEAM_MAX]: the weights of a coil, of a block of columns */
	size_t expanded_size;
	float *beyond;       /* [BS_TEAM_MAX][line][pair]: what taps have read beyond the ends */
	uint32_t *at;        /* where measured lines start in a coil of out */
	uint32_t *at_beyond; /* where measured lines start in a member's part of beyond */
	uint32_t *from; /* where the sources of measured lines start in padded, [line][source] */
	uint32_t count;
	struct bs_separation now;
};

/* Unknowns of a kernel: its samples, lines and coils. */
static inline uint32_t bs_slice_unknowns(const struct bs_slice_spec *s)
{
	return s->kernel[0] * s->kernel[1] * s->coils;
}

static inline uint32_t bs_slice_outputs(const struct bs_slice_spec *s)
{
	return s->bands * s->coils;
}

/* Returns the index of line y in an array of lines, as bs_slice_apply says. */
static inline uint32_t bs_slice_index(uint32_t y, uint32_t lines, bool wrapped)
{
	return wrapped ? (y + lines - lines / 2) % lines : y;
}

/* Returns the sum of squares of a line. */
double bs_separate_energy(const float *line, uint32_t columns);

/* Finds the sizes; true where they are small enough. */
bool bs_separate_size(struct bs_separate *p, const struct bs_slice_spec *spec);
void bs_separate_take(struct bs_separate *p, struct bs_room *room);
void bs_separate_tables(struct bs_separate *p, struct bs_team *team);
void bs_separate_clear(struct bs_separate *p);
void bs_separate_run(struct bs_separate *p, const struct bs_separation *now);

#endif

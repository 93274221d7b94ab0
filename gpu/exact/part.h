/*
 * gpu/exact/part.h - the host's exact sums from inside
 *
 * Rows, columns and folding: "the sum over a grid" in exact.h. Only gpu/exact/exact.c, adjoint.c
 * and forward.c include this.
 */
#ifndef BS_GPU_EXACT_PART_H
#define BS_GPU_EXACT_PART_H

#include "gpu/exact/exact.h"
#include "gpu/exact/exact_simd.h"

#define BS_EXACT_AXIS_MAX 2047u
#define BS_EXACT_BLOCK    1024u /* samples that share one set of tables; whole inner lengths */
#define BS_EXACT_GROUPS   64u   /* partial sums of the forward transform, always this many */

struct bs_exact {
	struct bs_exact_spec s;
	struct bs_team *team;
	const struct bs_exact_half *v;
	/* outer and middle axis make the rows, x the columns; 2D has no middle axis (size 1) */
	uint32_t outer, middle, columns, tiles, dims;
	uint32_t comps, planes; /* real parts and imaginary parts are planes of rows of their own */
	uint64_t rows, panels;  /* of one plane; the last panel is filled with zeros */
	size_t column_ld, fold_ld;
	float *k, *weight;
	/* per state */
	double *sums;   /* [state][plane][row][column] */
	float *kept;    /* [state][coil][sample] as they came */
	uint32_t *got;  /* [state][chunk] samples that came */
	uint64_t *next; /* [state] first chunk not summed, or FRESH (adjoint.c) */
	uint64_t chunks, sums_size, kept_size;
	/* tables of the block in work */
	unsigned char *e, *y, *x, *b, *d, *panel, *fold;
	double *partial;
	/* the block in work, for the team's tasks */
	const float *data;
	size_t stride;
	uint64_t at;
	uint32_t count;
	double *sum;
	const void *image;
	void *out;
	bool image_twice;
	bool tables_forward;
	void (*progress)(void *arg, double done);
	void *progress_arg;
};

static inline void bs_exact_put(const struct bs_exact *p, void *array, size_t at, double value)
{
	if (p->s.twice)
		((double *)array)[at] = value;
	else
		((float *)array)[at] = (float)value;
}

/* A complex value of out. */
static inline void bs_exact_store(const struct bs_exact *p, uint64_t at, double re, double im)
{
	if (p->image_twice) {
		((double *)p->out)[2 * at] = re;
		((double *)p->out)[2 * at + 1] = im;
	} else {
		((float *)p->out)[2 * at] = (float)re;
		((float *)p->out)[2 * at + 1] = (float)im;
	}
}

/* phi_m and the angle that moves the centers of even axes to n = -1/2 (exact.h). */
double bs_exact_basis(const struct bs_exact *p, uint64_t m, double *angle);
/* Of the block in work; the adjoint's hold the samples' factors too. */
void bs_exact_tables(struct bs_exact *p, bool forward);
/* One panel of rows for the samples [from, from + n) of the block: D E Y, or E Y. */
void bs_exact_form_panel(const struct bs_exact *p, unsigned char *panel, uint64_t first,
			 uint32_t from, uint32_t n, const unsigned char *d);

#endif

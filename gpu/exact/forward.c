/* gpu/exact/forward.c - host twin: F rho; see exact.h, part.h */
#define _GNU_SOURCE /* sincos */
#include "gpu/exact/part.h"

#include <math.h>
#include <string.h>

/* Column of an axis of N: the voxels at +h and -h (minus -1: the same voxel); true for a sine. */
static bool axis_pair(uint32_t N, uint32_t column, int *plus, int *minus)
{
	bool sine = column >= (N + 1) / 2;
	int h = (int)(sine ? column - (N + 1) / 2 : column);
	int mid = (int)(N / 2);

	if (N % 2 == 0) {
		*plus = mid + h;
		*minus = mid - 1 - h;
	} else {
		h += sine ? 1 : 0;
		*plus = mid + h;
		*minus = h == 0 ? -1 : mid - h;
	}
	return sine;
}

static void load_row(const struct bs_exact *p, uint64_t at, double sign, double *re, double *im)
{
	if (p->image_twice) {
		const double *in = (const double *)p->image + 2 * at;

		for (uint32_t x = 0; x < p->columns; x++) {
			re[x] += sign * in[2 * x];
			im[x] += sign * in[2 * x + 1];
		}
	} else {
		const float *in = (const float *)p->image + 2 * at;

		for (uint32_t x = 0; x < p->columns; x++) {
			re[x] += sign * (double)in[2 * x];
			im[x] += sign * (double)in[2 * x + 1];
		}
	}
}

/* Multiplies by (-i)^power. */
static void turn(int power, double *re, double *im)
{
	double r = *re;
	double i = *im;

	switch (power) {
	case 0:
		break;
	case 1:
		*re = i;
		*im = -r;
		break;
	case 2:
		*re = -r;
		*im = -i;
		break;
	default:
		*re = -i;
		*im = r;
	}
}

/* One folded row: x is folded here, the row's own two axes by the signs of the image rows. */
static void fold_row(struct bs_exact *p, uint32_t coil, uint64_t row, int power, const double *re,
		     const double *im)
{
	uint64_t to_re = ((uint64_t)coil * 2 * p->rows + row) * p->fold_ld;
	uint64_t to_im = to_re + p->rows * p->fold_ld;

	for (uint32_t l = 0; l < p->columns; l++) {
		int plus;
		int minus;
		bool sine = axis_pair(p->columns, l, &plus, &minus);
		double sign = sine ? -1.0 : 1.0;
		double a = re[plus] + (minus < 0 ? 0.0 : sign * re[minus]);
		double b = im[plus] + (minus < 0 ? 0.0 : sign * im[minus]);

		turn(power + (sine ? 1 : 0), &a, &b);
		bs_exact_put(p, p->fold, to_re + l, a);
		bs_exact_put(p, p->fold, to_im + l, b);
	}
}

/* Task: coil x column of the outer axis. */
static void fold(void *arg, int task, int member)
{
	struct bs_exact *p = arg;
	uint32_t coil = (uint32_t)task / p->outer;
	uint32_t outer = (uint32_t)task % p->outer;
	double re[BS_EXACT_AXIS_MAX + 1];
	double im[BS_EXACT_AXIS_MAX + 1];
	int vo[2];
	int vm[2] = { 0, -1 };
	bool so = axis_pair(p->outer, outer, &vo[0], &vo[1]);
	bool sm = false;

	(void)member;
	for (uint32_t mid = 0; mid < p->middle; mid++) {
		if (p->dims == 3)
			sm = axis_pair(p->middle, mid, &vm[0], &vm[1]);
		memset(re, 0, p->columns * sizeof(re[0]));
		memset(im, 0, p->columns * sizeof(im[0]));
		for (int s = 0; s < 4; s++) {
			int o = vo[s >> 1];
			int m = vm[s & 1];
			double sign = (s >> 1 && so ? -1.0 : 1.0) * (s & 1 && sm ? -1.0 : 1.0);

			if (o >= 0 && m >= 0)
				load_row(p,
					 (((uint64_t)coil * p->outer + (uint64_t)o) * p->middle +
					  (uint64_t)m) *
						 p->columns,
					 sign, re, im);
		}
		fold_row(p, coil, (uint64_t)outer * p->middle + mid, (so ? 1 : 0) + (sm ? 1 : 0),
			 re, im);
	}
}

/* x columns [column][sample] into tiles [tile][column][cols]. Task: part of the block. */
static void tile_columns(void *arg, int task, int member)
{
	struct bs_exact *p = arg;
	size_t bytes = (size_t)p->v->cols * p->v->real_bytes;
	unsigned char *to = p->b + (size_t)task * p->columns * bytes;
	const unsigned char *from = p->x + (size_t)task * bytes;

	(void)member;
	for (uint32_t l = 0; l < p->columns; l++)
		memcpy(to + l * bytes, from + (size_t)l * BS_EXACT_BLOCK * p->v->real_bytes, bytes);
}

/* Task: a group of panels, with its own partial sums [plane][sample]. */
static void dot_group(void *arg, int group, int member)
{
	struct bs_exact *p = arg;
	const struct bs_exact_half *v = p->v;
	size_t real = v->real_bytes;
	unsigned char *panel =
		p->panel + (size_t)member * v->rows * (v->inner + BS_EXACT_PAD) * real;
	double *partial = p->partial + (size_t)group * p->planes * BS_EXACT_BLOCK;
	uint64_t first = (uint64_t)group * p->panels / BS_EXACT_GROUPS;
	uint64_t last = (uint64_t)(group + 1) * p->panels / BS_EXACT_GROUPS;

	memset(partial, 0, (size_t)p->planes * BS_EXACT_BLOCK * 8);
	for (uint64_t pan = first; pan < last; pan++)
		for (uint32_t from = 0; from < p->count; from += v->inner) {
			bs_exact_form_panel(p, panel, pan * v->rows, from, v->inner, NULL);
			for (uint32_t plane = 0; plane < p->planes; plane++) {
				const unsigned char *t =
					p->fold +
					(plane * p->rows + pan * v->rows) * p->fold_ld * real;
				double *d = partial + (size_t)plane * BS_EXACT_BLOCK + from;

				for (uint32_t c = 0; c < v->inner; c += v->cols)
					v->dot(t, p->fold_ld,
					       p->b + (size_t)(from + c) * p->columns * real,
					       p->columns, panel + c * real, d + c);
			}
		}
}

/* Adds the groups in order, undoes the centers' phase, applies the basis. Task: coil. */
static void add_groups(void *arg, int coil, int member)
{
	struct bs_exact *p = arg;
	size_t plane = (size_t)coil * 2 * BS_EXACT_BLOCK;

	(void)member;
	for (uint32_t m = 0; m < p->count; m++) {
		double angle;
		double phi = bs_exact_basis(p, p->at + m, &angle);
		double c;
		double s;
		double re = 0.0;
		double im = 0.0;

		for (uint32_t g = 0; g < BS_EXACT_GROUPS; g++) {
			const double *partial =
				p->partial + (size_t)g * p->planes * BS_EXACT_BLOCK + plane;

			re += partial[m];
			im += partial[BS_EXACT_BLOCK + m];
		}
		sincos(-angle, &s, &c);
		bs_exact_store(p, (uint64_t)coil * p->s.samples + p->at + m,
			       phi * (c * re - s * im), phi * (c * im + s * re));
	}
}

static void forward(struct bs_exact *p, const void *image, void *data, bool twice)
{
	p->image = image;
	p->image_twice = twice;
	p->out = data;
	bs_team_run(p->team, fold, p, (int)(p->s.coils * p->outer));
	for (p->at = 0; p->at < p->s.samples; p->at += BS_EXACT_BLOCK) {
		uint64_t left = p->s.samples - p->at;

		p->count = left < BS_EXACT_BLOCK ? (uint32_t)left : BS_EXACT_BLOCK;
		bs_exact_tables(p, true);
		bs_team_run(p->team, tile_columns, p, (int)(BS_EXACT_BLOCK / p->v->cols));
		bs_team_run(p->team, dot_group, p, (int)BS_EXACT_GROUPS);
		bs_team_run(p->team, add_groups, p, (int)p->s.coils);
		if (p->progress != NULL)
			p->progress(p->progress_arg,
				    (double)(p->at + p->count) / (double)p->s.samples);
	}
}

void bs_exact_forward(struct bs_exact *p, const float *image, float *data)
{
	forward(p, image, data, false);
}

void bs_exact_forward_double(struct bs_exact *p, const double *image, double *data)
{
	forward(p, image, data, true);
}

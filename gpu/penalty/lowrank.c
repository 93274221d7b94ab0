/*
 * gpu/penalty/lowrank.c - singular values of blocks over frames; see penalty.h
 *
 * A block's matrix is [long][short], of its voxels and frames the more in rows. With G = B^H B =
 * V s^2 V^H, in double precision, B V f V^H has the singular values s f.
 */
#include "gpu/penalty/rows.h"

#include <math.h>
#include <string.h>

#include "gpu/calibrate/dense.h"

struct sides {
	uint32_t voxels, longer, shorter; /* the sides of a block's matrix */
	bool frames_short;                /* the frames are the shorter side */
};

/* A member's work: the block, G and then its eigenvectors, the map, eigenvalues, LAPACK's. */
struct work {
	float *block;
	double *g, *map, *values;
	void *dense;
};

static struct sides sides_of(const struct bs_penalty_plan *p, uint32_t voxels)
{
	const bool frames_short = p->s.images <= voxels;

	return (struct sides){ voxels, frames_short ? voxels : p->s.images,
			       frames_short ? p->s.images : voxels, frames_short };
}

/* Sets where the parts of the work for the largest block begin; returns its bytes. */
static size_t parts_of_work(const struct bs_penalty_plan *p, size_t part[5])
{
	uint32_t voxels = 1;
	struct sides s;
	size_t square;

	for (int a = 0; a < 3; a++)
		voxels *= p->s.matrix[a] < p->s.block ? p->s.matrix[a] : p->s.block;
	s = sides_of(p, voxels);
	square = bs_slot((uint64_t)s.shorter * s.shorter * 16);
	part[0] = 0;
	part[1] = bs_slot(((uint64_t)s.longer + 1) * s.shorter * 8); /* and a row */
	part[2] = part[1] + square;
	part[3] = part[2] + square;
	part[4] = part[3] + bs_slot(s.shorter * 8);
	return part[4] + bs_slot(bs_dense_eigen_bytes(s.shorter));
}

static struct work work_of(const struct bs_penalty_plan *p, int member)
{
	unsigned char *at = bs_penalty_work(p, member);
	size_t part[5];

	(void)parts_of_work(p, part);
	return (struct work){ (float *)at, (double *)(at + part[1]), (double *)(at + part[2]),
			      (double *)(at + part[3]), at + part[4] };
}

static uint64_t all_blocks(const struct bs_penalty_plan *p)
{
	return (uint64_t)p->blocks[0] * p->blocks[1] * p->blocks[2];
}

static void lay_out(struct bs_penalty_plan *p, struct bs_room *r)
{
	size_t part[5];

	for (int a = 0; a < 3; a++)
		p->blocks[a] = (p->s.matrix[a] + p->s.block - 1) / p->s.block;
	p->slot = parts_of_work(p, part);
	bs_room_take(r, &p->work, "blocks of low rank", BS_TEAM_MAX, p->slot);
	bs_room_take(r, &p->partial, "partial sums", 1, all_blocks(p) * 8);
}

static int ready(struct bs_penalty_plan *p, struct bs_fail *why)
{
	(void)p;
	return bs_dense_open(why);
}

/* A block of voxels in the images. */
struct place {
	uint64_t first;   /* its first voxel */
	uint32_t size[3]; /* its voxels along each axis */
};

static struct place place_of(const struct bs_penalty_plan *p, int task)
{
	const uint32_t *n = p->s.matrix;
	const uint32_t at[3] = { (uint32_t)task % p->blocks[0],
				 (uint32_t)task / p->blocks[0] % p->blocks[1],
				 (uint32_t)task / p->blocks[0] / p->blocks[1] };
	struct place b;

	for (int a = 0; a < 3; a++) {
		const uint32_t left = n[a] - at[a] * p->s.block;

		b.size[a] = left < p->s.block ? left : p->s.block;
	}
	b.first = (((uint64_t)at[2] * n[1] + at[1]) * n[0] + at[0]) * p->s.block;
	return b;
}

/* Returns where value (voxel v of the block, frame t) lies in the images. */
static size_t image_index(const struct bs_penalty_plan *p, const struct place *b, uint32_t v,
			  uint32_t t)
{
	const uint32_t *n = p->s.matrix;
	const uint64_t x = v % b->size[0];
	const uint64_t y = v / b->size[0] % b->size[1];
	const uint64_t z = v / b->size[0] / b->size[1];

	return (size_t)(2 * (t * p->voxels + b->first + (z * n[1] + y) * n[0] + x));
}

/* Copies between a block of the images and the work's matrix. */
static void move(const struct bs_penalty_plan *p, const struct place *b, const struct sides *s,
		 float *block, bool out)
{
	for (uint32_t l = 0; l < s->longer; l++)
		for (uint32_t j = 0; j < s->shorter; j++) {
			const size_t at =
				image_index(p, b, s->frames_short ? l : j, s->frames_short ? j : l);
			float *in = block + 2 * ((size_t)l * s->shorter + j);

			memcpy(out ? p->x + at : in, out ? in : p->x + at, 8);
		}
}

/* Sets the lower triangle of g [column][row] to B^H B; returns its trace. */
static double make_gram(const struct sides *s, const float *block, double *g)
{
	const uint32_t n = s->shorter;
	double trace = 0.0;

	memset(g, 0, (size_t)n * n * 16);
	for (uint32_t l = 0; l < s->longer; l++) {
		const float *row = block + 2 * (size_t)l * n;

		for (uint32_t j = 0; j < n; j++) {
			const double re = (double)row[2 * j];
			const double im = (double)row[2 * j + 1];
			double *to = g + 2 * (size_t)j * n;

			for (uint32_t i = j; i < n; i++) {
				to[2 * i] += (double)row[2 * i] * re + (double)row[2 * i + 1] * im;
				to[2 * i + 1] +=
					(double)row[2 * i] * im - (double)row[2 * i + 1] * re;
			}
		}
	}
	for (uint32_t j = 0; j < n; j++)
		trace += g[2 * ((size_t)j * n + j)];
	return trace;
}

/* map [j][i] = sum_m V(i, m) f_m conj(V(j, m)): a row of B times it is a row of the result. */
static void make_map(uint32_t n, const double *v, const double *f, double *map)
{
	memset(map, 0, (size_t)n * n * 16);
	for (uint32_t m = 0; m < n && f[m] > 0.0; m++) {
		const double *at = v + 2 * (size_t)m * n;

		for (uint32_t j = 0; j < n; j++) {
			const double re = f[m] * at[2 * j];
			const double im = -f[m] * at[2 * j + 1];
			double *to = map + 2 * (size_t)j * n;

			for (uint32_t i = 0; i < n; i++) {
				to[2 * i] += at[2 * i] * re - at[2 * i + 1] * im;
				to[2 * i + 1] += at[2 * i] * im + at[2 * i + 1] * re;
			}
		}
	}
}

/* Replaces each row of the block by the row times the map; row: room for one. */
static void apply_map(const struct sides *s, const double *map, float *block, float *row)
{
	const uint32_t n = s->shorter;

	for (uint32_t l = 0; l < s->longer; l++) {
		float *at = block + 2 * (size_t)l * n;

		memcpy(row, at, (size_t)n * 8);
		for (uint32_t j = 0; j < n; j++) {
			const double *to = map + 2 * (size_t)j * n;
			double re = 0.0;
			double im = 0.0;

			for (uint32_t i = 0; i < n; i++) {
				re += (double)row[2 * i] * to[2 * i] -
				      (double)row[2 * i + 1] * to[2 * i + 1];
				im += (double)row[2 * i] * to[2 * i + 1] +
				      (double)row[2 * i + 1] * to[2 * i];
			}
			at[2 * j] = (float)re;
			at[2 * j + 1] = (float)im;
		}
	}
}

/* Sets values to the factors of the singular values; returns the sum of what is left of them. */
static double shrink(uint32_t n, double *values, double threshold)
{
	double sum = 0.0;

	for (uint32_t m = 0; m < n; m++) {
		const double s = values[m] > 0.0 ? sqrt(values[m]) : 0.0;

		values[m] = s > threshold ? 1.0 - threshold / s : 0.0;
		sum += s > threshold ? s - threshold : 0.0;
	}
	return sum;
}

/* Thresholds one block; its partial sum is what is left of the singular values. */
static void do_block(void *arg, int task, int member)
{
	const struct bs_penalty_plan *p = arg;
	const struct place b = place_of(p, task);
	const struct sides s = sides_of(p, b.size[0] * b.size[1] * b.size[2]);
	double trace;
	const struct work w = work_of(p, member);
	int rc = 0;

	move(p, &b, &s, w.block, false);
	trace = make_gram(&s, w.block, w.g);
	memset(w.values, 0, (size_t)s.shorter * 8);
	/* the largest singular value is at most the root of the sum of all squares */
	if (!(trace <= p->threshold * p->threshold))
		rc = bs_dense_eigen(s.shorter, w.g, w.values, w.dense, NULL);
	p->partial[task] = rc == 0 ? shrink(s.shorter, w.values, p->threshold) : NAN;
	if (rc != 0 || p->in != NULL)
		return;
	make_map(s.shorter, w.g, w.values, w.map);
	apply_map(&s, w.map, w.block, w.block + 2 * (size_t)s.longer * s.shorter);
	move(p, &b, &s, w.block, true);
}

/* in: where only the value is wanted, not NULL. */
static double do_blocks(struct bs_penalty_plan *p, double step, float *x, const float *in)
{
	p->threshold = p->lambda * step;
	p->x = x;
	p->in = in;
	bs_team_run(p->team, do_block, p, (int)all_blocks(p));
	return p->lambda * bs_penalty_sum(p, all_blocks(p));
}

static double lowrank_prox(void *self, double step, uint32_t iteration, float *x)
{
	(void)iteration;
	return do_blocks(self, step, x, NULL);
}

static double lowrank_value(void *self, const float *x)
{
	return do_blocks(self, 0.0, (float *)x, x); /* x is only read */
}

const struct bs_penalty_row bs_penalty_lowrank = {
	.lay_out = lay_out,
	.ready = ready,
	.value = lowrank_value,
	.prox = lowrank_prox,
};

/* core/solve/prior.c - see prior.h */
#include "core/solve/prior.h"

#include <math.h>
#include <stdlib.h>

#define WAYS_MAX   13 /* half of 26 neighbors, so that each pair comes once */
#define IMAGES_MAX 64

struct maker {
	const struct bs_prior_spec *s;
	const float *images, *mask;
	uint64_t voxels;
	double unit[IMAGES_MAX]; /* value of 1/(edge top)^2 for each image */
	int32_t way[WAYS_MAX][3];
	uint32_t ways;
	struct bs_csr *w; /* matrix to fill; NULL: rows and entries are only counted */
	uint64_t rows, entries;
};

static int check_spec(const struct bs_prior_spec *s, struct bs_fail *why)
{
	uint64_t voxels = (uint64_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	bool known = s->dims == 2 ? s->neighbors == 4 || s->neighbors == 8
				  : s->neighbors == 6 || s->neighbors == 26;

	if (s->dims < 2 || s->dims > 3 || (s->dims == 2 && s->matrix[2] != 1))
		return bs_fail(why, BS_ERR_SIZE, "prior: %u dimensions, matrix %u x %u x %u",
			       s->dims, s->matrix[0], s->matrix[1], s->matrix[2]);
	for (int d = 0; d < 3; d++)
		if (s->matrix[d] == 0 || s->matrix[d] > 4096)
			return bs_fail(why, BS_ERR_SIZE, "prior: matrix %u x %u x %u", s->matrix[0],
				       s->matrix[1], s->matrix[2]);
	if (!known)
		return bs_fail(why, BS_ERR_SIZE, "prior: %u neighbors in %u dimensions (%s)",
			       s->neighbors, s->dims, s->dims == 2 ? "4 or 8" : "6 or 26");
	/* rows are counted in 32 bits */
	if (voxels * (s->neighbors / 2 + 1) >= UINT32_MAX)
		return bs_fail(why, BS_ERR_SIZE, "prior: %llu voxels are too many",
			       (unsigned long long)voxels);
	if (s->images == 0 || s->images > IMAGES_MAX)
		return bs_fail(why, BS_ERR_SIZE, "prior: %u images, 1 to %d are legal", s->images,
			       IMAGES_MAX);
	if (!(s->edge > 0.0) || !(s->outside > 0.0) || !isfinite(s->edge) || !isfinite(s->outside))
		return bs_fail(why, BS_ERR_VALUE, "prior: edge %g, outside %g", s->edge,
			       s->outside);
	return 0;
}

/* Lists the directions to the forward half of the neighborhood. */
static void set_ways(struct maker *m)
{
	int far = m->s->neighbors == 8 || m->s->neighbors == 26;

	for (int z = 0; z <= (m->s->dims > 2); z++)
		for (int y = -1; y <= 1; y++)
			for (int x = -1; x <= 1; x++) {
				bool forward = z > 0 || y > 0 || (y == 0 && x > 0);
				int steps = abs(x) + abs(y) + z;

				if (!forward || (z == 0 && y < 0) || (!far && steps > 1))
					continue;
				m->way[m->ways][0] = x;
				m->way[m->ways][1] = y;
				m->way[m->ways][2] = z;
				m->ways++;
			}
}

static int set_units(struct maker *m, struct bs_fail *why)
{
	for (uint32_t i = 0; m->images != NULL && i < m->s->images; i++) {
		const float *r = m->images + 2 * m->voxels * i;
		double top = 0.0;

		for (uint64_t v = 0; v < m->voxels; v++) {
			double square =
				(double)r[2 * v] * r[2 * v] + (double)r[2 * v + 1] * r[2 * v + 1];

			if (!isfinite(square))
				return bs_fail(why, BS_ERR_VALUE,
					       "prior: image %u, voxel %llu is not finite", i,
					       (unsigned long long)v);
			top = square > top ? square : top;
		}
		if (top == 0.0)
			return bs_fail(why, BS_ERR_VALUE, "prior: image %u is all zero", i);
		m->unit[i] = 1.0 / (m->s->edge * m->s->edge * top);
	}
	return 0;
}

static bool inside(const struct maker *m, uint64_t v)
{
	return m->mask == NULL || m->mask[2 * v] != 0.0f || m->mask[2 * v + 1] != 0.0f;
}

static double weight(const struct maker *m, uint64_t a, uint64_t b, int steps)
{
	double t = 0.0;

	for (uint32_t i = 0; m->images != NULL && i < m->s->images; i++) {
		const float *r = m->images + 2 * m->voxels * i;
		double re = (double)r[2 * a] - r[2 * b];
		double im = (double)r[2 * a + 1] - r[2 * b + 1];

		t += (re * re + im * im) * m->unit[i];
	}
	return 1.0 / (sqrt(steps) * (1.0 + t));
}

static void entry(struct maker *m, uint64_t col, double value)
{
	if (m->w) {
		m->w->col[m->entries] = (uint32_t)col;
		m->w->value[m->entries] = (float)value;
	}
	m->entries++;
}

static void end_row(struct maker *m)
{
	m->rows++;
	if (m->w)
		m->w->start[m->rows] = m->entries;
}

/* Adds the row of one difference, with columns in increasing order. holds: it is within the mask */
static void pair(struct maker *m, uint64_t a, uint64_t b, int steps, bool holds)
{
	double w = m->w && holds ? weight(m, a, b, steps) : 0.0;

	entry(m, a < b ? a : b, a < b ? w : -w);
	entry(m, a < b ? b : a, a < b ? -w : w);
	end_row(m);
}

static void voxel_rows(struct maker *m, uint32_t x, uint32_t y, uint32_t z)
{
	const uint32_t *n = m->s->matrix;
	uint64_t v = ((uint64_t)z * n[1] + y) * n[0] + x;
	const bool in = inside(m, v);

	if (!in || m->s->whole) {
		entry(m, v, in ? 0.0 : m->s->outside);
		end_row(m);
	}
	if (!in && !m->s->whole)
		return;
	for (uint32_t i = 0; i < m->ways; i++) {
		int64_t at[3] = { (int64_t)x + m->way[i][0], (int64_t)y + m->way[i][1],
				  (int64_t)z + m->way[i][2] };
		uint64_t other;

		if (at[0] < 0 || at[0] >= n[0] || at[1] < 0 || at[1] >= n[1] || at[2] >= n[2])
			continue;
		other = ((uint64_t)at[2] * n[1] + (uint64_t)at[1]) * n[0] + (uint64_t)at[0];
		if (m->s->whole || inside(m, other))
			pair(m, v, other, abs(m->way[i][0]) + abs(m->way[i][1]) + abs(m->way[i][2]),
			     in && inside(m, other));
	}
}

static void walk(struct maker *m, struct bs_csr *into)
{
	m->w = into;
	m->rows = m->entries = 0;
	for (uint32_t z = 0; z < m->s->matrix[2]; z++)
		for (uint32_t y = 0; y < m->s->matrix[1]; y++)
			for (uint32_t x = 0; x < m->s->matrix[0]; x++)
				voxel_rows(m, x, y, z);
}

static int begin(struct maker *m, struct bs_fail *why)
{
	const struct bs_prior_spec *s = m->s;
	uint64_t in = 0;
	int rc = check_spec(s, why);

	if (rc != 0)
		return rc;
	m->voxels = (uint64_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	rc = set_units(m, why);
	for (uint64_t v = 0; rc == 0 && v < m->voxels; v++)
		in += inside(m, v);
	if (rc == 0 && in == 0)
		rc = bs_fail(why, BS_ERR_SIZE, "prior: the mask is empty");
	set_ways(m);
	return rc;
}

int bs_prior_make(struct bs_csr *w, const struct bs_prior_spec *spec, const float *images,
		  const float *mask, struct bs_fail *why)
{
	struct maker m = { .s = spec, .images = images, .mask = mask };
	int rc = begin(&m, why);

	if (rc != 0)
		return rc;
	walk(&m, NULL);
	if (m.rows == 0)
		return bs_fail(why, BS_ERR_SIZE, "prior: no two voxels are neighbors");
	rc = bs_csr_open(w, m.rows, m.voxels, m.entries, false, why);
	if (rc != 0)
		return rc;
	w->start[0] = 0;
	walk(&m, w);
	rc = bs_csr_seal(w, why);
	if (rc != 0)
		bs_csr_close(w);
	return rc;
}

int bs_prior_fill(struct bs_csr *w, const struct bs_prior_spec *spec, const float *images,
		  const float *mask, struct bs_fail *why)
{
	struct maker m = { .s = spec, .images = images, .mask = mask };
	int rc = begin(&m, why);

	if (rc != 0)
		return rc;
	walk(&m, w);
	bs_csr_transpose(w);
	return 0;
}

uint64_t bs_prior_bytes(const struct bs_prior_spec *s)
{
	const uint64_t voxels = (uint64_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	const uint64_t rows = voxels * (1 + s->neighbors / 2);

	/* an entry has column and value, twice; a pair's row has two entries, a voxel's has one */
	return (2 * rows - voxels) * 16 + rows * 8 + voxels * 8;
}

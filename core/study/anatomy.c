/* core/study/anatomy.c - see anatomy.h */
#include "core/study/anatomy.h"

#include <math.h>

#define POINTS_MAX  16u  /* points along an axis of a voxel */
#define BEYOND_MOST 0.02 /* share of the object that may lie at the image's end */
#define MARGIN_MAX  8

/* ---- another grid ---- */

static int check_grid(const struct bs_grid *g, const char *of, struct bs_fail *why)
{
	const float *dir[] = { g->pose.read_dir, g->pose.phase_dir, g->pose.slice_dir };

	for (int a = 0; a < 3; a++) {
		if (!(g->fov_mm[a] > 0.0f) || g->matrix[a] == 0 || !isfinite(g->pose.position[a]))
			return bs_fail(why, BS_ERR_CALIBRATION,
				       "%s does not tell its field of view or its position", of);
		for (int b = 0; b <= a; b++) {
			double dot = 0.0;

			for (int i = 0; i < 3; i++)
				dot += (double)dir[a][i] * (double)dir[b][i];
			if (!(fabs(dot - (a == b)) <= 2e-3))
				return bs_fail(why, BS_ERR_CALIBRATION,
					       "%s does not tell three directions at right angles",
					       of);
		}
	}
	return 0;
}

/* The way from voxels of one grid to voxels of another: index = begin + sum of i_a step[a]. */
struct way {
	double begin[3], step[3][3];
	uint32_t points[3]; /* points along each axis of a voxel */
};

static double along(const float *v, const float *dir)
{
	return (double)v[0] * (double)dir[0] + (double)v[1] * (double)dir[1] +
	       (double)v[2] * (double)dir[2];
}

static void find_way(struct way *w, const struct bs_grid *to, const struct bs_grid *from)
{
	const float *own[] = { to->pose.read_dir, to->pose.phase_dir, to->pose.slice_dir };
	const float *its[] = { from->pose.read_dir, from->pose.phase_dir, from->pose.slice_dir };

	for (int b = 0; b < 3; b++) {
		const double voxel = (double)from->fov_mm[b] / from->matrix[b];

		w->begin[b] = from->matrix[b] / 2u + (along(to->pose.position, its[b]) -
						      along(from->pose.position, its[b])) /
							     voxel;
		for (int a = 0; a < 3; a++) {
			w->step[a][b] = (double)to->fov_mm[a] / to->matrix[a] *
					along(own[a], its[b]) / voxel;
			w->begin[b] -= w->step[a][b] * (to->matrix[a] / 2u);
		}
	}
	for (int a = 0; a < 3; a++) {
		const double *s = w->step[a];
		const double n = ceil(sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]) - 1e-3);

		w->points[a] = n < 2.0 ? 1 : n > POINTS_MAX ? POINTS_MAX : (uint32_t)n;
	}
}

/* Adds the value at a point. False: the point lies beyond the image. */
static bool add_point(double *sum, const float *in, const uint32_t n[3], const double at[3])
{
	uint32_t low[3], high[3];
	double t[3];
	double value = 0.0;

	for (int a = 0; a < 3; a++) {
		const double last = n[a] - 1.0;
		const double i = at[a] < 0.0 ? 0.0 : at[a] > last ? last : at[a];

		if (!(fabs(at[a] - i) <= 0.5 + 1e-6))
			return false;
		low[a] = (uint32_t)i;
		high[a] = low[a] + 1 < n[a] ? low[a] + 1 : low[a];
		t[a] = i - low[a];
	}
	for (int corner = 0; corner < 8; corner++) {
		const uint64_t x = corner & 1 ? high[0] : low[0];
		const uint64_t y = corner & 2 ? high[1] : low[1];
		const uint64_t z = corner & 4 ? high[2] : low[2];

		value += (corner & 1 ? t[0] : 1.0 - t[0]) * (corner & 2 ? t[1] : 1.0 - t[1]) *
			 (corner & 4 ? t[2] : 1.0 - t[2]) * (double)in[(z * n[1] + y) * n[0] + x];
	}
	*sum += value;
	return true;
}

/* The mean over the points of a voxel. center: its center, by the other grid's voxels. */
static float mean_at(const struct way *w, const float *in, const uint32_t n[3],
		     const double center[3])
{
	const uint32_t *p = w->points;
	const uint32_t all = p[0] * p[1] * p[2];
	double sum = 0.0;

	for (uint32_t i = 0; i < all; i++) {
		const double off[] = { (i % p[0] + 0.5) / p[0] - 0.5,
				       (i / p[0] % p[1] + 0.5) / p[1] - 0.5,
				       (i / p[0] / p[1] + 0.5) / p[2] - 0.5 };
		double at[3];

		for (int b = 0; b < 3; b++)
			at[b] = center[b] + off[0] * w->step[0][b] + off[1] * w->step[1][b] +
				off[2] * w->step[2][b];
		if (!add_point(&sum, in, n, at))
			return BS_ANATOMY_BEYOND;
	}
	return (float)(sum / all);
}

int bs_anatomy_resample(float *image, const struct bs_grid *to, const float *magnitude,
			const struct bs_grid *from, struct bs_fail *why)
{
	const uint32_t *n = to->matrix;
	uint64_t v = 0;
	struct way w;
	int rc = check_grid(from, "the earlier image", why);

	if (rc == 0)
		rc = check_grid(to, "the scan", why);
	if (rc != 0)
		return rc;
	find_way(&w, to, from);
	for (uint32_t z = 0; z < n[2]; z++)
		for (uint32_t y = 0; y < n[1]; y++)
			for (uint32_t x = 0; x < n[0]; x++, v++) {
				double at[3];

				for (int b = 0; b < 3; b++)
					at[b] = w.begin[b] + x * w.step[0][b] + y * w.step[1][b] +
						z * w.step[2][b];
				image[2 * v] = mean_at(&w, magnitude, from->matrix, at);
				image[2 * v + 1] = 0.0f;
			}
	return 0;
}

/* ---- the object ---- */

struct volume {
	const uint32_t *n;
	float *mask; /* real part: what a voxel is; imaginary part: its marks */
};
enum mark { IN = 1, NEXT = 2 }; /* in the mask; next to the object, or of it */
#define BACKGROUND 0.0f
#define OBJECT     1.0f
#define OUTSIDE    2.0f /* background that reaches the grid's rim */

/* The voxel lies on the rim of an axis with a rim, or next to the outside. */
static bool next_to_outside(const struct volume *m, const uint32_t at[3], uint64_t v)
{
	const uint64_t step[] = { 1, m->n[0], (uint64_t)m->n[0] * m->n[1] };

	for (int a = 0; a < 3; a++) {
		if (m->n[a] == 1)
			continue;
		if (at[a] == 0 || at[a] + 1 == m->n[a] || m->mask[2 * (v - step[a])] == OUTSIDE ||
		    m->mask[2 * (v + step[a])] == OUTSIDE)
			return true;
	}
	return false;
}

/* Goes through all voxels, there or back. Returns true if background was found to be outside. */
static bool sweep(const struct volume *m, bool back)
{
	const uint64_t voxels = (uint64_t)m->n[0] * m->n[1] * m->n[2];
	bool found = false;

	for (uint64_t i = 0; i < voxels; i++) {
		const uint64_t v = back ? voxels - 1 - i : i;
		const uint32_t at[] = { (uint32_t)(v % m->n[0]), (uint32_t)(v / m->n[0] % m->n[1]),
					(uint32_t)(v / m->n[0] / m->n[1]) };

		if (m->mask[2 * v] == BACKGROUND && next_to_outside(m, at, v)) {
			m->mask[2 * v] = OUTSIDE;
			found = true;
		}
	}
	return found;
}

/* Marks what lies at most margin voxels from a voxel of the object, and what lies next to it. */
static void widen(const struct volume *m, const int64_t at[3], double margin)
{
	const int64_t r = margin > 1.0 ? (int64_t)margin : 1;

	for (int64_t z = -r; z <= r; z++)
		for (int64_t y = -r; y <= r; y++)
			for (int64_t x = -r; x <= r; x++) {
				const int64_t to[] = { at[0] + x, at[1] + y, at[2] + z };
				const int64_t far = x * x + y * y + z * z;
				const unsigned marks = ((double)far <= margin * margin ? IN : 0) |
						       (far <= 1 ? NEXT : 0);
				bool there = marks != 0;
				float *mark;

				for (int a = 0; a < 3; a++)
					there = there && to[a] >= 0 && to[a] < m->n[a];
				if (!there)
					continue;
				mark = m->mask + 2 * ((to[2] * m->n[1] + to[1]) * m->n[0] + to[0]) +
				       1;
				*mark = (float)((unsigned)*mark | marks);
			}
}

int bs_anatomy_mask(float *mask, float *image, const uint32_t matrix[3], double share,
		    double margin, struct bs_fail *why)
{
	const uint64_t voxels = (uint64_t)matrix[0] * matrix[1] * matrix[2];
	const struct volume m = { matrix, mask };
	uint64_t object = 0;
	uint64_t beyond = 0;
	float top = 0.0f;
	bool back = false;

	for (uint64_t v = 0; v < voxels; v++)
		top = fmaxf(top, image[2 * v]);
	if (!(top > 0.0f) || !isfinite(top) || !(margin >= 0.0 && margin <= MARGIN_MAX))
		return bs_fail(why, BS_ERR_CALIBRATION,
			       "the earlier image and this scan have no object in common");
	for (uint64_t v = 0; v < voxels; v++) {
		mask[2 * v] = image[2 * v] >= share * (double)top ? OBJECT : BACKGROUND;
		mask[2 * v + 1] = 0.0f;
	}
	for (bool more = sweep(&m, back); more; more = sweep(&m, back))
		back = !back;
	for (uint64_t v = 0; v < voxels; v++)
		if (mask[2 * v] != OUTSIDE)
			widen(&m,
			      (const int64_t[]){ (int64_t)(v % matrix[0]),
						 (int64_t)(v / matrix[0] % matrix[1]),
						 (int64_t)(v / matrix[0] / matrix[1]) },
			      margin);
	for (uint64_t v = 0; v < voxels; v++) {
		const unsigned marks = (unsigned)mask[2 * v + 1];

		object += mask[2 * v] != OUTSIDE;
		beyond += (marks & NEXT) != 0 && image[2 * v] < 0.0f;
		mask[2 * v] = (marks & IN) != 0 ? 1.0f : 0.0f;
		mask[2 * v + 1] = 0.0f;
		image[2 * v] = fmaxf(image[2 * v], 0.0f);
	}
	return (double)beyond <= BEYOND_MOST * (double)object
		       ? 0
		       : bs_fail(why, BS_ERR_CALIBRATION,
				 "the earlier image ends within the object: of its %llu voxels in "
				 "this scan %llu have a neighbor beyond it",
				 (unsigned long long)object, (unsigned long long)beyond);
}

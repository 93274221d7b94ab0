/* gpu/calibrate/walsh.c - see walsh.h */
#include "gpu/calibrate/walsh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/protocol.h"
#include "gpu/calibrate/dense.h"
#include "gpu/calibrate/maps_simd.h"
#include "gpu/calibrate/reference.h"

struct bs_walsh {
	struct bs_walsh_spec s;
	struct bs_team *team;
	const struct bs_maps_kernels *simd;
	double *gram, *value; /* [coils][coils] complex matrix, then its vector [coils] */
	void *work;           /* workspace of LAPACK */
	float *reference;     /* phase reference [coil] complex */
	float *rows;          /* rows under the box, [member][coil][row][re, im][width] */
	float *scratch;       /* [member]: bs_maps_scratch floats */
	/* floats of a row: half, matrix, half, and a vector that is read beyond the end */
	uint32_t width;
	uint32_t box_rows; /* rows of a coil under the box */
	size_t rows_stride, scratch_stride;
	/* These members belong to the run in progress. */
	const float *images;
	float *maps;
	float scale;
};

static int size(struct bs_walsh *w, const struct bs_walsh_spec *s, struct bs_fail *why)
{
	memset(w, 0, sizeof(*w));
	w->s = *s;
	if (s->coils == 0 || s->coils > BS_COILS_MAX)
		return bs_fail(why, BS_ERR_CONFIG, "coil maps: %u coils (at most %u)", s->coils,
			       BS_COILS_MAX);
	for (int a = 0; a < 3; a++)
		if (s->matrix[a] == 0 || s->matrix[a] > 4096 || s->half[a] > BS_WALSH_HALF_MAX)
			return bs_fail(why, BS_ERR_CONFIG,
				       "coil maps: matrix %c is %u, half a box %u (at most %u)",
				       "xyz"[a], s -> matrix[a], s -> half[a], BS_WALSH_HALF_MAX);
	w->box_rows = (2 * s->half[1] + 1) * (2 * s->half[2] + 1);
	w->width = bs_maps_padded(s->matrix[0] + 2 * s->half[0] + BS_MAPS_PAD);
	w->rows_stride = (size_t)2 * w->width * w->box_rows * s->coils;
	w->scratch_stride = bs_maps_padded((uint32_t)bs_maps_scratch(s->coils));
	return 0;
}

int bs_walsh_need(const struct bs_walsh_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct bs_walsh w;
	int rc = size(&w, s, why);

	if (rc != 0)
		return rc;
	bs_need_add(need, "reference coil", 1,
		    bs_slot((uint64_t)s->coils * s->coils * 16) + bs_slot(s->coils * 8u) * 2 +
			    bs_dense_eigen_bytes(s->coils));
	bs_need_add(need, "rows of images", BS_TEAM_MAX, w.rows_stride * 4);
	bs_need_add(need, "eigenvectors of voxels", BS_TEAM_MAX, w.scratch_stride * 4);
	return 0;
}

int bs_walsh_plan(struct bs_walsh **plan, const struct bs_walsh_spec *s, struct bs_arena *arena,
		  struct bs_team *team, struct bs_fail *why)
{
	struct bs_walsh *w = calloc(1, sizeof(*w));
	int rc = w == NULL ? bs_fail(why, BS_ERR_NOMEM, "coil maps") : size(w, s, why);

	if (rc == 0)
		rc = bs_dense_open(why);
	if (rc == 0) {
		w->gram = bs_arena_take(arena, (size_t)s->coils * s->coils * 16, BS_ALIGN);
		w->value = bs_arena_take(arena, s->coils * 8u, BS_ALIGN);
		w->work = bs_arena_take(arena, bs_dense_eigen_bytes(s->coils), BS_ALIGN);
		w->reference = bs_arena_take(arena, s->coils * 8u, BS_ALIGN);
		w->rows = bs_arena_take(arena, BS_TEAM_MAX * w->rows_stride * 4, BS_ALIGN);
		w->scratch = bs_arena_take(arena, BS_TEAM_MAX * w->scratch_stride * 4, BS_ALIGN);
		if (w->scratch == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "coil maps: the arena is too small");
	}
	if (rc != 0) {
		free(w);
		return rc;
	}
	w->team = team;
	w->simd = BS_ISA_PICK(bs_maps_kernels);
	*plan = w;
	return 0;
}

void bs_walsh_close(struct bs_walsh *w)
{
	free(w);
}

/*
 * Copies a row of a coil's image, real and imaginary parts apart, with zeros outside of the image.
 */
static void take_row(const struct bs_walsh *w, float *to, uint32_t coil, int64_t y, int64_t z)
{
	const uint32_t *n = w->s.matrix;
	const float *from = w->images;

	memset(to, 0, (size_t)2 * w->width * sizeof(*to));
	if (y < 0 || y >= n[1] || z < 0 || z >= n[2])
		return;
	from += 2 * ((((size_t)coil * n[2] + (size_t)z) * n[1] + (size_t)y) * n[0]);
	to += w->s.half[0];
	for (uint32_t x = 0; x < n[0]; x++) {
		to[x] = from[2 * x] * w->scale;
		to[w->width + x] = from[2 * x + 1] * w->scale;
	}
}

static void make_row(void *arg, int task, int member)
{
	const struct bs_walsh *w = arg;
	const struct bs_walsh_spec *s = &w->s;
	const size_t voxels = (size_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	const int64_t y = (uint32_t)task % s->matrix[1];
	const int64_t z = (uint32_t)task / s->matrix[1];
	float *rows = w->rows + (size_t)member * w->rows_stride;
	float *to = rows;
	const struct bs_maps_row r = {
		.coils = s->coils,
		.sets = 1,
		.n = s->matrix[0],
		.reference = w->reference,
		.maps = w->maps + 2 * (size_t)task * s->matrix[0],
		.coil_stride = voxels,
		.scratch = w->scratch + (size_t)member * w->scratch_stride,
	};

	for (uint32_t c = 0; c < s->coils; c++)
		for (int64_t dz = -(int64_t)s->half[2]; dz <= s->half[2]; dz++)
			for (int64_t dy = -(int64_t)s->half[1]; dy <= s->half[1]; dy++) {
				take_row(w, to, c, y + dy, z + dz);
				to += 2 * (size_t)w->width;
			}
	w->simd->covariance(&r, rows, w->box_rows, w->width, s->half[0]);
}

int bs_walsh_run(struct bs_walsh *w, const float *images, float *maps, struct bs_fail *why)
{
	const struct bs_walsh_spec *s = &w->s;
	const size_t voxels = (size_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	int rc = bs_reference(w->reference, s->coils, voxels, images, w->gram, w->value, w->work,
			      why);

	if (rc != 0)
		return rc;
	if (!(w->value[0] > 0.0))
		return bs_fail(why, BS_ERR_VALUE, "coil maps: the coil images are all zero");
	w->images = images;
	w->maps = maps;
	/* keeps squares far from the limits of float */
	w->scale = (float)sqrt((double)voxels / w->value[0]);
	bs_team_run(w->team, make_row, w, (int)(s->matrix[1] * s->matrix[2]));
	return 0;
}

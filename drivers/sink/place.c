/* drivers/sink/place.c - see place.h */
#include "drivers/sink/place.h"

#include <math.h>
#include <string.h>

#define OFF 1e-3 /* tolerance of directions: singles, sometimes made from angles in degrees */

static double dot(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Makes the directions exactly orthogonal and of length 1; they are so to 1e-3 already. */
static void straighten(double dir[3][3])
{
	for (int a = 0; a < 3; a++) {
		double length;

		for (int b = 0; b < a; b++) {
			const double along = dot(dir[a], dir[b]);

			for (int d = 0; d < 3; d++)
				dir[a][d] -= along * dir[b][d];
		}
		length = sqrt(dot(dir[a], dir[a]));
		for (int d = 0; d < 3; d++)
			dir[a][d] /= length;
	}
}

static int check_axes(const struct bs_place *p, const struct bs_mrd_image *head,
		      struct bs_fail *why)
{
	static const char *const names[] = { "read_dir", "phase_dir", "slice_dir" };

	for (int a = 0; a < 3; a++) {
		const double length = sqrt(dot(p->dir[a], p->dir[a]));

		if (!(fabs(length - 1.0) <= OFF))
			return bs_fail(why, BS_ERR_SIZE, "image %u: its %s has the length %g",
				       head->image_index, names[a], length);
		for (int b = 0; b < a; b++)
			if (!(fabs(dot(p->dir[a], p->dir[b])) <= OFF))
				return bs_fail(why, BS_ERR_SIZE,
					       "image %u: %s and %s are not at right angles",
					       head->image_index, names[b], names[a]);
	}
	return 0;
}

int bs_place_of(struct bs_place *p, const struct bs_mrd_image *head, struct bs_fail *why)
{
	struct bs_mrd_image h = *head; /* a copy, since the structure's fields are packed */
	float dir[3][3];
	float position[3];
	float fov[3];
	int rc;

	memcpy(dir[0], h.read_dir, sizeof(dir[0]));
	memcpy(dir[1], h.phase_dir, sizeof(dir[1]));
	memcpy(dir[2], h.slice_dir, sizeof(dir[2]));
	memcpy(position, h.position, sizeof(position));
	memcpy(fov, h.field_of_view, sizeof(fov));
	for (int a = 0; a < 3; a++) {
		for (int d = 0; d < 3; d++)
			p->dir[a][d] = (double)dir[a][d];
		p->spacing[a] = (double)fov[a] / h.matrix_size[a];
		if (h.matrix_size[a] == 0 || !(fov[a] > 0.0f) || !isfinite(fov[a]) ||
		    !isfinite(position[a]))
			return bs_fail(why, BS_ERR_SIZE,
				       "image %u: a field of view of %g mm along %c, at %g",
				       h.image_index, (double)fov[a], "xyz"[a],
				       (double)position[a]);
	}
	rc = check_axes(p, head, why);
	if (rc != 0)
		return rc;
	straighten(p->dir);
	for (int d = 0; d < 3; d++) {
		p->first[d] = (double)position[d];
		for (int a = 0; a < 3; a++) {
			p->step[a][d] = p->spacing[a] * p->dir[a][d];
			p->first[d] -= p->step[a][d] * (h.matrix_size[a] / 2);
		}
	}
	return 0;
}

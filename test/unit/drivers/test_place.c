/* test/unit/drivers/test_place.c - where voxels lie, and heads that do not say it */
/* Holds: I3, I4 */
#include "test/support/check.h"

#include <string.h>

#include "drivers/sink/sink.h"

static struct bs_mrd_image head(void)
{
	struct bs_mrd_image h;

	memset(&h, 0, sizeof(h));
	h.image_index = 7;
	h.matrix_size[0] = 8;
	h.matrix_size[1] = 5;
	h.matrix_size[2] = 1;
	h.field_of_view[0] = 16.0f;
	h.field_of_view[1] = 15.0f;
	h.field_of_view[2] = 4.0f;
	h.position[0] = 10.0f;
	h.position[1] = -20.0f;
	h.position[2] = 30.0f;
	h.read_dir[1] = 1.0f; /* rows run to the back */
	h.phase_dir[2] = -1.0f;
	h.slice_dir[0] = -1.0f;
	return h;
}

static void known(void)
{
	struct bs_mrd_image h = head();
	struct bs_fail why = { 0 };
	struct bs_place p;

	/* by hand: voxel (4, 2, 0) is at the position, rows of 2 mm, columns of 3 mm */
	CHECK(bs_place_of(&p, &h, &why) == 0, "a place %s", why.text);
	CHECK(p.spacing[0] == 2.0 && p.spacing[1] == 3.0 && p.spacing[2] == 4.0, "its spacing");
	CHECK(p.first[0] == 10.0 && p.first[1] == -28.0 && p.first[2] == 36.0,
	      "its first voxel: %g %g %g", p.first[0], p.first[1], p.first[2]);
	CHECK(p.step[0][1] == 2.0 && p.step[1][2] == -3.0 && p.step[2][0] == -4.0, "its steps");
}

static void refused(struct bs_mrd_image *h, const char *what)
{
	struct bs_fail why = { 0 };
	struct bs_place p;

	CHECK(bs_place_of(&p, h, &why) == BS_ERR_SIZE && strstr(why.text, what) != NULL &&
		      strstr(why.text, "image 7") != NULL,
	      "%s: %s", what, why.text);
}

static void unsaid(void)
{
	struct bs_mrd_image h = head();

	h.field_of_view[1] = 0.0f;
	refused(&h, "along y");
	h = head();
	h.field_of_view[2] = INFINITY;
	refused(&h, "along z");
	h = head();
	h.position[0] = NAN;
	refused(&h, "along x");
	h = head();
	h.matrix_size[0] = 0;
	refused(&h, "along x");
	h = head();
	h.read_dir[1] = 0.0f;
	refused(&h, "read_dir has the length 0");
	h = head();
	h.slice_dir[0] = NAN;
	refused(&h, "slice_dir has the length");
	h = head();
	h.slice_dir[0] = 0.0f;
	h.slice_dir[1] = 1.0f;
	refused(&h, "read_dir and slice_dir are not at right angles");
}

/* Directions that are a little off are set straight: what leaves is a rotation. */
static void straight(void)
{
	struct bs_mrd_image h = head();
	struct bs_place p;
	double most = 0.0;

	h.phase_dir[1] = 9e-4f;
	h.slice_dir[2] = -8e-4f;
	CHECK(bs_place_of(&p, &h, NULL) == 0, "directions to 1e-3");
	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 3; b++) {
			double sum = a == b ? -1.0 : 0.0;

			for (int d = 0; d < 3; d++)
				sum += p.dir[a][d] * p.dir[b][d];
			most = fmax(most, fabs(sum));
		}
	CHECK(most < 1e-12, "leave at right angles and of length 1 (%g)", most);
}

int main(void)
{
	known();
	unsaid();
	straight();
	return check_done();
}

/*
 * test/unit/core/study/test_anatomy.c - an image put on another grid: known functions at oblique
 * voxel centers, the mean over larger voxels, what lies beyond; the mask with its holes and margin
 */
#include "core/study/anatomy.h"

#include <string.h>

#include "test/support/check.h"

#define N 24

static float magnitude[N * N * N], image[N * N * N][2], mask[N * N * N][2];
static struct bs_fail why;

static struct bs_grid grid(uint32_t x, uint32_t y, uint32_t z, float voxel_mm)
{
	struct bs_grid g = { .matrix = { x, y, z },
			     .fov_mm = { (float)x * voxel_mm, (float)y * voxel_mm,
					 (float)z * voxel_mm },
			     .pose = { .read_dir = { 1.0f, 0.0f, 0.0f },
				       .phase_dir = { 0.0f, 1.0f, 0.0f },
				       .slice_dir = { 0.0f, 0.0f, 1.0f } } };

	return g;
}

/* Turns a grid's axes by a about z, then by b about the patient's x. */
static void turn(struct bs_grid *g, double a, double b)
{
	float *dir[] = { g->pose.read_dir, g->pose.phase_dir, g->pose.slice_dir };
	const double axes[3][3] = { { cos(a), sin(a) * cos(b), sin(a) * sin(b) },
				    { -sin(a), cos(a) * cos(b), cos(a) * sin(b) },
				    { 0.0, -sin(b), cos(b) } };

	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			dir[i][j] = (float)axes[i][j];
}

/* Where a voxel's center lies, by the definition: position is the center of voxel matrix/2. */
static void center(double mm[3], const struct bs_grid *g, const uint32_t at[3])
{
	const float *dir[] = { g->pose.read_dir, g->pose.phase_dir, g->pose.slice_dir };

	for (int i = 0; i < 3; i++) {
		mm[i] = (double)g->pose.position[i];
		for (int a = 0; a < 3; a++)
			mm[i] += ((double)at[a] - g->matrix[a] / 2u) * (double)g->fov_mm[a] /
				 g->matrix[a] * (double)dir[a][i];
	}
}

static double ramp(const double mm[3])
{
	return 100.0 + mm[0] - 0.5 * mm[1] + 0.25 * mm[2];
}

/* A linear function of the place is told exactly by linear interpolation, and by any mean. */
static void test_ramp(const char *what, const struct bs_grid *to, const struct bs_grid *from)
{
	double worst = 0.0;
	uint64_t beyond = 0;
	uint64_t v = 0;
	double mm[3];
	int rc;

	for (uint32_t z = 0; z < from->matrix[2]; z++)
		for (uint32_t y = 0; y < from->matrix[1]; y++)
			for (uint32_t x = 0; x < from->matrix[0]; x++) {
				center(mm, from, (uint32_t[]){ x, y, z });
				magnitude[v++] = (float)ramp(mm);
			}
	rc = bs_anatomy_resample(&image[0][0], to, magnitude, from, &why);
	v = 0;
	for (uint32_t z = 0; z < to->matrix[2]; z++)
		for (uint32_t y = 0; y < to->matrix[1]; y++)
			for (uint32_t x = 0; x < to->matrix[0]; x++, v++) {
				center(mm, to, (uint32_t[]){ x, y, z });
				if (image[v][0] == BS_ANATOMY_BEYOND)
					beyond++;
				else
					worst = fmax(worst, fabs((double)image[v][0] - ramp(mm)));
			}
	CHECK(rc == 0 && beyond < v / 2 && worst < 2e-4,
	      "%s: a ramp is told to %.1e, %d of %d beyond", what, worst, (int)beyond, (int)v);
}

static void test_place(void)
{
	struct bs_grid from = grid(20, 22, 24, 2.0f);
	struct bs_grid to = grid(9, 8, 7, 2.0f);

	test_ramp("the same axes", &to, &from);
	to.pose.position[0] = 3.7f;
	from.pose.position[2] = -4.1f;
	test_ramp("another position", &to, &from);
	turn(&to, 0.4, 0.3);
	test_ramp("oblique", &to, &from);
	turn(&from, -0.2, 1.1);
	test_ramp("both oblique", &to, &from);
	to = grid(4, 3, 3, 5.3f);
	turn(&to, 0.4, 0.3);
	from.pose.position[2] = 0.0f;
	test_ramp("larger voxels, oblique", &to, &from);
	to = grid(9, 9, 9, 0.7f);
	turn(&to, 0.4, 0.3);
	test_ramp("smaller voxels", &to, &from);
}

/* A checkerboard is 0.5 in voxels twice as large: no edge aliases. */
static void test_mean(void)
{
	const struct bs_grid from = grid(N, N, N, 1.0f);
	const struct bs_grid to = grid(8, 8, 8, 2.0f);
	float least = 2.0f;
	float most = 0.0f;

	for (int v = 0; v < N * N * N; v++)
		magnitude[v] = (float)((v % N + v / N % N + v / N / N) % 2);
	(void)bs_anatomy_resample(&image[0][0], &to, magnitude, &from, &why);
	for (int v = 0; v < 512; v++) {
		least = fminf(least, image[v][0]);
		most = fmaxf(most, image[v][0]);
	}
	CHECK(least == 0.5f && most == 0.5f, "a mean over larger voxels: %g to %g", (double)least,
	      (double)most);
}

static void refuse(const char *what, const struct bs_grid *to, const struct bs_grid *from,
		   const char *words)
{
	int rc = bs_anatomy_resample(&image[0][0], to, magnitude, from, &why);

	if (rc == 0)
		rc = bs_anatomy_mask(&mask[0][0], &image[0][0], to->matrix, 0.1, 1.5, &why);
	CHECK(rc == BS_ERR_CALIBRATION && strstr(why.text, words) != NULL, "%s: %s", what,
	      why.text);
}

/* A ball of radius 6 with a hollow of radius 3, about the grid's center, in so many planes. */
static void make_ball(int planes)
{
	for (int v = 0; v < N * N * planes; v++) {
		const double x = v % N - N / 2;
		const double y = v / N % N - N / 2;
		const double z = v / N / N - planes / 2;
		const double r = sqrt(x * x + y * y + z * z);

		magnitude[v] = r <= 6.0 && r > 3.0 ? 1.0f : 0.02f;
	}
}

static void test_mask(void)
{
	const struct bs_grid from = grid(N, N, N, 1.0f);
	struct bs_grid to = from;
	int wrong = 0;
	int rc;

	make_ball(N);
	rc = bs_anatomy_resample(&image[0][0], &to, magnitude, &from, &why);
	CHECK(rc == 0 && image[5][0] == magnitude[5] && image[N * N * N / 2][0] == 0.02f,
	      "on its own grid an image is what it was");
	rc = bs_anatomy_mask(&mask[0][0], &image[0][0], to.matrix, 0.1, 2.0, &why);
	for (int v = 0; v < N * N * N; v++) {
		const int x = v % N - N / 2;
		const int y = v / N % N - N / 2;
		const int z = v / N / N - N / 2;
		bool in = false;

		for (int i = 0; i < 125 && !in; i++) {
			const int dx = i % 5 - 2;
			const int dy = i / 5 % 5 - 2;
			const int dz = i / 25 - 2;
			const int far =
				(x + dx) * (x + dx) + (y + dy) * (y + dy) + (z + dz) * (z + dz);

			in = dx * dx + dy * dy + dz * dz <= 4 && far <= 36;
		}
		wrong += in != (mask[v][0] != 0.0f || mask[v][1] != 0.0f);
	}
	CHECK(rc == 0 && wrong == 0, "the mask is the ball, its hollow, and 2 voxels: %d differ",
	      wrong);
}

static void test_refusals(void)
{
	const struct bs_grid from = grid(N, N, N, 1.0f);
	const struct bs_grid slab = grid(N, N, 8, 1.0f);
	struct bs_grid to = from;

	make_ball(8);
	refuse("an object that the image cuts", &to, &slab, "ends within the object");
	make_ball(N);
	to.pose.position[0] = 40.0f;
	refuse("another place", &to, &from, "no object in common");
	to = from;
	to.pose.slice_dir[2] = 0.0f;
	refuse("no direction", &to, &from, "the scan does not tell three directions");
	to = from;
	to.pose.read_dir[1] = 0.5f;
	refuse("no right angle", &to, &from, "right angles");
	to = from;
	to.fov_mm[1] = 0.0f;
	refuse("no field of view", &from, &to, "the earlier image does not tell its field of view");
}

/* One slice: the mask is flat, and its rim is that of the plane. */
static void test_slice(void)
{
	const struct bs_grid from = grid(N, N, N, 1.0f);
	struct bs_grid to = grid(N, N, 1, 1.0f);
	int in = 0;
	int rc;

	make_ball(N);
	to.fov_mm[2] = 1.0f;
	rc = bs_anatomy_resample(&image[0][0], &to, magnitude, &from, &why);
	if (rc == 0)
		rc = bs_anatomy_mask(&mask[0][0], &image[0][0], to.matrix, 0.1, 0.0, &why);
	for (int v = 0; v < N * N; v++)
		in += mask[v][0] != 0.0f;
	CHECK(rc == 0 && in == 113, "a slice through the ball, its hollow filled: %d voxels", in);
}

int main(void)
{
	test_place();
	test_mean();
	test_mask();
	test_refusals();
	test_slice();
	return check_done();
}

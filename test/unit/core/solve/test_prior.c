/*
 * test/unit/core/solve/test_prior.c - W from references: rows, weights at edges, mask, shared
 * edges
 */
#include "core/solve/prior.h"

#include <stdbool.h>
#include <string.h>

#include "test/support/check.h"

#define NX     6
#define NY     5
#define NZ     4
#define VOXELS (NX * NY * NZ)

static float image[2][VOXELS][2];
static float mask[VOXELS][2];

static size_t voxel(int x, int y, int z)
{
	return ((size_t)z * NY + (size_t)y) * NX + (size_t)x;
}

static struct bs_prior_spec spec(uint32_t neighbors)
{
	struct bs_prior_spec s = { .dims = neighbors == 4 || neighbors == 8 ? 2 : 3,
				   .matrix = { NX, NY, NZ },
				   .neighbors = neighbors,
				   .images = 1,
				   .edge = 0.1,
				   .outside = 2.0 };

	if (s.dims == 2)
		s.matrix[2] = 1;
	return s;
}

/* The weight of the row that joins two voxels; 0 when there is none, NaN when it is not +w, -w. */
static double joins(const struct bs_csr *w, size_t a, size_t b)
{
	for (uint64_t r = 0; r < w->rows; r++) {
		uint64_t e = w->start[r];

		if (w->start[r + 1] - e == 2 && w->col[e] == (a < b ? a : b) &&
		    w->col[e + 1] == (a < b ? b : a))
			return w->value[e] == -w->value[e + 1] ? w->value[e] : NAN;
	}
	return 0.0;
}

static void test_rows(void)
{
	static const struct {
		uint32_t neighbors;
		uint64_t rows;
	} want[] = {
		/* pairs: along x, y, z; then the diagonals of planes, then of cubes */
		{ 4, 5 * 5 + 6 * 4 },
		{ 8, 5 * 5 + 6 * 4 + 2 * 5 * 4 },
		{ 6, 5 * 5 * 4 + 6 * 4 * 4 + 6 * 5 * 3 },
		{ 26, 5 * 5 * 4 + 6 * 4 * 4 + 6 * 5 * 3 + 2 * (5 * 4 * 4 + 5 * 5 * 3 + 6 * 4 * 3) +
			      4 * 5 * 4 * 3 },
	};

	for (size_t i = 0; i < VOXELS; i++)
		image[0][i][0] = 1.0f;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct bs_prior_spec s = spec(want[i].neighbors);
		struct bs_csr w;
		double off = 0.0;
		size_t n = (size_t)NX * NY * s.matrix[2];

		if (bs_prior_make(&w, &s, &image[0][0][0], NULL, NULL)) {
			CHECK(0, "%u neighbors", want[i].neighbors);
			continue;
		}
		CHECK(w.rows == want[i].rows && w.cols == n && w.entries == 2 * want[i].rows,
		      "%u neighbors: %llu pairs of %llu", want[i].neighbors,
		      (unsigned long long)w.rows, (unsigned long long)want[i].rows);
		/* every pair once, at its distance; a flat reference has no edges */
		for (uint64_t r = 0; r < w.rows; r++) {
			uint32_t a = w.col[w.start[r]];
			uint32_t b = w.col[w.start[r] + 1];
			int steps = abs((int)(a % NX) - (int)(b % NX)) +
				    abs((int)(a / NX % NY) - (int)(b / NX % NY)) +
				    abs((int)(a / NX / NY) - (int)(b / NX / NY));

			off = fmax(off, fabs(joins(&w, a, b) - 1.0 / sqrt(steps)));
		}
		CHECK(off < 1e-7, "%u neighbors: weights are 1/distance to %.1e", want[i].neighbors,
		      off);
		bs_csr_close(&w);
	}
}

static void test_edges(void)
{
	struct bs_prior_spec s = spec(6);
	struct bs_csr w;

	/* image 0 steps by 0.2 of its top between x = 2 and 3, image 1 (complex) by 0.1 at y = 1, 2
	 */
	for (int z = 0; z < NZ; z++)
		for (int y = 0; y < NY; y++)
			for (int x = 0; x < NX; x++) {
				float *a = image[0][voxel(x, y, z)];
				float *b = image[1][voxel(x, y, z)];

				a[0] = x > 2 ? 5.0f : 4.0f;
				a[1] = 0.0f;
				b[0] = 0.0f;
				b[1] = y > 1 ? 1.0f : 0.9f;
			}
	s.images = 2;
	if (bs_prior_make(&w, &s, &image[0][0][0], NULL, NULL)) {
		CHECK(0, "two images");
		return;
	}
	/* t^2 = (0.2/0.1)^2 and (0.1/0.1)^2 */
	double across_x = joins(&w, voxel(2, 0, 1), voxel(3, 0, 1));
	double across_y = joins(&w, voxel(4, 1, 2), voxel(4, 2, 2));
	double flat = joins(&w, voxel(4, 1, 2), voxel(4, 1, 3));

	CHECK(fabs(across_x - 0.2) < 1e-6 && fabs(across_y - 0.5) < 1e-6 && flat == 1.0,
	      "an edge of either image counts for all: weights %.4f, %.4f, %.4f", across_x,
	      across_y, flat);
	bs_csr_close(&w);
}

static void test_mask(void)
{
	struct bs_prior_spec s = spec(6);
	struct bs_csr w;
	uint64_t alone = 0;
	uint64_t wrong = 0;

	for (int z = 0; z < NZ; z++)
		for (int y = 0; y < NY; y++)
			for (int x = 0; x < NX; x++)
				mask[voxel(x, y, z)][1] = x > 1 ? 1.0f : 0.0f;
	if (bs_prior_make(&w, &s, &image[0][0][0], &mask[0][0], NULL)) {
		CHECK(0, "a mask");
		return;
	}
	for (uint64_t r = 0; r < w.rows; r++) {
		uint64_t e = w.start[r];

		if (w.start[r + 1] - e == 1) {
			alone++;
			wrong += w.value[e] != 2.0f || w.col[e] % NX > 1;
		} else {
			wrong += w.col[e] % NX < 2 || w.col[e + 1] % NX < 2;
		}
	}
	CHECK(alone == 2 * NY * NZ && !wrong && joins(&w, voxel(1, 1, 1), voxel(2, 1, 1)) == 0.0,
	      "%llu voxels outside have a row of their own, none joins the rim",
	      (unsigned long long)alone);
	bs_csr_close(&w);
}

/* The rows of w that are not all zeros are those of made, in their order. */
static bool same_rows(const struct bs_csr *w, const struct bs_csr *made)
{
	uint64_t at = 0;

	for (uint64_t r = 0; r < w->rows; r++) {
		const uint64_t e = w->start[r];
		const uint64_t n = w->start[r + 1] - e;

		if (w->value[e] == 0.0f)
			continue;
		if (at == made->rows || made->start[at + 1] - made->start[at] != n ||
		    memcmp(w->col + e, made->col + made->start[at], n * 4) != 0 ||
		    memcmp(w->value + e, made->value + made->start[at], n * 4) != 0)
			return false;
		at++;
	}
	return at == made->rows;
}

/* A whole W is filled for one image and mask after the other, and is the W made of each. */
static void test_whole(uint32_t neighbors)
{
	struct bs_prior_spec s = spec(neighbors);
	struct bs_csr whole, made, again;
	uint64_t seed = 5;
	int rc;

	s.whole = true;
	rc = bs_prior_make(&whole, &s, NULL, NULL, NULL);
	CHECK(rc == 0 &&
		      whole.rows * 8 + (whole.entries * 16) + whole.cols * 8 <= bs_prior_bytes(&s),
	      "%u neighbors: a whole W without an image", neighbors);
	for (int turn = 0; rc == 0 && turn < 3; turn++) {
		const struct bs_prior_spec plain = spec(neighbors);

		for (int v = 0; v < VOXELS; v++) {
			image[0][v][0] = (float)check_uniform(&seed);
			mask[v][0] = check_uniform(&seed) < 0.7 ? 1.0f : 0.0f;
			mask[v][1] = 0.0f;
		}
		rc = bs_prior_make(&made, &plain, &image[0][0][0], &mask[0][0], NULL);
		if (rc == 0)
			rc = bs_prior_fill(&whole, &s, &image[0][0][0], &mask[0][0], NULL);
		if (rc == 0)
			rc = bs_prior_make(&again, &s, &image[0][0][0], &mask[0][0], NULL);
		CHECK(rc == 0 && same_rows(&whole, &made), "filled, turn %d: the rows made", turn);
		CHECK(rc == 0 && memcmp(whole.t_value, again.t_value, again.entries * 4) == 0 &&
			      memcmp(whole.t_row, again.t_row, again.entries * 4) == 0 &&
			      memcmp(whole.t_start, again.t_start, (again.cols + 1) * 8) == 0,
		      "filled, turn %d: its transpose", turn);
		bs_csr_close(&made);
		bs_csr_close(&again);
	}
	bs_csr_close(&whole);
}

static void refuse(const char *what, const struct bs_prior_spec *s, const float *m, int want)
{
	struct bs_fail why = { 0 };
	struct bs_csr w;
	int rc = bs_prior_make(&w, s, &image[0][0][0], m, &why);

	CHECK(rc == want, "%s: %s", what, why.text);
	if (rc == 0)
		bs_csr_close(&w);
}

static void test_refused(void)
{
	struct bs_prior_spec s = spec(6);

	s.neighbors = 8;
	refuse("8 neighbors in 3D", &s, NULL, BS_ERR_SIZE);
	s = spec(4);
	s.matrix[2] = 4;
	refuse("2D with 4 slices", &s, NULL, BS_ERR_SIZE);
	s = spec(6);
	s.matrix[1] = 0;
	refuse("no voxels", &s, NULL, BS_ERR_SIZE);
	s = spec(6);
	s.edge = 0.0;
	refuse("no edge", &s, NULL, BS_ERR_VALUE);
	s = spec(6);
	s.images = 0;
	refuse("no image", &s, NULL, BS_ERR_SIZE);
	s = spec(26);
	s.matrix[0] = s.matrix[1] = s.matrix[2] = 4096;
	refuse("too large", &s, NULL, BS_ERR_SIZE);
	s = spec(6);
	memset(mask, 0, sizeof(mask));
	refuse("an empty mask", &s, &mask[0][0], BS_ERR_SIZE);
	image[0][77][1] = NAN;
	refuse("NaN", &s, NULL, BS_ERR_VALUE);
	memset(image[0], 0, sizeof(image[0]));
	refuse("all zero", &s, NULL, BS_ERR_VALUE);
}

int main(void)
{
	test_rows();
	test_edges();
	test_mask();
	test_whole(4);
	test_whole(6);
	test_whole(26);
	test_refused();
	return check_done();
}

/* test/unit/gpu/test_nufft.c - the host NUFFT against a direct sum in double precision */
#define _GNU_SOURCE /* M_PI */
#include "test/support/nufft_exact.h"

static void accuracies(void)
{
	static const struct {
		uint32_t dims, n[3], coils;
		uint64_t samples;
	} row[] = {
		{ 1, { 64, 1, 1 }, 1, 300 },  { 1, { 33, 1, 1 }, 3, 200 },
		{ 2, { 32, 24, 1 }, 1, 900 }, { 2, { 25, 33, 1 }, 2, 700 },
		{ 2, { 31, 16, 1 }, 8, 500 }, { 3, { 14, 12, 10 }, 1, 500 },
		{ 3, { 11, 9, 13 }, 3, 400 }, { 3, { 12, 10, 9 }, 8, 300 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		for (int digits = 1; digits <= 6; digits++) {
			struct bs_nufft_spec s = { .dims = row[i].dims,
						   .coils = row[i].coils,
						   .samples = row[i].samples,
						   .states = 1,
						   .accuracy = pow(10.0, -digits) };

			memcpy(s.matrix, row[i].n, sizeof(s.matrix));
			float *k = digits % 2 != 0 ? radial(s.dims, s.samples)
						   : random_floats(s.samples * s.dims, 0.49999);
			float *w = random_floats(s.samples, 1.0);

			against_exact(&s, k, i % 2 != 0 ? w : NULL, s.accuracy,
				      digits % 2 != 0 ? "radial" : "random");
			free(k);
			free(w);
		}
}

static void widths(void)
{
	/* bounds: the aliasing error of Beatty's fig. 3 for the pair, both axes, and a margin of
	 * 2 */
	static const struct {
		enum bs_window window;
		double width, oversampling, bound;
	} row[] = {
		{ BS_WINDOW_KAISER_BESSEL, 4, 2, 1.2e-3 },
		{ BS_WINDOW_KAISER_BESSEL, 5.5, 1.375, 2e-3 },
		{ BS_WINDOW_KAISER_BESSEL, 3, 1.25, 8e-2 },
		{ BS_WINDOW_KAISER_BESSEL, 8, 1.25, 5e-5 },
		{ BS_WINDOW_GAUSS, 6, 2, 2e-3 },
		{ BS_WINDOW_GAUSS, 7.5, 1.5, 3e-3 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bs_nufft_spec s = { .dims = 2,
					   .matrix = { 24, 21, 1 },
					   .coils = 1 + 2 * (i & 1),
					   .samples = 600,
					   .states = 1,
					   .window = row[i].window,
					   .width = row[i].width,
					   .oversampling = row[i].oversampling };
		float *k = random_floats(s.samples * 2, 0.5);

		against_exact(&s, k, NULL, row[i].bound,
			      row[i].window == BS_WINDOW_GAUSS ? "gauss" : "kaiser-bessel");
		free(k);
	}
	for (int digits = 1; digits <= 5; digits++) {
		struct bs_nufft_spec s = { .dims = 2,
					   .matrix = { 24, 21, 1 },
					   .coils = 1,
					   .samples = 600,
					   .states = 1,
					   .window = BS_WINDOW_GAUSS,
					   .accuracy = pow(10.0, -digits) };
		float *k = random_floats(s.samples * 2, 0.5);

		against_exact(&s, k, NULL, s.accuracy, "gauss by accuracy");
		free(k);
	}
}

static void tiny(void)
{
	static const uint32_t n[][3] = { { 1, 1, 1 },  { 2, 1, 1 }, { 3, 2, 1 },
					 { 1, 1, 16 }, { 2, 1, 3 }, { 1, 5, 1 } };
	static const uint64_t samples[] = { 1, 2, 7 };

	for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++)
		for (size_t j = 0; j < 3; j++)
			for (uint32_t dims = n[i][2] > 1   ? 3
					     : n[i][1] > 1 ? 2
							   : 1;
			     dims <= 3; dims++) {
				struct bs_nufft_spec s = { .dims = dims,
							   .coils = 1 + (uint32_t)j,
							   .samples = samples[j],
							   .states = 1,
							   .accuracy = 1e-5 };
				float *k = random_floats(s.samples * dims, 0.5);

				memcpy(s.matrix, n[i], sizeof(s.matrix));
				k[0] = j == 1 ? 0.5f : -0.5f;
				/* one to 14 values: each may be off by several times its root
				 * mean square, and is small itself now and then */
				against_exact(&s, k, NULL, 5e-5, "tiny");
				free(k);
			}
}

static void many_coils(void)
{
	static const uint32_t coils[] = { 4, 5, 9, 13 };

	for (size_t i = 0; i < 4; i++) {
		struct bs_nufft_spec s = { .dims = 2,
					   .matrix = { 20, 18, 1 },
					   .coils = coils[i],
					   .samples = 300,
					   .states = 1,
					   .accuracy = 1e-4 };
		float *k = random_floats(s.samples * 2, 0.5);

		against_exact(&s, k, NULL, 1e-4, "coils");
		free(k);
	}
}
static void stacks(void)
{
	static const struct {
		uint32_t nz, partitions, coils;
	} row[] = { { 8, 8, 1 }, { 14, 14, 2 }, { 9, 8, 1 }, { 5, 5, 3 }, { 16, 14, 1 } };

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bs_nufft_spec s = { .dims = 3,
					   .matrix = { 12, 15, row[i].nz },
					   .coils = row[i].coils,
					   .samples = 64ull * row[i].partitions,
					   .states = 1,
					   .accuracy = 1e-4 };
		float *k = stack(row[i].nz, 64, row[i].partitions, i % 2 == 0);
		float *w = random_floats(s.samples, 1.0);
		struct bench b;
		struct bs_nufft_info info = { .route = "" };

		if (open_plan(&b, &s, k, w, team) == 0)
			bs_nufft_info(b.plan, &info);
		CHECK(strcmp(info.route, "stack") == 0, "stack of %u partitions is found: %s",
		      row[i].partitions, info.route);
		close_plan(&b);
		against_exact(&s, k, NULL, 1e-4, "stack");
		against_exact(&s, k, w, 1e-4, "stack weighted");
		k[2] += 1e-4f; /* no longer one */
		against_exact(&s, k, NULL, 1e-4, "not a stack");
		free(k);
		free(w);
	}
}

/* One plan for one path after the other: to the bit what a plan of that path computes. */
static void paths(void)
{
	static const struct {
		uint32_t dims, n[3], coils;
		uint64_t samples;
	} row[] = { { 2, { 25, 33, 1 }, 1, 5000 },
		    { 2, { 31, 16, 1 }, 8, 700 },
		    { 3, { 11, 9, 13 }, 3, 400 },
		    { 3, { 12, 10, 9 }, 13, 300 } };

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bs_nufft_spec s = { .dims = row[i].dims,
					   .coils = row[i].coils,
					   .samples = row[i].samples,
					   .accuracy = 1e-4,
					   .repath = true };
		struct bs_nufft_spec fixed = s;
		struct bs_fail why = { 0 };
		struct bench b;
		struct bench f;

		memcpy(s.matrix, row[i].n, sizeof(s.matrix));
		memcpy(fixed.matrix, row[i].n, sizeof(s.matrix));
		fixed.repath = false;
		if (open_plan(&b, &s, NULL, NULL, team) != 0) {
			CHECK(0, "a plan without a path");
			close_plan(&b);
			continue;
		}
		float *data = random_floats(b.data_floats, 1.0);
		float *image = random_floats(b.image_floats, 1.0);
		float *got = malloc((b.image_floats + b.data_floats) * sizeof(float));
		float *want = malloc((b.image_floats + b.data_floats) * sizeof(float));

		for (int turn = 0; turn < 3; turn++) {
			float *k = turn == 1 ? radial(s.dims, s.samples)
					     : random_floats(s.samples * s.dims, 0.5);
			float *w = turn == 2 ? NULL : random_floats(s.samples, 1.0);
			int rc = open_plan(&f, &fixed, k, w, team);

			bs_nufft_adjoint(f.plan, data, want);
			bs_nufft_forward(f.plan, image, want + b.image_floats);
			CHECK(rc == 0 && bs_nufft_path(b.plan, k, w, &why) == 0, "path %d", turn);
			bs_nufft_adjoint(b.plan, data, got);
			bs_nufft_forward(b.plan, image, got + b.image_floats);
			CHECK(memcmp(got, want, (b.image_floats + b.data_floats) * 4) == 0,
			      "%uD, %u coils: the bytes of a plan of path %d", s.dims, s.coils,
			      turn);
			if (turn == 2) {
				struct exact x = exact_open(&s, k);

				exact_sum(&x, NULL, data, want, 1);
				double e = check_rel(got, want, b.image_floats);

				CHECK(e <= s.accuracy, "%uD, %u coils: %.1e of a direct sum",
				      s.dims, s.coils, e);
				exact_close(&x);
				k[3] = NAN;
				CHECK(bs_nufft_path(b.plan, k, w, &why) == BS_ERR_TRAJECTORY,
				      "no number is no path: %s", why.text);
			}
			close_plan(&f);
			free(k);
			free(w);
		}
		free(data);
		free(image);
		free(got);
		free(want);
		close_plan(&b);
	}
}

static void refusals(void)
{
	struct bs_nufft_spec good = { .dims = 2,
				      .matrix = { 16, 16, 1 },
				      .coils = 1,
				      .samples = 10,
				      .states = 1,
				      .accuracy = 1e-3 };
	struct bs_nufft_spec s = good;
	struct bs_need need = { .parts = 0 };
	struct bs_fail why;
	struct bench b;
	float *k = random_floats(20, 0.5);

	s.dims = 4;
	CHECK(bs_nufft_need(&s, &need, &why) == BS_ERR_CONFIG, "4 dimensions: %s", why.text);
	s = good;
	s.accuracy = 1e-9;
	CHECK(bs_nufft_need(&s, &need, &why) == BS_ERR_CONFIG, "accuracy: %s", why.text);
	s = good;
	s.dims = 3;
	s.matrix[0] = s.matrix[1] = s.matrix[2] = 256;
	s.samples = 100000000;
	s.coils = 32;
	s.accuracy = 1e-6;
	double has = bs_nufft_accuracy(&s);

	CHECK(bs_nufft_need(&s, &need, &why) == 0 && has > 5e-7 && has <= 1e-6,
	      "what a volume's transform has in single precision is said: %.1e for 1e-6", has);
	s = good;
	s.accuracy = 0;
	s.width = 40;
	s.oversampling = 2;
	CHECK(bs_nufft_need(&s, &need, &why) == BS_ERR_CONFIG, "width: %s", why.text);
	s.width = 4;
	s.oversampling = (double)NAN;
	CHECK(bs_nufft_need(&s, &need, &why) == BS_ERR_CONFIG, "oversampling: %s", why.text);
	s = good;
	s.samples = UINT64_MAX / 2;
	CHECK(bs_nufft_need(&s, &need, &why) == BS_ERR_SIZE, "samples: %s", why.text);
	s = good;
	s.dims = 3;
	s.matrix[0] = s.matrix[1] = s.matrix[2] = 65536;
	CHECK(bs_nufft_need(&s, &need, &why) == BS_ERR_SIZE, "matrix: %s", why.text);
	k[7] = 0.6f;
	CHECK(open_plan(&b, &good, k, NULL, team) == BS_ERR_TRAJECTORY,
	      "k out of range is refused");
	close_plan(&b);
	k[7] = NAN;
	CHECK(open_plan(&b, &good, k, NULL, team) == BS_ERR_TRAJECTORY,
	      "k that is not a number is refused");
	close_plan(&b);
	free(k);
}

int main(void)
{
	if (bs_team_open(&team, 2, NULL) != 0)
		return 1;
	refusals();
	accuracies();
	widths();
	tiny();
	many_coils();
	stacks();
	paths();
	bs_team_close(team);
	return check_done();
}

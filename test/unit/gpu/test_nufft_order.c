/* test/unit/gpu/test_nufft_order.c - the host NUFFT piece by piece and with any number of threads:
 * the same sums */
#define _GNU_SOURCE /* M_PI */
#include "test/support/nufft_exact.h"

/* Samples in an order of their own, in pieces, some of them never: as one adjoint of them all. */
static void incremental(const struct bs_nufft_spec *s, const float *k, const char *what)
{
	struct bench b;
	float *w = random_floats(s->samples, 1.0);

	if (open_plan(&b, s, k, w, team) != 0) {
		CHECK(0, "%s: plan", what);
		return;
	}
	float *data = random_floats(b.data_floats, 1.0);
	float *want = malloc(b.image_floats * sizeof(float));
	float *got = malloc(b.image_floats * sizeof(float));
	uint64_t piece = 37;
	uint64_t pieces = (s->samples + piece - 1) / piece;

	for (int missing = 0; missing < 2; missing++) {
		for (uint32_t c = 0; missing && c < s->coils; c++)
			memset(data + 2 * (c * s->samples + 2 * piece), 0,
			       2 * piece * sizeof(float));
		bs_nufft_adjoint(b.plan, data, want);
		for (int order = 0; order < 3; order++) {
			uint32_t state = s->states - 1;

			bs_nufft_begin(b.plan, state);
			for (uint64_t i = 0; order > 0 && i < pieces; i++) {
				uint64_t p = order == 1 ? i : pieces - 1 - i;
				uint64_t left = s->samples - p * piece;

				if (!missing || p != 2)
					bs_nufft_add(b.plan, state, p * piece,
						     left < piece ? left : piece,
						     data + 2 * p * piece, s->samples);
			}
			if (order == 0)
				bs_nufft_add(b.plan, state, 0, s->samples, data, s->samples);
			bs_nufft_finish(b.plan, state, got);
			CHECK(memcmp(got, want, b.image_floats * sizeof(float)) == 0,
			      "%s: %s%s equals one adjoint, bit for bit", what,
			      order == 0   ? "all at once"
			      : order == 1 ? "piece by piece"
					   : "backwards",
			      missing ? ", some never," : "");
		}
	}
	bs_nufft_begin(b.plan, 0);
	bs_nufft_finish(b.plan, 0, got);
	double sum = 0.0;

	for (size_t i = 0; i < b.image_floats; i++)
		sum += fabs((double)got[i]);
	CHECK(sum == 0.0, "%s: a frame without samples is zero", what);
	free(data);
	free(want);
	free(got);
	free(w);
	close_plan(&b);
}

static void increments(void)
{
	struct bs_nufft_spec s = { .dims = 2,
				   .matrix = { 64, 64, 1 },
				   .coils = 3,
				   .samples = 1000,
				   .states = 2,
				   .accuracy = 1e-3 };
	float *k = radial(2, s.samples);

	incremental(&s, k, "one chunk");
	s.chunk = 150;
	incremental(&s, k, "chunks of 150");
	s.coils = 11;
	s.chunk = 37;
	incremental(&s, k, "11 coils, chunks of 37");
	free(k);
	s = (struct bs_nufft_spec){ .dims = 3,
				    .matrix = { 16, 12, 8 },
				    .coils = 2,
				    .samples = 512,
				    .chunk = 64,
				    .states = 2,
				    .accuracy = 1e-3 };
	k = stack(8, 64, 8, 0);
	incremental(&s, k, "stack");
	free(k);
	k = random_floats(s.samples * 3, 0.5);
	incremental(&s, k, "3D");
	free(k);
}

/* The bytes must not depend on the number of threads. */
static void threads(void)
{
	static const struct {
		uint32_t dims, n[3], coils;
		uint64_t samples;
	} row[] = { { 2, { 96, 90, 1 }, 1, 20000 },
		    { 2, { 64, 64, 1 }, 8, 8000 },
		    { 3, { 24, 24, 24 }, 2, 9000 },
		    { 3, { 20, 20, 8 }, 1, 8 * 500 } };

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bs_nufft_spec s = { .dims = row[i].dims,
					   .coils = row[i].coils,
					   .samples = row[i].samples,
					   .states = 1,
					   .accuracy = 1e-4 };
		float *first = NULL;

		memcpy(s.matrix, row[i].n, sizeof(s.matrix));
		float *k = i == 3 ? stack(8, 500, 8, 0) : radial(s.dims, s.samples);
		float *data = random_floats(s.samples * s.coils * 2, 1.0);

		for (int members = 1; members <= 4; members++) {
			struct bs_team *t;
			struct bench b;

			if (bs_team_open(&t, members, NULL) != 0 ||
			    open_plan(&b, &s, k, NULL, t) != 0) {
				CHECK(0, "plan with %d threads", members);
				return;
			}
			size_t bytes = (b.image_floats + b.data_floats) * sizeof(float);
			float *got = malloc(bytes);

			bs_nufft_adjoint(b.plan, data, got);
			bs_nufft_forward(b.plan, got, got + b.image_floats);
			if (first == NULL)
				first = got;
			else
				CHECK(memcmp(first, got, bytes) == 0,
				      "%uD, %u coils: %d threads give the bytes of one", s.dims,
				      s.coils, members);
			if (first != got)
				free(got);
			close_plan(&b);
			bs_team_close(t);
		}
		free(first);
		free(k);
		free(data);
	}
}

int main(void)
{
	if (bs_team_open(&team, 2, NULL) != 0)
		return 1;
	increments();
	threads();
	bs_team_close(team);
	return check_done();
}

/*
 * test/unit/gpu/calibrate/test_grappa.c - GRAPPA against the equations of gpu/grappa/grappa.h,
 * written out
 * in double precision; the weights of calibration data that a kernel fits exactly
 */
#include "gpu/grappa/grappa.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/thread/team.h"
#include "gpu/calibrate/dense.h"
#include "gpu/grappa/noise.h"
#include "test/support/check.h"

#define TAU 6.28318530717958647692

struct trial {
	struct bs_grappa_spec s;
	struct bs_need need;
	struct bs_arena arena;
	struct bs_team *team;
	struct bs_grappa *plan;
	struct bs_grappa_lines cal;
	float *lines;            /* the calibration lines */
	double complex *cropped; /* the same of the field of view that is kept: [coil][z][y][x] */
	float *hybrid;           /* random where there is a line */
	uint8_t *have;
};

static uint32_t lines_of(const struct bs_grappa_spec *s)
{
	return s->encoded[1] * s->encoded[2];
}

/* The calibration lines cropped to `columns` voxels, by the sums that this is. */
static void crop(struct trial *t)
{
	const int E = (int)t->s.encoded[0];
	const int N = (int)t->s.columns;
	const size_t lines = (size_t)t->s.coils * t->s.lines[0] * t->s.lines[1];
	double complex *kernel = calloc((size_t)E * (size_t)N, sizeof(*kernel));

	for (int k = 0; k < N; k++)
		for (int j = 0; j < E; j++)
			for (int n = -(N / 2); n < N - N / 2; n++)
				kernel[k * E + j] +=
					cexp(I * TAU * n *
					     ((double)(j - E / 2) / E - (double)(k - N / 2) / N)) /
					E;
	for (size_t l = 0; l < lines; l++)
		for (int k = 0; k < N; k++)
			for (int j = 0; j < E; j++) {
				const float *d = t->lines + 2 * (l * (size_t)E + (size_t)j);

				t->cropped[l * (size_t)N + (size_t)k] +=
					kernel[k * E + j] * (d[0] + I * (double)d[1]);
			}
	free(kernel);
}

static void open_trial(struct trial *t, const struct bs_grappa_spec *s, int members, uint64_t *seed)
{
	struct bs_fail why = { 0 };
	const size_t cal = (size_t)s->coils * s->lines[0] * s->lines[1] * s->encoded[0];
	const size_t all = (size_t)s->coils * lines_of(s) * s->columns;

	memset(t, 0, sizeof(*t));
	t->s = *s;
	CHECK(bs_grappa_need(s, &t->need, &why) == 0 && !t->need.overflow, "need %s", why.text);
	CHECK(bs_arena_open(&t->arena, t->need.total_bytes, &why) == 0, "arena %s", why.text);
	CHECK(bs_team_open(&t->team, members, &why) == 0, "team %s", why.text);
	CHECK(bs_grappa_plan(&t->plan, s, &t->arena, t->team, &why) == 0, "plan %s", why.text);
	CHECK(t->arena.size - t->arena.used < BS_ALIGN, "need says what plan takes: %zu of %zu",
	      t->arena.used, t->arena.size);
	t->lines = malloc(cal * 8);
	t->hybrid = malloc(all * 8);
	t->have = malloc(lines_of(s));
	for (size_t i = 0; i < 2 * cal; i++)
		t->lines[i] = (float)(check_uniform(seed) - 0.5);
	for (size_t i = 0; i < 2 * all; i++)
		t->hybrid[i] = (float)(check_uniform(seed) - 0.5);
	t->cal = (struct bs_grappa_lines){ .at = t->lines,
					   .y_step = s->encoded[0],
					   .z_step = (size_t)s->encoded[0] * s->lines[0],
					   .lines = { s->lines[0], s->lines[1] },
					   .version = 1 };
	t->cal.coil_step = t->cal.z_step * s->lines[1];
	t->cropped = calloc(cal, sizeof(*t->cropped));
	crop(t);
}

static void close_trial(struct trial *t)
{
	bs_grappa_close(t->plan);
	bs_team_close(t->team);
	bs_arena_close(&t->arena);
	free(t->lines);
	free(t->cropped);
	free(t->hybrid);
	free(t->have);
}

/* A sample of the calibration lines; zero outside. */
static double complex sample(const struct trial *t, uint32_t coil, int x, int y, int z)
{
	const int *lines = (const int *)t->s.lines;

	if (x < 0 || x >= (int)t->s.columns || y < 0 || y >= lines[0] || z < 0 || z >= lines[1])
		return 0;
	return t->cropped[(((size_t)coil * t->s.lines[1] + (size_t)z) * t->s.lines[0] + (size_t)y) *
				  t->s.columns +
			  (size_t)x];
}

/* Unknown u of a neighborhood, [source][coil][x], at place x, y, z of the calibration lines. */
static double complex source(const struct trial *t, const struct bs_neighborhood *p, uint32_t u,
			     int x, int y, int z)
{
	const uint32_t kx = t->s.kernel[0];
	const uint32_t line = u / kx / t->s.coils;

	return sample(t, u / kx % t->s.coils, x + (int)(u % kx) - (int)kx / 2, y + p->dy[line],
		      z + p->dz[line]);
}

/* Tap of a kernel of so many that weights of that variant have (0: all; then one end each). */
static bool has_tap(uint32_t taps, uint32_t variant, uint32_t tap)
{
	const int reach = (int)taps / 2;
	const int end = (int)variant - 1;
	/* the sample's place: from the start, or, below 0, from behind the end */
	const int place = end < reach ? end : end - 2 * reach;
	const int at = place + (int)tap - reach;

	return variant == 0 || (place < 0 ? at < 0 : at >= 0);
}

/*
 * The largest difference of a variant's weights from (S^H S + l)^-1 S^H T, to the largest of them.
 * Those of an end are given as differences from the others.
 */
static double weights_error(const struct trial *t, const struct bs_neighborhood *p,
			    const float *weights, uint32_t variant)
{
	const uint32_t C = t->s.coils;
	const uint32_t all = p->sources * t->s.kernel[0] * C;
	const float *less = weights + (size_t)2 * all * C * variant;
	uint32_t *unknown = malloc(all * sizeof(*unknown));
	uint32_t n = 0;
	double square = 0;
	double worst = 0;
	double peak = 0;

	for (uint32_t u = 0; u < all; u++)
		if (has_tap(t->s.kernel[0], variant, u % t->s.kernel[0]))
			unknown[n++] = u;
	double complex *a = calloc((size_t)n * n, sizeof(*a));
	double complex *b = calloc((size_t)n * C, sizeof(*b));
	double complex *row = malloc(n * sizeof(*row));

	for (int z = 0; z < (int)t->s.lines[1]; z++)
		for (int y = 0; y < (int)t->s.lines[0]; y++)
			for (int x = 0; x < (int)t->s.columns; x++) {
				for (uint32_t i = 0; i < n; i++)
					row[i] = source(t, p, unknown[i], x, y, z);
				for (uint32_t i = 0; i < n; i++) {
					for (uint32_t j = 0; j < n; j++)
						a[i + (size_t)j * n] += conj(row[i]) * row[j];
					for (uint32_t c = 0; c < C; c++)
						b[i + (size_t)c * n] +=
							conj(row[i]) * sample(t, c, x, y, z);
				}
			}
	for (size_t i = 0; i < (size_t)n * n; i++)
		square += creal(a[i]) * creal(a[i]) + cimag(a[i]) * cimag(a[i]);
	for (uint32_t i = 0; i < n; i++)
		a[i + (size_t)i * n] += t->s.lambda * sqrt(square) / n;
	if (bs_dense_solve(n, C, (double *)a, (double *)b, NULL) != 0)
		worst = INFINITY;
	for (size_t c = 0; c < C; c++)
		for (uint32_t u = 0, i = 0; u < all; u++) {
			const size_t at = 2 * (c * all + u);
			const bool in = i < n && unknown[i] == u;
			const double complex want = in ? b[i + c * n] : 0;
			double complex got = weights[at] + I * (double)weights[at + 1];

			i += in;
			if (variant > 0)
				got += less[at] + I * (double)less[at + 1];
			worst = fmax(worst, cabs(got - want));
			peak = fmax(peak, cabs(want));
		}
	free(unknown);
	free(a);
	free(b);
	free(row);
	return worst / peak;
}

static int wrap(int k, uint32_t size, bool wrapped)
{
	const int n = (int)size;

	return wrapped ? (k - n / 2 + n) % n : k;
}

static const float *hybrid_at(const struct trial *t, const float *hybrid, uint32_t coil, int y,
			      int z, uint32_t x, bool wrapped)
{
	const size_t line = (size_t)wrap(z, t->s.encoded[2], wrapped) * t->s.encoded[1] +
			    (size_t)wrap(y, t->s.encoded[1], wrapped);

	return hybrid + 2 * ((coil * lines_of(&t->s) + line) * t->s.columns + x);
}

/* The k-space of all lines, along the readout: [coil][line][k] in the natural order. */
static double complex *to_k(const struct trial *t, bool wrapped)
{
	const int N = (int)t->s.columns;
	double complex *out =
		calloc((size_t)t->s.coils * lines_of(&t->s) * (size_t)N, sizeof(*out));
	double complex *turn = malloc((size_t)N * sizeof(*turn));

	for (int i = 0; i < N; i++)
		turn[i] = cexp(-I * TAU * i / N) / N;
	for (uint32_t c = 0; c < t->s.coils; c++)
		for (uint32_t l = 0; l < lines_of(&t->s); l++) {
			const float *in = hybrid_at(t, t->hybrid, c, (int)(l % t->s.encoded[1]),
						    (int)(l / t->s.encoded[1]), 0, wrapped);
			double complex *to = out + ((size_t)c * lines_of(&t->s) + l) * (size_t)N;

			for (int k = 0; k < N; k++)
				for (int x = 0; x < N; x++) {
					const int by = (k - N / 2) * (x - N / 2) % N;

					to[k] += turn[by < 0 ? by + N : by] *
						 (in[2 * x] + I * (double)in[2 * x + 1]);
				}
		}
	free(turn);
	return out;
}

/* A sample of a missing line of one coil: the sum over its neighborhood that the readout holds. */
static double complex filled(const struct trial *t, const double complex *lines, uint32_t line,
			     uint32_t coil, int k)
{
	const struct bs_neighbors *near = bs_grappa_neighbors(t->plan);
	const struct bs_neighborhood *p = &near->one[near->of[line]];
	const float *w = bs_grappa_weights(t->plan, near->of[line]);
	const int N = (int)t->s.columns;
	const int taps = (int)t->s.kernel[0];
	const uint32_t n = p->sources * t->s.kernel[0] * t->s.coils;
	const int end = k < taps / 2 ? k : k >= N - taps / 2 ? k - N + taps / 2 * 2 : -1;
	double complex sum = 0;

	for (uint32_t u = 0; u < n; u++) {
		const int x = k + (int)u % taps - taps / 2;
		const uint32_t from = u / t->s.kernel[0] / t->s.coils;
		const uint32_t source_line =
			(uint32_t)((int)line + p->dy[from] + (int)t->s.encoded[1] * p->dz[from]);
		const uint32_t c = u / t->s.kernel[0] % t->s.coils;
		const float *one = w + 2 * ((size_t)coil * n + u);
		double complex weight = one[0] + I * (double)one[1];

		if (x < 0 || x >= N)
			continue;
		if (end >= 0) {
			one += (size_t)2 * n * t->s.coils * (size_t)(end + 1);
			weight += one[0] + I * (double)one[1];
		}
		sum += weight *
		       lines[((size_t)c * lines_of(&t->s) + source_line) * (size_t)N + (size_t)x];
	}
	return sum;
}

/* All that prepare and fill do; lines that are measured, or out of reach, keep their bytes. */
static void check_fill(struct trial *t, bool wrapped)
{
	const size_t values = (size_t)2 * t->s.coils * lines_of(&t->s) * t->s.columns;
	const struct bs_neighbors *near = bs_grappa_neighbors(t->plan);
	float *out = malloc(values * 4);
	uint8_t *made = calloc(lines_of(&t->s), 1);
	const int N = (int)t->s.columns;
	double complex *lines = to_k(t, wrapped);
	double complex *want = malloc((size_t)N * sizeof(*want));
	double worst = 0;
	double peak = 0;
	int kept = 1;

	memcpy(out, t->hybrid, values * 4);
	bs_grappa_fill(t->plan, out, wrapped);
	for (uint32_t h = 0; h < near->missed; h++) {
		const uint32_t line = near->missing[h];

		made[line] = 1;
		const uint32_t coil = h % t->s.coils;
		const float *got = hybrid_at(t, out, coil, (int)(line % t->s.encoded[1]),
					     (int)(line / t->s.encoded[1]), 0, wrapped);

		for (int k = 0; k < N; k++)
			want[k] = filled(t, lines, line, coil, k);
		for (int x = 0; x < N; x++) {
			double complex sum = 0;

			for (int k = 0; k < N; k++)
				sum += want[k] * cexp(I * TAU * (k - N / 2) * (x - N / 2) / N);
			worst = fmax(worst, cabs(got[2 * x] + I * (double)got[2 * x + 1] - sum));
			peak = fmax(peak, cabs(sum));
		}
	}
	for (uint32_t l = 0; l < lines_of(&t->s); l++)
		for (uint32_t c = 0; !made[l] && c < t->s.coils; c++) {
			const int y = (int)(l % t->s.encoded[1]);
			const int z = (int)(l / t->s.encoded[1]);

			kept &= memcmp(hybrid_at(t, out, c, y, z, 0, wrapped),
				       hybrid_at(t, t->hybrid, c, y, z, 0, wrapped),
				       (size_t)t->s.columns * 8) == 0;
		}
	/* sums of n products in float, phases and weights rounded: eps sqrt(n) is 2e-6 for 1000 */
	CHECK(near->missed > 0 && worst <= 5e-6 * peak,
	      "%u lines of %u neighborhoods filled: error %.1e", near->missed, near->count,
	      worst / peak);
	CHECK(kept, "every other line keeps its bytes");
	free(out);
	free(made);
	free(lines);
	free(want);
}

/* share: of lines that are measured at random; 0: every second y, z with a CAIPI shift. */
static void measure(struct trial *t, double share, uint32_t step, uint32_t shift, uint64_t *seed)
{
	for (uint32_t l = 0; l < lines_of(&t->s); l++) {
		const uint32_t y = l % t->s.encoded[1];
		const uint32_t z = l / t->s.encoded[1];

		t->have[l] = share > 0 ? check_uniform(seed) < share : (y + shift * z) % step == 1;
	}
}

static void check_pattern(struct trial *t, const char *name)
{
	struct bs_fail why = { 0 };
	const struct bs_neighbors *near = bs_grappa_neighbors(t->plan);
	double worst = 0;
	int rc = bs_grappa_prepare(t->plan, t->s.sets - 1, t->have, &t->cal, &why);

	CHECK(rc == 0, "%s: prepared %s", name, why.text);
	for (uint32_t p = 0; rc == 0 && p < near->count; p += 1 + near->count / 6)
		worst = fmax(worst, weights_error(t, &near->one[p], bs_grappa_weights(t->plan, p),
						  p % t->s.kernel[0]));
	/*
	 * Stored as floats: 6e-8. The inner products are the same sums in another order, 1e-16
	 * sqrt(places); lines that are cropped go through a transform in float, log2(E) 6e-8. Both
	 * grow by the condition of random lines, below 5.
	 */
	CHECK(worst <= (t->s.columns < t->s.encoded[0] ? 2e-6 : 2e-7),
	      "%s: weights of %u neighborhoods, error %.1e", name, near->count, worst);
	check_fill(t, true);
	check_fill(t, false);
}

static void patterns(void)
{
	static const struct bs_grappa_spec plane = { { 60, 33, 1 }, 31, 3,    { 5, 9, 1 }, 0, 32,
						     { 14, 1 },     2,  1e-3, false };
	static const struct bs_grappa_spec volume = {
		{ 24, 13, 9 }, 24, 2, { 3, 5, 5 }, 7, 200, { 9, 7 }, 1, 1e-2, false
	};
	static const struct bs_grappa_spec many = { { 40, 12, 1 }, 40, 32,   { 1, 3, 1 }, 0, 8,
						    { 9, 1 },      1,  1e-3, false };
	struct trial t;
	uint64_t seed = 41;

	open_trial(&t, &plane, 2, &seed);
	measure(&t, 0, 3, 0, &seed);
	check_pattern(&t, "33 lines, every third");
	memset(t.have + 12, 1, 9);
	check_pattern(&t, "with nine lines in the middle");
	close_trial(&t);
	open_trial(&t, &volume, 3, &seed);
	measure(&t, 0, 4, 2, &seed);
	check_pattern(&t, "13 x 9 lines, CAIPIRINHA 4 shifted by 2");
	measure(&t, 0.6, 0, 0, &seed);
	check_pattern(&t, "irregular");
	close_trial(&t);
	open_trial(&t, &many, 1, &seed);
	measure(&t, 0, 2, 0, &seed);
	check_pattern(&t, "32 coils");
	close_trial(&t);
}

/* Weights are kept for a set and its lines' version; teams and order leave no trace. */
static void kept(void)
{
	static const struct bs_grappa_spec s = { { 40, 30, 1 }, 40, 4,    { 3, 5, 1 }, 0, 16,
						 { 12, 1 },     2,  1e-3, false };
	const size_t bytes = (size_t)40 * 30 * 4 * 8;
	float *out = malloc(bytes);
	float *again = malloc(bytes);
	struct bs_fail why = { 0 };
	struct trial t[2];
	float before;

	for (int i = 0; i < 2; i++) {
		uint64_t seed = 7;

		open_trial(&t[i], &s, i == 0 ? 1 : 5, &seed);
		measure(&t[i], 0, 2, 0, &seed);
		CHECK(bs_grappa_prepare(t[i].plan, 0, t[i].have, &t[i].cal, &why) == 0, "made %s",
		      why.text);
	}
	memcpy(out, t[0].hybrid, bytes);
	memcpy(again, t[1].hybrid, bytes);
	bs_grappa_fill(t[0].plan, out, true);
	bs_grappa_fill(t[1].plan, again, true);
	CHECK(memcmp(out, again, bytes) == 0, "one thread and five: the same bytes");
	before = bs_grappa_weights(t[1].plan, 0)[0];
	t[1].lines[7] += 1.0f;
	(void)bs_grappa_prepare(t[1].plan, 0, t[1].have, &t[1].cal, &why);
	CHECK(bs_grappa_weights(t[1].plan, 0)[0] == before, "weights are kept");
	(void)bs_grappa_prepare(t[1].plan, 1, t[1].have, &t[1].cal, &why);
	CHECK(bs_grappa_weights(t[1].plan, 0)[0] != before, "those of the other set are its own");
	t[1].cal.version = 2;
	(void)bs_grappa_prepare(t[1].plan, 0, t[1].have, &t[1].cal, &why);
	CHECK(bs_grappa_weights(t[1].plan, 0)[0] != before,
	      "and made again when their lines change");
	close_trial(&t[0]);
	close_trial(&t[1]);
	free(out);
	free(again);
}

static void refused(void)
{
	struct bs_grappa_spec s = { { 40, 30, 1 }, 40, 2,    { 3, 5, 1 }, 0, 2,
				    { 12, 1 },     1,  1e-3, false };
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	struct trial t;
	uint64_t seed = 9;

	open_trial(&t, &s, 1, &seed);
	measure(&t, 0.5, 0, 0, &seed);
	CHECK(bs_grappa_prepare(t.plan, 0, t.have, &t.cal, &why) == BS_ERR_SIZE, "refused: %s",
	      why.text);
	measure(&t, 0, 2, 0, &seed);
	memset(t.lines, 0, (size_t)s.coils * 12 * 40 * 8);
	CHECK(bs_grappa_prepare(t.plan, 0, t.have, &t.cal, &why) == BS_ERR_VALUE, "refused: %s",
	      why.text);
	t.cal.lines[0] = 13;
	t.cal.version++;
	CHECK(bs_grappa_prepare(t.plan, 0, t.have, &t.cal, &why) == BS_ERR_SIZE, "refused: %s",
	      why.text);
	close_trial(&t);
	s.kernel[1] = 4;
	CHECK(bs_grappa_need(&s, &need, &why) == BS_ERR_CONFIG, "refused: %s", why.text);
	s.kernel[1] = 65;
	CHECK(bs_grappa_need(&s, &need, &why) == BS_ERR_CONFIG, "refused: %s", why.text);
	s.kernel[1] = 5;
	s.coils = 0;
	CHECK(bs_grappa_need(&s, &need, &why) == BS_ERR_CONFIG, "refused: %s", why.text);
}

/*
 * Coils whose maps are single spatial harmonics: the k-space of each is that of the others,
 * shifted, so that a missing line is exactly a neighbor's of another coil.
 */
static void exact(void)
{
	static const struct bs_grappa_spec s = { { 48, 33, 1 }, 48, 2,   { 1, 3, 1 }, 0, 8,
						 { 33, 1 },     1,  0.0, false };
	const size_t line = (size_t)2 * 48;
	const size_t coil = 33 * line;
	struct bs_fail why = { 0 };
	float *whole = malloc(2 * coil * 4);
	struct trial t;
	uint64_t seed = 3;

	open_trial(&t, &s, 2, &seed);
	/* coil 1 at a line is coil 0 at the next */
	memset(t.lines, 0, line * 4);
	memcpy(t.lines + coil, t.lines + line, (coil - line) * 4);
	memset(t.lines + 2 * coil - line, 0, line * 4);
	memcpy(whole, t.lines, 2 * coil * 4);
	memcpy(t.hybrid, t.lines, 2 * coil * 4);
	for (uint32_t y = 0; y < 33; y++) {
		t.have[y] = y % 2 == 0;
		for (uint32_t c = 0; y % 2 == 1 && c < 2; c++)
			memset(t.hybrid + c * coil + y * line, 0, line * 4);
	}
	CHECK(bs_grappa_prepare(t.plan, 0, t.have, &t.cal, &why) == 0, "prepared %s", why.text);
	bs_grappa_fill(t.plan, t.hybrid, false);
	CHECK(check_rel(t.hybrid, whole, 2 * coil) <= 1e-6, "harmonic coils are exact: error %.1e",
	      check_rel(t.hybrid, whole, 2 * coil));
	close_trial(&t);
	free(whole);
}

/* Of so large a signal, two points, in noise of the variance 1/6. */
static double noise_of(double signal, double noise)
{
	static const struct bs_grappa_spec s = { { 48, 33, 1 }, 48, 3,   { 5, 9, 1 }, 2, 8,
						 { 20, 1 },     1,  0.0, true };
	struct bs_need need = { 0 };
	struct bs_arena arena;
	struct bs_team *team;
	struct bs_gram gram;
	struct bs_fail why = { 0 };
	float *lines = malloc((size_t)2 * 3 * 20 * 48 * sizeof(*lines));
	const struct bs_grappa_lines l = {
		lines, (size_t)20 * 48, (size_t)20 * 48, 48, { 20, 1 }, 1
	};
	uint64_t seed = 5;
	double got = -1.0;

	for (int i = 0; i < 3 * 20 * 48; i++) {
		const int c = i / (20 * 48);
		const int x = i % 48;
		const int y = i / 48 % 20;
		const double complex k = signal * (cexp(I * (0.3 * x - 0.2 * y)) * (1 + c) +
						   cexp(I * (-0.7 * x + 1.1 * y)) * (2 - c));

		lines[2 * i] = (float)(creal(k) + noise * (check_uniform(&seed) - 0.5));
		lines[2 * i + 1] = (float)(cimag(k) + noise * (check_uniform(&seed) - 0.5));
	}
	CHECK(bs_gram_need(&s, false, &need, &why) == 0, "need %s", why.text);
	CHECK(bs_arena_open(&arena, need.total_bytes, &why) == 0, "arena %s", why.text);
	CHECK(bs_team_open(&team, 1, &why) == 0, "team %s", why.text);
	CHECK(bs_gram_plan(&gram, &s, false, &arena, team, &why) == 0, "plan %s", why.text);
	CHECK(bs_dense_open(&why) == 0, "LAPACK %s", why.text);
	if (bs_gram_make(&gram, &l, &why) == 0)
		got = bs_gram_noise(&gram) / (20 * 48);
	bs_gram_close(&gram);
	bs_team_close(team);
	bs_arena_close(&arena);
	free(lines);
	return got;
}

static void noisy(void)
{
	const double alone = 6.0 * noise_of(0.0, 1.0);
	const double both = 6.0 * noise_of(1.0, 1.0);
	const double clean = 6.0 * noise_of(1.0, 0.0);
	const double twice = 6.0 * noise_of(0.0, 2.0);

	CHECK(fabs(alone - 1.0) < 0.15, "noise alone: %.3f of it", alone);
	CHECK(fabs(both - 1.0) < 0.5, "with a signal in it: %.3f of it", both);
	CHECK(clean < 0.1 * both, "a signal alone: %.1e", clean);
	CHECK(fabs(twice / alone - 4.0) < 1e-6, "it is a variance: %.6f", twice / alone);
}

int main(void)
{
	noisy();
	patterns();
	kept();
	refused();
	exact();
	return check_done();
}

/*
 * test/unit/gpu/calibrate/test_slice.c - slice-GRAPPA against its definition in gpu/grappa/slice.h,
 * written out in k-space and in double precision: weights, separated lines, leakage
 *
 * Bounds: separated lines 1e-5, relative; leakage 1e-3 of it.
 */
#include "gpu/grappa/slice.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/thread/team.h"
#include "gpu/calibrate/dense.h"
#include "test/support/check.h"

#define TAU 6.28318530717958647692

/* A trial: sizes, references, the folded lines. */
struct trial {
	struct bs_slice_spec s;
	uint32_t first, lines; /* of the references */
	bool phased, wrapped, drawn;
	uint32_t measured; /* every so many lines of the folded ones */
	/* These are made. */
	struct bs_need need;
	struct bs_arena arena;
	struct bs_team *team;
	struct bs_slice *plan;
	struct bs_slice_references refs;
	float *reference; /* [band][coil][line][x] */
	float *folded;    /* [coil][y][x], in order */
	uint8_t *have;
	double complex *bands; /* references with their phases in k-space: [band][coil][line][k] */
	double complex *sum;   /* folded in k-space: [coil][y][k] */
	double complex *weights; /* [band][coil out][coil in][kernel line][kernel sample] */
};

static size_t line_size(const struct trial *t, size_t lines)
{
	return lines * t->s.columns;
}

static double complex turn_of(const struct trial *t, uint32_t band, uint32_t y)
{
	return cexp(I * TAU * t->refs.cycles[band] * (y - t->refs.center));
}

/* Brings lines of hybrid space to k-space by the sums that this is, each times a factor. */
static void to_k(uint32_t columns, const float *in, double complex factor, double complex *out)
{
	const int n = (int)columns;

	for (int k = 0; k < n; k++) {
		double complex sum = 0;

		for (int x = 0; x < n; x++)
			sum += (in[2 * x] + I * (double)in[2 * x + 1]) *
			       cexp(-I * TAU * ((k - n / 2) * (x - n / 2) % n) / n);
		out[k] = factor * sum / n;
	}
}

/* The same way back. */
static void to_hybrid(uint32_t columns, const double complex *in, double complex factor, float *out)
{
	const int n = (int)columns;

	for (int x = 0; x < n; x++) {
		double complex sum = 0;

		for (int k = 0; k < n; k++)
			sum += in[k] * cexp(I * TAU * ((k - n / 2) * (x - n / 2) % n) / n);
		out[2 * x] = (float)creal(factor * sum);
		out[2 * x + 1] = (float)cimag(factor * sum);
	}
}

/* A voxel of a band: an ellipse of its own, with a brighter place, seen by a smooth coil. */
static double complex voxel(const struct trial *t, uint32_t band, uint32_t coil, double x, double y)
{
	const double place = TAU * coil / t->s.coils;
	const double z = 0.3 * band - 0.2;
	const double dx = x - 0.6 * cos(place);
	const double dy = y - 0.6 * sin(place);
	const double in = x * x / (0.16 - 0.02 * band) + y * y / 0.12;
	const double value = in < 1.0 ? 1.0 + (x > 0.1 * band && y > 0.0) : 0.0;

	return value * cexp(I * (2.0 * x * coil - y * z)) /
	       (0.3 + dx * dx + dy * dy + z * z * coil);
}

/* Draws a band's lines, with noise; y is an image before and k-space after. */
static void draw(const struct trial *t, uint32_t band, uint32_t coil, double complex *to)
{
	const int ny = (int)t->s.lines_y;
	const int nx = (int)t->s.columns;

	for (int k = 0; k < ny; k++)
		for (int x = 0; x < nx; x++)
			for (int y = 0; y < ny; y++)
				to[k * nx + x] +=
					voxel(t, band, coil, (double)(x - nx / 2) / nx,
					      (double)(y - ny / 2) / ny) *
					cexp(-I * TAU * ((k - ny / 2) * (y - ny / 2) % ny) / ny) /
					ny;
}

/* Makes references and folded lines of drawn bands. */
static void draw_all(struct trial *t, uint64_t *seed)
{
	const size_t whole = line_size(t, t->s.lines_y);
	const size_t box = line_size(t, t->lines);
	double complex *one = malloc(whole * sizeof(*one));

	for (uint32_t b = 0; b < t->s.bands; b++)
		for (uint32_t c = 0; c < t->s.coils; c++) {
			float *ref = t->reference + 2 * (b * t->s.coils + c) * box;

			memset(one, 0, whole * sizeof(*one));
			draw(t, b, c, one);
			for (size_t i = 0; i < whole; i++) {
				const uint32_t y = (uint32_t)(i / t->s.columns);
				const double complex v = one[i] * turn_of(t, b, y);
				float *to = t->folded + 2 * (c * whole + i);

				to[0] += (float)(creal(v) + 2e-3 * (check_uniform(seed) - 0.5));
				to[1] += (float)(cimag(v) + 2e-3 * (check_uniform(seed) - 0.5));
			}
			for (size_t i = 0; i < box; i++) {
				const uint32_t y = t->first + (uint32_t)(i / t->s.columns);
				const double complex v = one[t->first * t->s.columns + i] *
							 (t->phased ? turn_of(t, b, y) : 1.0);

				ref[2 * i] = (float)(creal(v) + 2e-3 * (check_uniform(seed) - 0.5));
				ref[2 * i + 1] =
					(float)(cimag(v) + 2e-3 * (check_uniform(seed) - 0.5));
			}
		}
	free(one);
}

static void fill(float *to, size_t n, uint64_t *seed)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (float)(check_uniform(seed) - 0.5);
}

/* Brings references and folded lines to k-space. */
static void transform(struct trial *t)
{
	const uint32_t N = t->s.columns;

	for (uint32_t i = 0; i < t->s.bands * t->s.coils * t->lines; i++) {
		const uint32_t band = i / t->lines / t->s.coils;

		to_k(N, t->reference + (size_t)2 * i * N,
		     t->phased ? 1 : turn_of(t, band, t->first + i % t->lines),
		     t->bands + (size_t)i * N);
	}
	for (uint32_t i = 0; i < t->s.coils * t->s.lines_y; i++)
		to_k(N, t->folded + (size_t)2 * i * N, 1, t->sum + (size_t)i * N);
}

static void open_trial(struct trial *t, int members)
{
	struct bs_fail why = { 0 };

	t->need = (struct bs_need){ 0 };
	CHECK(bs_slice_need(&t->s, &t->need, &why) == 0 && !t->need.overflow, "need %s", why.text);
	CHECK(bs_arena_open(&t->arena, t->need.total_bytes, &why) == 0, "arena %s", why.text);
	CHECK(bs_team_open(&t->team, members, &why) == 0, "team %s", why.text);
	CHECK(bs_slice_plan(&t->plan, &t->s, &t->arena, t->team, &why) == 0, "plan %s", why.text);
	CHECK(t->arena.size - t->arena.used < BS_ALIGN, "need says what plan takes: %zu of %zu",
	      t->arena.used, t->arena.size);
}

static void close_plan(struct trial *t)
{
	bs_slice_close(t->plan);
	bs_team_close(t->team);
	bs_arena_close(&t->arena);
}

static void make_trial(struct trial *t, uint64_t *seed)
{
	const size_t whole = line_size(t, t->s.lines_y) * t->s.coils;
	const size_t box = line_size(t, t->lines) * t->s.coils;

	t->reference = calloc(t->s.bands * box, 8);
	t->folded = calloc(whole, 8);
	t->have = malloc(t->s.lines_y);
	t->bands = malloc(t->s.bands * box * sizeof(*t->bands));
	t->sum = malloc(whole * sizeof(*t->sum));
	t->refs = (struct bs_slice_references){ .coil_step = line_size(t, t->lines),
						.line_step = t->s.columns,
						.first = t->first,
						.lines = t->lines,
						.center = t->s.lines_y / 2,
						.phased = t->phased,
						.version = 7 };
	for (uint32_t b = 0; b < t->s.bands; b++) {
		t->refs.band[b] = t->reference + 2 * b * box;
		t->refs.cycles[b] = (double)b / t->s.bands - (b == 2 ? 1.0 : 0.0);
	}
	if (t->drawn) {
		draw_all(t, seed);
	} else {
		fill(t->reference, 2 * t->s.bands * box, seed);
		fill(t->folded, 2 * whole, seed);
	}
	for (uint32_t y = 0; y < t->s.lines_y; y++) {
		t->have[y] = y % t->measured == 1 % t->measured;
		for (uint32_t c = 0; c < t->s.coils && t->have[y] != 1; c++)
			memset(t->folded + 2 * ((size_t)c * t->s.lines_y + y) * t->s.columns, 0,
			       (size_t)t->s.columns * 8);
	}
	transform(t);
}

static void free_trial(struct trial *t)
{
	free(t->reference);
	free(t->folded);
	free(t->have);
	free(t->bands);
	free(t->sum);
	free(t->weights);
}

/* ---- the definition ---- */

/* A neighborhood of lines [coil][line][k] around a place, zeros outside: [coil][line][sample]. */
static void window(const struct trial *t, const double complex *from, uint32_t lines, int y, int k,
		   double complex *to)
{
	const int kx = (int)t->s.kernel[0];
	const int ky = (int)t->s.kernel[1];

	for (uint32_t c = 0; c < t->s.coils; c++)
		for (int i = 0; i < ky; i++)
			for (int j = 0; j < kx; j++) {
				const int at_y = y + i - ky / 2;
				const int at_k = k + j - kx / 2;
				const bool in = at_y >= 0 && at_y < (int)lines && at_k >= 0 &&
						at_k < (int)t->s.columns;

				*to++ = in ? from[((size_t)c * lines + (size_t)at_y) *
							  t->s.columns +
						  (size_t)at_k]
					   : 0;
			}
}

/*
 * Adds the equations of all places: sources are the neighborhoods in `from`, targets the centers of
 * each band for all coils, or those of `only` with 0 for the others.
 */
static void add_places(const struct trial *t, const double complex *from, uint32_t only,
		       double complex *a, double complex *b)
{
	const uint32_t C = t->s.coils;
	const uint32_t n = t->s.kernel[0] * t->s.kernel[1] * C;
	const int edge_y = (int)(t->s.kernel[1] / 2);
	const int edge_k = (int)t->s.kernel[0] / 2;
	double complex *row = malloc(n * sizeof(*row));

	for (int y = edge_y; y < (int)t->lines - edge_y; y++)
		for (int k = edge_k; k < (int)t->s.columns - edge_k; k++) {
			window(t, from, t->lines, y, k, row);
			for (uint32_t j = 0; j < n; j++)
				for (uint32_t i = 0; i < n; i++)
					a[i + (size_t)j * n] += conj(row[i]) * row[j];
			for (uint32_t o = 0; o < t->s.bands * C; o++) {
				const double complex center =
					t->bands[((size_t)o * t->lines + (size_t)y) * t->s.columns +
						 (size_t)k];

				for (uint32_t i = 0; i < n; i++)
					if (only == UINT32_MAX || only == o / C)
						b[i + (size_t)o * n] += conj(row[i]) * center;
			}
		}
	free(row);
}

static void solve(struct trial *t)
{
	const uint32_t n = t->s.kernel[0] * t->s.kernel[1] * t->s.coils;
	const uint32_t outs = t->s.bands * t->s.coils;
	const size_t box = line_size(t, t->lines) * t->s.coils;
	double complex *a = calloc((size_t)n * n, sizeof(*a));
	double complex *sum = calloc(box, sizeof(*sum));
	double trace = 0;

	t->weights = calloc((size_t)n * outs, sizeof(*t->weights));
	for (uint32_t b = 0; b < t->s.bands; b++) {
		if (t->s.split)
			add_places(t, t->bands + b * box, b, a, t->weights);
		for (size_t i = 0; i < box; i++)
			sum[i] += t->bands[b * box + i];
	}
	if (!t->s.split)
		add_places(t, sum, UINT32_MAX, a, t->weights);
	for (uint32_t i = 0; i < n; i++)
		trace += creal(a[i + (size_t)i * n]);
	for (uint32_t i = 0; i < n; i++)
		a[i + (size_t)i * n] += t->s.lambda * trace / n;
	CHECK(bs_dense_solve(n, outs, (double *)a, (double *)t->weights, NULL) == 0, "solved");
	free(a);
	free(sum);
}

/* One sample of what a kernel makes of lines. */
static double complex separated(const struct trial *t, const double complex *from, uint32_t lines,
				uint32_t out, int y, int k, double complex *row)
{
	const uint32_t n = t->s.kernel[0] * t->s.kernel[1] * t->s.coils;
	double complex sum = 0;

	window(t, from, lines, y, k, row);
	for (uint32_t i = 0; i < n; i++)
		sum += row[i] * t->weights[(size_t)out * n + i];
	return sum;
}

/* All that bs_slice_apply should give, in order. */
static void separate(const struct trial *t, float *out)
{
	const uint32_t n = t->s.kernel[0] * t->s.kernel[1] * t->s.coils;
	double complex *row = malloc(n * sizeof(*row));
	double complex *line = malloc(t->s.columns * sizeof(*line));

	for (uint32_t o = 0; o < t->s.bands * t->s.coils; o++)
		for (uint32_t y = 0; y < t->s.lines_y; y++, out += (size_t)2 * t->s.columns) {
			for (uint32_t k = 0; k < t->s.columns; k++)
				line[k] = t->have[y] == 1 ? separated(t, t->sum, t->s.lines_y, o,
								      (int)y, (int)k, row)
							  : 0;
			to_hybrid(t->s.columns, line, conj(turn_of(t, o / t->s.coils, y)), out);
		}
	free(row);
	free(line);
}

static double leakage(const struct trial *t, uint32_t s, uint32_t of)
{
	const uint32_t n = t->s.kernel[0] * t->s.kernel[1] * t->s.coils;
	const double complex *from = t->bands + line_size(t, t->lines) * t->s.coils * of;
	double complex *row = malloc(n * sizeof(*row));
	double out = 0;
	double in = 0;

	for (uint32_t c = 0; c < t->s.coils; c++)
		for (int y = 0; y < (int)t->lines; y++)
			for (int k = 0; k < (int)t->s.columns; k++) {
				const double complex v =
					separated(t, from, t->lines, s * t->s.coils + c, y, k, row);
				const double complex r =
					from[((size_t)c * t->lines + (size_t)y) * t->s.columns +
					     (size_t)k];

				out += creal(v) * creal(v) + cimag(v) * cimag(v);
				in += creal(r) * creal(r) + cimag(r) * cimag(r);
			}
	free(row);
	return sqrt(out / in);
}

/* ---- trials ---- */

/* Lines in the order of the trial: line y of `from` goes where the plan looks for it. */
static void reorder(const struct trial *t, const float *from, float *to, uint32_t planes, bool back)
{
	const uint32_t ny = t->s.lines_y;

	for (uint32_t p = 0; p < planes; p++)
		for (uint32_t y = 0; y < ny; y++) {
			const uint32_t at = t->wrapped ? (y + ny - ny / 2) % ny : y;

			memcpy(to + (size_t)2 * (p * ny + (back ? y : at)) * t->s.columns,
			       from + (size_t)2 * (p * ny + (back ? at : y)) * t->s.columns,
			       (size_t)t->s.columns * 8);
		}
}

/* Separates the folded lines, in order. */
static void apply(struct trial *t, float *out)
{
	const size_t n = 2 * line_size(t, t->s.lines_y) * t->s.coils;
	float *in = malloc(n * 4);
	float *mixed = malloc(n * t->s.bands * 4);

	reorder(t, t->folded, in, t->s.coils, false);
	memset(mixed, 0x7f, n * t->s.bands * 4);
	for (uint32_t b = 0; b < t->s.bands; b++)
		bs_slice_apply(t->plan, t->s.groups - 1, b, in, t->have, t->wrapped, mixed + n * b);
	reorder(t, mixed, out, t->s.coils * t->s.bands, true);
	free(in);
	free(mixed);
}

static void check_leakage(const struct trial *t)
{
	const double *got = bs_slice_leakage(t->plan, t->s.groups - 1);
	double worst = 0;
	double largest = 0;

	for (uint32_t s = 0; s < t->s.bands; s++)
		for (uint32_t of = 0; of < t->s.bands; of++) {
			const double is = got[s * t->s.bands + of];
			const double want = s == of ? 0 : leakage(t, s, of);

			worst = fmax(worst, fabs(is - want) / (s == of ? 1 : want));
			largest = fmax(largest, want);
		}
	CHECK(worst <= 1e-3, "leakage, up to %.3f: %.1e off, relative", largest, worst);
}

static void one(struct trial *t, const char *what, uint64_t seed)
{
	const size_t n = 2 * line_size(t, t->s.lines_y) * t->s.coils * t->s.bands;
	static const int members[] = { 1, 2, 7 };
	float *want = malloc(n * 4);
	float *got[3];
	struct bs_fail why = { 0 };

	make_trial(t, &seed);
	CHECK(bs_dense_open(&why) == 0, "LAPACK %s", why.text);
	solve(t);
	separate(t, want);
	for (int i = 0; i < 3; i++) {
		got[i] = malloc(n * 4);
		open_trial(t, members[i]);
		CHECK(bs_slice_prepare(t->plan, t->s.groups - 1, &t->refs, &why) == 0,
		      "%s: prepared %s", what, why.text);
		apply(t, got[i]);
		if (i == 0)
			check_leakage(t);
		close_plan(t);
	}
	CHECK(check_rel(got[0], want, n) <= 1e-5, "%s: separated lines differ by %.1e", what,
	      check_rel(got[0], want, n));
	CHECK(memcmp(got[0], got[1], n * 4) == 0 && memcmp(got[0], got[2], n * 4) == 0,
	      "%s: the same bytes for 1, 2, 7 threads", what);
	for (int i = 0; i < 3; i++)
		free(got[i]);
	free(want);
	free_trial(t);
}

static void trials(void)
{
	struct trial plain = { .s = { 20, 24, 4, 2, 1, { 5, 5 }, 20, 1e-4, false },
			       .lines = 20,
			       .measured = 1,
			       .drawn = true };
	struct trial split = { .s = { 20, 24, 4, 2, 3, { 5, 5 }, 20, 1e-4, true },
			       .lines = 20,
			       .measured = 1,
			       .drawn = true,
			       .phased = true };
	struct trial odd = { .s = { 21, 25, 3, 3, 1, { 5, 3 }, 20, 1e-4, false },
			     .first = 2,
			     .lines = 16,
			     .measured = 1,
			     .wrapped = true,
			     .drawn = true };
	struct trial odd_split = { .s = { 23, 31, 5, 3, 2, { 3, 5 }, 23, 1e-4, true },
				   .lines = 23,
				   .measured = 1,
				   .drawn = true,
				   .wrapped = true };
	struct trial fast = { .s = { 27, 20, 4, 4, 1, { 5, 5 }, 24, 1e-4, false },
			      .first = 1,
			      .lines = 24,
			      .measured = 2,
			      .drawn = true };
	struct trial random = { .s = { 19, 33, 3, 2, 1, { 7, 3 }, 19, 1e-3, true },
				.lines = 19,
				.measured = 3,
				.wrapped = true };
	struct trial narrow = { .s = { 16, 17, 2, 2, 1, { 1, 3 }, 12, 1e-4, false },
				.first = 4,
				.lines = 12,
				.measured = 1 };

	one(&plain, "2 bands", 1);
	one(&split, "2 bands, split, phased", 2);
	one(&odd, "3 bands, odd sizes", 3);
	one(&odd_split, "3 bands, odd sizes, split", 4);
	one(&fast, "4 bands, every second line", 5);
	one(&random, "random, split, every third line", 6);
	one(&narrow, "random, a kernel of one sample", 7);
}

/* References that nothing can be learned from are refused; weights of a version are kept. */
static void refused(void)
{
	struct trial t = { .s = { 20, 24, 2, 2, 2, { 5, 5 }, 16, 1e-4, false },
			   .first = 2,
			   .lines = 16,
			   .measured = 1 };
	struct bs_fail why = { 0 };
	uint64_t seed = 8;
	float *weights;

	make_trial(&t, &seed);
	open_trial(&t, 2);
	weights = (float *)bs_slice_weights(t.plan, 1);
	CHECK(bs_slice_version(t.plan, 1) == 0, "no weights at first");
	CHECK(bs_slice_prepare(t.plan, 1, &t.refs, &why) == 0, "prepared %s", why.text);
	weights[0] = 12.0f;
	CHECK(bs_slice_prepare(t.plan, 1, &t.refs, &why) == 0 && weights[0] == 12.0f &&
		      bs_slice_version(t.plan, 1) == 7 && bs_slice_version(t.plan, 0) == 0,
	      "the same version: the weights are kept");
	t.refs.version = 8;
	CHECK(bs_slice_prepare(t.plan, 1, &t.refs, &why) == 0 && weights[0] != 12.0f,
	      "another version: they are made again");
	t.refs.version = 9;
	t.refs.lines = 4;
	CHECK(bs_slice_prepare(t.plan, 1, &t.refs, &why) == BS_ERR_SIZE &&
		      strstr(why.text, "group 1") != NULL && bs_slice_version(t.plan, 1) == 0,
	      "4 lines for a kernel of 5: %s", why.text);
	t.refs.lines = 16;
	t.refs.first = 5;
	CHECK(bs_slice_prepare(t.plan, 1, &t.refs, &why) == BS_ERR_SIZE, "lines outside: %s",
	      why.text);
	t.refs.first = 2;
	t.refs.cycles[1] = NAN;
	CHECK(bs_slice_prepare(t.plan, 1, &t.refs, &why) == BS_ERR_VALUE, "no phase: %s", why.text);
	t.refs.cycles[1] = 0.5;
	memset(t.reference, 0, 8 * t.s.bands * t.s.coils * line_size(&t, t.lines));
	CHECK(bs_slice_prepare(t.plan, 1, &t.refs, &why) == BS_ERR_VALUE &&
		      strstr(why.text, "do not determine") != NULL,
	      "zeros: %s", why.text);
	close_plan(&t);
	free_trial(&t);
}

/* A band without signal has no leakage of its own, and takes none of the others' weights. */
static void empty_band(void)
{
	struct trial t = { .s = { 20, 24, 2, 2, 1, { 5, 5 }, 20, 1e-4, true },
			   .lines = 20,
			   .measured = 1 };
	struct bs_fail why = { 0 };
	const double *leakage;
	uint64_t seed = 9;

	make_trial(&t, &seed);
	memset(t.reference, 0, 8 * t.s.coils * line_size(&t, t.lines));
	open_trial(&t, 1);
	CHECK(bs_slice_prepare(t.plan, 0, &t.refs, &why) == 0, "prepared %s", why.text);
	leakage = bs_slice_leakage(t.plan, 0);
	CHECK(leakage[1] == 0.0 && leakage[2] == 0.0, "a band of zeros: leakage %g, %g", leakage[1],
	      leakage[2]);
	close_plan(&t);
	free_trial(&t);
}

static void sizes(void)
{
	static const struct bs_slice_spec bad[] = {
		{ 20, 24, 2, 1, 1, { 5, 5 }, 20, 1e-4, true },
		{ 20, 24, 2, 17, 1, { 5, 5 }, 20, 1e-4, true },
		{ 20, 24, 2, 2, 1, { 4, 5 }, 20, 1e-4, true },
		{ 20, 24, 2, 2, 1, { 9, 5 }, 20, 1e-4, true },
		{ 20, 24, 2, 2, 1, { 5, 5 }, 4, 1e-4, true },
		{ 20, 24, 2, 2, 1, { 5, 5 }, 21, 1e-4, true },
		{ 20, 9, 2, 2, 1, { 5, 5 }, 20, 1e-4, true },
		{ 20, 24, 2, 2, 1, { 5, 5 }, 20, -1.0, true },
		{ 20, 24, 4000, 2, 1, { 5, 5 }, 20, 1e-4, true },
		{ UINT32_MAX, 24, 2, 2, 1, { 5, 5 }, 20, 1e-4, true },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct bs_need need = { 0 };
		struct bs_fail why = { 0 };

		CHECK(bs_slice_need(&bad[i], &need, &why) == BS_ERR_CONFIG, "refused: %s",
		      why.text);
	}
}

int main(void)
{
	trials();
	refused();
	empty_band();
	sizes();
	return check_done();
}

/*
 * test/unit/gpu/test_pocs.c - partial Fourier against the projections in double precision
 *
 * The direct implementation transforms by sums of exponentials, centered, with nothing of the
 * operator under test. Tolerance 1e-5: some tens of transforms, and phases of voxels where the
 * symmetric center nearly cancels, of which few are enough to count.
 */
#define _DEFAULT_SOURCE /* M_PI */
#include "gpu/image/pocs.h"
#include "test/support/check.h"
#include "test/support/isa.h"

#include <complex.h>
#include <string.h>

struct problem {
	const char *name;
	struct bs_pocs_spec s;
	struct bs_pocs_span spans[3];
	int members;
};

static size_t voxels_of(const uint32_t n[3])
{
	return (size_t)n[0] * n[1] * n[2];
}

/* Centered and unitary, along one axis of [z][y][x]. */
static void transform_axis(double complex *v, const uint32_t n[3], int a, int sign)
{
	const size_t inner = a == 0 ? 1 : a == 1 ? n[0] : (size_t)n[0] * n[1];
	const size_t outer = voxels_of(n) / inner / n[a];
	const int half = (int)(n[a] / 2);
	double complex *line = malloc(n[a] * sizeof(*line));

	for (size_t o = 0; o < outer; o++)
		for (size_t i = 0; i < inner; i++) {
			double complex *at = v + o * n[a] * inner + i;

			for (int k = 0; k < (int)n[a]; k++) {
				line[k] = 0.0;
				for (int j = 0; j < (int)n[a]; j++)
					line[k] += at[(size_t)j * inner] *
						   cexp(sign * 2.0 * M_PI * I * (k - half) *
							(j - half) / n[a]);
			}
			for (uint32_t k = 0; k < n[a]; k++)
				at[k * inner] = line[k] / sqrt((double)n[a]);
		}
	free(line);
}

static void transform(double complex *v, const struct problem *t, int sign)
{
	for (int a = 0; a < 3; a++)
		if (t->spans[a].from != 0 || t->spans[a].to != t->s.size[a])
			transform_axis(v, t->s.size, a, sign);
}

/* By the definition in gpu/image/pocs.h; 1 along an axis that is whole. */
static double window_at(const struct problem *t, int a, uint32_t at)
{
	const int n = (int)t->s.size[a];
	const int k = abs((int)at - n / 2);
	const int low = n / 2 - (int)t->spans[a].from;
	const int high = (int)t->spans[a].to - 1 - n / 2;
	const int h = low < high ? low : high;
	const int taper = (int)lround(t->s.taper * h);

	if (t->spans[a].from == 0 && t->spans[a].to == t->s.size[a])
		return 1.0;
	if (k > h || k <= h - taper)
		return k <= h - taper;
	return pow(sin(M_PI / 2.0 * (h + 1 - k) / (taper + 1)), 2.0);
}

static bool is_measured(const struct problem *t, const uint32_t at[3])
{
	for (int a = 0; a < 3; a++)
		if (at[a] < t->spans[a].from || at[a] >= t->spans[a].to)
			return false;
	return true;
}

static void place(const struct problem *t, size_t v, uint32_t at[3])
{
	at[0] = (uint32_t)(v % t->s.size[0]);
	at[1] = (uint32_t)(v / t->s.size[0] % t->s.size[1]);
	at[2] = (uint32_t)(v / t->s.size[0] / t->s.size[1]);
}

/* One image on the grid, in place. */
static void direct(double complex *v, const struct problem *t)
{
	const size_t n = voxels_of(t->s.size);
	double complex *samples = malloc(n * sizeof(*samples));
	double complex *phase = malloc(n * sizeof(*phase));
	uint32_t at[3];

	memcpy(samples, v, n * sizeof(*v));
	transform(samples, t, -1);
	for (size_t i = 0; i < n; i++) {
		place(t, i, at);
		phase[i] = samples[i] * window_at(t, 0, at[0]) * window_at(t, 1, at[1]) *
			   window_at(t, 2, at[2]);
	}
	transform(phase, t, 1);
	for (uint32_t step = 0; step < t->s.iterations; step++) {
		for (size_t i = 0; i < n; i++)
			v[i] = cabs(v[i]) * cexp(I * carg(phase[i]));
		transform(v, t, -1);
		for (size_t i = 0; i < n; i++) {
			place(t, i, at);
			if (is_measured(t, at))
				v[i] = samples[i];
		}
		transform(v, t, 1);
	}
	free(samples);
	free(phase);
}

/* Bright in the middle of k-space, so that its center says something about the phase. */
static void make_images(float *images, const struct problem *t)
{
	const size_t n = voxels_of(t->s.size);
	double complex *v = malloc(n * sizeof(*v));
	uint64_t seed = 3;
	uint32_t at[3];

	for (uint32_t c = 0; c < t->s.images; c++) {
		for (size_t i = 0; i < n; i++) {
			double far = 1.0;

			place(t, i, at);
			for (int a = 0; a < 3; a++)
				far += 4.0 * fabs((double)at[a] - t->s.size[a] / 2) / t->s.size[a];
			v[i] = (check_uniform(&seed) - 0.5 + I * (check_uniform(&seed) - 0.5)) /
			       (far * far);
			if (!is_measured(t, at))
				v[i] = 0.0;
		}
		for (int a = 0; a < 3; a++)
			transform_axis(v, t->s.size, a, 1);
		for (size_t i = 0; i < n; i++) {
			images[2 * (c * n + i)] = (float)creal(v[i]);
			images[2 * (c * n + i) + 1] = (float)cimag(v[i]);
		}
	}
	free(v);
}

/* What is wanted, cropped; project: or only cropped. */
static float *make_truth(const float *images, const struct problem *t, bool project)
{
	const size_t n = voxels_of(t->s.size);
	const uint32_t *N = t->s.matrix;
	float *truth = malloc(voxels_of(N) * t->s.images * 8);
	double complex *v = malloc(n * sizeof(*v));
	float *to = truth;

	for (uint32_t c = 0; c < t->s.images; c++) {
		for (size_t i = 0; i < n; i++)
			v[i] = (double)images[2 * (c * n + i)] +
			       (double)images[2 * (c * n + i) + 1] * I;
		if (project)
			direct(v, t);
		for (size_t i = 0; i < voxels_of(N); i++, to += 2) {
			const size_t x = i % N[0] + t->s.size[0] / 2 - N[0] / 2;
			const size_t y = i / N[0] % N[1] + t->s.size[1] / 2 - N[1] / 2;
			const size_t z = i / N[0] / N[1] + t->s.size[2] / 2 - N[2] / 2;
			const double complex w = v[(z * t->s.size[1] + y) * t->s.size[0] + x];

			to[0] = (float)creal(w);
			to[1] = (float)cimag(w);
		}
	}
	free(v);
	return truth;
}

static bool run(const struct problem *t, int members, const float *images, float *out)
{
	const size_t bytes = voxels_of(t->s.size) * t->s.images * 8;
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_team *team = NULL;
	struct bs_pocs *plan = NULL;
	struct bs_fail why = { 0 };
	float *in = malloc(bytes);
	int rc = bs_pocs_need(&t->s, &need, &why);

	memcpy(in, images, bytes);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_team_open(&team, members, &why);
	if (rc == 0)
		rc = bs_pocs_plan(&plan, &t->s, &arena, team, &why);
	CHECK(rc == 0 && arena.used == need.total_bytes, "%s: plan takes what need states %s",
	      t->name, why.text);
	if (rc == 0)
		bs_pocs_run(plan, t->spans, in, out);
	bs_pocs_close(plan);
	bs_team_close(team);
	bs_arena_close(&arena);
	free(in);
	return rc == 0;
}

static void one(const struct problem *t)
{
	const size_t bytes = voxels_of(t->s.matrix) * t->s.images * 8;
	const bool partial = bs_pocs_is_partial(t->spans, t->s.size);
	float *images = malloc(voxels_of(t->s.size) * t->s.images * 8);
	float *out = malloc(bytes);
	float *again = malloc(bytes);
	float *truth;
	double e;

	make_images(images, t);
	truth = make_truth(images, t, partial);
	if (run(t, t->members, images, out) && run(t, 1, images, again)) {
		e = check_rel(out, truth, bytes / 4);
		CHECK(partial ? e <= 1e-5 : memcmp(out, truth, bytes) == 0,
		      "%s: %.1e of the direct projections", t->name, e);
		CHECK(memcmp(out, again, bytes) == 0, "%s: the same bytes with 1 and %d threads",
		      t->name, t->members);
	}
	free(images);
	free(out);
	free(again);
	free(truth);
}

static void span(const char *name, const char *lines, uint32_t from, uint32_t to)
{
	const uint32_t size[3] = { 4, (uint32_t)strlen(lines), 1 };
	struct bs_pocs_span spans[3];
	uint8_t came[64];

	for (uint32_t i = 0; i < size[1]; i++)
		came[i] = lines[i] == 'x';
	bs_pocs_spans(spans, came, size, 4);
	CHECK(spans[1].from == from && spans[1].to == to, "%s: lines %u .. %u", name, spans[1].from,
	      spans[1].to);
}

static void spans(void)
{
	const uint32_t size[3] = { 128, 64, 9 };
	const uint32_t to[3] = { 64, 48, 7 };
	struct bs_pocs_span s[3] = { { 32, 128 }, { 0, 48 }, { 0, 9 } };

	span("whole", "xxxxxxxxxxxx", 0, 12);
	span("late lines missing", "xxxxxxxxx...", 0, 9);
	span("early lines missing", "...xxxxxxxxx", 3, 12);
	span("every third line is whole", ".x..x..x..x.", 0, 12);
	span("every second line, late ones missing", "x.x.x.x.x...", 0, 10);
	span("every third line, some between, early ones missing", "......x..xxxx..x..x.", 4, 20);
	span("every third line, late ones missing", "..x..xxx..x.....", 0, 13);
	span("a line is lost, late ones are missing", "xx.xxxxxxx......", 0, 10);
	span("no line", "............", 0, 12);
	bs_pocs_rescale(s, size, to);
	CHECK(s[0].from == 16 && s[0].to == 64, "asymmetric echo, cropped: %u .. %u", s[0].from,
	      s[0].to);
	CHECK(s[1].from == 0 && s[1].to == 36, "lines, cropped: %u .. %u", s[1].from, s[1].to);
	CHECK(s[2].from == 0 && s[2].to == 7, "whole partitions stay whole: %u .. %u", s[2].from,
	      s[2].to);
}

int main(void)
{
	/* clang-format off */
	const struct problem problems[] = {
		{ "lines", { { 21, 32, 1 }, { 17, 32, 1 }, 3, 10, 0.5 }, { { 0, 21 }, { 0, 24 },
		  { 0, 1 } }, 2 },
		{ "early lines, odd", { { 5, 27, 1 }, { 5, 19, 1 }, 9, 4, 0.3 }, { { 0, 5 },
		  { 7, 27 }, { 0, 1 } }, 3 },
		{ "asymmetric echo", { { 32, 19, 1 }, { 16, 19, 1 }, 2, 6, 0.5 }, { { 8, 32 },
		  { 0, 19 }, { 0, 1 } }, 2 },
		{ "echo and lines", { { 24, 20, 1 }, { 12, 18, 1 }, 2, 5, 1.0 }, { { 6, 24 },
		  { 0, 15 }, { 0, 1 } }, 2 },
		{ "partitions", { { 18, 3, 12 }, { 18, 3, 10 }, 2, 5, 0.5 }, { { 0, 18 }, { 0, 3 },
		  { 3, 12 } }, 2 },
		{ "lines and partitions", { { 17, 12, 10 }, { 11, 12, 9 }, 2, 3, 0.0 }, { { 0, 17 },
		  { 0, 9 }, { 2, 10 } }, 3 },
		{ "echo and partitions", { { 12, 18, 8 }, { 6, 18, 8 }, 1, 3, 0.5 }, { { 3, 12 },
		  { 0, 18 }, { 0, 6 } }, 2 },
		{ "all three", { { 12, 10, 8 }, { 6, 10, 8 }, 2, 3, 0.5 }, { { 3, 12 }, { 0, 8 },
		  { 2, 8 } }, 2 },
		{ "whole", { { 8, 9, 3 }, { 6, 8, 2 }, 2, 3, 0.5 }, { { 0, 8 }, { 0, 9 }, { 0, 3 }
		  }, 2 },
		{ "without its center", { { 8, 16, 1 }, { 6, 16, 1 }, 2, 3, 0.5 }, { { 0, 8 },
		  { 0, 6 }, { 0, 1 } }, 2 },
	};
	/* clang-format on */
	const struct bs_pocs_spec bad = { { 16, 16, 1 }, { 17, 16, 1 }, 1, 10, 0.5 };
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	const enum bs_isa best = bs_isa();

	for (int isa = BS_ISA_V2; isa <= (int)best; isa++) {
		CHECK(isa_use((enum bs_isa)isa), "instruction set %s", isa_name[isa]);
		for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
			one(&problems[i]);
	}
	spans();
	CHECK(bs_pocs_need(&bad, &need, &why) == BS_ERR_CONFIG, "refused: %s", why.text);
	return check_done();
}

/*
 * test/unit/gpu/test_segments.c - time segments against the direct sum in double precision
 *
 * Random images, samples and maps at odd sizes. The bound is the stated error of the segments plus
 * the NUFFT's 1e-5, times two: both are root mean squares over random values, of which a test sees
 * some thousands.
 */
#define _GNU_SOURCE /* M_PI */
#include "gpu/solve/interpolators.h"
#include "gpu/solve/segments.h"
#include "test/support/check.h"

#include <math.h>
#include <string.h>

#define MOST 4096u

struct scan {
	uint32_t dims, matrix[3], coils, readout, readouts, slices;
	double dwell_s, start_s;
	float least_hz, most_hz;
};

static float k[MOST * 3], weight[MOST], hz[2 * MOST];
static float image[4 * MOST * 2], data[4 * MOST * 2], maps[4 * MOST * 2];
static float out[4 * MOST * 2], other[4 * MOST * 2], want[4 * MOST * 2], through[4 * MOST * 2];

static uint64_t voxels_of(const struct scan *t)
{
	return (uint64_t)t->matrix[0] * t->matrix[1] * t->matrix[2];
}

static uint64_t samples_of(const struct scan *t)
{
	return (uint64_t)t->readout * t->readouts;
}

static void fill(const struct scan *t)
{
	uint64_t seed = 7;

	for (uint32_t i = 0; i < MOST * 3; i++)
		k[i] = (float)(check_uniform(&seed) - 0.5);
	for (uint32_t i = 0; i < MOST; i++)
		weight[i] = (float)(0.5 + check_uniform(&seed));
	for (uint32_t i = 0; i < 2 * MOST; i++)
		hz[i] = t->least_hz + (t->most_hz - t->least_hz) * (float)check_uniform(&seed);
	for (uint32_t i = 0; i < 4 * MOST * 2; i++) {
		image[i] = (float)(check_uniform(&seed) - 0.5);
		data[i] = (float)(check_uniform(&seed) - 0.5);
		maps[i] = (float)(check_uniform(&seed) - 0.5);
	}
}

/* One coil; from the image to the samples, or back with weights. */
static void direct(const struct scan *t, uint32_t slice, bool adjoint, const float *from, float *to)
{
	const uint64_t voxels = voxels_of(t);
	const uint64_t outs = adjoint ? voxels : samples_of(t);
	double *sum = calloc(outs, 2 * sizeof(double));

	for (uint64_t m = 0; m < samples_of(t); m++)
		for (uint64_t v = 0; v < voxels; v++) {
			const uint64_t n[3] = { v % t->matrix[0], v / t->matrix[0] % t->matrix[1],
						v / t->matrix[0] / t->matrix[1] };
			double a = (double)hz[slice * voxels + v] *
				   (t->start_s + (double)(m % t->readout) * t->dwell_s);
			const uint64_t i = adjoint ? m : v;
			const uint64_t o = adjoint ? v : m;
			const double w = adjoint ? (double)weight[m] : 1.0;
			double re;
			double im;

			for (uint32_t d = 0; d < t->dims; d++)
				a += (double)k[m * t->dims + d] * ((double)n[d] - t->matrix[d] / 2);
			re = w * cos(2.0 * M_PI * a);
			im = w * (adjoint ? 1.0 : -1.0) * sin(2.0 * M_PI * a);
			sum[2 * o] += re * from[2 * i] - im * from[2 * i + 1];
			sum[2 * o + 1] += re * from[2 * i + 1] + im * from[2 * i];
		}
	for (uint64_t i = 0; i < 2 * outs; i++)
		to[i] = (float)sum[i];
	free(sum);
}

static double off(const float *a, const float *b, uint64_t values)
{
	double d = 0.0;
	double n = 0.0;

	for (uint64_t i = 0; i < 2 * values; i++) {
		d += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
		n += (double)b[i] * (double)b[i];
	}
	return sqrt(d / n);
}

struct armed {
	struct bs_segments *plan;
	struct bs_arena arena;
	struct bs_team *team;
};

static int arm(struct armed *a, const struct scan *t, double error, uint32_t together, int members,
	       struct bs_fail *why)
{
	const struct bs_segments_spec s = {
		.nufft = { .dims = t->dims,
			   .matrix = { t->matrix[0], t->matrix[1], t->matrix[2] },
			   .coils = t->coils,
			   .samples = samples_of(t),
			   .accuracy = 1e-5 },
		.together = together,
		.states = 2,
		.readout = t->readout,
		.slices = t->slices,
		.dwell_s = t->dwell_s,
		.start_s = t->start_s,
		.error = error,
	};
	struct bs_need need = { 0 };
	int rc = bs_segments_need(&s, &need, why);

	memset(a, 0, sizeof(*a));
	if (rc == 0)
		rc = bs_arena_open(&a->arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_team_open(&a->team, members, why);
	if (rc == 0)
		rc = bs_segments_plan(&a->plan, &s, k, weight, hz,
				      &(struct bs_arm_env){ .arena = &a->arena, .team = a->team },
				      why);
	if (rc == 0)
		CHECK(a->arena.used == need.total_bytes, "plan takes what need states");
	return rc;
}

static void disarm(struct armed *a)
{
	bs_segments_close(a->plan);
	bs_team_close(a->team);
	bs_arena_close(&a->arena);
}

/* All readouts but `missing`, the last one first. */
static void send(struct armed *a, const struct scan *t, uint32_t state, uint32_t missing)
{
	bs_segments_begin(a->plan, state);
	for (uint32_t r = t->readouts; r-- > 0;)
		if (r != missing)
			bs_segments_add(a->plan, state, r, data + 2 * (size_t)r * t->readout,
					samples_of(t));
}

/* F^H W d of every coil, and through the maps F^H W F. */
static void compare(struct armed *a, const struct scan *t, double error, uint32_t together)
{
	const uint64_t voxels = voxels_of(t);
	const uint64_t samples = samples_of(t);
	const uint32_t slice = t->slices - 1;
	const double bound = 2.0 * (error + 1e-5);
	double d;

	send(a, t, 1, UINT32_MAX);
	bs_segments_finish(a->plan, 1, slice, out);
	for (uint32_t c = 0; c < t->coils; c++)
		direct(t, slice, true, data + 2 * c * samples, want + 2 * c * voxels);
	d = off(out, want, t->coils * voxels);
	CHECK(d < bound, "adjoint: %.2e from the sum, at most %.2e", d, bound);

	bs_segments_normal(a->plan, together > 1 ? maps : NULL, image, out);
	memset(want, 0, sizeof(want));
	for (uint32_t c = 0; c < together; c++) {
		for (uint64_t v = 0; v < voxels; v++) {
			const float *s = maps + 2 * (c * voxels + v);

			other[2 * v] = image[2 * v];
			other[2 * v + 1] = image[2 * v + 1];
			if (together == 1)
				continue;
			other[2 * v] = s[0] * image[2 * v] - s[1] * image[2 * v + 1];
			other[2 * v + 1] = s[0] * image[2 * v + 1] + s[1] * image[2 * v];
		}
		direct(t, slice, false, other, through);
		direct(t, slice, true, through, other);
		for (uint64_t v = 0; v < voxels; v++) {
			const float *s = maps + 2 * (c * voxels + v);
			const float re = together > 1 ? s[0] : 1.0f;
			const float im = together > 1 ? s[1] : 0.0f;

			want[2 * v] += re * other[2 * v] + im * other[2 * v + 1];
			want[2 * v + 1] += re * other[2 * v + 1] - im * other[2 * v];
		}
	}
	d = off(out, want, voxels);
	CHECK(d < 2.0 * bound, "F^H F: %.2e from the sum, at most %.2e", d, 2.0 * bound);
}

static void try_scan(const char *name, const struct scan *t, double error, uint32_t together)
{
	struct bs_fail why = { 0 };
	struct armed a;
	int rc;

	fill(t);
	rc = arm(&a, t, error, together, 3, &why);
	CHECK(rc == 0, "%s, error %g: armed %s", name, error, why.text);
	if (rc == 0) {
		const struct bs_segments_info info = bs_segments_info(a.plan);

		CHECK(info.error <= 1.01 * error, "%u segments, error %.2e", info.segments,
		      info.error);
		compare(&a, t, error, together);
	}
	disarm(&a);
}

/* One thread and four: the same bytes; a readout that never comes counts as zeros. */
static void same_bytes(const struct scan *t)
{
	struct bs_fail why = { 0 };
	const uint64_t bytes = voxels_of(t) * t->coils * 8;

	fill(t);
	for (int members = 1; members <= 4; members += 3) {
		struct armed a;

		if (arm(&a, t, 1e-3, t->coils, members, &why) != 0) {
			CHECK(0, "armed: %s", why.text);
			return;
		}
		send(&a, t, 1, UINT32_MAX);
		send(&a, t, 1, 2);
		send(&a, t, 0, UINT32_MAX);
		bs_segments_finish(a.plan, 1, 0, members == 1 ? out : other);
		bs_segments_normal(a.plan, maps, image,
				   (members == 1 ? out : other) + 2 * voxels_of(t) * t->coils);
		disarm(&a);
	}
	CHECK(memcmp(out, other, bytes + voxels_of(t) * 8) == 0, "the same bytes for 1 and 4");
	memset(data + 2 * 2 * (size_t)t->readout, 0, (size_t)t->readout * 8);
	for (uint32_t c = 1; c < t->coils; c++)
		memset(data + 2 * (c * samples_of(t) + 2 * t->readout), 0, (size_t)t->readout * 8);
	for (uint32_t c = 0; c < t->coils; c++)
		direct(t, 0, true, data + 2 * c * samples_of(t), want + 2 * c * voxels_of(t));
	CHECK(off(out, want, t->coils * voxels_of(t)) < 2e-3, "without readout 2: %.2e",
	      off(out, want, t->coils * voxels_of(t)));
}

/* Few frequencies need few segments; too many segments are refused, and what is no number. */
static void numbers(const struct scan *t)
{
	struct bs_fail why = { 0 };
	struct scan wide = *t;
	struct armed a;

	fill(t);
	for (uint32_t i = 0; i < 2 * MOST; i++)
		hz[i] = 90.0f;
	CHECK(arm(&a, t, 1e-5, 1, 1, &why) == 0 && bs_segments_info(a.plan).segments == 1,
	      "one frequency, one segment %s", why.text);
	compare(&a, t, 1e-5, 1);
	disarm(&a);
	for (uint32_t i = 0; i < 2 * MOST; i += 3)
		hz[i] = -110.0f;
	CHECK(arm(&a, t, 1e-5, 1, 1, &why) == 0 && bs_segments_info(a.plan).segments == 2,
	      "fat and water, two segments %s", why.text);
	compare(&a, t, 1e-5, 1);
	disarm(&a);
	hz[5] = NAN;
	CHECK(arm(&a, t, 1e-3, 1, 1, &why) == BS_ERR_VALUE && strstr(why.text, "voxel 5") != NULL,
	      "refused: %s", why.text);
	disarm(&a);
	wide.least_hz = -5000.0f;
	wide.most_hz = 5000.0f;
	fill(&wide);
	CHECK(arm(&a, &wide, 1e-3, 1, 1, &why) == BS_ERR_VALUE, "refused: %s", why.text);
	disarm(&a);
}

/*
 * Frequencies spread as drivers/file/tables.c spreads them before a scan brings its map: the fit
 * is as good for a map of any one of them, but for the factor between the largest and the root mean
 * square of what oscillates evenly over the range, 1.4, and half as much again at its ends.
 */
static void any_map_within(double range_hz, uint32_t samples, double dwell_s, double error)
{
	static float spread[4096];
	static float b[2 * 64 * 4096];
	const struct bs_interpolators_spec s = { spread,  4096, samples, BS_SEGMENTS_MAX,
						 dwell_s, 0.0,  error };
	struct bs_interpolators p;
	struct bs_fail why = { 0 };
	double worst = 0.0;

	for (int v = 0; v < 4096; v++)
		spread[v] = (float)(range_hz * cos(M_PI * (v + 0.5) / 4096));
	CHECK(bs_interpolators_find(&p, &s, b, &why) == 0, "+-%g Hz: %s", range_hz, why.text);
	for (int i = -40; i <= 40; i++)
		for (uint32_t m = 0; m < samples; m += 37) {
			const double f = range_hz * i / 40;
			double re = cos(2.0 * M_PI * f * m * dwell_s);
			double im = -sin(2.0 * M_PI * f * m * dwell_s);

			for (uint32_t l = 0; l < p.segments; l++) {
				const float *to = b + 2 * ((size_t)l * samples + m);
				const double turn = -2.0 * M_PI * f * (p.first_s + l * p.step_s);

				re -= (double)to[0] * cos(turn) - (double)to[1] * sin(turn);
				im -= (double)to[0] * sin(turn) + (double)to[1] * cos(turn);
			}
			worst = fmax(worst, sqrt(re * re + im * im));
		}
	CHECK(worst <= 2.1 * error, "+-%g Hz, %u segments: any frequency to %.2g, asked were %g",
	      range_hz, p.segments, worst, error);
}

int main(void)
{
	/* 12 and 2 turns over the readout: the two spirals of the recordings */
	const struct scan one = { 2, { 15, 11, 1 }, 3, 301, 3, 2, 133e-6, 0.0, -150.0f, 150.0f };
	const struct scan eight = { 2, { 17, 20, 1 }, 2, 97, 8, 1, 70e-6, 2e-3, -150.0f, 150.0f };
	const struct scan solid = { 3, { 9, 7, 5 }, 2, 65, 11, 1, 1e-4, 0.0, 20.0f, 95.0f };
	const struct scan point = { 2, { 8, 9, 1 }, 1, 1, 60, 1, 1e-6, 1e-3, -50.0f, 95.0f };

	try_scan("12 turns", &one, 1e-3, 3);
	try_scan("12 turns, coil by coil", &one, 1e-5, 1);
	try_scan("2 turns", &eight, 1e-3, 2);
	try_scan("2 turns", &eight, 1e-1, 2);
	try_scan("3D", &solid, 1e-3, 2);
	try_scan("readouts of one sample", &point, 1e-3, 1);
	same_bytes(&eight);
	numbers(&one);
	any_map_within(150.0, 2694, 2.5e-6, 1e-3);
	any_map_within(40.0, 4000, 1e-5, 1e-2);
	any_map_within(300.0, 1500, 4e-6, 1e-4);
	return check_done();
}

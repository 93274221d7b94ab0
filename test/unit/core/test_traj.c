/* test/unit/core/test_traj.c - analytic trajectories: range, coverage, density; refusals */
#include "core/tool/trajcheck.h"
#include "core/traj/traj.h"

#include <string.h>

#include "core/random.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

static struct bs_protocol protocol(enum bs_traj_type type, uint32_t nx, uint32_t ny, uint32_t nz,
				   uint32_t samples, uint32_t readouts)
{
	struct bs_protocol p = path_of(BS_METHOD_GRIDDING, type, nx, ny, nz, 0);

	readouts_of(&p, readouts, samples);
	p.traj.seed = 7;
	return p;
}

static double radius(const struct bs_traj *t, uint32_t readout, uint32_t sample)
{
	const float *k = t->k + ((size_t)readout * t->samples + sample) * t->dims;
	double sum = 0.0;

	for (uint32_t d = 0; d < t->dims; d++)
		sum += (double)k[d] * k[d];
	return sqrt(sum);
}

/* Every value in range, each axis reached to at least extent, the same again, unique counters. */
static void common(const char *name, const struct bs_protocol *p, double extent)
{
	struct bs_traj a;
	struct bs_traj b;
	struct bs_fail why = { 0 };
	size_t n = (size_t)p->samples * p->readouts * p->dims;
	double reach[3] = { 0 };
	double least = 1.0;
	int out = 0;

	if (bs_traj_make(&a, p, &why) || bs_traj_make(&b, p, &why)) {
		CHECK(0, "%s: %s", name, why.text);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		out += !(a.k[i] >= -0.5f && a.k[i] < 0.5f);
		reach[i % p->dims] = fmax(reach[i % p->dims], fabs((double)a.k[i]));
	}
	for (uint32_t d = 0; d < p->dims; d++)
		least = fmin(least, reach[d]);
	CHECK(!out, "%s: %zu values in [-0.5, 0.5), %d not", name, n, out);
	CHECK(least >= extent, "%s: every axis is reached to %.3f (wanted %.3f)", name, least,
	      extent);
	CHECK(memcmp(a.k, b.k, n * sizeof(float)) == 0, "%s: the same table again", name);
	CHECK(a.keyed && bs_traj_check(&b, p, &why) == 0 && b.keyed,
	      "%s: counters are unique, and the check agrees", name);
	CHECK(memcmp(a.k, b.k, n * sizeof(float)) == 0, "%s: the check changes nothing", name);
	bs_traj_close(&a);
	bs_traj_close(&b);
}

static void test_common(void)
{
	struct bs_protocol p;

	p = protocol(BS_TRAJ_CARTESIAN, 32, 24, 1, 64, 24);
	p.encoded[0] = 64;
	p.encoded[1] = 24;
	p.encoded[2] = 1;
	common("cartesian", &p, 0.5);
	p = protocol(BS_TRAJ_RADIAL2D, 64, 64, 1, 128, 101);
	common("radial2d", &p, 0.499);
	p = protocol(BS_TRAJ_SPIRAL2D, 64, 64, 1, 900, 8);
	common("spiral2d", &p, 0.45);
	p = protocol(BS_TRAJ_RADIAL3D, 32, 32, 32, 63, 700);
	common("radial3d", &p, 0.49);
	p = protocol(BS_TRAJ_STACK, 48, 48, 17, 500, 17 * 4);
	p.traj.interleaves = 4;
	common("stack", &p, 8.0 / 17);
	p = protocol(BS_TRAJ_RANDOM, 32, 32, 32, 100, 100);
	common("random", &p, 0.499);
	p = protocol(BS_TRAJ_CONES, 32, 32, 32, 400, 150);
	common("cones", &p, 0.47);
	p = protocol(BS_TRAJ_TPI, 64, 64, 64, 512, 700);
	common("tpi", &p, 0.47);
	p = protocol(BS_TRAJ_CONES, 32, 32, 32, 400, 150);
	p.traj.reach = 0.3;
	common("cones to 0.3", &p, 0.28);
}

/* Shapes scale with their reach: every value is that of the full table times the ratio. */
static void test_reach(void)
{
	static const enum bs_traj_type types[] = { BS_TRAJ_RADIAL2D, BS_TRAJ_SPIRAL2D,
						   BS_TRAJ_RADIAL3D, BS_TRAJ_CONES,
						   BS_TRAJ_TPI,      BS_TRAJ_RANDOM };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct bs_protocol p = protocol(types[i], 32, 32, i < 2 ? 1 : 32, 200, 60);
		struct bs_traj full;
		struct bs_traj half;
		double worst = 0.0;

		p.traj.turns = 3.0; /* Nyquist turns would change with the reach */
		if (types[i] == BS_TRAJ_TPI)
			p.readouts = 8000; /* radial all the way, for both */
		if (bs_traj_make(&full, &p, NULL))
			continue;
		p.traj.reach = 0.25;
		if (bs_traj_make(&half, &p, NULL))
			continue;
		for (size_t v = 0; v < (size_t)p.samples * p.readouts * p.dims; v++)
			if (full.k[v] > -0.5f)
				worst = fmax(worst, fabs(half.k[v] - 0.5 * (double)full.k[v]));
		CHECK(worst < 1e-7, "type %d: half the reach, half of everything, to %.1e",
		      (int)types[i], worst);
		bs_traj_close(&full);
		bs_traj_close(&half);
	}
}

static void test_cartesian(void)
{
	struct bs_protocol p = protocol(BS_TRAJ_CARTESIAN, 16, 16, 16, 32, 16 * 16);
	struct bs_traj t;
	int wrong = 0;

	p.encoded[0] = 32;
	p.encoded[1] = p.encoded[2] = 16;
	if (bs_traj_make(&t, &p, NULL))
		return;
	for (uint32_t r = 0; r < t.readouts; r++)
		for (uint32_t s = 0; s < t.samples; s++) {
			const float *k = t.k + ((size_t)r * 32 + s) * 3;

			wrong += k[0] != ((float)s - 16) / 32 ||
				 k[1] != ((float)t.step1[r] - 8) / 16 ||
				 k[2] != ((float)t.step2[r] - 8) / 16;
		}
	CHECK(!wrong, "cartesian: samples lie where their counters say, oversampled readout");
	bs_traj_close(&t);
}

static void test_radial(void)
{
	struct bs_protocol p = protocol(BS_TRAJ_RADIAL2D, 64, 64, 1, 64, 50);
	struct bs_traj t;
	double worst = 0.0;

	if (bs_traj_make(&t, &p, NULL))
		return;
	CHECK(t.k[0] == -0.5f && t.k[32 * 2] == 0.0f, "radial2d: the first spoke runs along x");
	for (uint32_t r = 0; r + 1 < t.readouts; r++) {
		/* a spoke and its reverse are the same line: the cross product is that of 111.246
		 */
		const float *a = t.k + ((size_t)r * 64 + 48) * 2;
		const float *b = t.k + ((size_t)(r + 1) * 64 + 48) * 2;
		double sine = ((double)a[0] * b[1] - (double)a[1] * b[0]) / (0.25 * 0.25);

		worst = fmax(worst,
			     fabs(fabs(sine) - sin(111.24611797498108 * 3.141592653589793 / 180)));
	}
	CHECK(worst < 1e-5, "radial2d: spokes 111.246 degrees apart, off by %.1e", worst);
	bs_traj_close(&t);

	/* even directions: the mean of z^2 over a half sphere is 1/3, of z 1/2; x and y cancel */
	p = protocol(BS_TRAJ_RADIAL3D, 32, 32, 32, 32, 2000);
	if (bs_traj_make(&t, &p, NULL))
		return;
	double mean[4] = { 0 };

	for (uint32_t r = 0; r < t.readouts; r++) {
		const float *k = t.k + ((size_t)r * 32 + 24) * 3;

		for (int d = 0; d < 3; d++)
			mean[d] += k[d] / 0.25 / t.readouts;
		mean[3] += (double)k[2] * k[2] / 0.0625 / t.readouts;
	}
	CHECK(fabs(mean[0]) < 0.01 && fabs(mean[1]) < 0.01 && fabs(mean[2] - 0.5) < 0.01 &&
		      fabs(mean[3] - 1.0 / 3) < 0.01,
	      "radial3d: directions even: means %.4f %.4f %.4f, z^2 %.4f", mean[0], mean[1],
	      mean[2], mean[3]);
	bs_traj_close(&t);
}

/* Largest over smallest distance between neighboring samples of all readouts. */
static double speed_ratio(const struct bs_traj *t)
{
	double lo = 1e9;
	double hi = 0.0;

	for (uint32_t r = 0; r < t->readouts; r++)
		for (uint32_t s = 0; s + 1 < t->samples; s++) {
			const float *k = t->k + ((size_t)r * t->samples + s) * t->dims;
			double d2 = 0.0;

			for (uint32_t d = 0; d < t->dims; d++) {
				double step = (double)k[t->dims + d] - k[d];

				step -= floor(step + 0.5); /* folded values: the short way */
				d2 += step * step;
			}
			lo = fmin(lo, sqrt(d2));
			hi = fmax(hi, sqrt(d2));
		}
	return hi / lo;
}

/*
 * The same of the outer half of the readout that runs flattest: at the center and on the cones
 * around the poles curves are so tight that chords fall short of them.
 */
static double equator_speed(const struct bs_traj *t)
{
	struct bs_traj one = *t;
	float flat = 1.0f;

	one.readouts = 1;
	for (uint32_t r = 0; r < t->readouts; r++) {
		float *k = t->k + (size_t)r * t->samples * 3;
		float z = fabsf(k[(size_t)(t->samples / 2) * 3 + 2]);

		if (z < flat) {
			flat = z;
			one.k = k;
		}
	}
	one.k += (size_t)(t->samples / 2) * 3;
	one.samples -= t->samples / 2;
	return speed_ratio(&one);
}

static void test_spiral(void)
{
	struct bs_protocol p = protocol(BS_TRAJ_SPIRAL2D, 64, 64, 1, 2000, 8);
	struct bs_traj t;
	double turned = 0.0;

	if (bs_traj_make(&t, &p, NULL))
		return;
	CHECK(radius(&t, 0, 0) == 0.0 && radius(&t, 7, 1999) > 0.499, "spiral2d: from 0 to %.4f",
	      radius(&t, 7, 1999));
	/* chords are shorter than arcs by (step/radius)^2/24, at the center by a few per cent */
	CHECK(speed_ratio(&t) < 1.1, "spiral2d: constant speed, ratio %.4f", speed_ratio(&t));
	for (uint32_t s = 1; s + 1 < t.samples; s++) {
		const float *k = t.k + (size_t)s * 2;

		turned += asin(((double)k[0] * k[3] - (double)k[1] * k[2]) /
			       (radius(&t, 0, s) * radius(&t, 0, s + 1)));
	}
	/* Nyquist: N/2 turns shared by the interleaves */
	CHECK(fabs(turned / 6.283185307 - 4.0) < 0.05, "spiral2d: %.3f turns of 4",
	      turned / 6.283185307);
	bs_traj_close(&t);

	p = protocol(BS_TRAJ_STACK, 32, 32, 16, 100, 16 * 3);
	if (bs_traj_make(&t, &p, NULL))
		return;
	int off = 0;

	for (uint32_t r = 0; r < t.readouts; r++)
		for (uint32_t s = 0; s < t.samples; s++)
			off += t.k[((size_t)r * t.samples + s) * 3 + 2] !=
			       ((float)t.step2[r] - 8) / 16;
	CHECK(!off && t.step1[47] == 2 && t.step2[47] == 15, "stack: kz on the grid");
	bs_traj_close(&t);
	p.readouts = 50;
	CHECK(bs_traj_make(&t, &p, NULL) == BS_ERR_SIZE,
	      "stack: 50 readouts in 16 partitions: refused");
}

/* Share of samples within half the radius. */
static double inner_share(const struct bs_traj *t)
{
	uint64_t in = 0;

	for (uint32_t r = 0; r < t->readouts; r++)
		for (uint32_t s = 0; s < t->samples; s++)
			in += radius(t, r, s) < 0.25;
	return (double)in / ((double)t->readouts * t->samples);
}

static void test_density(void)
{
	struct bs_protocol p = protocol(BS_TRAJ_RANDOM, 32, 32, 32, 1000, 100);
	struct bs_traj t;
	double share;

	/* a ball of radius 1/4 in the unit cube: binomial, 5 standard deviations */
	if (bs_traj_make(&t, &p, NULL))
		return;
	share = inner_share(&t);
	CHECK(fabs(share - 0.0654498) < 5 * sqrt(0.0654498 * 0.93455 / 1e5),
	      "random: %.4f of the samples in a ball of volume 0.0654", share);
	bs_traj_close(&t);

	/*
	 * tpi: the density beyond the radial part is constant, so a shell's share of samples is its
	 * share of the volume
	 */
	p = protocol(BS_TRAJ_TPI, 64, 64, 64, 1024, 1100);
	if (bs_traj_make(&t, &p, NULL))
		return;
	uint64_t shell[2] = { 0 };

	for (uint32_t s = 0; s < t.samples; s++) {
		double k = radius(&t, 0, s);

		shell[0] += k >= 0.30 && k < 0.40;
		shell[1] += k >= 0.40;
	}
	double want = (0.4 * 0.4 * 0.4 - 0.3 * 0.3 * 0.3) / (0.125 - 0.064);

	CHECK(fabs((double)shell[0] / (double)shell[1] / want - 1.0) < 0.02,
	      "tpi: shells hold %llu and %llu samples, ratio of volumes %.4f",
	      (unsigned long long)shell[0], (unsigned long long)shell[1], want);
	CHECK(equator_speed(&t) < 1.1, "tpi: constant speed near the equator, ratio %.3f",
	      equator_speed(&t));
	bs_traj_close(&t);

	p = protocol(BS_TRAJ_CONES, 32, 32, 32, 600, 130);
	if (bs_traj_make(&t, &p, NULL))
		return;
	/* z^2 of even directions is a third of the radius squared */
	double z2 = 0.0;

	for (uint32_t r = 0; r < t.readouts; r++) {
		double k = radius(&t, r, 500);
		double z = t.k[((size_t)r * 600 + 500) * 3 + 2];

		z2 += z * z / (k * k) / t.readouts;
	}
	CHECK(equator_speed(&t) < 1.1, "cones: constant speed near the equator, ratio %.3f",
	      equator_speed(&t));
	CHECK(fabs(z2 - 1.0 / 3) < 0.01, "cones: mean of (kz/k)^2 is %.3f, for an even cover 0.333",
	      z2);
	bs_traj_close(&t);
}

static void refuse(const char *what, struct bs_protocol *p, float *at, float value, int want)
{
	struct bs_fail why = { 0 };
	struct bs_traj t;
	struct bs_protocol made = *p;

	made.traj.unit = BS_UNIT_CYCLES_PER_VOXEL;
	if (bs_traj_make(&t, &made, &why))
		return;
	if (at)
		t.k[(3 * t.samples + 5) * t.dims + 1] = value;
	int err = bs_traj_check(&t, p, &why);

	CHECK(err == want, "%s: %s (%s)", what, err ? why.text : "accepted", bs_err_name(err));
	if (at && want)
		CHECK(strstr(why.text, "readout 3, sample 5") != NULL, "%s: says where", what);
	bs_traj_close(&t);
}

static void test_refused(void)
{
	struct bs_protocol p = protocol(BS_TRAJ_RADIAL2D, 64, 64, 1, 32, 20);
	struct bs_traj t;
	struct bs_fail why;
	float here;

	refuse("NaN", &p, &here, NAN, BS_ERR_TRAJECTORY);
	refuse("infinite", &p, &here, INFINITY, BS_ERR_TRAJECTORY);
	refuse("out of range", &p, &here, 0.51f, BS_ERR_TRAJECTORY);
	refuse("exactly 0.5", &p, &here, 0.5f, 0);

	/* cycles per voxel declared as cycles per field of view: far too small */
	p.traj.unit = BS_UNIT_CYCLES_PER_FOV;
	p.traj.min_extent = 0.25;
	refuse("wrong unit, too small", &p, NULL, 0.0f, BS_ERR_TRAJECTORY);
	p.traj.unit = BS_UNIT_CYCLES_PER_VOXEL;
	refuse("the right unit", &p, NULL, 0.0f, 0);

	/* cycles per field of view declared as cycles per voxel: far too large */
	if (bs_traj_make(&t, &p, NULL))
		return;
	for (size_t i = 0; i < (size_t)t.samples * t.readouts * 2; i++)
		t.k[i] *= 64.0f;
	CHECK(bs_traj_check(&t, &p, &why) == BS_ERR_TRAJECTORY, "wrong unit, too large: %s",
	      why.text);
	p.traj.unit = BS_UNIT_CYCLES_PER_FOV;
	CHECK(bs_traj_check(&t, &p, &why) == 0 && t.k[0] == -0.5f, "and accepted as what it is");
	bs_traj_close(&t);

	/* voxels of 220/64 mm: half a cycle per voxel is 913.9 rad/m */
	p.traj.unit = BS_UNIT_RAD_PER_M;
	p.fov_mm[0] = p.fov_mm[1] = 220.0f;
	CHECK(fabs(913.9 * bs_traj_unit_scale(&p, 0) - 0.5) < 1e-4 && p.matrix[0] == 64,
	      "rad per meter by the field of view");
	p.traj.unit = BS_UNIT_CYCLES_PER_M;
	CHECK(fabs(64 / 0.44 * bs_traj_unit_scale(&p, 0) - 0.5) < 1e-6, "cycles per meter");

	p.traj.unit = BS_UNIT_RAD_PER_VOXEL;
	if (bs_traj_make(&t, &p, NULL))
		return;
	for (size_t i = 0; i < (size_t)t.samples * t.readouts * 2; i++)
		t.k[i] *= 6.2831855f; /* single precision: -0.5 becomes a little less than -pi */
	CHECK(bs_traj_check(&t, &p, &why) == 0 && t.k[0] == -0.5f,
	      "rad per voxel, rounded to single precision: accepted");
	/* gradient waveforms pass a range test: mT/m-like values of 1e-2 reach nowhere */
	for (size_t i = 0; i < (size_t)t.samples * t.readouts * 2; i++)
		t.k[i] *= 0.02f;
	CHECK(bs_traj_check(&t, &p, &why) == BS_ERR_TRAJECTORY, "gradients: %s", why.text);
	t.samples--;
	CHECK(bs_traj_check(&t, &p, &why) == BS_ERR_SIZE, "other sizes: %s", why.text);
	t.samples++;
	t.step1[4] = t.step1[5];
	p.traj.min_extent = 0.0;
	CHECK(bs_traj_check(&t, &p, &why) == 0 && !t.keyed, "shared counters: by order of arrival");
	bs_traj_close(&t);

	p.traj.unit = BS_UNIT_CYCLES_PER_VOXEL;
	p.traj.min_extent = 0.25;
	if (bs_traj_make(&t, &p, NULL))
		return;
	for (size_t i = 0; i < (size_t)t.samples * t.readouts; i++)
		t.k[2 * i + 1] = 0.0f;
	CHECK(bs_traj_check(&t, &p, &why) == BS_ERR_TRAJECTORY, "no ky for many rows: %s",
	      why.text);
	p.matrix[1] = 1;
	CHECK(bs_traj_check(&t, &p, &why) == 0, "a single row needs no ky %s", why.text);
	p.matrix[1] = p.matrix[0];
	p.traj.min_extent = 0.0;
	bs_traj_close(&t);

	CHECK(bs_traj_open(&t, 3, UINT32_MAX, UINT32_MAX, &why) == BS_ERR_NOMEM, "huge: %s",
	      why.text);
	CHECK(bs_traj_open(&t, 3, 0, 5, &why) == BS_ERR_SIZE, "empty: %s", why.text);
	p.traj.type = BS_TRAJ_FILE;
	CHECK(bs_traj_make(&t, &p, &why) == BS_ERR_UNSUPPORTED, "file: %s", why.text);
	p.traj.type = BS_TRAJ_TPI;
	CHECK(bs_traj_make(&t, &p, &why) == BS_ERR_SIZE, "tpi in a plane: %s", why.text);
}

static void test_random(void)
{
	struct bs_random r;
	double sum = 0.0;
	double square = 0.0;
	double fourth = 0.0;
	int n = 200000;

	bs_random_seed(&r, 0);
	for (int i = 0; i < n; i += 2) {
		double z[2];

		bs_random_normal(&r, z);
		for (int j = 0; j < 2; j++) {
			sum += z[j] / n;
			square += z[j] * z[j] / n;
			fourth += z[j] * z[j] * z[j] * z[j] / n;
		}
	}
	/* 5 standard deviations of the sample moments: var 1, 2, 96 over n */
	CHECK(fabs(sum) < 5 / sqrt(n) && fabs(square - 1.0) < 5 * sqrt(2.0 / n) &&
		      fabs(fourth - 3.0) < 5 * sqrt(96.0 / n),
	      "normal numbers: moments %.4f %.4f %.4f", sum, square, fourth);
}

int main(void)
{
	test_common();
	test_reach();
	test_cartesian();
	test_radial();
	test_spiral();
	test_density();
	test_refused();
	test_random();
	return check_done();
}

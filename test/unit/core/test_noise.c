/*
 * test/unit/core/test_noise.c - Gram matrices and the noise covariance against direct sums
 *
 * A sum of n products in double departs from the exact one by at most n 2^-53 of the sum of their
 * magnitudes; the bound is that of the direct sum and of the one under test together.
 */
/* Holds: W55, C4 */
#include "core/study/gram.h"
#include "core/study/noise.h"

#include <complex.h>
#include <string.h>

#include "test/support/check.h"

#define COILS    13
#define SAMPLES  37 /* no multiple of a block */
#define STRIDE   41
#define READOUTS 5

typedef double complex z;

static uint64_t seed = 5;
static unsigned char raw[1 + READOUTS * COILS * STRIDE * 8]; /* from 1: not aligned */

static z sample(uint32_t readout, uint32_t coil, uint32_t s)
{
	float v[2];

	memcpy(v, raw + 1 + 8 * (((size_t)readout * COILS + coil) * STRIDE + s), 8);
	return v[0] + I * v[1];
}

static void fill(void)
{
	for (size_t i = 0; i < sizeof(raw) / 4; i++) {
		const float v = (float)(check_uniform(&seed) - 0.5);

		memcpy(raw + 1 + 4 * i, &v, 4 * i + 5 <= sizeof(raw) ? 4 : 0);
	}
}

static void test_covariance(void)
{
	static struct bs_noise n;
	static z psi[COILS * COILS];
	struct bs_scan_info info = { .measurement = "45_1_2", .noise_bandwidth = 0.793f };
	double gram[COILS * COILS];
	double worst = 0.0;
	double asymmetry = 0.0;

	bs_noise_start(&n, &info);
	for (uint32_t r = 0; r < READOUTS; r++) {
		memset(gram, 0, sizeof(gram));
		bs_gram_add(gram, COILS, SAMPLES, raw + 1 + (size_t)8 * r * COILS * STRIDE, STRIDE);
		CHECK(bs_noise_add(&n, gram, COILS, SAMPLES, 5.0f), "readout %u is added", r);
	}
	const double scale = bs_noise_scale(&n, 26.9f);

	bs_noise_covariance(&n, scale, (double *)psi);
	for (uint32_t i = 0; i < COILS; i++)
		for (uint32_t j = 0; j < COILS; j++) {
			z sum = 0.0;
			double size = 0.0;

			for (uint32_t r = 0; r < READOUTS; r++)
				for (uint32_t s = 0; s < SAMPLES; s++) {
					const z v = sample(r, i, s) * conj(sample(r, j, s));

					sum += v;
					size += cabs(v);
				}
			sum *= scale / (READOUTS * SAMPLES - 1);
			size *= scale / (READOUTS * SAMPLES - 1);
			worst = fmax(worst, cabs(psi[i + COILS * j] - sum) / size);
			asymmetry = fmax(asymmetry,
					 cabs(psi[i + COILS * j] - conj(psi[j + COILS * i])));
		}
	CHECK(worst < 4.0 * READOUTS * SAMPLES * 0x1p-53, "Psi is E[n_i conj n_j]: %.1e", worst);
	CHECK(asymmetry == 0.0, "Psi is Hermitian");
	/* the header's numbers are floats */
	CHECK(fabs(scale / (5.0 / 26.9 / 0.793) - 1.0) < 4.0 * 0x1p-24, "scale %.6f", scale);
	CHECK(fabs(bs_noise_deviation(&n, scale, 7) - sqrt(creal(psi[7 + COILS * 7]))) < 1e-15,
	      "deviation is the root of the diagonal");
	CHECK(n.samples == READOUTS * SAMPLES && strcmp(n.scan, "45_1_2") == 0,
	      "%llu samples of scan %s", (unsigned long long)n.samples, n.scan);
	CHECK(!bs_noise_add(&n, gram, COILS, SAMPLES, 4.0f) &&
		      !bs_noise_add(&n, gram, COILS - 1, SAMPLES, 5.0f),
	      "another dwell time and other coils are not added");
	gram[3] = NAN;
	CHECK(!bs_noise_add(&n, gram, COILS, SAMPLES, 5.0f) && n.readouts == READOUTS,
	      "nor is what is not a number");
}

static void test_unsaid(void)
{
	static struct bs_noise n;
	struct bs_scan_info info = { 0 };
	double gram[1] = { 8.0 };

	bs_noise_start(&n, &info);
	CHECK(bs_noise_deviation(&n, 1.0, 0) == 0.0, "no samples: no noise");
	CHECK(bs_noise_add(&n, gram, 1, 3, 0.0f), "no dwell time is said");
	CHECK(bs_noise_scale(&n, 10.0f) == 1.0, "then nothing is scaled");
	CHECK(bs_noise_deviation(&n, 1.0, 0) == 2.0, "8 over 3 - 1");
}

static struct bs_noise *noise_of(const char *scan, double gram)
{
	static struct bs_noise n;
	struct bs_scan_info info = { 0 };

	(void)snprintf(info.measurement, sizeof(info.measurement), "%s", scan);
	bs_noise_start(&n, &info);
	(void)bs_noise_add(&n, &gram, 1, 4, 5.0f);
	return &n;
}

static void test_kept(void)
{
	static struct bs_noise_kept k;
	char name[8];

	CHECK(bs_noise_find(&k, "") == NULL, "an empty name finds nothing");
	for (uint32_t i = 0; i <= BS_NOISE_KEPT; i++) {
		(void)snprintf(name, sizeof(name), "n%u", i);
		bs_noise_keep(&k, noise_of(name, i));
		bs_noise_keep(&k, noise_of(name, i + 0.5));
	}
	bs_noise_keep(&k, noise_of("", 1.0));
	CHECK(bs_noise_find(&k, "n0") == NULL, "the oldest made room");
	for (uint32_t i = 1; i <= BS_NOISE_KEPT; i++) {
		(void)snprintf(name, sizeof(name), "n%u", i);
		const struct bs_noise *n = bs_noise_find(&k, name);

		CHECK(n != NULL && n->sum[0] == i + 0.5, "%s is kept, the later of its two", name);
	}
}

/* Its own noise before an earlier scan's; nothing after the first other readout. */
static void test_scan(void)
{
	static struct bs_scan_noise s;
	const struct bs_scan_info info = { .measurement = "own", .noise_scan = "before" };
	struct bs_protocol p = { .name = "p", .coils = 1, .whiten = BS_WHITEN_REQUIRE };
	const struct bs_mrd_acq h = { .number_of_samples = 4,
				      .active_channels = 1,
				      .sample_time_us = 5.0f };
	const double gram = 12.0;
	struct bs_fail why = { 0 };

	bs_scan_noise_open(&s, &info, NULL);
	CHECK(bs_scan_noise_freeze(&s, &p, &info, &why) == BS_ERR_CALIBRATION &&
		      strstr(why.text, "'before' is not known") != NULL,
	      "%s", why.text);
	CHECK(bs_scan_noise_freeze(&s, &p, &info, &why) == BS_ERR_CALIBRATION,
	      "as often as it is asked: who asks may have been replaced");
	bs_scan_noise_open(&s, &info, noise_of("before", 6.0));
	CHECK(bs_scan_noise_freeze(&s, &p, &info, &why) == 0 && s.noise.sum[0] == 6.0 &&
		      strcmp(s.noise.scan, "before") == 0,
	      "an earlier scan's");
	CHECK(!bs_scan_noise_add(&s, &info, &h, &gram), "then noise comes too late");
	bs_scan_noise_open(&s, &info, noise_of("before", 6.0));
	CHECK(bs_scan_noise_add(&s, &info, &h, &gram) && bs_scan_noise_add(&s, &info, &h, &gram) &&
		      s.noise.sum[0] == 24.0 && s.noise.samples == 8 &&
		      strcmp(s.noise.scan, "own") == 0,
	      "its own takes the place of that");
	p.coils = 2;
	bs_plan_make(&p);
	CHECK(bs_scan_noise_freeze(&s, &p, &info, &why) == BS_ERR_CALIBRATION, "%s", why.text);
	s.frozen = 0;
	p.whiten = BS_WHITEN_AUTO;
	bs_plan_make(&p);
	CHECK(bs_scan_noise_freeze(&s, &p, &info, &why) == 0, "wanted where it is known");
}

/* Two channels, named by a letter each. */
static void name_two(struct bs_labels *l, const char *letters)
{
	l->count = 2;
	l->name[0][0] = letters[0];
	l->name[1][0] = letters[1];
	l->number[1] = 1;
}

static void test_names(void)
{
	static struct bs_scan_noise s;
	static struct bs_noise before;
	struct bs_scan_info info = { .measurement = "own", .noise_scan = "before" };
	const struct bs_protocol p = { .name = "p", .coils = 2, .whiten = BS_WHITEN_REQUIRE };
	struct bs_fail why = { 0 };

	before = *noise_of("before", 6.0);
	before.coils = 2;
	name_two(&before.labels, "AB");
	name_two(&info.labels, "BA");
	bs_scan_noise_open(&s, &info, &before);
	CHECK(s.noise.match.by == BS_MATCHED_NAME && s.noise.match.of[0] == 1 &&
		      s.noise.sum[0] == 6.0 && bs_scan_noise_freeze(&s, &p, &info, &why) == 0,
	      "taken as it is, with which of its channels is which %s", why.text);
	name_two(&info.labels, "BC");
	bs_scan_noise_open(&s, &info, &before);
	CHECK(s.noise.match.by == BS_MATCHED_NONE && s.noise.samples == 0 &&
		      bs_scan_noise_freeze(&s, &p, &info, &why) == BS_ERR_CALIBRATION &&
		      strstr(why.text, "(A) are not those of this scan 'own' (C)") != NULL,
	      "of other channels: %s", why.text);
	info.labels.count = 0;
	bs_scan_noise_open(&s, &info, &before);
	CHECK(s.noise.match.by == BS_MATCHED_NUMBER && s.noise.samples > 0, "by number");
}

/* Readouts of unequal length by teams of any size, and readouts of no sample. */
static void test_spread(void)
{
	static const int members[] = { 1, 2, 7 };
	double want[COILS * COILS] = { 0.25, 0.5 };
	struct bs_fail why = { 0 };
	struct bs_team *team;

	for (uint32_t r = 0; r < READOUTS; r++)
		bs_gram_add(want, COILS, SAMPLES - 9 * r, raw + 1 + (size_t)8 * r * COILS * STRIDE,
			    STRIDE);
	for (int i = 0; i < 3; i++) {
		/* one matrix, and one of each block */
		double got[(1 + 3) * COILS * COILS] = { 0.25, 0.5 };

		if (bs_team_open(&team, members[i], &why) != 0)
			CHECK(0, "a team of %d: %s", members[i], why.text);
		for (uint32_t r = 0; r < READOUTS; r++)
			bs_gram_spread(team, got, COILS, SAMPLES - 9 * r,
				       raw + 1 + (size_t)8 * r * COILS * STRIDE, STRIDE);
		bs_gram_spread(team, got, COILS, 0, raw + 1, STRIDE);
		CHECK(memcmp(got, want, sizeof(want)) == 0, "%d threads: the same bytes",
		      members[i]);
		bs_team_close(team);
	}
}

int main(void)
{
	test_names();
	fill();
	test_covariance();
	test_spread();
	test_unsaid();
	test_kept();
	test_scan();
	return check_done();
}

/*
 * test/unit/core/answer/test_answer.c - frequency, phase and shift of a readout: exact without
 * noise, at the Cramer-Rao bound with it, the same after a successor has taken over
 */
/* Holds: W72 */
#define _POSIX_C_SOURCE 200809L /* for fmemopen */
#include "core/answer/answer.h"
#include "core/frame/kind.h"
#include "test/support/check.h"

#include <string.h>

#define N     256u
#define COILS 8u
#define DWELL 1e-5 /* s */
#define FOV   256.0
#define TRIES 400
#define TURN  6.283185307179586

static struct bs_protocol p;
static struct bs_scan_info info;
static struct bs_mrd_acq head;
static struct bs_answering state;
static float data[2 * N * COILS];
static unsigned char places[BS_ANSWERS_MAX * 8 * N * COILS];
static uint64_t seed = 7;

static const struct bs_answering_of made_of = { &state, places, 8 * (uint64_t)N *COILS, &p, &info };

/* The sum of six uniform numbers, less their mean, has the deviation sqrt(1/2). */
static double noise(void)
{
	double sum = -3.0;

	for (int i = 0; i < 6; i++)
		sum += check_uniform(&seed);
	return sum * 1.4142135623730951;
}

static void scan_of(enum bs_answer_what what, enum bs_answer_of of)
{
	memset(&p, 0, sizeof(p));
	p.samples = p.encoded[0] = N;
	p.coils = COILS;
	p.plan.on_grid = true;
	p.answers = (struct bs_answers_of){ .row = { { "", what, of, 1.0 } }, .count = 1 };
	p.answers.kinds = 1u << BS_KIND_NAVIGATION;
	info.encoded[0] = N;
	info.encoded_fov_mm[0] = (float)FOV;
	memset(&head, 0, sizeof(head));
	head.flags = BS_MRD_IS_NAVIGATION;
	head.number_of_samples = N;
	head.active_channels = COILS;
	head.center_sample = N / 2;
	head.sample_time_us = (float)(DWELL * 1e6);
	bs_answers_start(&state);
}

/* Each coil has a phase and an amplitude of its own; sample k gets at(k) and noise. */
static void fill(void (*at)(double k, double out[2], double arg), double arg, double sigma)
{
	for (uint32_t c = 0; c < COILS; c++)
		for (uint32_t k = 0; k < N; k++) {
			const double coil =
				(1.0 + 0.1 * c) / 3.9623225512317903; /* sum of squares 1 */
			double v[2];

			at((double)k, v, arg);
			data[2 * (c * N + k)] = (float)(coil * (v[0] * cos(c) - v[1] * sin(c)) +
							sigma * noise() / 1.4142135623730951);
			data[2 * (c * N + k) + 1] = (float)(coil * (v[0] * sin(c) + v[1] * cos(c)) +
							    sigma * noise() / 1.4142135623730951);
		}
}

static void tone(double k, double out[2], double hz)
{
	out[0] = cos(TURN * hz * DWELL * k);
	out[1] = sin(TURN * hz * DWELL * k);
}

static void decaying(double k, double out[2], double hz)
{
	tone(k, out, hz);
	out[0] *= exp(-k / 100.0);
	out[1] *= exp(-k / 100.0);
}

/* The projection of two bars, 60 and 20 mm wide, that lie arg mm beside their place. */
static void bars(double k, double out[2], double mm)
{
	const double q = TURN / FOV * (k - N / 2);
	const double a = q == 0.0 ? 60.0 : 2.0 * sin(30.0 * q) / q;
	const double b = q == 0.0 ? 20.0 : 2.0 * sin(10.0 * q) / q;

	out[0] = a * cos(q * (-20.0 + mm)) + 2.0 * b * cos(q * (45.0 + mm));
	out[1] = -a * sin(q * (-20.0 + mm)) - 2.0 * b * sin(q * (45.0 + mm));
}

static struct bs_answer answer(uint64_t readout)
{
	struct bs_answer a[BS_ANSWERS_MAX] = { { 0 } };

	CHECK(bs_answers_make(&made_of, &head, readout, data, a) == 1, "readout %llu: one answer",
	      (unsigned long long)readout);
	return a[0];
}

static void test_exact(void)
{
	static const double hz[] = { 0.0, 12.5, -333.25, 4000.0, -21000.0 };
	static const double mm[] = { 0.0, 0.003, -1.7, 3.0, 40.0, -90.0 };
	static const double rad[] = { 0.0, 0.4, -3.0 };

	scan_of(BS_ANSWER_FREQUENCY, BS_ANSWER_OF_NAVIGATION);
	for (size_t i = 0; i < sizeof(hz) / sizeof(hz[0]); i++) {
		fill(tone, hz[i], 0.0);
		struct bs_answer a = answer(i + 1);

		CHECK(a.numbers == 1 && fabs(a.number[0] - hz[i]) < 1e-3, "%g Hz: %.6f", hz[i],
		      a.number[0]);
	}
	scan_of(BS_ANSWER_SHIFT, BS_ANSWER_OF_NAVIGATION);
	for (size_t i = 0; i < sizeof(mm) / sizeof(mm[0]); i++) {
		fill(bars, mm[i], 0.0);
		struct bs_answer a = answer(i + 1);

		/* what is wanted is 0.01 mm; floats leave less than a thousandth of it */
		CHECK(a.numbers == 1 && fabs(a.number[0] - mm[i]) < 1e-5, "%g mm: %.9f", mm[i],
		      a.number[0]);
	}
	scan_of(BS_ANSWER_PHASE, BS_ANSWER_OF_NAVIGATION);
	for (size_t i = 0; i < sizeof(rad) / sizeof(rad[0]); i++) {
		fill(bars, 2.0 * (double)i, 0.0);
		for (uint32_t k = 0; k < N * COILS; k++) {
			const float re = data[2 * k];

			data[2 * k] = (float)(re * cos(rad[i]) - data[2 * k + 1] * sin(rad[i]));
			data[2 * k + 1] = (float)(re * sin(rad[i]) + data[2 * k + 1] * cos(rad[i]));
		}
		struct bs_answer a = answer(i + 1);

		CHECK(a.numbers == 1 && fabs(remainder(a.number[0] - rad[i], TURN)) < 1e-5,
		      "%g rad, 2 mm further each time: %.7f", rad[i], a.number[0]);
	}
}

/* The bound of a tone of known decay and unknown amplitude, phase and frequency. */
static double bound_hz(double sigma, double decay)
{
	double w = 0.0;
	double at = 0.0;
	double d2 = 0.0;

	for (uint32_t k = 0; k < N; k++) {
		w += exp(-2.0 * k * decay);
		at += k * exp(-2.0 * k * decay);
	}
	for (uint32_t k = 0; k < N; k++)
		d2 += (k - at / w) * (k - at / w) * exp(-2.0 * k * decay);
	return sigma / sqrt(2.0 * d2) / (TURN * DWELL);
}

/*
 * The amplitude over the deviation of the complex noise is 50 in the channels' best sum. The root
 * mean square over 400 readouts has a deviation of its own of 4 %: 2 bounds leave room for 25.
 */
static void test_bound(void (*at)(double k, double out[2], double arg), double decay)
{
	const double sigma = 1.0 / 50.0;
	const double bound = bound_hz(sigma, decay);
	double square = 0.0;
	double said = 0.0;
	struct bs_answer a[BS_ANSWERS_MAX];

	scan_of(BS_ANSWER_FREQUENCY, BS_ANSWER_OF_NAVIGATION);
	for (int i = 0; i < TRIES; i++) {
		const double hz = 400.0 * (check_uniform(&seed) - 0.5);

		fill(at, hz, sigma);
		(void)bs_answers_make(&made_of, &head, (uint64_t)i + 1, data, a);
		square += (a[0].number[0] - hz) * (a[0].number[0] - hz);
		said += a[0].deviation;
	}
	square = sqrt(square / TRIES);
	said /= TRIES;
	CHECK(square < fmax(0.1, 2.0 * bound), "SNR 50, decay %g: %.4f Hz, bound %.4f", decay,
	      square, bound);
	CHECK(square > 0.8 * bound && fabs(said / square - 1.0) < 0.2,
	      "it says how sure it is: %.4f Hz, was %.4f", said, square);
}

static void test_shift_sure(void)
{
	double square = 0.0;
	double said = 0.0;
	struct bs_answer a[BS_ANSWERS_MAX];

	scan_of(BS_ANSWER_SHIFT, BS_ANSWER_OF_NAVIGATION);
	fill(bars, 0.0, 0.0);
	(void)answer(1);
	for (int i = 0; i < TRIES; i++) {
		fill(bars, 1.5, 0.1);
		(void)bs_answers_make(&made_of, &head, (uint64_t)i + 2, data, a);
		square += (a[0].number[0] - 1.5) * (a[0].number[0] - 1.5);
		said += a[0].deviation;
	}
	square = sqrt(square / TRIES);
	CHECK(square < 0.01 && fabs(said / TRIES / square - 1.0) < 0.2,
	      "a shift with noise: %.5f mm, says %.5f", square, said / TRIES);
}

static void test_nothing(void)
{
	struct bs_answer a;

	scan_of(BS_ANSWER_SHIFT, BS_ANSWER_OF_NAVIGATION);
	memset(data, 0, sizeof(data));
	a = answer(1);
	CHECK(a.numbers == 0, "no signal: no number");
	scan_of(BS_ANSWER_SHIFT, BS_ANSWER_OF_NAVIGATION);
	info.encoded_fov_mm[0] = 0.0f;
	fill(bars, 0.0, 0.0);
	a = answer(1);
	CHECK(a.numbers == 0, "no field of view: no number");
	scan_of(BS_ANSWER_FREQUENCY, BS_ANSWER_OF_NAVIGATION);
	head.sample_time_us = 0.0f;
	fill(tone, 5.0, 0.0);
	a = answer(1);
	CHECK(a.numbers == 0, "no dwell time: no number");
}

/* What is not of the row's kind or place, and what comes again, makes nothing. */
static void test_state(void)
{
	struct bs_answer a[BS_ANSWERS_MAX];

	scan_of(BS_ANSWER_SHIFT, BS_ANSWER_OF_NAVIGATION);
	head.flags = 0;
	fill(bars, 0.0, 0.0);
	CHECK(bs_answers_make(&made_of, &head, 1, data, a) == 0 && state.done == 0, "a line: none");
	head.flags = BS_MRD_IS_NAVIGATION;
	(void)answer(2);
	head.idx.slice = 1;
	CHECK(bs_answers_make(&made_of, &head, 3, data, a) == 0, "another slice: none");
	head.idx.slice = 0;
	fill(bars, 2.0, 0.0);
	a[0] = answer(4);
	CHECK(a[0].count == 2 && a[0].readout == 4 && fabs(a[0].number[0] - 2.0) < 1e-5,
	      "the second answer: %.6f mm", a[0].number[0]);
	CHECK(bs_answers_make(&made_of, &head, 4, data, a) == 0, "it comes again: none");
	head.number_of_samples = N / 2;
	a[0] = answer(5);
	CHECK(a[0].numbers == 0, "other sizes than the first readout: no number");
	head.number_of_samples = N;
	fill(bars, -1.0, 0.0);
	a[0] = answer(6);
	CHECK(fabs(a[0].number[0] + 1.0) < 1e-5, "the first readout stays the first");
}

static void test_step(void)
{
	const double six[6] = { 1.0, 2.0, 3.0, 0.1, 0.2, 0.3 };
	struct bs_answer a[BS_ANSWERS_MAX];
	char line[256] = "";
	FILE *to = fmemopen(line, sizeof(line), "w");

	scan_of(BS_ANSWER_MOTION, BS_ANSWER_OF_IMAGE);
	CHECK(bs_answers_step(&made_of, 9, six, 6, a) == 1 && a[0].numbers == 6 &&
		      a[0].image == 9 && a[0].what == BS_ANSWER_MOTION && a[0].number[5] == 0.3,
	      "a step's numbers");
	bs_answer_print(to, a);
	(void)fclose(to);
	CHECK(strcmp(line, "motion 0 9 -1 1 2 3 0.10000000000000001 0.20000000000000001 "
			   "0.29999999999999999\n") == 0,
	      "in a line: %s", line);
}

int main(void)
{
	test_exact();
	test_bound(tone, 0.0);
	test_bound(decaying, 0.01);
	test_shift_sure();
	test_nothing();
	test_state();
	test_step();
	return check_done();
}

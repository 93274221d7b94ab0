/*
 * test/unit/drivers/tool/test_phantombands.c - multiband scans, read back: which lines, their
 * counters and flags, and their samples against the sum of what each slice alone has
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <complex.h>
#include <math.h>

#include "core/tool/phantom/coils.h"
#include "test/support/scanned.h"

#define SLICES 4u
#define TAU    6.28318530717958647692

static struct bs_protocol sliced(uint32_t lines)
{
	struct bs_protocol p = protocol(lines, 1);

	p.slices = SLICES;
	bs_plan_make(&p);
	return p;
}

static struct bs_phantom_scan through_sphere(void)
{
	struct bs_phantom_scan q = like_scanner();

	q.coil_sphere = true;
	q.repetitions = 3;
	return q;
}

/* The line of a scan with these counters, an image's or a flagged one; or its count. */
static uint32_t find(const struct scan *s, bool flagged, const struct bs_mrd_idx *idx)
{
	uint32_t i = 0;

	while (i < s->count && (!(s->head[i].flags & BS_MRD_IS_CALIBRATION) == flagged ||
				(s->head[i].flags & BS_MRD_IS_PHASE_CORRECTION) != 0 ||
				s->head[i].idx.slice != idx->slice ||
				s->head[i].idx.kspace_encode_step_1 != idx->kspace_encode_step_1 ||
				s->head[i].idx.repetition != idx->repetition))
		i++;
	return i;
}

/*
 * How far a line is from the sum of slices of another scan, slice + groups b turned by b cycles
 * of a field of view over shift: the largest difference to the largest sample.
 */
static double off(const struct scan *s, uint32_t line, const struct scan *alone, bool flagged,
		  uint32_t groups, uint32_t shift)
{
	struct bs_mrd_idx idx = s->head[line].idx;
	const int ky = (int)idx.kspace_encode_step_1 - (int)idx.user[5];
	const uint32_t n = s->head[line].number_of_samples * COILS;
	uint32_t at[SLICES];
	double worst = 0.0;
	double peak = 0.0;

	for (uint32_t b = 0; b * groups < SLICES; b++) {
		idx.slice = (uint16_t)(s->head[line].idx.slice + groups * b);
		idx.repetition = flagged ? 0 : s->head[line].idx.repetition;
		at[b] = find(alone, flagged, &idx);
		if (at[b] == alone->count)
			return INFINITY;
	}
	for (uint32_t i = 0; i < n; i++) {
		double complex sum = 0;

		for (uint32_t b = 0; b * groups < SLICES; b++)
			sum += (alone->data[at[b]][2 * i] +
				I * (double)alone->data[at[b]][2 * i + 1]) *
			       (shift > 0 ? cexp(I * TAU * b * ky / shift) : 1.0);
		worst = fmax(worst, cabs(sum - s->data[line][2 * i] -
					 I * (double)s->data[line][2 * i + 1]));
		peak = fmax(peak, cabs(sum));
	}
	return peak > 0.0 ? worst / peak : worst;
}

static bool header_has(const char *what)
{
	struct bs_recording *r = NULL;
	struct bs_fail why = { 0 };
	bool has = bs_recording_open(&r, path("scan.h5"), &why) == 0 &&
		   strstr(bs_recording_xml(r), what) != NULL;

	(void)bs_recording_close(r, NULL);
	return has;
}

/* EPI of two bands in two groups, R = 2, partial Fourier, ghosts that drift. */
static void test_epi(void)
{
	struct bs_protocol p = sliced(32);
	struct bs_phantom_scan q = through_sphere();
	struct scan alone;
	struct scan whole;
	struct scan s;
	uint32_t wrong = 0;
	uint32_t references = 0;
	double worst = 0.0;
	double unblipped = 0.0;

	q.plan.epi = true;
	q.ramp_us = 40;
	q.epi_phase = 0.3;
	q.epi_drift = 0.1;
	q.epi_shift = 0.2;
	q.pose.spacing_mm = 2.5;
	q.plan.partial[0] = (struct bs_partial){ .share = 0.75, .early = true };
	whole = record(q, &p);
	q.plan.accel[0] = 2;
	alone = record(q, &p);
	q.plan.multiband = (struct bs_scanbands){ .bands = 2, .lines = 12 };
	s = record(q, &p);
	CHECK(s.info.bands == 2 && s.info.calibration == BS_CALIBRATION_SEPARATE &&
		      s.info.slice.max == 3 && s.info.acceleration[0] == 2 &&
		      header_has("<spacing><dZ>0</dZ><dZ>5</dZ></spacing><spacing><dZ>0</dZ>"
				 "<dZ>5</dZ></spacing><deltaKz>0.05</deltaKz>"),
	      "the header says 2 bands, 5 mm apart, in 2 groups");
	for (uint32_t i = 0; i < s.count; i++) {
		const struct bs_mrd_acq *h = &s.head[i];
		const bool flagged = (h->flags & BS_MRD_IS_CALIBRATION) != 0;

		if (h->flags & BS_MRD_IS_PHASE_CORRECTION)
			continue;
		references += flagged;
		if (flagged) {
			const uint32_t at = find(&whole, false, &h->idx);

			wrong += at == whole.count ||
				 !same_bytes(s.data[i], whole.data[at], 80 * COILS);
			wrong += references < i / 2; /* references come first */
		} else {
			worst = fmax(worst, off(&s, i, &alone, false, 2, 4));
			unblipped = fmax(unblipped, off(&s, i, &alone, false, 2, 0));
			wrong += h->idx.slice > 1 ||
				 h->position[2] != s.head[15 * h->idx.slice].position[2];
		}
	}
	CHECK(references == 4 * 12 && s.count == 4 * (12 + 3) + 3 * 2 * (12 + 3) && wrong == 0,
	      "12 lines of 4 slices, then 3 x 2 trains of 12 lines: %u readouts, %u wrong", s.count,
	      wrong);
	CHECK(worst < 1e-6 && unblipped > 0.1,
	      "lines are the turned sums of their bands: %.1e off (not turned: %.1e)", worst,
	      unblipped);
	CHECK((s.head[s.count - 1].flags & BS_MRD_LAST_IN_MEASUREMENT) != 0 &&
		      (s.head[14].flags & BS_MRD_LAST_IN_SLICE) != 0 &&
		      (s.head[59].flags & BS_MRD_LAST_IN_REPETITION) == 0,
	      "last flags of references and scan");
	drop(&whole);
	drop(&alone);
	drop(&s);
}

/* Trains of references take longer than a TR of the others, where they must. */
static void test_pace(void)
{
	struct bs_protocol p = sliced(32);
	struct bs_phantom_scan q = through_sphere();
	struct scan s;
	int32_t spacing;
	uint32_t wrong = 0;

	q.plan.epi = true;
	q.plan.accel[0] = 2;
	q.plan.multiband.bands = 2;
	s = record(q, &p);
	spacing = s.head[1].user_int[0] - s.head[0].user_int[0];
	drop(&s);
	q.tr_us = 20.0 * spacing; /* 16 lines and the triple take 19 */
	s = record(q, &p);
	for (uint32_t i = 1; i < s.count; i++) {
		const bool reference = i <= 4 * 35;
		const bool begins = reference ? i % 35 == 0 : (i - 4 * 35) % 19 == 0;
		const int32_t step = s.head[i].user_int[0] - s.head[i - 1].user_int[0];

		wrong += step != (begins && !reference ? 2 * spacing : spacing);
	}
	CHECK(spacing > 0 && wrong == 0 && s.count == 4 * 35 + 3 * 2 * 19,
	      "readouts %d us apart, trains as far as they must be: %u of %u are not", spacing,
	      wrong, s.count);
	drop(&s);
	q.tr_us = 18.0 * spacing;
	refuse("a TR shorter than a train", q, &p, BS_ERR_USAGE);
}

/* References are the first repetition, with their bands' phases. */
static void test_first(void)
{
	struct bs_protocol p = sliced(21);
	struct bs_phantom_scan q = through_sphere();
	struct scan s;
	uint32_t wrong = 0;
	double worst = 0.0;

	q.plan.accel[0] = 2;
	q.plan.order = BS_SLICES_INTERLEAVED;
	q.plan.multiband = (struct bs_scanbands){
		.bands = 4, .shift = 3, .single = BS_SINGLE_FIRST, .blipped = true
	};
	s = record(q, &p);
	CHECK(s.count == 4 * 21 + 2 * 11, "4 slices of 21 lines, 2 times 11: %u", s.count);
	for (uint32_t i = 0; i < s.count; i++) {
		const bool reference = i < 4 * 21;
		struct bs_mrd_acq *h = &s.head[i];

		wrong += (h->flags & BS_MRD_IS_CALIBRATION) != 0 ||
			 h->idx.repetition != (reference ? 0 : 1 + (i - 84) / 11);
		wrong +=
			!(h->flags & BS_MRD_LAST_IN_REPETITION) == (i == 83 || i == 94 || i == 105);
		if (reference)
			continue;
		h->idx.repetition = 0; /* where its bands are */
		worst = fmax(worst, off(&s, i, &s, false, 1, 0));
	}
	CHECK(wrong == 0, "flags and repetitions: %u wrong", wrong);
	CHECK(worst < 1e-6, "lines are the sums of their bands: %.1e off", worst);
	drop(&s);
}

/* ((1 + cos) / 2)^2 of the distance in fields of view, and the phase that goes with it. */
static double complex lobe(double distance, double at)
{
	const double t = TAU * distance / 2.0;

	return 0.375 + 0.5 * (cos(t) + I * 0.3 * at * sin(t)) +
	       0.125 * (cos(2.0 * t) + I * 0.3 * at * sin(2.0 * t));
}

/* Coils on a sphere: what a slice sees of them. Coil 2 of 5 stands on the equator. */
static void test_sphere(void)
{
	static const uint32_t matrix[3] = { 20, 24, 1 };
	const double turn = TAU * 2 * 0.6180339887498949;
	struct bs_coils cut;
	struct bs_fail why = { 0 };
	double worst = 0.0;

	CHECK(bs_coils_cut(&cut, 5, matrix, 0.35, &why) == 0, "made %s", why.text);
	for (int i = 0; i < 20 * 24; i++) {
		const double x[3] = { i % 20 - 10, (double)(i / 20) - 12, 0.0 };
		const double complex want = lobe(x[0] / 20 - cos(turn) / 2, cos(turn)) *
					    lobe(x[1] / 24 - sin(turn) / 2, sin(turn)) *
					    lobe(0.35 / 2, 0.0);
		double got[2];

		bs_coils_at(&cut, 2, x, got);
		worst = fmax(worst, cabs(want - got[0] - I * got[1]));
	}
	CHECK(cut.dims == 2 && worst < 1e-12, "a slice through the sphere: %.1e off", worst);
	CHECK(bs_coils_cut(&cut, 1, matrix, 0.35, &why) == 0 && cut.dims == 2 && cut.terms == 1,
	      "one coil is uniform in a slice, too");
}

static void test_refused(void)
{
	struct bs_protocol p = sliced(16);
	struct bs_phantom_scan q = through_sphere();

	q.plan.multiband.bands = 3;
	refuse("3 bands of 4 slices", q, &p, BS_ERR_SIZE);
	q.plan.multiband = (struct bs_scanbands){ .bands = 2, .single = BS_SINGLE_FIRST };
	q.repetitions = 1;
	refuse("references alone", q, &p, BS_ERR_SIZE);
	q.plan.multiband.single = BS_SINGLE_FLAGGED;
	q.plan.calibration = BS_CALIBRATION_EMBEDDED;
	q.plan.calibration_lines[0] = 8;
	refuse("calibration lines beside references", q, &p, BS_ERR_UNSUPPORTED);
}

int main(void)
{
	if (scanned_begin() != 0)
		return check_done();
	test_epi();
	test_pace();
	test_first();
	test_sphere();
	test_refused();
	scanned_end(NULL);
	return check_done();
}

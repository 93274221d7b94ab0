/*
 * test/unit/drivers/tool/test_phantomscan.c - scans as a scanner sends them, read back: lines,
 * flags, counters, headers, and samples against those of the undisturbed scan
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "core/tool/phantom/coils.h"
#include "drivers/tool/load/cfl.h"
#include "test/support/scanned.h"

#define LAST (BS_MRD_LAST_IN_SLICE | BS_MRD_LAST_IN_REPETITION | BS_MRD_LAST_IN_MEASUREMENT)

/* Every third line and 9 for calibration, of 25: an odd number, whose center is line 12. */
static void test_embedded(void)
{
	struct bs_protocol p = protocol(25, 1);
	struct bs_phantom_scan q = like_scanner();
	struct scan full;
	struct scan s;
	uint32_t wrong = 0;
	uint32_t n = 0;

	p.contrasts = 2;
	full = record(q, &p);
	q.plan.accel[0] = 3;
	q.plan.calibration = BS_CALIBRATION_EMBEDDED;
	q.plan.calibration_lines[0] = 9;
	s = record(q, &p);
	for (uint32_t line = 0; line < 25; line++) {
		bool grid = (line + 3 - 12 % 3) % 3 == 0;
		bool block = line >= 12 - 4 && line < 12 - 4 + 9;
		uint64_t flags = !block ? 0
				 : grid ? BS_MRD_IS_CALIBRATION_TOO
					: BS_MRD_IS_CALIBRATION;

		for (uint16_t c = 0; (grid || block) && c < 2 && n < s.count; c++, n++) {
			const struct bs_mrd_acq *h = &s.head[n];
			uint64_t want = flags;

			want |= line == 0 ? BS_MRD_FLAG(7) : 0;
			want |= line == 24 ? BS_MRD_LAST_IN_SLICE : 0;
			want |= line == 24 && c == 1 ? LAST : 0;
			wrong += h->flags != want || h->idx.kspace_encode_step_1 != line ||
				 h->idx.contrast != c || h->idx.user[5] != 12 ||
				 h->center_sample != 20 || h->scan_counter != n + 1;
			wrong += !same_bytes(s.data[n], full.data[2 * line + c], 80 * COILS);
		}
	}
	CHECK(wrong == 0 && n == s.count && n == 2 * (9 + 6),
	      "R = 3, 9 calibration lines: %u readouts, %u wrong in flags, counters or samples", n,
	      wrong);
	CHECK(s.info.acceleration[0] == 3 && s.info.acceleration[1] == 1 &&
		      s.info.calibration == BS_CALIBRATION_EMBEDDED && s.info.step1.max == 24 &&
		      s.info.step1.center == 12 && s.info.encoded[0] == 40,
	      "its header says acceleration, calibration and limits");
	CHECK(full.info.acceleration[0] == 1 && full.info.calibration == BS_CALIBRATION_OTHER,
	      "that of all lines says 1 and other");
	drop(&full);
	drop(&s);
}

static void test_separate(void)
{
	struct bs_protocol p = protocol(24, 1);
	struct bs_phantom_scan q = like_scanner();
	struct scan full;
	struct scan s;
	uint32_t wrong = 0;

	p.slices = 3;
	p.contrasts = 2;
	bs_plan_make(&p);
	q.plan.order = BS_SLICES_INTERLEAVED;
	full = record(q, &p);
	q.plan.accel[0] = 2;
	q.plan.calibration = BS_CALIBRATION_SEPARATE;
	q.plan.calibration_lines[0] = 8;
	q.plan.dummies = 4;
	s = record(q, &p);
	CHECK(s.count == 4 + 3 * 8 + 3 * 12 * 2 && s.info.calibration == BS_CALIBRATION_SEPARATE,
	      "dummies, 8 lines for each slice, then every second: %u readouts", s.count);
	for (uint32_t i = 0; i < 4; i++) {
		wrong += s.head[i].flags != BS_MRD_IS_DUMMY;
		for (uint32_t j = 0; j < 80 * COILS; j++)
			wrong += s.data[i][j] != 3.0f * full.data[2 * 12][j];
	}
	CHECK(wrong == 0, "a dummy is three times the center line: %u wrong", wrong);
	for (uint32_t i = 4; i < s.count; i++) {
		static const uint16_t order[3] = { 0, 2, 1 };
		bool calibrates = i < 4 + 24;
		uint32_t at = calibrates ? (i - 4) % 8 : (i - 28) % 24;
		uint32_t slice = calibrates ? (i - 4) / 8 : (i - 28) / 24;
		uint32_t line = calibrates ? 8 + at : at / 2 * 2;
		uint32_t contrast = calibrates ? 0 : at % 2;
		const struct bs_mrd_acq *h = &s.head[i];

		wrong += !(h->flags & BS_MRD_IS_CALIBRATION) == calibrates ||
			 (h->flags & BS_MRD_IS_CALIBRATION_TOO) != 0 ||
			 (calibrates && h->flags != BS_MRD_IS_CALIBRATION);
		wrong += h->idx.slice != order[slice] || h->idx.contrast != contrast ||
			 h->idx.kspace_encode_step_1 != line;
		wrong += !same_bytes(s.data[i], full.data[48 * slice + 2 * line + contrast],
				     80 * COILS);
		wrong += !(h->flags & BS_MRD_FLAG(7)) == (!calibrates && at < 2);
		wrong += !(h->flags & BS_MRD_LAST_IN_SLICE) == (!calibrates && at >= 22);
		wrong += (i > 4 && h->user_int[0] <= s.head[i - 2].user_int[0]);
	}
	CHECK(wrong == 0, "interleaved slices and their calibration: %u wrong", wrong);
	drop(&full);
	drop(&s);
}

static void test_caipi(void)
{
	struct bs_protocol p = protocol(18, 16);
	struct bs_phantom_scan q = like_scanner();
	struct scan full = record(q, &p);
	uint32_t wrong = 0;
	uint32_t n = 0;
	struct scan s;

	q.plan.accel[0] = 2;
	q.plan.accel[1] = 3;
	q.plan.shift = 1;
	q.plan.calibration = BS_CALIBRATION_EMBEDDED;
	q.plan.calibration_lines[0] = 6;
	q.plan.calibration_lines[1] = 5;
	s = record(q, &p);
	for (int z = 0; z < 16; z++)
		for (int y = 0; y < 18; y++) {
			bool grid = (y - 9) % 2 == 0 && (z - 8 - (y - 9) / 2) % 3 == 0;
			bool block = y >= 6 && y < 12 && z >= 6 && z < 11;
			uint64_t flags = !block ? 0
					 : grid ? BS_MRD_IS_CALIBRATION_TOO
						: BS_MRD_IS_CALIBRATION;

			if (!grid && !block)
				continue;
			if (n == s.count)
				break;
			wrong += (s.head[n].flags & ~(LAST | BS_MRD_FLAG(7))) != flags ||
				 s.head[n].idx.kspace_encode_step_1 != y ||
				 s.head[n].idx.kspace_encode_step_2 != z ||
				 s.head[n].idx.user[6] != 8;
			wrong += !same_bytes(s.data[n++], full.data[18 * z + y], 80 * COILS);
		}
	CHECK(wrong == 0 && n == s.count, "2 x 3, shifted by 1: %u lines, %u wrong", n, wrong);
	CHECK(s.info.acceleration[1] == 3 && s.info.step2.center == 8, "its header");
	drop(&full);
	drop(&s);
}

/* Late lines missing and early partitions; and a grid that moves with the repetition. */
static void test_partial(void)
{
	struct bs_protocol p = protocol(24, 16);
	struct bs_phantom_scan q = like_scanner();
	struct scan full = record(q, &p);
	uint32_t wrong = 0;
	struct scan s;

	q.plan.partial[0] = (struct bs_partial){ 0.75, false };
	q.plan.partial[1] = (struct bs_partial){ 0.625, true };
	s = record(q, &p);
	CHECK(s.count == 18 * 10 && s.info.step1.max == 17 && s.info.step1.center == 12 &&
		      s.info.step2.max == 9 && s.info.step2.center == 2 && s.info.encoded[2] == 16,
	      "6/8 of the lines, 10 of 16 partitions: %u readouts; limits %u, %u, centers %u, %u",
	      s.count, s.info.step1.max, s.info.step2.max, s.info.step1.center,
	      s.info.step2.center);
	for (uint32_t i = 0; i < s.count; i++) {
		uint32_t y = i % 18;
		uint32_t z = i / 18;

		wrong += s.head[i].idx.kspace_encode_step_1 != y ||
			 s.head[i].idx.kspace_encode_step_2 != z || s.head[i].idx.user[5] != 12 ||
			 s.head[i].idx.user[6] != 2;
		wrong += !same_bytes(s.data[i], full.data[24 * (z + 6) + y], 80 * COILS);
	}
	CHECK(wrong == 0, "lines from the first that is measured: %u wrong", wrong);
	drop(&full);
	drop(&s);
	p = protocol(24, 1);
	q = like_scanner();
	q.repetitions = 4;
	q.plan.accel[0] = 3;
	q.plan.calibration = BS_CALIBRATION_INTERLEAVED;
	q.plan.calibration_lines[0] = 3;
	s = record(q, &p);
	CHECK(s.count == 4 * (8 + 2) && s.head[0].idx.kspace_encode_step_1 == 0 &&
		      s.head[10].idx.kspace_encode_step_1 == 1 &&
		      s.head[30].idx.kspace_encode_step_1 == 0 && s.head[30].idx.repetition == 3 &&
		      s.info.calibration == BS_CALIBRATION_INTERLEAVED,
	      "interleaved: the grid moves with each repetition, and comes back");
	drop(&s);
}

/* Lines without their begin, every second backwards. */
static void test_readout(void)
{
	struct bs_protocol p = protocol(24, 1);
	struct bs_phantom_scan q = like_scanner();
	struct scan full = record(q, &p);
	uint32_t wrong = 0;
	struct scan s;

	p.samples = 31;
	q.plan.reversed = true;
	s = record(q, &p);
	for (uint32_t i = 0; i < 24 && i < s.count; i++) {
		const struct bs_mrd_acq *h = &s.head[i];
		bool back = i % 2 == 1;

		wrong += !(h->flags & BS_MRD_IS_REVERSE) == back || h->number_of_samples != 31 ||
			 h->center_sample != (back ? 30 - 11 : 11);
		for (uint32_t c = 0; c < COILS; c++)
			for (uint32_t k = 0; k < 31; k++)
				wrong += !same_bytes(
					s.data[i] + 2 * (c * 31 + k),
					full.data[i] + 2 * (c * 40 + 9 + (back ? 30 - k : k)), 2);
	}
	CHECK(wrong == 0 && s.count == 24, "9 samples missing, odd lines reversed: %u wrong",
	      wrong);
	drop(&full);
	drop(&s);
}

/* b = a exp(i turn) to single precision, n samples of each coil from first on. */
static uint32_t turned(const float *a, uint32_t first, uint32_t of, const float *b, uint32_t n,
		       double turn)
{
	uint32_t wrong = 0;

	for (uint32_t c = 0; c < COILS; c++)
		for (uint32_t k = 0; k < n; k++) {
			const float *x = a + 2 * ((size_t)c * of + first + k);
			const float *y = b + 2 * ((size_t)c * n + k);
			double re = x[0] * cos(turn) - x[1] * sin(turn);
			double im = x[0] * sin(turn) + x[1] * cos(turn);

			wrong += hypot(y[0] - re, y[1] - im) > 1.2e-7 * hypot(re, im);
		}
	return wrong;
}

static void test_navigators(void)
{
	struct bs_protocol p = protocol(20, 1);
	struct bs_phantom_scan q = like_scanner();
	uint32_t wrong = 0;
	uint32_t n = 0;
	struct scan full;
	struct scan s;

	p.contrasts = 2;
	q.repetitions = 2;
	full = record(q, &p);
	q.plan.navigate = 8;
	q.navigator_samples = 14;
	q.drift = 0.4;
	s = record(q, &p);
	CHECK(s.count == 2 * 2 * (3 + 20), "a navigator before lines 0, 8 and 16: %u", s.count);
	for (uint32_t i = 0; i < 40 && n < s.count; i++) {
		uint32_t turn = i / 20 * 3 + i % 20 / 8;

		for (uint32_t c = 0; i % 20 % 8 == 0 && c < 2; c++, n++) {
			wrong += s.head[n].flags != BS_MRD_IS_NAVIGATION ||
				 s.head[n].number_of_samples != 14 ||
				 s.head[n].center_sample != 7 ||
				 s.head[n].idx.kspace_encode_step_1 != 10 ||
				 s.head[n].idx.contrast != c;
			wrong += turned(full.data[20 + c], 13, 40, s.data[n], 14, 0.4 * turn);
		}
		for (uint32_t c = 0; c < 2; c++, n++) {
			wrong += s.head[n].flags != full.head[2 * i + c].flags;
			wrong += turned(full.data[2 * i + c], 0, 40, s.data[n], 40, 0.4 * turn);
		}
	}
	/* one rounding to single precision each */
	CHECK(wrong == 0 && n == s.count, "navigators and lines turn by 0.4 each time: %u wrong",
	      wrong);
	drop(&full);
	drop(&s);
}

static double dot(const float a[3], const float b[3])
{
	return (double)a[0] * b[0] + (double)a[1] * b[1] + (double)a[2] * b[2];
}

/* A line of each slice in turn, twice, oblique. */
static void test_slices(void)
{
	static const uint16_t order[4] = { 1, 3, 0, 2 };
	struct bs_protocol p = protocol(16, 1);
	struct bs_phantom_scan q = like_scanner();
	uint32_t wrong = 0;
	struct scan each;
	struct scan s;

	p.slices = 4;
	p.fov_mm[0] = 200.0f;
	p.fov_mm[1] = 160.0f;
	p.fov_mm[2] = 4.0f;
	bs_plan_make(&p);
	q.object = BS_PHANTOM_MARKER;
	q.recon[0] = q.recon[1] = 64;
	q.recon[2] = 1;
	q.pose = (struct bs_phantom_pose){ true, { 30.0, 50.0 }, { 1.0, -2.0, 3.0 }, 6.0 };
	each = record(q, &p);
	q.plan.order = BS_SLICES_EACH_TR;
	q.plan.averages = 2;
	s = record(q, &p);
	CHECK(s.count == 2 * 16 * 4 && s.info.average.max == 1 && s.info.slice.max == 3 &&
		      s.info.recon[0] == 64 && s.info.fov_mm[0] == 200.0f &&
		      s.info.encoded_fov_mm[0] == 400.0f && s.info.encoded_fov_mm[2] == 4.0f,
	      "two averages, and sizes in the header");
	for (uint32_t i = 0; i < s.count; i++) {
		const struct bs_mrd_acq *h = &s.head[i];
		uint32_t slice = order[i % 4];
		uint32_t line = i / 4 % 16;
		uint64_t want = i / 4 == 0 ? BS_MRD_FLAG(7) : 0;
		float along[3];
		float read[3];
		float phase[3];
		float normal[3];

		want |= i / 4 == 31 ? BS_MRD_LAST_IN_SLICE : 0;
		want |= i == 127 ? LAST : 0;
		wrong += h->flags != want || h->idx.slice != slice || h->idx.average != i / 64 ||
			 h->idx.kspace_encode_step_1 != line;
		wrong += !same_bytes(s.data[i], each.data[16 * slice + line], 80 * COILS);
		for (int d = 0; d < 3; d++) {
			static const float middle[3] = { 1, -2, 3 };

			along[d] = h->position[d] - middle[d];
			read[d] = h->read_dir[d];
			phase[d] = h->phase_dir[d];
			normal[d] = h->slice_dir[d];
		}
		wrong += fabs(dot(along, normal) - 6.0 * (slice - 1.5)) > 1e-5 ||
			 fabs(dot(along, read)) > 1e-5 || fabs(dot(read, phase)) > 1e-6 ||
			 fabs(dot(read, read) - 1.0) > 1e-6 || fabs(dot(phase, normal)) > 1e-6 ||
			 fabs(normal[2] - cos(30 * 3.141592653589793 / 180)) > 1e-6;
	}
	CHECK(wrong == 0, "order, flags and samples of the slices, and where they lie: %u wrong",
	      wrong);
	drop(&each);
	drop(&s);
}

/* Phases and sets of what moves are the frames that as many repetitions have. */
static void test_frames(void)
{
	struct bs_protocol p = protocol(16, 1);
	struct bs_phantom_scan q = like_scanner();
	uint32_t wrong = 0;
	struct scan each;
	struct scan s;

	q.repetitions = 12;
	q.motion = 0.3;
	q.motion_frames = 5.0;
	each = record(q, &p);
	q.repetitions = 2;
	q.plan.phases = 3;
	q.plan.sets = 2;
	s = record(q, &p);
	CHECK(s.count == 12 * 16 && s.info.phase.max == 2 && s.info.set.max == 1,
	      "2 repetitions of 3 phases of 2 sets: %u readouts", s.count);
	for (uint32_t i = 0; i < s.count; i++) {
		const struct bs_mrd_acq *h = &s.head[i];
		uint64_t want = i % 16 == 0 ? BS_MRD_FLAG(7) : 0;

		want |= i % 16 == 15 ? BS_MRD_LAST_IN_SLICE : 0;
		want |= i % 96 == 95 ? BS_MRD_LAST_IN_REPETITION : 0;
		want |= i == 191 ? BS_MRD_LAST_IN_MEASUREMENT : 0;
		wrong += h->flags != want || h->idx.repetition != i / 96 ||
			 h->idx.phase != i / 32 % 3 || h->idx.set != i / 16 % 2;
		wrong += !same_bytes(s.data[i], each.data[i], 80 * COILS);
	}
	CHECK(wrong == 0, "their counters, flags and samples: %u wrong", wrong);
	drop(&each);
	drop(&s);
}

/* Coils that turn from slice to slice: the maps that are written are those of the samples. */
static void test_turned_coils(void)
{
	struct bs_protocol p = protocol(16, 1);
	struct bs_phantom_scan q = like_scanner();
	struct bs_cfl maps = { .size = 0 };
	struct bs_traj t = { 0 };
	struct scan s;
	double apart = 0.0;
	uint32_t wrong = 0;

	p.slices = 3;
	bs_plan_make(&p);
	q.coil_angle_deg = 40.0;
	s = record(q, &p);
	q.protocol = &p;
	q.traj = &t;
	if (bs_traj_make(&t, &p, NULL) != 0 ||
	    bs_phantom_truth(&q, scanned_team, path("true"), path("maps"), NULL) != 0 ||
	    bs_cfl_read(&maps, path("maps"), NULL) != 0 || maps.dims[13] != 3 || s.count != 48) {
		CHECK(0, "coils that turn");
		return;
	}
	for (uint32_t slice = 0; slice < 3; slice++) {
		float own[2 * COILS * 20 * 16];
		float want[2 * COILS * 40];
		struct bs_coils coils;
		struct bs_phantom ph;

		if (bs_coils_rotated(&coils, COILS, 2, p.matrix,
				     40.0 * slice * 3.141592653589793 / 180.0, NULL) != 0 ||
		    bs_phantom_make(&ph, 2, p.matrix, slice, 3, 0, NULL) != 0)
			wrong++;
		bs_coils_maps(&coils, own);
		wrong += !same_bytes(own, maps.data + slice * 2 * COILS * 320, 2 * COILS * 320);
		for (uint32_t i = 0; slice > 0 && i < 2 * COILS * 320; i++)
			apart = fmax(apart, fabs((double)own[i] - maps.data[i]));
		bs_coils_sample(&coils, &ph, t.k + (size_t)5 * 80, 40, want);
		wrong += !same_bytes(want, s.data[16 * slice + 5], 80 * COILS);
	}
	CHECK(wrong == 0 && apart > 0.3, "coils turn by 40 degrees from slice to slice: %u wrong",
	      wrong);
	bs_cfl_free(&maps);
	bs_traj_close(&t);
	drop(&s);
}

static void test_refused(void)
{
	struct bs_protocol p = protocol(24, 1);
	struct bs_phantom_scan q = like_scanner();

	q.plan.calibration = BS_CALIBRATION_EMBEDDED;
	q.plan.calibration_lines[0] = 25;
	refuse("more calibration than lines", q, &p, BS_ERR_SIZE);
	q.plan.calibration_lines[0] = 16;
	q.plan.partial[0].share = 0.6;
	refuse("calibration beyond partial Fourier", q, &p, BS_ERR_SIZE);
	q = like_scanner();
	q.plan.partial[0].share = 0.4;
	refuse("less than half", q, &p, BS_ERR_USAGE);
	q = like_scanner();
	q.plan.accel[1] = 2;
	refuse("partitions of a slice", q, &p, BS_ERR_SIZE);
	q = like_scanner();
	q.plan.navigate = 4;
	q.navigator_samples = 41;
	refuse("a navigator longer than a line", q, &p, BS_ERR_SIZE);
	p.readouts = 20;
	refuse("a table that lacks lines", like_scanner(), &p, BS_ERR_SIZE);
}

int main(void)
{
	static const char *const left[] = { "true.cfl", "true.hdr", "maps.cfl", "maps.hdr", NULL };

	if (scanned_begin() != 0)
		return check_done();
	test_embedded();
	test_separate();
	test_caipi();
	test_partial();
	test_readout();
	test_navigators();
	test_slices();
	test_frames();
	test_turned_coils();
	test_refused();
	scanned_end(left);
	return check_done();
}

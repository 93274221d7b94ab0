/*
 * test/unit/drivers/tool/test_phantomphysics.c - EPI, fields and delays of simulated scans, against
 * the undisturbed scan, sums over the true images, and closed forms
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "core/tool/phantom/coils.h"
#include "drivers/tool/load/cfl.h"
#include "test/support/scanned.h"

#define PI 3.141592653589793

static double largest(const float *data, uint32_t samples)
{
	double top = 0.0;

	for (uint32_t i = 0; i < COILS * samples; i++)
		top = fmax(top, hypot((double)data[2 * i], (double)data[2 * i + 1]));
	return top;
}

/* A train of every second line; those that run backwards turned by 0.7 and one sample ahead. */
static void test_epi(void)
{
	struct bs_protocol p = protocol(24, 1);
	struct bs_phantom_scan q = like_scanner();
	struct scan full;
	struct scan s;
	uint32_t wrong = 0;
	double worst = 0.0;
	double top;

	p.slices = 2;
	bs_plan_make(&p);
	full = record(q, &p);
	q.plan.epi = true;
	q.plan.accel[0] = 2;
	q.epi_phase = 0.7;
	q.epi_shift = 1.0;
	s = record(q, &p);
	CHECK(s.count == 2 * (3 + 12) && strcmp(s.info.trajectory_name, "epi") == 0,
	      "a triple and 12 lines for each of two slices: %u readouts of '%s'", s.count,
	      s.info.trajectory_name);
	top = full.count > 12 ? largest(full.data[12], 40) : 0.0;
	for (uint32_t i = 0; i < s.count; i++) {
		uint32_t slice = i / 15;
		uint32_t at = i % 15;
		bool back = at % 2 == 1;
		uint32_t line = at < 3 ? 12 : 2 * (at - 3);
		const float *want = full.data[24 * slice + line];
		uint64_t flags =
			(at < 3 ? BS_MRD_IS_PHASE_CORRECTION : 0) | (back ? BS_MRD_IS_REVERSE : 0);

		flags |= at == 3 ? BS_MRD_FLAG(7) : 0;
		flags |= at == 14 ? BS_MRD_LAST_IN_SLICE : 0;
		flags |= i == 29 ? BS_MRD_LAST_IN_REPETITION | BS_MRD_LAST_IN_MEASUREMENT : 0;
		wrong += s.head[i].flags != flags || s.head[i].idx.kspace_encode_step_1 != line ||
			 s.head[i].idx.slice != slice ||
			 s.head[i].center_sample != (back ? 19 : 20);
		/* 40 samples of 10 us between ramps of 100 us */
		wrong += at > 0 && s.head[i].user_int[0] - s.head[i - 1].user_int[0] != 600;
		for (uint32_t c = 0; c < COILS; c++)
			for (uint32_t k = 0; k < 39; k++) {
				const float *d = s.data[i] + 2 * (c * 40 + (back ? 39 - k : k));
				const float *w = want + 2 * (c * 40 + k + back);
				double turn = back ? 0.7 : 0.0;

				worst = fmax(worst,
					     hypot(d[0] - w[0] * cos(turn) + w[1] * sin(turn),
						   d[1] - w[0] * sin(turn) - w[1] * cos(turn)));
			}
	}
	CHECK(wrong == 0, "flags, counters and times of EPI: %u wrong", wrong);
	/* k in single precision, to 3e-8 cycles, turns what lies 10 voxels out by 2e-6 */
	CHECK(worst < 5e-6 * top, "forward lines as they are, the others turned and shifted: %.1e",
	      worst / top);
	drop(&full);
	drop(&s);
}

/* k of sample i, by adding up the gradient in small steps; cycles of the window of 400 us. */
static double ramped(uint32_t i)
{
	double sum = 0.0;
	double half = 0.0;
	double to = (i - 20.0) * 10.0;

	/* ramps of 80 us, sampled from 20 us on: a flat part of 400 + 2 (20 - 80) us */
	for (double us = 0.005; us < 200.0; us += 0.01) {
		double g = us < 140.0 ? 1.0 : 1.0 - (us - 140.0) / 80.0;

		half += g;
		sum += us < fabs(to) ? g : 0.0;
	}
	return copysign(0.5 * sum / half, to);
}

static void test_ramps(void)
{
	struct bs_protocol p = protocol(16, 1);
	struct bs_phantom_scan q = like_scanner();
	struct scan s;
	struct bs_phantom ph;
	struct bs_coils coils;
	float k[2 * 40];
	float want[2 * COILS * 40];
	double worst = 0.0;

	q.plan.epi = true;
	q.ramp_us = 80;
	s = record(q, &p);
	for (uint32_t i = 0; i < 40; i++) {
		k[2 * i] = (float)ramped(i);
		k[2 * i + 1] = 0.0f; /* line 8 */
	}
	if (s.count != 19 || bs_coils_make(&coils, COILS, 2, p.matrix, NULL) ||
	    bs_phantom_make(&ph, 2, p.matrix, 0, 1, 0, NULL)) {
		CHECK(0, "ramps");
		drop(&s);
		return;
	}
	bs_coils_sample(&coils, &ph, k, 40, want);
	for (uint32_t i = 0; i < 2 * COILS * 40; i++)
		worst = fmax(worst, fabs((double)want[i] - s.data[0][i]));
	/* steps between the corners of the gradient add up exactly; k in single precision */
	CHECK(worst < 5e-6 * largest(want, 40) && k[1 * 2] - k[0] < 0.5 * (k[2 * 20] - k[2 * 19]),
	      "samples on the ramps lie where the gradient's area says, to %.1e",
	      worst / largest(want, 40));
	CHECK(s.head[1].user_int[0] - s.head[0].user_int[0] == 440, "lines follow each 440 us");
	drop(&s);
	q.ramp_us = 700;
	refuse("ramps without a flat part", q, &p, BS_ERR_SIZE);
}

/* What a recording's files say of a sample: the sum over the voxels, at the time t_s. */
static void voxels_sum(const struct bs_cfl *file, uint32_t contrast, uint32_t coil,
		       const double k[2], double t_s, double out[2])
{
	size_t nx = file[0].dims[0];
	size_t voxels = nx * file[0].dims[1];

	out[0] = out[1] = 0.0;
	for (size_t v = 0; v < voxels; v++) {
		double x = (double)(v % nx) - (double)(nx / 2);
		double y = (double)(v / nx) - (double)(file[0].dims[1] / 2);
		double turn = -2.0 * PI * (k[0] * x + k[1] * y + (double)file[2].data[2 * v] * t_s);
		const float *map = file[1].data + 2 * (coil * voxels + v);
		double value = (double)file[0].data[2 * (contrast * voxels + v)];

		out[0] += value * (map[0] * cos(turn) - map[1] * sin(turn));
		out[1] += value * (map[0] * sin(turn) + map[1] * cos(turn));
	}
}

static bool write_and_read(struct bs_cfl file[3], struct bs_phantom_scan q,
			   const struct bs_protocol *p, struct bs_traj *t)
{
	static const char *const names[] = { "true", "maps", "field" };
	bool ok;

	q.protocol = p;
	q.traj = t;
	ok = bs_traj_make(t, p, NULL) == 0 &&
	     bs_phantom_truth(&q, scanned_team, path("true"), path("maps"), NULL) == 0 &&
	     bs_phantom_fields(&q, path("field"), NULL) == 0;
	for (int i = 0; i < 3; i++) {
		memset(&file[i], 0, sizeof(file[i]));
		ok = ok && bs_cfl_read(&file[i], path(names[i]), NULL) == 0;
	}
	CHECK(ok, "true images, sensitivities and field are written");
	return ok;
}

/* The largest difference of samples and sums, relative to the largest sum. */
static double against_sums(const struct scan *s, const struct bs_cfl *file, const struct bs_traj *t,
			   uint32_t contrasts, const double *te_s, uint32_t center)
{
	double worst = 0.0;
	double top = 0.0;

	for (uint32_t i = 0; i < s->count; i += 5)
		for (uint32_t m = i % 3; m < t->samples; m += 7) {
			uint32_t contrast = i % contrasts;
			const float *at = t->k + ((size_t)(i / contrasts) * t->samples + m) * 2;
			const double k[2] = { at[0], at[1] };
			double t_s = te_s[contrast] + 1e-5 * ((double)m - center);

			for (uint32_t c = 0; c < COILS; c++) {
				const float *d = s->data[i] + 2 * ((size_t)c * t->samples + m);
				double sum[2];

				voxels_sum(file, contrast, c, k, t_s, sum);
				worst = fmax(worst, hypot(d[0] - sum[0], d[1] - sum[1]));
				top = fmax(top, hypot(sum[0], sum[1]));
			}
		}
	return worst / top;
}

static void test_field(void)
{
	const double no_te[3] = { 0 };
	const double te[3] = { 4.92e-3, 7.38e-3, 0.0 };
	struct bs_phantom_scan q = { .repetitions = 1, .seed = 1, .dwell_us = 10.0 };
	struct bs_protocol p = protocol(16, 1);
	struct bs_cfl file[3];
	struct bs_traj t = { 0 };
	struct scan s;
	double off;

	q.field_hz = -120.0;
	p.method = BS_METHOD_GRIDDING;
	p.traj.type = BS_TRAJ_SPIRAL2D;
	p.samples = 900;
	p.readouts = 6;
	bs_plan_make(&p);
	s = record(q, &p);
	if (write_and_read(file, q, &p, &t) && s.count == 6) {
		off = against_sums(&s, file, &t, 1, no_te, 0);
		/* files and samples in single precision, 320 voxels of either sign: 3e-7 */
		CHECK(off < 3e-7, "a spiral of 9 ms in a field: %.1e off the sum", off);
	}
	for (int i = 0; i < 3; i++)
		bs_cfl_free(&file[i]);
	bs_traj_close(&t);
	drop(&s);
	p = protocol(16, 1);
	p.contrasts = 2;
	q.te_ms[0] = 4.92;
	q.te_ms[1] = 7.38;
	s = record(q, &p);
	if (write_and_read(file, q, &p, &t) && s.count == 32) {
		off = against_sums(&s, file, &t, 2, te, 20);
		CHECK(off < 3e-7, "two echoes on a grid in a field: %.1e off the sum", off);
	}
	for (int i = 0; i < 3; i++)
		bs_cfl_free(&file[i]);
	bs_traj_close(&t);
	drop(&s);
	q.motion = 0.1;
	q.motion_frames = 2.0;
	refuse("a field on what moves", q, &p, BS_ERR_UNSUPPORTED);
}

static void test_delay(void)
{
	struct bs_phantom_scan q = { .repetitions = 1, .seed = 1, .dwell_us = 10.0 };
	struct bs_protocol p = protocol(16, 1);
	struct bs_recording *r = NULL;
	struct bs_recorded a;
	struct bs_traj t = { 0 };
	struct bs_phantom ph;
	struct bs_coils coils;
	struct scan s;
	double worst = 0.0;
	double top = 0.0;
	uint32_t wrong = 0;

	q.delayed = true;
	q.delay[0] = 0.31;
	q.delay[1] = -0.22;
	q.delay[2] = 0.1;
	refuse("delays of a grid", q, &p, BS_ERR_UNSUPPORTED);
	p.method = BS_METHOD_GRIDDING;
	p.traj.type = BS_TRAJ_RADIAL2D;
	p.readouts = 21;
	bs_plan_make(&p);
	s = record(q, &p);
	if (bs_traj_make(&t, &p, NULL) || bs_recording_open(&r, path("scan.h5"), NULL) ||
	    bs_coils_make(&coils, COILS, 2, p.matrix, NULL) ||
	    bs_phantom_make(&ph, 2, p.matrix, 0, 1, 0, NULL)) {
		CHECK(0, "spokes");
		return;
	}
	for (uint32_t i = 0; i < s.count; i++) {
		double turn = PI * fmod(i * 0.6180339887498949, 1.0);
		double x = cos(turn) / 40;
		double y = sin(turn) / 40;
		float k[80];
		float want[2 * COILS * 40];

		wrong += bs_recording_read(r, i, &a, NULL) != 0 ||
			 !same_bytes(a.traj, t.k + (size_t)i * 80, 80);
		for (int m = 0; m < 40; m++) {
			k[2 * m] = (float)((m - 20) * x + 0.31 * x + 0.1 * y);
			k[2 * m + 1] = (float)((m - 20) * y + 0.1 * x - 0.22 * y);
		}
		bs_coils_sample(&coils, &ph, k, 40, want);
		top = fmax(top, largest(want, 40));
		for (uint32_t j = 0; j < 2 * COILS * 40; j++)
			worst = fmax(worst, fabs((double)want[j] - s.data[i][j]));
	}
	CHECK(wrong == 0, "the nominal trajectory is recorded: %u wrong", wrong);
	/* k in single precision, as for EPI */
	CHECK(worst < 5e-6 * top, "spokes 0.31, -0.22, 0.1 samples late: samples to %.1e",
	      worst / top);
	(void)bs_recording_close(r, NULL);
	bs_traj_close(&t);
	drop(&s);
}

int main(void)
{
	static const char *const left[] = { "true.cfl",  "true.hdr",  "maps.cfl", "maps.hdr",
					    "field.cfl", "field.hdr", NULL };

	if (scanned_begin() != 0)
		return check_done();
	test_epi();
	test_ramps();
	test_field();
	test_delay();
	scanned_end(left);
	return check_done();
}

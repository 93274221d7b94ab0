/*
 * test/unit/gpu/engine/test_phases.c - navigators and EPI's lines as readouts pass, against lines
 * that were never disturbed
 *
 * Objects of random voxels; each line is their Fourier sum in double, at whatever k it was sampled,
 * stored as floats. What is corrected must be the undisturbed line to the rounding of floats: of
 * the samples, of two transforms and of the profiles that the fit is made of.
 */
#include "gpu/engine/phases.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#include "core/tool/ramps.h"
#include "gpu/engine/engines.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#define MOST  64
#define COILS 5
#define PI    3.14159265358979323846

typedef float complex cf;
typedef double complex cd;

static uint64_t seed = 5;
static struct bs_team *team;
static struct bs_fail why;
static struct bs_protocol p;
static struct bs_arena arena;
static struct bs_recon *recon;
static struct bs_phases *phases;
static struct bs_trapezoid ramps;
static cd object[COILS][MOST];

static void open_stage(uint32_t encoded, uint32_t samples, bool epi, enum bs_navigate navigators)
{
	struct bs_need need = { 0 };
	struct bs_tables tables = { 0 };
	struct bs_arm_env env = { .arena = &arena, .team = team };
	const struct bs_engine *engine = &bs_engine_host;

	p = lines_of(encoded, 4, 1, encoded, COILS);
	p.samples = samples;
	p.discard = 8;
	p.slices = p.contrasts = 2;
	p.epi_correct = epi;
	p.navigators = navigators;
	p = coils_apart(p);
	p.uses = (epi ? 1u << BS_KIND_PHASE_CORRECTION : 0) |
		 (navigators != BS_NAVIGATE_OFF ? 1u << BS_KIND_NAVIGATION : 0);
	if (bs_recon_need(&p, engine, &need, &why) != 0 || bs_phases_need(&p, &need, &why) != 0 ||
	    bs_arena_open(&arena, need.total_bytes, &why) != 0 ||
	    bs_recon_arm(&recon, &p, engine, &tables, &env, &why) != 0 ||
	    bs_phases_arm(&phases, &p, recon, &arena, &why) != 0) {
		CHECK(0, "armed: %s", why.text);
		exit(1);
	}
	arena.sealed = true;
	for (uint32_t c = 0; c < COILS; c++)
		for (uint32_t x = 0; x < encoded; x++) {
			const double re = check_uniform(&seed);
			/* in the middle half alone, of scans on ramps */
			const bool in =
				ramps.samples == 0 || (x >= encoded / 4 && x < encoded / 4 * 3);

			object[c][x] = in ? re + I * check_uniform(&seed) : 0.0;
		}
}

static void close_stage(void)
{
	bs_phases_disarm(phases);
	bs_recon_disarm(recon);
	bs_arena_close(&arena);
}

/* A line [coil][before + samples + after], its samples moved by shift and turned by phase. */
static void line(cf *to, uint32_t before, uint32_t after, double shift, double phase)
{
	const uint32_t n = p.encoded[0];
	const uint32_t all = before + p.samples + after;

	for (uint32_t c = 0; c < COILS; c++)
		for (uint32_t i = 0; i < p.samples; i++) {
			const uint32_t at = i + n - p.samples;
			const double k = ramps.samples > 0 ? bs_trapezoid_k(&ramps, at)
							   : ((double)at - n / 2) / n;
			cd sum = 0.0;

			for (uint32_t x = 0; x < n; x++)
				sum += object[c][x] * cexp(I * (-2.0 * PI * (k + shift / n) *
								((double)x - n / 2)));
			to[c * all + before + i] = (cf)(sum * cexp(I * phase));
		}
}

static struct bs_mrd_acq head_of(uint64_t flags, uint32_t slice, uint32_t before, uint32_t after)
{
	return (struct bs_mrd_acq){ .flags = flags,
				    .number_of_samples = (uint16_t)(before + p.samples + after),
				    .discard_pre = (uint16_t)before,
				    .discard_post = (uint16_t)after,
				    .active_channels = COILS,
				    .idx = { .slice = (uint16_t)slice } };
}

/* Gives a line as it would come; what comes of it is held against the undisturbed one. */
static double give(uint64_t flags, uint32_t slice, double shift, double phase, int *rc)
{
	static cf as_it_comes[COILS * (MOST + 8)];
	static cf want[COILS * (MOST + 8)];
	struct bs_mrd_acq head = head_of(flags, slice, 3, 2);
	const float *data = (const float *)as_it_comes;
	const struct bs_trapezoid kept = ramps;
	double worst = 0.0;
	double norm = 0.0;

	line(as_it_comes, 3, 2, shift, phase);
	ramps.samples = 0;
	line(want, 0, 0, 0.0, 0.0);
	ramps = kept;
	*rc = bs_phases_readout(phases, &head, &data, &why);
	if (*rc != 0)
		return 0.0;
	for (uint32_t c = 0; c < COILS; c++)
		for (uint32_t i = 0; i < p.samples; i++) {
			const float *got =
				data + 2 * (c * head.number_of_samples + head.discard_pre + i);
			const cf is = got[0] + I * got[1];

			worst = fmax(worst, cabs((cd)is - want[c * p.samples + i]));
			norm = fmax(norm, cabs((cd)want[c * p.samples + i]));
		}
	return worst / norm;
}

#define BACK BS_MRD_IS_REVERSE
#define PC   BS_MRD_IS_PHASE_CORRECTION

/* Three lines, each turned by drift against the one before. */
static void triple(uint32_t slice, double shift, double phase, double drift, bool other)
{
	for (int i = 0; i < 3; i++) {
		const bool back = (i == 1) != other;
		int rc;

		(void)give(PC | (back ? BACK : 0), slice, back ? shift : 0.0,
			   (back ? phase : 0.0) + (i - 1) * drift, &rc);
		CHECK(rc == BS_PHASES_TAKEN, "line %d of a triple is taken: %s", i, why.text);
	}
}

static void epi(uint32_t encoded, uint32_t samples, double most)
{
	struct bs_scan_info info = { 0 };
	double error;
	int rc;

	open_stage(encoded, samples, true, BS_NAVIGATE_OFF);
	if (ramps.samples > 0) {
		(void)snprintf(info.trajectory_name, sizeof(info.trajectory_name), "epi");
		(void)snprintf(info.description, sizeof(info.description), "ConventionalEPI");
		info.ramp_up_us = info.ramp_down_us = (float)ramps.ramp_us;
		info.flat_us = (float)ramps.flat_us;
		info.acquisition_delay_us = (float)ramps.delay_us;
		info.readout_samples = (float)ramps.samples;
		info.readout_dwell_us = (float)ramps.dwell_us;
	}
	bs_recon_scan(recon, &info);
	bs_phases_scan(phases, &info);
	(void)give(BACK, 0, 0.0, 0.0, &rc);
	CHECK(rc == BS_ERR_CALIBRATION, "a reversed line before a triple: %s", why.text);
	triple(0, 0.4, 1.1, 0.3, false);
	triple(1, -0.7, -2.0, -0.2, true);
	error = give(BACK, 0, 0.4, 1.1, &rc);
	CHECK(rc == 0 && error <= most, "%u of %u samples: a reversed line, to %g", samples,
	      encoded, error);
	error = give(BACK, 0, 0.4, 1.1, &rc);
	CHECK(rc == 0 && error <= most, "and once more, to %g", error);
	error = give(BACK, 1, -0.7, -2.0, &rc);
	CHECK(rc == 0 && error <= most, "another slice has its own, to %g", error);
	error = give(0, 1, 0.0, 0.0, &rc);
	CHECK(rc == 0 && error <= (ramps.samples > 0 ? most : 0.0), "other lines stay, to %g",
	      error);
	error = give(BACK, 0, 0.0, 0.0, &rc);
	CHECK(rc == 0 && error > 0.1, "what was not disturbed is, now: %g", error);
	(void)give(PC, 0, 0.0, 0.0, &rc);
	(void)give(PC | BACK, 0, 0.0, 0.0, &rc);
	(void)give(0, 0, 0.0, 0.0, &rc);
	(void)give(PC, 0, 0.0, 0.0, &rc);
	error = give(BACK, 0, 0.4, 1.1, &rc);
	CHECK(error <= most, "three lines with another between them are no triple: %g", error);
	triple(0, 0.0, 0.0, 0.0, false);
	error = give(BACK, 0, 0.0, 0.0, &rc);
	CHECK(rc == 0 && error <= most, "a new triple takes the place of the last: %g", error);
	bs_phases_scan(phases, &info);
	(void)give(BACK, 1, 0.0, 0.0, &rc);
	CHECK(rc == BS_ERR_CALIBRATION, "the next scan knows nothing of it");
	close_stage();
}

static void navigators(void)
{
	const struct bs_scan_info info = { 0 };
	const uint64_t nav = BS_MRD_IS_NAVIGATION;
	struct bs_mrd_acq head;
	cf few[COILS * 4] = { 0 };
	const float *data = (const float *)few;
	double error;
	int rc;

	open_stage(24, 24, false, BS_NAVIGATE_PHASE);
	bs_recon_scan(recon, &info);
	bs_phases_scan(phases, &info);
	error = give(0, 0, 0.0, 0.0, &rc);
	CHECK(rc == 0 && error == 0.0, "before the first navigator lines stay");
	for (int i = 0; i < 4; i++) {
		(void)give(nav, 0, 0.0, 0.5 + 2.0 * i, &rc);
		CHECK(rc == BS_PHASES_TAKEN, "navigator %d", i);
		error = give(i % 2 == 1 ? BS_MRD_IS_CALIBRATION_TOO : 0, 0, 0.0, 2.0 * i, &rc);
		CHECK(rc == 0 && error <= 8.0 * 0x1p-24, "its lines, to %g", error);
		error = give(0, 1, 0.0, 0.0, &rc);
		CHECK(rc == 0 && error == 0.0, "another slice's stay");
	}
	head = head_of(nav, 0, 0, 0);
	head.number_of_samples = 4;
	rc = bs_phases_readout(phases, &head, &data, &why);
	CHECK(rc == BS_ERR_SIZE, "a navigator of another length: %s", why.text);
	bs_phases_scan(phases, &info);
	error = give(0, 0, 0.0, 0.0, &rc);
	CHECK(rc == 0 && error == 0.0, "the next scan begins anew");
	close_stage();
}

/* A line that is corrected takes its path along, behind the samples that are left. */
static void path(void)
{
	const struct bs_scan_info info = { 0 };
	const struct bs_tables tables = { 0 };
	const struct bs_arm_env env = { .arena = &arena, .team = team };
	struct bs_need need = { 0 };
	float data[2 * COILS * (16 + 5) + 2 * 16];
	const float *given = data;
	struct bs_mrd_acq head;
	int rc;

	p = path_of(BS_METHOD_GRIDDING, BS_TRAJ_STREAM, 16, 16, 1, COILS);
	readouts_of(&p, 4, 16);
	p.discard = 8;
	p.accuracy = 1e-2;
	p.density = BS_DENSITY_NONE;
	p.navigators = BS_NAVIGATE_PHASE;
	p.uses = 1u << BS_KIND_NAVIGATION;
	p.output = BS_OUTPUT_COMPLEX;
	bs_plan_make(&p);
	CHECK(bs_recon_need(&p, &bs_engine_host, &need, &why) == 0 &&
		      bs_phases_need(&p, &need, &why) == 0 &&
		      bs_arena_open(&arena, need.total_bytes, &why) == 0 &&
		      bs_recon_arm(&recon, &p, &bs_engine_host, &tables, &env, &why) == 0 &&
		      bs_phases_arm(&phases, &p, recon, &arena, &why) == 0,
	      "armed: %s", why.text);
	bs_recon_scan(recon, &info);
	bs_phases_scan(phases, &info);
	for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++)
		data[i] = (float)i;
	for (int i = 0; i < 2; i++) { /* the second one's phase differs */
		head = head_of(BS_MRD_IS_NAVIGATION, 0, 0, 0);
		data[0] = i == 0 ? 0.0f : 1e4f;
		rc = bs_phases_readout(phases, &head, &given, &why);
		CHECK(rc == BS_PHASES_TAKEN, "navigator %d", i);
	}
	head = head_of(0, 0, 3, 2);
	rc = bs_phases_readout(phases, &head, &given, &why);
	CHECK(rc == 0 && given != data && head.number_of_samples == 16 &&
		      memcmp(given + bs_path_at(&head), data + (size_t)2 * COILS * (16 + 5),
			     sizeof(float) * 2 * 16) == 0,
	      "its path goes with it");
	CHECK(bs_recon_readout(recon, &head, 2, given, 1, &why) == 0, "as the engine wants it");
	close_stage();
}

/* Headers of EPI: on the grid as cartesian ones are; readouts on ramps are not taken for it. */
static void admission(void)
{
	struct bs_scan_info info = { .trajectory_name = "epi",
				     .description = "ConventionalEPI",
				     .encoded = { 64, 4, 1 },
				     .recon = { 64, 4, 1 },
				     .encoded_fov_mm = { 220, 220, 5 },
				     .fov_mm = { 220, 220, 5 },
				     .encodings = 1,
				     .ramp_up_us = 100.0f,
				     .ramp_down_us = 100.0f,
				     .flat_us = 320.0f,
				     .acquisition_delay_us = 100.0f,
				     .readout_samples = 64.0f,
				     .readout_dwell_us = 5.0f };

	open_stage(64, 64, false, BS_NAVIGATE_OFF);
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "EPI on the flat part: %s", why.text);
	info.flat_us = 170.0f;
	info.acquisition_delay_us = 25.0f;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_TRAJECTORY, "on ramps: %s", why.text);
	p.epi_correct = true;
	bs_plan_make(&p);
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "on ramps, corrected: %s", why.text);
	info.acquisition_delay_us = 31.0f;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_TRAJECTORY, "not centered: %s", why.text);
	info.acquisition_delay_us = 25.0f;
	info.ramp_down_us = 90.0f;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_TRAJECTORY, "two ramps: %s", why.text);
	info.ramp_down_us = 100.0f;
	info.readout_samples = 63.0f;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE, "other samples: %s", why.text);
	info.description[0] = '\0';
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "nothing said of its gradient: %s", why.text);
	close_stage();
}

/* A late echo: its lines keep their length; a phase needs no samples that are not there. */
static void late(void)
{
	const struct bs_scan_info info = { 0 };
	double error;
	int rc;

	open_stage(40, 33, true, BS_NAVIGATE_OFF);
	bs_recon_scan(recon, &info);
	bs_phases_scan(phases, &info);
	triple(0, 0.0, 1.1, 0.3, false);
	error = give(BACK, 0, 0.0, 1.1, &rc);
	CHECK(rc == 0 && error <= 32.0 * 0x1p-24, "33 of 40 samples: a reversed line, to %g",
	      error);
	close_stage();
}

int main(void)
{
	if (bs_team_open(&team, 1, &why) != 0)
		return 1;
	/* 2^-24 in each of a sum's terms, the transforms' passes and the fit */
	epi(24, 24, 32.0 * 0x1p-24);
	epi(37, 37, 32.0 * 0x1p-24);
	late();
	admission();
	if (bs_trapezoid_make(&ramps, 64, 5.0, 100, &why) != 0)
		return 1;
	epi(64, 64, 2e-3); /* test_echo.c: what lambda takes */
	ramps.samples = 0;
	navigators();
	path();
	bs_team_close(team);
	return check_done();
}

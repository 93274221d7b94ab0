/*
 * test/unit/board/tool/test_selftest.c - sound protocols pass their self-test; more than a hundred
 * planted faults of an engine, each changing the image by more than ten times the tolerance, do not
 *
 * The engine is the real one. A fault changes what it is armed with (path, weights), what it is
 * given (samples, rows, coils) or what it has made (the image). On a GPU, too, where there is one.
 */
#define _GNU_SOURCE
#include "board/tool/selftest/selftest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/tool/load/load.h"
#include "gpu/engine/engines.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

enum fault {
	SOUND,
	CONJUGATE,    /* the sign of the phase */
	REVERSED,     /* readouts run backwards */
	NEXT_ROW,     /* the table is shifted by some rows */
	NEXT_SAMPLE,  /* and by some samples */
	LOUD_QUARTER, /* the weights of a quarter of the readouts are wrong */
	LOUD_ALL,     /* all weights are */
	COIL_TURNED,  /* a coil has another phase: a wrong map */
	COIL_LOST,
	ROWS_LOST,    /* readouts are passed over */
	STALE_ROW,    /* the readout before is taken once more */
	PATH_SIGN,    /* the path's sign along an axis */
	PATH_SCALED,  /* the path is too short */
	PATH_SHIFTED, /* the table is that of other rows */
	MIRRORED,     /* the image along x */
	MOVED,        /* the image by a voxel */
	STALE_IMAGE,  /* the image of nothing: the last one's memory */
	NOT_A_NUMBER,
	FAULTS
};
static const char *const fault_names[FAULTS] = {
	"sound",       "conjugate",   "reversed",  "next row",  "next sample", "loud quarter",
	"loud all",    "coil turned", "coil lost", "rows lost", "stale row",   "path's sign",
	"path scaled", "path shift",  "mirrored",  "moved",     "stale image", "not a number",
};

static enum fault fault;
static uint32_t part; /* how large the fault is, or where, 1 or 2 */
static const struct bs_engine *real;
static struct bs_engine planted;
static struct bs_protocol now;
static float room[1u << 20];

/* ---- the engine with a fault ---- */

static int faulty_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		      const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_tables t = *tables;
	struct bs_traj traj;
	float *k = NULL;
	int rc;

	if (tables->traj != NULL && fault >= PATH_SIGN && fault <= PATH_SHIFTED) {
		const size_t row = (size_t)tables->traj->samples * tables->traj->dims;
		const size_t all = row * tables->traj->readouts;

		k = malloc(all * sizeof(*k));
		for (size_t i = 0; i < all; i++) {
			const float was = tables->traj->k[i];

			k[i] = was;
			if (fault == PATH_SIGN && i % tables->traj->dims == part % 2)
				k[i] = was > -0.49f ? -was : was;
			if (fault == PATH_SCALED)
				k[i] = was * (1.0f - 0.02f * (float)part);
			if (fault == PATH_SHIFTED)
				k[i] = tables->traj->k[(i + part * row) % all];
		}
		traj = *tables->traj;
		traj.k = k;
		t.traj = &traj;
	}
	rc = real->arm(self, p, &t, env, why);
	free(k);
	return rc;
}

static void change_value(float *v, uint32_t readout, uint32_t coil)
{
	if (fault == CONJUGATE)
		v[1] = -v[1];
	if ((fault == LOUD_QUARTER && readout % 4 == part) || fault == LOUD_ALL) {
		v[0] *= 1.0f + 0.3f * (float)part;
		v[1] *= 1.0f + 0.3f * (float)part;
	}
	if (fault == COIL_TURNED && coil == 0) {
		const float turned = part == 1 ? -v[0] : -v[1];

		v[1] = part == 1 ? -v[1] : v[0];
		v[0] = turned;
	}
	if (fault == COIL_LOST && coil == part % now.coils)
		v[0] = v[1] = 0.0f;
}

static int faulty_add(void *self, uint32_t frame, uint32_t readout, const float *k,
		      const float *data, size_t stride)
{
	const uint32_t n = now.samples;
	uint32_t row = readout;

	if (fault == ROWS_LOST && readout % (4 * part) == 1)
		return 0;
	for (uint32_t c = 0; c < now.coils; c++)
		for (uint32_t s = 0; s < n; s++) {
			float *v = room + 2 * ((size_t)c * n + s);
			const uint32_t from = fault == REVERSED      ? n - 1 - s
					      : fault == NEXT_SAMPLE ? (s + part) % n
								     : s;

			if (fault != STALE_ROW || readout % (4 * part) != 1)
				memcpy(v, data + 2 * (c * stride + from), 2 * sizeof(*v));
			change_value(v, readout, c);
		}
	if (fault == NEXT_ROW)
		row = (readout + part) % now.readouts;
	return real->add(self, frame, row, k, room, n);
}

static int faulty_image(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
			float *image, struct bs_report *report)
{
	const size_t bytes = (size_t)bs_protocol_image_bytes(&now);
	const size_t value = now.output == BS_OUTPUT_COMPLEX ? 2 : 1;
	const size_t values = bytes / sizeof(float) / value;
	const int rc = real->image(self, frame, held, deadline_ns, image, report);

	memcpy(room, image, bytes);
	for (size_t i = 0; i < values; i++) {
		const size_t x = i % now.matrix[0];
		const size_t from = fault == MIRRORED
					    ? i - x + (2 * now.matrix[0] - x) % now.matrix[0]
				    : fault == MOVED ? (i + part) % values
						     : i;

		memcpy(image + i * value, room + from * value, value * sizeof(float));
		if (fault == STALE_IMAGE)
			image[i * value] = (float)((i * part) % 7);
		if (fault == NOT_A_NUMBER && i % (4 * part) == 0)
			image[i * value] = NAN;
	}
	return rc;
}

int __real_bs_engine_find(const struct bs_engine **e, const struct bs_protocol *p,
			  struct bs_fail *why);
int __wrap_bs_engine_find(const struct bs_engine **e, const struct bs_protocol *p,
			  struct bs_fail *why);
int __wrap_bs_engine_find(const struct bs_engine **e, const struct bs_protocol *p,
			  struct bs_fail *why)
{
	const int rc = __real_bs_engine_find(&real, p, why);

	if (rc != 0)
		return rc;
	planted = *real;
	planted.arm = faulty_arm;
	planted.add = faulty_add;
	planted.image = faulty_image;
	planted.reading = NULL; /* what is given is a copy */
	*e = &planted;
	return 0;
}

/* ---- protocols ---- */

static struct bs_protocol finished(struct bs_protocol p, enum bs_combine combine,
				   enum bs_output output, bool gpu)
{
	p.combine = combine;
	p.output = output;
	p.margin = 0.2;
	p.max_sample = 1e6;
	p.backend = gpu ? BS_BACKEND_CUDA : BS_BACKEND_HOST;
	p.by_header = p.traj.type == BS_TRAJ_CARTESIAN;
	return planned(p);
}

static struct bs_protocol radial(enum bs_method method, uint32_t nz, uint32_t readouts)
{
	struct bs_protocol p =
		path_of(method, nz > 1 ? BS_TRAJ_RADIAL3D : BS_TRAJ_RADIAL2D, 31, 31, nz, 3);

	readouts_of(&p, readouts, 62);
	solved(&p, 1e-3, 10);
	p.accuracy = 1e-3;
	p.tolerance = 1e-6;
	return p;
}

/* Lines of the grid with what a scan brings beside them. */
static struct bs_protocol brought(uint32_t ny, uint32_t coils, enum bs_parallel parallel)
{
	struct bs_protocol p = lines_of(40, ny, 1, 40, coils);

	p.parallel = parallel;
	p.method = parallel == BS_PARALLEL_SENSE_SLICES ? BS_METHOD_CARTESIAN_SENSE : p.method;
	p.grappa_sources = 4;
	memcpy(p.grappa_kernel, (const uint32_t[3]){ 5, 9, 1 }, sizeof(p.grappa_kernel));
	p.uses = 1u << BS_KIND_CALIBRATION;
	if (parallel >= BS_PARALLEL_SLICES) {
		p.slices = 4;
		p.multiband =
			(struct bs_multiband){ .factor = 2, .kernel = { 5, 5, 1 }, .lambda = 1e-4 };
	}
	return p;
}

static char map_files[] = "/tmp/test_selftest.XXXXXX";

/* Smooth: a coil's complex map, or a field in Hz. */
static void write_maps(void)
{
	float values[31 * 31 * 2];
	char path[64];
	FILE *f;

	if (mkdtemp(map_files) == NULL)
		abort();
	for (uint32_t is_field = 0; is_field < 2; is_field++) {
		const char *name = is_field ? "field" : "maps";
		const uint32_t coils = is_field ? 1 : 3;

		(void)snprintf(path, sizeof(path), "%s/%s.hdr", map_files, name);
		f = fopen(path, "w");
		(void)fprintf(f, "# Dimensions\n31 31 1 %u 1 1 1 1 1 1 1 1 1 1 1 1\n", coils);
		(void)fclose(f);
		(void)snprintf(path, sizeof(path), "%s/%s.cfl", map_files, name);
		f = fopen(path, "w");
		for (uint32_t c = 0; c < coils; c++) {
			for (uint32_t i = 0; i < 31 * 31; i++) {
				const double x = (i % 31) / 31.0;
				const double y = (i / 31) / 31.0;
				const double turn = 1.5 * x + (c + 1) * y + 0.3 * c;

				values[2 * i] = (float)(is_field ? 60.0 * sin(3.0 * x + 2.0 * y)
								 : (1.2 - x * c / 3) * cos(turn));
				values[2 * i + 1] =
					(float)(is_field ? 0.0 : (1.2 - x * c / 3) * sin(turn));
			}
			(void)fwrite(values, sizeof(values), 1, f);
		}
		(void)fclose(f);
	}
}

static void remove_maps(void)
{
	static const char *const names[] = { "/maps.hdr", "/maps.cfl", "/field.hdr", "/field.cfl",
					     "" };
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", map_files, names[i]);
		(void)remove(path);
	}
}

static struct bs_protocol other_base(uint32_t i, bool gpu)
{
	struct bs_protocol p;

	switch (i) {
	case 6:
		return finished(brought(48, 6, BS_PARALLEL_GRAPPA), BS_COMBINE_RSS,
				BS_OUTPUT_MAGNITUDE, gpu);
	case 7:
		p = brought(48, 4, BS_PARALLEL_NONE);
		p.epi_correct = true;
		p.uses = 1u << BS_KIND_PHASE_CORRECTION;
		return finished(p, BS_COMBINE_NONE, BS_OUTPUT_COMPLEX, gpu);
	case 8:
		return finished(brought(48, 8, BS_PARALLEL_SLICES), BS_COMBINE_RSS,
				BS_OUTPUT_MAGNITUDE, gpu);
	case 9:
		p = brought(48, 8, BS_PARALLEL_SENSE_SLICES);
		mapped_by(&p, BS_MAPS_ESPIRIT, 24);
		solved(&p, 1e-4, 20);
		return finished(p, BS_COMBINE_SENSE, BS_OUTPUT_MAGNITUDE, gpu);
	case 10:
		p = radial(BS_METHOD_GRIDDING, 1, 60);
		p.frame_step = 15;
		return finished(p, BS_COMBINE_NONE, BS_OUTPUT_COMPLEX, gpu);
	case 11:
		p = radial(BS_METHOD_GRIDDING, 1, 53);
		(void)snprintf(p.field.map_file, sizeof(p.field.map_file), "%s/field", map_files);
		p.field.dwell_us = 20.0;
		p.field.start_ms = 2.0;
		p.field.error = 1e-4;
		return finished(p, BS_COMBINE_NONE, BS_OUTPUT_COMPLEX, gpu);
	case 12:
		p = lines_of(31, 31, 1, 31, 3);
		p.parallel = BS_PARALLEL_SENSE;
		p.method = BS_METHOD_CARTESIAN_SENSE;
		mapped_by(&p, BS_MAPS_FILE, 0);
		(void)snprintf(p.maps_file, sizeof(p.maps_file), "%s/maps", map_files);
		solved(&p, 1e-4, 20);
		p.prior.kind = BS_PRIOR_WAVELET;
		p.prior.lambda = 1e-3;
		p.prior.block = 8;
		return finished(p, BS_COMBINE_SENSE, BS_OUTPUT_COMPLEX, gpu);
	default:
		p = radial(BS_METHOD_LS, 1, 53);
		(void)snprintf(p.field.map_file, sizeof(p.field.map_file), "%s/field", map_files);
		p.field.dwell_us = 20.0;
		p.field.error = 1e-4;
		return finished(p, BS_COMBINE_NONE, BS_OUTPUT_COMPLEX, gpu);
	}
}

#define BASES 14u
static struct bs_protocol base(uint32_t i, bool gpu)
{
	switch (i) {
	case 0:
		return finished(radial(BS_METHOD_GRIDDING, 1, 53), BS_COMBINE_RSS,
				BS_OUTPUT_MAGNITUDE, gpu);
	case 1:
		return finished(radial(BS_METHOD_GRIDDING, 1, 53), BS_COMBINE_NONE,
				BS_OUTPUT_COMPLEX, gpu);
	case 2:
		return finished(radial(BS_METHOD_GRIDDING, 31, 700), BS_COMBINE_NONE,
				BS_OUTPUT_COMPLEX, gpu);
	case 3:
		return finished(lines_of(31, 33, 1, 62, 3), BS_COMBINE_RSS, BS_OUTPUT_MAGNITUDE,
				gpu);
	case 4:
		return finished(lines_of(30, 22, 18, 60, 3), BS_COMBINE_NONE, BS_OUTPUT_COMPLEX,
				gpu);
	case 5:
		return finished(radial(BS_METHOD_LS, 1, 53), BS_COMBINE_NONE, BS_OUTPUT_COMPLEX,
				gpu);
	default:
		return other_base(i, gpu);
	}
}

/* Faults that do not change this base's image, or not by ten times its tolerance. */
static bool is_none(uint32_t i, enum fault f)
{
	const struct bs_protocol p = base(i, false);

	if (p.plan.on_grid && f >= PATH_SIGN && f <= PATH_SHIFTED)
		return true; /* there is no path */
	switch (i) {
	case 0:
		return (1u << f & (1u << COIL_TURNED)) != 0; /* a phase alone */
	case 3:
		return (1u << f & (1u << COIL_TURNED | 1u << NEXT_SAMPLE | 1u << NEXT_ROW)) != 0;
	case 5: /* a solver's step is known but for its size, and each coil's is alone */
		return (1u << f & (1u << LOUD_ALL | 1u << COIL_TURNED)) != 0;
	case 6: /* of the rows that these meet none is measured */
		return (1u << f & (1u << NEXT_SAMPLE | 1u << NEXT_ROW | 1u << ROWS_LOST |
				   1u << STALE_ROW)) != 0;
	case 8:
		return (1u << f & (1u << NEXT_SAMPLE)) != 0;
	case 9: /* what is lost is solved for */
		return (1u << f & (1u << NEXT_SAMPLE | 1u << ROWS_LOST)) != 0;
	case 12: /* an image that fits as well but for so much, which is below 0.3 */
		return (1u << f & (1u << LOUD_QUARTER | 1u << LOUD_ALL | 1u << COIL_TURNED |
				   1u << COIL_LOST | 1u << ROWS_LOST | 1u << STALE_ROW)) != 0;
	default:
		return i == 13 && f == LOUD_ALL;
	}
}

static int run(const struct bs_protocol *p, struct bs_selftest *out)
{
	static struct bs_site site;
	static struct bs_armed a;
	struct bs_team *team = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_team_open(&team, 2, &why);

	now = *p;
	memset(out, 0, sizeof(*out));
	if (rc == 0)
		rc = bs_armed_open(&a, &site, p, team, &why);
	if (rc == 0) {
		now.readouts = a.inner.readouts;
		rc = bs_selftest(out, &a, team, &why);
		bs_armed_close(&a);
	} else {
		printf("# %s\n", why.text);
	}
	bs_team_close(team);
	return rc;
}

static void all_faults(bool gpu)
{
	uint32_t planted_faults = 0;
	uint32_t missed = 0;
	struct bs_selftest t;

	for (uint32_t i = 0; i < BASES; i++) {
		const struct bs_protocol p = base(i, gpu);

		fault = SOUND;
		CHECK(run(&p, &t) == 0 && t.tolerance > 0.0,
		      "base %u passes: off by %.2g of %.2g: %s", i, t.error, t.tolerance, t.words);
		for (fault = CONJUGATE; fault < FAULTS; fault++)
			for (part = i < 6 ? 1 : 2; part <= 2 && !is_none(i, fault); part++) {
				const int rc = run(&p, &t);

				planted_faults++;
				/* or the engine says itself that it cannot make this image */
				if (rc == BS_ERR_CALIBRATION ||
				    (rc == BS_ERR_VALUE && strstr(t.words, "is off by") != NULL))
					continue;
				missed++;
				printf("# base %u: %s, %u: %d, off by %.2g of %.2g\n", i,
				       fault_names[fault], part, rc, t.error, t.tolerance);
			}
	}
	CHECK(planted_faults > 100 && missed == 0, "of %u planted faults on the %s %u were missed",
	      planted_faults, gpu ? "GPU" : "host", missed);
}

static void not_tested(void)
{
	struct bs_protocol p = radial(BS_METHOD_GRIDDING, 1, 53);
	struct bs_selftest t;

	fault = SOUND;
	p.density = BS_DENSITY_PIPE;
	p.density_iterations = 5;
	p = finished(p, BS_COMBINE_RSS, BS_OUTPUT_MAGNITUDE, false);
	CHECK(run(&p, &t) == 0 && t.tolerance == 0.0 && strstr(t.words, "not tested") != NULL, "%s",
	      t.words);
	p = radial(BS_METHOD_GRIDDING, 1, 53);
	p.whiten = BS_WHITEN_AUTO;
	p.virtual_coils = 2;
	p = finished(p, BS_COMBINE_RSS, BS_OUTPUT_MAGNITUDE, false);
	CHECK(run(&p, &t) == 0 && t.tolerance == 0.0 &&
		      strcmp(t.words, "not tested: compress") == 0,
	      "%s", t.words);
	p.virtual_coils = 0;
	bs_plan_make(&p);
	CHECK(run(&p, &t) == 0 && t.tolerance > 0.0 && strcmp(t.words, "passed") == 0,
	      "whitened it is: off by %.2g of %.2g", t.error, t.tolerance);
	p.slices = 2;
	bs_plan_make(&p);
	CHECK(run(&p, &t) == 0 && strcmp(t.words, "passed; not tested: slices but the first") == 0,
	      "of two slices: %s", t.words);
	p = radial(BS_METHOD_LS, 1, 53);
	p.iterations = 2;
	p.precond = BS_PRECOND_NONE;
	p = finished(p, BS_COMBINE_RSS, BS_OUTPUT_MAGNITUDE, false);
	CHECK(run(&p, &t) == 0 &&
		      strcmp(t.words, "passed; not tested: iterations but the first") == 0,
	      "of two iterations: %s", t.words);
	p = radial(BS_METHOD_LS, 1, 53);
	p.iterations = 1;
	p.precond = BS_PRECOND_JACOBI;
	p = finished(p, BS_COMBINE_RSS, BS_OUTPUT_MAGNITUDE, false);
	CHECK(run(&p, &t) == 0 && t.tolerance == 0.0 && strstr(t.words, "few iterations") != NULL,
	      "%s", t.words);
}

int main(int argc, char **argv)
{
	if (bs_load_asked(argc, argv)) /* reads maps for this same program */
		return bs_load_main(argv[2]);
	write_maps();
	all_faults(false);
#if BS_GPU
	if (CHECK_GPU)
		all_faults(true);
	else
		SKIP("no GPU here");
#endif
	not_tested();
	remove_maps();
	return check_done();
}

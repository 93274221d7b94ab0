/*
 * test/unit/gpu/engine/test_center.c - k-space around its center from a trajectory's samples
 *
 * The object is a sum of Gaussian blobs, other ones for each coil, whose k-space is known in closed
 * form at every sample and at every point of the grid; along a thin axis it is a sum over voxels.
 * What a few steps leave of such a block is 1e-4 where samples are dense, 1e-3 where they are as
 * far apart as the grid, 5e-2 where gaps are half as wide again: the bounds are a few times that.
 * A voxel's map is an eigenvector over all of the block: it averages that error, and has single
 * precision's own of 1e-3 where the eigenvalues are as near as these.
 */
#include "gpu/engine/center.h"

#include <complex.h>
#include <string.h>

#include "gpu/calibrate/espirit.h"
#include "gpu/calibrate/maps.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#define COILS 5
#define TAU   6.28318530717958647692

struct scan {
	const char *name;
	enum bs_traj_type type;
	uint32_t matrix[3], samples, readouts, interleaves;
	uint32_t lines; /* that come of 24 asked for; 0: refused */
	double error;   /* of the block, at most */
};

static struct bs_protocol protocol(const struct scan *s)
{
	struct bs_protocol p =
		path_of(BS_METHOD_SENSE, s->type, s->matrix[0], s->matrix[1], s->matrix[2], COILS);

	readouts_of(&p, s->readouts, s->samples);
	mapped_by(&p, BS_MAPS_ESPIRIT, 24);
	p.traj.interleaves = s->interleaves;
	p.espirit_crop = 0.8;
	return planned(p);
}

/* At k in cycles per field of view; what: another object. */
static double complex signal(const struct bs_protocol *p, uint32_t coil, const double k[3],
			     int what)
{
	double complex sum = 0;

	/* of 24 points and 2 beyond them: what lies farther must not count */
	for (uint32_t a = 0; a < p->dims; a++)
		if (fabs(k[a]) > 15)
			return 1000;
	for (int b = 0; b < 6; b++) {
		const double x = 0.22 * cos(2.4 * b + what);
		const double y = 0.22 * sin(2.4 * b + 0.4 + what);
		const double near = cos(TAU * coil / COILS) * x + sin(TAU * coil / COILS) * y;
		const double complex seen = exp(3 * near) * cexp(I * (2 * near + coil));
		const double width = 0.03 + 0.005 * b;
		double complex z = 1;

		if (p->matrix[2] > 8) {
			z = cexp(-TAU * I * k[2] * 0.2 * sin(b)) *
			    exp(-TAU * TAU / 2 * width * width * k[2] * k[2]);
		} else if (p->dims == 3) {
			z = 0;
			for (uint32_t v = 0; v < p->matrix[2]; v++)
				z += (1 + 0.3 * sin(b + v)) *
				     cexp(-TAU * I * k[2] * ((double)v - p->matrix[2] / 2) /
					  p->matrix[2]);
		}
		sum += seen * z * cexp(-TAU * I * (k[0] * x + k[1] * y)) *
		       exp(-TAU * TAU / 2 * width * width * (k[0] * k[0] + k[1] * k[1]));
	}
	return sum;
}

struct rig {
	struct bs_protocol p;
	struct bs_traj traj;
	struct bs_arena arena;
	struct bs_team *team;
	struct bs_center *center;
};

static int rig_open(struct rig *r, const struct bs_protocol *p, int members, struct bs_fail *why)
{
	struct bs_need need = { 0 };
	int rc;

	memset(r, 0, sizeof(*r));
	r->p = *p;
	rc = bs_traj_make(&r->traj, &r->p, why);
	if (rc == 0)
		rc = bs_center_need(&r->p, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&r->arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_team_open(&r->team, members, why);
	if (rc == 0) {
		const struct bs_arm_env env = { .arena = &r->arena,
						.team = r->team,
						.cache_dir = "" };

		rc = bs_center_arm(&r->center, &r->p, bs_maps_fewest(&r->p), &r->traj, &env, why);
	}
	return rc;
}

static void rig_close(struct rig *r)
{
	bs_center_disarm(r->center);
	if (r->team != NULL)
		bs_team_close(r->team);
	bs_arena_close(&r->arena);
	bs_traj_close(&r->traj);
}

static void send(struct rig *r, uint32_t from, uint32_t to, int what)
{
	const struct bs_protocol *p = &r->p;
	float *data = malloc((size_t)COILS * p->samples * 8);

	for (uint32_t i = from; i < to; i++) {
		for (uint32_t c = 0; c < COILS; c++)
			for (uint32_t s = 0; s < p->samples; s++) {
				const float *at =
					r->traj.k + ((size_t)i * p->samples + s) * p->dims;
				double k[3] = { 0 };
				double complex d;

				for (uint32_t a = 0; a < p->dims; a++)
					k[a] = (double)at[a] * p->matrix[a];
				d = signal(p, c, k, what);
				data[2 * (c * p->samples + s)] = (float)creal(d);
				data[2 * (c * p->samples + s) + 1] = (float)cimag(d);
			}
		CHECK(bs_center_add(r->center, 0, i, data, p->samples) == 0, "readout %u", i);
	}
	free(data);
}

/* What the block should be, malloc'd. */
static float *truth(const struct bs_protocol *p, const uint32_t n[3], int what)
{
	float *to = malloc((size_t)COILS * n[0] * n[1] * n[2] * 8);
	size_t at = 0;

	for (uint32_t c = 0; c < COILS; c++)
		for (uint32_t z = 0; z < n[2]; z++)
			for (uint32_t y = 0; y < n[1]; y++)
				for (uint32_t x = 0; x < n[0]; x++) {
					const double k[3] = { (double)x - n[0] / 2,
							      (double)y - n[1] / 2,
							      (double)z - n[2] / 2 };
					const double complex d = signal(p, c, k, what);

					to[at++] = (float)creal(d);
					to[at++] = (float)cimag(d);
				}
	return to;
}

static void maps_of(const struct bs_protocol *p, const uint32_t n[3], const float *block,
		    float *maps, float *values, struct bs_team *team)
{
	struct bs_espirit_spec s = { .coils = COILS, .sets = 2, .threshold = 1e-3, .crop = 0 };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_espirit *e = NULL;
	struct bs_fail why = { 0 };
	int rc;

	for (int a = 0; a < 3; a++) {
		s.block[a] = n[a];
		s.kernel[a] = p->dims == 3 ? 4 : 6;
		if (s.kernel[a] > (n[a] + 1) / 2)
			s.kernel[a] = (n[a] + 1) / 2;
		s.field[a] = s.matrix[a] = p->matrix[a];
	}
	rc = bs_espirit_need(&s, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_espirit_plan(&e, &s, &arena, team, &why);
	if (rc == 0)
		rc = bs_espirit_run(e, n, block, maps, values, &why);
	CHECK(rc == 0, "maps %s", why.text);
	bs_espirit_close(e);
	bs_arena_close(&arena);
}

/* Maps of both blocks, where one image explains the calibration: sizes, and their agreement. */
static void compare_maps(const struct rig *r, const uint32_t n[3], const float *block,
			 const float *true_block, double error)
{
	const size_t voxels = (size_t)bs_protocol_voxels(&r->p);
	const float *const from[2] = { block, true_block };
	float *maps[2];
	float *values[2];
	double worst = 0;
	int compared = 0;

	for (int i = 0; i < 2; i++) {
		maps[i] = malloc(2 * COILS * voxels * 8);
		values[i] = malloc(2 * voxels * 4);
		maps_of(&r->p, n, from[i], maps[i], values[i], r->team);
	}
	for (size_t v = 0; v < voxels; v++) {
		double complex dot = 0;

		if (values[1][v] < 0.99 || values[1][voxels + v] > 0.3)
			continue;
		compared++;
		for (uint32_t c = 0; c < COILS; c++) {
			const float *a = maps[0] + 2 * (c * voxels + v);
			const float *b = maps[1] + 2 * (c * voxels + v);

			dot += (a[0] + I * (double)a[1]) * (b[0] - I * (double)b[1]);
		}
		worst = fmax(worst, sqrt(fmax(0, 2 - 2 * cabs(dot))));
	}
	CHECK(compared > 50 && worst < 5e-3 + error / 4,
	      "maps from them and from lines: %.1e apart at most, %d voxels", worst, compared);
	for (int i = 0; i < 2; i++) {
		free(maps[i]);
		free(values[i]);
	}
}

static void block(const struct scan *s)
{
	const struct bs_protocol p = protocol(s);
	struct bs_fail why = { 0 };
	struct rig r;
	uint32_t n[3];
	const float *got;
	int rc = rig_open(&r, &p, 2, &why);

	if (s->lines == 0) {
		CHECK(rc == BS_ERR_CONFIG && strstr(why.text, "without gaps over") != NULL,
		      "%s: refused: %s", s->name, why.text);
		rig_close(&r);
		return;
	}
	CHECK(rc == 0, "%s: arm %s", s->name, why.text);
	CHECK(r.arena.size - r.arena.used < BS_ALIGN, "need says what arm takes: %zu of %zu",
	      r.arena.used, r.arena.size);
	for (int what = 0; rc == 0 && what < 2; what++) {
		CHECK(bs_center_begin(r.center, 0) == 0, "begin");
		send(&r, 0, p.readouts, what);
		rc = bs_center_block(r.center, 0, NULL, n, &got, &why);
		CHECK(rc == 0 && n[0] == s->lines, "%s: %u x %u x %u points %s", s->name, n[0],
		      n[1], n[2], why.text);
		if (rc == 0) {
			const size_t floats = 2 * COILS * (size_t)n[0] * n[1] * n[2];
			float *is = truth(&p, n, what);
			const double error = check_rel(got, is, floats);

			CHECK(error < s->error, "%s: object %d: %.1e of the block", s->name, what,
			      error);
			if (what == 0)
				compare_maps(&r, n, got, is, s->error);
			free(is);
		}
	}
	rig_close(&r);
}

/* A window that slides from one object to another: the block is of what the window holds. */
static void window(void)
{
	const struct scan s = { "window", BS_TRAJ_RADIAL2D, { 35, 32, 1 }, 64, 60, 0, 20, 0 };
	const uint8_t held[3] = { 1, 1, 1 };
	struct bs_protocol p = protocol(&s);
	struct bs_fail why = { 0 };
	float *after[2] = { NULL, NULL };
	size_t floats = 0;

	p.calibration_lines = 20;
	p.frame_step = 20;
	bs_plan_make(&p);
	for (int i = 0; i < 2; i++) { /* 1 and 3 threads; another object before, or none */
		struct rig r;
		uint32_t n[3];
		const float *got;

		CHECK(rig_open(&r, &p, 1 + 2 * i, &why) == 0, "window %s", why.text);
		for (int what = 1 - i; what < 2; what++)
			for (uint32_t g = 0; g < 3; g++) {
				CHECK(bs_center_begin(r.center, 0) == 0, "begin");
				send(&r, 20 * g, 20 * g + 20, what);
				CHECK(bs_center_fold(r.center, 0, g) == 0, "fold");
			}
		CHECK(bs_center_block(r.center, 0, held, n, &got, &why) == 0, "%s", why.text);
		floats = 2 * COILS * (size_t)n[0] * n[1] * n[2];
		after[i] = malloc(floats * 4);
		memcpy(after[i], got, floats * 4);
		if (i == 0) {
			float *is = truth(&p, n, 1);
			const double error = check_rel(got, is, floats);

			CHECK(error < 3e-3, "a window: %.1e of the block", error);
			free(is);
		}
		rig_close(&r);
	}
	CHECK(memcmp(after[0], after[1], floats * 4) == 0,
	      "what came before leaves nothing; any number of threads");
	free(after[0]);
	free(after[1]);
}

/* Off resonance is not corrected, wherever the field map comes from. */
static void fields(void)
{
	const struct scan s = { "field", BS_TRAJ_RADIAL2D, { 35, 32, 1 }, 64, 60, 0, 20, 0 };
	static const enum bs_field_from from[] = { BS_FIELD_FILE, BS_FIELD_STUDY, BS_FIELD_ECHOES };
	float *first = NULL;

	for (int i = 0; i < 3; i++) {
		struct bs_protocol p = protocol(&s);
		struct bs_fail why = { 0 };
		struct rig r;
		uint32_t n[3];
		const float *got;
		size_t bytes;

		p.calibration_lines = 20;
		p.field.from = from[i];
		p.field.range_hz = 100.0;
		p.field.dwell_us = 5.0;
		bs_plan_make(&p);
		CHECK(rig_open(&r, &p, 1, &why) == 0, "armed: %s", why.text);
		CHECK(bs_center_begin(r.center, 0) == 0, "begin");
		send(&r, 0, p.readouts, 0);
		CHECK(bs_center_block(r.center, 0, NULL, n, &got, &why) == 0, "%s", why.text);
		bytes = 8 * COILS * (size_t)n[0] * n[1] * n[2];
		if (first == NULL)
			first = memcpy(malloc(bytes), got, bytes);
		CHECK(memcmp(first, got, bytes) == 0, "field %d: the same block", i);
		rig_close(&r);
	}
	free(first);
}

int main(void)
{
	static const struct scan all[] = {
		{ "spokes", BS_TRAJ_RADIAL2D, { 160, 160, 1 }, 320, 128, 0, 24, 1e-3 },
		{ "spokes of an odd matrix", BS_TRAJ_RADIAL2D, { 35, 33, 1 }, 70, 80, 0, 24, 1e-3 },
		{ "few spokes: a smaller block",
		  BS_TRAJ_RADIAL2D,
		  { 96, 96, 1 },
		  192,
		  26,
		  0,
		  19,
		  1e-1 },
		{ "too few", BS_TRAJ_RADIAL2D, { 96, 96, 1 }, 192, 9, 0, 0, 0 },
		{ "spirals", BS_TRAJ_SPIRAL2D, { 192, 192, 1 }, 3000, 16, 16, 24, 3e-3 },
		{ "a koosh ball", BS_TRAJ_RADIAL3D, { 32, 30, 28 }, 64, 1500, 0, 18, 5e-3 },
		{ "a thin stack", BS_TRAJ_STACK, { 44, 40, 4 }, 600, 16, 4, 24, 3e-3 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		block(&all[i]);
	window();
	fields();
	return check_done();
}

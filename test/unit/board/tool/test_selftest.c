/*
 * test/unit/board/tool/test_selftest.c - sound protocols pass their self-test; more than a hundred
 * planted faults of an engine, each changing the image by more than ten times the tolerance, do not
 *
 * The engine is the real one. A fault changes what it is armed with (path, weights), what it is
 * given (samples, rows, coils) or what it has made (the image). On a GPU, too, where there is one.
 */
#define _GNU_SOURCE
#include "board/tool/selftest/selftest.h"

#include <string.h>

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

#define BASES 6u
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
	default:
		return finished(radial(BS_METHOD_LS, 1, 53), BS_COMBINE_NONE, BS_OUTPUT_COMPLEX,
				gpu);
	}
}

/* Faults that do not change this base's image, or not by ten times its tolerance. */
static bool is_none(uint32_t i, enum fault f)
{
	const bool lines = i == 3 || i == 4;
	const bool magnitude = i == 0 || i == 3;

	if (lines && f >= PATH_SIGN && f <= PATH_SHIFTED)
		return true; /* there is no path */
	if (magnitude && (f == COIL_TURNED || (lines && f == NEXT_SAMPLE)))
		return true; /* a phase alone */
	if (lines && magnitude && f == NEXT_ROW)
		return true;
	/* a solver's step is known but for its size, and each coil's is alone */
	return i == 5 && (f == LOUD_ALL || f == COIL_TURNED);
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
		CHECK(run(&p, &t) == 0 && t.tolerance > 0.0, "base %u passes: off by %.2g of %.2g",
		      i, t.error, t.tolerance);
		for (fault = CONJUGATE; fault < FAULTS; fault++)
			for (part = 1; part <= 2 && !is_none(i, fault); part++) {
				const int rc = run(&p, &t);

				planted_faults++;
				if (rc == BS_ERR_VALUE && strstr(t.words, "is off by") != NULL)
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
	CHECK(run(&p, &t) == 0 && t.tolerance == 0.0 && strstr(t.words, "stages") != NULL, "%s",
	      t.words);
	p.virtual_coils = 0;
	bs_plan_make(&p);
	CHECK(run(&p, &t) == 0 && t.tolerance > 0.0 && strcmp(t.words, "passed") == 0,
	      "whitened it is: off by %.2g of %.2g", t.error, t.tolerance);
	p = radial(BS_METHOD_LS, 1, 53);
	p.iterations = 1;
	p.precond = BS_PRECOND_JACOBI;
	p = finished(p, BS_COMBINE_RSS, BS_OUTPUT_MAGNITUDE, false);
	CHECK(run(&p, &t) == 0 && t.tolerance == 0.0 && strstr(t.words, "few iterations") != NULL,
	      "%s", t.words);
}

int main(void)
{
	all_faults(false);
#if BS_GPU
	if (CHECK_GPU)
		all_faults(true);
	else
		SKIP("no GPU here");
#endif
	not_tested();
	return check_done();
}

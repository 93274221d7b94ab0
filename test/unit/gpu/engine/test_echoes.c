/*
 * test/unit/gpu/engine/test_echoes.c - engines that measure a field map: the images are those of
 * the engine without, to the byte; of a field that turns all voxels alike the map is that turn; the
 * first two contrasts of each slice make it, in whichever order they come, anew in each scan
 */
#include "core/frame/recon.h"
#include "core/thread/team.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"

#include <math.h>
#include <string.h>

#define NX     12
#define NY     10
#define VOXELS (NX * NY)
#define COILS  3
#define SLICES 2

static struct bs_team *team;
static float turn[SLICES * VOXELS];

static struct bs_protocol protocol(enum bs_method method, enum bs_field_from from)
{
	struct bs_protocol p = lines_of(NX, NY, 1, NX, COILS);

	p.method = method;
	p.slices = SLICES;
	p.contrasts = 3;
	p.accuracy = 1e-4;
	p.density = BS_DENSITY_NONE;
	p.combine = BS_COMBINE_RSS;
	memcpy(p.image_matrix, (uint32_t[]){ 16, 10, 1 }, sizeof(p.image_matrix));
	p.field.from = from;

	return planned_host(p);
}

/* A frame whose coils are bright around the middle, all of it turned by so much. */
static int begun(struct armed *a, uint32_t slice, uint32_t contrast, double turned)
{
	const uint32_t f = slice * 3 + contrast;
	float data[2 * NX * COILS];
	int rc = a->engine->begin(a->self, f);

	for (uint32_t y = 0; rc == 0 && y < NY; y++) {
		for (uint32_t c = 0; c < COILS; c++)
			for (uint32_t x = 0; x < NX; x++) {
				const double kx = (double)x - NX / 2 + 0.2 * c;
				const double ky = (double)y - NY / 2 - 0.1 * slice;
				const double size = 1.0 / (1.0 + kx * kx + ky * ky);

				data[2 * (c * NX + x)] = (float)(size * cos(turned + c));
				data[2 * (c * NX + x) + 1] = (float)(size * sin(turned + c));
			}
		rc = a->engine->add(a->self, f, y, NULL, data, NX);
	}
	return rc;
}

static uint64_t order; /* of frames to come */

static int frame(struct armed *a, uint32_t slice, uint32_t contrast, double turned, float *image)
{
	struct bs_report report = { .order = order };
	const int rc = begun(a, slice, contrast, turned);

	return rc != 0 ? rc
		       : a->engine->image(a->self, slice * 3 + contrast, NULL, INT64_MAX, image,
					  &report);
}

static int open_one(struct armed *a, const struct bs_protocol *p, struct bs_traj *traj)
{
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	const struct bs_tables tables = {
		.traj = traj, .phase_step = bs_plan_has(&p->plan, BS_PLAN_ECHOES) ? turn : NULL
	};
	struct bs_fail why = { 0 };
	int rc = armed_open(a, NULL, p, &tables, env, &why);

	CHECK(rc == 0, "%s is armed: %s", bs_method_name(p->method), why.text);
	return rc;
}

/* Every voxel of the slice. */
static bool turned_by(uint32_t slice, double by)
{
	for (int v = 0; v < VOXELS; v++)
		if (!(fabs(remainder((double)turn[slice * VOXELS + v] - by, 2 * 3.14159265358979)) <
		      1e-5))
			return false;
	return true;
}

static void life(enum bs_method method)
{
	const struct bs_protocol with = protocol(method, BS_FIELD_ECHOES);
	const struct bs_protocol without = protocol(method, BS_FIELD_FILE);
	static float image[16 * 10];
	static float other[16 * 10];
	struct bs_traj traj = { 0 };
	struct armed a;
	struct armed b;
	struct bs_fail why = { 0 };
	int same = 0;

	CHECK(bs_traj_make(&traj, &with, &why) == 0, "trajectory %s", why.text);
	if (open_one(&a, &with, &traj) != 0 || open_one(&b, &without, &traj) != 0)
		return;
	a.engine->scan(a.self);
	CHECK(isnan(turn[0]) && isnan(turn[SLICES * VOXELS - 1]), "%s: nothing before a scan",
	      armed_name(&a));
	for (uint32_t contrast = 0; contrast < 3; contrast++) {
		if (frame(&a, 0, contrast, 0.7 * contrast, image) == 0 &&
		    frame(&b, 0, contrast, 0.7 * contrast, other) == 0)
			same += memcmp(image, other, sizeof(image)) == 0 && image[85] > 0.0f;
		CHECK(isnan(turn[0]) == (contrast == 0), "after contrast %u", contrast);
	}
	CHECK(same == 3, "the images are the engine's own");
	CHECK(turned_by(0, 0.7), "the first two contrasts, %g", (double)turn[5]);
	CHECK(isnan(turn[VOXELS]), "the other slice has none");
	CHECK(frame(&a, 1, 1, 0.1, image) == 0 && isnan(turn[VOXELS]) &&
		      frame(&a, 1, 0, 2.5, image) == 0 && turned_by(1, -2.4),
	      "the second one first: %g", (double)turn[VOXELS]);
	CHECK(frame(&a, 1, 0, 0.0, image) == 0 && turned_by(1, -2.4) &&
		      frame(&a, 1, 1, 1.5, image) == 0 && turned_by(1, 1.5),
	      "another repetition, another map");
	a.engine->scan(a.self);
	CHECK(isnan(turn[0]) && isnan(turn[VOXELS]), "another scan");
	armed_close(&a);
	armed_close(&b);
	bs_traj_close(&traj);
}

/* What is passed over measures all the same. */
static void passed(enum bs_method method)
{
	const struct bs_protocol p = protocol(method, BS_FIELD_ECHOES);
	static float image[16 * 10];
	static float whole[SLICES * VOXELS];
	struct bs_traj traj = { 0 };
	struct bs_report report = { 0 };
	struct bs_fail why = { 0 };
	struct armed a;

	CHECK(bs_traj_make(&traj, &p, &why) == 0, "trajectory %s", why.text);
	if (open_one(&a, &p, &traj) != 0)
		return;
	CHECK(frame(&a, 0, 0, 0.2, image) == 0 && frame(&a, 0, 1, 0.9, image) == 0, "two images");
	memcpy(whole, turn, sizeof(whole));
	a.engine->scan(a.self);
	CHECK(frame(&a, 0, 0, 0.2, image) == 0 && isnan(turn[0]), "the first again");
	CHECK(begun(&a, 0, 1, 0.9) == 0 &&
		      a.engine->image(a.self, 1, NULL, INT64_MAX, NULL, &report) == 0 &&
		      memcmp(turn, whole, VOXELS * sizeof(*turn)) == 0,
	      "%s: no second image, the same map", armed_name(&a));
	armed_close(&a);
	bs_traj_close(&traj);
}

static int echo(struct armed *a, uint64_t set, uint32_t contrast, double turned)
{
	static float image[16 * 10];
	int rc;

	order = set;
	rc = frame(a, 0, contrast, turned, image);
	order = 0;
	return rc;
}

/* Sets in turn: first each one's first echo, then each one's second. */
static void in_turn(enum bs_method method)
{
	const struct bs_protocol p = protocol(method, BS_FIELD_ECHOES);
	struct bs_traj traj = { 0 };
	struct bs_fail why = { 0 };
	struct armed a;

	CHECK(bs_traj_make(&traj, &p, &why) == 0, "trajectory %s", why.text);
	if (open_one(&a, &p, &traj) != 0)
		return;
	a.engine->scan(a.self);
	CHECK(echo(&a, 0, 0, 0.2) == 0 && echo(&a, 1, 0, 1.0) == 0 && echo(&a, 0, 1, 0.5) == 0 &&
		      isnan(turn[0]),
	      "echoes of two sets are no pair: %g", (double)turn[0]);
	CHECK(echo(&a, 1, 1, 1.4) == 0 && turned_by(0, 0.4), "those of one are: %g",
	      (double)turn[0]);
	CHECK(echo(&a, 3, 1, 2.0) == 0 && echo(&a, 2, 0, 0.1) == 0 && echo(&a, 3, 0, 1.7) == 0 &&
		      turned_by(0, 0.3),
	      "of the later set, its second echo first: %g", (double)turn[0]);
	armed_close(&a);
	bs_traj_close(&traj);
}

/* The reason in words; "": it is not refused. */
static const char *reason(struct bs_protocol p)
{
	const struct bs_engine *engine = NULL;
	static struct bs_fail why;
	struct bs_need need = { 0 };

	why = (struct bs_fail){ 0 };
	if (bs_engine_find(&engine, &p, &why) == 0)
		(void)bs_recon_need(&p, engine, &need, &why);
	return why.text;
}

static void refused(void)
{
	static const enum bs_method none[] = { BS_METHOD_LS, BS_METHOD_SENSE,
					       BS_METHOD_CARTESIAN_SENSE, BS_METHOD_NOOP };
	struct bs_protocol p = protocol(BS_METHOD_GRIDDING, BS_FIELD_ECHOES);

	for (int i = 0; i < 4; i++)
		CHECK(strstr(reason(protocol(none[i], BS_FIELD_ECHOES)), "no host engine here"),
		      "%s has no coil images: %s", bs_method_name(none[i]),
		      reason(protocol(none[i], BS_FIELD_ECHOES)));
	CHECK(reason(p)[0] == '\0', "gridding has: %s", reason(p));
	p.frame_step = 5;
	bs_plan_make(&p);
	CHECK(strstr(reason(p), "engine gridding/host has no sliding window"), "%s", reason(p));
	p.frame_step = 0;
	p.preview_every = 5;
	bs_plan_make(&p);
	CHECK(strstr(reason(p), "engine gridding/host makes no previews"), "%s", reason(p));
	p.preview_every = 0;
	p.traj.type = BS_TRAJ_STREAM;
	bs_plan_make(&p);
	CHECK(strstr(reason(p), "engine gridding/host takes no path"), "%s", reason(p));
}

int main(void)
{
	if (bs_team_open(&team, 2, NULL) != 0)
		return 1;
	life(BS_METHOD_CARTESIAN);
	life(BS_METHOD_GRIDDING);
	passed(BS_METHOD_CARTESIAN);
	passed(BS_METHOD_GRIDDING);
	in_turn(BS_METHOD_CARTESIAN);
	refused();
	bs_team_close(team);
	return check_done();
}

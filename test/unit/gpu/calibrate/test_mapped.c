/*
 * test/unit/gpu/calibrate/test_mapped.c - engines whose maps are made from the scan
 *
 * The image must be, to the byte, what the same engine makes of a file that holds these maps: they
 * are read as they were made.
 */
#include "core/frame/recon.h"
#include "core/thread/team.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"

#include <string.h>

#define COILS 3

static struct bs_team *team;

struct one {
	enum bs_method method;
	enum bs_maps_from maps;
	enum bs_precond precond;
	uint32_t images;
};

static struct bs_protocol protocol(const struct one *o)
{
	struct bs_protocol p = lines_of(20, 18, 1, 20, COILS);

	p.method = o->method;
	p.uses = 1u << BS_KIND_CALIBRATION;
	p.accuracy = 1e-4;
	p.density = BS_DENSITY_NONE;
	p.fhd = p.q = BS_SUM_NUFFT;
	p.precond = o->precond;
	solved(&p, 0.01, 4);
	mapped_by(&p, o->maps, 12);
	p.map_images = o->images;
	p.espirit_crop = o->images > 1 ? 0.1 : 0.5;

	return planned_host(p);
}

/* k-space of smooth coils, k in samples of the field of view; what: another object. */
static void sample(float *to, double kx, double ky, uint32_t c, int what)
{
	const double x = kx + 0.3 * cos(c + what);
	const double y = ky + 0.3 * sin(2 * c + what);
	const double size = 1 / (0.4 + 0.2 * (x * x + y * y));

	to[0] = (float)(size * cos(0.6 * x + c));
	to[1] = (float)(size * sin(0.6 * x + c));
}

static void line(float *to, uint32_t row, int what)
{
	for (uint32_t c = 0; c < COILS; c++)
		for (uint32_t i = 0; i < 20; i++)
			sample(to + 2 * (c * 20 + i), (double)i - 10, (double)row - 9, c, what);
}

static int frame_of(struct armed *a, bool calibrates, int what)
{
	const struct bs_mrd_acq head = { .number_of_samples = 20 };
	float data[2 * 20 * COILS];
	int rc = a->engine->begin(a->self, 0);

	for (uint32_t r = 0; rc == 0 && r < 18; r++) {
		line(data, r, what);
		rc = a->engine->add(a->self, 0, r, NULL, data, 20);
		if (rc == 0 && calibrates && r >= 3 && r < 15)
			rc = a->engine->side(a->self, 0, BS_KIND_CALIBRATION, r, &head, data, 20);
	}
	return rc;
}

static int frame(struct armed *a, bool calibrates, int what, float *image, struct bs_report *report)
{
	const int rc = frame_of(a, calibrates, what);

	memset(report, 0, sizeof(*report));
	return rc != 0 ? rc : a->engine->image(a->self, 0, NULL, INT64_MAX, image, report);
}

/* The image with the maps that the last one left, read from a file. */
static bool as_from_file(const struct one *o, const struct bs_traj *traj, const float *image,
			 const float *maps, int what)
{
	const struct one file = { o->method, BS_MAPS_FILE, o->precond, o->images };
	const struct bs_protocol p = protocol(&file);
	const struct bs_tables tables = { .traj = traj, .maps = maps };
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	float other[2 * 20 * 18];
	struct bs_report report;
	struct bs_fail why = { 0 };
	struct armed a;
	bool same = armed_open(&a, NULL, &p, &tables, env, &why) == 0 &&
		    frame(&a, false, what, other, &report) == 0 &&
		    memcmp(image, other, sizeof(other)) == 0;

	armed_close(&a);
	return same;
}

static void images(const struct one *o)
{
	const struct bs_protocol p = protocol(o);
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	float *maps = calloc(2 * 20 * 18 * COILS * 2, 4);
	struct bs_traj traj = { 0 };
	struct bs_tables tables = { .traj = &traj, .maps = maps, .made = maps };
	float image[2 * 20 * 18];
	float first[2 * 20 * 18];
	struct bs_report report;
	struct bs_fail why = { 0 };
	struct armed a;
	double size = 0;

	CHECK(bs_traj_make(&traj, &p, &why) == 0, "trajectory %s", why.text);
	CHECK(armed_open(&a, NULL, &p, &tables, env, &why) == 0, "arm %s %s",
	      bs_method_name(p.method), why.text);
	a.engine->scan(a.self);
	CHECK(frame(&a, true, 0, first, &report) == 0 && as_from_file(o, &traj, first, maps, 0),
	      "%s: from calibration lines %s", armed_name(&a), report.why.text);
	for (int i = 0; i < 2 * 20 * 18; i++)
		size += first[i] * first[i];
	CHECK(size > 0.01, "there is an image (%g)", size);
	CHECK(frame(&a, true, 1, image, &report) == 0 && as_from_file(o, &traj, image, maps, 1) &&
		      memcmp(image, first, sizeof(image)) != 0,
	      "another frame, another calibration");
	a.engine->scan(a.self);
	CHECK(frame(&a, false, 0, image, &report) == 0 && as_from_file(o, &traj, image, maps, 0),
	      "another scan, from lines of the image");
	a.engine->scan(a.self);
	CHECK(a.engine->begin(a.self, 0) == 0, "a frame of no lines");
	memset(&report, 0, sizeof(report));
	CHECK(a.engine->image(a.self, 0, NULL, INT64_MAX, image, &report) == BS_ERR_CALIBRATION &&
		      report.why.code == BS_ERR_CALIBRATION,
	      "%s", report.why.text);
	armed_close(&a);
	bs_traj_close(&traj);
	free(maps);
}

/* ---- a sliding window: of spokes, or of lines of the grid ---- */

struct sliding {
	struct armed a;
	struct bs_traj traj;
	float *maps;
	float image[2 * 32 * 32];
};

static void sliding_open(struct sliding *s, const struct bs_protocol *p)
{
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	struct bs_fail why = { 0 };
	struct bs_tables tables = { .traj = &s->traj };

	memset(s, 0, sizeof(*s));
	tables.maps = tables.made = s->maps = calloc(2 * 32 * 32 * COILS, 4);
	CHECK(bs_traj_make(&s->traj, p, &why) == 0, "trajectory %s", why.text);
	CHECK(armed_open(&s->a, NULL, p, &tables, env, &why) == 0, "arm %s", why.text);
	CHECK(s->a.arena.size - s->a.arena.used < BS_ALIGN, "need says what arm takes");
	s->a.engine->scan(s->a.self);
}

static void sliding_close(struct sliding *s)
{
	armed_close(&s->a);
	bs_traj_close(&s->traj);
	free(s->maps);
}

/* A group of the window, then the image of those that are held. */
static void slide(struct sliding *s, uint32_t group, const uint8_t held[3], int what)
{
	const struct bs_protocol *p = &s->a.p;
	const struct bs_engine *e = s->a.engine;
	float data[2 * 64 * COILS];
	struct bs_report report = { 0 };
	int rc = e->begin(s->a.self, 0);

	for (uint32_t r = group * p->frame_step; rc == 0 && r < (group + 1) * p->frame_step; r++) {
		for (uint32_t c = 0; c < COILS; c++)
			for (uint32_t i = 0; i < p->samples; i++) {
				const float *k = s->traj.k + 2 * (r * p->samples + i);

				sample(data + 2 * (c * p->samples + i), (double)k[0] * p->matrix[0],
				       (double)k[1] * p->matrix[1], c, what);
			}
		rc = e->add(s->a.self, 0, r, NULL, data, p->samples);
	}
	if (rc == 0)
		rc = e->fold(s->a.self, 0, group);
	if (rc == 0 && held != NULL)
		rc = e->image(s->a.self, 0, held, INT64_MAX, s->image, &report);
	CHECK(rc == 0, "%s: group %u %s", armed_name(&s->a), group, report.why.text);
}

/*
 * One object passes through the window, then another. Images by which maps are made are the first,
 * and from then on every third (a pass), or every one: then what came before leaves nothing.
 */
static void window(const struct one *o, bool spokes, uint32_t every)
{
	static const uint8_t all[3] = { 1, 1, 1 };
	struct bs_protocol p = protocol(o);
	struct sliding s;
	struct sliding alone;
	float *before;
	uint32_t changes = 0;

	p.uses = 0;
	p.espirit_crop = 0;
	p.frame_step = 6;
	p.maps_every = every;
	bs_plan_make(&p);
	if (spokes) {
		p.traj.type = BS_TRAJ_RADIAL2D;
		p.matrix[0] = p.matrix[1] = 32;
		p.samples = 64;
		p.readouts = 60;
		p.frame_step = 20;
		bs_plan_make(&p);
	}
	sliding_open(&s, &p);
	sliding_open(&alone, &p);
	before = malloc(2 * 32 * 32 * COILS * 4);
	for (uint32_t g = 0; g < 3; g++) {
		slide(&s, g, g == 2 ? all : NULL, 0);
		slide(&alone, g, g == 2 ? all : NULL, 1);
	}
	for (uint32_t g = 0; g < 3; g++) {
		memcpy(before, s.maps, 2 * 32 * 32 * COILS * 4);
		slide(&s, g, all, 1);
		if (memcmp(before, s.maps, 2 * 32 * 32 * COILS * 4) != 0)
			changes |= 1u << g;
	}
	CHECK(changes == (every == 1 ? 7 : 4), "%s, maps_every %u: made with images %#x",
	      armed_name(&s.a), every, changes);
	CHECK(memcmp(s.image, alone.image, sizeof(s.image)) == 0 &&
		      memcmp(s.maps, alone.maps, 2 * 32 * 32 * COILS * 4) == 0,
	      "what the window has left has left the image, bit for bit");
	free(before);
	sliding_close(&s);
	sliding_close(&alone);
}

/* The reason in words; "": it is not refused. */
static const char *reason(const struct bs_protocol *p)
{
	const struct bs_engine *engine = NULL;
	static struct bs_fail why;
	struct bs_need need = { 0 };

	why = (struct bs_fail){ 0 };
	if (bs_engine_find(&engine, p, &why) == 0)
		(void)bs_recon_need(p, engine, &need, &why);
	return why.text;
}

/* Methods that have no use for maps, and what comes before the maps. */
static void refused(void)
{
	struct one o = { BS_METHOD_LS, BS_MAPS_ESPIRIT, BS_PRECOND_NONE, 1 };
	struct bs_protocol p = protocol(&o);

	CHECK(strstr(reason(&p), "method ls has no host engine here"), "%s", reason(&p));
	p.method = BS_METHOD_NOOP;
	bs_plan_make(&p);
	CHECK(strstr(reason(&p), "method noop has no host engine here"), "%s", reason(&p));
	p.method = BS_METHOD_GRIDDING;
	bs_plan_make(&p);
	CHECK(reason(&p)[0] == '\0', "gridding: %s", reason(&p));
	p.preview_every = 6;
	bs_plan_make(&p);
	CHECK(strstr(reason(&p), "engine gridding/host makes no previews"), "%s", reason(&p));
	p.method = BS_METHOD_SENSE;
	bs_plan_make(&p);
	CHECK(reason(&p)[0] == '\0', "another engine makes those of sense: %s", reason(&p));
	p.preview_every = 0;
	p.traj.type = BS_TRAJ_STREAM;
	bs_plan_make(&p);
	CHECK(strstr(reason(&p), "engine sense/host takes no path"), "%s", reason(&p));
}

/* What is passed over leaves its maps all the same. */
static void passed(const struct one *o)
{
	static float want[2 * 32 * 32 * COILS];
	const struct bs_protocol p = protocol(o);
	float image[2 * 20 * 18];
	struct bs_report report;
	struct sliding s;

	sliding_open(&s, &p);
	CHECK(frame(&s.a, true, 0, image, &report) == 0, "an image");
	memcpy(want, s.maps, sizeof(want));
	memset(s.maps, 0, sizeof(want));
	s.a.engine->scan(s.a.self);
	CHECK(frame_of(&s.a, true, 0) == 0 &&
		      s.a.engine->image(s.a.self, 0, NULL, INT64_MAX, NULL, &report) == 0 &&
		      memcmp(s.maps, want, sizeof(want)) == 0,
	      "%s: no image, the same maps", armed_name(&s.a));
	sliding_close(&s);
}

int main(void)
{
	static const struct one all[] = {
		{ BS_METHOD_CARTESIAN, BS_MAPS_ESPIRIT, BS_PRECOND_NONE, 1 },
		{ BS_METHOD_CARTESIAN, BS_MAPS_WALSH, BS_PRECOND_NONE, 1 },
		{ BS_METHOD_GRIDDING, BS_MAPS_ESPIRIT, BS_PRECOND_NONE, 1 },
		{ BS_METHOD_CARTESIAN_SENSE, BS_MAPS_ESPIRIT, BS_PRECOND_NONE, 1 },
		{ BS_METHOD_SENSE, BS_MAPS_ESPIRIT, BS_PRECOND_NONE, 1 },
		{ BS_METHOD_SENSE, BS_MAPS_ESPIRIT, BS_PRECOND_JACOBI, 1 },
		{ BS_METHOD_SENSE, BS_MAPS_WALSH, BS_PRECOND_CIRCULANT, 1 },
		{ BS_METHOD_GRIDDING, BS_MAPS_ESPIRIT, BS_PRECOND_NONE, 2 },
		{ BS_METHOD_CARTESIAN_SENSE, BS_MAPS_ESPIRIT, BS_PRECOND_NONE, 2 },
		{ BS_METHOD_SENSE, BS_MAPS_ESPIRIT, BS_PRECOND_NONE, 2 },
	};
	struct bs_fail why = { 0 };

	CHECK(bs_team_open(&team, 2, &why) == 0, "team %s", why.text);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		images(&all[i]);
	passed(&all[0]);
	passed(&all[3]);
	passed(&all[4]);
	refused();
	window(&all[4], true, 0);
	window(&all[4], true, 1);
	window(&all[6], true, 0);
	window(&all[2], true, 1);
	window(&all[2], false, 1);
	window(&all[4], false, 0);
	bs_team_close(team);
	return check_done();
}

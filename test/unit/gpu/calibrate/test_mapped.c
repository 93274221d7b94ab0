/*
 * test/unit/gpu/calibrate/test_mapped.c - engines whose maps are made from the scan
 *
 * The image must be, to the byte, what the same engine makes of a file that holds these maps: they
 * are read as they were made.
 */
#include "core/frame/recon.h"
#include "core/thread/team.h"
#include "gpu/engine/mapped.h"
#include "test/support/engine.h"

#include <string.h>

#define COILS 3

static struct bs_team *team;

struct one {
	enum bs_method method;
	enum bs_maps_from maps;
	enum bs_precond precond;
};

static struct bs_protocol protocol(const struct one *o)
{
	struct bs_protocol p = { .name = "mapped",
				 .method = o->method,
				 .backend = BS_BACKEND_HOST,
				 .dims = 2,
				 .matrix = { 20, 18, 1 },
				 .encoded = { 20, 18, 1 },
				 .coils = COILS,
				 .samples = 20,
				 .readouts = 18,
				 .slices = 1,
				 .contrasts = 1,
				 .uses = 1u << BS_KIND_CALIBRATION,
				 .traj.type = BS_TRAJ_CARTESIAN,
				 .accuracy = 1e-4,
				 .density = BS_DENSITY_NONE,
				 .fhd = BS_SUM_NUFFT,
				 .q = BS_SUM_NUFFT,
				 .precond = o->precond,
				 .lambda = 0.01,
				 .iterations = 4,
				 .combine = BS_COMBINE_SENSE,
				 .maps = o->maps,
				 .calibration_lines = 12,
				 .espirit_threshold = 1e-3,
				 .espirit_crop = 0.5,
				 .walsh_block = 5,
				 .output = BS_OUTPUT_COMPLEX };

	return p;
}

/* Lines of smooth coils; what: another object. */
static void line(float *to, uint32_t row, int what)
{
	for (uint32_t c = 0; c < COILS; c++)
		for (uint32_t i = 0; i < 20; i++) {
			double kx = (double)i - 10 + 0.3 * cos(c + what);
			double ky = (double)row - 9 + 0.3 * sin(2 * c + what);
			double size = 1 / (0.4 + 0.2 * (kx * kx + ky * ky));

			to[2 * (c * 20 + i)] = (float)(size * cos(0.6 * kx + c));
			to[2 * (c * 20 + i) + 1] = (float)(size * sin(0.6 * kx + c));
		}
}

static int frame(struct armed *a, bool calibrates, int what, float *image, struct bs_report *report)
{
	const struct bs_mrd_acq head = { .number_of_samples = 20 };
	float data[2 * 20 * COILS];
	int rc = a->engine->begin(a->self, 0);

	memset(report, 0, sizeof(*report));
	for (uint32_t r = 0; rc == 0 && r < 18; r++) {
		line(data, r, what);
		rc = a->engine->add(a->self, 0, r, data, 20);
		if (rc == 0 && calibrates && r >= 4 && r < 14)
			rc = a->engine->side(a->self, 0, BS_KIND_CALIBRATION, r, &head, data, 20);
	}
	return rc != 0 ? rc : a->engine->finish(a->self, 0, INT64_MAX, image, report);
}

/* The image with the maps that the last one left, read from a file. */
static bool as_from_file(const struct one *o, const struct bs_traj *traj, const float *image,
			 const float *maps, int what)
{
	const struct one file = { o->method, BS_MAPS_FILE, o->precond };
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
	float *maps = calloc(2 * 20 * 18 * COILS, 4);
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
	      "%s: from calibration lines %s", a.engine->name, report.why.text);
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
	CHECK(a.engine->finish(a.self, 0, INT64_MAX, image, &report) == BS_ERR_CALIBRATION &&
		      report.why.code == BS_ERR_CALIBRATION,
	      "%s", report.why.text);
	armed_close(&a);
	bs_traj_close(&traj);
	free(maps);
}

int main(void)
{
	static const struct one all[] = {
		{ BS_METHOD_CARTESIAN, BS_MAPS_ESPIRIT, BS_PRECOND_NONE },
		{ BS_METHOD_CARTESIAN, BS_MAPS_WALSH, BS_PRECOND_NONE },
		{ BS_METHOD_GRIDDING, BS_MAPS_ESPIRIT, BS_PRECOND_NONE },
		{ BS_METHOD_CARTESIAN_SENSE, BS_MAPS_ESPIRIT, BS_PRECOND_NONE },
		{ BS_METHOD_SENSE, BS_MAPS_ESPIRIT, BS_PRECOND_NONE },
		{ BS_METHOD_SENSE, BS_MAPS_ESPIRIT, BS_PRECOND_JACOBI },
		{ BS_METHOD_SENSE, BS_MAPS_WALSH, BS_PRECOND_CIRCULANT },
	};
	struct bs_fail why = { 0 };

	CHECK(bs_team_open(&team, 2, &why) == 0, "team %s", why.text);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		images(&all[i]);
	bs_team_close(team);
	return check_done();
}

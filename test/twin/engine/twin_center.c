/*
 * test/twin/engine/twin_center.c - maps from a trajectory's central samples before the CUDA
 * engines: the host's images, also while a window slides and its maps are made again
 *
 * Both twins have the same maps, to the byte: the host makes them, in the same order. The bound,
 * 1e-5 relative, is that of the engines with maps of a file (twin_engine.c).
 */
#include "test/support/check.h"
#include <string.h>

#include "core/thread/team.h"
#include "core/traj/traj.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"
#include "test/twin/device.h"

#define COILS  4
#define IMAGES 6 /* of a window that slides through two passes */

static struct bs_protocol protocol(enum bs_method method, enum bs_maps_from maps, bool slides)
{
	struct bs_protocol p = path_of(method, BS_TRAJ_RADIAL2D, 48, 45, 1, COILS);

	readouts_of(&p, 90, 96);
	solved(&p, 10.0, 6); /* all spokes meet: a condition below 100 */
	mapped_by(&p, maps, 20);
	p.accuracy = 1e-6;
	p.frame_step = slides ? 30 : 0;
	p.maps_every = slides ? 2 : 0;

	return planned(p);
}

/* A spoke of smooth coils; what: another object. */
static void spoke(float *to, const struct bs_protocol *p, const struct bs_traj *traj, uint32_t row,
		  int what)
{
	for (uint32_t c = 0; c < COILS; c++)
		for (uint32_t i = 0; i < p->samples; i++) {
			const float *k = traj->k + 2 * ((size_t)row * p->samples + i);
			const double x = (double)k[0] * p->matrix[0] + 0.3 * cos(c + what);
			const double y = (double)k[1] * p->matrix[1] + 0.3 * sin(2.0 * c + what);
			const double size = 1 / (0.4 + 0.2 * (x * x + y * y));

			*to++ = (float)(size * cos(0.6 * x + c));
			*to++ = (float)(size * sin(0.6 * x + c));
		}
}

/* Images of one frame, or of each group of two passes of a window, one after the other. */
static int images(const struct bs_engine *engine, const struct bs_protocol *p,
		  const struct bs_traj *traj, float *to, float *maps, struct bs_fail *why)
{
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	const struct bs_tables tables = { .traj = traj, .maps = maps, .made = maps };
	const uint32_t groups = p->frame_step > 0 ? p->readouts / p->frame_step : 1;
	const size_t size = 2 * (size_t)bs_protocol_image_voxels(p);
	float *data = malloc((size_t)p->samples * COILS * 8);
	uint8_t held[8] = { 0 };
	struct bs_report report = { 0 };
	struct armed a;
	int rc = armed_open(&a, engine, p, &tables, env, why);

	if (rc == 0)
		a.engine->scan(a.self);
	for (uint32_t g = 0; rc == 0 && g < (p->frame_step > 0 ? IMAGES : 1); g++) {
		const uint32_t group = g % groups;
		const uint32_t rows = p->readouts / groups;

		rc = a.engine->begin(a.self, 0);
		for (uint32_t r = group * rows; rc == 0 && r < (group + 1) * rows; r++) {
			spoke(data, p, traj, r, (int)(g / groups));
			rc = a.engine->add(a.self, 0, r, NULL, data, p->samples);
		}
		held[group] = 1;
		memset(&report, 0, sizeof(report));
		if (rc == 0 && p->frame_step > 0)
			rc = a.engine->fold(a.self, 0, group);
		if (rc == 0)
			rc = p->frame_step > 0
				     ? a.engine->image(a.self, 0, held, INT64_MAX, to + g * size,
						       &report)
				     : a.engine->image(a.self, 0, NULL, INT64_MAX, to, &report);
	}
	if (rc != 0 && report.why.code != 0)
		*why = report.why;
	armed_close(&a);
	free(data);
	return rc;
}

static void compare(enum bs_method method, enum bs_maps_from maps, bool slides)
{
	const uint32_t count = slides ? IMAGES : 1;
	struct bs_protocol p = protocol(method, maps, slides);
	const size_t size = 2 * (size_t)bs_protocol_image_voxels(&p);
	const size_t values = 2 * (size_t)bs_protocol_map_values(&p);
	struct bs_traj traj = { 0 };
	struct bs_fail why = { 0 };
	float *image[3];
	float *made[3];
	int rc = bs_traj_make(&traj, &p, &why);

	for (int i = 0; i < 3; i++) { /* the host, and the GPU twice */
		const struct bs_engine *engine = NULL;

		image[i] = calloc(count * size, 4);
		made[i] = calloc(values, 4);
		p.backend = i == 0 ? BS_BACKEND_HOST : BS_BACKEND_CUDA;
		bs_plan_make(&p);
		if (rc == 0)
			rc = bs_engine_find(&engine, &p, &why);
		if (rc == 0)
			rc = images(engine, &p, &traj, image[i], made[i], &why);
	}
	CHECK(rc == 0, "%s: %s", bs_method_name(method), why.text);
	for (uint32_t g = 0; rc == 0 && g < count; g++) {
		const double error = check_rel(image[1] + g * size, image[0] + g * size, size);

		CHECK(error > 0 && error <= 1e-5, "%s%s, image %u: %.1e of the host's",
		      bs_method_name(method), slides ? ", a window" : "", g, error);
	}
	if (maps == BS_MAPS_ESPIRIT) { /* made where the images are */
		const double error = check_rel(made[1], made[0], values);

		CHECK(error > 0 && error <= 1e-5, "maps: %.1e of the host's", error);
	} else {
		CHECK(memcmp(made[0], made[1], values * 4) == 0, "the same maps");
	}
	CHECK(memcmp(made[1], made[2], values * 4) == 0, "maps: the same bytes every run");
	CHECK(memcmp(image[1], image[2], count * size * 4) == 0, "the same bytes every run");
	for (int i = 0; i < 3; i++) {
		free(image[i]);
		free(made[i]);
	}
	bs_traj_close(&traj);
}

static void compare_all(void)
{
	compare(BS_METHOD_SENSE, BS_MAPS_ESPIRIT, false);
	compare(BS_METHOD_SENSE, BS_MAPS_WALSH, true);
	compare(BS_METHOD_GRIDDING, BS_MAPS_WALSH, false);
	compare(BS_METHOD_GRIDDING, BS_MAPS_ESPIRIT, true);
}

int main(void)
{
	return twin_main("maps from central samples before CUDA engines", 2, compare_all);
}

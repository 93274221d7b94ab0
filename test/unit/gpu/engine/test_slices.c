/*
 * test/unit/gpu/engine/test_slices.c - methods that combine by sensitivities: each frame by the
 * maps of its slice, as bs_combine does it, bit for bit
 */
#include <string.h>

#include "gpu/image/combine.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"

#define N      12u
#define COILS  2u
#define SLICES 3u
#define VOXELS (N * N)

static struct bs_team *team;
static uint64_t seed = 41;

static void fill(float *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = (float)(check_uniform(&seed) - 0.5);
}

static int image_of(struct armed *a, uint32_t frame, const float *data, float *image)
{
	const struct bs_protocol *p = &a->p;
	struct bs_report report = { 0 };
	int rc = a->engine->begin(a->self, frame);

	for (uint32_t r = 0; rc == 0 && r < p->readouts; r++)
		rc = a->engine->add(a->self, frame, r, NULL, data + 2ull * r * p->samples * COILS,
				    p->samples);
	return rc != 0 ? rc : a->engine->image(a->self, frame, NULL, INT64_MAX, image, &report);
}

static void combined(enum bs_method method)
{
	static const uint32_t order[] = { 1, 2, 0, 1 };
	static float maps[SLICES * COILS * VOXELS * 2], data[N * N * COILS * 2];
	static float coils[COILS * VOXELS * 2], got[VOXELS * 2], want[VOXELS * 2];
	struct bs_protocol p = lines_of(N, N, 1, N, COILS);
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	struct bs_traj traj = { 0 };
	struct bs_tables tables = { .traj = &traj, .maps = maps };
	struct armed none;
	struct armed sense;
	struct bs_fail why = { 0 };
	int rc;

	p.method = method;
	p.backend = BS_BACKEND_HOST;
	p.slices = SLICES;
	p.contrasts = 2;
	p.accuracy = 1e-4;
	p.density = BS_DENSITY_NONE;
	p.output = BS_OUTPUT_COMPLEX;
	rc = bs_traj_make(&traj, &p, &why);
	fill(maps, sizeof(maps) / 4);
	p.combine = BS_COMBINE_NONE;
	bs_plan_make(&p);
	rc = rc != 0 ? rc : armed_open(&none, NULL, &p, &tables, env, &why);
	p.combine = BS_COMBINE_SENSE;
	bs_plan_make(&p);
	rc = rc != 0 ? rc : armed_open(&sense, NULL, &p, &tables, env, &why);
	CHECK(rc == 0, "%s armed %s", bs_method_name(method), why.text);
	for (size_t i = 0; rc == 0 && i < 4; i++) {
		const uint32_t frame = bs_protocol_frame(&p, order[i], i % 2);

		fill(data, sizeof(data) / 4);
		rc = image_of(&none, frame, data, coils);
		if (rc == 0)
			rc = image_of(&sense, frame, data, got);
		bs_combine(team, (struct bs_combination){
					 BS_COMBINE_SENSE, p.output, COILS, VOXELS, coils,
					 maps + (size_t)order[i] * COILS * VOXELS * 2, want });
		CHECK(rc == 0 && memcmp(got, want, sizeof(got)) == 0, "%s: slice %u by its maps",
		      bs_method_name(method), order[i]);
	}
	armed_close(&none);
	armed_close(&sense);
	bs_traj_close(&traj);
}

int main(void)
{
	if (bs_team_open(&team, 2, NULL) != 0)
		return 1;
	combined(BS_METHOD_GRIDDING);
	combined(BS_METHOD_CARTESIAN);
	bs_team_close(team);
	return check_done();
}

/*
 * test/twin/engine/twin_engine_grouped.c
 * slices at once along a spiral, solved for together, on the GPU: the host's images, the same bytes
 * every run, no allocation after arm
 *
 * Samples and maps are noise. The bound, 1e-4 relative: sums at 1e-5 (path_of's accuracy) or exact,
 * and as many iterations of a system of some hundred in condition.
 */
#include "core/traj/traj.h"
#include "gpu/engine/grouped.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include "test/twin/allocations.h"
#include "test/twin/device.h"
#include "test/twin/engine/fed.h"

#define COILS  6u
#define GROUPS 2u

static const struct trial {
	const char *what;
	uint32_t x, y, bands;
	enum bs_traj_type type;
	enum bs_sum sum;
	double shift;
} trials[] = {
	{ "2 slices along spirals", 40, 40, 2, BS_TRAJ_SPIRAL2D, BS_SUM_NUFFT, 0.0 },
	{ "3 slices along spokes, exact", 31, 31, 3, BS_TRAJ_RADIAL2D, BS_SUM_EXACT, 0.5 },
	{ "4 slices along spokes", 48, 48, 4, BS_TRAJ_RADIAL2D, BS_SUM_NUFFT, -0.25 },
};

static struct bs_protocol protocol(const struct trial *t, enum bs_backend backend)
{
	struct bs_protocol p = path_of(BS_METHOD_SENSE, t->type, t->x, t->y, 1, COILS);

	readouts_of(&p, 24, 2 * t->x);
	solved(&p, 0.05, 8);
	p.traj.reach = 0.5;
	p.traj.interleaves = 24;
	p.parallel = BS_PARALLEL_SENSE_SLICES;
	p.slices = t->bands * GROUPS;
	p.multiband.factor = t->bands;
	p.multiband.shift = t->shift;
	p.output = BS_OUTPUT_COMPLEX;
	p.fhd = p.q = t->sum;
	p.backend = backend;
	return planned(p);
}

/* The images of group 1's slices. */
static int scan(struct fed *f, const struct trial *t, const float *data, float *images)
{
	const struct bs_protocol *p = &f->on.p;
	const double shift = t->shift == 0.0 ? 1.0 / t->bands : t->shift;
	const size_t line = (size_t)2 * p->samples * p->coils;
	uint32_t n = 0;
	int rc = 0;

	f->on.engine->scan(f->on.self);
	for (uint32_t b = 0; rc == 0 && b < t->bands; b++) {
		const uint32_t frame = bs_protocol_frame(p, 1 + b * GROUPS, 0);
		struct bs_report report = { .apart = { .of = t->bands, .lines = 1 + b / 2 } };

		for (uint32_t i = 0; i < t->bands; i++)
			report.apart.cycles[i] = i * shift;
		rc = f->on.engine->begin(f->on.self, frame);
		for (uint32_t r = 0; rc == 0 && r < p->readouts; r++)
			rc = fed_add(f, frame, r, data + r * line, n++);
		if (rc == 0)
			rc = f->on.engine->image(f->on.self, frame, NULL, INT64_MAX,
						 images + b * (bs_protocol_image_bytes(p) / 4),
						 &report);
	}
	return rc;
}

static void compare(const struct trial *t, enum way way)
{
	const struct bs_protocol on_host = protocol(t, BS_BACKEND_HOST);
	const struct bs_protocol p = protocol(t, BS_BACKEND_CUDA);
	const size_t n = bs_protocol_image_bytes(&p) / 4 * t->bands;
	const size_t values = 2 * bs_protocol_map_values(&p) * p.slices;
	const size_t samples = (size_t)2 * p.samples * p.coils * p.readouts;
	float *maps = malloc(values * 4);
	float *data = malloc(samples * 4);
	float *want = calloc(n, 4);
	float *got[2] = { calloc(n, 4), calloc(n, 4) };
	struct bs_traj traj = { 0 };
	struct bs_tables tables = { .traj = &traj, .maps = maps };
	struct bs_fail why = { 0 };
	struct fed host = { 0 };
	struct fed device = { 0 };
	uint64_t seed = 9;
	int rc = bs_traj_make(&traj, &p, &why);

	fill_random(maps, values, &seed);
	fill_random(data, samples, &seed);
	if (rc == 0)
		rc = fed_open(&host, &bs_engine_grouped, &on_host, &tables, STAGED, &why);
	if (rc == 0)
		rc = scan(&host, t, data, want);
	if (rc == 0)
		rc = fed_open(&device, &bs_engine_grouped_cuda, &p, &tables, way, &why);
	allocations = 0;
	for (int i = 0; rc == 0 && i < 2; i++)
		rc = scan(&device, t, data, got[i]);
	CHECK(rc == 0 && check_rel(got[0], want, n) <= 1e-4, "%s, %s: differs by %.1e %s", t->what,
	      way_name[way], check_rel(got[0], want, n), why.text);
	CHECK(rc == 0 && memcmp(got[0], got[1], n * 4) == 0 && allocations == 0,
	      "the same bytes in the next scan, %u allocations", allocations);
	fed_close(&host);
	fed_close(&device);
	bs_traj_close(&traj);
	free(maps);
	free(data);
	free(want);
	free(got[0]);
	free(got[1]);
}

static void compare_all(void)
{
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		for (int way = STAGED; way < WAYS; way++)
			compare(&trials[i], (enum way)way);
}

int main(void)
{
	return twin_main("slices at once along a trajectory in the CUDA engine", 2, compare_all);
}

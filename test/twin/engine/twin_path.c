/*
 * test/twin/engine/twin_path.c - gridding, ls and sense along paths that come with the readouts:
 * the CUDA engine's images beside the host's, readouts in any order, one that is missing, another
 * path's between
 *
 * Bound 1e-5 for a gridding of accuracy 1e-6, as in twin_nufft.c: the two grid by other windows.
 * Weights are computed in double by both. Solved: 1e-4, as the host has two transforms where the
 * GPU has Q, eight times.
 */
#include "test/support/check.h"
#include <math.h>

#include "core/thread/team.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"
#include "test/twin/device.h"

#define MOST        1e-5
#define MOST_SOLVED 1e-4

static uint64_t seed = 20260128;

/* clang-format off */
static const struct trial {
	const char *name;
	uint32_t matrix[2], coils, samples, readouts;
	enum bs_density density;
	enum bs_normalize normalize;
	double accuracy;
	bool spokes; /* else positions at random */
	enum bs_method method;
	enum bs_prior prior;
} trials[] = {
	{ "spokes 96 x 90, 5 coils", { 96, 90 }, 5, 200, 60, BS_DENSITY_RAMP, BS_NORMALIZE_AUTO,
	  1e-6, true, BS_METHOD_GRIDDING, BS_PRIOR_NONE },
	{ "spokes 256 x 256, 8 coils", { 256, 256 }, 8, 512, 34, BS_DENSITY_RAMP, BS_NORMALIZE_AUTO,
	  1e-6, true, BS_METHOD_GRIDDING, BS_PRIOR_NONE },
	{ "at random 33 x 47, 1 coil", { 33, 47 }, 1, 77, 40, BS_DENSITY_NONE, BS_NORMALIZE_NONE,
	  1e-6, false, BS_METHOD_GRIDDING, BS_PRIOR_NONE },
	{ "at random 8 x 9, 3 coils", { 8, 9 }, 3, 31, 12, BS_DENSITY_NONE, BS_NORMALIZE_UNIFORM,
	  1e-6, false, BS_METHOD_GRIDDING, BS_PRIOR_NONE },
	{ "ramp, not normalized", { 40, 64 }, 2, 64, 20, BS_DENSITY_RAMP, BS_NORMALIZE_NONE, 1e-6,
	  true, BS_METHOD_GRIDDING, BS_PRIOR_NONE },
	{ "sense, spokes 96 x 90, 5 coils", { 96, 90 }, 5, 200, 60, BS_DENSITY_RAMP,
	  BS_NORMALIZE_AUTO, 1e-6, true, BS_METHOD_SENSE, BS_PRIOR_NONE },
	{ "sense, spokes 256 x 256, 8 coils", { 256, 256 }, 8, 512, 34, BS_DENSITY_RAMP,
	  BS_NORMALIZE_AUTO, 1e-6, true, BS_METHOD_SENSE, BS_PRIOR_NONE },
	{ "ls, at random 33 x 47, 3 coils", { 33, 47 }, 3, 77, 40, BS_DENSITY_NONE,
	  BS_NORMALIZE_AUTO, 1e-6, false, BS_METHOD_LS, BS_PRIOR_NONE },
	{ "sense, at random 160 x 220, 9 coils", { 160, 220 }, 9, 333, 130, BS_DENSITY_NONE,
	  BS_NORMALIZE_AUTO, 1e-6, false, BS_METHOD_SENSE, BS_PRIOR_NONE },
	{ "ls, at random 33 x 47, 3 coils, wavelets", { 33, 47 }, 3, 77, 40, BS_DENSITY_NONE,
	  BS_NORMALIZE_AUTO, 1e-6, false, BS_METHOD_LS, BS_PRIOR_WAVELET },
	{ "sense, at random 48 x 60, 5 coils, total variation", { 48, 60 }, 5, 100, 90,
	  BS_DENSITY_NONE, BS_NORMALIZE_AUTO, 1e-6, false, BS_METHOD_SENSE, BS_PRIOR_TV },
};
/* clang-format on */

static const struct {
	const struct bs_engine *host, *cuda;
} engines[] = {
	[BS_METHOD_GRIDDING] = { &bs_engine_host, &bs_engine_cuda },
	[BS_METHOD_LS] = { &bs_engine_host, &bs_engine_cuda },
	[BS_METHOD_SENSE] = { &bs_engine_host, &bs_engine_cuda },
};

static struct bs_protocol protocol_of(const struct trial *t)
{
	struct bs_protocol p =
		path_of(t->method, BS_TRAJ_STREAM, t->matrix[0], t->matrix[1], 1, t->coils);

	readouts_of(&p, t->readouts, t->samples);
	solved(&p, 0.01, 8);
	p.traj.min_extent = 0.2;
	p.slices = 2;
	p.accuracy = t->accuracy;
	p.density = t->density;
	p.normalize = t->normalize;
	p.prior.kind = t->prior;
	p.prior.lambda = 0.003; /* a third of what F^H d is in a voxel */
	p.prior.block = 8;
	return coils_apart(p);
}

static void fill_path(float *k, const struct trial *t)
{
	for (uint32_t r = 0; r < t->readouts; r++)
		for (uint32_t s = 0; s < t->samples; s++) {
			const double place = ((double)s - t->samples / 2) / t->samples;
			const double turn = 1.9416 * r;
			float *to = k + 2 * ((size_t)r * t->samples + s);

			to[0] = (float)(t->spokes ? place * cos(turn) : check_uniform(&seed) - 0.5);
			to[1] = (float)(t->spokes ? place * sin(turn) : check_uniform(&seed) - 0.5);
			for (int a = 0; a < 2; a++)
				to[a] = to[a] >= 0.5f ? to[a] - 1.0f : to[a];
		}
}

/* Of both slices; their squares add up to one about. */
static float *maps_of(const struct bs_protocol *p)
{
	const size_t voxels = (size_t)bs_protocol_voxels(p);
	float *maps = malloc(voxels * p->coils * p->slices * 8);

	for (size_t i = 0; maps != NULL && i < voxels * p->coils * p->slices; i++) {
		const double x = (double)(i % p->matrix[0]) / p->matrix[0];
		const double y = (double)(i / p->matrix[0] % p->matrix[1]) / p->matrix[1];
		const double turn = 3.0 * (double)(i / voxels) + 4.0 * x - 2.0 * y * x;
		const double size = (0.6 + 0.4 * cos(turn + 5.0 * y)) / sqrt(p->coils);

		maps[2 * i] = (float)(size * cos(turn));
		maps[2 * i + 1] = (float)(size * sin(turn));
	}
	return maps;
}

/* The readouts of frame 1 but `missing`, from the last one or from the first. */
static int image_of(struct armed *a, const struct trial *t, const float *k, const float *data,
		    uint32_t missing, bool backwards, float *image, struct bs_fail *why)
{
	struct bs_report report = { 0 };
	int rc = a->engine->begin(a->self, 1);

	for (uint32_t i = 0; rc == 0 && i < t->readouts; i++) {
		const uint32_t r = backwards ? t->readouts - 1 - i : i;

		if (r == missing)
			continue;
		rc = a->engine->add(a->self, 1, r, k + 2 * (size_t)r * t->samples,
				    data + 2 * (size_t)r * t->samples * t->coils, t->samples);
	}
	if (rc == 0)
		rc = a->engine->image(a->self, 1, NULL, INT64_MAX, image, &report);
	*why = report.why;
	return rc;
}

/* A whole frame of one place, which reaches nowhere. */
static void refuses(struct armed *a, const struct trial *t, float *k, const float *data,
		    float *image)
{
	struct bs_fail why = { 0 };
	int rc;

	memset(k, 0, (size_t)t->samples * t->readouts * 8);
	rc = image_of(a, t, k, data, UINT32_MAX, false, image, &why);
	CHECK(rc == BS_ERR_TRAJECTORY && strstr(why.text, "reaches only 0 of") != NULL,
	      "%s: no extent: %d %s", t->name, rc, why.text);
}

static void one(const struct trial *t)
{
	const struct bs_protocol p = protocol_of(t);
	struct bs_tables tables = { 0 };
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	const size_t floats = (size_t)bs_protocol_image_bytes(&p) / 4;
	const size_t samples = (size_t)t->samples * t->readouts;
	float *k = malloc(samples * 8);
	float *other = malloc(samples * 8);
	float *data = malloc(samples * t->coils * 8);
	float *want = malloc(floats * 4);
	float *got = malloc(floats * 4);
	float *again = malloc(floats * 4);
	float *maps = t->method == BS_METHOD_SENSE ? maps_of(&p) : NULL;
	const double most = t->method == BS_METHOD_GRIDDING ? MOST : MOST_SOLVED;
	struct bs_fail why = { 0 };
	struct armed host;
	struct armed cuda;
	double e[2] = { INFINITY, INFINITY };
	int rc;

	fill_path(k, t);
	fill_path(other, t);
	fill_random(data, samples * t->coils * 2, &seed);
	tables.maps = maps;
	rc = armed_open(&host, engines[t->method].host, &p, &tables, env, &why);
	if (rc == 0)
		rc = armed_open(&cuda, engines[t->method].cuda, &p, &tables, env, &why);
	CHECK(rc == 0 && bs_engine_tuner(&p) == NULL, "%s: armed, no variants %s", t->name,
	      why.text);
	for (int i = 0; rc == 0 && i < 2; i++) {
		const uint32_t missing = i == 0 ? UINT32_MAX : 3;

		rc = image_of(&host, t, k, data, missing, false, want, &why);
		if (rc == 0)
			rc = image_of(&cuda, t, k, data, missing, false, got, &why);
		e[i] = check_rel(got, want, floats);
	}
	CHECK(rc == 0 && e[0] <= most && e[1] <= most,
	      "%s: differs by %.1e, by %.1e without a readout, at most %.0e %s", t->name, e[0],
	      e[1], most, why.text);
	if (rc == 0)
		rc = image_of(&cuda, t, other, data, UINT32_MAX, false, again, &why);
	if (rc == 0)
		rc = image_of(&cuda, t, k, data, 3, true, again, &why);
	CHECK(rc == 0 && memcmp(got, again, floats * 4) == 0,
	      "%s: backwards, after another path, the same bytes %s", t->name, why.text);
	refuses(&cuda, t, other, data, again);
	armed_close(&host);
	armed_close(&cuda);
	free(k);
	free(other);
	free(data);
	free(want);
	free(got);
	free(again);
	free(maps);
}

static void compare_all(void)
{
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		one(&trials[i]);
}

int main(void)
{
	return twin_main("paths on the GPU", 2, compare_all);
}

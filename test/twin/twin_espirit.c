/*
 * test/twin/twin_espirit.c - ESPIRiT on the GPU against the host's, and twice the same
 *
 * Both twins find the kernels in double precision and go on in single. A voxel's matrix has norm
 * 1 at most, and each of its elements is a sum of at most some hundred products: MATRIX covers the
 * roundings of both twins. Eigenvalues then differ by as much at most (Weyl), eigenvectors by that
 * over the distance to the next eigenvalue (Davis and Kahan): TWINS, the bound of every operator.
 */
#include "test/support/check.h"
#include "core/thread/team.h"
#include "gpu/calibrate/espirit_cuda.h"
#include "test/twin/device.h"

#define MATRIX 5e-6
#define TWINS  1e-5

/* Coils of smooth sensitivity over a point-like object, and noise. */
static void fill_block(float *block, const struct bs_espirit_spec *s, uint64_t *seed)
{
	const size_t samples = (size_t)s->block[0] * s->block[1] * s->block[2];

	for (uint32_t c = 0; c < s->coils; c++)
		for (size_t i = 0; i < samples; i++) {
			double x = (double)(i % s->block[0]) - s->block[0] / 2 + 0.4 * cos(2.1 * c);
			double y = (double)(i / s->block[0] % s->block[1]) - s->block[1] / 2 +
				   0.4 * sin(1.7 * c);
			double z = (double)(i / s->block[0] / s->block[1]) - s->block[2] / 2;
			double size = 1 / (0.3 + 0.3 * (x * x + y * y + z * z));
			float *to = block + 2 * (c * samples + i);

			to[0] = (float)(size * cos(x + c) + 0.01 * (check_uniform(seed) - 0.5));
			to[1] = (float)(size * sin(x + c) + 0.01 * (check_uniform(seed) - 0.5));
		}
}

struct maps {
	float *maps, *values;
};

/*
 * The largest difference of a map over TWINS, times the distance to the next eigenvalue, and times
 * what the reference coil sees of it: the phase is that of this response.
 */
static double maps_differ(const struct bs_espirit_lags *l, size_t voxels, const struct maps *a,
			  const struct maps *b)
{
	double worst = 0;

	for (size_t v = 0; v < voxels; v++) {
		double gap = a->values[v] - a->values[voxels + v];
		double response = 0;
		double sum = 0;

		for (uint32_t c = 0; c < l->spec->coils; c++)
			for (int part = 0; part < 2; part++) {
				const size_t at = 2 * (c * voxels + v) + (size_t)part;
				double d = (double)a->maps[at] - b->maps[at];

				response += l->reference[2 * c + (uint32_t)part] * a->maps[at];
				sum += d * d;
			}
		if (!isfinite(sum))
			return INFINITY;
		worst = fmax(worst, sqrt(sum) * gap * response / TWINS);
	}
	return worst;
}

static int host(const struct bs_espirit_spec *s, struct bs_espirit **plan, struct bs_arena *arena,
		const float *block, const struct maps *out, struct bs_fail *why)
{
	struct bs_need need = { 0 };
	int rc = bs_espirit_need(s, &need, why);

	if (rc == 0)
		rc = bs_arena_open(arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_espirit_plan(plan, s, arena, team, why);
	return rc != 0 ? rc : bs_espirit_run(*plan, s->block, block, out->maps, out->values, why);
}

static void one(const struct bs_espirit_spec *s, uint64_t seed)
{
	const size_t voxels = (size_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	const size_t floats = 2 * voxels * s->coils * s->sets;
	const size_t samples = (size_t)s->block[0] * s->block[1] * s->block[2];
	float *block = malloc(samples * s->coils * 8);
	struct maps ours = { malloc(floats * 4), malloc(voxels * s->sets * 4) };
	struct maps theirs = { malloc(floats * 4), malloc(voxels * s->sets * 4) };
	float *maps = device_copy(NULL, floats);
	float *values = device_copy(NULL, voxels * s->sets);
	struct bs_arena arena = { 0 };
	struct bs_devmem mem = { 0 };
	struct bs_espirit *plan = NULL;
	struct bs_espirit_cuda *twin = NULL;
	struct bs_espirit_lags lags;
	struct bs_fail why = { 0 };
	uint64_t hash[2] = { 0 };
	double worst = 0;
	int rc;

	fill_block(block, s, &seed);
	rc = host(s, &plan, &arena, block, &ours, &why);
	if (rc == 0)
		rc = bs_devmem_open(&mem, bs_espirit_cuda_bytes(s), "espirit", &why);
	if (rc == 0)
		rc = bs_espirit_cuda_plan(&twin, plan, &mem, &why);
	CHECK(rc == 0 && bs_devmem_round(mem.used) == mem.size, "%u coils, %u x %u x %u %s",
	      s->coils, s->matrix[0], s->matrix[1], s->matrix[2], why.text);
	for (int round = 0; rc == 0 && round < 2; round++) {
		rc = bs_espirit_cuda_run(twin, s->block, block, maps, values, NULL, &why);
		CHECK(rc == 0 && fetch(theirs.maps, maps, floats) &&
			      fetch(theirs.values, values, voxels * s->sets),
		      "run %d %s", round, why.text);
		hash[round] =
			hash_of(theirs.maps, floats) ^ hash_of(theirs.values, voxels * s->sets);
	}
	CHECK(hash[0] == hash[1], "the same bytes again");
	for (size_t v = 0; v < voxels * s->sets; v++)
		worst = fmax(worst, fabs((double)theirs.values[v] - ours.values[v]) / MATRIX);
	CHECK(worst <= 1, "eigenvalues: %.2f of the bound", worst);
	bs_espirit_lags(plan, &lags);
	worst = maps_differ(&lags, voxels, &ours, &theirs);
	CHECK(worst <= 1, "maps: %.2f of the bound", worst);
	bs_espirit_cuda_close(twin);
	bs_devmem_close(&mem);
	bs_espirit_close(plan);
	bs_arena_close(&arena);
	(void)cudaFree(maps);
	(void)cudaFree(values);
	free(block);
	free(ours.maps);
	free(ours.values);
	free(theirs.maps);
	free(theirs.values);
}

static void compare_all(void)
{
	static const struct bs_espirit_spec specs[] = {
		{ 12, 2, { 20, 18, 1 }, { 6, 6, 1 }, { 160, 131, 1 }, { 160, 131, 1 }, 1e-3, 0 },
		{ 32, 2, { 10, 10, 1 }, { 4, 4, 1 }, { 66, 64, 1 }, { 33, 64, 1 }, 1e-3, 0 },
		{ 5, 2, { 8, 7, 6 }, { 3, 3, 2 }, { 24, 19, 11 }, { 24, 19, 11 }, 1e-3, 0 },
	};

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		one(&specs[i], 3 + i);
}

int main(void)
{
	return twin_main("ESPIRiT on the GPU", 2, compare_all);
}

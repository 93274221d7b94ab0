/*
 * test/twin/nufft/twin_nufft_sort.c - samples sorted into sectors: by the GPU as by the host, to
 * the bit
 *
 * Numbers, cells, offsets, weights and tasks, of 2D and 3D, through an index, of crowds in one
 * place and of places at the very edges. One sorter serves chunks of several sizes.
 */
#include "test/support/check.h"
#include <string.h>

#include "gpu/nufft/cuda/sort.h"
#include "test/twin/device.h"

static uint64_t seed = 5;

static const struct trial {
	const char *name;
	struct bs_sectors_spec spec;
	uint64_t samples;
	uint32_t stride;
	bool picks;     /* through an index */
	double crowded; /* the share of samples in one place */
} trials[] = {
	{ "3D", { 3, { 256, 256, 256 }, { 8, 8, 8 }, 5.0, 512 }, 284592, 3, false, 0.0 },
	{ "3D, odd", { 3, { 45, 64, 150 }, { 16, 8, 8 }, 6.5, 100 }, 70001, 3, false, 0.3 },
	{ "2D", { 2, { 384, 400, 1 }, { 16, 16, 1 }, 4.0, 256 }, 17408, 2, false, 0.1 },
	{ "2D of a stack", { 2, { 540, 75, 1 }, { 16, 16, 1 }, 5.0, 128 }, 30000, 3, true, 0.0 },
	{ "one sample", { 2, { 54, 75, 1 }, { 16, 16, 1 }, 5.0, 128 }, 1, 2, false, 0.0 },
	{ "one place", { 3, { 64, 64, 64 }, { 8, 8, 8 }, 8.0, 7 }, 5000, 3, false, 1.0 },
};

struct tables {
	uint32_t *order, *cell;
	float *offset, *weight;
};

static float *places_of(const struct trial *t)
{
	float *k = malloc(t->samples * 2 * t->stride * 4);

	for (uint64_t i = 0; k != NULL && i < t->samples * 2; i++)
		for (uint32_t a = 0; a < t->stride; a++) {
			double at = check_uniform(&seed) - 0.5;

			if (check_uniform(&seed) < 0.01) /* edges, and places between cells */
				at = i % 3 == 0 ? -0.5 : i % 3 == 1 ? 0.4999999 : 0.25;
			if (check_uniform(&seed) < t->crowded)
				at = 0.0;
			k[i * t->stride + a] = (float)at;
		}
	return k;
}

static int bring(struct tables *to, const struct bs_sorted *from, uint64_t n, uint32_t dims)
{
	const void *const at[] = { from->order, from->cell, from->weight, from->offset };
	void **const own[] = { (void **)&to->order, (void **)&to->cell, (void **)&to->weight,
			       (void **)&to->offset };
	int rc = 0;

	for (int i = 0; rc == 0 && i < 4; i++) {
		const size_t bytes = n * 4 * (i == 3 ? dims : 1);

		*own[i] = malloc(bytes);
		rc = cudaMemcpy(*own[i], at[i], bytes, cudaMemcpyDeviceToHost) == cudaSuccess ? 0
											      : -1;
	}
	return rc;
}

static bool same(const struct tables *got, const struct bs_sectors *mine,
		 const struct bs_sectors *want, const float *weight, uint64_t first)
{
	const size_t n = (size_t)want->samples;
	bool good = mine->tasks == want->tasks &&
		    memcmp(mine->task, want->task, want->tasks * sizeof(*want->task)) == 0 &&
		    memcmp(mine->task_of, want->task_of, (want->sectors + 1ul) * 4) == 0 &&
		    memcmp(got->cell, want->cell, n * 4) == 0 &&
		    memcmp(got->offset, want->offset, n * 4 * want->spec.dims) == 0;

	for (size_t i = 0; good && i < n; i++)
		good = got->order[i] == want->order[i] + first &&
		       got->weight[i] == weight[want->order[i]];
	return good;
}

/* So many of the samples, numbered from first on. */
static void chunk(const struct trial *t, struct bs_sorter *sorter, uint64_t samples, const float *k,
		  const uint32_t *index, uint64_t first)
{
	struct bs_sectors want = { 0 };
	struct bs_sectors mine = { 0 };
	struct tables got = { 0 };
	struct bs_sorted to;
	struct bs_devmem mem = { 0 };
	struct bs_fail why = { 0 };
	float *weight = malloc(samples * 4);
	int rc = bs_sectors_open(&want, &t->spec, samples, k, t->stride, index, &why);

	fill_random(weight, samples, &seed);
	if (rc == 0)
		rc = bs_sectors_lay(&mine, &t->spec, samples, &why);
	if (rc == 0)
		rc = bs_devmem_open(&mem, 6 * bs_devmem_round(samples * 4), "sort", &why);
	to.order = bs_devmem_take(&mem, samples * 4);
	to.cell = bs_devmem_take(&mem, samples * 4);
	to.weight = bs_devmem_take(&mem, samples * 4);
	to.offset = bs_devmem_take(&mem, samples * 4 * t->spec.dims);
	if (rc == 0)
		rc = bs_sorter_run(sorter, &mine, k, t->stride, index, first, weight, &to, &why);
	if (rc == 0)
		rc = bring(&got, &to, samples, t->spec.dims);
	CHECK(rc == 0 && same(&got, &mine, &want, weight, first),
	      "%s: %llu samples in %u sectors, %u tasks: the host's tables %s", t->name,
	      (unsigned long long)samples, want.sectors, want.tasks, why.text);
	bs_sectors_close(&want);
	bs_sectors_close(&mine);
	bs_devmem_close(&mem);
	free(got.order);
	free(got.cell);
	free(got.offset);
	free(got.weight);
	free(weight);
}

static void one(const struct trial *t)
{
	float *k = places_of(t);
	uint32_t *index = t->picks ? malloc(t->samples * 4) : NULL;
	struct bs_sorter sorter;
	struct bs_fail why = { 0 };
	int rc = bs_sorter_open(&sorter, &t->spec, t->samples, &why);

	CHECK(rc == 0, "%s: a sorter %s", t->name, why.text);
	for (uint64_t i = 0; index != NULL && i < t->samples; i++)
		index[i] = (uint32_t)((i * 7919) % (2 * t->samples));
	if (rc == 0) {
		chunk(t, &sorter, t->samples, k, index, 0);
		chunk(t, &sorter, (t->samples + 2) / 3, k, index, 1000);
	}
	bs_sorter_close(&sorter);
	free(k);
	free(index);
}

static void compare_all(void)
{
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		one(&trials[i]);
}

int main(void)
{
	return twin_main("sorting on the GPU", 0, compare_all);
}

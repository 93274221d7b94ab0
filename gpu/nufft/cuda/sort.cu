/* gpu/nufft/cuda/sort.cu - see sort.h */
#include "gpu/nufft/cuda/sort.h"

#include <cub/device/device_radix_sort.cuh>
#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"

#define THREADS 256

struct shape {
	uint32_t dims, grid[3], axis[3];
	double window;
};

/* Finds a sample's place as locate of sectors.c does, with each operation rounded by itself. */
static __device__ uint32_t locate(double k, uint32_t grid, double window, float *offset)
{
	const double left = __dsub_rn(__dmul_rn(k, grid), __dmul_rn(0.5, window));
	const double first = ceil(left);
	const long long cell = (long long)first % (long long)grid;

	*offset = (float)__dsub_rn(first, left);
	return (uint32_t)(cell < 0 ? cell + grid : cell);
}

static __device__ uint32_t start_of(uint32_t sector, uint32_t grid, uint32_t axis)
{
	return (uint32_t)((uint64_t)sector * grid / axis);
}

static __device__ uint32_t sector_of(uint32_t cell, uint32_t grid, uint32_t axis)
{
	uint32_t i = (uint32_t)((uint64_t)cell * axis / grid);

	while (cell < start_of(i, grid, axis))
		i--;
	while (cell >= start_of(i + 1, grid, axis))
		i++;
	return i;
}

static __global__ void __launch_bounds__(THREADS)
	key_samples(uint64_t *key, uint32_t *sample, const float *k, const struct shape s,
		    uint64_t samples)
{
	const uint64_t m = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	uint64_t sector = 0;
	uint64_t cell = 0;

	if (m >= samples)
		return;
	for (uint32_t a = s.dims; a-- > 0;) {
		float offset;
		const uint32_t c = locate((double)k[m * s.dims + a], s.grid[a], s.window, &offset);
		const uint32_t i = sector_of(c, s.grid[a], s.axis[a]);

		sector = sector * s.axis[a] + i;
		cell = cell << 8 | (c - start_of(i, s.grid[a], s.axis[a]));
	}
	key[m] = sector << 24 | cell;
	sample[m] = (uint32_t)m;
}

/*
 * begin[i] = number of keys of sectors before i. One thread for each sector, and one for the end.
 */
static __global__ void __launch_bounds__(THREADS)
	find_sectors(uint32_t *begin, const uint64_t *key, uint64_t samples, uint32_t sectors)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	uint64_t low = 0;
	uint64_t high = samples;

	if (i > sectors)
		return;
	while (low < high) {
		const uint64_t at = (low + high) / 2;

		if (key[at] >> 24 < i)
			low = at + 1;
		else
			high = at;
	}
	begin[i] = (uint32_t)low;
}

static __global__ void __launch_bounds__(THREADS)
	fill(struct bs_sorted to, const uint64_t *key, const uint32_t *sample, const float *k,
	     const struct shape s, uint64_t first, uint64_t samples)
{
	const uint64_t j = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

	if (j >= samples)
		return;
	const uint64_t m = sample[j];

	to.order[j] = (uint32_t)(first + m);
	to.cell[j] = (uint32_t)(key[j] & 0xffffffu);
	for (uint32_t a = 0; a < s.dims; a++)
		(void)locate((double)k[m * s.dims + a], s.grid[a], s.window,
			     &to.offset[a * samples + j]);
}

static __global__ void __launch_bounds__(THREADS)
	gather(float *to, const float *from, const uint32_t *sample, uint64_t samples)
{
	const uint64_t j = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

	if (j < samples)
		to[j] = from[sample[j]];
}

static unsigned blocks_of(uint64_t n)
{
	return (unsigned)((n + THREADS - 1) / THREADS);
}

static void take_all(struct bs_sorter *s, uint64_t sectors, struct bs_devroom *r)
{
	bs_devroom_take(r, &s->k, s->most * s->dims * 4);
	for (int i = 0; i < 2; i++) {
		bs_devroom_take(r, &s->key[i], s->most * 8);
		bs_devroom_take(r, &s->sample[i], s->most * 4);
	}
	bs_devroom_take(r, &s->begin, (sectors + 1) * 4);
	bs_devroom_take(r, &s->work, s->work_bytes);
}

int bs_sorter_open(struct bs_sorter *s, const struct bs_sectors_spec *spec, uint64_t most,
		   struct bs_fail *why)
{
	const uint64_t sectors = bs_sectors_count(spec);
	cub::DoubleBuffer<uint64_t> key;
	cub::DoubleBuffer<uint32_t> sample;
	struct bs_devroom room = {};

	memset(s, 0, sizeof(*s));
	s->most = most;
	s->dims = spec->dims;
	for (s->bits = 24; sectors >> (s->bits - 24) != 0; s->bits++)
		;
	BS_CUDA(cub::DeviceRadixSort::SortPairs(NULL, s->work_bytes, key, sample, most, 0,
						(int)s->bits, cudaStreamLegacy),
		why);
	take_all(s, sectors, &room);
	int rc = bs_devmem_open(&s->mem, room.bytes, "(sorting)", why);

	room.mem = &s->mem;
	if (rc == 0)
		take_all(s, sectors, &room);
	return rc;
}

void bs_sorter_close(struct bs_sorter *s)
{
	bs_devmem_close(&s->mem);
}

/* Copies the samples' places to s->k; those that an index picks are gathered first. */
static int send_places(const struct bs_sorter *s, uint64_t samples, const float *k, uint32_t stride,
		       const uint32_t *index, struct bs_fail *why)
{
	float *some = NULL;

	if (index != NULL || stride != s->dims) {
		some = (float *)malloc((size_t)samples * s->dims * 4);
		if (some == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "sorting %llu samples",
				       (unsigned long long)samples);
		for (uint64_t m = 0; m < samples; m++)
			for (uint32_t a = 0; a < s->dims; a++)
				some[m * s->dims + a] =
					k[(index != NULL ? index[m] : m) * stride + a];
	}
	int rc = BS_CUDA_RC(cudaMemcpy(s->k, some != NULL ? some : k, (size_t)samples * s->dims * 4,
				       cudaMemcpyHostToDevice),
			    why);

	free(some);
	return rc;
}

/* Sorts on the default stream, like the plan's copies. */
static int sort(struct bs_sorter *s, const struct bs_sectors *x, uint64_t first,
		const struct bs_sorted *to, uint32_t *begin, const uint32_t **sample,
		struct bs_fail *why)
{
	const uint64_t n = x->samples;
	cub::DoubleBuffer<uint64_t> keys(s->key[0], s->key[1]);
	cub::DoubleBuffer<uint32_t> samples(s->sample[0], s->sample[1]);
	struct shape shape;

	shape.dims = s->dims;
	memcpy(shape.grid, x->spec.grid, sizeof(shape.grid));
	memcpy(shape.axis, x->axis, sizeof(shape.axis));
	shape.window = x->spec.window;
	key_samples<<<blocks_of(n), THREADS, 0, cudaStreamLegacy>>>(s->key[0], s->sample[0], s->k,
								    shape, n);
	BS_CUDA(cudaGetLastError(), why);
	BS_CUDA(cub::DeviceRadixSort::SortPairs(s->work, s->work_bytes, keys, samples, n, 0,
						(int)s->bits, cudaStreamLegacy),
		why);
	find_sectors<<<blocks_of(x->sectors + 1ull), THREADS, 0, cudaStreamLegacy>>>(
		s->begin, keys.Current(), n, x->sectors);
	BS_CUDA(cudaGetLastError(), why);
	fill<<<blocks_of(n), THREADS, 0, cudaStreamLegacy>>>(*to, keys.Current(), samples.Current(),
							     s->k, shape, first, n);
	BS_CUDA(cudaGetLastError(), why);
	BS_CUDA(cudaMemcpy(begin, s->begin, (x->sectors + 1ull) * 4, cudaMemcpyDeviceToHost), why);
	*sample = samples.Current();
	return 0;
}

int bs_sorter_run(struct bs_sorter *s, struct bs_sectors *x, const float *k, uint32_t stride,
		  const uint32_t *index, uint64_t first, const float *weight,
		  const struct bs_sorted *to, struct bs_fail *why)
{
	const uint32_t *sample = NULL;
	uint32_t *begin = (uint32_t *)malloc((x->sectors + 1ul) * sizeof(*begin));
	int rc = begin == NULL ? bs_fail(why, BS_ERR_NOMEM, "%u sectors", x->sectors)
			       : send_places(s, x->samples, k, stride, index, why);

	if (rc == 0)
		rc = sort(s, x, first, to, begin, &sample, why);
	if (rc == 0)
		bs_sectors_deal(x, begin);
	free(begin);
	if (rc != 0 || weight == NULL)
		return rc;
	/* The places have been read: copies and kernels of the default stream run in order. */
	BS_CUDA(cudaMemcpy(s->k, weight, (size_t)x->samples * 4, cudaMemcpyHostToDevice), why);
	gather<<<blocks_of(x->samples), THREADS, 0, cudaStreamLegacy>>>(to->weight, s->k, sample,
									x->samples);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

int bs_sorted_take(struct bs_sorted *to, uint64_t samples, uint32_t dims, bool weighs,
		   struct bs_devmem *mem, struct bs_fail *why)
{
	const size_t n = (size_t)samples * 4;

	to->order = (uint32_t *)bs_devmem_take(mem, n);
	to->cell = (uint32_t *)bs_devmem_take(mem, n);
	to->offset = (float *)bs_devmem_take(mem, n * dims);
	to->weight = weighs ? (float *)bs_devmem_take(mem, n) : NULL;
	return to->order == NULL || to->cell == NULL || to->offset == NULL ||
			       (weighs && to->weight == NULL)
		       ? bs_fail(why, BS_ERR_NOMEM, "sorted tables of %llu samples",
				 (unsigned long long)samples)
		       : 0;
}

int bs_sorted_fill(const struct bs_sorted *to, struct bs_sectors *s, uint64_t first,
		   const float *weight, struct bs_fail *why)
{
	const size_t n = (size_t)s->samples * 4;
	int rc = 0;

	if (weight != NULL) {
		float *w = (float *)malloc(n);

		if (w == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "sorted weights");
		for (uint64_t i = 0; i < s->samples; i++)
			w[i] = weight[s->order[i]];
		rc = BS_CUDA_RC(cudaMemcpy(to->weight, w, n, cudaMemcpyHostToDevice), why);
		free(w);
	}
	if (rc != 0)
		return rc;
	for (uint64_t i = 0; i < s->samples; i++)
		s->order[i] += (uint32_t)first;
	BS_CUDA(cudaMemcpy(to->order, s->order, n, cudaMemcpyHostToDevice), why);
	BS_CUDA(cudaMemcpy(to->cell, s->cell, n, cudaMemcpyHostToDevice), why);
	return BS_CUDA_RC(
		cudaMemcpy(to->offset, s->offset, n * s->spec.dims, cudaMemcpyHostToDevice), why);
}

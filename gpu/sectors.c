/* gpu/sectors.c - see sectors.h */
#include "gpu/sectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t sectors_on_axis(uint32_t grid, uint32_t side)
{
	return (grid + side - 1) / side;
}

uint64_t bs_sectors_max_tasks(const uint32_t grid[3], uint32_t dims, uint32_t side, uint64_t samples,
			      uint32_t run)
{
	uint64_t sectors = 1;

	for (uint32_t a = 0; a < dims; a++)
		sectors *= sectors_on_axis(grid[a], side);
	return sectors + samples / run;
}

/* Even shares: no sector is larger than side or smaller than half of it. */
static int lay_axis(struct bs_sectors *s, uint32_t a)
{
	uint32_t n = s->axis[a];
	uint32_t grid = s->grid[a];

	s->start[a] = malloc((n + 1) * sizeof(*s->start[a]));
	s->reach[a] = calloc(grid, sizeof(*s->reach[a]));
	if (s->start[a] == NULL || s->reach[a] == NULL)
		return BS_ERR_NOMEM;
	for (uint32_t i = 0; i <= n; i++)
		s->start[a][i] = (uint32_t)((uint64_t)i * grid / n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t padded = s->start[a][i + 1] - s->start[a][i] + s->width - 1;

		for (uint32_t j = 0; j < padded; j++) {
			struct bs_sector_reach *r = &s->reach[a][(s->start[a][i] + j) % grid];

			if (r->count == 3)
				return BS_ERR_UNSUPPORTED;
			r->at[r->count++] = i << 8 | j;
		}
	}
	return 0;
}

/* First cell and offset of a sample on one axis. */
static uint32_t locate(double k, uint32_t grid, uint32_t width, float *offset)
{
	double left = k * grid - 0.5 * width;
	double first = ceil(left);
	int64_t cell = (int64_t)first % (int64_t)grid;

	*offset = (float)(first - left);
	return (uint32_t)(cell < 0 ? cell + grid : cell);
}

static uint32_t sector_of(const struct bs_sectors *s, uint32_t a, uint32_t cell)
{
	uint32_t i = (uint32_t)((uint64_t)cell * s->axis[a] / s->grid[a]);

	while (cell < s->start[a][i])
		i--;
	while (cell >= s->start[a][i + 1])
		i++;
	return i;
}

struct keyed {
	uint64_t key; /* sector, first cell */
	uint32_t sample;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a;
	const struct keyed *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->sample > y->sample) - (x->sample < y->sample);
}

static void key_samples(const struct bs_sectors *s, struct keyed *list, uint64_t samples,
			const float *k)
{
	for (uint64_t m = 0; m < samples; m++) {
		uint64_t sector = 0;
		uint64_t cell = 0;

		for (uint32_t a = s->dims; a-- > 0;) {
			float offset;
			uint32_t c = locate(k[m * s->dims + a], s->grid[a], s->width, &offset);
			uint32_t i = sector_of(s, a, c);

			sector = sector * s->axis[a] + i;
			cell = cell << 8 | (c - s->start[a][i]);
		}
		list[m] = (struct keyed){ sector << 24 | cell, (uint32_t)m };
	}
	qsort(list, (size_t)samples, sizeof(*list), by_key);
}

static int fill(struct bs_sectors *s, const struct keyed *list, uint64_t samples, const float *k)
{
	uint64_t at = 0;

	s->tasks = 0;
	for (uint32_t i = 0; i < s->sectors; i++) {
		uint64_t end = at;

		s->task_of[i] = s->tasks;
		while (end < samples && list[end].key >> 24 == i)
			end++;
		for (; at < end; s->tasks++) {
			uint64_t n = end - at < s->run ? end - at : s->run;

			s->task[s->tasks] = (struct bs_sector_task){ i, (uint32_t)at, (uint32_t)n };
			at += n;
		}
	}
	s->task_of[s->sectors] = s->tasks;
	for (uint64_t j = 0; j < samples; j++) {
		s->order[j] = list[j].sample;
		s->cell[j] = (uint32_t)(list[j].key & 0xffffffu);
		for (uint32_t a = 0; a < s->dims; a++)
			(void)locate(k[(uint64_t)list[j].sample * s->dims + a], s->grid[a], s->width,
				     &s->offset[a * samples + j]);
	}
	return at == samples ? 0 : BS_ERR_TRAJECTORY;
}

int bs_sectors_open(struct bs_sectors *s, uint32_t dims, const uint32_t grid[3], uint32_t width,
		    uint32_t side, uint32_t run, uint64_t samples, const float *k,
		    struct bs_fail *why)
{
	struct keyed *list = NULL;
	uint64_t most;
	int rc = BS_ERR_NOMEM;

	memset(s, 0, sizeof(*s));
	if (dims < 1 || dims > 3 || side + width > 256 || width < 1 || run < 1 || samples == 0 ||
	    samples > UINT32_MAX)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "%llu samples in sectors of %u cells",
			       (unsigned long long)samples, side);
	for (uint32_t a = 0; a < dims; a++)
		if (grid[a] < side + width - 1)
			return bs_fail(why, BS_ERR_UNSUPPORTED,
				       "grid of %u cells: sectors need at least %u", grid[a],
				       side + width - 1);
	s->dims = dims;
	s->width = width;
	s->side = side;
	s->run = run;
	s->sectors = 1;
	for (uint32_t a = 0; a < 3; a++) {
		s->grid[a] = a < dims ? grid[a] : 1;
		s->axis[a] = a < dims ? sectors_on_axis(grid[a], side) : 1;
		s->sectors *= s->axis[a];
	}
	for (uint32_t a = 0; a < dims; a++) {
		rc = lay_axis(s, a);
		if (rc != 0)
			goto fail;
	}
	rc = BS_ERR_NOMEM;
	most = bs_sectors_max_tasks(grid, dims, side, samples, run);
	list = malloc((size_t)samples * sizeof(*list));
	s->order = malloc((size_t)samples * sizeof(*s->order));
	s->cell = malloc((size_t)samples * sizeof(*s->cell));
	s->offset = malloc((size_t)samples * dims * sizeof(*s->offset));
	s->task = malloc((size_t)most * sizeof(*s->task));
	s->task_of = malloc(((size_t)s->sectors + 1) * sizeof(*s->task_of));
	if (list == NULL || s->order == NULL || s->cell == NULL || s->offset == NULL ||
	    s->task == NULL || s->task_of == NULL)
		goto fail;
	key_samples(s, list, samples, k);
	rc = fill(s, list, samples, k);
	if (rc != 0)
		goto fail;
	free(list);
	return 0;
fail:
	free(list);
	bs_sectors_close(s);
	return bs_fail(why, rc, "sectors for %llu samples", (unsigned long long)samples);
}

void bs_sectors_close(struct bs_sectors *s)
{
	for (int a = 0; a < 3; a++) {
		free(s->start[a]);
		free(s->reach[a]);
	}
	free(s->order);
	free(s->cell);
	free(s->offset);
	free(s->task);
	free(s->task_of);
	memset(s, 0, sizeof(*s));
}

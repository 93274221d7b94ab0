/* gpu/nufft/cuda/sectors.c - see sectors.h */
#include "gpu/nufft/cuda/sectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t sectors_on_axis(const struct bs_sectors_spec *s, uint32_t a)
{
	return a < s->dims ? (s->grid[a] + s->side[a] - 1) / s->side[a] : 1;
}

uint64_t bs_sectors_count(const struct bs_sectors_spec *s)
{
	return (uint64_t)sectors_on_axis(s, 0) * sectors_on_axis(s, 1) * sectors_on_axis(s, 2);
}

uint64_t bs_sectors_max_tasks(const struct bs_sectors_spec *s, uint64_t samples)
{
	uint64_t sectors = bs_sectors_count(s);

	return (sectors < samples ? sectors : samples) + samples / s->run;
}

/* Divides an axis evenly: no sector is larger than side or smaller than half of it. */
static int lay_axis(struct bs_sectors *s, uint32_t a)
{
	uint32_t n = s->axis[a];
	uint32_t grid = s->spec.grid[a];

	s->start[a] = malloc((n + 1) * sizeof(*s->start[a]));
	s->reach[a] = calloc(grid, sizeof(*s->reach[a]));
	if (s->start[a] == NULL || s->reach[a] == NULL)
		return BS_ERR_NOMEM;
	for (uint32_t i = 0; i <= n; i++)
		s->start[a][i] = (uint32_t)((uint64_t)i * grid / n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t padded = s->start[a][i + 1] - s->start[a][i] + s->taps - 1;

		for (uint32_t j = 0; j < padded; j++) {
			struct bs_sector_reach *r = &s->reach[a][(s->start[a][i] + j) % grid];

			if (r->count == 3)
				return BS_ERR_UNSUPPORTED;
			r->at[r->count++] = i << 8 | j;
		}
	}
	return 0;
}

/* Finds the first cell and the offset of a sample on one axis. */
static uint32_t locate(double k, uint32_t grid, double window, float *offset)
{
	double left = k * grid - 0.5 * window;
	double first = ceil(left);
	int64_t cell = (int64_t)first % (int64_t)grid;

	*offset = (float)(first - left);
	return (uint32_t)(cell < 0 ? cell + grid : cell);
}

static uint32_t sector_of(const struct bs_sectors *s, uint32_t a, uint32_t cell)
{
	uint32_t i = (uint32_t)((uint64_t)cell * s->axis[a] / s->spec.grid[a]);

	while (cell < s->start[a][i])
		i--;
	while (cell >= s->start[a][i + 1])
		i++;
	return i;
}

struct keyed {
	uint64_t key; /* sort key: sector << 24 | first cell */
	uint32_t sample;
};

/* Sorts stably, by 11 bits at a time: equal keys stay in the order of the samples. */
static struct keyed *sort(struct keyed *list, struct keyed *spare, uint64_t n, uint64_t largest)
{
	for (uint32_t bit = 0; bit < 64 && largest >> bit != 0; bit += 11) {
		uint64_t count[2048] = { 0 };
		uint64_t at = 0;
		struct keyed *swap = list;

		for (uint64_t i = 0; i < n; i++)
			count[list[i].key >> bit & 2047]++;
		for (int d = 0; d < 2048; d++) {
			uint64_t c = count[d];

			count[d] = at;
			at += c;
		}
		for (uint64_t i = 0; i < n; i++)
			spare[count[list[i].key >> bit & 2047]++] = list[i];
		list = spare;
		spare = swap;
	}
	return list;
}

static void key_samples(const struct bs_sectors *s, struct keyed *list, const float *k,
			uint32_t stride, const uint32_t *index)
{
	for (uint64_t m = 0; m < s->samples; m++) {
		const float *at = k + (index != NULL ? index[m] : m) * stride;
		uint64_t sector = 0;
		uint64_t cell = 0;

		for (uint32_t a = s->spec.dims; a-- > 0;) {
			float offset;
			uint32_t c =
				locate((double)at[a], s->spec.grid[a], s->spec.window, &offset);
			uint32_t i = sector_of(s, a, c);

			sector = sector * s->axis[a] + i;
			cell = cell << 8 | (c - s->start[a][i]);
		}
		list[m] = (struct keyed){ sector << 24 | cell, (uint32_t)m };
	}
}

void bs_sectors_deal(struct bs_sectors *s, const uint32_t *begin)
{
	for (uint32_t i = 0; i < s->sectors; i++) {
		s->task_of[i] = s->tasks;
		for (uint32_t at = begin[i]; at < begin[i + 1]; s->tasks++) {
			const uint32_t left = begin[i + 1] - at;
			const uint32_t n = left < s->spec.run ? left : s->spec.run;

			s->task[s->tasks] = (struct bs_sector_task){ i, at, n };
			at += n;
		}
	}
	s->task_of[s->sectors] = s->tasks;
}

static void fill_tables(struct bs_sectors *s, const struct keyed *list, const float *k,
			uint32_t stride, const uint32_t *index)
{
	for (uint64_t j = 0; j < s->samples; j++) {
		uint64_t m = list[j].sample;
		const float *from = k + (index != NULL ? index[m] : m) * stride;

		s->order[j] = (uint32_t)m;
		s->cell[j] = (uint32_t)(list[j].key & 0xffffffu);
		for (uint32_t a = 0; a < s->spec.dims; a++)
			(void)locate((double)from[a], s->spec.grid[a], s->spec.window,
				     &s->offset[a * s->samples + j]);
	}
}

static void find_sectors(const struct bs_sectors *s, const struct keyed *list, uint32_t *begin)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i <= s->sectors; i++) {
		while (at < s->samples && list[at].key >> 24 < i)
			at++;
		begin[i] = (uint32_t)at;
	}
}

static int check_spec(const struct bs_sectors_spec *p, uint64_t samples, struct bs_fail *why)
{
	if (p->dims < 1 || p->dims > 3 || !(p->window >= 1.0 && p->window <= 64.0) || p->run < 1 ||
	    samples == 0 || samples > UINT32_MAX)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "%llu samples with a window of %g in sectors",
			       (unsigned long long)samples, p->window);
	for (uint32_t a = 0; a < p->dims; a++) {
		uint32_t least = p->side[a] + (uint32_t)ceil(p->window) - 1;

		if (p->side[a] < 1 || least > 255 || p->grid[a] < least || p->grid[a] > 65536)
			return bs_fail(
				why, BS_ERR_UNSUPPORTED,
				"grid of %u cells with sectors of %u: at least %u, at most 65,536",
				p->grid[a], p->side[a], least);
	}
	if (bs_sectors_count(p) >= UINT64_C(1) << 31)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "a grid of %u x %u x %u cells in sectors",
			       p->grid[0], p->grid[1], p->grid[2]);
	return 0;
}

int bs_sectors_lay(struct bs_sectors *s, const struct bs_sectors_spec *spec, uint64_t samples,
		   struct bs_fail *why)
{
	int rc = check_spec(spec, samples, why);

	memset(s, 0, sizeof(*s));
	if (rc != 0)
		return rc;
	s->spec = *spec;
	s->samples = samples;
	s->taps = (uint32_t)ceil(spec->window);
	s->sectors = (uint32_t)bs_sectors_count(spec);
	for (uint32_t a = 0; a < 3; a++)
		s->axis[a] = sectors_on_axis(spec, a);
	for (uint32_t a = 0; rc == 0 && a < spec->dims; a++)
		rc = lay_axis(s, a);
	if (rc == 0) {
		s->task = malloc((size_t)bs_sectors_max_tasks(spec, samples) * sizeof(*s->task));
		s->task_of = malloc(((size_t)s->sectors + 1) * sizeof(*s->task_of));
		rc = s->task == NULL || s->task_of == NULL ? BS_ERR_NOMEM : 0;
	}
	if (rc == 0)
		return 0;
	bs_sectors_close(s);
	return bs_fail(why, rc, "sectors for %llu samples", (unsigned long long)samples);
}

int bs_sectors_open(struct bs_sectors *s, const struct bs_sectors_spec *spec, uint64_t samples,
		    const float *k, uint32_t stride, const uint32_t *index, struct bs_fail *why)
{
	const size_t n = (size_t)samples;
	struct keyed *list;
	uint32_t *begin;
	int rc = bs_sectors_lay(s, spec, samples, why);

	if (rc != 0)
		return rc;
	list = malloc(2 * n * sizeof(*list));
	begin = malloc(((size_t)s->sectors + 1) * sizeof(*begin));
	s->order = malloc(n * sizeof(*s->order));
	s->cell = malloc(n * sizeof(*s->cell));
	s->offset = malloc(n * spec->dims * sizeof(*s->offset));
	if (list == NULL || begin == NULL || s->order == NULL || s->cell == NULL ||
	    s->offset == NULL) {
		rc = bs_fail(why, BS_ERR_NOMEM, "sectors for %llu samples",
			     (unsigned long long)samples);
	} else {
		struct keyed *sorted;

		key_samples(s, list, k, stride, index);
		sorted = sort(list, list + n, samples, (uint64_t)s->sectors << 24);
		find_sectors(s, sorted, begin);
		bs_sectors_deal(s, begin);
		fill_tables(s, sorted, k, stride, index);
	}
	free(list);
	free(begin);
	if (rc != 0)
		bs_sectors_close(s);
	return rc;
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

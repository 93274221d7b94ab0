/* gpu/nufft/nufft.cu - CUDA twin of nufft.c: the plan, its memory and tables; see nufft_cuda.h */
#include "gpu/nufft/cuda/plan.cuh"

#include <stdlib.h>
#include <string.h>

#include "core/sizes.h"
#include "gpu/device/check.h"
#include "gpu/device/reach.h"
#include "gpu/nufft/cuda/sort.h"
#include "gpu/nufft/trajectory.h"

/* ---- memory ------------------------------------------------------------------------------- */

enum region { TABLES, ROOTS, MIXED, SCRATCH, HALF, GRIDS, DATA, REGIONS };
static const char *const region_name[REGIONS] = {
	"device sample tables", "device window tables",          "device samples by channel",
	"device sectors",       "device half-transformed grids", "device grids",
	"device samples"
};

static uint64_t up(uint64_t bytes)
{
	return bs_devmem_round(bytes);
}

/* Bytes of all coils' images, in which sums of chunks are kept. */
static uint64_t images_bytes(const struct bs_nufft_choice *c, const struct bs_nufft_spec *s)
{
	return up((uint64_t)s->coils * c->planes * c->matrix[0] * c->matrix[1] * c->matrix[2] * 8);
}

/*
 * Returns the bytes of grids: one for each state that grids chunk by chunk, and one for peek. With
 * sums, of images for the states.
 */
static uint64_t grids_bytes(const struct bs_nufft_choice *c, const struct bs_nufft_spec *s,
			    uint64_t grid)
{
	if (c->sums)
		return images_bytes(c, s) * s->states;
	return c->chunks > 1 ? grid * ((s->states > 1 ? s->states : 1) + (s->peek ? 1 : 0)) : 0;
}

/* Finds the bytes of each region. All products stay below 2^64: matrix <= 512 (2D: 1024),
 * oversampling <= 4, coils <= 64. */
static void regions_of(uint64_t bytes[REGIONS], const struct bs_nufft_choice *c,
		       const struct bs_nufft_spec *s)
{
	const struct bs_sectors_spec *x = &c->sectors;
	const uint64_t gx = x->grid[0], gy = x->grid[1], gz = x->grid[2];
	const uint64_t nx = c->matrix[0], ny = c->matrix[1];
	const uint64_t sectors = bs_sectors_count(x);

	bytes[TABLES] = c->chunks * (up(c->chunk * 4) * (3 + x->dims) +
				     up(c->tasks * sizeof(struct bs_sector_task)) +
				     2 * up(sectors * sizeof(uint2))) +
			up(s->samples * 4) + (c->planes > 1 ? up(c->points * c->planes * 4) : 0);
	if (c->fold)
		bytes[TABLES] += c->chunks * up(sectors * sizeof(uint2)) +
				 up(sectors * c->groups * sizeof(uint32_t));
	if (c->collect || c->may_direct)
		bytes[TABLES] += c->chunks * up(sectors * sizeof(uint2));
	bytes[ROOTS] = bs_line_bytes(s->matrix[2]);
	for (uint32_t a = 0; a < 3; a++)
		bytes[ROOTS] += bs_line_bytes(x->grid[a]) + up(c->matrix[a] * 4u) +
				up(x->grid[a] * sizeof(struct bs_sector_reach)) +
				up((x->grid[a] + 1) * 4u);
	bytes[MIXED] = c->mixed ? up(c->points * c->channels * 8) : 0;
	const uint64_t padded =
		c->collect ? 0 : c->tasks * c->groups * c->lanes * c->padded_cells * 8;
	const uint64_t grid = up(c->channels * gz * gy * gx * 8);

	bytes[HALF] = up(c->channels * gz * gy * nx * 8);
	bytes[GRIDS] = grids_bytes(c, s, grid);
	/* The grid lies in scratch where nothing is kept on it. */
	bytes[SCRATCH] = up(bs_most(bs_most(padded, c->channels * gz * ny * nx * 8),
				    c->chunks > 1 && !c->sums ? 0 : grid));
	bytes[DATA] = up(s->samples * s->coils * 8) * s->states;
}

static uint64_t sum_of(const uint64_t bytes[REGIONS])
{
	uint64_t sum = 0;

	for (int r = 0; r < REGIONS; r++)
		sum += bytes[r];
	return sum;
}

/*
 * The bytes of the route that takes more, since only the trajectory will tell which one it is. A
 * tuned choice may be possible on one route only.
 */
static int regions_need(uint64_t bytes[REGIONS], const struct bs_nufft_spec *s, struct bs_fail *why)
{
	const bool may_stack = s->dims == 3 && s->matrix[2] > 1;
	struct bs_nufft_choice c;
	uint64_t other[REGIONS];
	int rc = bs_nufft_choose(&c, s, false, 0, why);

	memset(bytes, 0, REGIONS * sizeof(*bytes));
	if (rc == 0)
		regions_of(bytes, &c, s);
	if (!may_stack || (rc != 0 && s->tune == NULL))
		return rc;
	const int stack = bs_nufft_choose(&c, s, true, bs_nufft_positions_max(s), why);

	if (stack != 0)
		return s->tune == NULL || rc != 0 ? stack : 0;
	regions_of(other, &c, s);
	if (sum_of(other) > sum_of(bytes))
		memcpy(bytes, other, sizeof(other));
	return 0;
}

int bs_nufft_cuda_need(const struct bs_nufft_spec *s, struct bs_need *need, struct bs_fail *why)
{
	uint64_t bytes[REGIONS];
	int rc = regions_need(bytes, s, why);

	for (int r = 0; rc == 0 && r < REGIONS; r++)
		bs_need_add(need, region_name[r], 1, bytes[r]);
	return rc;
}

/* ---- plan --------------------------------------------------------------------------------- */

/*
 * Uploads what happens to the copies of each sector. fold: all are added up by the sector's last
 * block; merge: those of crowded sectors are; the others are summed where they are read.
 */
static int upload_ranges(bs_nufft_dev *d, const struct bs_nufft_choice *choice,
			 const struct bs_sectors *s, struct bs_devmem *mem, struct bs_fail *why)
{
	uint2 *range = (uint2 *)malloc(2 * (size_t)s->sectors * sizeof(*range));
	uint2 *crowd = range + s->sectors;
	int rc = 0;

	if (range == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "CUDA gridding: %u sectors", s->sectors);
	for (uint32_t i = 0; i < s->sectors; i++)
		range[i] = make_uint2(s->task_of[i], s->task_of[i + 1] - s->task_of[i]);
	if (choice->fold)
		rc = bs_devmem_upload(mem, &d->copies, range, s->sectors * sizeof(uint2), why);
	for (uint32_t i = 0; i < s->sectors; i++) {
		if (range[i].y <= (choice->fold ? 1 : choice->crowd))
			continue;
		if (!choice->fold)
			crowd[d->crowds++] = range[i];
		range[i].y = 1;
	}
	if (rc == 0)
		rc = bs_devmem_upload(mem, &d->range, range, s->sectors * sizeof(uint2), why);
	if (rc == 0 && d->crowds > 0)
		rc = bs_devmem_upload(mem, &d->crowd, crowd, d->crowds * sizeof(uint2), why);
	free(range);
	return rc;
}

/*
 * Most samples of a sector for cells that collect: one warp goes through them, and crowds would be
 * slow.
 */
#define COLLECT_MOST 8192u

static int upload_spans(bs_nufft_dev *d, const struct bs_sectors *s, uint32_t most,
			struct bs_devmem *mem, struct bs_fail *why)
{
	uint2 *span = (uint2 *)calloc(s->sectors, sizeof(*span));
	int rc = span == NULL ? bs_fail(why, BS_ERR_NOMEM, "CUDA gridding: %u sectors", s->sectors)
			      : 0;

	for (uint32_t i = 0; rc == 0 && i < s->sectors; i++)
		for (uint32_t t = s->task_of[i]; t < s->task_of[i + 1]; t++) {
			span[i].x = t == s->task_of[i] ? s->task[t].first : span[i].x;
			span[i].y += s->task[t].count;
			if (span[i].y > most)
				rc = bs_fail(
					why, BS_ERR_UNSUPPORTED,
					"a sector of more than %u samples: cells cannot collect",
					most);
		}
	if (rc == 0)
		rc = bs_devmem_upload(mem, &d->span, span, s->sectors * sizeof(uint2), why);
	free(span);
	return rc;
}

static int upload_tasks(bs_nufft_dev *d, const struct bs_nufft_choice *choice,
			const struct bs_sectors *s, struct bs_devmem *mem, struct bs_fail *why)
{
	int rc = bs_devmem_upload(mem, &d->task, s->task, s->tasks * sizeof(struct bs_sector_task),
				  why);

	if (rc == 0)
		rc = upload_ranges(d, choice, s, mem, why);
	if (rc == 0 && (choice->collect || choice->may_direct))
		rc = upload_spans(d, s, choice->collect ? COLLECT_MOST : UINT32_MAX, mem, why);
	d->points = s->samples;
	d->tasks = s->tasks;
	return rc;
}

/* Uploads the sectors' tables, which are the same for all chunks. */
static int upload_sectors(bs_nufft_dev *d, const struct bs_sectors *s, struct bs_devmem *mem,
			  struct bs_fail *why)
{
	int rc = 0;

	for (uint32_t a = 0; rc == 0 && a < s->spec.dims; a++) {
		rc = bs_devmem_upload(mem, &d->reach[a], s->reach[a],
				      s->spec.grid[a] * sizeof(struct bs_sector_reach), why);
		if (rc == 0)
			rc = bs_devmem_upload(mem, &d->start[a], s->start[a],
					      (s->axis[a] + 1ull) * sizeof(uint32_t), why);
	}
	return rc;
}

/*
 * Takes the counters of blocks that have ended, for each sector and group; zero between launches.
 */
static int take_counters(bs_nufft_dev *d, const struct bs_sectors *s, struct bs_devmem *mem,
			 struct bs_fail *why)
{
	const size_t bytes = (size_t)s->sectors * d->groups * sizeof(*d->done);

	d->done = (uint32_t *)bs_devmem_take(mem, bytes);
	if (d->done == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "CUDA gridding: %zu bytes of counters", bytes);
	return BS_CUDA_RC(cudaMemset(d->done, 0, bytes), why);
}

static void lay_dev(const struct bs_nufft_cuda *p, bs_nufft_dev *d, const struct bs_sectors *s)
{
	const struct bs_nufft_choice *c = &p->choice;

	for (int a = 0; a < 3; a++) {
		d->grid[a] = c->sectors.grid[a];
		d->axis[a] = s->axis[a];
		d->padded[a] = (uint32_t)a < c->sectors.dims ? c->sectors.side[a] + c->taps - 1 : 1;
	}
	d->channels = c->channels;
	d->groups = c->groups;
	d->sample_step = c->mixed ? c->channels : 1;
	d->channel_step = c->mixed ? 1 : p->spec.samples;
}

/* sorter NULL: the host sorts. weight: of all samples; NULL: ones, or they are applied before. */
static int sort_chunk(struct bs_nufft_cuda *p, struct bs_sorter *sorter,
		      const struct bs_nufft_chunk *at, const float *k, const uint32_t *index,
		      const float *weight, struct bs_sectors *s, struct bs_sorted *to,
		      struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_nufft_choice *c = &p->choice;
	const uint32_t stride = p->spec.dims;
	const float *places = index != NULL ? k : k + at->first * stride;
	const float *own = weight != NULL ? weight + at->first : NULL;
	int rc = sorter != NULL
			 ? bs_sectors_lay(s, &c->sectors, at->count, why)
			 : bs_sectors_open(s, &c->sectors, at->count, places, stride, index, why);

	if (rc == 0)
		rc = bs_sorted_take(to, at->count, c->sectors.dims, own != NULL, mem, why);
	if (rc != 0)
		return rc;
	return sorter != NULL
		       ? bs_sorter_run(sorter, s, places, stride, index, at->first, own, to, why)
		       : bs_sorted_fill(to, s, at->first, own, why);
}

/*
 * Sorts all chunks. The k of point i is k[(index ? index[i] : i) * spec.dims]. Writes the weights
 * in the sorted order, unless samples are mixed, which applies the weights.
 */
static int sort_chunks(struct bs_nufft_cuda *p, const float *k, const uint32_t *index,
		       const float *weight, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_nufft_choice *c = &p->choice;
	struct bs_sorter sorter;
	struct bs_fail full;
	bs_nufft_dev common;
	int rc = bs_sorter_open(&sorter, &c->sectors, c->chunk, &full);
	const bool sorts = rc == 0;

	if (rc == BS_ERR_NOMEM)
		rc = 0;
	else if (rc != 0)
		rc = bs_fail(why, rc, "%s", full.text);
	memset(&common, 0, sizeof(common));
	if (rc == 0)
		rc = bs_nufft_kernel_window(&common.window, c, &p->spec, why);
	p->chunk = (struct bs_nufft_chunk *)calloc((size_t)c->chunks, sizeof(*p->chunk));
	if (rc == 0 && p->chunk == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "CUDA gridding: chunks");
	for (uint64_t i = 0; rc == 0 && i < c->chunks; i++) {
		struct bs_nufft_chunk *at = &p->chunk[i];
		struct bs_sectors s = {};
		struct bs_sorted to = {};

		at->first = i * c->chunk;
		at->count = c->points - at->first < c->chunk ? c->points - at->first : c->chunk;
		rc = sort_chunk(p, sorts ? &sorter : NULL, at, k, index, c->mixed ? NULL : weight,
				&s, &to, mem, why);
		if (rc == 0 && i == 0) {
			lay_dev(p, &common, &s);
			rc = upload_sectors(&common, &s, mem, why);
			if (rc == 0 && c->fold)
				rc = take_counters(&common, &s, mem, why);
		}
		at->dev = common;
		at->dev.order = to.order;
		at->dev.cell = to.cell;
		at->dev.offset = to.offset;
		at->dev.weight = to.weight;
		if (rc == 0)
			rc = upload_tasks(&at->dev, c, &s, mem, why);
		bs_sectors_close(&s);
	}
	bs_sorter_close(&sorter);
	return rc;
}

/* Sorts the positions of a stack, each by the k of its first sample. */
static int sort_stack(struct bs_nufft_cuda *p, const float *k, const uint32_t *source,
		      struct bs_devmem *mem, struct bs_fail *why)
{
	const uint64_t n = p->choice.points;
	uint32_t *any = (uint32_t *)malloc((size_t)n * sizeof(*any));
	int rc;

	if (any == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "CUDA gridding: positions");
	for (uint64_t i = 0; i < n; i++) {
		uint64_t j = 0;

		while (source[j * n + i] == UINT32_MAX)
			j++;
		any[i] = source[j * n + i];
	}
	p->stack.positions = n;
	p->stack.samples = p->spec.samples;
	p->stack.coils = p->spec.coils;
	rc = sort_chunks(p, k, any, NULL, mem, why);
	free(any);
	if (rc == 0)
		rc = bs_devmem_upload(mem, &p->stack.source, source,
				      n * p->choice.planes * sizeof(uint32_t), why);
	if (rc == 0)
		rc = bs_line_make(&p->stack.line, p->choice.planes, mem, why);
	p->stack.weight = p->weight;
	return rc;
}

/*
 * Makes the passes of both directions; the adjoint's pass along x begins with the sum over sectors.
 */
static int make_passes(struct bs_nufft_cuda *p, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_nufft_choice *c = &p->choice;
	const uint32_t *g = c->sectors.grid;
	const uint32_t *n = c->matrix;
	const uint32_t dims = c->sectors.dims;
	float table[2 * BS_AXIS_MAX];
	int rc = bs_nufft_passes_init(why);

	for (uint32_t a = 0; rc == 0 && a < dims; a++) {
		bs_line_pass *in = &p->in[a];
		const float *scale = NULL;

		bs_nufft_deapodize(table, c, &p->spec, a);
		rc = bs_devmem_upload(mem, &scale, table, n[a] * sizeof(float), why);
		if (rc == 0)
			rc = bs_line_make(&in->line, g[a], mem, why);
		in->in_count = g[a];
		in->out_count = n[a];
		in->out_half = n[a] / 2;
		in->scale_out = scale;
		in->outer = c->channels;
		in->inner = 1;
		for (uint32_t b = 0; b < a; b++)
			in->inner *= n[b];
		for (uint32_t b = a + 1; b < dims; b++)
			in->outer *= g[b];
		p->out[a] = *in;
		p->out[a].in_count = n[a];
		p->out[a].in_half = n[a] / 2;
		p->out[a].out_count = g[a];
		p->out[a].out_half = 0;
		p->out[a].scale_in = scale;
		p->out[a].scale_out = NULL;
	}
	if (c->planes > 1) {
		p->in[1].out_planes = c->planes;
		p->out[1].in_planes = c->planes;
	}
	return rc;
}

static int take_buffers(struct bs_nufft_cuda *p, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_nufft_choice *c = &p->choice;
	const uint32_t states = p->spec.states;
	const bool kept = c->chunks > 1 && !c->sums; /* grids are kept from one chunk to the next */
	const uint64_t step =
		c->sums ? images_bytes(c, &p->spec) : up(bs_nufft_cells(p) * sizeof(float2));
	uint64_t bytes[REGIONS];

	regions_of(bytes, c, &p->spec);
	p->state = (struct bs_nufft_cuda_state *)calloc(states + 1ul, sizeof(*p->state));
	p->mixed = p->choice.mixed ? (float2 *)bs_devmem_take(mem, bytes[MIXED]) : NULL;
	p->scratch = (float2 *)bs_devmem_take(mem, bytes[SCRATCH]);
	p->half = (float2 *)bs_devmem_take(mem, bytes[HALF]);
	float2 *sums = (float2 *)bs_devmem_take(mem, bytes[GRIDS]);

	if (p->state == NULL || p->scratch == NULL || p->half == NULL || sums == NULL ||
	    (p->choice.mixed && p->mixed == NULL))
		return bs_fail(why, BS_ERR_NOMEM, "CUDA gridding: buffers");
	p->grid = kept ? sums : p->scratch;
	if (p->spec.peek && kept)
		p->spare = sums + (states > 1 ? states : 1) * (step / sizeof(float2));
	for (uint32_t i = 0; i < states; i++) {
		struct bs_nufft_cuda_state *s = &p->state[i];

		s->data = (float2 *)bs_devmem_take_readouts(mem, bytes[DATA] / states);
		s->sum = c->chunks > 1 ? sums + i * (step / sizeof(float2)) : NULL;
		s->arrived = (uint64_t *)calloc((size_t)p->choice.chunks, sizeof(*s->arrived));
		if (s->data == NULL || s->arrived == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "CUDA gridding: state %u", i);
	}
	return 0;
}

static int allow_shared(const struct bs_nufft_kernels *k, struct bs_fail *why)
{
	int rc = bs_cuda_shared((const void *)k->spread, k->spread_bytes, why);

	if (rc == 0)
		rc = bs_cuda_shared((const void *)k->interpolate, k->interpolate_bytes, why);
	return rc != 0 ? rc
		       : bs_cuda_shared((const void *)k->interpolate_shared,
					k->interpolate_shared_bytes, why);
}

/*
 * most samples of a sector, on average, for which reading each four times costs less than padded
 * copies
 */
#define DIRECT_MOST 12u

/* Returns true where all conditions of direct.cu hold. */
static bool can_direct(const struct bs_nufft_cuda *p)
{
	const struct bs_nufft_choice *c = &p->choice;
	const bs_nufft_dev *d = &p->chunk[0].dev;

	return c->may_direct && d->crowds == 0 && d->grid[0] / d->axis[0] + 1 >= c->taps &&
	       d->grid[1] / d->axis[1] + 1 >= c->taps;
}

/* Returns true where samples are so few that reading each four times costs less
 * than padded copies. */
static bool few(const struct bs_nufft_cuda *p)
{
	const bs_nufft_dev *d = &p->chunk[0].dev;

	return can_direct(p) && d->points <= (uint64_t)DIRECT_MOST * d->axis[0] * d->axis[1];
}

static int fill_plan(struct bs_nufft_cuda *p, const float *k, const float *weight,
		     uint32_t **source, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_nufft_spec *s = &p->spec;
	uint64_t bytes[REGIONS];
	uint64_t positions = 0;
	int rc = regions_need(bytes, s, why); /* checks that the specification is legal */

	if (rc == 0)
		rc = bs_nufft_check_k(s, k, why);
	if (rc == 0)
		rc = bs_nufft_stack_find(s, k, true, source, &positions, why);
	p->stacked = positions > 0;
	if (rc == 0)
		rc = bs_nufft_choose(&p->choice, s, p->stacked, positions, why);
	if (rc != 0)
		return rc;
	p->kernels =
		p->choice.sectors.dims == 3
			? bs_nufft_kernels_3d(p->choice.taps, p->choice.lanes, p->choice.channels)
			: bs_nufft_kernels_2d(p->choice.taps, p->choice.lanes);
	rc = allow_shared(&p->kernels, why);
	if (rc == 0)
		rc = take_buffers(p, mem, why);
	if (rc == 0 && weight != NULL && p->choice.mixed)
		rc = bs_devmem_upload(mem, &p->weight, weight, s->samples * sizeof(float), why);
	if (rc == 0)
		rc = p->stacked ? sort_stack(p, k, *source, mem, why)
				: sort_chunks(p, k, NULL, weight, mem, why);
	if (rc == 0)
		rc = make_passes(p, mem, why);
	if (rc == 0 && p->choice.direct && !can_direct(p))
		rc = bs_fail(why, BS_ERR_UNSUPPORTED,
			     "crowded or small sectors: samples cannot be gridded directly");
	if (rc == 0)
		rc = bs_nufft_cuda_relaunch(p, &p->choice.launch, why);
	return rc != 0 ? rc : bs_cuda_copied(why);
}

int bs_nufft_cuda_relaunch(struct bs_nufft_cuda *p, const struct bs_nufft_launch *launch,
			   struct bs_fail *why)
{
	struct bs_reach reach;
	int err = bs_reach(&reach, why);

	if (err != 0)
		return err;
	p->choice.launch = *launch;
	p->close = launch->close[0] && reach.overlaps;
	for (uint32_t a = 0; a < p->choice.sectors.dims; a++) {
		bs_line_pass *both[2] = { &p->in[a], &p->out[a] };

		for (int f = 0; f < 2; f++) {
			both[f]->cols = launch->cols;
			both[f]->registers = launch->registers;
			both[f]->close = launch->close[f] && reach.overlaps;
		}
	}
	return 0;
}

const struct bs_nufft_choice *bs_nufft_cuda_choice(const struct bs_nufft_cuda *p)
{
	return &p->choice;
}

int bs_nufft_cuda_plan(struct bs_nufft_cuda **plan, const struct bs_nufft_spec *s, const float *k,
		       const float *weight, struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_nufft_cuda *p = (struct bs_nufft_cuda *)calloc(1, sizeof(*p));
	uint32_t *source = NULL;
	int rc;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "CUDA gridding plan");
	p->spec = *s;
	rc = fill_plan(p, k, weight, &source, mem, why);
	free(source);
	p->spec.tune = NULL; /* tune belongs to the caller; p->choice holds all that it decided */
	if (rc != 0) {
		bs_nufft_cuda_close(p);
		return rc;
	}
	p->direct = p->choice.direct || (s->tune == NULL && few(p));
	*plan = p;
	return 0;
}

void bs_nufft_cuda_close(struct bs_nufft_cuda *p)
{
	if (p == NULL)
		return;
	for (uint32_t i = 0; p->state != NULL && i < p->spec.states; i++)
		free(p->state[i].arrived);
	free(p->state);
	free(p->chunk);
	free(p);
}

void bs_nufft_cuda_info(const struct bs_nufft_cuda *p, struct bs_nufft_info *info)
{
	const struct bs_nufft_choice *c = &p->choice;

	info->width = c->sectors.window;
	memcpy(info->grid, c->sectors.grid, sizeof(info->grid));
	info->route = p->stacked ? "stack" : "sectors";
}

/* gpu/nufft/nufft.c - see nufft.h */
#include "gpu/nufft/nufft.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/nufft/part.h"
#include "gpu/nufft/trajectory.h"

/* ---- memory ---- */

enum region { TABLE, RUNS, GRID, PLANES, STACK, MIXED, DATA, SORT, REGIONS };
static const char *const region_name[REGIONS] = { "nufft tables",     "nufft sectors",
						  "nufft grids",      "nufft planes",
						  "nufft partitions", "nufft mixed coils",
						  "nufft samples",    "nufft sorting" };

static void regions_of(uint64_t bytes[REGIONS], const struct bs_grid_shape *g,
		       const struct bs_nufft_spec *s, bool stack)
{
	bool deferred = stack || g->chunks == 1;
	uint64_t grids = deferred || s->states == 0
				 ? 1
				 : (uint64_t)s->states * g->batches + (s->peek ? 1 : 0);

	bytes[TABLE] = (3 + g->dims) * bs_slot(g->points * 4);
	bytes[RUNS] = bs_slot(g->runs * sizeof(struct bs_sector_run)) +
		      bs_slot(g->chunks * (BS_COLORS + 1) * 4) + s->states * bs_slot(g->chunks * 8);
	bytes[GRID] = grids * bs_slot(g->cells * g->width * 8);
	bytes[PLANES] = bs_slot(g->mid * 4);
	bytes[STACK] = stack ? 2 * bs_slot(g->points * s->matrix[2] * 4) +
				       bs_slot(g->points * g->batches * g->width * 8)
			     : 0;
	bytes[MIXED] = stack ? 0 : bs_slot(bs_nufft_mixed_bytes(g));
	bytes[DATA] = s->states * bs_slot(s->samples * s->coils * 8);
	bytes[SORT] = s->repath ? bs_slot(bs_nufft_sort_bytes(g)) : 0;
}

/* The most bytes that either route takes: the trajectory will tell which one it is. */
static int regions_need(uint64_t bytes[REGIONS], const struct bs_nufft_spec *s, struct bs_fail *why)
{
	struct bs_grid_shape g;
	uint64_t other[REGIONS];
	int rc = bs_nufft_shape(&g, s, why);

	if (rc != 0)
		return rc;
	regions_of(bytes, &g, s, false);
	if (s->dims != 3 || s->matrix[2] == 1 || s->repath)
		return 0;
	rc = bs_nufft_shape_stack(&g, s, bs_nufft_positions_max(s), why);
	if (rc != 0)
		return rc;
	regions_of(other, &g, s, true);
	for (int r = 0; r < REGIONS; r++)
		bytes[r] = bytes[r] > other[r] ? bytes[r] : other[r];
	return 0;
}

int bs_nufft_need(const struct bs_nufft_spec *spec, struct bs_need *need, struct bs_fail *why)
{
	uint64_t bytes[REGIONS];
	int rc = regions_need(bytes, spec, why);

	for (int r = 0; rc == 0 && r < REGIONS; r++)
		bs_need_add(need, region_name[r], 1, bytes[r]);
	return rc;
}

static void *carve(unsigned char **at, uint64_t bytes)
{
	void *p = *at;

	*at += bs_slot(bytes);
	return p;
}

static int take_regions(struct bs_nufft *n, struct bs_arena *arena, bool weighted,
			struct bs_fail *why)
{
	const struct bs_grid_shape *g = &n->shape;
	const struct bs_nufft_spec *s = &n->spec;
	uint64_t bytes[REGIONS];
	unsigned char *at[REGIONS];
	int rc = regions_need(bytes, s, why);

	if (rc != 0)
		return rc;
	for (int r = 0; r < REGIONS; r++) {
		at[r] = bs_arena_take(arena, bytes[r], BS_ALIGN);
		if (at[r] == NULL)
			return bs_fail(why, BS_ERR_NOMEM,
				       "%s: %llu bytes are not left in the arena", region_name[r],
				       (unsigned long long)bytes[r]);
	}
	n->table.source = carve(&at[TABLE], g->points * 4);
	n->table.cell = carve(&at[TABLE], g->points * 4);
	for (uint32_t a = 0; a < g->dims; a++)
		n->table.t[a] = carve(&at[TABLE], g->points * 4);
	if (weighted && !n->stacked)
		n->weight = n->table.weight = carve(&at[TABLE], g->points * 4);
	n->sort_room = s->repath ? at[SORT] : NULL;
	n->table.run = carve(&at[RUNS], g->runs * sizeof(struct bs_sector_run));
	n->table.color = carve(&at[RUNS], g->chunks * (BS_COLORS + 1) * 4);
	n->work_grid = (float *)(void *)at[GRID];
	n->mid = (float *)(void *)at[PLANES];
	n->mixed = !n->stacked && bs_nufft_mixed_bytes(g) > 0 ? (float *)(void *)at[MIXED] : NULL;
	for (uint32_t i = 0; i < s->states; i++) {
		struct bs_nufft_state *st = &n->state[i];

		st->arrived = carve(&at[RUNS], g->chunks * 8);
		st->data = carve(&at[DATA], s->samples * s->coils * 8);
		if (!n->deferred)
			st->grid = carve(&at[GRID], g->cells * g->width * g->batches * 8);
	}
	if (s->peek && !n->deferred && s->states > 0)
		n->peek_grid = carve(&at[GRID], g->cells * g->width * 8);
	if (n->stacked) {
		n->stack.partitions = s->matrix[2];
		n->stack.source = carve(&at[STACK], g->points * s->matrix[2] * 4);
		if (weighted)
			n->stack.weight = carve(&at[STACK], g->points * s->matrix[2] * 4);
		n->stack.data = carve(&at[STACK], g->points * g->batches * g->width * 8);
	}
	return 0;
}

static void *alloc(size_t bytes)
{
	void *p = aligned_alloc(BS_ALIGN, bs_slot(bytes));

	if (p != NULL)
		memset(p, 0, bs_slot(bytes));
	return p;
}

/* ---- plan ---- */

static int make_window(struct bs_nufft *n, struct bs_fail *why)
{
	const struct bs_grid_shape *g = &n->shape;
	for (uint32_t a = 0; a < 3; a++) {
		struct bs_window_shape w = bs_window_make(n->spec.window, g->window,
							  (double)g->grid[a] / g->matrix[a]);
		double misfit;

		if (a >= g->dims)
			continue;
		misfit = bs_window_misfit(&w, n->spec.accuracy);
		n->taps[a] = alloc(sizeof(*n->taps[a]));
		n->deapodize[a] = alloc(g->matrix[a] * sizeof(float));
		if (n->taps[a] == NULL || n->deapodize[a] == NULL ||
		    bs_fft_plan(&n->fft[a], g->grid[a]) != 0)
			return bs_fail(why, BS_ERR_NOMEM, "NUFFT window tables");
		(void)bs_window_taps(n->taps[a], &w, 2 * g->width, misfit);
		for (uint32_t i = 0; i < g->matrix[a]; i++) {
			double v = ((double)i - g->matrix[a] / 2) / g->grid[a];

			n->deapodize[a][i] = (float)(1.0 / bs_window_transform(&w, v));
		}
	}
	if (n->stacked && bs_fft_plan(&n->fft_stack, n->spec.matrix[2]) != 0)
		return bs_fail(why, BS_ERR_NOMEM, "NUFFT partition tables");
	return 0;
}

static int make_scratch(struct bs_nufft *n, struct bs_fail *why)
{
	const struct bs_grid_shape *g = &n->shape;
	size_t longest = n->spec.matrix[2];
	size_t members = (size_t)bs_team_members(n->team);

	for (uint32_t a = 0; a < g->dims; a++)
		longest = g->grid[a] > longest ? g->grid[a] : longest;
	n->block_floats = bs_slot(longest * 2 * BS_FFT_LANES_MAX * sizeof(float)) / sizeof(float);
	n->dummy_floats =
		bs_slot((size_t)g->grid[0] * 2 * g->width * sizeof(float)) / sizeof(float);
	n->scratch_floats = 2 * n->block_floats + n->dummy_floats + BS_RUN * 2 * 8;
	n->scratch = alloc(n->scratch_floats * members * sizeof(float));
	if (n->scratch == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "NUFFT scratch of %zu members", members);
	return 0;
}

int bs_nufft_plan(struct bs_nufft **plan, const struct bs_nufft_spec *spec, const float *k,
		  const float *weight, struct bs_arena *arena, struct bs_team *team,
		  struct bs_fail *why)
{
	struct bs_nufft *n = calloc(1, sizeof(*n));
	uint32_t *source = NULL;
	uint64_t positions = 0;
	int rc;

	if (n == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "NUFFT plan");
	n->spec = *spec;
	n->team = team;
	n->simd = BS_ISA_PICK(bs_fft_kernels);
	n->kernels = BS_ISA_PICK(bs_grid_kernels);
	n->state = calloc(spec->states + 1ul, sizeof(*n->state));
	rc = n->state == NULL ? bs_fail(why, BS_ERR_NOMEM, "NUFFT states")
			      : bs_nufft_shape(&n->shape, spec, why);
	if (rc == 0 && !spec->repath)
		rc = bs_nufft_check_k(spec, k, why);
	if (rc == 0 && !spec->repath)
		rc = bs_nufft_stack_find(spec, k, false, &source, &positions, why);
	if (rc == 0 && positions > 0) {
		n->stacked = true;
		rc = bs_nufft_shape_stack(&n->shape, spec, positions, why);
	}
	n->deferred = n->stacked || n->shape.chunks == 1;
	if (rc == 0)
		rc = take_regions(n, arena, weight != NULL || spec->repath, why);
	if (rc == 0)
		rc = make_window(n, why);
	if (rc == 0)
		rc = make_scratch(n, why);
	if (rc == 0 && n->stacked)
		rc = bs_nufft_stack_sort(n, k, source, weight, why);
	else if (rc == 0 && !spec->repath)
		rc = bs_nufft_sort(n, k, spec->dims, NULL, weight, why);
	free(source);
	if (rc != 0) {
		bs_nufft_close(n);
		return rc;
	}
	*plan = n;
	return 0;
}

int bs_nufft_path(struct bs_nufft *n, const float *k, const float *weight, struct bs_fail *why)
{
	int rc = bs_nufft_check_k(&n->spec, k, why);

	n->table.weight = weight != NULL ? n->weight : NULL;
	return rc == 0 ? bs_nufft_sort(n, k, n->spec.dims, NULL, weight, why) : rc;
}

void bs_nufft_close(struct bs_nufft *n)
{
	if (n == NULL)
		return;
	for (uint32_t a = 0; a < 3; a++) {
		free(n->taps[a]);
		free(n->deapodize[a]);
		bs_fft_close(&n->fft[a]);
	}
	bs_fft_close(&n->fft_stack);
	free(n->scratch);
	free(n->state);
	free(n);
}

void bs_nufft_info(const struct bs_nufft *n, struct bs_nufft_info *info)
{
	info->width = n->shape.window;
	memcpy(info->grid, n->shape.grid, sizeof(info->grid));
	info->route = n->stacked ? "stack" : "sectors";
}

/* ---- one shot ---- */

static size_t voxels_of(const struct bs_nufft *n)
{
	return (size_t)n->spec.matrix[0] * n->spec.matrix[1] * n->spec.matrix[2];
}

static uint32_t batch_lanes(const struct bs_nufft *n, uint32_t batch)
{
	uint32_t left = n->spec.coils - batch * n->shape.width;

	return left < n->shape.width ? left : n->shape.width;
}

/*
 * The samples of a batch and chunk in data [coil][stride], which begins with sample number `first`.
 */
static struct bs_lanes lanes_of(const struct bs_nufft *n, uint32_t batch, uint64_t chunk,
				const float *data, size_t stride, uint64_t first)
{
	size_t at =
		(size_t)(chunk * n->shape.chunk - first) + (size_t)batch * n->shape.width * stride;

	return (struct bs_lanes){ (float *)(uintptr_t)data + 2 * at, stride, batch_lanes(n, batch),
				  false };
}

void bs_nufft_adjoint(struct bs_nufft *n, const float *data, float *image)
{
	const struct bs_grid_shape *g = &n->shape;

	if (n->stacked) {
		bs_nufft_stack_adjoint(n, data, image);
		return;
	}
	for (uint32_t b = 0; b < g->batches; b++) {
		bs_nufft_copy(n, n->work_grid, NULL, g->cells);
		for (uint64_t c = 0; c < g->chunks; c++) {
			struct bs_lanes in = lanes_of(n, b, c, data, n->spec.samples, 0);

			bs_nufft_spread(n, n->work_grid, c, &in);
		}
		bs_nufft_to_image(n, n->work_grid, image + 2 * voxels_of(n) * b * g->width,
				  batch_lanes(n, b));
	}
}

void bs_nufft_forward(struct bs_nufft *n, const float *image, float *data)
{
	const struct bs_grid_shape *g = &n->shape;

	if (n->stacked) {
		bs_nufft_stack_forward(n, image, data);
		return;
	}
	for (uint32_t b = 0; b < g->batches; b++) {
		bs_nufft_from_image(n, n->work_grid, image + 2 * voxels_of(n) * b * g->width,
				    batch_lanes(n, b));
		for (uint64_t c = 0; c < g->chunks; c++) {
			struct bs_lanes out = lanes_of(n, b, c, data, n->spec.samples, 0);

			bs_nufft_interpolate(n, n->work_grid, c, &out);
		}
	}
}

/* ---- incremental ---- */

static uint64_t chunk_count(const struct bs_nufft *n, uint64_t chunk)
{
	uint64_t size = n->deferred ? n->spec.samples : n->shape.chunk;
	uint64_t left = n->spec.samples - chunk * size;

	return left < size ? left : size;
}

void bs_nufft_begin(struct bs_nufft *n, uint32_t state)
{
	struct bs_nufft_state *s = &n->state[state];
	uint64_t chunks = n->deferred ? 1 : n->shape.chunks;

	memset(s->arrived, 0, chunks * sizeof(*s->arrived));
	s->next = 0;
	s->fresh = true;
	if (!n->deferred)
		bs_nufft_copy(n, s->grid, NULL, n->shape.cells * n->shape.batches);
}

static void spread_chunk(struct bs_nufft *n, struct bs_nufft_state *s, uint64_t chunk,
			 const float *data, size_t stride, uint64_t first)
{
	const struct bs_grid_shape *g = &n->shape;

	for (uint32_t b = 0; b < g->batches; b++) {
		struct bs_lanes in = lanes_of(n, b, chunk, data, stride, first);

		bs_nufft_spread(n, s->grid + b * g->cells * g->width * 2, chunk, &in);
	}
}

/* Keeps samples that must wait. Samples of the chunk that never come will count as zeros. */
static void keep_samples(struct bs_nufft *n, struct bs_nufft_state *s, uint64_t chunk,
			 uint64_t first, uint64_t count, const float *data, size_t stride)
{
	uint64_t size = n->deferred ? n->spec.samples : n->shape.chunk;
	uint64_t all = chunk_count(n, chunk);

	for (uint32_t c = 0; c < n->spec.coils; c++) {
		float *coil = s->data + 2 * (size_t)c * n->spec.samples;

		if (s->arrived[chunk] == 0 && count < all)
			memset(coil + 2 * chunk * size, 0, all * 2 * sizeof(float));
		memcpy(coil + 2 * first, data + 2 * c * stride, count * 2 * sizeof(float));
	}
	s->arrived[chunk] += count;
}

void bs_nufft_add(struct bs_nufft *n, uint32_t state, uint64_t first, uint64_t count,
		  const float *data, size_t coil_stride)
{
	struct bs_nufft_state *s = &n->state[state];
	uint64_t size = n->deferred ? n->spec.samples : n->shape.chunk;

	if (s->fresh && n->spec.part > 0 && !n->deferred)
		s->next = first / n->spec.part * (n->spec.part / size);
	s->fresh = false;
	while (count > 0) {
		uint64_t chunk = first / size;
		uint64_t left = chunk * size + chunk_count(n, chunk) - first;
		uint64_t part = count < left ? count : left;

		if (!n->deferred && chunk == s->next && part == chunk_count(n, chunk)) {
			spread_chunk(n, s, chunk, data, coil_stride, first);
			s->next++;
		} else {
			keep_samples(n, s, chunk, first, part, data, coil_stride);
		}
		while (!n->deferred && s->next < n->shape.chunks &&
		       s->arrived[s->next] == chunk_count(n, s->next)) {
			spread_chunk(n, s, s->next, s->data, n->spec.samples, 0);
			s->next++;
		}
		data += 2 * part;
		first += part;
		count -= part;
	}
}

void bs_nufft_finish(struct bs_nufft *n, uint32_t state, float *image)
{
	const struct bs_grid_shape *g = &n->shape;
	struct bs_nufft_state *s = &n->state[state];

	if (n->deferred) {
		if (s->arrived[0] == 0)
			memset(s->data, 0, n->spec.samples * n->spec.coils * 2 * sizeof(float));
		bs_nufft_adjoint(n, s->data, image);
		return;
	}
	for (; s->next < g->chunks; s->next++)
		if (s->arrived[s->next] > 0)
			spread_chunk(n, s, s->next, s->data, n->spec.samples, 0);
	for (uint32_t b = 0; b < g->batches; b++)
		bs_nufft_to_image(n, s->grid + b * g->cells * g->width * 2,
				  image + 2 * voxels_of(n) * b * g->width, batch_lanes(n, b));
}

void bs_nufft_peek(struct bs_nufft *n, uint32_t state, float *image)
{
	const struct bs_grid_shape *g = &n->shape;
	struct bs_nufft_state *s = &n->state[state];

	if (n->deferred) { /* the samples are still there */
		bs_nufft_finish(n, state, image);
		return;
	}
	for (uint32_t b = 0; b < g->batches; b++) {
		bs_nufft_copy(n, n->peek_grid, s->grid + b * g->cells * g->width * 2, g->cells);
		for (uint64_t c = s->next; c < g->chunks; c++) {
			struct bs_lanes in = lanes_of(n, b, c, s->data, n->spec.samples, 0);

			if (s->arrived[c] > 0)
				bs_nufft_spread(n, n->peek_grid, c, &in);
		}
		bs_nufft_to_image(n, n->peek_grid, image + 2 * voxels_of(n) * b * g->width,
				  batch_lanes(n, b));
	}
}

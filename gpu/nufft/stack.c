/* gpu/nufft/stack.c - a stack: transformed along kz, then gridded plane by plane; see trajectory.h,
 * part.h */
#include "gpu/nufft/part.h"

#include <stdlib.h>
#include <string.h>

#define MISSING UINT32_MAX

int bs_nufft_stack_sort(struct bs_nufft *n, const float *k, const uint32_t *source,
			const float *weight, struct bs_fail *why)
{
	uint64_t points = n->shape.points;
	uint32_t nz = n->stack.partitions;
	uint32_t *any = calloc(points, sizeof(*any));
	int rc;

	if (any == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "sorting %llu positions",
			       (unsigned long long)points);
	for (uint64_t i = 0; i < points; i++) {
		uint32_t j = 0;

		while (source[i * nz + j] == MISSING)
			j++;
		any[i] = source[i * nz + j];
	}
	rc = bs_nufft_sort(n, k, 3, any, NULL, why);
	free(any);
	for (uint64_t i = 0; rc == 0 && i < points; i++)
		for (uint32_t j = 0; j < nz; j++) {
			uint32_t from = source[(size_t)n->table.source[i] * nz + j];

			n->stack.source[i * nz + j] = from;
			if (n->stack.weight != NULL)
				n->stack.weight[i * nz + j] = from == MISSING ? 0.0f : weight[from];
		}
	return rc;
}

/* ---- the transform along kz: positions are the lanes ---- */

#define Z_BLOCKS 4u /* blocks of a task */

struct job {
	struct bs_nufft *n;
	const float *in; /* input of the adjoint; NULL: forward */
	float *out;
};

static int z_tasks(const struct bs_nufft *n)
{
	uint64_t each = (uint64_t)n->simd->lanes * Z_BLOCKS;

	return (int)((n->shape.points + each - 1) / each);
}

static void z_load(const struct bs_nufft *n, const float *data, uint64_t first, uint32_t count,
		   float *block)
{
	uint32_t nz = n->stack.partitions;
	uint32_t lanes = n->simd->lanes;

	if (count < lanes)
		memset(block, 0, (size_t)nz * lanes * 2 * sizeof(float));
	for (uint32_t l = 0; l < count; l++) {
		const uint32_t *from = n->stack.source + (first + l) * nz;
		const float *w =
			n->stack.weight != NULL ? n->stack.weight + (first + l) * nz : NULL;
		float *to = block + l;

		for (uint32_t j = 0; j < nz; j++, to += (size_t)2 * lanes) {
			float a = from[j] == MISSING ? 0.0f : w != NULL ? w[j] : 1.0f;
			const float *d = data + 2 * (size_t)(from[j] == MISSING ? 0 : from[j]);

			to[0] = a * d[0];
			to[lanes] = a * d[1];
		}
	}
}

static void z_store(const struct bs_nufft *n, float *data, uint64_t first, uint32_t count,
		    const float *block)
{
	uint32_t nz = n->stack.partitions;
	uint32_t lanes = n->simd->lanes;

	for (uint32_t l = 0; l < count; l++) {
		const uint32_t *to = n->stack.source + (first + l) * nz;
		const float *from = block + l;

		for (uint32_t j = 0; j < nz; j++, from += (size_t)2 * lanes)
			if (to[j] != MISSING) {
				data[2 * (size_t)to[j]] = from[0];
				data[2 * (size_t)to[j] + 1] = from[lanes];
			}
	}
}

/* Copies between a block and the planes' sorted samples. Plane i is in bin i - Nz/2 mod Nz. */
static void planes(const struct bs_nufft *n, uint64_t first, uint32_t count, float *block, bool out)
{
	const struct bs_grid_shape *g = &n->shape;
	uint32_t nz = n->stack.partitions;
	uint32_t lanes = n->simd->lanes;

	for (uint32_t i = 0; i < nz; i++) {
		float *row = block + (size_t)((i + nz - nz / 2) % nz) * lanes * 2;
		float *at = n->stack.data +
			    2 * (((size_t)(i / g->width) * g->points + first) * g->width +
				 i % g->width);

		for (uint32_t l = 0; l < count; l++, at += 2 * g->width) {
			if (out) {
				at[0] = row[l];
				at[1] = row[l + lanes];
			} else {
				row[l] = at[0];
				row[l + lanes] = at[1];
			}
		}
	}
}

static void z_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	const struct bs_nufft *n = j->n;
	struct bs_scratch s = bs_nufft_scratch(n, member);
	uint64_t first = (uint64_t)task * n->simd->lanes * Z_BLOCKS;

	for (uint32_t b = 0; b < Z_BLOCKS && first < n->shape.points;
	     b++, first += n->simd->lanes) {
		uint64_t left = n->shape.points - first;
		uint32_t count = left < n->simd->lanes ? (uint32_t)left : n->simd->lanes;

		if (j->in != NULL) {
			z_load(n, j->in, first, count, s.a);
			planes(n, first, count, n->simd->run(&n->fft_stack, s.a, s.b, true), true);
		} else {
			planes(n, first, count, s.a, false);
			z_store(n, j->out, first, count,
				n->simd->run(&n->fft_stack, s.a, s.b, false));
		}
	}
}

static struct bs_lanes batch_of(const struct bs_nufft *n, uint32_t batch)
{
	const struct bs_grid_shape *g = &n->shape;
	uint32_t left = n->stack.partitions - batch * g->width;

	return (struct bs_lanes){ n->stack.data + 2 * (size_t)batch * g->points * g->width, 0,
				  left < g->width ? left : g->width, true };
}

void bs_nufft_stack_adjoint(struct bs_nufft *n, const float *data, float *image)
{
	const struct bs_grid_shape *g = &n->shape;
	size_t pixels = 2 * (size_t)g->matrix[0] * g->matrix[1];

	for (uint32_t c = 0; c < n->spec.coils; c++) {
		struct job j = { n, data + 2 * n->spec.samples * c, NULL };

		bs_team_run(n->team, z_task, &j, z_tasks(n));
		for (uint32_t b = 0; b < g->batches; b++) {
			struct bs_lanes in = batch_of(n, b);

			bs_nufft_copy(n, n->work_grid, NULL, g->cells);
			bs_nufft_spread(n, n->work_grid, 0, &in);
			bs_nufft_to_image(
				n, n->work_grid,
				image + ((size_t)c * n->stack.partitions + (size_t)b * g->width) *
						pixels,
				in.lanes);
		}
	}
}

void bs_nufft_stack_forward(struct bs_nufft *n, const float *image, float *data)
{
	const struct bs_grid_shape *g = &n->shape;
	size_t pixels = 2 * (size_t)g->matrix[0] * g->matrix[1];

	for (uint32_t c = 0; c < n->spec.coils; c++) {
		struct job j = { n, NULL, data + 2 * n->spec.samples * c };

		for (uint32_t b = 0; b < g->batches; b++) {
			struct bs_lanes out = batch_of(n, b);

			bs_nufft_from_image(
				n, n->work_grid,
				image + ((size_t)c * n->stack.partitions + (size_t)b * g->width) *
						pixels,
				out.lanes);
			bs_nufft_interpolate(n, n->work_grid, 0, &out);
		}
		bs_team_run(n->team, z_task, &j, z_tasks(n));
	}
}

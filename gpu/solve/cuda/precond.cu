/* gpu/solve/cuda/precond.cu - see precond.cuh */
#include "gpu/solve/cuda/precond.cuh"

#include <stdlib.h>

#include "gpu/device/check.h"
#include "gpu/solve/precond.h"

/* Bytes of the tables of all sets, without the one in use. */
static uint64_t inverses_bytes(const struct bs_protocol *p, uint32_t sets)
{
	return sets > 1 && p->precond != BS_PRECOND_NONE
		       ? sets * bs_protocol_voxels(p) * sizeof(float)
		       : 0;
}

uint64_t bs_precond_cuda_bytes(const struct bs_protocol *p, uint32_t sets)
{
	switch (p->precond) {
	case BS_PRECOND_NONE:
		break;
	case BS_PRECOND_JACOBI:
		return bs_devmem_round(bs_protocol_voxels(p) * sizeof(float)) +
		       bs_devmem_round(inverses_bytes(p, sets));
	case BS_PRECOND_CIRCULANT:
		return bs_circulant_cuda_need(p->dims, p->matrix) +
		       bs_devmem_round(inverses_bytes(p, sets));
	}
	return 0;
}

static double power_at(const struct bs_precond_cuda *c, uint32_t set, size_t v)
{
	return bs_precond_power(bs_maps_of(c->maps, c->p, set), c->maps != NULL ? c->p->coils : 0,
				bs_protocol_voxels(c->p), v);
}

/* Makes a set's table; it stays valid until the next one is made. */
static const float *make_table(struct bs_precond_cuda *c, uint32_t set)
{
	const size_t voxels = (size_t)bs_protocol_voxels(c->p);
	double power = 0.0;
	double most = 0.0;

	if (c->eigen != NULL) {
		for (size_t v = 0; v < voxels; v++)
			power += power_at(c, set, v) / (double)voxels;
		bs_circulant_shift(c->eigen, power, c->mu * c->r_mean);
		return bs_circulant_inverse(c->eigen);
	}
	for (size_t v = 0; v < voxels; v++) {
		c->table[v] = (float)(c->q0 * power_at(c, set, v) + c->mu * (double)c->r[v]);
		most = (double)c->table[v] > most ? (double)c->table[v] : most;
	}
	for (size_t v = 0; v < voxels; v++)
		c->table[v] = bs_precond_inverse((double)c->table[v], most);
	return c->table;
}

static int plan_circulant(struct bs_precond_cuda *c, const float *q, struct bs_team *team,
			  struct bs_fail *why)
{
	struct bs_need need = {};
	int rc = bs_circulant_need(c->p->dims, c->p->matrix, &need, why);

	if (rc == 0)
		rc = bs_arena_open(&c->arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_circulant_plan(&c->eigen, c->p->dims, c->p->matrix, q, &c->arena, team,
				       why);
	return rc;
}

/* Takes memory for what the tables are made of, and for the tables. */
static int take_memory(struct bs_precond_cuda *c, const struct bs_tables *tables, const float *q,
		       struct bs_team *team, struct bs_devmem *mem, struct bs_fail *why)
{
	const size_t voxels = (size_t)bs_protocol_voxels(c->p);
	const size_t all = (size_t)inverses_bytes(c->p, c->sets);
	const bool jacobi = c->p->precond == BS_PRECOND_JACOBI;

	c->r = (float *)malloc(voxels * sizeof(float));
	if (jacobi) {
		c->table = (float *)malloc(voxels * sizeof(float));
		c->inverse = (float *)bs_devmem_take(mem, voxels * sizeof(float));
	}
	if (all > 0)
		c->inverses = (float *)bs_devmem_take(mem, all);
	if (c->r == NULL || (jacobi && (c->table == NULL || c->inverse == NULL)) ||
	    (all > 0 && c->inverses == NULL))
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': preconditioner", c->p->name);
	bs_precond_diagonal(c->r, tables->w, voxels);
	for (size_t v = 0; v < voxels; v++)
		c->r_mean += (double)c->r[v] / (double)voxels;
	c->q0 = (double)q[0];
	return jacobi ? 0 : plan_circulant(c, q, team, why);
}

static void drop_host(struct bs_precond_cuda *c)
{
	free(c->r);
	free(c->table);
	bs_circulant_close(c->eigen);
	bs_arena_close(&c->arena);
	c->r = c->table = NULL;
	c->eigen = NULL;
}

/*
 * Copies a set's table to its place among those of all sets, and the first set's also to where it
 * is used.
 */
static int put_table(struct bs_precond_cuda *c, uint32_t set, struct bs_devmem *mem,
		     struct bs_fail *why)
{
	const size_t voxels = (size_t)bs_protocol_voxels(c->p);
	const float *table = make_table(c, set);

	if (set == 0 && c->eigen != NULL) {
		int rc = bs_circulant_cuda_plan(&c->circulant, c->p->dims, c->p->matrix, table, mem,
						why);

		if (rc != 0)
			return rc;
	} else if (set == 0) {
		BS_CUDA(cudaMemcpy(c->inverse, table, voxels * sizeof(*table),
				   cudaMemcpyHostToDevice),
			why);
	}
	if (c->inverses != NULL)
		BS_CUDA(cudaMemcpy(c->inverses + set * voxels, table, voxels * sizeof(*table),
				   cudaMemcpyHostToDevice),
			why);
	return 0;
}

int bs_precond_cuda_plan(struct bs_precond_cuda *c, const struct bs_tables *tables, const float *q,
			 struct bs_team *team, struct bs_devmem *mem, struct bs_fail *why)
{
	int rc;

	if (c->p->precond == BS_PRECOND_NONE)
		return 0;
	rc = take_memory(c, tables, q, team, mem, why);
	for (uint32_t set = 0; rc == 0 && set < c->sets; set++)
		rc = put_table(c, set, mem, why);
	if (tables->made == NULL && c->p->plan.maps != BS_PLAN_MAPS_STUDY)
		drop_host(c);
	return rc;
}

void bs_precond_cuda_close(struct bs_precond_cuda *c)
{
	bs_circulant_cuda_close(c->circulant);
	drop_host(c);
}

static float *in_use(const struct bs_precond_cuda *c)
{
	return c->circulant != NULL ? bs_circulant_cuda_table(c->circulant) : c->inverse;
}

int bs_precond_cuda_use(struct bs_precond_cuda *c, uint32_t set, cudaStream_t stream,
			struct bs_fail *why)
{
	const size_t voxels = (size_t)bs_protocol_voxels(c->p);

	if (c->inverses == NULL)
		return 0;
	BS_CUDA(cudaMemcpyAsync(in_use(c), c->inverses + set * voxels, voxels * sizeof(float),
				cudaMemcpyDeviceToDevice, stream),
		why);
	return 0;
}

int bs_precond_cuda_changed(struct bs_precond_cuda *c, uint32_t set, cudaStream_t stream,
			    struct bs_fail *why)
{
	const size_t voxels = (size_t)bs_protocol_voxels(c->p);
	float *to = c->inverses != NULL ? c->inverses + set * voxels : in_use(c);

	if (to == NULL)
		return 0;
	BS_CUDA(cudaMemcpyAsync(to, make_table(c, set), voxels * sizeof(float),
				cudaMemcpyHostToDevice, stream),
		why);
	/* the next table is made in the same host memory */
	BS_CUDA(cudaStreamSynchronize(stream), why);
	return 0;
}

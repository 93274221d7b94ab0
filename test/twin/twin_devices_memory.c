/*
 * test/twin/twin_devices_memory.c - the device memory of a scan on several GPUs is as it was told
 *
 * What an engine says that it will take of each GPU (core/engine.h: device) is held against what
 * cudaMemGetInfo sees go there while it is armed: 2 %, as twin_engine_coils.c, with copies between
 * the GPUs (NCCL takes memory of its own). With all shares on one GPU their sum is. Must run alone.
 */
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <math.h>

#include "test/twin/devices.h"

#define MIB ((double)(1 << 20))

/* One of them after the other is made current; ends with the layout's first. */
static bool free_now(uint64_t bytes[BS_DEVICES_MAX], const struct layout *l)
{
	for (uint32_t i = l->devices.count; i-- > 0;) {
		size_t now;
		size_t total;

		if (cudaSetDevice((int)l->devices.device[i]) != cudaSuccess ||
		    cudaDeviceSynchronize() != cudaSuccess ||
		    cudaMemGetInfo(&now, &total) != cudaSuccess)
			return false;
		bytes[i] = now;
	}
	return true;
}

static void check_gpu(const char *name, const char *words, const char *which, uint64_t told,
		      uint64_t taken)
{
	const double off = fabs((double)told / (double)taken - 1.0);
	const double apart = fabs((double)told - (double)taken);

	/* the driver hands out pages of 2 MiB */
	CHECK(off <= 0.02 || apart < 2.0 * MIB, "%s, %s: %s: told %.1f MiB, taken %.1f: %.2f %%",
	      name, words, which, (double)told / MIB, (double)taken / MIB, 100.0 * off);
}

/* twice: the first arm loads kernels, which takes memory for good. */
static void check_layout(const char *name, const struct bs_protocol *p, const struct layout *l,
			 const struct bs_tables *tables)
{
	const bool own = l->devices.device[1] != l->devices.device[0];
	const struct bs_engine *engine = NULL;
	uint64_t before[BS_DEVICES_MAX];
	uint64_t after[BS_DEVICES_MAX];
	struct bs_protocol on = *p;
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	struct armed a;
	char words[64];
	int rc;

	words_of(words, sizeof(words), l);
	on.backend = BS_BACKEND_CUDA;
	on.gpu_devices = l->devices;
	bs_plan_make(&on);
	rc = bs_engine_find(&engine, &on, &why);
	if (rc == 0)
		rc = engine->device(&on, NULL, &need, &why);
	CHECK(rc == 0 && need.parts == on.plan.parts && !need.overflow,
	      "%s, %s: told of %u GPUs %s", name, words, need.parts, why.text);
	if (rc != 0)
		return;
	rc = open_cuda(&a, p, l, tables, NULL, 0, &why);
	armed_close(&a);
	CHECK(rc == 0 && free_now(before, l), "%s, %s: armed %s", name, words, why.text);
	rc = open_cuda(&a, p, l, tables, NULL, 0, &why);
	CHECK(rc == 0 && free_now(after, l), "%s, %s: armed again %s", name, words, why.text);
	for (uint32_t i = 0; rc == 0 && own && i < need.parts; i++)
		check_gpu(name, words, need.part[i].what, need.part[i].bytes, before[i] - after[i]);
	if (rc == 0 && !own)
		check_gpu(name, words, "all", need.total_bytes, before[0] - after[0]);
	armed_close(&a);
}

static void check(const char *name, const struct bs_protocol *p, const float *maps)
{
	struct bs_tables tables = { .maps = maps };
	struct bs_traj traj = { 0 };
	struct bs_fail why = { 0 };
	int rc = bs_traj_make(&traj, p, &why);

	tables.traj = &traj;
	CHECK(rc == 0, "%s: trajectory %s", name, why.text);
	for (int i = 0; rc == 0 && i < layout_count; i++)
		if (layouts[i].devices.count > 1 && layouts[i].kind == BS_LINK_COPY)
			check_layout(name, p, &layouts[i], &tables);
	bs_traj_close(&traj);
}

/* Of hundreds of MiB: an allocation's own rounding is 2 of them. */
static struct bs_protocol volume(enum bs_method method, uint32_t coils)
{
	struct bs_protocol p = protocol(method);

	p.dims = 3;
	p.matrix[0] = 128;
	p.matrix[1] = 144;
	p.matrix[2] = 112;
	p.samples = 256;
	p.readouts = 1500;
	p.slices = 1;
	p.coils = coils;
	p.accuracy = 1e-3;
	p.traj.type = BS_TRAJ_RANDOM;
	p.density = BS_DENSITY_NONE;
	p.fhd = p.q = BS_SUM_NUFFT;
	return planned(p);
}

static void volumes(void)
{
	struct bs_protocol p = volume(BS_METHOD_GRIDDING, 8);
	float *maps = calloc(bs_protocol_voxels(&p) * 2 * p.coils * 2, sizeof(*maps));

	for (uint64_t v = 0; v < bs_protocol_voxels(&p) * 2 * p.coils * 2; v++)
		maps[v] = (float)(check_uniform(&seed) - 0.5);
	check("gridding, rss", &p, NULL);
	p.combine = BS_COMBINE_SENSE;
	p.image_matrix[0] = 160;
	p.image_matrix[1] = 160;
	p.image_matrix[2] = 112;
	bs_plan_make(&p);
	check("gridding, matched filter, on 160", &p, maps);
	p = volume(BS_METHOD_LS, 5);
	check("ls", &p, NULL);
	p.precond = BS_PRECOND_CIRCULANT;
	bs_plan_make(&p);
	check("ls, circulant", &p, NULL);
	p = volume(BS_METHOD_SENSE, 8);
	p.combine = BS_COMBINE_SENSE;
	bs_plan_make(&p);
	check("sense", &p, maps);
	p.slices = 2;
	bs_plan_make(&p);
	check("sense, two slices", &p, maps);
	free(maps);
	p = volume(BS_METHOD_LS, 1);
	p.readouts = 40;
	p.fhd = BS_SUM_EXACT;
	bs_plan_make(&p);
	check("ls, one coil, slabs", &p, NULL);
}

static void all(void)
{
	if (small())
		SKIP("the memory of a scan on several GPUs: a checker would take too long");
	else
		volumes();
}

int main(void)
{
	return devices_main("the memory of a scan on several GPUs", all);
}

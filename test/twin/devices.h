/*
 * test/twin/devices.h - several GPUs of a scan in a test: where the shares lie, what passes between
 * them, and engines armed on them
 *
 * For one source of a program whose link is given bs_link_open and the allocations' seams
 * (Makefile).
 */
#ifndef BS_TEST_TWIN_DEVICES_H
#define BS_TEST_TWIN_DEVICES_H

#include <string.h>

#include "core/thread/team.h"
#include "test/support/plan/engine.h"
#include "test/support/transport.h"
#include "test/support/plan/planned.h"
#include "test/twin/allocations.h"
#include "test/twin/device.h"

#define ITERATIONS 12u
#define COILS      5u

static uint64_t seed = 88172645463325252u;

/* Where the shares lie, and what passes between them. */
struct layout {
	struct bs_devices devices;
	enum bs_link_kind kind;
};

static struct layout layouts[24];
static int layout_count;

/* The bytes of an image by the number of GPUs that work on it. */
struct known {
	uint64_t hash[BS_DEVICES_MAX + 1];
};

static inline void add_layout(uint32_t parts, bool own, enum bs_link_kind kind)
{
	struct layout *l = &layouts[layout_count++];

	l->kind = kind;
	l->devices.count = parts;
	for (uint32_t i = 0; i < parts; i++)
		l->devices.device[i] = own ? i : 0;
}

static inline bool nccl_answers(void)
{
	struct bs_link *link = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_link_open(&link, 2, NULL, BS_LINK_NCCL, &why);

	if (rc == BS_ERR_UNSUPPORTED)
		SKIP("shares by NCCL: %s", why.text);
	else
		CHECK(rc == 0, "a link by NCCL %s", why.text);
	bs_link_close(link);
	return rc == 0;
}

/* The first GPU in all shares; then each its own. The one-GPU engine comes first. */
static inline void list_layouts(uint32_t devices)
{
	const bool nccl = devices > 1 && nccl_answers();

	add_layout(1, false, BS_LINK_COPY);
	add_layout(2, false, BS_LINK_COPY);
	if (!small()) {
		add_layout(3, false, BS_LINK_COPY);
		add_layout(8, false, BS_LINK_COPY);
	}
	for (uint32_t n = 2; n <= devices; n++) {
		add_layout(n, true, BS_LINK_COPY);
		if (nccl)
			add_layout(n, true, BS_LINK_NCCL);
	}
}

static inline void words_of(char *out, size_t size, const struct layout *l)
{
	size_t n = (size_t)snprintf(out, size, "GPUs");

	for (uint32_t i = 0; i < l->devices.count; i++)
		n += (size_t)snprintf(out + n, size - n, " %u", l->devices.device[i]);
	if (l->kind == BS_LINK_NCCL)
		(void)snprintf(out + n, size - n, " by NCCL");
}

static inline int open_cuda(struct armed *a, const struct bs_protocol *p, const struct layout *l,
			    const struct bs_tables *tables, const void *pool, size_t pool_bytes,
			    struct bs_fail *why)
{
	struct bs_protocol own = *p;

	own.backend = BS_BACKEND_CUDA;
	own.gpu_devices = l->devices;
	bs_plan_make(&own);
	transport = l->kind;
	return armed_open(
		a, NULL, &own, tables,
		(struct bs_arm_env){
			.team = team, .cache_dir = "", .pool = pool, .pool_bytes = pool_bytes },
		why);
}

/* Has the image the bytes of the earlier ones that as many GPUs worked on? */
static inline bool same_as_known(struct known *k, const struct armed *a, const float *image)
{
	const uint64_t hash = hash_of(image, bs_protocol_image_bytes(&a->p) / 4);
	uint64_t *known = &k->hash[a->p.plan.parts];

	if (*known == 0)
		*known = hash;
	return *known == hash;
}

/* Readouts lie in page-locked memory of the size of whole pages, as the service's pool does. */
static inline float *pool_of(size_t values)
{
	const size_t bytes = (values * 4 + 4095) & ~(size_t)4095;
	float *data = aligned_alloc(4096, bytes);

	for (size_t i = 0; i < values; i++)
		data[i] = (float)(check_uniform(&seed) - 0.5);
	return data;
}

static inline void free_pool(float *data)
{
	(void)cudaHostUnregister(data);
	(void)cudaGetLastError();
	free(data);
}

static inline struct bs_protocol protocol(enum bs_method method)
{
	const bool grids = method == BS_METHOD_GRIDDING;
	struct bs_protocol p =
		path_of(method, grids ? BS_TRAJ_RADIAL2D : BS_TRAJ_RANDOM, 40, 27, 1, COILS);

	readouts_of(&p, 90, 96);
	p.slices = 2;
	p.traj.seed = 5;
	p.accuracy = 1e-6;
	for (int a = 0; a < 3; a++)
		p.fov_mm[a] = 200.0f;
	p.combine = BS_COMBINE_RSS;
	p.fhd = p.q = BS_SUM_EXACT;
	if (!grids) { /* well conditioned: twelve steps agree as one does */
		p.normalize = BS_NORMALIZE_NONE;
		solved(&p, 0.5, ITERATIONS);
	}
	return planned(p);
}

static uint32_t devices; /* that are here; with fewer than two the shares lie together */

/* As twin_main; fewer threads than the most shares: some take turns. */
static inline int devices_main(const char *what, void (*run)(void))
{
	devices = device_answers(what) ? transport_devices() : 0;
	if (devices == 1)
		SKIP("%s, a GPU for each share: there is 1 here, the shares lie on it together",
		     what);
	list_layouts(small() ? 1 : devices);
	return devices > 0 ? twin_main(what, 3, run) : check_done();
}

#endif

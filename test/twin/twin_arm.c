/*
 * test/twin/twin_arm.c - arming a CUDA engine: what it leaves behind, and its limits
 *
 * A cached choice of kernels that does not fit, or is another protocol's; polls for uploads under
 * way; more frames than graphs are made for; solves too long for one; the times of a frame that got
 * nothing. The images are compared byte by byte: the same kernels in the same order.
 */
#define _GNU_SOURCE /* mkdtemp */
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include <string.h>

#include "core/thread/team.h"
#include "gpu/engine/engines.h"
#include "gpu/nufft/cuda/tune.h"
#include "test/twin/device.h"

struct armed {
	const struct bs_engine *engine;
	struct bs_arena arena;
	struct bs_traj traj;
	struct bs_tables tables;
	void *self;
	float *data;
};

static struct bs_protocol protocol(enum bs_method method, enum bs_traj_type type)
{
	struct bs_protocol p = path_of(method, type, 48, 48, 1, 3);

	readouts_of(&p, 70, 96);
	solved(&p, 5.0, 6);
	p.slices = 2;
	p.traj.seed = 3;
	p.accuracy = 1e-4;
	p.combine = BS_COMBINE_RSS;
	p.gpu_memory = BS_GPU_MEMORY_COPY;
	return planned(p);
}

/* p stays where it is: its address is part of what is tested. */
static int open_armed(struct armed *a, const struct bs_engine *engine, const struct bs_protocol *p,
		      const char *cache, struct bs_fail *why)
{
	struct bs_arm_env env = { .arena = &a->arena, .team = team, .cache_dir = cache };
	const uint64_t values = 2ull * p->readouts * p->samples * p->coils;
	struct bs_need need = { 0 };
	uint64_t seed = 77;
	int rc;

	memset(a, 0, sizeof(*a));
	a->engine = engine;
	a->data = malloc(values * 4);
	fill_random(a->data, values, &seed);
	rc = bs_traj_make(&a->traj, p, why);
	a->tables.traj = &a->traj;
	if (rc == 0)
		rc = engine->need(p, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&a->arena, need.total_bytes, why);
	if (rc == 0)
		rc = engine->arm(&a->self, p, &a->tables, &env, why);
	return rc;
}

static void close_armed(struct armed *a)
{
	if (a->self != NULL)
		a->engine->disarm(a->self);
	bs_traj_close(&a->traj);
	bs_arena_close(&a->arena);
	free(a->data);
	memset(a, 0, sizeof(*a));
}

/* The image of the readouts up to rows in frame; polls: how often an upload was still under way. */
static int image_of(struct armed *a, const struct bs_protocol *p, uint32_t frame, uint32_t rows,
		    float *image, struct bs_report *report, unsigned *polls)
{
	const size_t row = 2ull * p->samples * p->coils;
	int rc = a->engine->begin(a->self, frame);

	memset(report, 0, sizeof(*report));
	for (uint32_t r = 0; rc == 0 && r < rows; r++) {
		uint64_t made = 0;
		uint64_t read = 0;

		rc = a->engine->add(a->self, frame, r, NULL, a->data + r * row, p->samples);
		a->engine->reading(a->self, false, &made, &read);
		*polls += read < made;
		if (rc == 0 && cudaPeekAtLastError() != cudaSuccess)
			rc = BS_ERR_GPU;
	}
	return rc != 0 ? rc : a->engine->image(a->self, frame, NULL, INT64_MAX, image, report);
}

/* Armed, one image, closed. */
static int one_image(const struct bs_engine *engine, const struct bs_protocol *p, const char *cache,
		     uint32_t frame, float *image, struct bs_fail *why)
{
	struct armed a;
	struct bs_report report;
	unsigned polls = 0;
	int rc = open_armed(&a, engine, p, cache, why);

	if (rc == 0)
		rc = image_of(&a, p, frame, p->readouts, image, &report, &polls);
	close_armed(&a);
	return rc;
}

/*
 * Cells collect samples in 3D alone: a choice that 2D cannot have.
 */
static void keep_choice(const struct bs_protocol *p, const char *cache, enum bs_nufft_field field,
			uint32_t value)
{
	static struct bs_tuning t;
	const struct bs_nufft_spec s = bs_gridding_cuda_spec(p);
	struct bs_traj traj = { 0 };
	struct bs_fail why;
	char key[512];

	memset(&t, 0, sizeof(t));
	t.kind = &bs_nufft_tunable;
	t.trials = 2;
	t.best = 1;
	t.trial[0].ms[0] = t.trial[0].ms[1] = 2.0;
	t.trial[1].ms[0] = t.trial[1].ms[1] = 1.0;
	t.trial[1].tune.v[field] = value;
	if (bs_traj_make(&traj, p, &why) == 0) {
		bs_nufft_tune_key(key, sizeof(key), &s, traj.k, gpu.name, gpu.driver);
		bs_tune_save(&t, key, cache);
	}
	bs_traj_close(&traj);
}

static void check_choices(const char *cache)
{
	static const struct {
		const char *name;
		enum bs_method method;
		const struct bs_engine *engine;
	} all[] = {
		{ "gridding", BS_METHOD_GRIDDING, &bs_engine_cuda },
		{ "ls by NUFFT", BS_METHOD_LS, &bs_engine_cuda },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct bs_protocol p = protocol(all[i].method, BS_TRAJ_RADIAL2D);
		const size_t bytes = bs_protocol_image_bytes(&p);
		float *plain = malloc(bytes);
		float *kept = malloc(bytes);
		struct bs_fail why = { 0 };
		int rc = one_image(all[i].engine, &p, "", 0, plain, &why);

		CHECK(rc == 0, "%s without a cache %s", all[i].name, rc != 0 ? why.text : "");
		keep_choice(&p, cache, BS_NUFFT_ROUTE, 2);
		rc = rc != 0 ? rc : one_image(all[i].engine, &p, cache, 0, kept, &why);
		CHECK(rc == 0 && memcmp(plain, kept, bytes) == 0,
		      "%s with a kept choice that cannot be had: armed without it, the same bytes "
		      "%s",
		      all[i].name, rc != 0 ? why.text : "");
		free(plain);
		free(kept);
	}
}

/*
 * A choice for one protocol, then another protocol at the same address: it must not get that
 * choice.
 */
static void check_address(const char *cache)
{
	struct bs_protocol here = protocol(BS_METHOD_GRIDDING, BS_TRAJ_RADIAL2D);
	struct bs_protocol there;
	struct bs_need need[2];
	struct armed a;
	struct bs_fail why = { 0 };
	int rc;
	int rc_there;

	memset(need, 0, sizeof(need));
	keep_choice(&here, cache, BS_NUFFT_FOLD, 2); /* in 2D alone */
	rc = open_armed(&a, &bs_engine_cuda, &here, cache, &why);
	CHECK(rc == 0, "armed with a choice for 2D %s", rc != 0 ? why.text : "");
	close_armed(&a);
	here.dims = 3;
	here.matrix[2] = 48;
	here.traj.type = BS_TRAJ_RADIAL3D;
	bs_plan_make(&here);
	there = here;
	rc_there = bs_engine_cuda.need(&there, &need[1], &why);
	rc = bs_engine_cuda.need(&here, &need[0], &why);
	CHECK(rc == 0 && rc_there == 0 && need[0].total_bytes == need[1].total_bytes,
	      "a 3D protocol at the same address needs what it does elsewhere: %llu and %llu bytes "
	      "%s",
	      (unsigned long long)need[0].total_bytes, (unsigned long long)need[1].total_bytes,
	      rc != 0 ? why.text : "");
}

/* Polls leave no error; a frame without readouts has no times of one. */
static void check_frames(const struct bs_engine *engine, enum bs_method method, const char *name)
{
	struct bs_protocol p = protocol(method, BS_TRAJ_RADIAL2D);
	struct armed a;
	struct bs_fail why = { 0 };
	struct bs_report full;
	struct bs_report none;
	float *image = malloc(bs_protocol_image_bytes(&p));
	unsigned polls = 0;
	int rc = open_armed(&a, engine, &p, "", &why);

	memset(&full, 0, sizeof(full));
	memset(&none, 0, sizeof(none));
	for (int i = 0; rc == 0 && i < 20; i++)
		rc = image_of(&a, &p, 0, p.readouts, image, &full, &polls);
	CHECK(rc == 0, "%s: %u polls found an upload under way, none left an error %s", name, polls,
	      why.text);
	if (polls == 0)
		SKIP("%s: every upload had ended when it was asked for", name);
	if (rc == 0)
		rc = image_of(&a, &p, 1, 0, image, &none, &polls);
	CHECK(rc == 0 && full.stage_ns[BS_BUDGET_UPLOAD] > 0 &&
		      full.stage_ns[BS_BUDGET_ACCUMULATE] > 0,
	      "%s: the last readout: upload %lld ns, accumulate %lld ns", name,
	      (long long)full.stage_ns[BS_BUDGET_UPLOAD],
	      (long long)full.stage_ns[BS_BUDGET_ACCUMULATE]);
	CHECK(rc == 0 && none.stage_ns[BS_BUDGET_UPLOAD] == 0 &&
		      none.stage_ns[BS_BUDGET_ACCUMULATE] == 0,
	      "%s: a frame without readouts: upload %lld ns, accumulate %lld ns", name,
	      (long long)none.stage_ns[BS_BUDGET_UPLOAD],
	      (long long)none.stage_ns[BS_BUDGET_ACCUMULATE]);
	close_armed(&a);
	free(image);
}

/* Frames too many for a graph each: what is queued one by one gives the same bytes. */
static void check_many(const struct bs_engine *engine, enum bs_method method, const char *name)
{
	struct bs_protocol p = protocol(method, BS_TRAJ_RADIAL2D);
	const size_t bytes = bs_protocol_image_bytes(&p);
	float *few = malloc(bytes);
	float *many = malloc(bytes);
	struct bs_fail why = { 0 };
	int rc;

	p.samples = 64; /* fewer, and the ramp sees nothing of a wide image */
	p.readouts = 12;
	rc = one_image(engine, &p, "", 1, few, &why);
	p.slices = 512;
	bs_plan_make(&p);
	p.contrasts = 5; /* 2,560 frames of about 16 launches */
	rc = rc != 0 ? rc : one_image(engine, &p, "", 2559, many, &why);
	CHECK(rc == 0 && memcmp(few, many, bytes) == 0, "%s: 2,560 frames: the bytes of two %s",
	      name, rc != 0 ? why.text : "");
	free(few);
	free(many);
}

/* Solves that no graph should hold. */
static void check_refusals(void)
{
	struct bs_protocol p = protocol(BS_METHOD_LS, BS_TRAJ_RADIAL2D);
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	struct armed a;
	int rc;

	p.coils = 32;
	p.iterations = 10000;
	bs_plan_make(&p);
	rc = bs_engine_cuda.need(&p, &need, &why);
	CHECK(rc == BS_ERR_CONFIG && strstr(why.text, "ls.iterations") != NULL, "refused: %s",
	      why.text);
	why.text[0] = '\0';
	memset(&a, 0, sizeof(a));
	rc = open_armed(&a, &bs_engine_cuda, &p, "", &why);
	CHECK(rc == BS_ERR_CONFIG, "refused at arm: %s", why.text);
	close_armed(&a);
	p.coils = 1;
	bs_plan_make(&p);
	CHECK(bs_engine_cuda.need(&p, &need, &why) == 0, "10,000 iterations of one coil %s",
	      why.text);
}

static void compare_all(void)
{
	char cache[] = "/tmp/boreside-arm-XXXXXX";
	char clean[64];

	CHECK(mkdtemp(cache) != NULL, "a folder");
	check_refusals();
	if (!small()) /* under a sanitizer times say nothing */
		check_choices(cache);
	check_address(cache);
	check_frames(&bs_engine_cuda, BS_METHOD_GRIDDING, "gridding");
	check_frames(&bs_engine_cuda, BS_METHOD_LS, "ls");
	if (!small()) {
		check_many(&bs_engine_cuda, BS_METHOD_GRIDDING, "gridding");
		check_many(&bs_engine_cuda, BS_METHOD_LS, "ls");
	}
	(void)snprintf(clean, sizeof(clean), "rm -rf '%s'", cache);
	CHECK(system(clean) == 0, "the folder is removed");
}

int main(void)
{
	return twin_main("arming on the GPU", 2, compare_all);
}

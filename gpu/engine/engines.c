/* gpu/engine/engines.c - which engine serves a method and a backend; see engines.h */
#include "gpu/engine/engines.h"

#include <stdio.h>
#include <string.h>

#include "gpu/encode/encode.h"
#include "gpu/engine/shares.h"
#include "gpu/nufft/cuda/choice.h"

#if BS_GPU
#include "gpu/device/memory.h"
#include "gpu/device/reach.h"
#include "gpu/device/link.h"
#include "gpu/device/stream.h"
#define CUDA(engine) (&(engine))
#else
#define CUDA(engine) NULL
#endif

/*
 * A method's functions; its traits are in core/method.c. NULL: it has none, or not in this build.
 */
static const struct {
	const struct bs_engine *host, *cuda;
	const struct bs_engine *coils; /* on several GPUs, each with some of the coils (shares.h) */
	const struct bs_tuner *tuner;
} table[] = {
	/* clang-format off */
	[BS_METHOD_GRIDDING] = { &bs_engine_gridding_host, CUDA(bs_engine_gridding_cuda),
				 CUDA(bs_engine_gridding_multi), CUDA(bs_gridding_tuner) },
	[BS_METHOD_LS] = { &bs_engine_ls_host, CUDA(bs_engine_ls_cuda),
			   CUDA(bs_engine_ls_multi), CUDA(bs_ls_tuner) },
	[BS_METHOD_SENSE] = { &bs_engine_sense_host, CUDA(bs_engine_sense_cuda),
			      CUDA(bs_engine_sense_multi), CUDA(bs_sense_tuner) },
	[BS_METHOD_CARTESIAN] = { &bs_engine_cartesian_host, CUDA(bs_engine_cartesian_cuda),
				  NULL, NULL },
	[BS_METHOD_CARTESIAN_SENSE] = { &bs_engine_unfold_host, CUDA(bs_engine_unfold_cuda),
					NULL, NULL },
	[BS_METHOD_NOOP] = { &bs_engine_noop, &bs_engine_noop, NULL, NULL },
	[BS_METHOD_PASS] = { &bs_engine_noop, &bs_engine_noop, NULL, NULL },
	/* clang-format on */
};
_Static_assert(sizeof(table) / sizeof(table[0]) == BS_METHODS, "a row for each method");

/* 0: there is a GPU. */
static int answers(struct bs_fail *why)
{
#if BS_GPU
	return bs_gpu_answers(why);
#else
	return bs_fail(why, BS_ERR_UNSUPPORTED, "this program was built without CUDA");
#endif
}

/* 0: the current GPU works. */
static int probe(struct bs_fail *why)
{
#if BS_GPU
	struct bs_gpu_info info;

	return bs_gpu_probe(&info, why);
#else
	return answers(why);
#endif
}

/* 0: the site's GPUs are there and of one kind, and the first is current from here on. */
static int use(const struct bs_devices *d, struct bs_fail *why)
{
#if BS_GPU
	int device[BS_DEVICES_MAX];
	struct bs_fail reason;

	for (uint32_t i = 0; i < d->count; i++)
		device[i] = (int)d->device[i];
	if (d->count == 0)
		return 0;
	if (bs_link_check(d->count, device, &reason) != 0)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "gpu.devices: %s", reason.text);
	return bs_gpu_use(d->device[0], why);
#else
	(void)d;
	(void)why;
	return 0;
#endif
}

int bs_engines_policy(const struct bs_devices *devices, enum bs_wait wait, bool urgent,
		      struct bs_fail *why)
{
#if BS_GPU
	int rc = 0;

	if (answers(NULL) != 0 || use(devices, NULL) != 0)
		return 0; /* bs_engine_find says so */
	for (uint32_t i = devices->count; rc == 0 && i-- > 0;) {
		rc = bs_gpu_use(devices->device[i], why);
		if (rc == 0)
			rc = bs_stream_policy(wait, urgent, why);
	}
	return rc;
#else
	(void)devices;
	(void)wait;
	(void)urgent;
	(void)why;
	return 0;
#endif
}

bool bs_engines_on_gpu(const char *name)
{
	return strstr(name, "cuda") != NULL;
}

double bs_gridding_accuracy(const struct bs_protocol *p, const struct bs_engine *engine)
{
	const struct bs_plan plan = bs_plan_of(p);
	const struct bs_nufft_spec s = bs_gridding_spec(p);

	if (plan.on_grid || plan.encode == BS_ENCODE_NOTHING)
		return 0.0;
	return bs_engines_on_gpu(engine->name) ? bs_nufft_cuda_accuracy(&s) : bs_nufft_accuracy(&s);
}

static const struct bs_engine *engine_on(const struct bs_protocol *p)
{
	switch (bs_shares_of(p).how) {
	case BS_SHARING_COILS:
		return table[p->method].coils;
	case BS_SHARING_SLABS:
		return CUDA(bs_engine_slabs_multi);
	case BS_SHARING_NONE:
		break;
	}
	return table[p->method].cuda;
}

/* The key, and its value, that has no CUDA engine; NULL: there is none. */
static const char *host_only_of(const struct bs_protocol *p)
{
	return bs_plan_of(p).host_only
		       ? "trajectory.type stream, but for whole frames in 2D, density ramp or "
			 "none, without a preconditioner,"
	       : p->field.from == BS_FIELD_ECHOES ? "field.from echoes"
	       : bs_protocol_map_images(p) > 1    ? "image.map_sets 2"
						  : NULL;
}

/*
 * *cuda: it runs on a GPU. An error: backend cuda without a GPU, or the site's GPUs are not here.
 */
static int choose_backend(bool *cuda, const struct bs_protocol *p, struct bs_fail *why)
{
	const struct bs_engine *engine = table[p->method].cuda;
	const char *host_only = host_only_of(p);
	struct bs_fail reason = { 0 };
	int rc;

	*cuda = p->backend == BS_BACKEND_CUDA;
	if (host_only != NULL && *cuda)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "protocol '%s': %s has no CUDA engine: backend host", p->name,
			       host_only);
	if (host_only != NULL)
		return 0;
	if (engine == NULL || p->backend == BS_BACKEND_HOST ||
	    (p->backend == BS_BACKEND_AUTO && engine == table[p->method].host))
		return 0;
	rc = answers(&reason);
	if (rc == 0 && use(&p->gpu_devices, &reason) != 0)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "protocol '%s': %s", p->name, reason.text);
	if (rc == 0)
		rc = probe(&reason);
	if (rc != 0 && *cuda)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "protocol '%s': backend cuda: %s", p->name,
			       reason.text);
	*cuda = rc == 0;
	return 0;
}

/* Engines make maps from the scan where all coils are combined, or solved for, with them. */
static bool has_stages(const struct bs_protocol *p)
{
	const struct bs_plan plan = bs_plan_of(p);
	const bool works = plan.encode != BS_ENCODE_NOTHING;
	const bool direct = works && plan.solve == BS_SOLVE_NONE;

	return (!bs_plan_has(plan, BS_PLAN_ECHOES) || direct) &&
	       (plan.maps != BS_PLAN_MAPS_SCAN || direct || (works && plan.joint));
}

/* Nor do these with a path that is known only when a frame is whole. */
static bool takes_path(const struct bs_protocol *p)
{
	const struct bs_plan plan = bs_plan_of(p);

	return plan.encode == BS_ENCODE_NOTHING ||
	       (plan.encode == BS_ENCODE_PATH && plan.maps != BS_PLAN_MAPS_SCAN &&
		!bs_plan_has(plan, BS_PLAN_ECHOES));
}

int bs_engine_find(const struct bs_engine **engine, const struct bs_protocol *p,
		   struct bs_fail *why)
{
	bool cuda;
	int rc;

	if ((unsigned)p->method >= BS_METHODS)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "protocol '%s': no such method", p->name);
#if BS_GPU
	bs_reach_hold(p->gpu_route);
#endif
	rc = choose_backend(&cuda, p, why);
	if (rc != 0)
		return rc;
	*engine = !has_stages(p) ? NULL : cuda ? engine_on(p) : table[p->method].host;
	if (*engine == NULL)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       cuda && !BS_GPU ? "protocol '%s': backend cuda: this program was "
						 "built without CUDA"
					       : "protocol '%s': method %s has no %s engine here",
			       p->name, bs_method_name(p->method), cuda ? "CUDA" : "host");
	if (bs_plan_of(p).streams && !takes_path(p))
		return bs_fail(
			why, BS_ERR_UNSUPPORTED,
			"protocol '%s': trajectory.type stream: engine %s takes no path with "
			"the readouts",
			p->name, (*engine)->name);
	return 0;
}

const struct bs_tuner *bs_engine_tuner(const struct bs_protocol *p)
{
	const struct bs_plan plan = bs_plan_of(p);

	return plan.off_resonance || plan.streams ? NULL : table[p->method].tuner;
}

void bs_engine_place(char *words, size_t size, const struct bs_engine *engine,
		     const struct bs_protocol *p)
{
	const char *why = p->backend == BS_BACKEND_AUTO ? host_only_of(p) : NULL;
	const struct bs_shares s = bs_shares_of(p);

	if (bs_engines_on_gpu(engine->name))
		(void)snprintf(words, size, "%s", s.words);
	else if (why != NULL)
		(void)snprintf(words, size, "host: %s has no CUDA engine", why);
	else
		(void)snprintf(words, size, "host");
}

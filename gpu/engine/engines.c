/* gpu/engine/engines.c - the engine of a plan's place; see engines.h */
#include "gpu/engine/engines.h"

#include <stdio.h>

#include "gpu/encode/encode.h"
#include "gpu/engine/grouped.h"
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

/* Engines of the places; NULL: not in this build. */
static const struct bs_engine *const places[] = {
	[BS_PLACE_NOTHING] = &bs_engine_noop,     [BS_PLACE_HOST] = &bs_engine_host,
	[BS_PLACE_GPU] = CUDA(bs_engine_cuda),    [BS_PLACE_COILS] = CUDA(bs_engine_coils),
	[BS_PLACE_SLABS] = CUDA(bs_engine_slabs),
};
_Static_assert(sizeof(places) / sizeof(places[0]) == BS_PLACES, "an engine for each place");

/* Returns 0 when there is a GPU. */
static int answers(struct bs_fail *why)
{
#if BS_GPU
	return bs_gpu_answers(why);
#else
	return bs_fail(why, BS_ERR_UNSUPPORTED, "this program was built without CUDA");
#endif
}

/* Returns 0 when the current GPU works. */
static int probe(struct bs_fail *why)
{
#if BS_GPU
	struct bs_gpu_info info;

	return bs_gpu_probe(&info, why);
#else
	return answers(why);
#endif
}

/* Returns 0 when the site's GPUs are there and of one kind; the first is then current. */
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
		return 0; /* bs_engine_find reports it */
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

double bs_gridding_accuracy(const struct bs_protocol *p, const struct bs_engine *engine)
{
	const struct bs_plan *plan = &p->plan;
	const struct bs_nufft_spec s = bs_gridding_spec(p);

	if (plan->on_grid || plan->encode == BS_ENCODE_NOTHING)
		return 0.0;
	return bs_plan_on_gpu(engine->place) ? bs_nufft_cuda_accuracy(&s) : bs_nufft_accuracy(&s);
}

/* Fails for backend cuda without a GPU, and when the site's GPUs are missing. */
static int choose_place(enum bs_plan_place *place, const struct bs_protocol *p, struct bs_fail *why)
{
	const bool cuda = p->backend == BS_BACKEND_CUDA;
	struct bs_fail reason = { 0 };
	int rc;

	*place = p->plan.place;
	if (cuda && p->plan.host_only != BS_HOST_ONLY_NOT)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "protocol '%s': %s has no CUDA engine: backend host", p->name,
			       bs_host_only_words(p->plan.host_only));
	if (!cuda && places[*place] == NULL)
		*place = BS_PLACE_HOST;
	if (!cuda && !bs_plan_on_gpu(*place))
		return 0;
	rc = answers(&reason);
	if (rc == 0 && use(&p->gpu_devices, &reason) != 0)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "protocol '%s': %s", p->name, reason.text);
	if (rc == 0)
		rc = probe(&reason);
	if (rc != 0 && cuda)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "protocol '%s': backend cuda: %s", p->name,
			       reason.text);
	if (rc != 0)
		*place = BS_PLACE_HOST;
	return 0;
}

/* Refuses a protocol that no engine can do: it asks for more than any place of a plan offers. */
static int refuse_absent(const struct bs_protocol *p, enum bs_plan_place place, struct bs_fail *why)
{
	if (p->plan.absent == BS_ABSENT_STAGES)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "protocol '%s': method %s has no %s engine here", p->name,
			       bs_method_name(p->method), bs_plan_on_gpu(place) ? "CUDA" : "host");
	return bs_fail(why, BS_ERR_UNSUPPORTED,
		       "protocol '%s': trajectory.type stream: engine %s takes no path with the "
		       "readouts",
		       p->name, bs_plan_engine(&p->plan, place));
}

int bs_engine_find(const struct bs_engine **engine, const struct bs_protocol *p,
		   struct bs_fail *why)
{
	enum bs_plan_place place;
	int rc;

	if ((unsigned)p->method >= BS_METHODS)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "protocol '%s': no such method", p->name);
	if (!bs_plan_holds(p))
		return bs_fail(why, BS_ERR_CONFIG, "protocol '%s': its plan is another one's",
			       p->name);
#if BS_GPU
	bs_reach_hold(p->gpu_route);
#endif
	rc = choose_place(&place, p, why);
	if (rc == 0 && p->plan.absent != BS_ABSENT_NOT)
		rc = refuse_absent(p, place, why);
	if (rc == 0 && bs_grouped(p))
		*engine = place == BS_PLACE_HOST ? &bs_engine_grouped : &bs_engine_grouped_cuda;
	else if (rc == 0)
		*engine = places[place];
	return rc;
}

const struct bs_tuner *bs_engine_tuner(const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;

	return plan->encode == BS_ENCODE_GRID && plan->solve == BS_SOLVE_NONE
		       ? CUDA(bs_gridding_tuner)
		       : NULL;
}

void bs_engine_place(char *words, size_t size, const struct bs_engine *engine,
		     const struct bs_protocol *p)
{
	const enum bs_host_only why = p->plan.host_only;

	if (bs_plan_on_gpu(engine->place))
		(void)bs_plan_place_words(words, size, p);
	else if (p->backend == BS_BACKEND_AUTO && why != BS_HOST_ONLY_NOT)
		(void)snprintf(words, size, "host: %s has no CUDA engine", bs_host_only_words(why));
	else
		(void)snprintf(words, size, "host");
}

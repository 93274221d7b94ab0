/* gpu/engine/mapped.c - see mapped.h */
#include "gpu/engine/mapped.h"

#include <stdlib.h>

#include "core/latency/budget.h"
#include "core/log.h"
#include "core/thread/clock.h"
#include "gpu/calibrate/maps.h"
#include "gpu/engine/center.h"
#include "gpu/engine/echoes.h"
#include "gpu/engine/engines.h"
#if BS_GPU
#include "gpu/engine/cuda/mapped.h"
#endif

struct engine {
	const struct bs_engine *inner;
	void *self;
	const struct bs_protocol *p;
	struct bs_maps *maps;
	struct bs_center *center; /* of protocols that are not on the grid */
#if BS_GPU
	struct bs_mapped_cuda *cuda; /* NULL: the host makes the maps */
#endif
};

static int need_of(const struct bs_engine *inner, const struct bs_protocol *p, struct bs_need *need,
		   struct bs_fail *why)
{
	int rc = bs_maps_need(p, need, why);

	if (rc == 0 && !bs_protocol_on_grid(p))
		rc = bs_center_need(p, need, why);
	return rc != 0 ? rc : inner->need(p, need, why);
}

static void mapped_disarm(void *self)
{
	struct engine *e = self;

	if (e->self != NULL)
		e->inner->disarm(e->self);
	bs_center_disarm(e->center);
#if BS_GPU
	bs_mapped_cuda_close(e->cuda);
#endif
	bs_maps_close(e->maps);
	free(e);
}

/* ESPIRiT where the images are made; the host's, later, where that has no room for it. */
static int arm_maps(struct engine *e, struct bs_fail *why)
{
#if BS_GPU
	struct bs_fail own = { 0 };
	int rc;

	if (bs_maps_espirit(e->maps) == NULL || !bs_engines_on_gpu(e->inner->name))
		return 0;
	rc = bs_mapped_cuda_open(&e->cuda, bs_maps_espirit(e->maps), e->p->name, &own);
	if (rc == 0)
		bs_maps_elsewhere(e->maps, bs_mapped_cuda_run, e->cuda);
	else if (rc == BS_ERR_NOMEM)
		bs_log(BS_LOG_WARN, "protocol '%s': coil maps by the host, not the GPU: %s",
		       e->p->name, own.text);
	return rc == 0 || rc == BS_ERR_NOMEM ? 0 : bs_fail(why, rc, "%s", own.text);
#else
	(void)e;
	(void)why;
	return 0;
#endif
}

/* What arm_maps takes, too, where it can be had. */
static int device_of(const struct bs_engine *inner, const struct bs_protocol *p, const float *field,
		     struct bs_need *need, struct bs_fail *why)
{
#if BS_GPU
	struct bs_espirit_spec s;

	if (bs_engines_on_gpu(inner->name) && bs_maps_by_espirit(p, &s))
		bs_need_add(need, "device coil maps", 1, bs_mapped_cuda_bytes(&s));
#endif
	return inner->device != NULL ? inner->device(p, field, need, why) : 0;
}

static int arm_of(const struct bs_engine *inner, void **self, const struct bs_protocol *p,
		  const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct engine *e = calloc(1, sizeof(*e));
	int rc;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->inner = inner;
	e->p = p;
	rc = bs_maps_plan(&e->maps, p, tables->made, env->arena, env->team, why);
	if (rc == 0 && !bs_protocol_on_grid(p))
		rc = bs_center_arm(&e->center, p, bs_maps_fewest(p), tables->traj, env, why);
	if (rc == 0)
		rc = inner->arm(&e->self, p, tables, env, why);
	if (rc != 0)
		e->self = NULL;
	if (rc == 0) /* after its own engine, which cannot do without the GPU's memory */
		rc = arm_maps(e, why);
	if (rc != 0) {
		mapped_disarm(e);
		return rc;
	}
	*self = e;
	return 0;
}

static int mapped_begin(void *self, uint32_t frame)
{
	const struct engine *e = self;
	int rc = 0;

	if (e->center != NULL && bs_maps_wants(e->maps, frame))
		rc = bs_center_begin(e->center, frame);
	return rc != 0 ? rc : e->inner->begin(e->self, frame);
}

static int mapped_add(void *self, uint32_t frame, uint32_t readout, const float *data,
		      size_t coil_stride)
{
	const struct engine *e = self;
	int rc = 0;

	bs_maps_add(e->maps, frame, readout, false, data, coil_stride);
	if (e->center != NULL && bs_maps_wants(e->maps, frame))
		rc = bs_center_add(e->center, frame, readout, data, coil_stride);
	return rc != 0 ? rc : e->inner->add(e->self, frame, readout, data, coil_stride);
}

static int mapped_side(void *self, uint32_t frame, enum bs_kind kind, uint32_t row,
		       const struct bs_mrd_acq *head, const float *data, size_t coil_stride)
{
	const struct engine *e = self;

	if (kind == BS_KIND_CALIBRATION)
		bs_maps_add(e->maps, frame, row, true, data, coil_stride);
	return e->inner->side != NULL
		       ? e->inner->side(e->self, frame, kind, row, head, data, coil_stride)
		       : 0;
}

static void mapped_scan(void *self)
{
	const struct engine *e = self;

	bs_maps_scan(e->maps);
	if (e->inner->scan != NULL)
		e->inner->scan(e->self);
}

/*
 * Before an image of the frame, or of the groups held of its window: its slice's maps, and what
 * making them took; 0: they were there.
 */
static int make(const struct engine *e, uint32_t frame, const uint8_t *held, int64_t *spent_ns,
		struct bs_report *report)
{
	const int64_t start_ns = bs_now_ns();
	uint32_t size[3];
	const float *block;
	bool made = true;
	int rc;

	*spent_ns = 0;
	if (!bs_maps_due(e->maps, frame))
		return 0;
	if (e->center == NULL) {
		rc = bs_maps_make(e->maps, frame, &made, &report->why);
	} else {
		rc = bs_center_block(e->center, frame, held, size, &block, &report->why);
		if (rc == 0)
			rc = bs_maps_given(e->maps, frame, size, block, &report->why);
	}
	if (rc == BS_ERR_VALUE) /* lines of zeros are none */
		report->why.code = rc = BS_ERR_CALIBRATION;
	if (rc == 0 && made && e->inner->maps != NULL)
		rc = e->inner->maps(e->self, frame / e->p->contrasts);
	if (rc == 0 && made)
		*spent_ns = bs_now_ns() - start_ns;
	return rc;
}

static void mapped_reading(void *self, bool wait, uint64_t *made, uint64_t *read)
{
	const struct engine *e = self;

	*made = *read = 0; /* the calibration's part of a readout is copied at once */
	if (e->inner->reading != NULL)
		e->inner->reading(e->self, wait, made, read);
}

static int mapped_finish(void *self, uint32_t frame, int64_t deadline_ns, float *image,
			 struct bs_report *report)
{
	const struct engine *e = self;
	int64_t spent_ns;
	int rc = make(e, frame, NULL, &spent_ns, report);

	if (rc == 0)
		rc = e->inner->finish(e->self, frame, bs_budget_later(e->p, deadline_ns, spent_ns),
				      image, report);
	report->stage_ns[BS_BUDGET_CALIBRATION] += spent_ns;
	return rc;
}

static int mapped_fold(void *self, uint32_t frame, uint32_t group)
{
	const struct engine *e = self;
	int rc = 0;

	if (e->center != NULL && bs_maps_wants(e->maps, frame))
		rc = bs_center_fold(e->center, frame, group);
	return rc != 0 ? rc : e->inner->fold(e->self, frame, group);
}

static int mapped_slide(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
			float *image, struct bs_report *report)
{
	const struct engine *e = self;
	int64_t spent_ns;
	int rc = make(e, frame, held, &spent_ns, report);

	if (rc == 0)
		rc = e->inner->slide(e->self, frame, held,
				     bs_budget_later(e->p, deadline_ns, spent_ns), image, report);
	report->stage_ns[BS_BUDGET_CALIBRATION] += spent_ns;
	return rc;
}

/* Of what others bring: a field map. */
static int mapped_maps(void *self, uint32_t slice)
{
	const struct engine *e = self;

	return e->inner->maps != NULL ? e->inner->maps(e->self, slice) : 0;
}

/* An engine in front of another one, which has windows or has none. */
#define MAPPED(engine, called, has_fold, has_slide, previews)                                      \
	static int engine##_need(const struct bs_protocol *p, struct bs_need *need,                \
				 struct bs_fail *why)                                              \
	{                                                                                          \
		return need_of(&bs_engine_##engine, p, need, why);                                 \
	}                                                                                          \
	static int engine##_device(const struct bs_protocol *p, const float *field,                \
				   struct bs_need *need, struct bs_fail *why)                      \
	{                                                                                          \
		return device_of(&bs_engine_##engine, p, field, need, why);                        \
	}                                                                                          \
	static int engine##_arm(void **self, const struct bs_protocol *p,                          \
				const struct bs_tables *tables, const struct bs_arm_env *env,      \
				struct bs_fail *why)                                               \
	{                                                                                          \
		return arm_of(&bs_engine_##engine, self, p, tables, env, why);                     \
	}                                                                                          \
	static const struct bs_engine mapped_##engine = {                                          \
		.name = called,                                                                    \
		.need = engine##_need,                                                             \
		.device = engine##_device,                                                         \
		.arm = engine##_arm,                                                               \
		.begin = mapped_begin,                                                             \
		.add = mapped_add,                                                                 \
		.side = mapped_side,                                                               \
		.scan = mapped_scan,                                                               \
		.finish = mapped_finish,                                                           \
		.fold = has_fold,                                                                  \
		.slide = has_slide,                                                                \
		.disarm = mapped_disarm,                                                           \
		.reading = mapped_reading,                                                         \
		.maps = mapped_maps,                                                               \
		.preview = previews,                                                               \
	};

MAPPED(cartesian_host, "cartesian/host", NULL, NULL, NULL)
MAPPED(echoes_cartesian_host, "cartesian/host", NULL, NULL, NULL)
MAPPED(echoes_gridding_host, "gridding/host", NULL, NULL, NULL)
MAPPED(unfold_host, "unfold/host", NULL, NULL, NULL)
MAPPED(gridding_host, "gridding/host", mapped_fold, mapped_slide, NULL)
MAPPED(sense_host, "sense/host", mapped_fold, mapped_slide, &bs_engine_gridding_host)
#if BS_GPU
MAPPED(cartesian_cuda, "cartesian/cuda", NULL, NULL, NULL)
MAPPED(unfold_cuda, "unfold/cuda", NULL, NULL, NULL)
MAPPED(gridding_cuda, "gridding/cuda", mapped_fold, mapped_slide, NULL)
MAPPED(sense_cuda, "sense/cuda", mapped_fold, mapped_slide, &bs_engine_gridding_cuda)
#endif

const struct bs_engine *bs_engine_mapped(const struct bs_engine *engine)
{
	static const struct {
		const struct bs_engine *inner, *mapped;
	} all[] = {
		{ &bs_engine_cartesian_host, &mapped_cartesian_host },
		{ &bs_engine_echoes_cartesian_host, &mapped_echoes_cartesian_host },
		{ &bs_engine_echoes_gridding_host, &mapped_echoes_gridding_host },
		{ &bs_engine_unfold_host, &mapped_unfold_host },
		{ &bs_engine_gridding_host, &mapped_gridding_host },
		{ &bs_engine_sense_host, &mapped_sense_host },
#if BS_GPU
		{ &bs_engine_cartesian_cuda, &mapped_cartesian_cuda },
		{ &bs_engine_unfold_cuda, &mapped_unfold_cuda },
		{ &bs_engine_gridding_cuda, &mapped_gridding_cuda },
		{ &bs_engine_sense_cuda, &mapped_sense_cuda },
#endif
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].inner == engine)
			return all[i].mapped;
	return NULL;
}

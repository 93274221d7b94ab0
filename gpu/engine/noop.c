/* gpu/engine/noop.c - no reconstruction: images of zeros, to time the service itself */
#include "gpu/engine/engines.h"

#include <string.h>

static int noop_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	(void)p;
	(void)why;
	bs_need_add(need, "state", 1, sizeof(size_t));
	return 0;
}

static int noop_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		    const struct bs_arm_env *env, struct bs_fail *why)
{
	size_t *image_bytes = bs_arena_take(env->arena, sizeof(*image_bytes), BS_ALIGN);

	(void)tables;
	if (image_bytes == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': arena", p->name);
	*image_bytes = (size_t)bs_protocol_image_bytes(p);
	*self = image_bytes;
	return 0;
}

static int noop_begin(void *self, uint32_t frame)
{
	(void)self;
	(void)frame;
	return 0;
}

static int noop_add(void *self, uint32_t frame, uint32_t readout, const float *k, const float *data,
		    size_t coil_stride)
{
	(void)self;
	(void)frame;
	(void)readout;
	(void)k;
	(void)data;
	(void)coil_stride;
	return 0;
}

static int noop_image(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
		      float *image, struct bs_report *report)
{
	(void)frame;
	(void)held;
	(void)deadline_ns;
	(void)report;
	if (image != NULL)
		memset(image, 0, *(const size_t *)self);
	return 0;
}

static void noop_disarm(void *self)
{
	(void)self;
}

static int noop_fold(void *self, uint32_t frame, uint32_t group)
{
	(void)self;
	(void)frame;
	(void)group;
	return 0;
}

static int noop_peek(void *self, uint32_t frame, float *image)
{
	return noop_image(self, frame, NULL, INT64_MAX, image, NULL);
}

const struct bs_engine bs_engine_noop = {
	.place = BS_PLACE_NOTHING,
	.need = noop_need,
	.arm = noop_arm,
	.begin = noop_begin,
	.add = noop_add,
	.image = noop_image,
	.disarm = noop_disarm,
	.fold = noop_fold,
	.peek = noop_peek,
};

/* gpu/engine/grouped.c - see grouped.h */
#include "gpu/engine/grouped.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/multiband/apart.h"
#include "gpu/engine/engines.h"

/* Cycles from a readout to the next that differ by less are the same. */
#define SAME 1e-3

struct grouped {
	const struct bs_protocol *p;
	struct bs_protocol volume; /* the protocol of a group's slices as a volume */
	const struct bs_engine *engine;
	void *self;
	struct bs_traj traj;     /* its trajectory */
	struct bs_tables tables; /* its tables */
	const float *given;      /* maps of the caller, [slice][coil][y][x] */
	float *maps;             /* the same as [group][coil][slice of it][y][x] */
	float *readout;          /* a readout with its phase taken off, [coil][sample] complex */
	float *images;           /* the volume's image */
	struct bs_once once;     /* the solve that it is of */
};

static double shift_of(const struct bs_protocol *p)
{
	const double shift = p->multiband.shift;

	return shift == 0.0 ? 1.0 / p->multiband.factor : shift == 1.0 ? 0.0 : shift;
}

/* Each slice's frames have places of their own, as repetitions of the group's. */
static struct bs_protocol volume_of(const struct bs_protocol *p)
{
	const uint32_t bands = p->multiband.factor;
	struct bs_protocol v = *p;

	v.dims = 3;
	v.matrix[2] = bands;
	v.image_matrix[2] = p->image_matrix[0] > 0 ? bands : 0;
	v.slices = bs_multiband_groups(&p->multiband, p->slices);
	v.repetitions = (p->repetitions > 1 ? p->repetitions : 1) * bands;
	v.parallel = BS_PARALLEL_NONE;
	v.volume = false;
	v.gpu_devices.count = p->gpu_devices.count > 1 ? 1 : p->gpu_devices.count;
	memset(&v.multiband, 0, sizeof(v.multiband));
	bs_plan_make(&v);
	return v;
}

/* The frame of the volume's protocol that holds a slice's frame. */
static uint32_t frame_of(const struct bs_protocol *p, uint32_t frame)
{
	const uint32_t lanes = bs_protocol_lanes(p);
	const uint32_t slice = bs_protocol_frame_slice(p, frame);
	const uint32_t pair =
		bs_apart_group(p, slice) * p->contrasts + bs_protocol_frame_contrast(p, frame);

	return (pair * p->multiband.factor + bs_apart_band_of(p, slice)) * lanes + frame % lanes;
}

static void lay_out(struct grouped *g, struct bs_room *r)
{
	const struct bs_protocol *v = &g->volume;

	bs_room_take(r, &g->maps, "maps by groups", v->slices, bs_protocol_map_values(v) * 8);
	bs_room_take(r, &g->readout, "readout", 1, (uint64_t)v->samples * v->coils * 8);
	bs_room_take(r, &g->images, "image of a group", 1, bs_protocol_image_bytes(v));
}

static int grouped_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	struct grouped g = { .volume = volume_of(p) };
	struct bs_room room = { .need = need };
	int rc = bs_engine_find(&g.engine, &g.volume, why);

	lay_out(&g, &room);
	return rc != 0 ? rc : g.engine->need(&g.volume, need, why);
}

static int grouped_device(const struct bs_protocol *p, const float *field, struct bs_need *need,
			  struct bs_fail *why)
{
	const struct bs_protocol volume = volume_of(p);
	const struct bs_engine *engine;
	int rc = bs_engine_find(&engine, &volume, why);

	return rc != 0 || engine->device == NULL ? rc : engine->device(&volume, field, need, why);
}

/* Makes the volume's trajectory: readout r has kz = - r shifts, folded to [-0.5, 0.5). */
static int make_path(struct grouped *g, const struct bs_traj *t, struct bs_fail *why)
{
	const double shift = shift_of(g->p);
	int rc = bs_traj_open(&g->traj, 3, t->samples, t->readouts, why);

	for (uint64_t i = 0; rc == 0 && i < (uint64_t)t->samples * t->readouts; i++) {
		const double cycles = shift * (double)(i / t->samples);

		memcpy(g->traj.k + 3 * i, t->k + 2 * i, 2 * sizeof(*t->k));
		g->traj.k[3 * i + 2] = (float)(ceil(cycles - 0.5) - cycles);
	}
	return rc;
}

/* Copies a slice's maps to its group's. */
static void take_maps(const struct grouped *g, uint32_t slice)
{
	const struct bs_protocol *p = g->p;
	const size_t plane = (size_t)bs_protocol_voxels(p);
	float *to = g->maps + 2 * (bs_apart_group(p, slice) * bs_protocol_map_values(&g->volume) +
				   bs_apart_band_of(p, slice) * plane);
	const float *from = bs_maps_of(g->given, p, slice);

	for (uint32_t c = 0; c < p->coils; c++)
		memcpy(to + 2 * c * plane * p->multiband.factor, from + 2 * c * plane, plane * 8);
}

static void grouped_disarm(void *self)
{
	struct grouped *g = self;

	if (g->self != NULL)
		g->engine->disarm(g->self);
	bs_traj_close(&g->traj);
	free(g);
}

/* Makes the tables of the volume. */
static int make_tables(struct grouped *g, const struct bs_tables *tables, struct bs_fail *why)
{
	if (tables->maps == NULL || tables->traj == NULL)
		return bs_fail(why, BS_ERR_CONFIG, "protocol '%s': no maps, or no trajectory",
			       g->p->name);
	g->given = tables->maps;
	for (uint32_t s = 0; s < g->p->slices; s++)
		take_maps(g, s);
	g->tables = *tables;
	g->tables.traj = &g->traj;
	g->tables.maps = g->maps;
	return make_path(g, tables->traj, why);
}

static int grouped_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		       const struct bs_arm_env *env, struct bs_fail *why)
{
	struct grouped *g = calloc(1, sizeof(*g));
	struct bs_room room = { .arena = env->arena };
	int rc;

	if (g == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	g->p = p;
	g->volume = volume_of(p);
	rc = bs_engine_find(&g->engine, &g->volume, why);
	lay_out(g, &room);
	if (rc == 0 && room.full)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': groups", p->name);
	if (rc == 0)
		rc = make_tables(g, tables, why);
	if (rc == 0)
		rc = g->engine->arm(&g->self, &g->volume, &g->tables, env, why);
	if (rc != 0) {
		grouped_disarm(g);
		return rc;
	}
	*self = g;
	return 0;
}

static void grouped_scan(void *self)
{
	struct grouped *g = self;

	g->once.lines = 0;
	if (g->engine->scan != NULL)
		g->engine->scan(g->self);
}

static int grouped_begin(void *self, uint32_t frame)
{
	struct grouped *g = self;

	return g->engine->begin(g->self, frame_of(g->p, frame));
}

/* Slice n/2 of a volume of n is its center, whose phase a readout must not have. */
static int grouped_add(void *self, uint32_t frame, uint32_t readout, const float *k,
		       const float *data, size_t coil_stride)
{
	struct grouped *g = self;
	const struct bs_protocol *p = g->p;
	const double angle = -2.0 * M_PI * shift_of(p) * (p->multiband.factor / 2) * readout;
	const float c = (float)cos(angle);
	const float s = (float)sin(angle);

	for (uint32_t coil = 0; coil < p->coils; coil++) {
		const float *in = data + 2 * coil * coil_stride;
		float *out = g->readout + 2 * (size_t)coil * p->samples;

		for (uint32_t i = 0; i < p->samples; i++) {
			out[2 * i] = in[2 * i] * c - in[2 * i + 1] * s;
			out[2 * i + 1] = in[2 * i] * s + in[2 * i + 1] * c;
		}
	}
	return g->engine->add(g->self, frame_of(p, frame), readout, k, g->readout, p->samples);
}

/* The header moves the slices as the protocol was armed for. */
static int check_shift(const struct grouped *g, struct bs_report *report)
{
	const double *cycles = report->apart.cycles;
	const double shift = shift_of(g->p);

	for (uint32_t b = 0; b < report->apart.of; b++) {
		const double off = cycles[b] - b * shift;

		if (fabs(off - round(off)) > SAME)
			return bs_fail(&report->why, BS_ERR_SIZE,
				       "slice %u of a group turns by %.4g from readout to readout, "
				       "the protocol is armed for %.4g (multiband.shift)",
				       b, cycles[b], b * shift);
	}
	return 0;
}

static int grouped_image(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
			 float *image, struct bs_report *report)
{
	struct grouped *g = self;
	const size_t bytes = (size_t)bs_protocol_image_bytes(g->p);
	const uint32_t band = bs_apart_band_of(g->p, bs_protocol_frame_slice(g->p, frame));
	int rc = check_shift(g, report);

	if (rc == 0 && !bs_once_made(&g->once, report)) {
		rc = g->engine->image(g->self, frame_of(g->p, frame), held, deadline_ns,
				      image != NULL ? g->images : NULL, report);
		bs_once_make(&g->once, report);
		g->once.lines = rc == 0 && image != NULL ? g->once.lines : 0;
	}
	if (rc == 0 && image != NULL)
		memcpy(image, (const char *)g->images + band * bytes, bytes);
	return rc;
}

static int grouped_maps(void *self, uint32_t slice)
{
	struct grouped *g = self;

	g->once.lines = 0;
	take_maps(g, slice);
	return g->engine->maps != NULL ? g->engine->maps(g->self, bs_apart_group(g->p, slice)) : 0;
}

#define ENGINE(at)                                                                                 \
	{                                                                                          \
		.place = (at), .need = grouped_need, .device = grouped_device, .arm = grouped_arm, \
		.scan = grouped_scan, .begin = grouped_begin, .add = grouped_add,                  \
		.image = grouped_image, .maps = grouped_maps, .disarm = grouped_disarm             \
	}

const struct bs_engine bs_engine_grouped = ENGINE(BS_PLACE_HOST);
const struct bs_engine bs_engine_grouped_cuda = ENGINE(BS_PLACE_GPU);

/* gpu/image/combine.c - host twin; see combine.h */
#include "gpu/image/combine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/image/resize.h"

/* voxels of one task: a few coils of it stay in the first-level cache */
#define BLOCK 1024u

static float phase(float re, float im)
{
	return re == 0.0f && im == 0.0f ? 0.0f : atan2f(im, re);
}

static void store_values(const struct bs_combination *c, uint64_t at, const float *re,
			 const float *im, uint32_t n)
{
	if (c->output == BS_OUTPUT_COMPLEX)
		for (uint32_t i = 0; i < n; i++) {
			c->out[2 * (at + i)] = re[i];
			c->out[2 * (at + i) + 1] = im[i];
		}
	else if (c->output == BS_OUTPUT_PHASE)
		for (uint32_t i = 0; i < n; i++)
			c->out[at + i] = phase(re[i], im[i]);
	else
		for (uint32_t i = 0; i < n; i++)
			c->out[at + i] = sqrtf(re[i] * re[i] + im[i] * im[i]);
}

static void block_none(const struct bs_combination *c, uint64_t from, uint32_t n)
{
	for (uint32_t coil = 0; coil < c->coils; coil++) {
		const float *in = c->in + 2 * (coil * c->voxels + from);
		float *out = c->out +
			     (coil * c->voxels + from) * (c->output == BS_OUTPUT_COMPLEX ? 2 : 1);

		if (c->output == BS_OUTPUT_COMPLEX)
			memcpy(out, in, (size_t)n * 8);
		else if (c->output == BS_OUTPUT_PHASE)
			for (uint32_t i = 0; i < n; i++)
				out[i] = phase(in[2 * i], in[2 * i + 1]);
		else
			for (uint32_t i = 0; i < n; i++)
				out[i] = sqrtf(in[2 * i] * in[2 * i] +
					       in[2 * i + 1] * in[2 * i + 1]);
	}
}

static void block_rss(const struct bs_combination *c, uint64_t from, uint32_t n)
{
	float sum[BLOCK] = { 0 };
	const float zero[BLOCK] = { 0 };

	for (uint32_t coil = 0; coil < c->coils; coil++) {
		const float *in = c->in + 2 * (coil * c->voxels + from);

		for (uint32_t i = 0; i < n; i++)
			sum[i] += in[2 * i] * in[2 * i] + in[2 * i + 1] * in[2 * i + 1];
	}
	for (uint32_t i = 0; i < n; i++)
		sum[i] = sqrtf(sum[i]);
	if (c->output == BS_OUTPUT_COMPLEX)
		store_values(c, from, sum, zero, n);
	else
		memcpy(c->out + from, sum, (size_t)n * 4);
}

static void block_sense(const struct bs_combination *c, uint64_t from, uint32_t n)
{
	float re[BLOCK] = { 0 };
	float im[BLOCK] = { 0 };
	float power[BLOCK] = { 0 };

	for (uint32_t coil = 0; coil < c->coils; coil++) {
		const float *in = c->in + 2 * (coil * c->voxels + from);
		const float *s = c->maps + 2 * (coil * c->voxels + from);

		for (uint32_t i = 0; i < n; i++) {
			re[i] += s[2 * i] * in[2 * i] + s[2 * i + 1] * in[2 * i + 1];
			im[i] += s[2 * i] * in[2 * i + 1] - s[2 * i + 1] * in[2 * i];
			power[i] += s[2 * i] * s[2 * i] + s[2 * i + 1] * s[2 * i + 1];
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		float inverse = power[i] > 0.0f ? 1.0f / power[i] : 0.0f;

		re[i] *= inverse;
		im[i] *= inverse;
	}
	store_values(c, from, re, im, n);
}

static void block(void *arg, int task)
{
	const struct bs_combination *c = arg;
	uint64_t from = (uint64_t)task * BLOCK;
	uint32_t n = c->voxels - from < BLOCK ? (uint32_t)(c->voxels - from) : BLOCK;

	switch (c->how) {
	case BS_COMBINE_NONE:
		block_none(c, from, n);
		break;
	case BS_COMBINE_RSS:
		block_rss(c, from, n);
		break;
	case BS_COMBINE_SENSE:
		block_sense(c, from, n);
		break;
	}
}

void bs_combine(struct bs_team *team, struct bs_combination c)
{
	bs_team_do(team, block, &c, (int)((c.voxels + BLOCK - 1) / BLOCK));
}

/* ---- with the protocol's own matrix ---- */

struct bs_combiner {
	struct bs_team *team;
	enum bs_combine how;
	enum bs_output output;
	uint32_t coils;
	/* number of coils that are first combined to as many images as there are maps; 0: none */
	uint32_t mixed;
	uint64_t voxels, image_voxels;
	bool resizes;
	/* plan of resizing; NULL: the image leaves on the coil images' matrix */
	struct bs_resize *resize;
	float *resized;   /* memory for one image of image_voxels */
	float *joint;     /* sense: [set] images of voxels */
	float *reference; /* velocity: [place][coil] images of image_voxels */
	uint32_t references;
	/* These members belong to the run in progress, for the team's tasks. */
	bool first, last;
	float *image;
};

/*
 * The combination of a protocol. Of several images that explain the coils together, a complex
 * output has the first alone.
 */
static struct bs_combiner settings(const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;
	const bool one = plan->joint;
	const bool together = p->combine == BS_COMBINE_SENSE && bs_protocol_map_images(p) > 1 &&
			      !p->plan.keeps_phase;

	return (struct bs_combiner){
		.how = together ? BS_COMBINE_RSS
		       : one    ? BS_COMBINE_NONE
				: p->combine,
		.output = p->output,
		.coils = together ? bs_protocol_map_images(p)
			 : one    ? 1
				  : p->coils,
		.mixed = together && !one ? p->coils : 0,
		.voxels = bs_protocol_voxels(p),
		.image_voxels = bs_protocol_image_voxels(p),
		.resizes = bs_plan_has(plan, BS_PLAN_RESIZE),
		.references = bs_protocol_references(p),
	};
}

/* Bytes of one place where velocity's images are kept. */
static uint64_t kept_bytes(const struct bs_combiner *c)
{
	return bs_slot(c->coils * c->image_voxels * 8u);
}

/*
 * Number of places for velocity. Where images are resized, the images that a velocity is made from
 * also need one.
 */
static uint32_t places_of(const struct bs_combiner *c)
{
	return c->references > 0 ? c->references + c->resizes : 0;
}

static float *place_of(const struct bs_combiner *c, uint32_t place)
{
	return c->reference + (place - 1) * (kept_bytes(c) / sizeof(float));
}

static struct bs_resize_spec resize_of(const struct bs_protocol *p)
{
	struct bs_resize_spec s = { .images = 1 };

	for (int a = 0; a < 3; a++) {
		s.from[a] = p->matrix[a];
		s.to[a] = bs_protocol_image_axis(p, a);
	}
	return s;
}

/* Number of images that are combined before they are resized, or combined again. */
static uint64_t joints_of(const struct bs_combiner *c)
{
	return c->mixed > 0 ? c->coils : c->how == BS_COMBINE_SENSE && c->resizes;
}

int bs_combiner_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_combiner c = settings(p);
	const struct bs_resize_spec s = resize_of(p);

	if (joints_of(&c) > 0)
		bs_need_add(need, "combined image", 1, joints_of(&c) * c.voxels * 8u);
	if (c.references > 0)
		bs_need_add(need, "coil images of set 0", places_of(&c), kept_bytes(&c));
	if (!c.resizes)
		return 0;
	bs_need_add(need, "resized image", 1, c.image_voxels * 8u);
	return bs_resize_need(&s, need, why);
}

int bs_combiner_plan(struct bs_combiner **plan, const struct bs_protocol *p, struct bs_arena *arena,
		     struct bs_team *team, struct bs_fail *why)
{
	struct bs_combiner *c = malloc(sizeof(*c));
	const struct bs_resize_spec s = resize_of(p);
	uint64_t joints;
	int rc = 0;

	if (c == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': combination", p->name);
	*c = settings(p);
	c->team = team;
	joints = joints_of(c);
	if (joints > 0) {
		c->joint = bs_arena_take(arena, (size_t)(joints * c->voxels * 8u), BS_ALIGN);
		if (c->joint == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': combined image", p->name);
	}
	if (rc == 0 && c->references > 0) {
		c->reference =
			bs_arena_take(arena, (size_t)(kept_bytes(c) * places_of(c)), BS_ALIGN);
		if (c->reference == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': images of set 0", p->name);
	}
	if (rc == 0 && c->resizes) {
		c->resized = bs_arena_take(arena, (size_t)(c->image_voxels * 8u), BS_ALIGN);
		rc = c->resized == NULL
			     ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': resized images", p->name)
			     : bs_resize_plan(&c->resize, &s, arena, team, why);
	}
	if (rc != 0) {
		bs_combiner_close(c);
		return rc;
	}
	*plan = c;
	return 0;
}

void bs_combiner_close(struct bs_combiner *c)
{
	if (c == NULL)
		return;
	bs_resize_close(c->resize);
	free(c);
}

/* Adds the next coil's power to the image, which holds the sum of the coils before it. */
static void add_power(void *arg, int task)
{
	const struct bs_combiner *c = arg;
	const size_t step = c->output == BS_OUTPUT_COMPLEX ? 2 : 1;
	uint64_t from = (uint64_t)task * BLOCK;
	uint64_t to = from + BLOCK < c->image_voxels ? from + BLOCK : c->image_voxels;

	for (uint64_t v = from; v < to; v++) {
		const float *in = c->resized + 2 * v;
		float sum = c->first ? 0.0f : c->image[step * v];

		sum += in[0] * in[0] + in[1] * in[1];
		c->image[step * v] = c->last ? sqrtf(sum) : sum;
		if (step == 2)
			c->image[2 * v + 1] = 0.0f;
	}
}

/* Writes one complex image, resized, as the protocol's output says. */
static void put_one(struct bs_combiner *c, const float *in, float *out)
{
	const bool whole = c->output == BS_OUTPUT_COMPLEX;

	bs_resize_run(c->resize, in, whole ? out : c->resized);
	if (!whole)
		bs_combine(c->team,
			   (struct bs_combination){ BS_COMBINE_NONE, c->output, 1, c->image_voxels,
						    c->resized, NULL, out });
}

static void resize_and_combine(struct bs_combiner *c, const float *coil_images, const float *maps,
			       float *image)
{
	const uint64_t step = c->image_voxels * (c->output == BS_OUTPUT_COMPLEX ? 2 : 1);

	if (c->how == BS_COMBINE_SENSE) {
		bs_combine(c->team,
			   (struct bs_combination){ c->how, BS_OUTPUT_COMPLEX, c->coils, c->voxels,
						    coil_images, maps, c->joint });
		put_one(c, c->joint, image);
		return;
	}
	c->image = image;
	for (uint32_t coil = 0; coil < c->coils; coil++) {
		const float *in = coil_images + 2 * coil * c->voxels;

		if (c->how == BS_COMBINE_NONE) {
			put_one(c, in, image + coil * step);
			continue;
		}
		bs_resize_run(c->resize, in, c->resized);
		c->first = coil == 0;
		c->last = coil + 1 == c->coils;
		bs_team_do(c->team, add_power, c, (int)((c->image_voxels + BLOCK - 1) / BLOCK));
	}
}

struct velocity {
	const float *in, *reference;
	uint32_t coils;
	uint64_t voxels;
	float scale;
	float *out;
};

static void block_velocity(void *arg, int task)
{
	const struct velocity *c = arg;
	uint64_t from = (uint64_t)task * BLOCK;
	uint32_t n = c->voxels - from < BLOCK ? (uint32_t)(c->voxels - from) : BLOCK;
	float re[BLOCK] = { 0 };
	float im[BLOCK] = { 0 };

	for (uint32_t coil = 0; coil < c->coils; coil++) {
		const float *in = c->in + 2 * (coil * c->voxels + from);
		const float *ref = c->reference + 2 * (coil * c->voxels + from);

		for (uint32_t i = 0; i < n; i++) {
			re[i] += ref[2 * i] * in[2 * i] + ref[2 * i + 1] * in[2 * i + 1];
			im[i] += ref[2 * i] * in[2 * i + 1] - ref[2 * i + 1] * in[2 * i];
		}
	}
	for (uint32_t i = 0; i < n; i++)
		c->out[from + i] = c->scale * phase(re[i], im[i]);
}

/* Returns the coil images on the image's own matrix: where they lie, or resized in this place. */
static const float *leaving(struct bs_combiner *c, const float *coil_images, uint32_t place)
{
	float *to = place_of(c, place);

	for (uint32_t coil = 0; c->resize != NULL && coil < c->coils; coil++)
		bs_resize_run(c->resize, coil_images + 2 * coil * c->voxels,
			      to + 2 * coil * c->image_voxels);
	return c->resize != NULL ? to : coil_images;
}

static void make_velocity(struct bs_combiner *c, const float *coil_images,
			  const struct bs_flow *flow, float *image)
{
	struct velocity v = { .reference = place_of(c, flow->against),
			      .coils = c->coils,
			      .voxels = c->image_voxels,
			      .scale = bs_flow_scale(flow),
			      .out = image };

	v.in = leaving(c, coil_images, c->references + 1);
	bs_team_do(c->team, block_velocity, &v, (int)((v.voxels + BLOCK - 1) / BLOCK));
}

void bs_combiner_run(struct bs_combiner *c, const float *coil_images, const float *maps,
		     const struct bs_flow *flow, float *image)
{
	for (uint32_t m = 0; c->mixed > 0 && m < c->coils; m++)
		bs_combine(c->team, (struct bs_combination){ BS_COMBINE_SENSE, BS_OUTPUT_COMPLEX,
							     c->mixed, c->voxels, coil_images,
							     maps + 2 * m * c->mixed * c->voxels,
							     c->joint + 2 * m * c->voxels });
	if (c->mixed > 0)
		coil_images = c->joint;
	if (flow->against > 0) {
		make_velocity(c, coil_images, flow, image);
		return;
	}
	if (flow->keep > 0 && leaving(c, coil_images, flow->keep) == coil_images)
		memcpy(place_of(c, flow->keep), coil_images, c->coils * c->voxels * 8u);
	if (c->resize != NULL)
		resize_and_combine(c, coil_images, maps, image);
	else
		bs_combine(c->team, (struct bs_combination){ c->how, c->output, c->coils, c->voxels,
							     coil_images, maps, image });
}

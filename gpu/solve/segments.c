/* gpu/solve/segments.c - see segments.h */
#include "gpu/solve/segments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/sizes.h"
#include "core/solve/blocks.h"
#include "gpu/solve/interpolators.h"

struct bs_segments {
	struct bs_segments_spec s;
	struct bs_interpolators fit;
	struct bs_nufft *nufft;
	struct bs_team *team;
	const float *hz;
	uint64_t voxels;
	float *b; /* interpolators [segment][sample of a readout] complex */
	/*
	 * [voxel] complex: phase of the current segment, exp(-i2pi f tau_l); step between segments,
	 * exp(-i2pi f step)
	 */
	float *phase, *step;
	float *images;  /* images of the current segment, [together][voxel] complex */
	float *samples; /* samples of the current segment, [together][sample] complex */
	float *sum;     /* sum over the segments, [together][sample] complex */
	float *data;    /* samples [state][coil][sample] complex */
	uint8_t *seen;  /* [state][readout]: the readout has come */
	/* The next members belong to the operation in progress. */
	const float *in, *maps, *factor;
	float *out;
	uint32_t slice;
	bool first;
};

static uint64_t readouts_of(const struct bs_segments_spec *s)
{
	return s->nufft.samples / s->readout;
}

/* ---- memory ---- */

/* Lays out the memory. Products fit: config/ bounds voxels, samples, coils and frames. */
static void lay_out(struct bs_segments *p, struct bs_room *r)
{
	const struct bs_segments_spec *s = &p->s;
	const uint64_t voxels = bs_box_size(s->nufft.matrix) * 8;
	const uint64_t samples = s->nufft.samples * 8;

	bs_room_take(r, &p->b, "segment interpolators", 1,
		     (uint64_t)BS_SEGMENTS_MAX * s->readout * 8);
	bs_room_take(r, &p->phase, "segment phases", 2, voxels);
	bs_room_take(r, &p->images, "segment images", 1, voxels * s->together);
	bs_room_take(r, &p->samples, "segment samples", 2, samples * s->together);
	bs_room_take(r, &p->data, "frame samples", s->states, samples * s->nufft.coils);
	bs_room_take(r, &p->seen, "frame readouts", 1, s->states * readouts_of(s));
}

int bs_segments_need(const struct bs_segments_spec *s, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_nufft_spec n = bs_segments_nufft(s);
	struct bs_room room = { .need = need };
	struct bs_segments p = { .s = *s };

	lay_out(&p, &room);
	return bs_nufft_need(&n, need, why);
}

int bs_segments_plan(struct bs_segments **plan, const struct bs_segments_spec *spec, const float *k,
		     const float *weight, const float *hz, const struct bs_arm_env *env,
		     struct bs_fail *why)
{
	const struct bs_nufft_spec n = bs_segments_nufft(spec);
	const struct bs_interpolators_spec asked = { hz,
						     bs_box_size(spec->nufft.matrix) * spec->slices,
						     spec->readout,
						     BS_SEGMENTS_MAX,
						     spec->dwell_s,
						     spec->start_s,
						     spec->error };
	struct bs_segments *p = calloc(1, sizeof(*p));
	struct bs_room room = { .arena = env->arena };
	int rc;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "time segments");
	p->s = *spec;
	p->hz = hz;
	p->team = env->team;
	p->voxels = bs_box_size(spec->nufft.matrix);
	lay_out(p, &room);
	p->step = p->phase + bs_slot(p->voxels * 8) / 4;
	p->sum = p->samples + bs_slot(p->s.nufft.samples * p->s.together * 8) / 4;
	rc = room.full ? bs_fail(why, BS_ERR_NOMEM, "time segments: the arena is too small") : 0;
	if (rc == 0)
		rc = bs_interpolators_find(&p->fit, &asked, p->b, why);
	if (rc == 0)
		rc = bs_nufft_plan(&p->nufft, &n, k, weight, env->arena, env->team, why);
	if (rc != 0) {
		bs_segments_close(p);
		return rc;
	}
	bs_segments_slice(p, 0);
	*plan = p;
	return 0;
}

void bs_segments_close(struct bs_segments *p)
{
	if (p == NULL)
		return;
	if (p->nufft != NULL)
		bs_nufft_close(p->nufft);
	free(p);
}

struct bs_segments_info bs_segments_info(const struct bs_segments *p)
{
	return (struct bs_segments_info){ p->fit.segments, p->fit.error };
}

/* ---- tasks ---- */

/* Computes the phases of the first segment, and those from one segment to the next. */
static void start_phases(void *arg, int task)
{
	struct bs_segments *p = arg;
	const float *hz = p->hz + (uint64_t)p->slice * p->voxels;
	uint64_t from;
	const uint64_t n = bs_block(p->voxels, task, &from);

	for (uint64_t v = from; v < from + n; v++) {
		const double a = -2.0 * M_PI * (double)hz[v] * p->fit.first_s;
		const double s = -2.0 * M_PI * (double)hz[v] * p->fit.step_s;

		p->phase[2 * v] = (float)cos(a);
		p->phase[2 * v + 1] = (float)sin(a);
		p->step[2 * v] = (float)cos(s);
		p->step[2 * v + 1] = (float)sin(s);
	}
}

static void next_phases(void *arg, int task)
{
	struct bs_segments *p = arg;
	float *restrict phase = p->phase;
	const float *restrict step = p->step;
	uint64_t from;
	const uint64_t n = bs_block(p->voxels, task, &from);

	for (uint64_t v = from; v < from + n; v++) {
		const float re = phase[2 * v] * step[2 * v] - phase[2 * v + 1] * step[2 * v + 1];
		const float im = phase[2 * v] * step[2 * v + 1] + phase[2 * v + 1] * step[2 * v];

		phase[2 * v] = re;
		phase[2 * v + 1] = im;
	}
}

/* images[c] = phase S_c in; each task takes a block of a coil. */
static void to_segment(void *arg, int task)
{
	struct bs_segments *p = arg;
	const int c = task / bs_blocks(p->voxels);
	uint64_t from;
	const uint64_t n = bs_block(p->voxels, task % bs_blocks(p->voxels), &from);
	const float *restrict phase = p->phase + 2 * from;
	const float *restrict in = p->in + 2 * from;
	const float *restrict s =
		p->maps != NULL ? p->maps + 2 * ((uint64_t)c * p->voxels + from) : NULL;
	float *restrict out = p->images + 2 * ((uint64_t)c * p->voxels + from);

	for (uint64_t v = 0; v < n; v++) {
		const float re = phase[2 * v] * in[2 * v] - phase[2 * v + 1] * in[2 * v + 1];
		const float im = phase[2 * v] * in[2 * v + 1] + phase[2 * v + 1] * in[2 * v];

		out[2 * v] = s != NULL ? re * s[2 * v] - im * s[2 * v + 1] : re;
		out[2 * v + 1] = s != NULL ? re * s[2 * v + 1] + im * s[2 * v] : im;
	}
}

/* out[c] (+)= conj(phase) images[c]; each task takes a block of a coil. */
static void from_segment(void *arg, int task)
{
	struct bs_segments *p = arg;
	const int c = task / bs_blocks(p->voxels);
	uint64_t from;
	const uint64_t n = bs_block(p->voxels, task % bs_blocks(p->voxels), &from);
	const float *restrict phase = p->phase + 2 * from;
	const float *restrict in = p->images + 2 * ((uint64_t)c * p->voxels + from);
	float *restrict out = p->out + 2 * ((uint64_t)c * p->voxels + from);

	if (p->first)
		memset(out, 0, n * 8);
	for (uint64_t v = 0; v < n; v++) {
		out[2 * v] += phase[2 * v] * in[2 * v] + phase[2 * v + 1] * in[2 * v + 1];
		out[2 * v + 1] += phase[2 * v] * in[2 * v + 1] - phase[2 * v + 1] * in[2 * v];
	}
}

/* out (+)= conj(phase) sum_c conj(S_c) images[c]; each task takes a block. */
static void combine_segment(void *arg, int task)
{
	struct bs_segments *p = arg;
	uint64_t from;
	const uint64_t n = bs_block(p->voxels, task, &from);
	const float *restrict phase = p->phase + 2 * from;
	float *restrict out = p->out + 2 * from;

	if (p->first)
		memset(out, 0, n * 8);
	for (uint32_t c = 0; c < p->s.together; c++) {
		const float *restrict in = p->images + 2 * (c * p->voxels + from);
		const float *restrict s = p->maps + 2 * (c * p->voxels + from);

		for (uint64_t v = 0; v < n; v++) {
			const float re = s[2 * v] * in[2 * v] + s[2 * v + 1] * in[2 * v + 1];
			const float im = s[2 * v] * in[2 * v + 1] - s[2 * v + 1] * in[2 * v];

			out[2 * v] += phase[2 * v] * re + phase[2 * v + 1] * im;
			out[2 * v + 1] += phase[2 * v] * im - phase[2 * v + 1] * re;
		}
	}
}

/* samples = conj(b) in; each task takes a readout of a coil. */
static void weigh_samples(void *arg, int task)
{
	struct bs_segments *p = arg;
	const uint64_t at = 2 * (uint64_t)task * p->s.readout;
	const float *restrict b = p->factor;
	const float *restrict in = p->in + at;
	float *restrict out = p->samples + at;

	for (uint32_t i = 0; i < p->s.readout; i++) {
		out[2 * i] = b[2 * i] * in[2 * i] + b[2 * i + 1] * in[2 * i + 1];
		out[2 * i + 1] = b[2 * i] * in[2 * i + 1] - b[2 * i + 1] * in[2 * i];
	}
}

/* sum (+)= b samples; each task takes a readout of a coil. */
static void add_samples(void *arg, int task)
{
	struct bs_segments *p = arg;
	const uint64_t at = 2 * (uint64_t)task * p->s.readout;
	const float *restrict b = p->factor;
	const float *restrict in = p->samples + at;
	float *restrict out = p->sum + at;

	if (p->first)
		memset(out, 0, (size_t)p->s.readout * 8);
	for (uint32_t i = 0; i < p->s.readout; i++) {
		out[2 * i] += b[2 * i] * in[2 * i] - b[2 * i + 1] * in[2 * i + 1];
		out[2 * i + 1] += b[2 * i] * in[2 * i + 1] + b[2 * i + 1] * in[2 * i];
	}
}

/* ---- transforms ---- */

/* Sets the phases and factors of segment l. Segments must be taken in order. */
static void go_to(struct bs_segments *p, uint32_t l)
{
	bs_team_do(p->team, l == 0 ? start_phases : next_phases, p, bs_blocks(p->voxels));
	p->factor = p->b + 2 * (uint64_t)l * p->s.readout;
	p->first = l == 0;
}

static int readout_tasks(const struct bs_segments *p)
{
	return (int)(readouts_of(&p->s) * p->s.together);
}

/*
 * Transforms data [together][sample] to image [together][voxel], or to one image through the maps.
 */
static void adjoint(struct bs_segments *p, const float *maps, const float *data, float *image)
{
	p->maps = maps;
	p->out = image;
	for (uint32_t l = 0; l < p->fit.segments; l++) {
		go_to(p, l);
		p->in = data;
		bs_team_do(p->team, weigh_samples, p, readout_tasks(p));
		bs_nufft_adjoint(p->nufft, p->samples, p->images);
		if (maps != NULL)
			bs_team_do(p->team, combine_segment, p, bs_blocks(p->voxels));
		else
			bs_team_do(p->team, from_segment, p,
				   bs_blocks(p->voxels) * (int)p->s.together);
	}
}

void bs_segments_slice(struct bs_segments *p, uint32_t slice)
{
	p->slice = slice;
}

void bs_segments_normal(struct bs_segments *p, const float *maps, const float *in, float *out)
{
	for (uint32_t l = 0; l < p->fit.segments; l++) {
		go_to(p, l);
		p->in = in;
		p->maps = maps;
		bs_team_do(p->team, to_segment, p, bs_blocks(p->voxels) * (int)p->s.together);
		bs_nufft_forward(p->nufft, p->images, p->samples);
		bs_team_do(p->team, add_samples, p, readout_tasks(p));
	}
	adjoint(p, maps, p->sum, out);
}

/* ---- frames ---- */

static float *data_of(const struct bs_segments *p, uint32_t state, uint32_t coil)
{
	const uint64_t bytes = p->s.nufft.samples * p->s.nufft.coils * 8;

	return p->data + state * (bs_slot(bytes) / 4) + 2 * coil * p->s.nufft.samples;
}

void bs_segments_begin(struct bs_segments *p, uint32_t state)
{
	memset(p->seen + state * readouts_of(&p->s), 0, readouts_of(&p->s));
}

void bs_segments_add(struct bs_segments *p, uint32_t state, uint32_t number, const float *data,
		     size_t coil_stride)
{
	for (uint32_t c = 0; c < p->s.nufft.coils; c++)
		memcpy(data_of(p, state, c) + 2 * (uint64_t)number * p->s.readout,
		       data + 2 * c * coil_stride, (size_t)p->s.readout * 8);
	p->seen[state * readouts_of(&p->s) + number] = 1;
}

void bs_segments_finish(struct bs_segments *p, uint32_t state, uint32_t slice, float *image)
{
	const uint8_t *seen = p->seen + state * readouts_of(&p->s);

	for (uint64_t r = 0; r < readouts_of(&p->s); r++)
		for (uint32_t c = 0; !seen[r] && c < p->s.nufft.coils; c++)
			memset(data_of(p, state, c) + 2 * r * p->s.readout, 0,
			       (size_t)p->s.readout * 8);
	bs_segments_slice(p, slice);
	for (uint32_t c = 0; c < p->s.nufft.coils; c += p->s.together)
		adjoint(p, NULL, data_of(p, state, c), image + 2 * c * p->voxels);
}

/*
 * gpu/encode/path.c - F^H d along the path that readouts bring, and F^H D F; see encode.h
 *
 * The path of a frame is what each of its readouts brought, k [sample][dims] in cycles per voxel,
 * [-0.5, 0.5). D: the samples' weights, the protocol's density compensation (gpu/nufft/density.h)
 * of this path, computed in finish; a readout that did not come has weight 0 and is in no sum. A
 * sliding window has the path of all its groups.
 *
 * trajectory.estimate_delay: settle finds the delays that the spokes of a state's first frame since
 * scan tell (core/traj/delay.h; at most 128 of them, and 16 coils), and from then on finish moves
 * what was brought. The readouts of that one frame decide, whatever else is open. Some tenths of a
 * second, once. Before it, for previews, paths are as they were brought.
 *
 * Paths and samples of each state are kept and everything is computed in finish: weights and the
 * places of the samples are known only then. The result depends on the readouts alone, not on the
 * order in which they came or on the team, to the bit. Errors of finish: BS_ERR_TRAJECTORY (a whole
 * frame does not reach trajectory.min_extent on an axis), those of density.h.
 * Tests: test/unit/gpu/engine/test_engine_paths.c, test/replay/scan/paths.sh,
 * test/fault/fault_paths.c
 */
#include "gpu/encode/encode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/solve/blocks.h"
#include "core/traj/delay.h"
#include "gpu/nufft/density.h"

#define COILS  16u
#define SPOKES 128u /* most spokes of a frame that delays are estimated from */

/* The delays that a state's scan has. */
struct settled {
	bool known;
	float axis[3], cross[3];
	struct bs_fail broken; /* code not 0: why there are no delays */
};

struct paths {
	const struct bs_protocol *p;
	uint32_t together;
	struct bs_nufft *nufft;
	struct bs_density_plan *density;
	struct bs_team *team;
	uint64_t voxels, samples;
	float *k;       /* paths [state][readout][sample][dims] */
	float *data;    /* samples [state][coil][readout][sample] complex */
	double *ones;   /* [state][readout][sample] for the `seen` of density.h; NULL: not wanted */
	uint8_t *seen;  /* [state][readout]: the readout has come */
	uint8_t *fresh; /* [state]: nothing was added since begin */
	uint8_t *used;  /* [readout]: it is in the current image */
	/* The next arrays serve trajectory.estimate_delay. */
	struct settled *settled; /* result of normalization, [state] */
	uint8_t *moved;          /* [state][readout]: the delays have been applied to its k */
	uint8_t *spoke;          /* [readout]: delays are estimated from it */
	void *work;
	float *weight; /* [readout][sample] weights of the current path; sum: their sum */
	double sum;
	float *images; /* [together][voxel] complex, for normal */
	float *at;     /* [together][sample] complex, for normal */
	/* The next members belong to the operation in progress. */
	const float *in, *maps;
	float *out;
};

/* As many coils are transformed at a time, in normal too, as the plan has together. */
static struct bs_nufft_spec spec_of(const struct bs_protocol *p)
{
	struct bs_nufft_spec s = bs_gridding_spec(p);

	s.coils = p->plan.together;
	s.chunk = s.part = 0;
	s.states = 0;
	s.peek = false;
	s.repath = true;
	return s;
}

/* ---- memory ---- */

/* Lays out the memory. Products fit: config/ bounds voxels, samples, coils and frames. */
static void lay_out(struct paths *f, struct bs_room *r)
{
	const struct bs_protocol *p = f->p;
	const uint64_t states = bs_protocol_frames(p);
	const uint64_t samples = bs_protocol_samples(p);
	const bool normal = p->plan.solve != BS_SOLVE_NONE;
	const bool settles = p->traj.estimate_delay;

	bs_room_take(r, &f->k, "frame paths", 1, states * samples * p->dims * 4);
	bs_room_take(r, &f->data, "frame samples", 1, states * samples * p->coils * 8);
	bs_room_take(r, &f->ones, "frame paths' normalization", bs_density_normalizes(p),
		     states * samples * 8);
	bs_room_take(r, &f->seen, "frame readouts", 1, states * ((uint64_t)p->readouts + 1));
	bs_room_take(r, &f->used, "readouts in an image", 1, p->readouts);
	bs_room_take(r, &f->weight, "path weights", 1, samples * 4);
	bs_room_take(r, &f->images, "path images", normal, bs_protocol_voxels(p) * f->together * 8);
	bs_room_take(r, &f->at, "path samples", normal, samples * f->together * 8);
	bs_room_take(r, &f->settled, "frames' delays", settles, states * sizeof(struct settled));
	bs_room_take(r, &f->moved, "moved readouts", settles, states * p->readouts);
	bs_room_take(r, &f->spoke, "delays' spokes", settles, p->readouts);
	bs_room_take(r, &f->work, "delays' work", settles,
		     settles ? bs_delay_bytes(p->readouts) : 0);
}

static int path_need(const struct bs_encoder *e, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_nufft_spec s = spec_of(e->p);
	struct bs_room room = { .need = need };
	struct paths f = { .p = e->p, .together = s.coils };
	int rc;

	lay_out(&f, &room);
	rc = bs_nufft_need(&s, need, why);
	return rc == 0 ? bs_density_need(e->p, need, why) : rc;
}

/* Forgets the delays. */
static void path_scan(const struct bs_encoder *e)
{
	struct paths *f = e->plan;

	for (uint32_t s = 0; f->settled != NULL && s < bs_protocol_frames(f->p); s++)
		f->settled[s] = (struct settled){ .known = false };
}

/*
 * Takes the memory. Its values are finite and in range whatever arrives later, since an arena is
 * filled with zeros.
 */
static int take_memory(struct paths *f, struct bs_arena *arena, struct bs_fail *why)
{
	struct bs_room room = { .arena = arena };

	lay_out(f, &room);
	if (room.full)
		return bs_fail(why, BS_ERR_NOMEM, "paths: the arena is too small");
	f->fresh = f->seen + (size_t)bs_protocol_frames(f->p) * f->p->readouts;
	return 0;
}

static void path_close(struct bs_encoder *e)
{
	struct paths *f = e->plan;

	bs_nufft_close(f->nufft);
	bs_density_close(f->density);
	free(f);
}

static int path_plan(struct bs_encoder *e, const struct bs_tables *tables, const float *weight,
		     const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	const struct bs_nufft_spec s = spec_of(p);
	struct paths *f = calloc(1, sizeof(*f));
	int rc;

	(void)tables;
	(void)weight;
	if (f == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->plan = f;
	f->p = p;
	f->together = s.coils;
	f->team = env->team;
	f->voxels = bs_protocol_voxels(p);
	f->samples = bs_protocol_samples(p);
	rc = take_memory(f, env->arena, why);
	if (rc == 0)
		rc = bs_nufft_plan(&f->nufft, &s, NULL, NULL, env->arena, env->team, why);
	if (rc == 0)
		rc = bs_density_plan(&f->density, p, env->arena, env->team, why);
	if (rc != 0) {
		path_close(e);
		e->plan = NULL;
		return rc;
	}
	path_scan(e);
	return 0;
}

/* ---- readouts ---- */

static float *k_of(const struct paths *f, uint32_t state, uint32_t readout)
{
	return f->k + ((size_t)state * f->p->readouts + readout) * f->p->samples * f->p->dims;
}

static float *data_of(const struct paths *f, uint32_t state, uint32_t coil)
{
	return f->data + 2 * ((size_t)state * f->p->coils + coil) * f->samples;
}

static double *ones_of(const struct paths *f, uint32_t state)
{
	return f->ones != NULL ? f->ones + state * f->samples : NULL;
}

/* Computes what normalization needs of a readout's path. */
static void look_at_path(struct paths *f, uint32_t state, uint32_t readout)
{
	if (f->ones != NULL)
		bs_density_see(f->p, k_of(f, state, readout), f->p->samples,
			       ones_of(f, state) + (size_t)readout * f->p->samples);
}

/* Begins a frame, or a group of a sliding window: the readouts of one group follow. */
static void path_begin(const struct bs_encoder *e, uint32_t state)
{
	((struct paths *)e->plan)->fresh[state] = 1;
}

static void path_path(const struct bs_encoder *e, uint32_t state, uint32_t readout, const float *k)
{
	struct paths *f = e->plan;
	const uint32_t step = f->p->frame_step > 0 ? f->p->frame_step : f->p->readouts;

	/* The other groups of a sliding window stay. */
	if (f->fresh[state])
		memset(f->seen + (size_t)state * f->p->readouts + readout / step * step, 0, step);
	f->fresh[state] = 0;
	memcpy(k_of(f, state, readout), k, (size_t)f->p->samples * f->p->dims * sizeof(*k));
	look_at_path(f, state, readout);
	if (f->moved != NULL)
		f->moved[(size_t)state * f->p->readouts + readout] = 0;
}

static void path_add(const struct bs_encoder *e, uint32_t state, uint32_t readout,
		     const float *data, size_t coil_stride)
{
	const struct paths *f = e->plan;

	for (uint32_t c = 0; c < f->p->coils; c++)
		memcpy(data_of(f, state, c) + 2 * (size_t)readout * f->p->samples,
		       data + 2 * c * coil_stride, (size_t)f->p->samples * 8);
	f->seen[(size_t)state * f->p->readouts + readout] = 1;
}

/* ---- images ---- */

/*
 * Chooses the readouts that are in the image. The others get k = 0 and no weight. Returns true
 * where all are in it.
 */
static bool choose_readouts(struct paths *f, uint32_t state, const uint8_t *held)
{
	const uint8_t *seen = f->seen + (size_t)state * f->p->readouts;
	bool all = true;

	for (uint32_t r = 0; r < f->p->readouts; r++) {
		f->used[r] = seen[r] && (held == NULL || held[r / f->p->frame_step]);
		all = all && f->used[r];
		if (!f->used[r])
			memset(k_of(f, state, r), 0,
			       (size_t)f->p->samples * f->p->dims * sizeof(*f->k));
	}
	return all;
}

/*
 * Estimates the delays from at most SPOKES readouts of the image, evenly spread, and at most COILS
 * coils.
 */
static int estimate(struct paths *f, uint32_t state, struct settled *to)
{
	const uint32_t readouts = f->p->readouts;
	const uint32_t every = (readouts + SPOKES - 1) / SPOKES;
	const uint32_t each = (f->p->coils + COILS - 1) / COILS;
	const struct bs_spokes spokes = { .readouts = readouts,
					  .samples = f->p->samples,
					  .coils = (f->p->coils + each - 1) / each,
					  .k = k_of(f, state, 0),
					  .data = data_of(f, state, 0),
					  .readout_step = f->p->samples,
					  .coil_step = f->samples * each,
					  .came = f->spoke };
	struct bs_delays found;
	struct bs_fail why = { 0 };
	int rc;

	for (uint32_t r = 0; r < readouts; r++)
		f->spoke[r] = f->used[r] && r % every == 0;
	rc = bs_delay_estimate_in(&found, &spokes, f->work, &why);
	if (rc != 0)
		return bs_fail(&to->broken, rc, "trajectory.estimate_delay: %s", why.text);
	to->known = true;
	to->axis[0] = (float)found.axis[0];
	to->axis[1] = (float)found.axis[1];
	to->cross[0] = (float)found.cross;
	return 0;
}

/*
 * Writes the delays to report. BS_ERR_TRAJECTORY: the readouts are no spokes. BS_ERR_VALUE: they
 * tell of no delays. Every other frame of the scan then ends with the same error.
 */
static int path_settle(const struct bs_encoder *e, uint32_t state, const uint8_t *held,
		       struct bs_report *report)
{
	struct paths *f = e->plan;
	struct settled *s = f->settled != NULL ? &f->settled[state] : NULL;

	if (s == NULL)
		return 0;
	if (!s->known && s->broken.code == 0) {
		(void)choose_readouts(f, state, held);
		(void)estimate(f, state, s);
	}
	if (!s->known) {
		report->why = s->broken;
		return s->broken.code;
	}
	report->delayed = true;
	report->delay[0] = s->axis[0];
	report->delay[1] = s->axis[1];
	report->delay[2] = s->cross[0];
	return 0;
}

static void move(struct paths *f, uint32_t state)
{
	const struct settled *s = &f->settled[state];

	for (uint32_t r = 0; s->known && r < f->p->readouts; r++) {
		uint8_t *moved = &f->moved[(size_t)state * f->p->readouts + r];

		if (!f->used[r] || *moved)
			continue;
		bs_delay_readout(k_of(f, state, r), f->p->dims, f->p->samples, s->axis, s->cross);
		look_at_path(f, state, r);
		*moved = 1;
	}
}

/* Checks the path's extent, as a table is checked when it is armed (core/traj/traj.h). */
static int check_extent(const struct paths *f, const float *k, struct bs_fail *why)
{
	const struct bs_protocol *p = f->p;

	for (uint32_t a = 0; a < p->dims; a++) {
		float extent = 0.0f;

		for (uint64_t i = 0; i < f->samples; i++)
			extent = fmaxf(extent, fabsf(k[i * p->dims + a]));
		if (p->matrix[a] > 1 && extent < (float)p->traj.min_extent)
			return bs_fail(
				why, BS_ERR_TRAJECTORY,
				"the path's |k%c| reaches only %.9g of at least %g cycles per "
				"voxel for a matrix of %u: not in this unit, or no k-space "
				"positions",
				"xyz"[a], (double)extent, p -> traj.min_extent, p->matrix[a]);
	}
	return 0;
}

/* The state stays as it is. */
static int path_finish(const struct bs_encoder *e, uint32_t state, const uint8_t *held,
		       float *image, struct bs_fail *why)
{
	struct paths *f = e->plan;
	const struct bs_traj path = { .dims = f->p->dims,
				      .samples = f->p->samples,
				      .readouts = f->p->readouts,
				      .k = k_of(f, state, 0) };
	const bool all = choose_readouts(f, state, held);
	int rc;

	if (f->settled != NULL)
		move(f, state);
	rc = all ? check_extent(f, path.k, why) : 0;
	if (rc == 0)
		rc = bs_density_make(f->density, f->weight, &path, f->used, ones_of(f, state), why);
	if (rc == 0)
		rc = bs_nufft_path(f->nufft, path.k, f->weight, why);
	if (rc != 0)
		return rc;
	f->sum = 0.0;
	for (uint64_t m = 0; m < f->samples; m++)
		f->sum += (double)f->weight[m];
	for (uint32_t c = 0; c < f->p->coils; c += f->together)
		bs_nufft_adjoint(f->nufft, data_of(f, state, c), image + 2 * c * f->voxels);
	return 0;
}

/* ---- the system ---- */

static double path_sum(const struct bs_encoder *e)
{
	return ((const struct paths *)e->plan)->sum;
}

/* images[c] = S_c in; each task takes a block of a coil. */
static void to_coils(void *arg, int task)
{
	const struct paths *f = arg;
	const uint64_t coil = (uint64_t)(task / bs_blocks(f->voxels)) * f->voxels;
	uint64_t from;
	const uint64_t n = bs_block(f->voxels, task % bs_blocks(f->voxels), &from);
	const float *restrict s = f->maps + 2 * (coil + from);
	const float *restrict in = f->in + 2 * from;
	float *restrict out = f->images + 2 * (coil + from);

	for (uint64_t v = 0; v < n; v++) {
		out[2 * v] = s[2 * v] * in[2 * v] - s[2 * v + 1] * in[2 * v + 1];
		out[2 * v + 1] = s[2 * v] * in[2 * v + 1] + s[2 * v + 1] * in[2 * v];
	}
}

/* out = sum_c conj(S_c) images[c]; each task takes a block. */
static void from_coils(void *arg, int task)
{
	const struct paths *f = arg;
	uint64_t from;
	const uint64_t n = bs_block(f->voxels, task, &from);

	bs_blocks_combine(f->out + 2 * from, f->maps + 2 * from, f->images + 2 * from, f->together,
			  f->voxels, n);
}

/* maps: [together][voxel] complex; NULL: together is 1 and S is 1. In the order of coils. */
static void path_normal(void *encoder, const float *maps, const float *in, float *out)
{
	struct paths *f = ((struct bs_encoder *)encoder)->plan;

	if (maps == NULL) {
		bs_nufft_forward(f->nufft, in, f->at);
		bs_nufft_adjoint(f->nufft, f->at, out);
		return;
	}
	f->maps = maps;
	f->in = in;
	f->out = out;
	bs_team_do(f->team, to_coils, f, bs_blocks(f->voxels) * (int)f->together);
	bs_nufft_forward(f->nufft, f->images, f->at);
	bs_nufft_adjoint(f->nufft, f->at, f->images);
	bs_team_do(f->team, from_coils, f, bs_blocks(f->voxels));
}

const struct bs_encoding bs_encode_path = {
	.need = path_need,
	.plan = path_plan,
	.close = path_close,
	.scan = path_scan,
	.begin = path_begin,
	.path = path_path,
	.add = path_add,
	.settle = path_settle,
	.finish = path_finish,
	.peek = path_finish,
	.normal = path_normal,
	.sum = path_sum,
};

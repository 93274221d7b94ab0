/*
 * gpu/nufft/path.cu - gridding of readouts that bring their own path, in 2D, and F^H d of ls and
 * sense with the Q of each frame, as an operator; see gpu/engine/cuda/operator.h
 *
 * image[c][n] = 1/s sum_m w_m d[c][m] exp(+i2pi k_m.n), as in nufft.h and density.h; w: the ramp or
 * ones; s: the normalization's (1 without it). Nothing is sorted. A readout's cells and weights,
 * and what its samples see of an image of ones, are found as it arrives. Each block of cells
 * collects the samples whose windows reach it, in the order of their numbers; it first tests boxes
 * of 32 consecutive samples of a readout. Groups of readouts are collected as they come, the last
 * one in finish. No sum is atomic: the same bytes for any order of arrival. Readouts that never
 * come have weight 0.
 * For a method that solves, finish also makes Q(n) = 1/s sum_m w_m exp(+i2pi k_m.n), |n| < N, in
 * the same way, and leaves its spectrum in the operator that normal has given. path may wait until
 * an earlier readout's path has been read. Windows are at most 8 cells wide.
 * Host twin: gpu/encode/path.c. Test: test/twin/engine/twin_path.c
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/sizes.h"
#include "gpu/device/check.h"
#include "gpu/device/reach.h"
#include "gpu/device/stream.h"
#include "gpu/encode/encode.h"
#include "gpu/engine/cuda/operator.h"
#include "gpu/nufft/cuda/path.cuh"
#include "gpu/nufft/density.h"
#include "gpu/toeplitz/toeplitz_cuda.h"

#define SLOTS  64u /* readouts whose paths may wait to be read */
#define GROUPS 16u /* approximate number of groups of a frame's readouts */

/*
 * The gridding of samples to an image of the protocol's matrix, or of Q's, which is twice as large.
 */
struct gridder {
	struct bs_nufft_spec spec;
	struct bs_nufft_choice choice;
	struct bs_kernel_window window;
	struct bs_path_grid on;
	uint32_t matrix[2], coils;
	float2 *cells, *half;
	bs_line_pass pass[2];
};

struct state {
	uint32_t next;  /* number of the group that is collected next */
	uint32_t came;  /* number of readouts whose path has come */
	float reach[2]; /* largest |k| of these, on each axis */
};

struct paths {
	const struct bs_protocol *protocol;
	struct bs_path_shape shape;
	uint32_t group;          /* readouts in a group */
	struct gridder image, q; /* q: for methods that solve */
	bool solves, closes;     /* closes: launches may overlap */
	struct state *state;
	uint8_t *came; /* [state][readout]: 1 where it has come */
	float2 *data;  /* samples [state][coil][sample] */
	uint64_t data_step;
	double *seen; /* [state][readout]: what the readout sees of an image of ones, weighted */
	bs_line_pass spectrum[2];
	struct bs_toeplitz_cuda *normal;
	struct bs_pinned paths, sums; /* [slot][sample][2] paths; [state] sums */
	cudaEvent_t read[SLOTS];
	uint64_t made;
};

/* ---- plan ------------------------------------------------------------------------------------ */

/* Chooses the window and grid of a gridder for a matrix; takes no memory. */
static int choose(struct gridder *g, const struct bs_nufft_spec *nufft, bool q, struct bs_fail *why)
{
	struct bs_nufft_spec *s = &g->spec;
	struct bs_nufft_choice *c = &g->choice;

	*s = *nufft;
	s->chunk = s->part = 0;
	s->states = 0;
	s->peek = s->repath = false;
	s->tune = NULL;
	if (s->dims != 2)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "paths with the readouts in 3D");
	for (int a = 0; q && a < 2; a++)
		s->matrix[a] = 2 * s->matrix[a] - 1;
	/* the window is that of a Q made when a protocol is armed (gpu/toeplitz/q_cuda.h) */
	if (q) {
		s->coils = 1;
		s->accuracy = s->accuracy > 0.0 ? s->accuracy : 1e-5;
		s->width = s->oversampling = 0.0;
		s->window = BS_WINDOW_KAISER_BESSEL;
	}
	int rc = bs_nufft_choose(c, s, false, 0, why);

	for (int a = 0; rc == 0 && a < 2; a++) {
		/* The grid is so large that a window reaches a tile from one side only. */
		if (c->sectors.grid[a] < BS_PATH_TILE + c->taps - 1)
			c->sectors.grid[a] = BS_PATH_TILE + BS_KERNEL_TAPS_MAX;
		g->on.size[a] = c->sectors.grid[a];
		g->matrix[a] = s->matrix[a];
	}
	g->on.window = c->sectors.window;
	g->coils = s->coils;
	return rc;
}

static struct bs_path_shape shape_of(const struct bs_protocol *p)
{
	struct bs_path_shape s;

	memset(&s, 0, sizeof(s));
	s.samples = p->samples;
	s.readouts = p->readouts;
	s.chunks = (p->samples + BS_PATH_CHUNK - 1) / BS_PATH_CHUNK;
	s.matrix[0] = p->matrix[0];
	s.matrix[1] = p->matrix[1];
	s.coils = p->coils;
	s.ramp = p->density == BS_DENSITY_RAMP;
	s.normalizes = bs_density_normalizes(p);
	return s;
}

static int lay_out(struct paths *p, const struct bs_protocol *protocol, struct bs_fail *why)
{
	const struct bs_nufft_spec nufft = bs_gridding_spec(protocol);
	int rc = choose(&p->image, &nufft, false, why);

	p->protocol = protocol;
	p->shape = shape_of(protocol);
	p->solves = protocol->plan.solve != BS_SOLVE_NONE;
	if (rc == 0 && p->solves)
		rc = choose(&p->q, &nufft, true, why);
	return rc;
}

/* Points on axis a of the padded grid that Q's spectrum is on. */
static uint64_t padded(const struct gridder *q, int a)
{
	return (uint64_t)bs_toeplitz_cuda_padded(2, (q->matrix[a] + 1) / 2);
}

enum part { PLACES, BOXES, CELLS, HALF, PARTS };
static const char *const part_name[PARTS] = { "device places of samples", "device boxes of samples",
					      "device oversampled grid",
					      "device half-transformed grid" };

/*
 * Sizes of the memory. Each state has cells of its own. Q has one grid, which then also holds its
 * image and spectrum.
 */
static void parts_of(uint64_t bytes[PARTS], const struct gridder *g, const struct bs_path_shape *s,
		     uint64_t states, bool q)
{
	const uint64_t x = g->on.size[0];
	const uint64_t y = g->on.size[1];

	bytes[PLACES] = states * s->samples * s->readouts * sizeof(struct bs_path_place);
	bytes[BOXES] = states * s->readouts * s->chunks * sizeof(struct bs_path_box);
	bytes[CELLS] = q ? bs_most(x * y, padded(g, 0) * padded(g, 1)) * 8
			 : bs_devmem_round(x * y * g->coils * 8) * states;
	bytes[HALF] = bs_most(g->matrix[0] * y, q ? padded(g, 0) * g->matrix[1] : 0) * g->coils * 8;
}

static uint64_t data_bytes(const struct bs_protocol *p)
{
	return bs_devmem_round(bs_protocol_samples(p) * p->coils * 8) * bs_protocol_frames(p);
}

static uint64_t seen_bytes(const struct bs_protocol *p)
{
	return bs_protocol_frames(p) * p->readouts * sizeof(double);
}

static void add_gridder(struct bs_need *need, const struct paths *p, const struct gridder *g,
			uint64_t states)
{
	const bool q = g == &p->q;
	uint64_t bytes[PARTS];
	uint64_t tables = 0;

	parts_of(bytes, g, &p->shape, states, q);
	for (int i = 0; i < PARTS; i++)
		bs_need_add(need, part_name[i], 1, bs_devmem_round(bytes[i]));
	for (int a = 0; a < 2; a++)
		tables += bs_line_bytes(g->on.size[a]) + bs_devmem_round(g->matrix[a] * 4u) +
			  (q ? bs_line_bytes((uint32_t)padded(g, a)) : 0);
	bs_need_add(need, "device line tables", 1, tables);
}

static int need(const struct bs_cuda_spec *c, struct bs_need *n, struct bs_fail *why)
{
	struct paths p;

	memset(&p, 0, sizeof(p));
	int rc = lay_out(&p, c->p, why);

	if (rc != 0)
		return rc;
	bs_need_add(n, "device samples of frames", 1, data_bytes(c->p));
	bs_need_add(n, "device brightness", 1, bs_devmem_round(seen_bytes(c->p)));
	add_gridder(n, &p, &p.image, bs_protocol_frames(c->p));
	if (p.solves)
		add_gridder(n, &p, &p.q, bs_protocol_frames(c->p));
	return 0;
}

static int make_passes(struct gridder *g, bool closes, struct bs_devmem *mem, struct bs_fail *why)
{
	float table[2 * BS_AXIS_MAX];
	int rc = bs_lines_cuda_init(why);

	for (uint32_t a = 0; rc == 0 && a < 2; a++) {
		bs_line_pass *l = &g->pass[a];

		bs_nufft_deapodize(table, &g->choice, &g->spec, a);
		rc = bs_devmem_upload(mem, &l->scale_out, table, g->matrix[a] * sizeof(float), why);
		if (rc == 0)
			rc = bs_line_make(&l->line, g->on.size[a], mem, why);
		l->in_count = g->on.size[a];
		l->out_count = g->matrix[a];
		l->out_half = g->matrix[a] / 2;
		l->outer = a == 0 ? (uint64_t)g->coils * g->on.size[1] : g->coils;
		l->inner = a == 0 ? 1 : g->matrix[0];
		l->registers = g->choice.launch.registers;
		l->close = closes;
	}
	return rc;
}

/*
 * Prepares the transform from Q's image, with offset 0 in its middle, to the padded grid's
 * spectrum.
 */
static int make_spectrum(struct paths *p, struct bs_devmem *mem, struct bs_fail *why)
{
	int rc = 0;

	for (uint32_t a = 0; rc == 0 && a < 2; a++) {
		bs_line_pass *l = &p->spectrum[a];

		rc = bs_line_make(&l->line, (uint32_t)padded(&p->q, (int)a), mem, why);
		l->in_count = p->q.matrix[a];
		l->in_half = p->q.matrix[a] / 2;
		l->out_count = (uint32_t)padded(&p->q, (int)a);
		l->outer = a == 0 ? p->q.matrix[1] : 1;
		l->inner = a == 0 ? 1 : padded(&p->q, 0);
		l->registers = p->q.choice.launch.registers;
		l->close = p->closes;
	}
	return rc;
}

static int make_gridder(struct paths *p, struct gridder *g, uint64_t states, struct bs_devmem *mem,
			struct bs_fail *why)
{
	uint64_t bytes[PARTS];
	void *at[PARTS];

	parts_of(bytes, g, &p->shape, states, g == &p->q);
	for (int i = 0; i < PARTS; i++) {
		at[i] = bs_devmem_take(mem, (size_t)bytes[i]);
		if (at[i] == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "gridding along paths: %s", part_name[i]);
	}
	g->on.place = (struct bs_path_place *)at[PLACES];
	g->on.box = (struct bs_path_box *)at[BOXES];
	g->cells = (float2 *)at[CELLS];
	g->half = (float2 *)at[HALF];
	int rc = bs_nufft_kernel_window(&g->window, &g->choice, &g->spec, why);

	return rc != 0 ? rc : make_passes(g, p->closes, mem, why);
}

static int make_plan(struct paths *p, const struct bs_protocol *protocol, struct bs_devmem *mem,
		     struct bs_fail *why)
{
	const uint64_t frames = bs_protocol_frames(protocol);
	struct bs_reach reach;
	int rc = lay_out(p, protocol, why);

	if (rc == 0)
		rc = bs_reach(&reach, why);
	if (rc != 0)
		return rc;
	p->closes = reach.overlaps;
	/* All groups but the last are collected as readouts come. */
	p->group = (p->shape.readouts + GROUPS - 1) / GROUPS;
	p->state = (struct state *)calloc(frames, sizeof(*p->state));
	p->came = (uint8_t *)calloc(frames, protocol->readouts);
	if (p->state == NULL || p->came == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "gridding along paths");
	p->data_step = data_bytes(protocol) / frames / sizeof(float2);
	p->data = (float2 *)bs_devmem_take_readouts(mem, (size_t)data_bytes(protocol));
	p->seen = (double *)bs_devmem_take(mem, (size_t)seen_bytes(protocol));
	if (p->data == NULL || p->seen == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "gridding along paths: device memory");
	rc = make_gridder(p, &p->image, frames, mem, why);
	if (rc == 0 && p->solves)
		rc = make_gridder(p, &p->q, frames, mem, why);
	if (rc == 0 && p->solves)
		rc = make_spectrum(p, mem, why);
	if (rc == 0)
		rc = bs_pinned_open(&p->paths, (uint64_t)SLOTS * protocol->samples * 8, why);
	if (rc == 0)
		rc = bs_pinned_open(&p->sums, frames * sizeof(double), why);
	for (uint32_t i = 0; rc == 0 && i < SLOTS; i++)
		rc = bs_stream_event(&p->read[i], why);
	return rc != 0 ? rc : bs_cuda_copied(why);
}

static void close_paths(void *op)
{
	struct paths *p = (struct paths *)op;

	for (uint32_t i = 0; i < SLOTS; i++)
		if (p->read[i] != NULL)
			(void)cudaEventDestroy(p->read[i]);
	bs_pinned_close(&p->paths);
	bs_pinned_close(&p->sums);
	free(p->state);
	free(p->came);
	free(p);
}

static int plan(void **op, const struct bs_cuda_spec *c, const struct bs_tables *, struct bs_team *,
		struct bs_devmem *mem, struct bs_fail *why)
{
	struct paths *p = (struct paths *)calloc(1, sizeof(*p));

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': paths", c->p->name);
	*op = p;
	return make_plan(p, c->p, mem, why);
}

static void normal(void *op, struct bs_toeplitz_cuda *to)
{
	((struct paths *)op)->normal = to;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static float2 *samples(void *op, uint32_t state)
{
	const struct paths *p = (const struct paths *)op;

	return p->data + state * p->data_step;
}

static float2 *cells_of(const struct paths *p, uint32_t state)
{
	const uint64_t cells = (uint64_t)p->image.on.size[0] * p->image.on.size[1] * p->image.coils;

	return p->image.cells + state * (bs_devmem_round(cells * 8) / 8);
}

static int begin(void *op, uint32_t state, cudaStream_t stream, struct bs_fail *why)
{
	struct paths *p = (struct paths *)op;
	const size_t readouts = p->shape.readouts;
	const size_t boxes = readouts * p->shape.chunks;
	const struct gridder *const both[2] = { &p->image, &p->q };
	const uint64_t cells = (uint64_t)p->image.on.size[0] * p->image.on.size[1] * p->image.coils;

	for (int i = 0; i < (p->solves ? 2 : 1); i++)
		BS_CUDA(cudaMemsetAsync(both[i]->on.box + state * boxes, BS_PATH_NEVER & 0xff,
					boxes * sizeof(struct bs_path_box), stream),
			why);
	BS_CUDA(cudaMemsetAsync(p->seen + state * readouts, 0, readouts * sizeof(double), stream),
		why);
	BS_CUDA(cudaMemsetAsync(cells_of(p, state), 0, cells * sizeof(float2), stream), why);
	memset(p->came + state * readouts, 0, readouts);
	p->state[state] = {};
	return 0;
}

static int path(void *op, uint32_t state, uint32_t readout, const float *k, cudaStream_t stream,
		struct bs_fail *why)
{
	struct paths *p = (struct paths *)op;
	const struct bs_path_shape *s = &p->shape;
	const uint64_t slot = p->made % SLOTS;
	float *reach = p->state[state].reach;

	for (uint32_t m = 0; m < s->samples; m++) {
		reach[0] = fmaxf(reach[0], fabsf(k[2 * m]));
		reach[1] = fmaxf(reach[1], fabsf(k[2 * m + 1]));
	}
	p->state[state].came++;
	if (p->made >= SLOTS)
		BS_CUDA(cudaEventSynchronize(p->read[slot]), why);
	memcpy((float2 *)p->paths.host + slot * s->samples, k, s->samples * sizeof(float2));
	int rc = bs_path_find(&p->image.on, p->solves ? &p->q.on : NULL, p->seen,
			      (const float2 *)p->paths.dev + slot * s->samples,
			      (uint64_t)state * s->readouts + readout, s, stream, why);

	if (rc != 0)
		return rc;
	BS_CUDA(cudaEventRecord(p->read[slot], stream), why);
	p->made++;
	return 0;
}

/* Collects the readouts of a group in the image's cells. */
static int collect(struct paths *p, uint32_t state, uint32_t group, cudaStream_t stream,
		   struct bs_fail *why)
{
	const struct gridder *g = &p->image;
	const uint32_t from = group * p->group;
	const uint32_t left = p->shape.readouts - from;
	const struct bs_path_work work = { samples(p, state),
					   g->coils,
					   state,
					   from,
					   from + (left < p->group ? left : p->group),
					   true,
					   left <= p->group };

	return bs_path_collect(cells_of(p, state), &g->on, &work, p->seen,
			       (double *)p->sums.dev + state, &g->window, g->choice.taps, &p->shape,
			       stream, why);
}

/* Collects the groups that are complete, or (all) every group but the last. */
static int collect_ready(struct paths *p, uint32_t state, bool all, cudaStream_t stream,
			 struct bs_fail *why)
{
	const uint8_t *came = p->came + (size_t)state * p->shape.readouts;
	uint32_t *next = &p->state[state].next;
	int rc = 0;

	while (rc == 0 && (*next + 1) * p->group < p->shape.readouts) {
		uint32_t missing = 0;

		for (uint32_t r = 0; r < p->group; r++)
			missing += came[*next * p->group + r] == 0;
		if (missing > 0 && !all)
			break;
		rc = collect(p, state, (*next)++, stream, why);
	}
	return rc;
}

static int arrived(void *op, uint32_t state, uint32_t readout, cudaStream_t stream,
		   struct bs_fail *why)
{
	struct paths *p = (struct paths *)op;

	p->came[(size_t)state * p->shape.readouts + readout] = 1;
	return collect_ready(p, state, false, stream, why);
}

static int settle(void *op, uint32_t state, cudaStream_t stream, struct bs_fail *why)
{
	return collect_ready((struct paths *)op, state, true, stream, why);
}

static int to_image(const struct gridder *g, const float2 *cells, float2 *image,
		    cudaStream_t stream, struct bs_fail *why)
{
	int rc = bs_line_launch(&g->pass[0], 1, cells, g->half, stream, why);

	return rc != 0 ? rc : bs_line_launch(&g->pass[1], 1, g->half, image, stream, why);
}

/* Makes the path's Q, and its spectrum in the operator that the solver applies. */
static int make_q(struct paths *p, uint32_t state, cudaStream_t stream, struct bs_fail *why)
{
	const struct bs_path_work work = { NULL, 1, state, 0, p->shape.readouts, false, true };
	struct gridder *q = &p->q;
	int rc = bs_path_collect(q->cells, &q->on, &work, p->seen, (double *)p->sums.dev + state,
				 &q->window, q->choice.taps, &p->shape, stream, why);

	if (rc == 0)
		rc = to_image(q, q->cells, q->cells, stream, why);
	if (rc == 0)
		rc = bs_line_launch(&p->spectrum[0], -1, q->cells, q->half, stream, why);
	if (rc == 0)
		rc = bs_line_launch(&p->spectrum[1], -1, q->half, q->cells, stream, why);
	return rc != 0 ? rc : bs_toeplitz_cuda_set(p->normal, (const float *)q->cells, stream, why);
}

static int finish(void *op, uint32_t state, float2 *image, cudaStream_t stream, struct bs_fail *why)
{
	struct paths *p = (struct paths *)op;
	int rc = collect(p, state, (p->shape.readouts - 1) / p->group, stream, why);

	if (rc == 0)
		rc = to_image(&p->image, cells_of(p, state), image, stream, why);
	return rc == 0 && p->solves ? make_q(p, state, stream, why) : rc;
}

/* Checks the path's extent as gpu/encode/path.c does, and that the frame has an s. */
static int outcome(void *op, uint32_t state, struct bs_fail *why)
{
	const struct paths *p = (const struct paths *)op;
	const struct bs_protocol *own = p->protocol;
	const float *reach = p->state[state].reach;
	const double bright = p->shape.normalizes ? ((const double *)p->sums.host)[state] : 1.0;

	for (uint32_t a = 0; a < 2 && p->state[state].came == own->readouts; a++)
		if (own->matrix[a] > 1 && reach[a] < (float)own->traj.min_extent)
			return bs_fail(why, BS_ERR_TRAJECTORY,
				       "the path's |k%c| reaches only %g of at least %g cycles per "
				       "voxel for a matrix of %u: not in this unit, or no k-space "
				       "positions",
				       'x' + (int)a, (double)reach[a], own->traj.min_extent,
				       own->matrix[a]);
	return bright > 0.0 ? 0
			    : bs_fail(why, BS_ERR_VALUE,
				      "protocol '%s': its weights see nothing of an image of ones "
				      "(sum %g)",
				      own->name, bright);
}

const struct bs_cuda_operator bs_cuda_sum_path = {
	bs_coil_step, need, plan, close_paths, samples, begin, arrived, settle, finish, NULL,
	NULL,         NULL, NULL, NULL,        false,   path,  outcome, normal, NULL,   NULL,
};

/* gpu/image/cartesian.c - host twin; see cartesian.h */
#include "gpu/image/cartesian.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/fft/fft.h"

/*
 * The hybrid space is [state][coil][kz][ky][x]: x is in image space and cropped, y and z are in
 * k-space. Index j of an axis of length E holds k (or n) = j for j < E/2 and j - E above. This is
 * the order of a transform, so that centering costs two copies and no arithmetic.
 */
struct bs_cart {
	struct bs_cart_spec s;
	struct bs_team *team;
	float complex *hybrid;
	float complex *lines; /* [coil][Ex] workspace of add */
	size_t state_size;    /* complex values of one state */
	struct bs_fft along[3];
	const struct bs_fft_kernels *fft;
	float *blocks; /* [member][2] blocks that a vector's lanes transform */
	size_t block;
	float scale;
	/* These members belong to the run in progress, for the team's tasks. */
	float complex *now;
	const float *data;
	size_t coil_stride;
	uint32_t line;
	float *image;
};

static uint32_t wrap(int64_t centered, uint32_t size)
{
	return (uint32_t)(centered < 0 ? centered + size : centered);
}

/* Floats of a block: a vector's lanes along the longest axis. */
static size_t block_size(const struct bs_cart_spec *s)
{
	uint32_t longest = s->encoded[0];

	for (int a = 1; a < 3; a++)
		longest = s->encoded[a] > longest ? s->encoded[a] : longest;
	return (2 * (size_t)longest * BS_ISA_PICK(bs_fft_kernels)->lanes + BS_ALIGN / 4 - 1) /
	       (BS_ALIGN / 4) * (BS_ALIGN / 4);
}

/* Returns the complex values of one line's workspace, rounded up to whole cache lines. */
static size_t line_size(const struct bs_cart_spec *s)
{
	return ((size_t)s->encoded[0] * 8 + BS_ALIGN - 1) / BS_ALIGN * (BS_ALIGN / 8);
}

int bs_cart_need(const struct bs_cart_spec *s, struct bs_need *need, struct bs_fail *why)
{
	uint64_t plane = (uint64_t)s->matrix[0] * s->encoded[1];
	uint64_t state;

	for (int a = 0; a < 3; a++)
		if (s->matrix[a] == 0 || s->matrix[a] > s->encoded[a] || s->encoded[a] > 4096)
			return bs_fail(why, BS_ERR_CONFIG, "matrix %c is %u, encoded %u", "xyz"[a],
				       s -> matrix[a], s -> encoded[a]);
	if (s->samples == 0 || s->samples > s->encoded[0] || s->samples < s->encoded[0] / 2)
		return bs_fail(why, BS_ERR_CONFIG, "%u samples of an encoded %u (at least half)",
			       s->samples, s->encoded[0]);
	if (s->coils == 0 || s->states == 0 ||
	    __builtin_mul_overflow(plane * s->encoded[2], (uint64_t)s->coils * 8u, &state))
		return bs_fail(why, BS_ERR_CONFIG, "cartesian: %u coils, %u states", s->coils,
			       s->states);
	bs_need_add(need, "hybrid k-space", s->states, state);
	bs_need_add(need, "line scratch", s->coils, (uint64_t)s->encoded[0] * 8u);
	bs_need_add(need, "transforms", (uint64_t)BS_TEAM_MAX * 2, block_size(s) * 4u);
	return 0;
}

int bs_cart_plan(struct bs_cart **plan, const struct bs_cart_spec *s, struct bs_arena *arena,
		 struct bs_team *team, struct bs_fail *why)
{
	struct bs_cart *c = calloc(1, sizeof(*c));
	size_t plane = (size_t)s->matrix[0] * s->encoded[1];
	size_t line_bytes = line_size(s) * 8;
	double n = (double)s->encoded[0] * s->encoded[1] * s->encoded[2];
	bool failed = false;

	if (c == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "cartesian plan");
	c->s = *s;
	c->team = team;
	c->scale = (float)(1.0 / sqrt(n));
	c->state_size = plane * s->encoded[2] * s->coils;
	/* each state begins at an aligned address */
	c->state_size = (c->state_size + BS_ALIGN / 8 - 1) / (BS_ALIGN / 8) * (BS_ALIGN / 8);
	c->hybrid = bs_arena_take(arena, c->state_size * 8 * s->states, BS_ALIGN);
	c->lines = bs_arena_take(arena, line_bytes * s->coils, BS_ALIGN);
	c->fft = BS_ISA_PICK(bs_fft_kernels);
	c->block = block_size(s);
	c->blocks = bs_arena_take(arena, (size_t)BS_TEAM_MAX * 2 * c->block * 4, BS_ALIGN);
	for (int a = 0; a < 3; a++)
		failed = bs_fft_plan(&c->along[a], s->encoded[a]) != 0 || failed;
	if (failed || c->hybrid == NULL || c->lines == NULL || c->blocks == NULL) {
		bs_cart_close(c);
		return bs_fail(why, BS_ERR_NOMEM, "cartesian plan");
	}
	*plan = c;
	return 0;
}

void bs_cart_close(struct bs_cart *c)
{
	if (c == NULL)
		return;
	for (int a = 0; a < 3; a++)
		bs_fft_close(&c->along[a]);
	free(c);
}

void bs_cart_begin(struct bs_cart *c, uint32_t state)
{
	memset(c->hybrid + state * c->state_size, 0, c->state_size * 8);
}

/* Puts a coil's samples in their places on the grid. */
static void place_samples(const struct bs_cart *c, uint32_t coil, float complex *line)
{
	const uint32_t E = c->s.encoded[0];
	/* grid index of the first sample; k = first - E/2 */
	const uint32_t first = E - c->s.samples;
	const float *in = c->data + 2 * (size_t)coil * c->coil_stride;

	memset(line, 0, (size_t)E * 8);
	for (uint32_t j = 0; j < c->s.samples; j++)
		memcpy(&line[wrap((int64_t)(first + j) - E / 2, E)], in + 2 * (size_t)j, 8);
}

/* Adds as many coils as a vector has lanes, from `first` on; the last coil fills up the lanes. */
static void add_coils(struct bs_cart *c, uint32_t first)
{
	const uint32_t E = c->s.encoded[0];
	const uint32_t N = c->s.matrix[0];
	float *lane[BS_FFT_LANES_MAX];

	for (uint32_t j = 0; j < c->fft->lanes; j++) {
		const uint32_t coil = first + j < c->s.coils ? first + j : c->s.coils - 1;
		float complex *line = c->lines + (size_t)coil * line_size(&c->s);

		if (first + j < c->s.coils)
			place_samples(c, coil, line);
		lane[j] = (float *)line;
	}
	c->fft->lines_in(c->blocks, (const float *const *)lane, E, NULL);
	c->fft->lines_out(lane, c->fft->run(&c->along[0], c->blocks, c->blocks + c->block, true), E,
			  NULL);
	for (uint32_t coil = first; coil < c->s.coils && coil < first + c->fft->lanes; coil++) {
		const float complex *line = c->lines + (size_t)coil * line_size(&c->s);
		float complex *out =
			c->now + ((size_t)coil * c->s.encoded[2] * c->s.encoded[1] + c->line) * N;

		for (uint32_t x = 0; x < N; x++)
			out[x] = line[wrap((int64_t)x - N / 2, E)];
	}
}

void bs_cart_add(struct bs_cart *c, uint32_t state, uint32_t line, const float *data,
		 size_t coil_stride)
{
	uint32_t ky = line % c->s.encoded[1];
	uint32_t kz = line / c->s.encoded[1];

	c->now = c->hybrid + state * c->state_size;
	c->data = data;
	c->coil_stride = coil_stride;
	c->line = wrap((int64_t)kz - c->s.encoded[2] / 2, c->s.encoded[2]) * c->s.encoded[1] +
		  wrap((int64_t)ky - c->s.encoded[1] / 2, c->s.encoded[1]);
	/* A line is too short to be divided among threads. */
	for (uint32_t coil = 0; coil < c->s.coils; coil += c->fft->lanes)
		add_coils(c, coil);
}

float *bs_cart_hybrid(struct bs_cart *c, uint32_t state)
{
	return (float *)(c->hybrid + state * c->state_size);
}

/*
 * Transforms N values side by side along y or z. The values of a line lie stride complex numbers
 * apart.
 */
static void transform_axis(const struct bs_cart *c, int axis, float complex *at, size_t stride,
			   int member)
{
	const uint32_t N = c->s.matrix[0];
	float *a = c->blocks + (size_t)member * 2 * c->block;

	for (uint32_t x = 0; x < N; x += c->fft->lanes) {
		const uint32_t count = N - x < c->fft->lanes ? N - x : c->fft->lanes;
		const float *r;

		c->fft->cols_in(a, (const float *)(at + x), 2 * stride, c->s.encoded[axis], count,
				NULL, false);
		r = c->fft->run(&c->along[axis], a, a + c->block, true);
		c->fft->cols_out((float *)(at + x), 2 * stride, r, c->s.encoded[axis], count, NULL);
	}
}

/* A task transforms one kz of a coil. */
static void finish_plane(void *arg, int task, int member)
{
	struct bs_cart *c = arg;
	float complex *plane = c->now + (size_t)task * c->s.encoded[1] * c->s.matrix[0];

	transform_axis(c, 1, plane, c->s.matrix[0], member);
}

static void finish_row(void *arg, int task, int member) /* A task transforms one y of a coil. */
{
	struct bs_cart *c = arg;
	const uint32_t *N = c->s.matrix;
	const uint32_t *E = c->s.encoded;
	uint32_t coil = (uint32_t)task / N[1];
	uint32_t y = (uint32_t)task % N[1];
	size_t plane = (size_t)E[1] * N[0];
	float complex *row = c->now + (size_t)coil * E[2] * plane +
			     (size_t)wrap((int64_t)y - N[1] / 2, E[1]) * N[0];

	if (E[2] > 1)
		transform_axis(c, 2, row, plane, member);
	for (uint32_t z = 0; z < N[2]; z++) {
		const float complex *in = row + wrap((int64_t)z - N[2] / 2, E[2]) * plane;
		float complex *out =
			(float complex *)c->image + (((size_t)coil * N[2] + z) * N[1] + y) * N[0];

		for (uint32_t x = 0; x < N[0]; x++)
			out[x] = in[x] * c->scale;
	}
}

void bs_cart_finish(struct bs_cart *c, uint32_t state, float *image)
{
	c->now = c->hybrid + state * c->state_size;
	c->image = image;
	bs_team_run(c->team, finish_plane, c, (int)(c->s.coils * c->s.encoded[2]));
	bs_team_run(c->team, finish_row, c, (int)(c->s.coils * c->s.matrix[1]));
}

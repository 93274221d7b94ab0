/*
 * gpu/image/pocs.c - see pocs.h
 *
 * An axis that is measured whole is not transformed. So an image falls into independent pieces,
 * which are small enough for the cache where only lines or partitions are partial.
 */
#include "gpu/image/pocs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame/center.h"
#include "gpu/fft/fft.h"

#define TOGETHER 8u /* most images that are worked on at once */

struct axis {
	struct bs_fft fft;
	/* [k], k = 0 first: weights of the symmetric center; ones where the axis is whole */
	float *window;
	float *scale; /* [n] scale 1 / size */
	bool partial;
	/* numbers of measured samples below the center of a partial axis, and from it on */
	uint32_t low, high;
};

struct bs_pocs {
	struct bs_pocs_spec s;
	struct bs_team *team;
	const struct bs_fft_kernels *fft;
	struct axis axis[3];
	size_t volume; /* complex values of all pieces of an image */
	float *work;   /* [together][3][volume]: image, samples, phase */
	float *blocks; /* [member][2] blocks that a vector's lanes transform */
	size_t block;  /* floats in a block */
	/* These members belong to the run in progress. */
	float *in, *out;
	uint32_t first; /* first image of the batch */
	/* most voxels of a piece on each axis, and number of pieces */
	uint32_t n[3], tiles[3];
};

/* Part of an image in arrays of its own size, x fastest. */
struct piece {
	uint32_t at[3], n[3];
	float *image, *samples, *phase;
	float *a, *b;
};

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static void shape_plan(struct bs_pocs *p, const struct bs_pocs_spec *s)
{
	uint32_t longest = 1;

	memset(p, 0, sizeof(*p));
	p->s = *s;
	p->fft = BS_ISA_PICK(bs_fft_kernels);
	for (int a = 0; a < 3; a++)
		longest = s->size[a] > longest ? s->size[a] : longest;
	p->volume = round_up(s->size[0], p->fft->lanes) * round_up(s->size[1], p->fft->lanes) *
		    s->size[2];
	p->block = round_up((size_t)longest * 2 * p->fft->lanes, BS_ALIGN / sizeof(float));
}

static void lay_out(struct bs_pocs *p, struct bs_room *r)
{
	const struct bs_pocs_spec *s = &p->s;

	bs_room_take(r, &p->work, "partial Fourier images",
		     (uint64_t)(s->images < TOGETHER ? s->images : TOGETHER) * 3, p->volume * 8);
	bs_room_take(r, &p->blocks, "partial Fourier lines", (uint64_t)BS_TEAM_MAX * 2,
		     p->block * 4);
	for (int a = 0; a < 3; a++)
		bs_room_take(r, &p->axis[a].window, "partial Fourier weights", 2, s->size[a] * 4u);
}

int bs_pocs_need(const struct bs_pocs_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct bs_room room = { .need = need };
	struct bs_pocs p;

	for (int a = 0; a < 3; a++)
		if (s->matrix[a] == 0 || s->matrix[a] > s->size[a] || s->size[a] > 4096)
			return bs_fail(why, BS_ERR_CONFIG, "partial Fourier: matrix %c is %u of %u",
				       "xyz"[a], s -> matrix[a], s -> size[a]);
	if (s->images == 0 || s->images > 4096 || s->iterations == 0 || s->iterations > 10000 ||
	    !(s->taper >= 0.0 && s->taper <= 1.0))
		return bs_fail(why, BS_ERR_CONFIG,
			       "partial Fourier: %u images, %u iterations, taper %g", s->images,
			       s->iterations, s->taper);
	shape_plan(&p, s);
	lay_out(&p, &room);
	return 0;
}

int bs_pocs_plan(struct bs_pocs **plan, const struct bs_pocs_spec *s, struct bs_arena *arena,
		 struct bs_team *team, struct bs_fail *why)
{
	struct bs_pocs *p = malloc(sizeof(*p));
	struct bs_room room = { .arena = arena };
	bool failed;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "partial Fourier plan");
	shape_plan(p, s);
	p->team = team;
	lay_out(p, &room);
	failed = room.full;
	for (int a = 0; a < 3 && !failed; a++) {
		struct axis *x = &p->axis[a];

		failed = bs_fft_plan(&x->fft, s->size[a]) != 0;
		x->scale = x->window + bs_slot(s->size[a] * 4u) / 4;
		for (uint32_t i = 0; i < s->size[a]; i++)
			x->scale[i] = (float)(1.0 / s->size[a]);
	}
	if (failed) {
		bs_pocs_close(p);
		return bs_fail(why, BS_ERR_NOMEM, "partial Fourier plan");
	}
	p->volume = round_up(p->volume * 8, BS_ALIGN) / 8;
	*plan = p;
	return 0;
}

void bs_pocs_close(struct bs_pocs *p)
{
	if (p == NULL)
		return;
	for (int a = 0; a < 3; a++)
		bs_fft_close(&p->axis[a].fft);
	free(p);
}

/* ---- what was measured ----------------------------------------------------------------------- */

static bool is_whole(struct bs_pocs_span s, uint32_t size)
{
	return s.from == 0 && s.to == size;
}

/* Samples beyond the center that the shorter side has; negative: the center was not measured. */
static int64_t reach_of(struct bs_pocs_span s, uint32_t size)
{
	const int64_t low = (int64_t)(size / 2) - s.from;
	const int64_t high = (int64_t)s.to - 1 - size / 2;

	return low < high ? low : high;
}

bool bs_pocs_is_partial(const struct bs_pocs_span spans[3], const uint32_t size[3])
{
	bool partial = false;

	for (int a = 0; a < 3; a++) {
		if (is_whole(spans[a], size[a]))
			continue;
		if (reach_of(spans[a], size[a]) < 1)
			return false;
		partial = true;
	}
	return partial;
}

void bs_pocs_rescale(struct bs_pocs_span spans[3], const uint32_t size[3], const uint32_t to[3])
{
	for (int a = 0; a < 3; a++) {
		const int64_t low = (int64_t)(size[a] / 2) - spans[a].from;
		const int64_t high = (int64_t)spans[a].to - 1 - size[a] / 2;
		const int64_t center = to[a] / 2;

		if (low < 0 || high < 0)
			spans[a].from = spans[a].to = 0;
		if (spans[a].from > 0)
			spans[a].from = (uint32_t)(center - low * to[a] / size[a]);
		spans[a].to = spans[a].to < size[a]
				      ? (uint32_t)(center + high * to[a] / size[a]) + 1
				      : to[a];
	}
}

void bs_pocs_spans(struct bs_pocs_span spans[3], const uint8_t *lines, const uint32_t size[3],
		   uint32_t samples)
{
	struct bs_span came[2];

	bs_center_spans(came, lines, &size[1]);
	spans[0] = (struct bs_pocs_span){ size[0] - samples, size[0] };
	for (int a = 0; a < 2; a++)
		spans[1 + a] = (struct bs_pocs_span){ came[a].from, came[a].to };
}

/* Makes the weights of the symmetric center along a partial axis. */
static void make_window(struct axis *x, uint32_t size, int64_t reach, double taper)
{
	const int64_t t = llround(taper * (double)reach);

	for (uint32_t i = 0; i < size; i++) {
		const int64_t k = i < size - size / 2 ? (int64_t)i : (int64_t)size - i;
		const double s = sin(acos(0.0) * (double)(reach + 1 - k) / (double)(t + 1));

		x->window[i] = k > reach ? 0.0f : k <= reach - t ? 1.0f : (float)(s * s);
	}
}

static void take_spans(struct bs_pocs *p, const struct bs_pocs_span spans[3])
{
	for (int a = 0; a < 3; a++) {
		struct axis *x = &p->axis[a];
		const uint32_t size = p->s.size[a];

		x->partial = !is_whole(spans[a], size);
		if (!x->partial)
			continue;
		x->low = size / 2 - spans[a].from;
		x->high = spans[a].to - size / 2;
		make_window(x, size, reach_of(spans[a], size), p->s.taper);
	}
}

/* ---- a piece --------------------------------------------------------------------------------- */

/* Transforms along x, one line in each lane; lanes beyond the last line repeat it. */
static void along_x(const struct bs_pocs *p, const struct piece *w, float *g, bool inverse)
{
	const struct axis *x = &p->axis[0];
	const uint32_t lines = w->n[1] * w->n[2];
	float *line[BS_FFT_LANES_MAX];

	for (uint32_t l = 0; l < lines; l += p->fft->lanes) {
		float *r;

		for (uint32_t j = 0; j < p->fft->lanes; j++)
			line[j] = g + 2 * (size_t)w->n[0] * (l + j < lines ? l + j : lines - 1);
		p->fft->lines_in(w->a, (const float *const *)line, w->n[0], NULL);
		r = p->fft->run(&x->fft, w->a, w->b, inverse);
		p->fft->lines_out(line, r, w->n[0], inverse ? x->scale : NULL);
	}
}

/* Transforms along y or z; the lanes hold neighbors in memory. */
static void along_axis(const struct bs_pocs *p, const struct piece *w, int a, float *g,
		       bool inverse)
{
	const struct axis *x = &p->axis[a];
	const uint32_t inner = w->n[0] * (a == 2 ? w->n[1] : 1);
	const uint32_t outer = a == 2 ? 1 : w->n[2];

	for (uint32_t o = 0; o < outer; o++)
		for (uint32_t i = 0; i < inner; i += p->fft->lanes) {
			const uint32_t width =
				inner - i < p->fft->lanes ? inner - i : p->fft->lanes;
			float *at = g + 2 * ((size_t)o * w->n[a] * inner + i);
			float *r;

			p->fft->cols_in(w->a, at, 2 * (size_t)inner, w->n[a], width, NULL, false);
			r = p->fft->run(&x->fft, w->a, w->b, inverse);
			p->fft->cols_out(at, 2 * (size_t)inner, r, w->n[a], width,
					 inverse ? x->scale : NULL);
		}
}

static void transform_piece(const struct bs_pocs *p, const struct piece *w, float *g, bool inverse)
{
	if (p->axis[0].partial)
		along_x(p, w, g, inverse);
	for (int a = 1; a < 3; a++)
		if (p->axis[a].partial)
			along_axis(p, w, a, g, inverse);
}

static float weight(const struct axis *x, uint32_t k)
{
	return x->partial ? x->window[k] : 1.0f;
}

/* Makes the phase of the symmetric center: exp(i angle), or 1 where the value is 0. */
static void make_phase(const struct bs_pocs *p, const struct piece *w)
{
	float *to = w->phase;
	const float *from = w->samples;

	for (uint32_t z = 0; z < w->n[2]; z++)
		for (uint32_t y = 0; y < w->n[1]; y++) {
			const float row = weight(&p->axis[2], z) * weight(&p->axis[1], y);

			for (uint32_t i = 0; i < w->n[0]; i++, to += 2, from += 2) {
				const float s = row * weight(&p->axis[0], i);

				to[0] = s * from[0];
				to[1] = s * from[1];
			}
		}
	transform_piece(p, w, w->phase, true);
	for (float *v = w->phase; v < to; v += 2) {
		const float size = sqrtf(v[0] * v[0] + v[1] * v[1]);

		v[0] = size > 0.0f ? v[0] / size : 1.0f;
		v[1] = size > 0.0f ? v[1] / size : 0.0f;
	}
}

static void give_phase(float *restrict image, const float *restrict phase, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const float re = image[2 * i];
		const float im = image[2 * i + 1];
		const float size = sqrtf(re * re + im * im);

		image[2 * i] = size * phase[2 * i];
		image[2 * i + 1] = size * phase[2 * i + 1];
	}
}

static bool is_measured(const struct axis *x, uint32_t size, uint32_t k)
{
	return !x->partial || k < x->high || k >= size - x->low;
}

static void put_back(const struct bs_pocs *p, const struct piece *w)
{
	const struct axis *x = &p->axis[0];
	const uint32_t *size = p->s.size;
	const size_t row = 2 * (size_t)w->n[0];

	for (uint32_t z = 0; z < w->n[2]; z++)
		for (uint32_t y = 0; y < w->n[1]; y++) {
			float *to = w->image + ((size_t)z * w->n[1] + y) * row;
			const float *from = w->samples + ((size_t)z * w->n[1] + y) * row;

			if (!is_measured(&p->axis[1], size[1], y) ||
			    !is_measured(&p->axis[2], size[2], z))
				continue;
			if (!x->partial) {
				memcpy(to, from, row * 4);
				continue;
			}
			memcpy(to, from, (size_t)x->high * 8);
			memcpy(to + row - 2 * (size_t)x->low, from + row - 2 * (size_t)x->low,
			       (size_t)x->low * 8);
		}
}

static void project(const struct bs_pocs *p, const struct piece *w)
{
	const size_t n = (size_t)w->n[0] * w->n[1] * w->n[2];

	memcpy(w->samples, w->image, n * 8);
	transform_piece(p, w, w->samples, false);
	make_phase(p, w);
	for (uint32_t i = 0; i < p->s.iterations; i++) {
		give_phase(w->image, w->phase, n);
		transform_piece(p, w, w->image, false);
		put_back(p, w);
		transform_piece(p, w, w->image, true);
	}
}

/* ---- an image -------------------------------------------------------------------------------- */

static struct piece piece_of(const struct bs_pocs *p, uint32_t tile, float *work, int member)
{
	struct piece w;
	const size_t most = (size_t)p->n[0] * p->n[1] * p->n[2];
	uint32_t left = tile;

	for (int a = 0; a < 3; a++) {
		w.at[a] = left % p->tiles[a] * p->n[a];
		w.n[a] = p->s.size[a] - w.at[a] < p->n[a] ? p->s.size[a] - w.at[a] : p->n[a];
		left /= p->tiles[a];
	}
	w.image = work + 2 * most * tile;
	w.samples = w.image + 2 * p->volume;
	w.phase = w.samples + 2 * p->volume;
	w.a = p->blocks + (size_t)member * 2 * p->block;
	w.b = w.a + p->block;
	return w;
}

static float *row_of(const struct bs_pocs *p, const struct piece *w, uint32_t image, uint32_t y,
		     uint32_t z)
{
	const uint32_t *E = p->s.size;

	return p->in + 2 * ((((size_t)image * E[2] + w->at[2] + z) * E[1] + w->at[1] + y) * E[0] +
			    w->at[0]);
}

static void do_piece(void *arg, int task, int member)
{
	const struct bs_pocs *p = arg;
	const uint32_t tiles = p->tiles[0] * p->tiles[1] * p->tiles[2];
	const uint32_t slot = (uint32_t)task / tiles;
	const struct piece w =
		piece_of(p, (uint32_t)task % tiles, p->work + (size_t)slot * 6 * p->volume, member);
	float *at = w.image;

	for (uint32_t z = 0; z < w.n[2]; z++)
		for (uint32_t y = 0; y < w.n[1]; y++, at += 2 * (size_t)w.n[0])
			memcpy(at, row_of(p, &w, p->first + slot, y, z), (size_t)w.n[0] * 8);
	project(p, &w);
	at = w.image;
	for (uint32_t z = 0; z < w.n[2]; z++)
		for (uint32_t y = 0; y < w.n[1]; y++, at += 2 * (size_t)w.n[0])
			memcpy(row_of(p, &w, p->first + slot, y, z), at, (size_t)w.n[0] * 8);
}

static void crop(void *arg, int task) /* A task crops one z of an image. */
{
	const struct bs_pocs *p = arg;
	const uint32_t *E = p->s.size;
	const uint32_t *N = p->s.matrix;
	const uint32_t image = (uint32_t)task / N[2];
	const uint32_t z = (uint32_t)task % N[2] + E[2] / 2 - N[2] / 2;

	for (uint32_t y = 0; y < N[1]; y++) {
		const size_t row = ((size_t)image * E[2] + z) * E[1] + y + E[1] / 2 - N[1] / 2;

		memcpy(p->out + 2 * ((size_t)task * N[1] + y) * N[0],
		       p->in + 2 * (row * E[0] + E[0] / 2 - N[0] / 2), (size_t)N[0] * 8);
	}
}

void bs_pocs_run(struct bs_pocs *p, const struct bs_pocs_span spans[3], float *in, float *out)
{
	const bool partial = bs_pocs_is_partial(spans, p->s.size);

	p->in = in;
	p->out = out;
	if (partial) {
		take_spans(p, spans);
		/*
		 * Whole axes are cut into pieces: x, or y, into as many voxels as a vector has
		 * lanes.
		 */
		for (int a = 0; a < 3; a++) {
			const bool lanes = a == 0 || (a == 1 && p->axis[0].partial);

			p->n[a] = p->axis[a].partial ? p->s.size[a] : lanes ? p->fft->lanes : 1;
			p->tiles[a] = (p->s.size[a] + p->n[a] - 1) / p->n[a];
		}
	}
	for (p->first = 0; partial && p->first < p->s.images; p->first += TOGETHER) {
		const uint32_t left = p->s.images - p->first;

		bs_team_run(p->team, do_piece, p,
			    (int)((left < TOGETHER ? left : TOGETHER) * p->tiles[0] * p->tiles[1] *
				  p->tiles[2]));
	}
	bs_team_do(p->team, crop, p, (int)(p->s.images * p->s.matrix[2]));
}

/* gpu/exact/exact.c - host twin: plan, tables and sums; see exact.h, also for rows and columns */
#include "gpu/exact/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/exact/basis.h"
#include "gpu/exact/exact_simd.h"

#define AXIS_MAX 2047u
#define BLOCK    1024u /* samples that share one set of tables; a multiple of the inner length */

struct bs_exact {
	struct bs_exact_spec s;
	struct bs_team *team;
	const struct bs_exact_half *v;
	/*
	 * The outer and the middle axis make the rows, x the columns. 2D has no middle axis (size
	 * 1).
	 */
	uint32_t outer, middle, columns, tiles, dims;
	uint32_t comps, planes; /* real parts and imaginary parts are separate planes of rows */
	/* rows and panels of one plane; the last panel is filled up with zeros */
	uint64_t rows, panels;
	size_t column_ld;
	float *k, *weight;
	/* These arrays are kept for each state. */
	double *sums;   /* sums [state][plane][row][column] */
	float *kept;    /* [state][coil][sample], as they came */
	uint32_t *got;  /* [state][chunk]: number of samples that came */
	uint64_t *next; /* [state]: first chunk that is not summed, or FRESH */
	uint64_t chunks, sums_size, kept_size;
	/* These arrays are the tables of the current block. */
	unsigned char *e, *y, *x, *b, *d, *panel;
	/* The next members describe the current block, for the team's tasks. */
	const float *data;
	size_t stride;
	uint64_t at;
	uint32_t count;
	double *sum;
	void *out;
	bool out_twice;
	void (*progress)(void *arg, double done);
	void *progress_arg;
};

static void put_factor(const struct bs_exact *p, size_t at, double value)
{
	if (p->s.twice)
		((double *)(void *)p->d)[at] = value;
	else
		((float *)(void *)p->d)[at] = (float)value;
}

/* Stores a complex value in out. */
static void store_value(const struct bs_exact *p, uint64_t at, double re, double im)
{
	if (p->out_twice) {
		((double *)p->out)[2 * at] = re;
		((double *)p->out)[2 * at + 1] = im;
	} else {
		((float *)p->out)[2 * at] = (float)re;
		((float *)p->out)[2 * at + 1] = (float)im;
	}
}

static void shape_plan(struct bs_exact *p, const struct bs_exact_spec *s)
{
	const struct bs_exact_kernels *kernels = BS_ISA_PICK(bs_exact_kernels);

	memset(p, 0, sizeof(*p));
	p->s = *s;
	p->v = s->twice ? &kernels->twice : &kernels->single;
	p->dims = s->dims;
	p->columns = s->matrix[0];
	p->outer = s->matrix[s->dims - 1];
	p->middle = s->dims == 3 ? s->matrix[1] : 1;
	p->tiles = (p->columns + p->v->cols - 1) / p->v->cols;
	p->column_ld = (size_t)p->tiles * p->v->cols;
	p->comps = s->real_data ? 1 : 2;
	p->planes = p->comps * s->coils;
	p->panels = ((uint64_t)p->outer * p->middle + p->v->rows - 1) / p->v->rows;
	p->rows = p->panels * p->v->rows;
	if (p->s.chunk == 0 || p->s.chunk > s->samples)
		p->s.chunk = s->samples < BLOCK ? s->samples : BLOCK;
	p->chunks = (s->samples + p->s.chunk - 1) / p->s.chunk;
	p->sums_size = p->planes * p->rows * p->column_ld;
	p->kept_size = s->coils * s->samples * p->comps;
}

static void lay_out(struct bs_exact *p, struct bs_room *r)
{
	const struct bs_exact_spec *s = &p->s;
	const uint64_t real = p->v->real_bytes;

	bs_room_take(r, &p->k, "trajectory", 1, s->samples * s->dims * 4);
	bs_room_take(r, &p->weight, "weights", 1, s->samples * 4);
	bs_room_take(r, &p->sums, "accumulators", s->states, p->sums_size * 8);
	bs_room_take(r, &p->kept, "samples kept", s->states, p->kept_size * 4);
	bs_room_take(r, &p->got, "chunk counts", s->states, p->chunks * 4);
	bs_room_take(r, &p->next, "chunk cursors", 1, s->states * 8u);
	bs_room_take(r, &p->e, "phase tables", 1, (uint64_t)p->outer * BLOCK * real);
	bs_room_take(r, &p->y, "phase tables", 1, (uint64_t)p->middle * BLOCK * real);
	bs_room_take(r, &p->x, "phase tables", 1, (uint64_t)p->columns * BLOCK * real);
	bs_room_take(r, &p->b, "phase tiles", 1, p->column_ld * BLOCK * real);
	bs_room_take(r, &p->d, "sample factors", p->planes, BLOCK * real);
	bs_room_take(r, &p->panel, "row panels", BS_TEAM_MAX,
		     (uint64_t)p->v->rows * (p->v->inner + BS_EXACT_PAD) * real);
}

static int check_spec(const struct bs_exact_spec *s, struct bs_fail *why)
{
	uint64_t voxels = 1;

	if (s->dims != 2 && s->dims != 3)
		return bs_fail(why, BS_ERR_CONFIG, "exact sums: %u dimensions (2 or 3)", s->dims);
	for (uint32_t a = 0; a < 3; a++) {
		uint32_t most = a < s->dims ? AXIS_MAX : 1;

		if (s->matrix[a] == 0 || s->matrix[a] > most)
			return bs_fail(why, BS_ERR_CONFIG, "exact sums: matrix %c is %u (1 to %u)",
				       "xyz"[a], s -> matrix[a], most);
		if (s->real_data && a < s->dims && s->matrix[a] % 2 == 0)
			return bs_fail(why, BS_ERR_CONFIG,
				       "exact sums: matrix %c is %u, real data need it odd",
				       "xyz"[a], s -> matrix[a]);
		voxels *= s->matrix[a];
	}
	if (s->coils == 0 || s->coils > BS_COILS_MAX || s->states > 4096)
		return bs_fail(why, BS_ERR_CONFIG, "exact sums: %u coils, %u states", s->coils,
			       s->states);
	/* 2^33 voxels, and 2^36 samples of 64 coils in 4096 states, stay below 2^64 bytes */
	if (s->samples == 0 || s->samples > UINT64_C(1) << 36 || s->chunk > UINT32_MAX)
		return bs_fail(why, BS_ERR_CONFIG, "exact sums: %llu samples, chunk %llu",
			       (unsigned long long)s->samples, (unsigned long long)s->chunk);
	if (voxels * s->coils > UINT64_C(1) << 40)
		return bs_fail(why, BS_ERR_CONFIG, "exact sums: %llu voxels of %u coils",
			       (unsigned long long)voxels, s->coils);
	return 0;
}

int bs_exact_need(const struct bs_exact_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct bs_room room = { .need = need };
	struct bs_exact p;
	int rc = check_spec(s, why);

	if (rc != 0)
		return rc;
	shape_plan(&p, s);
	lay_out(&p, &room);
	return 0;
}

int bs_exact_plan(struct bs_exact **plan, const struct bs_exact_spec *s, const float *k,
		  const float *weight, struct bs_arena *arena, struct bs_team *team,
		  struct bs_fail *why)
{
	struct bs_room room = { .arena = arena };
	struct bs_exact *p;
	int rc = check_spec(s, why);

	if (rc != 0)
		return rc;
	p = malloc(sizeof(*p));
	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "exact sums");
	shape_plan(p, s);
	lay_out(p, &room);
	p->team = team;
	if (room.full) {
		free(p);
		return bs_fail(why, BS_ERR_NOMEM, "exact sums: the arena is too small");
	}
	/* These are the strides between slots, in elements. */
	p->sums_size = bs_slot(p->sums_size * 8) / 8;
	p->kept_size = bs_slot(p->kept_size * 4) / 4;
	memcpy(p->k, k, (size_t)(s->samples * s->dims) * 4);
	for (uint64_t m = 0; m < s->samples; m++)
		p->weight[m] = weight != NULL ? weight[m] : 1.0f;
	*plan = p;
	return 0;
}

void bs_exact_close(struct bs_exact *p)
{
	free(p);
}

void bs_exact_progress(struct bs_exact *p, void (*fn)(void *arg, double done), void *arg)
{
	p->progress = fn;
	p->progress_arg = arg;
}

/* --- tables of one block ------------------------------------------------------------------- */

/* Returns phi_m, and the angle that moves the centers of even axes to n = -1/2 (exact.h). */
static double basis_of(const struct bs_exact *p, uint64_t m, double *angle)
{
	const float *k = p->k + m * p->dims;

	*angle = 0.0;
	for (uint32_t a = 0; a < p->dims; a++)
		if (p->s.matrix[a] % 2 == 0)
			*angle -= M_PI * (double)k[a];
	return p->s.basis == BS_BASIS_BOX ? bs_basis_box(1.0, k, p->dims) : 1.0;
}

/* Makes D[plane][m] = w phi d exp(i angle), with real parts and imaginary parts
 * in separate planes. */
static void sample_factors(struct bs_exact *p, uint32_t from, uint32_t n)
{
	for (uint32_t m = from; m < from + n; m++) {
		double angle;
		double amplitude = basis_of(p, p->at + m, &angle) * (double)p->weight[p->at + m];
		double c;
		double s;

		sincos(angle, &s, &c);
		c *= amplitude;
		s *= amplitude;
		for (uint32_t coil = 0; coil < p->s.coils; coil++) {
			const float *d = p->data + (coil * p->stride + m) * p->comps;
			size_t at = (size_t)coil * p->comps * BLOCK + m;

			if (p->comps == 1) {
				put_factor(p, at, amplitude * (double)d[0]);
				continue;
			}
			put_factor(p, at, c * (double)d[0] - s * (double)d[1]);
			put_factor(p, at + BLOCK, c * (double)d[1] + s * (double)d[0]);
		}
	}
}

/* Makes part of the block's table of one axis; tasks after the axes make the samples' factors. */
static void make_tables(void *arg, int task)
{
	struct bs_exact *p = arg;
	const struct bs_exact_half *v = p->v;
	uint32_t parts = BLOCK / v->inner;
	uint32_t axis = (uint32_t)task / parts;
	uint32_t from = (uint32_t)task % parts * v->inner;
	uint32_t n = p->count > from ? p->count - from : 0;
	size_t at = (size_t)from * v->real_bytes;
	const float *k;

	if (n == 0)
		return;
	if (n > v->inner)
		n = v->inner;
	if (axis == p->dims) {
		sample_factors(p, from, n);
		return;
	}
	k = p->k + (p->at + from) * p->dims + axis;
	if (axis == 0) {
		v->phases(p->x + at, BLOCK, k, p->dims, n, p->columns);
		v->pack(p->b + (size_t)from * p->column_ld * v->real_bytes, p->x + at, BLOCK, n,
			p->columns);
	} else {
		v->phases(axis == p->dims - 1 ? p->e + at : p->y + at, BLOCK, k, p->dims, n,
			  p->s.matrix[axis]);
	}
}

/* Forms one panel of rows, D E Y, for the samples from .. from + n - 1 of the block. */
static void form_panel(const struct bs_exact *p, unsigned char *panel, uint64_t first,
		       uint32_t from, uint32_t n, const unsigned char *d)
{
	const struct bs_exact_half *v = p->v;
	size_t ld = (size_t)(v->inner + BS_EXACT_PAD) * v->real_bytes;
	size_t row_bytes = (size_t)BLOCK * v->real_bytes;
	size_t at = (size_t)from * v->real_bytes;

	for (uint32_t r = 0; r < v->rows; r++, panel += ld) {
		uint64_t row = first + r;
		uint64_t outer = row / p->middle;
		const unsigned char *e = outer < p->outer ? p->e + outer * row_bytes + at : NULL;
		const unsigned char *y =
			p->dims == 3 ? p->y + row % p->middle * row_bytes + at : NULL;

		v->form(panel, d + at, e, y, n);
	}
}

/* --- sums ---------------------------------------------------------------------------------- */

#define FRESH UINT64_MAX /* no sample has come since begin */

/* A task adds one panel of one plane. */
static void add_panel(void *arg, int task, int member)
{
	struct bs_exact *p = arg;
	const struct bs_exact_half *v = p->v;
	uint64_t plane = (uint64_t)task / p->panels;
	uint64_t first = (uint64_t)task % p->panels * v->rows;
	unsigned char *panel =
		p->panel + (size_t)member * v->rows * (v->inner + BS_EXACT_PAD) * v->real_bytes;
	const unsigned char *d = p->d + plane * BLOCK * v->real_bytes;
	double *t = p->sum + (plane * p->rows + first) * p->column_ld;

	for (uint32_t from = 0; from < p->count; from += v->inner) {
		uint32_t n = p->count - from < v->inner ? p->count - from : v->inner;
		const unsigned char *b = p->b + (size_t)from * p->column_ld * v->real_bytes;

		form_panel(p, panel, first, from, n, d);
		for (uint32_t tile = 0; tile < p->tiles; tile++)
			v->add(panel, b + (size_t)tile * n * v->cols * v->real_bytes, n,
			       t + (size_t)tile * v->cols, p->column_ld);
	}
}

/* Adds the samples first .. first + count - 1 to the state; data points at sample first. */
static void sum_samples(struct bs_exact *p, uint32_t state, uint64_t first, uint64_t count,
			const float *data, size_t stride)
{
	p->sum = p->sums + state * p->sums_size;
	p->stride = stride;
	for (uint64_t done = 0; done < count; done += BLOCK) {
		p->at = first + done;
		p->count = count - done < BLOCK ? (uint32_t)(count - done) : BLOCK;
		p->data = data + done * p->comps;
		bs_team_do(p->team, make_tables, p, (int)((p->dims + 1) * (BLOCK / p->v->inner)));
		bs_team_run(p->team, add_panel, p, (int)(p->planes * p->panels));
		if (p->progress != NULL)
			p->progress(p->progress_arg,
				    (double)(p->at + p->count) / (double)p->s.samples);
	}
}

static uint64_t chunk_length(const struct bs_exact *p, uint64_t chunk)
{
	uint64_t left = p->s.samples - chunk * p->s.chunk;

	return left < p->s.chunk ? left : p->s.chunk;
}

static uint32_t *got_of(const struct bs_exact *p, uint32_t state)
{
	return p->got + state * ((p->chunks + 15) & ~(uint64_t)15);
}

void bs_exact_begin(struct bs_exact *p, uint32_t state)
{
	memset(p->sums + state * p->sums_size, 0, p->sums_size * 8);
	memset(got_of(p, state), 0, p->chunks * 4);
	p->next[state] = FRESH;
}

/* Sums the chunks that were kept. A chunk of which nothing came would add zeros and is left out. */
static void sum_kept(struct bs_exact *p, uint32_t state)
{
	uint64_t chunk = p->next[state]++;
	const float *data = p->kept + state * p->kept_size + chunk * p->s.chunk * p->comps;

	if (got_of(p, state)[chunk] > 0)
		sum_samples(p, state, chunk * p->s.chunk, chunk_length(p, chunk), data,
			    p->s.samples);
}

/* Keeps samples of one chunk; the chunk's samples that never come will count as zeros. */
static void keep_samples(struct bs_exact *p, uint32_t state, uint64_t chunk, uint64_t first,
			 uint64_t n, const float *data, size_t coil_stride)
{
	float *kept = p->kept + state * p->kept_size;
	uint32_t *got = got_of(p, state) + chunk;
	uint64_t all = chunk_length(p, chunk);

	for (uint32_t coil = 0; coil < p->s.coils; coil++) {
		float *to = kept + coil * p->s.samples * p->comps;

		if (*got == 0 && n < all)
			memset(to + chunk * p->s.chunk * p->comps, 0, all * p->comps * 4);
		memcpy(to + first * p->comps, data + coil * coil_stride * p->comps,
		       n * p->comps * 4);
	}
	*got += (uint32_t)n;
}

void bs_exact_add(struct bs_exact *p, uint32_t state, uint64_t first, uint64_t count,
		  const float *data, size_t coil_stride)
{
	uint32_t *got = got_of(p, state);

	if (p->next[state] == FRESH)
		p->next[state] = p->s.part > 0 ? first / p->s.part * (p->s.part / p->s.chunk) : 0;
	while (count > 0) {
		uint64_t chunk = first / p->s.chunk;
		uint64_t n = (chunk + 1) * p->s.chunk - first;

		if (n > count)
			n = count;
		keep_samples(p, state, chunk, first, n, data, coil_stride);
		data += n * p->comps;
		first += n;
		count -= n;
	}
	while (p->next[state] < p->chunks && got[p->next[state]] >= chunk_length(p, p->next[state]))
		sum_kept(p, state);
}

/*
 * Finds voxel j of an axis of N: the column of its cosine, that of its sine (-1: none), the sine's
 * sign.
 */
static int axis_sine(uint32_t N, uint32_t j, uint32_t *cosine, double *sign)
{
	int n = (int)j - (int)(N / 2);
	int h = N % 2 == 0 ? (n < 0 ? -n - 1 : n) : abs(n);

	*cosine = (uint32_t)h;
	*sign = n < 0 ? -1.0 : 1.0;
	if (N % 2 == 0)
		return (int)(N / 2) + h;
	return h == 0 ? -1 : (int)((N + 1) / 2) + h - 1;
}

/* Adds i^power sign (row of T) to re, im: the rows that make one image row before x is unfolded. */
static void gather_row(const struct bs_exact *p, uint32_t coil, uint64_t row, int power,
		       double sign, double *re, double *im)
{
	const double *tr = p->sum + ((uint64_t)coil * p->comps * p->rows + row) * p->column_ld;
	const double *ti = p->comps == 2 ? tr + p->rows * p->column_ld : NULL;
	double sr = power == 2 ? -sign : sign;

	for (uint32_t l = 0; l < p->columns; l++) {
		double a = sr * tr[l];
		double b = ti != NULL ? sr * ti[l] : 0.0;

		re[l] += power == 1 ? -b : a;
		im[l] += power == 1 ? a : b;
	}
}

/* A task unfolds one outer voxel of a coil. */
static void unfold(void *arg, int task)
{
	struct bs_exact *p = arg;
	uint32_t coil = (uint32_t)task / p->outer;
	uint32_t outer = (uint32_t)task % p->outer;
	double re[AXIS_MAX + 1];
	double im[AXIS_MAX + 1];
	uint32_t co[2] = { 0, 0 };
	double sign[2] = { 1.0, 1.0 };
	int si[2] = { -1, -1 };

	si[0] = axis_sine(p->outer, outer, &co[0], &sign[0]);
	for (uint32_t mid = 0; mid < p->middle; mid++) {
		uint64_t at = (((uint64_t)coil * p->outer + outer) * p->middle + mid) * p->columns;

		if (p->dims == 3)
			si[1] = axis_sine(p->middle, mid, &co[1], &sign[1]);
		memset(re, 0, p->columns * sizeof(re[0]));
		memset(im, 0, p->columns * sizeof(im[0]));
		for (int s = 0; s < 4; s++) {
			int so = s >> 1;
			int sm = s & 1;
			int64_t ro = so ? si[0] : (int)co[0];
			int64_t rm = sm ? si[1] : (int)co[1];

			if (ro >= 0 && rm >= 0)
				gather_row(p, coil, (uint64_t)ro * p->middle + (uint64_t)rm,
					   so + sm, (so ? sign[0] : 1.0) * (sm ? sign[1] : 1.0), re,
					   im);
		}
		for (uint32_t x = 0; x < p->columns; x++) {
			uint32_t c;
			double sx;
			int s = axis_sine(p->columns, x, &c, &sx);

			store_value(p, at + x, re[c] - (s < 0 ? 0.0 : sx * im[s]),
				    im[c] + (s < 0 ? 0.0 : sx * re[s]));
		}
	}
}

static void finish_state(struct bs_exact *p, uint32_t state, void *image, bool twice)
{
	while (p->next[state] != FRESH && p->next[state] < p->chunks)
		sum_kept(p, state);
	p->sum = p->sums + state * p->sums_size;
	p->out = image;
	p->out_twice = twice;
	bs_team_do(p->team, unfold, p, (int)(p->s.coils * p->outer));
}

void bs_exact_finish(struct bs_exact *p, uint32_t state, float *image)
{
	finish_state(p, state, image, false);
}

void bs_exact_finish_double(struct bs_exact *p, uint32_t state, double *image)
{
	finish_state(p, state, image, true);
}

void bs_exact_adjoint(struct bs_exact *p, const float *data, float *image)
{
	memset(p->sums, 0, p->sums_size * 8);
	for (uint64_t chunk = 0; chunk < p->chunks; chunk++)
		sum_samples(p, 0, chunk * p->s.chunk, chunk_length(p, chunk),
			    data + chunk * p->s.chunk * p->comps, p->s.samples);
	p->next[0] = p->chunks;
	finish_state(p, 0, image, false);
}

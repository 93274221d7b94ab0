/* gpu/exact/adjoint.c - host twin: F^H d, whole or as samples come; see exact.h, part.h */
#include "gpu/exact/part.h"

#include <stdlib.h>
#include <string.h>

#define FRESH UINT64_MAX /* no sample came since begin */

/* Task: plane x panel. */
static void add_panel(void *arg, int task, int member)
{
	struct bs_exact *p = arg;
	const struct bs_exact_half *v = p->v;
	uint64_t plane = (uint64_t)task / p->panels;
	uint64_t first = (uint64_t)task % p->panels * v->rows;
	unsigned char *panel =
		p->panel + (size_t)member * v->rows * (v->inner + BS_EXACT_PAD) * v->real_bytes;
	const unsigned char *d = p->d + plane * BS_EXACT_BLOCK * v->real_bytes;
	double *t = p->sum + (plane * p->rows + first) * p->column_ld;

	for (uint32_t from = 0; from < p->count; from += v->inner) {
		uint32_t n = p->count - from < v->inner ? p->count - from : v->inner;
		const unsigned char *b = p->b + (size_t)from * p->column_ld * v->real_bytes;

		bs_exact_form_panel(p, panel, first, from, n, d);
		for (uint32_t tile = 0; tile < p->tiles; tile++)
			v->add(panel, b + (size_t)tile * n * v->cols * v->real_bytes, n,
			       t + (size_t)tile * v->cols, p->column_ld);
	}
}

/* Adds the samples [first, first + count) of the state, data at p->data for the first of them. */
static void sum_samples(struct bs_exact *p, uint32_t state, uint64_t first, uint64_t count,
			const float *data, size_t stride)
{
	p->sum = p->sums + state * p->sums_size;
	p->stride = stride;
	for (uint64_t done = 0; done < count; done += BS_EXACT_BLOCK) {
		p->at = first + done;
		p->count =
			count - done < BS_EXACT_BLOCK ? (uint32_t)(count - done) : BS_EXACT_BLOCK;
		p->data = data + done * p->comps;
		bs_exact_tables(p, false);
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

/* A chunk of which nothing came would add zeros: it is left out, the sums are the same. */
static void sum_kept(struct bs_exact *p, uint32_t state)
{
	uint64_t chunk = p->next[state]++;
	const float *data = p->kept + state * p->kept_size + chunk * p->s.chunk * p->comps;

	if (got_of(p, state)[chunk] > 0)
		sum_samples(p, state, chunk * p->s.chunk, chunk_length(p, chunk), data,
			    p->s.samples);
}

/* Samples of one chunk; those of it that never come will count as zeros. */
static void keep(struct bs_exact *p, uint32_t state, uint64_t chunk, uint64_t first, uint64_t n,
		 const float *data, size_t coil_stride)
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
		keep(p, state, chunk, first, n, data, coil_stride);
		data += n * p->comps;
		first += n;
		count -= n;
	}
	while (p->next[state] < p->chunks && got[p->next[state]] >= chunk_length(p, p->next[state]))
		sum_kept(p, state);
}

/* Voxel j of an axis of N: its cosine's column, its sine's (-1: none) and the sine's sign. */
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

/* re, im += i^power sign (row of T): the rows that make one image row before x is unfolded. */
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

/* Task: coil x outer voxel. */
static void unfold(void *arg, int task, int member)
{
	struct bs_exact *p = arg;
	uint32_t coil = (uint32_t)task / p->outer;
	uint32_t outer = (uint32_t)task % p->outer;
	double re[BS_EXACT_AXIS_MAX + 1];
	double im[BS_EXACT_AXIS_MAX + 1];
	uint32_t co[2] = { 0, 0 };
	double sign[2] = { 1.0, 1.0 };
	int si[2] = { -1, -1 };

	(void)member;
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

			bs_exact_store(p, at + x, re[c] - (s < 0 ? 0.0 : sx * im[s]),
				       im[c] + (s < 0 ? 0.0 : sx * re[s]));
		}
	}
}

static void finish(struct bs_exact *p, uint32_t state, void *image, bool twice)
{
	while (p->next[state] != FRESH && p->next[state] < p->chunks)
		sum_kept(p, state);
	p->sum = p->sums + state * p->sums_size;
	p->out = image;
	p->image_twice = twice;
	bs_team_run(p->team, unfold, p, (int)(p->s.coils * p->outer));
}

void bs_exact_finish(struct bs_exact *p, uint32_t state, float *image)
{
	finish(p, state, image, false);
}

void bs_exact_finish_double(struct bs_exact *p, uint32_t state, double *image)
{
	finish(p, state, image, true);
}

void bs_exact_adjoint(struct bs_exact *p, const float *data, float *image)
{
	memset(p->sums, 0, p->sums_size * 8);
	for (uint64_t chunk = 0; chunk < p->chunks; chunk++)
		sum_samples(p, 0, chunk * p->s.chunk, chunk_length(p, chunk),
			    data + chunk * p->s.chunk * p->comps, p->s.samples);
	p->next[0] = p->chunks;
	finish(p, 0, image, false);
}

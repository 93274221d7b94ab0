/* gpu/exact/exact.c - host twin: the plan, and a block's tables; see exact.h, part.h */
#define _GNU_SOURCE /* sincos */
#include "gpu/exact/part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/exact/basis.h"

/* Bytes of everything, in the order in which they are taken. */
struct layout {
	uint64_t count[14], bytes[14];
};

enum part { K, WEIGHT, SUMS, KEPT, GOT, NEXT, E, Y, X, B, D, PANEL, FOLD, PARTIAL };
static const char *const part_name[] = {
	"trajectory",     "weights",      "accumulators", "samples kept", "chunk counts",
	"chunk cursors",  "phase tables", "phase tables", "phase tables", "phase tiles",
	"sample factors", "row panels",   "folded image", "partial sums",
};

static void shape(struct bs_exact *p, const struct bs_exact_spec *s)
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
	p->fold_ld = p->columns + BS_EXACT_PAD;
	p->comps = s->real_data ? 1 : 2;
	p->planes = p->comps * s->coils;
	p->panels = ((uint64_t)p->outer * p->middle + p->v->rows - 1) / p->v->rows;
	p->rows = p->panels * p->v->rows;
	if (p->s.chunk == 0 || p->s.chunk > s->samples)
		p->s.chunk = s->samples < BS_EXACT_BLOCK ? s->samples : BS_EXACT_BLOCK;
	p->chunks = (s->samples + p->s.chunk - 1) / p->s.chunk;
	p->sums_size = p->planes * p->rows * p->column_ld;
	p->kept_size = s->coils * s->samples * p->comps;
}

static void lay_out(const struct bs_exact *p, struct layout *l)
{
	const struct bs_exact_spec *s = &p->s;
	uint64_t real = p->v->real_bytes;

	memset(l, 0, sizeof(*l));
#define PART(which, n, size) (l->count[which] = (n), l->bytes[which] = (size))
	PART(K, 1, s->samples * s->dims * 4);
	PART(WEIGHT, 1, s->samples * 4);
	PART(SUMS, s->states, p->sums_size * 8);
	PART(KEPT, s->states, p->kept_size * 4);
	PART(GOT, s->states, p->chunks * 4);
	PART(NEXT, 1, s->states * 8u);
	PART(E, 1, (uint64_t)p->outer * BS_EXACT_BLOCK * real);
	PART(Y, 1, (uint64_t)p->middle * BS_EXACT_BLOCK * real);
	PART(X, 1, (uint64_t)p->columns * BS_EXACT_BLOCK * real);
	PART(B, 1,
	     (s->forward && p->columns > p->column_ld ? p->columns : p->column_ld) *
		     BS_EXACT_BLOCK * real);
	PART(D, p->planes, BS_EXACT_BLOCK * real);
	PART(PANEL, BS_TEAM_MAX, (uint64_t)p->v->rows * (p->v->inner + BS_EXACT_PAD) * real);
	if (s->forward) {
		PART(FOLD, p->planes, p->rows * p->fold_ld * real);
		PART(PARTIAL, BS_EXACT_GROUPS, (uint64_t)p->planes * BS_EXACT_BLOCK * 8);
	}
#undef PART
}

static int check(const struct bs_exact_spec *s, struct bs_fail *why)
{
	uint64_t voxels = 1;

	if (s->dims != 2 && s->dims != 3)
		return bs_fail(why, BS_ERR_CONFIG, "exact sums: %u dimensions (2 or 3)", s->dims);
	for (uint32_t a = 0; a < 3; a++) {
		uint32_t most = a < s->dims ? BS_EXACT_AXIS_MAX : 1;

		if (s->matrix[a] == 0 || s->matrix[a] > most)
			return bs_fail(why, BS_ERR_CONFIG, "exact sums: matrix %c is %u (1 to %u)",
				       "xyz"[a], s -> matrix[a], most);
		if (s->real_data && a < s->dims && s->matrix[a] % 2 == 0)
			return bs_fail(why, BS_ERR_CONFIG,
				       "exact sums: matrix %c is %u, real data need it odd",
				       "xyz"[a], s -> matrix[a]);
		voxels *= s->matrix[a];
	}
	if (s->real_data && s->forward)
		return bs_fail(why, BS_ERR_CONFIG, "exact sums: no forward transform of real data");
	if (s->coils == 0 || s->coils > BS_COILS_MAX || s->states > 4096)
		return bs_fail(why, BS_ERR_CONFIG, "exact sums: %u coils, %u states", s->coils,
			       s->states);
	/* 2^33 voxels and 2^36 samples of 64 coils in 4096 states stay below 2^64 bytes */
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
	struct bs_exact p;
	struct layout l;
	int rc = check(s, why);

	if (rc != 0)
		return rc;
	shape(&p, s);
	lay_out(&p, &l);
	for (int i = K; i <= PARTIAL; i++)
		bs_need_add(need, part_name[i], l.count[i], l.bytes[i]);
	return 0;
}

/* Whole slots, each rounded up as bs_need_add rounds it; NULL for nothing as well as for failure. */
static void *take(struct bs_arena *arena, const struct layout *l, enum part i, bool *failed)
{
	uint64_t slot = (l->bytes[i] + BS_ALIGN - 1) & ~((uint64_t)BS_ALIGN - 1);
	void *at;

	if (l->count[i] == 0 || slot == 0)
		return NULL;
	at = bs_arena_take(arena, (size_t)(l->count[i] * slot), BS_ALIGN);
	if (at == NULL)
		*failed = true;
	return at;
}

int bs_exact_plan(struct bs_exact **plan, const struct bs_exact_spec *s, const float *k,
		  const float *weight, struct bs_arena *arena, struct bs_team *team,
		  struct bs_fail *why)
{
	struct bs_exact *p;
	struct layout l;
	bool failed = false;
	int rc = check(s, why);

	if (rc != 0)
		return rc;
	p = malloc(sizeof(*p));
	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "exact sums");
	shape(p, s);
	lay_out(p, &l);
	p->team = team;
	p->k = take(arena, &l, K, &failed);
	p->weight = take(arena, &l, WEIGHT, &failed);
	p->sums = take(arena, &l, SUMS, &failed);
	p->kept = take(arena, &l, KEPT, &failed);
	p->got = take(arena, &l, GOT, &failed);
	p->next = take(arena, &l, NEXT, &failed);
	p->e = take(arena, &l, E, &failed);
	p->y = take(arena, &l, Y, &failed);
	p->x = take(arena, &l, X, &failed);
	p->b = take(arena, &l, B, &failed);
	p->d = take(arena, &l, D, &failed);
	p->panel = take(arena, &l, PANEL, &failed);
	p->fold = take(arena, &l, FOLD, &failed);
	p->partial = take(arena, &l, PARTIAL, &failed);
	if (failed) {
		free(p);
		return bs_fail(why, BS_ERR_NOMEM, "exact sums: the arena is too small");
	}
	/* the strides between slots, in elements */
	p->sums_size = (p->sums_size * 8 + BS_ALIGN - 1) / BS_ALIGN * (BS_ALIGN / 8);
	p->kept_size = (p->kept_size * 4 + BS_ALIGN - 1) / BS_ALIGN * (BS_ALIGN / 4);
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

double bs_exact_basis(const struct bs_exact *p, uint64_t m, double *angle)
{
	const float *k = p->k + m * p->dims;

	*angle = 0.0;
	for (uint32_t a = 0; a < p->dims; a++)
		if (p->s.matrix[a] % 2 == 0)
			*angle -= M_PI * (double)k[a];
	return p->s.basis == BS_BASIS_BOX ? bs_basis_box(1.0, k, p->dims) : 1.0;
}

/* D[plane][m] = w phi d exp(i angle): real parts and imaginary parts in planes of their own. */
static void sample_factors(struct bs_exact *p, uint32_t from, uint32_t n)
{
	for (uint32_t m = from; m < from + n; m++) {
		double angle;
		double amplitude =
			bs_exact_basis(p, p->at + m, &angle) * (double)p->weight[p->at + m];
		double c;
		double s;

		sincos(angle, &s, &c);
		c *= amplitude;
		s *= amplitude;
		for (uint32_t coil = 0; coil < p->s.coils; coil++) {
			const float *d = p->data + (coil * p->stride + m) * p->comps;
			size_t at = (size_t)coil * p->comps * BS_EXACT_BLOCK + m;

			if (p->comps == 1) {
				bs_exact_put(p, p->d, at, amplitude * (double)d[0]);
				continue;
			}
			bs_exact_put(p, p->d, at, c * (double)d[0] - s * (double)d[1]);
			bs_exact_put(p, p->d, at + BS_EXACT_BLOCK,
				     c * (double)d[1] + s * (double)d[0]);
		}
	}
}

/* Task: axis (or, beyond them, the samples' factors) x part of the block. */
static void make_tables(void *arg, int task, int member)
{
	struct bs_exact *p = arg;
	const struct bs_exact_half *v = p->v;
	uint32_t parts = BS_EXACT_BLOCK / v->inner;
	uint32_t axis = (uint32_t)task / parts;
	uint32_t from = (uint32_t)task % parts * v->inner;
	uint32_t n = p->count > from ? p->count - from : 0;
	size_t at = (size_t)from * v->real_bytes;
	const float *k;

	(void)member;
	if (n == 0)
		return;
	if (n > v->inner)
		n = v->inner;
	if (axis == p->dims) {
		if (!p->tables_forward)
			sample_factors(p, from, n);
		return;
	}
	k = p->k + (p->at + from) * p->dims + axis;
	if (axis == 0) {
		v->phases(p->x + at, BS_EXACT_BLOCK, k, p->dims, n, p->columns);
		if (!p->tables_forward)
			v->pack(p->b + (size_t)from * p->column_ld * v->real_bytes, p->x + at,
				BS_EXACT_BLOCK, n, p->columns);
	} else {
		v->phases(axis == p->dims - 1 ? p->e + at : p->y + at, BS_EXACT_BLOCK, k, p->dims,
			  n, p->s.matrix[axis]);
	}
}

void bs_exact_tables(struct bs_exact *p, bool forward)
{
	p->tables_forward = forward;
	bs_team_run(p->team, make_tables, p, (int)((p->dims + 1) * (BS_EXACT_BLOCK / p->v->inner)));
}

void bs_exact_form_panel(const struct bs_exact *p, unsigned char *panel, uint64_t first,
			 uint32_t from, uint32_t n, const unsigned char *d)
{
	const struct bs_exact_half *v = p->v;
	size_t ld = (size_t)(v->inner + BS_EXACT_PAD) * v->real_bytes;
	size_t row_bytes = (size_t)BS_EXACT_BLOCK * v->real_bytes;
	size_t at = (size_t)from * v->real_bytes;

	for (uint32_t r = 0; r < v->rows; r++, panel += ld) {
		uint64_t row = first + r;
		uint64_t outer = row / p->middle;
		const unsigned char *e = outer < p->outer ? p->e + outer * row_bytes + at : NULL;
		const unsigned char *y =
			p->dims == 3 ? p->y + row % p->middle * row_bytes + at : NULL;

		v->form(panel, d != NULL ? d + at : NULL, e, y, n);
	}
}

/* gpu/grappa/slice.c - host twin; see slice.h */
#include "gpu/grappa/slice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/calibrate/dense.h"
#include "gpu/grappa/ends.h"
#include "gpu/grappa/gram.h"

#define TAU 6.28318530717958647692

/* A separation: of the lines in `padded` that are listed in at and from, into out. */
struct separation {
	const float *weights;
	const float *turns; /* [band][line] complex; NULL: the phases stay */
	const uint8_t *have;
	uint32_t lines; /* lines of out */
	bool wrapped;
	float *out;
	double *energy; /* [band][coil] of out; or NULL */
};

struct bs_slice {
	struct bs_slice_spec s;
	struct bs_team *team;
	const struct bs_grappa_kernels *simd;
	struct bs_gram gram;
	struct bs_grappa_ends ends;
	uint64_t *version; /* [group] */
	float *weights;    /* [group][band][coil out][line][coil in][tap] complex */
	float *turns;      /* [group][band][y] complex */
	double *leakage;   /* [group][band][band] */
	double *right;     /* [band][coil][unknown] complex */
	double *energy;    /* [band][coil] */
	float *phase;      /* [tap][re, im][column], each number twice */
	size_t phase_step;
	float *expanded; /* [BS_TEAM_MAX]: the weights of a coil, of a block of columns */
	size_t expanded_size;
	uint32_t pad;  /* lines of zeros around the lines in padded */
	float *padded; /* [coil][rows][column] */
	uint32_t *at,
		*from; /* where measured lines start in a coil of out, [line][source] of padded */
	uint32_t count;
	float *separated; /* [band][coil][reference line][column] */
	struct separation now;
};

static uint32_t unknowns(const struct bs_slice_spec *s)
{
	return s->kernel[0] * s->kernel[1] * s->coils;
}

static uint32_t outputs(const struct bs_slice_spec *s)
{
	return s->bands * s->coils;
}

static uint32_t pad_of(const struct bs_slice_spec *s)
{
	return s->step * (s->kernel[1] / 2);
}

/* Most lines that are separated at once. */
static uint32_t most_lines(const struct bs_slice_spec *s)
{
	return s->lines_y > s->reference_lines ? s->lines_y : s->reference_lines;
}

static uint32_t rows_of(const struct bs_slice_spec *s)
{
	return most_lines(s) + 2 * pad_of(s);
}

/* The same sizes in words of GRAPPA, for what is used of it. */
static struct bs_grappa_spec grappa_of(const struct bs_slice_spec *s)
{
	return (struct bs_grappa_spec){ .encoded = { s->columns, rows_of(s), 1 },
					.columns = s->columns,
					.coils = s->coils,
					.kernel = { s->kernel[0], s->kernel[1], 1 },
					.lines = { s->reference_lines, 1 } };
}

static int check_spec(const struct bs_slice_spec *s, struct bs_fail *why)
{
	const uint64_t extent = (uint64_t)s->step * (s->kernel[1] - 1) + 1;

	if (s->kernel[0] % 2 != 1 || s->kernel[1] % 2 != 1 || s->kernel[0] > BS_GRAPPA_KERNEL_X ||
	    s->kernel[1] > BS_WINDOW_LINES)
		return bs_fail(why, BS_ERR_CONFIG,
			       "slice-GRAPPA: a kernel of %u samples x %u lines: both odd, at most "
			       "%u x %u",
			       s->kernel[0], s->kernel[1], BS_GRAPPA_KERNEL_X, BS_WINDOW_LINES);
	if (s->bands < 2 || s->bands > BS_SLICE_BANDS || s->groups == 0 || s->step == 0 ||
	    s->coils == 0 || s->columns == 0 || s->lines_y == 0 || !(s->lambda >= 0.0))
		return bs_fail(
			why, BS_ERR_CONFIG,
			"slice-GRAPPA: %u bands (2 to %u), %u groups, %u coils, a step of %u",
			s->bands, BS_SLICE_BANDS, s->groups, s->coils, s->step);
	if (s->reference_lines > s->lines_y || extent > s->reference_lines)
		return bs_fail(why, BS_ERR_CONFIG,
			       "slice-GRAPPA: references of %u lines (of %u) for a kernel of %u "
			       "lines, %u apart",
			       s->reference_lines, s->lines_y, s->kernel[1], s->step);
	if ((uint64_t)s->kernel[0] * s->kernel[1] * s->coils > BS_DENSE_MAX ||
	    (uint64_t)rows_of(s) * s->columns * s->coils * s->bands > UINT32_MAX)
		return bs_fail(why, BS_ERR_CONFIG,
			       "slice-GRAPPA: %u x %u voxels, %u coils, %u bands are too many",
			       s->columns, s->lines_y, s->coils, s->bands);
	return 0;
}

/* States what plan takes, or takes it. */
static void take_all(struct bs_slice *p, struct bs_room *r)
{
	const struct bs_slice_spec *s = &p->s;
	const uint64_t n = unknowns(s);
	const uint64_t outs = outputs(s);

	bs_room_take(r, &p->version, "slice versions", 1, s->groups * sizeof(uint64_t));
	bs_room_take(r, &p->weights, "slice weights", 1, s->groups * n * outs * 8);
	bs_room_take(r, &p->turns, "slice phases", 1,
		     (uint64_t)s->groups * s->bands * s->lines_y * 8);
	bs_room_take(r, &p->leakage, "slice leakage", 1,
		     (uint64_t)s->groups * s->bands * s->bands * sizeof(double));
	bs_room_take(r, &p->right, "slice right sides", outs, n * 16);
	bs_room_take(r, &p->energy, "slice energies", 1, outs * sizeof(double));
	bs_room_take(r, &p->phase, "slice shifts", s->kernel[0], p->phase_step * sizeof(float));
	bs_room_take(r, &p->expanded, "slice weights of a block", BS_TEAM_MAX,
		     p->expanded_size * sizeof(float));
	bs_room_take(r, &p->padded, "slice lines", 1,
		     (uint64_t)s->coils * rows_of(s) * s->columns * 8);
	bs_room_take(r, &p->at, "slice lines measured", 1, most_lines(s) * sizeof(uint32_t));
	bs_room_take(r, &p->from, "slice sources", 1,
		     (uint64_t)most_lines(s) * s->kernel[1] * sizeof(uint32_t));
	bs_room_take(r, &p->separated, "slice references", outs,
		     (uint64_t)s->reference_lines * s->columns * 8);
}

static void find_sizes(struct bs_slice *p, const struct bs_slice_spec *s)
{
	const uint32_t blocks = (s->columns + BS_GRAPPA_COLUMNS - 1) / BS_GRAPPA_COLUMNS;

	p->s = *s;
	p->pad = pad_of(s);
	p->phase_step = (size_t)4 * blocks * BS_GRAPPA_COLUMNS;
	p->expanded_size = (size_t)s->kernel[1] * s->coils * 4 * BS_GRAPPA_COLUMNS;
}

int bs_slice_need(const struct bs_slice_spec *s, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_grappa_spec grappa = grappa_of(s);
	struct bs_slice p = { 0 };
	struct bs_room room = { .need = need };
	int rc = check_spec(s, why);

	if (rc == 0)
		rc = bs_gram_need(&grappa, s->step, need, why);
	if (rc != 0)
		return rc;
	find_sizes(&p, s);
	take_all(&p, &room);
	bs_grappa_ends_need(&grappa, need);
	return 0;
}

/* Makes the phases: a weight w of shift t is w exp(-i2pi t n / columns) at column n. */
static void make_shifts(struct bs_slice *p)
{
	const int reach = (int)p->s.kernel[0] / 2;

	for (int t = -reach; t <= reach; t++) {
		float *re = p->phase + (size_t)(t + reach) * p->phase_step;
		float *im = re + p->phase_step / 2;

		for (uint32_t x = 0; x < p->s.columns; x++) {
			const int n = (int)x - (int)p->s.columns / 2;
			const double turn = -TAU * t * n / p->s.columns;

			re[2 * x] = re[2 * x + 1] = (float)cos(turn);
			im[2 * x] = im[2 * x + 1] = (float)sin(turn);
		}
	}
}

int bs_slice_plan(struct bs_slice **plan, const struct bs_slice_spec *s, struct bs_arena *arena,
		  struct bs_team *team, struct bs_fail *why)
{
	const struct bs_grappa_spec grappa = grappa_of(s);
	struct bs_slice *p = calloc(1, sizeof(*p));
	struct bs_room room = { .arena = arena };
	int rc;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "slice-GRAPPA plan");
	find_sizes(p, s);
	p->team = team;
	p->simd = BS_ISA_PICK(bs_grappa_kernels);
	rc = bs_gram_plan(&p->gram, &grappa, s->step, arena, team, why);
	if (rc == 0)
		rc = bs_grappa_ends_plan(&p->ends, &grappa, arena, team, why);
	if (rc == 0) {
		take_all(p, &room);
		if (room.full)
			rc = bs_fail(why, BS_ERR_NOMEM, "slice-GRAPPA: weights and lines");
	}
	if (rc == 0)
		rc = bs_dense_open(why);
	if (rc != 0) {
		bs_slice_close(p);
		return rc;
	}
	make_shifts(p);
	*plan = p;
	return 0;
}

void bs_slice_close(struct bs_slice *p)
{
	if (p == NULL)
		return;
	bs_gram_close(&p->gram);
	free(p);
}

/* ---- separation ---- */

/* Each task takes a block of columns of one coil of one band. */
static void separate_block(void *arg, int task, int member)
{
	struct bs_slice *p = arg;
	const struct bs_slice_spec *s = &p->s;
	const uint32_t which = (uint32_t)task % outputs(s);
	const uint32_t x = (uint32_t)task / outputs(s) * BS_GRAPPA_COLUMNS;
	const uint32_t left = s->columns - x;
	float *expanded = p->expanded + (size_t)member * p->expanded_size;

	p->simd->expand(p->now.weights + (size_t)2 * which * unknowns(s), s->kernel[1] * s->coils,
			s->kernel[0], p->phase + 2 * (size_t)x, p->phase_step, expanded);
	p->simd->fill(expanded, s->kernel[1], s->coils, (size_t)rows_of(s) * s->columns,
		      p->padded + 2 * (size_t)x,
		      p->now.out + 2 * ((size_t)which * p->now.lines * s->columns + x), p->at,
		      p->from, p->count, left < BS_GRAPPA_COLUMNS ? left : BS_GRAPPA_COLUMNS);
}

/*
 * True where tap `tap` of the kernel at end `end` leaves the readout. Ends from `reach` on count
 * from the last ones.
 */
static bool leaves(uint32_t reach, uint32_t end, uint32_t tap)
{
	return end < reach ? end + tap < reach : end + tap >= 3 * reach;
}

/* Takes off a line what the kernel has read beyond the ends of the readout, which wraps around. */
static void mend_line(const struct bs_slice *p, const float *weights, const uint32_t *from,
		      float *line)
{
	const struct bs_grappa_ends *e = &p->ends;
	const uint32_t taps = p->s.kernel[0];
	const size_t of_line = (size_t)2 * 4 * e->reach * p->s.coils;

	for (uint32_t end = 0; end < 2 * e->reach; end++) {
		float sum[2] = { 0.0f, 0.0f };

		for (uint32_t i = 0; i < p->s.kernel[1] * p->s.coils; i++)
			for (uint32_t t = 0; t < taps; t++) {
				const float *w = weights + 2 * ((size_t)i * taps + t);
				const float *d = e->samples +
						 from[i / p->s.coils] / p->s.columns * of_line +
						 2 * ((size_t)i % p->s.coils * 4 * e->reach +
						      bs_grappa_ends_meet(e, end, t));

				if (!leaves(e->reach, end, t))
					continue;
				sum[0] -= w[0] * d[0] - w[1] * d[1];
				sum[1] -= w[0] * d[1] + w[1] * d[0];
			}
		bs_grappa_ends_add(e, end, sum, line);
	}
}

static double energy_of(const float *line, uint32_t columns)
{
	double sum = 0.0;

	for (uint32_t x = 0; x < 2 * columns; x++)
		sum += (double)line[x] * line[x];
	return sum;
}

static void turn_line(float *line, uint32_t columns, const float *turn)
{
	for (uint32_t x = 0; x < 2 * columns; x += 2) {
		const float re = line[x];

		line[x] = re * turn[0] - line[x + 1] * turn[1];
		line[x + 1] = re * turn[1] + line[x + 1] * turn[0];
	}
}

static uint32_t index_of(uint32_t y, uint32_t lines, bool wrapped)
{
	return wrapped ? (y + lines - lines / 2) % lines : y;
}

/* Each task finishes one coil of one band: the ends, the phase, lines that were not measured. */
static void finish_coil(void *arg, int task, int member)
{
	struct bs_slice *p = arg;
	const struct separation *now = &p->now;
	const struct bs_slice_spec *s = &p->s;
	const float *weights = now->weights + (size_t)2 * (uint32_t)task * unknowns(s);
	const float *turns =
		now->turns == NULL
			? NULL
			: now->turns + (size_t)2 * ((uint32_t)task / s->coils) * now->lines;
	float *out = now->out + (size_t)2 * (uint32_t)task * now->lines * s->columns;
	double energy = 0.0;
	uint32_t i = 0;

	(void)member;
	for (uint32_t y = 0; y < now->lines; y++) {
		float *line = out + (size_t)2 * index_of(y, now->lines, now->wrapped) * s->columns;

		if (now->have != NULL && now->have[y] != 1) {
			memset(line, 0, (size_t)s->columns * 8);
			continue;
		}
		mend_line(p, weights, p->from + (size_t)i++ * s->kernel[1], line);
		if (turns != NULL)
			turn_line(line, s->columns, turns + 2 * (size_t)y);
		if (now->energy != NULL)
			energy += energy_of(line, s->columns);
	}
	if (now->energy != NULL)
		now->energy[task] = energy;
}

/* Separates the lines of padded. */
static void separate(struct bs_slice *p, const struct separation *now)
{
	const struct bs_slice_spec *s = &p->s;
	const uint32_t blocks = (s->columns + BS_GRAPPA_COLUMNS - 1) / BS_GRAPPA_COLUMNS;

	p->now = *now;
	p->count = 0;
	for (uint32_t y = 0; y < now->lines; y++) {
		uint32_t *from = p->from + (size_t)p->count * s->kernel[1];

		if (now->have != NULL && now->have[y] != 1)
			continue;
		for (uint32_t i = 0; i < s->kernel[1]; i++)
			from[i] = (y + s->step * i) * s->columns; /* the first is y - pad */
		p->at[p->count++] = index_of(y, now->lines, now->wrapped) * s->columns;
	}
	bs_team_run(p->team, separate_block, p, (int)(blocks * outputs(s)));
	if (p->ends.reach > 0)
		bs_grappa_ends_find(&p->ends, p->padded);
	bs_team_run(p->team, finish_coil, p, (int)outputs(s));
}

void bs_slice_apply(struct bs_slice *p, uint32_t group, const float *folded, const uint8_t *have,
		    bool wrapped, float *out)
{
	const struct bs_slice_spec *s = &p->s;
	const size_t line = (size_t)2 * s->columns;

	for (uint32_t c = 0; c < s->coils; c++) {
		float *rows = p->padded + (size_t)c * rows_of(s) * line;

		memset(rows, 0, rows_of(s) * line * sizeof(float));
		for (uint32_t y = 0; y < s->lines_y; y++)
			memcpy(rows + (y + p->pad) * line,
			       folded +
				       ((size_t)c * s->lines_y + index_of(y, s->lines_y, wrapped)) *
					       line,
			       line * sizeof(float));
	}
	separate(p, &(struct separation){ .weights = bs_slice_weights(p, group),
					  .turns = bs_slice_turns(p, group),
					  .have = have,
					  .lines = s->lines_y,
					  .wrapped = wrapped,
					  .out = out });
}

/* ---- weights ---- */

/* Adds a reference with its phase to lines: [coil][row][column], `rows` rows, the first at `first`. */
static void add_reference(const struct bs_slice *p, const float *turns,
			  const struct bs_slice_references *r, uint32_t band, float *to,
			  uint32_t rows, uint32_t first)
{
	static const float none[2] = { 1.0f, 0.0f };

	for (uint32_t c = 0; c < p->s.coils; c++)
		for (uint32_t y = 0; y < r->lines; y++) {
			const float *from =
				r->band[band] + 2 * (c * r->coil_step + y * r->line_step);
			const float *turn =
				r->phased
					? none
					: turns + 2 * ((size_t)band * p->s.lines_y + r->first + y);
			float *line = to + 2 * ((size_t)c * rows + first + y) * p->s.columns;

			/* turns take the phase off: the conjugate brings it in */
			for (uint32_t x = 0; x < 2 * p->s.columns; x += 2) {
				line[x] += from[x] * turn[0] + from[x + 1] * turn[1];
				line[x + 1] += from[x + 1] * turn[0] - from[x] * turn[1];
			}
		}
}

static void make_turns(const struct bs_slice *p, const struct bs_slice_references *r, float *turns)
{
	for (uint32_t b = 0; b < p->s.bands; b++)
		for (uint32_t y = 0; y < p->s.lines_y; y++, turns += 2) {
			const double cycles = r->cycles[b] * (y - r->center);

			turns[0] = (float)cos(TAU * (cycles - round(cycles)));
			turns[1] = (float)-sin(TAU * (cycles - round(cycles)));
		}
}

/* Clears lines for as many references as are added: a box as gram takes it. */
static struct bs_grappa_lines clear_box(const struct bs_slice *p, float *at, uint32_t lines)
{
	const size_t size = (size_t)lines * p->s.columns;

	memset(at, 0, p->s.coils * size * 8);
	return (struct bs_grappa_lines){ .at = at,
					 .coil_step = size,
					 .z_step = size,
					 .y_step = p->s.columns,
					 .lines = { lines, 1 } };
}

/* Makes S^H S and S^H T of all bands; separated has room for two bands, which are used here. */
static int make_equations(struct bs_slice *p, const float *turns,
			  const struct bs_slice_references *r, struct bs_fail *why)
{
	const size_t right = (size_t)2 * unknowns(&p->s) * p->s.coils;
	struct bs_grappa_lines sum = clear_box(p, p->separated, r->lines);
	float *one = p->separated + (size_t)2 * p->s.coils * sum.coil_step;
	int rc = 0;

	bs_gram_clear(&p->gram);
	for (uint32_t b = 0; b < p->s.bands && !p->s.split; b++)
		add_reference(p, turns, r, b, p->separated, r->lines, 0);
	if (!p->s.split)
		rc = bs_gram_join(&p->gram, &sum, why);
	for (uint32_t b = 0; rc == 0 && b < p->s.bands; b++) {
		const struct bs_grappa_lines own = clear_box(p, one, r->lines);

		add_reference(p, turns, r, b, one, r->lines, 0);
		if (p->s.split)
			rc = bs_gram_join(&p->gram, &own, why);
		if (rc == 0)
			rc = bs_gram_centers(&p->gram, &own, p->right + b * right, why);
	}
	return rc;
}

/*
 * Solves for the weights of all bands in place of the equations. G is the upper triangle, row by
 * row; the conjugate of it is the lower one, column by column.
 */
static int solve(struct bs_slice *p, struct bs_fail *why)
{
	const uint32_t n = unknowns(&p->s);
	double *a = p->gram.g;
	double trace = 0.0;

	for (size_t i = 1; i < (size_t)2 * n * n; i += 2)
		a[i] = -a[i];
	for (size_t j = 0; j < n; j++)
		trace += a[2 * j * (n + 1)];
	for (size_t j = 0; j < n; j++)
		a[2 * j * (n + 1)] += p->s.lambda * trace / n;
	return bs_dense_solve(n, outputs(&p->s), a, p->right, why);
}

/* Stores weights [output][line][tap][coil in] as float [output][line][coil in][tap]. */
static int store_weights(const struct bs_slice *p, float *to)
{
	const uint32_t kx = p->s.kernel[0];
	const uint32_t coils = p->s.coils;
	const double *from = p->right;

	for (uint32_t o = 0; o < outputs(&p->s) * p->s.kernel[1]; o++, from += 2 * kx * coils)
		for (uint32_t i = 0; i < kx * coils; i++, to += 2) {
			const double *w = from + 2 * ((size_t)(i % kx) * coils + i / kx);

			to[0] = (float)w[0];
			to[1] = (float)w[1];
			if (!isfinite(to[0]) || !isfinite(to[1]))
				return BS_ERR_VALUE;
		}
	return 0;
}

static double energy_of_reference(const struct bs_slice *p, const struct bs_slice_references *r,
				  uint32_t band)
{
	double sum = 0.0;

	for (uint32_t c = 0; c < p->s.coils; c++)
		for (uint32_t y = 0; y < r->lines; y++)
			sum += energy_of(r->band[band] + 2 * (c * r->coil_step + y * r->line_step),
					 p->s.columns);
	return sum;
}

/* Separates each reference alone: what comes out for the other bands has leaked. */
static void find_leakage(struct bs_slice *p, uint32_t group, const struct bs_slice_references *r)
{
	const uint32_t bands = p->s.bands;
	double *leakage = p->leakage + (size_t)group * bands * bands;

	for (uint32_t t = 0; t < bands; t++) {
		const double whole = energy_of_reference(p, r, t);

		memset(p->padded, 0, (size_t)p->s.coils * rows_of(&p->s) * p->s.columns * 8);
		add_reference(p, bs_slice_turns(p, group), r, t, p->padded, rows_of(&p->s), p->pad);
		separate(p, &(struct separation){ .weights = bs_slice_weights(p, group),
						  .lines = r->lines,
						  .out = p->separated,
						  .energy = p->energy });
		for (uint32_t s = 0; s < bands; s++) {
			double sum = 0.0;

			for (uint32_t c = 0; c < p->s.coils; c++)
				sum += p->energy[s * p->s.coils + c];
			leakage[s * bands + t] = s == t || whole == 0.0 ? 0.0 : sqrt(sum / whole);
		}
	}
}

static int check_references(const struct bs_slice_spec *s, uint32_t group,
			    const struct bs_slice_references *r, struct bs_fail *why)
{
	if (r->lines > s->reference_lines || r->lines < 2 * pad_of(s) + 1 ||
	    r->first > s->lines_y - r->lines)
		return bs_fail(why, BS_ERR_SIZE,
			       "slice-GRAPPA: group %u has references of %u lines from line %u; %u "
			       "to %u of %u lines are needed",
			       group, r->lines, r->first, 2 * pad_of(s) + 1, s->reference_lines,
			       s->lines_y);
	for (uint32_t b = 0; b < s->bands; b++)
		if (!isfinite(r->cycles[b]) || !isfinite(r->center))
			return bs_fail(
				why, BS_ERR_VALUE,
				"slice-GRAPPA: group %u: band %u turns by %g cycles per line "
				"about line %g",
				group, b, r->cycles[b], r->center);
	return 0;
}

int bs_slice_prepare(struct bs_slice *p, uint32_t group, const struct bs_slice_references *r,
		     struct bs_fail *why)
{
	float *turns = (float *)bs_slice_turns(p, group);
	int rc;

	if (p->version[group] != 0 && p->version[group] == r->version)
		return 0;
	p->version[group] = 0;
	rc = check_references(&p->s, group, r, why);
	if (rc != 0)
		return rc;
	make_turns(p, r, turns);
	rc = make_equations(p, turns, r, why);
	if (rc != 0)
		return rc;
	rc = solve(p, NULL);
	if (rc == 0)
		rc = store_weights(p, (float *)bs_slice_weights(p, group));
	if (rc != 0)
		return bs_fail(why, BS_ERR_VALUE,
			       "slice-GRAPPA: the references of group %u, %u lines, do not "
			       "determine its weights",
			       group, r->lines);
	find_leakage(p, group, r);
	p->version[group] = r->version;
	return 0;
}

uint64_t bs_slice_version(const struct bs_slice *p, uint32_t group)
{
	return p->version[group];
}

const double *bs_slice_leakage(const struct bs_slice *p, uint32_t group)
{
	return p->leakage + (size_t)group * p->s.bands * p->s.bands;
}

const float *bs_slice_weights(const struct bs_slice *p, uint32_t group)
{
	return p->weights + (size_t)group * 2 * outputs(&p->s) * unknowns(&p->s);
}

const float *bs_slice_turns(const struct bs_slice *p, uint32_t group)
{
	return p->turns + (size_t)group * 2 * p->s.bands * p->s.lines_y;
}

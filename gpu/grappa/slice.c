/* gpu/grappa/slice.c - host twin; see slice.h */
#include "gpu/grappa/slice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/calibrate/dense.h"
#include "gpu/grappa/gram.h"
#include "gpu/grappa/separate.h"

#define TAU 6.28318530717958647692

/* Lines [coil][line] for the sum of the references of bands first .. end - 1; complex values. */
struct laying {
	const struct bs_slice_references *references;
	const float *phases;
	uint32_t first, end;
	float *to;
	size_t coil_step, line_step;
};

struct bs_slice {
	struct bs_slice_spec s;
	struct bs_gram gram;
	struct bs_separate separate;
	uint64_t *version; /* versions of the references that the weights were made of, [group] */
	float *weights;    /* weights [group][band][coil out][line][coil in][tap] complex */
	float *phases;     /* factors that take the bands' phases off, [group][band][y] complex */
	double *leakage;   /* leakage from band to band, [group][band][band] */
	double *right;     /* right-hand sides [band][coil][unknown] complex */
	double *energy;    /* energy of what was separated, [band][coil] */
	float *separated;  /* separated references [band][coil][reference line][column] */
	struct laying laying; /* of the run in progress */
};

/* Returns these sizes as GRAPPA names them, for gram. */
static struct bs_grappa_spec grappa_of(const struct bs_slice_spec *s)
{
	return (struct bs_grappa_spec){ .encoded = { s->columns, 1, 1 },
					.columns = s->columns,
					.coils = s->coils,
					.kernel = { s->kernel[0], s->kernel[1], 1 },
					.lines = { s->reference_lines, 1 } };
}

/* Refuses sizes that cannot be, and finds those that follow. */
static int check_spec(struct bs_slice *p, const struct bs_slice_spec *s, struct bs_fail *why)
{
	if (s->kernel[0] % 2 != 1 || s->kernel[1] % 2 != 1 || s->kernel[0] > BS_GRAPPA_KERNEL_X ||
	    s->kernel[1] > BS_WINDOW_LINES)
		return bs_fail(why, BS_ERR_CONFIG,
			       "slice-GRAPPA: a kernel of %u samples x %u lines: both odd, at most "
			       "%u x %u",
			       s->kernel[0], s->kernel[1], BS_GRAPPA_KERNEL_X, BS_WINDOW_LINES);
	if (s->bands < 2 || s->bands > BS_SLICE_BANDS || s->groups == 0 || s->coils == 0 ||
	    s->columns == 0 || s->lines_y == 0 || !(s->lambda >= 0.0) ||
	    (s->groups | s->coils | s->columns | s->lines_y) > UINT16_MAX)
		return bs_fail(why, BS_ERR_CONFIG,
			       "slice-GRAPPA: %u bands (2 to %u), %u groups, %u coils", s->bands,
			       BS_SLICE_BANDS, s->groups, s->coils);
	if (s->reference_lines > s->lines_y || s->kernel[1] > s->reference_lines)
		return bs_fail(why, BS_ERR_CONFIG,
			       "slice-GRAPPA: references of %u lines (of %u) for a kernel of %u "
			       "lines",
			       s->reference_lines, s->lines_y, s->kernel[1]);
	if ((uint64_t)s->kernel[0] * s->kernel[1] * s->coils > BS_DENSE_MAX ||
	    !bs_separate_size(&p->separate, s))
		return bs_fail(why, BS_ERR_CONFIG,
			       "slice-GRAPPA: %u x %u voxels, %u coils, %u bands are too many",
			       s->columns, s->lines_y, s->coils, s->bands);
	p->s = *s;
	return 0;
}

/* States what plan takes, or takes it. */
static void take_all(struct bs_slice *p, struct bs_room *r)
{
	const struct bs_slice_spec *s = &p->s;
	const uint64_t n = bs_slice_unknowns(s);
	const uint64_t outs = bs_slice_outputs(s);

	bs_room_take(r, &p->version, "slice versions", 1, s->groups * sizeof(uint64_t));
	bs_room_take(r, &p->weights, "slice weights", 1, s->groups * n * outs * 8);
	bs_room_take(r, &p->phases, "slice phases", 1,
		     (uint64_t)s->groups * s->bands * s->lines_y * 8);
	bs_room_take(r, &p->leakage, "slice leakage", 1,
		     (uint64_t)s->groups * s->bands * s->bands * sizeof(double));
	bs_room_take(r, &p->right, "slice right sides", outs, n * 16);
	bs_room_take(r, &p->energy, "slice energies", 1, outs * sizeof(double));
	bs_separate_take(&p->separate, r);
	bs_room_take(r, &p->separated, "slice references", outs,
		     (uint64_t)s->reference_lines * s->columns * 8);
}

int bs_slice_need(const struct bs_slice_spec *s, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_grappa_spec grappa = grappa_of(s);
	struct bs_slice p = { 0 };
	struct bs_room room = { .need = need };
	int rc = check_spec(&p, s, why);

	if (rc == 0)
		rc = bs_gram_need(&grappa, true, need, why);
	if (rc != 0)
		return rc;
	take_all(&p, &room);
	return 0;
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
	rc = check_spec(p, s, why);
	if (rc == 0)
		rc = bs_gram_plan(&p->gram, &grappa, true, arena, team, why);
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
	bs_separate_tables(&p->separate, team);
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

void bs_slice_apply(struct bs_slice *p, uint32_t group, uint32_t band, const float *folded,
		    const uint8_t *have, bool wrapped, float *out)
{
	const struct bs_slice_spec *s = &p->s;
	const size_t weights = (size_t)2 * band * s->coils * bs_slice_unknowns(s);
	const size_t phases = (size_t)2 * band * s->lines_y;
	struct bs_separate *sep = &p->separate;

	bs_separate_clear(sep);
	for (uint32_t i = 0; i < s->coils * s->lines_y; i++) {
		const uint32_t c = i / s->lines_y;
		const uint32_t y = i % s->lines_y;
		const uint32_t from = c * s->lines_y + bs_slice_index(y, s->lines_y, wrapped);

		memcpy(sep->padded + (size_t)2 * (c * sep->rows + sep->pad + y) * sep->row,
		       folded + (size_t)2 * from * s->columns, (size_t)s->columns * 8);
	}
	bs_separate_run(sep,
			&(struct bs_separation){ .bands = 1,
						 .weights = bs_slice_weights(p, group) + weights,
						 .phases = bs_slice_phases(p, group) + phases,
						 .have = have,
						 .lines = s->lines_y,
						 .wrapped = wrapped,
						 .out = out });
}

/* ---- weights ---- */

/* A task lays a coil's lines of the sum of the references, with their phases. */
static void lay_coil(void *arg, int task)
{
	static const float none[2] = { 1.0f, 0.0f };
	const struct bs_slice *p = arg;
	const struct laying *l = &p->laying;
	const struct bs_slice_references *r = l->references;

	for (uint32_t i = 0; i < r->lines * (l->end - l->first); i++) {
		const uint32_t y = i / (l->end - l->first);
		const uint32_t b = l->first + i % (l->end - l->first);
		const float *from =
			r->band[b] + 2 * ((size_t)task * r->coil_step + y * r->line_step);
		const float *phase =
			r->phased ? none
				  : l->phases + 2 * ((size_t)b * p->s.lines_y + r->first + y);
		float *line = l->to + 2 * ((size_t)task * l->coil_step + y * l->line_step);

		if (b == l->first)
			memset(line, 0, (size_t)p->s.columns * 8);
		/* phases take the phase off: the conjugate brings it in */
		for (uint32_t x = 0; x < 2 * p->s.columns; x += 2) {
			line[x] += from[x] * phase[0] + from[x + 1] * phase[1];
			line[x + 1] += from[x + 1] * phase[0] - from[x] * phase[1];
		}
	}
}

static void lay_references(struct bs_slice *p, const struct laying *l)
{
	p->laying = *l;
	bs_team_do(p->gram.team, lay_coil, p, (int)p->s.coils);
}

static void make_phases(const struct bs_slice *p, const struct bs_slice_references *r,
			float *phases)
{
	for (uint32_t b = 0; b < p->s.bands; b++)
		for (uint32_t y = 0; y < p->s.lines_y; y++, phases += 2) {
			const double cycles = r->cycles[b] * (y - r->center);

			phases[0] = (float)cos(TAU * (cycles - round(cycles)));
			phases[1] = (float)-sin(TAU * (cycles - round(cycles)));
		}
}

/* Makes S^H S and S^H T of all bands. */
static int make_equations(struct bs_slice *p, const float *phases,
			  const struct bs_slice_references *r, struct bs_fail *why)
{
	const size_t right = (size_t)2 * bs_slice_unknowns(&p->s) * p->s.coils;
	const size_t size = (size_t)r->lines * p->s.columns;
	const struct bs_grappa_lines box = { p->separated,    size, size, p->s.columns,
					     { r->lines, 1 }, 0 };
	struct laying l = { r, phases, 0, p->s.bands, p->separated, size, p->s.columns };
	int rc = 0;

	bs_gram_clear(&p->gram);
	if (!p->s.split) {
		lay_references(p, &l);
		rc = bs_gram_join(&p->gram, &box, why);
	}
	for (l.first = 0; rc == 0 && l.first < p->s.bands; l.first++) {
		l.end = l.first + 1;
		lay_references(p, &l);
		if (p->s.split)
			rc = bs_gram_join(&p->gram, &box, why);
		if (rc == 0)
			rc = bs_gram_centers(&p->gram, &box, p->right + l.first * right, why);
	}
	return rc;
}

/* A task solves for the weights of a band; what is not finite stays so, and is found later. */
static void substitute(void *arg, int task)
{
	const struct bs_slice *p = arg;
	const uint32_t n = bs_slice_unknowns(&p->s);

	(void)bs_dense_substitute(n, p->s.coils, p->gram.g,
				  p->right + (size_t)2 * n * p->s.coils * (uint32_t)task, NULL);
}

/*
 * Solves for the weights of all bands in place of the equations. G is the upper triangle, row by
 * row; the conjugate of it is the lower one, column by column.
 */
static int solve(struct bs_slice *p, struct bs_fail *why)
{
	const uint32_t n = bs_slice_unknowns(&p->s);
	double *a = p->gram.g;
	double trace = 0.0;
	int rc;

	for (size_t i = 1; i < (size_t)2 * n * n; i += 2)
		a[i] = -a[i];
	for (size_t j = 0; j < n; j++)
		trace += a[2 * j * (n + 1)];
	for (size_t j = 0; j < n; j++)
		a[2 * j * (n + 1)] += p->s.lambda * trace / n;
	rc = bs_dense_cholesky(n, a, why);
	if (rc == 0)
		bs_team_do(p->gram.team, substitute, p, (int)p->s.bands);
	return rc;
}

/* Stores weights [output][line][tap][coil in] as float [output][line][coil in][tap]. */
static int store_weights(const struct bs_slice *p, float *to)
{
	const uint32_t kx = p->s.kernel[0];
	const uint32_t coils = p->s.coils;
	const double *from = p->right;

	for (uint32_t o = 0; o < bs_slice_outputs(&p->s) * p->s.kernel[1];
	     o++, from += 2 * kx * coils)
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
			sum += bs_separate_energy(r->band[band] +
							  2 * (c * r->coil_step + y * r->line_step),
						  p->s.columns);
	return sum;
}

/* Separates each reference alone: what comes out for the other bands has leaked. */
static void find_leakage(struct bs_slice *p, uint32_t group, const struct bs_slice_references *r)
{
	const uint32_t bands = p->s.bands;
	struct bs_separate *sep = &p->separate;
	double *leakage = p->leakage + (size_t)group * bands * bands;

	bs_separate_clear(sep);
	for (uint32_t t = 0; t < bands; t++) {
		const double whole = energy_of_reference(p, r, t);

		lay_references(p, &(struct laying){ r, bs_slice_phases(p, group), t, t + 1,
						    sep->padded + (size_t)2 * sep->pad * sep->row,
						    (size_t)sep->rows * sep->row, sep->row });
		bs_separate_run(sep, &(struct bs_separation){ .bands = bands,
							      .weights = bs_slice_weights(p, group),
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
	const uint32_t least = s->kernel[1];

	if (r->lines > s->reference_lines || r->lines < least || r->first > s->lines_y - r->lines)
		return bs_fail(why, BS_ERR_SIZE,
			       "slice-GRAPPA: group %u has references of %u lines from line %u; %u "
			       "to %u of %u lines are needed",
			       group, r->lines, r->first, least, s->reference_lines, s->lines_y);
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
	float *phases = (float *)bs_slice_phases(p, group);
	int rc;

	if (p->version[group] != 0 && p->version[group] == r->version)
		return 0;
	p->version[group] = 0;
	rc = check_references(&p->s, group, r, why);
	if (rc != 0)
		return rc;
	make_phases(p, r, phases);
	rc = make_equations(p, phases, r, why);
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
	return p->weights + (size_t)group * 2 * bs_slice_outputs(&p->s) * bs_slice_unknowns(&p->s);
}

const float *bs_slice_phases(const struct bs_slice *p, uint32_t group)
{
	return p->phases + (size_t)group * 2 * p->s.bands * p->s.lines_y;
}

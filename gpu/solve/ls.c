/* gpu/solve/ls.c - host twin; see ls.h */
#include "gpu/solve/ls.h"

#include <stdlib.h>
#include <string.h>

#include "core/sizes.h"
#include "core/solve/blocks.h"
#include "gpu/toeplitz/circulant.h"
#include "gpu/solve/csr.h"
#include "gpu/solve/precond.h"
#include "gpu/toeplitz/toeplitz.h"

struct bs_ls {
	struct bs_ls_spec s;
	uint64_t voxels;
	struct bs_team *team;
	struct bs_toeplitz *toeplitz;
	void (*normal)(void *self, const float *maps, const float *in, float *out);
	void *normal_self; /* argument of normal, which replaces Q where spec.given is set */
	struct bs_circulant *circulant;
	struct bs_pcg *pcg;
	uint32_t sets, set; /* number of sets of maps; the set in use */
	uint64_t step;      /* Jacobi: floats from the diagonals of one set to those of the next */
	const float *maps;  /* [set] maps of all sets */
	const struct bs_csr *w;
	bool off;           /* W is not used */
	double mu, l2;      /* lambda and l2 times the number of voxels */
	double *power_mean; /* [set]: mean of sum_c |S_c|^2 */
	double r_mean;      /* mean of R's diagonal */
	double q0;          /* diagonal Q(0) of the Toeplitz matrix */
	float *b;           /* sum_c S_c^H fhd_c, the right-hand side */
	float *power;       /* Jacobi: [set] Q(0) sum_c |S_c|^2 */
	float *r;           /* diagonal of R, for a preconditioner */
	float *inverse;     /* Jacobi: [set] 1 / (power + mu r) */
	float *wx;          /* rows W x, [rows of W] complex */
	/* with two images and more: [coil] what each coil measures of their sum */
	float *seen;
	/* The next members belong to the operation in progress. */
	const float *in;
	float *out;
};

static uint32_t sets_of(const struct bs_ls_spec *s)
{
	return s->sets > 0 ? s->sets : 1;
}

static uint32_t images_of(const struct bs_ls_spec *s)
{
	return s->images > 0 ? s->images : 1;
}

/* Returns the maps of a set, those of its first image. */
static const float *maps_of(const struct bs_ls *p, uint32_t set)
{
	return p->maps != NULL ? p->maps + 2 * set * images_of(&p->s) * p->s.coils * p->voxels
			       : NULL;
}

static struct bs_toeplitz_spec toeplitz_of(const struct bs_ls_spec *s)
{
	return (struct bs_toeplitz_spec){ .dims = s->dims,
					  .matrix = { s->matrix[0], s->matrix[1], s->matrix[2] },
					  .coils = s->coils > 0 ? s->coils : 1 };
}

static struct bs_pcg_spec pcg_of(const struct bs_ls_spec *s)
{
	return (struct bs_pcg_spec){ images_of(s) * bs_box_size(s->matrix), s->iterations,
				     s->precond != BS_PRECOND_NONE };
}

static void lay_out(struct bs_ls *p, struct bs_room *r)
{
	const struct bs_ls_spec *s = &p->s;
	const uint64_t voxels = bs_box_size(s->matrix);

	bs_room_take(r, &p->power, "Jacobi preconditioner",
		     s->precond == BS_PRECOND_JACOBI ? 2ull * sets_of(s) : 0, voxels * 4);
	bs_room_take(r, &p->r, "diagonal of the constraint", s->precond != BS_PRECOND_NONE,
		     voxels * 4);
	bs_room_take(r, &p->b, "right-hand side", s->coils > 0, images_of(s) * voxels * 8);
	bs_room_take(r, &p->seen, "what the coils see", images_of(s) > 1, s->coils * voxels * 8);
}

int bs_ls_need(const struct bs_ls_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct bs_room room = { .need = need };
	struct bs_ls p = { .s = *s };
	struct bs_toeplitz_spec t = toeplitz_of(s);
	struct bs_pcg_spec g = pcg_of(s);
	int rc = s->given ? 0 : bs_toeplitz_need(&t, need, why);

	if (images_of(s) > 1 && (s->given || s->coils == 0 || s->precond != BS_PRECOND_NONE))
		return bs_fail(why, BS_ERR_CONFIG,
			       "least squares: %u images, with maps of %u coils and Q alone, "
			       "without a preconditioner",
			       images_of(s), s->coils);
	if (rc == 0)
		rc = bs_pcg_need(&g, need, why);
	if (rc == 0 && s->precond == BS_PRECOND_CIRCULANT)
		rc = bs_circulant_need(s->dims, s->matrix, need, why);
	if (rc != 0)
		return rc;
	lay_out(&p, &room);
	return 0;
}

/* Measures what the preconditioners need of a set of maps. */
static void measure_set(struct bs_ls *p, uint32_t set)
{
	p->power_mean[set] = 0.0;
	for (uint64_t v = 0; v < p->voxels; v++) {
		double power = bs_precond_power(maps_of(p, set), p->s.coils, p->voxels, v);

		p->power_mean[set] += power / (double)p->voxels;
		if (p->power != NULL)
			p->power[set * p->step + v] = (float)(p->q0 * power);
	}
}

/* Measures the diagonal of R that the preconditioners need, and its mean. */
static void measure_constraint(struct bs_ls *p)
{
	if (p->r == NULL)
		return;
	p->r_mean = 0.0;
	bs_precond_diagonal(p->r, p->w, p->voxels);
	for (uint64_t v = 0; v < p->voxels; v++)
		p->r_mean += (double)p->r[v] / (double)p->voxels;
}

int bs_ls_plan(struct bs_ls **plan, const struct bs_ls_spec *s, const float *q, const float *maps,
	       const struct bs_csr *w, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_toeplitz_spec t = toeplitz_of(s);
	struct bs_pcg_spec g = pcg_of(s);
	struct bs_ls *p = calloc(1, sizeof(*p));
	struct bs_room room = { .arena = env->arena };
	bool failed;
	int rc = 0;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "least squares");
	p->s = *s;
	p->voxels = bs_box_size(s->matrix);
	p->team = env->team;
	p->maps = maps;
	p->sets = sets_of(s);
	p->step = bs_slot(p->voxels * 4) / 4;
	p->power_mean = calloc(p->sets, sizeof(*p->power_mean));
	p->w = w;
	p->l2 = s->l2 * (double)p->voxels;
	p->q0 = (double)q[0];
	if (!s->given)
		rc = bs_toeplitz_plan(&p->toeplitz, &t, q, env->arena, env->team, why);
	if (rc == 0)
		rc = bs_pcg_plan(&p->pcg, &g, env->arena, env->team, why);
	if (rc == 0 && s->precond == BS_PRECOND_CIRCULANT)
		rc = bs_circulant_plan(&p->circulant, s->dims, s->matrix, q, env->arena, env->team,
				       why);
	if (rc == 0)
		lay_out(p, &room);
	if (p->power != NULL)
		p->inverse = p->power + p->sets * p->step;
	failed = room.full || p->power_mean == NULL;
	if (rc == 0 && w != NULL) {
		p->wx = malloc(w->rows * 8);
		failed = failed || p->wx == NULL;
		if (p->wx != NULL)
			/* touches the pages now, so that no page fault comes after arm */
			memset(p->wx, 0, w->rows * 8);
	}
	if (rc == 0 && failed)
		rc = bs_fail(why, BS_ERR_NOMEM, "least squares: the arena is too small");
	if (rc == 0 && ((s->coils > 0) != (maps != NULL) || (w != NULL && w->cols != p->voxels)))
		rc = bs_fail(why, BS_ERR_SIZE, "least squares: %u coils %s maps; W of %llu columns",
			     s->coils, maps != NULL ? "with" : "without",
			     (unsigned long long)(w != NULL ? w->cols : 0));
	if (rc != 0) {
		bs_ls_close(p);
		return rc;
	}
	measure_constraint(p);
	for (uint32_t set = 0; set < p->sets; set++)
		measure_set(p, set);
	bs_ls_lambda(p, s->lambda);
	*plan = p;
	return 0;
}

void bs_ls_close(struct bs_ls *p)
{
	if (p == NULL)
		return;
	bs_toeplitz_close(p->toeplitz);
	bs_circulant_close(p->circulant);
	bs_pcg_close(p->pcg);
	free(p->power_mean);
	free(p->wx);
	free(p);
}

/* The weight of W, or without W of the identity in its place. */
static double weight(const struct bs_ls *p)
{
	return p->off ? 0.0 : p->mu;
}

/* The weight of the identity beside W; or in its place, where lambda stands in for an l2 of 0. */
static double alone(const struct bs_ls *p)
{
	return p->off && p->l2 == 0.0 ? p->mu : p->l2;
}

/* Sets the circulant preconditioner to the set in use. */
static void shift(struct bs_ls *p)
{
	if (p->circulant != NULL)
		bs_circulant_shift(p->circulant, p->power_mean[p->set],
				   weight(p) * p->r_mean + alone(p));
}

void bs_ls_use(struct bs_ls *p, uint32_t set)
{
	if (set == p->set)
		return;
	p->set = set;
	shift(p);
}

static void invert(struct bs_ls *p, const float *power, float *inverse)
{
	const double mu = weight(p);
	double most = 0.0;

	for (uint64_t v = 0; v < p->voxels; v++) {
		double d = (double)power[v] + mu * (double)p->r[v] + alone(p);

		most = d > most ? d : most;
	}
	for (uint64_t v = 0; v < p->voxels; v++) {
		double d = (double)power[v] + mu * (double)p->r[v] + alone(p);

		inverse[v] = bs_precond_inverse(d, most);
	}
}

void bs_ls_changed(struct bs_ls *p, uint32_t set)
{
	measure_set(p, set);
	if (set == p->set)
		shift(p);
	if (p->inverse != NULL)
		invert(p, p->power + set * p->step, p->inverse + set * p->step);
}

void bs_ls_given(struct bs_ls *p,
		 void (*normal)(void *self, const float *maps, const float *in, float *out),
		 void *self)
{
	p->normal = normal;
	p->normal_self = self;
}

void bs_ls_weights(struct bs_ls *p, double sum)
{
	p->q0 = sum;
}

double bs_ls_level(const struct bs_ls *p)
{
	return p->q0 * p->power_mean[p->set];
}

/* Makes the preconditioner anew. */
static void refresh(struct bs_ls *p)
{
	shift(p);
	for (uint32_t set = 0; p->inverse != NULL && set < p->sets; set++)
		invert(p, p->power + set * p->step, p->inverse + set * p->step);
}

void bs_ls_lambda(struct bs_ls *p, double lambda)
{
	p->mu = lambda * (double)p->voxels;
	refresh(p);
}

void bs_ls_hold(struct bs_ls *p, bool hold)
{
	p->off = p->w != NULL && !hold;
	measure_constraint(p);
	refresh(p);
}

static void add_identity(void *arg, int task)
{
	const struct bs_ls *p = arg;
	const uint64_t image = (uint64_t)(task / bs_blocks(p->voxels)) * p->voxels;
	uint64_t from;
	uint64_t n = bs_block(p->voxels, task % bs_blocks(p->voxels), &from);
	const float *restrict in = p->in + 2 * (image + from);
	float *restrict out = p->out + 2 * (image + from);
	const float mu = (float)(alone(p) + (p->w == NULL ? p->mu : 0.0));

	for (uint64_t i = 0; i < 2 * n; i++)
		out[i] += mu * in[i];
}

static void combine(void *arg, int task)
{
	const struct bs_ls *p = arg;
	const uint32_t image = (uint32_t)(task / bs_blocks(p->voxels));
	const float *maps = maps_of(p, p->set) + 2 * image * p->s.coils * p->voxels;
	uint64_t from;
	uint64_t n = bs_block(p->voxels, task % bs_blocks(p->voxels), &from);

	bs_blocks_combine(p->out + 2 * (image * p->voxels + from), maps + 2 * from,
			  p->in + 2 * from, p->s.coils, p->voxels, n);
}

/* Sums S_c in over the images into seen_c: what the coils measure of them. */
static void sum_seen(void *arg, int task)
{
	const struct bs_ls *p = arg;
	uint64_t from;
	uint64_t n = bs_block(p->voxels, task, &from);

	for (uint32_t c = 0; c < p->s.coils; c++) {
		float *restrict out = p->seen + 2 * (c * p->voxels + from);

		memset(out, 0, n * 8);
		for (uint32_t m = 0; m < images_of(&p->s); m++) {
			const float *restrict in = p->in + 2 * (m * p->voxels + from);
			const float *restrict s =
				maps_of(p, p->set) +
				2 * ((m * (uint64_t)p->s.coils + c) * p->voxels + from);

			for (uint64_t i = 0; i < n; i++) {
				out[2 * i] += s[2 * i] * in[2 * i] - s[2 * i + 1] * in[2 * i + 1];
				out[2 * i + 1] +=
					s[2 * i] * in[2 * i + 1] + s[2 * i + 1] * in[2 * i];
			}
		}
	}
}

static void jacobi(void *arg, int task)
{
	const struct bs_ls *p = arg;
	uint64_t from;
	uint64_t n = bs_block(p->voxels, task, &from);
	const float *restrict in = p->in + 2 * from;
	const float *restrict inverse = p->inverse + p->set * p->step + from;
	float *restrict out = p->out + 2 * from;

	for (uint64_t i = 0; i < n; i++) {
		out[2 * i] = in[2 * i] * inverse[i];
		out[2 * i + 1] = in[2 * i + 1] * inverse[i];
	}
}

/* Applies the operator to several images that the coils measure together. */
static void apply_together(struct bs_ls *p, const float *in, float *out)
{
	p->in = in;
	bs_team_do(p->team, sum_seen, p, bs_blocks(p->voxels));
	bs_toeplitz_apply(p->toeplitz, p->s.coils, p->seen, p->seen);
	bs_ls_combine(p, p->seen, out);
}

void bs_ls_apply(struct bs_ls *p, const float *in, float *out)
{
	if (p->normal != NULL)
		p->normal(p->normal_self, maps_of(p, p->set), in, out);
	else if (p->seen != NULL)
		apply_together(p, in, out);
	else if (p->s.coils > 0)
		bs_toeplitz_sense(p->toeplitz, p->s.coils, maps_of(p, p->set), in, out);
	else
		bs_toeplitz_apply(p->toeplitz, 1, in, out);
	for (uint32_t m = 0; p->w != NULL && weight(p) != 0.0 && m < images_of(&p->s); m++) {
		bs_csr_forward(p->team, p->w, in + 2 * m * p->voxels, p->wx);
		bs_csr_adjoint_add(p->team, p->w, (float)p->mu, p->wx, out + 2 * m * p->voxels);
	}
	if (alone(p) == 0.0 && (p->w != NULL || p->mu == 0.0))
		return;
	p->in = in;
	p->out = out;
	bs_team_do(p->team, add_identity, p, (int)images_of(&p->s) * bs_blocks(p->voxels));
}

void bs_ls_combine(struct bs_ls *p, const float *in, float *out)
{
	p->in = in;
	p->out = out;
	bs_team_do(p->team, combine, p, (int)images_of(&p->s) * bs_blocks(p->voxels));
}

static void apply_system(void *self, const float *in, float *out)
{
	bs_ls_apply(self, in, out);
}

static void apply_jacobi(void *self, const float *in, float *out)
{
	struct bs_ls *p = self;

	p->in = in;
	p->out = out;
	bs_team_do(p->team, jacobi, p, bs_blocks(p->voxels));
}

static void apply_circulant(void *self, const float *in, float *out)
{
	bs_circulant_apply(((struct bs_ls *)self)->circulant, in, out);
}

const float *bs_ls_begin(struct bs_ls *p, const float *fhd)
{
	if (p->s.coils == 0)
		return fhd;
	bs_ls_combine(p, fhd, p->b);
	return p->b;
}

void bs_ls_solve(struct bs_ls *p, const float *fhd, float *rho, const struct bs_pcg_stop *stop,
		 struct bs_pcg_result *result)
{
	struct bs_pcg_system system = { p, apply_system, NULL };

	if (p->s.precond == BS_PRECOND_JACOBI)
		system.precond = apply_jacobi;
	if (p->s.precond == BS_PRECOND_CIRCULANT)
		system.precond = apply_circulant;
	bs_pcg_solve(p->pcg, &system, bs_ls_begin(p, fhd), rho, stop, result);
}

/* gpu/image/unwarp.c - host twin; see unwarp.h */
#define _DEFAULT_SOURCE /* for M_PI */
#include "gpu/image/unwarp.h"

#include <math.h>
#include <stdlib.h>

#define LANES 16u  /* neighbors in x of one task */
#define LEAST 1e-6 /* voxels: no voxel moves to less than this from another one's place */

struct bs_unwarp {
	const struct bs_protocol *p;
	const float *hz;
	struct bs_team *team;
	double *table;
	float *out;
	/* the run's own */
	const float *slice_hz, *in;
	double per_hz;
};

/* What a voxel's weights have in common. */
struct aim {
	double sine[LANES], cosine[LANES]; /* of pi v/E */
	double scale[LANES];               /* J sin(pi v)/E */
};

void bs_unwarp_table(double *table, uint32_t lines)
{
	for (uint32_t i = 0; i < 2 * lines - 1; i++) {
		table[i] = sin(M_PI * ((double)i - (lines - 1)) / lines);
		table[2 * lines + i] = cos(M_PI * ((double)i - (lines - 1)) / lines);
	}
}

int bs_unwarp_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	(void)why;
	if (!bs_plan_has(&p->plan, BS_PLAN_UNWARP))
		return 0;
	bs_need_add(need, "images moved back", 1, bs_protocol_voxels(p) * p->coils * 8u);
	bs_need_add(need, "tables of places", 1, 4 * p->encoded[1] * sizeof(double));
	return 0;
}

int bs_unwarp_plan(struct bs_unwarp **plan, const struct bs_protocol *p, const float *hz,
		   struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	struct bs_unwarp *u;

	if (!bs_plan_has(&p->plan, BS_PLAN_UNWARP))
		return 0;
	u = calloc(1, sizeof(*u));
	if (u == NULL || hz == NULL)
		goto failed;
	*u = (struct bs_unwarp){ .p = p, .hz = hz, .team = team };
	u->out = bs_arena_take(arena, (size_t)bs_protocol_voxels(p) * p->coils * 8, BS_ALIGN);
	u->table = bs_arena_take(arena, 4 * p->encoded[1] * sizeof(double), BS_ALIGN);
	if (u->out == NULL || u->table == NULL)
		goto failed;
	bs_unwarp_table(u->table, p->encoded[1]);
	*plan = u;
	return 0;
failed:
	free(u);
	return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': images moved back", p->name);
}

void bs_unwarp_close(struct bs_unwarp *u)
{
	free(u);
}

static void aim_at(struct aim *a, const struct bs_unwarp *u, uint32_t y, uint32_t x, uint32_t n)
{
	const uint32_t lines = u->p->matrix[1];
	const float *hz = u->slice_hz + (size_t)y * u->p->matrix[0] + x;
	const ptrdiff_t up = y + 1 < lines ? u->p->matrix[0] : 0;
	const ptrdiff_t down = y > 0 ? u->p->matrix[0] : 0;
	const double apart = up > 0 && down > 0 ? 2.0 : 1.0;

	for (uint32_t i = 0; i < n; i++) {
		const double v = u->per_hz * (double)hz[i];
		const double slope = u->per_hz * ((double)hz[i + up] - (double)hz[i - down]);
		const double whole = rint(v);
		const double rest = fabs(v - whole) < LEAST ? LEAST : v - whole;
		const double size = fmax(1.0 + slope / apart, 0.0);

		a->sine[i] = sin(M_PI * (whole + rest) / lines);
		a->cosine[i] = cos(M_PI * (whole + rest) / lines);
		a->scale[i] = size * sin(M_PI * rest) / lines * (fmod(whole, 2.0) == 0.0 ? 1 : -1);
	}
}

/* Makes the voxels of one line, up to LANES neighbors, in all coils. */
static void move_back(void *arg, int task, int member)
{
	const struct bs_unwarp *u = arg;
	const uint32_t lines = u->p->matrix[1];
	const uint32_t columns = u->p->matrix[0];
	const uint32_t blocks = (columns + LANES - 1) / LANES;
	const uint32_t y = (uint32_t)task / blocks;
	const uint32_t x = (uint32_t)task % blocks * LANES;
	const uint32_t n = columns - x < LANES ? columns - x : LANES;
	float sum[BS_COILS_MAX][2 * LANES] = { { 0 } };
	struct aim a = { { 0 }, { 0 }, { 0 } };

	(void)member;
	aim_at(&a, u, y, x, n);
	for (uint32_t from = 0; from < lines; from++) {
		const double *at = u->table + (y + lines - 1 - from);
		const double sign = (y + from) % 2 == 0 ? 1.0 : -1.0;
		float w[2 * LANES];

		for (uint32_t i = 0; i < n; i++) {
			const double s = at[0] * a.cosine[i] + at[2 * lines] * a.sine[i];
			const double c = at[2 * lines] * a.cosine[i] - at[0] * a.sine[i];

			w[2 * i] = w[2 * i + 1] =
				(float)(sign * a.scale[i] * (lines % 2 == 0 ? c : 1.0) / s);
		}
		for (uint32_t coil = 0; coil < u->p->coils; coil++) {
			const float *in =
				u->in + 2 * (((size_t)coil * lines + from) * columns + x);

			for (uint32_t i = 0; i < 2 * n; i++)
				sum[coil][i] += w[i] * in[i];
		}
	}
	for (uint32_t coil = 0; coil < u->p->coils; coil++)
		for (uint32_t i = 0; i < 2 * n; i++)
			u->out[2 * (((size_t)coil * lines + y) * columns + x) + i] = sum[coil][i];
}

const float *bs_unwarp_run(struct bs_unwarp *u, uint32_t slice, bool falling, const float *images)
{
	const struct bs_protocol *p = u->p;

	u->slice_hz = u->hz + slice * bs_protocol_voxels(p);
	u->in = images;
	u->per_hz = bs_unwarp_per_hz(p, falling);
	bs_team_run(u->team, move_back, u,
		    (int)(p->matrix[1] * ((p->matrix[0] + LANES - 1) / LANES)));
	return u->out;
}

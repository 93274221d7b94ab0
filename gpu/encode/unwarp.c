/* gpu/encode/unwarp.c - host twin; see unwarp.h */
#include "gpu/encode/unwarp.h"

#include <math.h>

#define LANES 16u /* neighbors in x of one task */

struct unwarp {
	const struct bs_protocol *p;
	double per_hz;
	const float *hz, *in;
	float *out;
};

/* A voxel's weight of line n: scale cos(a)/sin(a), scale/sin(a) of odd E; a = pi (y + v - n)/E. */
struct aim {
	double sine[LANES], cosine[LANES]; /* of a */
	double scale[LANES];               /* J sin(pi (y + v - n))/E */
};

/* Finds the weights of line 0 for n voxels. */
static void aim_at(struct aim *a, const struct unwarp *u, uint32_t y, uint32_t x, uint32_t n)
{
	const uint32_t lines = u->p->matrix[1];
	const float *hz = u->hz + (size_t)y * u->p->matrix[0] + x;
	const ptrdiff_t up = y + 1 < lines ? u->p->matrix[0] : 0;
	const ptrdiff_t down = y > 0 ? u->p->matrix[0] : 0;

	for (uint32_t i = 0; i < n; i++) {
		const double slope = u->per_hz * ((double)hz[i + up] - (double)hz[i - down]);
		const double to = y + u->per_hz * (double)hz[i];
		const double whole = rint(to);
		const double rest =
			fabs(to - whole) < BS_UNWARP_LEAST ? BS_UNWARP_LEAST : to - whole;
		const double angle = M_PI * (fmod(whole, 2.0 * lines) + rest) / lines;

		a->sine[i] = sin(angle);
		a->cosine[i] = cos(angle);
		a->scale[i] = fmax(1.0 + slope / (up > 0 && down > 0 ? 2.0 : 1.0), 0.0) *
			      sin(M_PI * rest) / lines * (fmod(whole, 2.0) == 0.0 ? 1.0 : -1.0);
	}
}

/* Writes the weights twice, and goes on to the next line; step: cos and sin of pi/E. */
static void next_weights(struct aim *a, float w[2 * LANES], uint32_t n, bool odd,
			 const double step[2])
{
	for (uint32_t i = 0; i < n; i++) {
		const double s = a->sine[i];
		const double c = a->cosine[i];

		w[2 * i] = w[2 * i + 1] = (float)(a->scale[i] * (odd ? 1.0 : c) / s);
		a->sine[i] = s * step[0] - c * step[1];
		a->cosine[i] = c * step[0] + s * step[1];
		a->scale[i] = -a->scale[i];
	}
}

/* Makes the voxels of one line, up to LANES neighbors, in all coils. */
static void move_back(void *arg, int task)
{
	const struct unwarp *u = arg;
	const uint32_t lines = u->p->matrix[1];
	const uint32_t columns = u->p->matrix[0];
	const uint32_t blocks = (columns + LANES - 1) / LANES;
	const uint32_t y = (uint32_t)task / blocks;
	const uint32_t x = (uint32_t)task % blocks * LANES;
	const uint32_t n = columns - x < LANES ? columns - x : LANES;
	const double step[2] = { cos(M_PI / lines), sin(M_PI / lines) };
	const size_t image = 2 * (size_t)lines * columns;
	float sum[BS_COILS_MAX][2 * LANES] = { { 0 } };
	float w[2 * LANES];
	struct aim a;

	aim_at(&a, u, y, x, n);
	for (uint32_t from = 0; from < lines; from++) {
		const float *in = u->in + 2 * ((size_t)from * columns + x);

		next_weights(&a, w, n, lines % 2 != 0, step);
		for (uint32_t coil = 0; coil < u->p->coils; coil++, in += image)
			for (uint32_t i = 0; i < 2 * n; i++)
				sum[coil][i] += w[i] * in[i];
	}
	for (uint32_t coil = 0; coil < u->p->coils; coil++)
		for (uint32_t i = 0; i < 2 * n; i++)
			u->out[coil * image + 2 * ((size_t)y * columns + x) + i] = sum[coil][i];
}

void bs_unwarp(struct bs_team *team, const struct bs_protocol *p, const float *hz, bool falling,
	       const float *images, float *out)
{
	struct unwarp u = { p, bs_unwarp_per_hz(p, falling), hz, images, out };

	bs_team_do(team, move_back, &u, (int)(p->matrix[1] * ((p->matrix[0] + LANES - 1) / LANES)));
}

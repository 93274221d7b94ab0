/*
 * drivers/step/motion/motion.c - a step that tells how the head lies against the scan's first
 * image: three numbers, mm along read_dir and phase_dir and radians from the first towards the
 * second, about the image's center. The image leaves as it came.
 *
 *     cc -O2 -o motion motion.c -lm
 *     steps = ( { name = "motion"; on = "PROTOCOL"; command = "/usr/local/bin/motion";
 *                 budget_ms = 20.0; } );
 *     answers = ( { on = "PROTOCOL"; what = "motion"; of = "image"; deadline_ms = 100.0; } );
 *
 * For 2D images of one slice and contrast, those of the first image; others get no numbers.
 * Source: Baker and Matthews, Int J Comput Vis 2004;56:221-255, the inverse compositional method.
 * Test: test/replay/console/obey.sh
 */
#define _GNU_SOURCE
#include "ipc/step.h" /* installed: <boreside/step.h> */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 20
#define EDGE   4 /* voxels at each border that do not count */

/* The scan's first image, smoothed, its gradients, and the normal matrix's inverse. */
struct reference {
	uint32_t scan, slice, contrast;
	int x, y; /* voxels; 0: there is none */
	double *f, *fx, *fy, *g, *spare;
	double inverse[3][3];
};

/* Binomial weights 1 2 1 along both axes, twice: noise and ringing have no gradient then. */
static void smooth(double *a, double *b, int nx, int ny)
{
	for (int pass = 0; pass < 4; pass++) {
		const int step = pass % 2 == 0 ? 1 : nx;

		for (int i = 0; i < nx * ny; i++) {
			const int at = step == 1 ? i % nx : i / nx;
			const int most = step == 1 ? nx : ny;

			b[i] = at == 0 || at == most - 1
				       ? a[i]
				       : 0.25 * (a[i - step] + 2.0 * a[i] + a[i + step]);
		}
		memcpy(a, b, (size_t)nx * ny * sizeof(*a));
	}
}

static void magnitudes(double *to, const struct bs_step_memory *m)
{
	const float *in = (const float *)(const void *)((const char *)m + m->in_at);
	const size_t n = (size_t)m->in.matrix[0] * m->in.matrix[1];

	for (size_t i = 0; i < n; i++)
		to[i] = m->in.type == 7 ? hypot((double)in[2 * i], (double)in[2 * i + 1])
					: fabs((double)in[i]);
}

static int invert(double a[3][3], double out[3][3])
{
	double det = 0.0;

	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			out[j][i] = a[(i + 1) % 3][(j + 1) % 3] * a[(i + 2) % 3][(j + 2) % 3] -
				    a[(i + 1) % 3][(j + 2) % 3] * a[(i + 2) % 3][(j + 1) % 3];
	for (int j = 0; j < 3; j++)
		det += a[0][j] * out[j][0];
	for (int i = 0; i < 9 && det != 0.0; i++)
		out[i / 3][i % 3] /= det;
	return det != 0.0;
}

/* What a small shift or rotation changes at a voxel. */
static void slopes(const struct reference *r, int x, int y, double j[3])
{
	const int i = y * r->x + x;

	j[0] = r->fx[i];
	j[1] = r->fy[i];
	j[2] = r->fy[i] * (x - r->x / 2) - r->fx[i] * (y - r->y / 2);
}

static int begin(struct reference *r, const struct bs_step_memory *m)
{
	const int nx = (int)m->in.matrix[0];
	const int ny = (int)m->in.matrix[1];
	double normal[3][3] = { { 0.0 } };
	double *room = realloc(r->f, 5 * (size_t)nx * ny * sizeof(*room));

	if (room == NULL)
		return 0;
	*r = (struct reference){ .scan = m->in.scan,
				 .slice = m->in.slice,
				 .contrast = m->in.contrast,
				 .x = nx,
				 .y = ny,
				 .f = room,
				 .fx = room + (size_t)nx * ny,
				 .fy = room + 2 * (size_t)nx * ny,
				 .g = room + 3 * (size_t)nx * ny,
				 .spare = room + 4 * (size_t)nx * ny };
	magnitudes(r->f, m);
	smooth(r->f, r->spare, nx, ny);
	for (int y = EDGE; y < ny - EDGE; y++)
		for (int x = EDGE; x < nx - EDGE; x++) {
			double j[3];

			r->fx[y * nx + x] = 0.5 * (r->f[y * nx + x + 1] - r->f[y * nx + x - 1]);
			r->fy[y * nx + x] = 0.5 * (r->f[(y + 1) * nx + x] - r->f[(y - 1) * nx + x]);
			slopes(r, x, y, j);
			for (int a = 0; a < 9; a++)
				normal[a / 3][a % 3] += j[a / 3] * j[a % 3];
		}
	return invert(normal, r->inverse);
}

static double cubic(const double p[4], double t)
{
	return p[1] + 0.5 * t *
			      (p[2] - p[0] +
			       t * (2.0 * p[0] - 5.0 * p[1] + 4.0 * p[2] - p[3] +
				    t * (3.0 * (p[1] - p[2]) + p[3] - p[0])));
}

/* The image g at a place between its voxels; it has a border of two around it. */
static double at(const struct reference *r, double x, double y)
{
	const int x0 = (int)floor(x);
	const int y0 = (int)floor(y);
	double rows[4];

	if (x0 < 1 || y0 < 1 || x0 > r->x - 3 || y0 > r->y - 3)
		return 0.0;
	for (int k = 0; k < 4; k++)
		rows[k] = cubic(r->g + (y0 - 1 + k) * r->x + x0 - 1, x - x0);
	return cubic(rows, y - y0);
}

/* Finds p, voxels, voxels and radians, by which the object of f has moved to be that of g. */
static void match(const struct reference *r, double p[3])
{
	for (int round = 0; round < ROUNDS; round++) {
		const double c = cos(p[2]);
		const double s = sin(p[2]);
		double sum[3] = { 0.0 };
		double by[3] = { 0.0 };

		for (int y = EDGE; y < r->y - EDGE; y++)
			for (int x = EDGE; x < r->x - EDGE; x++) {
				const double dx = x - r->x / 2;
				const double dy = y - r->y / 2;
				const double off = at(r, r->x / 2 + c * dx - s * dy + p[0],
						      r->y / 2 + s * dx + c * dy + p[1]) -
						   r->f[y * r->x + x];
				double j[3];

				slopes(r, x, y, j);
				for (int a = 0; a < 3; a++)
					sum[a] += j[a] * off;
			}
		for (int a = 0; a < 9; a++)
			by[a / 3] += r->inverse[a / 3][a % 3] * sum[a % 3];
		p[2] -= by[2];
		p[0] -= cos(p[2]) * by[0] - sin(p[2]) * by[1];
		p[1] -= sin(p[2]) * by[0] + cos(p[2]) * by[1];
		if (hypot(by[0], by[1]) < 1e-5 && fabs(by[2]) < 1e-6)
			return;
	}
}

static uint32_t answer(struct reference *r, const struct bs_step_memory *m, double number[3])
{
	double p[3] = { 0.0 };

	if ((m->in.type != 5 && m->in.type != 7) || m->in.matrix[2] != 1 || m->in.channels != 1 ||
	    m->in.matrix[0] < 4 * EDGE || m->in.matrix[1] < 4 * EDGE || m->in.matrix[0] > 2048 ||
	    m->in.matrix[1] > 2048)
		return 0;
	if ((r->x == 0 || r->scan != m->in.scan) && !begin(r, m)) {
		r->x = 0;
		return 0;
	}
	if (r->slice != m->in.slice || r->contrast != m->in.contrast ||
	    r->x != (int)m->in.matrix[0] || r->y != (int)m->in.matrix[1])
		return 0;
	magnitudes(r->g, m);
	smooth(r->g, r->spare, r->x, r->y);
	match(r, p);
	number[0] = p[0] * (double)m->in.fov_mm[0] / r->x;
	number[1] = p[1] * (double)m->in.fov_mm[1] / r->y;
	number[2] = p[2];
	return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]) ? 3 : 0;
}

int main(void)
{
	const char *path = getenv(BS_STEP_SOCKET);
	static struct reference reference;
	int fd = -1;
	struct bs_step_memory *m = path != NULL ? bs_step_open(path, &fd) : NULL;

	if (m == NULL) {
		(void)fprintf(stderr, "motion: no service at %s\n", path != NULL ? path : "?");
		return 1;
	}
	__atomic_store_n(&m->ready, 1, __ATOMIC_RELEASE);
	while (bs_step_wait(m, fd)) {
		m->out.numbers = answer(&reference, m, m->out.number);
		m->out.what = BS_STEP_NUMBERS_ALONE;
		m->out.bytes = 0;
		bs_step_store(&m->answered, m->asked);
	}
	return 0;
}

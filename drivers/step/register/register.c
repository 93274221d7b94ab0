/*
 * drivers/step/register/register.c - a step that says how an object has moved: the rigid motion of
 * each volume against the scan's first one
 *
 *     cc -O2 -o register register.c -lm
 *     steps = ( { name = "register"; on = "NAVIGATOR"; command = "/usr/local/bin/register";
 *                 budget_ms = 150.0; } );
 *
 * The image leaves as it was, with eight numbers:
 *   0 .. 2  where the volume's center has moved, mm along x, y, z of the image (read, phase, slice)
 *   3 .. 5  rotation about the center, degrees, a vector along its axis in the same system
 *   6       how unlike the two still are: RMS of the difference over RMS of the first
 *   7       number of the image that counts as the first: 1, unless the step was started later
 * A point x of the first volume lies at R x + t in this one. For volumes of 16 to 64 voxels an
 * axis, and motion of up to some three voxels and twenty degrees. Magnitudes are compared, at two
 * widths of a Gaussian, after one factor for the brightness. An object should not leave the volume.
 * Source: inverse compositional Gauss-Newton, Baker and Matthews, Int J Comput Vis 2004;56:221-255;
 * interpolation: cubic splines, Unser et al., IEEE Trans Signal Process 1993;41:821-848.
 */
#define _GNU_SOURCE
#include "ipc/step.h" /* installed: <boreside/step.h> */

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define WIDTHS     2
#define TURNS      25   /* most iterations at a width */
#define CONVERGED  1e-3 /* largest change of a pose from one to the next, voxels */
#define NUMBERS    8
#define VOXELS_MAX (256 * 256 * 256)

static const double widths[WIDTHS] = { 2.0, 0.8 }; /* standard deviations of the Gaussian, voxels */

struct volume {
	int n[3];
	double mm[3]; /* of a voxel */
	float *at;    /* [z][y][x] */
};

/* The first volume at one width: what all later ones are compared with. */
struct fixed {
	struct volume v;
	float *slope;      /* [voxel][6]: by how much the pose changes it, per mm and per radian */
	double normal[36]; /* the sum of products of slopes, decomposed (Cholesky) */
};

struct pose {
	double r[9], t[3]; /* a point x, mm from the center, lies at r x + t */
};

static size_t voxels(const struct volume *v)
{
	return (size_t)v->n[0] * (size_t)v->n[1] * (size_t)v->n[2];
}

/* Floats from a voxel to the next one along an axis. */
static size_t stride(const struct volume *v, int axis)
{
	return axis == 0 ? 1 : (size_t)v->n[0] * (axis == 1 ? 1 : (size_t)v->n[1]);
}

/* ---- volumes ---- */

/* Smooths along an axis by a Gaussian; beyond the edges lies what lies at them. */
static void smooth_axis(struct volume *v, int axis, double width)
{
	const size_t step = stride(v, axis);
	const int n = v->n[axis];
	const int reach = (int)ceil(3.0 * width);
	float line[256];
	double tap[32];
	double sum = 0.0;

	for (int k = -reach; k <= reach; k++)
		sum += tap[k + reach] = exp(-0.5 * k * k / (width * width));
	for (size_t i = 0; i < voxels(v); i++) {
		if (i / step % (size_t)n != 0)
			continue;
		for (int k = 0; k < n; k++)
			line[k] = v->at[i + (size_t)k * step];
		for (int k = 0; k < n; k++) {
			double s = 0.0;

			for (int d = -reach; d <= reach; d++) {
				const int from = k + d < 0 ? 0 : k + d >= n ? n - 1 : k + d;

				s += tap[d + reach] * (double)line[from];
			}
			v->at[i + (size_t)k * step] = (float)(s / sum);
		}
	}
}

/* Cubic B-splines of four voxels about a place between the middle two. */
static void weights(double w[4], double f)
{
	w[0] = (1.0 - f) * (1.0 - f) * (1.0 - f) / 6.0;
	w[1] = (0.5 * f - 1.0) * f * f + 2.0 / 3.0;
	w[2] = ((-0.5 * f + 0.5) * f + 0.5) * f + 1.0 / 6.0;
	w[3] = f * f * f / 6.0;
}

/* The volume at a place, in voxels from its first one. False: it lies outside. */
static bool at_place(const struct volume *v, const double place[3], double *value)
{
	double w[3][4];
	int first[3];
	double sum = 0.0;

	for (int a = 0; a < 3; a++) {
		const double whole = floor(place[a]);

		if (!(whole >= 1.0 && whole < v->n[a] - 2))
			return false;
		first[a] = (int)whole - 1;
		weights(w[a], place[a] - whole);
	}
	for (int z = 0; z < 4; z++)
		for (int y = 0; y < 4; y++) {
			const float *x = v->at +
					 ((size_t)(first[2] + z) * (size_t)v->n[1] +
					  (size_t)(first[1] + y)) *
						 (size_t)v->n[0] +
					 first[0];

			sum += w[2][z] * w[1][y] *
			       (w[0][0] * (double)x[0] + w[0][1] * (double)x[1] +
				w[0][2] * (double)x[2] + w[0][3] * (double)x[3]);
		}
	*value = sum;
	return true;
}

/* Copies a volume's magnitudes, smoothed. False: there is no memory. */
static bool take_volume(struct volume *to, const struct bs_step_memory *m, double width)
{
	const struct bs_step_image *in = &m->in;
	const float *from = (const float *)(const void *)((const char *)m + m->in_at);
	float *at;

	for (int a = 0; a < 3; a++) {
		to->n[a] = (int)in->matrix[a];
		to->mm[a] = (double)in->fov_mm[a] / to->n[a];
	}
	at = realloc(to->at, voxels(to) * sizeof(*at));
	if (at == NULL)
		return false;
	to->at = at;
	for (size_t i = 0; i < voxels(to); i++)
		at[i] = in->type == 7 ? hypotf(from[2 * i], from[2 * i + 1]) : fabsf(from[i]);
	for (int a = 0; a < 3; a++)
		smooth_axis(to, a, width);
	return true;
}

/* Makes the volume the coefficients of the splines that go through it, along an axis. */
static void spline_axis(struct volume *v, int axis)
{
	const double pole = sqrt(3.0) - 2.0;
	const size_t step = stride(v, axis);
	const int n = v->n[axis];

	for (size_t i = 0; i < voxels(v); i++) {
		float *at = v->at + i;
		double c[256], power = 1.0;

		if (i / step % (size_t)n != 0)
			continue;
		c[0] = 0.0; /* as if the line were mirrored at its ends */
		for (int k = 0; k < n && k < 20; k++, power *= pole)
			c[0] += 6.0 * power * (double)at[(size_t)k * step];
		for (int k = 1; k < n; k++)
			c[k] = 6.0 * (double)at[(size_t)k * step] + pole * c[k - 1];
		c[n - 1] = pole / (pole * pole - 1.0) * (c[n - 1] + pole * c[n - 2]);
		for (int k = n - 2; k >= 0; k--)
			c[k] = pole * (c[k + 1] - c[k]);
		for (int k = 0; k < n; k++)
			at[(size_t)k * step] = (float)c[k];
	}
}

/* ---- poses ---- */

static void multiply(double out[9], const double a[9], const double b[9])
{
	double p[9];

	for (int i = 0; i < 9; i++)
		p[i] = a[i / 3 * 3] * b[i % 3] + a[i / 3 * 3 + 1] * b[3 + i % 3] +
		       a[i / 3 * 3 + 2] * b[6 + i % 3];
	memcpy(out, p, sizeof(p));
}

static void apply(double out[3], const double r[9], const double x[3])
{
	for (int i = 0; i < 3; i++)
		out[i] = r[3 * i] * x[0] + r[3 * i + 1] * x[1] + r[3 * i + 2] * x[2];
}

/* The rotation about a vector, by its length in radians (Rodrigues). */
static void rotation(double r[9], const double w[3])
{
	const double angle = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
	const double s = angle > 1e-9 ? sin(angle) / angle : 1.0;
	const double c = angle > 1e-9 ? (1.0 - cos(angle)) / (angle * angle) : 0.5;
	const double cross[9] = { 0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0 };
	double square[9];

	multiply(square, cross, cross);
	for (int i = 0; i < 9; i++)
		r[i] = (i % 4 == 0) + s * cross[i] + c * square[i];
}

/* The vector of a rotation by less than half a turn. */
static void rotation_vector(double w[3], const double r[9])
{
	const double cosine = 0.5 * (r[0] + r[4] + r[8] - 1.0);
	const double angle = acos(cosine > 1.0 ? 1.0 : cosine < -1.0 ? -1.0 : cosine);
	const double f = angle > 1e-9 ? 0.5 * angle / sin(angle) : 0.5;

	w[0] = f * (r[7] - r[5]);
	w[1] = f * (r[2] - r[6]);
	w[2] = f * (r[3] - r[1]);
}

/* ---- the first volume ---- */

/* The slope along an axis at a voxel, to fourth order; 0 at the edges. */
static double slope_along(const struct volume *v, size_t i, int axis)
{
	const size_t step = stride(v, axis);
	const int at = (int)(i / step % (size_t)v->n[axis]);
	const float *x = v->at + i;

	if (at < 2 || at + 2 >= v->n[axis])
		return 0.0;
	return (8.0 * ((double)x[step] - (double)x[-(ptrdiff_t)step]) -
		((double)x[2 * step] - (double)x[-2 * (ptrdiff_t)step])) /
	       (12.0 * v->mm[axis]);
}

/* The place of voxel i, mm from the center. */
static void place_of(double x[3], const struct volume *v, size_t i)
{
	const size_t nx = (size_t)v->n[0], ny = (size_t)v->n[1];
	const size_t at[3] = { i % nx, i / nx % ny, i / nx / ny };

	for (int a = 0; a < 3; a++)
		x[a] = ((double)at[a] - v->n[a] / 2) * v->mm[a];
}

/* Decomposes a symmetric matrix of 6 x 6 in place (Cholesky). */
static void decompose(double a[36])
{
	for (int j = 0; j < 6; j++)
		for (int i = j; i < 6; i++) {
			double s = a[6 * i + j];

			for (int k = 0; k < j; k++)
				s -= a[6 * i + k] * a[6 * j + k];
			a[6 * i + j] = i == j ? sqrt(s > 1e-300 ? s : 1e-300) : s / a[7 * j];
		}
}

static void solve(double x[6], const double a[36])
{
	for (int i = 0; i < 6; i++) {
		for (int k = 0; k < i; k++)
			x[i] -= a[6 * i + k] * x[k];
		x[i] /= a[7 * i];
	}
	for (int i = 5; i >= 0; i--) {
		for (int k = i + 1; k < 6; k++)
			x[i] -= a[6 * k + i] * x[k];
		x[i] /= a[7 * i];
	}
}

/* Makes slopes and their products. False: there is no memory. */
static bool prepare(struct fixed *f)
{
	const struct volume *v = &f->v;
	float *slope = realloc(f->slope, voxels(v) * 6 * sizeof(*slope));

	if (slope == NULL)
		return false;
	f->slope = slope;
	memset(f->normal, 0, sizeof(f->normal));
	for (size_t i = 0; i < voxels(v); i++, slope += 6) {
		double x[3], g[3];

		place_of(x, v, i);
		for (int a = 0; a < 3; a++)
			g[a] = slope_along(v, i, a);
		for (int a = 0; a < 3; a++) {
			const int b = (a + 1) % 3, c = (a + 2) % 3;

			slope[a] = (float)g[a];
			slope[3 + a] = (float)(x[b] * g[c] - x[c] * g[b]);
		}
		for (int a = 0; a < 36; a++)
			f->normal[a] += (double)slope[a / 6] * (double)slope[a % 6];
	}
	for (int a = 0; a < 6; a++) /* an object that is round, or empty, turns as it likes */
		f->normal[7 * a] = f->normal[7 * a] * (1.0 + 1e-6) + 1e-30;
	decompose(f->normal);
	return true;
}

/* ---- a volume against the first ---- */

/* A sum over the voxels: the volume in its pose against the first one, by slopes. */
static double compare(double sum[6], const struct fixed *f, const struct volume *v,
		      const struct pose *p, double *bright)
{
	const float *slope = f->slope;
	double both = 0.0, own = 0.0, first = 0.0, off = 0.0;

	memset(sum, 0, 6 * sizeof(*sum));
	for (size_t i = 0; i < voxels(v); i++, slope += 6) {
		const double is = (double)f->v.at[i];
		double x[3], y[3], value, d;

		place_of(x, v, i);
		apply(y, p->r, x);
		for (int a = 0; a < 3; a++)
			y[a] = (y[a] + p->t[a]) / v->mm[a] + v->n[a] / 2;
		if (!at_place(v, y, &value))
			continue;
		both += is * value;
		own += value * value;
		first += is * is;
		d = *bright * value - is;
		off += d * d;
		for (int a = 0; a < 6; a++)
			sum[a] += (double)slope[a] * d;
	}
	*bright = own > 0.0 ? both / own : 1.0;
	return first > 0.0 ? sqrt(off / first) : 0.0;
}

/* Moves the pose until it does not change. Returns how unlike the two still are. */
static double align(const struct fixed *f, const struct volume *v, struct pose *p)
{
	double bright = 1.0, change[6], unlike = 0.0;

	(void)compare(change, f, v, p, &bright);
	for (int turn = 0; turn < TURNS; turn++) {
		double most = 0.0, back[3], r[9];

		unlike = compare(change, f, v, p, &bright);
		solve(change, f->normal);
		for (int a = 0; a < 3; a++) {
			const double turned = change[3 + a] * 0.5 * v->n[a] * v->mm[a];

			most = fmax(most, fmax(fabs(change[a]), fabs(turned)) / v->mm[a]);
			back[a] = -change[3 + a];
		}
		rotation(r, back);
		multiply(p->r, p->r, r);
		apply(back, p->r, change);
		for (int a = 0; a < 3; a++)
			p->t[a] -= back[a];
		if (most < CONVERGED)
			break;
	}
	return unlike;
}

static bool is_volume(const struct bs_step_image *in)
{
	uint64_t n = in->channels == 1 && in->kind != 0;

	for (int a = 0; a < 3; a++) {
		n *= in->matrix[a];
		if (in->matrix[a] < 8 || in->matrix[a] > 256 || !(in->fov_mm[a] > 0.0f))
			return false;
	}
	return n > 0 && n <= VOXELS_MAX;
}

/* Registers the image with the scan's first, or keeps it as that. False: it is no volume. */
static bool measure(const struct bs_step_memory *m, double number[NUMBERS])
{
	static struct fixed fixed[WIDTHS];
	static struct volume moved;
	static uint32_t scan = UINT32_MAX, image;
	const struct bs_step_image *in = &m->in;
	struct pose p = { .r = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
	bool first = in->scan != scan;

	if (!is_volume(in))
		return false;
	for (int a = 0; a < 3; a++)
		first = first || fixed[0].v.n[a] != (int)in->matrix[a];
	for (int w = 0; w < WIDTHS; w++) {
		if (!take_volume(first ? &fixed[w].v : &moved, m, widths[w]))
			return false;
		if (first && !prepare(&fixed[w]))
			return false;
		for (int a = 0; a < 3 && !first; a++)
			spline_axis(&moved, a);
		number[6] = first ? 0.0 : align(&fixed[w], &moved, &p);
	}
	if (first) {
		scan = in->scan;
		image = in->image;
	}
	memcpy(number, p.t, sizeof(p.t));
	rotation_vector(number + 3, p.r);
	for (int a = 3; a < 6; a++)
		number[a] *= 180.0 / M_PI;
	number[7] = image;
	return true;
}

int main(void)
{
	const char *path = getenv(BS_STEP_SOCKET);
	int fd = -1;
	struct bs_step_memory *m = path != NULL ? bs_step_open(path, &fd) : NULL;

	if (m == NULL) {
		(void)fprintf(stderr, "register: no service at %s\n", path != NULL ? path : "?");
		return 1;
	}
	__atomic_store_n(&m->ready, 1, __ATOMIC_RELEASE);
	while (bs_step_wait(m, fd)) {
		double number[NUMBERS] = { 0.0 };

		m->out.numbers = measure(m, number) ? NUMBERS : 0;
		m->out.what = BS_STEP_NUMBERS_ALONE;
		m->out.bytes = 0;
		memcpy(m->out.number, number, sizeof(number));
		bs_step_store(&m->answered, m->asked);
	}
	return 0;
}

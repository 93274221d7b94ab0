/*
 * drivers/step/register/register.h - what the host (register.c) and a GPU (register.cu) do alike:
 * a line of a volume, a voxel, a step of a pose; and what the latter offers
 *
 * The host's sums over the voxels go from one to the next, the GPU's are a tree that is always the
 * same. Both are of doubles. Test: test/twin/step/twin_register.c
 */
#ifndef BS_DRIVERS_STEP_REGISTER_H
#define BS_DRIVERS_STEP_REGISTER_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef __CUDACC__
#define BOTH static __host__ __device__ inline
#else
#define BOTH static inline
#endif

#define WIDTHS    2
#define TURNS     25   /* most iterations at a width */
#define CONVERGED 1e-3 /* largest change of a pose from one to the next, voxels */
#define SLOPES    36   /* products of a voxel's slopes */
#define LONGEST   256  /* voxels of an axis */
#define REACH     6    /* voxels: three standard deviations of the wider Gaussian */

struct volume {
	int n[3];
	double mm[3]; /* of a voxel */
	float *at;    /* [z][y][x] */
};

/* The first volume at one width: what all later ones are compared with. */
struct fixed {
	struct volume v;
	float *slope;          /* [voxel][6]: how the pose changes it, per mm and per radian */
	double normal[SLOPES]; /* the sum of products of slopes, decomposed (Cholesky) */
};

struct pose {
	double r[9], t[3]; /* a point x, mm from the center, lies at r x + t */
	double bright;     /* the first volume's brightness over this one's */
	double unlike;     /* RMS of the difference over RMS of the first */
};

/* Sums over the voxels that lie in both; before these the difference by the six slopes. */
enum { SUM_BOTH = 6, SUM_OWN, SUM_FIRST, SUM_OFF, SUMS };

struct gaussian {
	int reach;
	double tap[REACH + 1]; /* from the middle to one side */
};

/*
 * Both return NULL, or why the GPU is of no use; then it is left alone.
 * register_cuda_open: name: what the GPU is called.
 * register_cuda: from: the image's pixels, floats or complex ones; p: in the pose that the search
 * begins with, out the volume's. first: later ones are compared with this image, and p stays.
 */
#if BS_GPU
#ifdef __cplusplus
extern "C" {
#endif
const char *register_cuda_open(const char **name);
const char *register_cuda(struct pose *p, const struct volume *shape, const float *from,
			  bool is_complex, bool first);
#ifdef __cplusplus
}
#endif
#endif

BOTH size_t voxels(const struct volume *v)
{
	return (size_t)v->n[0] * (size_t)v->n[1] * (size_t)v->n[2];
}

/* Floats from a voxel to the next one along an axis. */
BOTH size_t stride(const struct volume *v, int axis)
{
	return axis == 0 ? 1 : (size_t)v->n[0] * (axis == 1 ? 1 : (size_t)v->n[1]);
}

/* ---- volumes ---- */

/* Lines of a volume along an axis. */
BOTH size_t lines(const struct volume *v, int axis)
{
	return voxels(v) / (size_t)v->n[axis];
}

/* The first voxel of a line. */
BOTH float *line_at(const struct volume *v, int axis, size_t line)
{
	const size_t step = stride(v, axis);

	return v->at + line / step * step * (size_t)v->n[axis] + line % step;
}

BOTH float magnitude(const float *from, bool is_complex, size_t i)
{
	return is_complex ? hypotf(from[2 * i], from[2 * i + 1]) : fabsf(from[i]);
}

/* The Gaussian of a width, 0 or 1, whose taps' sum is 1. */
BOTH struct gaussian gaussian_of(int width)
{
	const double deviation = width == 0 ? 2.0 : 0.8; /* voxels */
	struct gaussian g = { (int)ceil(3.0 * deviation), { 1.0 } };
	double sum = 1.0;

	for (int k = 1; k <= g.reach; k++) {
		g.tap[k] = exp(-0.5 * k * k / (deviation * deviation));
		sum += 2.0 * g.tap[k];
	}
	for (int k = 0; k <= g.reach; k++)
		g.tap[k] /= sum;
	return g;
}

/* Smooths a line; beyond the edges lies what lies at them. line: room for LONGEST. */
BOTH void smooth_line(const struct volume *v, int axis, size_t i, const struct gaussian *g,
		      double *line)
{
	const size_t step = stride(v, axis);
	const int n = v->n[axis];
	float *at = line_at(v, axis, i);

	for (int k = 0; k < n; k++)
		line[k] = (double)at[(size_t)k * step];
	for (int k = 0; k < n; k++) {
		double s = g->tap[0] * line[k];

		for (int d = 1; d <= g->reach; d++)
			s += g->tap[d] *
			     (line[k < d ? 0 : k - d] + line[k + d < n ? k + d : n - 1]);
		at[(size_t)k * step] = (float)s;
	}
}

/* Makes a line the coefficients of the splines that go through it. c: room for LONGEST. */
BOTH void spline_line(const struct volume *v, int axis, size_t i, double *c)
{
	const double pole = sqrt(3.0) - 2.0;
	const size_t step = stride(v, axis);
	const int n = v->n[axis];
	float *at = line_at(v, axis, i);
	double power = 1.0;

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

/* Cubic B-splines of four voxels about a place between the middle two. */
BOTH void weights(double w[4], double f)
{
	w[0] = (1.0 - f) * (1.0 - f) * (1.0 - f) / 6.0;
	w[1] = (0.5 * f - 1.0) * f * f + 2.0 / 3.0;
	w[2] = ((-0.5 * f + 0.5) * f + 0.5) * f + 1.0 / 6.0;
	w[3] = f * f * f / 6.0;
}

/* The volume at a place, in voxels from its first one. False: it lies outside. */
BOTH bool at_place(const struct volume *v, const double place[3], double *value)
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

/* ---- poses ---- */

BOTH void multiply(double out[9], const double a[9], const double b[9])
{
	double p[9];

	for (int i = 0; i < 9; i++)
		p[i] = a[i / 3 * 3] * b[i % 3] + a[i / 3 * 3 + 1] * b[3 + i % 3] +
		       a[i / 3 * 3 + 2] * b[6 + i % 3];
	memcpy(out, p, sizeof(p));
}

BOTH void apply(double out[3], const double r[9], const double x[3])
{
	for (int i = 0; i < 3; i++)
		out[i] = r[3 * i] * x[0] + r[3 * i + 1] * x[1] + r[3 * i + 2] * x[2];
}

/* The rotation about a vector, by its length in radians (Rodrigues). */
BOTH void rotation(double r[9], const double w[3])
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

/* ---- the first volume ---- */

/* The slope along an axis at a voxel, to fourth order; 0 at the edges. */
BOTH double slope_along(const struct volume *v, size_t i, int axis)
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
BOTH void place_of(double x[3], const struct volume *v, size_t i)
{
	const size_t nx = (size_t)v->n[0], ny = (size_t)v->n[1];
	const size_t at[3] = { i % nx, i / nx % ny, i / nx / ny };

	for (int a = 0; a < 3; a++)
		x[a] = ((double)at[a] - v->n[a] / 2) * v->mm[a];
}

/* Decomposes a symmetric matrix of 6 x 6 in place (Cholesky). */
BOTH void decompose(double a[36])
{
	for (int j = 0; j < 6; j++)
		for (int i = j; i < 6; i++) {
			double s = a[6 * i + j];

			for (int k = 0; k < j; k++)
				s -= a[6 * i + k] * a[6 * j + k];
			a[6 * i + j] = i == j ? sqrt(s > 1e-300 ? s : 1e-300) : s / a[7 * j];
		}
}

BOTH void solve(double x[6], const double a[36])
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

/* Makes the slopes of voxel i, and adds their products to a sum. */
BOTH void add_slopes(double sum[SLOPES], const struct fixed *f, const struct volume *v, size_t i)
{
	float *slope = f->slope + 6 * i;
	double x[3], g[3];

	place_of(x, v, i);
	for (int a = 0; a < 3; a++)
		g[a] = slope_along(v, i, a);
	for (int a = 0; a < 3; a++) {
		const int b = (a + 1) % 3, c = (a + 2) % 3;

		slope[a] = (float)g[a];
		slope[3 + a] = (float)(x[b] * g[c] - x[c] * g[b]);
	}
	for (int a = 0; a < SLOPES; a++)
		sum[a] += (double)slope[a / 6] * (double)slope[a % 6];
}

BOTH void make_normal(double normal[SLOPES], const double sum[SLOPES])
{
	memcpy(normal, sum, SLOPES * sizeof(*sum));
	for (int a = 0; a < 6; a++) /* an object that is round, or empty, turns as it likes */
		normal[7 * a] = normal[7 * a] * (1.0 + 1e-6) + 1e-30;
	decompose(normal);
}

/* ---- a volume against the first ---- */

/* Adds voxel i of the first volume against this one in its pose. */
BOTH void add_voxel(double sum[SUMS], const struct fixed *f, const struct volume *v,
		    const struct pose *p, size_t i)
{
	const float *slope = f->slope + 6 * i;
	const double is = (double)f->v.at[i];
	double x[3], y[3], value, d;

	place_of(x, v, i);
	apply(y, p->r, x);
	for (int a = 0; a < 3; a++)
		y[a] = (y[a] + p->t[a]) / v->mm[a] + v->n[a] / 2;
	if (!at_place(v, y, &value))
		return;
	d = p->bright * value - is;
	for (int a = 0; a < 6; a++)
		sum[a] += (double)slope[a] * d;
	sum[SUM_BOTH] += is * value;
	sum[SUM_OWN] += value * value;
	sum[SUM_FIRST] += is * is;
	sum[SUM_OFF] += d * d;
}

/* Takes a turn's sums; that of turn 0 are for the brightness alone. True: the pose rests. */
BOTH bool improve(struct pose *p, double sum[SUMS], const struct fixed *f, const struct volume *v,
		  int turn)
{
	double most = 0.0, back[3], r[9];

	p->bright = sum[SUM_OWN] > 0.0 ? sum[SUM_BOTH] / sum[SUM_OWN] : 1.0;
	p->unlike = sum[SUM_FIRST] > 0.0 ? sqrt(sum[SUM_OFF] / sum[SUM_FIRST]) : 0.0;
	if (turn == 0)
		return false;
	solve(sum, f->normal);
	for (int a = 0; a < 3; a++) {
		const double turned = sum[3 + a] * 0.5 * v->n[a] * v->mm[a];

		most = fmax(most, fmax(fabs(sum[a]), fabs(turned)) / v->mm[a]);
		back[a] = -sum[3 + a];
	}
	rotation(r, back);
	multiply(p->r, p->r, r);
	apply(back, p->r, sum);
	for (int a = 0; a < 3; a++)
		p->t[a] -= back[a];
	return most < CONVERGED;
}

#endif

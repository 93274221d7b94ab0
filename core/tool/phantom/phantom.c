/* core/tool/phantom/phantom.c - the head, the marker, the points: shapes, transform, image */
#include "core/tool/phantom/phantom.h"

#include <math.h>
#include <string.h>

#define BEATING 4 /* index, in both tables, of the large round part that beats */

struct shape {
	double center[3], axis[3], degrees;
	double intensity[BS_PHANTOM_CONTRASTS];
};

/* Kak and Slaney's table 3.1. Contrast 0 is as in Toft's thesis (1996); 1 and 2 are Boreside's. */
static const struct shape head2d[BS_PHANTOM_PARTS] = {
	{ { 0, 0, 0 }, { .69, .92, 1 }, 0, { 1, .5, .8 } },
	{ { 0, -.0184, 0 }, { .6624, .874, 1 }, 0, { -.8, .1, -.3 } },
	{ { .22, 0, 0 }, { .11, .31, 1 }, -18, { -.2, .4, -.3 } },
	{ { -.22, 0, 0 }, { .16, .41, 1 }, 18, { -.2, .4, -.3 } },
	{ { 0, .35, 0 }, { .21, .25, 1 }, 0, { .1, -.1, .2 } },
	{ { 0, .1, 0 }, { .046, .046, 1 }, 0, { .1, .2, .1 } },
	{ { 0, -.1, 0 }, { .046, .046, 1 }, 0, { .1, .2, .1 } },
	{ { -.08, -.605, 0 }, { .046, .023, 1 }, 0, { .1, -.2, .2 } },
	{ { 0, -.606, 0 }, { .023, .023, 1 }, 0, { .1, -.2, .2 } },
	{ { .06, -.605, 0 }, { .023, .046, 1 }, 0, { .1, -.2, .2 } },
};

/*
 * Kak and Slaney's table 3.2. Contrast 0 has differences raised tenfold and more, as Koay et al. do
 * for MRI.
 */
static const struct shape head3d[BS_PHANTOM_PARTS] = {
	{ { 0, 0, 0 }, { .69, .92, .9 }, 0, { 2, 1, 1.6 } },
	{ { 0, 0, 0 }, { .6624, .874, .88 }, 0, { -.8, .2, -.6 } },
	{ { -.22, 0, -.25 }, { .41, .16, .21 }, 108, { -.2, .6, -.4 } },
	{ { .22, 0, -.25 }, { .31, .11, .22 }, 72, { -.2, .6, -.4 } },
	{ { 0, .35, -.25 }, { .21, .25, .5 }, 0, { .2, -.2, .3 } },
	{ { 0, .1, -.25 }, { .046, .046, .046 }, 0, { .2, .3, .2 } },
	{ { -.08, -.65, -.25 }, { .046, .023, .02 }, 0, { .1, -.3, .3 } },
	{ { .06, -.65, -.25 }, { .046, .023, .02 }, 90, { .1, -.3, .3 } },
	{ { .06, -.105, .625 }, { .056, .04, .1 }, 90, { .2, -.3, .4 } },
	{ { 0, .1, .625 }, { .056, .056, .1 }, 0, { -.2, .4, .3 } },
};

/*
 * The marker's parts: a body; rods on the right, below and in a corner; a ball above. y points
 * upwards as in the tables.
 */
static const struct shape marker[] = {
	{ { 0, 0, 0 }, { .86, .78, .95 }, 0, { .5, .4, .3 } },
	{ { .52, .05, 0 }, { .16, .08, .9 }, 0, { .6, .4, .5 } },
	{ { 0, -.45, 0 }, { .06, .24, .9 }, 0, { 1, .8, .4 } },
	{ { -.45, .3, 0 }, { .1, .14, .85 }, 30, { .8, .3, .6 } },
	{ { .1, .35, .5 }, { .17, .17, .42 }, 0, { .7, .6, .9 } },
};

/* The points, at places that are on no grid. Their width depends on the voxels. */
static const struct shape points[BS_PHANTOM_POINTS_MADE] = {
	{ { .4371, .3127, .2213 }, { 0 }, 0, { 1, .9, .8 } },
	{ { -.4629, .1411, -.2741 }, { 0 }, 0, { .8, .7, .9 } },
	{ { .1193, -.4283, .0517 }, { 0 }, 0, { .6, .8, .5 } },
	{ { -.3187, -.3491, .3319 }, { 0 }, 0, { .45, .5, .6 } },
};
#define POINT_VOXELS 5.0
#define POINT_DEPTH  2.0 /* depth of slices along z in phantom units */

void bs_phantom_point(uint32_t i, double center[3], double *intensity)
{
	memcpy(center, points[i].center, sizeof(points[i].center));
	center[1] = -center[1];
	*intensity = points[i].intensity[0];
}

static void place_points(struct bs_phantom *ph, uint32_t slices, double z, uint32_t contrast)
{
	for (uint32_t i = 0; i < BS_PHANTOM_POINTS_MADE; i++) {
		struct bs_ellipsoid *e = &ph->part[ph->parts++];
		const double up = (z - points[i].center[2]) / POINT_DEPTH;

		*e = (struct bs_ellipsoid){ .intensity = points[i].intensity[contrast],
					    .cosine = 1.0,
					    .soft = true };
		bs_phantom_point(i, e->center, &(double){ 0 });
		for (uint32_t d = 0; d < 3; d++)
			e->axis[d] = POINT_VOXELS * 2.0 / ph->matrix[d];
		if (ph->dims == 2 && slices > 1)
			e->intensity *= exp(-M_PI * up * up);
	}
	ph->beating = ph->parts;
}

static struct bs_ellipsoid placed(const struct shape *s, uint32_t contrast, double scale)
{
	struct bs_ellipsoid e = { .intensity = s->intensity[contrast] };

	memcpy(e.center, s->center, sizeof(e.center));
	e.center[1] = -e.center[1]; /* the tables have y upwards, images downwards */
	for (int d = 0; d < 3; d++)
		e.axis[d] = s->axis[d] * scale;
	e.cosine = cos(s->degrees * M_PI / 180.0);
	e.sine = -sin(s->degrees * M_PI / 180.0);
	return e;
}

int bs_phantom_make(struct bs_phantom *ph, uint32_t dims, const uint32_t matrix[3], uint32_t slice,
		    uint32_t slices, uint32_t contrast, struct bs_fail *why)
{
	return bs_phantom_of(ph, BS_PHANTOM_HEAD, dims, matrix, slice, slices, contrast, why);
}

int bs_phantom_of(struct bs_phantom *ph, enum bs_phantom_object object, uint32_t dims,
		  const uint32_t matrix[3], uint32_t slice, uint32_t slices, uint32_t contrast,
		  struct bs_fail *why)
{
	const bool is_head = object == BS_PHANTOM_HEAD;
	const struct shape *shapes = !is_head ? marker : dims == 2 && slices == 1 ? head2d : head3d;
	const uint32_t parts = is_head ? BS_PHANTOM_PARTS : sizeof(marker) / sizeof(marker[0]);
	/* slices lie within the head, which spans 1.8 units along z */
	double z = slices ? 1.6 * (slice + 0.5) / slices - 0.8 : 0.0;

	memset(ph, 0, sizeof(*ph));
	if (dims < 2 || dims > 3 || slice >= slices)
		return bs_fail(why, BS_ERR_SIZE, "phantom: slice %u of %u in %u dimensions", slice,
			       slices, dims);
	if (contrast >= BS_PHANTOM_CONTRASTS)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "phantom: contrast %u of %u", contrast,
			       BS_PHANTOM_CONTRASTS);
	if (!is_head && slices == 1)
		z = 0.5; /* this cut passes through all of the marker's parts */
	ph->dims = dims;
	for (uint32_t d = 0; d < 3; d++) {
		ph->matrix[d] = d < dims ? matrix[d] : 1;
		if (!ph->matrix[d])
			return bs_fail(why, BS_ERR_SIZE, "phantom: matrix of %u x %u x %u",
				       matrix[0], matrix[1], matrix[2]);
	}
	if (object == BS_PHANTOM_POINTS) {
		place_points(ph, slices, z, contrast);
		return 0;
	}
	for (uint32_t i = 0; i < parts; i++) {
		double scale = 1.0;

		if (dims == 2 && shapes != head2d) {
			double up = (z - shapes[i].center[2]) / shapes[i].axis[2];

			if (up * up >= 1.0)
				continue;
			scale = sqrt(1.0 - up * up);
		}
		if (i == BEATING)
			ph->beating = ph->parts;
		ph->part[ph->parts++] = placed(&shapes[i], contrast, scale);
	}
	if (ph->beating == 0) /* part 0 is the skull, or the body */
		ph->beating = ph->parts;
	return 0;
}

void bs_phantom_beat(struct bs_phantom *ph, double share)
{
	for (int d = 0; d < 3 && ph->beating < ph->parts; d++)
		ph->part[ph->beating].axis[d] *= 1.0 + share;
}

/* Returns the transform of the unit disk at q cycles: J1(2 pi q)/q. */
static double disk(double q)
{
	return q < 1e-9 ? M_PI : j1(2.0 * M_PI * q) / q;
}

/* Returns the transform of the unit ball: (sin x - x cos x)/(2 pi^2 q^3), x = 2 pi q. */
static double ball(double q)
{
	double x = 2.0 * M_PI * q;
	double y = x * x;

	if (x < 0.1) /* the difference would cancel; the series is exact to 1e-14 */
		return 4.0 * M_PI * (1.0 / 3 - y / 30 + y * y / 840 - y * y * y / 45360);
	return 4.0 * M_PI * (sin(x) - x * cos(x)) / (x * y);
}

void bs_phantom_transform(const struct bs_phantom *ph, const double *k, double out[2])
{
	double p[3] = { 0 };
	double unit = 1.0; /* voxels in a unit square or cube */

	for (uint32_t d = 0; d < ph->dims; d++) {
		p[d] = k[d] * ph->matrix[d] / 2.0;
		unit *= ph->matrix[d] / 2.0;
	}
	out[0] = out[1] = 0.0;
	for (uint32_t i = 0; i < ph->parts; i++) {
		const struct bs_ellipsoid *e = &ph->part[i];
		double u = e->axis[0] * (e->cosine * p[0] + e->sine * p[1]);
		double v = e->axis[1] * (e->cosine * p[1] - e->sine * p[0]);
		double w = e->axis[2] * p[2];
		double angle = 2.0 * M_PI *
			       (p[0] * e->center[0] + p[1] * e->center[1] + p[2] * e->center[2]);
		double size = unit * e->intensity * e->axis[0] * e->axis[1];
		double q2 = u * u + v * v + (ph->dims > 2 ? w * w : 0.0);
		double a = size * (ph->dims > 2 ? e->axis[2] : 1.0);

		a *= e->soft ? exp(-M_PI * q2) : ph->dims == 2 ? disk(sqrt(q2)) : ball(sqrt(q2));

		out[0] += a * cos(angle);
		out[1] -= a * sin(angle);
	}
}

/*
 * Returns the distance of x (phantom units) from the ellipsoid's center, in parts of the surface's
 * distance.
 */
static double depth(const struct bs_ellipsoid *e, const double x[3], uint32_t dims)
{
	double dx = x[0] - e->center[0];
	double dy = x[1] - e->center[1];
	double u = (e->cosine * dx + e->sine * dy) / e->axis[0];
	double v = (e->cosine * dy - e->sine * dx) / e->axis[1];
	double w = dims > 2 ? (x[2] - e->center[2]) / e->axis[2] : 0.0;

	return sqrt(u * u + v * v + w * w);
}

static double density(const struct bs_ellipsoid *e, double depth)
{
	return e->soft ? exp(-M_PI * depth * depth) : depth <= 1.0;
}

/* The mean over the voxel around x, from sub points per axis. */
static double cover(const struct bs_phantom *ph, const struct bs_ellipsoid *e, const double x[3],
		    uint32_t sub)
{
	uint32_t n = ph->dims > 2 ? sub * sub * sub : sub * sub;
	double in = 0.0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at[3] = { i % sub, i / sub % sub, i / sub / sub };
		double y[3];

		for (uint32_t d = 0; d < 3; d++)
			y[d] = x[d] + ((at[d] + 0.5) / sub - 0.5) * 2.0 / ph->matrix[d];
		in += density(e, depth(e, y, ph->dims));
	}
	return in / n;
}

struct image_task {
	const struct bs_phantom *ph;
	uint32_t sub;
	float *image;
};

static double voxel(const struct bs_phantom *ph, uint32_t sub, const double x[3])
{
	double half = 0.0;
	double sum = 0.0;

	for (uint32_t d = 0; d < ph->dims; d++)
		half += 1.0 / ((double)ph->matrix[d] * ph->matrix[d]);
	half = sqrt(half); /* half of a voxel's diagonal in phantom units */
	for (uint32_t i = 0; i < ph->parts; i++) {
		const struct bs_ellipsoid *e = &ph->part[i];
		double thin = fmin(e->axis[0], e->axis[1]);
		double at = depth(e, x, ph->dims);
		double edge;

		if (ph->dims > 2)
			thin = fmin(thin, e->axis[2]);
		edge = half / thin; /* most that depth changes within the voxel */
		if (sub > 1 && (e->soft || fabs(at - 1.0) <= edge))
			sum += e->intensity * cover(ph, e, x, sub);
		else
			sum += e->intensity * density(e, at);
	}
	return sum;
}

static void image_row(void *arg, int task, int member)
{
	const struct image_task *t = arg;
	const struct bs_phantom *ph = t->ph;
	uint32_t y = (uint32_t)task % ph->matrix[1];
	uint32_t z = (uint32_t)task / ph->matrix[1];
	float *out = t->image + (size_t)task * ph->matrix[0];
	double at[3];

	(void)member;
	at[1] = ((double)y - ph->matrix[1] / 2) * 2.0 / ph->matrix[1];
	at[2] = ((double)z - ph->matrix[2] / 2) * 2.0 / ph->matrix[2];
	for (uint32_t x = 0; x < ph->matrix[0]; x++) {
		at[0] = ((double)x - ph->matrix[0] / 2) * 2.0 / ph->matrix[0];
		out[x] = (float)voxel(ph, t->sub, at);
	}
}

void bs_phantom_image(const struct bs_phantom *ph, uint32_t sub, float *image, struct bs_team *team)
{
	struct image_task t = { ph, sub, image };
	int rows = (int)(ph->matrix[1] * ph->matrix[2]);

	if (team)
		bs_team_run(team, image_row, &t, rows);
	else
		for (int i = 0; i < rows; i++)
			image_row(&t, i, 0);
}

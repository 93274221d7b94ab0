/*
 * core/traj/make.c - the analytic trajectories
 *
 * Orders and shapes (S samples, R readouts, N the longest axis of the matrix, kmax the protocol's
 * reach, 0.5 cycles per voxel where it says nothing):
 *   cartesian  points of the encoded matrix, y before z; a short readout lacks its start
 *   radial2d   spokes through the whole diameter, k = 2 kmax (s - S/2)/S, golden angle 180/1.618
 *              degrees
 *   radial3d   the same in 3D, directions by the 2D golden means
 *   spiral2d   Archimedean, from the center out, constant speed, interleaves rotated evenly
 *   stack      spiral2d in the plane, kz on the grid: one partition for each voxel of z
 *   random     uniform in the cube |kx|, |ky|, |kz| <= kmax
 *   cones      spirals on nested cones around z, from the center out, constant speed
 *   tpi        cones whose radial speed falls with 1/k^2 beyond a radius, so density stays even
 * Sources: Winkelmann 2007, Chan 2009 (core/traj/traj.h); Irarrazabal, Nishimura, Magn Reson Med
 * 1995;33:656-662 (cones); Boada et al., Magn Reson Med 1997;37:706-715 (twisted projections).
 */
#include "core/traj/traj.h"

#include <math.h>
#include <stdlib.h>

#include "core/random.h"

/* 1/golden ratio; then the two golden means in 3D, from the root of x^3 + x - 1 and its square */
#define GOLDEN   0.6180339887498949
#define GOLDEN_1 0.4655712318767680
#define GOLDEN_2 0.6823278038280193

static float fold(double k)
{
	float v = (float)k;

	if (v >= 0.5f)
		v -= 1.0f;
	if (v < -0.5f)
		v += 1.0f;
	/* -0.5 less one rounding came out as +0.5 above */
	return v >= 0.5f ? -0.5f : v;
}

static double fraction(double x)
{
	return x - floor(x);
}

static double reach(const struct bs_protocol *p)
{
	return p->traj.reach > 0.0 ? p->traj.reach : 0.5;
}

static uint32_t longest(const struct bs_protocol *p)
{
	uint32_t n = p->matrix[0];

	for (uint32_t i = 1; i < p->dims; i++)
		n = p->matrix[i] > n ? p->matrix[i] : n;
	return n;
}

static float *row_of(struct bs_traj *t, uint32_t readout)
{
	return t->k + (size_t)readout * t->samples * t->dims;
}

/* Numbers readouts that have no natural pair of counters consecutively. */
static void number_through(struct bs_traj *t)
{
	for (uint32_t r = 0; r < t->readouts; r++) {
		t->step1[r] = (uint16_t)(r & 0xffffu);
		t->step2[r] = (uint16_t)(r >> 16);
	}
}

static int cartesian(struct bs_traj *t, const struct bs_protocol *p, struct bs_fail *why)
{
	uint32_t n[3];

	for (int i = 0; i < 3; i++)
		n[i] = bs_protocol_encoded_axis(p, (uint32_t)i);
	if (t->samples > n[0] || t->readouts > (uint64_t)n[1] * n[2] || n[1] > 65536 ||
	    n[2] > 65536)
		return bs_fail(why, BS_ERR_SIZE,
			       "cartesian: %u samples x %u readouts do not fit the encoded matrix "
			       "%u x %u x %u",
			       t->samples, t->readouts, n[0], n[1], n[2]);
	for (uint32_t r = 0; r < t->readouts; r++) {
		uint32_t line = r % n[1];
		uint32_t part = r / n[1];
		float *k = row_of(t, r);

		t->step1[r] = (uint16_t)line;
		t->step2[r] = (uint16_t)part;
		for (uint32_t s = 0; s < t->samples; s++, k += t->dims) {
			k[0] = fold(((double)s + (n[0] - t->samples) - n[0] / 2) / n[0]);
			k[1] = fold(((double)line - n[1] / 2) / n[1]);
			if (t->dims > 2)
				k[2] = fold(((double)part - n[2] / 2) / n[2]);
		}
	}
	return 0;
}

static void radial(struct bs_traj *t, double kmax)
{
	for (uint32_t r = 0; r < t->readouts; r++) {
		double azimuth = t->dims == 2 ? M_PI * fraction(r * GOLDEN)
					      : 2.0 * M_PI * fraction(r * GOLDEN_2);
		double up = t->dims == 2 ? 0.0 : fraction(r * GOLDEN_1);
		double flat = sqrt(1.0 - up * up);
		double dir[3] = { flat * cos(azimuth), flat * sin(azimuth), up };
		float *k = row_of(t, r);

		for (uint32_t s = 0; s < t->samples; s++)
			for (uint32_t d = 0; d < t->dims; d++)
				/* NOLINTNEXTLINE: bs_traj_open takes 2 or 3 dims */
				*k++ = fold(dir[d] * 2.0 * kmax * ((double)s - t->samples / 2) /
					    t->samples);
	}
}

/*
 * Returns the length, from radius 0 to k, of the curve whose angle grows by b radians per unit of
 * radius.
 */
static double arc(double b, double k)
{
	double x = b * k;

	return x < 1e-4 ? k : 0.5 * k * sqrt(1.0 + x * x) + asinh(x) / (2.0 * b);
}

/* The radius at which that spiral has the given length: Newton on a convex function, from above. */
static double arc_radius(double b, double length)
{
	double k = length;

	for (int i = 0; i < 50; i++) {
		double step = (arc(b, k) - length) / sqrt(1.0 + b * b * k * k);

		k -= step;
		if (fabs(step) < 1e-14)
			break;
	}
	return fmax(k, 0.0);
}

static int spiral(struct bs_traj *t, const struct bs_protocol *p, struct bs_fail *why)
{
	uint32_t parts = t->dims == 3 ? p->matrix[2] : 1;
	uint32_t leaves = p->traj.interleaves ? p->traj.interleaves : t->readouts / parts;
	uint32_t n = p->matrix[0] > p->matrix[1] ? p->matrix[0] : p->matrix[1];
	double kmax = reach(p);
	double turns;
	double b;

	if (!leaves || (uint64_t)leaves * parts != t->readouts || leaves > 65536 || parts > 65536)
		return bs_fail(why, BS_ERR_SIZE,
			       "spiral: %u readouts are not %u interleaves x %u partitions",
			       t->readouts, leaves, parts);
	/* Nyquist: neighboring revolutions of all interleaves lie at most 1/N apart */
	turns = p->traj.turns > 0.0 ? p->traj.turns : n * kmax / leaves;
	b = 2.0 * M_PI * turns / kmax;
	for (uint32_t s = 0; s < t->samples; s++) {
		double k = arc_radius(b, arc(b, kmax) * s / t->samples);

		for (uint32_t r = 0; r < t->readouts; r++) {
			double angle = b * k + 2.0 * M_PI * (r % leaves) / leaves;
			float *at = row_of(t, r) + (size_t)s * t->dims;

			at[0] = fold(k * cos(angle));
			at[1] = fold(k * sin(angle));
			if (t->dims > 2)
				at[2] = fold(((double)(r / leaves) - parts / 2) / parts);
		}
	}
	for (uint32_t r = 0; r < t->readouts; r++) {
		t->step1[r] = (uint16_t)(r % leaves);
		t->step2[r] = (uint16_t)(r / leaves);
	}
	return 0;
}

static void random_cube(struct bs_traj *t, double half, uint64_t seed)
{
	size_t values = (size_t)t->readouts * t->samples * t->dims;
	struct bs_random random;

	bs_random_seed(&random, seed);
	for (size_t i = 0; i < values; i++)
		t->k[i] = fold(2.0 * half * (bs_random_uniform(&random) - 0.5));
}

/* Returns the polar angle of cone j of n. */
static double polar(uint32_t j, uint32_t n)
{
	return M_PI * (j + 0.5) / n;
}

/* The number of cones whose neighbors lie gap x kmax apart at the edge. */
static uint32_t cone_count(double gap)
{
	double n = ceil(M_PI / gap);

	return n < 1.0 ? 1u : n > 65535.0 ? 65535u : (uint32_t)n;
}

/*
 * The number of readouts that evenly covered cones need: at the edge of k-space their curves,
 * measured across them, and the cones lie gap x kmax apart. It falls as the gap grows. A cone's
 * interleaves make turns/sin(theta) revolutions: every readout is equally long, and a cone needs
 * sin(theta) times the readouts of the equator.
 */
static double cones_need(double turns, double gap)
{
	double slope = 2.0 * M_PI * turns; /* ratio of azimuthal to radial speed at kmax */
	double equator = 2.0 * M_PI / (gap * sqrt(1.0 + slope * slope));

	/* the sum of sin over n cones, whose mean is 2/pi */
	return equator * M_PI / gap * 2.0 / M_PI;
}

/* The gap that uses up the given number of readouts. */
static double cones_gap(double turns, uint32_t readouts)
{
	return sqrt(cones_need(turns, 1.0) / readouts);
}

/*
 * The revolutions at which samples lie as far apart on the equator's curve as curves lie from each
 * other.
 */
static double cones_turns(const struct bs_traj *t)
{
	double lo = 0.0;
	double hi = t->samples / 2.0;

	for (int i = 0; i < 40; i++) {
		double mid = 0.5 * (lo + hi);
		double step = arc(2.0 * M_PI * mid, 1.0) / t->samples;

		if (step < cones_gap(mid, t->readouts))
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Shares readouts among n cones in proportion to sin(theta): the running sum is rounded, so that
 * the parts differ from their shares by less than one and add up exactly. first[n] = readouts.
 */
static int share(uint32_t **first, uint32_t n, uint32_t readouts, struct bs_fail *why)
{
	uint32_t *f = malloc(((size_t)n + 1) * sizeof(*f));
	double sum = 0.0;
	double run = 0.0;

	if (!f)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for %u cones", n);
	for (uint32_t j = 0; j < n; j++)
		sum += sin(polar(j, n));
	f[0] = 0;
	for (uint32_t j = 0; j < n; j++) {
		run += sin(polar(j, n));
		f[j + 1] = j + 1 == n ? readouts : (uint32_t)(readouts * (run / sum) + 0.5);
	}
	*first = f;
	return 0;
}

/* A curve that all cones share: radius, and azimuth x sin(theta), of each sample. */
struct twist {
	double k, azimuth;
};

/* Writes a sample at radius k and azimuth on a cone. */
static void put_polar(float *at, double k, double theta, double azimuth)
{
	at[0] = fold(k * sin(theta) * cos(azimuth));
	at[1] = fold(k * sin(theta) * sin(azimuth));
	at[2] = fold(k * cos(theta));
}

/* The azimuth at which interleaf i of m on cone j starts; cones are rotated against each other. */
static double start_azimuth(uint32_t i, uint32_t m, uint32_t j)
{
	return 2.0 * M_PI * ((double)i / m + fraction(j * GOLDEN));
}

/* Puts the curve on n cones, with readouts in proportion to the circumference. */
static int on_cones(struct bs_traj *t, uint32_t n, const struct twist *curve, struct bs_fail *why)
{
	uint32_t *first = NULL;
	int err = share(&first, n, t->readouts, why);

	if (err)
		return err;
	for (uint32_t j = 0; j < n; j++) {
		uint32_t leaves = first[j + 1] - first[j];
		double theta = polar(j, n);

		for (uint32_t i = 0; i < leaves; i++) {
			float *at = row_of(t, first[j] + i);

			for (uint32_t s = 0; s < t->samples; s++, at += 3)
				put_polar(at, curve[s].k, theta,
					  curve[s].azimuth / sin(theta) +
						  start_azimuth(i, leaves, j));
		}
	}
	free(first);
	return 0;
}

static struct twist cone_curve(double kmax, double turns, uint32_t sample, uint32_t samples)
{
	double b = 2.0 * M_PI * turns;
	double k = arc_radius(b, arc(b, 1.0) * sample / samples);
	struct twist at = { kmax * k, b * k };

	return at;
}

/* The length of a twisted projection, in units of kmax, that is radial up to part x kmax. */
static double tpi_length(double part)
{
	return part + (1.0 - part * part * part) / (3.0 * part * part);
}

/*
 * The radial part of a twisted projection. At its end the readouts suffice for directions 1/N apart
 * (4 pi k0^2 N^2 of them), unless the twisted rest would then be too long for samples 1/N apart. n:
 * voxels across, in units of 1/kmax.
 */
static double tpi_part(const struct bs_traj *t, double n)
{
	double part = sqrt(t->readouts / (4.0 * M_PI)) / n;
	double lo = 0.01;
	double hi = 1.0;

	for (int i = 0; i < 50; i++) {
		double mid = 0.5 * (lo + hi);

		if (tpi_length(mid) * n > t->samples)
			lo = mid;
		else
			hi = mid;
	}
	return fmin(1.0, fmax(part, hi));
}

static struct twist tpi_curve(double kmax, double part, uint32_t sample, uint32_t samples)
{
	double at = tpi_length(part) * sample / samples;
	double k = at <= part ? at : fmin(1.0, cbrt(part * part * (3.0 * at - 2.0 * part)));
	double u = k > part ? k * k / (part * part) : 1.0;
	double root = sqrt(u * u - 1.0);
	struct twist curve = { kmax * k, 0.5 * (root - atan(root)) };

	return curve;
}

static int conical(struct bs_traj *t, const struct bs_protocol *p, struct bs_fail *why)
{
	struct twist *curve = malloc(t->samples * sizeof(*curve));
	double turns = p->traj.turns > 0.0 ? p->traj.turns : cones_turns(t);
	double kmax = reach(p);
	double part = tpi_part(t, longest(p) * kmax);
	uint32_t n;
	int err;

	if (!curve)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for %u samples", t->samples);
	for (uint32_t s = 0; s < t->samples; s++)
		curve[s] = p->traj.type == BS_TRAJ_TPI ? tpi_curve(kmax, part, s, t->samples)
						       : cone_curve(kmax, turns, s, t->samples);
	/* tpi: cones lie as far apart as the readouts' directions */
	n = p->traj.type == BS_TRAJ_TPI ? cone_count(sqrt(4.0 * M_PI / t->readouts))
					: cone_count(cones_gap(turns, t->readouts));
	err = on_cones(t, n, curve, why);
	free(curve);
	return err;
}

static int check_dims(const struct bs_protocol *p, struct bs_fail *why)
{
	const uint32_t want = bs_traj_dims(p->traj.type);

	if (p->traj.type == BS_TRAJ_FILE || p->traj.type == BS_TRAJ_STREAM)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "a trajectory from a file or from the stream is read, not made");
	if (p->dims < 2 || p->dims > 3 || (want && p->dims != want))
		return bs_fail(why, BS_ERR_SIZE, "this trajectory is not for %u dimensions",
			       p->dims);
	for (uint32_t i = 0; i < p->dims; i++)
		if (!p->matrix[i])
			return bs_fail(why, BS_ERR_SIZE, "matrix of %u x %u x %u", p->matrix[0],
				       p->matrix[1], p->matrix[2]);
	if (!isfinite(p->traj.turns) || p->traj.turns < 0.0 || p->traj.turns > 1e6)
		return bs_fail(why, BS_ERR_SIZE, "%g turns of an interleaf", p->traj.turns);
	if (!(p->traj.reach >= 0.0 && p->traj.reach <= 0.5))
		return bs_fail(why, BS_ERR_SIZE, "a reach of %g cycles per voxel", p->traj.reach);
	return 0;
}

int bs_traj_make(struct bs_traj *t, const struct bs_protocol *p, struct bs_fail *why)
{
	int err = check_dims(p, why);

	if (err)
		return err;
	err = bs_traj_open(t, p->dims, p->samples, p->readouts, why);
	if (err)
		return err;
	number_through(t);
	switch (p->traj.type) {
	case BS_TRAJ_CARTESIAN:
		err = cartesian(t, p, why);
		break;
	case BS_TRAJ_RADIAL2D:
	case BS_TRAJ_RADIAL3D:
		radial(t, reach(p));
		break;
	case BS_TRAJ_SPIRAL2D:
	case BS_TRAJ_STACK:
		err = spiral(t, p, why);
		break;
	case BS_TRAJ_RANDOM:
		random_cube(t, reach(p), p->traj.seed);
		break;
	case BS_TRAJ_CONES:
	case BS_TRAJ_TPI:
		err = conical(t, p, why);
		break;
	case BS_TRAJ_FILE:
	case BS_TRAJ_STREAM:
		break;
	}
	if (err) {
		bs_traj_close(t);
		return err;
	}
	t->keyed = true; /* each order above gives every readout its own pair of counters */
	return 0;
}

/*
 * core/tool/phantom/phantom.h - the Shepp-Logan head, a marker, or points: image, and transform in
 * closed form
 *
 * A sum of ellipses (2D) or ellipsoids (3D), each rotated about z. Phantom units run from -1 to 1
 * across the matrix; voxel n of an axis of N voxels lies at n/(N/2), n = -N/2 .. N/2-1. y points
 * down, so that the head stands as it is usually shown.
 * transform: rho^(k) = integral of rho(x) exp(-i2pi k.x) dx, x in voxels, k in cycles per voxel, so
 * a sum over voxels approximates it. Contrast 0 .. 2: the same shapes, other intensities.
 * One slice in 2D is the classical head with Toft's contrasts; several slices are cuts through the
 * 3D head, evenly spaced.
 * The marker differs from itself after every flip, swap and rotation of its axes: along x one
 * bright rod on the right, along y a longer one below, a third in the upper left corner, and along
 * z a ball that only the upper half has. One slice in 2D is its cut at z = 0.5, through all of
 * them.
 * The points are four soft points (Gaussian, exp(-pi) at their axis of 5 voxels) of different
 * intensity, which measure where an image lies: the logarithm of each is a parabola in every
 * direction, which three voxels give exactly. bs_phantom_point says where they are; they become
 * dimmer from slice to slice, away from their z, and a single slice has all of them whole.
 * image: the mean of rho over each voxel's unit square or cube, from sub x sub (x sub) points; sub
 * 1: rho at the voxel's center.
 * Thread rules: a made phantom is read-only. Allocates nothing.
 * Sources: Kak, Slaney, Principles of Computerized Tomographic Imaging, 1988, tables 3.1 and 3.2
 * (shapes); Koay, Sarlls, Ozarslan, Magn Reson Med 2007;58:430-436 (3D transform).
 * Test: test/unit/core/tool/test_phantom.c
 */
#ifndef BS_CORE_TOOL_PHANTOM_PHANTOM_H
#define BS_CORE_TOOL_PHANTOM_PHANTOM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/thread/team.h"

BS_C_BEGIN

#define BS_PHANTOM_PARTS     10u
#define BS_PHANTOM_CONTRASTS 3u

struct bs_ellipsoid {
	double intensity;
	double center[3], axis[3]; /* center and semi-axes in phantom units */
	double cosine, sine;       /* cosine and sine of the rotation about z */
	/* the intensity is exp(-pi r^2), with r = 1 at the surface; false: it is 1
	 * within the surface */
	bool soft;
};

enum bs_phantom_object { BS_PHANTOM_HEAD, BS_PHANTOM_MARKER, BS_PHANTOM_POINTS };

struct bs_phantom {
	uint32_t dims;
	uint32_t matrix[3]; /* voxels of each axis; 1 beyond dims */
	uint32_t parts;
	/* index of the part that beat changes; parts: this slice has none of it */
	uint32_t beating;
	struct bs_ellipsoid part[BS_PHANTOM_PARTS];
};

/* Makes the head. */
int bs_phantom_make(struct bs_phantom *ph, uint32_t dims, const uint32_t matrix[3], uint32_t slice,
		    uint32_t slices, uint32_t contrast, struct bs_fail *why);
int bs_phantom_of(struct bs_phantom *ph, enum bs_phantom_object object, uint32_t dims,
		  const uint32_t matrix[3], uint32_t slice, uint32_t slices, uint32_t contrast,
		  struct bs_fail *why);

#define BS_PHANTOM_POINTS_MADE 4u
/*
 * Gives the place of point i (phantom units, z as slices are cut), and its intensity in contrast 0.
 */
void bs_phantom_point(uint32_t i, double center[3], double *intensity);

/*
 * Multiplies the semi-axes of the large round part by 1 + share, share > -1: something that moves.
 */
void bs_phantom_beat(struct bs_phantom *ph, double share);

/* Computes the transform at k [dims], cycles per voxel; out: real, imaginary. */
void bs_phantom_transform(const struct bs_phantom *ph, const double *k, double out[2]);

/* Makes the image [z][y][x], real float. team NULL: by this thread alone. */
void bs_phantom_image(const struct bs_phantom *ph, uint32_t sub, float *image,
		      struct bs_team *team);

BS_C_END
#endif

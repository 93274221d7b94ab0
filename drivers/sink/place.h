/*
 * drivers/sink/place.h - where an image's voxels lie in the patient, by its MRD head
 *
 * Coordinates are the patient's as in MRD and DICOM, mm: x to the left, y to the back, z to the
 * head (LPS). The MRD head's position is the center of voxel matrix/2 along each axis (a matrix of
 * 1: voxel 0), whose phase no gradient turns (core/frame/geometry.h has the sizes). x runs along
 * read_dir, y along phase_dir, z along slice_dir; z of a 2D image is its slice's thickness.
 * Voxel (i, j, k) has its center at first + i step[0] + j step[1] + k step[2].
 * No state; any thread. Test: test/unit/drivers/test_place.c, test/replay/sinks.sh
 */
#ifndef BS_DRIVERS_SINK_PLACE_H
#define BS_DRIVERS_SINK_PLACE_H

#include "core/err.h"
#include "core/mrd.h"

struct bs_place {
	double spacing[3]; /* mm between two voxels along x, y, z */
	double dir[3][3];  /* directions of x, y, z: length 1, at right angles */
	double step[3][3]; /* spacing times dir */
	double first[3];   /* place of the center of voxel (0, 0, 0) */
};

/*
 * BS_ERR_SIZE: the head does not say the place: a field of view is 0, a value is not finite, or the
 * directions are not of length 1 at right angles (to 1e-3). The reason names the value.
 */
int bs_place_of(struct bs_place *p, const struct bs_mrd_image *head, struct bs_fail *why);

#endif

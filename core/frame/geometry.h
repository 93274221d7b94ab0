/*
 * core/frame/geometry.h - the field of view of a scan's images, by its header and its protocol
 *
 * A voxel has the size that encodedSpace gives: its field of view over its matrix, both with all
 * oversampling. Lines on the grid are that far apart in k-space; the trajectories of other scans
 * are in cycles per such a voxel. So an image of p->matrix voxels covers as many of them, cropped
 * or not; image_matrix divides the same field of view anew. z of a 2D scan is the thickness of one
 * slice. reconSpace is the scanner's own plan for its image (often interpolated). It decides one
 * thing only: with one partition, its z is the thickness where it is smaller than encodedSpace's z,
 * which then includes slice oversampling; a larger z is the spacing, or all slices together.
 *
 * The protocol's fov_mm stands in where encodedSpace has no field of view. It must not differ from
 * a field of view in the header by more than 0.1 %. Where fov_mm is not given, the header must not
 * contradict itself about the image: on the grid, a reconSpace with as many voxels as the image
 * that leaves must cover what that image covers (to one line of encodedSpace, whose matrix is
 * rounded); else the voxels of one of the two are wrong, and nobody knows which. A field of view of
 * less than a millimeter along x and y was written in meters, and is refused.
 * No state; any thread. Its code: admit.c. Test: test/unit/core/test_geometry.c
 */
#ifndef BS_CORE_FRAME_GEOMETRY_H
#define BS_CORE_FRAME_GEOMETRY_H

#include "core/err.h"
#include "core/mrd.h"
#include "core/protocol.h"

/* The field of view of every image of the scan, mm; 0 where neither header nor protocol says it. */
void bs_geometry_fov(float fov_mm[3], const struct bs_protocol *p, const struct bs_scan_info *info);

/* Finds the field of view of another encoding's images (core/frame/encoding.h). */
void bs_geometry_other(float fov_mm[3], const struct bs_protocol *p,
		       const struct bs_mrd_encoding *e);

/* Returns 0, or BS_ERR_SIZE with both numbers. */
int bs_geometry_check(const struct bs_protocol *p, const struct bs_scan_info *info,
		      struct bs_fail *why);

/* Words for the operator: the axes whose field of view is 0; "" if there are none. */
#define BS_GEOMETRY_WORDS 160u
const char *bs_geometry_words(char words[BS_GEOMETRY_WORDS], const struct bs_protocol *p,
			      const struct bs_scan_info *info);

#endif

/*
 * core/frame/geometry.h - the field of view of a scan's images, by its header and its protocol
 *
 * A voxel is what encodedSpace says: its field of view over its matrix, with all oversampling in
 * both. Lines on the grid are that far apart in k-space; the trajectories of other scans are in
 * cycles per such a voxel. So an image of p->matrix voxels covers as many of them, cropped or not;
 * image_matrix divides the same field of view anew. z of a 2D scan is the thickness of one slice.
 * reconSpace is the scanner's own plan for its image (often interpolated), and decides nothing but
 * this: of one partition its z is the thickness where it is the smaller one, as encodedSpace's has
 * the slice oversampling in it; where it is larger it is the spacing, or all slices.
 *
 * fov_mm of the protocol stands in where encodedSpace has no field of view. It must not differ from
 * a field of view that the header gives by more than 0.1 %. Where it is not given, the header must
 * not contradict itself about the image: on the grid, a reconSpace with as many voxels as the image
 * that leaves covers what the image covers (to one line of encodedSpace, whose matrix is rounded),
 * or the voxels of one of the two are wrong, and nobody knows which. A field of view of less than a
 * millimeter along x and y was said in meters, and is refused.
 * No state; any thread. Its code: admit.c. Test: test/unit/core/test_geometry.c
 */
#ifndef BS_CORE_FRAME_GEOMETRY_H
#define BS_CORE_FRAME_GEOMETRY_H

#include "core/err.h"
#include "core/mrd.h"
#include "core/protocol.h"

/* mm, of every image of the scan; 0 where neither header nor protocol says. */
void bs_geometry_fov(float fov_mm[3], const struct bs_protocol *p, const struct bs_scan_info *info);

/* Of another encoding's images (core/frame/encoding.h). */
void bs_geometry_other(float fov_mm[3], const struct bs_protocol *p,
		       const struct bs_mrd_encoding *e);

/* 0, or BS_ERR_SIZE with both numbers. */
int bs_geometry_check(const struct bs_protocol *p, const struct bs_scan_info *info,
		      struct bs_fail *why);

/* What to tell whoever runs the service: the axes whose field of view is 0; "" if none. */
#define BS_GEOMETRY_WORDS 160u
const char *bs_geometry_words(char words[BS_GEOMETRY_WORDS], const struct bs_protocol *p,
			      const struct bs_scan_info *info);

#endif

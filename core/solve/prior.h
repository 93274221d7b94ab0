/*
 * core/solve/prior.h - the anatomical constraint W from reference images
 *
 * One row for each pair of neighbors (i, j) inside the mask: w_ij (rho_i - rho_j). The weight falls
 * where the references have an edge:
 *   w_ij^2 = 1/(distance^2 (1 + t^2)^2),  t^2 = sum over images of (|r_i - r_j| / (edge top))^2
 * with top the image's largest magnitude: an edge in one image counts for all. One row for each
 * voxel outside the mask: `outside` rho_i. No differences are taken across the mask's rim.
 * images [image][z][y][x] complex float. mask [z][y][x] complex float; a voxel is inside where it
 * is not 0.
 * Rows go voxel by voxel, x fastest, with neighbors in a fixed order. make allocates the matrix,
 * and seals it. images NULL: there is no image yet, and no edge.
 * whole: W has every row that any mask can ask for, those that this one does not ask for with
 * zeros. So fill makes it of another image in place: values change, rows and columns do not, and a
 * product has the same bytes as one with the W of asked rows alone. fill allocates nothing; after
 * its error W's values are those before. bytes: what make allocates for a whole W.
 * Errors: BS_ERR_SIZE: sizes, neighborhood or an empty mask; BS_ERR_VALUE: an image that is not
 * finite or all zero. Test: test/unit/core/solve/test_prior.c
 * Sources: Haldar, Hernando, Song, Liang, Magn Reson Med 2008;59:810-818 (weighted differences);
 * Haldar, Liang, IEEE Int Symp Biomed Imaging 2008:752-755 (edges shared by a set); Geman, McClure,
 * Bull Int Stat Inst 1987;52:5-21 (the weight's shape).
 */
#ifndef BS_CORE_SOLVE_PRIOR_H
#define BS_CORE_SOLVE_PRIOR_H

#include "core/solve/csr.h"

struct bs_prior_spec {
	uint32_t dims;      /* number of dimensions, 2 or 3 */
	uint32_t matrix[3]; /* voxels of each axis; 1 beyond dims */
	uint32_t neighbors; /* number of a voxel's neighbors: 4 or 8 in 2D, 6 or 26 in 3D */
	uint32_t images;    /* number of reference images, at least 1 */
	double edge;        /* fraction of top at which a difference counts as an edge; > 0 */
	double outside;     /* weight of voxels outside the mask; > 0 */
	bool whole;         /* W can be filled again */
};

int bs_prior_make(struct bs_csr *w, const struct bs_prior_spec *spec, const float *images,
		  const float *mask, struct bs_fail *why);
int bs_prior_fill(struct bs_csr *w, const struct bs_prior_spec *spec, const float *images,
		  const float *mask, struct bs_fail *why);
uint64_t bs_prior_bytes(const struct bs_prior_spec *spec);

#endif

/*
 * board/tool/offline/rounds.h - edges that a scan's images share, found between rounds of
 * reconstruction
 *
 * For contrasts (echoes) of one anatomy: reconstruct all, make W of all of the images
 * (core/solve/prior.h), reconstruct again with W, a set number of rounds. An edge that one image
 * shows counts for all; as noise falls from round to round, smaller steps count as edges.
 * check -> { add for each image, make }, once a round -> close. make allocates .w anew and forgets
 * the images; whatever is armed with the old .w is closed before. One thread.
 * Source: Haldar, Liang, IEEE Int Symp Biomed Imaging 2008:752-755. Test:
 * test/unit/board/tool/rounds.sh
 */
#ifndef BS_BOARD_TOOL_OFFLINE_ROUNDS_H
#define BS_BOARD_TOOL_OFFLINE_ROUNDS_H

#include "core/solve/prior.h"
#include "core/frame/recon.h"

#define BS_ROUNDS_MAX    16u
#define BS_ROUNDS_IMAGES 64u /* most images of a round: contrasts x repetitions x coils */

struct bs_rounds {
	uint32_t rounds;    /* number of rounds; 0: none */
	uint32_t neighbors; /* neighbors of a voxel; 0: the fewest in this dimension */
	double edge;        /* size of an edge in the last round, as a share of an image's top */
	uint32_t done, images;
	uint16_t slice;
	float *joint; /* [image][z][y][x] complex, the images of the round */
	struct bs_csr w;
};

/* Checks that the protocol can take rounds: ls or sense, lambda, whole frames. */
int bs_rounds_check(const struct bs_rounds *r, const struct bs_protocol *p, struct bs_fail *why);
/* Adds an image of the protocol. BS_ERR_SIZE: it is of another slice, or one too many. */
int bs_rounds_add(struct bs_rounds *r, const struct bs_protocol *p,
		  const struct bs_recon_image *image, struct bs_fail *why);
int bs_rounds_make(struct bs_rounds *r, const struct bs_protocol *p, struct bs_fail *why);
void bs_rounds_close(struct bs_rounds *r);

/* Returns the size of an edge in round i of n: from three times the last round's down to it. */
double bs_rounds_edge(double last, uint32_t i, uint32_t n);

#endif

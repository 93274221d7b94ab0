/*
 * test/peers/origin.h - headers of MRD as scanners, converters and tools write them
 *
 * One kind of scan, as each of them tells it: 3 slices of 32 lines of 64 samples, twofold
 * oversampled, 2 channels, 192 x 192 x 5 mm.
 */
#ifndef BS_TEST_PEERS_ORIGIN_H
#define BS_TEST_PEERS_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

struct origin {
	const char *name;
	const char *x, *y, *z, *fov; /* encodedSpace; fov along x */
	const char *limits;         /* elements of encodingLimits; NULL: the element is not there */
	const char *before, *after; /* elements before and behind encoding */
	const char *trajectory;
	unsigned center, dimensions; /* of readouts; a trajectory is all zeros */
	bool flags;                  /* LAST_IN_SLICE, and at the end 14 and 25 */
	bool each;                   /* 1, 7, 13 at each least line, 2, 8, 14 at each greatest */
	bool lost_directions;
	const char *words; /* it cannot be taken, and this is in what is said; NULL: it is taken */
};

#define ORIGINS 10u
extern const struct origin origin[ORIGINS];

void origin_header(char *to, size_t size, const struct origin *o);

#endif

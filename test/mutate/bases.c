/* test/mutate/bases.c - the eight scans that are changed; see mutations.h */
#include "test/mutate/mutations.h"

#define COUNTS(ny, nz, slices, contrasts, repetitions)                                             \
	.count = { [LINE] = (ny),                                                                  \
		   [PART] = (nz),                                                                  \
		   [SLICE] = (slices),                                                             \
		   [CONTRAST] = (contrasts),                                                       \
		   [PHASE] = 1,                                                                    \
		   [SET] = 1,                                                                      \
		   [REPETITION] = (repetitions),                                                   \
		   [AVERAGE] = 1 }
#define IN_TURN       .in_time = { 0, 1, 2, 3, 4, 5, 6, 7 }, .sign = 1.0
#define LINES_INSIDE  .nest = { LINE, PART, CONTRAST, SLICE, PHASE, SET, AVERAGE, REPETITION }
#define SLICES_INSIDE .nest = { CONTRAST, SLICE, LINE, PART, PHASE, SET, AVERAGE, REPETITION }

/* clang-format off */
const struct base bases[] = {
	{ 'C', "Cartesian", { .nx = 24, .ny = 20, .nz = 1, .over = 2, .coils = 3,
	  COUNTS(20, 1, 1, 1, 2), IN_TURN, LINES_INSIDE, .accel = 1 } },
	{ 'S', "slices", { .nx = 20, .ny = 16, .nz = 1, .over = 2, .coils = 3,
	  COUNTS(16, 1, 3, 1, 1), .in_time = { 0, 2, 1 }, .sign = 1.0, SLICES_INSIDE, .accel = 1 }
	  },
	{ 'E', "echoes", { .nx = 20, .ny = 16, .nz = 1, .over = 2, .coils = 3,
	  COUNTS(16, 1, 1, 3, 1), IN_TURN, SLICES_INSIDE, .accel = 1 } },
	{ 'P', "partial Fourier", { .nx = 32, .ny = 32, .nz = 1, .over = 2, .coils = 4,
	  COUNTS(32, 1, 1, 1, 1), IN_TURN, LINES_INSIDE, .accel = 1, .skip = 8 } },
	{ 'G', "GRAPPA", { .nx = 32, .ny = 32, .nz = 1, .over = 2, .coils = 6,
	  COUNTS(32, 1, 1, 1, 1), IN_TURN, LINES_INSIDE, .accel = 2, .acs = 14 } },
	{ 'I', "EPI", { .path = PATH_EPI, .nx = 24, .ny = 20, .nz = 1, .over = 2, .coils = 3,
	  COUNTS(20, 1, 2, 1, 1), IN_TURN, LINES_INSIDE, .accel = 1 } },
	{ 'R', "radial", { .path = PATH_RADIAL, .nx = 20, .ny = 32, .nz = 1, .over = 2, .coils = 3,
	  COUNTS(32, 1, 1, 1, 1), IN_TURN, LINES_INSIDE, .accel = 1 } },
	{ 'D', "3D", { .nx = 16, .ny = 16, .nz = 8, .over = 2, .coils = 3, COUNTS(16, 8, 1, 1, 1),
	  IN_TURN, LINES_INSIDE, .accel = 1 } },
};
/* clang-format on */

const unsigned base_count = sizeof(bases) / sizeof(bases[0]);

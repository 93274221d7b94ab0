/*
 * drivers/tool/phantom/scanlines.h - which readouts a simulated scan has: order, counters, flags,
 * times
 *
 * Two kinds of scans. A plain one has every row of its trajectory, in the order of its table, for
 * each repetition, slice and contrast, with all FIRST and LAST flags. One as a scanner sends it
 * (like_scanner) has the lines of a Cartesian matrix (traj holds all of them, core/traj/make.c)
 * that acceleration, calibration and partial Fourier leave, and other readouts beside them; its
 * flags are those that Siemens' converter sets: FIRST_IN_SLICE and LAST_IN_SLICE of each slice and
 * contrast, LAST_IN_REPETITION, LAST_IN_MEASUREMENT, and the kinds 19 to 24 and 27.
 *
 * Order: noise, dummies, separate calibration (contrast 0 of each slice), then for each
 * repetition, phase and set the slices one after the other, in each the averages and their lines
 * from the lowest, in each line the contrasts, which share a TR. With BS_SLICES_EACH_TR a line of
 * every slice comes before the next line. Every other readout takes a TR of its own; noise
 * readouts follow each 2 ms. EPI: for each slice, average and contrast one train of lines, behind
 * a triple for phase correction.
 *
 * Grid: the line through the center of k-space (index size/2) is on it. Of 3D, line y and z are on
 * it when (y - cy) is a multiple of accel[0] and (z - cz) less shift for each step of y one of
 * accel[1] (CAIPIRINHA). Interleaved calibration moves the grid by one line each repetition.
 * Lines are numbered from the first that partial Fourier leaves; center is then the number of the
 * center line.
 *
 * Multiband: slices of the 2D scan are excited together, the bands of a group: groups = slices /
 * bands, group g has slices g + groups b. A line of a group has the number of its first slice.
 * The phase of band b then grows by b / shift cycles a line from the center one. References
 * of single slices have all lines that partial Fourier leaves, or the central ones: flagged (20),
 * before the first repetition, or as the first repetition, without a flag. Their trains take longer
 * than a TR where they must.
 * make allocates, walk does not. One thread. Test: test/unit/drivers/tool/test_phantomscan.c
 * Sources: Breuer et al., Magn Reson Med 2006;55:549-556 (CAIPIRINHA).
 */
#ifndef BS_DRIVERS_TOOL_PHANTOM_SCANLINES_H
#define BS_DRIVERS_TOOL_PHANTOM_SCANLINES_H

#include <stdbool.h>

#include "core/err.h"
#include "core/mrd.h"
#include "core/traj/traj.h"

enum bs_slice_order {
	BS_SLICES_ASCENDING,
	BS_SLICES_INTERLEAVED, /* every second slice first, then those between */
	/* interleaved slices, where a line of every slice comes before the next line */
	BS_SLICES_EACH_TR
};

struct bs_partial {
	double share; /* share of the lines that are measured; 0: all */
	bool early;   /* the first lines are missing; false: the last */
};

enum bs_single_band { BS_SINGLE_FLAGGED, BS_SINGLE_FIRST, BS_SINGLE_NONE };

struct bs_scanbands {
	uint32_t bands; /* 0, 1: each slice alone */
	uint32_t shift; /* neighboring bands lie a field of view over this apart; 0: the default */
	enum bs_single_band single;
	uint32_t lines; /* number of lines of a flagged reference; 0: all */
	bool blipped;   /* references have the phases of their bands */
};

struct bs_scanplan {
	const struct bs_traj *traj;
	bool like_scanner;
	uint32_t lines[2]; /* lines of the encoded matrix, along y and z */
	uint32_t slices, contrasts, repetitions;
	uint32_t averages, phases, sets; /* numbers of averages, phases and sets; 0 counts as 1 */
	uint32_t accel[2];               /* acceleration along y and z; 0: 1 */
	uint32_t shift;                  /* shift of CAIPIRINHA, below accel[1] */
	enum bs_calibration calibration; /* kind of calibration: embedded, separate, interleaved */
	uint32_t calibration_lines[2];   /* number of lines along y and z; z 0: all partitions */
	struct bs_partial partial[2];    /* partial Fourier along y and z */
	enum bs_slice_order order;
	uint32_t dummies;
	uint32_t navigate; /* lines from navigator to navigator; 0: no navigators */
	bool reversed;     /* every second line runs backwards */
	bool epi;
	bool falling; /* EPI: the last line comes first */
	struct bs_scanbands multiband;
	uint32_t noise; /* number of noise readouts */
	bool noise_only;
	double tr_us;      /* TR of a line, or of a train of lines */
	double readout_us; /* time of sampling alone, which separates contrasts */
	double spacing_us; /* time between two lines of EPI */
};

enum bs_scanline_kind {
	BS_SCANLINE_IMAGE,
	BS_SCANLINE_NOISE,
	BS_SCANLINE_DUMMY,
	BS_SCANLINE_CALIBRATION,
	BS_SCANLINE_PHASE_CORRECTION,
	BS_SCANLINE_NAVIGATOR
};

struct bs_scanline {
	enum bs_scanline_kind kind;
	uint32_t row; /* row in the trajectory's table */
	uint16_t step1, step2, average, slice, contrast, repetition, phase, set;
	/* number of repetitions, phases and sets before; gives the phase of motion */
	uint32_t frame;
	uint64_t flags;
	bool reversed;
	bool folded;        /* the line holds all bands of the group whose first slice this is */
	bool phased;        /* the line has the phases of its bands */
	uint32_t navigator; /* navigator's number, from 0; gives the phase of drift */
	double at_us;       /* time since the scan's beginning */
};

struct bs_scanlines;

/* plan.multiband.shift, or bands x accel[0]: by 1 / bands of a cycle from line to line measured. */
uint32_t bs_scanplan_shift(const struct bs_scanplan *plan);
int bs_scanlines_make(struct bs_scanlines **lines, const struct bs_scanplan *plan,
		      struct bs_fail *why);
void bs_scanlines_free(struct bs_scanlines *lines);
/*
 * Calls put for each readout in the order of the scan. If put returns other than 0, the walk ends
 * and returns that. BS_ERR_SIZE: the scan is longer than a time stamp can say (2147 s).
 */
int bs_scanlines_walk(struct bs_scanlines *lines,
		      int (*put)(void *arg, const struct bs_scanline *line, struct bs_fail *why),
		      void *arg, struct bs_fail *why);
/* Returns the number of lines of a frame, in the last repetition of the last walk. */
uint32_t bs_scanlines_frame(const struct bs_scanlines *lines);
/* Returns the range of line (axis 0) or partition (axis 1) numbers, and its center. */
struct bs_limit bs_scanlines_limit(const struct bs_scanlines *lines, int axis);

#endif

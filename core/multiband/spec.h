/*
 * core/multiband/spec.h - what a protocol says of slices that are excited at once (group multiband)
 *
 * A group is the slices of one excitation. Slice s is in group s modulo groups, where it is band s
 * / groups: its group's bands lie as far apart as they can. Band b is moved by b x shift fields of
 * view along y: from a line to the next its phase grows by so many cycles. Plain data, filled by
 * config/.
 */
#ifndef BS_CORE_MULTIBAND_SPEC_H
#define BS_CORE_MULTIBAND_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#define BS_BANDS_MAX 16u

/* Which lines of a scan hold one slice alone: the references that slices come apart by. */
enum bs_references {
	BS_REFERENCES_AUTO,    /* flagged ones, if one comes before the first line of an image */
	BS_REFERENCES_FLAGGED, /* lines flagged as calibration alone (MRD flag 20) */
	BS_REFERENCES_FIRST    /* lines of images of the first repetition */
};

struct bs_multiband {
	uint32_t factor; /* slices of a group; 0: slices are excited one by one */
	enum bs_references references;
	double shift; /* shift from band to band; 0: as the header says, else 1 / factor; 1: none */
	uint32_t kernel[3]; /* samples along x, lines along y; z is 1 */
	double lambda;      /* regularization of the weights, relative to the mean diagonal */
	bool split;         /* the weights' sources are the bands one by one, not their sum */
};

static inline uint32_t bs_multiband_groups(const struct bs_multiband *m, uint32_t slices)
{
	return m->factor > 1 ? slices / m->factor : slices;
}

#endif

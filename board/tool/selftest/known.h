/*
 * board/tool/selftest/known.h - what a self-test knows of the readouts that it gives
 *
 * For selftest.c, known.c and brought.c, which has the protocols whose scans bring more than an
 * image's lines: EPI's phase-correction lines, lines that calibrate GRAPPA, references of slices at
 * once, maps of the scan. Each slice is some small Gaussians, which each coil sees by a number
 * of its own. Of the lines that an image is made of some are left out, run backwards, or hold
 * several slices; the image is held to the sum over the lines as they would be without that.
 */
#ifndef BS_BOARD_TOOL_SELFTEST_KNOWN_H
#define BS_BOARD_TOOL_SELFTEST_KNOWN_H

#include <complex.h>
#include <math.h>

#include "board/arm/armed.h"
#include "board/arm/measuring.h"

#define PLACES 64u
#define SPOTS  3u

/* A voxel at which an image is held, or a sample at which its transform is. */
struct place {
	size_t voxel;
	double at[3]; /* of a voxel, voxels from the center; of a sample, cycles per voxel */
	uint32_t coil, sample;
	double complex is[BS_COILS_MAX]; /* voxel: each coil's image; sample: [0] its value */
};

/* A slice: where its Gaussians lie, voxels from the center, and what each coil sees of them. */
#define BLOBS 6u
struct object {
	double at[BLOBS][3];
	double complex seen[BLOBS][BS_COILS_MAX];
};

struct selftest {
	const struct bs_armed *a;
	const struct bs_protocol *p; /* as the engine sees it */
	struct measuring *m;         /* heads of readouts, random numbers, memory for them */
	float *image;                /* the image that is looked at */
	uint32_t slice;              /* the slice that it is of */
	bool came;                   /* it has come */
	struct bs_traj own;          /* made anew, where a formula makes it */
	const struct bs_traj *traj;  /* NULL: lines of the grid */
	const float *field;          /* Hz, of slice 0; NULL: the encoding has none */
	float *weight;
	struct place place[PLACES];
	uint32_t places;
	double spot[SPOTS][3]; /* place of a Gaussian, voxels from the center */
	size_t at[SPOTS];      /* its voxel */
	double width;          /* its standard deviation, voxels */
	enum {
		SUMS,         /* readouts of noise: the image is their sum at each place */
		FITS,         /* readouts of the Gaussians: the image is to fit them */
		BROUGHT_LINES /* a scan of objects, with what it brings */
	} how;
	bool steps; /* the image is a multiple of what is summed: the solver's first step */
	struct object object[BS_BANDS_MAX];
};

static inline double complex turn_by(double cycles)
{
	return cos(2.0 * M_PI * cycles) + sin(2.0 * M_PI * cycles) * I;
}

/* off: cycles beside those of k. */
static inline double complex turn(const double k[3], const double x[3], double sign, double off)
{
	return turn_by(sign * (k[0] * x[0] + k[1] * x[1] + k[2] * x[2] + off));
}

static inline double complex of(const float *v)
{
	return (double)v[0] + (double)v[1] * I;
}

/* Where a voxel lies, in voxels from the center. */
void bs_known_place(const struct selftest *t, size_t voxel, double x[3]);
void bs_known_k(const struct selftest *t, uint32_t row, uint32_t s, double k[3]);
/* Off resonance, cycles of a voxel at the time of a readout's sample. */
double bs_known_field(const struct selftest *t, size_t voxel, double sample);
/* Adds a sample [coil][samples] to the sums at the places, or keeps it as one of those to fit. */
void bs_known_note(struct selftest *t, uint32_t row, uint32_t s, const double k[3],
		   const float *data);
/* Gives the engine the readout in m->samples, and takes what images are made. */
int bs_known_give(struct selftest *t, const struct bs_mrd_acq *h, uint32_t row,
		  struct bs_fail *why);
/* Takes images that are made: the last one of the slice that is looked at is kept. */
int bs_known_take(struct selftest *t, struct bs_fail *why);

/* The next functions are in brought.c. */
/* Scans of the protocol bring lines beside those of the image. */
bool bs_known_brought(const struct bs_protocol *p);
/* Why such a protocol is not tested; NULL: it is. */
const char *bs_known_untold(const struct bs_protocol *p);
/* One scan, up to the last line of its only frame; what its image must be is noted. */
int bs_known_scan(struct selftest *t, struct bs_fail *why);

#endif

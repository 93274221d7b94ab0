/*
 * test/mutate/scan.h - a scan that knows what it truly is: plan, object, lines, header
 *
 * A plan says what the sequence does; scan_make measures an object by it, whose k-space is a sum
 * in double precision, and writes the lines and the header that siemens_to_ismrmrd would. What is
 * changed afterwards, in lines or header, changes nothing of the frames' truth, unless the one who
 * changes it says so here. Nothing of the project's own is included: layouts are libismrmrd's.
 * scan_free follows scan_make.
 */
#ifndef BS_TEST_MUTATE_SCAN_H
#define BS_TEST_MUTATE_SCAN_H

#include <complex.h>
#include <ismrmrd/ismrmrd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FLAG(n) (UINT64_C(1) << ((n)-1)) /* MRD's flag n */

enum path { PATH_GRID, PATH_EPI, PATH_RADIAL };

/* What a sequence loops over; the six behind LINE and PART tell frames apart. */
enum dim { LINE, PART, SLICE, CONTRAST, PHASE, SET, REPETITION, AVERAGE, DIMS };

#define SLICES_MAX 8u

struct plan {
	enum path path;
	uint32_t nx, ny, nz; /* voxels of an image; of spokes ny is their number */
	uint32_t over;       /* readout oversampling */
	uint32_t coils;
	uint32_t count[DIMS];         /* of LINE and PART as many as ny and nz */
	enum dim nest[DIMS];          /* the innermost loop first */
	uint32_t in_time[SLICES_MAX]; /* slices in the order in which they are excited */
	uint32_t accel, acs;          /* every so many lines; lines of calibration in the middle */
	uint32_t skip;                /* lines at the beginning that are never measured */
	uint32_t skip_parts;          /* the same of partitions */
	uint32_t early, late;         /* samples that a readout lacks in front, behind */
	bool every_second_reversed;
	bool bipolar;    /* every second contrast is read the other way */
	bool elliptical; /* no corners of ky, kz */
	bool segmented;  /* lines in segments of 4, each with all phases */
	bool moves;      /* the accelerated lines begin one later in each repetition */
	bool bands;      /* of later repetitions slices 0 and 1 at once, as slice 0 */
	double sign;     /* of the phase axis in every second repetition */
};

enum role { ROLE_IMAGE, ROLE_CALIBRATION, ROLE_NOISE, ROLE_CORRECTION, ROLE_OTHER };

struct line {
	ISMRMRD_AcquisitionHeader head;
	float *path;         /* [samples][dimensions] or NULL */
	float complex *data; /* [channels][samples] */
	enum role role;
	uint32_t frame;  /* of an image's line or its calibration */
	uint32_t ky, kz; /* its true place on the grid */
};

struct frame {
	uint32_t at[DIMS];
	double scale; /* of its average */
	float position[3];
	double complex *k;      /* [coil][z][y][sample] */
	double complex *images; /* [coil][z][y][x] */
	uint8_t *came;          /* [z][y]: lines of the grid that were measured */
	uint32_t lost;          /* readouts of its pattern that were made and never sent */
	bool many;              /* it holds several slices at once */
	bool matched;           /* an image of it was found */
};

/* One of encodingLimits; not given: no element. */
struct limit {
	bool given;
	long min, max, center;
};
enum {
	LIMIT_STEP1,
	LIMIT_STEP2,
	LIMIT_AVERAGE,
	LIMIT_SLICE,
	LIMIT_CONTRAST,
	LIMIT_PHASE,
	LIMIT_REPETITION,
	LIMIT_SET,
	LIMIT_SEGMENT,
	LIMITS
};

#define WORD 32u

/* Words as they stand in the header; "": no such element. */
struct header {
	char encoded[3][WORD], encoded_fov[3][WORD], recon[3][WORD], recon_fov[3][WORD];
	bool no_encoding, no_limits;
	struct limit limit[LIMITS];
	char trajectory[WORD];
	char description[1200]; /* the element */
	char accel[2][WORD], calibration[WORD], parallel[600];
	char vendor[WORD], channels[WORD], labels[1200], h1[WORD];
	char position[WORD], subject[300], study[300], measurement[WORD], dependency[400];
	char te[3][WORD], sequence[600];
	char user[600];    /* elements of userParameters */
	char second[1600]; /* a second encoding, the element */
	char unknown[600]; /* elements that no schema has */
	const char *raw;   /* instead of all that, or NULL */
};

struct scan {
	struct plan plan;
	struct header header;
	struct frame *frames;
	uint32_t frame_count;
	struct line *lines;
	uint32_t count, room;
	/* what is so, for reasons that may be given */
	bool center_untold;     /* nothing tells where the center of k-space is */
	bool center_differs;    /* among lines, by a sample */
	bool reversed_untold;   /* nor which sample of reversed lines is its middle */
	bool relabeled;         /* counters do not tell all frames apart */
	bool limits_lie;        /* limits promise lines that were never to be measured */
	bool second_unused;     /* lines of another encoding were promised to the image */
	bool acceleration_lies; /* the header's acceleration is not that of the lines */
	bool again;             /* lines came that a whole frame has already */
	bool no_lines;          /* there is nothing to make an image of */
	bool no_field_of_view;  /* nothing tells how much of a line an image keeps */
	bool other_protocol;    /* it is served by its base's, whose frames may be fewer */
	bool more_images;       /* what nobody promised may have images of its own */
	uint32_t lines_refused; /* lines that no grid can hold */
	uint32_t recon[3];      /* voxels that reconSpace asks for; */
	double voxel_mm[3];     /* and their size */
	double noise[16]; /* deviation of each channel's noise; 0: there are no noise readouts */
};

bool scan_make(struct scan *s, const struct plan *p);
void scan_free(struct scan *s);
/* A zeroed line with room for the data, at that place of the stream. NULL: no memory. */
struct line *scan_insert(struct scan *s, uint32_t at, uint32_t samples, uint32_t channels);
void scan_remove(struct scan *s, uint32_t at);
/* One line goes before the other one, which is earlier in the stream. */
void scan_move(struct scan *s, uint32_t from, uint32_t to);
/* Samples of a line's header */
bool line_resize(struct line *l, uint32_t samples, uint32_t channels);
uint32_t plan_samples(const struct plan *p);

/* object.c: what lies in the scanner, and what is seen of it, in double precision */
void object_measure(const struct plan *p, struct frame *f);
/* F^-1 of the lines that came, zeros elsewhere; true: of all of them. [z][y][x] root of the sum of
 * squares of so many voxels of so many of the plan's; weight: of each coil. */
void object_image(const struct plan *p, const struct frame *f, bool whole, const double *weight,
		  const uint32_t matrix[3], const double voxel[3], double *rss);
/* The adjoint along spokes, weighted by |k|. */
void object_adjoint(const struct plan *p, const struct frame *f, const double *weight, double *rss);
void object_spoke(const struct plan *p, uint32_t spoke, uint32_t sample, double k[2]);

/* header.c: the XML text; to be freed */
char *header_text(const struct header *h);

#endif

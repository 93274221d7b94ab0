/*
 * drivers/tool/replay/obey.h - a scanner that obeys: the lines of a recording become those of an
 * analytic head that moves, as seen from the pose that the answers have told so far
 *
 * open -> { begin -> { shape, heard }* -> error }* -> close. The head turns about z (in 3D about an
 * oblique axis) and shifts along all axes, from rest to rest over the scan. shape computes a line's
 * samples, or a navigator's, at the pose that is left: the head's own, seen from where the scanner
 * follows it. An answer (a shift along x, or a step's motion: the numbers of drivers/step/motion,
 * in 3D those of drivers/step/register) tells how the head lay against the scan's first readout or
 * image, seen from the pose that the scanner had then. The two
 * together tell where the head was. From latency_ns after the answer came the scanner goes on from
 * there, as fast as the last answers have changed: by a shift at once, by an image's motion from
 * the next repetition on. All channels see the head alike. One thread.
 * Test: test/replay/console/obey.sh
 */
#ifndef BS_DRIVERS_TOOL_REPLAY_OBEY_H
#define BS_DRIVERS_TOOL_REPLAY_OBEY_H

#include "core/answer/answer.h"
#include "core/err.h"

struct bs_obey_options {
	double motion[2]; /* mm along x and half as much along y and z at the end; degrees */
	double noise;     /* standard deviation of a voxel's noise, of the head's brightest 1 */
	bool blind;       /* no answer is followed */
};

struct bs_obey;
/* info: of a scan on the grid with fields of view. readouts: of a scan. */
int bs_obey_open(struct bs_obey **o, const struct bs_scan_info *info, uint32_t readouts,
		 const struct bs_obey_options *options, struct bs_fail *why);
void bs_obey_close(struct bs_obey *o);
void bs_obey_begin(struct bs_obey *o, int64_t latency_ns);
/* Computes the samples of readout n of the scan: of an ACQ payload, in place. */
void bs_obey_shape(void *obey, unsigned char *payload, uint32_t n);
void bs_obey_heard(void *obey, const struct bs_answer *a);

struct bs_obeyed {
	/* root mean squares over the scan's lines: how far the pose was from the head's own */
	double mm, degrees;
	uint32_t answers; /* that were followed */
};
struct bs_obeyed bs_obey_error(const struct bs_obey *o);

#endif

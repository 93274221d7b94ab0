/*
 * core/frame/step.h - what a site's own step (ipc/step.h) has made of an image
 *
 * Plain data, written once by whoever hands the image on.
 */
#ifndef BS_CORE_FRAME_STEP_H
#define BS_CORE_FRAME_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/protocol.h"

/* What became of an image at its step. Of an image that leaves without it: why. */
enum bs_step_verdict {
	BS_STEP_NONE,     /* no step was asked (yet) */
	BS_STEP_USED,     /* its pixels leave */
	BS_STEP_NUMBERED, /* it gave numbers alone */
	BS_STEP_ABSENT,   /* it has not connected yet */
	BS_STEP_LOADING,  /* it has connected and is not ready */
	BS_STEP_BUSY,     /* it is at an earlier image, or those before took the time */
	BS_STEP_LATE,
	BS_STEP_DIED,  /* it ended, and is not back yet */
	BS_STEP_HUNG,  /* it gave no answer for so long that it was cut off, and is not back yet */
	BS_STEP_SIZE,  /* its pixels or numbers are not as many as they should be */
	BS_STEP_NAN,   /* it gave a number that is none, or is infinite */
	BS_STEP_STALE, /* it gave an answer that was not asked, was cut off, and is not back yet */
	BS_STEP_VERDICTS
};

static inline const char *bs_step_verdict_name(uint32_t verdict)
{
	static const char *const names[BS_STEP_VERDICTS] = {
		"none", "used", "numbers", "absent", "loading", "busy",
		"late", "died", "hung",    "size",   "nan",     "stale"
	};

	return verdict < BS_STEP_VERDICTS ? names[verdict] : "?";
}

/* Returns true if the image leaves as if there were no step, against the site's wish. */
static inline bool bs_step_bypassed(uint32_t verdict)
{
	return verdict >= BS_STEP_ABSENT;
}

#define BS_STEP_NUMBERS_MAX 64u        /* BS_STEP_NUMBERS of ipc/step.h */
#define BS_STEP_LEFT_OUT    UINT32_MAX /* in numbers: the attributes had no room for them */

/* Bytes of a frame's readouts [coil][row][sample], where the protocol's step takes them; else 0. */
static inline uint64_t bs_protocol_kspace_bytes(const struct bs_protocol *p)
{
	return p->step.takes == BS_STEP_TAKES_FRAME
		       ? (uint64_t)p->coils * bs_protocol_rows(p) * p->samples * 8u
		       : 0;
}

struct bs_step_result {
	char name[BS_NAME_MAX]; /* of the step */
	uint32_t verdict;       /* enum bs_step_verdict */
	uint32_t numbers;       /* how many of number are set */
	int64_t ns;             /* time that the image was at the step */
	double number[BS_STEP_NUMBERS_MAX];
};

#endif

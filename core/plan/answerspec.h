/*
 * core/plan/answerspec.h - what a protocol tells its sender while the scan runs (core/answer)
 */
#ifndef BS_CORE_PLAN_ANSWERSPEC_H
#define BS_CORE_PLAN_ANSWERSPEC_H

#include <stdint.h>

#define BS_ANSWERS_MAX      4u /* answers of a protocol */
#define BS_ANSWERS_SITE_MAX 16u
#define BS_ANSWER_SAMPLES   4096u /* most samples of a readout that is answered */

/* The words of the key `what`, and the number on the wire less 1: append only. */
enum bs_answer_what {
	BS_ANSWER_FREQUENCY, /* of a readout without gradient, in Hz */
	BS_ANSWER_PHASE,     /* against the scan's first such readout, in radians */
	BS_ANSWER_SHIFT,     /* along the readout against the scan's first one, in mm */
	BS_ANSWER_MOTION,    /* the three of the protocol's step: what its numbers mean */
	BS_ANSWER_GATE,
	BS_ANSWER_STEP,
	BS_ANSWER_WHATS
};

/* The words of the key `of`: which readouts are answered. */
enum bs_answer_of {
	BS_ANSWER_OF_NAVIGATION,
	BS_ANSWER_OF_PHASE_CORRECTION,
	BS_ANSWER_OF_FEEDBACK,
	BS_ANSWER_OF_IMAGE /* none: each image's step gives the numbers */
};

struct bs_answer_spec {
	char on[64]; /* name of the protocol */
	enum bs_answer_what what;
	enum bs_answer_of of;
	double deadline_ms; /* from the receipt of the readout, or of the image's last one */
};

/* The answers of a protocol. */
struct bs_answers_of {
	struct bs_answer_spec row[BS_ANSWERS_MAX];
	uint32_t count;
	uint32_t kinds; /* bit i: readouts of kind i are answered (core/frame/kind.h) */
};

#endif

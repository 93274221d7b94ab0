/*
 * core/plan/stepspec.h - a site's own program that each image of a protocol passes (ipc/step.h)
 */
#ifndef BS_CORE_PLAN_STEPSPEC_H
#define BS_CORE_PLAN_STEPSPEC_H

#include <stdint.h>

#define BS_STEPS_MAX 8u

/* An image that leaves without its step: no more is said, or it is marked as degraded. */
enum bs_on_late { BS_ON_LATE_BYPASS, BS_ON_LATE_MARK };

/* What a step gets: the image as it was made, or the readouts that it was made of. */
enum bs_step_takes { BS_STEP_TAKES_IMAGE, BS_STEP_TAKES_FRAME };

struct bs_step_spec {
	char name[64], on[64]; /* its name; name of the protocol */
	char command[256];     /* words of the command; "": somebody else starts it */
	char dir[256];         /* folder of its socket, which has the step's name */
	double budget_ms;
	enum bs_on_late on_late;
	enum bs_step_takes takes;
};

/* The step of a protocol. */
struct bs_step_of {
	uint32_t at; /* place in the site's list, plus 1; 0: the protocol has none */
	enum bs_on_late late;
	double ms; /* its budget; 0 without a step */
	enum bs_step_takes takes;
};

#endif

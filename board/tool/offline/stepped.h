/*
 * board/tool/offline/stepped.h - a protocol's step (ipc/step.h) outside the service: no time limit
 *
 * open -> run* -> close. open starts the step's command and waits until it is ready, however long
 * that takes. Where the site has no command for it, images are made without it, and say so. A step
 * that ends by itself, or gives a stale answer, is an error: its images would be others than the
 * service's. One thread; blocks. Test: test/replay/scan/step.sh
 */
#ifndef BS_BOARD_TOOL_OFFLINE_STEPPED_H
#define BS_BOARD_TOOL_OFFLINE_STEPPED_H

#include <sys/types.h>

#include "core/frame/attributes.h"
#include "drivers/step/door.h"

struct bs_stepped {
	struct bs_door door;
	char dir[32]; /* folder of the step's socket; "": there is no step */
	pid_t pid;    /* 0: no process */
	float *out;   /* pixels of the last image at the step */
	struct bs_step_result result;
};

int bs_stepped_open(struct bs_stepped *s, const struct bs_site *site, const struct bs_protocol *p,
		    struct bs_fail *why);
/* Has the protocol's step, if it has one, make the image: sets its pixels and timing->step. */
int bs_stepped_run(struct bs_stepped *s, const struct bs_protocol *p, struct bs_recon_image *image,
		   struct bs_image_timing *timing, struct bs_fail *why);
void bs_stepped_close(struct bs_stepped *s);

#endif

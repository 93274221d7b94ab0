/*
 * drivers/step/door.h - the service's side of a step (ipc/step.h): its socket, its memory, and one
 * image after the other
 *
 * open -> { look, run }* -> close. One peer at a time; each that connects gets new memory, so that
 * no earlier one can write into it. The memory is sealed against shrinking, all of it is there
 * before it is handed over, and no size is read from it: nothing that a step does with it ends this
 * process. One thread. look never blocks. run blocks until the answer is there or by_ns has come;
 * beat is called meanwhile, every 20 ms at least.
 * Test: test/unit/drivers/test_step.c
 */
#ifndef BS_DRIVERS_STEP_DOOR_H
#define BS_DRIVERS_STEP_DOOR_H

#include "core/err.h"
#include "core/frame/step.h"
#include "core/mrd.h"

#define BS_DOOR_HUNG_NS INT64_C(1000000000) /* and twice the budget: an answer owed for longer */

struct bs_step_memory;
struct bs_door {
	char path[BS_PATH_MAX_ + BS_NAME_MAX + 1];
	int listening, peer;           /* sockets; -1: none */
	struct bs_step_memory *memory; /* of the peer; NULL: there is no peer */
	uint64_t bytes, slot_bytes;
	uint32_t asked;  /* number of the last image that was given */
	int64_t owed_ns; /* when that was; 0: its answer was taken */
	int64_t hung_ns; /* an answer owed for longer than this ends the connection */
	uint32_t away;   /* enum bs_step_verdict of images while there is no peer */
	uint64_t came;   /* connections that were made */
	uint64_t lost;   /* connections that ended */
	uint64_t cut;    /* of these, those that this side ended: the step hung, or was stale */
	uint64_t told_lost, told_cut; /* the caller's: of these counts, what it has said */
};

/* Makes the socket, in a folder that exists. slot_bytes: of the largest image's pixels. */
int bs_door_open(struct bs_door *d, const char *dir, const char *name, uint64_t slot_bytes,
		 double budget_ms, struct bs_fail *why);
void bs_door_close(struct bs_door *d);
/* Lets a step in, notices that one is gone, cuts one off that hangs. */
void bs_door_look(struct bs_door *d);
/* True if a step is connected and says that it is ready. */
bool bs_door_ready(const struct bs_door *d);

struct bs_door_job {
	const struct bs_mrd_image *head;
	const void *pixels;
	uint64_t bytes; /* of the pixels */
	/* readouts that are given in their place, [coils][rows][samples] complex; NULL: none */
	const float *kspace;
	uint32_t coils, rows, samples;
	uint32_t scan, image;
	int64_t by_ns;   /* when the image leaves without the step; INT64_MAX: never */
	int64_t spin_ns; /* time of polling for the answer before this thread sleeps */
	void (*beat)(void *arg);
	void *arg;
};
/* Gives the step the readouts of a frame in place of the image, where the protocol says so. */
static inline void bs_door_give_frame(struct bs_door_job *job, const struct bs_protocol *p,
				      const float *kspace)
{
	job->kspace = p->step.takes == BS_STEP_TAKES_FRAME ? kspace : NULL;
	job->coils = p->coils;
	job->rows = bs_protocol_rows(p);
	job->samples = p->samples;
}

/*
 * Has the step make an image. out: the step's pixels, valid where the verdict is used. Sets all of
 * r but its name.
 */
void bs_door_run(struct bs_door *d, const struct bs_door_job *job, void *out,
		 struct bs_step_result *r);

#endif

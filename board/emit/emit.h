/*
 * board/emit/emit.h - the process that hands images on: what its threads share
 *
 * worker.c  the first thread: looks ahead in the queue, makes each image one message (message.h),
 *           sends it to the viewers (never blocks) and to the archive, says whether it was in time
 * files.c   the second thread: follows the first, gives images to the sinks, takes the entry out of
 *           the queue and gives the slot back
 * images.c  the thread that answers those that ask for what follows the last image they have
 * takers.c  the takers that have a queue and threads of their own (taker.h)
 * sinks.c   the formats and folders of files
 * Each calls only those below it, and all of them emit.c.
 *
 * Under the policy "wait" (group overload) the two threads write the files and wait for a connected
 * archive themselves; recon waits when the image pool is full. Under the other policies each taker
 * has a queue, the two threads only copy into it, and recon never waits for a taker. An image's
 * done bits say which takers have had it: a process that replaces this one repeats at most the one
 * that was under way. Both threads may allocate and block; the reconstruction does not wait for
 * them but as said.
 */
#ifndef BS_BOARD_EMIT_EMIT_H
#define BS_BOARD_EMIT_EMIT_H

#include <pthread.h>

#include "board/emit/message.h"
#include "board/emit/taker.h"
#include "board/service/worker.h"
#include "drivers/sink/sink.h"
#include "ipc/endpoint.h"

#define BS_EMIT_BLAME  4u /* an image in hand when this process crashed or hung; killed: 1 */
#define BS_EMIT_MOST   8u /* an image of so much blame is given up */
#define BS_EMIT_STORED (1u << 29) /* done: it is where those that ask get it */
#define BS_EMIT_SENT   (1u << 30) /* done: viewers and archive had their turn */
#define BS_EMIT_FAILED (1u << 31) /* done: it could not be made a message, or was given up */

struct emit {
	struct bs_worker_env *env;
	struct bs_endpoint archive, viewers; /* socket -1: off */
	struct {
		const struct bs_sink *type;
		void *self;
	} sink[BS_SINKS_MAX];
	struct bs_images *images;          /* NULL: nobody may ask */
	struct bs_taker *taker[BS_TAKERS]; /* NULL: there is none, or it is waited for */
	pthread_t files;
	bool has_files;
	pthread_mutex_t lock; /* for saying things, and for wake */
	pthread_cond_t wake;
	_Atomic uint64_t sent;         /* entries of the queue that the first thread is done with */
	_Atomic int64_t file_since_ns; /* a file is being written since; 0: none */
	_Atomic bool quit;
	_Atomic uint64_t scan, session; /* of the newest scan that has an image */
	_Atomic int64_t archived_ns;    /* the last image went into its connection */
	_Atomic int64_t back_by_ns; /* a predecessor's archive connects again by then; 0: none */
	struct bs_shed unarchived;  /* the first thread's: the archive did not take them in time */
	struct bs_fail unwritten;   /* the first image of a scan that no sink took; files.c's */
};

/* Once, before everything else. */
void bs_emit_init(struct emit *e, struct bs_worker_env *env);

/* The rest: any thread. say: a line of the log. fault: the same, counted as a sink's. */
void bs_emit_say(struct emit *e, enum bs_event_number number, int code, const char *text);
void bs_emit_fault(struct emit *e, const struct bs_fail *why);
/* What is undelivered from now on counts for this scan. */
void bs_emit_note_scan(struct emit *e, uint64_t scan, uint64_t session);
/* So many times a taker did not get an image of this session. */
void bs_emit_undelivered(struct emit *e, uint64_t session, uint64_t times);
/* As bs_endpoint_send to the archive's socket, without waiting. */
int bs_emit_to_archive(struct emit *e, const unsigned char *msg, size_t len, struct bs_fail *why);
/* Is an archive there, or about to connect again after a predecessor's end? */
bool bs_emit_has_archive(struct emit *e);
/* Takes the image up; false: it ended a process too often, or failed before: leave it. */
bool bs_emit_begin(struct emit *e, struct bs_image_meta *m);
void bs_emit_end(struct bs_image_meta *m);
/* Whoever has not had the image does not get it. */
void bs_emit_give_up(struct emit *e, struct bs_image_meta *m);
/* Where the message of an entry's image lies in its slot, once it is made. */
struct bs_message bs_emit_message(const struct emit *e, uint32_t slot);
/* True: an entry of the queue for an image that there can be; *slot: of the image pool. */
bool bs_emit_is_image(const struct emit *e, uint64_t entry, uint32_t *slot);

/* A process before this one, of the same service, was ready: images may wait for this one. */
static inline bool bs_emit_succeeds(const struct emit *e)
{
	return atomic_load(&e->env->me->epoch) > 1;
}

#endif

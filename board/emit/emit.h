/*
 * board/emit/emit.h - the process that hands images on
 *
 * emit.c  the first thread: looks ahead in the queue, makes each image one message, and
 *                sends it to viewers (never blocks) and to the archive
 * files.c   the second: follows it, gives files to the sinks, takes the entry out of the queue
 *                and gives the slot back
 * takers.c  the takers that nobody waits for: what their threads do (board/emit/taker.h)
 * Under the policy "wait" (group overload) these two threads write the files and wait for a connected
 * archive; recon waits when the image pool is full. Under the others each taker has a queue of its
 * own, these two threads only copy, and recon never waits for a taker. An image's done bits say which
 * takers have had it, so that a successor repeats at most the one that was under way. Both may
 * allocate and block; neither is on the reconstruction's path.
 */
#ifndef BS_BOARD_EMIT_EMIT_H
#define BS_BOARD_EMIT_EMIT_H

#include <pthread.h>

#include "board/emit/taker.h"
#include "board/emit/message.h"
#include "board/service/worker.h"
#include "drivers/sink/sink.h"
#include "ipc/endpoint.h"

#define BS_EMIT_TRIES  2u         /* an image that ended this process so often is given up */
#define BS_EMIT_SENT   (1u << 30) /* done: viewers and archive had their turn */
#define BS_EMIT_FAILED (1u << 31) /* done: it could not be made a message, or was given up */
#define BS_EMIT_FILE_NS                                                                            \
	INT64_C(10000000000) /* one file takes at most this, or emit is replaced                   \
			      */

struct emit {
	struct bs_worker_env *env;
	struct bs_endpoint archive, viewers; /* socket -1: off */
	struct {
		const struct bs_sink *type;
		void *self;
	} sink[BS_SINKS_MAX];
	struct bs_taker *taker[BS_TAKERS]; /* NULL: there is none, or it is waited for */
	pthread_t files;
	bool has_files;
	pthread_mutex_t lock; /* for saying things, and for wake */
	pthread_cond_t wake;
	_Atomic uint64_t sent;         /* entries of the queue that the first thread is done with */
	_Atomic int64_t file_since_ns; /* a file is being written since; 0: none */
	_Atomic bool quit;
	_Atomic uint64_t scan, session; /* of the newest scan that an image came of */
	struct {
		uint64_t count;
		int64_t said_ns;
	} unarchived; /* the first thread's: images that the archive was waited for in vain */
};

/* Once, before everything else. */
void bs_emit_init(struct emit *e, struct bs_worker_env *env);

/* Either thread. */
void bs_emit_fault(struct emit *e, const struct bs_fail *why);
/* So many times a taker did not get an image of this session. Any thread. */
void bs_emit_undelivered(struct emit *e, uint64_t session, uint64_t times);
/* Takes the image up; false: it ended a process too often, or failed before: leave it. */
bool bs_emit_begin(struct emit *e, struct bs_image_meta *m);
void bs_emit_end(struct bs_image_meta *m);

/* Where an image's message lies in its slot, once it is made. */
struct bs_message bs_emit_message(const struct emit *e, uint32_t slot);

/* takers.c: after the sockets and the sinks are open, and before they are closed. */
int bs_emit_open_takers(struct emit *e, struct bs_fail *why);
void bs_emit_close_takers(struct emit *e);
/* No taker has an image of ours in its queue that it might still take soon. */
bool bs_emit_takers_quiet(struct emit *e);

/* A process before this one, of the same service, was ready: images may wait for this one. */
static inline bool bs_emit_succeeds(const struct emit *e)
{
	return atomic_load(&e->env->me->epoch) > 1;
}

/* files.c */
/* The sink's folder is made, the sink opened. By the thread that writes to it, or before there is one. */
int bs_emit_open_sink(struct emit *e, uint32_t sink, struct bs_fail *why);
int bs_emit_open_files(struct emit *e, struct bs_fail *why);
int bs_emit_start_files(struct emit *e, struct bs_fail *why);
/* After the last entry, or when the start failed: waits for the threads and closes the files. */
void bs_emit_stop_files(struct emit *e);

#endif

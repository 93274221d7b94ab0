/*
 * board/emit/emit.h - the process that hands images on: what its threads share
 *
 * worker.c  the first thread: makes each image one message (message.h), sends it to the viewers
 *           (never blocks), says whether it was in time, and offers it to the takers
 * archive.c, sinks.c, images.c  what a taker is: the PUSH archive, a folder of files, the store
 * images.c has another thread: it answers those that ask for what follows the last one they have
 * taker.c   a thread for each taker: gives it image after image, from its slot or from the store
 * front.c   how far each taker has come, what it did not get, which slots are needed no longer
 * flight.c  what may still be on the way to the PUSH archive
 * Each calls only those below it, and all of them emit.c.
 *
 * A taker's cursor lies in shared memory, as the images do: a process that replaces this one goes
 * on where each taker was, with the image that it had in hand. The threads may allocate and block;
 * the reconstruction does not wait for them but as the policies say (group overload).
 */
#ifndef BS_BOARD_EMIT_EMIT_H
#define BS_BOARD_EMIT_EMIT_H

#include <pthread.h>

#include "board/emit/message.h"
#include "board/service/worker.h"
#include "drivers/log/store.h"
#include "drivers/sink/sink.h"
#include "ipc/endpoint.h"

#define BS_EMIT_BLAME 4u /* an image in hand when this process crashed or hung; killed: 1 */
#define BS_EMIT_MOST  8u /* an image of so much blame is given up */

struct bs_offer;
struct bs_taker;

struct emit {
	struct bs_worker_env *env;
	struct bs_endpoint archive, viewers; /* socket -1: off */
	struct {
		const struct bs_sink *type;
		void *self;
	} sink[BS_SINKS_MAX];
	struct bs_images *images;          /* NULL: no store */
	struct bs_store *_Atomic store;    /* its own; NULL: not open yet. Set once */
	struct bs_taker *taker[BS_TAKERS]; /* NULL: there is none; viewers never have one */
	pthread_mutex_t words;             /* for saying things; taken last */
	pthread_mutex_t lock;              /* of the front, and of all cursors */
	pthread_cond_t change;
	_Atomic bool quit;
	struct {
		_Atomic uint64_t scan, session;
	} scan[2];                   /* the newest that have images, number n in place n % 2 */
	_Atomic bool swept[2];       /* the store's folder was removed within that scan */
	_Atomic int64_t archived_ns; /* the last image went into its connection */
	_Atomic int64_t back_by_ns;  /* a predecessor's archive connects again by then; 0: none */
	int64_t end_ns;              /* a scan's end waits for takers since; 0: none does */
	struct bs_fail unwritten;    /* why the first image of a scan was refused */
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
/* Is an archive there, or about to connect again after a predecessor's end? */
bool bs_emit_has_archive(struct emit *e);
/*
 * What a taker, or the making of a message, has in hand ended a process too often: it is given up,
 * which why says.
 */
bool bs_emit_blamed(struct emit *e, const struct bs_taker_record *r, struct bs_fail *why);
/* Where the message of a slot's image lies, once it is made. */
struct bs_message bs_emit_message(const struct emit *e, uint32_t slot);
/* The number up to which nothing is in this taker's hand, or waits for it. */
uint64_t bs_emit_before(const struct emit *e, uint32_t taker);

static inline struct bs_taker_record *bs_emit_record(const struct emit *e, uint32_t taker)
{
	return &e->env->shm.s->taker[taker];
}

/* The number of the last image before this service's first. */
static inline uint64_t bs_emit_base(const struct emit *e)
{
	return e->env->shm.s->images.base;
}

/* The taker has something in hand that lies in a slot. */
static inline bool bs_emit_in_hand(const struct bs_taker_record *r)
{
	const uint64_t hand = atomic_load(&r->hand);

	return hand != 0 && hand != BS_HAND_STORED;
}

/* A process before this one, of the same service, has set where the takers are. */
static inline bool bs_emit_succeeds(const struct emit *e)
{
	return atomic_load(&e->env->shm.s->images.begun) != 0;
}

#endif

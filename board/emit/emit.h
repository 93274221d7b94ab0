/*
 * board/emit/emit.h - the process that hands images on: what its threads share
 *
 * worker.c  the first thread: makes a message of each image (message.h), sends it to the viewers
 *           (never blocks), judges whether it was in time, and offers it to the takers
 * archive.c, sinks.c, images.c  the kinds of takers: PUSH archive, folder of files, store
 * images.c  has a second thread, which answers takers that ask for the image after a number
 * steps.c   of the first thread: an image passes its protocol's step before its message is made
 * taker.c   a thread for each taker: gives it image after image, from slots or from the store
 * solved.c  what became of frames, for who makes their images again
 * front.c   how far each taker has come, which images it did not get, which slots are free
 * flight.c  the images that may still be on the way to the PUSH archive
 * Each file calls only those below it, and all of them emit.c.
 *
 * A taker's cursor lies in shared memory, as the images do: a process that replaces this one
 * continues where each taker was, with the image that the taker had in hand. "In hand" means: being
 * delivered. The threads may allocate and block; the reconstruction waits for them only as the
 * policies say (group overload).
 */
#ifndef BS_BOARD_EMIT_EMIT_H
#define BS_BOARD_EMIT_EMIT_H

#include <pthread.h>

#include "board/emit/message.h"
#include "board/service/worker.h"
#include "drivers/log/store.h"
#include "drivers/sink/sink.h"
#include "ipc/endpoint.h"

#define BS_EMIT_BLAME 4u /* blame of the current image when emit crashes or hangs; killed: 1 */
#define BS_EMIT_MOST  8u /* blame at which an image is given up */

struct bs_door;
struct bs_trial_images;
struct bs_offer;
struct bs_taker;

struct emit {
	struct bs_worker_env *env;
	struct bs_endpoint archive, viewers; /* sockets; socket -1: not configured */
	bool unsent; /* no message is made of images: all takers are sinks that take pairs */
	struct {
		const struct bs_sink *type;
		void *self;
	} sink[BS_SINKS_MAX];
	struct bs_door *door;           /* of the site's steps, in its order; NULL: none */
	struct bs_trial_images *trial;  /* one for each door (steps.c) */
	struct bs_images *images;       /* store's taker; NULL: there is no store */
	struct bs_store *_Atomic store; /* store of images, set once; NULL: not open yet */
	/* takers; NULL: no such taker, and always for the viewers */
	struct bs_taker *taker[BS_TAKERS];
	pthread_mutex_t words; /* guards event reports; taken after lock */
	pthread_mutex_t lock;  /* guards the front (front.h) and all cursors */
	pthread_cond_t change;
	_Atomic bool quit;
	struct {
		_Atomic uint64_t scan, session;
	} scan[2];             /* the last two scans with images; scan n is in place n % 2 */
	_Atomic bool swept[2]; /* the store's folder was removed during this scan of the two */
	_Atomic int64_t archived_ns; /* when the last image went into the archive's connection */
	/* when a predecessor's archive must be back; 0: there is none */
	_Atomic int64_t back_by_ns;
	/* time since which a scan's end waits for takers; 0: none waits */
	int64_t end_ns;
	struct bs_fail unwritten; /* why the scan's first refused image was refused */
	struct {
		int fd;
		bool failed;
		uint64_t scan, next; /* frames before next are filed */
	} solved;                    /* file of how far its solves went (drivers/log/solved.h) */
};

/* Prepares emit. Call once, before everything else. */
void bs_emit_init(struct emit *e, struct bs_worker_env *env);

/*
 * Files the steps of an image that is about to leave, and of those before it, where logs are kept.
 * First thread.
 */
void bs_emit_file_solved(struct emit *e, const struct bs_image_meta *m);

/* Any thread may call the rest. say: reports an event; fault: and counts it as a sink's fault. */
void bs_emit_say(struct emit *e, enum bs_event_number number, int code, const char *text);
void bs_emit_fault(struct emit *e, const struct bs_fail *why);
/* Notes a scan: undelivered images of its session count for it. */
void bs_emit_note_scan(struct emit *e, uint64_t scan, uint64_t session);
/* Counts how many times a taker did not get an image of this session. */
void bs_emit_undelivered(struct emit *e, uint64_t session, uint64_t times);
/* True if an archive is connected, or about to reconnect after a predecessor's end. */
bool bs_emit_has_archive(struct emit *e);
/*
 * True if the image in hand of this record has ended emit's process too often: the image is given
 * up, and *why says so.
 */
bool bs_emit_blamed(struct emit *e, const struct bs_taker_record *r, struct bs_fail *why);
/* Returns where the message of a slot's image lies, once it is made. */
struct bs_message bs_emit_message(const struct emit *e, uint32_t slot);
/* Largest number up to which no image is in this taker's hand or waits for it. */
uint64_t bs_emit_before(const struct emit *e, uint32_t taker);

static inline struct bs_taker_record *bs_emit_record(const struct emit *e, uint32_t taker)
{
	return &e->env->shm.s->taker[taker];
}

/* Returns the number of the last image before this service's first. */
static inline uint64_t bs_emit_base(const struct emit *e)
{
	return e->env->shm.s->images.base;
}

/* True if the taker's image in hand lies in a slot. */
static inline bool bs_emit_in_hand(const struct bs_taker_record *r)
{
	const uint64_t hand = atomic_load(&r->hand);

	return hand != 0 && hand != BS_HAND_STORED;
}

/* True if a predecessor process of the same service has set the takers' cursors. */
static inline bool bs_emit_succeeds(const struct emit *e)
{
	return atomic_load(&e->env->shm.s->images.begun) != 0;
}

#endif

/*
 * drivers/log/store.h - keeps images in a folder, numbered, until every taker has them
 *
 * open -> { append | next | ack }* -> close. Each image has a number, given by who appends it and
 * rising over the whole life of the folder. next returns the image that follows a number, as the
 * message that answers a taker (STORED, ipc/WIRE.md): written in that form once, sent unchanged.
 * Each image is a record of a log (board/doc/LOG.md) of one segment, whose session is the number of
 * its first image. Once append has returned, the image survives a kill of the process, but not a
 * loss of power: append does not wait for the disk.
 *
 * A taker is known by its name from the first time that it asks; its cursor, a file, lies beside
 * the images. An old file of images is removed when all known takers are beyond it, or when the
 * folder holds more than most_bytes: then missed is called for each image of it and each known
 * taker that has not had it. A name that begins with '+' is the service's own (BS_STORE_OWN of
 * them at most), all others ask.
 *
 * append: one thread; next: one for each reader; all else: any. Allocates, blocks on the disk.
 * Test: test/unit/drivers/log/test_store.c
 */
#ifndef BS_DRIVERS_LOG_STORE_H
#define BS_DRIVERS_LOG_STORE_H

#include "drivers/log/cursor.h"
#include "drivers/log/writer.h"
#include "ipc/wire/wire.h"

#define BS_STORE_ASKERS 8u
#define BS_STORE_OWN    9u
#define BS_STORE_TAKERS (BS_STORE_ASKERS + BS_STORE_OWN)
#define BS_STORE_HEAD   (BS_WIRE_BYTES + 8u) /* in front of the IMAGE message */

#define BS_STORE_UNKNOWN UINT64_MAX /* a number that cannot be told now */

struct bs_store;

struct bs_store_spec {
	const char *dir;     /* is there; of this store alone */
	size_t message_max;  /* of an image's message */
	uint64_t most_bytes; /* and at least one segment (bs_store_segment) more */
	/* A known taker does not get an image of this session. Called by append, next and swept,
	 * one at a time; may be NULL. */
	void (*missed)(void *arg, const char *taker, uint64_t session, uint64_t number);
	void *arg;
};

struct bs_store_taker {
	char name[BS_WIRE_TAKER];
	uint64_t cursor, missed;
};

struct bs_store_counts {
	uint64_t last;  /* number of the newest image; 0: there has been none */
	uint64_t begun; /* that the newest file began for; it may hold none */
	uint64_t bytes; /* of all files, as far as they are written */
	uint64_t made;  /* files that this process began, each from a spare file */
	struct bs_store_taker taker[BS_STORE_TAKERS];
	uint32_t takers;
};

/* Bytes of one file; a spare one (writer.h) of this size is taken where there is one. */
uint64_t bs_store_segment(size_t message_max, uint64_t most_bytes);

/* Bytes of memory, the answer buffer included; 32 more for each image that is kept */
uint64_t bs_store_memory(size_t message_max);

int bs_store_open(struct bs_store **s, const struct bs_store_spec *spec, struct bs_fail *why);
/*
 * image: a whole IMAGE message. A number that is not beyond the last one was stored already (its
 * process ended before it could note that), which is 0, too. BS_ERR_IO, BS_ERR_SIZE, BS_ERR_NOMEM:
 * it is not there.
 */
int bs_store_append(struct bs_store *s, const unsigned char *image, size_t len, uint64_t number,
		    struct bs_fail *why);
/*
 * Somebody has removed the newest file, maybe with others before it: their images are in no file,
 * as those who miss them are told. False: nobody has, or that was said. Any thread.
 */
bool bs_store_swept(struct bs_store *s);
/* Where a reader is in the files: begins with fd -1. */
struct bs_store_reader {
	int fd; /* of the file that it read last; closed by whoever has the reader */
	char name[BS_LOG_NAME];
	uint64_t session; /* whose images alone are read; 0: any */
};
/* Number of the newest image that is of another session than this one; 0: there is none. */
uint64_t bs_store_other(struct bs_store *s, uint64_t session);
/*
 * The STORED message that follows number `after`. 1: it is in buf (bs_store_answer_max bytes); 0:
 * nothing follows yet. BS_ERR_FORMAT, BS_ERR_IO: an image cannot be read; it is skipped from now
 * on: call again. BS_ERR_TIMEOUT: a file of images cannot be read now: call again some time later.
 */
int bs_store_next(struct bs_store *s, struct bs_store_reader *r, uint64_t after, unsigned char *buf,
		  size_t *len, struct bs_fail *why);
/* How many images there are beyond after, up to until; or BS_STORE_UNKNOWN. */
uint64_t bs_store_waiting(struct bs_store *s, uint64_t after, uint64_t until);
/* The cursor of this taker, or other where it is not known. */
uint64_t bs_store_cursor(struct bs_store *s, const char *taker, uint64_t other);
size_t bs_store_answer_max(size_t message_max);
/* This taker has all up to number. BS_ERR_STATE: BS_STORE_ASKERS others ask. BS_ERR_IO. */
int bs_store_ack(struct bs_store *s, const char *taker, uint64_t number, struct bs_fail *why);
/* This taker is not known any more; its file goes. */
void bs_store_forget(struct bs_store *s, const char *taker);
void bs_store_count(struct bs_store *s, struct bs_store_counts *c);
void bs_store_close(struct bs_store *s);

#endif

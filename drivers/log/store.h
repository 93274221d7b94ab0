/*
 * drivers/log/store.h - images that takers have not asked beyond yet, numbered, in a folder
 *
 * open -> { append | next | ack }* -> close. append gives each image a number: rising over the
 * whole life of the folder, beginning anew with each service at its start's time (seconds since
 * 1970 << 32), so that none is used twice even where a loss of power took the last ones. next gives
 * the image that follows a number, as the message that answers a taker (STORED, ipc/WIRE.md):
 * written once, sent as it lies there. Each is a record of a log (board/doc/LOG.md) of one segment,
 * whose session is the number of its first image. What a killed process was writing is not there;
 * whatever append returned from is, but after a loss of power, for it does not wait for the disk.
 *
 * A taker is known by its name from the first time that it asks; its cursor lies beside the images.
 * An old file goes when all known takers are beyond it, or when the folder holds more than
 * most_bytes: then each image in it that a known taker has not had is told to missed.
 *
 * append, ack and the counts: any thread; next: one thread. Allocates, blocks on the disk.
 * Test: test/unit/drivers/log/test_store.c
 */
#ifndef BS_DRIVERS_LOG_STORE_H
#define BS_DRIVERS_LOG_STORE_H

#include "drivers/log/cursor.h"
#include "drivers/log/writer.h"
#include "ipc/wire/wire.h"

#define BS_STORE_TAKERS 8u

struct bs_store;

struct bs_store_spec {
	const char *dir;     /* is there; of this store alone */
	size_t message_max;  /* of an image's message */
	uint64_t most_bytes; /* and at least one segment (bs_store_segment) more */
	int64_t started_ns;  /* the service, since 1970, UTC: no number is below */
	/* A known taker does not get an image of this session. Within append, and next, one at a
	 * time; may be NULL. */
	void (*missed)(void *arg, const char *taker, uint64_t session);
	void *arg;
};

struct bs_store_counts {
	uint64_t last;  /* number of the newest image; 0: there has been none */
	uint64_t bytes; /* of all files, as far as they are written */
	uint64_t made;  /* files that this process began: each took a spare one */
	struct {
		char name[BS_WIRE_TAKER];
		uint64_t cursor, missed;
	} taker[BS_STORE_TAKERS];
	uint32_t takers;
};

/* Bytes of one file; a spare one (writer.h) of this size is taken where there is one. */
uint64_t bs_store_segment(size_t message_max, uint64_t most_bytes);

/* Of memory, an answer of the reader's included; 32 bytes for each image that is kept come to it */
uint64_t bs_store_memory(size_t message_max);

int bs_store_open(struct bs_store **s, const struct bs_store_spec *spec, struct bs_fail *why);
/*
 * image: a whole IMAGE message. An image that is the last one already (same session and seq: its
 * process ended before it could note that) is not stored again, which is 0, too. BS_ERR_IO,
 * BS_ERR_SIZE, BS_ERR_NOMEM: it is not there.
 */
int bs_store_append(struct bs_store *s, const unsigned char *image, size_t len,
		    struct bs_fail *why);
/*
 * The STORED message that follows number `after`: 1, and it is in buf (bs_store_answer_max bytes);
 * 0: nothing follows yet. BS_ERR_FORMAT, BS_ERR_IO: one cannot be read and is passed over from now
 * on; ask again.
 */
int bs_store_next(struct bs_store *s, uint64_t after, unsigned char *buf, size_t *len,
		  struct bs_fail *why);
size_t bs_store_answer_max(size_t message_max);
/* This taker has all up to number. BS_ERR_STATE: there are BS_STORE_TAKERS others. BS_ERR_IO. */
int bs_store_ack(struct bs_store *s, const char *taker, uint64_t number, struct bs_fail *why);
void bs_store_count(struct bs_store *s, struct bs_store_counts *c);
void bs_store_close(struct bs_store *s);

#endif

/*
 * drivers/log/store.h - keeps images in a folder, numbered, until every taker has them
 *
 * open -> { append | next | ack }* -> close. The caller of append numbers the images; numbers rise
 * over the whole life of the folder. next returns the image that follows a number, as the message
 * that answers a taker (STORED, ipc/WIRE.md): it is written in that form once and sent unchanged.
 * Each image is a record of a log (board/doc/LOG.md) of one segment, whose session is the number of
 * its first image. Once append has returned, the image survives a kill of the process, but not a
 * loss of power: append does not wait for the disk.
 *
 * A taker is known by its name from the first time that it asks; its cursor file lies beside the
 * images. An old file of images is removed when all known takers are beyond it, or when the folder
 * holds more than most_bytes. In the second case missed is called for each removed image and each
 * known taker that has not had it. Takers whose names begin with '+' are the service's own (at most
 * BS_STORE_OWN), all others ask over the wire (at most BS_STORE_ASKERS).
 *
 * append: one thread; next: one thread for each reader; all else: any thread. Allocates, blocks on
 * the disk.
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
#define BS_STORE_HEAD   (BS_WIRE_BYTES + 8u) /* bytes in front of the IMAGE message */

#define BS_STORE_UNKNOWN UINT64_MAX /* number of images that is not known now */

struct bs_store;

struct bs_store_spec {
	const char *dir;    /* an existing folder that only this store uses */
	size_t message_max; /* bytes of the largest IMAGE message */
	/* the folder may exceed this by one segment (bs_store_segment) or more */
	uint64_t most_bytes;
	/*
	 * Called when a known taker does not get an image of this session; by append, next and
	 * swept, one call at a time. May be NULL.
	 */
	void (*missed)(void *arg, const char *taker, uint64_t session, uint64_t number);
	void *arg;
};

struct bs_store_taker {
	char name[BS_WIRE_TAKER];
	uint64_t cursor, missed;
};

struct bs_store_counts {
	uint64_t last;  /* number of the newest image; 0: there has been none */
	uint64_t begun; /* number that the newest file began with; the file may hold no image */
	uint64_t bytes; /* bytes of all files, as far as they are written */
	uint64_t made;  /* files that this process began, each from a spare file */
	struct bs_store_taker taker[BS_STORE_TAKERS];
	uint32_t takers;
};

/* Bytes of one file of images. A spare segment (writer.h) of this size is used if there is one. */
uint64_t bs_store_segment(size_t message_max, uint64_t most_bytes);

/* Bytes of memory that a store takes, with the answer buffer; each kept image takes 32 more. */
uint64_t bs_store_memory(size_t message_max);

int bs_store_open(struct bs_store **s, const struct bs_store_spec *spec, struct bs_fail *why);
/*
 * Stores an image. image: a whole IMAGE message. 0: it is stored. A number that is not beyond the
 * last one was stored already by a process that died before it noted that; this is 0, too.
 * BS_ERR_IO, BS_ERR_SIZE, BS_ERR_NOMEM: the image is not stored.
 */
int bs_store_append(struct bs_store *s, const unsigned char *image, size_t len, uint64_t number,
		    struct bs_fail *why);
/*
 * True if somebody has removed the newest file, maybe with others before it. Their images are lost,
 * and missed is called for the takers that lack them. False: no file was removed, or this call has
 * reported the removal before. Any thread.
 */
bool bs_store_swept(struct bs_store *s);
/* A reader's place in the files. fd must be -1 before the first use. */
struct bs_store_reader {
	int fd; /* the file that was read last; the reader's owner closes it */
	char name[BS_LOG_NAME];
	uint64_t session; /* session whose images are read; 0: all sessions */
};
/* Number of the newest image of any session but this one; 0: there is none. */
uint64_t bs_store_other(struct bs_store *s, uint64_t session);
/*
 * Reads the STORED message that follows number `after`. 1: it is in buf (bs_store_answer_max
 * bytes). 0: nothing follows yet. BS_ERR_FORMAT, BS_ERR_IO: an image cannot be read and is skipped
 * from now on; call again. BS_ERR_TIMEOUT: a file of images cannot be read now; call again later.
 */
int bs_store_next(struct bs_store *s, struct bs_store_reader *r, uint64_t after, unsigned char *buf,
		  size_t *len, struct bs_fail *why);
/* Number of images beyond `after`, up to `until`; or BS_STORE_UNKNOWN. */
uint64_t bs_store_waiting(struct bs_store *s, uint64_t after, uint64_t until);
/* Cursor of this taker; `other` if the taker is not known. */
uint64_t bs_store_cursor(struct bs_store *s, const char *taker, uint64_t other);
size_t bs_store_answer_max(size_t message_max);
/*
 * Notes that this taker has all images up to number. BS_ERR_STATE: the taker is new, and as many
 * takers of its kind as possible are known. BS_ERR_IO: the cursor's file is not written.
 */
int bs_store_ack(struct bs_store *s, const char *taker, uint64_t number, struct bs_fail *why);
/* Forgets this taker and removes its cursor's file. */
void bs_store_forget(struct bs_store *s, const char *taker);
void bs_store_count(struct bs_store *s, struct bs_store_counts *c);
void bs_store_close(struct bs_store *s);

#endif

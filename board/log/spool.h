/*
 * board/log/spool.h - the ring of messages between the keeper's caller (keeper.c) and the thread
 * that writes them to the log (scribe.c); for these two files alone
 */
#ifndef BS_BOARD_LOG_SPOOL_H
#define BS_BOARD_LOG_SPOOL_H

#include "board/log/keeper.h"

_Static_assert(sizeof(struct bs_log_writer) <= BS_LOG_WRITER_BYTES, "a writer fits its record");
_Static_assert(sizeof(((struct bs_log_record *)0)->name) >= BS_LOG_NAME, "and its name");

enum { BS_SPOOL_OPEN = 1, BS_SPOOL_MESSAGE, BS_SPOOL_END, BS_SPOOL_SKIP /* rest of ring unused */ };
enum {
	BS_SPOOL_NO_LOG,
	BS_SPOOL_WRITTEN,
	BS_SPOOL_SEALED
}; /* states of the log; BS_SPOOL_SEALED: the seal is being written */

/* Header in front of each message in the ring, at multiples of its own size. */
struct bs_spool_entry {
	uint32_t kind, len;
	uint64_t index; /* number of the entry, from 0 over all scans */
	uint64_t mark;  /* with this message, all message numbers up to mark have come */
	int64_t put_ns, utc_ns;
	uint64_t records; /* OPEN: number of records that the log has already */
	uint32_t scan;    /* OPEN: number of the scan */
	uint32_t early;   /* END: 1 if the scan's images are not made yet */
	uint32_t none[2];
};
_Static_assert(sizeof(struct bs_spool_entry) == 64, "entries and the ring's end are aligned alike");

static inline uint64_t bs_spool_bytes(size_t len)
{
	return sizeof(struct bs_spool_entry) + ((len + 63) & ~(size_t)63);
}

static inline struct bs_spool_entry *bs_spool_at(const struct bs_keeper *k, uint64_t at)
{
	return (struct bs_spool_entry *)(void *)(k->o.ring + at % k->o.ring_bytes);
}

static inline uint64_t bs_spool_behind(const struct bs_keeper *k, uint64_t at)
{
	const struct bs_spool_entry *e = bs_spool_at(k, at);

	return e->kind == BS_SPOOL_SKIP ? at - at % k->o.ring_bytes + k->o.ring_bytes
					: at + bs_spool_bytes(e->len);
}

/* Makes the name of the first file of the record's log. */
void bs_scribe_name(const struct bs_log_record *r, char name[BS_LOG_NAME]);

/* Runs the keeper's thread until the keeper is stopped. arg: the keeper. */
void *bs_scribe_run(void *arg);

#endif

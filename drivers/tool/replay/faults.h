/*
 * drivers/tool/replay/faults.h - faults of a sender and of its line, by plan: boreside replay
 * --faults
 *
 * read (a file) | draw (from a seed) -> fit -> { start -> { send }*, heard* }* -> free. start
 * begins a scan. In each scan each fault of the plan strikes once, when the message of its number
 * (ipc/WIRE.md, 2) is sent; a fault "for good" strikes each time that is sent. Of several faults of
 * one message the first strikes when it is sent first, the next when it is sent again; pauses
 * strike before it is sent at all. board/doc/FAULTS.md has a file's words. Bits and lengths that
 * the plan leaves open are drawn from its seed (a file's from a fixed one): the same plan always
 * does the same.
 * One thread. read, draw and send allocate. Test: test/unit/drivers/tool/test_faults.c
 */
#ifndef BS_DRIVERS_TOOL_REPLAY_FAULTS_H
#define BS_DRIVERS_TOOL_REPLAY_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "ipc/endpoint.h"

#define BS_FAULTS_MAX    4096u
#define BS_FAULTS_MS_MAX 600000u
#define BS_FAULTS_WORDS  80u
/* result of send: a new socket was opened; messages under way are lost */
#define BS_FAULTS_ANEW 3
/* result of send: as BS_FAULTS_ANEW, and the sender has forgotten everything */
#define BS_FAULTS_KILLED 4

enum bs_fault_kind {
	BS_FAULT_DROP,      /* the message is not sent */
	BS_FAULT_DUPLICATE, /* the message is sent twice */
	BS_FAULT_REORDER,   /* the message is sent after so many later ones */
	BS_FAULT_CORRUPT,   /* one bit of the message is inverted */
	BS_FAULT_TRUNCATE,  /* only so many bytes of the message are sent */
	BS_FAULT_STALL,     /* the sender stops before the message, for so many ms */
	/* the sender's socket closes before the message; another opens after so many ms */
	BS_FAULT_DISCONNECT,
	/* the sender's socket closes, and the sender begins again with another session */
	BS_FAULT_KILL,
	BS_FAULT_KINDS
};

struct bs_fault {
	uint64_t at; /* message's number: 0 OPEN, then readouts, CLOSE last */
	enum bs_fault_kind kind;
	bool for_good; /* drop, corrupt, truncate: strikes each time the message is sent */
	/* figure of the fault. reorder: messages; corrupt: bit, truncate: bytes, both modulo the
	 * message's length; else ms */
	uint64_t by;
	/* The next members are about the current scan. */
	uint32_t struck;
	int64_t struck_ns; /* time of the first strike */
	int64_t passed_ns; /* time when the message was acknowledged; 0: not yet */
};

struct bs_faults {
	struct bs_fault *fault;     /* array of count faults, sorted by message number */
	uint32_t count, pending;    /* pending: faults that struck and are not acknowledged */
	unsigned char *copy, *held; /* buffers: of a changed message, of one that is held back */
	size_t held_len;
	uint64_t held_for; /* messages until the held one is sent */
};

/* Reads a plan; the reason names the line. */
int bs_faults_read(struct bs_faults *f, const char *path, struct bs_fail *why);
/* Draws one fault of each kind, and one more for each 200 messages of a scan of this length. */
int bs_faults_draw(struct bs_faults *f, uint64_t seed, uint32_t readouts, struct bs_fail *why);
/* Checks that a scan of so many readouts has the plan's numbers and can end. */
int bs_faults_fit(const struct bs_faults *f, uint32_t readouts, struct bs_fail *why);
void bs_faults_free(struct bs_faults *f);

/* Writes the fault as a line of a file says it; returns out. */
const char *bs_fault_words(char out[BS_FAULTS_WORDS], const struct bs_fault *fault);

void bs_faults_start(struct bs_faults *f);
/* Sends as bs_endpoint_send(..., 0, why). Returns its result, or BS_FAULTS_ANEW, _KILLED. */
int bs_faults_send(struct bs_faults *f, struct bs_endpoint *e, const unsigned char *msg, size_t len,
		   struct bs_fail *why);
/* Notes that numbers below next are acknowledged. */
void bs_faults_heard(struct bs_faults *f, uint64_t next, int64_t now_ns);

#endif

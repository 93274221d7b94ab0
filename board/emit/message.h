/*
 * board/emit/message.h - an image as one message, and when it was handed on
 *
 * make writes the message in front of the pixels of m's slot: envelope, head, attributes. Its time
 * (m->handed_ns, the envelope's time_ns) is read once everything else of it is made, the checksum over
 * the pixels included: only the seal and the socket come after it. It is the one time at which the
 * image was handed on: for its budget, status, the scan's outcome and a certificate. The attributes
 * cannot tell it, they are under the checksum; but where by this time an image or one of its stages
 * is late that was in time when they were written, all is made again: so what an image says of its
 * budget is always so.
 * taken_ns: emit took it up. now: bs_now_ns. BS_ERR_NOMEM: the attributes do not fit.
 * Allocates nothing, waits for nothing. Test: test/unit/board/test_message.c
 */
#ifndef BS_BOARD_EMIT_MESSAGE_H
#define BS_BOARD_EMIT_MESSAGE_H

#include "core/frame/attributes.h"
#include "ipc/shm/shm.h"

struct bs_message {
	unsigned char *at;
	size_t len;
};

struct bs_message_env {
	const struct bs_protocol *p;
	uint64_t gaps, duplicates, rejected; /* of the scan so far */
	int64_t (*now)(void);
};

/* pixels: the slot's, with BS_POOLS_PIXELS bytes before them (core/memory/pools.h). */
int bs_message_make(struct bs_image_meta *m, const struct bs_message_env *env,
		    unsigned char *pixels, int64_t taken_ns);
/* Where it lies, once it is made. */
struct bs_message bs_message_of(const struct bs_image_meta *m, const struct bs_protocol *p,
				unsigned char *pixels);
/* passed_ns: the end of what its attributes tell. */
struct bs_image_timing bs_message_timing(const struct bs_image_meta *m, int64_t passed_ns);
/* Which of its stages were late by then: bits as bs_budget_stages_missed. */
uint32_t bs_message_stages_missed(const struct bs_image_meta *m, const struct bs_protocol *p,
				  int64_t until_ns);

#endif

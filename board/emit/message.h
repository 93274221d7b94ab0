/*
 * board/emit/message.h - an image as one message, and the time at which it was handed on
 *
 * make writes the attributes as pairs into m, and envelope, head and attributes as XML in front of
 * the pixels of m's slot. The hand-on time
 * (m->handed_ns, the envelope's time_ns) is read when all else of the message is made, the checksum
 * over the pixels included; only sealing and sending follow. Budget, status, the scan's outcome and
 * certificates all use this one time. The attributes are under the checksum and so are written
 * earlier. If the image or one of its stages has become late since then, the message is made again:
 * an image's attributes always tell the truth about its budget.
 * taken_ns: when emit took the image up. now: bs_now_ns. BS_ERR_NOMEM: the attributes do not fit.
 * Allocates nothing, waits for nothing. Test: test/unit/board/test_message.c
 */
#ifndef BS_BOARD_EMIT_MESSAGE_H
#define BS_BOARD_EMIT_MESSAGE_H

#include "core/frame/attributes.h"
#include "ipc/shm/slots.h"
#include "ipc/wire/wire.h"

struct bs_message {
	unsigned char *at;
	size_t len;
};

/* Bytes of the image's pixels. */
static inline uint64_t bs_message_pixels(const struct bs_protocol *p, const struct bs_image_meta *m)
{
	return bs_protocol_image_bytes(p) * (p->volume ? m->image.joined.slices : 1);
}

struct bs_message_env {
	const struct bs_protocol *p;
	uint64_t gaps, duplicates, rejected; /* counts of the scan so far */
	const char *about;                   /* facts of the scan's header as attributes, or NULL */
	bool unsent; /* nobody takes messages: attributes and times are made alone */
	int64_t (*now)(void);
};

/* Makes the message. pixels: of the slot, behind BS_POOLS_PIXELS bytes (core/memory/pools.h). */
int bs_message_make(struct bs_image_meta *m, const struct bs_message_env *env,
		    unsigned char *pixels, int64_t taken_ns);
/* Returns where the message is, once it is made. */
struct bs_message bs_message_of(const struct bs_image_meta *m, unsigned char *pixels);
/* Returns the envelope of the message. */
struct bs_wire bs_message_wire(const struct bs_image_meta *m);
/* Stages that had taken too long at until_ns, as bits of bs_budget_stages_missed. */
uint32_t bs_message_stages_missed(const struct bs_image_meta *m, const struct bs_protocol *p,
				  int64_t until_ns);

#endif

/*
 * core/thread/event.h - what a worker reports, as numbers; another thread makes the words
 *
 * A worker raises an event: its number, a code, three arguments and, where a reason was written
 * anyway (it goes to the sender, too), that text. raise copies them into a ring in shared memory
 * and returns: no lock, no allocation, no system call. The supervisor takes them out and writes the
 * service's log. A full ring loses the new event and counts it. One thread raises into a ring, one
 * takes.
 * Test: test/unit/core/test_event.c
 */
#ifndef BS_CORE_THREAD_EVENT_H
#define BS_CORE_THREAD_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/log.h"

#define BS_EVENT_TEXT 384u

enum bs_event_number {
	/* a transition. arg: enum bs_state before, enum bs_happening, enum bs_state after */
	BS_EVENT_STATE,
	/* a protocol was armed; text: it and its engine; arg[0]: bytes, arg[1]: us taken */
	BS_EVENT_ARMED,
	BS_EVENT_READY,   /* the worker is ready; arg[0]: us since it was started */
	BS_EVENT_OPEN,    /* a scan was opened. arg[0]: scan, arg[1]: session; text: protocol */
	BS_EVENT_REFUSED, /* a header was refused, for the reason in code and text */
	/* a message was rejected, for the reason in code and text; arg[0]: scan or 0 */
	BS_EVENT_REJECTED,
	/* messages did not come. arg[0]: scan, arg[1]: first number, arg[2]: how many */
	BS_EVENT_GAP,
	/* a scan ended, with code and text. arg[0]: scan, arg[1]: acquisitions, arg[2]: images */
	BS_EVENT_OUTCOME,
	BS_EVENT_FAULT, /* something in the service failed, with code and text */
	/* the machine refuses something, which text names; the service goes on without it */
	BS_EVENT_LIMIT,
	BS_EVENT_TOLD, /* all is well; text says what */
	/* the images lack something from the start, which text names; arg[0]: scan */
	BS_EVENT_NOTE,
	/* the ladder moved. arg: scan, enum bs_rung before, after; text: protocol */
	BS_EVENT_RUNG,
	BS_EVENTS
};

struct bs_event {
	int64_t time_ns; /* time of the event, by bs_now_ns */
	uint32_t number; /* number of the event, enum bs_event_number */
	int32_t code;    /* error code, or 0 */
	uint64_t arg[3];
	char text[BS_EVENT_TEXT];
};

#define BS_EVENT_SLOTS 128u /* slots of the ring, a power of two */

struct bs_event_ring {
	_Alignas(64) _Atomic uint64_t head;
	_Atomic uint64_t lost;
	_Alignas(64) _Atomic uint64_t tail;
	struct bs_event event[BS_EVENT_SLOTS];
};

/* text: NULL for none; longer text is cut. arg: three, or NULL for zeros. */
void bs_event_raise(struct bs_event_ring *r, enum bs_event_number number, int code,
		    const uint64_t *arg, const char *text);
/* Takes the oldest event out. False: there is none. */
bool bs_event_take(struct bs_event_ring *r, struct bs_event *e);

/* Writes the event's words, NUL-terminated. Returns their level in the service's log. */
enum bs_log_level bs_event_words(const struct bs_event *e, char *out, size_t cap);

#endif

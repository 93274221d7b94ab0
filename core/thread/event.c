/* core/thread/event.c - see event.h */
#include "core/thread/event.h"

#include <stdio.h>
#include <string.h>

#include "core/latency/budget.h"
#include "core/thread/clock.h"
#include "core/err.h"
#include "core/frame/state.h"
#include "core/text.h"

void bs_event_raise(struct bs_event_ring *r, enum bs_event_number number, int code,
		    const uint64_t *arg, const char *text)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	struct bs_event *e = &r->event[head % BS_EVENT_SLOTS];
	size_t len = text != NULL ? strnlen(text, BS_EVENT_TEXT - 1) : 0;

	if (head - atomic_load_explicit(&r->tail, memory_order_acquire) == BS_EVENT_SLOTS) {
		atomic_fetch_add_explicit(&r->lost, 1, memory_order_relaxed);
		return;
	}
	e->time_ns = bs_now_ns();
	e->number = number;
	e->code = code;
	for (int i = 0; i < 3; i++)
		e->arg[i] = arg != NULL ? arg[i] : 0;
	if (len != 0)
		memcpy(e->text, text, len);
	e->text[len] = '\0';
	atomic_store(&r->head, head + 1);
}

bool bs_event_take(struct bs_event_ring *r, struct bs_event *e)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	if (atomic_load(&r->head) == tail)
		return false;
	*e = r->event[tail % BS_EVENT_SLOTS];
	e->text[BS_EVENT_TEXT - 1] = '\0'; /* a worker that was killed may have left anything */
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return true;
}

enum bs_log_level bs_event_words(const struct bs_event *e, char *out, size_t cap)
{
	const unsigned long long a = e->arg[0];
	const unsigned long long b = e->arg[1];
	const unsigned long long c = e->arg[2];

	switch (e->number) {
	case BS_EVENT_STATE:
		(void)snprintf(out, cap, "%s on %s -> %s", bs_state_name((enum bs_state)a),
			       bs_happening_name((enum bs_happening)b),
			       bs_state_name((enum bs_state)c));
		return BS_LOG_INFO;
	case BS_EVENT_ARMED:
		(void)snprintf(out, cap, "armed %s: %llu bytes, %.1f ms", e->text, a,
			       (double)b * 1e-3);
		return BS_LOG_INFO;
	case BS_EVENT_READY:
		(void)snprintf(out, cap, "ready %.1f ms after its start", (double)a * 1e-3);
		return BS_LOG_INFO;
	case BS_EVENT_OPEN:
		(void)snprintf(out, cap, "scan %llu: session %016llx, protocol '%s'", a, b,
			       e->text);
		return BS_LOG_INFO;
	case BS_EVENT_REFUSED:
		(void)snprintf(out, cap, "header refused: %s: %s", bs_err_name(e->code), e->text);
		return BS_LOG_WARN;
	case BS_EVENT_REJECTED:
		(void)snprintf(out, cap, "scan %llu: message rejected: %s: %s", a,
			       bs_err_name(e->code), e->text);
		return BS_LOG_WARN;
	case BS_EVENT_GAP:
		(void)snprintf(out, cap, "scan %llu: %s: gap of %llu from sequence %llu on", a,
			       bs_err_name(e->code), c, b);
		return BS_LOG_WARN;
	case BS_EVENT_OUTCOME:
		(void)snprintf(out, cap, "scan %llu: %s, %llu acquisitions, %llu image%s%s%s", a,
			       bs_err_name(e->code), b, c, bs_text_s(c),
			       e->text[0] != '\0' ? ": " : "", e->text);
		return e->code == 0 ? BS_LOG_INFO : BS_LOG_WARN;
	case BS_EVENT_FAULT:
		(void)snprintf(out, cap, "%s: %s", bs_err_name(e->code), e->text);
		return BS_LOG_ERROR;
	case BS_EVENT_LIMIT:
		(void)snprintf(out, cap, "%s", e->text);
		return BS_LOG_WARN;
	case BS_EVENT_TOLD:
		(void)snprintf(out, cap, "%s", e->text);
		return BS_LOG_INFO;
	case BS_EVENT_NOTE:
		(void)snprintf(out, cap, "scan %llu: %s", a, e->text);
		return BS_LOG_WARN;
	case BS_EVENT_RUNG:
		(void)snprintf(out, cap, "scan %llu: protocol '%s': %s -> %s: %s", a, e->text,
			       bs_rung_name((enum bs_rung)b), bs_rung_name((enum bs_rung)c),
			       c > b ? "does less, to be in time" : "does more again");
		return c > b ? BS_LOG_WARN : BS_LOG_INFO;
	default:
		(void)snprintf(out, cap, "event %u", e->number);
		return BS_LOG_WARN;
	}
}

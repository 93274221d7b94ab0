/* board/ingest/clock.c - what the sender's clock tells: see ingest.h */
#include "board/ingest/ingest.h"
#include "core/thread/clock.h"

#define CLOCK_MOST (INT64_MAX / 4)      /* of a sender's clock that is believed */
#define SAME_NS    INT64_C(10000000000) /* a clock that differs by more is another one */

static bool is_sane(int64_t sent_ns)
{
	return sent_ns > -CLOCK_MOST && sent_ns < CLOCK_MOST;
}

int64_t bs_ingest_receipt(struct ingest *in, struct bs_ingest_scan *scan, int64_t sent_ns,
			  int64_t taken_ns)
{
	const bool sane = is_sane(sent_ns);
	const int64_t apart = sane ? taken_ns - sent_ns : INT64_MAX;
	int64_t came_ns;

	scan->apart_ns = apart < scan->apart_ns ? apart : scan->apart_ns;
	if (!sane || taken_ns - in->empty_ns <= BS_AWAY_NS)
		return taken_ns;
	came_ns = sent_ns + scan->apart_ns;
	return came_ns > in->empty_ns ? came_ns : in->empty_ns;
}

int64_t bs_ingest_first_receipt(const struct bs_ingest_scan *scan, int64_t sent_ns, int64_t now_ns)
{
	const bool known = scan->apart_ns != INT64_MAX && is_sane(sent_ns);

	return known && sent_ns + scan->apart_ns < now_ns ? sent_ns + scan->apart_ns : now_ns;
}

static bool just_before(int64_t sent_ns, int64_t received_ns)
{
	return sent_ns <= received_ns && received_ns - sent_ns < SAME_NS;
}

/* UTC less the monotonic clock: the least of three, as what comes between two reads adds to it. */
static int64_t utc_ahead(void)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < 3; i++) {
		const int64_t now = bs_now_ns();
		const int64_t ahead = bs_utc_ns() - now;

		least = ahead < least ? ahead : least;
	}
	return least;
}

/* Which of this host's clocks the first readout's stamp was read from. */
static void tell_clock(struct ingest *in, struct bs_ingest_scan *scan, int64_t sent_ns,
		       int64_t received_ns)
{
	struct bs_kspace_record *k = &in->env->shm.s->kspace;
	const int64_t ahead_ns = utc_ahead();

	scan->clock = BS_CLOCK_OTHER;
	scan->clock_ahead_ns = 0;
	if (is_sane(sent_ns) && just_before(sent_ns, received_ns)) {
		scan->clock = BS_CLOCK_MONOTONIC;
	} else if (is_sane(sent_ns) && just_before(sent_ns, received_ns + ahead_ns)) {
		scan->clock = BS_CLOCK_REALTIME;
		scan->clock_ahead_ns = ahead_ns;
	}
	atomic_store(&k->clock, (uint32_t)scan->clock);
}

void bs_ingest_note_sent(struct ingest *in, struct bs_ingest_scan *scan,
			 const struct bs_acq_meta *m)
{
	int64_t ns;

	if (in->feed != NULL)
		return; /* it comes from the log */
	if (scan->clock == BS_CLOCK_UNKNOWN)
		tell_clock(in, scan, m->sender_ns, m->received_ns);
	if (scan->clock == BS_CLOCK_OTHER || !is_sane(m->sender_ns))
		return;
	ns = m->received_ns + scan->clock_ahead_ns - m->sender_ns;
	if (ns >= 0)
		bs_hist_add(bs_shm_hist(&in->env->shm, scan->record->protocol, BS_STAGE_SEND), ns);
}

/* board/status/kspace.c - who holds the k-space endpoint, and who else is there; see members.h */
#include <inttypes.h>
#include <stdio.h>

#include "board/status/members.h"
#include "core/thread/clock.h"

static double since_ms(int64_t then_ns)
{
	const int64_t ns = bs_now_ns() - then_ns;

	return then_ns != 0 && ns > 0 ? (double)ns * 1e-6 : 0.0;
}

/* "": no scan is open, or its first readout has not come. */
static const char *clock_name(uint32_t clock)
{
	static const char *const names[] = { "", "monotonic", "realtime", "other" };

	return clock < 4 ? names[clock] : "?";
}

/* Connected, without a scan and without a header that waits for one. */
static uint32_t idle(const struct bs_shared *s)
{
	const struct bs_kspace_record *k = &s->kspace;
	const uint32_t busy =
		atomic_load(&k->waiting) +
		(atomic_load(&bs_scan_newest(s->scan)->open) != 0 && atomic_load(&k->here) != 0) +
		(atomic_load(&k->before_here) != 0 && !atomic_load(&k->before_same));
	const uint32_t peers = atomic_load(&k->peers);

	return peers > busy ? peers - busy : 0;
}

void bs_status_kspace(struct bs_doc *d, const struct bs_shared *s)
{
	const struct bs_kspace_record *k = &s->kspace;
	const struct bs_scan_record *scan = bs_scan_newest(s->scan);
	const struct bs_scan_record *before = bs_scan_before(s->scan);
	const bool open = atomic_load(&scan->open) != 0;
	char session[24] = "";
	char solved[24] = "";

	if (open)
		(void)snprintf(session, sizeof(session), "%016" PRIx64, scan->session);
	if (before != NULL)
		(void)snprintf(solved, sizeof(solved), "%016" PRIx64, before->session);
	bs_doc_open(d, "kspace", '{');
	bs_doc_text(d, "holder", session);
	bs_doc_chars(d, "sender", open && atomic_load(&k->here) ? k->sender : "",
		     sizeof(k->sender));
	bs_doc_real(d, "held_ms", open ? since_ms(atomic_load(&k->since_ns)) : 0.0);
	bs_doc_real(d, "silent_ms", open ? since_ms(atomic_load(&k->heard_ns)) : 0.0);
	bs_doc_text(d, "clock", open ? clock_name(atomic_load(&k->clock)) : "");
	bs_doc_text(d, "solved", solved);
	bs_doc_chars(d, "solved_sender",
		     before != NULL && atomic_load(&k->before_here) ? k->before : "",
		     sizeof(k->before));
	bs_doc_real(d, "solved_ms", before != NULL ? since_ms(atomic_load(&k->closed_ns)) : 0.0);
	bs_doc_number(d, "peers", atomic_load(&k->peers));
	bs_doc_number(d, "waiting", atomic_load(&k->waiting));
	bs_doc_real(d, "waiting_ms", since_ms(atomic_load(&k->line_ns)));
	bs_doc_number(d, "idle", idle(s));
	bs_doc_number(d, "connected", atomic_load(&k->connected));
	bs_doc_number(d, "let_go", atomic_load(&k->let_go));
	bs_doc_number(d, "nonsense", atomic_load(&k->nonsense));
	bs_doc_close(d);
}

void bs_status_kspace_table(struct bs_text *t, const struct bs_shared *s)
{
	const struct bs_kspace_record *k = &s->kspace;
	const struct bs_scan_record *scan = bs_scan_newest(s->scan);
	const struct bs_scan_record *before = bs_scan_before(s->scan);

	bs_text_put(t, "%-14s ", "k-space");
	if (atomic_load(&scan->open) != 0)
		bs_text_put(t,
			    "session %016" PRIx64 " of %.64s for %.1f s, its last message %.3f s "
			    "ago; ",
			    scan->session,
			    atomic_load(&k->here) ? k->sender : "a sender that is away",
			    since_ms(atomic_load(&k->since_ns)) * 1e-3,
			    since_ms(atomic_load(&k->heard_ns)) * 1e-3);
	if (before != NULL)
		bs_text_put(t,
			    "session %016" PRIx64 " of %.64s, closed %.1f s ago, is being "
			    "reconstructed; ",
			    before->session,
			    atomic_load(&k->before_here) ? k->before : "a sender that is away",
			    since_ms(atomic_load(&k->closed_ns)) * 1e-3);
	bs_text_put(t, "%u wait", atomic_load(&k->waiting));
	if (atomic_load(&k->waiting) > 0)
		bs_text_put(t, " (the first for %.1f s)",
			    since_ms(atomic_load(&k->line_ns)) * 1e-3);
	bs_text_put(t, ", %u idle\n", idle(s));
}

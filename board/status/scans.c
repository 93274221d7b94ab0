/* board/status/scans.c - rows of scans, of the k-space endpoint, of sealed endpoints */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "board/status/rows.h"
#include "core/thread/clock.h"

static int64_t since_ns(int64_t then_ns)
{
	const int64_t ns = bs_now_ns() - then_ns;

	return then_ns != 0 && ns > 0 ? ns : 0;
}

/* "": no scan is open, or its first readout has not come */
static const char *const clocks[] = { "", "monotonic", "realtime", "other", NULL };

struct kspace {
	char holder[17], solved[17], sender[64], solved_sender[64];
	int64_t held_ns, silent_ns, solved_ns, waiting_ns;
	uint32_t clock, idle;
};

/* Counts connections that have neither a scan nor a header that waits for one. */
static uint32_t count_idle(const struct bs_shared *s)
{
	const struct bs_kspace_record *k = &s->kspace;
	const uint32_t busy =
		atomic_load(&k->waiting) +
		(atomic_load(&bs_scan_newest(s->scan)->open) != 0 && atomic_load(&k->here) != 0) +
		(atomic_load(&k->before_here) != 0 && !atomic_load(&k->before_same));
	const uint32_t peers = atomic_load(&k->peers);

	return peers > busy ? peers - busy : 0;
}

static bool open_kspace(struct bs_item *x)
{
	const struct bs_shared *s = x->m->s;
	const struct bs_kspace_record *k = &s->kspace;
	const struct bs_scan_record *scan = bs_scan_newest(s->scan);
	const struct bs_scan_record *before = bs_scan_before(s->scan);
	struct kspace *v = FILL(kspace, x);

	*v = (struct kspace){ .idle = count_idle(s),
			      .waiting_ns = since_ns(atomic_load(&k->line_ns)) };
	if (atomic_load(&scan->open) != 0) {
		(void)snprintf(v->holder, sizeof(v->holder), "%016" PRIx64, scan->session);
		if (atomic_load(&k->here))
			memcpy(v->sender, k->sender, sizeof(v->sender));
		v->held_ns = since_ns(atomic_load(&k->since_ns));
		v->silent_ns = since_ns(atomic_load(&k->heard_ns));
		v->clock = atomic_load(&k->clock);
	}
	if (before != NULL) {
		(void)snprintf(v->solved, sizeof(v->solved), "%016" PRIx64, before->session);
		if (atomic_load(&k->before_here))
			memcpy(v->solved_sender, k->before, sizeof(v->solved_sender));
		v->solved_ns = since_ns(atomic_load(&k->closed_ns));
	}
	return true;
}

static const struct bs_row kspace_rows[] = {
	{ "holder", "Session of the newest scan, from its OPEN to its OUTCOME; empty: none.",
	  VIEW(kspace, holder) },
	{ "sender", "Who sent its last message; empty: it is away.", VIEW(kspace, sender) },
	{ "held_ms", "Since its OPEN.", VIEW(kspace, held_ns), .unit = BS_MS },
	{ "silent_ms", "Since its last message.", VIEW(kspace, silent_ns), .unit = BS_MS },
	{ "clock", "That stamps them: `monotonic`, `realtime` (this host's), `other`.",
	  VIEW(kspace, clock), .words = clocks },
	{ "solved", "Session of the scan before, while its last images are made; else empty.",
	  VIEW(kspace, solved) },
	{ "solved_sender", "Who sent that one; empty: it is away.", VIEW(kspace, solved_sender) },
	{ "solved_ms", "Since its last message before the holder's OPEN.", VIEW(kspace, solved_ns),
	  .unit = BS_MS },
	{ "peers", "Connected at the k-space endpoint.", IN(kspace.peers), GAUGE },
	{ "waiting", "Of these, whose header waits.", IN(kspace.waiting), GAUGE },
	{ "waiting_ms", "Since the first of them came.", VIEW(kspace, waiting_ns), .unit = BS_MS },
	{ "idle", "The others.", VIEW(kspace, idle) },
	{ "connected", "Connections, since ingest started.", IN(kspace.connected), COUNTER },
	{ "let_go", "Peers for whom there was no place any more.", IN(kspace.let_go), COUNTER },
	{ "nonsense", "Peers that did not speak the protocol.", IN(kspace.nonsense), COUNTER },
	{ 0 }
};

static const char *const places[] = { "kspace", "images", "status", NULL };

/* A reason for which sealed endpoints ended connections, and their number. */
struct kept_out {
	const char *why;
	uint64_t n;
};

static bool open_why(struct bs_item *x)
{
	static const char *const names[] = { "unknown", "role", "connections", "forged" };
	const struct bs_seal_record *r = &x->m->s->seal[x->at[0]];
	const _Atomic uint64_t *const n[] = { &r->unknown, &r->refused, &r->crowded, &r->forged };

	*FILL(kept_out, x) = (struct kept_out){ names[x->at[1]], atomic_load(n[x->at[1]]) };
	return true;
}

static const struct bs_row why_rows[] = {
	{ NULL, NULL, VIEW(kept_out, why), .label = "why" },
	{ NULL,
	  "Connections to sealed endpoints that were ended: of unknown keys, without the role, "
	  "beyond keys.connections, at a message that did not open.",
	  VIEW(kept_out, n), COUNTER, .as = "sealed_refused_total" },
	{ 0 }
};

static const struct bs_row sealed_rows[] = {
	{ "endpoint", "`kspace`, `images` or `status`.", PLACE(NULL), .words = places,
	  .label = "endpoint" },
	{ "sessions", "Connections to sealed endpoints whose first message opened.",
	  EACH(seal, sessions), COUNTER },
	{ "unknown", "Connections that were ended: no key, or an unknown one.",
	  EACH(seal, unknown) },
	{ "refused", "The same: the key lacks the role.", EACH(seal, refused) },
	{ "forged", "The same: a message did not open.", EACH(seal, forged) },
	{ "crowded", "The same: beyond `keys.connections`.", EACH(seal, crowded) },
	{ "last", "The last of those that were ended: its address and why.", EACH(seal, last) },
	{ .most = 4, .view = open_why, .rows = why_rows },
	{ 0 }
};

static const struct bs_row kind_rows[] = {
	{ "kind", "What they are for.", PLACE(bs_kind_name) },
	{ "used", "Those that the protocol uses.", EACH_OF(scan, kind_used) },
	{ "not_used", "Those that it does not use.", EACH_OF(scan, kind_unused) },
	{ 0 }
};

struct scan {
	char words[BS_KINDS_WORDS];
	const char *protocol;
	uint64_t rejected;
};

static bool open_scan(struct bs_item *x)
{
	const struct bs_shared *s = x->m->s;
	const struct bs_scan_record *r = bs_scan_newest(s->scan);
	const struct bs_kinds k = bs_scan_kinds(r);
	struct scan *v = FILL(scan, x);

	x->at[0] = (uint32_t)(r - s->scan);
	x->depth = 1;
	(void)bs_kinds_words(v->words, sizeof(v->words), &k);
	v->protocol = atomic_load(&r->id) != 0 && r->protocol < s->site.protocols
			      ? s->site.protocol[r->protocol].name
			      : "";
	v->rejected = atomic_load(&r->rejected) + atomic_load(&r->unused);
	return true;
}

static const struct bs_row scan_rows[] = {
	{ "number", "Counted from the service's start; 0: there was none.", EACH(scan, id) },
	{ "open", "It has no outcome yet.", EACH(scan, open), .unit = BS_YES },
	{ "session", "Its session (ipc/WIRE.md).", EACH(scan, session), .unit = BS_SESSION },
	{ "protocol", "Its protocol.", VIEW(scan, protocol) },
	{ "next_seq", "First number that is not yet held.", EACH(scan, next_seq) },
	{ "acquisitions", "Readouts that were taken.", EACH(scan, acquisitions) },
	{ "kinds", "Of these, by what they are for.", .most = BS_KINDS, .rows = kind_rows },
	{ "not_used", "A sentence about those that are not used, or empty.", VIEW(scan, words) },
	{ "waveforms", "Waveforms that came.", EACH(scan, waveforms) },
	{ "gaps", "Messages that never came.", EACH(scan, gaps) },
	{ "duplicates", "Messages that came twice.", EACH(scan, duplicates) },
	{ "rejected", "Messages that could not be used.", VIEW(scan, rejected) },
	{ "too_late", "Messages that came after their gap was given up.", EACH(scan, late) },
	{ "images_made", "Images that were made.", EACH(scan, images_made) },
	{ "images_partial", "Of these, those that lack readouts.", EACH(scan, images_partial) },
	{ "lacks", "What the first of these lacks.", EACH(scan, lacks) },
	{ "remark", "What images say of the scan beside that, as in the outcome.",
	  EACH(scan, remark) },
	{ "readouts_missing", "Readouts that they lack.", EACH(scan, readouts_missing) },
	{ "previews_made", "Previews that were made.", EACH(scan, previews_made) },
	{ "previews_skipped", "Left out: a frame would have waited.",
	  EACH(scan, previews_skipped) },
	{ "images_left", "Given to at least one taker, or to its queue.", EACH(scan, images_left) },
	{ "images_unsent", "Images for which there was no taker.", EACH(scan, images_unsent) },
	{ "images_late", "Images over their budget.", EACH(scan, images_late) },
	{ "undelivered", "Times that a taker did not get an image.", EACH(scan, undelivered) },
	{ "answers", "Answers that its sender was told.", EACH(scan, answers) },
	{ "answers_late", "Answers that were dropped: too late.", EACH(scan, answers_late) },
	{ 0 }
};

static const char *code_name(uint32_t code)
{
	return bs_err_name((int)code);
}

static const struct bs_row past_rows[] = {
	{ "number", "Counted from the service's start.", EACH(past, number) },
	{ "session", "Its session.", EACH(past, session), .unit = BS_SESSION },
	{ "protocol", "Its protocol.", EACH(past, protocol) },
	{ "ended", "When it ended.", EACH(past, ended_ns), .unit = BS_UTC_NS },
	{ "seconds", "From its OPEN to its outcome.", EACH(past, took_ns), .unit = BS_S },
	{ "acquisitions", "Readouts that were taken.", EACH(past, acquisitions) },
	{ "images", "Images that were made.", EACH(past, images) },
	{ "gaps", "Messages that never came.", EACH(past, gaps) },
	{ "duplicates", "Messages that came twice.", EACH(past, duplicates) },
	{ "rejected", "Messages that could not be used.", EACH(past, rejected) },
	{ "late", "Messages that came after their gap was given up.", EACH(past, late) },
	{ "undelivered", "Times that a taker did not get an image.", EACH(past, undelivered) },
	{ "code", "Its outcome's (ipc/WIRE.md).", EACH(past, code) },
	{ "name", "The code in a word.", EACH(past, code), .word = code_name },
	{ "text", "The outcome in words.", EACH(past, text) },
	{ 0 }
};
/* The last scans: an entry that is overwritten during the reading is then a later scan. */
const struct bs_row bs_status_scans[] = {
	{ "kspace", "The k-space endpoint.", .view = open_kspace, .rows = kspace_rows,
	  .line = "k-space        "
		  "[holder?session {holder} of [sender?{sender}][!sender?a sender that is away] "
		  "for {held_ms:.1s} s, its last message {silent_ms:.3s} s ago; ]"
		  "[solved?session {solved} of [solved_sender?{solved_sender}]"
		  "[!solved_sender?a sender that is away], closed {solved_ms:.1s} s ago, is being "
		  "reconstructed; ]"
		  "{waiting} wait[waiting? (the first for {waiting_ms:.1s} s)], {idle} idle\n",
	  .prefix = "kspace_", .pass = 5 },
	{ "sealed", "Endpoints that are sealed (ipc/WIRE.md).", .most = BS_SEAL_PLACES,
	  .rows = sealed_rows,
	  .line = "sealed {endpoint:-7} sessions {sessions}"
		  "[unknown|refused|forged|crowded?; kept out: {unknown} of unknown keys, "
		  "{refused} without the role, {crowded} beyond keys.connections, {forged} whose "
		  "messages did not open; the last: {last:.150}]\n",
	  .prefix = "sealed_", WHEN(EACH(seal, on)), .pass = 6 },
	{ "scan", "The newest, in flight or over.", .view = open_scan, .rows = scan_rows,
	  .line = "[number?scan {number}: acquisitions {acquisitions}, images {images_left}, gaps "
		  "{gaps}, duplicates {duplicates}, rejected {rejected}, undelivered {undelivered}"
		  "[open?, open]\n[not_used?  {not_used}\n]]" },
	{ "scans", "The last 31 that have ended, newest last.", .most = BS_SCANS_PAST - 1,
	  RING(past_scans, BS_SCANS_PAST), .rows = past_rows },
	{ 0 }
};

/* test/simulate/senders/others.c - see others.h */
#include "test/simulate/senders/others.h"

#include <stdlib.h>
#include <string.h>

#include "test/simulate/emit/emit.h"
#include "test/simulate/senders/lane.h"
#include "test/simulate/senders/network.h"
#include "test/simulate/service.h"

#define FIRST      1u          /* link; the scanner has the one before */
#define SILENCE_NS (2000 * MS) /* of the service: another socket (ipc/WIRE.md, 6) */
#define BEAT_NS    (200 * MS)

enum kind { NOBODY, SCANNER, MUTE, KINDS };

/* What one that never reads says next. */
enum mute_step { MUTE_OPENS, MUTE_SENDS, MUTE_CLOSES, MUTE_BEATS };

static struct other {
	enum kind kind;
	struct lane lane; /* of a mute one the book and the pause alone */
	enum mute_step step;
	uint64_t session, seq;
	int64_t beats_until_ns;
} other[LINKS - FIRST];
static bool calm;

void others_reset(void)
{
	/* a schedule of images has no senders, and what the one before it was says nothing */
	const bool some = !emit_runs() && sim_chance(500);

	calm = false;
	for (unsigned i = 0; i < LINKS - FIRST; i++) {
		struct other *o = &other[i];

		lane_reset(&o->lane, FIRST + i, true);
		o->kind = some ? (enum kind)sim_below(KINDS) : NOBODY;
		o->lane.next_ns = sim_now + (int64_t)sim_spread(o->kind == MUTE ? 8 : 12) * MS;
		o->step = MUTE_OPENS;
		network_want(FIRST + i, o->kind != NOBODY);
		if (o->kind == MUTE)
			network_narrow(FIRST + i, 1 + sim_below(8));
	}
}

/* ---- a scanner ---- */

static bool is_lonely(const struct lane *l)
{
	return rules_is_lonely(&l->peer.rules, sim_now);
}

static int64_t scanner_is_due(const struct lane *l)
{
	int64_t due = lane_due(l);

	if (lane_is_idle(l))
		return calm ? INT64_MAX : l->next_ns;
	if (l->peer.rules.heard_ns + SILENCE_NS < due)
		due = l->peer.rules.heard_ns + SILENCE_NS;
	return due;
}

static void scanner_goes_on(struct lane *l)
{
	size_t len;
	unsigned char *msg = network_take(l->link, &len);

	if (msg != NULL) {
		lane_hear(l, msg, len);
		free(msg);
		if (lane_is_idle(l))
			l->next_ns = sim_now + (int64_t)sim_spread(12) * MS;
		return;
	}
	if (lane_gives_up(l))
		return;
	if (is_lonely(l)) { /* as nanomsg, it is not told when a connection comes back */
		network_break(l->link, sim_now);
		lane_reconnected(l);
		return;
	}
	if (lane_is_idle(l)) {
		if (!calm && sim_now >= l->next_ns)
			lane_begin(l, 1 + sim_below(60));
		return;
	}
	if (lane_send(l))
		return;
	if (peer_streams(&l->peer) && sim_now >= l->next_ns && lane_make(l, calm)) {
		l->next_ns = sim_now + (sim_chance(50) ? (int64_t)sim_spread(6) * MS : 0);
		return;
	}
	l->next_ns = l->next_ns > sim_now ? l->next_ns : sim_now + MS;
}

/* ---- one that never reads ---- */

static void say(struct other *o, enum bs_wire_kind kind, const void *payload, size_t len)
{
	unsigned char msg[BS_WIRE_BYTES + 2048];
	struct bs_wire w = { .kind = (uint16_t)kind,
			     .session = o->session,
			     .seq = kind == BS_WIRE_HEARTBEAT ? 0 : o->seq,
			     .time_ns = sim_now };

	SAY("link %u, which never reads, says kind %u of %016llx, seq %llu", o->lane.link, kind,
	    (unsigned long long)w.session, (unsigned long long)w.seq);
	if (len > 0)
		memcpy(msg + BS_WIRE_BYTES, payload, len);
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, len);
	if (network_send(o->lane.link, msg, BS_WIRE_BYTES + len))
		o->seq += kind != BS_WIRE_HEARTBEAT;
}

static void mute_opens(struct other *o)
{
	unsigned char payload[64 + LANE_HEADER] = "p";
	const bool asks = lane_asks();

	o->session = sim_random() | 1;
	o->seq = 0;
	o->lane.book = books_open(o->session, o->lane.link, asks);
	o->lane.to_make = 1 + sim_below(20);
	say(o, BS_WIRE_OPEN, payload, 64 + lane_header(payload + 64, asks));
	o->step = MUTE_SENDS;
}

static void mute_sends(struct other *o)
{
	unsigned char payload[BOOK_ACQ_BYTES];
	const uint64_t flags = lane_flags();

	books_sent(o->lane.book, o->seq, false, false, flags);
	say(o, BS_WIRE_ACQ, payload, books_acq(payload, o->lane.book, o->seq, false, flags));
	if (--o->lane.to_make == 0)
		o->step = MUTE_CLOSES;
}

static void mute_closes(struct other *o)
{
	unsigned char count[8] = { (unsigned char)o->lane.book->acqs };

	o->lane.book->numbers = o->seq;
	o->lane.book->closed = true;
	say(o, BS_WIRE_CLOSE, count, sizeof(count));
	o->beats_until_ns = sim_now + (int64_t)sim_spread(13) * MS;
	o->step = MUTE_BEATS;
}

static void mute_beats(struct other *o)
{
	say(o, BS_WIRE_HEARTBEAT, NULL, 0);
	if (sim_now >= o->beats_until_ns)
		o->step = MUTE_OPENS;
}

static void leaves(struct other *o)
{
	o->kind = NOBODY;
	network_want(o->lane.link, false);
}

static void mute_goes_on(struct other *o)
{
	static void (*const does[])(struct other *) = {
		[MUTE_OPENS] = mute_opens,
		[MUTE_SENDS] = mute_sends,
		[MUTE_CLOSES] = mute_closes,
		[MUTE_BEATS] = mute_beats,
	};

	if (calm && o->step == MUTE_OPENS) {
		leaves(o);
		return;
	}
	if (!network_connected(o->lane.link)) { /* it does not know what came of its scan */
		o->step = MUTE_OPENS;
		o->lane.next_ns = sim_now + 100 * MS;
		return;
	}
	does[o->step](o);
	o->lane.next_ns = sim_now + (o->step == MUTE_BEATS ? BEAT_NS : (int64_t)sim_spread(5) * MS);
}

/* ---- all of them ---- */

static int64_t due_of(const struct other *o)
{
	if (o->kind == SCANNER)
		return network_waits(o->lane.link, TO_SENDER) ? sim_now : scanner_is_due(&o->lane);
	return o->kind == MUTE ? o->lane.next_ns : INT64_MAX;
}

int64_t others_due(void)
{
	int64_t due = INT64_MAX;

	for (unsigned i = 0; i < LINKS - FIRST; i++)
		due = due_of(&other[i]) < due ? due_of(&other[i]) : due;
	return due;
}

bool others_ready(void)
{
	return others_due() <= sim_now;
}

void others_turn(void)
{
	unsigned i = sim_below(LINKS - FIRST);

	while (due_of(&other[i]) > sim_now)
		i = (i + 1) % (LINKS - FIRST);
	if (other[i].kind == SCANNER)
		scanner_goes_on(&other[i].lane);
	else
		mute_goes_on(&other[i]);
}

void others_judge(void)
{
	for (unsigned i = 0; i < LINKS - FIRST; i++)
		if (other[i].kind == SCANNER)
			lane_judge(&other[i].lane, false);
}

void others_calm(void)
{
	calm = true;
}

bool others_busy(void)
{
	for (unsigned i = 0; i < LINKS - FIRST; i++)
		if (other[i].kind == MUTE ||
		    (other[i].kind == SCANNER && !lane_is_idle(&other[i].lane)))
			return true;
	return false;
}

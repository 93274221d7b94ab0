/* test/simulate/scanner.c - see scanner.h */
#include "test/simulate/scanner.h"

#include <stdlib.h>
#include <string.h>

#include "core/err.h"
#include "core/mrd.h"
#include "drivers/source/sender.h"
#include "test/simulate/books.h"
#include "test/simulate/network.h"
#include "test/simulate/service.h"
#include "test/simulate/totals.h"

#define RING_BYTES (256u << 10)
#define GIVE_UP_NS (10000 * MS)
#define SILENCE_NS (2000 * MS) /* of the service: another socket (ipc/WIRE.md, 6) */

static const char header[] =
	"<ismrmrdHeader><encoding><encodedSpace><matrixSize><x>16</x><y>8</y><z>1</z></matrixSize>"
	"</encodedSpace><reconSpace><matrixSize><x>16</x><y>8</y><z>1</z></matrixSize></reconSpace>"
	"</encoding></ismrmrdHeader>";

/* The scan that is being sent, and the one before it, of which only the outcome is awaited. */
static struct lane {
	struct bs_sender sender;
	struct book *book;
} lane[2];
static struct lane *now;     /* the first of these */
static bool ready;           /* their memory is there */
static bool follows;         /* the next scan does not wait for this one's outcome, */
static bool beside;          /* and has not begun yet; the one after it waits for both */
static uint64_t connections; /* that the sender knows of, */
static bool plain, renews;   /* or of none but those that it makes itself, and it makes one */
static int64_t heard_ns;     /* something of the service */
static int64_t away_until_ns, next_ns;
static int64_t full_until_ns; /* nothing can be sent before then */
static uint64_t to_make;      /* messages of this scan that are still to be made, without CLOSE */
static bool gone, calm, once, well;
static unsigned scans;

void scanner_reset(void)
{
	struct bs_fail why;

	for (int i = 0; i < 2; i++) {
		if (!ready && bs_sender_open(&lane[i].sender, RING_BYTES, &why) != 0)
			abort();
		lane[i].sender.state = BS_SENDER_IDLE;
		lane[i].book = NULL;
	}
	ready = true;
	now = &lane[0];
	beside = false;
	connections = 0;
	plain = sim_chance(300);
	renews = false;
	heard_ns = 0;
	away_until_ns = next_ns = full_until_ns = 0;
	gone = calm = once = well = false;
	scans = 0;
}

static bool idle(const struct lane *l)
{
	return l->sender.state == BS_SENDER_IDLE || l->sender.state == BS_SENDER_ENDED;
}

static struct lane *other(void)
{
	return &lane[now == &lane[0]];
}

static bool away(void)
{
	return sim_now < away_until_ns;
}

static void begin(void)
{
	uint64_t session = sim_random() | 1;
	struct bs_fail why;

	now->book = books_open(session);
	heard_ns = sim_now;
	to_make = sim_chance(100) ? sim_below(3) : 1 + sim_below(calm ? 20 : 120);
	once = false;
	well = false;
	beside = false;
	follows = !calm && !service_records() && sim_chance(500);
	if (bs_sender_begin(&now->sender, session, sim_chance(500) ? "p" : "", header,
			    sizeof(header), sim_now, &why) != 0)
		sim_broken("the sender cannot begin: %s", why.text);
	SAY("scan %016llx begins, %llu messages", (unsigned long long)session,
	    (unsigned long long)to_make);
}

/* True: a message was made. */
static bool make(void)
{
	unsigned char payload[BOOK_ACQ_BYTES];
	const uint64_t seq = now->sender.next_seq;
	struct bs_fail why;
	size_t len = 0;
	int rc;

	if (to_make == 0) {
		rc = bs_sender_finish(&now->sender, sim_now, &why);
		if (rc == 0) {
			now->book->numbers = seq;
			now->book->closed = true;
		}
		return rc == 0;
	}
	if (!calm && sim_chance(30)) {
		len = 16;
		memset(payload, 0x55, len);
		rc = bs_sender_put(&now->sender, BS_WIRE_WAVEFORM, payload, len, sim_now, &why);
		if (rc == 0)
			now->book->numbers = seq;
	} else {
		const bool bad = !calm && sim_chance(5);

		len = books_acq(payload, now->book, seq, bad,
				!bad && sim_chance(30) ? BS_MRD_IS_DUMMY : 0);
		rc = bs_sender_put(&now->sender, BS_WIRE_ACQ, payload, len, sim_now, &why);
		if (rc == 0) {
			now->book->numbers = seq;
			now->book->mark[seq] = (uint8_t)(MARK_ACQ | (bad ? MARK_BAD : 0));
			now->book->acqs++;
			now->book->bad += bad;
		}
	}
	to_make -= rc == 0;
	return rc == 0;
}

static void end(struct lane *l)
{
	const struct bs_sender *s = &l->sender;

	SAY("scan %016llx has ended: %d%s %s", (unsigned long long)l->book->session, s->code,
	    s->refused ? " (refused)" : "", s->outcome.text);
	/* without a readout it is no success, but for a recorder, which makes no images */
	well = s->code == (l->book->acqs > 0 || service_records() ? 0 : BS_ERR_LENGTH);
	if (s->refused)
		sim_saw(SEEN_REFUSED);
	if (s->code != 0 && s->outcome.text[0] == '\0')
		sim_broken("a scan ends with code %d and without words", s->code);
	if (s->refused && s->code == BS_ERR_STATE && !l->book->lost && l->book->accepted)
		sim_broken("the service has forgotten a scan: %s", s->outcome.text);
	scans++;
	l->book = NULL;
	if (l == now)
		next_ns = sim_now + (int64_t)sim_spread(9) * MS;
}

static void hear(const unsigned char *msg, size_t len)
{
	struct lane *l = now;
	const unsigned char *payload;
	struct bs_fail why;
	struct bs_wire w;

	heard_ns = sim_now;
	if (bs_wire_decode(&w, msg, len, &payload, &why) == 0) {
		SAY("sender hears kind %u of %016llx, seq %llu", w.kind,
		    (unsigned long long)w.session, (unsigned long long)w.seq);
		if (!idle(other()) && w.session == other()->sender.session)
			l = other();
		if (!idle(l) && w.session == l->sender.session)
			books_heard(&w, payload, (size_t)w.payload_len);
	}
	(void)bs_sender_heard(&l->sender, msg, len, sim_now, &why);
	if (l->sender.state == BS_SENDER_ENDED && l->book != NULL)
		end(l);
}

static void drop(struct lane *l)
{
	l->sender.state = BS_SENDER_IDLE;
	l->book = NULL;
}

/* It has heard nothing for so long that it gives up. */
static bool gives_up(struct lane *l)
{
	if (idle(l) || sim_now - l->sender.heard_ns < GIVE_UP_NS)
		return false;
	SAY("the sender gives up");
	drop(l);
	if (l == now)
		next_ns = sim_now;
	return true;
}

/* It hears nothing, and takes another socket. */
static bool renew(void)
{
	if (!plain || (idle(now) && idle(other())) || sim_now - heard_ns < SILENCE_NS)
		return false;
	SAY("the sender takes another socket");
	heard_ns = sim_now;
	renews = true;
	network_break(sim_now);
	return true;
}

/* Its close is safe: the next scan may begin beside it. */
static bool turn_over(void)
{
	if (!follows || now->sender.state != BS_SENDER_CLOSING || !now->sender.close_held ||
	    !idle(other()))
		return false;
	follows = false;
	beside = true;
	now = other();
	next_ns = sim_now + (sim_chance(500) ? 0 : (int64_t)sim_spread(9) * MS);
	return true;
}

bool scanner_ready(void)
{
	if (away())
		return false;
	return network_waits(TO_SENDER) || scanner_due() <= sim_now ||
	       (network_connected() && connections != network_connections());
}

static bool may_begin(void)
{
	return (!calm || once) && (beside || idle(other()));
}

static int64_t lane_due(const struct lane *l)
{
	int64_t due = INT64_MAX;

	if (idle(l))
		return INT64_MAX;
	if (network_connected())
		due = l->sender.cursor < l->sender.count ? next_ns : bs_sender_due(&l->sender);
	due = due < full_until_ns ? full_until_ns : due;
	if (l->sender.state == BS_SENDER_STREAMING && l->sender.count < l->sender.window &&
	    next_ns < due)
		due = next_ns;
	return l->sender.heard_ns + GIVE_UP_NS < due ? l->sender.heard_ns + GIVE_UP_NS : due;
}

int64_t scanner_due(void)
{
	int64_t due = lane_due(now);

	if (away())
		return away_until_ns;
	if (idle(now))
		due = may_begin() ? next_ns : INT64_MAX;
	if (plain && !(idle(now) && idle(other())) && heard_ns + SILENCE_NS < due)
		due = heard_ns + SILENCE_NS;
	return lane_due(other()) < due ? lane_due(other()) : due;
}

static bool send(struct lane *l)
{
	const unsigned char *msg;
	size_t len;

	if (idle(l) || !network_connected() || sim_now < full_until_ns ||
	    !bs_sender_next(&l->sender, sim_now, &msg, &len))
		return false;
	if (!network_send(msg, len)) {
		next_ns = full_until_ns = sim_now + MS;
		return false;
	}
	bs_sender_sent(&l->sender, sim_now);
	return true;
}

static void reconnect(struct lane *l)
{
	if (!idle(l) && l->book->accepted && !l->book->returned) {
		l->book->returned = true;
		sim_saw(SEEN_RETURNED);
	}
	bs_sender_reconnected(&l->sender, sim_now);
}

bool scanner_turn(void)
{
	unsigned char *msg;
	size_t len;

	if (away())
		return false;
	if (connections != network_connections() && network_connected()) {
		connections = network_connections();
		if (!plain || renews) {
			reconnect(other());
			reconnect(now);
		}
		renews = false;
		return true;
	}
	msg = network_take(&len);
	if (msg != NULL) {
		hear(msg, len);
		free(msg);
		return true;
	}
	if (gives_up(other()) || gives_up(now) || renew() || turn_over())
		return true;
	if (send(other()))
		return true;
	if (idle(now)) {
		if (sim_now < next_ns || !may_begin())
			return false;
		begin();
		return true;
	}
	if (send(now))
		return true;
	if (now->sender.state == BS_SENDER_STREAMING && sim_now >= next_ns) {
		next_ns = sim_now + (sim_chance(50) ? (int64_t)sim_spread(6) * MS : 0);
		if (make())
			return true;
	}
	next_ns = next_ns > sim_now ? next_ns : sim_now + MS;
	return false;
}

/* ---- faults ---- */

void scanner_stop(int64_t until_ns)
{
	away_until_ns = until_ns;
}

void scanner_kill(int64_t until_ns)
{
	away_until_ns = until_ns;
	drop(&lane[0]);
	drop(&lane[1]);
	next_ns = until_ns;
	network_break(until_ns);
}

bool scanner_repeat(void)
{
	if (idle(now) || now->sender.count == 0)
		return false;
	bs_sender_reconnected(&now->sender, sim_now);
	return true;
}

bool scanner_overrun(void)
{
	struct bs_sender *s = &now->sender;

	if (s->state != BS_SENDER_STREAMING)
		return false;
	s->window = s->window * 8 < BS_SENDER_WINDOW ? s->window * 8 : BS_SENDER_WINDOW;
	return true;
}

bool scanner_hole(int64_t until_ns)
{
	if (now->sender.state != BS_SENDER_STREAMING)
		return false;
	network_hole(now->sender.session, now->sender.next_seq + sim_below(4), until_ns);
	return true;
}

static void hostile(uint16_t kind, uint64_t session, uint64_t seq, size_t payload)
{
	unsigned char msg[BS_WIRE_BYTES + 512];
	struct bs_wire w = { .kind = kind, .session = session, .seq = seq, .time_ns = sim_now };

	for (size_t i = 0; i < payload; i++)
		msg[BS_WIRE_BYTES + i] = (unsigned char)sim_random();
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, payload);
	network_inject(msg, BS_WIRE_BYTES + payload);
}

bool scanner_hostile(void)
{
	const struct book *book = now->book;
	const bool known = book != NULL && book->accepted; /* to the service */
	const uint64_t session = known ? now->sender.session : sim_random() | 1;
	unsigned char noise[200];

	if (!network_connected())
		return false;
	switch (sim_below(8)) {
	case 0:
		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (unsigned char)sim_random();
		network_inject(noise, sim_below(sizeof(noise)));
		break;
	case 1: /* of a scan that is nobody's */
		hostile(BS_WIRE_ACQ, sim_random() | 1, 1 + sim_below(100), sim_below(512));
		break;
	case 2: /* absurdly far ahead */
		hostile(BS_WIRE_ACQ, session, (UINT64_C(1) << 25) + sim_random() / 4, 20);
		break;
	case 3: /* a number that was used, unless the service lost it, with something else */
		hostile(BS_WIRE_ACQ, known && book->over_service ? sim_random() | 1 : session,
			known ? book->held : 1, 412);
		break;
	case 4: /* what the service says, not a sender */
		hostile(BS_WIRE_ACK, session, 0, 8);
		break;
	case 5:
		hostile((uint16_t)(6 + sim_below(9)), session, 1, 0);
		break;
	case 6:
		hostile(BS_WIRE_CLOSE, sim_random() | 1, 1, 8);
		break;
	default: /* the header of a scan that is refused; today it ends the one that runs */
		hostile(BS_WIRE_OPEN, sim_random() | 1, 0, 200);
		break;
	}
	return true;
}

/* ---- the end of a schedule ---- */

void scanner_calm(void)
{
	calm = true;
	if (away())
		away_until_ns = sim_now;
}

bool scanner_busy(void)
{
	return !idle(now) || !idle(other()) || once;
}

bool scanner_once(void)
{
	if (scanner_busy())
		return false;
	once = true;
	next_ns = sim_now;
	return true;
}

bool scanner_well(void)
{
	return well;
}

unsigned scanner_scans(void)
{
	return scans;
}

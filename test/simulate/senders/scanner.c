/* test/simulate/senders/scanner.c - see scanner.h */
#include "test/simulate/senders/scanner.h"

#include <stdlib.h>

#include "test/simulate/books.h"
#include "test/simulate/senders/lane.h"
#include "test/simulate/senders/network.h"
#include "test/simulate/service.h"

#define LINK       0u          /* its own; others.c has the rest */
#define SILENCE_NS (2000 * MS) /* of the service: another socket (ipc/WIRE.md, 6) */

/* The scan that is being sent, and the one before it, of which only the outcome is awaited. */
static struct lane lane[2];
static struct lane *now;        /* the first of these */
static bool follows;            /* the next scan does not wait for this one's outcome, */
static bool beside;             /* and has not begun yet; the one after it waits for both */
static uint64_t connections;    /* that the sender knows of, */
static bool unreported, renews; /* or of none but those that it makes itself, and it makes one */
static int64_t renewed_ns;      /* when it took its socket */
static int64_t away_until_ns;
static bool calm, once;
static unsigned scans;

void scanner_reset(void)
{
	const bool plain = sim_chance(500);

	for (int i = 0; i < 2; i++)
		lane_reset(&lane[i], LINK, plain);
	now = &lane[0];
	follows = beside = false;
	connections = 0;
	unreported = sim_chance(300);
	renews = false;
	renewed_ns = away_until_ns = 0;
	calm = once = false;
	scans = 0;
}

static struct lane *other(void)
{
	return &lane[now == &lane[0]];
}

static bool all_idle(void)
{
	return lane_is_idle(now) && lane_is_idle(other());
}

static bool away(void)
{
	return sim_now < away_until_ns;
}

static uint64_t messages(void)
{
	if (sim_chance(100))
		return sim_below(3);
	if (!calm && sim_chance(10))
		return 1 + sim_below(BOOK_NUMBERS - 10);
	return 1 + sim_below(calm ? 20 : 120);
}

static void begin(void)
{
	once = false;
	beside = false;
	lane_begin(now, messages());
	follows = !calm && sim_chance(500);
}

static void hear(const unsigned char *msg, size_t len)
{
	for (int i = 0; i < 2; i++) {
		const bool was = lane[i].ended;

		lane_hear(&lane[i], msg, len);
		scans += lane[i].ended && !was;
	}
}

/* When it takes another socket, unless it hears something of each of its scans before. */
static int64_t renew_due(void)
{
	int64_t heard_ns = INT64_MAX;

	if (!unreported && !now->peer.plain)
		return INT64_MAX;
	for (int i = 0; i < 2; i++)
		if (!lane_is_idle(&lane[i]) && lane[i].told_ns < heard_ns)
			heard_ns = lane[i].told_ns;
	if (heard_ns == INT64_MAX)
		return INT64_MAX;
	return (heard_ns > renewed_ns ? heard_ns : renewed_ns) + SILENCE_NS;
}

static bool renew(void)
{
	if (sim_now < renew_due())
		return false;
	SAY("the sender takes another socket");
	renewed_ns = sim_now;
	renews = true;
	network_break(LINK, sim_now);
	return true;
}

/* Its close is safe: the next scan may begin beside it. */
static bool turn_over(void)
{
	if (!follows || !peer_close_is_held(&now->peer) || !lane_is_idle(other()))
		return false;
	follows = false;
	beside = true;
	now = other();
	now->next_ns = sim_now + (sim_chance(500) ? 0 : (int64_t)sim_spread(9) * MS);
	return true;
}

bool scanner_ready(void)
{
	if (away())
		return false;
	return network_waits(LINK, TO_SENDER) || scanner_due() <= sim_now ||
	       (network_connected(LINK) && connections != network_connections(LINK));
}

static bool may_begin(void)
{
	return (!calm || once) && (beside || lane_is_idle(other()));
}

int64_t scanner_due(void)
{
	int64_t due = lane_due(now);

	if (away())
		return away_until_ns;
	if (lane_is_idle(now))
		due = may_begin() ? now->next_ns : INT64_MAX;
	if (renew_due() < due)
		due = renew_due();
	return lane_due(other()) < due ? lane_due(other()) : due;
}

/* True: it was told of a connection. */
static bool connect(void)
{
	if (connections == network_connections(LINK) || !network_connected(LINK))
		return false;
	connections = network_connections(LINK);
	if (!unreported || renews) {
		lane_reconnected(other());
		lane_reconnected(now);
	}
	renews = false;
	return true;
}

static bool make(void)
{
	if (peer_streams(&now->peer) && sim_now >= now->next_ns) {
		now->next_ns = sim_now + (sim_chance(50) ? (int64_t)sim_spread(6) * MS : 0);
		if (lane_make(now, calm))
			return true;
	}
	now->next_ns = now->next_ns > sim_now ? now->next_ns : sim_now + MS;
	return false;
}

bool scanner_turn(void)
{
	unsigned char *msg;
	size_t len;

	if (away())
		return false;
	if (connect())
		return true;
	msg = network_take(LINK, &len);
	if (msg != NULL) {
		hear(msg, len);
		free(msg);
		return true;
	}
	if (lane_gives_up(other()) || lane_gives_up(now) || renew() || turn_over())
		return true;
	if (lane_send(other()))
		return true;
	if (lane_is_idle(now)) {
		if (sim_now < now->next_ns || !may_begin())
			return false;
		begin();
		return true;
	}
	return lane_send(now) || make();
}

void scanner_judge(void)
{
	lane_judge(&lane[0], away());
	lane_judge(&lane[1], away());
}

/* ---- faults ---- */

void scanner_stop(int64_t until_ns)
{
	away_until_ns = until_ns;
}

void scanner_kill(int64_t until_ns)
{
	away_until_ns = until_ns;
	lane_drop(&lane[0]);
	lane_drop(&lane[1]);
	now->next_ns = until_ns;
	network_break(LINK, until_ns);
}

bool scanner_repeat(void)
{
	if (lane_is_idle(now) || !peer_keeps(&now->peer))
		return false;
	peer_reconnected(&now->peer);
	return true;
}

bool scanner_overrun(void)
{
	if (!peer_streams(&now->peer))
		return false;
	peer_overruns(&now->peer);
	now->book->overran = true;
	return true;
}

bool scanner_hole(uint64_t numbers, int64_t until_ns)
{
	const uint64_t window = peer_window(&now->peer);

	if (!peer_streams(&now->peer) || now->book->overran)
		return false;
	/* what never comes is found missing by what comes beyond it, within the window */
	if (until_ns == INT64_MAX && numbers > window / 2)
		numbers = window / 2;
	network_hole(peer_session(&now->peer), peer_next_seq(&now->peer) + sim_below(4), numbers,
		     until_ns);
	return true;
}

static void hostile(uint16_t kind, uint64_t session, uint64_t seq, size_t payload)
{
	unsigned char msg[BS_WIRE_BYTES + 512];
	struct bs_wire w = { .kind = kind, .session = session, .seq = seq, .time_ns = sim_now };

	for (size_t i = 0; i < payload; i++)
		msg[BS_WIRE_BYTES + i] = (unsigned char)sim_random();
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, payload);
	network_inject(LINK, msg, BS_WIRE_BYTES + payload);
}

bool scanner_hostile(void)
{
	const struct book *book = now->book;
	const bool known = book != NULL && book->accepted; /* to the service */
	const uint64_t session = known ? peer_session(&now->peer) : sim_random() | 1;
	unsigned char noise[200];

	if (!network_connected(LINK))
		return false;
	switch (sim_below(8)) {
	case 0:
		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (unsigned char)sim_random();
		network_inject(LINK, noise, sim_below(sizeof(noise)));
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
	return !all_idle() || once;
}

bool scanner_once(void)
{
	if (scanner_busy())
		return false;
	once = true;
	now->next_ns = sim_now;
	return true;
}

bool scanner_well(void)
{
	return now->well;
}

unsigned scanner_scans(void)
{
	return scans;
}

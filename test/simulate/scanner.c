/* test/simulate/scanner.c - see scanner.h */
#include "test/simulate/scanner.h"

#include <stdlib.h>
#include <string.h>

#include "core/err.h"
#include "core/mrd.h"
#include "drivers/source/sender.h"
#include "test/simulate/books.h"
#include "test/simulate/network.h"
#include "test/simulate/totals.h"

#define RING_BYTES (256u << 10)
#define GIVE_UP_NS (10000 * MS)

static const char header[] =
	"<ismrmrdHeader><encoding><encodedSpace><matrixSize><x>16</x><y>8</y><z>1</z></matrixSize>"
	"</encodedSpace><reconSpace><matrixSize><x>16</x><y>8</y><z>1</z></matrixSize></reconSpace>"
	"</encoding></ismrmrdHeader>";

static struct bs_sender sender;
static bool ready; /* its memory is there */
static struct book *book;
static uint64_t connections; /* that the sender knows of */
static int64_t away_until_ns, next_ns;
static uint64_t to_make; /* messages of this scan that are still to be made, without CLOSE */
static bool gone, calm, once, well;
static unsigned scans;

void scanner_reset(void)
{
	struct bs_fail why;

	if (!ready && bs_sender_open(&sender, RING_BYTES, &why) != 0)
		abort();
	ready = true;
	sender.state = BS_SENDER_IDLE;
	book = NULL;
	connections = 0;
	away_until_ns = next_ns = 0;
	gone = calm = once = well = false;
	scans = 0;
}

static bool idle(void)
{
	return sender.state == BS_SENDER_IDLE || sender.state == BS_SENDER_ENDED;
}

static bool away(void)
{
	return sim_now < away_until_ns;
}

static void begin(void)
{
	uint64_t session = sim_random() | 1;
	struct bs_fail why;

	book = books_open(session);
	to_make = sim_chance(100) ? sim_below(3) : 1 + sim_below(calm ? 20 : 120);
	once = false;
	well = false;
	if (bs_sender_begin(&sender, session, sim_chance(500) ? "p" : "", header, sizeof(header),
			    sim_now, &why) != 0)
		sim_broken("the sender cannot begin: %s", why.text);
	SAY("scan %016llx begins, %llu messages", (unsigned long long)session,
	    (unsigned long long)to_make);
}

/* True: a message was made. */
static bool make(void)
{
	unsigned char payload[BOOK_ACQ_BYTES];
	const uint64_t seq = sender.next_seq;
	struct bs_fail why;
	size_t len = 0;
	int rc;

	if (to_make == 0) {
		rc = bs_sender_finish(&sender, sim_now, &why);
		if (rc == 0) {
			book->numbers = seq;
			book->closed = true;
		}
		return rc == 0;
	}
	if (!calm && sim_chance(30)) {
		len = 16;
		memset(payload, 0x55, len);
		rc = bs_sender_put(&sender, BS_WIRE_WAVEFORM, payload, len, sim_now, &why);
		if (rc == 0)
			book->numbers = seq;
	} else {
		const bool bad = !calm && sim_chance(5);

		len = books_acq(payload, book, seq, bad,
				!bad && sim_chance(30) ? BS_MRD_IS_DUMMY : 0);
		rc = bs_sender_put(&sender, BS_WIRE_ACQ, payload, len, sim_now, &why);
		if (rc == 0) {
			book->numbers = seq;
			book->mark[seq] = (uint8_t)(MARK_ACQ | (bad ? MARK_BAD : 0));
			book->acqs++;
			book->bad += bad;
		}
	}
	to_make -= rc == 0;
	return rc == 0;
}

static void hear(const unsigned char *msg, size_t len)
{
	const unsigned char *payload;
	struct bs_fail why;
	struct bs_wire w;

	if (bs_wire_decode(&w, msg, len, &payload, &why) == 0) {
		SAY("sender hears kind %u of %016llx, seq %llu", w.kind,
		    (unsigned long long)w.session, (unsigned long long)w.seq);
		if (!idle() && w.session == sender.session)
			books_heard(&w, payload, (size_t)w.payload_len);
	}
	(void)bs_sender_heard(&sender, msg, len, sim_now, &why);
	if (sender.state != BS_SENDER_ENDED || book == NULL)
		return;
	SAY("scan %016llx has ended: %d%s %s", (unsigned long long)book->session, sender.code,
	    sender.refused ? " (refused)" : "", sender.outcome.text);
	well = sender.code == 0;
	if (sender.refused)
		sim_saw(SEEN_REFUSED);
	if (sender.code != 0 && sender.outcome.text[0] == '\0')
		sim_broken("a scan ends with code %d and without words", sender.code);
	if (sender.refused && sender.code == BS_ERR_STATE && !book->lost && book->accepted)
		sim_broken("the service has forgotten a scan: %s", sender.outcome.text);
	scans++;
	book = NULL;
	next_ns = sim_now + (int64_t)sim_spread(9) * MS;
}

/* It has heard nothing for so long that it gives up. */
static bool gives_up(void)
{
	if (idle() || sim_now - sender.heard_ns < GIVE_UP_NS)
		return false;
	SAY("the sender gives up");
	sender.state = BS_SENDER_IDLE;
	book = NULL;
	next_ns = sim_now;
	return true;
}

bool scanner_ready(void)
{
	if (away())
		return false;
	return network_waits(TO_SENDER) || scanner_due() <= sim_now ||
	       (network_connected() && connections != network_connections());
}

int64_t scanner_due(void)
{
	int64_t due = INT64_MAX;

	if (away())
		return away_until_ns;
	if (idle())
		return !calm || once ? next_ns : INT64_MAX;
	if (network_connected())
		due = sender.cursor < sender.count ? next_ns : bs_sender_due(&sender);
	if (sender.state == BS_SENDER_STREAMING && sender.count < sender.window && next_ns < due)
		due = next_ns;
	if (sender.heard_ns + GIVE_UP_NS < due)
		due = sender.heard_ns + GIVE_UP_NS;
	return due;
}

static bool send(void)
{
	const unsigned char *msg;
	size_t len;

	if (!network_connected() || !bs_sender_next(&sender, sim_now, &msg, &len))
		return false;
	if (!network_send(msg, len)) {
		next_ns = sim_now + MS;
		return false;
	}
	bs_sender_sent(&sender, sim_now);
	return true;
}

bool scanner_turn(void)
{
	unsigned char *msg;
	size_t len;

	if (away())
		return false;
	if (connections != network_connections() && network_connected()) {
		connections = network_connections();
		if (!idle() && book->accepted && !book->returned) {
			book->returned = true;
			sim_saw(SEEN_RETURNED);
		}
		bs_sender_reconnected(&sender, sim_now);
		return true;
	}
	msg = network_take(&len);
	if (msg != NULL) {
		hear(msg, len);
		free(msg);
		return true;
	}
	if (gives_up())
		return true;
	if (idle()) {
		if (sim_now < next_ns || (calm && !once))
			return false;
		begin();
		return true;
	}
	if (send())
		return true;
	if (sender.state == BS_SENDER_STREAMING && sim_now >= next_ns) {
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
	sender.state = BS_SENDER_IDLE;
	book = NULL;
	next_ns = until_ns;
	network_break(until_ns);
}

bool scanner_repeat(void)
{
	if (idle() || sender.count == 0)
		return false;
	bs_sender_reconnected(&sender, sim_now);
	return true;
}

bool scanner_overrun(void)
{
	if (sender.state != BS_SENDER_STREAMING)
		return false;
	sender.window = sender.window * 8 < BS_SENDER_WINDOW ? sender.window * 8 : BS_SENDER_WINDOW;
	return true;
}

bool scanner_hole(int64_t until_ns)
{
	if (sender.state != BS_SENDER_STREAMING)
		return false;
	network_hole(sender.session, sender.next_seq + sim_below(4), until_ns);
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
	const bool known = book != NULL && book->accepted; /* to the service */
	const uint64_t session = known ? sender.session : sim_random() | 1;
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
	return !idle() || once;
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

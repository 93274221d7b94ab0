/* test/simulate/senders/lane.c - see lane.h */
#include "test/simulate/senders/lane.h"

#include <string.h>

#include "core/err.h"
#include "core/mrd.h"
#include "test/simulate/answers.h"
#include "test/simulate/senders/network.h"
#include "test/simulate/service.h"
#include "test/simulate/totals.h"

#define GIVE_UP_NS (10000 * MS)
/* Heartbeats come every 500 ms, and a message that waits for its answer goes out again after 4 s
 * at the latest (ipc/WIRE.md, 6 and 9); some of both may be lost. */
#define SILENT_NS (8000 * MS)
/* A log that is not sealed 500 ms later is given up (5). */
#define OUTCOME_NS (3000 * MS)

#define SIZE "<matrixSize><x>16</x><y>8</y><z>1</z></matrixSize>"
#define FOV  "<fieldOfView_mm><x>160</x><y>80</y><z>5</z></fieldOfView_mm>"

static const char header[] = "<ismrmrdHeader><encoding><encodedSpace>" SIZE
			     "</encodedSpace><reconSpace>" SIZE "</reconSpace>"
			     "</encoding></ismrmrdHeader>";
static const char asking[] = "<ismrmrdHeader><encoding><encodedSpace>" SIZE FOV
			     "</encodedSpace><reconSpace>" SIZE FOV "</reconSpace></encoding>"
			     "<userParameters><userParameterLong><name>boreside_answers</name>"
			     "<value>1</value></userParameterLong></userParameters>"
			     "</ismrmrdHeader>";

void lane_reset(struct lane *l, unsigned link, bool plain)
{
	if (l->peer.ours.ring == NULL)
		peer_make(&l->peer);
	peer_reset(&l->peer, plain);
	l->book = NULL;
	l->link = link;
	l->next_ns = l->full_until_ns = l->fair_ns = l->told_ns = 0;
	l->ended = l->well = false;
}

size_t lane_header(unsigned char out[LANE_HEADER], bool asks)
{
	const size_t len = asks ? sizeof(asking) : sizeof(header);

	memcpy(out, asks ? asking : header, len);
	return len;
}

bool lane_asks(void)
{
	return service_protocol()->answers.count > 0 && sim_chance(700);
}

uint64_t lane_flags(void)
{
	return service_protocol()->answers.count > 0 && sim_chance(200) ? BS_MRD_IS_NAVIGATION : 0;
}

void lane_begin(struct lane *l, uint64_t messages)
{
	const uint64_t session = sim_random() | 1;
	const bool asks = lane_asks();
	unsigned char xml[LANE_HEADER];

	l->book = books_open(session, l->link, asks);
	l->to_make = messages;
	l->told_ns = l->begun_ns = sim_now;
	l->ended = l->well = false;
	peer_begin(&l->peer, session, sim_chance(500) ? "p" : "", (const char *)xml,
		   lane_header(xml, asks));
	SAY("scan %016llx begins on link %u, %llu messages%s", (unsigned long long)session, l->link,
	    (unsigned long long)messages, asks ? ", and asks" : "");
}

static bool make_close(struct lane *l)
{
	const uint64_t seq = peer_next_seq(&l->peer);

	if (!peer_finish(&l->peer))
		return false;
	l->book->numbers = seq;
	l->book->closed = true;
	return true;
}

bool lane_make(struct lane *l, bool calm)
{
	unsigned char payload[BOOK_ACQ_BYTES];
	const uint64_t seq = peer_next_seq(&l->peer);
	const bool wave = l->to_make > 0 && !calm && sim_chance(30);
	const bool bad = !wave && !calm && sim_chance(5);
	uint64_t flags = 0;
	size_t len = 16;

	if (l->to_make == 0)
		return make_close(l);
	if (wave)
		memset(payload, 0x55, len);
	else
		flags = !calm && !bad && sim_chance(30) ? BS_MRD_IS_DUMMY : lane_flags();
	if (!wave)
		len = books_acq(payload, l->book, seq, bad, flags);
	if (!peer_put(&l->peer, wave ? BS_WIRE_WAVEFORM : BS_WIRE_ACQ, payload, len))
		return false;
	books_sent(l->book, seq, wave, bad, flags);
	l->to_make--;
	return true;
}

static void end(struct lane *l)
{
	const char *words;
	bool refused;
	const int code = peer_code(&l->peer, &refused, &words);

	SAY("scan %016llx has ended: %d%s %s", (unsigned long long)l->book->session, code,
	    refused ? " (refused)" : "", words);
	l->well =
		code == (l->book->acqs > 0 ? 0 : BS_ERR_LENGTH); /* without a readout no success */
	l->ended = true;
	if (refused)
		sim_saw(SEEN_REFUSED);
	if (code != 0 && words[0] == '\0')
		sim_broken("a scan ends with code %d and without words", code);
	/* the outcomes of the two that ended last are kept (rule 7) */
	if (refused && code == BS_ERR_STATE && !l->book->lost && l->book->accepted &&
	    books_beside(l->book) < 2)
		sim_broken("the service has forgotten a scan: %s", words);
	l->book = NULL;
	l->next_ns = sim_now + (int64_t)sim_spread(9) * MS;
}

void lane_hear(struct lane *l, const unsigned char *msg, size_t len)
{
	const unsigned char *payload;
	struct bs_fail why;
	struct bs_wire w;

	if (bs_wire_decode(&w, msg, len, &payload, &why) == 0 && !lane_is_idle(l) &&
	    w.session == peer_session(&l->peer)) {
		SAY("link %u hears kind %u of %016llx, seq %llu", l->link, w.kind,
		    (unsigned long long)w.session, (unsigned long long)w.seq);
		books_heard(&w, payload, (size_t)w.payload_len);
		if (w.kind == BS_WIRE_ANSWER)
			answers_heard(l->book);
		l->told_ns = sim_now;
	}
	peer_hear(&l->peer, msg, len);
	if (peer_has_ended(&l->peer) && l->book != NULL)
		end(l);
}

void lane_drop(struct lane *l)
{
	peer_drop(&l->peer);
	l->book = NULL;
}

bool lane_gives_up(struct lane *l)
{
	if (lane_is_idle(l) || sim_now - l->told_ns < GIVE_UP_NS)
		return false;
	SAY("the sender on link %u gives up", l->link);
	lane_drop(l);
	l->next_ns = sim_now;
	return true;
}

void lane_reconnected(struct lane *l)
{
	if (!lane_is_idle(l) && l->book->accepted && !l->book->returned) {
		l->book->returned = true;
		sim_saw(SEEN_RETURNED);
	}
	peer_reconnected(&l->peer);
}

bool lane_send(struct lane *l)
{
	const unsigned char *msg;
	size_t len;

	if (lane_is_idle(l) || !network_connected(l->link) || sim_now < l->full_until_ns ||
	    !peer_next(&l->peer, &msg, &len))
		return false;
	if (!network_send(l->link, msg, len)) {
		l->next_ns = l->full_until_ns = sim_now + MS;
		return false;
	}
	SAY("link %u says kind %u of %016llx", l->link, msg[6],
	    (unsigned long long)peer_session(&l->peer));
	peer_sent(&l->peer);
	return true;
}

int64_t lane_due(const struct lane *l)
{
	int64_t due = INT64_MAX;

	if (lane_is_idle(l))
		return INT64_MAX;
	if (network_connected(l->link))
		due = peer_due(&l->peer);
	due = due < l->full_until_ns ? l->full_until_ns : due;
	if (peer_may_put(&l->peer) && l->next_ns < due)
		due = l->next_ns;
	return l->told_ns + GIVE_UP_NS < due ? l->told_ns + GIVE_UP_NS : due;
}

void lane_judge(struct lane *l, bool hindered)
{
	/* ours waits for an outcome that was lost, unless its connection breaks (rule 6) */
	const int64_t since_ns = l->peer.plain ? l->told_ns : l->begun_ns;

	/* a service that has lost the scan hears HEARTBEAT alone, which it does not answer (11) */
	const bool unheard =
		!lane_is_idle(l) && l->book->lost && network_swallows(peer_session(&l->peer));

	if (hindered || unheard || lane_is_idle(l) || network_is_hindered(l->link, since_ns))
		l->fair_ns = sim_now;
	if (sim_now - l->fair_ns > SILENT_NS && sim_now - l->told_ns > SILENT_NS)
		sim_broken("the sender on link %u reads, and is told nothing for %.1f s", l->link,
			   (double)(sim_now - l->told_ns) * 1e-9);
	/* the outcomes of the two that ended last are kept (7), whoever made them end */
	if (!lane_is_idle(l) && l->book->passed_ns != 0 && l->book->behind < 2 &&
	    sim_now - l->book->passed_ns > OUTCOME_NS && sim_now - l->fair_ns > OUTCOME_NS)
		sim_broken("the sender on link %u reads, and has no outcome %.1f s after its "
			   "last image",
			   l->link, (double)(sim_now - l->book->passed_ns) * 1e-9);
}

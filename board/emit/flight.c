/* board/emit/flight.c - see flight.h */
#include "board/emit/flight.h"

#include "board/emit/taker.h"
#include "core/thread/clock.h"

#define LOOK_NS INT64_C(20000000) /* time between two looks at the connection's unsent bytes */
#define FRAME   9u                /* bytes that the transport puts in front of a message */
#define FLIGHT  1024u             /* images; more than bs_pools_unsafe ever is */

/* Images that were sent and are not known to be safe, in the order of sending. */
static struct {
	struct {
		uint64_t number, end; /* end: value of the member total behind the image */
		/* number up to which all images are safe, once this image is */
		uint64_t safe;
		bool gone; /* the store has lost the image */
	} image[FLIGHT];
	uint32_t first, count;
	uint64_t total, unsent; /* bytes given to the socket in all, and those still unsent */
	uint64_t gone;          /* bytes that had left at the last look, if still connected */
	/* counts of connections: when the oldest image was sent, when the last was offered */
	uint64_t connections, offered;
	int64_t since_ns, looked_ns; /* time when unsent last changed, and time of the last look */
} flight;

int bs_flight_send(struct bs_taker *t, const struct bs_offer *o, struct bs_fail *why)
{
	struct emit *e = t->e;
	int rc;

	/* an archive that connects during the send may or may not get the image: require one now */
	if (bs_endpoint_connections_now(&e->archive) == 0)
		return BS_ENDPOINT_TIMEOUT;
	flight.offered = bs_endpoint_connections(&e->archive);
	rc = bs_endpoint_send(&e->archive, o->msg, o->len, NULL, 0, 0, why);
	if (rc == 0)
		atomic_store(&e->archived_ns, bs_now_ns());
	return rc;
}

bool bs_flight_gone(const struct bs_taker *t, uint64_t number)
{
	for (uint32_t i = 0; i < flight.count; i++) {
		const uint32_t at = (flight.first + i) % FLIGHT;

		if (flight.image[at].number != number)
			continue;
		if (!flight.image[at].gone) {
			atomic_fetch_add(&t->r->lost, 1);
			atomic_fetch_add(&t->r->gone, 1);
			atomic_fetch_sub(&t->r->handed, 1);
		}
		flight.image[at].gone = true;
		return true;
	}
	return false;
}

static void pop(const struct bs_taker *t)
{
	if (flight.image[flight.first].gone) {
		atomic_fetch_add(&t->r->handed, 1);
		atomic_fetch_sub(&t->r->gone, 1);
		atomic_fetch_sub(&t->r->lost, 1);
	}
	flight.count--;
	/* the count is stored first, so that a safe image never counts as lost */
	atomic_store(&t->r->unsafe, flight.count);
	atomic_store(&t->r->safe, flight.count > 0 ? flight.image[flight.first].safe
						   : bs_emit_before(t->e, t->id));
	flight.first = (flight.first + 1) % FLIGHT;
}

void bs_flight_sent(const struct bs_taker *t, const struct bs_offer *o)
{
	/* false if the cursor was set back meanwhile: earlier images are sent again first */
	const bool in_turn = atomic_load(&t->r->had) >= o->number;
	uint64_t safe;

	flight.total += o->len + FRAME;
	if (flight.count == FLIGHT)
		pop(t);
	if (flight.count == 0) {
		flight.connections = flight.offered;
		if (in_turn && atomic_load(&t->r->safe) < o->number - 1)
			atomic_store(&t->r->safe, o->number - 1);
		safe = atomic_load(&t->r->safe);
	} else {
		safe = flight.image[(flight.first + flight.count - 1) % FLIGHT].safe;
	}
	flight.image[(flight.first + flight.count) % FLIGHT].gone = false;
	flight.image[(flight.first + flight.count) % FLIGHT].number = o->number;
	flight.image[(flight.first + flight.count) % FLIGHT].safe = in_turn ? o->number : safe;
	flight.image[(flight.first + flight.count) % FLIGHT].end = flight.total;
	flight.count++;
	atomic_store(&t->r->unsafe, flight.count);
	flight.since_ns = bs_now_ns();
}

bool bs_flight_look(struct bs_taker *t)
{
	struct emit *e = t->e;
	const int64_t now = bs_now_ns();
	const uint64_t total = flight.total; /* another thread may send meanwhile */
	uint64_t connections;
	uint64_t left;
	bool again = false;
	bool there;

	if (flight.count == 0)
		atomic_store(&t->r->safe, bs_emit_before(e, t->id));
	if (t->direct || now - flight.looked_ns < LOOK_NS)
		return false;
	flight.looked_ns = now;
	(void)pthread_mutex_unlock(&e->lock);
	left = bs_endpoint_unsent(&e->archive); /* a broken connection has 0 bytes left */
	connections = bs_endpoint_connections(&e->archive);
	there = bs_endpoint_connections_now(&e->archive) != 0;
	(void)pthread_mutex_lock(&e->lock);
	if (t->direct) /* an image that is being sent cannot be sent again */
		return false;
	if (connections != flight.connections) {
		again = flight.count > 0;
		flight.count = 0;
		flight.connections = connections;
		flight.gone = 0;
	}
	if (left != flight.unsent)
		flight.since_ns = now;
	flight.unsent = left;
	while (there && flight.count > 0 &&
	       (flight.image[flight.first].end < flight.gone ||
		(left == 0 && now - flight.since_ns > BS_FLIGHT_READS_NS)))
		pop(t);
	/* the kernel counts more bytes than were sent */
	flight.gone = there && left < total ? total - left : 0;
	return again;
}

int64_t bs_flight_due(void)
{
	return flight.count > 0 ? bs_now_ns() + LOOK_NS : 0;
}

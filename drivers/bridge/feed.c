/* drivers/bridge/feed.c - see feed.h */
#include "drivers/bridge/feed.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "core/thread/clock.h"

#define MESSAGE_MAX   4096u /* bytes; the service's messages are shorter */
#define STUCK         3     /* silent connections in a row before the socket is replaced */
#define QUIET_NS      INT64_C(2000000000)
#define AT_ONCE       256                /* most messages in one step */
#define LOOK_AGAIN_NS INT64_C(200000000) /* time until the next look at a new connection */

int bs_feed_open(struct bs_feed *f, const struct bs_site *site, size_t ring_bytes,
		 struct bs_fail *why)
{
	const struct bs_keyed self = { BS_PEER_MRD, site->mrd.key };
	int rc;

	memset(f, 0, sizeof(*f));
	f->line.socket = -1;
	rc = bs_sender_open(&f->sender, ring_bytes, why);
	if (rc == 0)
		rc = bs_endpoint_connect_own(&f->line, BS_ENDPOINT_KSPACE, site, &self,
					     site->kspace_url, MESSAGE_MAX, why);
	if (rc != 0)
		bs_feed_close(f);
	return rc;
}

void bs_feed_close(struct bs_feed *f)
{
	bs_endpoint_close(&f->line);
	bs_sender_close(&f->sender);
}

int bs_feed_begin(struct bs_feed *f, const char *protocol, const char *xml, size_t len,
		  struct bs_fail *why)
{
	uint64_t session = 0;

	while (session == 0)
		if (getrandom(&session, sizeof(session), 0) != (ssize_t)sizeof(session))
			return bs_fail(why, BS_ERR_IO, "random numbers: %s", strerror(errno));
	return bs_sender_begin(&f->sender, session, protocol, xml, len, bs_now_ns(), why);
}

static int hear(struct bs_feed *f, struct bs_fail *why)
{
	unsigned char msg[MESSAGE_MAX];
	size_t len;

	for (int i = 0; i < AT_ONCE; i++) {
		const int rc = bs_endpoint_recv(&f->line, msg, sizeof(msg), &len, 0, why);
		const uint64_t answers = f->sender.answers;

		if (rc == BS_ENDPOINT_TIMEOUT || rc == BS_ENDPOINT_INTERRUPTED)
			return 0;
		if (rc != 0 && rc != BS_ERR_LENGTH)
			return rc;
		f->heard_on = f->connections;
		if (rc == 0)
			(void)bs_sender_heard(&f->sender, msg, len, bs_now_ns(), NULL);
		if (f->sender.answers != answers && f->answered != NULL)
			f->answered(f->arg, &f->sender.answer);
	}
	return 0;
}

/*
 * Mends the connection. After a reconnection, messages of the old connection are sent again. A
 * socket that reconnects STUCK times and hears nothing, or has heard nothing for QUIET_NS, is
 * replaced (ipc/endpoint.h).
 */
static int mend(struct bs_feed *f, struct bs_fail *why)
{
	const uint64_t n = bs_endpoint_connections(&f->line);
	const int64_t now = bs_now_ns();
	int rc = 0;

	if (n != f->connections)
		bs_sender_reconnected(&f->sender, now);
	f->connections = n;
	if (n - f->heard_on < STUCK && now - f->sender.heard_ns < QUIET_NS)
		return 0;
	if (now - f->renewed_ns < QUIET_NS)
		return 0;
	rc = bs_endpoint_renew(&f->line, why);
	f->connections = f->heard_on = 0;
	f->renewed_ns = now;
	return rc;
}

int bs_feed_step(struct bs_feed *f, struct bs_fail *why)
{
	const unsigned char *msg;
	size_t len;
	int rc = hear(f, why);

	if (rc != 0 || f->sender.state == BS_SENDER_ENDED || f->sender.state == BS_SENDER_IDLE)
		return rc;
	rc = mend(f, why);
	f->full = f->more = false;
	for (int i = 0; rc == 0 && i < AT_ONCE; i++) {
		if (!bs_sender_next(&f->sender, bs_now_ns(), &msg, &len))
			return 0;
		f->more = i == AT_ONCE - 1;
		rc = bs_endpoint_send(&f->line, msg, len, NULL, 0, 0, why);
		f->full = rc == BS_ENDPOINT_TIMEOUT;
		if (rc == 0)
			bs_sender_sent(&f->sender, bs_now_ns());
	}
	return rc < 0 ? rc : 0;
}

int64_t bs_feed_due(const struct bs_feed *f)
{
	const int64_t now = bs_now_ns();
	const int64_t look = now + LOOK_AGAIN_NS;
	const int64_t due = f->full ? INT64_MAX : bs_sender_due(&f->sender);

	if (f->sender.state == BS_SENDER_IDLE || f->sender.state == BS_SENDER_ENDED)
		return INT64_MAX;
	if (f->more && !f->full)
		return now;
	return due < look ? due : look;
}

/* drivers/bridge/server.c - see server.h */
#include "drivers/bridge/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/log.h"
#include "core/thread/clock.h"

#define MS        INT64_C(1000000)
#define TICK_NS   (100 * MS)        /* time between two checks of the clients' time limits */
#define LINGER_NS (5000 * MS)       /* time to read from a client after CLOSE was sent */
#define MUTE_NS   (30000 * MS)      /* time without reading after which a client loses its place */
#define LAST_NS   (1000 * MS)       /* time for the last messages when the bridge ends */
#define CHUNK     ((size_t)1 << 18) /* bytes of one read from a client with a scan */
#define SMALL     ((size_t)1 << 12) /* bytes of one read from a client without a scan */
#define WAVEFORM  ((uint64_t)1 << 20) /* most bytes of a waveform message */
#define ACCEPTS   32                  /* most connections accepted in a loop iteration */
#define RING      ((size_t)64 << 20)  /* bytes of all senders' rings; at least two readouts each */
#define SAYING    ((size_t)64 << 20)  /* bytes held for all clients without a scan */
#define READS     8                   /* most reads of a client in a loop iteration */

int bs_server_open(struct bs_server *v, const struct bs_site *site, uint64_t acquisition,
		   uint64_t image, struct bs_fail *why)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	char text[INET_ADDRSTRLEN];
	uint32_t address = 0;
	uint16_t port = 0;
	const int on = 1;
	const struct bs_keyed self = { BS_PEER_MRD, site->mrd.key };
	int rc;

	memset(v, 0, sizeof(*v));
	v->listen_fd = -1;
	bs_collector_open(&v->images, BS_PEER_MRD, 0);
	v->images.skips = true;
	v->env.site = site;
	v->env.limits = (struct bs_bridge_limits){ acquisition, WAVEFORM, BS_WIRE_XML_MAX };
	v->env.ring = RING / site->mrd.sessions;
	if (v->env.ring < 2 * (size_t)acquisition + BS_WIRE_OPEN_MAX)
		v->env.ring = 2 * (size_t)acquisition + BS_WIRE_OPEN_MAX;
	v->client = calloc(BS_SERVER_PLACES, sizeof(*v->client));
	v->spill = malloc(CHUNK);
	for (uint32_t i = 0; v->client != NULL && i < BS_SERVER_PLACES; i++)
		v->client[i].fd = -1;
	if (v->client == NULL || v->spill == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for %u clients", BS_SERVER_CLIENTS);
	rc = bs_peers_read(&v->peers, site->mrd.allow, why);
	if (rc == 0)
		rc = bs_peers_url(&address, &port, site->mrd.listen, why);
	if (rc == 0)
		rc = bs_endpoint_connect_own(&v->images.socket, BS_ENDPOINT_IMAGES_ASK, site, &self,
					     site->images_url, image, why);
	if (rc != 0)
		return rc;
	at.sin_addr.s_addr = htonl(address);
	at.sin_port = htons(port);
	v->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (v->listen_fd < 0 ||
	    setsockopt(v->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(v->listen_fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    listen(v->listen_fd, SOMAXCONN) != 0 ||
	    getsockname(v->listen_fd, (struct sockaddr *)&at, &len) != 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", site->mrd.listen, strerror(errno));
	bs_log(bs_peers_wide(&v->peers) ? BS_LOG_WARN : BS_LOG_INFO,
	       "MRD clients may connect to %s:%u%s%s",
	       inet_ntop(AF_INET, &at.sin_addr, text, sizeof(text)), ntohs(at.sin_port),
	       site->mrd.allow[0] != '\0' ? ", beside this machine " : "", site->mrd.allow);
	return 0;
}

void bs_server_close(struct bs_server *v)
{
	for (uint32_t i = 0; v->client != NULL && i < BS_SERVER_PLACES; i++)
		bs_client_free(&v->client[i]);
	free(v->client);
	free(v->spill);
	if (v->listen_fd >= 0)
		(void)close(v->listen_fd);
	bs_collector_close(&v->images);
}

/* ---- bytes ---- */

/* The buffer that is sent to the client next: an image's before texts. */
static struct bs_buffer *next_bytes(struct bs_client *c)
{
	return c->album.bytes.len > 0 || bs_album_torn(&c->album) ? &c->album.bytes : &c->out;
}

/* Sends bytes to the client until its connection takes no more. */
static void send_some(struct bs_client *c, int64_t now_ns)
{
	while (c->fd >= 0 && !c->stuck && next_bytes(c)->len > 0) {
		struct bs_buffer *b = next_bytes(c);
		const ssize_t n = send(c->fd, bs_buffer_front(b), b->len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		c->stuck = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
		if (c->stuck)
			return;
		if (n <= 0) {
			bs_client_gone(c, now_ns);
			return;
		}
		if (b == &c->out)
			bs_buffer_taken(b, (size_t)n);
		else
			bs_album_sent(&c->album, (size_t)n);
		c->wrote_ns = now_ns;
	}
	if (c->fd >= 0 && !bs_client_owed(c) && c->state == BS_CLIENT_LINGERING && !c->shut) {
		(void)shutdown(c->fd, SHUT_WR);
		c->shut = true;
		c->since_ns = now_ns;
	}
}

static bool wants_bytes(const struct bs_client *c)
{
	const size_t high = c->passing ? BS_BRIDGE_IMAGE_MAX : BS_CLIENT_OUT_HIGH;

	return c->fd >= 0 && !c->quiet && !c->blocked && c->out.len < high;
}

/* True if the buffers of all clients without a scan hold more than SAYING bytes. */
static bool say_too_much(const struct bs_server *v)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < BS_SERVER_PLACES; i++)
		if (v->client[i].state < BS_CLIENT_OPENING)
			bytes += v->client[i].in.len + v->client[i].xml_len;
	return bytes > SAYING;
}

/* The client has ended its sending, and may still read. That is no error after its CLOSE. */
static void ended(struct bs_client *c, int64_t now_ns)
{
	struct bs_fail why;

	(void)bs_fail(&why, BS_ERR_STATE, "the client's sending ended before its CLOSE%s",
		      c->feeding ? "; its scan ends with what came" : "");
	c->quiet = true;
	if (c->state == BS_CLIENT_CONFIG || c->shut)
		bs_client_gone(c, now_ns);
	else if (c->state < BS_CLIENT_ENDING)
		bs_client_fail(c, &why, now_ns);
}

static void receive_some(struct bs_server *v, struct bs_client *c, int64_t now_ns)
{
	const size_t most = bs_bridge_largest(&v->env.limits) + CHUNK;

	for (int i = 0; i < READS && wants_bytes(c); i++) {
		const bool dropped = c->state > BS_CLIENT_STREAMING;
		size_t want = c->state < BS_CLIENT_STREAMING ? SMALL : CHUNK;
		unsigned char *to;
		ssize_t n;

		to = dropped ? v->spill : bs_buffer_room(&c->in, want, most);
		if (to == NULL || (c->state < BS_CLIENT_OPENING && say_too_much(v))) {
			bs_client_fail(
				c,
				&(struct bs_fail){ BS_ERR_NOMEM, "no memory for what clients say" },
				now_ns);
			return;
		}
		n = recv(c->fd, to, want, 0);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			return;
		if (n < 0) {
			bs_client_gone(c, now_ns);
			return;
		}
		if (n == 0) {
			ended(c, now_ns);
			return;
		}
		c->heard_ns = now_ns;
		if (dropped)
			continue;
		bs_buffer_added(&c->in, (size_t)n);
		if (c->in.len >= c->need)
			bs_client_took(c, now_ns);
		else if (c->began_ns == 0)
			c->began_ns = now_ns;
		if ((size_t)n < want)
			return;
	}
}

/* ---- who is connected ---- */

/*
 * Rank of a client to be disconnected for a new one: highest for a client that has said least. 0:
 * the client stays, since it has a scan, waits for one, or takes images.
 */
static int may_go(const struct bs_client *c, int64_t now_ns)
{
	if (c->fd < 0 || c->feeding || c->state == BS_CLIENT_WAITING)
		return 0;
	if (c->state == BS_CLIENT_DRAINING || bs_client_owed(c))
		return now_ns - c->wrote_ns > MUTE_NS ? 1 : 0;
	return c->state == BS_CLIENT_LINGERING ? 1 : 4 - (int)c->state;
}

/*
 * Returns the client with the highest rank, and among equals the longest in its state. told: only
 * clients that are being disconnected are considered; else only the others.
 */
static struct bs_client *idlest(struct bs_server *v, bool told, int64_t now_ns)
{
	struct bs_client *c = NULL;
	int most = 0;

	for (uint32_t i = 0; i < BS_SERVER_PLACES; i++) {
		struct bs_client *o = &v->client[i];
		const int may = may_go(o, now_ns);

		if (may == 0 || may < most || (o->state == BS_CLIENT_LINGERING) != told ||
		    (c != NULL && may == most && o->since_ns >= c->since_ns))
			continue;
		c = o;
		most = may;
	}
	return c;
}

/* Number of connected clients; all: with those that are being disconnected. */
static uint32_t connected(const struct bs_server *v, bool all)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < BS_SERVER_PLACES; i++)
		n += v->client[i].fd >= 0 && (all || v->client[i].state != BS_CLIENT_LINGERING);
	return n;
}

/* Finds a place for a new client; NULL: none. *full: the new client is to be refused in it. */
static struct bs_client *place(struct bs_server *v, bool *full, int64_t now_ns)
{
	const struct bs_fail why = { BS_ERR_STATE,
				     "too many clients are connected: this one, which "
				     "has no scan, makes room" };
	struct bs_client *goes = NULL;

	if (connected(v, false) >= BS_SERVER_CLIENTS)
		goes = idlest(v, false, now_ns);
	*full = goes == NULL && connected(v, false) >= BS_SERVER_CLIENTS;
	for (uint32_t i = 0; i < BS_SERVER_PLACES && goes == NULL; i++)
		if (bs_client_over(&v->client[i]))
			return &v->client[i];
	if (goes != NULL) {
		bs_client_text(goes, BS_SAY_ERROR, "%s: %s", bs_err_name(why.code), why.text);
		bs_client_close(goes, now_ns);
		send_some(goes, now_ns);
		v->dropped++;
	} else {
		goes = idlest(v, true, now_ns);
	}
	if (goes != NULL)
		bs_client_free(goes);
	return goes;
}

/* Accepts a connection. False: none waits. */
static bool admit(struct bs_server *v, int64_t now_ns)
{
	struct sockaddr_in from = { 0 };
	socklen_t len = sizeof(from);
	char text[INET_ADDRSTRLEN] = "?";
	const int on = 1;
	const struct bs_fail full = { BS_ERR_STATE,
				      "too many clients are connected, and each has a scan, waits "
				      "for one, or takes images: try again later" };
	const int fd =
		accept4(v->listen_fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct bs_client *c;
	bool told;

	if (fd < 0)
		return errno == ECONNABORTED || errno == EINTR;
	if (from.sin_family != AF_INET || !bs_peers_has(&v->peers, ntohl(from.sin_addr.s_addr))) {
		if (v->strangers++ % 1000 == 0)
			bs_log(BS_LOG_WARN,
			       "%s is not in bridges.mrd.allow: its connection is closed (%llu so "
			       "far)",
			       inet_ntop(AF_INET, &from.sin_addr, text, sizeof(text)),
			       (unsigned long long)v->strangers);
		(void)close(fd);
		return true;
	}
	c = place(v, &told, now_ns);
	if (c == NULL) { /* all places are taken by clients that do not read their refusal */
		(void)close(fd);
		return true;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	bs_client_begin(c, &v->env, fd, now_ns);
	(void)snprintf(c->peer, sizeof(c->peer), "%s:%u",
		       inet_ntop(AF_INET, &from.sin_addr, text, sizeof(text)),
		       ntohs(from.sin_port));
	if (told)
		bs_client_fail(c, &full, now_ns);
	return true;
}

/* ---- the loop ---- */

struct watched {
	struct pollfd fd[2 + BS_SERVER_PLACES * 3];
	uint32_t of[BS_SERVER_PLACES]; /* index of a client's socket in fd; 0: none */
	unsigned n;
	int64_t until_ns;
};

static void watch(struct watched *w, int fd, short events)
{
	w->fd[w->n++] = (struct pollfd){ .fd = fd, .events = events };
}

static void watch_all(struct bs_server *v, struct watched *w, int64_t now_ns)
{
	w->n = 0;
	w->until_ns = now_ns + 10 * TICK_NS;
	watch(w, v->listen_fd, POLLIN);
	watch(w, v->images.socket.receive_fd, POLLIN);
	if (bs_collector_due(&v->images) < w->until_ns)
		w->until_ns = bs_collector_due(&v->images);
	for (uint32_t i = 0; i < BS_SERVER_PLACES; i++) {
		struct bs_client *c = &v->client[i];

		w->of[i] = 0;
		if (bs_client_over(c))
			continue;
		w->until_ns = now_ns + TICK_NS < w->until_ns ? now_ns + TICK_NS : w->until_ns;
		if (c->fd >= 0) {
			w->of[i] = w->n;
			watch(w, c->fd,
			      (short)((wants_bytes(c) ? POLLIN : 0) |
				      (bs_client_owed(c) && c->stuck ? POLLOUT : 0)));
		}
		if (!c->feeding)
			continue;
		watch(w, c->feed.line.receive_fd, POLLIN);
		if (c->feed.full)
			watch(w, c->feed.line.send_fd, POLLIN);
		if (bs_feed_due(&c->feed) < w->until_ns)
			w->until_ns = bs_feed_due(&c->feed);
	}
}

static void serve_client(struct bs_server *v, struct bs_client *c, int events, int64_t now_ns)
{
	const int64_t mute_ns = (int64_t)(v->env.site->mrd.idle_s * 1e9);

	if (events & POLLIN)
		receive_some(v, c, now_ns);
	else if (events & (POLLERR | POLLHUP))
		bs_client_gone(c, now_ns);
	if (events & POLLOUT)
		c->stuck = false;
	bs_client_advance(c, now_ns);
	send_some(c, now_ns);
	if (c->fd < 0)
		return;
	if (!bs_client_owed(c))
		c->wrote_ns = now_ns;
	if (now_ns - c->wrote_ns > mute_ns || (c->shut && now_ns - c->since_ns > LINGER_NS))
		bs_client_gone(c, now_ns);
}

static int once(struct bs_server *v, struct watched *w, struct bs_fail *why)
{
	int64_t now;
	int rc;

	watch_all(v, w, bs_now_ns());
	rc = bs_endpoint_wait(w->fd, w->n, w->until_ns, why);
	if (rc < 0)
		return rc;
	if (rc != 0)
		for (unsigned i = 0; i < w->n; i++)
			w->fd[i].revents = 0;
	rc = bs_server_deal(v, why);
	now = bs_now_ns();
	for (uint32_t i = 0; i < BS_SERVER_PLACES; i++)
		if (!bs_client_over(&v->client[i])) {
			serve_client(v, &v->client[i], w->of[i] != 0 ? w->fd[w->of[i]].revents : 0,
				     now);
			if (bs_client_over(&v->client[i]))
				bs_client_free(&v->client[i]);
		}
	for (int i = 0; (w->fd[0].revents & POLLIN) && i < ACCEPTS && admit(v, now); i++)
		;
	return rc;
}

/* Writes the clients' counts to the pipe if they changed. A full pipe is tried again later. */
static void report_clients(struct bs_server *v, int report)
{
	struct bs_bridge_clients c = { .scans = v->env.opened,
				       .images = v->env.images,
				       .refused = v->env.refused,
				       .active = v->env.scans };

	c.connected = connected(v, true);
	memcpy(c.error, v->env.error, sizeof(c.error));
	if (report > 0 && memcmp(&c, &v->reported, sizeof(c)) != 0 &&
	    write(report, &c, sizeof(c)) == (ssize_t)sizeof(c))
		v->reported = c;
}

/* Tells the connected clients that the bridge ends. */
static void say_goodbye(struct bs_server *v, struct watched *w)
{
	const struct bs_fail why = { BS_ERR_ABORTED, "the bridge ends" };
	const int64_t until = bs_now_ns() + LAST_NS;
	bool any = true;

	for (uint32_t i = 0; i < BS_SERVER_PLACES; i++)
		if (v->client[i].fd >= 0)
			bs_client_fail(&v->client[i], &why, bs_now_ns());
	while (any && bs_now_ns() < until && once(v, w, NULL) == 0) {
		any = false;
		for (uint32_t i = 0; i < BS_SERVER_PLACES; i++)
			any = any || v->client[i].feeding || bs_client_owed(&v->client[i]);
	}
}

int bs_server_run(struct bs_server *v, const volatile sig_atomic_t *stop, int report,
		  struct bs_fail *why)
{
	static struct watched w;
	int rc = 0;

	while (rc == 0 && !*stop) {
		rc = once(v, &w, why);
		report_clients(v, report);
	}
	if (rc == 0)
		say_goodbye(v, &w);
	bs_log(BS_LOG_INFO, "scans of MRD clients: %llu, images to them: %llu",
	       (unsigned long long)v->env.opened, (unsigned long long)v->env.images);
	return rc;
}

/*
 * test/unit/ipc/test_gate.c - the endpoint of many peers: libraries' sockets and raw ones that
 * misbehave, over ipc and tcp. This thread drives the gate: a raw peer's bytes lie in its socket.
 */
/* Holds: W19, W20, W21 */
#define _GNU_SOURCE
#include "ipc/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/thread/clock.h"
#include "ipc/endpoint.h"
#include "test/support/await.h"
#include "test/support/check.h"
#include "test/support/crowd.h"

static const struct bs_gate_spec plain;

#define MAX (300u << 10)

static char dir[] = "/tmp/boreside-gate-XXXXXX";
static char urls[2][128];
static struct bs_gate g;
static unsigned char bytes[MAX], back[MAX];

/* The next message of this peer, or of any (0); others' are released. */
static bool next(struct bs_gate_message *m, uint64_t peer)
{
	for (int64_t limit = await_limit(); await_now_ns() < limit;) {
		struct pollfd fd = { .fd = g.fd, .events = POLLIN };

		while (bs_gate_take(&g, m)) {
			if (peer == 0 || m->peer == peer)
				return true;
			bs_gate_release(&g, m->peer);
		}
		(void)poll(&fd, 1, 100);
	}
	return false;
}

/* Turns the gate over until nothing is left to do. */
static void settle(void)
{
	struct bs_gate_message m;

	while (bs_gate_take(&g, &m))
		bs_gate_release(&g, m.peer);
}

static bool open_gate(const char *url)
{
	struct bs_fail why = { 0 };
	int rc = bs_gate_open(&g, url, MAX, &plain, &why);

	CHECK(rc == 0, "a gate at %.4s %s", url, why.text);
	return rc == 0;
}

/* Sends by a library's socket, which waits until the gate has shaken hands. */
static bool push(struct bs_endpoint *e, const void *msg, size_t len)
{
	int64_t limit = await_limit();
	int rc;

	while ((rc = bs_endpoint_send(e, msg, len, NULL, 0, 1, NULL)) == BS_ENDPOINT_TIMEOUT &&
	       await_now_ns() < limit)
		settle();
	return rc == 0;
}

/* A library's PAIR that sends one message and gets an answer. */
static bool good_peer(const char *url)
{
	struct bs_endpoint e;
	struct bs_gate_message m;
	size_t len = 0;
	bool good;

	if (bs_endpoint_connect(&e, BS_ENDPOINT_KSPACE, url, MAX, NULL) != 0)
		return false;
	good = push(&e, "hello, gate", 11);
	do
		good = good && next(&m, 0);
	while (good && (m.len != 11 || memcmp(m.msg, "hello, gate", 11) != 0) &&
	       (bs_gate_release(&g, m.peer), true));
	good = good && bs_gate_send(&g, m.peer, "good", 4, " day", 4) == 0;
	if (good)
		bs_gate_release(&g, m.peer);
	good = good && bs_endpoint_recv(&e, back, MAX, &len, AWAIT_MS, NULL) == 0 && len == 8 &&
	       memcmp(back, "good day", 8) == 0;
	bs_endpoint_close(&e);
	return good;
}

/* ---- libraries ---- */

static void test_sizes(const char *url)
{
	static const size_t sizes[] = { 1, 0, 63, 64, 65, 1000, 100000, MAX - 1, MAX };
	struct bs_gate_message m;
	struct bs_endpoint e;
	size_t bad = 0;

	CHECK(bs_endpoint_connect(&e, BS_ENDPOINT_KSPACE, url, MAX, NULL) == 0, "a PAIR connects");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		bool came;

		came = push(&e, bytes, sizes[i]) && next(&m, 0);
		bad += !came || m.len != sizes[i] || !m.whole || (uintptr_t)m.msg % 8 != 0 ||
		       memcmp(m.msg, bytes, sizes[i]) != 0;
		if (came)
			bs_gate_release(&g, m.peer);
	}
	CHECK(bad == 0, "messages of no byte to the longest come whole, byte by byte");
	bs_endpoint_close(&e);
}

static void test_two(const char *url)
{
	struct bs_endpoint e[2];
	struct bs_gate_message m[2];
	size_t len = 0;

	for (int i = 0; i < 2; i++)
		CHECK(bs_endpoint_connect(&e[i], BS_ENDPOINT_KSPACE, url, MAX, NULL) == 0 &&
			      push(&e[i], i == 0 ? "a" : "b", 1) && next(&m[i], 0),
		      "PAIR %d connects", i);
	CHECK(m[0].peer != m[1].peer, "both are heard");
	for (int i = 0; i < 2; i++) {
		unsigned char who = m[i].msg[0];

		CHECK(bs_gate_send(&g, m[i].peer, &who, 1, NULL, 0) == 0 &&
			      bs_endpoint_recv(&e[who - 'a'], back, MAX, &len, AWAIT_MS, NULL) ==
				      0 &&
			      len == 1 && back[0] == who,
		      "peer %c gets its own answer", who);
		bs_gate_release(&g, m[i].peer);
	}
	for (int i = 0; i < 2; i++)
		bs_endpoint_close(&e[i]);
}

/* A message is kept, and its peer is read on; the buffer is another's when it is done with. */
static void test_keep(const char *url)
{
	struct bs_gate_message m[BS_GATE_KEEP];
	struct bs_gate_message after = { 0 };
	struct bs_endpoint e;
	unsigned kept = 0;

	CHECK(bs_endpoint_connect(&e, BS_ENDPOINT_KSPACE, url, MAX, NULL) == 0, "a PAIR connects");
	for (int round = 0; round < 3; round++) {
		for (unsigned i = 0; i < BS_GATE_KEEP; i++)
			kept += push(&e, bytes + i, 1000) && next(&m[i], 0) &&
				bs_gate_keep(&g, m[i].peer);
		CHECK(push(&e, "on", 2) && next(&after, 0) && after.len == 2 &&
			      !bs_gate_keep(&g, after.peer),
		      "it is read on; so short a message is not kept");
		for (unsigned i = 0; i < BS_GATE_KEEP; i++) {
			kept -= memcmp(m[i].msg, bytes + i, 1000) == 0;
			bs_gate_forgo(&g, m[i].msg);
		}
		CHECK(kept == 0, "what was kept stays as it is: %u did not", kept);
	}
	CHECK(push(&e, bytes, MAX) && next(&after, 0), "and a buffer is free again");
	bs_gate_release(&g, after.peer);
	bs_endpoint_close(&e);
}

/* ---- what no library does ---- */

/* A peer whose handshake is done. */
static int shaken(const char *url)
{
	int fd = crowd_dial(url);

	(void)crowd_greet(fd);
	settle();
	(void)crowd_greeted(fd);
	return fd;
}

/* nanomsg's own PAIR locks everybody out after one such peer of about 25. */
static void test_come_and_go(const char *url)
{
	for (int i = 0; i < 300; i++)
		(void)close(shaken(url));
	CHECK(good_peer(url), "300 peers shook hands and left: the next one is served");
	for (int i = 0; i < 300; i++) {
		int fd = crowd_dial(url);

		if (i % 2 == 0)
			settle();
		(void)close(fd);
	}
	CHECK(good_peer(url), "300 peers left before they shook hands: the next one is served");
	settle();
	CHECK(bs_gate_peers(&g) == 0 && g.vacancies == g.places, "no place is lost");
}

static void test_split(const char *url)
{
	static unsigned char stream[4096];
	static const size_t sizes[] = { 3, 64, 0, 65, 1, 0 };
	struct bs_gate_message m;
	size_t n = 0;
	size_t bad = 0;
	size_t at = 0;
	int fd = shaken(url);

	for (int i = 0; i < 6; i++) {
		n += crowd_length(stream + n, url, sizes[i]);
		memcpy(stream + n, bytes + i, sizes[i]);
		n += sizes[i];
	}
	for (size_t i = 0; i < n; i++) {
		(void)crowd_put(fd, stream + i, 1);
		while (bs_gate_take(&g, &m)) {
			bad += at >= 6 || m.len != sizes[at] ||
			       memcmp(m.msg, bytes + at, sizes[at]) != 0;
			at++;
			bs_gate_release(&g, m.peer);
		}
	}
	CHECK(bad == 0 && at == 6, "a stream that comes byte by byte: %zu messages", at);
	(void)crowd_put(fd, stream, n);
	for (at = 0; at < 6 && next(&m, 0); at++) {
		bad += m.len != sizes[at] || memcmp(m.msg, bytes + at, sizes[at]) != 0;
		bs_gate_release(&g, m.peer);
	}
	CHECK(bad == 0 && at == 6, "the same at once: %zu messages", at);
	(void)close(fd);
}

static void test_nonsense(const char *url)
{
	static const unsigned char wrong[][8] = { { 0, 'S', 'P', 0, 0, 48, 0, 0 },
						  { 0, 'S', 'P', 1, 0, 16, 0, 0 },
						  { 'G', 'E', 'T', ' ', '/', ' ', 'H', 'T' },
						  { 0, 'S', 'P', 0, 0, 16, 0, 1 } };
	const uint64_t before = g.nonsense;
	unsigned char head[9];
	unsigned refused = 0;
	int fd;

	for (size_t i = 0; i < 4; i++) {
		fd = crowd_dial(url);
		(void)crowd_put(fd, wrong[i], 8);
		settle();
		refused += crowd_hung_up(fd);
		(void)close(fd);
	}
	fd = shaken(url);
	(void)crowd_put(fd, head, crowd_length(head, url, UINT64_MAX));
	settle();
	refused += crowd_hung_up(fd);
	(void)close(fd);
	CHECK(refused == 5 && g.nonsense == before + 5, "nonsense ends a connection, and no more");
	fd = shaken(url);
	(void)crowd_length(head, url, 70);
	head[0] = 7; /* over ipc no kind of message: nanomsg ends its process; over tcp too long */
	(void)crowd_put(fd, head, 9);
	settle();
	CHECK(crowd_hung_up(fd), "a wrong byte before a length, too");
	(void)close(fd);
	CHECK(good_peer(url), "and a good peer is served");
}

static void test_too_long(const char *url)
{
	struct bs_gate_message m;
	static unsigned char more[MAX + 1000];
	int fd = shaken(url);

	memcpy(more, bytes, BS_GATE_HEAD);
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	for (int round = 0; round < 2; round++) {
		unsigned char head[9];
		size_t n = crowd_length(head, url, sizeof(more));
		size_t at = 0;
		bool came = false;

		(void)crowd_put(fd, head, n);
		for (int64_t limit = await_limit(); !came && await_now_ns() < limit;) {
			ssize_t done = send(fd, more + at, sizeof(more) - at, MSG_NOSIGNAL);

			at += done > 0 ? (size_t)done : 0;
			came = bs_gate_take(&g, &m);
		}
		CHECK(came && !m.whole && m.len == sizeof(more) &&
			      memcmp(m.msg, bytes, BS_GATE_HEAD) == 0,
		      "a message that is too long is told, with its beginning");
		bs_gate_release(&g, m.peer);
	}
	(void)crowd_say(fd, url, "short", 5);
	CHECK(next(&m, 0) && m.whole && m.len == 5, "the next one of the same peer is taken");
	bs_gate_release(&g, m.peer);
	(void)close(fd);
	settle();
}

/* ---- more than there is room for ---- */

static void test_crowd(const char *url)
{
	static int fd[BS_GATE_PEERS + 100];
	struct bs_gate_message m;
	const uint64_t before = g.let_go;
	unsigned here = 0;
	uint64_t scan;
	uint64_t known;

	fd[0] = shaken(url);
	(void)crowd_say(fd[0], url, "scan", 4);
	CHECK(next(&m, 0), "one whose scan runs");
	scan = m.peer;
	bs_gate_favor(&g, scan);
	bs_gate_release(&g, scan);
	fd[1] = shaken(url);
	(void)crowd_say(fd[1], url, "known", 5);
	CHECK(next(&m, 0), "one that is known");
	known = m.peer;
	bs_gate_vouch(&g, known);
	bs_gate_release(&g, known);
	for (unsigned i = 2; i < g.places + 100; i++) {
		fd[i] = crowd_dial(url);
		if (i % 3 != 0)
			(void)crowd_greet(fd[i]);
		settle();
	}
	CHECK(bs_gate_peers(&g) == g.places && g.let_go - before == 100,
	      "%u places are full, %llu had to go", g.places,
	      (unsigned long long)(g.let_go - before));
	CHECK(bs_gate_here(&g, scan) && bs_gate_here(&g, known), "but those two");
	CHECK(good_peer(url), "the next one is served");
	for (unsigned i = 2; i < g.places + 100; i++) {
		char byte;

		here += recv(fd[i], &byte, 1, MSG_DONTWAIT | MSG_PEEK) != 0;
		(void)close(fd[i]);
	}
	CHECK(here >= g.places - 3, "of the crowd %u are still there", here);
	(void)close(fd[0]);
	(void)close(fd[1]);
	settle();
	CHECK(g.favored == 0 && bs_gate_peers(&g) == 0, "all have left");
}

/* Whoever else is vouched for: the scan's sender, idle and of the lowest rank, stays. */
static void test_favored(const char *url)
{
	static int fd[BS_GATE_PEERS + 1];
	struct bs_gate_message m;
	uint64_t scan = 0;
	unsigned unheard = 0;

	for (unsigned i = 0; i <= g.places; i++) {
		fd[i] = shaken(url);
		(void)crowd_say(fd[i], url, "scan", 4);
		if (!next(&m, 0)) {
			unheard++;
			continue;
		}
		if (i == 0)
			bs_gate_favor(&g, scan = m.peer);
		else
			bs_gate_vouch(&g, m.peer);
		bs_gate_release(&g, m.peer);
	}
	CHECK(unheard == 0 && bs_gate_peers(&g) == g.places && bs_gate_here(&g, scan),
	      "the scan's sender stays among %u that are vouched for", g.places);
	for (unsigned i = 0; i <= g.places; i++)
		(void)close(fd[i]);
	settle();
}

/* Peers that send half a message and stop: more of them than there are buffers. */
static void test_halves(const char *url)
{
	int fd[40];
	unsigned char head[9];
	struct bs_gate_message m;
	int scanner = shaken(url);
	uint64_t scan;
	const size_t n = crowd_length(head, url, 1000);

	(void)crowd_say(scanner, url, "scan", 4);
	CHECK(next(&m, 0), "one whose scan runs");
	scan = m.peer;
	bs_gate_favor(&g, scan);
	bs_gate_release(&g, scan);
	(void)crowd_put(scanner, head, n);
	(void)crowd_put(scanner, bytes, 500);
	settle();
	for (int i = 0; i < 40; i++) {
		fd[i] = shaken(url);
		(void)crowd_put(fd[i], head, n);
		(void)crowd_put(fd[i], bytes, 500);
		settle();
	}
	CHECK(good_peer(url), "40 peers stopped within a message: the next one is served");
	CHECK(crowd_say(fd[0], url, "x", 1) == false || crowd_hung_up(fd[0]),
	      "the first of them had to go");
	(void)crowd_put(scanner, bytes + 500, 500);
	CHECK(next(&m, scan) && m.len == 1000 && memcmp(m.msg, bytes, 1000) == 0,
	      "the scan's own half is kept for it");
	bs_gate_release(&g, scan);
	for (int i = 0; i < 40; i++)
		(void)close(fd[i]);
	(void)close(scanner);
	settle();
}

/* Messages that the caller keeps: their peers wait, the others and the scan do not. */
static void test_kept(const char *url)
{
	int fd[BS_GATE_KEEP];
	struct bs_gate_message m;
	struct bs_gate_message kept[BS_GATE_KEEP];
	int scanner = shaken(url);
	uint64_t scan;
	unsigned bad = 0;

	(void)crowd_say(scanner, url, "scan", 4);
	CHECK(next(&m, 0), "one whose scan runs");
	scan = m.peer;
	bs_gate_favor(&g, scan);
	bs_gate_release(&g, scan);
	for (unsigned i = 0; i < BS_GATE_KEEP; i++) {
		fd[i] = shaken(url);
		(void)crowd_say(fd[i], url, bytes + i, 200);
		CHECK(next(&kept[i], 0), "a message that is kept");
		(void)crowd_say(fd[i], url, "more", 4);
	}
	CHECK(!bs_gate_take(&g, &m), "what their peers say next waits");
	(void)crowd_say(scanner, url, bytes, 5000);
	CHECK(next(&m, scan) && m.len == 5000, "the scan goes on");
	bs_gate_release(&g, scan);
	CHECK(good_peer(url), "another peer is served");
	for (unsigned i = 0; i < BS_GATE_KEEP; i++)
		bad += memcmp(kept[i].msg, bytes + i, 200) != 0;
	CHECK(bad == 0, "what is kept stays as it is");
	(void)close(fd[0]);
	settle();
	CHECK(!bs_gate_here(&g, kept[0].peer) && bs_gate_here(&g, kept[1].peer) &&
		      memcmp(kept[0].msg, bytes, 200) == 0,
	      "a peer that hangs up meanwhile is seen to; its message is kept");
	for (unsigned i = 0; i < BS_GATE_KEEP; i++) {
		bs_gate_release(&g, kept[i].peer);
		CHECK(next(&m, kept[i].peer) && m.len == 4, "what was said before comes after it");
		bs_gate_release(&g, m.peer);
		if (i > 0)
			(void)close(fd[i]);
	}
	(void)close(scanner);
	settle();
	CHECK(bs_gate_peers(&g) == 0, "all have left");
}

static void test_deaf_peer(const char *url)
{
	struct bs_gate_message m;
	int fd = shaken(url);
	unsigned sent = 0;
	int rc = 0;

	(void)crowd_say(fd, url, "hello", 5);
	CHECK(next(&m, 0), "a peer that will not read");
	bs_gate_release(&g, m.peer);
	while (rc == 0 && sent < 100000 && ++sent)
		rc = bs_gate_send(&g, m.peer, bytes, 600, NULL, 0);
	CHECK(rc == BS_ENDPOINT_TIMEOUT && sent > 1, "%u answers, then it does not take more",
	      sent);
	CHECK(good_peer(url), "another peer is served");
	for (unsigned i = 0; i + 1 < sent; i++) {
		unsigned char head[9];

		settle();
		if (!crowd_get(fd, head, bs_url_is_ipc(url) ? 9 : 8) || !crowd_get(fd, back, 600) ||
		    memcmp(back, bytes, 600) != 0) {
			CHECK(false, "answer %u of %u came whole", i, sent);
			break;
		}
	}
	AWAIT(bs_gate_send(&g, m.peer, "on", 2, NULL, 0) == 0);
	CHECK(bs_gate_send(&g, m.peer, bytes, BS_GATE_OUT, NULL, 0) == BS_ERR_IO,
	      "an answer beyond the longest is refused");
	(void)close(fd);
	AWAIT((settle(), !bs_gate_here(&g, m.peer)));
	CHECK(bs_gate_send(&g, m.peer, "on", 2, NULL, 0) == BS_ERR_IO, "it is gone");
}

static void test_places(void)
{
	struct bs_gate other;
	struct bs_fail why = { 0 };
	char name[64];
	struct bs_gate_message m;
	char expected[64];
	int fd = shaken(urls[0]);
	char path[160];

	(void)crowd_say(fd, urls[0], "who am I", 8);
	CHECK(next(&m, 0), "a peer");
	CHECK(bs_gate_name(&g, m.peer, name, sizeof(name)) == (int)getpid(), "its process");
	(void)snprintf(expected, sizeof(expected), "process %d of user %u", (int)getpid(),
		       (unsigned)getuid());
	CHECK(strcmp(name, expected) == 0, "it is %s", name);
	bs_gate_release(&g, m.peer);
	(void)close(fd);
	CHECK(bs_gate_open(&other, urls[0], MAX, &plain, &why) == BS_ERR_IO && other.fd == -1,
	      "a socket that is served is not taken: %s", why.text);
	(void)snprintf(path, sizeof(path), "ipc://%s/file", dir);
	(void)close(open(path + 6, O_CREAT | O_WRONLY, 0600));
	CHECK(bs_gate_open(&other, path, MAX, &plain, &why) == BS_ERR_IO &&
		      access(path + 6, F_OK) == 0,
	      "a file is not deleted: %s", why.text);
	CHECK(bs_gate_open(&other, "ws://127.0.0.1:9", MAX, &plain, &why) == BS_ERR_CONFIG &&
		      bs_gate_open(&other, urls[0], 0, &plain, &why) == BS_ERR_CONFIG,
	      "another transport, and messages of no length: %s", why.text);
	(void)unlink(path + 6);
}

/* Fewer descriptors than peers: the gate knows its limit, and keeps to it. */
static void test_few_files(void)
{
	const struct rlimit few = { 200, 200 };
	int fd[60];

	bs_gate_close(&g);
	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0 && open_gate(urls[0]), "200 descriptors");
	CHECK(g.places == 136, "%u places", g.places);
	for (int i = 0; i < 60; i++)
		fd[i] = shaken(urls[0]);
	/* the process, which is both sides here, runs out of them */
	for (int i = 0; i < 60; i++) {
		int more = dup(0);

		(void)more;
	}
	int last = dup(0);

	while (last >= 0)
		last = dup(0);
	CHECK(errno == EMFILE, "no descriptor is left");
	settle();
	(void)close(fd[59]);
	fd[59] = crowd_dial(urls[0]);
	CHECK(fd[59] >= 0 && crowd_greet(fd[59]), "a peer connects; nobody can accept it");
	settle();
	settle();
	CHECK(crowd_greeted(fd[59]), "somebody else had to go for it");
}

int main(void)
{
	const struct rlimit many = { 4096, 4096 };
	struct rlimit r;

	if (mkdtemp(dir) == NULL)
		return 1;
	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_max > many.rlim_cur) {
		r.rlim_cur = many.rlim_cur;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
	(void)snprintf(urls[0], sizeof(urls[0]), "ipc://%s/k", dir);
	(void)snprintf(urls[1], sizeof(urls[1]), "tcp://127.0.0.1:%d",
		       20000 + (int)getpid() % 9973);
	for (size_t i = 0; i < MAX; i++)
		bytes[i] = (unsigned char)(i * 7 + (i >> 8));
	for (int i = 0; i < 2; i++) {
		if (!open_gate(urls[i]))
			continue;
		test_sizes(urls[i]);
		test_two(urls[i]);
		test_keep(urls[i]);
		test_come_and_go(urls[i]);
		test_split(urls[i]);
		test_nonsense(urls[i]);
		test_too_long(urls[i]);
		test_crowd(urls[i]);
		test_favored(urls[i]);
		test_halves(urls[i]);
		test_kept(urls[i]);
		test_deaf_peer(urls[i]);
		bs_gate_close(&g);
	}
	if (open_gate(urls[0])) {
		test_places();
		test_few_files();
		bs_gate_close(&g);
	}
	CHECK(rmdir(dir) == 0, "the socket's file is gone with the gate");
	return check_done();
}

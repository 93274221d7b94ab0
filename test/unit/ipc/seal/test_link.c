/*
 * test/unit/ipc/seal/test_link.c - sealed connections over tcp: a gate with a lock, clients of
 * several keys, raw ones that say what was not sealed; questions and answers. One thread drives
 * both sides: each waits for the other by turns.
 */
/* Holds: W23, W24, W26, S3, S4 */
#define _GNU_SOURCE
#include "ipc/seal/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ipc/endpoint.h"
#include "ipc/gate.h"
#include "ipc/desk.h"
#include "test/support/await.h"
#include "test/support/check.h"

#define MAX  (300u << 10)
#define LONG (3u << 20)
#define UNTIL(condition)                                                                           \
	for (int64_t await_end = await_limit(); !(condition) && await_now_ns() < await_end;        \
	     await_pause_ms(1))
#define RECORD 11u /* bytes of a small message */

static char url[64];
static struct bs_gate g;
static struct bs_seal_record record;
static struct bs_seal_keys service, client[4]; /* scanner, status, unknown, of another service */
static unsigned char bytes[LONG], back[LONG];

/* A port that the kernel gives: free a moment ago. */
static void choose_url(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, n) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &n) != 0)
		abort();
	(void)close(fd);
	(void)snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", ntohs(at.sin_port));
}

static void draw(struct bs_ik_pair *p, uint8_t seed)
{
	memset(p->secret, seed, sizeof(p->secret));
	bs_ik_public(p->pub, p->secret);
}

static void know(const char *name, const struct bs_ik_pair *who, uint32_t roles)
{
	struct bs_seal_peer *p = &service.peer[service.peers++];

	(void)snprintf(p->name, sizeof(p->name), "%s", name);
	memcpy(p->key, who->pub, sizeof(p->key));
	p->roles = roles;
}

static void make_keys(void)
{
	struct bs_ik_pair other;

	service.suite = bs_suite_best();
	draw(&service.own, 1);
	draw(&other, 9);
	for (int i = 0; i < 4; i++) {
		draw(&client[i].own, (uint8_t)(2 + i % 3));
		memcpy(client[i].peer[0].key, i < 3 ? service.own.pub : other.pub, BS_IK_KEY);
		client[i].peers = 1;
		client[i].suite = bs_suite_best();
	}
	know("mr1", &client[0].own, BS_ROLE_SCANNER | BS_ROLE_ARCHIVE);
	know("desk", &client[1].own, BS_ROLE_STATUS);
}

static bool open_gate(void)
{
	const struct bs_gate_spec spec = {
		.keys = &service, .endpoint = "kspace", .roles = BS_ROLE_SCANNER, .record = &record
	};
	struct bs_fail why = { 0 };
	int rc = BS_ERR_IO;

	for (int i = 0; rc != 0 && i < 20; i++) {
		choose_url();
		rc = bs_gate_open(&g, url, MAX, &spec, &why);
	}
	CHECK(rc == 0, "a gate with a lock %s", why.text);
	return rc == 0;
}

/* Turns the gate over; a message is answered with itself. */
static void echo(void)
{
	struct bs_gate_message m;

	while (bs_gate_take(&g, &m)) {
		if (m.whole)
			(void)bs_gate_send(&g, m.peer, m.msg, m.len < 900 ? (size_t)m.len : 900,
					   NULL, 0);
		bs_gate_release(&g, m.peer);
	}
}

/* Sends and gets the echo. */
static bool round_trip(struct bs_seal_link *l, size_t n)
{
	const unsigned char *msg;
	size_t len = 0;
	int rc = BS_ENDPOINT_TIMEOUT;

	UNTIL((rc = bs_seal_link_send(l, bytes, n / 2, bytes + n / 2, n - n / 2, 0, NULL)) !=
	      BS_ENDPOINT_TIMEOUT)
	echo();
	if (rc != 0)
		return false;
	UNTIL((rc = bs_seal_link_take(l, &msg, &len, 0, NULL)) != BS_ENDPOINT_TIMEOUT)
	echo();
	n = n < 900 ? n : 900;
	return rc == 0 && len == n && memcmp(msg, bytes, n) == 0;
}

static struct bs_seal_link *open_link(const struct bs_seal_keys *keys)
{
	struct bs_seal_link *l = NULL;

	CHECK(bs_seal_link_open(&l, url, "kspace", false, MAX, keys, NULL) == 0, "a link");
	return l;
}

static void messages(enum bs_suite of_service, enum bs_suite of_client)
{
	static const size_t sizes[] = { 0, 1, 63, 64, 65, 80, 1000, 100000, MAX };
	struct bs_seal_link *l;
	unsigned good = 0;
	bool now = false;

	if (!bs_suite_has(of_service) || !bs_suite_has(of_client)) {
		SKIP("suites %d and %d: this processor does not have them", of_service, of_client);
		return;
	}
	service.suite = of_service;
	client[0].suite = of_client;
	l = open_link(&client[0]);
	for (size_t i = 0; l != NULL && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		good += round_trip(l, sizes[i]);
	CHECK(good == 9 && bs_seal_link_connections(l, &now) == 1 && now,
	      "suites %d and %d: %u of 9 messages there and back on one connection", of_service,
	      of_client, good);
	bs_seal_link_close(l);
	service.suite = client[0].suite = bs_suite_best();
}

/* Too long for the gate: not believed, told as unreadable; the connection goes on. */
static void too_long(void)
{
	struct bs_seal_link *l = open_link(&client[0]);
	struct bs_gate_message m = { 0 };
	bool told = false;
	int rc = BS_ENDPOINT_TIMEOUT;

	if (l == NULL || !round_trip(l, 10))
		return;
	(void)bs_seal_link_send(l, bytes, MAX + 1, NULL, 0, 0, NULL);
	for (int64_t limit = await_limit(); !told && await_now_ns() < limit; await_pause_ms(1)) {
		const unsigned char *msg;
		size_t len;

		told = bs_gate_take(&g, &m);
		rc = bs_seal_link_take(l, &msg, &len, 0, NULL);
	}
	CHECK(told && !m.whole && m.len == MAX + 1 && m.msg[0] == 0 && rc == BS_ENDPOINT_TIMEOUT,
	      "a message that is too long is told, and nothing of it is believed");
	bs_gate_release(&g, m.peer);
	CHECK(round_trip(l, 20), "what follows it opens");
	bs_seal_link_close(l);
}

static void kept_out(void)
{
	static const struct {
		int client;
		const char *what, *words;
	} cases[] = {
		{ 1, "a key without the role",
		  "refuses: the key of 'desk' has no role for kspace" },
		{ 2, "a key that is not known", "does not know this key" },
		{ 3, "another service's key", "does not know this key" },
	};

	for (size_t i = 0; i < 3; i++) {
		const uint64_t unknown = atomic_load(&record.unknown);
		const uint64_t refused = atomic_load(&record.refused);
		struct bs_seal_link *l = open_link(&client[cases[i].client]);
		struct bs_fail why = { 0 };
		const unsigned char *msg;
		size_t len;
		int rc = 0;

		UNTIL(l == NULL || (rc = bs_seal_link_refused(l, &why)) != 0)
		{
			echo();
			(void)bs_seal_link_take(l, &msg, &len, 0, NULL);
		}
		CHECK(rc == BS_ERR_KEY && strstr(why.text, cases[i].words) != NULL,
		      "%s is refused: %s", cases[i].what, why.text);
		CHECK(i == 0 ? atomic_load(&record.refused) >= refused + 3
			     : atomic_load(&record.unknown) >= unknown + 3,
		      "and counted: %s", record.last);
		bs_seal_link_close(l);
	}
	CHECK(bs_gate_peers(&g) == 0 && atomic_load(&record.forged) == 0,
	      "nothing of them is kept");
}

/* ---- raw ---- */

struct raw {
	int fd;
	uint8_t hello[16 + BS_HELLO_FIRST];
	struct bs_seal out, in;
};

static bool get(int fd, void *to, size_t n)
{
	size_t got = 0;

	for (int64_t limit = await_limit(); got < n && await_now_ns() < limit;) {
		ssize_t r;

		echo();
		r = recv(fd, (char *)to + got, n - got, MSG_DONTWAIT);
		if (r == 0)
			return false;
		if (r > 0)
			got += (size_t)r;
		else
			await_pause_ms(1);
	}
	return got == n;
}

/* True: it is hung up on. */
static bool ended(int fd)
{
	char c;
	ssize_t n = -1;

	UNTIL((n = recv(fd, &c, 1, MSG_DONTWAIT)) == 0 || (n < 0 && errno == ECONNRESET))
	echo();
	return n <= 0;
}

static int dial(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		abort();
	return fd;
}

/* Welcome: hello said and answered. said: NULL, or another's greeting and hello, said again. */
static bool enter(struct raw *r, const uint8_t *said)
{
	uint8_t greeting[8], length[8], answer[BS_HELLO_SECOND];
	struct bs_ik n;

	r->fd = dial();
	memcpy(r->hello, "\0SP\0\0\020\0\0\0\0\0\0\0\0\0", 15);
	r->hello[15] = BS_HELLO_FIRST;
	bs_hello_say(&n, &client[0], "kspace", client[0].suite, r->hello + 16);
	if (said != NULL)
		memcpy(r->hello, said, sizeof(r->hello));
	return send(r->fd, r->hello, sizeof(r->hello), MSG_NOSIGNAL) == (ssize_t)sizeof(r->hello) &&
	       get(r->fd, greeting, 8) && get(r->fd, length, 8) && length[7] == BS_IK_SECOND &&
	       get(r->fd, answer, BS_IK_SECOND) &&
	       (said != NULL ||
		bs_hello_hear(&n, answer, BS_IK_SECOND, &r->out, &r->in, NULL) == 0);
}

static void put(struct raw *r, unsigned char frame[8 + RECORD + BS_SEAL_TAG], unsigned char word)
{
	memset(frame, 0, 8);
	frame[7] = RECORD + BS_SEAL_TAG;
	memset(frame + 8, word, RECORD);
	(void)bs_seal_close(&r->out, frame + 8, RECORD);
}

static bool echoed(struct raw *r, unsigned char word)
{
	unsigned char frame[8 + RECORD + BS_SEAL_TAG];

	return get(r->fd, frame, sizeof(frame)) &&
	       bs_seal_open(&r->in, frame + 8, RECORD + BS_SEAL_TAG) && frame[8] == word;
}

/* What lies behind a good message on a good connection. */
static bool ends_it(int what, size_t at)
{
	enum { FRAME = 8 + RECORD + BS_SEAL_TAG };
	unsigned char a[FRAME], b[FRAME], c[FRAME];
	const uint64_t forged = atomic_load(&record.forged);
	struct raw r;
	bool good = enter(&r, NULL);
	ssize_t sent;

	put(&r, a, 'a');
	put(&r, b, 'b');
	put(&r, c, 'c');
	good = good && send(r.fd, a, FRAME, MSG_NOSIGNAL) == FRAME && echoed(&r, 'a');
	if (what == 2)
		b[8 + at] ^= 0x10;
	else if (what == 3)
		b[7] = (unsigned char)(BS_SEAL_TAG + at);
	if (what == 0)
		sent = send(r.fd, a, FRAME, MSG_NOSIGNAL); /* replayed */
	else if (what == 1)
		sent = send(r.fd, c, FRAME, MSG_NOSIGNAL); /* b is left out */
	else if (what == 2)
		sent = send(r.fd, b, FRAME, MSG_NOSIGNAL); /* altered */
	else
		sent = send(r.fd, b, 8 + BS_SEAL_TAG + at, MSG_NOSIGNAL); /* cut */
	good = good && sent > 0 && ended(r.fd) && atomic_load(&record.forged) == forged + 1;
	(void)close(r.fd);
	return good;
}

static void forged(void)
{
	const size_t len = RECORD + BS_SEAL_TAG;
	unsigned good = 0;
	struct raw one, two;
	unsigned char frame[8 + RECORD + BS_SEAL_TAG];

	CHECK(ends_it(0, 0), "a message that is replayed ends the connection, and is counted");
	CHECK(ends_it(1, 0), "so does one that comes out of order");
	for (size_t i = 0; i < len; i++)
		good += ends_it(2, i);
	CHECK(good == len, "so does one with any byte altered (%u of %zu)", good, len);
	good = 0;
	for (size_t i = 0; i < RECORD; i++)
		good += ends_it(3, i);
	CHECK(good == RECORD, "so does one that is cut anywhere (%u of %u)", good, RECORD);

	CHECK(enter(&one, NULL), "a connection");
	put(&one, frame, 'x');
	CHECK(enter(&two, one.hello), "its hello, said again by another, is answered");
	(void)send(two.fd, frame, sizeof(frame), MSG_NOSIGNAL);
	CHECK(ended(two.fd), "but the messages that followed it do not open there");
	(void)send(one.fd, frame, sizeof(frame), MSG_NOSIGNAL);
	CHECK(echoed(&one, 'x'), "and the first connection is none the worse");
	(void)close(one.fd);
	(void)close(two.fd);
}

/* ---- others, restarts ---- */

static void plain_peer(void)
{
	const uint64_t unknown = atomic_load(&record.unknown);
	struct bs_endpoint e;

	CHECK(bs_endpoint_connect(&e, BS_ENDPOINT_KSPACE, url, MAX, NULL) == 0, "a plain PAIR");
	(void)bs_endpoint_send(&e, bytes, 100, NULL, 0, 0, NULL);
	UNTIL(atomic_load(&record.unknown) > unknown)
	{
		echo();
		(void)bs_endpoint_send(&e, bytes, 100, NULL, 0, 0, NULL);
	}
	CHECK(atomic_load(&record.unknown) > unknown, "a peer that does not seal is kept out: %s",
	      record.last);
	bs_endpoint_close(&e);
}

static void restart(void)
{
	const struct bs_gate_spec spec = g.spec;
	struct bs_seal_link *l = open_link(&client[0]);
	const unsigned char *msg;
	size_t len;
	bool now;
	int rc = BS_ERR_IO;

	CHECK(l != NULL && round_trip(l, 100), "before the gate's end");
	bs_gate_close(&g);
	UNTIL((rc = bs_gate_open(&g, url, MAX, &spec, NULL)) == 0)
	continue;
	UNTIL(bs_seal_link_connections(l, &now) == 2)
	{
		echo();
		(void)bs_seal_link_take(l, &msg, &len, 0, NULL);
	}
	CHECK(rc == 0 && round_trip(l, 100) && bs_seal_link_connections(l, &now) == 2,
	      "the gate's successor is connected to anew, with other keys");
	bs_seal_link_close(l);
}

static void crowd(void)
{
	enum { MANY = 40 };
	struct bs_seal_link *l = open_link(&client[0]);
	int fd[MANY];

	CHECK(l != NULL && round_trip(l, 64), "a good one");
	for (int i = 0; i < MANY; i++) {
		fd[i] = dial();
		(void)send(fd[i], "\0SP\0\0\020\0\0\0\0\0\0\0\0\0aaaaaaa", (size_t)(i % 24), 0);
	}
	CHECK(round_trip(l, 64), "beside %d that say nothing, or a part of a hello", MANY);
	for (int i = 0; i < MANY; i++)
		(void)close(fd[i]);
	UNTIL(bs_gate_peers(&g) == 1)
	echo();
	CHECK(bs_gate_peers(&g) == 1, "of whom nothing is left when they are gone");
	bs_seal_link_close(l);
}

/* Of one key no more connections than it may have: one more is told, and counted. */
static void bounded(void)
{
	struct bs_seal_link *l[4];
	const unsigned char *msg;
	struct bs_fail why = { 0 };
	unsigned good = 0;
	size_t len;

	service.connections = 3;
	for (int i = 0; i < 4; i++) {
		l[i] = open_link(&client[0]);
		good += i < 3 && round_trip(l[i], 70);
	}
	UNTIL(bs_seal_link_refused(l[3], &why) != 0)
	{
		echo();
		(void)bs_seal_link_take(l[3], &msg, &len, 0, NULL);
	}
	CHECK(good == 3 && strstr(why.text, "of 'mr1' has 3 connections to kspace") != NULL &&
		      atomic_load(&record.crowded) > 0 && strstr(record.last, "has 3") != NULL,
	      "a fourth connection of a key that may have three is told and counted: %s", why.text);
	bs_seal_link_close(l[1]);
	CHECK(round_trip(l[3], 70) && round_trip(l[0], 70), "when one ends it has its place");
	for (int i = 0; i < 4; i += i == 0 ? 2 : 1)
		bs_seal_link_close(l[i]);
	service.connections = 0;
}

/* ---- questions ---- */

static char dir[] = "/tmp/boreside-link-XXXXXX";

static struct bs_endpoint desk, asker;
static struct bs_keys_spec spec;

static bool open_desk(bool first)
{
	const struct bs_endpoint_seal seal = { LONG, &spec, &record };
	struct bs_fail why = { 0 };
	int rc = BS_ERR_IO;

	for (int i = 0; rc != 0 && i < 200; i++) {
		if (first)
			choose_url();
		else
			await_pause_ms(10);
		rc = bs_endpoint_bind_sealed(&desk, BS_ENDPOINT_IMAGES, url, 256, &seal, &why);
	}
	CHECK(rc == 0, "a desk %s", why.text);
	return rc == 0;
}

/* Asks, answers, hears. */
static bool talk(size_t answer_len, const char **who)
{
	char question[256];
	size_t len = 0;
	int rc = BS_ENDPOINT_TIMEOUT;

	*who = NULL;
	UNTIL((rc = bs_endpoint_send(&asker, "what?", 5, NULL, 0, 0, NULL)) != BS_ENDPOINT_TIMEOUT)
	(void)bs_endpoint_recv(&desk, question, sizeof(question), &len, 0, NULL);
	if (rc != 0)
		return false;
	UNTIL((rc = bs_endpoint_recv(&desk, question, sizeof(question), &len, 0, NULL)) !=
	      BS_ENDPOINT_TIMEOUT)
	continue;
	if (rc != 0 || len != 5 || memcmp(question, "what?", 5) != 0)
		return false;
	*who = bs_endpoint_asker(&desk);
	rc = answer_len > 2000
		     ? bs_endpoint_send(&desk, bytes, answer_len, NULL, 0, 0, NULL)
		     : bs_endpoint_send(&desk, bytes, answer_len / 2, bytes + answer_len / 2,
					answer_len - answer_len / 2, 0, NULL);
	UNTIL(rc < 0 || (rc = bs_endpoint_recv(&asker, back, sizeof(back), &len, 0, NULL)) == 0)
	(void)bs_endpoint_recv(&desk, question, sizeof(question), &len, 0, NULL);
	return rc == 0 && len == answer_len && memcmp(back, bytes, len) == 0;
}

static void questions(void)
{
	char own[64], path[64], key[BS_KEY_TEXT_MAX], question[256];
	const char *who;
	struct bs_ik_pair pair;
	struct bs_seal_keys keys;
	struct bs_fail why = { 0 };
	size_t len;
	int rc = BS_ENDPOINT_TIMEOUT;

	(void)snprintf(own, sizeof(own), "%s/own", dir);
	(void)snprintf(path, sizeof(path), "%s/archive", dir);
	CHECK(bs_seal_key_make(&pair, own, &why) == 0, "a key %s", why.text);
	bs_seal_key_text(key, pair.pub);
	CHECK(bs_seal_key_make(&pair, path, &why) == 0 &&
		      bs_seal_keys_client(&keys, path, key, &why) == 0,
	      "another %s", why.text);
	(void)snprintf(spec.own, sizeof(spec.own), "%s", own);
	(void)snprintf(spec.peer[0].name, sizeof(spec.peer[0].name), "pacs");
	bs_seal_key_text(spec.peer[0].key, pair.pub);
	spec.peer[0].roles = BS_ROLE_ARCHIVE;
	spec.peers = 1;
	if (!open_desk(true))
		return;
	CHECK(bs_endpoint_connect_sealed(&asker, BS_ENDPOINT_IMAGES_ASK, url, LONG, &keys, &why) ==
		      0,
	      "who asks %s", why.text);
	CHECK(talk(100, &who) && who != NULL && strcmp(who, "pacs") == 0, "a question of %s",
	      who != NULL ? who : "nobody");
	CHECK(talk(0, &who) && talk(LONG, &who), "answers of 0 and %u bytes", LONG);
	CHECK(bs_endpoint_send(&desk, "?", 1, NULL, 0, 0, &why) == BS_ERR_STATE &&
		      strstr(why.text, "no question waits") != NULL,
	      "an answer to nobody is refused: %s", why.text);

	/* the connection breaks while a question is out: it is asked again, and answered again */
	CHECK(bs_endpoint_send(&asker, "again", 5, NULL, 0, 1000, NULL) == 0, "a question");
	UNTIL(bs_endpoint_recv(&desk, question, sizeof(question), &len, 0, NULL) == 0)
	continue;
	bs_endpoint_close(&desk);
	if (!open_desk(false))
		return;
	UNTIL(rc == 0)
	{
		(void)bs_endpoint_recv(&asker, back, sizeof(back), &len, 0, NULL);
		rc = bs_endpoint_recv(&desk, question, sizeof(question), &len, 0, NULL);
	}
	CHECK(rc == 0 && len == 5 && memcmp(question, "again", 5) == 0,
	      "it is asked again by itself");
	(void)bs_endpoint_send(&desk, "here", 4, NULL, 0, 0, NULL);
	CHECK(bs_endpoint_recv(&asker, back, sizeof(back), &len, AWAIT_MS, NULL) == 0 && len == 4,
	      "and answered");
	bs_endpoint_close(&asker);
	bs_seal_wipe_bytes(&keys, sizeof(keys));

	CHECK(bs_seal_keys_node(&keys, &spec, NULL, &why) == 0 &&
		      bs_endpoint_connect_sealed(&asker, BS_ENDPOINT_IMAGES_ASK, url, LONG, &keys,
						 &why) == 0,
	      "the node itself %s", why.text);
	CHECK(talk(10, &who) && who != NULL && who[0] == '\0', "asks with its own key");
	bs_endpoint_close(&asker);
	bs_endpoint_close(&desk);
	(void)unlink(own);
	(void)unlink(path);
}

int main(void)
{
	if (mkdtemp(dir) == NULL)
		abort();
	for (size_t i = 0; i < LONG; i++)
		bytes[i] = (unsigned char)(i * 37 + (i >> 9));
	(void)bs_suite_best();
	make_keys();
	if (open_gate()) {
		messages(BS_SUITE_AESGCM, BS_SUITE_AESGCM);
		messages(BS_SUITE_CHACHAPOLY, BS_SUITE_AESGCM);
		messages(BS_SUITE_AESGCM, BS_SUITE_CHACHAPOLY);
		messages(BS_SUITE_CHACHAPOLY, BS_SUITE_CHACHAPOLY);
		too_long();
		UNTIL(bs_gate_peers(&g) == 0)
		echo();
		kept_out();
		forged();
		plain_peer();
		restart();
		crowd();
		bounded();
		bs_gate_close(&g);
	}
	questions();
	(void)rmdir(dir);
	return check_done();
}

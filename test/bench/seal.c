/*
 * test/bench/seal.c - what sealing costs: bytes a second of each suite, hellos, who has no key
 *
 * One thread. Times are medians over turns; a message is sealed and opened in place.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "ipc/gate.h"
#include "test/bench/bench.h"

#define LONGEST (4u << 20)
#define TURNS   41
#define HELLOS  2001
#define GIB     1073741824.0

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a;
	const double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static void suite_speed(enum bs_suite suite, const char *name, unsigned char *msg)
{
	static const size_t sizes[] = { 1024, 18u << 10, 256u << 10, 1u << 20 };
	static const uint8_t key[32] = { 7 };
	double out_ns[TURNS], in_ns[TURNS];
	struct bs_seal out, in;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const size_t n = sizes[i];
		const unsigned times = (unsigned)((16u << 20) / n);

		for (int t = 0; t < TURNS; t++) {
			int64_t spent[2] = { 0 };

			bs_seal_start(&out, suite, key);
			bs_seal_start(&in, suite, key);
			for (unsigned k = 0; k < times; k++) {
				int64_t a = bs_now_ns();
				bool good = bs_seal_close(&out, msg, n);
				int64_t b = bs_now_ns();

				if (!good || !bs_seal_open(&in, msg, n + BS_SEAL_TAG))
					abort();
				spent[0] += b - a;
				spent[1] += bs_now_ns() - b;
			}
			out_ns[t] = (double)spent[0] / times;
			in_ns[t] = (double)spent[1] / times;
		}
		(void)printf("%-12s %8zu bytes: seal %5.2f GiB/s, open %5.2f GiB/s (%.1f and "
			     "%.1f us)\n",
			     name, n, (double)n * 1e9 / median(out_ns, TURNS) / GIB,
			     (double)n * 1e9 / median(in_ns, TURNS) / GIB,
			     median(out_ns, TURNS) * 1e-3, median(in_ns, TURNS) * 1e-3);
	}
}

static void hello_times(const struct bs_seal_keys *service, const struct bs_seal_keys *client)
{
	static double say[HELLOS], answer[HELLOS];
	uint8_t hello[BS_HELLO_FIRST];
	struct bs_hello_answer a;
	struct bs_fail why;
	struct bs_ik n;
	int rc = 0;

	for (int i = 0; i < HELLOS; i++) {
		int64_t at = bs_now_ns();

		bs_hello_say(&n, client, "kspace", client->suite, hello);
		say[i] = (double)(bs_now_ns() - at);
		at = bs_now_ns();
		rc = bs_hello_answer(&a, service, "kspace", BS_ROLE_SCANNER, hello, BS_HELLO_FIRST,
				     &why);
		answer[i] = (double)(bs_now_ns() - at);
	}
	(void)printf("hello, %-9s: the client %.0f us, the service %.0f us (medians of %d)\n",
		     rc == 0 ? "known" : "unknown", median(say, HELLOS) * 1e-3,
		     median(answer, HELLOS) * 1e-3, HELLOS);
}

/* From its connection to its end, all that the gate does for a peer without a key. */
static int keyless(struct bs_seal_keys *service, const struct bs_seal_keys *client)
{
	static double ns[HELLOS];
	static struct bs_gate g;
	static struct bs_seal_record record;
	const struct bs_gate_spec spec = {
		.keys = service, .endpoint = "kspace", .roles = BS_ROLE_SCANNER, .record = &record
	};
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	unsigned char text[16 + BS_HELLO_FIRST] = "\0SP\0\0\020\0\0\0\0\0\0\0\0\0";
	socklen_t n = sizeof(at);
	struct bs_gate_message m;
	struct bs_fail why;
	struct bs_ik ik;
	char url[64];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, n) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &n) != 0)
		return 1;
	(void)close(fd);
	(void)snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", ntohs(at.sin_port));
	if (bs_gate_open(&g, url, 4096, &spec, &why) != 0) {
		(void)fprintf(stderr, "bench seal: %s\n", why.text);
		return 1;
	}
	text[15] = BS_HELLO_FIRST;
	bs_hello_say(&ik, client, "kspace", client->suite, text + 16);
	for (int i = 0; i < HELLOS; i++) {
		const uint64_t ended = atomic_load(&record.unknown);
		struct pollfd ready = { g.fd, POLLIN, 0 };

		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (fd < 0 || connect(fd, (struct sockaddr *)&at, n) != 0 ||
		    send(fd, text, sizeof(text), MSG_NOSIGNAL) != (ssize_t)sizeof(text))
			return 1;
		ns[i] = 0.0;
		while (atomic_load(&record.unknown) == ended) {
			(void)poll(&ready, 1, 1000);
			const int64_t from = bs_now_ns();

			while (bs_gate_take(&g, &m))
				bs_gate_release(&g, m.peer);
			ns[i] += (double)(bs_now_ns() - from);
		}
		(void)close(fd);
	}
	(void)printf("a peer without a key, from its connection to its end: %.1f us of the gate "
		     "(median of %d), %u peers are left\n",
		     median(ns, HELLOS) * 1e-3, HELLOS, bs_gate_peers(&g));
	bs_gate_close(&g);
	return 0;
}

int bs_bench_seal(struct bs_bench *b)
{
	static struct bs_seal_keys service, client;
	unsigned char *msg = calloc(1, LONGEST);

	(void)b;
	if (msg == NULL)
		return 1;
	service.suite = client.suite = bs_suite_best();
	memset(service.own.secret, 1, BS_IK_KEY);
	memset(client.own.secret, 2, BS_IK_KEY);
	bs_ik_public(service.own.pub, service.own.secret);
	bs_ik_public(client.own.pub, client.own.secret);
	memcpy(service.peer[0].key, client.own.pub, BS_IK_KEY);
	memcpy(client.peer[0].key, service.own.pub, BS_IK_KEY);
	service.peer[0].roles = BS_ROLE_SCANNER;
	service.peers = client.peers = 1;
	if (bs_suite_has(BS_SUITE_AESGCM))
		suite_speed(BS_SUITE_AESGCM, "AES-256-GCM", msg);
	suite_speed(BS_SUITE_CHACHAPOLY, "ChaCha20", msg);
	free(msg);
	hello_times(&service, &client);
	service.peers = 0;
	hello_times(&service, &client);
	return keyless(&service, &client);
}

/*
 * test/support/service.h - a running service and a sender's hand on its socket, for the tests
 *
 * service_start writes a site file into a fresh folder, starts `boreside serve` on it (the program
 * that BORESIDE names) and waits until it answers; service_stop ends it with SIGTERM and returns
 * its exit status. peer_* send what they are told, right or wrong, and read what comes back.
 */
#ifndef BS_TEST_SUPPORT_SERVICE_H
#define BS_TEST_SUPPORT_SERVICE_H

#ifndef _GNU_SOURCE
#error "define _GNU_SOURCE before the first include: mkdtemp, setenv"
#endif

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "core/mrd.h"
#include "core/traj/traj.h"
#include "ipc/endpoint.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"
#include "test/support/check.h"

#define SERVICE_XML_MAX 4096

struct service {
	char dir[64];
	char site[128], log[128], kspace[128], status[128], archive[128];
	pid_t pid;
	int exit_status;
};

/* Files in the folder out. Two protocols, small: "cart" (64x32 -> 32x32, 2 coils) and "radial"
 * (noop, 32 spokes of 64). Paths are taken from the site file's folder. */
#define SERVICE_SINKS "sinks = ( { type = \"cfl\"; dir = \"out\"; } );\n"
#define SERVICE_PROTOCOLS                                                                             \
	"protocols = ( { name = \"cart\"; method = \"cartesian\"; matrix = [32, 32];\n"               \
	"    encoded = [64, 32, 1]; coils = 2; samples = 64; readouts = 32; silence_ms = 700.0; },\n" \
	"  { name = \"radial\"; method = \"noop\"; matrix = [32, 32]; coils = 2; samples = 64;\n"     \
	"    readouts = 32; silence_ms = 700.0; trajectory: { type = \"radial2d\"; }; } );\n"

static inline void service_pause_ms(int ms)
{
	const struct timespec t = { ms / 1000, (ms % 1000) * 1000000L };

	(void)nanosleep(&t, NULL);
}

/* The status document (what: "json") or table ("text"); false: no answer in ms. */
static inline bool service_ask(const struct service *s, const char *what, char *out, size_t cap,
			       int ms)
{
	struct bs_endpoint e;
	size_t len = 0;
	bool good;

	if (bs_endpoint_connect(&e, BS_ENDPOINT_STATUS_ASK, s->status, cap, NULL) != 0)
		return false;
	good = bs_endpoint_send(&e, what, strlen(what), NULL, 0, ms, NULL) == 0 &&
	       bs_endpoint_recv(&e, out, cap - 1, &len, ms, NULL) == 0;
	bs_endpoint_close(&e);
	out[good ? len : 0] = '\0';
	return good;
}

/* Waits until the status document holds what; false after ms. */
static inline bool service_until(const struct service *s, const char *what, int ms)
{
	static char doc[200000];
	int64_t until = bs_now_ns() + (int64_t)ms * 1000000;

	do {
		if (service_ask(s, "json", doc, sizeof(doc), 500) && strstr(doc, what) != NULL)
			return true;
		service_pause_ms(5);
	} while (bs_now_ns() < until);
	printf("# no '%s' in the status:\n# %s\n", what, doc);
	return false;
}

/* The number behind "name": in the status document, after the first occurrence of where. -1: none.
 */
static inline long service_number(const struct service *s, const char *where, const char *name)
{
	static char doc[200000];
	char key[80];
	const char *at;

	(void)snprintf(key, sizeof(key), "\"%s\":", name);
	if (!service_ask(s, "json", doc, sizeof(doc), 2000))
		return -1;
	at = strstr(doc, where);
	at = at != NULL ? strstr(at, key) : NULL;
	return at != NULL ? strtol(at + strlen(key), NULL, 10) : -1;
}

static inline bool service_logged(const struct service *s, const char *words)
{
	static char text[1 << 20];
	int fd = open(s->log, O_RDONLY);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, words) != NULL;
}

/* The supervisor writes a line a moment after the event: waits up to 2 s for it. */
static inline bool service_logs(const struct service *s, const char *words)
{
	for (int i = 0; i < 200; i++) {
		if (service_logged(s, words))
			return true;
		service_pause_ms(10);
	}
	return false;
}

static inline bool service_write_site(struct service *s, const char *node, const char *body)
{
	FILE *f;

	(void)snprintf(s->site, sizeof(s->site), "%s/site.cfg", s->dir);
	(void)snprintf(s->log, sizeof(s->log), "%s/log", s->dir);
	(void)snprintf(s->kspace, sizeof(s->kspace), "ipc://%s/run/kspace.ipc", s->dir);
	(void)snprintf(s->status, sizeof(s->status), "ipc://%s/run/status.ipc", s->dir);
	(void)snprintf(s->archive, sizeof(s->archive), "ipc://%s/run/archive.ipc", s->dir);
	f = fopen(s->site, "w");
	if (f == NULL)
		return false;
	(void)fprintf(f,
		      "node: { name = \"test\"; run_dir = \"run\"; cache_dir = \"\"; %s %s };\n%s",
		      strstr(node, "threads") == NULL ? "threads = 1;" : "", node, body);
	return fclose(f) == 0;
}

/* The process alone: does not wait. preload: for LD_PRELOAD, or NULL. */
static inline bool service_spawn(struct service *s, const char *preload)
{
	const char *program = getenv("BORESIDE");

	if (program == NULL)
		return false;
	s->pid = fork();
	if (s->pid == 0) {
		int fd = open(s->log, O_WRONLY | O_CREAT | O_APPEND, 0600);

		(void)dup2(fd, STDERR_FILENO);
		(void)dup2(fd, STDOUT_FILENO);
		if (preload != NULL)
			(void)setenv("LD_PRELOAD", preload, 1);
		(void)execl(program, "boreside", "serve", "-c", s->site, (char *)NULL);
		_exit(127);
	}
	return s->pid > 0;
}

static inline bool service_start_with(struct service *s, const char *node, const char *body,
				      const char *preload)
{
	memset(s, 0, sizeof(*s));
	(void)snprintf(s->dir, sizeof(s->dir), "/tmp/boreside-test-XXXXXX");
	if (mkdtemp(s->dir) == NULL || !service_write_site(s, node, body) ||
	    !service_spawn(s, preload))
		return false;
	return service_until(s, "\"state\":\"idle\"", 20000);
}

static inline bool service_start(struct service *s)
{
	return service_start_with(s, "heartbeat_ms = 100.0; stall_ms = 1000.0;",
				  SERVICE_SINKS SERVICE_PROTOCOLS, NULL);
}

static inline void service_print_log(const struct service *s)
{
	char line[1100];
	FILE *f = fopen(s->log, "r");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		printf("# %s", line);
	if (f != NULL)
		(void)fclose(f);
}

/* Exit status, or -1: it had to be killed, or died of a signal. */
static inline int service_wait(struct service *s, int ms)
{
	int64_t until = bs_now_ns() + (int64_t)ms * 1000000;
	int status;

	while (bs_now_ns() < until) {
		if (waitpid(s->pid, &status, WNOHANG) == s->pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		service_pause_ms(10);
	}
	(void)kill(s->pid, SIGKILL);
	(void)waitpid(s->pid, &status, 0);
	return -1;
}

static inline void service_remove(struct service *s)
{
	char command[128];

	if (check_failed != 0)
		service_print_log(s);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", s->dir);
	if (strncmp(s->dir, "/tmp/boreside-test-", 19) == 0 && system(command) != 0)
		printf("# %s stays\n", s->dir);
}

static inline int service_stop(struct service *s)
{
	(void)kill(s->pid, SIGTERM);
	return service_wait(s, 20000);
}

/* ---- the sender ---- */

struct peer {
	struct bs_endpoint socket;
	uint64_t session, seq; /* of the next numbered message */
	uint64_t acked;
	unsigned char in[65536];
	struct bs_wire w; /* of the last message read */
	struct bs_wire_verdict verdict;
	struct bs_wire_outcome outcome;
};

static inline bool peer_open(struct peer *p, const struct service *s)
{
	memset(p, 0, sizeof(*p));
	return bs_endpoint_connect(&p->socket, BS_ENDPOINT_KSPACE, s->kspace, sizeof(p->in),
				   NULL) == 0;
}

static inline void peer_close(struct peer *p)
{
	bs_endpoint_close(&p->socket);
}

static inline uint64_t peer_new_session(struct peer *p)
{
	static uint64_t n;

	p->session = ((uint64_t)getpid() << 32) + ++n;
	p->seq = 0;
	p->acked = 0;
	return p->session;
}

/* A raw message. */
static inline bool peer_raw(struct peer *p, const void *msg, size_t len)
{
	return bs_endpoint_send(&p->socket, msg, len, NULL, 0, 5000, NULL) == 0;
}

static inline bool peer_say(struct peer *p, enum bs_wire_kind kind, uint64_t seq,
			    const void *payload, size_t len)
{
	unsigned char envelope[BS_WIRE_BYTES];
	struct bs_wire w = {
		.kind = (uint16_t)kind, .session = p->session, .seq = seq, .time_ns = bs_now_ns()
	};

	bs_wire_encode(envelope, &w, payload, len);
	return bs_endpoint_send(&p->socket, envelope, sizeof(envelope), payload, len, 5000, NULL) ==
	       0;
}

/* The next message within ms; its payload decoded where it has one. */
static inline bool peer_hear(struct peer *p, int ms)
{
	const unsigned char *payload;
	size_t len;

	if (bs_endpoint_recv(&p->socket, p->in, sizeof(p->in), &len, ms, NULL) != 0 ||
	    bs_wire_decode(&p->w, p->in, len, &payload, NULL) != 0)
		return false;
	if (p->w.kind == BS_WIRE_ACCEPT || p->w.kind == BS_WIRE_REFUSE)
		return bs_wire_get_verdict(&p->verdict, payload, (size_t)p->w.payload_len, NULL) ==
		       0;
	if (p->w.kind == BS_WIRE_OUTCOME)
		return bs_wire_get_outcome(&p->outcome, payload, (size_t)p->w.payload_len, NULL) ==
		       0;
	if (p->w.kind == BS_WIRE_ACK)
		return bs_wire_get_u64(&p->acked, payload, (size_t)p->w.payload_len, NULL) == 0;
	return true;
}

/* Reads until a message of this kind comes. */
static inline bool peer_await(struct peer *p, enum bs_wire_kind kind, int ms)
{
	int64_t until = bs_now_ns() + (int64_t)ms * 1000000;

	while (bs_now_ns() < until) {
		int left = (int)((until - bs_now_ns()) / 1000000) + 1;

		if (peer_hear(p, left) && p->w.kind == (uint16_t)kind)
			return true;
	}
	return false;
}

/* A header that the two protocols of SERVICE_PROTOCOLS accept; name "": none in it. */
static inline size_t peer_xml(char out[SERVICE_XML_MAX], const char *name, bool cartesian)
{
	int n = snprintf(
		out, SERVICE_XML_MAX,
		"<?xml version=\"1.0\"?>\n<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">"
		"<measurementInformation><patientPosition>HFS</patientPosition>"
		"<protocolName>%s</protocolName></measurementInformation>"
		"<acquisitionSystemInformation><receiverChannels>2</receiverChannels>"
		"</acquisitionSystemInformation>"
		"<experimentalConditions><H1resonanceFrequency_Hz>123000000</H1resonanceFrequency_Hz>"
		"</experimentalConditions><encoding><encodedSpace><matrixSize><x>%d</x><y>32</y><z>1</z>"
		"</matrixSize><fieldOfView_mm><x>%d</x><y>256</y><z>5</z></fieldOfView_mm></encodedSpace>"
		"<reconSpace><matrixSize><x>32</x><y>32</y><z>1</z></matrixSize><fieldOfView_mm>"
		"<x>256</x><y>256</y><z>5</z></fieldOfView_mm></reconSpace><encodingLimits>"
		"<kspace_encoding_step_1><minimum>0</minimum><maximum>31</maximum><center>16</center>"
		"</kspace_encoding_step_1></encodingLimits><trajectory>%s</trajectory></encoding>"
		"</ismrmrdHeader>",
		name, cartesian ? 64 : 32, cartesian ? 512 : 256,
		cartesian ? "cartesian" : "radial");

	return (size_t)n;
}

/* OPEN with this protocol name in front of this header. */
static inline bool peer_header(struct peer *p, const char *protocol, const char *xml, size_t len)
{
	unsigned char *payload = calloc(1, BS_WIRE_OPEN_NAME + len);
	bool good;

	if (payload == NULL)
		return false;
	memcpy(payload, protocol, strlen(protocol));
	memcpy(payload + BS_WIRE_OPEN_NAME, xml, len);
	good = peer_say(p, BS_WIRE_OPEN, 0, payload, BS_WIRE_OPEN_NAME + len);
	free(payload);
	p->seq = 1;
	return good;
}

/* A new session with a good header; true when it was accepted. */
static inline bool peer_begin(struct peer *p, const char *protocol)
{
	char xml[SERVICE_XML_MAX];
	size_t n = peer_xml(xml, protocol, strcmp(protocol, "cart") == 0);

	(void)peer_new_session(p);
	return peer_header(p, protocol, xml, n) && peer_await(p, BS_WIRE_ACCEPT, 10000);
}

/* The table of protocol "radial", as the service makes it. */
static inline const struct bs_traj *peer_spokes(void)
{
	static struct bs_protocol p = { .name = "radial",
					.dims = 2,
					.matrix = { 32, 32, 1 },
					.coils = 2,
					.samples = 64,
					.readouts = 32,
					.slices = 1,
					.contrasts = 1,
					.traj = { .type = BS_TRAJ_RADIAL2D } };
	static struct bs_traj t;

	if (t.k == NULL && bs_traj_make(&t, &p, NULL) != 0)
		exit(1);
	return &t;
}

/* A good readout of "cart", or of a protocol of spokes by any other name; payload: at least 4096 bytes. Returns its length. */
static inline size_t peer_readout(unsigned char *payload, const char *protocol, unsigned line,
				  unsigned repetition)
{
	bool radial = strcmp(protocol, "cart") != 0;
	struct bs_mrd_acq a = { .version = 1,
				.scan_counter = line + 1,
				.number_of_samples = 64,
				.available_channels = 2,
				.active_channels = 2,
				.trajectory_dimensions = radial ? 2 : 0,
				.sample_time_us = 5.0f };
	float *values = (float *)(payload + BS_MRD_ACQ_BYTES); /* 340 is a multiple of 4 */
	size_t n = 0;

	a.idx.kspace_encode_step_1 = (uint16_t)line;
	a.idx.repetition = (uint16_t)repetition;
	bs_mrd_put_acq(payload, &a);
	if (radial) {
		memcpy(values, peer_spokes()->k + (size_t)line * 128, 128 * sizeof(float));
		n = 128;
	}
	for (unsigned i = 0; i < 2 * 64; i++) {
		values[n++] = (float)(1.0 + 0.01 * i);
		values[n++] = (float)(0.5 - 0.01 * line);
	}
	return BS_MRD_ACQ_BYTES + n * sizeof(float);
}

static inline bool peer_acq(struct peer *p, const char *protocol, unsigned line,
			    unsigned repetition)
{
	_Alignas(8) unsigned char payload[4096];
	size_t n = peer_readout(payload, protocol, line, repetition);

	return peer_say(p, BS_WIRE_ACQ, p->seq++, payload, n);
}

static inline bool peer_end(struct peer *p, uint64_t count)
{
	unsigned char payload[8];

	bs_wire_put_u64(payload, count);
	return peer_say(p, BS_WIRE_CLOSE, p->seq++, payload, sizeof(payload)) &&
	       peer_await(p, BS_WIRE_OUTCOME, 20000);
}

/* A whole scan of frames repetitions; true when the service says that all is well. */
static inline bool peer_good_scan(struct peer *p, const char *protocol, unsigned frames)
{
	if (!peer_begin(p, protocol)) {
		printf("# not accepted: %s\n", p->verdict.text);
		return false;
	}
	for (unsigned f = 0; f < frames; f++)
		for (unsigned i = 0; i < 32; i++)
			if (!peer_acq(p, protocol, i, f))
				return false;
	if (!peer_end(p, (uint64_t)frames * 32) || p->outcome.code != 0 ||
	    p->outcome.images != frames || p->outcome.acquisitions != (uint64_t)frames * 32) {
		printf("# outcome %d, %llu acquisitions, %llu images: %s\n", p->outcome.code,
		       (unsigned long long)p->outcome.acquisitions,
		       (unsigned long long)p->outcome.images, p->outcome.text);
		return false;
	}
	return p->w.session == p->session;
}

#endif

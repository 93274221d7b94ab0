/*
 * test/support/service.h - a running service and a sender's hand on its socket, for the tests
 *
 * service_start writes a site file into a fresh folder, starts `boreside serve` on it (the program
 * that BORESIDE names) and waits until it answers; service_stop ends it with SIGTERM and returns
 * its exit status. peer_* send what they are told, right or wrong, and read what comes back.
 *
 * Whatever waits here ends when its event has come; only a hang ends it otherwise (await.h). A
 * site's own time limits (stall_ms, silence_ms) are as long, unless the limit itself is tested.
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
#include "test/support/await.h"
#include "test/support/check.h"
#include "test/support/files.h"
#include "test/support/plan/planned.h"

/* A pid that could not be told is -1, and kill(-1) is every process: here it is none. */
static inline int service_kill(pid_t pid, int number)
{
	if (pid > 0)
		return kill(pid, number);
	errno = ESRCH;
	return -1;
}
#define kill service_kill

#define SERVICE_XML_MAX 4096
#define SERVICE_PATIENT "heartbeat_ms = 100.0; stall_ms = 60000.0;" /* for the site's node */

struct service {
	char dir[64];
	char site[128], log[128], kspace[128], status[128], archive[128];
	char out[128]; /* the folder of its images */
	pid_t pid;
	int exit_status;
};

/*
 * Files in the folder out. Small protocols: "cart" (64x32 -> 32x32, 2 coils), "brief" (the same,
 * but its sender may be silent for a moment only) and "radial" (noop, 32 spokes of 64). Paths are
 * taken from the site file's folder.
 */
#define SERVICE_SINKS "sinks = ( { type = \"cfl\"; dir = \"out\"; } );\n"
#define SERVICE_LINES                                                                              \
	"method = \"cartesian\"; matrix = [32, 32]; encoded = [64, 32, 1];\n"                      \
	"    coils = 2; samples = 64; readouts = 32; "
#define SERVICE_SPOKES                                                                             \
	"matrix = [32, 32]; coils = 2; samples = 64; readouts = 32;\n"                             \
	"    silence_ms = 60000.0; trajectory: { type = \"radial2d\"; }; "
#define SERVICE_CART "{ name = \"cart\"; " SERVICE_LINES "silence_ms = 60000.0; },\n"
#define SERVICE_PROTOCOLS                                                                          \
	"protocols = (\n" SERVICE_CART "{ name = \"brief\"; " SERVICE_LINES                        \
	"silence_ms = 5000.0; },\n"                                                                \
	"{ name = \"radial\"; method = \"noop\"; " SERVICE_SPOKES "} );\n"

/* The process is no more; service_wait still gets its status. */
static inline bool service_ended(const struct service *s)
{
	siginfo_t end = { 0 };

	return waitid(P_PID, (id_t)s->pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       end.si_pid == s->pid;
}

/* One question on a socket of its own; false: no answer within ms (the process that answers may be
 * about to be replaced). */
static inline bool service_ask_for(const struct service *s, const char *what, char *out, size_t cap,
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

static inline bool service_ask_once(const struct service *s, const char *what, char *out,
				    size_t cap)
{
	return service_ask_for(s, what, out, cap, 1000);
}

/* The status document (what: "json") or table ("text"); false: nobody answers. */
static inline bool service_ask(const struct service *s, const char *what, char *out, size_t cap)
{
	int64_t limit = await_limit();

	while (!service_ask_once(s, what, out, cap))
		if (bs_now_ns() > limit || service_ended(s))
			return false;
	return true;
}

/* Waits until the status document holds what. */
static inline bool service_until(const struct service *s, const char *what)
{
	static char doc[200000];
	int64_t limit = await_limit();

	do {
		if (service_ask_once(s, "json", doc, sizeof(doc)) && strstr(doc, what) != NULL)
			return true;
		await_pause_ms(5);
	} while (bs_now_ns() < limit && !service_ended(s));
	printf("# no '%s' in the status:\n# %s\n", what, doc);
	return false;
}

/* The number behind "name": in the status document, after the first occurrence of where; -1: none.
 */
static inline long service_number(const struct service *s, const char *where, const char *name)
{
	static char doc[200000];
	char key[80];
	const char *at;

	(void)snprintf(key, sizeof(key), "\"%s\":", name);
	if (!service_ask(s, "json", doc, sizeof(doc)))
		return -1;
	at = strstr(doc, where);
	at = at != NULL ? strstr(at, key) : NULL;
	return at != NULL ? strtol(at + strlen(key), NULL, 10) : -1;
}

/* Waits until that number is at least this; the last one that was seen. */
static inline long service_reaches(const struct service *s, const char *where, const char *name,
				   long least)
{
	long now = -1;

	AWAIT((now = service_number(s, where, name)) >= least);
	return now;
}

/* Waits until a socket of emit's has this one as its peer: it admits whom it has greeted before it
 * looks who is there. */
static inline bool service_meets(const struct service *s, const struct bs_endpoint *e)
{
	AWAIT(bs_endpoint_connections_now(e) != 0);
	return bs_endpoint_connections_now(e) != 0 && !service_ended(s);
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

/* The supervisor writes a line a moment after the event: waits for it. */
static inline bool service_logs(const struct service *s, const char *words)
{
	AWAIT(service_logged(s, words));
	return service_logged(s, words);
}

static inline bool service_write_site(struct service *s, const char *node, const char *body)
{
	FILE *f;

	(void)snprintf(s->site, sizeof(s->site), "%s/site.cfg", s->dir);
	(void)snprintf(s->log, sizeof(s->log), "%s/log", s->dir);
	(void)snprintf(s->out, sizeof(s->out), "%s/out", s->dir);
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
	return service_until(s, "\"state\":\"idle\"");
}

static inline bool service_start(struct service *s)
{
	return service_start_with(s, SERVICE_PATIENT, SERVICE_SINKS SERVICE_PROTOCOLS, NULL);
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
static inline int service_wait(struct service *s)
{
	int status;

	if (s->pid <= 0)
		return -1;
	AWAIT(service_ended(s));
	if (!service_ended(s))
		(void)kill(s->pid, SIGKILL);
	return waitpid(s->pid, &status, 0) == s->pid && WIFEXITED(status) ? WEXITSTATUS(status)
									  : -1;
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
	return service_wait(s);
}

/* The end of a test's main, too. */
static inline int service_end(struct service *s)
{
	CHECK(service_stop(s) == 0, "the service ends with 0");
	service_remove(s);
	return check_done();
}

/* ---- the sender ---- */

struct peer {
	struct bs_endpoint socket;
	uint64_t session, seq;  /* of the next numbered message */
	struct bs_wire_ack ack; /* the session's last one, and its held */
	uint64_t acked;
	bool heard;        /* a message came since the socket was last looked at */
	uint64_t heard_on; /* and its connections then */
	int64_t asked_ns;  /* nothing was heard since, and an answer is due; 0: none is */
	unsigned char in[65536];
	struct bs_wire w; /* of the last message read */
	struct bs_wire_reply answer;
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
	p->seq = p->acked = 0;
	p->ack = (struct bs_wire_ack){ 0 };
	return p->session;
}

/*
 * nanomsg's PAIR can be caught in a circle of connections, or without one (ipc/endpoint.h,
 * bs_endpoint_renew): after ten of them, or 2 s without an answer, a sender takes a new socket.
 */
static inline void peer_mend(struct peer *p)
{
	uint64_t connections = bs_endpoint_connections(&p->socket);

	if (p->heard)
		p->heard_on = connections;
	p->heard = false;
	if (connections < p->heard_on + 10 &&
	    (p->asked_ns == 0 || await_now_ns() - p->asked_ns < 2000000000))
		return;
	printf("# the sender's socket is caught: a new one\n");
	if (bs_endpoint_renew(&p->socket, NULL) != 0)
		exit(1);
	p->heard_on = 0;
	p->asked_ns = p->asked_ns != 0 ? await_now_ns() : 0;
}

static inline bool peer_send(struct peer *p, const void *head, size_t head_len, const void *tail,
			     size_t tail_len)
{
	int rc = bs_endpoint_send(&p->socket, head, head_len, tail, tail_len, 100, NULL);

	for (int64_t limit = await_limit(); rc == BS_ENDPOINT_TIMEOUT && bs_now_ns() < limit;) {
		peer_mend(p);
		rc = bs_endpoint_send(&p->socket, head, head_len, tail, tail_len, 100, NULL);
	}
	return rc == 0;
}

static inline bool peer_raw(struct peer *p, const void *msg, size_t len)
{
	return peer_send(p, msg, len, NULL, 0);
}

static inline bool peer_say(struct peer *p, enum bs_wire_kind kind, uint64_t seq,
			    const void *payload, size_t len)
{
	unsigned char envelope[BS_WIRE_BYTES];
	struct bs_wire w = {
		.kind = (uint16_t)kind, .session = p->session, .seq = seq, .time_ns = bs_now_ns()
	};

	bs_wire_encode(envelope, &w, payload, len);
	return peer_send(p, envelope, sizeof(envelope), payload, len);
}

/* The next message, if one comes within ms; its payload decoded where it has one. */
static inline bool peer_hear(struct peer *p, int ms)
{
	const unsigned char *payload;
	size_t len;

	if (bs_endpoint_recv(&p->socket, p->in, sizeof(p->in), &len, ms, NULL) != 0 ||
	    bs_wire_decode(&p->w, p->in, len, &payload, NULL) != 0)
		return false;
	p->heard = true;
	p->asked_ns = p->asked_ns != 0 ? await_now_ns() : 0;
	if (p->w.kind == BS_WIRE_ACCEPT || p->w.kind == BS_WIRE_REFUSE)
		return bs_wire_get_reply(&p->answer, payload, (size_t)p->w.payload_len, NULL) == 0;
	if (p->w.kind == BS_WIRE_OUTCOME)
		return bs_wire_get_outcome(&p->outcome, payload, (size_t)p->w.payload_len, NULL) ==
		       0;
	if (p->w.kind == BS_WIRE_ACK && p->w.session == p->session) { /* not of a scan before it */
		if (bs_wire_get_ack(&p->ack, payload, (size_t)p->w.payload_len, NULL) != 0)
			return false;
		p->acked = p->ack.held;
	}
	return true;
}

/* Reads until a message of this kind comes. */
static inline bool peer_await_until(struct peer *p, enum bs_wire_kind kind, int64_t until)
{
	do {
		peer_mend(p);
		if (peer_hear(p, 100) && p->w.kind == (uint16_t)kind)
			return true;
	} while (bs_now_ns() < until);
	return false;
}

static inline bool peer_await(struct peer *p, enum bs_wire_kind kind)
{
	return peer_await_until(p, kind, await_limit());
}

/* A header that the protocols of SERVICE_PROTOCOLS accept; name "": none in it. */
static inline size_t peer_xml(char out[SERVICE_XML_MAX], const char *name, bool cartesian)
{
	int n = snprintf(
		out, SERVICE_XML_MAX,
		"<?xml version=\"1.0\"?>\n<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">"
		"<measurementInformation><patientPosition>HFS</patientPosition>"
		"<protocolName>%s</protocolName></measurementInformation>"
		"<acquisitionSystemInformation><receiverChannels>2</receiverChannels>"
		"</acquisitionSystemInformation>"
		"<experimentalConditions>"
		"<H1resonanceFrequency_Hz>123000000</H1resonanceFrequency_Hz>"
		"</experimentalConditions><encoding><encodedSpace>"
		"<matrixSize><x>%d</x><y>32</y><z>1</z></matrixSize>"
		"<fieldOfView_mm><x>%d</x><y>256</y><z>5</z></fieldOfView_mm></encodedSpace>"
		"<reconSpace><matrixSize><x>32</x><y>32</y><z>1</z></matrixSize><fieldOfView_mm>"
		"<x>256</x><y>256</y><z>5</z></fieldOfView_mm></reconSpace><encodingLimits>"
		"<kspace_encoding_step_1>"
		"<minimum>0</minimum><maximum>31</maximum><center>16</center>"
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

/* "brief" is "cart" but for its time limit; others of such lines are called cart_something. */
static inline bool peer_cartesian(const char *protocol)
{
	return strncmp(protocol, "cart", 4) == 0 || strcmp(protocol, "brief") == 0;
}

/* A new session with a good header; true when it was accepted. It goes out again each second
 * until it is answered: a connection that breaks takes what was under way with it. */
static inline bool peer_begin_with(struct peer *p, const char *protocol, const char *xml, size_t n)
{
	bool answered = false;

	(void)peer_new_session(p);
	p->asked_ns = await_now_ns();
	for (int64_t limit = await_limit(); !answered && bs_now_ns() < limit;) {
		int64_t again = bs_now_ns() + 1000000000;

		if (!peer_header(p, protocol, xml, n))
			break;
		do {
			peer_mend(p);
			answered = peer_hear(p, 100) && p->w.session == p->session &&
				   (p->w.kind == BS_WIRE_ACCEPT || p->w.kind == BS_WIRE_REFUSE);
		} while (!answered && bs_now_ns() < again);
	}
	p->asked_ns = 0;
	return answered && p->w.kind == BS_WIRE_ACCEPT;
}

static inline bool peer_begin(struct peer *p, const char *protocol)
{
	char xml[SERVICE_XML_MAX];
	size_t n = peer_xml(xml, protocol, peer_cartesian(protocol));

	return peer_begin_with(p, protocol, xml, n);
}

/* The table of protocol "radial", as the service makes it. */
static inline const struct bs_traj *peer_spokes(void)
{
	struct bs_protocol p = path_of(BS_METHOD_NOOP, BS_TRAJ_RADIAL2D, 32, 32, 1, 2);
	static struct bs_traj t;

	readouts_of(&p, 32, 64);
	if (t.k == NULL && bs_traj_make(&t, &p, NULL) != 0)
		exit(1);
	return &t;
}

/* A good readout of "cart" or the like, or of a protocol of spokes by any other name; payload: at
 * least 4096 bytes. Returns its length. */
static inline size_t peer_readout(unsigned char *payload, const char *protocol, unsigned line,
				  unsigned repetition)
{
	bool radial = !peer_cartesian(protocol);
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

static inline bool peer_close_scan(struct peer *p, uint64_t seq, uint64_t count)
{
	unsigned char payload[8];

	bs_wire_put_u64(payload, count);
	return peer_say(p, BS_WIRE_CLOSE, seq, payload, sizeof(payload));
}

/* Closes the scan and waits for its outcome. */
static inline bool peer_end(struct peer *p, uint64_t count)
{
	int64_t limit = await_limit();

	if (!peer_close_scan(p, p->seq++, count))
		return false;
	do {
		if (!peer_await_until(p, BS_WIRE_OUTCOME, limit))
			return false;
	} while (p->w.session != p->session);
	return true;
}

/* A whole scan of frames repetitions; true when the service says that all is well. */
static inline bool peer_good_scan(struct peer *p, const char *protocol, unsigned frames)
{
	if (!peer_begin(p, protocol)) {
		printf("# not accepted: %s\n", p->answer.text);
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

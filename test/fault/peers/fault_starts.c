/*
 * test/fault/peers/fault_starts.c - starts of a service whose scan's log lacks numbers: those that
 * the sender was told are durable, and keeps no more, or some that it still keeps. The sender knows
 * ipc/WIRE.md alone. The scan ends, nothing is missed in silence, durable does not go back, and
 * another scanner is taken after it.
 *
 * usage: BORESIDE=path fault_starts [times]. BUILD: where block_hook.so is.
 */
#define _GNU_SOURCE
#include "drivers/log/folder.h"
#include "drivers/log/reader.h"
#include "test/peers/sender.h"
#include "test/support/recovery.h"

#define BEFORE 300u /* readouts in the log */
#define AFTER  320u
#define LINES  32u

static struct service service;
static char header[SERVICE_XML_MAX];
static char hook[512], gate[128];

/* What takes the numbers out of the log. */
enum loss {
	POWER, /* it was told to the system alone (relaxed), and the power went */
	DISK,  /* the disk had failed: unprotected; then the service was killed */
	KEPT,  /* ingest hung, so that nobody was told of them; then the service was killed */
	LOSSES
};
static const char *const losses[LOSSES] = { "loss of power", "a disk that failed",
					    "ingest that hung" };

static bool start(enum loss loss)
{
	char body[2000];

	(void)snprintf(body, sizeof(body),
		       "endpoints: { archive = \"\"; };\n"
		       "log: { dir = \"logs\"; mode = \"%s\"; };\n" SERVICE_SINKS SERVICE_PROTOCOLS,
		       loss == POWER ? "relaxed" : "durable");
	(void)unlink(gate);
	return service_start_with(&service, SERVICE_PATIENT, body, hook);
}

/* ---- the sender ---- */

static void begin(struct sender *s)
{
	static uint64_t scans;

	sender_begin(s, ((uint64_t)getpid() << 32) + ++scans, "cart", header);
}

/* Its readouts up to this one, as far as it may send. */
static void fill(struct sender *s, unsigned until)
{
	unsigned char payload[SENDER_ACQ_BYTES(64, 2)];

	while (s->rules.acqs < until &&
	       sender_put(s, SENDER_ACQ, payload,
			  sender_readout(payload, 64, 2, (unsigned)s->rules.acqs % LINES,
					 (unsigned)s->rules.acqs / LINES)))
		;
}

/* Sends readouts up to this one until all are held, and durable. */
static bool stream(struct sender *s, unsigned until)
{
	for (int64_t limit = await_limit(); s->rules.books.durable < until;
	     (void)sender_step(s, 5)) {
		if (await_now_ns() > limit || s->rules.state == SENDER_ENDED)
			return false;
		fill(s, until);
	}
	return true;
}

/* The same to the scan's end. */
static bool end(struct sender *s, unsigned until)
{
	for (int64_t limit = await_limit(); s->rules.state != SENDER_ENDED;
	     (void)sender_step(s, 5)) {
		if (await_now_ns() > limit)
			return false;
		fill(s, until);
		if (s->rules.acqs == until && s->rules.state == SENDER_STREAMING)
			(void)sender_finish(s);
	}
	return true;
}

/* What it was told is durable is in the log; a disk that was slow has caught up. */
static bool settle(struct sender *s)
{
	const int64_t limit = await_limit();

	while (s->rules.books.unprotected > 0 && await_now_ns() < limit)
		(void)sender_step(s, 5);
	return s->rules.books.unprotected == 0;
}

/* ---- what is lost ---- */

static void kill_service(void)
{
	(void)kill(service.pid, SIGKILL);
	(void)service_wait(&service);
}

/* Of the only log: what stands behind the record of this number. */
static void cut_log(uint64_t number)
{
	struct bs_log_entry *list = NULL;
	struct bs_log_message m = { 0 };
	struct bs_log_reader *r;
	struct bs_fail why = { 0 };
	char dir[96];
	char path[256] = "";
	size_t n = 0;

	(void)snprintf(dir, sizeof(dir), "%s/logs", service.dir);
	if (bs_log_folder_list(dir, &list, &n, &why) == 0 && n == 1)
		(void)snprintf(path, sizeof(path), "%s/%s", dir, list[0].name);
	free(list);
	if (bs_log_open(&r, path, &why) == 0) {
		while (bs_log_next(r, &m, &why) == 1 && m.number < number + 1)
			;
		CHECK(m.number == number + 1 && m.place.segment == 0 &&
			      truncate(path, (off_t)m.place.offset) == 0,
		      "the log ends behind number %llu", (unsigned long long)number);
		for (uint32_t i = 1; bs_log_path(r, i) != NULL; i++)
			(void)unlink(bs_log_path(r, i));
		bs_log_close(r);
	}
}

static bool stop_worker(const char *worker)
{
	pid_t pid = -1;

	AWAIT((pid = ready_pid(&service, worker)) > 0);
	return kill(pid, SIGSTOP) == 0;
}

/* CLOSE is held; its outcome cannot come. */
static bool close_scan(struct sender *s)
{
	const int64_t limit = await_limit();
	bool good = stop_worker("recon") && sender_finish(s);

	while (good && s->rules.books.held + 1 < s->rules.next_seq) {
		good = await_now_ns() < limit;
		(void)sender_step(s, 5);
	}
	return good;
}

/* So many readouts are sent, and CLOSE, that the log does not have; the service is no more. */
static bool lose(struct sender *s, enum loss loss, unsigned missing, bool closed)
{
	const unsigned until = BEFORE + missing;
	bool good = true;

	if (loss == DISK)
		(void)close(open(gate, O_WRONLY | O_CREAT, 0600));
	if (loss == KEPT) {
		good = stop_worker("ingest");
		fill(s, until);
		while (good && sender_step(s, 100) == SENDER_SENT)
			;
	} else {
		good = stream(s, until);
	}
	good = good && (!closed || close_scan(s));
	kill_service();
	if (loss == POWER)
		cut_log(BEFORE);
	(void)unlink(gate);
	return good;
}

/* ---- a start ---- */

static void test_start(enum loss loss, unsigned missing, bool closed)
{
	/* of whole images */
	const unsigned numbers =
		closed ? BEFORE + missing : (BEFORE + missing + AFTER) / LINES * LINES;
	const struct sender_books *b;
	struct sender one, other;
	bool ended;

	CHECK(start(loss) && sender_open(&one, service.kspace) &&
		      sender_open(&other, service.kspace),
	      "%u missing after %s%s: a service, and two senders", missing, losses[loss],
	      closed ? ", closed" : "");
	begin(&one);
	b = &one.rules.books;
	CHECK(stream(&one, BEFORE) && settle(&one), "%u readouts are durable", BEFORE);
	CHECK(lose(&one, loss, missing, closed), "%u more are sent", missing);
	CHECK(service_spawn(&service, hook), "the service is started again");
	ended = end(&one, numbers);
	CHECK(ended && !b->refused, "the scan ends: %d %s", b->code, b->text);
	CHECK(b->acquisitions + b->gaps == numbers, "%llu came, %llu did not, of %u",
	      (unsigned long long)b->acquisitions, (unsigned long long)b->gaps, numbers);
	CHECK(b->gaps == 0 ? b->code == 0 : b->code == -12 && b->gaps == missing,
	      "whole, or partial for that reason");
	CHECK(loss == KEPT || b->gaps == missing, "what nobody has is missing");
	CHECK(b->durable_back == 0 && b->wrong == 0, "durable does not go back");
	printf("# %llu sent again, %llu sockets, %llu ACKs, held went back %llu times\n",
	       (unsigned long long)b->again, (unsigned long long)b->sockets,
	       (unsigned long long)b->heard[SENDER_ACK], (unsigned long long)b->held_back);
	begin(&other);
	CHECK(end(&other, LINES) && other.rules.books.code == 0 &&
		      other.rules.books.acquisitions == LINES,
	      "another scanner is taken: %d %s", other.rules.books.code, other.rules.books.text);
	sender_close(&one);
	sender_close(&other);
	(void)service_end(&service);
}

int main(int argc, char **argv)
{
	static const unsigned missing[] = { 100, 300, 3000 };
	const int times = argc > 1 ? atoi(argv[1]) : 1;

	(void)peer_xml(header, "cart", true);
	(void)snprintf(hook, sizeof(hook), "%s/test/support/block_hook.so",
		       getenv("BUILD") ? getenv("BUILD") : "");
	(void)snprintf(gate, sizeof(gate), "/tmp/boreside-eio-%d", (int)getpid());
	(void)setenv("EIO_HOOK", gate, 1);
	if (CHECK_SANITIZED || access(hook, R_OK) != 0) {
		SKIP("no %s, or a library preloaded before the sanitizer's own", hook);
		return check_done();
	}
	for (int i = 0; i < times && check_failed == 0; i++)
		for (int n = 0; n < 3 && check_failed == 0; n++) {
			test_start(POWER, missing[n], false);
			test_start(DISK, missing[n], false);
		}
	for (int i = 0; i < times && check_failed == 0; i++) {
		test_start(POWER, 300, true);
		test_start(DISK, 300, true);
		test_start(KEPT, 300, false);
	}
	return check_done();
}

/*
 * test/fault/fault_kill.c - workers that die or stop: replaced, the sender told, the next scan
 * good; and the service's own end. Times are printed and judged by nobody (the aim is 200 ms to a
 * new start). A scan that outlives its ingest: fault_campaign.c
 */
#define _GNU_SOURCE
#include "test/support/service.h"

static struct service service;
static struct peer p;
static const char *const workers[] = { "ingest", "recon", "emit" };

static void where_of(char out[64], const char *worker)
{
	(void)snprintf(out, 64, "\"name\":\"%s\",\"pid\"", worker);
}

static long worker_number(const char *worker, const char *name)
{
	char where[64];

	where_of(where, worker);
	return service_number(&service, where, name);
}

static pid_t worker_pid(const char *worker)
{
	return (pid_t)worker_number(worker, "pid");
}

/* The worker's pid when it is another one and ready, else -1. *restart_ms: how long after its
 * predecessor's end it was started. */
static pid_t successor(const char *worker, pid_t old, double *restart_ms)
{
	static char doc[200000];
	const char *at = NULL;
	char where[64];

	where_of(where, worker);
	if (service_ask_once(&service, "json", doc, sizeof(doc)))
		at = strstr(doc, where);
	if (at == NULL)
		return -1;

	pid_t pid = (pid_t)strtol(at + strlen(where) + 1, NULL, 10);
	const char *phase = strstr(at, "\"phase\":");
	const char *started = strstr(at, "\"restart_ms\":");

	if (pid <= 0 || pid == old || phase == NULL || started == NULL ||
	    strncmp(phase + 8, "\"ready\"", 7) != 0)
		return -1;
	*restart_ms = strtod(started + strlen("\"restart_ms\":"), NULL);
	return pid;
}

static void expect_successor(const char *what, const char *worker, pid_t old, int64_t since_ns)
{
	double restart_ms = -1.0;
	pid_t pid = -1;

	AWAIT((pid = successor(worker, old, &restart_ms)) > 0);
	CHECK(pid > 0, "%s: a new %s is ready", what, worker);
	printf("# %s: %s started %.2f ms after the end was seen, ready %.1f ms after the signal\n",
	       what, worker, restart_ms, (double)(bs_now_ns() - since_ns) * 1e-6);
	CHECK(restart_ms >= 0.0, "%s: the status says how soon it was started", what);
}

static void kill_idle(const char *worker)
{
	char what[64];
	pid_t old = worker_pid(worker);
	int64_t now = bs_now_ns();

	(void)snprintf(what, sizeof(what), "SIGKILL at rest");
	CHECK(old > 0 && kill(old, SIGKILL) == 0, "%s: %s is killed", what, worker);
	expect_successor(what, worker, old, now);
	CHECK(peer_good_scan(&p, "cart", 2), "%s of %s: the next scan is good", what, worker);
}

/*
 * The outcome that a new process owes the sender. What breaks a connection takes what was under way
 * with it, and so the sender asks again each second, by its CLOSE (ipc/WIRE.md).
 */
static bool outcome_comes(uint64_t count)
{
	if (peer_await_until(&p, BS_WIRE_OUTCOME, bs_now_ns() + 1000000000) &&
	    p.w.session == p.session)
		return true;
	(void)peer_close_scan(&p, p.seq, count);
	return false;
}

/* The scan is lost, and the sender is told so. */
static void kill_recon_mid_scan(void)
{
	const char *worker = "recon";
	pid_t old;
	bool told = false;
	int64_t now;

	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 48; i++)
		(void)peer_acq(&p, "cart", i % 32, i / 32);
	(void)service_until(&service, "\"images_left\":1");
	old = worker_pid(worker);
	now = bs_now_ns();
	CHECK(old > 0 && kill(old, SIGKILL) == 0, "mid-scan: %s is killed", worker);
	for (unsigned i = 48; i < 64; i++) /* the sender does not know yet */
		(void)peer_acq(&p, "cart", i % 32, i / 32);
	AWAIT((told = outcome_comes(64)));
	CHECK(told && p.outcome.code == BS_ERR_ABORTED, "mid-scan kill of %s: outcome %s \"%s\"",
	      worker, bs_err_name(p.outcome.code), p.outcome.text);
	printf("# the sender was told %.1f ms after the signal\n",
	       (double)(bs_now_ns() - now) * 1e-6);
	CHECK(p.outcome.images >= 1, "the image that was out is counted");
	expect_successor("SIGKILL mid-scan", worker, old, now);
	CHECK(peer_good_scan(&p, "cart", 2), "mid-scan kill of %s: the next scan is good", worker);
}

/* emit holds nothing that cannot be done again: the scan goes on and no image is missing. */
static void kill_emit_mid_scan(int how)
{
	const char *what = how == SIGKILL ? "SIGKILL of emit mid-scan" : "SIGSTOP of emit mid-scan";
	int64_t now = 0;
	pid_t old = worker_pid("emit");

	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned f = 0; f < 6; f++) {
		for (unsigned i = 0; i < 32; i++)
			(void)peer_acq(&p, "cart", i, f);
		if (f == 2) {
			now = bs_now_ns();
			CHECK(old > 0 && kill(old, how) == 0, "%s", what);
		}
	}
	CHECK(peer_end(&p, 192) && p.outcome.code == 0 && p.outcome.images == 6,
	      "%s: all 6 images left (%llu), outcome %s \"%s\"", what,
	      (unsigned long long)p.outcome.images, bs_err_name(p.outcome.code), p.outcome.text);
	expect_successor(what, "emit", old, now);
}

static void stop_worker(const char *worker)
{
	pid_t old = worker_pid(worker);
	int64_t now = bs_now_ns();

	CHECK(old > 0 && kill(old, SIGSTOP) == 0, "%s is stopped", worker);
	expect_successor("SIGSTOP", worker, old, now);
	CHECK(peer_good_scan(&p, "cart", 2), "SIGSTOP of %s: the next scan is good", worker);
}

static void expect_slots(void)
{
	CHECK(service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0 &&
		      service_number(&service, "\"images\",\"slots\"", "in_use") == 0,
	      "after all that, no slot is lost");
}

/* A service that replaces a worker which makes no progress for a while: here that is the test. */
static void test_stopped(void)
{
	CHECK(service_start_with(&service, "heartbeat_ms = 100.0; stall_ms = 5000.0;",
				 SERVICE_SINKS SERVICE_PROTOCOLS, NULL),
	      "a service that soon replaces what is stopped");
	CHECK(peer_open(&p, &service), "a sender connects");
	for (int i = 0; i < 3; i++)
		stop_worker(workers[i]);
	kill_emit_mid_scan(SIGSTOP);
	expect_slots();
	peer_close(&p);
	(void)service_end(&service);
}

static void test_second_service(void)
{
	struct service second = service;

	CHECK(service_spawn(&second, NULL) && service_wait(&second) == 1,
	      "a second service in the same folder is refused");
	CHECK(service_logs(&service, "another service runs in this folder"), "with the reason");
	CHECK(peer_good_scan(&p, "cart", 1), "the first is not disturbed");
}

static bool tell_to_end(void)
{
	return kill(service.pid, SIGTERM) == 0 &&
	       service_logs(&service, "signal 15: the service ends");
}

/* SIGTERM while a scan runs: it may finish. */
static void test_term_finishes(void)
{
	int status;

	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 32; i++) {
		(void)peer_acq(&p, "cart", i, 0);
		if (i == 10)
			CHECK(tell_to_end(), "SIGTERM mid-scan");
	}
	CHECK(peer_end(&p, 32) && p.outcome.code == 0 && p.outcome.images == 1,
	      "the scan finishes: %s", bs_err_name(p.outcome.code));
	status = service_wait(&service);
	CHECK(status == 0, "and the service ends with %d", status);
}

/* Twice: at once, and the sender is told. */
static void test_term_aborts(void)
{
	int64_t now;
	int status;

	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 16; i++)
		(void)peer_acq(&p, "cart", i, 0);
	/* what is not acknowledged when the scan is ended may be in no image */
	while (p.acked < 16 && peer_await(&p, BS_WIRE_ACK))
		continue;
	CHECK(p.acked == 16, "its 16 readouts are acknowledged");
	CHECK(tell_to_end(), "SIGTERM mid-scan");
	now = bs_now_ns();
	(void)kill(service.pid, SIGTERM);
	CHECK(peer_await(&p, BS_WIRE_OUTCOME) && p.outcome.code == BS_ERR_ABORTED &&
		      p.outcome.images == 1,
	      "a second SIGTERM aborts the scan: %s \"%s\", its image was made",
	      bs_err_name(p.outcome.code), p.outcome.text);
	status = service_wait(&service);
	CHECK(status == 0, "the service ends with %d", status);
	printf("# %.0f ms after the second signal\n", (double)(bs_now_ns() - now) * 1e-6);
}

/* Neither running nor stopped; where nobody reaps orphans a dead one stays as a zombie. */
static bool is_gone(pid_t pid)
{
	char path[64];
	char line[256];
	const char *state;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (f == NULL)
		return true;
	if (fgets(line, sizeof(line), f) == NULL)
		line[0] = '\0';
	(void)fclose(f);
	state = strrchr(line, ')');
	return state != NULL && state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X');
}

static int left_of(const pid_t old[3])
{
	int left = 0;

	for (int i = 0; i < 3; i++)
		left += old[i] <= 0 || !is_gone(old[i]);
	return left;
}

/* The supervisor itself: its workers do not stay behind, and a new service takes over the folder.
 */
static void test_supervisor_killed(void)
{
	pid_t old[3];
	int64_t now;

	for (int i = 0; i < 3; i++)
		old[i] = worker_pid(workers[i]);
	now = bs_now_ns();
	(void)kill(service.pid, SIGKILL);
	(void)waitpid(service.pid, NULL, 0);
	AWAIT(left_of(old) == 0);
	printf("# all had ended %.1f ms after the signal\n", (double)(bs_now_ns() - now) * 1e-6);
	CHECK(left_of(old) == 0, "the supervisor's death takes its workers along (%d left)",
	      left_of(old));
	CHECK(service_spawn(&service, NULL) && service_until(&service, "\"state\":\"idle\""),
	      "a new service starts in the same folder");
	CHECK(peer_good_scan(&p, "cart", 1), "and the same sender's next scan is good");
}

int main(void)
{
	CHECK(service_start(&service), "the service starts");
	CHECK(peer_open(&p, &service), "a sender connects");
	CHECK(peer_good_scan(&p, "cart", 1), "a scan is good");
	for (int i = 0; i < 3; i++)
		kill_idle(workers[i]);
	kill_recon_mid_scan();
	kill_emit_mid_scan(SIGKILL);
	expect_slots();
	test_second_service();
	test_supervisor_killed();
	test_term_finishes();
	(void)strcat(service.log,
		     "-2"); /* the next one's, that its SIGTERM is not taken for this */
	CHECK(service_spawn(&service, NULL) && service_until(&service, "\"state\":\"idle\""),
	      "it starts again");
	test_term_aborts();
	peer_close(&p);
	service_remove(&service);
	test_stopped();
	return check_done();
}

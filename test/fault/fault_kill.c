/*
 * test/fault/fault_kill.c - workers that die or stop: replaced, the sender told, the next scan
 * good; and the service's own end. Times are printed; only a generous bound can fail (the aim is
 * 200 ms to a new start).
 */
#define _GNU_SOURCE
#include "test/support/service.h"

#define RESTART_BOUND_MS 2000.0

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

/* Until the worker is another one and ready; its pid, or -1. */
static pid_t await_successor(const char *worker, pid_t old, int ms)
{
	int64_t until = bs_now_ns() + (int64_t)ms * 1000000;

	while (bs_now_ns() < until) {
		char doc[40000];
		char where[64];
		const char *at;
		pid_t pid;

		where_of(where, worker);
		if (service_ask(&service, "json", doc, sizeof(doc), 300) &&
		    (at = strstr(doc, where)) != NULL) {
			pid = (pid_t)strtol(at + strlen(where) + 1, NULL, 10);
			at = strstr(at, "\"phase\":");
			if (pid > 0 && pid != old && at != NULL &&
			    strncmp(at + 8, "\"ready\"", 7) == 0)
				return pid;
		}
		service_pause_ms(2);
	}
	return -1;
}

/* Milliseconds from the kill to the successor being ready; prints both times. */
static void expect_successor(const char *what, const char *worker, pid_t old, int64_t since_ns)
{
	pid_t pid = await_successor(worker, old, 15000);
	double ready_ms = (double)(bs_now_ns() - since_ns) * 1e-6;
	char doc[40000];
	char where[64];
	const char *at = NULL;
	double start_ms = -1.0;

	where_of(where, worker);
	if (service_ask(&service, "json", doc, sizeof(doc), 2000) &&
	    (at = strstr(doc, where)) != NULL)
		at = strstr(at, "\"restart_ms\":");
	if (at != NULL)
		start_ms = strtod(at + strlen("\"restart_ms\":"), NULL);
	CHECK(pid > 0, "%s: a new %s is ready", what, worker);
	printf("# %s: %s started again %.2f ms after its end was seen; ready %.1f ms after the signal\n",
	       what, worker, start_ms, ready_ms);
	CHECK(start_ms >= 0.0 && start_ms < RESTART_BOUND_MS, "%s: restarted within %.0f ms", what,
	      RESTART_BOUND_MS);
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

/* ingest or recon: the scan is lost, and the sender is told so. */
static void kill_mid_scan(const char *worker)
{
	pid_t old;
	int64_t now;

	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 48; i++)
		(void)peer_acq(&p, "cart", i % 32, i / 32);
	(void)service_until(&service, "\"images_left\":1", 5000);
	old = worker_pid(worker);
	now = bs_now_ns();
	CHECK(old > 0 && kill(old, SIGKILL) == 0, "mid-scan: %s is killed", worker);
	for (unsigned i = 48; i < 64; i++) /* the sender does not know yet */
		(void)peer_acq(&p, "cart", i % 32, i / 32);
	CHECK(peer_await(&p, BS_WIRE_OUTCOME, 10000) && p.outcome.code == BS_ERR_ABORTED &&
		      p.w.session == p.session,
	      "mid-scan kill of %s: outcome %s \"%s\"", worker, bs_err_name(p.outcome.code),
	      p.outcome.text);
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
			CHECK(kill(old, how) == 0, "%s", what);
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

static void test_second_service(void)
{
	struct service second = service;

	CHECK(service_spawn(&second, NULL) && service_wait(&second, 10000) == 1,
	      "a second service in the same folder is refused");
	CHECK(service_logs(&service, "another service runs in this folder"), "with the reason");
	CHECK(peer_good_scan(&p, "cart", 1), "the first is not disturbed");
}

/* SIGTERM while a scan runs: it may finish. */
static void test_term_finishes(void)
{
	int status;

	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 32; i++) {
		(void)peer_acq(&p, "cart", i, 0);
		if (i == 10)
			CHECK(kill(service.pid, SIGTERM) == 0, "SIGTERM mid-scan");
		service_pause_ms(10);
	}
	CHECK(peer_end(&p, 32) && p.outcome.code == 0 && p.outcome.images == 1,
	      "the scan finishes: %s", bs_err_name(p.outcome.code));
	status = service_wait(&service, 15000);
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
	(void)kill(service.pid, SIGTERM);
	service_pause_ms(100);
	now = bs_now_ns();
	(void)kill(service.pid, SIGTERM);
	CHECK(peer_await(&p, BS_WIRE_OUTCOME, 10000) && p.outcome.code == BS_ERR_ABORTED &&
		      p.outcome.images == 1,
	      "a second SIGTERM aborts the scan: %s \"%s\", its image was made",
	      bs_err_name(p.outcome.code), p.outcome.text);
	status = service_wait(&service, 15000);
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

/* The supervisor itself: its workers do not stay behind, and a new service takes over the folder.
 */
static void test_supervisor_killed(void)
{
	pid_t old[3];
	int left = 0;

	for (int i = 0; i < 3; i++)
		old[i] = worker_pid(workers[i]);
	(void)kill(service.pid, SIGKILL);
	(void)waitpid(service.pid, NULL, 0);
	service_pause_ms(200);
	for (int i = 0; i < 3; i++)
		left += old[i] <= 0 || !is_gone(old[i]);
	CHECK(left == 0, "the supervisor's death takes its workers along (%d left)", left);
	CHECK(service_spawn(&service, NULL) && service_until(&service, "\"state\":\"idle\"", 10000),
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
	kill_mid_scan("ingest");
	kill_mid_scan("recon");
	kill_emit_mid_scan(SIGKILL);
	for (int i = 0; i < 3; i++)
		stop_worker(workers[i]);
	kill_emit_mid_scan(SIGSTOP);
	CHECK(service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0 &&
		      service_number(&service, "\"images\",\"slots\"", "in_use") == 0,
	      "after all that, no slot is lost");
	test_second_service();
	test_supervisor_killed();
	test_term_finishes();
	CHECK(service_spawn(&service, NULL) && service_until(&service, "\"state\":\"idle\"", 10000),
	      "it starts again");
	test_term_aborts();
	peer_close(&p);
	service_remove(&service);
	return check_done();
}

/*
 * test/fault/fault_stop.c - the service's own end: a scan that is closed is reconstructed and
 * delivered however long that takes, on SIGTERM and by `boreside drain`, which takes no new scan,
 * whichever thread gets the signal; counted by the sender's outcome and the files
 */
/* Holds: W15 */
#define _GNU_SOURCE
#include <dirent.h>

#include "test/support/service.h"

#define LONGER_MS 5500 /* the limit that the service itself once had was 5 s */

static struct service service;
static struct peer p;

static bool start(const char *node)
{
	bool up = service_start_with(&service, node, SERVICE_SINKS SERVICE_PROTOCOLS, NULL);

	CHECK(up && peer_open(&p, &service), "the service starts");
	return up;
}

static void frames(unsigned n)
{
	for (unsigned f = 0; f < n; f++)
		for (unsigned i = 0; i < 32; i++)
			(void)peer_acq(&p, "cart", i, f);
}

/* The process that `boreside drain` runs in, its words in the file "drain". */
static pid_t drain(void)
{
	const char *program = getenv("BORESIDE");
	char path[128];
	pid_t pid = fork();

	(void)snprintf(path, sizeof(path), "%s/drain", service.dir);
	if (pid == 0) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		(void)dup2(fd, STDOUT_FILENO);
		(void)dup2(fd, STDERR_FILENO);
		(void)execl(program, "boreside", "drain", "-c", service.site, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static bool drain_said(const char *words)
{
	struct service said = service;

	(void)snprintf(said.log, sizeof(said.log), "%s/drain", service.dir);
	return service_logged(&said, words);
}

static int wait_for(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static unsigned threads_of(pid_t pid, const char *name)
{
	char path[64];
	char line[32];
	unsigned n = 0;
	struct dirent *e;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d != NULL && (e = readdir(d)) != NULL) {
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/comm", (int)pid, e->d_name);
		FILE *f = fopen(path, "r");

		n += f != NULL && fgets(line, sizeof(line), f) != NULL &&
		     strncmp(line, name, strlen(name)) == 0;
		if (f != NULL)
			(void)fclose(f);
	}
	if (d != NULL)
		(void)closedir(d);
	return n;
}

/* SIGTERM, and what a closed scan still needs takes longer than 5 s: its images are delivered. */
static void test_closed(void)
{
	pid_t recon;

	if (!start(SERVICE_PATIENT))
		return;
	recon = (pid_t)service_number(&service, "\"name\":\"recon\",\"pid\"", "pid");
	CHECK(peer_begin(&p, "cart") && recon > 0 && kill(recon, SIGSTOP) == 0,
	      "a scan begins, whose images take long");
	frames(1);
	CHECK(peer_close_scan(&p, p.seq++, 32) && service_until(&service, "\"state\":\"draining\""),
	      "it is closed");
	CHECK(kill(service.pid, SIGTERM) == 0, "SIGTERM");
	await_pause_ms(LONGER_MS);
	CHECK(kill(recon, SIGCONT) == 0, "its reconstruction is not ended after a fixed time");
	CHECK(peer_await(&p, BS_WIRE_OUTCOME) && p.outcome.code == 0 && p.outcome.images == 1,
	      "its outcome: %llu images, \"%s\"", (unsigned long long)p.outcome.images,
	      p.outcome.text);
	CHECK(service_wait(&service) == 0 && files_in(service.out, ".cfl") == 1,
	      "its image is filed, the service ends with 0");
	peer_close(&p);
	service_remove(&service);
}

/* What the site grants is the limit: an open scan is ended then. */
static void test_limit(void)
{
	if (!start(SERVICE_PATIENT " drain_s = 0.2;"))
		return;
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	frames(1);
	while (p.acked < 32 && peer_await(&p, BS_WIRE_ACK))
		continue;
	CHECK(kill(service.pid, SIGTERM) == 0, "SIGTERM, 0.2 s granted");
	CHECK(peer_await(&p, BS_WIRE_OUTCOME) && p.outcome.code == BS_ERR_ABORTED &&
		      p.outcome.images == 1,
	      "the open scan is ended, what came is delivered: \"%s\"", p.outcome.text);
	CHECK(service_wait(&service) == 0 && files_in(service.out, ".cfl") == 1,
	      "the end's status is 0");
	peer_close(&p);
	service_remove(&service);
}

static void test_drain(void)
{
	struct peer other;
	char words[80];
	uint64_t seq;
	pid_t pid;

	if (!start(SERVICE_PATIENT " drain_s = 0.1;"))
		return;
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	frames(2);
	pid = drain();
	CHECK(service_logs(&service, "draining: no new scan is taken"), "boreside drain");
	/* a scan is asked for on the same connection */
	other = p;
	seq = p.seq;
	CHECK(!peer_begin(&other, "cart") && other.answer.code == BS_ERR_ABORTED &&
		      strstr(other.answer.text, "the service is draining") != NULL,
	      "a new one is refused: \"%s\"", other.answer.text);
	p.seq = seq;
	frames(3);
	CHECK(waitpid(pid, NULL, WNOHANG) == 0, "drain waits");
	CHECK(peer_end(&p, 160) && p.outcome.code == 0 && p.outcome.images == 5 &&
		      p.outcome.acquisitions == 160,
	      "the one in flight goes on to its end: %llu images, \"%s\"",
	      (unsigned long long)p.outcome.images, p.outcome.text);
	CHECK(service_wait(&service) == 0 && files_in(service.out, ".cfl") == 5,
	      "the service ends with 0, %u images filed", files_in(service.out, ".cfl"));
	CHECK(wait_for(pid) == 0 && drain_said("drained: 1 scan, 5 images"), "and drain says so");
	(void)snprintf(words, sizeof(words), "(0 were not handed on), undelivered %u\n",
		       p.outcome.undelivered);
	CHECK(p.outcome.undelivered == 5 && drain_said(words),
	      "nobody was at the archive: outcome and drain count the same, %u",
	      p.outcome.undelivered);
	pid = drain();
	CHECK(wait_for(pid) == 1 && drain_said("no service runs there"),
	      "without a service it ends with 1, in words");
	peer_close(&p);
	service_remove(&service);
}

/* A library may have begun a thread before main, which blocks no signal: the kernel prefers it. */
static void test_foreign(int number, const char *words)
{
	char hook[300];

	(void)snprintf(hook, sizeof(hook), "%.256s/test/unit/board/thread_hook.so",
		       getenv("BUILD") != NULL ? getenv("BUILD") : "");
	if (CHECK_SANITIZED || access(hook, R_OK) != 0) {
		SKIP("no %s, or a library preloaded before the sanitizer's own", hook);
		return;
	}
	CHECK(service_start_with(&service, SERVICE_PATIENT, SERVICE_SINKS SERVICE_PROTOCOLS,
				 hook) &&
		      peer_open(&p, &service) && threads_of(service.pid, "foreign") == 1 &&
		      peer_begin(&p, "cart"),
	      "beside a library's thread: a scan begins");
	frames(2);
	CHECK(kill(service.pid, SIGHUP) == 0 &&
		      service_logs(&service, "the file is good; the scan in flight ends first"),
	      "SIGHUP: the scan goes on");
	if (service_ended(&service))
		return;
	CHECK(peer_end(&p, 64) && p.outcome.code == 0 && p.outcome.images == 2,
	      "to its end: %llu images, \"%s\"", (unsigned long long)p.outcome.images,
	      p.outcome.text);
	CHECK(service_until(&service, "\"generation\":2"), "then the site file is read again");
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	frames(1);
	CHECK(kill(service.pid, number) == 0 && service_logs(&service, words),
	      "signal %d: it goes on", number);
	if (service_ended(&service))
		return;
	frames(2);
	CHECK(peer_end(&p, 96) && p.outcome.code == 0 && p.outcome.images == 3,
	      "to its end: %llu images, \"%s\"", (unsigned long long)p.outcome.images,
	      p.outcome.text);
	CHECK(service_wait(&service) == 0 && files_in(service.out, ".cfl") == 5,
	      "the service ends with 0, %u images filed", files_in(service.out, ".cfl"));
	peer_close(&p);
	service_remove(&service);
}

int main(void)
{
	test_closed();
	test_limit();
	test_drain();
	test_foreign(SIGTERM, "signal 15: the service ends");
	test_foreign(SIGUSR1, "draining: no new scan is taken");
	return check_done();
}

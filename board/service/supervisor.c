/* board/service/supervisor.c - see supervisor.h */
#include "board/service/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "board/arm/ready.h"
#include "board/emit/folder.h"
#include "board/service/herald.h"
#include "board/service/supervising.h"
#include "board/service/watch.h"
#include "core/thread/clock.h"
#include "core/log.h"
#include "drivers/log/kept.h"
#include "drivers/file/tables.h"

#define MS       INT64_C(1000000)
#define PASS_MS  20                 /* longest sleep of the loop when nothing happens */
#define RAN_NS   (2 * PASS_MS * MS) /* time that counts as run, of a longer pass of the loop */
#define FIRST_FD 32                 /* our descriptors lie above those that workers get */

static int spawn(struct supervisor *v, int who)
{
	struct child *c = &v->child[who];
	struct bs_worker_state *w = &v->shm.s->worker[who];
	int rc;

	c->start_ns = bs_now_ns();
	atomic_store(&w->started_ns, c->start_ns);
	rc = bs_spawn(v, bs_worker_name((enum bs_worker)who), &c->pid);
	if (rc != 0)
		return rc;
	c->beat = atomic_load(&w->beat);
	c->beat_ns = v->ran_ns;
	c->cpu_ns = 0;
	c->start_at_ns = 0;
	atomic_store(&w->pid, (int32_t)c->pid);
	if (c->died_ns != 0)
		atomic_store(&w->restart_ns, c->start_ns - c->died_ns);
	return 0;
}

/* ---- a worker's end ---- */

static void write_end(struct bs_worker_state *w, int status, bool stalled)
{
	if (stalled)
		(void)snprintf(w->last_end, sizeof(w->last_end), "no progress, killed");
	else
		bs_end_words(w->last_end, status);
}

static void take_end(struct supervisor *v, int who, int status)
{
	struct child *c = &v->child[who];
	struct bs_worker_state *w = &v->shm.s->worker[who];
	const char *name = bs_worker_name((enum bs_worker)who);
	bool told = v->ending && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	struct bs_fail why = { 0 };
	int64_t now = bs_now_ns();

	bs_herald_drain(&v->shm); /* a dead worker's last events are logged first */
	c->pid = 0;
	c->died_ns = now;
	atomic_store(&w->pid, 0);
	if (told)
		return;
	const bool was_ready = atomic_exchange(&w->phase, BS_PHASE_DOWN) == BS_PHASE_READY;

	atomic_store(&w->busy, 0);
	write_end(w, status, c->stopping);
	atomic_store(&w->killed,
		     !c->stopping && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	c->stopping = false;
	bs_reload_lost(v, who);
	uint32_t freed = bs_shm_recover(&v->shm, (enum bs_worker)who, &why);

	if (why.code != 0)
		bs_herald_say(&v->shm, BS_LOG_ERROR, "%s: %s; slots stay taken", name, why.text);
	atomic_fetch_add(&w->epoch, 1);
	bs_shm_ring_bell(&v->shm, BS_WORKER_INGEST);
	bs_herald_say(&v->shm, BS_LOG_ERROR, "%s died: %s; %u slots recovered", name, w->last_end,
		      freed);
	if (!c->was_ready && WIFEXITED(status) && WEXITSTATUS(status) == BS_EXIT_HOPELESS) {
		bs_herald_say(&v->shm, BS_LOG_ERROR, "%s cannot start: the service ends", name);
		bs_stop_begin(v, 1, 0);
		return;
	}
	c->start_at_ns = bs_restart_at(&c->restart, was_ready, now);
}

static void reap(struct supervisor *v)
{
	for (int i = 0; i < BS_WORKERS; i++) {
		int status;

		if (v->child[i].pid != 0 &&
		    waitpid(v->child[i].pid, &status, WNOHANG) == v->child[i].pid)
			take_end(v, i, status);
	}
}

static void restart_due(struct supervisor *v, int64_t now)
{
	for (int i = 0; i < BS_WORKERS; i++) {
		struct child *c = &v->child[i];

		if (c->pid != 0 || c->start_at_ns == 0 || now < c->start_at_ns)
			continue;
		if (v->ending && i < (int)atomic_load(&v->shm.s->stop))
			continue; /* the worker was told to end */
		if (spawn(v, i) != 0)
			c->start_at_ns = bs_restart_at(&c->restart, false, now);
		else
			bs_herald_say(&v->shm, BS_LOG_INFO,
				      "%s started again, %.1f ms after its end",
				      bs_worker_name((enum bs_worker)i),
				      (double)(c->start_ns - c->died_ns) / (double)MS);
	}
}

/* ---- progress ---- */

/* Returns the processor time of another process; 0 when it cannot be told. */
static int64_t cpu_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
		return 0;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* True if a thread of another process runs or waits for a processor. */
static bool is_runnable(pid_t pid)
{
	char path[64];
	char line[256];
	glob_t tasks;
	bool any = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/*/stat", (int)pid);
	if (glob(path, GLOB_NOSORT, NULL, &tasks) != 0)
		return false;
	for (size_t i = 0; i < tasks.gl_pathc && !any; i++) {
		FILE *f = fopen(tasks.gl_pathv[i], "re");
		const char *end = f != NULL && fgets(line, sizeof(line), f) != NULL
					  ? strrchr(line, ')')
					  : NULL;

		any = end != NULL && strncmp(end, ") R", 3) == 0;
		if (f != NULL)
			(void)fclose(f);
	}
	globfree(&tasks);
	return any;
}

/* Replaces a worker that makes no progress (watch.h). */
static void watch_worker(struct supervisor *v, int who)
{
	struct child *c = &v->child[who];
	struct bs_worker_state *w = &v->shm.s->worker[who];
	uint64_t beat = atomic_load(&w->beat);
	const int64_t stall_ns = bs_ns_of_ms(v->shm.s->site.stall_ms);
	struct bs_watched seen = { .phase = (enum bs_phase)atomic_load(&w->phase),
				   .busy = (enum bs_busy)atomic_load(&w->busy),
				   .silent_ns = v->ran_ns - c->beat_ns,
				   .replaced = c->replaced };

	c->was_ready = c->was_ready || seen.phase == BS_PHASE_READY;
	if (beat != c->beat) {
		c->beat = beat;
		c->beat_ns = v->ran_ns;
		c->cpu_ns = cpu_ns(c->pid);
		if (bs_now_ns() - c->start_ns > BS_WATCH_LONG_NS)
			c->replaced = 0;
		return;
	}
	if (seen.silent_ns <= stall_ns || c->stopping)
		return;
	seen.cpu_ns = cpu_ns(c->pid) - c->cpu_ns;
	if (bs_watch_alive(&seen, stall_ns))
		return;
	seen.runnable = is_runnable(c->pid);
	/* during these checks the worker may have beaten, and slept after it */
	if (bs_watch_alive(&seen, stall_ns) || atomic_load(&w->beat) != beat)
		return;
	c->stopping = true;
	c->replaced++;
	atomic_fetch_add(&w->stalls, 1);
	bs_herald_say(&v->shm, BS_LOG_ERROR, "%s makes no progress for %.0f ms: it is replaced",
		      bs_worker_name((enum bs_worker)who), (double)seen.silent_ns / (double)MS);
	(void)kill(c->pid, SIGKILL);
}

static void watch_all(struct supervisor *v, int64_t now)
{
	const int64_t took_ns = now - v->pass_ns;
	bool all = true;
	bool stalled = false;

	/* this very process may have been stopped or had no processor */
	v->ran_ns += took_ns < RAN_NS ? took_ns : RAN_NS;
	v->pass_ns = now;
	for (int i = 0; i < BS_WORKERS; i++) {
		if (v->child[i].pid != 0)
			watch_worker(v, i);
		all = all && v->child[i].was_ready;
		stalled = stalled || v->child[i].stopping;
	}
	if (all && !v->ready) {
		v->ready = true;
		bs_herald_say(&v->shm, BS_LOG_INFO, "ready %.0f ms after the start",
			      (double)(now - v->shm.s->started_ns) / (double)MS);
		bs_herald_notify("READY=1");
	}
	if (!stalled)
		bs_herald_alive(&v->shm, now);
}

static void take_signals(struct supervisor *v)
{
	struct signalfd_siginfo si;

	while (read(v->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGTERM || si.ssi_signo == SIGINT)
			bs_stop_told(v, si.ssi_signo);
		else if (si.ssi_signo == SIGUSR1)
			bs_stop_drain(v);
		else if (si.ssi_signo == SIGHUP)
			v->reload_asked = true;
		/* after SIGCHLD, reap asks every child */
	}
}

static void look_after(struct supervisor *v)
{
	struct pollfd fds[2] = { { v->signals, POLLIN, 0 },
				 { v->shm.bell_fd[BS_SUPERVISOR], POLLIN, 0 } };

	bs_bell_announce(&v->shm.s->supervisor_bell);
	(void)poll(fds, 2, PASS_MS);
	bs_bell_awake(&v->shm.s->supervisor_bell, v->shm.bell_fd[BS_SUPERVISOR]);
	take_signals(v);
	reap(v);
	bs_reload_advance(v);
	bs_herald_drain(&v->shm);
	restart_due(v, bs_now_ns());
	watch_all(v, bs_now_ns());
	bs_bridges_advance(v, bs_now_ns());
	bs_steps_advance(v, bs_now_ns());
}

/* ---- the start ---- */

/* Locks the folders: two services on one would take each other's sockets, images or logs. */
static int lock_folders(struct supervisor *v, const struct bs_site *site, struct bs_fail *why)
{
	int rc = bs_folder_lock(&v->lock, site->run_dir, BS_FOLDER_PID, why);

	if (rc == 0 && bs_site_spills(site))
		rc = bs_folder_make(site->overload.spill_dir, 0750, why);
	if (rc == 0 && bs_site_spills(site))
		rc = bs_folder_lock(&v->spill_lock, site->overload.spill_dir, "boreside.lock", why);
	if (rc == 0 && bs_site_logs(site))
		rc = bs_folder_make(site->log.dir, 0750, why);
	if (rc == 0 && bs_site_logs(site))
		rc = bs_folder_lock(&v->log_lock, site->log.dir, "boreside.lock", why);
	return rc;
}

static int raise_fds(struct bs_shm *m, struct bs_fail *why)
{
	int *fds[BS_BELLS + 1] = { &m->fd };

	for (int i = 0; i < BS_BELLS; i++)
		fds[i + 1] = &m->bell_fd[i];
	for (int i = 0; i <= BS_BELLS; i++) {
		int up = fcntl(*fds[i], F_DUPFD_CLOEXEC, FIRST_FD);

		if (up < 0)
			return bs_fail(why, BS_ERR_IO, "descriptors: %s", strerror(errno));
		(void)close(*fds[i]);
		*fds[i] = up;
	}
	return 0;
}

static void say_fault(void *arg, const char *line)
{
	(void)arg;
	bs_log(BS_LOG_ERROR, "%s", line);
}

/* Reads the images that the service before this one kept of its studies. */
static void read_kept(struct supervisor *v, const struct bs_site *site)
{
	struct bs_fail why;
	uint32_t count;

	if (v->shm.study == NULL || !bs_site_logs(site))
		return;
	if (bs_kept_read(v->shm.study, site->log.dir, &count, &why) != 0)
		bs_log(BS_LOG_WARN, "an image of an earlier scan is lost: %s", why.text);
	if (count > 0)
		bs_log(BS_LOG_INFO, "%u images of earlier scans are kept for ls.w", count);
}

/* Makes the shared memory, with the trajectories that ingest checks each readout against. */
static int make_memory(struct supervisor *v, const struct bs_site *site, struct bs_fail *why)
{
	struct bs_loaded *loaded = calloc(BS_PROTOCOLS_MAX, sizeof(*loaded));
	struct bs_traj tables[BS_PROTOCOLS_MAX];
	int rc = 0;

	memset(tables, 0, sizeof(tables));
	if (loaded == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "the protocols' tables");
	for (uint32_t i = 0; i < site->protocols; i++) {
		int bad = bs_ready_tables(&loaded[i], site, &site->protocol[i], say_fault, NULL);

		rc = rc != 0 ? rc : bad;
		if (bad == 0 && loaded[i].tables.traj != NULL)
			tables[i] = loaded[i].traj;
	}
	if (rc != 0)
		(void)bs_fail(why, rc, "the service does not start");
	if (rc == 0)
		rc = bs_shm_create(&v->shm, site, tables, why);
	for (uint32_t i = 0; i < site->protocols; i++)
		bs_tables_free(&loaded[i]);
	free(loaded);
	if (rc != 0)
		return rc;
	v->shm.s->locked = mlock(v->shm.s, v->shm.bytes) == 0;
	if (!v->shm.s->locked)
		bs_log(BS_LOG_INFO,
		       "the shared memory (%zu bytes) could not be locked: %s; raise "
		       "LimitMEMLOCK (ulimit -l) where swapping is possible",
		       v->shm.bytes, strerror(errno));
	read_kept(v, site);
	return raise_fds(&v->shm, why);
}

static struct {
	pid_t process; /* children that were forked have the handler, too, and pass nothing on */
	pthread_t thread;
} reader; /* the process and the thread that read signals */

/*
 * Passes a signal on to the thread that reads signals. Our own threads block them, but a thread
 * that a library began before main does not, and may get them.
 */
static void pass_on(int number)
{
	const int kept = errno;

	if (getpid() == reader.process)
		(void)pthread_kill(reader.thread, number);
	errno = kept;
}

static int take_over_signals(struct supervisor *v, struct bs_fail *why)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD };
	struct sigaction act = { .sa_handler = pass_on, .sa_flags = SA_RESTART };
	sigset_t set;
	int rc;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)sigaddset(&set, numbers[i]);
	(void)signal(SIGPIPE, SIG_IGN);
	reader.process = getpid();
	reader.thread = pthread_self();
	act.sa_mask = set;
	rc = sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; rc == 0 && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		rc = sigaction(numbers[i], &act, NULL);
	if (rc != 0)
		return bs_fail(why, BS_ERR_IO, "signals: %s", strerror(errno));
	v->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (v->signals < 0)
		return bs_fail(why, BS_ERR_IO, "signalfd: %s", strerror(errno));
	return 0;
}

/* Reads the limits that the workers inherit. */
static int read_limits(struct bs_fail *why)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
		bs_log(BS_LOG_WARN,
		       "no file may be larger than %llu KiB here, as if the disk were full then: "
		       "ulimit -f unlimited, or LimitFSIZE=infinity in the unit",
		       (unsigned long long)r.rlim_cur >> 10);
	if (getrlimit(RLIMIT_STACK, &r) == 0 && r.rlim_cur >> 10 < BS_READY_STACK_KIB)
		return bs_fail(why, BS_ERR_STATE,
			       "a stack may have %llu KiB here, %u are needed: ulimit -s 8192, or "
			       "LimitSTACK=8M in the unit",
			       (unsigned long long)r.rlim_cur >> 10, BS_READY_STACK_KIB);
	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_max < BS_READY_FILES)
		return bs_fail(why, BS_ERR_STATE,
			       "a process may open %llu files here, %u are needed: ulimit -n 4096, "
			       "or LimitNOFILE=4096 in the unit",
			       (unsigned long long)r.rlim_max, BS_READY_FILES);
	if (r.rlim_cur < BS_READY_FILES) {
		r.rlim_cur = BS_READY_FILES; /* gates raise it as far as they need */
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
	return 0;
}

static int start_service(struct supervisor *v, const struct bs_site *site, struct bs_fail *why)
{
	int rc = read_limits(why);

	if (rc != 0)
		return rc;
	rc = bs_ready_places(site, say_fault, NULL);
	if (rc != 0)
		return bs_fail(why, rc, "the service does not start");
	rc = bs_herald_sign(site->keys.sign, why);
	if (rc != 0)
		return rc;
	/* signals must be handled before the pid file names this process */
	rc = take_over_signals(v, why);
	if (rc == 0)
		rc = bs_folder_make(site->run_dir, 0750, why);
	if (rc == 0 && site->cache_dir[0] != '\0')
		rc = bs_folder_make(site->cache_dir, 0750, why);
	if (rc == 0)
		rc = lock_folders(v, site, why);
	if (rc == 0)
		rc = make_memory(v, site, why);
	if (rc == 0) {
		bs_rt_supervisor(&v->shm);
		bs_rt_canaries(&v->canaries, &v->shm);
	}
	for (int i = 0; rc == 0 && i < BS_WORKERS; i++) {
		atomic_store(&v->shm.s->worker[i].epoch, 1);
		rc = spawn(v, i);
		if (rc != 0)
			(void)bs_fail(why, rc, "the workers cannot be started");
	}
	return rc;
}

int bs_supervisor_run(const struct bs_site *site)
{
	static struct supervisor v;
	struct bs_fail why = { 0 };
	int rc;

	v.shm.fd = v.signals = v.lock = v.spill_lock = v.log_lock = -1;
	for (int i = 0; i < BS_BELLS; i++)
		v.shm.bell_fd[i] = -1;
	rc = start_service(&v, site, &why);
	v.pass_ns = bs_now_ns();
	if (rc != 0) {
		bs_log(BS_LOG_ERROR, "%s: %s", bs_err_name(rc), why.text);
		for (int i = 0; i < BS_WORKERS; i++)
			if (v.child[i].pid != 0)
				(void)kill(v.child[i].pid, SIGKILL);
		v.status = 1;
	}
	while (rc == 0) {
		look_after(&v);
		if (v.ending && bs_stop_advance(&v, bs_now_ns()))
			break;
	}
	bs_bridges_end(&v);
	if (rc == 0)
		bs_steps_end(&v);
	if (rc == 0)
		bs_stop_report(&v);
	bs_canaries_stop(&v.canaries);
	bs_shm_close(&v.shm);
	if (v.signals >= 0)
		(void)close(v.signals);
	if (v.log_lock >= 0)
		(void)close(v.log_lock);
	if (v.spill_lock >= 0)
		(void)close(v.spill_lock);
	if (v.lock >= 0)
		(void)close(v.lock);
	return v.status;
}

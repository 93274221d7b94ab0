/* board/certify/certify.c - see certify.h */
#define _GNU_SOURCE
#include "board/certify/certify.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "board/certify/expected.h"
#include "board/emit/folder.h"
#include "board/certify/archive.h"
#include "board/status/status.h"
#include "board/certify/verdict.h"
#include "board/certify/witness.h"
#include "config/config.h"
#include "core/thread/clock.h"
#include "drivers/source/replay.h"

#define ARM_NS      INT64_C(1800000000000) /* the service may arm for half an hour */
#define END_NS      INT64_C(20000000000)   /* and take so long to end */
#define PATIENCE_NS INT64_C(20000000000)
#define LAST_NS     INT64_C(2000000000) /* an outcome's images are here by then */

struct certify {
	struct bs_certificate *c;
	const struct bs_certify_request *q;
	char dir[160], site[200], log[200];
	pid_t service;
	struct bs_loads loads;
	struct bs_replay *replay;
	struct bs_endpoint kspace;
	struct bs_archive *archive;
	bool connected;
	uint64_t session;
	uint64_t images; /* that one scan of the recording makes */
	struct bs_witness witness;
	char doc[BS_STATUS_MAX];
};

static void print_fault(void *arg, const char *line)
{
	(void)arg;
	(void)fprintf(stderr, "%s\n", line);
}

/* ---- the private site ---- */

static int set_url(char *url, size_t cap, const char *dir, const char *name, struct bs_fail *why)
{
	int n = snprintf(url, cap, "ipc://%s/run/%s.ipc", dir, name);

	return n < 0 || (size_t)n >= cap ? bs_fail(why, BS_ERR_SIZE, "%s: too long a path", dir)
					 : 0;
}

static int write_site(struct certify *w, const struct bs_site *site, struct bs_fail *why)
{
	FILE *f = fopen(w->site, "w");

	if (f == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: %s", w->site, strerror(errno));
	bs_config_print(f, site);
	return fclose(f) == 0 ? 0 : bs_fail(why, BS_ERR_IO, "%s: %s", w->site, strerror(errno));
}

static int hash_site(struct bs_certificate *c, struct bs_fail *why)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	if (f == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the configuration");
	bs_config_print(f, &c->site);
	if (fclose(f) != 0) {
		free(text);
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the configuration");
	}
	bs_sha256(c->config_sha256, text, n);
	free(text);
	return 0;
}

static int make_site(struct certify *w, struct bs_fail *why)
{
	const char *tmp = getenv("TMPDIR");
	struct bs_site *s = malloc(sizeof(*s));
	int rc;

	if (s == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for a site");
	*s = w->c->site;
	(void)snprintf(w->dir, sizeof(w->dir), "%.100s/boreside-XXXXXX",
		       tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
	if (mkdtemp(w->dir) == NULL) {
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", w->dir, strerror(errno));
		w->dir[0] = '\0';
		free(s);
		return rc;
	}
	(void)snprintf(w->site, sizeof(w->site), "%s/site.cfg", w->dir);
	(void)snprintf(w->log, sizeof(w->log), "%s/log", w->dir);
	(void)snprintf(s->run_dir, sizeof(s->run_dir), "%s/run", w->dir);
	s->viewers_url[0] = '\0';
	s->sinks = 0;
	if (s->overload.archive == BS_POLICY_SPILL) /* the folder is the node's own service's */
		s->overload.archive = BS_POLICY_KEEP_NEWEST;
	if (w->q->alone) {
		s->protocol[0] = *w->c->p;
		s->protocols = 1;
	}
	w->c->alone = w->q->alone;
	rc = set_url(s->kspace_url, sizeof(s->kspace_url), w->dir, "kspace", why);
	if (rc == 0)
		rc = set_url(s->archive_url, sizeof(s->archive_url), w->dir, "archive", why);
	if (rc == 0)
		rc = set_url(s->status_url, sizeof(s->status_url), w->dir, "status", why);
	if (rc == 0)
		rc = write_site(w, s, why);
	free(s);
	return rc;
}

static void remove_site(struct certify *w)
{
	static const char *const names[] = { "site.cfg",         "log",
					     "run/boreside.pid", "run/kspace.ipc",
					     "run/archive.ipc",  "run/status.ipc" };
	char path[256];

	if (w->dir[0] == '\0')
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", w->dir, names[i]);
		(void)unlink(path);
	}
	(void)snprintf(path, sizeof(path), "%s/run", w->dir);
	(void)rmdir(path);
	(void)rmdir(w->dir);
}

/* ---- the service ---- */

static int start_service(struct certify *w, struct bs_fail *why)
{
	int log = open(w->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	pid_t parent = getpid();
	char *argv[] = { "boreside", "serve", "-c", w->site, NULL };

	if (log < 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", w->log, strerror(errno));
	w->service = fork();
	if (w->service == 0) {
		(void)setpgid(0, 0);
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent || dup2(log, 2) < 0 || dup2(log, 1) < 0)
			_exit(127);
		(void)execv("/proc/self/exe", argv);
		_exit(127);
	}
	(void)close(log);
	if (w->service < 0)
		return bs_fail(why, BS_ERR_IO, "the service: %s", strerror(errno));
	return 0;
}

static bool alive(struct certify *w)
{
	if (w->service > 0 && waitpid(w->service, NULL, WNOHANG) == w->service)
		w->service = 0;
	return w->service > 0;
}

static void stop_service(struct certify *w)
{
	int64_t until = bs_now_ns() + END_NS;

	if (w->service <= 0)
		return;
	pid_t group = w->service;

	(void)kill(w->service, SIGTERM);
	while (alive(w) && bs_now_ns() < until)
		bs_sleep_ns(10000000);
	(void)kill(-group, SIGKILL); /* whatever is left of it */
	if (w->service > 0)
		(void)waitpid(w->service, NULL, 0);
	w->service = 0;
}

/* The log's last line of an error, for a service that does not start. */
static void last_words(const struct certify *w, char *out, size_t cap)
{
	FILE *f = fopen(w->log, "r");
	char line[1024];

	(void)snprintf(out, cap, "the service ended at once");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strstr(line, "error") != NULL || strstr(line, "BS_ERR") != NULL) {
			(void)snprintf(out, cap, "%.*s", (int)strcspn(line, "\n"), line);
			if (strstr(line, "budget.image_ms") != NULL)
				break; /* the first cause says more than what followed */
		}
	if (f != NULL)
		(void)fclose(f);
}

static bool ask(const struct certify *w, const char *what, char *reply, size_t cap)
{
	struct bs_endpoint e;
	char url[200];
	size_t len = 0;
	bool good;

	(void)snprintf(url, sizeof(url), "ipc://%s/run/status.ipc", w->dir);
	if (bs_endpoint_connect(&e, BS_ENDPOINT_STATUS_ASK, url, cap, NULL) != 0)
		return false;
	good = bs_endpoint_send(&e, what, strlen(what), NULL, 0, 500, NULL) == 0 &&
	       bs_endpoint_recv(&e, reply, cap - 1, &len, 500, NULL) == 0;
	bs_endpoint_close(&e);
	reply[good ? len : 0] = '\0';
	return good;
}

static bool asked_to_stop(const struct certify *w)
{
	return w->q->stop != NULL && *w->q->stop != 0;
}

/* 0 also when it refuses the protocol: then c->refused says why. */
static int wait_ready(struct certify *w, struct bs_fail *why)
{
	int64_t until = bs_now_ns() + ARM_NS;
	char reply[256]; /* yes or no */

	for (;;) {
		if (!alive(w)) {
			last_words(w, w->c->refused, sizeof(w->c->refused));
			return 0;
		}
		if (ask(w, "ready", reply, sizeof(reply)) && strcmp(reply, "yes\n") == 0)
			return 0;
		if (asked_to_stop(w))
			return bs_fail(why, BS_ERR_ABORTED, "stopped while the service was arming");
		if (bs_now_ns() > until)
			return bs_fail(why, BS_ERR_TIMEOUT, "the service is not ready after %d s",
				       (int)(ARM_NS / 1000000000));
		bs_sleep_ns(20000000);
	}
}

/* ---- a run ---- */

static bool look(struct certify *w)
{
	for (int i = 0; i < 5; i++)
		if (ask(w, "json", w->doc, sizeof(w->doc)))
			return true;
	return false;
}

/* Above the service where that is allowed: a scanner does not wait for this machine's processors.
 * Endpoints that are opened after it inherit it. */
static void raise_priority(struct certify *w)
{
	struct sched_param p = { .sched_priority = sched_get_priority_max(SCHED_FIFO) - 2 };

	(void)prctl(PR_SET_TIMERSLACK, 1000UL);
	w->c->sender_rt = sched_setscheduler(0, SCHED_FIFO, &p) == 0;
}

static int connect_sender(struct certify *w, struct bs_fail *why)
{
	struct bs_cpus where; /* w->doc is from after the service was ready */
	char url[200];
	int rc;

	bs_witness_may_run(&where, w->doc);
	(void)snprintf(url, sizeof(url), "ipc://%s/run/archive.ipc", w->dir);
	rc = bs_archive_open(&w->archive, w->c->p, url, &where, bs_replay_departures(w->replay),
			     why);
	(void)snprintf(url, sizeof(url), "ipc://%s/run/kspace.ipc", w->dir);
	if (rc == 0)
		rc = bs_endpoint_connect(&w->kspace, BS_ENDPOINT_KSPACE, url, BS_REPLAY_MESSAGE_MAX,
					 why);
	w->connected = rc == 0;
	return rc;
}

static void note_outcome(struct certify *w, struct bs_certify_run *r,
			 const struct bs_replay_report *report)
{
	r->scans++;
	r->readouts += report->total;
	r->taken += report->outcome.acquisitions;
	r->expected += w->images;
	r->made += report->outcome.images;
	r->outcome_late += report->outcome.late;
	if (report->code == 0)
		return;
	if (r->faults++ == 0)
		(void)snprintf(r->fault, sizeof(r->fault), "%s: %.360s", bs_err_name(report->code),
			       report->outcome.text);
	if (report->refused)
		(void)snprintf(w->c->refused, sizeof(w->c->refused), "%s", r->fault);
}

/* The archive's thread may still be behind. */
static void wait_images(struct certify *w, uint64_t made)
{
	int64_t until = bs_now_ns() + LAST_NS;

	while (bs_archive_count(w->archive) < made && bs_now_ns() < until)
		bs_sleep_ns(2000000);
}

static bool enough(const struct certify *w, const struct bs_certify_run *r, int64_t start_ns)
{
	double minutes = (double)(bs_now_ns() - start_ns) / 60e9;

	return asked_to_stop(w) || minutes >= w->q->minutes || w->c->refused[0] != '\0' ||
	       (w->q->images > 0 && r->made >= w->q->images);
}

static int play(struct certify *w, struct bs_certify_run *r, double speed, bool first,
		struct bs_fail *why)
{
	struct bs_replay_options o = { .protocol = w->c->p->name,
				       .speed = speed,
				       .patience_ns = PATIENCE_NS,
				       .stop = w->q->stop };
	int64_t start = bs_now_ns();
	int rc = 0;

	memset(r, 0, sizeof(*r));
	r->speed = speed;
	bs_archive_begin(w->archive);
	do {
		struct bs_replay_report report;

		o.session = ++w->session;
		bs_archive_scan(w->archive, o.session);
		rc = bs_replay_run(w->replay, &w->kspace, &o, &report, why);
		if (rc == 0)
			note_outcome(w, r, &report);
		wait_images(w, r->made);
		if (first && r->scans == 1 && look(w))
			bs_witness_threads(w->c, &w->witness, w->doc, !enough(w, r, start));
	} while (rc == 0 && !enough(w, r, start));
	r->seconds = (double)(bs_now_ns() - start) * 1e-9;
	if (rc != 0 && !alive(w))
		(void)bs_fail(why, rc, "the service ended in the midst of the run");
	bs_archive_end(w->archive, r);
	return rc;
}

static void spread_of(struct bs_spread *s, const struct bs_hist *h)
{
	s->n = atomic_load(&h->count);
	s->p50_ns = (int64_t)bs_hist_quantile(h, 0.5);
	s->p99_ns = (int64_t)bs_hist_quantile(h, 0.99);
	s->p999_ns = (int64_t)bs_hist_quantile(h, 0.999);
	s->max_ns = (int64_t)bs_hist_quantile(h, 1.0);
}

static int try_all(struct certify *w, struct bs_fail *why)
{
	struct bs_certificate *c = w->c;
	int rc;

	bs_loads_go(&w->loads);
	raise_priority(w);
	rc = connect_sender(w, why);
	if (rc == 0 && look(w)) /* since the service was ready, if there is one scan alone */
		bs_witness_threads(c, &w->witness, w->doc, true);
	for (uint32_t i = 0; rc == 0 && i < (w->q->speed > 0.0 ? 2u : 1u); i++) {
		rc = play(w, &c->run[i], i == 0 ? 1.0 : w->q->speed, i == 0, why);
		c->runs = i + 1;
		spread_of(&c->run[i].sent, bs_replay_lateness(w->replay));
		spread_of(&c->run[i].slept, &bs_replay_departures(w->replay)->overslept);
		if (i == 0 && look(w)) {
			bs_witness_stages(c, w->doc);
			bs_witness_threads(c, &w->witness, w->doc, false);
			bs_witness_restarts(c, w->doc);
			c->grown_from_start = c->run[0].scans < 2;
		}
		if (i == 0)
			c->cut = asked_to_stop(w);
		if (asked_to_stop(w) || c->refused[0] != '\0')
			break;
	}
	if (w->archive != NULL)
		bs_archive_canaries(w->archive, c);
	return rc;
}

static void note_loads(struct certify *w)
{
	struct bs_certificate *c = w->c;

	c->loads = w->q->loads;
	if (w->loads.done == NULL)
		return;
	c->cpu_passes = atomic_load(&w->loads.done->cpu_passes);
	c->io_mib = atomic_load(&w->loads.done->io_bytes) >> 20;
	c->io_syncs = atomic_load(&w->loads.done->io_syncs);
	c->gpu_kernels = atomic_load(&w->loads.done->gpu_kernels);
	c->gpu_loaded = bs_loads_gpu(&w->loads);
}

static int load_site(struct bs_certificate *c, const struct bs_certify_request *q,
		     struct bs_fail *why)
{
	if (bs_config_load(&c->site, q->config, print_fault, NULL) != 0)
		return bs_fail(why, BS_ERR_CONFIG, "%s: not valid", q->config);
	c->p = bs_config_choose(&c->site, q->protocol, NULL, why);
	if (c->p == NULL)
		return BS_ERR_PROTOCOL;
	if (c->p->image_ms <= 0.0)
		return bs_fail(why, BS_ERR_BUDGET,
			       "protocol '%s' declares no budget.image_ms: there is no contract",
			       c->p->name);
	return hash_site(c, why);
}

static int open_recording(struct certify *w, struct bs_fail *why)
{
	struct bs_certificate *c = w->c;
	int rc = bs_replay_open(&w->replay, w->q->recording, 0, why);

	if (rc != 0)
		return rc;
	rc = bs_expected_images(&w->images, &c->site, c->p, w->q->recording, why);
	if (rc != 0)
		return rc;
	(void)snprintf(c->recording, sizeof(c->recording), "%s", w->q->recording);
	c->acquisitions = bs_replay_count(w->replay);
	(void)snprintf(c->pace, sizeof(c->pace), "%.63s",
		       bs_replay_clock_name(bs_replay_clock(w->replay)));
	while (w->session == 0)
		if (getrandom(&w->session, sizeof(w->session), 0) != sizeof(w->session))
			return bs_fail(why, BS_ERR_IO, "no random number for a session");
	w->session >>= 1; /* room to count up */
	return 0;
}

int bs_certify_run(struct bs_certificate *c, const struct bs_certify_request *q,
		   struct bs_fail *why)
{
	struct certify *w = calloc(1, sizeof(*w));
	time_t now = time(NULL);
	struct tm utc;
	int rc;

	memset(c, 0, sizeof(*c));
	if (w == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory to certify with");
	w->c = c;
	w->q = q;
	w->loads.gate = -1;
	c->minutes = q->minutes;
	c->restarts = -1.0;
	if (gmtime_r(&now, &utc) != NULL)
		(void)strftime(c->made_at, sizeof(c->made_at), "%Y-%m-%d %H:%M:%S UTC", &utc);
	rc = load_site(c, q, why);
	if (rc == 0)
		rc = bs_folder_make(q->out, 0755, why);
	if (rc == 0)
		bs_machine_read(&c->machine, c->site.gpu_devices.device[0]);
	if (rc == 0)
		rc = open_recording(w, why);
	if (rc == 0)
		rc = make_site(w, why);
	if (rc == 0)
		rc = bs_loads_start(&w->loads, q->loads, q->out, c->site.gpu_devices.device[0],
				    why);
	if (rc == 0)
		rc = start_service(w, why);
	bs_endpoint_tune_malloc(16u << 20);
	if (rc == 0)
		rc = wait_ready(w, why);
	if (rc == 0 && c->refused[0] == '\0' && look(w))
		bs_witness_protocol(c, w->doc);
	if (rc == 0 && c->refused[0] == '\0')
		rc = try_all(w, why);
	note_loads(w);
	bs_loads_stop(&w->loads);
	if (w->connected)
		bs_endpoint_close(&w->kspace);
	bs_archive_close(w->archive);
	stop_service(w);
	bs_replay_close(w->replay);
	remove_site(w);
	free(w);
	if (rc == 0)
		bs_verdict_make(c);
	return rc;
}

void bs_certify_free(struct bs_certificate *c)
{
	for (uint32_t i = 0; i < BS_CERTIFY_RUNS; i++)
		free(c->run[i].latency);
}

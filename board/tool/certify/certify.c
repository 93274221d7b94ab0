/* board/tool/certify/certify.c - see certify.h */
#include "board/tool/certify/certify.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>

#include "board/command/command.h"
#include "board/tool/certify/archive.h"
#include "board/tool/certify/expected.h"
#include "board/tool/certify/load.h"
#include "board/tool/certify/trial.h"
#include "board/tool/certify/verdict.h"
#include "board/tool/certify/witness.h"
#include "board/emit/folder.h"
#include "board/status/status.h"
#include "config/config.h"
#include "core/date.h"
#include "core/thread/clock.h"
#include "drivers/tool/replay/replay.h"
#include "ipc/endpoint.h"

#define ARM_NS      INT64_C(1800000000000) /* longest time that the service may take to arm */
#define STEP_NS     INT64_C(60000000000)   /* longest time that is waited for a step */
#define PATIENCE_NS INT64_C(20000000000)
/* longest time from a scan's outcome to its last image here */
#define LAST_NS INT64_C(2000000000)

struct certify {
	struct bs_certificate *c;
	const struct bs_certify_request *q;
	struct bs_trial trial;
	struct bs_loads loads;
	struct bs_replay *replay;
	struct bs_endpoint kspace;
	struct bs_archive *archive;
	struct bs_floor floor;
	struct bs_meter meter;
	bool connected;
	uint64_t session;
	uint64_t images; /* number of images that one scan of the recording makes */
	char doc[BS_STATUS_MAX];
};

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

static bool asked_to_stop(const struct certify *w)
{
	return w->q->stop != NULL && *w->q->stop != 0;
}

/* True if the protocol has no step, or its step is ready and timed. */
static bool has_step(struct certify *w)
{
	return w->c->p->step.at == 0 || (bs_trial_ask(&w->trial, "json", w->doc, sizeof(w->doc)) &&
					 strstr(w->doc, "\"there\":1,\"ready\":1") != NULL &&
					 strstr(w->doc, "\"trials\":0") == NULL);
}

/* Waits until the service is ready. 0 also when it refuses the protocol: c->refused says why. */
static int wait_ready(struct certify *w, struct bs_fail *why)
{
	int64_t until = bs_now_ns() + ARM_NS;
	const int64_t step_ns = bs_now_ns() + STEP_NS;
	char reply[256]; /* service's answer, yes or no */

	for (;;) {
		if (!bs_trial_alive(&w->trial)) {
			if (bs_trial_killed(&w->trial, why) != 0)
				return why->code;
			bs_trial_last_words(&w->trial, w->c->refused, sizeof(w->c->refused));
			return 0;
		}
		if (bs_trial_ask(&w->trial, "ready", reply, sizeof(reply)) &&
		    strcmp(reply, "yes\n") == 0 && (has_step(w) || bs_now_ns() > step_ns))
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

static bool look_at_service(struct certify *w)
{
	for (int i = 0; i < 5; i++)
		if (bs_trial_ask(&w->trial, "json", w->doc, sizeof(w->doc)))
			return true;
	return false;
}

/*
 * Raises this thread above the service where that is allowed: a scanner does not wait for this
 * machine's processors. Threads of endpoints that are opened later inherit it.
 */
static void raise_priority(struct certify *w)
{
	struct sched_param p = { .sched_priority = sched_get_priority_max(SCHED_FIFO) - 2 };

	(void)prctl(PR_SET_TIMERSLACK, 1000UL);
	w->c->sender_rt = sched_setscheduler(0, SCHED_FIFO, &p) == 0;
}

static int connect_sender(struct certify *w, struct bs_fail *why)
{
	struct bs_cpus where; /* processors of the service's threads, from w->doc */
	char url[200];
	int rc;

	bs_witness_may_run(&where, w->doc);
	bs_trial_url(&w->trial, "archive", url, sizeof(url));
	rc = bs_archive_open(&w->archive, w->c->p, url, &where, bs_replay_departures(w->replay),
			     why);
	bs_trial_url(&w->trial, "kspace", url, sizeof(url));
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

/* Waits until the archive's thread, which may be behind, has counted so many images. */
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
	int64_t start;
	int rc = 0;

	memset(r, 0, sizeof(*r));
	r->speed = speed;
	bs_meter_start(&w->meter);
	start = bs_now_ns();
	bs_archive_begin(w->archive, r);
	do {
		struct bs_replay_report report;

		o.session = ++w->session;
		bs_archive_scan(w->archive, o.session);
		rc = bs_replay_run(w->replay, &w->kspace, &o, &report, why);
		if (rc == 0)
			note_outcome(w, r, &report);
		wait_images(w, r->made);
		if (first && r->scans == 1 && look_at_service(w))
			bs_witness_threads(w->c, w->doc, !enough(w, r, start));
	} while (rc == 0 && !enough(w, r, start));
	r->seconds = (double)(bs_now_ns() - start) * 1e-9;
	bs_meter_stop(&w->meter, &r->energy);
	if (rc != 0 && !bs_trial_alive(&w->trial))
		(void)bs_fail(why, rc, "the service ended in the midst of the run");
	bs_archive_end(w->archive);
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
	/* the floor's thread must not inherit the raised priority */
	(void)bs_floor_start(&w->floor, c->machine.processors);
	raise_priority(w);
	rc = connect_sender(w, why);
	if (rc == 0 && look_at_service(w)) /* a single scan's thread counts start here */
		bs_witness_threads(c, w->doc, true);
	for (uint32_t i = 0; rc == 0 && i < (w->q->speed > 0.0 ? 2u : 1u); i++) {
		rc = play(w, &c->run[i], i == 0 ? 1.0 : w->q->speed, i == 0, why);
		c->runs = i + 1;
		spread_of(&c->run[i].spread[BS_SPREAD_SENT], bs_replay_lateness(w->replay));
		spread_of(&c->run[i].spread[BS_SPREAD_SLEPT],
			  &bs_replay_departures(w->replay)->overslept);
		if (i == 0 && look_at_service(w)) {
			bs_witness_stages(c, w->doc);
			bs_witness_threads(c, w->doc, false);
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
	bs_floor_stop(&w->floor);
	c->floor = w->floor.seen;
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
	if (bs_config_load(&c->site, q->config, bs_command_tell, stderr) != 0)
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
	w->session >>= 1; /* leaves room to count up */
	return 0;
}

int bs_certify_run(struct bs_certificate *c, const struct bs_certify_request *q,
		   struct bs_fail *why)
{
	struct certify *w = calloc(1, sizeof(*w));
	int rc;

	memset(c, 0, sizeof(*c));
	if (w == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory to certify with");
	w->c = c;
	w->q = q;
	w->loads.gate = -1;
	c->minutes = q->minutes;
	c->alone = q->alone;
	c->restarts = -1.0;
	(void)bs_utc_text(c->made_at, "%Y-%m-%d %H:%M:%S UTC", bs_utc_ns() / 1000000000);
	rc = load_site(c, q, why);
	if (rc == 0)
		rc = bs_folder_make(q->out, 0755, why);
	if (rc == 0)
		bs_machine_read(&c->machine, &c->site.gpu_devices);
	if (rc == 0)
		rc = open_recording(w, why);
	if (rc == 0)
		rc = bs_trial_make(&w->trial, &c->site, q->alone ? c->p : NULL, why);
	if (rc == 0)
		rc = bs_loads_start(&w->loads, q->loads, q->out, c->site.gpu_devices.device[0],
				    why);
	if (rc == 0)
		rc = bs_trial_start(&w->trial, why);
	bs_endpoint_tune_malloc(16u << 20);
	if (rc == 0)
		rc = wait_ready(w, why);
	if (rc == 0 && c->refused[0] == '\0' && look_at_service(w))
		bs_witness_protocol(c, w->doc);
	if (rc == 0 && c->refused[0] == '\0') {
		bs_meter_open(&w->meter, &c->meter, NULL, &c->machine, c->engine);
		rc = try_all(w, why);
	}
	note_loads(w);
	bs_loads_stop(&w->loads);
	if (w->connected)
		bs_endpoint_close(&w->kspace);
	bs_archive_close(w->archive);
	bs_meter_close(&w->meter);
	bs_trial_stop(&w->trial);
	bs_replay_close(w->replay);
	bs_trial_remove(&w->trial);
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

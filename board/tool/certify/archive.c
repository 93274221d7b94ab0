/* board/tool/certify/archive.c - see archive.h */
#include "board/tool/certify/archive.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/certify/own.h"
#include "core/latency/budget.h"
#include "core/thread/canaries.h"
#include "core/frame/step.h"
#include "core/thread/clock.h"
#include "ipc/collector.h"

#define WAIT_NS  INT64_C(50000000)
#define OVERHEAD (64u << 10) /* bytes, more than envelope, header and attributes of an image */

#define COLUMNS BS_SPREAD_SENT /* number of latencies kept for each image, in their order */

struct bs_archive {
	const struct bs_protocol *p;
	struct bs_endpoint archive;
	pthread_t thread;
	bool running;
	_Atomic bool quit;
	/* guards the members below, which the receiving thread writes */
	pthread_mutex_t lock;
	struct bs_certify_run *run; /* run whose images are counted */
	struct bs_certify_run idle; /* takes the counts between runs */
	int64_t *column[COLUMNS];
	size_t rows[COLUMNS];
	_Atomic uint64_t count;
	uint64_t session;  /* session whose images are awaited */
	uint64_t newest;   /* number of the newest image of the session that is awaited */
	int64_t before_ns; /* time when the image before came */
	const struct bs_departures *left;
	struct bs_canary *canary; /* array of BS_CANARIES canaries */
	struct bs_canaries canaries;
};

void bs_archive_canaries(const struct bs_archive *g, struct bs_certificate *c)
{
	for (uint32_t i = 0; i < g->canaries.count; i++) {
		const struct bs_canary *b = &g->canary[i];

		c->canary[i].cpu = atomic_load(&b->cpu);
		c->canary[i].priority = atomic_load(&b->priority);
		c->canary[i].wakes = (double)atomic_load(&b->wakes);
		c->canary[i].stalls = (double)atomic_load(&b->stalls);
		c->canary[i].p999_us = (double)bs_hist_quantile(&b->late, 0.999) * 1e-3;
		c->canary[i].max_us = (double)bs_hist_quantile(&b->late, 1.0) * 1e-3;
	}
	c->canaries = g->canaries.count;
	c->unwatched = g->canaries.unwatched;
}

/* ---- an image ---- */

/* The attributes of an image, its words about itself. */
struct words {
	const char *text;
	size_t len;
};

static const char *attribute(const struct words *w, const char *name)
{
	char key[96];
	int n = snprintf(key, sizeof(key), "<name>boreside_%s</name><value>", name);
	const char *at = memmem(w->text, w->len, key, (size_t)n);

	return at != NULL ? at + n : NULL;
}

static bool attribute_us(const struct words *w, const char *name, int64_t *ns)
{
	const char *at = attribute(w, name);

	if (at == NULL)
		return false;
	*ns = llrint(strtod(at, NULL) * 1e3);
	return true;
}

static bool value_is(const char *at, const char *word)
{
	return at != NULL && strncmp(at, word, strlen(word)) == 0 && at[strlen(word)] == '<';
}

static bool attribute_is(const struct words *w, const char *name, const char *word)
{
	return value_is(attribute(w, name), word);
}

static void keep_latency(struct bs_archive *g, int column, int64_t ns)
{
	if (g->rows[column] < BS_ARCHIVE_MAX)
		g->column[column][g->rows[column]++] = ns;
}

/* Reads the service's own times of an image and the receipt of its last readout. */
static bool read_own(const struct words *w, int64_t handed_ns, struct bs_own *s,
		     int64_t *received_ns)
{
	const char *received = attribute(w, "received_ns");
	const struct {
		const char *name;
		int64_t *ns;
	} stamps[] = { { "at_taken_us", &s->taken_ns },
		       { "at_added_us", &s->added_ns },
		       { "at_begun_us", &s->begun_ns },
		       { "at_made_us", &s->made_ns } };
	int64_t passed;
	int64_t latency;

	memset(s, 0, sizeof(*s));
	if (received == NULL || !attribute_us(w, "at_passed_us", &passed) ||
	    !attribute_us(w, "latency_us", &latency))
		return false;
	int64_t zero = strtoll(received, NULL, 10);

	for (size_t i = 0; i < sizeof(stamps) / sizeof(stamps[0]); i++)
		if (attribute_us(w, stamps[i].name, stamps[i].ns))
			*stamps[i].ns += zero;
	s->from_ns = zero + passed - latency;
	s->handed_ns = handed_ns;
	*received_ns = zero;
	return s->from_ns <= handed_ns;
}

/* Keeps the latencies of the stages and of the service's own part, without
 * operators and transfers. */
static void keep_parts(struct bs_archive *g, const struct words *w, struct bs_own *s, int64_t now)
{
	static const bool operators[BS_BUDGET_STAGES] = { false, true, true,  true,
							  true,  true, false, true };
	bool any = g->p->plan.encode == BS_ENCODE_NOTHING;

	for (int i = 0; i < BS_BUDGET_STAGES; i++) {
		char name[48];
		int64_t ns;

		(void)snprintf(name, sizeof(name), "stage_%s_us",
			       bs_budget_stage_name((enum bs_budget_stage)i));
		if (!attribute_us(w, name, &ns))
			continue;
		any = true;
		keep_latency(g, BS_SPREAD_STAGE + i, ns);
		s->operators_ns += operators[i] ? ns : 0;
	}
	if (!any)
		return;
	keep_latency(g, BS_SPREAD_OWN, bs_own_part(s));
	keep_latency(g, BS_SPREAD_OWN_QUIET, bs_own_quiet(s, g->canary, g->canaries.count, now));
}

/*
 * Keeps what sockets took, to the service and from it to here. A receipt that the service dated
 * back (it did not run) may lie before the sending, and tells nothing of the way.
 */
static void keep_transport(struct bs_archive *g, const struct bs_departure *left, int64_t received,
			   int64_t handed, int64_t now)
{
	const int64_t in = received - left->sent_ns;

	keep_latency(g, BS_SPREAD_IN, received - left->due_ns);
	keep_latency(g, BS_SPREAD_OUT, now - handed);
	if (left->sent_ns == 0 || in < 0)
		return;
	keep_latency(g, BS_SPREAD_WIRE, in);
	keep_latency(g, BS_SPREAD_TRANSPORT, in + now - handed);
}

/* Makes the report of an image from its attributes, as far as its budget depends on it. */
static struct bs_report report_of(const struct words *w)
{
	struct bs_report r = { 0 };

	(void)attribute_us(w, "stage_calibration_us", &r.stage_ns[BS_BUDGET_CALIBRATION]);
	return r;
}

static void judge(struct bs_archive *g, const struct bs_report *report,
		  const struct bs_departure *left, int64_t received, int64_t handed, int64_t now)
{
	struct bs_late m = { .image = g->run->arrived + 1,
			     .left = *left,
			     .before_ns = g->before_ns,
			     .received_ns = received,
			     .handed_ns = handed };
	int64_t budget = bs_ns_of_ms(bs_budget_image_ms(g->p, report));

	if (!bs_budget_missed(g->p, report, handed - left->due_ns))
		return;
	g->run->raw++;
	switch (bs_late_blame(&m, budget, g->canary, g->canaries.count, now)) {
	case BS_BLAME_SENDER:
		g->run->overslept++;
		break;
	case BS_BLAME_MACHINE:
		g->run->explained++;
		break;
	case BS_BLAME_SERVICE:
		if (g->run->misses < BS_CERTIFY_MISSES)
			g->run->miss[g->run->misses++] = m;
	}
}

/* Counts what the image says of itself, and whether that agrees with when it was handed on. */
static void keep_words(struct bs_archive *g, const struct words *w, const struct bs_report *report,
		       int64_t latency)
{
	bool missed = attribute_is(w, "budget", "missed");
	const char *at;

	g->run->partial += !attribute_is(w, "missing", "0");
	g->run->degraded += attribute_is(w, "quality", "degraded") ||
			    !attribute_is(w, "rung", bs_rung_name(BS_RUNG_FULL)) ||
			    attribute_is(w, "deadline_stop", "1");
	g->run->bypassed +=
		attribute_is(w, "step_image", "without") &&
		!attribute_is(w, "step_verdict", bs_step_verdict_name(BS_STEP_NUMBERED));
	for (int r = 0; r < BS_RUNGS; r++)
		g->run->rung[r] += attribute_is(w, "rung", bs_rung_name((enum bs_rung)r));
	g->run->late += missed;
	g->run->disagreed += missed != bs_budget_missed(g->p, report, latency) ||
			     (!missed && !attribute_is(w, "budget", "met"));
	for (struct words rest = *w; (at = attribute(&rest, "stage_missed")) != NULL;) {
		for (int i = 0; i < BS_BUDGET_STAGES; i++)
			g->run->stage_missed[i] +=
				value_is(at, bs_budget_stage_name((enum bs_budget_stage)i));
		rest.len -= (size_t)(at - rest.text);
		rest.text = at;
	}
}

/* True if the image is of this scan and new. Images come in order, numbered from 1. */
static bool is_new(struct bs_archive *g, const struct bs_asked *image)
{
	if (image->session != g->session) {
		g->run->torn++;
		return false;
	}
	if (image->number <= g->newest) {
		g->run->repeated++;
		return false;
	}
	g->newest = image->number;
	return true;
}

void bs_archive_take(struct bs_archive *g, const unsigned char *msg, size_t len, int64_t now)
{
	struct bs_asked image;
	struct bs_own own;

	if (bs_asked_open(&image, msg, len, NULL) != 0) {
		g->run->torn++;
		return;
	}
	struct words words = { image.attributes, image.attributes_len };
	const char *sender = attribute(&words, "sender_ns");

	if (attribute(&words, "preview") != NULL) {
		g->run->previews++;
		g->before_ns = now;
		return;
	}
	if (!is_new(g, &image))
		return;
	int64_t due = sender != NULL ? strtoll(sender, NULL, 10) : INT64_MAX;
	int64_t received;

	if (due > image.handed_ns || !read_own(&words, image.handed_ns, &own, &received) ||
	    g->rows[BS_SPREAD_DUE] == BS_ARCHIVE_MAX) {
		g->run->torn++;
		return;
	}
	int64_t latency = image.handed_ns - own.from_ns;

	const struct bs_report report = report_of(&words);
	struct bs_departure left;

	if (g->left == NULL || !bs_departures_find(g->left, due, &left))
		left = (struct bs_departure){ .due_ns = due };
	g->run->calibrated += report.stage_ns[BS_BUDGET_CALIBRATION] > 0;
	keep_words(g, &words, &report, latency);
	keep_latency(g, BS_SPREAD_DUE, image.handed_ns - due);
	keep_latency(g, BS_SPREAD_RECEIVED, latency);
	keep_latency(g, BS_SPREAD_ARRIVAL, now - due);
	keep_latency(g, BS_SPREAD_QUIET,
		     latency - bs_canary_stalled(g->canary, g->canaries.count, own.from_ns,
						 image.handed_ns, now));
	keep_parts(g, &words, &own, now);
	keep_transport(g, &left, received, image.handed_ns, now);
	judge(g, &report, &left, own.from_ns, image.handed_ns, now);
	g->before_ns = now;
	g->run->arrived++;
	atomic_fetch_add(&g->count, 1);
}

static void *receive(void *arg)
{
	struct bs_archive *g = arg;

	while (!atomic_load(&g->quit)) {
		struct pollfd fd = { g->archive.receive_fd, POLLIN, 0 };
		const unsigned char *msg;
		size_t len;

		if (bs_endpoint_take(&g->archive, &msg, &len, NULL) != 0) {
			(void)bs_endpoint_wait(&fd, 1, bs_now_ns() + WAIT_NS, NULL);
			continue;
		}
		int64_t now = bs_now_ns();

		(void)pthread_mutex_lock(&g->lock);
		bs_archive_take(g, msg, len, now);
		(void)pthread_mutex_unlock(&g->lock);
		bs_endpoint_release(msg);
	}
	return NULL;
}

/* ---- */

int bs_archive_open(struct bs_archive **out, const struct bs_protocol *p, const char *url,
		    const struct bs_cpus *where, const struct bs_departures *left,
		    struct bs_fail *why)
{
	struct bs_archive *g = calloc(1, sizeof(*g));
	int rc = 0;

	*out = g;
	if (g == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the images' numbers");
	g->p = p;
	g->left = left;
	g->run = &g->idle;
	g->archive.socket = -1;
	(void)pthread_mutex_init(&g->lock, NULL);
	g->canary = calloc(BS_CANARIES, sizeof(*g->canary));
	for (int i = 0; i < COLUMNS; i++) {
		g->column[i] = malloc(BS_ARCHIVE_MAX * sizeof(**g->column));
		if (g->column[i] == NULL)
			rc = BS_ERR_NOMEM;
	}
	if (rc != 0 || g->canary == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the images' numbers");
	rc = bs_endpoint_connect(&g->archive, BS_ENDPOINT_ARCHIVE_IN, url,
				 (size_t)bs_protocol_leaving_bytes(p) + OVERHEAD, why);
	if (rc != 0)
		return rc;
	bs_canaries_start(&g->canaries, g->canary, BS_CANARIES, where, 0);
	if (pthread_create(&g->thread, NULL, receive, g) != 0)
		return bs_fail(why, BS_ERR_NOMEM, "no thread for the archive");
	g->running = true;
	return 0;
}

void bs_archive_begin(struct bs_archive *g, struct bs_certify_run *r)
{
	(void)pthread_mutex_lock(&g->lock);
	g->run = r;
	memset(g->rows, 0, sizeof(g->rows));
	g->before_ns = 0;
	atomic_store(&g->count, 0);
	(void)pthread_mutex_unlock(&g->lock);
}

void bs_archive_scan(struct bs_archive *g, uint64_t session)
{
	(void)pthread_mutex_lock(&g->lock);
	g->session = session;
	g->newest = 0;
	(void)pthread_mutex_unlock(&g->lock);
}

uint64_t bs_archive_count(const struct bs_archive *g)
{
	return atomic_load(&g->count);
}

void bs_archive_end(struct bs_archive *g)
{
	struct bs_certify_run *r = g->run;

	(void)pthread_mutex_lock(&g->lock);
	for (int i = 0; i < COLUMNS; i++)
		bs_spread_make(&r->spread[i], g->column[i], g->rows[i]);
	r->latency = malloc((g->rows[BS_SPREAD_DUE] + 1) * sizeof(*r->latency));
	if (r->latency != NULL)
		memcpy(r->latency, g->column[BS_SPREAD_DUE],
		       g->rows[BS_SPREAD_DUE] * sizeof(*r->latency));
	g->run = &g->idle;
	(void)pthread_mutex_unlock(&g->lock);
}

void bs_archive_close(struct bs_archive *g)
{
	if (g == NULL)
		return;
	atomic_store(&g->quit, true);
	if (g->running)
		(void)pthread_join(g->thread, NULL);
	bs_canaries_stop(&g->canaries);
	if (g->archive.socket >= 0)
		bs_endpoint_close(&g->archive);
	for (int i = 0; i < COLUMNS; i++)
		free(g->column[i]);
	free(g->canary);
	(void)pthread_mutex_destroy(&g->lock);
	free(g);
}

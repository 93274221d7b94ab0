/* board/gather.c - see gather.h */
#define _GNU_SOURCE
#include "board/gather.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/birds.h"
#include "core/clock.h"
#include "ipc/endpoint.h"
#include "ipc/mrd.h"
#include "ipc/wire.h"

#define TURN_NS  INT64_C(50000000)
#define OVERHEAD (64u << 10) /* envelope, header and attributes of an image, generously */
#define PART(i)  (COL_PART + (i))

/* What is kept of each image: a column each. */
enum {
	COL_DUE,
	COL_RECEIVED,
	COL_ARRIVAL,
	COL_OWN,
	COL_QUIET,
	COL_OWN_QUIET,
	COL_PART,
	COLUMNS = COL_PART + BS_CERTIFY_PARTS
};

const char *const bs_certify_part_names[BS_CERTIFY_PARTS] = { "receive", "upload",  "accumulate",
							      "solve",   "combine", "download",
							      "emit" };

struct bs_gather {
	const struct bs_protocol *p;
	struct bs_endpoint archive;
	pthread_t thread;
	bool running;
	_Atomic bool quit;
	pthread_mutex_t lock; /* the run's numbers: the receiving thread writes, end takes them */
	struct bs_certify_run run;
	int64_t *column[COLUMNS];
	size_t rows[COLUMNS];
	_Atomic uint64_t count;
	struct bs_canary *canary; /* [BS_CERTIFY_CPUS] */
	struct bs_birds birds;
};

void bs_gather_canaries(const struct bs_gather *g, struct bs_certificate *c)
{
	for (uint32_t i = 0; i < g->birds.count; i++) {
		const struct bs_canary *b = &g->canary[i];

		c->canary[i].cpu = atomic_load(&b->cpu);
		c->canary[i].priority = atomic_load(&b->priority);
		c->canary[i].wakes = (double)atomic_load(&b->wakes);
		c->canary[i].stalls = (double)atomic_load(&b->stalls);
		c->canary[i].p999_us = (double)bs_hist_quantile(&b->late, 0.999) * 1e-3;
		c->canary[i].max_us = (double)bs_hist_quantile(&b->late, 1.0) * 1e-3;
	}
	c->canaries = g->birds.count;
}

/* ---- an image ---- */

static const char *attribute(const char *text, size_t len, const char *name)
{
	char key[96];
	int n = snprintf(key, sizeof(key), "<name>boreside_%s</name><value>", name);
	const char *at = memmem(text, len, key, (size_t)n);

	return at != NULL ? at + n : NULL;
}

static bool attribute_us(const char *text, size_t len, const char *name, int64_t *ns)
{
	const char *at = attribute(text, len, name);

	if (at == NULL)
		return false;
	*ns = (int64_t)(strtod(at, NULL) * 1e3 + 0.5);
	return true;
}

static void keep(struct bs_gather *g, int column, int64_t ns)
{
	if (g->rows[column] < BS_GATHER_MAX)
		g->column[column][g->rows[column]++] = ns;
}

/* What is the service's own: all but the operators and the transfers. */
static void keep_parts(struct bs_gather *g, const char *text, size_t len, int64_t latency,
		       int64_t stalled)
{
	static const bool operators[BS_CERTIFY_PARTS] = {
		false, true, true, true, true, true, false
	};
	bool any = g->p->method == BS_METHOD_NOOP;
	int64_t own = latency;

	for (int i = 0; i < (int)BS_CERTIFY_PARTS; i++) {
		char name[48];
		int64_t ns;

		(void)snprintf(name, sizeof(name), "stage_%s_us", bs_certify_part_names[i]);
		if (!attribute_us(text, len, name, &ns))
			continue;
		any = true;
		keep(g, PART(i), ns);
		own -= operators[i] ? ns : 0;
	}
	if (!any)
		return;
	keep(g, COL_OWN, own);
	keep(g, COL_OWN_QUIET, own > stalled ? own - stalled : 0);
}

static void judge(struct bs_gather *g, int64_t due, int64_t handed, int64_t now)
{
	int64_t budget = (int64_t)(g->p->image_ms * 1e6);

	if (handed - due <= budget)
		return;
	g->run.raw++;
	g->run.explained += bs_canary_explains(g->canary, g->birds.count, due, handed, budget, now);
}

static bool value_is(const char *at, const char *word)
{
	return at != NULL && strncmp(at, word, strlen(word)) == 0 && at[strlen(word)] == '<';
}

static void take(struct bs_gather *g, const unsigned char *msg, size_t len, int64_t now)
{
	const unsigned char *payload;
	struct bs_mrd_image head;
	struct bs_wire w;
	size_t attr_at;
	size_t pixels_at;
	const char *sender;
	int64_t latency = 0;
	int64_t stalled;

	if (bs_wire_decode(&w, msg, len, &payload, NULL) != 0 || w.kind != BS_WIRE_IMAGE ||
	    bs_mrd_parse_image(&head, &attr_at, &pixels_at, payload, (size_t)w.payload_len, NULL) !=
		    0) {
		g->run.torn++;
		return;
	}
	const char *text = (const char *)payload + attr_at;
	size_t n = head.attribute_string_len;

	if (attribute(text, n, "preview") != NULL) {
		g->run.previews++;
		return;
	}
	sender = attribute(text, n, "sender_ns");
	if (sender == NULL || !attribute_us(text, n, "latency_us", &latency) ||
	    g->rows[COL_DUE] == BS_GATHER_MAX) {
		g->run.torn++;
		return;
	}
	int64_t due = strtoll(sender, NULL, 10);

	g->run.partial += value_is(attribute(text, n, "quality"), "partial");
	g->run.degraded += value_is(attribute(text, n, "quality"), "degraded");
	g->run.late += value_is(attribute(text, n, "budget"), "missed");
	keep(g, COL_DUE, w.time_ns - due);
	keep(g, COL_RECEIVED, latency);
	keep(g, COL_ARRIVAL, now - due);
	stalled = bs_canary_stalled(g->canary, g->birds.count, w.time_ns - latency, w.time_ns, now);
	keep(g, COL_QUIET, latency - stalled);
	keep_parts(g, text, n, latency, stalled);
	judge(g, due, w.time_ns, now);
	g->run.arrived++;
	atomic_fetch_add(&g->count, 1);
}

static void *receive(void *arg)
{
	struct bs_gather *g = arg;

	while (!atomic_load(&g->quit)) {
		struct pollfd fd = { g->archive.receive_fd, POLLIN, 0 };
		const unsigned char *msg;
		size_t len;

		if (bs_endpoint_take(&g->archive, &msg, &len, NULL) != 0) {
			(void)bs_endpoint_wait(&fd, 1, bs_now_ns() + TURN_NS, NULL);
			continue;
		}
		int64_t now = bs_now_ns();

		(void)pthread_mutex_lock(&g->lock);
		take(g, msg, len, now);
		(void)pthread_mutex_unlock(&g->lock);
		bs_endpoint_release(msg);
	}
	return NULL;
}

/* ---- */

int bs_gather_open(struct bs_gather **out, const struct bs_protocol *p, const char *url,
		   struct bs_fail *why)
{
	struct bs_gather *g = calloc(1, sizeof(*g));
	int rc = 0;

	*out = g;
	if (g == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the images' numbers");
	g->p = p;
	g->archive.socket = -1;
	(void)pthread_mutex_init(&g->lock, NULL);
	g->canary = calloc(BS_CERTIFY_CPUS, sizeof(*g->canary));
	for (int i = 0; i < COLUMNS; i++) {
		g->column[i] = malloc(BS_GATHER_MAX * sizeof(**g->column));
		if (g->column[i] == NULL)
			rc = BS_ERR_NOMEM;
	}
	if (rc != 0 || g->canary == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the images' numbers");
	rc = bs_endpoint_connect(&g->archive, BS_ENDPOINT_ARCHIVE_IN, url,
				 (size_t)bs_protocol_image_bytes(p) + OVERHEAD, why);
	if (rc != 0)
		return rc;
	bs_birds_start(&g->birds, g->canary, BS_CERTIFY_CPUS);
	if (pthread_create(&g->thread, NULL, receive, g) != 0)
		return bs_fail(why, BS_ERR_NOMEM, "no thread for the archive");
	g->running = true;
	return 0;
}

void bs_gather_begin(struct bs_gather *g)
{
	(void)pthread_mutex_lock(&g->lock);
	memset(&g->run, 0, sizeof(g->run));
	memset(g->rows, 0, sizeof(g->rows));
	atomic_store(&g->count, 0);
	(void)pthread_mutex_unlock(&g->lock);
}

uint64_t bs_gather_count(const struct bs_gather *g)
{
	return atomic_load(&g->count);
}

void bs_gather_end(struct bs_gather *g, struct bs_certify_run *r)
{
	(void)pthread_mutex_lock(&g->lock);
	r->arrived = g->run.arrived;
	r->partial = g->run.partial;
	r->degraded = g->run.degraded;
	r->late = g->run.late;
	r->previews = g->run.previews;
	r->torn = g->run.torn;
	r->raw = g->run.raw;
	r->explained = g->run.explained;
	bs_spread_make(&r->due, g->column[COL_DUE], g->rows[COL_DUE]);
	bs_spread_make(&r->received, g->column[COL_RECEIVED], g->rows[COL_RECEIVED]);
	bs_spread_make(&r->arrival, g->column[COL_ARRIVAL], g->rows[COL_ARRIVAL]);
	bs_spread_make(&r->own, g->column[COL_OWN], g->rows[COL_OWN]);
	bs_spread_make(&r->quiet, g->column[COL_QUIET], g->rows[COL_QUIET]);
	bs_spread_make(&r->own_quiet, g->column[COL_OWN_QUIET], g->rows[COL_OWN_QUIET]);
	for (int i = 0; i < (int)BS_CERTIFY_PARTS; i++)
		bs_spread_make(&r->part[i], g->column[PART(i)], g->rows[PART(i)]);
	r->latency = malloc((r->due.n > 0 ? r->due.n : 1) * sizeof(*r->latency));
	if (r->latency != NULL)
		memcpy(r->latency, g->column[COL_DUE], r->due.n * sizeof(*r->latency));
	(void)pthread_mutex_unlock(&g->lock);
}

void bs_gather_close(struct bs_gather *g)
{
	if (g == NULL)
		return;
	atomic_store(&g->quit, true);
	if (g->running)
		(void)pthread_join(g->thread, NULL);
	bs_birds_stop(&g->birds);
	if (g->archive.socket >= 0)
		bs_endpoint_close(&g->archive);
	for (int i = 0; i < COLUMNS; i++)
		free(g->column[i]);
	free(g->canary);
	(void)pthread_mutex_destroy(&g->lock);
	free(g);
}

/* board/tool/certify/witness.c - see witness.h */
#include "board/tool/certify/witness.h"

#include <stdio.h>
#include <string.h>

#include "board/tool/json.h"

/* at: an object with a count and quantiles, or NULL. Room for it is there. */
static struct bs_certify_stage *add_stage(struct bs_certificate *c, const char *at)
{
	static const char *const quantiles[] = { "p50_us", "p99_us", "p999_us", "max_us" };
	struct bs_certify_stage *s = &c->stage[c->stages++];

	memset(s, 0, sizeof(*s));
	(void)bs_json_number(at, "n", &s->n);
	for (int i = 0; i < 4; i++)
		(void)bs_json_number(at, quantiles[i], &s->us[i]);
	return s;
}

void bs_witness_stages(struct bs_certificate *c, const char *doc)
{
	size_t len = 0;
	const char *log = bs_json_member(doc, "log", &len);
	const char *lag = bs_json_member(log, "lag", &len);
	const char *at = bs_json_first(bs_json_member(doc, "latency", &len), &len);
	char name[BS_NAME_MAX];

	c->stages = 0;
	for (; at != NULL && c->stages + 1 < BS_CERTIFY_STAGES; at = bs_json_next(at, &len)) {
		bs_json_text(at, "protocol", name, sizeof(name));
		if (strcmp(name, c->p->name) != 0)
			continue;
		struct bs_certify_stage *s = add_stage(c, at);

		bs_json_text(at, "stage", s->name, sizeof(s->name));
	}
	if (lag != NULL) /* of all messages, held to durable */
		(void)snprintf(add_stage(c, lag)->name, sizeof(c->stage[0].name), "lag");
}

static const char *first_thread(const char *doc, size_t *len)
{
	const char *rt = bs_json_member(doc, "realtime", len);

	return bs_json_first(bs_json_member(rt, "threads", len), len);
}

void bs_witness_threads(struct bs_certificate *c, const char *doc, bool before)
{
	size_t len = 0;
	uint32_t n = 0;

	for (const char *at = first_thread(doc, &len); at != NULL && n < BS_CERTIFY_THREADS;
	     at = bs_json_next(at, &len), n++) {
		struct bs_certify_thread *t = &c->thread[n];

		bs_json_text(at, "thread", t->name, sizeof(t->name));
		(void)bs_json_number(at, "priority", &t->priority);
		for (int i = 0; i < BS_THREAD_COUNTS; i++) {
			double count = 0.0;

			(void)bs_json_number(at, bs_thread_counts[i], &count);
			t->was[i] = before ? count : t->was[i];
			t->grown[i] = count - t->was[i];
		}
	}
	c->threads = n;
}

void bs_witness_may_run(struct bs_cpus *set, const char *doc)
{
	size_t len = 0;

	memset(set, 0, sizeof(*set));
	for (const char *at = first_thread(doc, &len); at != NULL; at = bs_json_next(at, &len)) {
		double tid = 0.0;

		if (bs_json_number(at, "tid", &tid) && tid > 0.0 && tid <= INT32_MAX)
			(void)bs_cpus_may_run(set, (int32_t)tid);
	}
}

void bs_witness_restarts(struct bs_certificate *c, const char *doc)
{
	size_t len = 0;
	const char *at = bs_json_first(bs_json_member(doc, "workers", &len), &len);

	c->restarts = 0.0;
	for (; at != NULL; at = bs_json_next(at, &len)) {
		double n = 0.0;

		(void)bs_json_number(at, "restarts", &n);
		c->restarts += n;
	}
}

static void copy(char *out, size_t cap, const char *at, size_t len)
{
	if (at != NULL && len < cap)
		(void)snprintf(out, cap, "%.*s", (int)len, at);
}

void bs_witness_protocol(struct bs_certificate *c, const char *doc)
{
	size_t len = 0;
	const char *at = bs_json_first(bs_json_member(doc, "protocols", &len), &len);
	char word[BS_NAME_MAX];

	for (; at != NULL; at = bs_json_next(at, &len)) {
		size_t n = 0;

		bs_json_text(at, "name", word, sizeof(word));
		if (strcmp(word, c->p->name) != 0)
			continue;
		bs_json_text(at, "engine", c->engine, sizeof(c->engine));
		bs_json_text(at, "refused", c->refused, sizeof(c->refused));
		const char *estimate = bs_json_member(at, "estimate", &n);

		copy(c->estimate, sizeof(c->estimate), estimate, n);
	}
	bs_json_text(doc, "lapack", c->lapack, sizeof(c->lapack));
	at = bs_json_member(doc, "realtime", &len);
	const char *threads = bs_json_member(at, "threads", &len);

	if (at != NULL && threads != NULL) /* the settings alone */
		copy(c->realtime, sizeof(c->realtime), at,
		     (size_t)(threads - at) - strlen(",\"threads\":"));
	if (c->realtime[0] != '\0')
		(void)strncat(c->realtime, "}", sizeof(c->realtime) - strlen(c->realtime) - 1);
	bs_json_text(at, "unthrottled", word, sizeof(word));
	const char *mps = bs_json_member(at, "mps", &len);

	c->mps = mps != NULL && len == 4 && strncmp(mps, "true", 4) == 0;
	c->throttled = strcmp(word, "refused") == 0;
}

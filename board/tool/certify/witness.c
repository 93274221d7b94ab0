/* board/tool/certify/witness.c - see witness.h */
#include "board/tool/certify/witness.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* Reads a number; value keeps what it had if the object lacks it. */
static void take_number(const json_t *object, const char *key, double *value)
{
	const json_t *n = json_object_get(object, key);

	if (json_is_number(n))
		*value = json_number_value(n);
}

/* Reads a text; out is empty if the object lacks it. */
static void take_text(const json_t *object, const char *key, char *out, size_t cap)
{
	const char *text = json_string_value(json_object_get(object, key));

	(void)snprintf(out, cap, "%s", text != NULL ? text : "");
}

static bool is_text(const json_t *object, const char *key, const char *text)
{
	const char *is = json_string_value(json_object_get(object, key));

	return is != NULL && strcmp(is, text) == 0;
}

/* Writes a value as JSON again; out keeps what it had if the value is absent or does not fit. */
static void take_json(const json_t *value, char *out, size_t cap)
{
	size_t n = json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_REAL_PRECISION(15));

	if (n > 0 && n < cap) {
		(void)json_dumpb(value, out, n, JSON_COMPACT | JSON_REAL_PRECISION(15));
		out[n] = '\0';
	}
}

/* Adds a stage from an object with a count and quantiles. There must be room. */
static struct bs_certify_stage *add_stage(struct bs_certificate *c, const json_t *at)
{
	static const char *const quantiles[] = { "p50_us", "p99_us", "p999_us", "max_us" };
	struct bs_certify_stage *s = &c->stage[c->stages++];

	memset(s, 0, sizeof(*s));
	take_number(at, "n", &s->n);
	for (int i = 0; i < 4; i++)
		take_number(at, quantiles[i], &s->us[i]);
	return s;
}

void bs_witness_stages(struct bs_certificate *c, const char *doc)
{
	json_t *root = json_loads(doc, 0, NULL);
	const json_t *lag = json_object_get(json_object_get(root, "log"), "lag");
	const json_t *at;
	size_t i;

	c->stages = 0;
	json_array_foreach (json_object_get(root, "latency"), i, at)
		if (c->stages + 1 < BS_CERTIFY_STAGES && is_text(at, "protocol", c->p->name)) {
			struct bs_certify_stage *s = add_stage(c, at);

			take_text(at, "stage", s->name, sizeof(s->name));
		}
	if (lag != NULL) /* the times from held to durable, of all messages */
		(void)snprintf(add_stage(c, lag)->name, sizeof(c->stage[0].name), "lag");
	json_decref(root);
}

static const json_t *threads_of(const json_t *root)
{
	return json_object_get(json_object_get(root, "realtime"), "threads");
}

static void take_thread(struct bs_certify_thread *t, const json_t *at, bool before)
{
	take_text(at, "thread", t->name, sizeof(t->name));
	take_number(at, "priority", &t->priority);
	for (int i = 0; i < BS_THREAD_COUNTS; i++) {
		double count = 0.0;

		take_number(at, bs_thread_counts[i], &count);
		t->was[i] = before ? count : t->was[i];
		t->grown[i] = count - t->was[i];
	}
}

void bs_witness_threads(struct bs_certificate *c, const char *doc, bool before)
{
	json_t *root = json_loads(doc, 0, NULL);
	size_t n = json_array_size(threads_of(root));

	c->threads = n < BS_CERTIFY_THREADS ? (uint32_t)n : BS_CERTIFY_THREADS;
	for (uint32_t i = 0; i < c->threads; i++)
		take_thread(&c->thread[i], json_array_get(threads_of(root), i), before);
	json_decref(root);
}

void bs_witness_may_run(struct bs_cpus *set, const char *doc)
{
	json_t *root = json_loads(doc, 0, NULL);
	const json_t *at;
	size_t i;

	memset(set, 0, sizeof(*set));
	json_array_foreach (threads_of(root), i, at) {
		double tid = 0.0;

		take_number(at, "tid", &tid);
		if (tid > 0.0 && tid <= INT32_MAX)
			(void)bs_cpus_may_run(set, (int32_t)tid);
	}
	json_decref(root);
}

void bs_witness_restarts(struct bs_certificate *c, const char *doc)
{
	json_t *root = json_loads(doc, 0, NULL);
	const json_t *at;
	size_t i;

	c->restarts = 0.0;
	json_array_foreach (json_object_get(root, "workers"), i, at) {
		double n = 0.0;

		take_number(at, "restarts", &n);
		c->restarts += n;
	}
	json_decref(root);
}

void bs_witness_protocol(struct bs_certificate *c, const char *doc)
{
	json_t *root = json_loads(doc, 0, NULL);
	json_t *realtime = json_object_get(root, "realtime");
	const json_t *at;
	size_t i;

	json_array_foreach (json_object_get(root, "protocols"), i, at)
		if (is_text(at, "name", c->p->name)) {
			take_text(at, "engine", c->engine, sizeof(c->engine));
			take_text(at, "refused", c->refused, sizeof(c->refused));
			take_json(json_object_get(at, "estimate"), c->estimate,
				  sizeof(c->estimate));
		}
	take_text(root, "lapack", c->lapack, sizeof(c->lapack));
	c->mps = json_is_true(json_object_get(realtime, "mps"));
	c->throttled = is_text(realtime, "unthrottled", "refused");
	(void)json_object_del(realtime, "threads"); /* only the settings are kept */
	take_json(realtime, c->realtime, sizeof(c->realtime));
	json_decref(root);
}

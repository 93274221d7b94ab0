/* test/unit/board/test_metrics.c - Prometheus' text: well-formed, cumulative, complete, bounded */
#define _GNU_SOURCE /* popen */
#include "board/status/status.h"

#include <string.h>

#include "board/status/table.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

static struct bs_site site;
static char text[BS_METRICS_MAX + 8];

static void make_site(void)
{
	site.acq_slots = 16;
	site.image_slots = 3;
	site.protocols = BS_PROTOCOLS_MAX;
	(void)snprintf(site.name, sizeof(site.name), "a \"node\"\\ \n \377");
	(void)snprintf(site.log.dir, sizeof(site.log.dir), "/nowhere");
	site.log.mode = BS_LOG_MODE_DURABLE;
	site.log.buffer_mib = 32;
	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++) {
		site.protocol[i] = path_of(BS_METHOD_GRIDDING, BS_TRAJ_FILE, 32, 32, 1, 2);
		readouts_of(&site.protocol[i], 4, 64);
		site.protocol[i].image_ms = 25.0;
		site.protocol[i].stage_ms[0] = 1.0;
		(void)snprintf(site.protocol[i].name, sizeof(site.protocol[i].name), "p%u", i);
	}
	memset(site.protocol[15].name, 'x', sizeof(site.protocol[15].name) - 1);
}

/* The value of the line that begins with this; -1: there is none, or two. */
static double value(const char *start)
{
	double v = -1.0;
	int found = 0;

	for (const char *at = text; (at = strstr(at, start)) != NULL; at++)
		if ((at == text || at[-1] == '\n') && at[strlen(start)] == ' ') {
			v = strtod(at + strlen(start), NULL);
			found++;
		}
	return found == 1 ? v : -1.0;
}

static const char *skip_labels(const char *s)
{
	for (;; s++) {
		s += strspn(s, "abcdefghijklmnopqrstuvwxyz_");
		if (s[0] != '=' || s[1] != '"')
			return NULL;
		for (s += 2; *s != '"'; s++) {
			if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f)
				return NULL;
			if (*s == '\\' && strchr("\"\\n", *++s) == NULL)
				return NULL;
		}
		if (*++s == '}')
			return s + 1;
		if (*s != ',')
			return NULL;
	}
}

/* Lines that are neither a comment nor "name{label="value",...} number". */
static int bad_lines(void)
{
	int bad = 0;

	for (const char *s = text; *s != '\0'; s = strchr(s, '\n') + 1) {
		const char *end;
		const char *at = s;

		if (strchr(s, '\n') == NULL)
			return bad + 1;
		if (strncmp(s, "# HELP boreside_", 16) == 0 ||
		    strncmp(s, "# TYPE boreside_", 16) == 0)
			continue;
		at += strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");
		if (at != s && *at == '{')
			at = skip_labels(at + 1);
		if (at == NULL || *at != ' ') {
			bad++;
			continue;
		}
		(void)strtod(at + 1, (char **)&end);
		bad += end == at + 1 || *end != '\n';
	}
	return bad;
}

static void check_histogram(struct bs_shm *m)
{
	struct bs_hist *h = bs_shm_hist(m, 3, BS_STAGE_IMAGE);

	for (int i = 0; i < 7; i++)
		bs_hist_add(h, 1500000); /* 1.5 ms */
	bs_hist_add(h, 4000);
	bs_hist_add(h, INT64_MAX / 2); /* beyond the last bucket */
	CHECK(bs_status_metrics(text, BS_METRICS_MAX, m) > 0, "a histogram");
#define IMAGE(of, le) "boreside_stage_seconds_" of "{protocol=\"p3\",stage=\"image\"" le "}"
	CHECK(value(IMAGE("bucket", ",le=\"1e-05\"")) == 1 &&
		      value(IMAGE("bucket", ",le=\"0.001\"")) == 1 &&
		      value(IMAGE("bucket", ",le=\"0.002\"")) == 8 &&
		      value(IMAGE("bucket", ",le=\"20.0\"")) == 8 &&
		      value(IMAGE("bucket", ",le=\"+Inf\"")) == 9 && value(IMAGE("count", "")) == 9,
	      "its buckets are cumulative, the last one has all");
	CHECK(fabs(value(IMAGE("sum", "")) / ((double)(INT64_MAX / 2) * 1e-9) - 1.0) < 1e-8,
	      "its sum in seconds");
	CHECK(strstr(text, "boreside_stage_seconds_count{protocol=\"p4\"") == NULL,
	      "none where nothing was measured");
#undef IMAGE
}

/* Every number of the totals is there under its own name, with its own value. */
static void check_totals(struct bs_shm *m)
{
	struct bs_totals *t = &m->s->totals;
	static const char *const names[] = {
		"scans",         "refused",   "messages",     "bytes",    "rejected",     "gaps",
		"duplicates",    "late",      "scans_failed", "answers",  "answers_late", "images",
		"engine_faults", "published", "sink_faults",  "repeated", "lost",         "unsent"
	};
	_Atomic uint64_t *first = &t->scans;
	char name[64];
	int wrong = 0;

	_Static_assert(sizeof(*t) == sizeof(names) / sizeof(names[0]) * sizeof(uint64_t),
		       "a new total needs a metric");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		atomic_store(first + i, 1000 + i);
	(void)bs_status_metrics(text, BS_METRICS_MAX, m);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(name, sizeof(name), "boreside_%s_total", names[i]);
		wrong += value(name) != 1000.0 + (double)i;
	}
	CHECK(wrong == 0, "each total has its metric: %d have not", wrong);
}

static void check_takers(struct bs_shm *m)
{
	struct bs_taker_record *r = &m->s->taker[BS_TAKER_ARCHIVE];

	memset(r->name, 'a', sizeof(r->name)); /* not terminated */
	memcpy(r->name, "archive", 8);
	atomic_store(&r->taken, 20);
	atomic_store(&r->handed, 9);
	atomic_store(&r->shed, 3);
	atomic_store(&r->behind, 2);
	(void)snprintf(m->s->images.asker[0].name, sizeof(m->s->images.asker[0].name), "pacs");
	atomic_store(&m->s->images.asker[0].missed, 4);
	atomic_store(&m->s->images.last, 7);
	atomic_store(&m->s->worker[BS_WORKER_RECON].epoch, 3);
	atomic_store(&m->s->log.failed, 1);
	(void)bs_status_metrics(text, BS_METRICS_MAX, m);
	CHECK(value("boreside_taker_handed_total{taker=\"archive\"}") == 9 &&
		      value("boreside_taker_shed_total{taker=\"archive\"}") == 3 &&
		      value("boreside_taker_behind{taker=\"archive\"}") == 2 &&
		      value("boreside_taker_waiting{taker=\"archive\"}") == 6,
	      "a taker: what it had, what was shed, what waits");
	CHECK(value("boreside_asker_missed_total{asker=\"pacs\"}") == 4 &&
		      value("boreside_asker_current{asker=\"pacs\"}") == 0,
	      "an archive that asks");
	CHECK(value("boreside_worker_restarts_total{worker=\"recon\"}") == 2 &&
		      value("boreside_worker_restarts_total{worker=\"emit\"}") == 0 &&
		      value("boreside_log_failed") == 1 &&
		      value("boreside_budget_seconds{protocol=\"p0\"}") == 0.025 &&
		      value("boreside_pool_slots{pool=\"images\"}") == m->image_pool->slots,
	      "restarts, the log, budgets, pools");
}

static int metrics_of(const struct bs_row *rows)
{
	int n = 0;

	for (const struct bs_row *r = rows; !bs_row_ends(r); r++)
		n += (r->metric != BS_NO_METRIC) + (r->rows != NULL ? metrics_of(r->rows) : 0);
	return n;
}

/* Each metric of the table is there, once. */
static void check_families(void)
{
	int n = 0;
	int twice = 0;

	for (const char *at = text; (at = strstr(at, "# TYPE ")) != NULL; at++, n++) {
		char line[128];

		(void)snprintf(line, sizeof(line), "%.*s ", (int)(7 + strcspn(at + 7, " ")), at);
		twice += strstr(at + 1, line) != NULL;
	}
	CHECK(n == metrics_of(bs_status_top.rows) && twice == 0,
	      "%d families of %d metrics, %d twice", n, metrics_of(bs_status_top.rows), twice);
}

/* Prometheus' own check, where it is installed. */
static void check_promtool(void)
{
	FILE *f;

	if (system("command -v promtool >/dev/null") != 0) {
		SKIP("promtool is not installed: its check of the text");
		return;
	}
	f = popen("promtool check metrics >/tmp/test_metrics.$PPID 2>&1; e=$?; "
		  "sed 's/^/# /' /tmp/test_metrics.$PPID; rm /tmp/test_metrics.$PPID; exit $e",
		  "w");
	if (f == NULL)
		abort();
	(void)fputs(text, f);
	CHECK(pclose(f) == 0, "promtool check metrics finds nothing");
}

static void fill(struct bs_shm *m)
{
	struct bs_shared *s = m->s;

	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++)
		for (int st = 0; st < BS_STAGES; st++)
			for (int v = 0; v < 100; v++)
				bs_hist_add(bs_shm_hist(m, i, (enum bs_stage)st),
					    INT64_MAX >> (v % 60));
	atomic_store(&s->canaries, 1000);
	for (int i = 0; i < BS_TAKERS; i++)
		memset(s->taker[i].name, i % 2 != 0 ? '"' : 0xff, sizeof(s->taker[i].name));
	for (uint32_t i = 0; i < BS_ASKERS; i++)
		memset(s->images.asker[i].name, '\n', sizeof(s->images.asker[i].name));
	atomic_store(&s->gpus, 1000);
	for (uint32_t i = 0; i < BS_DEVICES_MAX; i++)
		memset(s->gpu[i].name, '\\', sizeof(s->gpu[i].name));
	atomic_store(&s->scan[1].state, 12345);
}

int main(void)
{
	static struct bs_traj tables[BS_PROTOCOLS_MAX];
	struct bs_shm m;
	int bad = 0;
	int n;

	make_site();
	if (bs_shm_create(&m, &site, tables, NULL) != 0)
		return 1;
	n = bs_status_metrics(text, BS_METRICS_MAX, &m);
	CHECK(n > 0 && (size_t)n == strlen(text) && bad_lines() == 0,
	      "a fresh service: %d bytes, %d bad lines", n, bad_lines());
	CHECK(strstr(text, ",node=\"a \\\"node\\\"\\\\ \\n ?\"} 1\n") != NULL, "names are escaped");
	check_histogram(&m);
	check_totals(&m);
	check_takers(&m);
	check_promtool();
	fill(&m);
	n = bs_status_metrics(text, BS_METRICS_MAX, &m);
	CHECK(n > 0 && bad_lines() == 0, "all protocols and stages, broken names: %d bytes", n);
	CHECK(n < (int)BS_METRICS_MAX * 2 / 3, "with room to spare");
	check_families();
	for (size_t cap = 0; cap < 4000; cap += 97) {
		text[cap] = 'Z';
		bad += bs_status_metrics(text, cap, &m) != BS_ERR_NOMEM || text[cap] != 'Z';
	}
	CHECK(bad == 0, "too little room is said and not overrun");
	bs_shm_close(&m);
	return check_done();
}

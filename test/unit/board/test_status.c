/* test/unit/board/test_status.c - well-formed whatever its numbers and names, and bounded */
#include "board/status/status.h"

#include <string.h>

#include "board/status/table.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

static struct bs_site site;
static char doc[BS_STATUS_MAX];

/* A small reader of JSON, strict about what we write: returns what follows the value, or NULL. */
static const char *skip_value(const char *s, int depth);

static const char *skip_string(const char *s)
{
	if (*s++ != '"')
		return NULL;
	for (; *s != '"'; s++) {
		if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f)
			return NULL;
		if (*s == '\\' && strchr("\"\\u", *++s) == NULL)
			return NULL;
	}
	return s + 1;
}

static const char *skip_members(const char *s, char end, int depth)
{
	if (*s == end)
		return s + 1;
	for (;; s++) {
		if (end == '}' && ((s = skip_string(s)) == NULL || *s++ != ':'))
			return NULL;
		s = skip_value(s, depth + 1);
		if (s == NULL || (*s != ',' && *s != end))
			return NULL;
		if (*s == end)
			return s + 1;
	}
}

static const char *skip_value(const char *s, int depth)
{
	size_t n = strspn(s, "0123456789.-");

	if (depth > 8)
		return NULL;
	if (*s == '{' || *s == '[')
		return skip_members(s + 1, *s == '{' ? '}' : ']', depth);
	if (*s == '"')
		return skip_string(s);
	if (strncmp(s, "true", 4) == 0)
		return s + 4;
	if (strncmp(s, "false", 5) == 0)
		return s + 5;
	return n > 0 ? s + n : NULL;
}

static bool well_formed(void)
{
	const char *end = skip_value(doc, 0);

	return end != NULL && strcmp(end, "\n") == 0;
}

static void make_site(void)
{
	site.acq_slots = 16;
	site.image_slots = 3;
	site.protocols = BS_PROTOCOLS_MAX;
	memcpy(site.name, "a \"node\" with \\ and \033[2J", 25);
	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++) {
		site.protocol[i] = path_of(BS_METHOD_GRIDDING, BS_TRAJ_RADIAL2D, 32, 32, 1, 2);
		site.protocol[i] = with_name(site.protocol[i], "radial");
		readouts_of(&site.protocol[i], 4, 64);
	}
	memset(site.protocol[15].name, 'x', sizeof(site.protocol[15].name) - 1);
}

/* What a service has that logs, seals, has bridges, takers and a protocol that was refused. */
static void fill_parts(struct bs_shared *s)
{
	struct bs_taker_record *archive = &s->taker[BS_TAKER_ARCHIVE];
	struct bs_bridge_state *mrd = &s->bridge[BS_BRIDGE_MRD];

	s->site.log.mode = BS_LOG_MODE_DURABLE;
	(void)snprintf(s->site.log.dir, sizeof(s->site.log.dir), "/logs");
	atomic_store(&s->log.lacking, 7);
	s->site.protocol[0].image_ms = 12.5;
	s->site.protocol[0].stage_ms[0] = 0.5;
	s->site.protocol[0].on_miss = BS_MISS_SHED;
	atomic_store(&s->budget[0].down[BS_RUNG_FEWER], 3);
	s->refused[1] = BS_ERR_CONFIG;
	(void)snprintf(s->refusal[1], sizeof(s->refusal[1]), "no GPU here");
	(void)snprintf(archive->name, sizeof(archive->name), "archive");
	(void)snprintf(archive->refusal, sizeof(archive->refusal), "disk full");
	archive->policy = BS_POLICY_SPILL;
	atomic_store(&archive->taken, 12);
	atomic_store(&archive->handed, 5);
	atomic_store(&archive->failed, 2);
	atomic_store(&archive->shed, 1);
	atomic_store(&archive->behind, 3);
	atomic_store(&s->seal[BS_SEAL_IMAGES].on, 1);
	atomic_store(&s->seal[BS_SEAL_IMAGES].sessions, 9);
	atomic_store(&s->seal[BS_SEAL_STATUS].on, 1);
	atomic_store(&s->seal[BS_SEAL_STATUS].crowded, 4);
	(void)snprintf(s->seal[BS_SEAL_STATUS].last, sizeof(s->seal[0].last), "ann: too many");
	atomic_store(&mrd->starts, 2);
	atomic_store(&mrd->pid, 44);
	(void)snprintf(mrd->last_end, sizeof(mrd->last_end), "signal 11");
	mrd->clients.connected = 6;
	s->reload.code = BS_ERR_CONFIG;
	(void)snprintf(s->reload.text, sizeof(s->reload.text), "no such key");
	atomic_store(&s->scan[0].open, 1);
}

static bool has(const char *line)
{
	if (strstr(doc, line) == NULL)
		printf("# not there: %s", line);
	return strstr(doc, line) != NULL;
}

static void check_lines(void)
{
	CHECK(has("site file      generation 1, ; the last reload was refused: no such key\n") &&
		      has("emit           pid 0, ?, 2 restarts, last: signal 9, \"Killed\"\n") &&
		      has("mrd            pid 44, 1 restarts, last: signal 11\n"
			  "  clients: 6 connected, 0 scans (0 now), 0 images, 0 errors\n"),
	      "lines of the site file, of processes");
	CHECK(has("protocol radial               not armed, , 0 bytes\n"
		  "  budget 12.5 ms, shed: 0 of 0 images late, ladder on full, 3 down, 0 up\n"
		  "  stage receive    0.5 ms: missed 0 times\n"
		  "protocol radial               refused, , 0 bytes\n") &&
		      has("refused  no GPU here\nrealtime       priority refused, "),
	      "lines of protocols, of those that could not be armed");
	CHECK(has("sealed images  9 sessions\n"
		  "sealed status  0 sessions; kept out: 0 of unknown keys, 0 without the role, 4 "
		  "beyond keys.connections, 0 whose messages did not open; the last: ann: too "
		  "many\n"),
	      "lines of sealed endpoints");
	CHECK(has("of a sender that is away, closed 0.0 s ago, is being reconstructed; ") &&
		      has(" wait (the first for ") && has(" s), 0 idle\n"),
	      "a line of the k-space endpoint");
	CHECK(has(", none yet: 0 bytes in 0 commits, durable 0.0 us after held at p50, 0.0 at "
		  "p99\n  7 messages are in no log\n"),
	      "a line of the log");
	CHECK(has("to archive                      spill       5 handed, 1 shed, 2 failed, "
		  "1 waiting, 3 in the store\n  refused the last one: disk full\n"),
	      "a line of a taker");
}

/* Rows without a plain line of help, or with another row's name in the same object. */
static int bad_rows(const struct bs_row *up, const struct bs_row *rows)
{
	int bad = 0;

	for (const struct bs_row *r = rows; !bs_row_ends(r); r++) {
		const bool said = r->name != NULL && r->help != NULL && r->name[0] != '\0';
		const size_t n = r->help != NULL ? strlen(r->help) : 0;
		const int before = bad;

		bad += (said || r->metric != BS_NO_METRIC) &&
		       (n == 0 || r->help[n - 1] != '.' || strpbrk(r->help, "|\n") != NULL);
		bad += r->metric != BS_NO_METRIC && r->as == NULL && up->prefix == NULL;
		for (const struct bs_row *b = rows; b != r; b++)
			bad += r->name != NULL && b->name != NULL && strcmp(r->name, b->name) == 0;
		if (bad > before)
			printf("# %s: %s\n", r->name != NULL ? r->name : "",
			       r->help != NULL ? r->help : "");
		if (r->rows != NULL)
			bad += bad_rows(r, r->rows);
	}
	return bad;
}

static void fill(struct bs_shm *m)
{
	struct bs_shared *s = m->s;

	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++)
		for (int st = 0; st < BS_STAGES; st++)
			for (int v = 0; v < 100; v++)
				bs_hist_add(bs_shm_hist(m, i, (enum bs_stage)st),
					    INT64_MAX >> (v % 60));
	atomic_store(&s->scan[1].id, UINT64_MAX);
	atomic_store(&s->scan[1].state, 12345); /* a wild number */
	atomic_store(&s->totals.bytes, UINT64_MAX);
	atomic_store(&s->scan[1].open, 1);
	atomic_store(&s->kspace.here, 1);
	atomic_store(&s->kspace.clock, 99);
	atomic_store(&s->kspace.since_ns, INT64_MAX);
	atomic_store(&s->kspace.heard_ns, 1);
	atomic_store(&s->kspace.line_ns, 1);
	atomic_store(&s->kspace.waiting, UINT32_MAX);
	memset(s->kspace.sender, 0xff, sizeof(s->kspace.sender));
	for (int i = 0; i < BS_WORKERS; i++) {
		atomic_store(&s->worker[i].epoch, 3);
		atomic_store(&s->worker[i].phase, 77);
		(void)snprintf(s->worker[i].last_end, sizeof(s->worker[i].last_end),
			       "signal 9, \"Killed\"");
	}
	for (int i = 0; i < BS_THREADS; i++) {
		memset(s->thread[i].name, i % 2 != 0 ? '"' : 0xff, sizeof(s->thread[i].name));
		atomic_store(&s->thread[i].tid, INT32_MAX);
		atomic_store(&s->thread[i].minor_faults, UINT64_MAX);
	}
	atomic_store(&s->realtime.refused, UINT32_MAX);
	atomic_store(&s->realtime.told, UINT32_MAX);
	memset(s->realtime.remedy, 0xff, sizeof(s->realtime.remedy));
	atomic_store(&s->canaries, 1000);
	for (uint32_t i = 0; i < BS_CANARIES; i++)
		for (int64_t due = INT64_MAX / 2; due < INT64_MAX / 2 + 2000 * BS_CANARY_PERIOD_NS;)
			due = bs_canary_wake(&s->canary[i], due, due + BS_CANARY_STALL_NS);
	for (uint32_t i = 0; i < BS_LAST_ERRORS; i++) /* not even NUL-terminated */
		memset(s->error[i], i % 2 != 0 ? '"' : 0xff, sizeof(s->error[0]));
	atomic_store(&s->errors, 1000);
}

int main(void)
{
	static struct bs_traj tables[BS_PROTOCOLS_MAX];
	struct bs_shm m;
	int n;
	int bad = 0;

	CHECK(bad_rows(&bs_status_top, bs_status_top.rows) == 0 &&
		      bad_rows(&bs_latency_top, bs_latency_top.rows) == 0,
	      "each row has a name of its own, and says what it means");
	make_site();
	if (bs_shm_create(&m, &site, tables, NULL) != 0)
		return 1;
	n = bs_status_json(doc, sizeof(doc), &m);
	CHECK(n > 0 && (size_t)n == strlen(doc) && well_formed(),
	      "a fresh service: %d bytes of JSON", n);
	CHECK(strstr(doc, "\"node\":\"a \\\"node\\\" with \\\\ and \\u001b[2J\"") != NULL,
	      "names are escaped");
	fill(&m);
	n = bs_status_json(doc, sizeof(doc), &m);
	CHECK(n > 0 && well_formed(), "16 protocols, wild numbers, broken texts: %d bytes of JSON",
	      n);
	CHECK(n < (int)BS_STATUS_MAX / 2, "with room to spare");
	n = bs_status_text(doc, sizeof(doc), &m);
	CHECK(n > 0 && (size_t)n == strlen(doc), "the table: %d bytes", n);
	fill_parts(m.s);
	n = bs_status_text(doc, sizeof(doc), &m);
	CHECK(n > 0, "the table, with all that there can be: %d bytes", n);
	check_lines();
	n = bs_status_latency_text(doc, sizeof(doc), &m);
	CHECK(n > 0 && (size_t)n == strlen(doc) && strstr(doc, "image "), "latencies: %d bytes", n);
	n = bs_status_latency_json(doc, sizeof(doc), &m);
	CHECK(n > 0 && well_formed(), "latencies: %d bytes of JSON", n);
	n = bs_status_stalls(doc, sizeof(doc), &m);
	CHECK(n > 0 && well_formed() && n > 2048 * 40, "stalls: %d bytes of JSON", n);
	for (size_t cap = 0; cap < 3000; cap += 7) { /* never beyond its room */
		memset(doc, 'Z', 4096);
		bad += bs_status_json(doc, cap, &m) != BS_ERR_NOMEM || doc[cap] != 'Z';
		bad += bs_status_text(doc, cap, &m) != BS_ERR_NOMEM || doc[cap] != 'Z';
		bad += bs_status_latency_json(doc, cap, &m) != BS_ERR_NOMEM || doc[cap] != 'Z';
		bad += bs_status_latency_text(doc, cap, &m) != BS_ERR_NOMEM || doc[cap] != 'Z';
		bad += bs_status_stalls(doc, cap, &m) != BS_ERR_NOMEM || doc[cap] != 'Z';
	}
	CHECK(bad == 0, "too little room is said and not overrun");
	for (int i = 0; i < BS_WORKERS; i++)
		atomic_store(&m.s->worker[i].phase, BS_PHASE_READY);
	CHECK(bs_status_ready(doc, sizeof(doc), &m) > 0 && strcmp(doc, "yes\n") == 0,
	      "ready when each worker is");
	atomic_store(&m.s->stop, 1);
	CHECK(bs_status_ready(doc, sizeof(doc), &m) > 0 && strcmp(doc, "no\n") == 0,
	      "not while the service drains: it refuses each scan");
	bs_shm_close(&m);
	return check_done();
}

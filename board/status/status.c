/* board/status/status.c - the status document; see status.h */
#define _POSIX_C_SOURCE 200809L /* gmtime_r */
#include "board/status/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "board/service/worker.h"
#include "board/status/members.h"
#include "board/status/quantiles.h"
#include "config/config.h"
#include "core/frame/state.h"
#include "core/thread/clock.h"
#include "core/version.h"
#include "ipc/gate.h"

static const char *phase_name(uint32_t p)
{
	static const char *const names[] = { "down", "arming", "ready", "stopped" };

	return p < 4 ? names[p] : "?";
}

/* What arming measured, in ms; worst: with the margin. */
static void put_admission(struct bs_doc *d, const struct bs_admission *a)
{
	bs_doc_open(d, "estimate", '{');
	bs_doc_real(d, "image_ms", (double)bs_admission_worst(a, false) * 1e-6);
	if (a->least.n > 0)
		bs_doc_real(d, "least_ms", (double)bs_admission_worst(a, true) * 1e-6);
	for (int c = 0; c < BS_COSTS; c++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "%s_ms", bs_cost_name((enum bs_cost)c));
		bs_doc_real(d, name, (double)bs_admission_cost(a, (enum bs_cost)c) * 1e-6);
	}
	bs_doc_real(d, "readout_us", (double)a->readout_ns * 1e-3);
	bs_doc_real(d, "frame_ms", (double)a->frame_ns * 1e-6);
	bs_doc_close(d);
}

static const char *miss_name(enum bs_miss m)
{
	static const char *const names[] = { "flag", "shed", "stop" };

	return (unsigned)m < 3 ? names[m] : "?";
}

/* Counts since the service started; the rung is where the ladder stands now. */
static void put_budget(struct bs_doc *d, const struct bs_protocol *p,
		       const struct bs_budget_record *b)
{
	bs_doc_open(d, "budget", '{');
	bs_doc_value(d, "image_ms", "%.6g", p->image_ms);
	bs_doc_text(d, "on_miss", miss_name(p->on_miss));
	bs_doc_number(d, "handed", atomic_load(&b->handed));
	bs_doc_number(d, "missed", atomic_load(&b->missed));
	bs_doc_number(d, "scans_stopped", atomic_load(&b->stopped));
	bs_doc_text(d, "rung", bs_rung_name((enum bs_rung)atomic_load(&b->rung)));
	bs_doc_open(d, "rungs", '[');
	for (int r = 0; r < BS_RUNGS; r++) {
		bs_doc_open(d, NULL, '{');
		bs_doc_text(d, "name", bs_rung_name((enum bs_rung)r));
		bs_doc_number(d, "images", atomic_load(&b->images[r]));
		bs_doc_number(d, "steps_down", atomic_load(&b->down[r]));
		bs_doc_number(d, "steps_up", atomic_load(&b->up[r]));
		bs_doc_close(d);
	}
	bs_doc_close(d);
	bs_doc_open(d, "stages", '[');
	for (int i = 0; i < BS_BUDGET_STAGES; i++) {
		if (p->stage_ms[i] <= 0.0)
			continue;
		bs_doc_open(d, NULL, '{');
		bs_doc_text(d, "name", bs_budget_stage_name((enum bs_budget_stage)i));
		bs_doc_value(d, "ms", "%.6g", p->stage_ms[i]);
		bs_doc_number(d, "missed", atomic_load(&b->stage_missed[i]));
		bs_doc_close(d);
	}
	bs_doc_close(d);
	bs_doc_close(d);
}

static void put_protocols(struct bs_doc *d, const struct bs_shared *s)
{
	bs_doc_open(d, "protocols", '[');
	for (uint32_t i = 0; i < s->site.protocols; i++) {
		const struct bs_protocol *p = &s->site.protocol[i];
		bool armed = atomic_load(&s->armed[i]) != 0;

		bs_doc_open(d, NULL, '{');
		bs_doc_text(d, "name", p->name);
		bs_doc_text(d, "method", bs_method_name(p->method));
		bs_doc_flag(d, "armed", armed);
		bs_doc_text(d, "engine", armed ? s->engine[i] : "");
		bs_doc_text(d, "place", armed ? s->place[i] : "");
		bs_doc_number(d, "plan_bytes", s->arm_bytes[i]);
		bs_doc_real(d, "budget_ms", p->image_ms);
		put_budget(d, p, &s->budget[i]);
		bs_doc_text(d, "refused", s->refused[i] != 0 ? s->refusal[i] : "");
		if (armed && s->admission[i].measured)
			put_admission(d, &s->admission[i]);
		bs_doc_number(d, "misses", atomic_load(&s->misses[i].raw));
		bs_doc_number(d, "misses_explained", atomic_load(&s->misses[i].explained));
		bs_doc_close(d);
	}
	bs_doc_close(d);
}

static void put_workers(struct bs_doc *d, const struct bs_shared *s)
{
	bs_doc_open(d, "workers", '[');
	for (int i = 0; i < BS_WORKERS; i++) {
		const struct bs_worker_state *w = &s->worker[i];
		uint32_t starts = atomic_load(&w->epoch);

		bs_doc_open(d, NULL, '{');
		bs_doc_text(d, "name", bs_worker_name((enum bs_worker)i));
		bs_doc_value(d, "pid", "%d", atomic_load(&w->pid));
		bs_doc_text(d, "phase", phase_name(atomic_load(&w->phase)));
		bs_doc_number(d, "restarts", starts > 0 ? starts - 1 : 0);
		bs_doc_number(d, "stalls", atomic_load(&w->stalls));
		bs_doc_real(d, "restart_ms", (double)atomic_load(&w->restart_ns) * 1e-6);
		bs_doc_number(d, "waits", atomic_load(&w->waits));
		bs_doc_number(d, "events_lost", atomic_load(&w->events.lost));
		bs_doc_text(d, "last_end", starts > 1 ? w->last_end : "");
		bs_doc_close(d);
	}
	bs_doc_close(d);
}

/* Those that were started. */
static void put_bridges(struct bs_doc *d, const struct bs_shared *s)
{
	bs_doc_open(d, "bridges", '[');
	for (int i = 0; i < BS_BRIDGES; i++) {
		const struct bs_bridge_state *h = &s->bridge[i];
		const uint32_t starts = atomic_load(&h->starts);

		if (starts == 0)
			continue;
		bs_doc_open(d, NULL, '{');
		bs_doc_text(d, "name", bs_bridge_name((enum bs_bridge)i));
		bs_doc_value(d, "pid", "%d", atomic_load(&h->pid));
		bs_doc_number(d, "restarts", starts - 1);
		bs_doc_chars(d, "last_end", h->last_end, sizeof(h->last_end) - 1);
		if (i == BS_BRIDGE_MRD) {
			bs_doc_number(d, "connected", h->clients.connected);
			bs_doc_number(d, "scans", h->clients.scans);
			bs_doc_number(d, "active", h->clients.active);
			bs_doc_number(d, "images", h->clients.images);
			bs_doc_number(d, "refused", h->clients.refused);
			bs_doc_chars(d, "last_error", h->clients.error,
				     sizeof(h->clients.error) - 1);
		}
		bs_doc_close(d);
	}
	bs_doc_close(d);
}

static void table_bridges(struct bs_text *t, const struct bs_shared *s)
{
	const struct bs_bridge_clients *c = &s->bridge[BS_BRIDGE_MRD].clients;

	for (int i = 0; i < BS_BRIDGES; i++) {
		const struct bs_bridge_state *h = &s->bridge[i];
		const uint32_t starts = atomic_load(&h->starts);

		if (starts == 0)
			continue;
		bs_text_put(t, "%-14s pid %d, %u restarts%s%.95s\n",
			    bs_bridge_name((enum bs_bridge)i), atomic_load(&h->pid), starts - 1,
			    starts > 1 ? ", last: " : "", starts > 1 ? h->last_end : "");
		if (i == BS_BRIDGE_MRD)
			bs_text_put(t,
				    "  clients: %u connected, %" PRIu64 " scans (%u now), %" PRIu64
				    " images, %" PRIu64 " errors%s%.159s\n",
				    c->connected, c->scans, c->active, c->images, c->refused,
				    c->error[0] != '\0' ? "; the last: " : "", c->error);
	}
}

static void put_kinds(struct bs_doc *d, const struct bs_scan_record *r)
{
	const struct bs_kinds k = bs_scan_kinds(r);
	char words[BS_KINDS_WORDS];

	bs_doc_open(d, "kinds", '[');
	for (int i = 0; i < BS_KINDS; i++) {
		bs_doc_open(d, NULL, '{');
		bs_doc_text(d, "kind", bs_kind_name((enum bs_kind)i));
		bs_doc_number(d, "used", k.used[i]);
		bs_doc_number(d, "not_used", k.unused[i]);
		bs_doc_close(d);
	}
	bs_doc_close(d);
	bs_doc_text(d, "not_used", bs_kinds_words(words, sizeof(words), &k));
}

static void put_scan(struct bs_doc *d, const struct bs_shared *s)
{
	const struct bs_scan_record *r = bs_scan_newest(s->scan);
	char session[24];

	bs_doc_open(d, "scan", '{');
	bs_doc_number(d, "number", atomic_load(&r->id));
	bs_doc_flag(d, "open", atomic_load(&r->open));
	(void)snprintf(session, sizeof(session), "%016llx", (unsigned long long)r->session);
	bs_doc_text(d, "session", session);
	bs_doc_text(d, "protocol",
		    atomic_load(&r->id) != 0 && r->protocol < s->site.protocols
			    ? s->site.protocol[r->protocol].name
			    : "");
	bs_doc_number(d, "next_seq", atomic_load(&r->next_seq));
	bs_doc_number(d, "acquisitions", atomic_load(&r->acquisitions));
	put_kinds(d, r);
	bs_doc_number(d, "waveforms", atomic_load(&r->waveforms));
	bs_doc_number(d, "gaps", atomic_load(&r->gaps));
	bs_doc_number(d, "duplicates", atomic_load(&r->duplicates));
	bs_doc_number(d, "rejected", atomic_load(&r->rejected) + atomic_load(&r->unused));
	bs_doc_number(d, "too_late", atomic_load(&r->late));
	bs_doc_number(d, "images_made", atomic_load(&r->images_made));
	bs_doc_number(d, "images_partial", atomic_load(&r->images_partial));
	bs_doc_chars(d, "lacks", r->lacks, sizeof(r->lacks) - 1);
	bs_doc_chars(d, "remark", r->remark, sizeof(r->remark) - 1);
	bs_doc_number(d, "readouts_missing", atomic_load(&r->readouts_missing));
	bs_doc_number(d, "previews_made", atomic_load(&r->previews_made));
	bs_doc_number(d, "previews_skipped", atomic_load(&r->previews_skipped));
	bs_doc_number(d, "images_left", atomic_load(&r->images_left));
	bs_doc_number(d, "images_unsent", atomic_load(&r->images_unsent));
	bs_doc_number(d, "images_late", atomic_load(&r->images_late));
	bs_doc_number(d, "undelivered", atomic_load(&r->undelivered));
	bs_doc_close(d);
}

static void put_pool(struct bs_doc *d, const char *name, const struct bs_pool *p, uint64_t bytes)
{
	bs_doc_open(d, NULL, '{');
	bs_doc_text(d, "name", name);
	bs_doc_number(d, "slots", p->slots);
	bs_doc_number(d, "slot_bytes", bytes);
	bs_doc_number(d, "in_use", bs_pool_in_use(p));
	bs_doc_number(d, "high_water", atomic_load(&p->high_water));
	bs_doc_number(d, "refusals", atomic_load(&p->refusals));
	bs_doc_close(d);
}

static void put_pools(struct bs_doc *d, const struct bs_shm *shm)
{
	bs_doc_open(d, "pools", '[');
	put_pool(d, "acquisitions", shm->acq_pool, shm->s->pools.acq_bytes);
	put_pool(d, "images", shm->image_pool, shm->s->pools.image_bytes);
	bs_doc_close(d);
	bs_doc_open(d, "queues", '{');
	bs_doc_number(d, "recon", bs_ring_count(shm->acq_ring));
	bs_doc_number(d, "emit",
		      atomic_load(&shm->image_ring->head) - atomic_load(&shm->s->images.closed));
	bs_doc_close(d);
}

static void put_latency(struct bs_doc *d, const struct bs_shm *shm)
{
	bs_doc_open(d, "latency", '[');
	for (uint32_t i = 0; i < shm->s->site.protocols; i++)
		for (int st = 0; st < BS_STAGES; st++) {
			const struct bs_hist *h = bs_shm_hist(shm, i, (enum bs_stage)st);
			uint64_t n = atomic_load(&h->count);

			if (n == 0)
				continue;
			bs_doc_open(d, NULL, '{');
			bs_doc_text(d, "protocol", shm->s->site.protocol[i].name);
			bs_doc_text(d, "stage", bs_stage_name((enum bs_stage)st));
			bs_doc_number(d, "n", n);
			bs_quantiles_put(d, h);
			bs_doc_close(d);
		}
	bs_doc_close(d);
}

static void put_totals(struct bs_doc *d, const struct bs_shared *s)
{
	const struct bs_totals *t = &s->totals;
	uint64_t filed = 0;

	for (uint32_t i = 0; i < BS_SINKS_MAX; i++)
		filed += atomic_load(&s->taker[i].handed);
	bs_doc_open(d, "totals", '{');
	bs_doc_number(d, "scans", atomic_load(&t->scans));
	bs_doc_number(d, "refused", atomic_load(&t->refused));
	bs_doc_number(d, "messages", atomic_load(&t->messages));
	bs_doc_number(d, "bytes", atomic_load(&t->bytes));
	bs_doc_number(d, "rejected", atomic_load(&t->rejected));
	bs_doc_number(d, "gaps", atomic_load(&t->gaps));
	bs_doc_number(d, "duplicates", atomic_load(&t->duplicates));
	bs_doc_number(d, "too_late", atomic_load(&t->late));
	bs_doc_number(d, "images", atomic_load(&t->images));
	bs_doc_number(d, "engine_faults", atomic_load(&t->engine_faults));
	bs_doc_number(d, "archived", atomic_load(&s->taker[BS_TAKER_ARCHIVE].handed));
	bs_doc_number(d, "archive_shed", atomic_load(&s->taker[BS_TAKER_ARCHIVE].shed));
	bs_doc_number(d, "published", atomic_load(&t->published));
	bs_doc_number(d, "filed", filed);
	bs_doc_number(d, "sink_faults", atomic_load(&t->sink_faults));
	bs_doc_number(d, "repeated", atomic_load(&t->repeated));
	bs_doc_number(d, "lost", atomic_load(&t->lost));
	bs_doc_number(d, "nonsense", bs_gate_nonsense());
	bs_doc_close(d);
}

/* The newest last. */
static void put_errors(struct bs_doc *d, const struct bs_shared *s)
{
	uint64_t n = atomic_load(&s->errors);

	bs_doc_open(d, "errors", '[');
	for (uint64_t i = n > BS_LAST_ERRORS ? n - BS_LAST_ERRORS : 0; i < n; i++) {
		bs_doc_chars(d, NULL, s->error[i % BS_LAST_ERRORS], sizeof(s->error[0]) - 1);
	}
	bs_doc_close(d);
}

/* The site file in force, and how the last change of it went. */
static void put_site(struct bs_doc *d, const struct bs_shared *s)
{
	const time_t loaded = (time_t)s->loaded_s;
	char when[32] = "";
	struct tm utc;

	if (gmtime_r(&loaded, &utc) != NULL)
		(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
	bs_doc_open(d, "site", '{');
	bs_doc_text(d, "file", s->site.file);
	bs_doc_number(d, "generation", atomic_load(&s->generation));
	bs_doc_text(d, "loaded", when);
	bs_doc_open(d, "reload", '{');
	bs_doc_number(d, "number", atomic_load(&s->reload.ended));
	bs_doc_text(d, "state", bs_reload_name(atomic_load(&s->reload.step)));
	bs_doc_flag(d, "refused", s->reload.code != 0);
	bs_doc_chars(d, "text", s->reload.text, sizeof(s->reload.text) - 1);
	bs_doc_real(d, "held_ms", (double)s->reload.held_ns * 1e-6);
	bs_doc_close(d);
	bs_doc_close(d);
}

int bs_status_reload(char *out, size_t cap, const struct bs_shm *shm)
{
	const struct bs_reload *r = &shm->s->reload;

	return snprintf(out, cap, "%llu %llu %d\n%s\n%s\n%.*s\n",
			(unsigned long long)atomic_load(&r->begun),
			(unsigned long long)atomic_load(&r->ended), r->code, shm->s->site.file,
			bs_reload_name(atomic_load(&r->step)), (int)sizeof(r->text) - 1, r->text);
}

int bs_status_json(char *out, size_t cap, const struct bs_shm *shm)
{
	const struct bs_shared *s = shm->s;
	struct bs_doc d;

	bs_doc_begin(&d, out, cap);
	bs_doc_text(&d, "boreside", BS_VERSION);
	bs_doc_text(&d, "node", s->site.name);
	bs_doc_text(&d, "state",
		    bs_state_name((enum bs_state)atomic_load(&bs_scan_newest(s->scan)->state)));
	put_site(&d, s);
	bs_doc_real(&d, "uptime_s", (double)(bs_now_ns() - s->started_ns) * 1e-9);
	bs_doc_number(&d, "shared_bytes", s->at.total_bytes);
	bs_doc_flag(&d, "memory_locked", s->locked != 0);
	bs_doc_chars(&d, "lapack", s->lapack, sizeof(s->lapack) - 1);
	put_protocols(&d, s);
	put_workers(&d, s);
	put_bridges(&d, s);
	bs_status_realtime(&d, s);
	bs_status_canary(&d, s);
	bs_status_kspace(&d, s);
	bs_status_seal(&d, s);
	put_scan(&d, s);
	bs_status_scans(&d, s);
	bs_status_log(&d, s);
	put_pools(&d, shm);
	put_latency(&d, shm);
	put_totals(&d, s);
	bs_status_takers(&d, s);
	put_errors(&d, s);
	return bs_doc_end(&d);
}

static void table_latency(struct bs_text *t, const struct bs_shm *shm)
{
	bs_text_put(t, "%-20s %-8s %9s %10s %10s %10s %10s  us\n", "protocol", "stage", "N", "p50",
		    "p99", "p99.9", "max");
	for (uint32_t i = 0; i < shm->s->site.protocols; i++)
		for (int st = 0; st < BS_STAGES; st++) {
			if (atomic_load(&bs_shm_hist(shm, i, (enum bs_stage)st)->count) == 0)
				continue;
			bs_quantiles_table(t, shm, i, (enum bs_stage)st, 10);
			bs_text_put(t, "\n");
		}
}

static void table_budget(struct bs_text *t, const struct bs_protocol *p,
			 const struct bs_budget_record *b)
{
	uint64_t down = 0;
	uint64_t up = 0;

	for (int r = 0; r < BS_RUNGS; r++) {
		down += atomic_load(&b->down[r]);
		up += atomic_load(&b->up[r]);
	}
	if (p->image_ms > 0.0)
		bs_text_put(t,
			    "  budget %g ms, %s: %" PRIu64 " of %" PRIu64
			    " images late, ladder on %s, %" PRIu64 " down, %" PRIu64 " up\n",
			    p->image_ms, miss_name(p->on_miss), atomic_load(&b->missed),
			    atomic_load(&b->handed),
			    bs_rung_name((enum bs_rung)atomic_load(&b->rung)), down, up);
	for (int i = 0; i < BS_BUDGET_STAGES; i++)
		if (p->stage_ms[i] > 0.0)
			bs_text_put(t, "  stage %-10s %g ms: missed %" PRIu64 " times\n",
				    bs_budget_stage_name((enum bs_budget_stage)i), p->stage_ms[i],
				    atomic_load(&b->stage_missed[i]));
}

static void table_protocols(struct bs_text *t, const struct bs_shared *s)
{
	for (uint32_t i = 0; i < s->site.protocols; i++) {
		bs_text_put(t, "protocol %-20s %s, %s%s%s, %" PRIu64 " bytes\n",
			    s->site.protocol[i].name,
			    s->refused[i] != 0          ? "refused"
			    : atomic_load(&s->armed[i]) ? "armed"
							: "not armed",
			    s->engine[i], s->place[i][0] != '\0' ? ", " : "", s->place[i],
			    s->arm_bytes[i]);
		table_budget(t, &s->site.protocol[i], &s->budget[i]);
	}
	for (uint32_t i = 0; i < s->site.protocols; i++)
		if (s->refused[i] != 0)
			bs_text_put(t, "refused  %s\n", s->refusal[i]);
}

static void table_pool(struct bs_text *t, const char *name, const struct bs_pool *p, uint64_t bytes)
{
	bs_text_put(t,
		    "%-14s %6u x %10" PRIu64 " bytes: %u in use, high-water %u, refusals %" PRIu64
		    "\n",
		    name, p->slots, bytes, bs_pool_in_use(p), atomic_load(&p->high_water),
		    atomic_load(&p->refusals));
}

static void table_scan(struct bs_text *t, const struct bs_scan_record *r)
{
	const struct bs_kinds k = bs_scan_kinds(r);
	char words[BS_KINDS_WORDS];

	if (atomic_load(&r->id) == 0)
		return;
	bs_text_put(t,
		    "scan %" PRIu64 ": %" PRIu64 " acquisitions, %" PRIu64 " images, gaps %" PRIu64
		    ", duplicates %" PRIu64 ", rejected %" PRIu64 ", undelivered %" PRIu64 "%s\n",
		    atomic_load(&r->id), atomic_load(&r->acquisitions),
		    atomic_load(&r->images_left), atomic_load(&r->gaps),
		    atomic_load(&r->duplicates),
		    atomic_load(&r->rejected) + atomic_load(&r->unused),
		    atomic_load(&r->undelivered), atomic_load(&r->open) ? ", open" : "");
	(void)bs_kinds_words(words, sizeof(words), &k);
	if (words[0] != '\0')
		bs_text_put(t, "  %s\n", words);
}

int bs_status_text(char *out, size_t cap, const struct bs_shm *shm)
{
	const struct bs_shared *s = shm->s;
	struct bs_text t = { out, cap, 0, cap == 0 };
	uint64_t n = atomic_load(&s->errors);

	bs_text_put(&t, "%s: %s, up %.0f s, %" PRIu64 " scans, %" PRIu64 " images\n", s->site.name,
		    bs_state_name((enum bs_state)atomic_load(&bs_scan_newest(s->scan)->state)),
		    (double)(bs_now_ns() - s->started_ns) * 1e-9, atomic_load(&s->totals.scans),
		    atomic_load(&s->totals.images));
	bs_text_put(&t, "%-14s generation %" PRIu64 ", %s%s%.383s\n", "site file",
		    atomic_load(&s->generation), s->site.file,
		    s->reload.code != 0 ? "; the last reload was refused: " : "",
		    s->reload.code != 0 ? s->reload.text : "");
	for (int i = 0; i < BS_WORKERS; i++) {
		const struct bs_worker_state *w = &s->worker[i];
		uint32_t starts = atomic_load(&w->epoch);

		bs_text_put(&t, "%-14s pid %d, %s, %u restarts%s%s\n",
			    bs_worker_name((enum bs_worker)i), atomic_load(&w->pid),
			    phase_name(atomic_load(&w->phase)), starts > 0 ? starts - 1 : 0,
			    starts > 1 ? ", last: " : "", starts > 1 ? w->last_end : "");
	}
	table_bridges(&t, s);
	table_protocols(&t, s);
	if (s->lapack[0] != '\0')
		bs_text_put(&t, "%-14s %.511s\n", "LAPACK", s->lapack);
	bs_status_realtime_table(&t, s);
	bs_status_canary_table(&t, s);
	table_pool(&t, "acquisitions", shm->acq_pool, s->pools.acq_bytes);
	table_pool(&t, "images", shm->image_pool, s->pools.image_bytes);
	bs_status_kspace_table(&t, s);
	bs_status_seal_table(&t, s);
	table_scan(&t, bs_scan_newest(s->scan));
	bs_status_log_table(&t, s);
	bs_status_takers_table(&t, s);
	table_latency(&t, shm);
	for (uint64_t i = n > BS_LAST_ERRORS ? n - BS_LAST_ERRORS : 0; i < n; i++)
		bs_text_put(&t, "! %.511s\n", s->error[i % BS_LAST_ERRORS]);
	return t.full ? BS_ERR_NOMEM : (int)t.len;
}

int bs_status_ready(char *out, size_t cap, const struct bs_shm *shm)
{
	bool ready = atomic_load(&shm->s->stop) == 0; /* else each scan is refused */

	for (int i = 0; i < BS_WORKERS; i++)
		ready &= atomic_load(&shm->s->worker[i].phase) == BS_PHASE_READY;
	return snprintf(out, cap, "%s\n", ready ? "yes" : "no");
}

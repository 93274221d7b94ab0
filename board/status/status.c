/* board/status/status.c - the status document; see status.h */
#include "board/status/status.h"

#include <stdio.h>
#include <string.h>

#include "board/status/doc.h"
#include "board/service/worker.h"
#include "config/config.h"
#include "core/thread/clock.h"
#include "core/frame/state.h"
#include "core/version.h"

static const char *phase_name(uint32_t p)
{
	static const char *const names[] = { "down", "arming", "ready", "stopped" };

	return p < 4 ? names[p] : "?";
}

/* What arming measured, in ms; worst: with the margin. */
static void put_admission(struct doc *d, const struct bs_admission *a)
{
	key(d, "estimate");
	open_with(d, "{");
	real(d, "image_ms", (double)bs_admission_worst(a, false) * 1e-6);
	if (a->least.n > 0)
		real(d, "least_ms", (double)bs_admission_worst(a, true) * 1e-6);
	for (int c = 0; c < BS_COSTS; c++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "%s_ms", bs_cost_name((enum bs_cost)c));
		real(d, name, (double)bs_admission_cost(a, (enum bs_cost)c) * 1e-6);
	}
	real(d, "readout_us", (double)a->readout_ns * 1e-3);
	real(d, "frame_ms", (double)a->frame_ns * 1e-6);
	close_with(d, "}");
}

static const char *miss_name(enum bs_miss m)
{
	static const char *const names[] = { "flag", "shed", "stop" };

	return (unsigned)m < 3 ? names[m] : "?";
}

/* Counts since the service started; the rung is where the ladder stands now. */
static void put_budget(struct doc *d, const struct bs_protocol *p, const struct bs_budget_record *b)
{
	key(d, "budget");
	open_with(d, "{");
	key(d, "image_ms");
	put(d, "%.6g", p->image_ms);
	member(d, "on_miss", miss_name(p->on_miss));
	number(d, "handed", atomic_load(&b->handed));
	number(d, "missed", atomic_load(&b->missed));
	number(d, "scans_stopped", atomic_load(&b->stopped));
	member(d, "rung", bs_rung_name((enum bs_rung)atomic_load(&b->rung)));
	key(d, "rungs");
	open_with(d, "[");
	for (int r = 0; r < BS_RUNGS; r++) {
		next(d);
		open_with(d, "{");
		member(d, "name", bs_rung_name((enum bs_rung)r));
		number(d, "images", atomic_load(&b->images[r]));
		number(d, "steps_down", atomic_load(&b->down[r]));
		number(d, "steps_up", atomic_load(&b->up[r]));
		close_with(d, "}");
	}
	close_with(d, "]");
	key(d, "stages");
	open_with(d, "[");
	for (int i = 0; i < BS_BUDGET_STAGES; i++) {
		if (p->stage_ms[i] <= 0.0)
			continue;
		next(d);
		open_with(d, "{");
		member(d, "name", bs_budget_stage_name((enum bs_budget_stage)i));
		key(d, "ms");
		put(d, "%.6g", p->stage_ms[i]);
		number(d, "missed", atomic_load(&b->stage_missed[i]));
		close_with(d, "}");
	}
	close_with(d, "]");
	close_with(d, "}");
}

static void put_protocols(struct doc *d, const struct bs_shared *s)
{
	key(d, "protocols");
	open_with(d, "[");
	for (uint32_t i = 0; i < s->site.protocols; i++) {
		const struct bs_protocol *p = &s->site.protocol[i];
		bool armed = atomic_load(&s->armed[i]) != 0;

		next(d);
		open_with(d, "{");
		member(d, "name", p->name);
		member(d, "method", bs_method_name(p->method));
		key(d, "armed");
		put(d, "%s", armed ? "true" : "false");
		member(d, "engine", armed ? s->engine[i] : "");
		member(d, "place", armed ? s->place[i] : "");
		number(d, "plan_bytes", s->arm_bytes[i]);
		real(d, "budget_ms", p->image_ms);
		put_budget(d, p, &s->budget[i]);
		member(d, "refused", s->refused[i] != 0 ? s->refusal[i] : "");
		if (armed && s->admission[i].measured)
			put_admission(d, &s->admission[i]);
		number(d, "misses", atomic_load(&s->misses[i].raw));
		number(d, "misses_explained", atomic_load(&s->misses[i].explained));
		close_with(d, "}");
	}
	close_with(d, "]");
}

static void put_workers(struct doc *d, const struct bs_shared *s)
{
	key(d, "workers");
	open_with(d, "[");
	for (int i = 0; i < BS_WORKERS; i++) {
		const struct bs_worker_state *w = &s->worker[i];
		uint32_t starts = atomic_load(&w->epoch);

		next(d);
		open_with(d, "{");
		member(d, "name", bs_worker_name((enum bs_worker)i));
		key(d, "pid");
		put(d, "%d", atomic_load(&w->pid));
		member(d, "phase", phase_name(atomic_load(&w->phase)));
		number(d, "restarts", starts > 0 ? starts - 1 : 0);
		number(d, "stalls", atomic_load(&w->stalls));
		real(d, "restart_ms", (double)atomic_load(&w->restart_ns) * 1e-6);
		number(d, "waits", atomic_load(&w->waits));
		number(d, "events_lost", atomic_load(&w->events.lost));
		member(d, "last_end", starts > 1 ? w->obituary : "");
		close_with(d, "}");
	}
	close_with(d, "]");
}

static void put_scan(struct doc *d, const struct bs_shared *s)
{
	const struct bs_scan_record *r = &s->scan;
	char session[24];

	key(d, "scan");
	open_with(d, "{");
	number(d, "number", atomic_load(&r->id));
	key(d, "open");
	put(d, "%s", atomic_load(&r->open) ? "true" : "false");
	(void)snprintf(session, sizeof(session), "%016llx", (unsigned long long)r->session);
	member(d, "session", session);
	member(d, "protocol",
	       atomic_load(&r->id) != 0 && r->protocol < s->site.protocols
		       ? s->site.protocol[r->protocol].name
		       : "");
	number(d, "next_seq", atomic_load(&r->next_seq));
	number(d, "acquisitions", atomic_load(&r->acquisitions));
	number(d, "not_imaging", atomic_load(&r->noise));
	number(d, "waveforms", atomic_load(&r->waveforms));
	number(d, "gaps", atomic_load(&r->gaps));
	number(d, "duplicates", atomic_load(&r->duplicates));
	number(d, "rejected", atomic_load(&r->rejected) + atomic_load(&r->unused));
	number(d, "too_late", atomic_load(&r->late));
	number(d, "images_made", atomic_load(&r->images_made));
	number(d, "images_partial", atomic_load(&r->images_partial));
	number(d, "readouts_missing", atomic_load(&r->readouts_missing));
	number(d, "previews_made", atomic_load(&r->previews_made));
	number(d, "previews_skipped", atomic_load(&r->previews_skipped));
	number(d, "images_left", atomic_load(&r->images_left));
	number(d, "images_unsent", atomic_load(&r->images_unsent));
	number(d, "images_late", atomic_load(&r->images_late));
	number(d, "undelivered", atomic_load(&r->undelivered));
	close_with(d, "}");
}

static void put_pool(struct doc *d, const char *name, const struct bs_pool *p, uint64_t bytes)
{
	next(d);
	open_with(d, "{");
	member(d, "name", name);
	number(d, "slots", p->slots);
	number(d, "slot_bytes", bytes);
	number(d, "in_use", bs_pool_in_use(p));
	number(d, "high_water", atomic_load(&p->high_water));
	number(d, "refusals", atomic_load(&p->refusals));
	close_with(d, "}");
}

static void put_pools(struct doc *d, const struct bs_shm *shm)
{
	key(d, "pools");
	open_with(d, "[");
	put_pool(d, "acquisitions", shm->acq_pool, shm->s->pools.acq_bytes);
	put_pool(d, "images", shm->image_pool, shm->s->pools.image_bytes);
	close_with(d, "]");
	key(d, "queues");
	open_with(d, "{");
	number(d, "recon", bs_ring_count(shm->acq_ring));
	number(d, "emit", bs_ring_count(shm->image_ring));
	close_with(d, "}");
}

static void put_latency(struct doc *d, const struct bs_shm *shm)
{
	key(d, "latency");
	open_with(d, "[");
	for (uint32_t i = 0; i < shm->s->site.protocols; i++)
		for (int st = 0; st < BS_STAGES; st++) {
			const struct bs_hist *h = bs_shm_hist(shm, i, (enum bs_stage)st);
			uint64_t n = atomic_load(&h->count);

			if (n == 0)
				continue;
			next(d);
			open_with(d, "{");
			member(d, "protocol", shm->s->site.protocol[i].name);
			member(d, "stage", bs_stage_name((enum bs_stage)st));
			number(d, "n", n);
			real(d, "p50_us", (double)bs_hist_quantile(h, 0.5) * 1e-3);
			real(d, "p99_us", (double)bs_hist_quantile(h, 0.99) * 1e-3);
			real(d, "p999_us", (double)bs_hist_quantile(h, 0.999) * 1e-3);
			real(d, "max_us", (double)bs_hist_quantile(h, 1.0) * 1e-3);
			close_with(d, "}");
		}
	close_with(d, "]");
}

static void put_totals(struct doc *d, const struct bs_shared *s)
{
	const struct bs_totals *t = &s->totals;
	uint64_t filed = 0;

	for (uint32_t i = 0; i < BS_SINKS_MAX; i++)
		filed += atomic_load(&s->taker[i].handed);
	key(d, "totals");
	open_with(d, "{");
	number(d, "scans", atomic_load(&t->scans));
	number(d, "refused", atomic_load(&t->refused));
	number(d, "messages", atomic_load(&t->messages));
	number(d, "bytes", atomic_load(&t->bytes));
	number(d, "rejected", atomic_load(&t->rejected));
	number(d, "gaps", atomic_load(&t->gaps));
	number(d, "duplicates", atomic_load(&t->duplicates));
	number(d, "too_late", atomic_load(&t->late));
	number(d, "images", atomic_load(&t->images));
	number(d, "engine_faults", atomic_load(&t->engine_faults));
	number(d, "archived", atomic_load(&s->taker[BS_TAKER_ARCHIVE].handed));
	number(d, "archive_shed", atomic_load(&s->taker[BS_TAKER_ARCHIVE].shed));
	number(d, "published", atomic_load(&t->published));
	number(d, "filed", filed);
	number(d, "sink_faults", atomic_load(&t->sink_faults));
	number(d, "repeated", atomic_load(&t->repeated));
	number(d, "lost", atomic_load(&t->lost));
	close_with(d, "}");
}

/* The newest last. */
static void put_errors(struct doc *d, const struct bs_shared *s)
{
	uint64_t n = atomic_load(&s->errors);

	key(d, "errors");
	open_with(d, "[");
	for (uint64_t i = n > BS_LAST_ERRORS ? n - BS_LAST_ERRORS : 0; i < n; i++) {
		next(d);
		text(d, s->error[i % BS_LAST_ERRORS], sizeof(s->error[0]) - 1);
	}
	close_with(d, "]");
}

int bs_status_json(char *out, size_t cap, const struct bs_shm *shm)
{
	const struct bs_shared *s = shm->s;
	struct doc d = { .out = out, .cap = cap, .full = cap == 0 };

	open_with(&d, "{");
	member(&d, "boreside", BS_VERSION);
	member(&d, "node", s->site.name);
	member(&d, "state", bs_state_name((enum bs_state)atomic_load(&s->scan.state)));
	real(&d, "uptime_s", (double)(bs_now_ns() - s->started_ns) * 1e-9);
	number(&d, "shared_bytes", s->total_bytes);
	key(&d, "memory_locked");
	put(&d, "%s", s->locked ? "true" : "false");
	put_protocols(&d, s);
	put_workers(&d, s);
	bs_status_realtime(&d, s);
	bs_status_canary(&d, s);
	put_scan(&d, s);
	put_pools(&d, shm);
	put_latency(&d, shm);
	put_totals(&d, s);
	bs_status_takers(&d, s);
	put_errors(&d, s);
	close_with(&d, "}");
	put(&d, "\n");
	return d.full ? BS_ERR_NOMEM : (int)d.len;
}

static void table_latency(struct doc *d, const struct bs_shm *shm)
{
	put(d, "%-20s %-8s %9s %10s %10s %10s %10s  us\n", "protocol", "stage", "N", "p50", "p99",
	    "p99.9", "max");
	for (uint32_t i = 0; i < shm->s->site.protocols; i++)
		for (int st = 0; st < BS_STAGES; st++) {
			const struct bs_hist *h = bs_shm_hist(shm, i, (enum bs_stage)st);

			if (atomic_load(&h->count) != 0)
				put(d, "%-20s %-8s %9llu %10.1f %10.1f %10.1f %10.1f\n",
				    shm->s->site.protocol[i].name, bs_stage_name((enum bs_stage)st),
				    (unsigned long long)atomic_load(&h->count),
				    (double)bs_hist_quantile(h, 0.5) * 1e-3,
				    (double)bs_hist_quantile(h, 0.99) * 1e-3,
				    (double)bs_hist_quantile(h, 0.999) * 1e-3,
				    (double)bs_hist_quantile(h, 1.0) * 1e-3);
		}
}

static void table_budget(struct doc *d, const struct bs_protocol *p,
			 const struct bs_budget_record *b)
{
	uint64_t down = 0;
	uint64_t up = 0;

	for (int r = 0; r < BS_RUNGS; r++) {
		down += atomic_load(&b->down[r]);
		up += atomic_load(&b->up[r]);
	}
	if (p->image_ms > 0.0)
		put(d,
		    "  budget %g ms, %s: %llu of %llu images late, ladder on %s, %llu down, %llu up\n",
		    p->image_ms, miss_name(p->on_miss), (unsigned long long)atomic_load(&b->missed),
		    (unsigned long long)atomic_load(&b->handed),
		    bs_rung_name((enum bs_rung)atomic_load(&b->rung)), (unsigned long long)down,
		    (unsigned long long)up);
	for (int i = 0; i < BS_BUDGET_STAGES; i++)
		if (p->stage_ms[i] > 0.0)
			put(d, "  stage %-10s %g ms: missed %llu times\n",
			    bs_budget_stage_name((enum bs_budget_stage)i), p->stage_ms[i],
			    (unsigned long long)atomic_load(&b->stage_missed[i]));
}
static void table_pool(struct doc *d, const char *name, const struct bs_pool *p, uint64_t bytes)
{
	put(d, "%-14s %6u x %10llu bytes: %u in use, high-water %u, refusals %llu\n", name,
	    p->slots, (unsigned long long)bytes, bs_pool_in_use(p), atomic_load(&p->high_water),
	    (unsigned long long)atomic_load(&p->refusals));
}

int bs_status_text(char *out, size_t cap, const struct bs_shm *shm)
{
	const struct bs_shared *s = shm->s;
	const struct bs_scan_record *r = &s->scan;
	struct doc d = { .out = out, .cap = cap, .full = cap == 0 };
	uint64_t n = atomic_load(&s->errors);

	put(&d, "%s: %s, up %.0f s, %llu scans, %llu images\n", s->site.name,
	    bs_state_name((enum bs_state)atomic_load(&r->state)),
	    (double)(bs_now_ns() - s->started_ns) * 1e-9,
	    (unsigned long long)atomic_load(&s->totals.scans),
	    (unsigned long long)atomic_load(&s->totals.images));
	for (int i = 0; i < BS_WORKERS; i++) {
		const struct bs_worker_state *w = &s->worker[i];
		uint32_t starts = atomic_load(&w->epoch);

		put(&d, "%-14s pid %d, %s, %u restarts%s%s\n", bs_worker_name((enum bs_worker)i),
		    atomic_load(&w->pid), phase_name(atomic_load(&w->phase)),
		    starts > 0 ? starts - 1 : 0, starts > 1 ? ", last: " : "",
		    starts > 1 ? w->obituary : "");
	}
	for (uint32_t i = 0; i < s->site.protocols; i++) {
		put(&d, "protocol %-20s %s, %s%s%s, %llu bytes\n", s->site.protocol[i].name,
		    s->refused[i] != 0          ? "refused"
		    : atomic_load(&s->armed[i]) ? "armed"
						: "not armed",
		    s->engine[i], s->place[i][0] != '\0' ? ", " : "", s->place[i],
		    (unsigned long long)s->arm_bytes[i]);
		table_budget(&d, &s->site.protocol[i], &s->budget[i]);
	}
	for (uint32_t i = 0; i < s->site.protocols; i++)
		if (s->refused[i] != 0)
			put(&d, "refused  %s\n", s->refusal[i]);
	bs_status_realtime_table(&d, s);
	bs_status_canary_table(&d, s);
	table_pool(&d, "acquisitions", shm->acq_pool, s->pools.acq_bytes);
	table_pool(&d, "images", shm->image_pool, s->pools.image_bytes);
	if (atomic_load(&r->id) != 0)
		put(&d,
		    "scan %llu: %llu acquisitions, %llu images, gaps %llu, duplicates %llu, "
		    "rejected %llu, undelivered %llu%s\n",
		    (unsigned long long)atomic_load(&r->id),
		    (unsigned long long)atomic_load(&r->acquisitions),
		    (unsigned long long)atomic_load(&r->images_left),
		    (unsigned long long)atomic_load(&r->gaps),
		    (unsigned long long)atomic_load(&r->duplicates),
		    (unsigned long long)(atomic_load(&r->rejected) + atomic_load(&r->unused)),
		    (unsigned long long)atomic_load(&r->undelivered),
		    atomic_load(&r->open) ? ", open" : "");
	bs_status_takers_table(&d, s);
	table_latency(&d, shm);
	for (uint64_t i = n > BS_LAST_ERRORS ? n - BS_LAST_ERRORS : 0; i < n; i++)
		put(&d, "! %.511s\n", s->error[i % BS_LAST_ERRORS]);
	return d.full ? BS_ERR_NOMEM : (int)d.len;
}

int bs_status_ready(char *out, size_t cap, const struct bs_shm *shm)
{
	bool ready = true;

	for (int i = 0; i < BS_WORKERS; i++)
		ready &= atomic_load(&shm->s->worker[i].phase) == BS_PHASE_READY;
	return snprintf(out, cap, "%s\n", ready ? "yes" : "no");
}

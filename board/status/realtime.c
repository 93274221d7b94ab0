/* board/status/realtime.c - what the machine granted, what threads cost, and when it stalled */
#include "board/status/doc.h"

#include <string.h>

#include "board/arm/armed.h"
#include "board/service/throttle.h"

static const char *const settings[BS_SETTINGS] = { "priority",    "affinity", "lock_memory",
						   "timer_slack", "gpu",      "unthrottled" };

/* The bits of what this site asks for at all. */
static uint32_t asked(const struct bs_shared *s)
{
	const struct bs_realtime *rt = &s->site.realtime;

	return (rt->priority != 0 ? 1u << BS_SETTING_PRIORITY : 0) |
	       (rt->ingest_cpus[0] != '\0' || rt->recon_cpus[0] != '\0' || rt->emit_cpus[0] != '\0'
			? 1u << BS_SETTING_AFFINITY
			: 0) |
	       (rt->lock_memory ? 1u << BS_SETTING_LOCK_MEMORY : 0) | 1u << BS_SETTING_TIMER_SLACK |
	       1u << BS_SETTING_GPU_WAIT |
	       (bs_throttle_matters(rt, bs_armed_on_gpu(s)) ? 1u << BS_SETTING_UNTHROTTLED : 0);
}

static const char *setting_state(const struct bs_shared *s, int i)
{
	uint32_t bit = 1u << i;

	return atomic_load(&s->realtime.refused) & bit ? "refused" : asked(s) & bit ? "on" : "off";
}

static const char *remedy(const struct bs_shared *s, int i)
{
	return atomic_load(&s->realtime.told) & (1u << i) ? s->realtime.remedy[i] : "";
}

static void put_threads(struct doc *d, const struct bs_shared *s)
{
	key(d, "threads");
	open_with(d, "[");
	for (int i = 0; i < BS_THREADS; i++) {
		const struct bs_thread_record *r = &s->thread[i];

		if (atomic_load(&r->tid) == 0)
			continue;
		next(d);
		open_with(d, "{");
		key(d, "thread");
		text(d, r->name, sizeof(r->name));
		number(d, "tid", (uint64_t)atomic_load(&r->tid));
		number(d, "priority", (uint64_t)atomic_load(&r->priority));
		number(d, "minor_faults", atomic_load(&r->minor_faults));
		number(d, "major_faults", atomic_load(&r->major_faults));
		number(d, "allocations", atomic_load(&r->allocations));
		number(d, "preempted", atomic_load(&r->preempted));
		number(d, "notes", atomic_load(&r->notes));
		close_with(d, "}");
	}
	close_with(d, "]");
}

void bs_status_realtime(struct doc *d, const struct bs_shared *s)
{
	const struct bs_realtime *rt = &s->site.realtime;

	key(d, "realtime");
	open_with(d, "{");
	for (int i = 0; i < BS_SETTINGS; i++)
		member(d, settings[i], setting_state(s, i));
	member(d, "wait", rt->wait == BS_WAIT_POLL ? "poll" : "block");
	member(d, "gpu_wait", rt->gpu_wait == BS_WAIT_POLL ? "poll" : "block");
	key(d, "gpu_priority");
	put(d, "%s", rt->gpu_priority ? "true" : "false");
	key(d, "remedies");
	open_with(d, "[");
	for (int i = 0; i < BS_SETTINGS; i++)
		if (remedy(s, i)[0] != '\0') {
			next(d);
			text(d, remedy(s, i), BS_REMEDY);
		}
	close_with(d, "]");
	put_threads(d, s);
	close_with(d, "}");
}

void bs_status_canary(struct doc *d, const struct bs_shared *s)
{
	uint32_t n = atomic_load(&s->canaries);

	key(d, "canary");
	open_with(d, "{");
	number(d, "period_us", (uint64_t)(BS_CANARY_PERIOD_NS / 1000));
	number(d, "stall_us", (uint64_t)(BS_CANARY_STALL_NS / 1000));
	key(d, "processors");
	open_with(d, "[");
	for (uint32_t i = 0; i < n && i < BS_CANARIES; i++) {
		const struct bs_canary *c = &s->canary[i];

		next(d);
		open_with(d, "{");
		key(d, "cpu");
		put(d, "%d", atomic_load(&c->cpu));
		number(d, "priority", (uint64_t)atomic_load(&c->priority));
		number(d, "wakes", atomic_load(&c->wakes));
		number(d, "stalls", atomic_load(&c->stalls));
		real(d, "p50_us", (double)bs_hist_quantile(&c->late, 0.5) * 1e-3);
		real(d, "p99_us", (double)bs_hist_quantile(&c->late, 0.99) * 1e-3);
		real(d, "p999_us", (double)bs_hist_quantile(&c->late, 0.999) * 1e-3);
		real(d, "max_us", (double)bs_hist_quantile(&c->late, 1.0) * 1e-3);
		close_with(d, "}");
	}
	close_with(d, "]");
	close_with(d, "}");
}

void bs_status_realtime_table(struct doc *d, const struct bs_shared *s)
{
	put(d, "realtime      ");
	for (int i = 0; i < BS_SETTINGS; i++)
		put(d, "%s %s %s", i > 0 ? "," : "", settings[i], setting_state(s, i));
	put(d, "\n");
	for (int i = 0; i < BS_SETTINGS; i++)
		if (remedy(s, i)[0] != '\0')
			put(d, "  %.191s\n", remedy(s, i));
}

void bs_status_canary_table(struct doc *d, const struct bs_shared *s)
{
	for (uint32_t i = 0; i < atomic_load(&s->canaries) && i < BS_CANARIES; i++) {
		const struct bs_canary *c = &s->canary[i];

		put(d,
		    "canary         processor %d: %llu stalls in %llu wakes, late by p99.9 %.1f, max "
		    "%.1f us%s\n",
		    atomic_load(&c->cpu), (unsigned long long)atomic_load(&c->stalls),
		    (unsigned long long)atomic_load(&c->wakes),
		    (double)bs_hist_quantile(&c->late, 0.999) * 1e-3,
		    (double)bs_hist_quantile(&c->late, 1.0) * 1e-3,
		    atomic_load(&c->priority) == 0 ? " (no real-time priority)" : "");
	}
}

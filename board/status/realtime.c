/* board/status/realtime.c - what the machine granted, its threads and canaries; see members.h */
#include <inttypes.h>

#include "board/arm/armed.h"
#include "board/service/throttle.h"
#include "board/status/members.h"
#include "board/status/quantiles.h"

static const char *const settings[BS_SETTINGS] = { "priority",    "affinity",  "lock_memory",
						   "timer_slack", "gpu",       "unthrottled",
						   "polling",     "gpu_shared" };

/* One bit for each setting that this site asks for. */
static uint32_t asked(const struct bs_shared *s)
{
	const struct bs_realtime *rt = &s->site.realtime;

	return (rt->priority != 0 ? 1u << BS_SETTING_PRIORITY : 0) |
	       (rt->ingest_cpus[0] != '\0' || rt->recon_cpus[0] != '\0' || rt->emit_cpus[0] != '\0'
			? 1u << BS_SETTING_AFFINITY
			: 0) |
	       (rt->lock_memory ? 1u << BS_SETTING_LOCK_MEMORY : 0) | 1u << BS_SETTING_TIMER_SLACK |
	       1u << BS_SETTING_GPU_WAIT |
	       (bs_throttle_matters(rt, bs_armed_on_gpu(s)) ? 1u << BS_SETTING_UNTHROTTLED : 0) |
	       (rt->wait == BS_WAIT_POLL ? 1u << BS_SETTING_POLLING : 0) |
	       (s->site.gpu_shared && bs_armed_on_gpu(s) ? 1u << BS_SETTING_GPU_SHARED : 0);
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

static void put_threads(struct bs_doc *d, const struct bs_shared *s)
{
	bs_doc_open(d, "threads", '[');
	for (int i = 0; i < BS_THREADS; i++) {
		const struct bs_thread_record *r = &s->thread[i];

		if (atomic_load(&r->tid) == 0)
			continue;
		bs_doc_open(d, NULL, '{');
		bs_doc_chars(d, "thread", r->name, sizeof(r->name));
		bs_doc_number(d, "tid", (uint64_t)atomic_load(&r->tid));
		bs_doc_number(d, "priority", (uint64_t)atomic_load(&r->priority));
		bs_doc_number(d, "minor_faults", atomic_load(&r->minor_faults));
		bs_doc_number(d, "major_faults", atomic_load(&r->major_faults));
		bs_doc_number(d, "allocations", atomic_load(&r->allocations));
		bs_doc_number(d, "preempted", atomic_load(&r->preempted));
		bs_doc_number(d, "notes", atomic_load(&r->notes));
		bs_doc_close(d);
	}
	bs_doc_close(d);
}

void bs_status_realtime(struct bs_doc *d, const struct bs_shared *s)
{
	const struct bs_realtime *rt = &s->site.realtime;

	bs_doc_open(d, "realtime", '{');
	for (int i = 0; i < BS_SETTINGS; i++)
		bs_doc_text(d, settings[i], setting_state(s, i));
	bs_doc_text(d, "wait", rt->wait == BS_WAIT_POLL ? "poll" : "block");
	bs_doc_text(d, "gpu_wait", rt->gpu_wait == BS_WAIT_POLL ? "poll" : "block");
	bs_doc_flag(d, "gpu_priority", rt->gpu_priority);
	bs_doc_flag(d, "mps", atomic_load(&s->gpus) > 0 && s->gpu[0].mps);
	bs_doc_open(d, "remedies", '[');
	for (int i = 0; i < BS_SETTINGS; i++)
		if (remedy(s, i)[0] != '\0')
			bs_doc_chars(d, NULL, remedy(s, i), BS_REMEDY);
	bs_doc_close(d);
	put_threads(d, s);
	bs_doc_close(d);
}

void bs_status_canary(struct bs_doc *d, const struct bs_shared *s)
{
	uint32_t n = atomic_load(&s->canaries);

	bs_doc_open(d, "canary", '{');
	bs_doc_number(d, "period_us", (uint64_t)(BS_CANARY_PERIOD_NS / 1000));
	bs_doc_number(d, "stall_us", (uint64_t)(BS_CANARY_STALL_NS / 1000));
	bs_doc_open(d, "processors", '[');
	for (uint32_t i = 0; i < n && i < BS_CANARIES; i++) {
		const struct bs_canary *c = &s->canary[i];

		bs_doc_open(d, NULL, '{');
		bs_doc_value(d, "cpu", "%d", atomic_load(&c->cpu));
		bs_doc_number(d, "priority", (uint64_t)atomic_load(&c->priority));
		bs_doc_number(d, "wakes", atomic_load(&c->wakes));
		bs_doc_number(d, "stalls", atomic_load(&c->stalls));
		bs_quantiles_put(d, &c->late);
		bs_doc_close(d);
	}
	bs_doc_close(d);
	bs_doc_close(d);
}

void bs_status_realtime_table(struct bs_text *t, const struct bs_shared *s)
{
	bs_text_put(t, "realtime      ");
	for (int i = 0; i < BS_SETTINGS; i++)
		bs_text_put(t, "%s %s %s", i > 0 ? "," : "", settings[i], setting_state(s, i));
	bs_text_put(t, "\n");
	for (int i = 0; i < BS_SETTINGS; i++)
		if (remedy(s, i)[0] != '\0')
			bs_text_put(t, "  %.191s\n", remedy(s, i));
}

void bs_status_canary_table(struct bs_text *t, const struct bs_shared *s)
{
	for (uint32_t i = 0; i < atomic_load(&s->canaries) && i < BS_CANARIES; i++) {
		const struct bs_canary *c = &s->canary[i];

		bs_text_put(t,
			    "canary         processor %d: %" PRIu64 " stalls in %" PRIu64
			    " wakes, late by p99.9 %.1f, max %.1f us%s\n",
			    atomic_load(&c->cpu), atomic_load(&c->stalls), atomic_load(&c->wakes),
			    (double)bs_hist_quantile(&c->late, 0.999) * 1e-3,
			    (double)bs_hist_quantile(&c->late, 1.0) * 1e-3,
			    atomic_load(&c->priority) == 0 ? " (no real-time priority)" : "");
	}
}

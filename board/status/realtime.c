/* board/status/realtime.c - rows of the machine: what it granted, threads, canaries, GPUs */
#include "board/arm/armed.h"
#include "board/service/throttle.h"
#include "board/status/rows.h"
#include "config/keys.h"

/* Returns one bit for each setting that this site asks for. */
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

struct granted {
	const char *setting[BS_SETTINGS];
	bool mps;
};

static bool open_realtime(struct bs_item *x)
{
	const struct bs_shared *s = x->m->s;
	const uint32_t refused = atomic_load(&s->realtime.refused);
	const uint32_t wanted = asked(s);
	struct granted *v = FILL(granted, x);

	for (int i = 0; i < BS_SETTINGS; i++)
		v->setting[i] = refused & 1u << i ? "refused" : wanted & 1u << i ? "on" : "off";
	v->mps = atomic_load(&s->gpus) > 0 && s->gpu[0].mps;
	return true;
}

static bool open_remedy(struct bs_item *x)
{
	return (atomic_load(&x->m->s->realtime.told) & 1u << x->at[0]) != 0;
}

static const struct bs_row remedy_rows[] = { { "", "", ITEM(realtime.remedy) }, { 0 } };

static const struct bs_row thread_rows[] = {
	{ "thread", "`ingest`, `emit`, `recon`, and its team `recon/1`, ...", EACH(thread, name) },
	{ "tid", "Its number in the system.", EACH(thread, tid) },
	{ "priority", "SCHED_FIFO; 0: none.", EACH(thread, priority) },
	{ "minor_faults", "Since it started, as all that follow.", EACH(thread, minor_faults) },
	{ "major_faults", "Faults that the disk had to serve.", EACH(thread, major_faults) },
	{ "allocations", "By our own code.", EACH(thread, allocations) },
	{ "preempted", "Involuntary context switches.", EACH(thread, preempted) },
	{ "notes", "Times that it wrote these, every 100 ms at most.", EACH(thread, notes) },
	{ 0 }
};

#define SETTING(setting_) VIEW(granted, setting[setting_])
_Static_assert(BS_SETTINGS == 8, "a new setting needs a row, and a place in the line");
static const struct bs_row realtime_rows[] = {
	{ "priority", "`on`, `off` (not asked for) or `refused`, as those that follow.",
	  SETTING(BS_SETTING_PRIORITY) },
	{ "affinity", "Threads are bound to processors.", SETTING(BS_SETTING_AFFINITY) },
	{ "lock_memory", "Memory is locked.", SETTING(BS_SETTING_LOCK_MEMORY) },
	{ "timer_slack", "Timers are exact.", SETTING(BS_SETTING_TIMER_SLACK) },
	{ "gpu", "How it is waited for.", SETTING(BS_SETTING_GPU_WAIT) },
	{ "unthrottled", "Who polls at a real-time priority may do so without end.",
	  SETTING(BS_SETTING_UNTHROTTLED) },
	{ "polling", "Of ingest and emit.", SETTING(BS_SETTING_POLLING) },
	{ "gpu_shared", "Key `gpu.shared`; refused where CUDA MPS is off.",
	  SETTING(BS_SETTING_GPU_SHARED) },
	{ "wait", "As configured.", IN(site.realtime.wait), .words = bs_wait_words },
	{ "gpu_wait", "As configured.", IN(site.realtime.gpu_wait), .words = bs_wait_words },
	{ "gpu_priority", "As configured.", IN(site.realtime.gpu_priority) },
	{ "mps", "Other programs' kernels run beside the service's, not in turns.",
	  VIEW(granted, mps) },
	{ "remedies", "Why a setting was refused, and what helps.", .most = BS_SETTINGS,
	  .view = open_remedy, .rows = remedy_rows, .line = "  {:.191}\n",
	  WHEN(ITEM(realtime.remedy)) },
	{ "threads", "Those on an image's path.", .most = BS_THREADS, .rows = thread_rows,
	  WHEN(EACH(thread, tid)) },
	{ 0 }
};

static const struct bs_row processor_rows[] = {
	{ "cpu", "The processor; -1: it is not bound.", EACH(canary, cpu), .label = "cpu" },
	{ "priority", "0: none granted; its stalls may be any other process's doing.",
	  EACH(canary, priority) },
	{ "wakes", "Times that it woke.", EACH(canary, wakes) },
	{ "stalls", "Times that the machine stalled a thread that wakes each millisecond.",
	  EACH(canary, stalls), COUNTER, .as = "machine_stalls_total" },
	{ .rows = bs_quantiles, EACH(canary, late) },
	{ 0 }
};

static const uint64_t period_us = BS_CANARY_PERIOD_NS / 1000;
static const uint64_t stall_us = BS_CANARY_STALL_NS / 1000;
const struct bs_row bs_canary_rows[] = {
	{ "period_us", "Between two wakes.", FIXED(period_us), .unit = BS_US_WHOLE },
	{ "stall_us", "A wake later than this is a stall.", FIXED(stall_us), .unit = BS_US_WHOLE },
	{ "processors", "A canary for each, and its lateness.", .most = BS_CANARIES,
	  NUMBER(canaries), .rows = processor_rows,
	  .line = "canary         processor {cpu}: {stalls} stalls in {wakes} wakes, late by p99.9 "
		  "{p999_us:.1}, max {max_us:.1} us[!priority? (no real-time priority)]\n" },
	{ 0 }
};

static const struct bs_row gpu_rows[] = {
	{ NULL, NULL, EACH(gpu, number), .label = "gpu" },
	{ NULL, NULL, EACH(gpu, name), .label = "name" },
	{ NULL, "Memory of the GPU.", EACH(gpu, total_bytes), GAUGE, .as = "gpu_memory_bytes" },
	{ NULL, "What was free when the protocols had been armed.", EACH(gpu, free_bytes), GAUGE,
	  .as = "gpu_memory_free_bytes" },
	{ 0 }
};
static const struct bs_row gpus_rows[] = {
	{ .most = BS_DEVICES_MAX, NUMBER(gpus), .rows = gpu_rows }, { 0 }
};
const struct bs_row bs_status_machine[] = {
	{ "realtime", "What the site asks of the machine.", .view = open_realtime,
	  .rows = realtime_rows,
	  .line = "realtime       priority {priority}, affinity {affinity}, lock_memory "
		  "{lock_memory}, timer_slack {timer_slack}, gpu {gpu}, unthrottled {unthrottled}, "
		  "polling {polling}, gpu_shared {gpu_shared}\n" },
	{ "canary", "Threads that only wake.", .rows = bs_canary_rows, .pass = 8 },
	{ .rows = gpus_rows, WHEN(IN(gpus)), .pass = 9 },
	{ 0 }
};

/* board/tool/certify/markdown.c - the certificate for people; see report.h */
#include <inttypes.h>

#include "board/tool/certify/load.h"
#include "board/tool/certify/report.h"
#include "board/tool/certify/verdict.h"
#include "core/version.h"

/* Writes a row of quantiles in units of `ms` milliseconds. */
static void md_row(struct bs_text *t, const char *what, double n, const double q[4], double ms)
{
	bs_text_put(t, "| %s | %.0f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", what, n, q[0] * ms,
		    q[1] * ms, q[2] * ms, q[3] * ms, (q[3] - q[0]) * ms);
}

static void md_head(struct bs_text *t)
{
	bs_text_put(t, "| ms | N | p50 | p99 | p99.9 | max | jitter (max - p50) |\n"
		       "|---|---|---|---|---|---|---|\n");
}

static void md_contract(struct bs_text *t, const struct bs_certificate *c)
{
	static const char *const misses[] = { "marked", "followed by doing less",
					      "the end of its scan" };

	bs_text_put(t, "Contract: every %s within %g ms of its last readout's due time; ",
		    c->p->volume ? "volume" : "image", c->p->image_ms);
	if (c->p->stage_ms[BS_BUDGET_CALIBRATION] > 0.0)
		bs_text_put(t,
			    "one that calibrates within %g ms more, and the calibration itself "
			    "within those; ",
			    c->p->stage_ms[BS_BUDGET_CALIBRATION]);
	bs_text_put(t, "a late one is %s.\n\n", misses[c->p->on_miss]);
	bs_text_put(t, "**The contract was %s.**", bs_verdict_word(c->verdict));
	if (c->verdict == BS_VERDICT_KEPT && c->run[0].explained > 0)
		bs_text_put(t,
			    " Images that were late for no longer than a canary with a real-time "
			    "priority was stalled meanwhile: %" PRIu64 ".",
			    c->run[0].explained);
	if (c->verdict == BS_VERDICT_KEPT && c->run[0].overslept > 0)
		bs_text_put(t,
			    " Images that were late because the sender, which stands in for the "
			    "scanner, woke late by itself (counted from then, they were in time): "
			    "%" PRIu64 ".",
			    c->run[0].overslept);
	bs_text_put(t, "\n\n");
	for (uint32_t i = 0; i < c->whys; i++)
		bs_text_put(t, "- %s%s\n", c->refused[0] != '\0' ? "The service refused it: " : "",
			    c->why[i]);
	if (c->whys > 0)
		bs_text_put(t, "\n");
}

static void md_machine(struct bs_text *t, const struct bs_certificate *c)
{
	const struct bs_machine *m = &c->machine;
	char words[16];

	bs_text_put(t, "## What was tried\n\n| | |\n|---|---|\n");
	bs_text_put(t, "| made | %s, boreside " BS_VERSION ", CUDA %s, compiler %s |\n", c->made_at,
		    BS_GPU ? "built in" : "not built in", __VERSION__);
	bs_text_put(t, "| protocol | %s, method %s, engine %s |\n", c->p->name,
		    bs_method_name(c->p->method), c->engine[0] != '\0' ? c->engine : "none");
	if (c->lapack[0] != '\0')
		bs_text_put(t, "| LAPACK | %s |\n", c->lapack);
	bs_text_put(t, "| configuration | SHA-256 %s (of what `boreside check` prints) |\n",
		    c->config_sha256);
	bs_text_put(t, "| recording | %s, %u acquisition%s, paced by %s |\n", c->recording,
		    c->acquisitions, bs_text_s(c->acquisitions), c->pace);
	bs_text_put(t, "| machine | %s: %u x %s, %" PRIu64 " MiB of memory%s%s |\n", m->host,
		    m->processors, m->cpu[0] != '\0' ? m->cpu : "processors of unknown kind",
		    m->memory_mib, m->governor[0] != '\0' ? ", governor " : "", m->governor);
	bs_text_put(t, "| kernel | %s |\n", m->system);
	bs_text_put(t, "| GPU | %s%s%s |\n", m->gpu[0] != '\0' ? m->gpu : "none",
		    m->driver[0] != '\0' ? ", driver " : "", m->driver);
	if (c->meter.gpus > 0)
		bs_text_put(t,
			    "| energy | by NVML, the whole of %u GPU%s; idle (armed, nobody sends, "
			    "%.1f s) %.1f W |\n",
			    c->meter.gpus, bs_text_s(c->meter.gpus), c->meter.idle.seconds,
			    bs_meter_idle_w(&c->meter));
	else if (c->meter.why[0] != '\0')
		bs_text_put(t, "| energy | not measured: %s |\n", c->meter.why);
	bs_text_put(t, "| load beside it | %s", bs_loads_words(c->loads, words));
	if (c->loads & BS_LOAD_CPU)
		bs_text_put(t, "; processes that write through 64 MiB: %u, passes: %" PRIu64,
			    m->processors < 64 ? m->processors : 64, c->cpu_passes);
	if (c->loads & BS_LOAD_IO)
		bs_text_put(t, "; %" PRIu64 " MiB written in %" PRIu64 " fsync%s", c->io_mib,
			    c->io_syncs, bs_text_s(c->io_syncs));
	if (c->loads & BS_LOAD_GPU)
		bs_text_put(t, "; the GPU was %s, %" PRIu64 " kernel%s of 1 ms",
			    c->gpu_loaded ? "loaded" : "NOT loaded", c->gpu_kernels,
			    bs_text_s(c->gpu_kernels));
	bs_text_put(t, " |\n| sender and archive | one process on the same machine, %s |\n",
		    c->sender_rt ? "SCHED_FIFO" : "ordinary scheduling (no real-time priority)");
	bs_text_put(
		t,
		"| files | none written: sinks were left out (they come after the image is handed "
		"on), and viewers |\n");
	if (bs_site_logs(&c->site))
		bs_text_put(
			t,
			"| log | written beside the node's own in log.dir, removed afterwards; lag "
			"below: each message, held to durable |\n");
	if (c->site.overload.archive == BS_POLICY_SPILL)
		bs_text_put(t,
			    "| archive | policy keep_newest in place of spill: the folder is the "
			    "node's own |\n");
	bs_text_put(t, "| armed beside it | %s |\n",
		    c->alone                ? "nothing: the site's other protocols were left out"
		    : c->site.protocols > 1 ? "the site's other protocols"
					    : "nothing: the site has one protocol");
	if (c->estimate[0] != '\0')
		bs_text_put(t, "| estimate when armed | `%s` |\n", c->estimate);
	if (c->realtime[0] != '\0')
		bs_text_put(t, "| real-time set-up | `%s` |\n", c->realtime);
	bs_text_put(t, "\n");
}

/* Writes a time in ms after the last readout's due time, or a dash if it is not known. */
static void md_after(struct bs_text *t, const struct bs_late *m, int64_t ns)
{
	if (ns == 0)
		bs_text_put(t, " | -");
	else
		bs_text_put(t, " | %.3f", bs_report_ms(ns - m->left.due_ns));
}

static void md_misses(struct bs_text *t, const struct bs_certify_run *r)
{
	if (r->misses == 0)
		return;
	bs_text_put(
		t,
		"\nMisses attributed to the service, the first %u, in ms after the last readout's "
		"due time: the image before it in the archive's hands; the sender's last sleep "
		"(not excused when it began after the due time, or when the service still owed an "
		"acknowledgement); the readout about to be handed to the socket, received; the "
		"image handed on; then what the sender overslept by itself, and how long canaries "
		"were stalled.\n\n"
		"| image | before | asleep | awake | owed | sent | received | handed on | "
		"overslept | stalled |\n"
		"|---|---|---|---|---|---|---|---|---|---|\n",
		r->misses);
	for (uint32_t i = 0; i < r->misses; i++) {
		const struct bs_late *m = &r->miss[i];

		bs_text_put(t, "| %" PRIu64, m->image);
		md_after(t, m, m->before_ns);
		md_after(t, m, m->left.slept_ns);
		md_after(t, m, m->left.woke_ns);
		bs_text_put(t, " | %s", m->left.owed ? "yes" : "no");
		md_after(t, m, m->left.sent_ns);
		md_after(t, m, m->received_ns);
		md_after(t, m, m->handed_ns);
		bs_text_put(t, " | %.3f | %.3f |\n", bs_report_ms(m->overslept_ns),
			    bs_report_ms(m->stalled_ns));
	}
}

static double tail(const struct bs_spread *l)
{
	return (double)l->p999_ns / (double)l->p50_ns;
}

static void md_run(struct bs_text *t, const struct bs_certificate *c,
		   const struct bs_certify_run *r)
{
	bool none =
		bs_certify_attributed(r) == 0 && (r->explained == 0 || bs_verdict_doubt(c) == NULL);
	const struct bs_spread *due = &r->spread[BS_SPREAD_DUE];
	const struct bs_spread *received = &r->spread[BS_SPREAD_RECEIVED];
	const struct bs_spread *quiet = &r->spread[BS_SPREAD_QUIET];

	if (r->speed == 1.0)
		bs_text_put(t, "## At the recording's own pace\n\n");
	else
		bs_text_put(t, "## At %g times the recording's pace\n\n", r->speed);
	bs_text_put(
		t,
		"%" PRIu64 " scan%s in %.1f s. Readouts: %" PRIu64 " sent, %" PRIu64
		" taken. Images: %" PRIu64 " to be made of them, %" PRIu64 " handed on, %" PRIu64
		" taken by the archive, %" PRIu64 " partial, %" PRIu64 " degraded, %" PRIu64
		" repeated. Previews: %" PRIu64 ". Torn messages: %" PRIu64 ".\n",
		r->scans, bs_text_s(r->scans), r->seconds, r->readouts, r->taken, r->expected,
		r->made, r->arrived, r->partial, r->degraded, r->repeated, r->previews, r->torn);
	if (r->faults > 0)
		bs_text_put(t, "Scans that ended with a fault: %" PRIu64 "; the first: %s\n",
			    r->faults, r->fault);
	bs_text_put(t,
		    "\n- missed: %" PRIu64 " raw; %" PRIu64
		    " explained by a canary's stall; **%" PRIu64 " attributed to the service**\n",
		    r->raw, r->explained, bs_certify_attributed(r));
	bs_text_put(t,
		    "- of the raw misses, %" PRIu64
		    " explained by the sender, which woke late by itself (the service had "
		    "acknowledged all that it had sent before)\n",
		    r->overslept);
	bs_text_put(t,
		    "- by the service's own clock, from the last readout received: %" PRIu64
		    " late\n",
		    r->late);
	if (r->energy.seconds > 0.0)
		bs_text_put(t,
			    "- energy: %.1f mJ an image over %.1f s, of which idle GPUs take "
			    "%.1f\n",
			    bs_meter_each(&r->energy, r->made), r->energy.seconds,
			    bs_meter_idle_each(&c->meter, &r->energy, r->made));
	if (r->calibrated > 0)
		bs_text_put(t, "- images that calibrate: %" PRIu64 "\n", r->calibrated);
	for (int i = 0; i < BS_RUNGS; i++)
		if (i != BS_RUNG_FULL && r->rung[i] > 0)
			bs_text_put(t, "- made on the ladder's rung `%s`: %" PRIu64 "\n",
				    bs_rung_name((enum bs_rung)i), r->rung[i]);
	for (int i = 0; i < BS_BUDGET_STAGES; i++)
		if (r->stage_missed[i] > 0)
			bs_text_put(t, "- stage %s over its own budget: %" PRIu64 "\n",
				    bs_budget_stage_name((enum bs_budget_stage)i),
				    r->stage_missed[i]);
	bs_text_put(t,
		    "- at 95 %%, this run leaves a rate of misses of at most %.3g possible "
		    "(raw), %.3g (attributed)%s\n",
		    bs_contract_bound(r->raw, r->arrived),
		    bs_contract_bound(bs_certify_attributed(r), r->arrived),
		    none ? ": none in N images proves at most 3/N" : "");
	if (due->p50_ns > 0 && received->p50_ns > 0 && quiet->p50_ns > 0)
		bs_text_put(t,
			    "- p99.9/p50: %.2f from due, %.2f from received, %.2f of that less the "
			    "canaries' stalls\n",
			    tail(due), tail(received), tail(quiet));
	bs_text_put(t, "\n");
	md_head(t);
	for (int i = 0; i < BS_SPREADS; i++) {
		const struct bs_spread *l = &r->spread[i];

		if (l->n > 0)
			md_row(t, bs_spread_names[i].words, (double)l->n,
			       (double[]){ (double)l->p50_ns, (double)l->p99_ns, (double)l->p999_ns,
					   (double)l->max_ns },
			       1e-6);
	}
	md_misses(t, r);
	bs_text_put(t, "\n");
}

static void md_service(struct bs_text *t, const struct bs_certificate *c)
{
	if (c->stages > 0) {
		bs_text_put(t, "## The service's own histograms\n\n");
		md_head(t);
	}
	for (uint32_t i = 0; i < c->stages; i++) {
		const struct bs_certify_stage *s = &c->stage[i];

		md_row(t, s->name, s->n, s->us, 1e-3);
	}
	bs_text_put(t, "\n## Page faults and allocations, %s\n\n",
		    c->grown_from_start ? "since the service was ready" : "after the first scan");
	if (c->threads == 0)
		bs_text_put(t, "Not known.\n");
	else
		bs_text_put(t, "| thread | SCHED_FIFO priority | minor faults | major faults | "
			       "allocations |\n|---|---|---|---|---|\n");
	for (uint32_t i = 0; i < c->threads; i++)
		bs_text_put(t, "| %s | %.0f | %.0f | %.0f | %.0f |\n", c->thread[i].name,
			    c->thread[i].priority, c->thread[i].grown[0], c->thread[i].grown[1],
			    c->thread[i].grown[2]);
	bs_text_put(
		t,
		"\n## The machine's stalls\n\n"
		"A canary on each processor that the service's threads may run on wakes every "
		"millisecond and does nothing; one that is 0.2 ms late or more was stalled. A miss "
		"is explained when the image would have kept its budget without the time that one "
		"of them was stalled between due and handed on.\n\n"
		"| processor | SCHED_FIFO priority | wakes | stalls | p99.9 late, ms | max late, "
		"ms |\n|---|---|---|---|---|---|\n");
	for (uint32_t i = 0; i < c->canaries; i++)
		bs_text_put(t, "| %d | %d | %.0f | %.0f | %.3f | %.3f |\n", c->canary[i].cpu,
			    c->canary[i].priority, c->canary[i].wakes, c->canary[i].stalls,
			    c->canary[i].p999_us * 1e-3, c->canary[i].max_us * 1e-3);
	if (c->unwatched > 0)
		bs_text_put(
			t,
			"\nProcessors that the service may use without a canary (there are %u at "
			"most): %u. Their stalls explain nothing.\n",
			BS_CANARIES, c->unwatched);
	if (c->floor.seconds > 0.0)
		bs_text_put(t,
			    "\nA thread that never sleeps, beside them: %.1f s, gaps of 0.1 ms and "
			    "more %" PRIu64 ", of 0.5 ms and more %" PRIu64
			    ", the longest %.3f ms.\n",
			    c->floor.seconds, c->floor.over_100, c->floor.over_500,
			    c->floor.max_us * 1e-3);
	else
		bs_text_put(t,
			    "\nNo thread that never sleeps ran beside them: it wants one of %u "
			    "processors or more.\n",
			    BS_FLOOR_PROCESSORS);
	if (bs_verdict_doubt(c) != NULL)
		bs_text_put(t,
			    "\nA stall of theirs may not be the machine's: %s. Misses that they "
			    "explain count.\n",
			    bs_verdict_doubt(c));
}

void bs_report_markdown(struct bs_text *t, const struct bs_certificate *c)
{
	bs_text_put(t, "# Certificate of '%s' on %s\n\n", c->p->name, c->site.name);
	md_contract(t, c);
	md_machine(t, c);
	for (uint32_t i = 0; i < c->runs; i++)
		md_run(t, c, &c->run[i]);
	if (bs_report_pictured(c))
		bs_text_put(t, "![latency](latency.svg)\n\nImages by their latency from the due "
			       "time, at the recording's own pace. Both axes are logarithmic.\n\n");
	if (c->runs > 0)
		md_service(t, c);
	bs_text_put(
		t,
		"\nLatencies count from due times, not from when a readout was really sent: what "
		"the sender or the machine delays is in them (no coordinated omission). What the "
		"service itself calls met or missed counts from the last readout's receipt to the "
		"image handed on, without transport. Of transport the way in is in what counts "
		"from due times, the way out, to the archive's own receipt, in no verdict. All "
		"times are of one clock of one host, CLOCK_MONOTONIC.\n");
}

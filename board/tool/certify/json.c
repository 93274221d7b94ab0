/* board/tool/certify/json.c - the certificate for programs; see report.h */
#include <inttypes.h>
#include <stdio.h>

#include "board/tool/certify/load.h"
#include "board/tool/certify/report.h"
#include "board/tool/certify/verdict.h"

static void js_quantiles(struct bs_doc *d, const double q[4], double ms)
{
	bs_doc_value(d, "p50", "%.6f", q[0] * ms);
	bs_doc_value(d, "p99", "%.6f", q[1] * ms);
	bs_doc_value(d, "p999", "%.6f", q[2] * ms);
	bs_doc_value(d, "max", "%.6f", q[3] * ms);
}

static void js_spread(struct bs_doc *d, const char *key, const struct bs_spread *l)
{
	double ns[4] = { (double)l->p50_ns, (double)l->p99_ns, (double)l->p999_ns,
			 (double)l->max_ns };

	if (l->n == 0)
		return;
	bs_doc_line(d, key);
	bs_doc_number(d, "n", l->n);
	js_quantiles(d, ns, 1e-6);
	bs_doc_value(d, "jitter", "%.6f", bs_report_ms(l->max_ns - l->p50_ns));
	bs_doc_close(d);
}

static void js_ns(struct bs_doc *d, const char *name, int64_t ns)
{
	bs_doc_value(d, name, "%" PRId64, ns);
}

static void js_misses(struct bs_doc *d, const struct bs_certify_run *r)
{
	bs_doc_open(d, "misses", '[');
	for (uint32_t i = 0; i < r->misses; i++) {
		const struct bs_late *m = &r->miss[i];

		bs_doc_line(d, NULL);
		bs_doc_number(d, "image", m->image);
		js_ns(d, "due_ns", m->left.due_ns);
		js_ns(d, "before_ns", m->before_ns);
		js_ns(d, "asleep_ns", m->left.slept_ns);
		js_ns(d, "awake_ns", m->left.woke_ns);
		bs_doc_number(d, "owed", m->left.owed);
		js_ns(d, "sent_ns", m->left.sent_ns);
		js_ns(d, "received_ns", m->received_ns);
		js_ns(d, "handed_ns", m->handed_ns);
		bs_doc_value(d, "overslept_ms", "%.6f", bs_report_ms(m->overslept_ns));
		bs_doc_value(d, "stalled_ms", "%.6f", bs_report_ms(m->stalled_ns));
		bs_doc_close(d);
	}
	bs_doc_close(d);
}

/* Writes a run. Two pairs of its members stand on one line each. */
static void js_run(struct bs_doc *d, const struct bs_certify_run *r)
{
	char key[48];

	bs_doc_open(d, NULL, '{');
	bs_doc_value(d, "speed", "%g,\"seconds\":%.3f", r->speed, r->seconds);
	if (r->energy.seconds > 0.0) {
		bs_doc_value(d, "energy_s", "%.3f", r->energy.seconds);
		bs_doc_value(d, "energy_mj_image", "%.3f", bs_meter_each(&r->energy, r->made));
	}
	bs_doc_number(d, "scans", r->scans);
	bs_doc_number(d, "faulty_scans", r->faults);
	bs_doc_text(d, "fault", r->fault);
	bs_doc_number(d, "readouts", r->readouts);
	bs_doc_number(d, "readouts_taken", r->taken);
	bs_doc_number(d, "expected", r->expected);
	bs_doc_number(d, "made", r->made);
	bs_doc_number(d, "images", r->arrived);
	bs_doc_number(d, "partial", r->partial);
	bs_doc_number(d, "degraded", r->degraded);
	if (r->bypassed > 0)
		bs_doc_number(d, "bypassed", r->bypassed);
	for (int i = 0; i < BS_RUNGS; i++) {
		(void)snprintf(key, sizeof(key), "rung_%s", bs_rung_name((enum bs_rung)i));
		bs_doc_number(d, key, r->rung[i]);
	}
	bs_doc_number(d, "calibrated", r->calibrated);
	for (int i = 0; i < BS_BUDGET_STAGES; i++) {
		(void)snprintf(key, sizeof(key), "%s_over_its_budget",
			       bs_budget_stage_name((enum bs_budget_stage)i));
		bs_doc_number(d, key, r->stage_missed[i]);
	}
	bs_doc_number(d, "previews", r->previews);
	bs_doc_number(d, "torn", r->torn);
	bs_doc_number(d, "repeated", r->repeated);
	bs_doc_number(d, "late_by_the_service", r->late);
	bs_doc_number(d, "late_by_its_outcomes", r->outcome_late);
	bs_doc_number(d, "disagreed", r->disagreed);
	bs_doc_number(d, "missed_raw", r->raw);
	bs_doc_number(d, "missed_explained", r->explained);
	bs_doc_number(d, "missed_overslept", r->overslept);
	bs_doc_number(d, "missed_attributed", bs_certify_attributed(r));
	for (int i = 0; i < BS_SPREADS; i++)
		js_spread(d, bs_spread_names[i].key, &r->spread[i]);
	js_misses(d, r);
	bs_doc_value(d, "rate_95_raw", "%.6g,\"rate_95_attributed\":%.6g",
		     bs_contract_bound(r->raw, r->arrived),
		     bs_contract_bound(bs_certify_attributed(r), r->arrived));
	bs_doc_close(d);
}

static void js_service(struct bs_doc *d, const struct bs_certificate *c)
{
	bs_doc_open(d, "stages", '[');
	for (uint32_t i = 0; i < c->stages; i++) {
		const struct bs_certify_stage *s = &c->stage[i];

		bs_doc_line(d, NULL);
		bs_doc_text(d, "stage", s->name);
		bs_doc_value(d, "n", "%.0f", s->n);
		js_quantiles(d, s->us, 1e-3);
		bs_doc_close(d);
	}
	bs_doc_close(d);
	bs_doc_open(d, "threads", '[');
	for (uint32_t i = 0; i < c->threads; i++) {
		const struct bs_certify_thread *t = &c->thread[i];

		bs_doc_line(d, NULL);
		bs_doc_text(d, "thread", t->name);
		bs_doc_value(d, "priority", "%.0f", t->priority);
		for (int k = 0; k < BS_THREAD_COUNTS; k++)
			bs_doc_value(d, bs_thread_counts[k], "%.0f", t->grown[k]);
		bs_doc_close(d);
	}
	bs_doc_close(d);
	bs_doc_open(d, "canaries", '[');
	for (uint32_t i = 0; i < c->canaries; i++) {
		bs_doc_line(d, NULL);
		bs_doc_value(d, "cpu", "%d", c->canary[i].cpu);
		bs_doc_value(d, "priority", "%d", c->canary[i].priority);
		bs_doc_value(d, "wakes", "%.0f", c->canary[i].wakes);
		bs_doc_value(d, "stalls", "%.0f", c->canary[i].stalls);
		bs_doc_real(d, "p999_us", c->canary[i].p999_us);
		bs_doc_real(d, "max_us", c->canary[i].max_us);
		bs_doc_close(d);
	}
	bs_doc_close(d);
}

static void js_machine(struct bs_doc *d, const struct bs_certificate *c)
{
	const struct bs_machine *m = &c->machine;
	char words[16];

	bs_doc_text(d, "host", m->host);
	bs_doc_text(d, "kernel", m->system);
	bs_doc_text(d, "cpu", m->cpu);
	bs_doc_number(d, "processors", m->processors);
	bs_doc_number(d, "memory_mib", m->memory_mib);
	bs_doc_text(d, "gpu", m->gpu);
	bs_doc_text(d, "driver", m->driver);
	bs_doc_text(d, "load", bs_loads_words(c->loads, words));
	bs_doc_number(d, "load_cpu_passes", c->cpu_passes);
	bs_doc_number(d, "load_io_mib", c->io_mib);
	bs_doc_number(d, "load_io_fsyncs", c->io_syncs);
	bs_doc_number(d, "load_gpu", c->gpu_loaded);
	bs_doc_number(d, "load_gpu_kernels", c->gpu_kernels);
	bs_doc_number(d, "sender_realtime", c->sender_rt);
	bs_doc_number(d, "alone", c->alone);
	bs_doc_number(d, "canaries_unwatched", c->unwatched);
	bs_doc_open(d, "floor", '{');
	bs_doc_value(d, "spun_s", "%.3f", c->floor.seconds);
	bs_doc_real(d, "max_us", c->floor.max_us);
	bs_doc_number(d, "over_100_us", c->floor.over_100);
	bs_doc_number(d, "over_500_us", c->floor.over_500);
	bs_doc_close(d);
	bs_doc_open(d, "energy", '{');
	bs_doc_number(d, "gpus", c->meter.gpus);
	bs_doc_text(d, "why_not", c->meter.why);
	bs_doc_value(d, "idle_w", "%.3f", bs_meter_idle_w(&c->meter));
	bs_doc_close(d);
	bs_doc_number(d, "throttled", c->throttled);
	bs_doc_value(d, "restarts", "%.0f", c->restarts);
}

void bs_report_json(struct bs_doc *d, const struct bs_certificate *c)
{
	d->wide = true;
	bs_doc_flag(d, "kept", c->verdict == BS_VERDICT_KEPT);
	bs_doc_text(d, "verdict", bs_verdict_word(c->verdict));
	bs_doc_open(d, "why", '[');
	for (uint32_t i = 0; i < c->whys; i++)
		bs_doc_text(d, NULL, c->why[i]);
	bs_doc_close(d);
	bs_doc_text(d, "made_at", c->made_at);
	bs_doc_text(d, "protocol", c->p->name);
	bs_doc_text(d, "engine", c->engine);
	bs_doc_text(d, "lapack", c->lapack);
	bs_doc_value(d, "budget_ms", "%g", c->p->image_ms);
	bs_doc_value(d, "calibration_budget_ms", "%g", c->p->stage_ms[BS_BUDGET_CALIBRATION]);
	bs_doc_text(d, "refused", c->refused);
	bs_doc_text(d, "config_sha256", c->config_sha256);
	bs_doc_text(d, "recording", c->recording);
	bs_doc_number(d, "acquisitions", c->acquisitions);
	bs_doc_text(d, "pace", c->pace);
	js_machine(d, c);
	if (c->estimate[0] != '\0') /* the service wrote this text as JSON already */
		bs_doc_value(d, "estimate", "%s", c->estimate);
	if (c->realtime[0] != '\0')
		bs_doc_value(d, "realtime", "%s", c->realtime);
	bs_doc_open(d, "runs", '[');
	for (uint32_t i = 0; i < c->runs; i++)
		js_run(d, &c->run[i]);
	bs_doc_close(d);
	bs_doc_text(d, "threads_since", c->grown_from_start ? "ready" : "first scan");
	js_service(d, c);
}

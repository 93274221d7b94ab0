/* board/certify/certificate_json.c - the certificate for programs; see certificate.h */
#include "board/certify/certificate.h"

#include "board/certify/verdict.h"

static void js_string(FILE *f, const char *text)
{
	(void)fputc('"', f);
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			(void)fprintf(f, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			(void)fprintf(f, "\\u%04x", c);
		else
			(void)fputc(c, f);
	}
	(void)fputc('"', f);
}

static void js_text(FILE *f, const char *key, const char *text)
{
	(void)fprintf(f, "\"%s\":", key);
	js_string(f, text);
	(void)fputs(",\n", f);
}

static void js_spread(FILE *f, const char *key, const struct bs_spread *s)
{
	if (s->n == 0)
		return;
	(void)fprintf(f,
		      "\"%s\":{\"n\":%zu,\"p50\":%.6f,\"p99\":%.6f,\"p999\":%.6f,\"max\":%.6f,"
		      "\"jitter\":%.6f},\n",
		      key, s->n, (double)s->p50_ns * MS, (double)s->p99_ns * MS,
		      (double)s->p999_ns * MS, (double)s->max_ns * MS,
		      (double)(s->max_ns - s->p50_ns) * MS);
}

static void js_count(FILE *f, const char *key, uint64_t n)
{
	(void)fprintf(f, "\"%s\":%llu,\n", key, (unsigned long long)n);
}

static void js_misses(FILE *f, const struct bs_certify_run *r)
{
	(void)fputs("\"misses\":[", f);
	for (uint32_t i = 0; i < r->misses; i++) {
		const struct bs_late *m = &r->miss[i];

		(void)fprintf(f,
			      "%s{\"image\":%llu,\"due_ns\":%lld,\"before_ns\":%lld,"
			      "\"asleep_ns\":%lld,\"awake_ns\":%lld,\"owed\":%d,\"sent_ns\":"
			      "%lld,\"received_ns\":%lld,\"handed_ns\":%lld,\"overslept_ms\":"
			      "%.6f,\"stalled_ms\":%.6f}",
			      i > 0 ? ",\n" : "", (unsigned long long)m->image,
			      (long long)m->left.due_ns, (long long)m->before_ns,
			      (long long)m->left.slept_ns, (long long)m->left.woke_ns, m->left.owed,
			      (long long)m->left.sent_ns, (long long)m->received_ns,
			      (long long)m->handed_ns, (double)m->overslept_ns * MS,
			      (double)m->stalled_ns * MS);
	}
	(void)fputs("],\n", f);
}

static void js_run(FILE *f, const struct bs_certify_run *r)
{
	(void)fprintf(f, "{\"speed\":%g,\"seconds\":%.3f,\n", r->speed, r->seconds);
	js_count(f, "scans", r->scans);
	js_count(f, "faulty_scans", r->faults);
	js_text(f, "fault", r->fault);
	js_count(f, "readouts", r->readouts);
	js_count(f, "readouts_taken", r->taken);
	js_count(f, "expected", r->expected);
	js_count(f, "made", r->made);
	js_count(f, "images", r->arrived);
	js_count(f, "partial", r->partial);
	js_count(f, "degraded", r->degraded);
	for (int i = 0; i < BS_RUNGS; i++) {
		(void)fprintf(f, "\"rung_%s\":%llu,\n", bs_rung_name((enum bs_rung)i),
			      (unsigned long long)r->rung[i]);
	}
	for (int i = 0; i < BS_BUDGET_STAGES; i++)
		(void)fprintf(f, "\"%s_over_its_budget\":%llu,\n",
			      bs_budget_stage_name((enum bs_budget_stage)i),
			      (unsigned long long)r->stage_missed[i]);
	js_count(f, "previews", r->previews);
	js_count(f, "torn", r->torn);
	js_count(f, "repeated", r->repeated);
	js_count(f, "late_by_the_service", r->late);
	js_count(f, "late_by_its_outcomes", r->outcome_late);
	js_count(f, "disagreed", r->disagreed);
	js_count(f, "missed_raw", r->raw);
	js_count(f, "missed_explained", r->explained);
	js_count(f, "missed_overslept", r->overslept);
	js_count(f, "missed_attributed", bs_certify_attributed(r));
	js_spread(f, "due_ms", &r->due);
	js_spread(f, "received_ms", &r->received);
	js_spread(f, "received_less_stalls_ms", &r->quiet);
	js_spread(f, "own_ms", &r->own);
	js_spread(f, "own_less_stalls_ms", &r->own_quiet);
	for (uint32_t i = 0; i < BS_CERTIFY_PARTS; i++) {
		char key[48];

		(void)snprintf(key, sizeof(key), "%s_ms", bs_certify_part_names[i]);
		js_spread(f, key, &r->part[i]);
	}
	js_spread(f, "archive_ms", &r->arrival);
	js_spread(f, "sender_ms", &r->sent);
	js_spread(f, "sender_overslept_ms", &r->slept);
	js_misses(f, r);
	(void)fprintf(f, "\"rate_95_raw\":%.6g,\"rate_95_attributed\":%.6g}",
		      bs_contract_bound(r->raw, r->arrived),
		      bs_contract_bound(bs_certify_attributed(r), r->arrived));
}

static void js_service(FILE *f, const struct bs_certificate *c)
{
	(void)fputs("\"stages\":[", f);
	for (uint32_t i = 0; i < c->stages; i++)
		(void)fprintf(f,
			      "%s{\"stage\":\"%s\",\"n\":%.0f,\"p50\":%.6f,\"p99\":%.6f,\"p999\":"
			      "%.6f,\"max\":%.6f}",
			      i > 0 ? ",\n" : "", c->stage[i].name, c->stage[i].n,
			      c->stage[i].p50_us * 1e-3, c->stage[i].p99_us * 1e-3,
			      c->stage[i].p999_us * 1e-3, c->stage[i].max_us * 1e-3);
	(void)fputs("],\n\"threads\":[", f);
	for (uint32_t i = 0; i < c->threads; i++)
		(void)fprintf(f,
			      "%s{\"thread\":\"%s\",\"priority\":%.0f,\"minor_faults\":%.0f,"
			      "\"major_faults\":%.0f,\"allocations\":%.0f}",
			      i > 0 ? ",\n" : "", c->thread[i].name, c->thread[i].priority,
			      c->thread[i].minor_faults, c->thread[i].major_faults,
			      c->thread[i].allocations);
	(void)fputs("],\n\"canaries\":[", f);
	for (uint32_t i = 0; i < c->canaries; i++)
		(void)fprintf(f,
			      "%s{\"cpu\":%d,\"priority\":%d,\"wakes\":%.0f,\"stalls\":%.0f,"
			      "\"p999_us\":%.3f,\"max_us\":%.3f}",
			      i > 0 ? ",\n" : "", c->canary[i].cpu, c->canary[i].priority,
			      c->canary[i].wakes, c->canary[i].stalls, c->canary[i].p999_us,
			      c->canary[i].max_us);
	(void)fputs("]\n", f);
}

void bs_certificate_json(FILE *f, const struct bs_certificate *c)
{
	const struct bs_machine *m = &c->machine;
	char words[16];

	(void)fprintf(f, "{\"kept\":%s,\n", c->verdict == BS_CERTIFY_KEPT ? "true" : "false");
	js_text(f, "verdict", bs_verdict_word(c->verdict));
	(void)fputs("\"why\":[", f);
	for (uint32_t i = 0; i < c->whys; i++) {
		(void)fputs(i > 0 ? ",\n" : "", f);
		js_string(f, c->why[i]);
	}
	(void)fputs("],\n", f);
	js_text(f, "made_at", c->made_at);
	js_text(f, "protocol", c->p->name);
	js_text(f, "engine", c->engine);
	(void)fprintf(f, "\"budget_ms\":%g,\n", c->p->image_ms);
	js_text(f, "refused", c->refused);
	js_text(f, "config_sha256", c->config_sha256);
	js_text(f, "recording", c->recording);
	js_count(f, "acquisitions", c->acquisitions);
	js_text(f, "pace", c->pace);
	js_text(f, "host", m->host);
	js_text(f, "kernel", m->system);
	js_text(f, "cpu", m->cpu);
	js_count(f, "processors", m->processors);
	js_count(f, "memory_mib", m->memory_mib);
	js_text(f, "gpu", m->gpu);
	js_text(f, "driver", m->driver);
	js_text(f, "load", bs_loads_words(c->loads, words));
	js_count(f, "load_cpu_passes", c->cpu_passes);
	js_count(f, "load_io_mib", c->io_mib);
	js_count(f, "load_io_fsyncs", c->io_syncs);
	js_count(f, "load_gpu", c->gpu_loaded);
	js_count(f, "load_gpu_kernels", c->gpu_kernels);
	js_count(f, "sender_realtime", c->sender_rt);
	js_count(f, "alone", c->alone);
	js_count(f, "canaries_unwatched", c->unwatched);
	js_count(f, "throttled", c->throttled);
	(void)fprintf(f, "\"restarts\":%.0f,\n", c->restarts);
	if (c->estimate[0] != '\0')
		(void)fprintf(f, "\"estimate\":%s,\n", c->estimate);
	if (c->realtime[0] != '\0')
		(void)fprintf(f, "\"realtime\":%s,\n", c->realtime);
	(void)fputs("\"runs\":[", f);
	for (uint32_t i = 0; i < c->runs; i++) {
		(void)fputs(i > 0 ? ",\n" : "", f);
		js_run(f, &c->run[i]);
	}
	(void)fprintf(f, "],\n\"threads_since\":\"%s\",\n",
		      c->grown_from_start ? "ready" : "first scan");
	js_service(f, c);
	(void)fputs("}\n", f);
}

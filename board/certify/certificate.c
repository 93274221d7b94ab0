/* board/certify/certificate.c - the certificate as Markdown and a chart, its files, its one line; see certify.h */
#include "board/certify/certificate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "board/certify/verdict.h"
#include "config/config.h"
#include "core/version.h"
#include "drivers/file/chart.h"
#include "drivers/file/draft.h"

#define BINS 80

/* ---- Markdown ---- */

static void md_spread(FILE *f, const char *what, const struct bs_spread *s)
{
	if (s->n == 0)
		return;
	(void)fprintf(f, "| %s | %zu | %.3f | %.3f | %.3f | %.3f | %.3f |\n", what, s->n,
		      (double)s->p50_ns * MS, (double)s->p99_ns * MS, (double)s->p999_ns * MS,
		      (double)s->max_ns * MS, (double)(s->max_ns - s->p50_ns) * MS);
}

static void md_head(FILE *f)
{
	(void)fputs("| ms | N | p50 | p99 | p99.9 | max | jitter (max - p50) |\n"
		    "|---|---|---|---|---|---|---|\n",
		    f);
}

static void md_contract(FILE *f, const struct bs_certificate *c)
{
	static const char *const misses[] = { "marked", "followed by doing less",
					      "the end of its scan" };

	(void)fprintf(f,
		      "Contract: every image within %g ms of its last readout's due time; a late "
		      "one is %s.\n\n",
		      c->p->image_ms, misses[c->p->on_miss]);
	(void)fprintf(f, "**The contract was %s.**", bs_verdict_word(c->verdict));
	if (c->verdict == BS_CERTIFY_KEPT && c->run[0].explained > 0)
		(void)fprintf(f,
			      " %llu images were late, each for no longer than a canary with a "
			      "real-time priority was stalled meanwhile.",
			      (unsigned long long)c->run[0].explained);
	if (c->verdict == BS_CERTIFY_KEPT && c->run[0].overslept > 0)
		(void)fprintf(f,
			      " %llu images were late because the sender, which stands in for the "
			      "scanner, woke late by itself; counted from then they were in time.",
			      (unsigned long long)c->run[0].overslept);
	(void)fputs("\n\n", f);
	for (uint32_t i = 0; i < c->whys; i++)
		(void)fprintf(f, "- %s%s\n",
			      c->refused[0] != '\0' ? "The service refused it: " : "", c->why[i]);
	if (c->whys > 0)
		(void)fputc('\n', f);
}

static void md_machine(FILE *f, const struct bs_certificate *c)
{
	const struct bs_machine *m = &c->machine;
	char words[16];

	(void)fputs("## What was tried\n\n| | |\n|---|---|\n", f);
	(void)fprintf(f, "| made | %s, boreside " BS_VERSION ", CUDA %s, compiler %s |\n",
		      c->made_at, BS_GPU ? "built in" : "not built in", __VERSION__);
	(void)fprintf(f, "| protocol | %s, method %s, engine %s |\n", c->p->name,
		      bs_method_name(c->p->method), c->engine[0] != '\0' ? c->engine : "none");
	(void)fprintf(f, "| configuration | SHA-256 %s (of what `boreside check` prints) |\n",
		      c->config_sha256);
	(void)fprintf(f, "| recording | %s, %u acquisitions, paced by %s |\n", c->recording,
		      c->acquisitions, c->pace);
	(void)fprintf(f, "| machine | %s: %u x %s, %llu MiB%s%s |\n", m->host, m->processors,
		      m->cpu[0] != '\0' ? m->cpu : "processors of unknown kind",
		      (unsigned long long)m->memory_mib,
		      m->governor[0] != '\0' ? ", governor " : "", m->governor);
	(void)fprintf(f, "| kernel | %s |\n", m->system);
	(void)fprintf(f, "| GPU | %s%s%s |\n", m->gpu[0] != '\0' ? m->gpu : "none",
		      m->driver[0] != '\0' ? ", driver " : "", m->driver);
	(void)fprintf(f, "| load beside it | %s", bs_loads_words(c->loads, words));
	if (c->loads & BS_LOAD_CPU)
		(void)fprintf(f, "; %u processes wrote through 64 MiB %llu times",
			      m->processors < 64 ? m->processors : 64,
			      (unsigned long long)c->cpu_passes);
	if (c->loads & BS_LOAD_IO)
		(void)fprintf(f, "; %llu MiB written in %llu fsyncs", (unsigned long long)c->io_mib,
			      (unsigned long long)c->io_syncs);
	if (c->loads & BS_LOAD_GPU)
		(void)fprintf(f, "; the GPU was %s, %llu kernels of 1 ms",
			      c->gpu_loaded ? "loaded" : "NOT loaded",
			      (unsigned long long)c->gpu_kernels);
	(void)fprintf(f, " |\n| sender and archive | one process on the same machine, %s |\n",
		      c->sender_rt ? "SCHED_FIFO" : "ordinary scheduling (no real-time priority)");
	(void)fputs(
		"| files | none written: sinks were left out (they come after the image is handed "
		"on), and viewers |\n",
		f);
	if (c->site.overload.archive == BS_POLICY_SPILL)
		(void)fputs("| archive | policy keep_newest in place of spill: the folder is the "
			    "node's own |\n",
			    f);
	(void)fprintf(f, "| armed beside it | %s |\n",
		      c->alone                ? "nothing: the site's other protocols were left out"
		      : c->site.protocols > 1 ? "the site's other protocols"
					      : "nothing: the site has one protocol");
	if (c->estimate[0] != '\0')
		(void)fprintf(f, "| estimate when armed | `%s` |\n", c->estimate);
	if (c->realtime[0] != '\0')
		(void)fprintf(f, "| real-time set-up | `%s` |\n", c->realtime);
	(void)fputc('\n', f);
}

/* In ms after the last readout's due time; what is not known: a dash. */
static void md_after(FILE *f, const struct bs_late *m, int64_t ns)
{
	if (ns == 0)
		(void)fputs(" | -", f);
	else
		(void)fprintf(f, " | %.3f", (double)(ns - m->left.due_ns) * MS);
}

static void md_misses(FILE *f, const struct bs_certify_run *r)
{
	if (r->misses == 0)
		return;
	(void)fprintf(
		f,
		"\nThe first %u misses attributed to the service, in ms after the last readout's "
		"due time: the image before it in the archive's hands; the sender's last sleep (not "
		"excused when it began after the due time, or when the service still owed an "
		"acknowledgement); the readout handed to the socket, received; the image handed on; "
		"then what the sender overslept by itself, and how long canaries were stalled.\n\n"
		"| image | before | asleep | awake | owed | sent | received | handed on | overslept | "
		"stalled |\n|---|---|---|---|---|---|---|---|---|---|\n",
		r->misses);
	for (uint32_t i = 0; i < r->misses; i++) {
		const struct bs_late *m = &r->miss[i];

		(void)fprintf(f, "| %llu", (unsigned long long)m->image);
		md_after(f, m, m->before_ns);
		md_after(f, m, m->left.slept_ns);
		md_after(f, m, m->left.woke_ns);
		(void)fprintf(f, " | %s", m->left.owed ? "yes" : "no");
		md_after(f, m, m->left.sent_ns);
		md_after(f, m, m->received_ns);
		md_after(f, m, m->handed_ns);
		(void)fprintf(f, " | %.3f | %.3f |\n", (double)m->overslept_ns * MS,
			      (double)m->stalled_ns * MS);
	}
}

static void md_run(FILE *f, const struct bs_certificate *c, const struct bs_certify_run *r)
{
	bool none =
		bs_certify_attributed(r) == 0 && (r->explained == 0 || bs_verdict_doubt(c) == NULL);
	char name[64];

	(void)fprintf(f, "## At %g times the recording's pace\n\n", r->speed);
	(void)fprintf(
		f,
		"%llu scans in %.1f s: %llu readouts sent, %llu taken; %llu images to be made "
		"of them, %llu handed on, %llu taken by the archive, %llu partial, %llu "
		"degraded, %llu repeated, %llu previews, %llu torn.\n",
		(unsigned long long)r->scans, r->seconds, (unsigned long long)r->readouts,
		(unsigned long long)r->taken, (unsigned long long)r->expected,
		(unsigned long long)r->made, (unsigned long long)r->arrived,
		(unsigned long long)r->partial, (unsigned long long)r->degraded,
		(unsigned long long)r->repeated, (unsigned long long)r->previews,
		(unsigned long long)r->torn);
	if (r->faults > 0)
		(void)fprintf(f, "%llu scans ended with a fault; the first: %s\n",
			      (unsigned long long)r->faults, r->fault);
	(void)fprintf(f,
		      "\n- missed: %llu raw; %llu explained by a canary's stall; **%llu "
		      "attributed to the service**\n",
		      (unsigned long long)r->raw, (unsigned long long)r->explained,
		      (unsigned long long)bs_certify_attributed(r));
	(void)fprintf(
		f,
		"- of the raw misses, %llu explained by the sender, which woke late by itself "
		"(the service had acknowledged all that it had sent before)\n",
		(unsigned long long)r->overslept);
	(void)fprintf(f,
		      "- by the service's own clock, from the last readout received: %llu late\n",
		      (unsigned long long)r->late);
	for (int i = 0; i < BS_RUNGS; i++)
		if (i != BS_RUNG_FULL && r->rung[i] > 0)
			(void)fprintf(f, "- made on the ladder's rung `%s`: %llu\n",
				      bs_rung_name((enum bs_rung)i),
				      (unsigned long long)r->rung[i]);
	for (int i = 0; i < BS_BUDGET_STAGES; i++)
		if (r->stage_missed[i] > 0)
			(void)fprintf(f, "- stage %s over its own budget: %llu\n",
				      bs_budget_stage_name((enum bs_budget_stage)i),
				      (unsigned long long)r->stage_missed[i]);
	(void)fprintf(f,
		      "- at 95 %%, this run leaves a rate of misses of at most %.3g possible "
		      "(raw), %.3g (attributed)%s\n",
		      bs_contract_bound(r->raw, r->arrived),
		      bs_contract_bound(bs_certify_attributed(r), r->arrived),
		      none ? ": none in N images proves at most 3/N" : "");
	if (r->due.p50_ns > 0 && r->received.p50_ns > 0 && r->quiet.p50_ns > 0)
		(void)fprintf(
			f,
			"- p99.9/p50: %.2f from due, %.2f from received, %.2f of that less the "
			"canaries' stalls\n",
			(double)r->due.p999_ns / (double)r->due.p50_ns,
			(double)r->received.p999_ns / (double)r->received.p50_ns,
			(double)r->quiet.p999_ns / (double)r->quiet.p50_ns);
	(void)fputc('\n', f);
	md_head(f);
	md_spread(f, "last readout due to image handed on", &r->due);
	md_spread(f, "last readout received to image handed on", &r->received);
	md_spread(f, "the same less the canaries' stalls", &r->quiet);
	md_spread(f, "of that, the service's own part (all but operators and transfers)", &r->own);
	md_spread(f, "the own part less the canaries' stalls", &r->own_quiet);
	for (uint32_t i = 0; i < BS_CERTIFY_PARTS; i++) {
		(void)snprintf(name, sizeof(name), "of that, %s", bs_certify_part_names[i]);
		md_spread(f, name, &r->part[i]);
	}
	md_spread(f, "last readout due to image in the archive's hands", &r->arrival);
	md_spread(f, "the sender behind its due times, each readout, all runs so far", &r->sent);
	md_spread(f, "of that, overslept by itself", &r->slept);
	md_misses(f, r);
	(void)fputc('\n', f);
}

static void md_service(FILE *f, const struct bs_certificate *c)
{
	if (c->stages > 0) {
		(void)fputs("## The service's own histograms\n\n", f);
		md_head(f);
	}
	for (uint32_t i = 0; i < c->stages; i++) {
		const struct bs_certify_stage *s = &c->stage[i];

		(void)fprintf(f, "| %s | %.0f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", s->name,
			      s->n, s->p50_us * 1e-3, s->p99_us * 1e-3, s->p999_us * 1e-3,
			      s->max_us * 1e-3, (s->max_us - s->p50_us) * 1e-3);
	}
	(void)fprintf(f, "\n## Page faults and allocations, %s\n\n",
		      c->grown_from_start ? "since the service was ready" : "after the first scan");
	if (c->threads == 0)
		(void)fputs("Not known.\n", f);
	else
		(void)fputs("| thread | SCHED_FIFO | minor faults | major faults | allocations |\n"
			    "|---|---|---|---|---|\n",
			    f);
	for (uint32_t i = 0; i < c->threads; i++)
		(void)fprintf(f, "| %s | %.0f | %.0f | %.0f | %.0f |\n", c->thread[i].name,
			      c->thread[i].priority, c->thread[i].minor_faults,
			      c->thread[i].major_faults, c->thread[i].allocations);
	(void)fputs(
		"\n## The machine's stalls\n\nA canary on each processor that the service's threads "
		"may run on wakes every millisecond and does nothing; one that is 0.2 ms late or "
		"more was stalled. A miss is explained when the image would have kept its budget "
		"without the time that one of them was stalled between due and handed on.\n\n"
		"| processor | SCHED_FIFO | wakes | stalls | p99.9 late, ms | max late, ms |\n"
		"|---|---|---|---|---|---|\n",
		f);
	for (uint32_t i = 0; i < c->canaries; i++)
		(void)fprintf(f, "| %d | %d | %.0f | %.0f | %.3f | %.3f |\n", c->canary[i].cpu,
			      c->canary[i].priority, c->canary[i].wakes, c->canary[i].stalls,
			      c->canary[i].p999_us * 1e-3, c->canary[i].max_us * 1e-3);
	if (c->unwatched > 0)
		(void)fprintf(
			f,
			"\n%u processors that the service may use have no canary (there are %u at "
			"most): their stalls explain nothing.\n",
			c->unwatched, BS_CANARIES);
	if (bs_verdict_doubt(c) != NULL)
		(void)fprintf(f,
			      "\nA stall of theirs may not be the machine's: %s. Misses that they "
			      "explain count.\n",
			      bs_verdict_doubt(c));
}

static void md_all(FILE *f, const struct bs_certificate *c)
{
	(void)fprintf(f, "# Certificate of '%s' on %s\n\n", c->p->name, c->site.name);
	md_contract(f, c);
	md_machine(f, c);
	for (uint32_t i = 0; i < c->runs; i++)
		md_run(f, c, &c->run[i]);
	if (c->runs > 0) {
		(void)fputs(
			"![latency](latency.png)\n\nImages over their latency from the due time in "
			"ms, at the recording's own pace; above as counted, below the logarithm of "
			"1 + count. The vertical line is the budget.\n\n",
			f);
		md_service(f, c);
	}
	(void)fputs(
		"\nLatencies count from due times, not from when a readout was really sent: what "
		"the sender or the machine delays is in them (no coordinated omission).\n",
		f);
}

/* ---- the chart ---- */

static int draw(const struct bs_certificate *c, const char *path, struct bs_fail *why)
{
	const struct bs_certify_run *r = &c->run[0];
	static double x[BINS], count[BINS], logarithm[BINS];
	struct bs_chart_panel panels[2] = { { "images", count, c->p->image_ms },
					    { "log10 (1 + images)", logarithm, c->p->image_ms } };
	double low = (double)r->latency[0] * MS;
	double high = fmax((double)r->latency[r->due.n - 1] * MS, c->p->image_ms);
	double first;
	double step;

	/* whole decades, so that at least two of them are marked */
	first = floor(log10(fmax(low, 1e-4)));
	step = (ceil(log10(fmax(high, 1e-3)) + 1e-9) - first) / BINS;
	memset(count, 0, sizeof(count));
	for (size_t i = 0; i < r->due.n; i++) {
		double at = (log10(fmax((double)r->latency[i] * MS, 1e-4)) - first) / step;

		count[at < 0.0 ? 0 : at > BINS - 1 ? BINS - 1 : (int)at] += 1.0;
	}
	for (int i = 0; i < BINS; i++) {
		x[i] = pow(10.0, first + (i + 0.5) * step);
		logarithm[i] = log10(1.0 + count[i]);
	}
	return bs_chart_write(path, "ms", x, BINS, panels, 2, why);
}

/* ---- */

static int write_text(const char *path, const struct bs_certificate *c,
		      void (*all)(FILE *, const struct bs_certificate *), struct bs_fail *why)
{
	FILE *f = fopen(path, "w");
	bool good;

	if (f == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	all(f, c);
	good = ferror(f) == 0;
	good = fclose(f) == 0 && good;
	return good ? 0 : bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
}

int bs_certificate_write(const struct bs_certificate *c, const char *folder, struct bs_fail *why)
{
	char path[512];
	int rc = 0;

	(void)snprintf(path, sizeof(path), "%.490s/latency.png", folder);
	if (c->runs > 0 && c->run[0].latency != NULL && c->run[0].due.n > 0)
		rc = draw(c, path, why);
	(void)snprintf(path, sizeof(path), "%.490s/certificate.md", folder);
	if (rc == 0)
		rc = write_text(path, c, md_all, why);
	(void)snprintf(path, sizeof(path), "%.490s/certificate.json", folder);
	if (rc == 0)
		rc = write_text(path, c, bs_certificate_json, why);
	return rc;
}

/* The words of a table's last column. */
static void verdict_words(const struct bs_certificate *c, char *out, size_t cap)
{
	unsigned long long explained = c->run[0].explained;
	unsigned long long overslept = c->run[0].overslept;

	if (c->verdict != BS_CERTIFY_KEPT)
		(void)snprintf(out, cap, "%s: %s",
			       c->verdict == BS_CERTIFY_BROKEN ? "BROKEN" : "NOT PROVEN",
			       c->whys > 0 ? c->why[0] : "");
	else if (explained + overslept > 0)
		(void)snprintf(out, cap,
			       "kept, %llu late by stalls of the machine, %llu by the sender alone",
			       explained, overslept);
	else
		(void)snprintf(out, cap, "kept");
}

void bs_certificate_line(const struct bs_certificate *c, char *out, size_t cap)
{
	const struct bs_certify_run *r = &c->run[0];
	char words[300];

	verdict_words(c, words, sizeof(words));
	if (c->refused[0] != '\0' || c->runs == 0)
		(void)snprintf(out, cap, "%s: budget %g ms, %s", c->p->name, c->p->image_ms, words);
	else
		(void)snprintf(
			out, cap,
			"%s: budget %g ms, N %llu, from due p50 %.3f p99 %.3f p99.9 %.3f max "
			"%.3f ms, from received p50 %.3f p99.9 %.3f max %.3f ms (less "
			"stalls p99.9 %.3f), missed %llu raw %llu attributed, %s",
			c->p->name, c->p->image_ms, (unsigned long long)r->arrived,
			(double)r->due.p50_ns * MS, (double)r->due.p99_ns * MS,
			(double)r->due.p999_ns * MS, (double)r->due.max_ns * MS,
			(double)r->received.p50_ns * MS, (double)r->received.p999_ns * MS,
			(double)r->received.max_ns * MS, (double)r->quiet.p999_ns * MS,
			(unsigned long long)r->raw, (unsigned long long)bs_certify_attributed(r),
			words);
}

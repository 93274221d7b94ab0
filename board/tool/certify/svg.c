/* board/tool/certify/svg.c - the certificate as a picture; see report.h */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "board/tool/certify/report.h"
#include "board/tool/certify/verdict.h"
#include "drivers/tool/chart.h"

#define BINS  120
#define LEAST 1e-6 /* ms; smaller times are drawn at this place */

static void put_title(struct bs_text *t, const struct bs_certificate *c)
{
	const struct bs_certify_run *r = &c->run[0];
	const struct bs_machine *m = &c->machine;

	bs_chart_words(t, 20.0, 28.0, 17.0, " font-weight=\"bold\"",
		       "Latency of N = %zu image%s, method %s, protocol %s",
		       r->spread[BS_SPREAD_DUE].n, bs_text_s(r->spread[BS_SPREAD_DUE].n),
		       bs_method_name(c->p->method), c->p->name);
	bs_chart_words(t, 20.0, 49.0, 13.0, "",
		       "Missed: %" PRIu64 " raw, %" PRIu64 " explained by stalls, %" PRIu64
		       " by the sender, %" PRIu64
		       " attributed to the service. The contract was %s.",
		       r->raw, r->explained, r->overslept, bs_certify_attributed(r),
		       bs_verdict_word(c->verdict));
	bs_chart_words(t, 20.0, 67.0, 13.0, "", "On %s: %u x %s, GPU %s; %s", m->host,
		       m->processors, m->cpu[0] != '\0' ? m->cpu : "processors of unknown kind",
		       m->gpu[0] != '\0' ? m->gpu : "none", c->made_at);
}

struct mark {
	const char *name, *color;
	double ms;
};

static int by_time(const void *a, const void *b)
{
	const struct mark *m = a;
	const struct mark *n = b;

	return (m->ms > n->ms) - (m->ms < n->ms);
}

/* Draws a line with its label to the right, above later labels: no line crosses a label. */
static void put_marks(const struct bs_chart *k, const struct bs_certificate *c)
{
	const struct bs_spread *l = &c->run[0].spread[BS_SPREAD_DUE];
	const double calibration = c->p->stage_ms[BS_BUDGET_CALIBRATION];
	struct mark mark[] = {
		{ "p50", "#00701a", bs_report_ms(l->p50_ns) },
		{ "p99", "#00701a", bs_report_ms(l->p99_ns) },
		{ "p99.9", "#00701a", bs_report_ms(l->p999_ns) },
		{ "max", "#00701a", bs_report_ms(l->max_ns) },
		{ "budget", "#c00000", c->p->image_ms },
		{ "calibrating", "#c00000", c->p->image_ms + calibration },
	};
	const size_t n = sizeof(mark) / sizeof(mark[0]) - (calibration > 0.0 ? 0 : 1);
	char words[32];

	qsort(mark, n, sizeof(mark[0]), by_time);
	for (size_t i = 0; i < n; i++) {
		double y = 88.0 + (double)i * 17.0;
		double x = bs_chart_line(k, fmax(mark[i].ms, LEAST), y, mark[i].color);

		bs_chart_words(k->t, x + 4.0, y + 9.0, 12.0, "", "%s %s", mark[i].name,
			       bs_chart_time(mark[i].ms, words));
	}
}

void bs_report_svg(struct bs_text *t, const struct bs_certificate *c)
{
	const struct bs_certify_run *r = &c->run[0];
	const size_t n = r->spread[BS_SPREAD_DUE].n;
	const double budget = c->p->image_ms;
	const double low = fmin(bs_report_ms(r->latency[0]), budget);
	const double high = fmax(bs_report_ms(r->latency[n - 1]),
				 budget + c->p->stage_ms[BS_BUDGET_CALIBRATION]);
	struct bs_chart k = { .t = t,
			      .first = floor(log10(fmax(low, LEAST))),
			      .last = ceil(log10(fmax(high, LEAST)) + 1e-9),
			      .logarithmic = true,
			      .upper = 200.0,
			      .lower = 440.0,
			      .label = bs_chart_time };
	double images[BINS] = { 0.0 };
	double most = 2.0;

	for (size_t i = 0; i < n; i++) {
		double ms = fmax(bs_report_ms(r->latency[i]), LEAST);
		double at = BINS * (log10(ms) - k.first) / (k.last - k.first);

		most = fmax(most, ++images[at < BINS ? (int)at : BINS - 1]);
	}
	k.top = pow(10.0, ceil(log10(most)));
	bs_chart_begin(t, 500);
	put_title(t, c);
	bs_chart_axes(&k, "time from the last readout's due time to the image handed on",
		      "images, logarithmic");
	bs_chart_bars(&k, images, BINS);
	put_marks(&k, c);
	bs_chart_end(t);
}

/* board/tool/certify/svg.c - the certificate as a picture; see report.h */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/certify/report.h"
#include "board/tool/certify/verdict.h"

/* Of the picture, in pixels. Labels of lines stand above the bars and to the right of them. */
#define LEFT  70.0
#define RIGHT 650.0
#define ABOVE 88.0  /* the first line's label */
#define ROW   17.0  /* from a label to the next */
#define UPPER 200.0 /* the top of the bars; their foot */
#define LOWER 440.0
#define BINS  120
#define BAR   ((RIGHT - LEFT) / BINS)

struct picture {
	struct bs_text *t;
	double first, last; /* log10 of ms, whole: the ends of the axis of time */
	double top;         /* log10 of images, whole */
	double images[BINS];
};

struct mark {
	const char *name, *color;
	double ms;
};

static double x_of(const struct picture *p, double ms)
{
	return LEFT + (RIGHT - LEFT) * (log10(fmax(ms, 1e-6)) - p->first) / (p->last - p->first);
}

/* The axis begins at half an image, so that a single one can be seen. */
static double y_of(const struct picture *p, double images)
{
	return LOWER - (LOWER - UPPER) * log10(2.0 * images) / (p->top + log10(2.0));
}

static const char *time_words(double ms, char out[32])
{
	(void)snprintf(out, 32, "%.4g %s",
		       ms < 1.0   ? ms * 1e3
		       : ms < 1e3 ? ms
				  : ms * 1e-3,
		       ms < 1.0   ? "us"
		       : ms < 1e3 ? "ms"
				  : "s");
	return out;
}

/* look: attributes. Letters are at most `size` pixels high, and so small that the words fit. */
__attribute__((format(printf, 6, 7))) static void put_words(struct bs_text *t, double x, double y,
							    double size, const char *look,
							    const char *format, ...)
{
	char words[640];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	size = fmin(size, 1400.0 / (double)(strlen(words) + 1));
	bs_text_put(t, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\"%s>", x, y, size, look);
	bs_text_xml(t, words);
	bs_text_put(t, "</text>\n");
}

static void put_line(struct bs_text *t, double x0, double y0, double x1, double y1,
		     const char *color)
{
	bs_text_put(t, "<path d=\"M%.1f,%.1f L%.1f,%.1f\" stroke=\"%s\"/>\n", x0, y0, x1, y1,
		    color);
}

static void put_title(struct bs_text *t, const struct bs_certificate *c)
{
	const struct bs_certify_run *r = &c->run[0];
	const struct bs_machine *m = &c->machine;

	put_words(t, 20.0, 28.0, 17.0, " font-weight=\"bold\"",
		  "Protocol %s, method %s: latency of N = %zu image%s", c->p->name,
		  bs_method_name(c->p->method), r->spread[BS_SPREAD_DUE].n,
		  bs_text_s(r->spread[BS_SPREAD_DUE].n));
	put_words(t, 20.0, 49.0, 13.0, "",
		  "Missed: %" PRIu64 " raw, %" PRIu64 " explained by stalls, %" PRIu64
		  " by the sender, %" PRIu64 " attributed to the service. The contract was %s.",
		  r->raw, r->explained, r->overslept, bs_certify_attributed(r),
		  bs_verdict_word(c->verdict));
	put_words(t, 20.0, 67.0, 13.0, "", "On %s: %u x %s, GPU %s; %s", m->host, m->processors,
		  m->cpu[0] != '\0' ? m->cpu : "processors of unknown kind",
		  m->gpu[0] != '\0' ? m->gpu : "none", c->made_at);
}

static void put_axes(const struct picture *p)
{
	const int digits[] = { 1, 2, 5 };
	char words[32];

	for (double e = p->first; e <= p->last; e++)
		for (int i = 0; i < (e < p->last ? 3 : 1); i++) {
			double ms = digits[i] * pow(10.0, e);
			double x = x_of(p, ms);

			put_line(p->t, x, i == 0 ? UPPER : LOWER, x, LOWER + 5.0, "#c8c8c8");
			if (i == 0 || p->last - p->first < 4.0)
				put_words(p->t, x, LOWER + 18.0, 12.0, " text-anchor=\"middle\"",
					  "%s", time_words(ms, words));
		}
	for (double e = 0.0; e <= p->top; e++) {
		double y = y_of(p, pow(10.0, e));

		put_line(p->t, LEFT - 5.0, y, RIGHT, y, "#c8c8c8");
		put_words(p->t, LEFT - 9.0, y + 4.0, 12.0, " text-anchor=\"end\"", "%.0f",
			  pow(10.0, e));
	}
	put_words(p->t, (LEFT + RIGHT) / 2.0, LOWER + 42.0, 13.0, " text-anchor=\"middle\"",
		  "time from the last readout's due time to the image handed on, logarithmic");
	put_words(p->t, -(UPPER + LOWER) / 2.0, 20.0, 13.0,
		  " text-anchor=\"middle\" transform=\"rotate(-90)\"", "images, logarithmic");
}

static void put_bars(const struct picture *p)
{
	bs_text_put(p->t, "<path fill=\"#86a3d6\" d=\"");
	for (int i = 0; i < BINS; i++)
		if (p->images[i] > 0.0)
			bs_text_put(p->t, "M%.1f,%.1f h%.1f V%.1f h-%.1f z ", LEFT + i * BAR,
				    y_of(p, p->images[i]), BAR - 0.5, LOWER, BAR - 0.5);
	bs_text_put(p->t, "\"/>\n");
	put_line(p->t, LEFT, LOWER, RIGHT, LOWER, "#1f1f1f");
	put_line(p->t, LEFT, UPPER, LEFT, LOWER, "#1f1f1f");
}

static int by_time(const void *a, const void *b)
{
	const struct mark *m = a;
	const struct mark *n = b;

	return (m->ms > n->ms) - (m->ms < n->ms);
}

/* A line's label stands right of it, above those of later lines: no line crosses words. */
static void put_marks(const struct picture *p, const struct bs_certificate *c)
{
	const struct bs_spread *l = &c->run[0].spread[BS_SPREAD_DUE];
	const double calibration = c->p->stage_ms[BS_BUDGET_CALIBRATION];
	struct mark mark[] = {
		{ "p50", "#00701a", bs_report_ms(l->p50_ns) },
		{ "p99", "#00701a", bs_report_ms(l->p99_ns) },
		{ "p99.9", "#00701a", bs_report_ms(l->p999_ns) },
		{ "max", "#00701a", bs_report_ms(l->max_ns) },
		{ "budget", "#c00000", c->p->image_ms },
		{ "with calibration", "#c00000", c->p->image_ms + calibration },
	};
	const size_t n = sizeof(mark) / sizeof(mark[0]) - (calibration > 0.0 ? 0 : 1);
	char words[32];

	qsort(mark, n, sizeof(mark[0]), by_time);
	for (size_t i = 0; i < n; i++) {
		double x = x_of(p, mark[i].ms);
		double y = ABOVE + (double)i * ROW;

		put_line(p->t, x, y, x, LOWER, mark[i].color);
		put_words(p->t, x + 4.0, y + 9.0, 12.0, "", "%s %s", mark[i].name,
			  time_words(mark[i].ms, words));
	}
}

static void count(struct picture *p, const struct bs_certificate *c)
{
	const struct bs_certify_run *r = &c->run[0];
	const size_t n = r->spread[BS_SPREAD_DUE].n;
	const double budget = c->p->image_ms;
	const double low = fmin(bs_report_ms(r->latency[0]), budget);
	const double high = fmax(bs_report_ms(r->latency[n - 1]),
				 budget + c->p->stage_ms[BS_BUDGET_CALIBRATION]);
	double most = 1.0;

	p->first = floor(log10(fmax(low, 1e-6)));
	p->last = ceil(log10(fmax(high, 1e-6)) + 1e-9);
	for (size_t i = 0; i < n; i++) {
		double at = (x_of(p, bs_report_ms(r->latency[i])) - LEFT) / BAR;

		most = fmax(most, ++p->images[at < BINS ? (int)at : BINS - 1]);
	}
	p->top = fmax(1.0, ceil(log10(most)));
}

void bs_report_svg(struct bs_text *t, const struct bs_certificate *c)
{
	struct picture p = { .t = t };

	count(&p, c);
	bs_text_put(t,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"500\" "
		    "viewBox=\"0 0 800 500\" font-family=\"Helvetica, Arial, sans-serif\" "
		    "fill=\"#1f1f1f\">\n<rect width=\"800\" height=\"500\" fill=\"#ffffff\"/>\n");
	put_title(t, c);
	put_axes(&p);
	put_bars(&p);
	put_marks(&p, c);
	bs_text_put(t, "</svg>\n");
}

/* drivers/tool/chart.c - see chart.h */
#include "drivers/tool/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEFT  70.0 /* ends of the panels, in pixels from the left */
#define RIGHT 650.0
#define GRID  "#c8c8c8"
#define TICKS 12.0 /* height in pixels of the letters at a tick */

void bs_chart_begin(struct bs_text *t, uint32_t height)
{
	bs_text_put(t,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"%u\" "
		    "viewBox=\"0 0 800 %u\" font-family=\"Helvetica, Arial, sans-serif\" "
		    "fill=\"#1f1f1f\">\n<rect width=\"800\" height=\"%u\" fill=\"#ffffff\"/>\n",
		    height, height, height);
}

void bs_chart_end(struct bs_text *t)
{
	bs_text_put(t, "</svg>\n");
}

void bs_chart_words(struct bs_text *t, double x, double y, double size, const char *look,
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

static double x_of(const struct bs_chart *c, double x)
{
	return LEFT + (RIGHT - LEFT) * (log10(x) - c->first) / (c->last - c->first);
}

static double y_of(const struct bs_chart *c, double y)
{
	double share = c->logarithmic ? log10(2.0 * y) / log10(2.0 * c->top) : y / c->top;

	return c->lower - (c->lower - c->upper) * share;
}

static void path(const struct bs_chart *c, double x0, double y0, double x1, double y1,
		 const char *color)
{
	bs_text_put(c->t, "<path d=\"M%.1f,%.1f L%.1f,%.1f\" stroke=\"%s\"/>\n", x0, y0, x1, y1,
		    color);
}

double bs_chart_line(const struct bs_chart *c, double x, double y0, const char *color)
{
	path(c, x_of(c, x), y0, x_of(c, x), c->lower, color);
	return x_of(c, x);
}

const char *bs_chart_number(double x, char out[32])
{
	(void)snprintf(out, 32, "%.4g", x);
	return out;
}

const char *bs_chart_time(double ms, char out[32])
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

/* Returns a step of 1, 2 or 5 times a power of ten, so that about four steps reach the top. */
static double step_to(double top)
{
	double unit = pow(10.0, floor(log10(top / 4.0)));
	double share = top / 4.0 / unit;

	return unit * (share < 1.5 ? 1.0 : share < 3.5 ? 2.0 : share < 7.5 ? 5.0 : 10.0);
}

static void tick_x(const struct bs_chart *c, double x, bool whole)
{
	const double at = x_of(c, x);
	char words[32];

	if (at < LEFT - 0.1 || at > RIGHT + 0.1)
		return;
	path(c, at, whole ? c->upper : c->lower, at, c->lower + 5.0, GRID);
	if (whole || c->last - c->first < 4.0) /* labels between powers of ten need a narrow axis */
		bs_chart_words(c->t, at, c->lower + 18.0, TICKS, " text-anchor=\"middle\"", "%s",
			       c->label(x, words));
}

void bs_chart_axes(const struct bs_chart *c, const char *x_title, const char *y_title)
{
	const double step = step_to(c->top);
	char words[32];

	for (double e = floor(c->first); e <= c->last; e++) {
		tick_x(c, pow(10.0, e), true);
		tick_x(c, 2.0 * pow(10.0, e), false);
		tick_x(c, 5.0 * pow(10.0, e), false);
	}
	for (double y = c->logarithmic ? 1.0 : 0.0; y <= c->top * 1.0001;
	     y = c->logarithmic ? y * 10.0 : y + step) {
		path(c, LEFT - 5.0, y_of(c, y), RIGHT, y_of(c, y), GRID);
		bs_chart_words(c->t, LEFT - 9.0, y_of(c, y) + 4.0, TICKS, " text-anchor=\"end\"",
			       "%s", bs_chart_number(y, words));
	}
	path(c, LEFT, c->lower, RIGHT, c->lower, "#1f1f1f");
	path(c, LEFT, c->upper, LEFT, c->lower, "#1f1f1f");
	bs_chart_words(c->t, (LEFT + RIGHT) / 2.0, c->lower + 38.0, 13.0, " text-anchor=\"middle\"",
		       "%s", x_title);
	bs_chart_words(c->t, -(c->upper + c->lower) / 2.0, 18.0, 13.0,
		       " text-anchor=\"middle\" transform=\"rotate(-90)\"", "%s", y_title);
}

void bs_chart_bars(const struct bs_chart *c, const double *y, uint32_t n)
{
	const double width = (RIGHT - LEFT) / n;

	bs_text_put(c->t, "<path fill=\"#86a3d6\" d=\"M0,0");
	for (uint32_t i = 0; i < n; i++)
		if (y[i] > 0.0)
			bs_text_put(c->t, " M%.1f,%.1f h%.1f V%.1f h-%.1f z", LEFT + i * width,
				    y_of(c, y[i]), width - 0.5, c->lower, width - 0.5);
	bs_text_put(c->t, "\"/>\n");
}

void bs_chart_curve(const struct bs_chart *c, const double *x, const double *y, uint32_t n)
{
	bool drawn = false;

	bs_text_put(c->t, "<path fill=\"none\" stroke=\"#2f5597\" stroke-width=\"2\" d=\"M0,0");
	for (uint32_t i = 0; i < n; i++) {
		if (isfinite(y[i]))
			bs_text_put(c->t, " %c%.1f,%.1f", drawn ? 'L' : 'M', x_of(c, x[i]),
				    y_of(c, y[i]));
		drawn = isfinite(y[i]);
	}
	bs_text_put(c->t, "\"/>\n");
}

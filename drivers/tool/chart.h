/*
 * drivers/tool/chart.h - pictures of numbers over a logarithmic axis, as SVG
 *
 * begin -> { words | line | axes | bars | curve }* -> end, into a text. 800 pixels wide, on white;
 * it fetches nothing and runs nothing. x > 0. Panels one above the other are charts of one text.
 * Words are escaped. Allocates nothing. Test: test/unit/drivers/tool/test_chart.c
 */
#ifndef BS_DRIVERS_TOOL_CHART_H
#define BS_DRIVERS_TOOL_CHART_H

#include <stdint.h>

#include "core/text.h"

struct bs_chart {
	struct bs_text *t;
	double first, last;  /* log10 of x at the left and right ends of the panel */
	double top;          /* y at the panel's top */
	bool logarithmic;    /* y axis: logarithmic from 0.5, so that 1 shows; else linear from 0 */
	double upper, lower; /* ends of the panel, in pixels from the top */
	const char *(*label)(double x, char out[32]); /* writes the label of a tick at x */
};

void bs_chart_begin(struct bs_text *t, uint32_t height);
void bs_chart_end(struct bs_text *t);
/* Puts words. look: SVG attributes. size: height in pixels; words too long for
 * it become smaller. */
void bs_chart_words(struct bs_text *t, double x, double y, double size, const char *look,
		    const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Draws a vertical line at x, from y0 (pixels) to the panel's foot. Returns its place in pixels. */
double bs_chart_line(const struct bs_chart *c, double x, double y0, const char *color);
void bs_chart_axes(const struct bs_chart *c, const char *x_title, const char *y_title);
/* Draws bars of equal width for y[n], from left to right. */
void bs_chart_bars(const struct bs_chart *c, const double *y, uint32_t n);
/* Draws a curve; points that are not finite are left out. */
void bs_chart_curve(const struct bs_chart *c, const double *x, const double *y, uint32_t n);

/* Writes a tick's label, a number or a time from ms with its unit (250 us, 1.5 ms,
 * 2 s). Returns out. */
const char *bs_chart_number(double x, char out[32]);
const char *bs_chart_time(double ms, char out[32]);

#endif

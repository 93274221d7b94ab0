/* drivers/tool/chart.c - see chart.h */
#include "drivers/tool/chart.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/tool/written.h"

#define LEFT       60
#define RIGHT      12
#define TOP        22
#define BOTTOM     34
#define DOT        2 /* pixels of a letter's dot */
#define PANELS_MAX 8u

/* Rows of 3 dots, one octal digit each, from the top. */
static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.-+(),/:=%";
static const uint16_t rows[] = {
	075557, 026227, 071747, 071717, 055711, 074717, 074757, 071122, 075757, 075717,
	025755, 065656, 034443, 065556, 074647, 074644, 034553, 055755, 072227, 011152,
	055655, 044447, 057755, 065555, 025552, 065644, 025563, 065655, 034216, 072222,
	055557, 055552, 055775, 055255, 055222, 071247, 000002, 000700, 002720, 012221,
	042224, 000024, 011244, 002020, 007070, 051245,
};

struct canvas {
	float *at; /* white is 1 */
	int width, height;
};

static void dot(struct canvas *c, int x, int y, float value)
{
	if (x >= 0 && x < c->width && y >= 0 && y < c->height)
		c->at[(size_t)y * (size_t)c->width + (size_t)x] = value;
}

static void text(struct canvas *c, int x, int y, const char *s)
{
	for (; *s; s++, x += 4 * DOT) {
		const char *found = strchr(letters, toupper((unsigned char)*s));

		for (int i = 0; found != NULL && i < 15 * DOT * DOT; i++) {
			int row = i / (3 * DOT * DOT);
			int px = i % (3 * DOT);
			int py = i / (3 * DOT) % DOT;

			if (rows[found - letters] >> (14 - 3 * row - px / DOT) & 1)
				dot(c, x + px, y + row * DOT + py, 0.0f);
		}
	}
}

static void line(struct canvas *c, double x0, double y0, double x1, double y1, float value)
{
	int steps = (int)fmax(fabs(x1 - x0), fabs(y1 - y0)) + 1;

	for (int i = 0; i <= steps; i++)
		dot(c, (int)lround(x0 + (x1 - x0) * i / steps),
		    (int)lround(y0 + (y1 - y0) * i / steps), value);
}

/* 1, 2 or 5 times a power of ten, so that about four steps reach the top */
static double tick(double top)
{
	double unit = pow(10.0, floor(log10(top / 4.0)));
	double share = top / 4.0 / unit;

	return unit * (share < 1.5 ? 1.0 : share < 3.5 ? 2.0 : share < 7.5 ? 5.0 : 10.0);
}

struct frame {
	double x0, x1; /* log10 */
	double top;
	int y0; /* of the panel */
};

static double px(const struct frame *f, double x)
{
	return LEFT + (log10(x) - f->x0) / (f->x1 - f->x0) * (BS_CHART_WIDTH - LEFT - RIGHT);
}

static double py(const struct frame *f, double y)
{
	return f->y0 + (double)BS_CHART_HEIGHT - BOTTOM -
	       y / f->top * ((double)BS_CHART_HEIGHT - TOP - BOTTOM);
}

static void axes(struct canvas *c, const struct frame *f, const char *title, const char *x_title)
{
	double step = tick(f->top);
	int right = BS_CHART_WIDTH - RIGHT;
	char number[32];

	for (int i = 0; i * step <= f->top * 1.0001; i++) {
		int y = (int)lround(py(f, i * step));

		line(c, LEFT, y, right, y, i ? 0.8f : 0.0f);
		(void)snprintf(number, sizeof(number),
			       step >= 1.0 && f->top < 1e6 ? "%.0f" : "%.3g", i * step);
		text(c, LEFT - 6 - 4 * DOT * (int)strlen(number), y - 5, number);
	}
	for (int e = (int)ceil(f->x0 - 1e-9); e <= f->x1 + 1e-9; e++) {
		int x = (int)lround(px(f, pow(10.0, e)));

		line(c, x, py(f, 0.0), x, f->y0 + TOP, 0.8f);
		(void)snprintf(number, sizeof(number), "1E%d", e);
		text(c, x - 2 * DOT * (int)strlen(number),
		     f->y0 + (int)BS_CHART_HEIGHT - BOTTOM + 5, number);
	}
	line(c, LEFT, py(f, 0.0), LEFT, f->y0 + TOP, 0.0f);
	text(c, LEFT, f->y0 + 6, title);
	text(c, right - 4 * DOT * (int)strlen(x_title), f->y0 + (int)BS_CHART_HEIGHT - 14, x_title);
}

static void curve(struct canvas *c, const struct frame *f, const double *x, const double *y,
		  uint32_t points)
{
	for (uint32_t i = 0; i < points; i++) {
		if (!isfinite(y[i]))
			continue;
		for (int d = -2; d <= 2; d++)
			line(c, px(f, x[i]) - 2, py(f, y[i]) + d, px(f, x[i]) + 2, py(f, y[i]) + d,
			     0.0f);
		if (i > 0 && isfinite(y[i - 1]))
			line(c, px(f, x[i - 1]), py(f, y[i - 1]), px(f, x[i]), py(f, y[i]), 0.0f);
	}
}

int bs_chart_write(const char *path, const char *x_title, const double *x, uint32_t points,
		   const struct bs_chart_panel *panels, uint32_t count, struct bs_fail *why)
{
	struct canvas c = { NULL, BS_CHART_WIDTH, (int)(BS_CHART_HEIGHT * count) };
	struct bs_montage m;
	int rc;

	if (points < 2 || count == 0 || count > PANELS_MAX)
		return bs_fail(why, BS_ERR_SIZE, "%s: a chart of %u points, %u panels", path,
			       points, count);
	for (uint32_t i = 0; i < points; i++)
		if (!(x[i] > (i ? x[i - 1] : 0.0)) || !isfinite(x[i]))
			return bs_fail(why, BS_ERR_SIZE,
				       "%s: x values do not increase from above 0", path);
	c.at = malloc((size_t)c.width * (size_t)c.height * sizeof(*c.at));
	if (c.at == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory for a chart", path);
	for (size_t i = 0; i < (size_t)c.width * (size_t)c.height; i++)
		c.at[i] = 1.0f;
	for (uint32_t p = 0; p < count; p++) {
		struct frame f = { log10(x[0]), log10(x[points - 1]), 0.0,
				   (int)(p * BS_CHART_HEIGHT) };

		for (uint32_t i = 0; i < points; i++)
			if (isfinite(panels[p].y[i]))
				f.top = fmax(f.top, panels[p].y[i]);
		if (f.top <= 0.0)
			f.top = 1.0;
		axes(&c, &f, panels[p].title, x_title);
		curve(&c, &f, x, panels[p].y, points);
	}
	rc = bs_montage_make(&m, c.at, false, (uint32_t)c.width, (uint32_t)c.height, 1, why);
	m.window = 1.0;
	if (rc == 0)
		rc = bs_pngfile_save(path, &m, panels[0].title, why);
	free(c.at);
	return rc;
}

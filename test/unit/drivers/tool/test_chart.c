/* test/unit/drivers/tool/test_chart.c - a chart is a PNG with ink where its points are */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "drivers/tool/chart.h"

#include <png.h>
#include <string.h>
#include <unistd.h>

#include "test/support/check.h"

static char folder[] = "/tmp/boreside-chart-XXXXXX";
static char path[64];

/* The picture as 8-bit grey, malloc'd; NULL when it is none. */
static unsigned char *read_png(unsigned *width, unsigned *height)
{
	png_image p = { .version = PNG_IMAGE_VERSION };
	unsigned char *at = NULL;

	if (!png_image_begin_read_from_file(&p, path))
		return NULL;
	p.format = PNG_FORMAT_GRAY;
	at = malloc(PNG_IMAGE_SIZE(p));
	if (at != NULL && !png_image_finish_read(&p, NULL, at, 0, NULL)) {
		free(at);
		at = NULL;
	}
	*width = p.width;
	*height = p.height;
	return at;
}

static void refuse(const char *what, const double *x, const double *y, uint32_t points)
{
	struct bs_chart_panel panel = { "y", y };
	struct bs_fail why = { 0 };

	CHECK(bs_chart_write(path, "x", x, points, &panel, 1, &why) == BS_ERR_SIZE &&
		      access(path, F_OK) != 0,
	      "%s: %s", what, why.text);
}

int main(void)
{
	static const double x[] = { 0.1, 1.0, 10.0 };
	static const double back[] = { 0.1, 10.0, 1.0 };
	static const double zero[] = { 0.0, 1.0, 10.0 };
	static const double y[] = { 0.0, 4.0, NAN };
	static const double flat[] = { 0.0, 0.0, 0.0 };
	struct bs_chart_panel panels[2] = { { "rising (a)", y }, { "nothing", flat } };
	struct bs_fail why = { 0 };
	unsigned width = 0;
	unsigned height = 0;
	unsigned char *p;

	if (mkdtemp(folder) == NULL)
		return 1;
	(void)snprintf(path, sizeof(path), "%s/c.png", folder);
	refuse("one point", x, y, 1);
	refuse("x falls", back, y, 3);
	refuse("x of 0", zero, y, 3);
	CHECK(bs_chart_write(path, "x", x, 3, panels, 2, &why) == 0, "two panels %s", why.text);
	p = read_png(&width, &height);
	CHECK(p != NULL && width == BS_CHART_WIDTH && height == 2 * BS_CHART_HEIGHT,
	      "%u x %u pixels", width, height);
	if (p != NULL) {
		unsigned mid = (60 + BS_CHART_WIDTH - 12) / 2; /* x = 1, the middle decade */

		/* y = 4 is the top of the axis, 22 pixels below the panel's edge */
		CHECK(p[22 * width + mid] == 0, "the middle point is black, at the top");
		CHECK(p[60 * width + BS_CHART_WIDTH - 40] == 255,
		      "no line to the value that is none");
		CHECK(p[(2 * BS_CHART_HEIGHT - 34) * width + mid] == 0,
		      "a curve of zeros lies on the axis");
		free(p);
	}
	(void)unlink(path);
	(void)rmdir(folder);
	return check_done();
}

/* test/unit/drivers/tool/test_chart.c - a chart's curves, bars and words stand where they belong */
#include "drivers/tool/chart.h"

#include <string.h>

#include "test/support/check.h"

static char svg[16 << 10];
static struct bs_text t;
static struct bs_chart c; /* three decades, 70 to 650; 300 down to 100 */

static void begin(double top, bool logarithmic)
{
	t = (struct bs_text){ svg, sizeof(svg), 0, false };
	c = (struct bs_chart){ .t = &t,
			       .first = -1.0,
			       .last = 2.0,
			       .top = top,
			       .logarithmic = logarithmic,
			       .upper = 100.0,
			       .lower = 300.0,
			       .label = bs_chart_number };
	bs_chart_begin(&t, 400);
}

static void has(const char *part, const char *what)
{
	CHECK(!t.full && strstr(svg, part) != NULL, "%s: %s", what, part);
}

static void test_curve(void)
{
	static const double x[] = { 0.1, 1.0, 10.0, 100.0 };
	static const double y[] = { 0.0, 4.0, NAN, 2.0 };

	begin(4.0, false);
	bs_chart_axes(&c, "lambda", "y < 1 & more");
	bs_chart_curve(&c, x, y, 4);
	bs_chart_end(&t);
	has(" M70.0,300.0 L263.3,100.0 M650.0,200.0\"", "no line to the value that is none");
	has(">lambda</text>", "the title of x");
	has(">y &lt; 1 &amp; more</text>", "that of y, escaped");
	has("x=\"263.3\" y=\"318.0\" font-size=\"12.0\" text-anchor=\"middle\">1</text>",
	    "a decade's label below its place");
	has("x=\"61.0\" y=\"104.0\" font-size=\"12.0\" text-anchor=\"end\">4</text>",
	    "the top's label");
	CHECK(strcmp(svg + t.len - 7, "</svg>\n") == 0, "it ends");
	begin(4.0, false);
	c.first = -0.5;
	c.last = 0.5;
	bs_chart_axes(&c, "x", "y");
	CHECK(strstr(svg, ">0.1</text>") == NULL && strstr(svg, ">0.5</text>") != NULL &&
		      strstr(svg, ">5</text>") == NULL,
	      "ticks beyond the ends are left out");
}

static void test_bars(void)
{
	static const double y[] = { 1.0, 0.0, 50.0 };

	begin(50.0, true);
	bs_chart_bars(&c, y, 3);
	has(" M70.0,269.9 ", "one can be seen"); /* log10 2 / log10 100 of 200 */
	has(" M456.7,100.0 ", "the most reach the top");
	CHECK(strstr(svg, "M263.3") == NULL, "none draws nothing");
	CHECK(fabs(bs_chart_line(&c, 10.0, 90.0, "#c00000") - 456.667) < 0.01, "a line's place");
	has("<path d=\"M456.7,90.0 L456.7,300.0\" stroke=\"#c00000\"/>", "a line");
}

static void test_words(void)
{
	char out[32];
	char many[281];

	CHECK(strcmp(bs_chart_time(0.25, out), "250 us") == 0, "%s", out);
	CHECK(strcmp(bs_chart_time(1.5, out), "1.5 ms") == 0, "%s", out);
	CHECK(strcmp(bs_chart_time(2000.0, out), "2 s") == 0, "%s", out);
	memset(many, 'm', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	begin(1.0, false);
	bs_chart_words(&t, 0.0, 0.0, 13.0, "", "%s", many);
	has("font-size=\"5.0\"", "280 letters are small enough for the width");
}

int main(void)
{
	test_curve();
	test_bars();
	test_words();
	return check_done();
}

/*
 * test/unit/board/tool/certify/test_svg.c - the picture of a certificate: XML that a parser takes,
 * with the names and values of its lines where the axis of time has them
 */
#include "board/tool/certify/report.h"

#include <expat.h>
#include <math.h>
#include <string.h>

#include "test/support/check.h"

#define MS INT64_C(1000000)

static struct bs_certificate c;
static struct bs_protocol p;
static int64_t latency[1000];
static char svg[64 << 10];

/* What a parser finds: the texts, each with a line feed behind it. */
static char texts[4096];
static double right; /* the largest x of a text */
static int active;   /* elements and attributes that run or fetch something */

static void XMLCALL begin(void *arg, const XML_Char *name, const XML_Char **attribute)
{
	(void)arg;
	active += strcmp(name, "script") == 0 || strcmp(name, "image") == 0;
	for (; attribute[0] != NULL; attribute += 2) {
		active += strstr(attribute[0], "href") != NULL || attribute[0][0] == 'o';
		if (strcmp(name, "text") == 0 && strcmp(attribute[0], "x") == 0)
			right = fmax(right, atof(attribute[1]));
	}
}

static void XMLCALL add(void *arg, const XML_Char *s, int n)
{
	(void)arg;
	strncat(texts, s, (size_t)n);
}

static void XMLCALL end(void *arg, const XML_Char *name)
{
	(void)arg;
	if (strcmp(name, "text") == 0)
		strcat(texts, "\n");
}

/* Whether the picture of c is XML. */
static bool draw(void)
{
	struct bs_text t = { svg, sizeof(svg), 0, false };
	XML_Parser parser = XML_ParserCreate(NULL);
	bool good;

	strcpy(texts, "\n");
	right = active = 0;
	bs_report_svg(&t, &c);
	XML_SetElementHandler(parser, begin, end);
	XML_SetCharacterDataHandler(parser, add);
	good = !t.full && XML_Parse(parser, svg, (int)t.len, 1) == XML_STATUS_OK;
	XML_ParserFree(parser);
	return good;
}

/* The x at which the line with this label stands, 4 pixels left of it; negative: there is none. */
static double line_of(const char *label)
{
	const char *at = strstr(svg, label);

	while (at != NULL && at > svg && strncmp(at, "<text x=\"", 9) != 0)
		at--;
	return at != NULL && at > svg ? atof(at + 9) - 4.0 : -1.0;
}

/* Words that are all of a text. */
static void has(const char *words)
{
	char line[256];

	(void)snprintf(line, sizeof(line), "\n%s\n", words);
	CHECK(strstr(texts, line) != NULL, "'%s' is there", words);
}

static void make(size_t n, int64_t first, int64_t step, double budget)
{
	memset(&c, 0, sizeof(c));
	memset(&p, 0, sizeof(p));
	(void)snprintf(p.name, sizeof(p.name), "a<&>\"b'");
	p.image_ms = budget;
	c.p = &p;
	c.runs = 1;
	c.verdict = BS_VERDICT_BROKEN;
	c.machine.processors = 2;
	(void)snprintf(c.machine.host, sizeof(c.machine.host), "host");
	(void)snprintf(c.machine.cpu, sizeof(c.machine.cpu), "Some <CPU> & more");
	(void)snprintf(c.made_at, sizeof(c.made_at), "today");
	for (size_t i = 0; i < n; i++)
		latency[i] = first + (int64_t)i * step;
	c.run[0].latency = latency;
	bs_spread_make(&c.run[0].spread[BS_SPREAD_DUE], latency, n);
}

static void test_whole(void)
{
	make(1000, MS / 10, MS / 100, 2.0);
	c.run[0].raw = 810;
	c.run[0].explained = 7;
	c.run[0].overslept = 3;
	CHECK(bs_report_pictured(&c) && draw(), "1000 images: it is XML");
	has("Latency of N = 1000 images, method gridding, protocol a<&>\"b'");
	has("Missed: 810 raw, 7 explained by stalls, 3 by the sender, 800 attributed to the "
	    "service. The contract was broken.");
	has("On host: 2 x Some <CPU> & more, GPU none; today");
	has("p50 5.09 ms");
	has("p99 9.99 ms");
	has("p99.9 10.08 ms");
	has("max 10.09 ms");
	has("budget 2 ms");
	has("100 us");
	has("1 ms");
	has("10 ms");
	has("100 ms");
	CHECK(strstr(texts, "calibrating") == NULL, "no budget of calibration where none is set");
	CHECK(active == 0, "nothing in it runs or is fetched");
	/* the axis: 100 us to 100 ms, three decades from 70 to 650 */
	CHECK(fabs(line_of("budget 2 ms") - (70.0 + 580.0 * log10(20.0) / 3.0)) < 0.06,
	      "the budget's line stands at %.1f", line_of("budget 2 ms"));
	CHECK(fabs(line_of("max 10.09 ms") - (70.0 + 580.0 * log10(100.9) / 3.0)) < 0.06,
	      "that of the largest at %.1f", line_of("max 10.09 ms"));
}

static bool is_named(void)
{
	static char words[64 << 10];
	struct bs_text t = { words, sizeof(words), 0, false };

	bs_report_markdown(&t, &c);
	return !t.full && strstr(words, "(latency.svg)") != NULL;
}

static void test_ends(void)
{
	make(1, 0, 0, 3.6e6);
	CHECK(draw(), "one image of no time and the longest budget: it is XML");
	has("Latency of N = 1 image, method gridding, protocol a<&>\"b'");
	has("budget 3600 s");
	has("max 0 us");
	CHECK(right < 700.0 && line_of("max 0 us") >= 70.0, "all lines stand on the axis");
	make(1000, 50 * MS, 0, 1e-6);
	p.stage_ms[BS_BUDGET_CALIBRATION] = 400.0;
	CHECK(draw(), "all the same, beside a budget that nothing keeps: it is XML");
	has("budget 0.001 us");
	has("calibrating 400 ms");
	CHECK(line_of("p50 50 ms") == line_of("max 50 ms"), "lines may lie on one another");
	CHECK(is_named(), "certificate.md names the picture");
	c.run[0].spread[BS_SPREAD_DUE].n = 0;
	CHECK(!bs_report_pictured(&c) && !is_named(), "without an image there is none to name");
}

/* Names as long as they may be: no line of words is wider than the picture. */
static void test_long(void)
{
	make(10, MS, 0, 2.0);
	memset(p.name, '&', sizeof(p.name) - 1);
	memset(c.machine.host, 'h', sizeof(c.machine.host) - 1);
	memset(c.machine.cpu, '<', sizeof(c.machine.cpu) - 1);
	memset(c.machine.gpu, 'g', sizeof(c.machine.gpu) - 1);
	CHECK(draw(), "long names: it is XML");
	const char *on = strstr(svg, ">On hhh");
	double size = 0.0;

	while (on != NULL && on > svg && strncmp(on, "font-size=\"", 11) != 0)
		on--;
	if (on != NULL)
		size = atof(on + 11);
	CHECK(size > 3.0 && size < 6.0, "260 characters are %.1f pixels high", size);
}

int main(void)
{
	test_whole();
	test_ends();
	test_long();
	return check_done();
}

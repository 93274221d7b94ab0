/*
 * board/tool/certify/report.h - a certificate as files: certificate.md, certificate.json,
 * latency.svg
 *
 * report.c writes the files; markdown.c, json.c and svg.c make what is in them (for report.c and
 * tests). Test: test/replay/certify.sh, test/unit/board/tool/certify/test_svg.c
 */
#ifndef BS_BOARD_TOOL_CERTIFY_REPORT_H
#define BS_BOARD_TOOL_CERTIFY_REPORT_H

#include "board/tool/certify/certificate.h"
#include "board/status/doc.h"

static inline double bs_report_ms(int64_t ns)
{
	return (double)ns * 1e-6;
}

/* False if there is nothing to draw; then latency.svg is not written. */
static inline bool bs_report_pictured(const struct bs_certificate *c)
{
	return c->runs > 0 && c->run[0].latency != NULL && c->run[0].spread[BS_SPREAD_DUE].n > 0;
}

/* Writes the files into an existing folder, each with FILE.sig beside it where the site signs. */
int bs_report_write(const struct bs_certificate *c, const char *folder, struct bs_fail *why);
/* Writes one line of a table: protocol, images, quantiles, misses, verdict. */
void bs_report_line(const struct bs_certificate *c, char *out, size_t cap);

void bs_report_markdown(struct bs_text *t, const struct bs_certificate *c);
void bs_report_json(struct bs_doc *d, const struct bs_certificate *c);
/* Draws the histogram of the first run: images by their time from due to handed on. */
void bs_report_svg(struct bs_text *t, const struct bs_certificate *c);

#endif

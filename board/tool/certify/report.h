/*
 * board/tool/certify/report.h - a certificate as files: certificate.md, certificate.json,
 * latency.png
 *
 * report.c writes the files and the chart, markdown.c and json.c the texts (for report.c alone).
 * Test: test/replay/certify.sh
 */
#ifndef BS_BOARD_TOOL_CERTIFY_REPORT_H
#define BS_BOARD_TOOL_CERTIFY_REPORT_H

#include "board/tool/certify/certificate.h"
#include "board/status/doc.h"

static inline double bs_report_ms(int64_t ns)
{
	return (double)ns * 1e-6;
}

/* The files, into a folder that is there. */
int bs_report_write(const struct bs_certificate *c, const char *folder, struct bs_fail *why);
/* One line for a table: protocol, images, quantiles, misses, verdict. */
void bs_report_line(const struct bs_certificate *c, char *out, size_t cap);

void bs_report_markdown(struct bs_text *t, const struct bs_certificate *c);
void bs_report_json(struct bs_doc *d, const struct bs_certificate *c);

#endif

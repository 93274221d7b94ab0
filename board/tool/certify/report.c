/*
 * board/tool/certify/report.c - the files of a certificate, its one line; see report.h
 */
#include "board/tool/certify/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/tool/signedfile.h"
#include "drivers/tool/written.h"
#include "ipc/seal/keys.h"

#define TEXT_BYTES ((size_t)256 << 10)

static int write_file(const char *folder, const char *name, const struct bs_text *t,
		      const struct bs_signer *signer, struct bs_fail *why)
{
	char path[512];
	int rc;

	(void)snprintf(path, sizeof(path), "%.490s/%s", folder, name);
	rc = bs_text_save(path, t, why);
	return rc == 0 && signer != NULL ? bs_sign_file(signer, path, why) : rc;
}

int bs_report_write(const struct bs_certificate *c, const char *folder, struct bs_fail *why)
{
	const bool signs = c->site.keys.sign[0] != '\0';
	const struct bs_signer *by = NULL;
	char *room = malloc(TEXT_BYTES);
	struct bs_text t = { room, TEXT_BYTES, 0, false };
	struct bs_signer signer = { 0 };
	struct bs_doc d;
	int rc = 0;

	if (room == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for a certificate");
	if (signs)
		rc = bs_signer_read(&signer, c->site.keys.sign, why);
	by = signs ? &signer : NULL;
	if (rc == 0 && bs_report_pictured(c)) {
		bs_report_svg(&t, c);
		rc = write_file(folder, "latency.svg", &t, by, why);
	}
	t.len = 0;
	bs_report_markdown(&t, c);
	if (rc == 0)
		rc = write_file(folder, "certificate.md", &t, by, why);
	bs_doc_begin(&d, room, TEXT_BYTES);
	bs_report_json(&d, c);
	(void)bs_doc_end(&d);
	if (rc == 0)
		rc = write_file(folder, "certificate.json", &d.text, by, why);
	bs_seal_wipe_bytes(&signer, sizeof(signer));
	free(room);
	return rc;
}

/* Writes the words of a table's last column. */
static void verdict_words(const struct bs_certificate *c, char *out, size_t cap)
{
	uint64_t explained = c->run[0].explained;
	uint64_t overslept = c->run[0].overslept;

	if (c->verdict != BS_VERDICT_KEPT)
		(void)snprintf(out, cap, "%s: %s",
			       c->verdict == BS_VERDICT_BROKEN ? "BROKEN" : "NOT PROVEN",
			       c->whys > 0 ? c->why[0] : "");
	else if (explained + overslept > 0)
		(void)snprintf(out, cap,
			       "kept, %" PRIu64 " late by stalls of the machine, %" PRIu64
			       " by the sender alone",
			       explained, overslept);
	else
		(void)snprintf(out, cap, "kept");
}

void bs_report_line(const struct bs_certificate *c, char *out, size_t cap)
{
	const struct bs_certify_run *r = &c->run[0];
	const struct bs_spread *due = &r->spread[BS_SPREAD_DUE];
	const struct bs_spread *received = &r->spread[BS_SPREAD_RECEIVED];
	char words[300];

	verdict_words(c, words, sizeof(words));
	if (c->refused[0] != '\0' || c->runs == 0)
		(void)snprintf(out, cap, "%s: budget %g ms, %s", c->p->name, c->p->image_ms, words);
	else
		(void)snprintf(out, cap,
			       "%s: budget %g ms, N %" PRIu64
			       ", from due p50 %.3f p99 %.3f p99.9 %.3f max %.3f ms, from received "
			       "p50 %.3f p99.9 %.3f max %.3f ms (less stalls p99.9 %.3f ms), "
			       "missed %" PRIu64 " raw %" PRIu64 " attributed, %s",
			       c->p->name, c->p->image_ms, r->arrived, bs_report_ms(due->p50_ns),
			       bs_report_ms(due->p99_ns), bs_report_ms(due->p999_ns),
			       bs_report_ms(due->max_ns), bs_report_ms(received->p50_ns),
			       bs_report_ms(received->p999_ns), bs_report_ms(received->max_ns),
			       bs_report_ms(r->spread[BS_SPREAD_QUIET].p999_ns), r->raw,
			       bs_certify_attributed(r), words);
}

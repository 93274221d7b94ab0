/* board/status/scans.c - the last scans and how they ended; see members.h */
#define _POSIX_C_SOURCE 200809L /* gmtime_r */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "board/status/members.h"

/* The newest last. One that is written over meanwhile is a later one by then. */
void bs_status_scans(struct bs_doc *d, const struct bs_shared *s)
{
	const uint64_t n = atomic_load(&s->past_scans);

	bs_doc_open(d, "scans", '[');
	for (uint64_t i = n > BS_SCANS_PAST - 1 ? n - (BS_SCANS_PAST - 1) : 0; i < n; i++) {
		const struct bs_scan_past *p = &s->past[i % BS_SCANS_PAST];
		const time_t ended = (time_t)(p->ended_ns / 1000000000);
		char text[32] = "";
		struct tm utc;

		bs_doc_open(d, NULL, '{');
		bs_doc_number(d, "number", p->number);
		(void)snprintf(text, sizeof(text), "%016" PRIx64, p->session);
		bs_doc_text(d, "session", text);
		bs_doc_chars(d, "protocol", p->protocol, sizeof(p->protocol));
		text[0] = '\0';
		if (gmtime_r(&ended, &utc) != NULL)
			(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
		bs_doc_text(d, "ended", text);
		bs_doc_real(d, "seconds", (double)p->took_ns * 1e-9);
		bs_doc_number(d, "acquisitions", p->acquisitions);
		bs_doc_number(d, "images", p->images);
		bs_doc_number(d, "gaps", p->gaps);
		bs_doc_number(d, "duplicates", p->duplicates);
		bs_doc_number(d, "rejected", p->rejected);
		bs_doc_number(d, "late", p->late);
		bs_doc_number(d, "undelivered", p->undelivered);
		bs_doc_value(d, "code", "%d", p->code);
		bs_doc_text(d, "name", bs_err_name(p->code));
		bs_doc_chars(d, "text", p->text, sizeof(p->text));
		bs_doc_close(d);
	}
	bs_doc_close(d);
}

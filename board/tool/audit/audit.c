/* board/tool/audit/audit.c - see audit.h */
#include "board/tool/audit/audit.h"

#include <string.h>

#include "board/tool/audit/outcomes.h"
#include "board/tool/audit/part.h"

/* Reads the folders of one kind. Logs come before stores: an image's scan is
 * looked up among them. */
static int read_folders(struct bs_audit *a, enum bs_audit_folder wanted, struct bs_fail *why)
{
	enum bs_audit_folder kind;
	int rc = 0;

	for (size_t i = 0; rc == 0 && a->q->dirs[i] != NULL; i++) {
		rc = bs_audit_kind(a->q->dirs[i], &kind, why);
		if (rc != 0 || kind != wanted)
			continue;
		a->logs = a->logs || kind == BS_AUDIT_LOGS;
		a->stores = a->stores || kind == BS_AUDIT_STORE;
		rc = kind == BS_AUDIT_LOGS ? bs_audit_logs(a, a->q->dirs[i], why)
					   : bs_audit_store(a, a->q->dirs[i], why);
	}
	return rc;
}

/* Prints how much was read, and what could not be judged. */
static void sum_up(struct bs_audit *a)
{
	bool first = true;

	if (!a->logs)
		bs_note(a->f,
			"no folder of logs is given: nothing is known of the scans' readouts");
	if (!a->stores)
		bs_note(a->f, "no folder of images is given: nothing is known of them");
	if (a->q->events == NULL)
		bs_note(a->f, "no log of the service is given (--events): nothing is known of "
			      "outcomes");
	a->sum->found = a->f->found;
	for (unsigned i = 0; i < BS_PROMISES; i++) {
		a->sum->judged += a->f->judged[i];
		if (a->f->judged[i])
			continue;
		(void)fprintf(a->f->to, "%s%s", first ? "not judged: " : ", ",
			      bs_promise_name((enum bs_promise)i));
		first = false;
	}
	if (!first)
		(void)fprintf(a->f->to, "\n");
}

int bs_audit_run(const struct bs_audit_request *q, struct bs_findings *f, struct bs_audit_sum *sum,
		 struct bs_fail *why)
{
	struct bs_audit a = { .q = q, .f = f, .sum = sum, .store_rests = true };
	int rc = 0;

	memset(sum, 0, sizeof(*sum));
	if (q->events != NULL)
		rc = bs_audit_outcomes(&a, &sum->outcomes, why);
	if (rc == 0)
		rc = read_folders(&a, BS_AUDIT_LOGS, why);
	if (rc == 0)
		rc = read_folders(&a, BS_AUDIT_STORE, why);
	if (rc == 0) {
		bs_audit_judge(&a);
		sum_up(&a);
	}
	bs_audit_scans_free(&a.scans);
	return rc;
}

/* board/tool/audit/logs.c - a folder of scans' logs; see part.h */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/audit/part.h"
#include "core/thread/clock.h"
#include "drivers/log/folder.h"
#include "drivers/tool/load/proof.h"

/* True if the sender miscounted, which its outcome says. */
static bool miscounted(struct bs_audit *a, uint64_t session)
{
	const struct bs_audit_scan *scan = bs_audit_scan(&a->scans, session);

	return scan != NULL && scan->outcome.known && scan->outcome.code == BS_ERR_SEQUENCE;
}

/* Reads the log again if it was being written and something was found. */
static void read_log(struct bs_audit *a, const char *path, struct bs_audit_frames *fr,
		     struct bs_audit_log *log, uint64_t *session)
{
	static struct bs_audit_kspace k;

	for (int tries = 1;; tries++) {
		memset(log, 0, sizeof(*log));
		bs_found_begin(a->f);
		bs_audit_kspace_begin(&k, a->f, a->where, log);
		bs_audit_frames(a->f, path, a->where, fr, bs_audit_kspace_take, &k);
		bs_audit_kspace_end(&k, path, !fr->damaged && !miscounted(a, k.session));
		if (k.session != 0 && fr->begins.id != 0 && k.session != fr->begins.session)
			bs_found(a->f, BS_PROMISE_SESSION, path,
				 "its head says session %016" PRIx64 ", its messages %016" PRIx64,
				 fr->begins.session, k.session);
		if (a->f->now == 0 || fr->gone || !fr->restless || tries == BS_AUDIT_TRIES)
			break;
		bs_sleep_ns(BS_AUDIT_PAUSE_NS);
	}
	*session = fr->begins.id != 0 ? fr->begins.session : k.session;
	log->sealed = fr->sealed;
	log->damaged = fr->damaged;
	log->scan = fr->begins.scan;
}

/* Notes a session's log. Of several the last one with readouts counts. */
static int note_log(struct bs_audit *a, uint64_t session, const struct bs_audit_log *log,
		    const char *name, struct bs_fail *why)
{
	struct bs_audit_scan *scan = bs_audit_scan(&a->scans, session);

	if (scan == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory", name);
	const uint32_t logs = scan->log.logs + 1;

	if (logs == 1 || log->acqs > 0)
		scan->log = *log;
	if (logs == 1 || log->acqs > 0)
		(void)snprintf(scan->log.name, sizeof(scan->log.name), "%s", name);
	scan->log.logs = logs;
	return 0;
}

/* Judges a log's signatures. The service signs what a killed writer left a moment after its end. */
static void judge_signed(struct bs_audit *a, const char *path, bool restless)
{
	struct bs_log_proof sum;
	struct bs_fail why;
	int rc = bs_log_prove(path, a->q->key, &sum, &why);

	for (int tries = 1; rc != 0 && restless && tries < BS_AUDIT_TRIES; tries++) {
		bs_sleep_ns(BS_AUDIT_PAUSE_NS);
		rc = bs_log_prove(path, a->q->key, &sum, &why);
	}
	bs_judged(a->f, BS_PROMISE_SIGNED);
	if (rc != 0)
		bs_found(a->f, BS_PROMISE_SIGNED, path, "%s", why.text);
	bs_found_keep(a->f);
}

static int audit_log(struct bs_audit *a, const char *dir, const struct bs_log_entry *e,
		     struct bs_fail *why)
{
	char path[BS_LOG_DIR + BS_LOG_NAME + 2];
	struct bs_audit_frames fr;
	struct bs_audit_log log;
	uint64_t session;
	int rc = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, e->name);
	read_log(a, path, &fr, &log, &session);
	if (fr.gone) {
		bs_found_drop(a->f);
		bs_note(a->f, "%s: was removed while it was read", path);
		return 0;
	}
	bs_found_keep(a->f);
	if (a->q->key != NULL && fr.sealed && !fr.damaged)
		judge_signed(a, path, fr.restless);
	a->sum->logs++;
	a->sum->records += fr.records;
	a->sum->bytes += fr.bytes;
	if (!fr.sealed)
		bs_note(a->f, "%s: has no end: %" PRIu64 " records%s", path, fr.records,
			fr.end == BS_LOG_END_TORN ? ", the last write is torn" : "");
	else if (fr.uncut)
		bs_note(a->f, "%s: is sealed and not cut yet", path);
	if (session != 0)
		rc = note_log(a, session, &log, e->name, why);
	return rc;
}

int bs_audit_logs(struct bs_audit *a, const char *dir, struct bs_fail *why)
{
	struct bs_log_entry *list;
	size_t count;
	int rc = bs_log_folder_list(dir, &list, &count, why);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (a->oldest[0] == '\0' || strcmp(list[i].name, a->oldest) < 0)
			(void)snprintf(a->oldest, sizeof(a->oldest), "%s", list[i].name);
		rc = audit_log(a, dir, &list[i], why);
	}
	if (rc == 0)
		bs_audit_folder(a, dir, count > 0 ? list[count - 1].name : "");
	free(list);
	return rc;
}

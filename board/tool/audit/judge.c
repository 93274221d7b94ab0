/* board/tool/audit/judge.c - what log, images and outcome of each scan say of one another */
#include <inttypes.h>
#include <string.h>

#include "board/tool/audit/part.h"

/* Judges the numbers that the log of a closed scan lacks. */
static void judge_gaps(struct bs_audit *a, const struct bs_audit_scan *s, const char *where)
{
	const struct bs_audit_log *log = &s->log;
	const struct bs_audit_outcome *o = &s->outcome;
	const uint64_t named = o->known ? o->gaps + o->rejected + o->lacks : s->shots.named;

	if (log->logs != 1 || !log->sealed || !log->closed || log->damaged)
		return;
	if (log->missing > named && !o->known) {
		/*
		 * the log may be of a refused scan, of one after the last image, or one that could
		 * not be written
		 */
		a->unnamed++;
		return;
	}
	bs_judged(a->f, BS_PROMISE_GAPS);
	if (log->missing > named)
		bs_found(a->f, BS_PROMISE_GAPS, where,
			 "%" PRIu64 " numbers are not in it, %" PRIu64 " the first: %" PRIu64
			 " gaps, %" PRIu64 " rejected, %" PRIu64 " lacking",
			 log->missing, log->first_missing, o->gaps, o->rejected, o->lacks);
}

/* Judges the log that the outcome names. True: it is there. */
static bool judge_outcome_log(struct bs_audit *a, const struct bs_audit_scan *s, const char *where)
{
	const struct bs_audit_log *log = &s->log;
	const struct bs_audit_outcome *o = &s->outcome;

	if (!o->has_log || !a->logs)
		return false;
	if (log->logs == 0 && strcmp(o->log, a->oldest) < 0) {
		a->gone++;
		return false;
	}
	bs_judged(a->f, BS_PROMISE_OUTCOME_LOG);
	if (log->logs == 0)
		bs_found(a->f, BS_PROMISE_OUTCOME_LOG, where, "log %s is not there", o->log);
	else if (log->logs == 1 && strcmp(log->name, o->log) != 0)
		bs_found(a->f, BS_PROMISE_OUTCOME_LOG, where, "the outcome names log %s", o->log);
	else if (log->logs == 1 && !log->sealed && o->lacks == 0)
		bs_found(a->f, BS_PROMISE_OUTCOME_LOG, where, "it has no end");
	return log->logs == 1;
}

static void judge_outcome(struct bs_audit *a, const struct bs_audit_scan *s, const char *where)
{
	const struct bs_audit_log *log = &s->log;
	const struct bs_audit_outcome *o = &s->outcome;
	const bool whole = log->sealed && log->closed && !log->damaged && log->missing == 0 &&
			   log->close_count == log->acqs;

	if (log->scan != 0) {
		bs_judged(a->f, BS_PROMISE_OUTCOME_SCAN);
		if (log->scan != o->scan)
			bs_found(a->f, BS_PROMISE_OUTCOME_SCAN, where,
				 "scan %u, the outcome is of %" PRIu64, log->scan, o->scan);
	}
	bs_judged(a->f, BS_PROMISE_OUTCOME_WHOLE);
	if (o->code == 0 && o->lacks == 0 && !whole)
		bs_found(a->f, BS_PROMISE_OUTCOME_WHOLE, where,
			 "%s, %s, %" PRIu64 " of %" PRIu64 " acquisitions, %" PRIu64
			 " numbers missing%s",
			 log->sealed ? "sealed" : "no end", log->closed ? "closed" : "no CLOSE",
			 log->acqs, log->close_count, log->missing,
			 log->damaged ? ", damaged" : "");
	if (log->damaged)
		return;
	bs_judged(a->f, BS_PROMISE_OUTCOME_READOUTS);
	if (log->acqs + o->lacks < o->acquisitions || log->acqs > o->acquisitions + o->rejected)
		bs_found(a->f, BS_PROMISE_OUTCOME_READOUTS, where,
			 "%" PRIu64 " acquisitions, the outcome counts %" PRIu64 ", %" PRIu64
			 " rejected, %" PRIu64 " messages lacking",
			 log->acqs, o->acquisitions, o->rejected, o->lacks);
}

/* True if all of the scan's images that the store was given are there and were read. */
static bool is_settled(const struct bs_audit *a, const struct bs_audit_scan *s)
{
	const struct bs_audit_shots *t = &s->shots;

	if (!a->stores || a->store_first[0] == '\0' || t->cut || (!t->over && !a->store_rests))
		return false;
	/* without images the store must be older than the scan and have lost nothing */
	return t->images > 0 || (a->store_whole && a->store_rests && s->outcome.has_log &&
				 strcmp(s->outcome.log, a->store_first) > 0);
}

/* Judges the number of images. Those made again after a kill are counted once, by
 * the first service. */
static void judge_images(struct bs_audit *a, const struct bs_audit_scan *s, const char *where)
{
	const struct bs_audit_shots *t = &s->shots;
	const struct bs_audit_outcome *o = &s->outcome;

	if (!is_settled(a, s))
		return;
	bs_judged(a->f, BS_PROMISE_OUTCOME_IMAGES);
	if (o->images > t->images + o->undelivered)
		bs_found(a->f, BS_PROMISE_OUTCOME_IMAGES, where,
			 "%" PRIu64 " images are stored, the outcome counts %" PRIu64 ", %" PRIu64
			 " undelivered",
			 t->images, o->images, o->undelivered);
	else if (o->code == 0 && o->undelivered == 0 && t->images != t->last)
		bs_found(a->f, BS_PROMISE_OUTCOME_IMAGES, where,
			 "%" PRIu64 " images are stored, the last is number %" PRIu64
			 ", and all is well by the outcome",
			 t->images, t->last);
	if (t->images != o->images)
		return;
	bs_judged(a->f, BS_PROMISE_OUTCOME_LATE);
	if (t->late > o->late)
		bs_found(a->f, BS_PROMISE_OUTCOME_LATE, where,
			 "%" PRIu64 " images missed their budget, the outcome counts %" PRIu64,
			 t->late, o->late);
}

static void judge_scan(void *arg, struct bs_audit_scan *s)
{
	struct bs_audit *a = arg;
	char where[128];

	(void)snprintf(where, sizeof(where), "session %016" PRIx64 "%s%s", s->session,
		       s->log.name[0] != '\0' ? ", log " : "", s->log.name);
	bs_found_begin(a->f);
	judge_gaps(a, s, where);
	if (s->outcome.known && judge_outcome_log(a, s, where))
		judge_outcome(a, s, where);
	if (s->outcome.known)
		judge_images(a, s, where);
	if (s->log.logs > 1)
		bs_note(a->f, "%s: %u logs are of this session: its counts are not judged", where,
			s->log.logs);
	bs_found_keep(a->f);
}

void bs_audit_judge(struct bs_audit *a)
{
	bs_audit_scans_each(&a->scans, judge_scan, a);
	if (a->unnamed > 0)
		bs_note(a->f,
			"the logs of %" PRIu64 " scans lack numbers of the wire, and nothing here "
			"says why: the service's log does (--events)",
			a->unnamed);
	if (a->logs && a->unlogged > 0)
		bs_note(a->f,
			"%" PRIu64 " images are of scans whose logs are not there: they are judged "
			"alone",
			a->unlogged);
	if (a->gone > 0)
		bs_note(a->f,
			"the logs of %" PRIu64
			" scans that have an outcome were removed: they were "
			"older than all that are there",
			a->gone);
}

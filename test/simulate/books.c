/* test/simulate/books.c - see books.h */
#include "test/simulate/books.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/wire/mrd.h"
#include "test/simulate/answers.h"
#include "test/simulate/disk/disk.h"
#include "test/simulate/service.h"
#include "test/simulate/totals.h"

static struct book book[BOOKS];
static unsigned books;
/* The one that the service has taken last, where that came late: it may die before it counts it. */
static struct book *late_now;
static uint64_t late_seq; /* and its number */

void books_reset(void)
{
	late_now = NULL;
	books = 0;
}

struct book *books_open(uint64_t session, unsigned link, bool asks)
{
	struct book *b = &book[books < BOOKS ? books++ : BOOKS - 1];

	*b = (struct book){ .session = session, .link = link, .asks = asks };
	for (const struct book *o = book; o < b; o++)
		b->untold += !o->told;
	return b;
}

unsigned books_beside(const struct book *b)
{
	return b->untold + (unsigned)(&book[books - 1] - b);
}

void books_sent(struct book *b, uint64_t seq, bool wave, bool bad, uint64_t flags)
{
	b->numbers = seq;
	if (!wave)
		b->mark[seq] = (uint8_t)(MARK_ACQ | (bad ? MARK_BAD : 0));
	b->answer[seq] = (flags & BS_MRD_IS_NAVIGATION) != 0 ? ANSWER_OF : 0;
	b->acqs += !wave;
	b->bad += bad;
}

struct book *books_number(unsigned i)
{
	return i < books ? &book[i] : NULL;
}

struct book *books_find(uint64_t session)
{
	for (unsigned i = books; i > 0; i--)
		if (book[i - 1].session == session)
			return &book[i - 1];
	return NULL;
}

/* Closed, acknowledged as durable to its end (CLOSE alone is not, in a relaxed log), and in its
 * log. */
static bool is_safe(const struct book *b)
{
	return b->closed && b->held == b->numbers && b->durable + b->relaxed >= b->numbers &&
	       b->unprotected == 0;
}

/* ---- readouts ---- */

static float sample(uint64_t session, uint64_t seq, uint32_t i)
{
	return (float)((session ^ (session >> 29) ^ (seq * 7919 + i * 104729)) % 8191);
}

size_t books_acq(unsigned char out[BOOK_ACQ_BYTES], const struct book *b, uint64_t seq, bool bad,
		 uint64_t flags)
{
	struct bs_mrd_acq head = { .version = 1,
				   .flags = flags,
				   .scan_counter = (uint32_t)seq,
				   .number_of_samples = BOOK_SAMPLES,
				   .available_channels = 1,
				   .active_channels = 1,
				   .sample_time_us = 5.0f,
				   .user_int = { (int32_t)(uint32_t)b->session,
						 (int32_t)(uint32_t)(b->session >> 32) } };
	float data[BOOK_SAMPLES * 2];

	head.idx.kspace_encode_step_1 = (uint16_t)(seq % BOOK_LINES);
	if (bad)
		head.idx.slice = 99;
	bs_mrd_put_acq(out, &head);
	for (uint32_t i = 0; i < BOOK_SAMPLES * 2; i++)
		data[i] = sample(b->session, seq, i);
	memcpy(out + BS_MRD_ACQ_BYTES, data, sizeof(data));
	return BOOK_ACQ_BYTES;
}

void books_saw(const struct bs_mrd_acq *head, const float *samples)
{
	const uint64_t seq = head->scan_counter;
	const uint32_t low = (uint32_t)head->user_int[0];
	struct book *b = books_find((uint64_t)(uint32_t)head->user_int[1] << 32 | low);

	if (b == NULL || seq == 0 || seq > b->numbers || (b->mark[seq] & MARK_ACQ) == 0) {
		sim_broken("the reconstruction has a readout that nobody sent");
		return;
	}
	if ((b->mark[seq] & MARK_BAD) && !service_records())
		sim_broken("readout %llu was to be refused", (unsigned long long)seq);
	if (b->over)
		return;
	if (b->mark[seq] & MARK_THIS_RUN)
		sim_broken("readout %llu comes twice to one run of the reconstruction",
			   (unsigned long long)seq);
	if (b->mark[seq] & MARK_GAP) {
		if (!b->killed)
			sim_broken("readout %llu was named as missing", (unsigned long long)seq);
		b->late -= (b->mark[seq] & MARK_LATE) != 0;
		b->mark[seq] &= (uint8_t) ~(MARK_GAP | MARK_LATE); /* whoever named it died */
		b->gaps--;
	}
	if (b->ended)
		sim_broken("readout %llu comes after the scan's end", (unsigned long long)seq);
	for (uint64_t later = seq + 1; later <= b->numbers; later++)
		if (b->mark[later] & MARK_THIS_RUN) {
			sim_broken("readout %llu comes after %llu", (unsigned long long)seq,
				   (unsigned long long)later);
			break;
		}
	for (uint64_t before = 1; before < seq && !b->lost; before++)
		if ((b->mark[before] & (MARK_ACQ | MARK_BAD | MARK_GAP | MARK_THIS_RUN)) ==
		    MARK_ACQ) {
			sim_broken("readout %llu comes, %llu has not", (unsigned long long)seq,
				   (unsigned long long)before);
			break;
		}
	if (!(head->flags & BS_MRD_IS_DUMMY) && !service_records())
		for (uint32_t i = 0; i < BOOK_SAMPLES * 2; i++)
			if (samples[i] != sample(b->session, seq, i)) {
				sim_broken("sample %u of readout %llu is not what was sent", i,
					   (unsigned long long)seq);
				break;
			}
	b->mark[seq] |= MARK_THIS_RUN;
}

void books_recon_opens(uint64_t session, uint64_t scan)
{
	struct book *b = books_find(session);

	if (b == NULL)
		return;
	if (b->opened && b->scan != scan && books_beside(b) < 2) /* else it may be forgotten */
		sim_broken("a scan begins twice");
	b->over = b->ended && b->scan == scan; /* given again although its end is on its way */
	if (b->over)
		return;
	b->opened = true;
	b->passed_ns = 0; /* its images are made again */
	b->scan = scan;
	b->ended = false;
	for (uint64_t seq = 1; seq <= b->numbers; seq++) /* it begins with nothing */
		b->mark[seq] &= (uint8_t)~MARK_THIS_RUN;
}

void books_recon_ends(uint64_t session)
{
	struct book *b = books_find(session);

	if (b == NULL || b->over)
		return;
	b->ended = true;
	b->made = 0;
	for (uint64_t seq = 1; seq <= b->numbers; seq++)
		b->made += (b->mark[seq] & MARK_THIS_RUN) != 0;
}

void books_passed(uint64_t scan)
{
	struct book *b = NULL;

	for (unsigned i = 0; i < books; i++)
		if (book[i].opened && book[i].scan == scan)
			b = &book[i];
	if (b == NULL || !b->ended)
		return;
	b->passed = true;
	b->passed_ns = sim_now;
	for (uint64_t seq = 1; seq <= b->numbers; seq++)
		if ((b->mark[seq] & (MARK_ACQ | MARK_BAD | MARK_GAP | MARK_THIS_RUN)) == MARK_ACQ)
			b->passed = false;
}

void books_over(uint64_t session)
{
	for (unsigned i = 0; i < books; i++) {
		const bool its = book[i].session == session;

		book[i].behind = its ? 0 : book[i].behind + book[i].over_said;
		book[i].over_said = book[i].over_said || its;
	}
}

void books_named(uint64_t session, const char *words)
{
	struct book *b = books_find(session);

	if (b == NULL)
		return;
	b->named = true;
	if (b->comes_first && is_safe(b) && strstr(words, "another header") != NULL)
		sim_broken("scan %016llx was closed and durable, and another's header ended it",
			   (unsigned long long)session);
}

void books_said(const char *words)
{
	char name[24];

	for (unsigned i = 0; i < books; i++) {
		(void)snprintf(name, sizeof(name), "-%016llx-",
			       (unsigned long long)book[i].session);
		if ((strstr(words, name) != NULL && (strstr(words, "cannot be sealed") != NULL ||
						     strstr(words, "cannot be opened") != NULL)) ||
		    strstr(words, "have no end get none yet") != NULL)
			book[i].endless = true;
		book[i].named = book[i].named || strstr(words, name) != NULL ||
				strstr(words, "cannot be listed") != NULL;
	}
}

void books_judge_made(void)
{
	for (unsigned i = 0; i < books; i++) {
		const struct book *b = &book[i];

		if (is_safe(b) && !b->passed && !b->named && !b->told)
			sim_broken("scan %016llx was closed and durable, its images were not all "
				   "made, and nothing names it",
				   (unsigned long long)b->session);
	}
}

void books_recon_gone(void)
{
	for (unsigned i = 0; i < books; i++) {
		struct book *b = &book[i];

		if (b->ended)
			continue;
		if (b->opened && !b->told) {
			if (b->unprotected > 0 && !b->over_recon)
				sim_saw(SEEN_UNPROTECTED_RECON);
			b->over_recon = true;
		}
		for (uint64_t seq = 1; seq <= b->numbers; seq++)
			b->mark[seq] &= (uint8_t)~MARK_THIS_RUN;
	}
}

void books_relaxed_lost(void)
{
	for (unsigned i = 0; i < books; i++) {
		struct book *b = &book[i];

		if (b->relaxed)
			b->durable = b->held = 0;
		/* an ACK under way, or of a closed log, may still call them durable */
		for (uint64_t seq = b->numbers; service_relaxed() && seq > b->excused; seq--)
			if (b->mark[seq] & MARK_DELIVERED)
				b->excused = seq;
	}
}

void books_power_lost(void)
{
	books_relaxed_lost();
	answers_forgotten();
	for (unsigned i = 0; i < books; i++)
		if (!book[i].relaxed && book[i].durable > 0 && !book[i].told)
			sim_saw(SEEN_DURABLE_POWER);
}

void books_killed(void)
{
	for (unsigned i = 0; i < books; i++) {
		struct book *b = &book[i];

		b->killed = true;
		if (!b->accepted || b->told)
			continue;
		if (b->unprotected > 0 && !b->over_ingest)
			sim_saw(SEEN_UNPROTECTED_INGEST);
		b->over_ingest = true;
	}
	if (late_now != NULL && (late_now->mark[late_seq] & MARK_LATE) != 0) {
		late_now->late--;
		late_now->mark[late_seq] &= (uint8_t)~MARK_LATE;
	}
	late_now = NULL;
}

void books_forgotten(void)
{
	books_lost();
	answers_forgotten();
	for (unsigned i = 0; i < books; i++) {
		book[i].killed = true;
		book[i].over_service = book[i].over_service || (book[i].accepted && !book[i].told);
		book[i].comes_first =
			is_safe(&book[i]) && book[i].durable >= book[i].numbers && !book[i].told;
		book[i].opened = book[i].over = false;
		book[i].passed_ns = 0;
		book[i].scan = 0;
	}
}

void books_lost(void)
{
	for (unsigned i = 0; i < books; i++)
		book[i].lost = true;
}

/* ---- what the service has, and says ---- */
#define AGAIN_NS (4000 * MS) /* the longest interval of resending; a gap waits 4.5 s (6, 8) */

/* seq came, or was named: is one before it still awaited? */
static void look_for_gap(struct book *b, uint64_t seq)
{
	const uint64_t had = b->whole_to;

	while (b->whole_to < b->numbers &&
	       (b->mark[b->whole_to + 1] & (MARK_DELIVERED | MARK_GAP)) != 0)
		b->whole_to++;
	if (seq <= b->whole_to)
		b->lacks_ns = b->lacks_ns != 0 && b->whole_to > had ? sim_now : b->lacks_ns;
	else if (b->lacks_ns == 0)
		b->lacks_ns = sim_now;
}

static void mark_delivered(struct book *b, uint64_t seq)
{
	uint8_t *mark = &b->mark[seq];

	*mark |= MARK_DELIVERED;
	look_for_gap(b, seq);
	if ((*mark & (MARK_GAP | MARK_ACQ | MARK_LATE)) != (MARK_GAP | MARK_ACQ) ||
	    !service_takes(b->session))
		return;
	*mark |= MARK_LATE;
	b->late++;
	late_now = b;
	late_seq = seq;
}

bool books_delivered(const unsigned char *msg, size_t len)
{
	const unsigned char *payload;
	struct bs_fail why;
	struct bs_wire w;
	struct book *b;

	late_now = NULL;
	if (bs_wire_decode(&w, msg, len, &payload, &why) != 0 || w.kind == BS_WIRE_HEARTBEAT)
		return false;
	b = books_find(w.session);
	if (b != NULL && w.seq >= 1 && w.seq <= b->numbers)
		mark_delivered(b, w.seq);
	return w.kind == BS_WIRE_OPEN || w.kind == BS_WIRE_CLOSE;
}

void books_gap(uint64_t session, uint64_t first, uint64_t count)
{
	struct book *b = books_find(session);

	SAY("gap of %llu from %llu on", (unsigned long long)count, (unsigned long long)first);
	if (b == NULL)
		return;
	for (uint64_t seq = first; seq < first + count && seq < BOOK_NUMBERS; seq++) {
		const unsigned m = b->mark[seq];
		/* a service that starts anew takes it from its log, which lacks nothing */
		const bool kept = !b->lost || (seq <= b->durable && seq > b->excused &&
					       b->unprotected == 0 && !(m & MARK_BAD));

		if ((m & MARK_GAP) && b->killed)
			continue; /* whoever named it died over that */
		if (kept && (m & (MARK_GAP | MARK_OWED | MARK_THIS_RUN)))
			sim_broken("number %llu is named as missing: it was held, seen or named",
				   (unsigned long long)seq);
		b->gaps += (m & MARK_GAP) == 0;
		b->mark[seq] |= MARK_GAP;
		b->answer[seq] |= ANSWER_GAP;
		b->hasty += b->lacks_ns == 0 || sim_now - b->lacks_ns < AGAIN_NS;
	}
	look_for_gap(b, first);
}

static void heard_ack(struct book *b, const struct bs_wire_ack *ack)
{
	const uint64_t held = ack->held;

	SAY("held %llu, durable %llu, unprotected %llu", (unsigned long long)held,
	    (unsigned long long)ack->durable, (unsigned long long)ack->unprotected);
	if (held > b->numbers) {
		sim_broken("%llu is acknowledged, %llu were made", (unsigned long long)held,
			   (unsigned long long)b->numbers);
		return;
	}
	for (uint64_t seq = b->held + 1; seq <= held; seq++) {
		if (b->mark[seq] & MARK_GAP)
			continue;
		if (!(b->mark[seq] & MARK_DELIVERED))
			sim_broken("number %llu is acknowledged and never came",
				   (unsigned long long)seq);
		b->mark[seq] |= MARK_OWED;
	}
	b->held = held > b->held ? held : b->held;
	b->freed = ack->durable > b->freed ? ack->durable : b->freed;
	b->relaxed = ack->log == BS_WIRE_LOG_RELAXED;
	if (ack->log != BS_WIRE_LOG_OFF && ack->durable > b->durable)
		b->durable = ack->durable;
	if (ack->unprotected > 0 && b->unprotected == 0)
		sim_saw(SEEN_UNPROTECTED);
	if (ack->unprotected > b->unprotected)
		b->unprotected = ack->unprotected;
}

/* The service ended it before its sender did. */
static bool cut_short(int code)
{
	return code == BS_ERR_TIMEOUT || code == BS_ERR_ABORTED || code == BS_ERR_STATE;
}

/* Of a scan that no dead process held: each readout was seen, named or refused. */
static void judge_whole(const struct book *b, const struct bs_wire_outcome *o)
{
	uint64_t missing = 0;
	uint64_t refused = 0;

	if (b->opened && !b->ended)
		sim_broken("an outcome before the scan's last image");
	if (o->acquisitions != b->made)
		sim_broken("OUTCOME says %llu acquisitions, the reconstruction saw %llu",
			   (unsigned long long)o->acquisitions, (unsigned long long)b->made);
	if (o->gaps > b->gaps || (o->gaps < b->gaps && !b->killed))
		sim_broken("OUTCOME says %llu gaps, %llu were named", (unsigned long long)o->gaps,
			   (unsigned long long)b->gaps);
	for (uint64_t seq = 1; seq <= b->numbers; seq++) {
		const unsigned m = b->mark[seq];

		refused += (m & (MARK_BAD | MARK_GAP)) == MARK_BAD;
		if ((m & (MARK_ACQ | MARK_BAD)) != MARK_ACQ || (m & (MARK_GAP | MARK_THIS_RUN)))
			continue;
		missing++;
		if (m & MARK_OWED)
			sim_broken("readout %llu was acknowledged and is lost",
				   (unsigned long long)seq);
		else if (!cut_short(o->code))
			sim_broken("readout %llu is missing and not named",
				   (unsigned long long)seq);
	}
	if (o->code == 0 &&
	    (missing > 0 || o->gaps > 0 || (b->gaps > 0 && !b->killed) || b->bad > 0))
		sim_broken("OUTCOME says that all is well: %llu missing, %llu gaps, %llu refused",
			   (unsigned long long)missing, (unsigned long long)b->gaps,
			   (unsigned long long)b->bad);
	if (o->rejected < b->late)
		sim_broken("OUTCOME counts %llu rejected, %llu came late",
			   (unsigned long long)o->rejected, (unsigned long long)b->late);
	if (o->rejected < refused && b->held == b->numbers)
		sim_broken("OUTCOME counts %llu rejected, %llu had to be",
			   (unsigned long long)o->rejected, (unsigned long long)refused);
}

static void see(bool so, enum sim_seen what)
{
	if (so)
		sim_saw(what);
}

static void see_outcome(const struct book *b, const struct bs_wire_outcome *o)
{
	see(o->gaps > 0, SEEN_GAPS);
	see(cut_short(o->code), SEEN_CUT_SHORT);
	see(o->code == BS_ERR_ABORTED && strstr(o->text, "reconstruction process ended") != NULL,
	    SEEN_LOST_RECON);
	if (o->code != 0)
		return;
	sim_saw(SEEN_WHOLE);
	see(b->over_ingest, SEEN_OVER_INGEST);
	see(b->over_recon, SEEN_OVER_RECON);
	see(b->over_ingest && b->over_recon, SEEN_OVER_BOTH);
	see(b->over_service, SEEN_OVER_SERVICE);
	see(b->second, SEEN_SECOND);
	see(b->second && (b->over_ingest || b->over_recon), SEEN_SECOND_OVER);
}

/* Of a scan that is well: "log NAME", or "log NAME lacks 3 messages", ends its outcome. */
static void hear_log(struct book *b, const struct bs_wire_outcome *o)
{
	const char *log = strstr(o->text, "log 1970");
	const char *lacks = log != NULL ? strstr(log, " lacks ") : NULL;
	char name[24];

	(void)snprintf(name, sizeof(name), "-%016llx-", (unsigned long long)b->session);
	if (log != NULL && strstr(log, name) == NULL)
		sim_broken("scan %016llx has an outcome that names another's log: %s",
			   (unsigned long long)b->session, log);
	b->says_log = o->code == 0 && log != NULL;
	if (b->says_log)
		(void)sscanf(log, "log %63[^ ;]", b->log);
	b->lacks = lacks != NULL ? strtoull(lacks + strlen(" lacks "), NULL, 10) : 0;
}

static void heard_outcome(struct book *b, const struct bs_wire_outcome *o)
{
	SAY("outcome %d: %llu acquisitions, %llu gaps: %s", o->code,
	    (unsigned long long)o->acquisitions, (unsigned long long)o->gaps, o->text);
	if (o->code != 0 && o->text[0] == '\0')
		sim_broken("an outcome of code %d has no words", o->code);
	b->whole = o->code == 0;
	hear_log(b, o);
	if (!b->told)
		see_outcome(b, o);
	b->told = true;
	if (service_records())
		return; /* its logs are judged */
	if (o->code == BS_ERR_SEQUENCE && b->hasty > 0 && !b->killed && !b->lost && !b->overran)
		sim_broken("%llu numbers were given up before they can have come again",
			   (unsigned long long)b->hasty);
	if (o->code == 0 && b->made != b->acqs)
		sim_broken("OUTCOME says that all is well: %llu readouts of %llu were seen",
			   (unsigned long long)b->made, (unsigned long long)b->acqs);
	if (o->code == BS_ERR_ABORTED && strstr(o->text, "reconstruction process ended") != NULL &&
	    !b->lost) {
		if (disk_was_well() && !service_is_narrow() && service_logs() &&
		    strstr(o->text, "same readout") == NULL)
			sim_broken("a scan that is in its log is lost with a recon: %s", o->text);
		b->lost = true;
	}
	if (o->code == 0 && !b->killed)
		answers_outcome(b, o->text);
	if (!b->lost)
		judge_whole(b, o);
	else if (o->code == BS_ERR_SEQUENCE && o->gaps == 0 && b->gaps == 0)
		sim_broken("OUTCOME speaks of gaps and names none");
}

/* A scan is closed and has no outcome yet. */
static bool one_is_solved(void)
{
	for (unsigned i = 0; i < books; i++)
		if (book[i].accepted && book[i].held == book[i].numbers && book[i].closed &&
		    !book[i].told && !book[i].lost)
			return true;
	return false;
}

void books_answered(const unsigned char *msg, size_t len)
{
	const unsigned char *payload;
	struct bs_wire_ack ack;
	struct bs_wire w;
	struct book *b;

	if (bs_wire_decode(&w, msg, len, &payload, NULL) != 0 || w.kind != BS_WIRE_ACK)
		return;
	b = books_find(w.session);
	if (b == NULL || bs_wire_get_ack(&ack, payload, (size_t)w.payload_len, NULL) != 0)
		return;
	if (ack.durable < b->freed)
		sim_broken("durable goes back from %llu to %llu", (unsigned long long)b->freed,
			   (unsigned long long)ack.durable);
}

void books_heard(const struct bs_wire *w, const unsigned char *payload, size_t len)
{
	struct book *b = books_find(w->session);
	struct bs_wire_outcome o;
	struct bs_wire_ack ack;

	if (b == NULL)
		return;
	if (w->kind == BS_WIRE_ACCEPT) {
		if (!b->accepted)
			sim_saw(SEEN_ACCEPTED);
		b->second = b->second || (!b->accepted && one_is_solved());
		b->accepted = true;
	}
	if (w->kind == BS_WIRE_ACK && bs_wire_get_ack(&ack, payload, len, NULL) == 0)
		heard_ack(b, &ack);
	if (w->kind == BS_WIRE_OUTCOME && bs_wire_get_outcome(&o, payload, len, NULL) == 0)
		heard_outcome(b, &o);
}

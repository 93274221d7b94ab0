/* test/simulate/answers.c - see answers.h */
#include "test/simulate/answers.h"

#include <stdio.h>
#include <string.h>

#include "ipc/wire/answer.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/xml.h"
#include "test/simulate/disk/disk.h"
#include "test/simulate/process.h"
#include "test/simulate/senders/lane.h"
#include "test/simulate/service.h"
#include "test/simulate/totals.h"

#define KEPT 2048u /* answers of a schedule whose numbers are kept; those beyond have marks alone */

static struct told {
	const struct book *b;
	struct bs_answer answer;
	bool early; /* the log had not its readout before it */
} kept[KEPT];
static unsigned keeps;

void answers_reset(void)
{
	keeps = 0;
}

static const struct bs_answers_of *rows(void)
{
	return &service_protocol()->answers;
}

static uint8_t bit(enum book_answer mark, uint32_t row)
{
	return (uint8_t)(mark << row);
}

/* What must be true of an answer wherever it stands. */
static bool is_of_readout(const struct book *b, const struct bs_answer *a)
{
	const uint32_t at = a->row < rows()->count ? a->row : 0;
	const struct bs_answer_spec *row = &rows()->row[at];

	if (!b->asks) {
		sim_broken("an answer of scan %016llx, which asks for none",
			   (unsigned long long)b->session);
	} else if (a->image != 0 || a->readout == 0 || a->readout > b->numbers ||
		   (b->answer[a->readout] & ANSWER_OF) == 0 ||
		   (b->mark[a->readout] & (MARK_BAD | MARK_DELIVERED)) != MARK_DELIVERED) {
		sim_broken("an answer of number %llu, which has none",
			   (unsigned long long)a->readout);
	} else if (a->row != at || a->what != row->what || a->scan_counter != a->readout ||
		   a->count == 0 ||
		   a->by_ns - a->received_ns != (int64_t)(row->deadline_ms * (double)MS) ||
		   a->computed_ns < a->received_ns) {
		sim_broken("row %u's answer of number %llu is none", a->row,
			   (unsigned long long)a->readout);
	} else {
		return true;
	}
	return false;
}

/* What was said of it, or a log has; the next one is mostly asked for next. NULL: it is not kept.
 */
static struct told *find(const struct book *b, uint64_t readout, uint32_t row)
{
	static unsigned at;

	for (unsigned n = 0; n < keeps; n++) {
		struct told *t = &kept[(at + n) % keeps];

		if (t->b != b || t->answer.readout != readout || t->answer.row != row)
			continue;
		at = (unsigned)(t - kept) + 1;
		return t;
	}
	return NULL;
}

static struct told *keep(const struct book *b, const struct bs_answer *a)
{
	struct told *t = find(b, a->readout, a->row);

	if (t == NULL && keeps < KEPT)
		t = &kept[keeps++];
	if (t != NULL)
		*t = (struct told){ b, *a, false };
	return t;
}

void answers_said(unsigned link, const unsigned char *msg, size_t len)
{
	const unsigned char *payload;
	struct bs_answer a;
	struct bs_wire w;
	struct book *b;

	if (bs_wire_decode(&w, msg, len, &payload, NULL) != 0 || w.kind != BS_WIRE_ANSWER)
		return;
	b = books_find(w.session);
	if (b == NULL || bs_wire_get_answer(&a, payload, (size_t)w.payload_len, NULL) != 0) {
		sim_broken("an answer of no scan, or that is none");
		return;
	}
	SAY("link %u is told row %u of number %llu", link, a.row, (unsigned long long)a.readout);
	if (!is_of_readout(b, &a))
		return;
	if (b->answer[a.readout] & bit(ANSWER_SAID, a.row))
		sim_broken("row %u's answer of number %llu is said twice", a.row,
			   (unsigned long long)a.readout);
	if (b->link != link || b->told)
		sim_broken("an answer of scan %016llx is said %s", (unsigned long long)b->session,
			   b->link != link ? "to another" : "after its outcome");
	if (a.by_ns < process_since())
		sim_broken("row %u's answer of number %llu is said %.3f ms too late", a.row,
			   (unsigned long long)a.readout, (double)(sim_now - a.by_ns) * 1e-6);
	b->answer[a.readout] |= bit(ANSWER_SAID, a.row);
	b->answers++;
	(void)keep(b, &a);
	sim_saw(b->over_ingest ? SEEN_ANSWERS_OVER : SEEN_ANSWERS_SAID);
}

void answers_forgotten(void)
{
	struct book *b;

	for (unsigned n = 0; (b = books_number(n)) != NULL; n++)
		for (uint64_t seq = b->durable + 1; b->answers > 0 && seq <= b->numbers; seq++)
			b->answer[seq] &= ANSWER_OF | ANSWER_GAP;
	for (unsigned i = 0; i < keeps; i++)
		if (kept[i].b != NULL && kept[i].answer.readout > kept[i].b->durable)
			kept[i].b = NULL;
}

void answers_heard(const struct book *b)
{
	if (!b->asks)
		sim_broken("a sender hears an answer, and asked for none");
	sim_saw(SEEN_ANSWERS_HEARD);
}

/* The scan's readouts that are answered. */
static uint64_t readouts(const struct book *b)
{
	uint64_t n = 0;

	for (uint64_t seq = 1; seq <= b->numbers; seq++)
		n += (b->answer[seq] & ANSWER_OF) != 0;
	return n;
}

void answers_counted(uint64_t session, uint64_t said, uint64_t late)
{
	struct book *b = books_find(session);

	if (b == NULL || b->killed)
		return;
	b->answers_late = late;
	sim_totals->seen[SEEN_ANSWERS_LATE] += late;
	if (said != b->answers)
		sim_broken("scan %016llx: %llu answers are counted, %llu were said",
			   (unsigned long long)session, (unsigned long long)said,
			   (unsigned long long)b->answers);
}

void answers_outcome(const struct book *b, const char *words)
{
	const uint64_t made = b->asks ? readouts(b) * rows()->count : 0;
	const char *at = strstr(words, "answers were too late");
	unsigned long long late = 0;
	unsigned long long of = made;

	while (at != NULL && at > words && at[-1] != ';')
		at--;
	if (at != NULL && sscanf(at, "%llu of %llu", &late, &of) != 2)
		of = 0;
	if (late != b->answers_late || of != made || b->answers + late != made)
		sim_broken("OUTCOME says that %llu of %llu answers were late; %llu of %llu were "
			   "said",
			   late, of, (unsigned long long)b->answers, (unsigned long long)made);
}

/* ---- logs ---- */

static bool is_same(const struct bs_answer *a, const struct bs_answer *b)
{
	return a->what == b->what && a->scan_counter == b->scan_counter &&
	       a->numbers == b->numbers &&
	       memcmp(&a->deviation, &b->deviation, sizeof(a->deviation)) == 0 &&
	       memcmp(a->number, b->number, a->numbers * sizeof(a->number[0])) == 0;
}

void answers_logged(struct book *b, const unsigned char *payload, size_t len)
{
	struct told *t;
	struct bs_answer a;
	struct bs_fail why;

	if (bs_wire_get_answer(&a, payload, len, &why) != 0) {
		sim_broken("an answer in a log is none: %s", why.text);
		return;
	}
	if (!is_of_readout(b, &a))
		return;
	if (b->answer[a.readout] & bit(ANSWER_LOGGED, a.row))
		sim_broken("row %u's answer of number %llu is twice in a log", a.row,
			   (unsigned long long)a.readout);
	b->answer[a.readout] |= bit(ANSWER_LOGGED, a.row);
	sim_saw(SEEN_ANSWERS_LOGGED);
	t = find(b, a.readout, a.row);
	if (t != NULL && (!is_same(&t->answer, &a) || t->answer.by_ns != a.by_ns ||
			  t->answer.computed_ns != a.computed_ns || t->answer.count != a.count))
		sim_broken("row %u's answer of number %llu is another in the log", a.row,
			   (unsigned long long)a.readout);
	t = t != NULL ? t : keep(b, &a);
	if (t != NULL)
		t->early = (b->mark[a.readout] & MARK_LOGGED) == 0;
}

/* Nothing kept the log from having all that its scan was told. */
static bool is_complete(const struct book *b)
{
	return b->whole && b->says_log && b->lacks == 0 && !b->over_ingest && !b->over_service &&
	       disk_was_well() && !service_is_narrow() &&
	       !(service_relaxed() && disk_lost_relaxed());
}

/* The answers of a readout that comes next, against what was said and what the log has. */
static void judge_again(const struct book *b, uint64_t seq, const struct bs_answering_of *of)
{
	unsigned char payload[BOOK_ACQ_BYTES];
	float samples[BOOK_SAMPLES * 2];
	struct bs_answer made[BS_ANSWERS_MAX];
	struct bs_mrd_acq head;
	uint32_t n;

	(void)books_acq(payload, b, seq, false, BS_MRD_IS_NAVIGATION);
	bs_mrd_get_acq(&head, payload);
	memcpy(samples, payload + BS_MRD_ACQ_BYTES, sizeof(samples));
	n = bs_answers_make(of, &head, seq, samples, made);
	for (uint32_t i = 0; i < n; i++) {
		const struct told *t = find(b, seq, made[i].row);

		if (t == NULL)
			continue;
		if (t->early)
			sim_broken("the log has an answer of number %llu before that",
				   (unsigned long long)seq);
		if (!is_same(&t->answer, &made[i]))
			sim_broken("of the log's readouts row %u's answer of number %llu is "
				   "another",
				   made[i].row, (unsigned long long)seq);
		sim_saw(SEEN_ANSWERS_AGAIN);
	}
}

void answers_judge_log(const struct book *b)
{
	static struct bs_scan_info info;
	static float places[BS_ANSWERS_MAX][BOOK_SAMPLES * 2];
	struct bs_answering state;
	const struct bs_answering_of of = { &state, (unsigned char *)places, sizeof(places[0]),
					    service_protocol(), &info };
	unsigned char xml[LANE_HEADER];
	struct bs_fail why;

	if (!b->asks || service_records())
		return;
	if (info.answers == 0 &&
	    bs_mrdxml_read(&info, (char *)xml, lane_header(xml, true), &why) != 0)
		sim_broken("the senders' header: %s", why.text);
	bs_answers_start(&state);
	for (uint64_t seq = 1; seq <= b->numbers; seq++) {
		const bool logged = (b->mark[seq] & MARK_LOGGED) != 0;
		const unsigned told = b->answer[seq] & ~(unsigned)(ANSWER_OF | ANSWER_GAP);

		if ((b->answer[seq] & ANSWER_OF) == 0 || (!logged && told == 0 && b->lacks == 0))
			continue;
		for (uint32_t row = 0; logged && is_complete(b) && row < rows()->count; row++)
			if ((b->answer[seq] & bit(ANSWER_LOGGED, row)) == 0)
				sim_broken("the log has no answer of row %u of number %llu", row,
					   (unsigned long long)seq);
		if (!logged || told == 0 || (b->answer[seq] & ANSWER_GAP) != 0)
			return; /* what follows may be against one that is not known */
		judge_again(b, seq, &of);
	}
}

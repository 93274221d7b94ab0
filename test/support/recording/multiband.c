/*
 * test/support/recording/multiband.c - multiband IN OUT references|bands N: a multiband recording
 * as of a sender whose header and flags do not say so. Its header loses the multiband element. Its
 * single-band references are repetition 0, without their flag, or left out; its lines of several
 * bands come N times, as the repetitions after that.
 * multiband IN OUT again N: header and references as in IN, lines of several bands N times.
 * multiband IN OUT references|bands|again N WHAT: set: sets are the times, not repetitions;
 * nothing: no counter is; back: the last one's number is the first one's; cut: the first one has
 * its first 8 lines alone; moved: those behind it lie 10 mm further along z; few: references are
 * the 5 lines at the center alone.
 * multiband IN OUT every N [center|flagged]: an accelerated one. Of its lines of several bands each
 * N-th comes, and its header says so; center: and each of the middle third; flagged: these, those
 * that are no N-th as calibration lines; all else is as in IN.
 * multiband IN OUT header OLD NEW [OLD NEW]...: the same lines; the header's first OLD is NEW.
 */
#define _GNU_SOURCE /* asprintf */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/tool/load/recording.h"

static int put_header(struct bs_recording *to, struct bs_recording *from, struct bs_fail *why)
{
	static const char end[] = "</multiband>";
	const char *xml = bs_recording_xml(from);
	const char *first = strstr(xml, "<multiband>");
	const char *last = strstr(xml, end);
	char *without;
	int rc;

	if (first == NULL || last == NULL)
		return bs_fail(why, BS_ERR_XML, "the header has no multiband element");
	without = calloc(strlen(xml) + 1, 1);
	if (without == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the header");
	memcpy(without, xml, (size_t)(first - xml));
	strcat(without, last + sizeof(end) - 1);
	rc = bs_recording_put_xml(to, without, why);
	free(without);
	return rc;
}

/* The header with the first old as new, for each pair of an old and a new. */
static int put_replaced(struct bs_recording *to, struct bs_recording *from, char **pair,
			struct bs_fail *why)
{
	const char *xml = bs_recording_xml(from);
	char *text = strdup(xml);
	int rc = 0;

	for (; rc == 0 && text != NULL && pair[0] != NULL && pair[1] != NULL; pair += 2) {
		const char *at = strstr(text, pair[0]);
		const int before = at != NULL ? (int)(at - text) : 0;
		char *next = NULL;

		if (at == NULL ||
		    asprintf(&next, "%.*s%s%s", before, text, pair[1], at + strlen(pair[0])) < 0)
			rc = bs_fail(why, BS_ERR_XML, "the header has no %s", pair[0]);
		free(text);
		text = next;
	}
	if (rc == 0 && text != NULL)
		rc = bs_recording_put_xml(to, text, why);
	free(text);
	return rc;
}

/* The header with another acceleration along y. */
static int put_accelerated(struct bs_recording *to, struct bs_recording *from, long every,
			   struct bs_fail *why)
{
	char tag[] = "<accelerationFactor><kspace_encoding_step_1>1";
	char other[sizeof(tag)];
	char *pair[] = { tag, other, NULL };

	memcpy(other, tag, sizeof(tag));
	other[sizeof(tag) - 2] = (char)('0' + every);
	return put_replaced(to, from, pair, why);
}

/* The middle third of the lines. */
static bool is_center(const struct bs_recorded *a, uint32_t lines)
{
	const uint32_t y = a->head.idx.kspace_encode_step_1;

	return y >= lines / 3 && y < lines - lines / 3;
}

static uint32_t lines_of(struct bs_recording *from)
{
	struct bs_recorded a;
	uint32_t most = 0;

	for (uint32_t i = 0; i < bs_recording_count(from); i++)
		if (bs_recording_read(from, i, &a, NULL) == 0 &&
		    a.head.idx.kspace_encode_step_1 >= most)
			most = a.head.idx.kspace_encode_step_1 + 1u;
	return most;
}

/* center: the middle third comes, too. flag: flags that this gives a line that is no N-th. */
static int put_every(struct bs_recording *to, struct bs_recording *from, long every, bool center,
		     uint64_t flag, struct bs_fail *why)
{
	const uint32_t lines = lines_of(from);
	struct bs_recorded a;
	int rc = put_accelerated(to, from, every, why);

	for (uint32_t i = 0; rc == 0 && i < bs_recording_count(from); i++) {
		bool extra;

		rc = bs_recording_read(from, i, &a, why);
		extra = rc == 0 && (a.head.flags & BS_MRD_IS_CALIBRATION) == 0 &&
			a.head.idx.kspace_encode_step_1 % every != 0;
		if (rc != 0 || (extra && !(center && is_center(&a, lines))))
			continue;
		a.head.flags |= extra ? flag : 0;
		rc = bs_recording_append(to, &a.head, a.traj, a.data, why);
	}
	return rc;
}

/* What is made of the recording: see above. */
struct wish {
	bool references, again;
	long times;
	const char *what;
	uint32_t lines;
};

static bool is(const struct wish *w, const char *what)
{
	return strcmp(w->what, what) == 0;
}

/* Makes a line that of this time. Returns false where it is left out. */
static bool change(const struct wish *w, struct bs_mrd_acq *head, bool reference, long time)
{
	const long folded = time - w->references; /* the time of lines of several bands */
	const uint32_t y = head->idx.kspace_encode_step_1;

	if (!w->again)
		head->flags &= ~BS_MRD_IS_CALIBRATION;
	if (reference ? !w->again : folded + 1 < w->times)
		head->flags &= ~BS_MRD_LAST_IN_MEASUREMENT;
	if (is(w, "set"))
		head->idx.set = (uint16_t)time;
	else if (!is(w, "nothing"))
		head->idx.repetition =
			(uint16_t)(is(w, "back") && folded + 1 == w->times ? 0 : time);
	if (is(w, "moved") && !reference && folded > 0)
		head->position[2] += 10.0f;
	if (is(w, "few") && reference && (y < w->lines / 2 - 2 || y > w->lines / 2 + 2))
		return false;
	return !is(w, "cut") || reference || folded > 0 || y < 8;
}

/* The references, or the lines of several bands, as this time. */
static int put_lines(struct bs_recording *to, struct bs_recording *from, const struct wish *w,
		     bool references, long time, struct bs_fail *why)
{
	struct bs_recorded a;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < bs_recording_count(from); i++) {
		rc = bs_recording_read(from, i, &a, why);
		if (rc != 0 || references != ((a.head.flags & BS_MRD_IS_CALIBRATION) != 0) ||
		    !change(w, &a.head, references, time))
			continue;
		rc = bs_recording_append(to, &a.head, a.traj, a.data, why);
	}
	return rc;
}

static int put_same(struct bs_recording *to, struct bs_recording *from, char **pairs,
		    struct bs_fail *why)
{
	int rc = put_replaced(to, from, pairs, why);
	struct bs_recorded a;

	for (uint32_t i = 0; rc == 0 && i < bs_recording_count(from); i++) {
		rc = bs_recording_read(from, i, &a, why);
		if (rc == 0)
			rc = bs_recording_append(to, &a.head, a.traj, a.data, why);
	}
	return rc;
}

static int put_all(struct bs_recording *to, struct bs_recording *from, const struct wish *w,
		   struct bs_fail *why)
{
	int rc = w->again ? bs_recording_put_xml(to, bs_recording_xml(from), why)
			  : put_header(to, from, why);

	if (rc == 0 && (w->references || w->again))
		rc = put_lines(to, from, w, true, 0, why);
	for (long n = 0; rc == 0 && n < w->times; n++)
		rc = put_lines(to, from, w, false, n + w->references, why);
	return rc;
}

int main(int argc, char **argv)
{
	struct bs_recording *from = NULL;
	struct bs_recording *to = NULL;
	struct bs_fail why = { 0 };
	const char *mode = argc >= 5 ? argv[3] : "";
	struct wish w = { .references = strcmp(mode, "references") == 0,
			  .again = strcmp(mode, "again") == 0,
			  .times = argc >= 5 ? strtol(argv[4], NULL, 10) : 0,
			  .what = argc > 5 ? argv[5] : "" };
	const bool header = strcmp(mode, "header") == 0;
	int rc = w.times > 0 || header ? bs_recording_open(&from, argv[1], &why)
				       : bs_fail(&why, BS_ERR_USAGE, "IN OUT MODE N [WHAT]");

	if (rc == 0)
		rc = bs_recording_create(&to, argv[2], &why);
	if (rc == 0 && header) {
		rc = put_same(to, from, argv + 4, &why);
	} else if (rc == 0) {
		w.lines = lines_of(from);
		rc = strcmp(mode, "every") == 0
			     ? put_every(to, from, w.times, w.what[0] != '\0',
					 is(&w, "flagged") ? BS_MRD_IS_CALIBRATION : 0, &why)
			     : put_all(to, from, &w, &why);
	}
	if (to != NULL && rc == 0)
		rc = bs_recording_close(to, &why);
	if (from != NULL)
		(void)bs_recording_close(from, NULL);
	if (rc != 0)
		(void)fprintf(stderr, "multiband: %s\n", why.text);
	return rc == 0 ? 0 : 1;
}

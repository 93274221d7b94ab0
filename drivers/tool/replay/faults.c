/* drivers/tool/replay/faults.c - see faults.h */
#include "drivers/tool/replay/faults.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "core/thread/clock.h"
#include "ipc/wire/wire.h"

#define LINE_MAX_BYTES 256
#define LEFT_OPEN      1e5  /* figures below this are drawn when a plan leaves them open */
#define PATIENCE_MS    1000 /* time to hand on a message's second copy when the line is full */

/* Words of each fault: its name, what may follow, and the default figure. */
static const struct {
	const char *name;
	const char *before, *after; /* words around the figure; NULL: the fault has no figure */
	uint64_t least, most, none;
	bool may_be_for_good;
} kinds[BS_FAULT_KINDS] = {
	[BS_FAULT_DROP] = { "drop", NULL, NULL, 0, 0, 0, true },
	[BS_FAULT_DUPLICATE] = { "duplicate", NULL, NULL, 0, 0, 0, false },
	[BS_FAULT_REORDER] = { "reorder", "by", "", 1, 4096, 1, false },
	[BS_FAULT_CORRUPT] = { "corrupt", "bit", "", 0, UINT32_MAX, UINT64_MAX, true },
	[BS_FAULT_TRUNCATE] = { "truncate", "to", "bytes", 0, UINT32_MAX, UINT64_MAX, true },
	[BS_FAULT_STALL] = { "stall", "", "ms", 1, BS_FAULTS_MS_MAX, UINT64_MAX, false },
	[BS_FAULT_DISCONNECT] = { "disconnect", "", "ms", 0, BS_FAULTS_MS_MAX, 0, false },
	[BS_FAULT_KILL] = { "kill", "", "ms", 0, BS_FAULTS_MS_MAX, 0, false },
};

/* ---- a plan ---- */

static int add_fault(struct bs_faults *f, const struct bs_fault *fault, struct bs_fail *why)
{
	uint32_t i = f->count;

	if (f->count == BS_FAULTS_MAX)
		return bs_fail(why, BS_ERR_CONFIG, "more than %u faults", BS_FAULTS_MAX);
	if (f->fault == NULL)
		f->fault = calloc(BS_FAULTS_MAX, sizeof(*f->fault));
	if (f->fault == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "a plan of faults");
	for (; i > 0 && f->fault[i - 1].at > fault->at; i--)
		f->fault[i] = f->fault[i - 1];
	f->fault[i] = *fault;
	f->count++;
	return 0;
}

/* Returns the next word of a line, "" at its end. */
static const char *word(char **line)
{
	char *at = *line + strspn(*line, " \t");
	char *end = at + strcspn(at, " \t");

	*line = *end != '\0' ? end + 1 : end;
	*end = '\0';
	return at;
}

static bool read_number(uint64_t *n, const char *text, uint64_t most)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*n = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *n <= most;
}

/* Reads what follows a fault's name: its figure, "for good", both or nothing. */
static int read_rest(struct bs_fault *fault, char *line, struct bs_fail *why)
{
	const char *name = kinds[fault->kind].name;
	const char *before = kinds[fault->kind].before;
	const char *after = kinds[fault->kind].after;
	const char *w = word(&line);

	if (before != NULL && w[0] != '\0' && strcmp(w, "for") != 0) {
		if (before[0] != '\0' && strcmp(w, before) != 0)
			return bs_fail(why, BS_ERR_CONFIG, "'%s' where '%s %s N %s' was to come", w,
				       name, before, after);
		if (before[0] != '\0')
			w = word(&line);
		if (!read_number(&fault->by, w, kinds[fault->kind].most) ||
		    fault->by < kinds[fault->kind].least)
			return bs_fail(why, BS_ERR_CONFIG,
				       "'%s' is no number from %llu to %llu, as %s takes it", w,
				       (unsigned long long)kinds[fault->kind].least,
				       (unsigned long long)kinds[fault->kind].most, name);
		w = after[0] != '\0' ? word(&line) : after;
		if (strcmp(w, after) != 0)
			return bs_fail(why, BS_ERR_CONFIG, "'%s' after the figure, not '%s'", w,
				       after);
		w = word(&line);
	}
	if (fault->kind == BS_FAULT_STALL && fault->by == UINT64_MAX)
		return bs_fail(why, BS_ERR_CONFIG, "stall needs a time: stall N ms");
	if (strcmp(w, "for") == 0 && kinds[fault->kind].may_be_for_good) {
		fault->for_good = strcmp(w = word(&line), "good") == 0;
		w = fault->for_good ? word(&line) : w;
	}
	return w[0] == '\0' ? 0 : bs_fail(why, BS_ERR_CONFIG, "'%s' after '%s'", w, name);
}

/* Reads a line. Returns 0, with *any false if the line holds nothing. */
static int read_line(struct bs_fault *fault, char *line, bool *any, struct bs_fail *why)
{
	const char *w;

	line[strcspn(line, "#\r\n")] = '\0';
	w = word(&line);
	*any = w[0] != '\0';
	if (!*any)
		return 0;
	if (strcmp(w, "at") != 0)
		return bs_fail(why, BS_ERR_CONFIG, "'%s' where a line begins with 'at NUMBER'", w);
	w = word(&line);
	if (!read_number(&fault->at, w, UINT32_MAX))
		return bs_fail(why, BS_ERR_CONFIG, "'%s' is no number of a message", w);
	w = word(&line);
	for (int k = 0; k < BS_FAULT_KINDS; k++)
		if (strcmp(w, kinds[k].name) == 0) {
			fault->kind = (enum bs_fault_kind)k;
			fault->by = kinds[k].none;
			return read_rest(fault, line, why);
		}
	return bs_fail(why, BS_ERR_CONFIG,
		       "'%s' is no fault: drop, duplicate, reorder, corrupt, truncate, stall, "
		       "disconnect, kill",
		       w);
}

/* Draws what a plan leaves open; bits and lengths are used modulo the message's. */
static void choose_figures(struct bs_faults *f, struct bs_random *r)
{
	for (uint32_t i = 0; i < f->count; i++) {
		uint64_t any = (uint64_t)(bs_random_uniform(r) * LEFT_OPEN);

		if (f->fault[i].by == UINT64_MAX)
			f->fault[i].by = any;
	}
}

int bs_faults_read(struct bs_faults *f, const char *path, struct bs_fail *why)
{
	char line[LINE_MAX_BYTES];
	struct bs_random r;
	FILE *file = fopen(path, "r");
	int rc = 0;

	memset(f, 0, sizeof(*f));
	if (file == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	for (unsigned n = 1; rc == 0 && fgets(line, sizeof(line), file) != NULL; n++) {
		struct bs_fault fault = { 0 };
		struct bs_fail what = { 0 };
		bool any = false;

		rc = strlen(line) + 1 == sizeof(line)
			     ? bs_fail(&what, BS_ERR_CONFIG, "longer than %d bytes", LINE_MAX_BYTES)
			     : read_line(&fault, line, &any, &what);
		if (rc == 0 && any)
			rc = add_fault(f, &fault, &what);
		if (rc != 0)
			(void)bs_fail(why, rc, "%s, line %u: %s", path, n, what.text);
	}
	if (rc == 0 && ferror(file) != 0)
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	(void)fclose(file);
	bs_random_seed(&r, 0);
	choose_figures(f, &r);
	if (rc != 0)
		bs_faults_free(f);
	return rc;
}

static uint64_t up_to(struct bs_random *r, uint64_t most)
{
	return (uint64_t)(bs_random_uniform(r) * (double)(most + 1));
}

int bs_faults_draw(struct bs_faults *f, uint64_t seed, uint32_t readouts, struct bs_fail *why)
{
	static const uint64_t longest[BS_FAULT_KINDS] = { [BS_FAULT_REORDER] = 8,
							  [BS_FAULT_STALL] = 400,
							  [BS_FAULT_DISCONNECT] = 200,
							  [BS_FAULT_KILL] = 200 };
	uint32_t n = BS_FAULT_KINDS + readouts / 200;
	struct bs_random r;
	int rc = 0;

	memset(f, 0, sizeof(*f));
	bs_random_seed(&r, seed);
	for (uint32_t i = 0; rc == 0 && i < n && i < BS_FAULTS_MAX; i++) {
		enum bs_fault_kind k =
			(enum bs_fault_kind)(i < BS_FAULT_KINDS ? i : up_to(&r, BS_FAULT_KILL - 1));
		struct bs_fault fault = { .at = up_to(&r, (uint64_t)readouts + 1), .kind = k };

		fault.by = longest[k] > 0 ? 1 + up_to(&r, longest[k] - 1) : kinds[k].none;
		rc = add_fault(f, &fault, why);
	}
	choose_figures(f, &r);
	return rc;
}

int bs_faults_fit(const struct bs_faults *f, uint32_t readouts, struct bs_fail *why)
{
	for (uint32_t i = 0; i < f->count; i++) {
		const struct bs_fault *fault = &f->fault[i];

		if (fault->at > (uint64_t)readouts + 1)
			return bs_fail(why, BS_ERR_CONFIG,
				       "a fault at message %llu: the scan's last one, CLOSE, is %u",
				       (unsigned long long)fault->at, readouts + 1);
		if (fault->for_good && (fault->at == 0 || fault->at > readouts))
			return bs_fail(why, BS_ERR_CONFIG,
				       "a fault for good at message %llu: without OPEN no scan "
				       "begins, without CLOSE none ends",
				       (unsigned long long)fault->at);
	}
	return 0;
}

void bs_faults_free(struct bs_faults *f)
{
	free(f->fault);
	free(f->copy);
	free(f->held);
	memset(f, 0, sizeof(*f));
}

const char *bs_fault_words(char out[BS_FAULTS_WORDS], const struct bs_fault *fault)
{
	const char *before = kinds[fault->kind].before;
	char figure[48] = "";

	if (before != NULL)
		(void)snprintf(figure, sizeof(figure), "%s%s %llu%s%s",
			       before[0] != '\0' ? " " : "", before, (unsigned long long)fault->by,
			       kinds[fault->kind].after[0] != '\0' ? " " : "",
			       kinds[fault->kind].after);
	(void)snprintf(out, BS_FAULTS_WORDS, "at %llu %s%s%s", (unsigned long long)fault->at,
		       kinds[fault->kind].name, figure, fault->for_good ? " for good" : "");
	return out;
}

/* ---- a scan ---- */

void bs_faults_start(struct bs_faults *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		f->fault[i].struck = 0;
		f->fault[i].struck_ns = f->fault[i].passed_ns = 0;
	}
	f->pending = 0;
	f->held_for = 0;
}

static void strike(struct bs_faults *f, struct bs_fault *fault)
{
	if (fault->struck++ > 0)
		return;
	fault->struck_ns = bs_now_ns();
	f->pending++;
}

void bs_faults_heard(struct bs_faults *f, uint64_t next, int64_t now_ns)
{
	for (uint32_t i = 0; f->pending > 0 && i < f->count; i++) {
		struct bs_fault *fault = &f->fault[i];

		if (fault->struck > 0 && fault->passed_ns == 0 && fault->at < next) {
			fault->passed_ns = now_ns;
			f->pending--;
		}
	}
}

/* Closes the socket, and opens it again after ms milliseconds. */
static int leave_line(struct bs_endpoint *e, uint64_t ms, struct bs_fail *why)
{
	const struct bs_endpoint old = *e;

	if (e->link != NULL) { /* this socket says hello only when asked, so not during the sleep */
		(void)bs_endpoint_renew(e, why);
		bs_sleep_ns(bs_ns_of_ms((double)ms));
		return bs_endpoint_renew(e, why);
	}
	bs_endpoint_close(e);
	bs_sleep_ns(bs_ns_of_ms((double)ms));
	return bs_endpoint_connect(e, old.role, old.url, old.message_max, why);
}

static int make_copy(unsigned char **to, const unsigned char *msg, size_t len, struct bs_fail *why)
{
	free(*to);
	*to = malloc(len);
	if (*to == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "a copy of a message of %zu bytes", len);
	memcpy(*to, msg, len);
	return 0;
}

static int send_held(struct bs_faults *f, struct bs_endpoint *e, struct bs_fail *why)
{
	int rc = bs_endpoint_send(e, f->held, f->held_len, NULL, 0, PATIENCE_MS, why);

	f->held_for = 0;
	return rc < 0 ? rc : 0; /* a message that no peer takes is lost, as on a real line */
}

/* Sends the message unchanged, and behind it one that was held back, if its time has come. */
static int pass_message(struct bs_faults *f, struct bs_endpoint *e, const unsigned char *msg,
			size_t len, struct bs_fail *why)
{
	int rc = bs_endpoint_send(e, msg, len, NULL, 0, 0, why);

	if (rc == 0 && f->held_for > 0 && --f->held_for == 0)
		return send_held(f, e, why);
	return rc;
}

/* Sends the message as the fault changes it. */
static int spoil(struct bs_faults *f, struct bs_fault *fault, struct bs_endpoint *e,
		 const unsigned char *msg, size_t len, struct bs_fail *why)
{
	int rc = 0;

	switch (fault->kind) {
	case BS_FAULT_DUPLICATE:
		rc = pass_message(f, e, msg, len, why);
		if (rc == 0)
			rc = bs_endpoint_send(e, msg, len, NULL, 0, PATIENCE_MS, why);
		break;
	case BS_FAULT_REORDER:
		rc = f->held_for > 0 ? send_held(f, e, why) : 0;
		rc = rc == 0 ? make_copy(&f->held, msg, len, why) : rc;
		f->held_len = len;
		f->held_for = fault->by;
		break;
	case BS_FAULT_CORRUPT:
		rc = make_copy(&f->copy, msg, len, why);
		if (rc == 0) {
			f->copy[fault->by / 8 % len] ^= (unsigned char)(1u << fault->by % 8);
			rc = pass_message(f, e, f->copy, len, why);
		}
		break;
	case BS_FAULT_TRUNCATE:
		rc = pass_message(f, e, msg, fault->by % len, why);
		break;
	default: /* the message is dropped */
		break;
	}
	if (rc == 0)
		strike(f, fault);
	return rc;
}

/* Waits before the message, if the fault is a pause. */
static int pause_for(struct bs_faults *f, struct bs_fault *fault, struct bs_endpoint *e,
		     struct bs_fail *why)
{
	int rc;

	strike(f, fault);
	if (fault->kind == BS_FAULT_STALL) {
		bs_sleep_ns(bs_ns_of_ms((double)fault->by));
		return 0;
	}
	rc = leave_line(e, fault->by, why);
	f->held_for = 0;
	if (rc != 0)
		return rc;
	return fault->kind == BS_FAULT_KILL ? BS_FAULTS_KILLED : BS_FAULTS_ANEW;
}

int bs_faults_send(struct bs_faults *f, struct bs_endpoint *e, const unsigned char *msg, size_t len,
		   struct bs_fail *why)
{
	struct bs_wire w;
	const unsigned char *payload;

	if (bs_wire_decode(&w, msg, len, &payload, NULL) != 0 || w.kind == BS_WIRE_HEARTBEAT)
		return bs_endpoint_send(e, msg, len, NULL, 0, 0, why);
	for (uint32_t i = 0; i < f->count && f->fault[i].at <= w.seq; i++) {
		struct bs_fault *fault = &f->fault[i];
		int rc;

		if (fault->at != w.seq || (fault->struck > 0 && !fault->for_good))
			continue;
		if (fault->kind < BS_FAULT_STALL)
			return spoil(f, fault, e, msg, len, why);
		rc = pause_for(f, fault, e, why);
		if (rc != 0)
			return rc;
	}
	return pass_message(f, e, msg, len, why);
}

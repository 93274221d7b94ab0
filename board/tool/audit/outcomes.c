/* board/tool/audit/outcomes.c - see outcomes.h */
#include "board/tool/audit/outcomes.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/seal/sign.h"

#define LINE_MAX_ 16384u /* longest line of an outcome; longer lines are skipped */

static int code_of(const char *name)
{
	int code = 0;

	while (code > -64 && strcmp(bs_err_name(code), name) != 0)
		code--;
	return code;
}

/* Reads the number after these words. False: the words, or a number, are missing. */
static bool number_behind(const char *text, const char *words, int base, uint64_t *number)
{
	const char *at = strstr(text, words);
	char *end;

	if (at == NULL)
		return false;
	at += strlen(words);
	errno = 0;
	*number = strtoull(at, &end, base);
	return end != at && errno == 0;
}

/* Reads an outcome's end: "log NAME", "log NAME lacks N messages", "no log: ...", or nothing. */
static void take_log(struct bs_audit_outcome *o, const char *text)
{
	const char *at = NULL;
	size_t len;

	for (const char *next = text; (next = strstr(next, "log ")) != NULL; next += 4)
		at = next;
	if (strstr(text, "no log: ") != NULL) {
		o->log_known = true;
		return;
	}
	if (at == NULL)
		return;
	at += strlen("log ");
	len = strcspn(at, " ;\n\"");
	if (len >= sizeof(o->log) || len <= strlen(BS_LOG_SUFFIX) ||
	    memcmp(at + len - strlen(BS_LOG_SUFFIX), BS_LOG_SUFFIX, strlen(BS_LOG_SUFFIX)) != 0)
		return;
	memcpy(o->log, at, len);
	o->log_known = o->has_log = true;
	(void)number_behind(at + len, " lacks ", 10, &o->lacks);
}

static bool take_words(const char *at, uint64_t *session, struct bs_audit_outcome *o)
{
	const char *code = strstr(at, " s: BS_");
	const char *counts = strstr(at, "; acquisitions ");
	char name[32];

	if (code == NULL || counts == NULL || !number_behind(at, "audit: scan ", 10, &o->scan) ||
	    !number_behind(at, ", session ", 16, session) ||
	    !number_behind(counts, "acquisitions ", 10, &o->acquisitions) ||
	    !number_behind(counts, "images ", 10, &o->images) ||
	    !number_behind(counts, "gaps ", 10, &o->gaps) ||
	    !number_behind(counts, "rejected ", 10, &o->rejected) ||
	    !number_behind(counts, "late ", 10, &o->late) ||
	    !number_behind(counts, "undelivered ", 10, &o->undelivered))
		return false;
	code += strlen(" s: ");
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(code, ";"), code);
	o->code = code_of(name);
	take_log(o, counts);
	return true;
}

static uint64_t number_of(const json_t *object, const char *key)
{
	const json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

static bool take_object(const json_t *object, uint64_t *session, struct bs_audit_outcome *o)
{
	const json_t *code = json_object_get(object, "code");
	const char *its = json_string_value(json_object_get(object, "session"));
	const char *text = json_string_value(json_object_get(object, "text"));
	char *end;

	if (!json_is_integer(code) || its == NULL)
		return false;
	*session = strtoull(its, &end, 16);
	if (end == its || json_integer_value(code) > 0 || json_integer_value(code) < -64)
		return false;
	o->code = (int)json_integer_value(code);
	o->scan = number_of(object, "scan");
	o->acquisitions = number_of(object, "acquisitions");
	o->images = number_of(object, "images");
	o->gaps = number_of(object, "gaps");
	o->rejected = number_of(object, "rejected");
	o->late = number_of(object, "late");
	o->undelivered = number_of(object, "undelivered");
	take_log(o, text != NULL ? text : "");
	return true;
}

static bool take_json(const char *line, uint64_t *session, struct bs_audit_outcome *o)
{
	json_t *root = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
	const bool good = take_object(json_object_get(root, "audit"), session, o);

	json_decref(root);
	return good;
}

static bool take_line(const char *line, uint64_t *session, struct bs_audit_outcome *o)
{
	const char *words = strstr(line, "audit: scan ");
	const char *object = strchr(line, '{');

	*o = (struct bs_audit_outcome){ .known = true };
	if (object != NULL && strstr(object, "\"audit\":") != NULL)
		return take_json(object, session, o);
	return words != NULL && take_words(words, session, o);
}

/*
 * Judges the signature of an audit line: of all from "audit: scan " to "; signed ", or of the
 * member "audit" of an object. *last: number of the line before; each start begins with 1.
 */
static void judge_line(struct bs_audit *a, const char *line, uint64_t n, uint64_t *last)
{
	const char *object = strstr(line, "\"audit\":{");
	const char *from = object != NULL ? object : strstr(line, "audit: scan ");
	const char *mark = object != NULL ? ",\"signed\":{\"line\":" : "; signed ";
	const char *behind = object != NULL ? ",\"signature\":\"" : " ";
	const char *to = NULL;
	const char *at;
	uint8_t hash[BS_CHAIN];
	char where[64];
	char *end = NULL;
	uint64_t number = 0;

	(void)snprintf(where, sizeof(where), "line %" PRIu64, n);
	bs_judged(a->f, BS_PROMISE_OUTCOME_SIGNED);
	for (at = from; (at = strstr(at, mark)) != NULL; at++)
		to = at; /* the last one: text of a scan may have such words, too */
	if (to != NULL)
		number = strtoull(to + strlen(mark), &end, 10);
	if (to != NULL)
		bs_hash_line(hash, number, from, (size_t)(to - from));
	if (to == NULL)
		bs_found(a->f, BS_PROMISE_OUTCOME_SIGNED, where, "is not signed");
	else if (strncmp(end, behind, strlen(behind)) != 0 ||
		 !bs_signed_text(end + strlen(behind), a->q->key, hash))
		bs_found(a->f, BS_PROMISE_OUTCOME_SIGNED, where,
			 "is not what that key signed as its line %" PRIu64, number);
	else if (number != *last + 1 && number != 1 && *last != 0)
		bs_found(a->f, BS_PROMISE_OUTCOME_SIGNED, where,
			 "is line %" PRIu64 ", the one before it %" PRIu64, number, *last);
	*last = number;
}

/* Reads a line; one that is too long becomes "". False: the file has ended. */
static bool next_line(FILE *f, char line[LINE_MAX_])
{
	size_t len;
	int c;

	if (fgets(line, (int)LINE_MAX_, f) == NULL)
		return false;
	len = strlen(line);
	if (len + 1 < LINE_MAX_ || line[len - 1] == '\n')
		return true;
	while ((c = getc(f)) != EOF && c != '\n')
		continue;
	line[0] = '\0';
	return true;
}

int bs_audit_outcomes(struct bs_audit *a, uint64_t *lines, struct bs_fail *why)
{
	const char *file = a->q->events;
	uint64_t last = 0;
	uint64_t n = 0;
	FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "r");
	static char line[LINE_MAX_];
	struct bs_audit_outcome o;
	uint64_t session;
	int rc = 0;

	*lines = 0;
	if (f == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: %s", file, strerror(errno));
	bs_found_begin(a->f);
	while (rc == 0 && next_line(f, line)) {
		struct bs_audit_scan *scan;

		n++;
		if (!take_line(line, &session, &o))
			continue;
		if (a->q->key != NULL)
			judge_line(a, line, n, &last);
		scan = bs_audit_scan(&a->scans, session);
		if (scan == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "%s: session %016" PRIx64, file, session);
		else
			scan->outcome = o;
		*lines += rc == 0;
	}
	bs_found_keep(a->f);
	if (rc == 0 && ferror(f))
		rc = bs_fail(why, BS_ERR_IO, "%s: cannot be read", file);
	if (f != stdin)
		(void)fclose(f);
	return rc;
}

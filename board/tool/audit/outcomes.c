/* board/tool/audit/outcomes.c - see outcomes.h */
#define _POSIX_C_SOURCE 200809L
#include "board/tool/audit/outcomes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/json.h"

#define LINE_MAX_ 16384u /* a longer line is none of an outcome */

static int code_of(const char *name)
{
	int code = 0;

	while (code > -64 && strcmp(bs_err_name(code), name) != 0)
		code--;
	return code;
}

/* The end of an outcome's text: "log NAME", "log NAME lacks N messages", "no log: ...", nothing. */
static void take_log(struct bs_audit_outcome *o, const char *text)
{
	const char *at = NULL;

	for (const char *next = text; (next = strstr(next, "log ")) != NULL; next += 4)
		at = next;
	if (strstr(text, "no log: it could not be written") != NULL) {
		o->log_known = true;
		return;
	}
	if (at == NULL || sscanf(at, "log %63[0-9T.a-f-]", o->log) != 1)
		return;
	at += strlen("log ") + strlen(o->log);
	if (strncmp(at, "slog", 4) != 0) /* of ".bslog"; its b is a hexadecimal digit, too */
		return;
	(void)snprintf(o->log + strlen(o->log), sizeof(o->log) - strlen(o->log), "slog");
	o->log_known = o->has_log = true;
	(void)sscanf(at, "slog lacks %" SCNu64, &o->lacks);
}

static bool take_words(const char *at, uint64_t *session, struct bs_audit_outcome *o)
{
	const char *code = strstr(at, " s: BS_");
	const char *counts = strstr(at, "; acquisitions ");
	char name[32];

	if (sscanf(at, "audit: scan %" SCNu64 ", session %" SCNx64, &o->scan, session) != 2 ||
	    code == NULL || counts == NULL || sscanf(code, " s: %31[A-Z_0-9]", name) != 1 ||
	    sscanf(counts,
		   "; acquisitions %" SCNu64 ", images %" SCNu64 ", gaps %" SCNu64
		   ", duplicates %*u, rejected %" SCNu64 ", late %" SCNu64 ", undelivered %" SCNu64,
		   &o->acquisitions, &o->images, &o->gaps, &o->rejected, &o->late,
		   &o->undelivered) != 6)
		return false;
	o->code = code_of(name);
	take_log(o, counts);
	return true;
}

static uint64_t number_of(const char *object, const char *key)
{
	double value = 0.0;

	(void)bs_json_number(object, key, &value);
	return value > 0.0 && value < 0x1p63 ? (uint64_t)value : 0;
}

static bool take_json(const char *line, uint64_t *session, struct bs_audit_outcome *o)
{
	size_t len;
	const char *object = bs_json_member(line, "audit", &len);
	double code = 1.0;
	char text[512];

	if (object == NULL || object[0] != '{')
		return false;
	bs_json_text(object, "session", text, sizeof(text));
	if (!bs_json_number(object, "code", &code) || code > 0.0 || code < -64.0 ||
	    sscanf(text, "%" SCNx64, session) != 1)
		return false;
	o->code = (int)code;
	o->scan = number_of(object, "scan");
	o->acquisitions = number_of(object, "acquisitions");
	o->images = number_of(object, "images");
	o->gaps = number_of(object, "gaps");
	o->rejected = number_of(object, "rejected");
	o->late = number_of(object, "late");
	o->undelivered = number_of(object, "undelivered");
	bs_json_text(object, "text", text, sizeof(text));
	take_log(o, text);
	return true;
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

/* False: the file has ended. A line that is too long is "". */
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

int bs_audit_outcomes(struct bs_audit_scans *scans, const char *file, uint64_t *lines,
		      struct bs_fail *why)
{
	FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "r");
	static char line[LINE_MAX_];
	struct bs_audit_outcome o;
	uint64_t session;
	int rc = 0;

	*lines = 0;
	if (f == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: %s", file, strerror(errno));
	while (rc == 0 && next_line(f, line)) {
		struct bs_audit_scan *scan;

		if (!take_line(line, &session, &o))
			continue;
		scan = bs_audit_scan(scans, session);
		if (scan == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "%s: scan %016" PRIx64, file, session);
		else
			scan->outcome = o;
		*lines += rc == 0;
	}
	if (rc == 0 && ferror(f))
		rc = bs_fail(why, BS_ERR_IO, "%s: cannot be read", file);
	if (f != stdin)
		(void)fclose(f);
	return rc;
}

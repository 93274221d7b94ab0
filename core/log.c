/* core/log.c - see log.h */
#include "core/log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "core/date.h"
#include "core/text.h"
#include "core/thread/clock.h"

#define LINE 1024

const char *const bs_log_levels[] = { "error", "warn", "info", "debug", NULL };

static const char *log_who = "main";
static enum bs_log_level log_level = BS_LOG_INFO;
static bool log_json;

void bs_log_init(const char *who, enum bs_log_level level)
{
	log_who = who;
	log_level = level;
}

void bs_log_format(bool json)
{
	log_json = json;
}

bool bs_log_is_json(void)
{
	return log_json;
}

/*
 * Returns the bytes of a control character at text; 0: none is there. Text from outside must not
 * forge a line or drive a terminal, nor may U+0080 to U+009F in it.
 */
static unsigned control_at(const char *text)
{
	const unsigned char c = (unsigned char)*text;
	const unsigned char next = c != '\0' ? (unsigned char)text[1] : 0;

	if (c == 0xc2 && next >= 0x80 && next < 0xa0)
		return 2;
	return c < 0x20 || c == 0x7f;
}

void bs_log_plain(char *text)
{
	char *to = text;

	for (unsigned bytes; *text != '\0'; text += bytes == 2 ? 2 : 1) {
		bytes = control_at(text);
		*to++ = bytes != 0 ? ' ' : *text;
	}
	*to = '\0';
}

static void put_text(struct bs_text *t, enum bs_log_level level, const char *who, const char *text)
{
	bs_text_put(t, "boreside[%s] %s: ", who, bs_log_levels[level]);
	for (unsigned bytes; *text != '\0' && t->len + 2 < LINE; text += bytes == 2 ? 2 : 1) {
		bytes = control_at(text);
		bs_text_put(t, "%c", bytes != 0 ? ' ' : *text);
	}
	bs_text_put(t, "\n");
}

/* Writes the JSON line. A byte becomes six at worst: a line of LINE bytes fits. */
static void put_json(struct bs_text *t, enum bs_log_level level, const char *who, const char *text,
		     const char *members)
{
	const int64_t utc_us = bs_utc_ns() / 1000;
	char when[BS_UTC_BYTES];

	bs_text_put(t, "{\"time\":\"%s.%06dZ\",\"process\":\"",
		    bs_utc_text(when, "%Y-%m-%dT%H:%M:%S", utc_us / 1000000),
		    (int)(utc_us % 1000000));
	bs_text_json(t, who, 32);
	bs_text_put(t, "\",\"level\":\"%s\",", bs_log_levels[level]);
	if (members != NULL) {
		bs_text_put(t, "%s}\n", members);
		return;
	}
	bs_text_put(t, "\"text\":\"");
	bs_text_json(t, text, LINE);
	bs_text_put(t, "\"}\n");
}

void bs_log_members(enum bs_log_level level, const char *who, const char *text, const char *members)
{
	char line[6 * LINE + 256];
	struct bs_text t = { line, sizeof(line), 0, false };

	if (level > log_level)
		return;
	if (who == NULL)
		who = log_who;
	if (log_json)
		put_json(&t, level, who, text, members);
	else
		put_text(&t, level, who, text);
	(void)!write(STDERR_FILENO, line, t.len);
}

void bs_log(enum bs_log_level level, const char *fmt, ...)
{
	char text[LINE];
	va_list ap;

	if (level > log_level)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bs_log_members(level, NULL, text, NULL);
}

/*
 * test/unit/drivers/log/scanlog.h - small logs for the tests: messages that tell their number,
 * a folder to write them in
 */
#ifndef BS_TEST_SCANLOG_H
#define BS_TEST_SCANLOG_H

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/log/name.h"
#include "drivers/log/reader.h"
#include "test/support/check.h"

#define SCANLOG_SESSION UINT64_C(0x0123456789abcdef)
#define SCANLOG_CAP     (9u << 10) /* of a writer's buffer */
#define SCANLOG_SEGMENT (24u << 10)
#define SCANLOG_LONGEST 900u

static char scanlog_dir[] = "/tmp/boreside-log-XXXXXX";
static _Alignas(64) unsigned char scanlog_buffer[SCANLOG_CAP];
static const struct bs_log_room scanlog_room = { scanlog_dir, SCANLOG_SEGMENT, scanlog_buffer,
						 SCANLOG_CAP };

/* Message i: bytes that follow from i, of a length that is never twice the same in a row. */
static inline size_t scanlog_message(unsigned char out[SCANLOG_LONGEST], uint64_t i)
{
	const size_t len = 1 + (size_t)(i * 787 % (SCANLOG_LONGEST - 1));

	for (size_t b = 0; b < len; b++)
		out[b] = (unsigned char)(i * 31 + b * 7 + (b >> 8));
	return len;
}

static inline int scanlog_append(struct bs_log_writer *w, uint64_t i, struct bs_fail *why)
{
	unsigned char message[SCANLOG_LONGEST];
	const size_t len = scanlog_message(message, i);

	return bs_log_writer_append(w, message, len, (int64_t)i, why);
}

static inline int scanlog_open(struct bs_log_writer *w, struct bs_fail *why)
{
	return bs_log_writer_open(w, &scanlog_room, SCANLOG_SESSION, 1700000000123456789, why);
}

static inline bool scanlog_is(const struct bs_log_message *m, uint64_t i)
{
	unsigned char message[SCANLOG_LONGEST];

	return m->number == i && m->len == scanlog_message(message, i) &&
	       memcmp(m->bytes, message, m->len) == 0;
}

/* Empties the folder. Returns how many files there were. */
static inline unsigned scanlog_clean(void)
{
	DIR *d = opendir(scanlog_dir);
	struct dirent *e;
	unsigned n = 0;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.' && unlinkat(dirfd(d), e->d_name, 0) == 0)
			n++;
	if (d != NULL)
		(void)closedir(d);
	return n;
}

/* What a reader made of a log. */
struct scanlog_read {
	int opened; /* what open returned */
	int rc;     /* and the last next */
	uint64_t messages;
	bool same; /* every message was the one that was logged under its number */
	enum bs_log_end end;
	struct bs_fail why;
};

static inline struct scanlog_read scanlog_read(const char *path)
{
	struct scanlog_read got = { .same = true };
	struct bs_log_reader *r;
	struct bs_log_message m;

	got.opened = got.rc = bs_log_open(&r, path, &got.why);
	if (got.opened != 0)
		return got;
	while ((got.rc = bs_log_next(r, &m, &got.why)) == 1) {
		got.same = got.same && scanlog_is(&m, got.messages);
		got.messages++;
	}
	got.same = got.same && bs_log_next(r, &m, NULL) == got.rc; /* it stays so */
	got.end = bs_log_end(r);
	bs_log_close(r);
	return got;
}

#endif

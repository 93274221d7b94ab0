/*
 * test/fault/audit/log_edit.h - changes a log so that all its checksums hold again
 *
 * log_rewrite writes a log of one file anew, message by message; edit may change, drop or double
 * each. log_blocks changes its head and its seal; log_frame one record's frame; log_poke its bytes.
 */
#ifndef BS_TEST_LOG_EDIT_H
#define BS_TEST_LOG_EDIT_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/log/reader.h"
#include "ipc/wire/bytes.h"
#include "ipc/wire/wire.h"

#define LOG_EDIT_MAX (1u << 20) /* bytes of a message */

/* Makes a message's envelope anew: its fields as in w, its payload as it is. */
static inline void log_wire_again(unsigned char *msg, struct bs_wire *w, size_t len)
{
	bs_wire_encode(msg, w, msg + BS_WIRE_BYTES, len - BS_WIRE_BYTES);
}

enum log_edit { LOG_KEEP, LOG_DROP, LOG_TWICE };
/* number: of the record as it was. *len may grow up to LOG_EDIT_MAX. LOG_TWICE: it is called again,
 * with again set, for the second one. */
typedef enum log_edit log_edit_fn(void *arg, uint64_t number, bool again, unsigned char *msg,
				  size_t *len);

static inline int log_edit_append(struct bs_log_writer *w, const unsigned char *msg, size_t len,
				  struct bs_fail *why)
{
	int rc = bs_log_writer_append(w, msg, len, 0, why);

	return rc == 0 ? bs_log_writer_commit(w, why) : rc;
}

/* One message of it, perhaps twice. */
static inline int log_edit_one(struct bs_log_writer *w, const struct bs_log_message *m,
			       unsigned char *copy, log_edit_fn *edit, void *arg,
			       struct bs_fail *why)
{
	size_t len = m->len;
	enum log_edit what;
	int rc = 0;

	memcpy(copy, m->bytes, len);
	what = edit(arg, m->number, false, copy, &len);
	if (what != LOG_DROP)
		rc = log_edit_append(w, copy, len, why);
	if (rc == 0 && what == LOG_TWICE) {
		(void)edit(arg, m->number, true, copy, &len);
		rc = log_edit_append(w, copy, len, why);
	}
	return rc;
}

/* False: why says so on standard output. */
static inline bool log_rewrite(const char *path, log_edit_fn *edit, void *arg)
{
	const size_t cap = bs_log_writer_bytes(LOG_EDIT_MAX);
	unsigned char *buffer = malloc(cap);
	unsigned char *copy = malloc(LOG_EDIT_MAX);
	char dir[512], made[700];
	struct bs_log_reader *r = NULL;
	struct bs_log_writer w;
	struct bs_log_message m;
	struct bs_fail why = { 0 };
	int rc;

	(void)snprintf(dir, sizeof(dir), "%s.anew", path);
	rc = buffer == NULL || copy == NULL || mkdir(dir, 0750) != 0 ? BS_ERR_IO : 0;
	if (rc == 0)
		rc = bs_log_open(&r, path, &why);
	if (rc == 0)
		rc = bs_log_writer_resume(&w, &(struct bs_log_room){ dir, 4u << 20, buffer, cap },
					  bs_log_begins(r), 0, &why);
	if (rc == 0)
		w.relaxed = true;
	while (rc == 0 && (rc = bs_log_next(r, &m, &why)) == 1)
		rc = log_edit_one(&w, &m, copy, edit, arg, &why);
	if (rc == 0 && bs_log_sealed(r))
		rc = bs_log_writer_seal(&w, &why);
	(void)snprintf(made, sizeof(made), "%s/%s", dir, w.name);
	bs_log_writer_close(&w);
	if (rc == 0 && (rename(made, path) != 0 || rmdir(dir) != 0))
		rc = BS_ERR_IO;
	if (rc != 0)
		printf("# %s: cannot be written anew: %s\n", path, why.text);
	bs_log_close(r);
	free(buffer);
	free(copy);
	return rc == 0;
}

/* ---- bytes ---- */

static inline bool log_get(const char *path, uint64_t at, void *to, size_t len)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const bool good = fd >= 0 && pread(fd, to, len, (off_t)at) == (ssize_t)len;

	if (fd >= 0)
		(void)close(fd);
	return good;
}

static inline bool log_poke(const char *path, uint64_t at, const void *from, size_t len)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	const bool good = fd >= 0 && pwrite(fd, from, len, (off_t)at) == (ssize_t)len;

	if (fd >= 0)
		(void)close(fd);
	return good;
}

static inline bool log_blocks(const char *path,
			      void (*edit)(struct bs_log_head *head, struct bs_log_head *seal))
{
	unsigned char blocks[BS_LOG_RECORDS];
	struct bs_log_head head;
	struct bs_log_head seal;

	if (!log_get(path, 0, blocks, sizeof(blocks)) ||
	    bs_log_get_head(&head, blocks, NULL) != 0 ||
	    bs_log_get_seal(&seal, blocks + BS_LOG_SEAL_AT, NULL) != 0)
		return false;
	edit(&head, &seal);
	bs_log_put_head(blocks, &head);
	bs_log_put_seal(blocks + BS_LOG_SEAL_AT, &seal);
	return log_poke(path, 0, blocks, sizeof(blocks));
}

/* The record of that number, or the padding before it; 0: there is none. */
static inline uint64_t log_find(const char *path, uint64_t number, bool padding,
				struct bs_log_frame *f)
{
	unsigned char raw[BS_LOG_FRAME];

	for (uint64_t at = BS_LOG_RECORDS;
	     log_get(path, at, raw, sizeof(raw)) && bs_log_get_frame(f, raw, NULL) == 0;
	     at += bs_log_record_bytes(f->length))
		if (f->number == number && (f->kind == BS_LOG_PADDING) == padding)
			return at;
	return 0;
}

/* A record's frame, and one byte of its body at `at` (SIZE_MAX: none), with checksums that hold. */
static inline bool log_frame(const char *path, uint64_t number, bool padding,
			     void (*edit)(struct bs_log_frame *f), size_t at, unsigned char byte)
{
	unsigned char raw[BS_LOG_FRAME];
	struct bs_log_frame f;
	const uint64_t place = log_find(path, number, padding, &f);
	const size_t padded = (size_t)bs_log_record_bytes(f.length) - BS_LOG_FRAME;
	unsigned char *body = place != 0 ? malloc(padded + 1) : NULL;
	bool good = body != NULL && log_get(path, place + BS_LOG_FRAME, body, padded);

	if (good && at < padded)
		body[at] = byte;
	if (good && edit != NULL)
		edit(&f);
	if (good) {
		f.crc = bs_crc32c(0, body, padded);
		bs_log_put_frame(raw, &f);
		good = log_poke(path, place, raw, sizeof(raw)) &&
		       log_poke(path, place + BS_LOG_FRAME, body, padded);
	}
	free(body);
	return good;
}

#endif

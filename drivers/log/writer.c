/* drivers/log/writer.c - see writer.h */
#include "drivers/log/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/whole.h"
#include "drivers/file/draft.h"
#include "ipc/wire/envelope.h"

/* Most bytes of a padding record: if its frame does not fit into the block, it also fills the next.
 */
#define PADDING_MAX (BS_LOG_BLOCK + BS_LOG_FRAME)

static int io_fail(struct bs_fail *why, const char *what, const char *dir, const char *name)
{
	return bs_fail(why, BS_ERR_IO, "%s/%s: %s: %s", dir, name, what, strerror(errno));
}

static int log_fail(struct bs_log_writer *w, const char *what, struct bs_fail *why)
{
	w->failed = true;
	return io_fail(why, what, w->dir, w->name);
}

int bs_log_sync_names(int dir)
{
	return fsync(dir) == 0 || errno == EINVAL ? 0 : -1; /* some file systems cannot */
}

/* ---- files that are no segments yet ---- */

/* Makes a file of zeros and syncs it. NULL: done; else what failed (errno says why). */
static const char *make_zeros(int dir, const char *name, uint64_t bytes)
{
	static const unsigned char zeros[256u << 10];
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			BS_LOG_MODE);
	const char *failed = NULL;
	int error;

	if (fd < 0)
		return "cannot be made";
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) /* a locked file is not swept away */
		failed = "cannot be locked";
	else if (fchmod(fd, BS_LOG_MODE) != 0)
		failed = "cannot set its mode";
	for (uint64_t at = 0; failed == NULL && at < bytes; at += sizeof(zeros)) {
		uint64_t n = bytes - at < sizeof(zeros) ? bytes - at : sizeof(zeros);

		if (!bs_write_whole(fd, zeros, (size_t)n, (int64_t)at))
			failed = "cannot be filled";
	}
	if (failed == NULL && fdatasync(fd) != 0)
		failed = "cannot be synced";
	error = errno;
	(void)close(fd);
	if (failed != NULL)
		(void)unlinkat(dir, name, 0);
	errno = error;
	return failed;
}

int bs_log_spare_fill(const char *dir, unsigned index, uint64_t bytes, struct bs_fail *why)
{
	char name[32];
	char part[40];
	const char *failed = NULL;
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	(void)snprintf(name, sizeof(name), "%u.spare", index);
	(void)snprintf(part, sizeof(part), "%u.spare.part", index);
	if (dir_fd < 0)
		return io_fail(why, "cannot open the folder", dir, "");
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		failed = make_zeros(dir_fd, part, bytes);
	else if ((uint64_t)st.st_size != bytes) /* made for another segment size */
		failed = unlinkat(dir_fd, name, 0) != 0 ? "cannot be removed"
							: make_zeros(dir_fd, part, bytes);
	else
		part[0] = '\0';
	if (failed == NULL && part[0] != '\0' && bs_draft_rename(dir_fd, part, name) != 0) {
		failed = "cannot be renamed";
		(void)unlinkat(dir_fd, part, 0);
	}
	if (failed != NULL)
		(void)io_fail(why, failed, dir, name);
	(void)close(dir_fd);
	return failed == NULL ? 0 : BS_ERR_IO;
}

/* ---- a segment ---- */

/* Opens a spare file of the right size, or makes one. from: gets its name. NULL: done. */
static const char *take_spare(struct bs_log_writer *w, char from[BS_LOG_NAME])
{
	const char *failed;
	struct stat st;

	for (unsigned i = 0; i < BS_LOG_SPARES; i++) {
		(void)snprintf(from, BS_LOG_NAME, "%u.spare", i);
		w->fd = openat(w->dir_fd, from, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
		if (w->fd < 0 && errno == ENOENT)
			continue;
		if (w->fd < 0)
			return "cannot open a spare segment";
		if (fstat(w->fd, &st) == 0 && S_ISREG(st.st_mode) &&
		    (uint64_t)st.st_size == w->segment_bytes)
			return NULL;
		(void)close(w->fd);
	}
	(void)snprintf(from, BS_LOG_NAME, "%016llx.part", (unsigned long long)w->head.id);
	failed = make_zeros(w->dir_fd, from, w->segment_bytes);
	if (failed != NULL)
		return failed;
	w->unprepared++;
	w->fd = openat(w->dir_fd, from, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	return w->fd >= 0 ? NULL : "cannot be opened";
}

/*
 * Makes a segment of the file: writes its head and clears its seal, locks it, renames it, and
 * syncs all of that. from: the file's name, before and after. NULL: done.
 */
static const char *make_segment(struct bs_log_writer *w, char from[BS_LOG_NAME])
{
	unsigned char block[BS_LOG_RECORDS] = { 0 };

	bs_log_put_head(block, &w->head);
	if (fchmod(w->fd, BS_LOG_MODE) != 0)
		return "cannot set its mode";
	if (flock(w->fd, LOCK_EX | LOCK_NB) != 0)
		return "cannot be locked";
	if (!bs_write_whole(w->fd, block, sizeof(block), 0))
		return "cannot write its head";
	if (fdatasync(w->fd) != 0)
		return "cannot sync its head";
	if (bs_draft_rename(w->dir_fd, from, w->name) != 0)
		return "cannot get its name";
	memcpy(from, w->name, BS_LOG_NAME);
	if (bs_log_sync_names(w->dir_fd) != 0)
		return "cannot sync its folder";
	return NULL;
}

/* Opens segment head.index, to begin with record head.first. On failure no such file is left. */
static int open_segment(struct bs_log_writer *w, struct bs_fail *why)
{
	const char *failed = NULL;
	char from[BS_LOG_NAME] = "";
	int error;

	bs_log_name(w->name, &w->head);
	w->head.id = 0;
	while (failed == NULL && w->head.id == 0)
		if (getrandom(&w->head.id, sizeof(w->head.id), 0) != sizeof(w->head.id))
			failed = "has no random id";
	if (failed == NULL)
		failed = take_spare(w, from);
	if (failed == NULL)
		failed = make_segment(w, from);
	w->at = BS_LOG_RECORDS;
	if (w->head.after_fault || w->head.index == 0) {
		memset(w->chain, 0, sizeof(w->chain));
		w->unchained = 0;
	}
	if (failed == NULL)
		return 0;
	error = errno;
	if (w->fd >= 0)
		(void)close(w->fd);
	w->fd = -1;
	if (from[0] != '\0')
		(void)unlinkat(w->dir_fd, from, 0);
	errno = error;
	return log_fail(w, failed, why);
}

/* Fails if somebody removed the open file, which no write reports: its records are lost then. */
static int check_there(struct bs_log_writer *w, int fd, struct bs_fail *why)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_nlink > 0)
		return 0;
	w->removed = w->durable;
	errno = ENOENT;
	return log_fail(w, "was removed", why);
}

/* Adds padding, so that the next commit starts a block. Returns all bytes to write. */
static size_t pad(struct bs_log_writer *w)
{
	const uint64_t end = w->at + w->used;
	uint64_t to = (end + BS_LOG_BLOCK - 1) / BS_LOG_BLOCK * BS_LOG_BLOCK;
	struct bs_log_frame f = {
		.id = w->head.id, .number = w->next, .durable = w->synced, .kind = BS_LOG_PADDING
	};

	if (to == end)
		return w->used;
	if (to - end < BS_LOG_FRAME)
		to += BS_LOG_BLOCK;
	f.length = (uint32_t)(to - end - BS_LOG_FRAME);
	memset(w->buffer + w->used + BS_LOG_FRAME, 0, f.length);
	f.crc = bs_crc32c(0, w->buffer + w->used + BS_LOG_FRAME, f.length);
	bs_log_put_frame(w->buffer + w->used, &f);
	return w->used + BS_LOG_FRAME + f.length;
}

int bs_log_writer_commit(struct bs_log_writer *w, struct bs_fail *why)
{
	size_t bytes;

	if (w->failed || w->fd < 0)
		return bs_fail(why, BS_ERR_STATE, "%s/%s: the log has failed", w->dir, w->name);
	if (w->used == 0)
		return 0;
	bytes = pad(w);
	if (!bs_write_whole(w->fd, w->buffer, bytes, (int64_t)w->at))
		return log_fail(w, "cannot write", why);
	if (!w->relaxed && fdatasync(w->fd) != 0)
		return log_fail(w, "cannot sync", why);
	if (check_there(w, w->fd, why) != 0)
		return BS_ERR_IO;
	w->at += bytes;
	w->used = 0;
	w->unchained = w->signer != NULL ? bytes : 0;
	w->durable = w->next;
	w->synced = w->relaxed ? w->synced : w->next;
	w->commits++;
	return 0;
}

void bs_log_writer_chain(struct bs_log_writer *w)
{
	for (size_t at = 0; at < w->unchained; at += BS_LOG_BLOCK)
		bs_chain_add(w->chain, w->buffer + at, BS_LOG_BLOCK);
	w->unchained = 0;
}

static int seal_segment(struct bs_log_writer *w, int fd, const struct bs_log_head *seal,
			struct bs_fail *why)
{
	unsigned char block[BS_LOG_BLOCK];

	bs_log_put_seal(block, seal);
	if (w->signer != NULL)
		bs_log_sign_seal(block, w->chain, w->signer);
	if (!bs_write_whole(fd, block, sizeof(block), BS_LOG_SEAL_AT))
		return log_fail(w, "cannot write its seal", why);
	if (!w->relaxed && fdatasync(fd) != 0)
		return log_fail(w, "cannot sync its seal", why);
	if (check_there(w, fd, why) != 0)
		return BS_ERR_IO;
	w->synced = w->relaxed ? w->synced : seal->next;
	return 0;
}

/* Opens the next segment, to begin with record w->durable. */
static int next_segment(struct bs_log_writer *w, bool after_fault, struct bs_fail *why)
{
	w->fd = -1;
	w->head.index++;
	w->head.first = w->durable;
	w->head.after_fault = after_fault;
	return open_segment(w, why);
}

/* Ends a full segment. The next one is made before this one's seal says that the log goes on. */
static int roll(struct bs_log_writer *w, struct bs_fail *why)
{
	struct bs_log_head seal;
	int rc = bs_log_writer_commit(w, why);
	int fd = w->fd;

	if (rc != 0)
		return rc;
	bs_log_writer_chain(w);
	seal = w->head;
	seal.end = w->at;
	seal.next = w->next;
	rc = next_segment(w, false, why);
	if (rc == 0)
		rc = seal_segment(w, fd, &seal, why);
	(void)close(fd);
	return rc;
}

/* ---- the log ---- */

size_t bs_log_writer_bytes(size_t message_max)
{
	return BS_LOG_COMMIT_BYTES + (size_t)bs_log_record_bytes(message_max) + PADDING_MAX;
}

/* Prepares the writer; it has no segment yet. */
static int prepare_writer(struct bs_log_writer *w, const struct bs_log_room *room,
			  struct bs_fail *why)
{
	const uint64_t segment_bytes = room->segment_bytes;
	const size_t len = strlen(room->dir);
	const size_t cap = room->cap;

	memset(w, 0, sizeof(*w));
	w->dir_fd = w->fd = -1;
	if (len >= sizeof(w->dir))
		return bs_fail(why, BS_ERR_IO, "a folder's name of %zu bytes is too long", len);
	if (segment_bytes % BS_LOG_BLOCK != 0 ||
	    segment_bytes < BS_LOG_RECORDS + (uint64_t)BS_LOG_BLOCK ||
	    cap > segment_bytes - BS_LOG_RECORDS - BS_LOG_BLOCK || cap < (size_t)2 * PADDING_MAX)
		return bs_fail(why, BS_ERR_SIZE,
			       "a log's segments of %llu bytes, its buffer of %zu: segments are "
			       "whole blocks of %u bytes, three more than the buffer",
			       (unsigned long long)segment_bytes, cap, BS_LOG_BLOCK);
	memcpy(w->dir, room->dir, len + 1);
	w->segment_bytes = segment_bytes;
	w->buffer = room->buffer;
	w->cap = cap;
	w->dir_fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return w->dir_fd >= 0 ? 0 : io_fail(why, "cannot open the folder", w->dir, "");
}

int bs_log_writer_open(struct bs_log_writer *w, const struct bs_log_room *room, uint64_t session,
		       int64_t started_ns, struct bs_fail *why)
{
	int rc = prepare_writer(w, room, why);

	if (rc != 0)
		return rc;
	w->head.session = session;
	w->head.started_ns = started_ns > 0 ? started_ns : 0;
	rc = open_segment(w, why);
	if (rc != 0)
		bs_log_writer_close(w);
	return rc;
}

int bs_log_writer_resume(struct bs_log_writer *w, const struct bs_log_room *room,
			 const struct bs_log_head *head, uint64_t durable, struct bs_fail *why)
{
	const struct bs_log_head was = *head; /* head may point into *w */
	char name[BS_LOG_NAME];
	int rc = prepare_writer(w, room, why);

	if (rc != 0)
		return rc;
	w->head.session = was.session;
	w->head.started_ns = was.started_ns;
	w->head.scan = was.scan;
	w->head.index = was.index;
	w->next = w->durable = w->synced = durable;
	for (bs_log_name(name, &w->head);
	     faccessat(w->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	     bs_log_name(name, &w->head))
		w->head.index++;
	w->head.first = durable;
	w->head.after_fault = w->head.index > 0;
	rc = open_segment(w, why);
	if (rc != 0)
		bs_log_writer_close(w);
	return rc;
}

int bs_log_writer_append(struct bs_log_writer *w, const void *message, size_t len, int64_t now_ns,
			 struct bs_fail *why)
{
	const uint64_t bytes = bs_log_record_bytes(len);
	struct bs_log_frame f = { .length = (uint32_t)len, .kind = BS_LOG_MESSAGE };
	unsigned char *at;
	int rc = 0;

	if (len == 0 || len > BS_LOG_BODY_MAX || bytes > w->cap - PADDING_MAX)
		return bs_fail(why, BS_ERR_SIZE, "a message of %zu bytes, a log's buffer of %zu",
			       len, w->cap);
	if (w->failed || w->fd < 0)
		return bs_fail(why, BS_ERR_STATE, "%s/%s: the log has failed", w->dir, w->name);
	if (w->used + bytes + PADDING_MAX > w->cap)
		rc = bs_log_writer_commit(w, why);
	if (rc == 0 && w->at + w->used + bytes + PADDING_MAX > w->segment_bytes)
		rc = roll(w, why);
	if (rc != 0)
		return rc;
	if (w->used == 0)
		w->oldest_ns = now_ns;
	bs_log_writer_chain(w); /* the buffer is written over from its begin */
	f.id = w->head.id;
	f.number = w->next++;
	f.durable = w->synced;
	at = w->buffer + w->used;
	memcpy(at + BS_LOG_FRAME, message, len);
	memset(at + BS_LOG_FRAME + len, 0, (size_t)bytes - BS_LOG_FRAME - len);
	f.crc = bs_crc32c(0, at + BS_LOG_FRAME, (size_t)bytes - BS_LOG_FRAME);
	bs_log_put_frame(at, &f);
	w->used += (size_t)bytes;
	return 0;
}

int64_t bs_log_writer_due(const struct bs_log_writer *w)
{
	if (w->used == 0 || w->failed)
		return INT64_MAX;
	return w->used >= BS_LOG_COMMIT_BYTES ? w->oldest_ns : w->oldest_ns + BS_LOG_COMMIT_NS;
}

int bs_log_writer_continue(struct bs_log_writer *w, struct bs_fail *why)
{
	int rc;

	if (w->dir_fd < 0)
		return bs_fail(why, BS_ERR_STATE, "%s: the log is closed", w->dir);
	rc = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* the folder may be a new one */
	if (rc < 0)
		return io_fail(why, "cannot open the folder", w->dir, "");
	(void)close(w->dir_fd);
	w->dir_fd = rc;
	if (w->fd >= 0) {
		(void)close(w->fd);
		rc = next_segment(w, true, why);
	} else { /* the last attempt made no segment */
		w->head.after_fault = true;
		rc = open_segment(w, why);
	}
	if (rc != 0)
		return rc;
	for (size_t at = 0; at < w->used;) { /* the buffer's records get this segment's id */
		struct bs_log_frame f;

		rc = bs_log_get_frame(&f, w->buffer + at, why);
		if (rc != 0)
			return rc;
		f.id = w->head.id;
		bs_log_put_frame(w->buffer + at, &f);
		at += (size_t)bs_log_record_bytes(f.length);
	}
	w->failed = false;
	return bs_log_writer_commit(w, why);
}

int bs_log_writer_seal(struct bs_log_writer *w, struct bs_fail *why)
{
	struct bs_log_head seal;
	int rc = bs_log_writer_commit(w, why);

	bs_log_writer_chain(w);
	seal = w->head;
	seal.last = true;
	seal.early = w->early;
	seal.end = w->at;
	seal.next = w->next;
	if (rc == 0)
		rc = seal_segment(w, w->fd, &seal, why);
	if (rc == 0 && !w->uncut && ftruncate(w->fd, (off_t)w->at) != 0)
		rc = log_fail(w, "is sealed but cannot be cut", why);
	return rc;
}

void bs_log_writer_close(struct bs_log_writer *w)
{
	if (w->fd >= 0)
		(void)close(w->fd);
	if (w->dir_fd >= 0)
		(void)close(w->dir_fd);
	w->fd = w->dir_fd = -1;
	w->used = 0;
}

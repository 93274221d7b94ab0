/* drivers/log/reader.c - see reader.h */
#include "drivers/log/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/whole.h"
#include "drivers/log/name.h"
#include "ipc/wire/envelope.h"

struct segment {
	char *path;
	uint32_t index;
	uint64_t bytes;
	struct bs_log_head head; /* head of the segment; id 0: it could not be read */
	struct bs_log_head seal;
	bool sealed;
	bool bad_seal; /* the seal was written in part, or is damaged */
};

struct bs_log_reader {
	struct segment *segment; /* [segments], sorted by index */
	uint32_t segments;
	uint32_t at; /* the segment that next reads */
	uint64_t offset, number;
	enum bs_log_end end;
	bool ended;
	struct bs_fail damage;        /* first damage found; code 0: none */
	struct bs_fail harmless;      /* damage that loses no message; returned at the end */
	const struct segment *unsure; /* segment with a bad seal, until the next file is read */
	int fd;                       /* file of segment open_at; -1: none */
	uint32_t open_at;
	unsigned char *body; /* buffer aligned to 8 bytes; grows to the largest record */
	size_t cap;
	bool read_failed;
};

/* ---- bytes ---- */

static int go_to(struct bs_log_reader *r, uint32_t segment, struct bs_fail *why)
{
	if (r->fd >= 0 && r->open_at == segment)
		return 0;
	if (r->fd >= 0)
		(void)close(r->fd);
	r->fd = open(r->segment[segment].path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r->fd < 0)
		return bs_fail(why, BS_ERR_IO, "%s: cannot be opened: %s", r->segment[segment].path,
			       strerror(errno));
	r->open_at = segment;
	return 0;
}

/* Reads len bytes at an offset. BS_ERR_LENGTH: the file ends before; BS_ERR_IO. */
static int get_at(struct bs_log_reader *r, void *to, uint64_t at, size_t len, struct bs_fail *why)
{
	const size_t n = bs_read_whole(r->fd, to, len, (int64_t)at);

	if (n == len)
		return 0;
	if (errno == 0)
		return bs_fail(why, BS_ERR_LENGTH, "the file ends at %llu",
			       (unsigned long long)(at + n));
	r->read_failed = true;
	return bs_fail(why, BS_ERR_IO, "cannot be read: %s", strerror(errno));
}

/*
 * Reads the record at an offset: its frame into *f, its body into r->body. The record must end at
 * or before limit and have the segment's id. Returns 0, or the error.
 */
static int read_record(struct bs_log_reader *r, const struct segment *s, uint64_t offset,
		       uint64_t limit, struct bs_log_frame *f, struct bs_fail *why)
{
	unsigned char frame[BS_LOG_FRAME];
	uint64_t padded;
	int rc;

	if (offset > limit || limit - offset < BS_LOG_FRAME)
		return bs_fail(why, BS_ERR_LENGTH, "the records end at %llu",
			       (unsigned long long)limit);
	rc = get_at(r, frame, offset, sizeof(frame), why);
	if (rc == 0)
		rc = bs_log_get_frame(f, frame, why);
	if (rc == 0 && s->head.id != 0 && f->id != s->head.id)
		rc = bs_fail(why, BS_ERR_MAGIC, "a record of another log begins here");
	if (rc != 0)
		return rc;
	padded = bs_log_record_bytes(f->length) - BS_LOG_FRAME;
	if (padded > limit - offset - BS_LOG_FRAME)
		return bs_fail(why, BS_ERR_LENGTH, "a record of %u bytes, the records end at %llu",
			       f->length, (unsigned long long)limit);
	if (padded > r->cap) {
		unsigned char *more = realloc(r->body, (size_t)padded);

		if (more == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "a record of %u bytes", f->length);
		r->body = more;
		r->cap = (size_t)padded;
	}
	rc = get_at(r, r->body, offset + BS_LOG_FRAME, (size_t)padded, why);
	if (rc == 0 && bs_crc32c(0, r->body, (size_t)padded) != f->crc)
		rc = bs_fail(why, BS_ERR_CRC, "the record's checksum does not match");
	return rc;
}

/* ---- opening ---- */

/* Notes damage to a head, a seal or padding, by which no message is lost. */
static void note_harmless(struct bs_log_reader *r, const struct segment *s, uint64_t offset,
			  const char *what)
{
	if (r->harmless.code == 0)
		(void)bs_fail(&r->harmless, BS_ERR_FORMAT,
			      "%s: offset %llu: %s; all messages could be read", s->path,
			      (unsigned long long)offset, what);
}

bool bs_log_zeros(const unsigned char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != 0)
			return false;
	return true;
}

/*
 * Reads a segment's head and seal. If the head cannot be read, the seal replaces it, or else the
 * first record does; then only the head's facts about the scan are lost.
 */
static int look_at(struct bs_log_reader *r, uint32_t i, struct bs_fail *why)
{
	unsigned char block[BS_LOG_BLOCK];
	struct segment *s = &r->segment[i];
	struct bs_log_frame f;
	struct bs_fail head = { 0 };
	struct bs_fail seal = { 0 };
	struct stat st;
	int rc = go_to(r, i, why);

	if (rc != 0)
		return rc;
	if (fstat(r->fd, &st) != 0 || !S_ISREG(st.st_mode))
		return bs_fail(why, BS_ERR_IO, "%s: not a file that can be read", s->path);
	s->bytes = (uint64_t)st.st_size;
	rc = get_at(r, block, 0, sizeof(block), &head);
	if (rc == 0)
		rc = bs_log_get_head(&s->head, block, &head);
	if (rc == BS_ERR_VERSION)
		return bs_fail(why, rc, "%s: %s", s->path, head.text);
	if (get_at(r, block, BS_LOG_SEAL_AT, sizeof(block), &seal) == 0) {
		s->sealed = bs_log_get_seal(&s->seal, block, &seal) == 0 &&
			    (head.code != 0 || s->seal.id == s->head.id);
		s->bad_seal = !s->sealed && seal.code != 0 && !bs_log_zeros(block, sizeof(block));
	}
	if (head.code != 0 && s->sealed) {
		s->head = s->seal;
	} else if (head.code != 0) {
		memset(&s->head, 0, sizeof(s->head));
		if (read_record(r, s, BS_LOG_RECORDS, s->bytes, &f, NULL) == 0) {
			s->head.id = f.id;
			s->head.first = f.number;
			s->head.index = s->index;
		}
	}
	if (head.code != 0)
		note_harmless(r, s, 0, head.text);
	return 0;
}

static int by_index(const void *a, const void *b)
{
	const struct segment *x = a;
	const struct segment *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

static int add_segment(struct bs_log_reader *r, const char *dir, const char *name, uint32_t index,
		       struct bs_fail *why)
{
	struct segment *more = realloc(r->segment, ((size_t)r->segments + 1) * sizeof(*more));
	char *path = NULL;

	if (more != NULL)
		r->segment = more;
	if (more == NULL || asprintf(&path, "%s%s", dir, name) < 0)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory", name);
	r->segment[r->segments++] = (struct segment){ .path = path, .index = index };
	return 0;
}

/*
 * Finds all files beside path that belong to the same log. If path is not named as a segment, it is
 * the only file.
 */
static int find_segments(struct bs_log_reader *r, const char *path, struct bs_fail *why)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	struct dirent *e;
	uint32_t index = 0;
	size_t stem = 0;
	size_t its;
	char *dir;
	DIR *d;
	int rc = 0;

	if (!bs_log_split(name, &stem, &index))
		return add_segment(r, "", path, 0, why);
	dir = strndup(path, (size_t)(name - path));
	if (dir == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory", path);
	d = opendir(dir[0] != '\0' ? dir : ".");
	if (d == NULL)
		rc = bs_fail(why, BS_ERR_IO, "%s: cannot list its folder: %s", path,
			     strerror(errno));
	while (rc == 0 && (e = readdir(d)) != NULL)
		if (bs_log_split(e->d_name, &its, &index) && its == stem &&
		    strncmp(e->d_name, name, stem) == 0)
			rc = add_segment(r, dir, e->d_name, index, why);
	if (d != NULL)
		(void)closedir(d);
	free(dir);
	if (rc == 0 && r->segments == 0)
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(ENOENT));
	if (rc == 0)
		qsort(r->segment, r->segments, sizeof(*r->segment), by_index);
	return rc;
}

int bs_log_open(struct bs_log_reader **out, const char *path, struct bs_fail *why)
{
	struct bs_log_reader *r = calloc(1, sizeof(*r));
	bool any = false;
	int rc;

	*out = NULL;
	if (r == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory", path);
	r->fd = -1;
	r->offset = BS_LOG_RECORDS;
	rc = find_segments(r, path, why);
	for (uint32_t i = 0; rc == 0 && i < r->segments; i++) {
		rc = look_at(r, i, why);
		any = any || (rc == 0 && r->segment[i].head.id != 0);
	}
	if (rc == 0 && !any)
		rc = bs_fail(why, r->read_failed ? BS_ERR_IO : BS_ERR_FORMAT,
			     "%s: is no log: nothing of one can be read", path);
	if (rc != 0)
		bs_log_close(r);
	else
		*out = r;
	return rc;
}

void bs_log_close(struct bs_log_reader *r)
{
	if (r == NULL)
		return;
	for (uint32_t i = 0; i < r->segments; i++)
		free(r->segment[i].path);
	free(r->segment);
	free(r->body);
	if (r->fd >= 0)
		(void)close(r->fd);
	free(r);
}

/* ---- reading on ---- */

static int damaged(struct bs_log_reader *r, const struct segment *s, const char *what,
		   struct bs_fail *why)
{
	(void)bs_fail(&r->damage, BS_ERR_FORMAT, "%s: offset %llu, record %llu: %s", s->path,
		      (unsigned long long)r->offset, (unsigned long long)r->number, what);
	return bs_fail(why, BS_ERR_FORMAT, "%s", r->damage.text);
}

static int end_log(struct bs_log_reader *r, enum bs_log_end end, struct bs_fail *why)
{
	r->ended = true;
	r->end = end;
	return r->harmless.code != 0 ? bs_fail(why, BS_ERR_FORMAT, "%s", r->harmless.text) : 0;
}

/* True if a later record of this segment says that record r->number was on the disk. */
static bool was_durable(struct bs_log_reader *r, const struct segment *s)
{
	unsigned char frame[BS_LOG_FRAME];
	struct bs_log_frame f;

	for (uint64_t at = r->offset / BS_LOG_BLOCK * BS_LOG_BLOCK + BS_LOG_BLOCK;
	     at + BS_LOG_FRAME <= s->bytes; at += BS_LOG_BLOCK)
		if (get_at(r, frame, at, sizeof(frame), NULL) == 0 &&
		    bs_log_get_frame(&f, frame, NULL) == 0 && f.id == s->head.id &&
		    f.durable > r->number)
			return true;
	return false;
}

/* True if this log wrote nothing at r->offset: zeros are there, or a former log's record. */
static bool untouched(struct bs_log_reader *r, const struct segment *s)
{
	unsigned char rest[BS_LOG_FRAME];
	struct bs_log_frame f;

	if (r->offset == s->bytes)
		return true;
	if (s->bytes - r->offset < sizeof(rest) ||
	    get_at(r, rest, r->offset, sizeof(rest), NULL) != 0)
		return false;
	return bs_log_zeros(rest, sizeof(rest)) ||
	       (bs_log_get_frame(&f, rest, NULL) == 0 && f.id != s->head.id);
}

/* Returns the last segment that begins at or before record r->number: only this one has it. */
static uint32_t segment_due(const struct bs_log_reader *r)
{
	uint32_t i = r->segments - 1;

	while (i > r->at && (r->segment[i].head.id == 0 || r->segment[i].head.first > r->number))
		i--;
	return i;
}

static int enter_segment(struct bs_log_reader *r, uint32_t i)
{
	const struct segment *s = &r->segment[r->at];

	r->unsure = s->bad_seal ? s : NULL;
	r->at = i;
	r->offset = BS_LOG_RECORDS;
	return 0;
}

/* Goes on to the next segment. 0: done; else an error, as bs_log_next returns it. */
static int leave_segment(struct bs_log_reader *r, struct bs_fail *why)
{
	const struct segment *s = &r->segment[r->at];
	const struct segment *then = s + 1;
	const uint32_t due = segment_due(r);

	if (due != r->at)
		return enter_segment(r, due);
	if (r->at + 1 >= r->segments)
		return damaged(r, s, "the log goes on in a file that is not here", why);
	if (then->head.id == 0) {
		r->at++;
		return damaged(r, then, "nothing of this file can be read", why);
	}
	return damaged(r, s, "the next file does not begin with this record", why);
}

/*
 * True if only padding is damaged; then r->offset moves behind it. In that case record r->number
 * begins in one of the next two blocks, or the seal says that the segment ends before it.
 */
static bool past_padding(struct bs_log_reader *r, const struct bs_fail *bad)
{
	const struct segment *s = &r->segment[r->at];
	const uint64_t from = r->offset;
	unsigned char frame[BS_LOG_FRAME];
	struct bs_log_frame f;

	if (s->sealed && s->seal.next == r->number)
		r->offset = s->seal.end;
	for (uint64_t n = 1; r->offset == from && n <= 2; n++) {
		const uint64_t at = (from / BS_LOG_BLOCK + n) * BS_LOG_BLOCK;

		if (get_at(r, frame, at, sizeof(frame), NULL) == 0 &&
		    bs_log_get_frame(&f, frame, NULL) == 0 && f.id == s->head.id &&
		    f.number == r->number)
			r->offset = at;
	}
	if (r->offset != from)
		note_harmless(r, s, from, bad->text);
	return r->offset != from;
}

/* Handles a bad record at r->offset. 0: read on; 1: the log ends here; negative: damage. */
static int stop_at(struct bs_log_reader *r, const struct bs_fail *bad, struct bs_fail *why)
{
	const struct segment *s = &r->segment[r->at];
	char what[sizeof(bad->text)];

	if (bad->code == BS_ERR_IO || bad->code == BS_ERR_NOMEM)
		return damaged(r, s, bad->text, why);
	if (past_padding(r, bad))
		return 0;
	if (r->at + 1 < r->segments && s[1].head.id != 0 && s[1].head.first > r->number)
		(void)snprintf(what, sizeof(what), "%.200s; %llu records up to the next file's",
			       bad->text, (unsigned long long)(s[1].head.first - r->number));
	else if (s->sealed)
		(void)snprintf(what, sizeof(what), "%.200s; %llu records up to the seal's end",
			       bad->text, (unsigned long long)(s->seal.next - r->number));
	else if (r->at + 1 < r->segments || was_durable(r, s))
		(void)snprintf(what, sizeof(what), "%.200s; it was committed", bad->text);
	else
		return 1;
	return damaged(r, s, what, why);
}

static const char bad_seal[] = "the seal is damaged";

/* Ends a log without a seal: no more can be read, and nothing says that there was more. */
static int open_end(struct bs_log_reader *r, struct bs_fail *why)
{
	const struct segment *s = &r->segment[r->at];

	if (s->bytes < BS_LOG_RECORDS)
		return damaged(r, s, "the file ends before its first record", why);
	if (s->bad_seal && r->offset == s->bytes) /* sealing cut the file: the seal was written */
		note_harmless(r, s, BS_LOG_SEAL_AT, bad_seal);
	return end_log(r, untouched(r, s) && !s->bad_seal ? BS_LOG_END_OPEN : BS_LOG_END_TORN, why);
}

/* Handles the segment's end that the seal names. 1: the log ends; else as leave_segment. */
static int at_seal(struct bs_log_reader *r, struct bs_fail *why)
{
	const struct segment *s = &r->segment[r->at];

	if (r->number != s->seal.next)
		return damaged(r, s, "the seal has another number", why);
	if (s->seal.last && r->at + 1 == r->segments)
		return 1;
	return leave_segment(r, why);
}

static int begin_reading(struct bs_log_reader *r, struct bs_fail *why)
{
	const struct segment *s = &r->segment[0];

	if (r->at == 0 && r->offset == BS_LOG_RECORDS && s->head.id == 0)
		return damaged(r, s, "nothing of this file can be read", why);
	if (r->at == 0 && r->offset == BS_LOG_RECORDS && s->head.first != 0)
		return damaged(r, s, "the log begins in a file that is not here", why);
	return go_to(r, r->at, why);
}

/* Reads one record, or ends a segment. 1: a message; 0: call again, or the log has ended. */
static int step_record(struct bs_log_reader *r, struct bs_log_frame *f, struct bs_fail *why)
{
	const struct segment *s = &r->segment[r->at];
	struct bs_fail bad = { 0 };
	int rc;

	/* records that a later segment repeats are skipped here, unless this segment is sealed */
	if (segment_due(r) != r->at && !(s->sealed && s->seal.next == r->number))
		return enter_segment(r, segment_due(r));
	if (s->sealed && r->offset == s->seal.end) {
		rc = at_seal(r, why);
		return rc == 1 ? end_log(r, BS_LOG_END_SEALED, why) : rc;
	}
	rc = read_record(r, s, r->offset, s->sealed ? s->seal.end : s->bytes, f, &bad);
	if (rc == 0 && f->number != r->number)
		rc = bs_fail(&bad, BS_ERR_SEQUENCE, "record %llu stands here",
			     (unsigned long long)f->number);
	if (rc != 0) {
		rc = stop_at(r, &bad, why);
		return rc == 1 ? open_end(r, why) : rc;
	}
	if (f->kind == BS_LOG_MESSAGE) {
		/* a writer begins a segment only after a good seal, or after an error */
		if (r->unsure != NULL && !s->head.after_fault)
			note_harmless(r, r->unsure, BS_LOG_SEAL_AT, bad_seal);
		r->unsure = NULL;
		return 1;
	}
	r->offset += bs_log_record_bytes(f->length);
	return 0;
}

int bs_log_next(struct bs_log_reader *r, struct bs_log_message *m, struct bs_fail *why)
{
	struct bs_log_frame f;
	int rc;

	if (r->damage.code != 0)
		return bs_fail(why, r->damage.code, "%s", r->damage.text);
	if (r->ended)
		return end_log(r, r->end, why);
	do {
		rc = begin_reading(r, why);
		if (rc == 0)
			rc = step_record(r, &f, why);
	} while (rc == 0 && !r->ended);
	if (rc != 1)
		return rc;
	*m = (struct bs_log_message){
		.bytes = r->body, .len = f.length, .number = f.number, .place = { r->at, r->offset }
	};
	r->offset += bs_log_record_bytes(f.length);
	r->number++;
	return 1;
}

int bs_log_again(struct bs_log_reader *r, struct bs_log_place at, struct bs_log_message *m,
		 struct bs_fail *why)
{
	const struct segment *s = &r->segment[at.segment < r->segments ? at.segment : 0];
	struct bs_fail bad = { 0 };
	struct bs_log_frame f;
	int rc = at.segment < r->segments ? go_to(r, at.segment, why)
					  : bs_fail(why, BS_ERR_INDEX, "no such place in the log");

	if (rc != 0)
		return rc;
	rc = read_record(r, s, at.offset, s->bytes, &f, &bad);
	if (rc != 0)
		return bs_fail(why, BS_ERR_FORMAT, "%s: offset %llu: %s", s->path,
			       (unsigned long long)at.offset, bad.text);
	*m = (struct bs_log_message){
		.bytes = r->body, .len = f.length, .number = f.number, .place = at
	};
	return 0;
}

/* ---- what is known of the log ---- */

bool bs_log_read_failed(const struct bs_log_reader *r)
{
	return r->read_failed;
}

enum bs_log_end bs_log_end(const struct bs_log_reader *r)
{
	return r->end;
}

void bs_log_where(const struct bs_log_reader *r, char *text, size_t cap)
{
	(void)snprintf(text, cap, "%s, offset %llu, record %llu", r->segment[r->at].path,
		       (unsigned long long)r->offset, (unsigned long long)r->number);
}

uint32_t bs_log_segments(const struct bs_log_reader *r)
{
	return r->segments;
}

uint64_t bs_log_bytes(const struct bs_log_reader *r)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->segments; i++)
		sum += r->segment[i].bytes;
	return sum;
}

const char *bs_log_last(const struct bs_log_reader *r, struct bs_log_head *seal)
{
	const struct segment *s = &r->segment[r->segments - 1];
	const bool reached = r->at + 1 == r->segments;

	*seal = s->head;
	seal->last = true;
	seal->end = reached ? r->offset : s->bytes / 8 * 8;
	seal->next = reached ? r->number : s->head.first;
	if (r->damage.code != 0)
		seal->next++;
	return s->path;
}

const char *bs_log_path(const struct bs_log_reader *r, uint32_t segment)
{
	return segment < r->segments ? r->segment[segment].path : NULL;
}

const struct bs_log_head *bs_log_begins(const struct bs_log_reader *r)
{
	for (uint32_t i = 0; i < r->segments; i++)
		if (r->segment[i].head.started_ns != 0)
			return &r->segment[i].head;
	return &r->segment[0].head;
}

bool bs_log_sealed(const struct bs_log_reader *r)
{
	const struct segment *s = &r->segment[r->segments - 1];

	return s->sealed && s->seal.last;
}

/* board/tool/audit/frames.c - see frames.h */
#include "board/tool/audit/frames.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "ipc/wire/bytes.h"

/* time after which a file counts as no longer written; file times have no finer steps */
#define QUIET_NS INT64_C(1000000000)
#define ZEROS_AT 76u /* offset in a block from which a head is zeros */

/* State of reading one log. */
struct look {
	struct bs_findings *f;
	struct bs_audit_frames *out;
	struct bs_log_reader *r;
	char *where;
	int fd; /* descriptor of segment open_at; -1: none is open */
	uint32_t open_at;
	struct bs_log_place behind; /* end of the record before; offset 0: not known */
	uint64_t durable;
	bool heads; /* a finding about heads or seals was made */
};

/* ---- whether a log has changed meanwhile ---- */

/* Hash of the sizes, times and numbers of the log's files; shows whether they changed. */
static uint64_t mark_of(const struct bs_log_reader *r, int64_t *newest_ns)
{
	uint64_t mark = 1;
	const char *path;
	struct stat st;

	*newest_ns = 0;
	for (uint32_t i = 0; (path = bs_log_path(r, i)) != NULL; i++) {
		memset(&st, 0, sizeof(st));
		(void)stat(path, &st); /* a removed file leaves zeros */
		const int64_t ns =
			(int64_t)st.st_mtim.tv_sec * 1000000000 + (int64_t)st.st_mtim.tv_nsec;
		mark = ((mark * 31 + (uint64_t)st.st_ino) * 31 + (uint64_t)st.st_size) * 31 +
		       (uint64_t)ns;
		*newest_ns = ns > *newest_ns ? ns : *newest_ns;
	}
	return mark;
}

/* ---- heads, seals, segments ---- */

static void judge_name(struct look *l, const char *path, const struct bs_log_head *h,
		       const struct stat *st)
{
	const char *slash = strrchr(path, '/');
	char name[BS_LOG_NAME];
	size_t stem;
	uint32_t index;

	bs_judged(l->f, BS_PROMISE_MODE);
	if ((st->st_mode & 0777 & ~(mode_t)BS_LOG_MODE) != 0)
		bs_found(l->f, BS_PROMISE_MODE, path, "mode %03o", (unsigned)(st->st_mode & 0777));
	if (!bs_log_split(slash != NULL ? slash + 1 : path, &stem, &index))
		return; /* a file given by itself may have any name */
	bs_judged(l->f, BS_PROMISE_NAME);
	bs_log_name(name, h);
	if (strcmp(slash != NULL ? slash + 1 : path, name) != 0)
		bs_found(l->f, BS_PROMISE_NAME, path, "its head makes that %s", name);
}

static bool judge_head(struct look *l, const char *path, const unsigned char *block,
		       struct bs_log_head *h)
{
	struct bs_fail why;

	bs_judged(l->f, BS_PROMISE_HEAD);
	if (bs_log_get_head(h, block, &why) != 0) {
		bs_found(l->f, BS_PROMISE_HEAD, path, "%s", why.text);
		return false;
	}
	if ((bs_get_le(block + 52, 4) & ~UINT64_C(2)) != 0 || !bs_log_zeros(block + 56, 16) ||
	    !bs_log_zeros(block + ZEROS_AT, BS_LOG_BLOCK - ZEROS_AT))
		bs_found(l->f, BS_PROMISE_HEAD, path,
			 "flags %#x, or bytes that are to be zero are not",
			 (unsigned)bs_get_le(block + 52, 4));
	if (h->index == 0 && h->first != 0)
		bs_found(l->f, BS_PROMISE_SEGMENTS, path, "segment 0 begins with record %llu",
			 (unsigned long long)h->first);
	return true;
}

/* Judges a seal. One of another id means nothing; a half-written one is left to the reader. */
static bool judge_seal(struct look *l, const char *path, const unsigned char *block,
		       const struct bs_log_head *h, struct bs_log_head *s, uint64_t bytes)
{
	const unsigned fields = bs_get_le(block + 8, 4) == 1 ? BS_LOG_FIELDS_1 : BS_LOG_FIELDS;
	struct bs_fail why;
	const int rc = bs_log_get_seal(s, block, &why);

	if ((rc != 0 && rc != BS_ERR_VALUE) || s->id != h->id)
		return false;
	bs_judged(l->f, BS_PROMISE_SEAL);
	if (rc != 0)
		bs_found(l->f, BS_PROMISE_SEAL, path, "%s", why.text);
	else if (s->session != h->session || s->first != h->first || s->index != h->index ||
		 s->started_ns != h->started_ns || s->scan != h->scan ||
		 s->after_fault != h->after_fault)
		bs_found(l->f, BS_PROMISE_SEAL, path, "its seal is another segment's: %016llx %u",
			 (unsigned long long)s->session, s->index);
	else if (s->end > bytes)
		bs_found(l->f, BS_PROMISE_SEAL, path, "its end is %llu, the file has %llu bytes",
			 (unsigned long long)s->end, (unsigned long long)bytes);
	else if ((bs_get_le(block + 52, 4) & ~UINT64_C(15)) != 0 || (s->early && !s->last) ||
		 !bs_log_zeros(block + fields, BS_LOG_BLOCK - fields))
		bs_found(l->f, BS_PROMISE_SEAL, path,
			 "flags %#x, or bytes that are to be zero are not",
			 (unsigned)bs_get_le(block + 52, 4));
	return rc == 0;
}

/* The head and the seal in a segment's first two blocks; id 0: unreadable. */
struct ends {
	struct bs_log_head head, seal;
	bool sealed;
};

static void read_ends(struct look *l, uint32_t i, struct ends *e)
{
	unsigned char blocks[BS_LOG_RECORDS];
	const char *path = bs_log_path(l->r, i);
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	memset(e, 0, sizeof(*e));
	if (fd < 0 || fstat(fd, &st) != 0) {
		if (fd >= 0)
			(void)close(fd);
		l->out->gone = true;
		return;
	}
	if (pread(fd, blocks, sizeof(blocks), 0) != (ssize_t)sizeof(blocks)) {
		bs_found(l->f, BS_PROMISE_HEAD, path, "a file of %llu bytes",
			 (unsigned long long)st.st_size);
	} else if (judge_head(l, path, blocks, &e->head)) {
		judge_name(l, path, &e->head, &st);
		e->sealed = judge_seal(l, path, blocks + BS_LOG_SEAL_AT, &e->head, &e->seal,
				       (uint64_t)st.st_size);
		l->out->uncut = e->sealed && e->seal.last && (uint64_t)st.st_size > e->seal.end;
	} else {
		memset(&e->head, 0, sizeof(e->head));
	}
	(void)close(fd);
}

/* Judges how one segment follows the one before. */
static void judge_succession(struct look *l, const char *path, uint32_t i, const struct ends *was,
			     const struct ends *e)
{
	const struct bs_log_head *first = &l->out->begins;
	const struct bs_log_head *h = &e->head;

	if (h->index != i)
		bs_found(l->f, BS_PROMISE_SEGMENTS, path, "index %u stands where %u is due",
			 h->index, i);
	if (h->session != first->session || h->started_ns != first->started_ns ||
	    (h->scan != first->scan && h->scan != 0 && first->scan != 0))
		bs_found(l->f, BS_PROMISE_SEGMENTS, path, "it is of session %016llx, scan %u",
			 (unsigned long long)h->session, h->scan);
	if (was->head.id == 0)
		return;
	if (h->id == was->head.id)
		bs_found(l->f, BS_PROMISE_SEGMENTS, path, "its id is that of the segment before");
	if (h->first < was->head.first)
		bs_found(l->f, BS_PROMISE_SEGMENTS, path, "it begins with record %llu, before %llu",
			 (unsigned long long)h->first, (unsigned long long)was->head.first);
	if (was->sealed && !h->after_fault && (was->seal.last || was->seal.next != h->first))
		bs_found(l->f, BS_PROMISE_SEGMENTS, path,
			 "it begins with record %llu, the seal before says %llu%s",
			 (unsigned long long)h->first, (unsigned long long)was->seal.next,
			 was->seal.last ? " and that the log ends" : "");
}

static void judge_segments(struct look *l)
{
	struct ends was = { 0 };
	struct ends e;
	const uint64_t before = l->f->now;

	bs_judged(l->f, BS_PROMISE_SEGMENTS);
	for (uint32_t i = 0; i < l->out->segments && !l->out->gone; i++) {
		read_ends(l, i, &e);
		if (e.head.id == 0)
			continue;
		if (l->out->begins.id == 0)
			l->out->begins = e.head;
		judge_succession(l, bs_log_path(l->r, i), i, &was, &e);
		was = e;
	}
	l->out->early = was.sealed && was.seal.early;
	l->heads = l->f->now != before;
}

/* ---- between messages ---- */

static bool get_at(struct look *l, struct bs_log_place at, void *to, size_t len)
{
	if (l->fd < 0 || l->open_at != at.segment) {
		if (l->fd >= 0)
			(void)close(l->fd);
		l->fd = open(bs_log_path(l->r, at.segment), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		l->open_at = at.segment;
	}
	return l->fd >= 0 && pread(l->fd, to, len, (off_t)at.offset) == (ssize_t)len;
}

static void judge_durable(struct look *l, const struct bs_log_frame *f)
{
	bs_judged(l->f, BS_PROMISE_DURABLE);
	if (f->durable > f->number || f->durable < l->durable)
		bs_found(l->f, BS_PROMISE_DURABLE, l->where,
			 "%llu records before it were on the disk, it says; one before it said "
			 "%llu",
			 (unsigned long long)f->durable, (unsigned long long)l->durable);
	if (f->durable > l->durable && f->durable <= f->number)
		l->durable = f->durable;
}

/* Judges the bytes between two records of one segment: none, or one padding. */
static void judge_padding(struct look *l, const struct bs_log_message *m)
{
	unsigned char raw[BS_LOG_FRAME + BS_LOG_BLOCK + BS_LOG_FRAME];
	const uint64_t bytes = m->place.offset - l->behind.offset;
	struct bs_log_frame f;

	bs_judged(l->f, BS_PROMISE_PADDING);
	if (bytes == 0)
		return;
	if (bytes < BS_LOG_FRAME || bytes >= BS_LOG_BLOCK + BS_LOG_FRAME ||
	    m->place.offset % BS_LOG_BLOCK != 0)
		bs_found(l->f, BS_PROMISE_PADDING, l->where, "%llu bytes before it",
			 (unsigned long long)bytes);
	else if (get_at(l, l->behind, raw, (size_t)bytes) && bs_log_get_frame(&f, raw, NULL) == 0 &&
		 (f.kind != BS_LOG_PADDING ||
		  !bs_log_zeros(raw + BS_LOG_FRAME, (size_t)bytes - BS_LOG_FRAME)))
		bs_found(l->f, BS_PROMISE_PADDING, l->where,
			 "the %llu bytes before it are no padding of zeros",
			 (unsigned long long)bytes);
}

static void judge_frame(struct look *l, const struct bs_log_message *m)
{
	const size_t padded = (m->len + 7) / 8 * 8;
	unsigned char raw[BS_LOG_FRAME];
	struct bs_log_frame f;

	(void)snprintf(l->where, BS_AUDIT_WHERE, "%s, offset %llu, record %llu",
		       bs_log_path(l->r, m->place.segment), (unsigned long long)m->place.offset,
		       (unsigned long long)m->number);
	if (l->behind.segment == m->place.segment && l->behind.offset != 0)
		judge_padding(l, m);
	if (!bs_log_zeros(m->bytes + m->len, padded - m->len))
		bs_found(l->f, BS_PROMISE_PADDING, l->where, "what fills it up is not zeros");
	if (get_at(l, m->place, raw, sizeof(raw)) && bs_log_get_frame(&f, raw, NULL) == 0) {
		judge_durable(l, &f);
		if (!bs_log_zeros(raw + 42, sizeof(raw) - 42))
			bs_found(l->f, BS_PROMISE_PADDING, l->where,
				 "the end of its frame is not zeros");
	}
	l->behind = (struct bs_log_place){ m->place.segment,
					   m->place.offset + bs_log_record_bytes(m->len) };
}

/* ---- the end ---- */

/* Judges what the reader reports of a log: an early end, or a remark. */
static void judge_damage(struct look *l, const char *path, const struct bs_fail *why)
{
	static const struct {
		const char *words;
		enum bs_promise promise;
	} kinds[] = {
		{ "the seal is damaged; all messages", BS_PROMISE_SEAL },
		{ "the seal has another number", BS_PROMISE_SEAL },
		{ "all messages could be read", BS_PROMISE_PADDING },
		{ "goes on in a file that is not here", BS_PROMISE_SEGMENTS },
		{ "begins in a file that is not here", BS_PROMISE_SEGMENTS },
		{ "next file does not begin with this", BS_PROMISE_SEGMENTS },
		{ "", BS_PROMISE_RECORDS },
	};
	const bool harmless = strstr(why->text, "all messages could be read") != NULL;
	size_t i = 0;

	while (strstr(why->text, kinds[i].words) == NULL)
		i++;
	l->out->damaged = !harmless;
	if (!harmless || !l->heads)
		bs_found(l->f, kinds[i].promise, path, "%s", why->text);
}

static void read_records(struct look *l, const char *path,
			 void (*each)(void *arg, const struct bs_log_message *m), void *arg)
{
	struct bs_log_message m;
	struct bs_fail why;
	int rc;

	bs_judged(l->f, BS_PROMISE_RECORDS);
	while ((rc = bs_log_next(l->r, &m, &why)) == 1) {
		judge_frame(l, &m);
		l->out->records++;
		each(arg, &m);
	}
	if (rc < 0 && bs_log_read_failed(l->r))
		bs_found(l->f, BS_PROMISE_RECORDS, path, "%s", why.text);
	else if (rc < 0)
		judge_damage(l, path, &why);
	l->out->end = bs_log_end(l->r);
}

void bs_audit_frames(struct bs_findings *f, const char *path, char *where,
		     struct bs_audit_frames *out,
		     void (*each)(void *arg, const struct bs_log_message *m), void *arg)
{
	struct look l = { .f = f, .out = out, .where = where, .fd = -1 };
	struct bs_fail why;
	int64_t newest_ns;
	uint64_t mark;
	int rc;

	memset(out, 0, sizeof(*out));
	(void)snprintf(where, BS_AUDIT_WHERE, "%s", path);
	rc = bs_log_open(&l.r, path, &why);
	if (rc != 0) {
		out->gone = access(path, F_OK) != 0;
		out->damaged = true;
		if (!out->gone)
			bs_found(f, BS_PROMISE_HEAD, path, "%s", why.text);
		return;
	}
	mark = mark_of(l.r, &newest_ns);
	out->segments = bs_log_segments(l.r);
	out->bytes = bs_log_bytes(l.r);
	out->sealed = bs_log_sealed(l.r);
	judge_segments(&l);
	read_records(&l, path, each, arg);
	out->restless = mark_of(l.r, &newest_ns) != mark || bs_utc_ns() - newest_ns < QUIET_NS;
	out->gone = out->gone || access(path, F_OK) != 0;
	bs_log_close(l.r);
	if (l.fd >= 0)
		(void)close(l.fd);
}

/* drivers/log/parts.c - see parts.h */
#include "drivers/log/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int fail_at(struct bs_fail *why, int code, const char *path, const char *what)
{
	return bs_fail(why, code, "%s: %s", path, what);
}

static int read_part(struct bs_log_part *p, const char *path, struct bs_fail *why)
{
	struct bs_fail bad = { 0 };
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool whole;

	if (fd < 0)
		return fail_at(why, BS_ERR_IO, path, strerror(errno));
	whole = pread(fd, p->head, BS_LOG_BLOCK, 0) == (ssize_t)BS_LOG_BLOCK &&
		pread(fd, p->seal, BS_LOG_BLOCK, BS_LOG_SEAL_AT) == (ssize_t)BS_LOG_BLOCK;
	(void)close(fd);
	if (!whole)
		return fail_at(why, BS_ERR_FORMAT, path, "has no whole head and seal");
	if (bs_log_get_head(&p->says, p->head, &bad) != 0)
		return fail_at(why, BS_ERR_FORMAT, path, bad.text);
	p->sealed = bs_log_get_seal(&p->ends, p->seal, NULL) == 0 && p->ends.id == p->says.id;
	return 0;
}

void bs_log_close_parts(struct bs_log_parts *l)
{
	bs_log_close(l->r);
	free(l->part);
}

int bs_log_open_parts(struct bs_log_parts *l, const char *path, struct bs_fail *why)
{
	uint64_t until = UINT64_MAX;
	int rc = bs_log_open(&l->r, path, why);

	if (rc != 0)
		return rc;
	l->count = bs_log_segments(l->r);
	l->part = calloc(l->count, sizeof(*l->part));
	if (l->part == NULL)
		rc = fail_at(why, BS_ERR_NOMEM, path, "no memory");
	for (uint32_t i = 0; rc == 0 && i < l->count; i++)
		rc = read_part(&l->part[i], bs_log_path(l->r, i), why);
	for (uint32_t i = l->count; rc == 0 && i-- > 0;) {
		struct bs_log_part *p = &l->part[i];

		p->until = until;
		until = p->says.first < until ? p->says.first : until;
		l->records =
			l->records || (!p->sealed && p->until > p->says.first && i + 1 < l->count);
	}
	if (rc != 0)
		bs_log_close_parts(l);
	return rc;
}

int bs_log_read_parts(struct bs_log_parts *l, bool *all, struct bs_fail *why)
{
	struct bs_log_message m;
	struct bs_log_head h;
	uint64_t next = 0;
	int rc;

	while ((rc = bs_log_next(l->r, &m, why)) == 1) {
		l->part[m.place.segment].end = m.place.offset + bs_log_record_bytes(m.len);
		next = m.number + 1;
	}
	(void)bs_log_last(l->r, &h);
	*all = h.next == next;
	return rc;
}

int bs_log_chain_of(const char *path, uint64_t end, uint8_t chain[BS_CHAIN], struct bs_fail *why)
{
	unsigned char block[BS_LOG_BLOCK];
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc = 0;

	if (fd < 0)
		return fail_at(why, BS_ERR_IO, path, strerror(errno));
	for (uint64_t at = BS_LOG_RECORDS; rc == 0 && at < end; at += sizeof(block)) {
		const size_t n = end - at < sizeof(block) ? (size_t)(end - at) : sizeof(block);

		if (pread(fd, block, n, (off_t)at) != (ssize_t)n)
			rc = fail_at(why, BS_ERR_IO, path, "cannot be read to its seal's end");
		else
			bs_chain_add(chain, block, n);
	}
	(void)close(fd);
	return rc;
}

void bs_log_chain_before(const struct bs_log_parts *l, uint32_t i, uint8_t chain[BS_CHAIN],
			 const uint8_t before[BS_CHAIN])
{
	memset(chain, 0, BS_CHAIN);
	if (i > 0 && !l->part[i].says.after_fault)
		memcpy(chain, before, BS_CHAIN);
}

/* ---- what a writer did not seal ---- */

/* Moves the end of a segment's records behind the padding there. */
static void pass_padding(struct bs_log_part *p, int fd)
{
	unsigned char frame[BS_LOG_FRAME];
	struct bs_log_frame f;

	if (pread(fd, frame, sizeof(frame), (off_t)p->end) == (ssize_t)sizeof(frame) &&
	    bs_log_get_frame(&f, frame, NULL) == 0 && f.id == p->says.id &&
	    f.kind == BS_LOG_PADDING && f.number == p->until)
		p->end += bs_log_record_bytes(f.length);
}

/* Seals a segment that others follow. before: the chain that it begins with, then its own. */
static int mend_part(struct bs_log_part *p, const char *path, uint8_t before[BS_CHAIN],
		     const struct bs_signer *signer, struct bs_fail *why)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct bs_log_head seal = p->says;
	int rc = 0;

	if (fd < 0)
		return fail_at(why, BS_ERR_IO, path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		rc = fail_at(why, BS_ERR_STATE, path, "is being written");
	if (rc == 0) {
		pass_padding(p, fd);
		rc = bs_log_chain_of(path, p->end, before, why);
	}
	seal.recovered = true;
	seal.end = p->end;
	seal.next = p->until;
	bs_log_put_seal(p->seal, &seal);
	bs_log_sign_seal(p->seal, before, signer);
	if (rc == 0 &&
	    (pwrite(fd, p->seal, BS_LOG_BLOCK, BS_LOG_SEAL_AT) != (ssize_t)BS_LOG_BLOCK ||
	     fdatasync(fd) != 0))
		rc = fail_at(why, BS_ERR_IO, path, "cannot be sealed");
	(void)close(fd);
	return rc;
}

int bs_log_mend(const char *path, const struct bs_signer *signer, uint8_t chain[BS_CHAIN],
		struct bs_fail *why)
{
	uint8_t before[BS_CHAIN] = { 0 };
	struct bs_log_parts l = { 0 };
	bool all = true;
	int rc = bs_log_open_parts(&l, path, why);

	if (rc != 0)
		return rc;
	if (l.records)
		rc = bs_log_read_parts(&l, &all, why);
	rc = all ? 0 : rc; /* a seal that was torn is made anew */
	for (uint32_t i = 0; rc == 0 && i < l.count; i++) {
		struct bs_log_part *p = &l.part[i];

		bs_log_chain_before(&l, i, chain, before);
		if (i + 1 == l.count)
			break;
		memcpy(before, chain, BS_CHAIN);
		if (p->sealed)
			memcpy(before, p->seal + BS_LOG_CHAIN_AT, BS_CHAIN);
		else if (p->end != 0)
			rc = mend_part(p, bs_log_path(l.r, i), before, signer, why);
	}
	bs_log_close_parts(&l);
	return rc;
}

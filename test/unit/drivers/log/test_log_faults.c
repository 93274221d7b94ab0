/*
 * test/unit/drivers/log/test_log_faults.c - a disk that fails under a log, each call in its turn
 *
 * A log of two segments is written again and again, and each time another call fails: once, as a
 * disk does that is well again a moment later. When a sync fails, what was not on the disk is lost
 * although the next sync says that all is well; so it is when the power goes. The log goes on in
 * another segment or says that it has failed, and whatever it called durable is there afterwards.
 * The linker puts these functions between the program and the C library (see the Makefile).
 */
#define _GNU_SOURCE
#include "test/unit/drivers/log/scanlog.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/random.h>

#define MESSAGES 16u
#define RANGES   512u

static struct bs_fail why;

/* The call of this number fails; counted from 0 in each run. What it was, for the report. */
static unsigned calls, failing;
static int failing_error;
static bool failing_short; /* a write puts some of it before it fails */
static const char *failed_call;

/* What was written and is not on the disk. */
static struct range {
	int fd;
	off_t at;
	size_t len;
} range[RANGES];
static unsigned ranges;

int __real_open(const char *path, int flags, ...);
int __real_openat(int dir, const char *path, int flags, ...);
ssize_t __real_pwrite(int fd, const void *p, size_t n, off_t at);
int __real_fdatasync(int fd);
int __real_fsync(int fd);
int __real_ftruncate(int fd, off_t len);
int __real_fchmod(int fd, mode_t mode);
int __real_flock(int fd, int how);
int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned how);
int __real_unlinkat(int dir, const char *path, int how);
ssize_t __real_getrandom(void *p, size_t n, unsigned how);

static bool fails(const char *call)
{
	if (calls++ != failing)
		return false;
	failed_call = call;
	errno = failing_error;
	return true;
}

/*
 * Behind the first bytes of a stretch that was written: what the disk never got. A block of which
 * it got nothing that can be read is lost whole, with what stood in it before.
 */
static void ruin(const struct range *r, size_t from)
{
	unsigned char junk[512];
	const off_t end = r->at + (off_t)r->len;
	off_t at = from == 0 ? r->at / BS_LOG_BLOCK * BS_LOG_BLOCK : r->at + (off_t)from;

	memset(junk, 0xa5, sizeof(junk));
	for (; at < end; at += (off_t)sizeof(junk)) {
		size_t n = end - at < (off_t)sizeof(junk) ? (size_t)(end - at) : sizeof(junk);

		(void)!__real_pwrite(r->fd, junk, n, at);
	}
}

/* keep: of each stretch, how much of it the disk got after all, in sectors; in any order. */
static void lose(unsigned keep)
{
	for (unsigned i = 0; i < ranges; i++)
		ruin(&range[i], (size_t)((i * 5 + keep) % 7) * keep * 512);
	ranges = 0;
}

static void forget(int fd)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < ranges; i++)
		if (range[i].fd != fd)
			range[kept++] = range[i];
	ranges = kept;
}

int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, int) : 0;
	va_end(ap);
	return fails("open") ? -1 : __real_open(path, flags, mode);
}

int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, int) : 0;
	va_end(ap);
	return fails("openat") ? -1 : __real_openat(dir, path, flags, mode);
}

ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at)
{
	bool now = fails("pwrite");

	if (now && !failing_short)
		return -1;
	if (now) { /* some of it; the next call finds the disk full */
		n = n / 2 + 1;
		failing = calls;
		failing_short = false;
	}
	if (ranges < RANGES)
		range[ranges++] = (struct range){ .fd = fd, .at = at, .len = n };
	return __real_pwrite(fd, p, n, at);
}

int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	if (fails("fdatasync")) {
		lose(0);
		errno = failing_error;
		return -1;
	}
	forget(fd);
	return __real_fdatasync(fd);
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	return fails("fsync") ? -1 : __real_fsync(fd);
}

int __wrap_ftruncate(int fd, off_t len);
int __wrap_ftruncate(int fd, off_t len)
{
	return fails("ftruncate") ? -1 : __real_ftruncate(fd, len);
}

int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode)
{
	return fails("fchmod") ? -1 : __real_fchmod(fd, mode);
}

int __wrap_flock(int fd, int how);
int __wrap_flock(int fd, int how)
{
	return fails("flock") ? -1 : __real_flock(fd, how);
}

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned how);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned how)
{
	return fails("renameat2") ? -1 : __real_renameat2(from_dir, from, to_dir, to, how);
}

int __wrap_unlinkat(int dir, const char *path, int how);
int __wrap_unlinkat(int dir, const char *path, int how)
{
	return fails("unlinkat") ? -1 : __real_unlinkat(dir, path, how);
}

ssize_t __wrap_getrandom(void *p, size_t n, unsigned how);
ssize_t __wrap_getrandom(void *p, size_t n, unsigned how)
{
	return fails("getrandom") ? -1 : __real_getrandom(p, n, how);
}

static void script(unsigned call, int error, bool partly)
{
	calls = 0;
	failing = call;
	failing_error = error;
	failing_short = partly;
	failed_call = NULL;
	ranges = 0;
}

/* ---- one run ---- */

struct run {
	bool opened;       /* in the end */
	unsigned errors;   /* calls of the writer that failed */
	unsigned unworded; /* of these: without code, file or errno's words */
	unsigned appended; /* messages */
	uint64_t durable;
	bool sealed;
	char path[1200]; /* of a file of the log */
};

static int note(struct run *r, int rc)
{
	if (rc == 0)
		return 0;
	r->errors++;
	r->unworded += rc != BS_ERR_IO || why.code != rc || strstr(why.text, scanlog_dir) == NULL ||
		       strstr(why.text, strerror(failing_error)) == NULL;
	return rc;
}

/* Goes on after each failure. False: not even that. */
static bool mend(struct run *r, struct bs_log_writer *w)
{
	for (int tries = 0; tries < 2; tries++)
		if (note(r, bs_log_writer_continue(w, &why)) == 0)
			return true;
	return false;
}

/*
 * Open, sixteen messages in fives, seal. until: the power goes before so many messages (the seal
 * is the last of them).
 */
static struct run write_log(unsigned until, bool go_on)
{
	struct run r = { 0 };
	struct bs_log_writer w;
	bool good = true;

	r.opened = note(&r, scanlog_open(&w, &why)) == 0 || note(&r, scanlog_open(&w, &why)) == 0;
	for (unsigned i = 0; r.opened && good && i < MESSAGES && i < until; i++) {
		int rc = note(&r, scanlog_append(&w, i, &why));

		if (rc != 0 && go_on && mend(&r, &w))
			rc = note(&r, scanlog_append(&w, i, &why));
		good = rc == 0;
		r.appended += good;
		if (good && i % 5 == 4)
			good = note(&r, bs_log_writer_commit(&w, &why)) == 0 ||
			       (go_on && mend(&r, &w));
	}
	r.durable = w.durable;
	if (r.opened && good && until > MESSAGES) {
		r.sealed = note(&r, bs_log_writer_seal(&w, &why)) == 0 ||
			   (go_on && mend(&r, &w) && bs_log_writer_seal(&w, &why) == 0);
		r.durable = w.durable;
	}
	(void)snprintf(r.path, sizeof(r.path), "%s/%s", scanlog_dir, w.name);
	if (until <= MESSAGES)
		lose(until % 4);
	bs_log_writer_close(&w);
	failing = UINT32_MAX;
	return r;
}

/* What was called durable can be read, and nothing is damaged. */
static bool holds(const struct run *r, struct scanlog_read *got)
{
	*got = scanlog_read(r->path);
	return got->rc == 0 && got->same && got->messages >= r->durable &&
	       got->messages <= r->appended && (!r->sealed || got->end == BS_LOG_END_SEALED);
}

static void each_call(int error, bool partly, bool go_on, const char *what)
{
	unsigned tried = 0;
	unsigned wrong = 0;
	unsigned lost = 0;
	unsigned unsaid = 0;

	for (unsigned call = 0; call < 1000; call++) {
		struct scanlog_read got = { 0 };
		struct run r;
		bool good;

		(void)scanlog_clean();
		script(call, error, partly);
		r = write_log(MESSAGES + 1, go_on);
		if (failed_call == NULL)
			break;
		tried++;
		unsaid += r.errors == 0 && strcmp(failed_call, "unlinkat") != 0;
		good = r.opened && r.unworded == 0 && holds(&r, &got) &&
		       (!go_on || (r.appended == MESSAGES && r.durable == MESSAGES && r.sealed));
		wrong += !good;
		lost += got.messages < r.durable;
		if (!good && wrong < 6)
			printf("# call %u, %s: %u errors, %u without words, %u appended, %llu "
			       "durable, %llu read, rc %d: %s; %s\n",
			       call, failed_call, r.errors, r.unworded, r.appended,
			       (unsigned long long)r.durable, (unsigned long long)got.messages,
			       got.rc, got.why.text, why.text);
	}
	CHECK(tried > 30 && wrong == 0 && lost == 0 && unsaid == 0,
	      "%s: %u calls failed in turn, %u not told, %u runs wrong, %u lost what was durable",
	      what, tried, unsaid, wrong, lost);
}

static void power_goes(void)
{
	unsigned wrong = 0;

	for (unsigned until = 0; until <= MESSAGES; until++) {
		struct scanlog_read got = { 0 };
		struct run r;

		(void)scanlog_clean();
		script(UINT32_MAX, EIO, false);
		r = write_log(until, true);
		if (!r.opened || !holds(&r, &got) || r.durable != until / 5 * 5) {
			wrong++;
			printf("# after %u: %llu durable, %llu read: %s\n", until,
			       (unsigned long long)r.durable, (unsigned long long)got.messages,
			       got.why.text);
		}
	}
	CHECK(wrong == 0, "the power goes after each message: what was durable is there");
}

/* A log that could not be opened leaves nothing behind, and can be opened afterwards. */
static void opening(void)
{
	unsigned tried = 0;
	unsigned left = 0;

	(void)scanlog_clean();
	for (unsigned call = 0; call < 100; call++) {
		struct bs_log_writer w;

		script(call, ENOSPC, false);
		if (scanlog_open(&w, &why) == 0) {
			failing = UINT32_MAX;
			bs_log_writer_close(&w);
			(void)scanlog_clean();
			if (failed_call == NULL)
				break;
			continue;
		}
		failing = UINT32_MAX;
		bs_log_writer_close(&w);
		tried++;
		left += scanlog_clean() != 0;
	}
	CHECK(tried > 10 && left == 0, "%u failures to open: %u left a file behind", tried, left);
	tried = 0;
	for (unsigned call = 0; call < 100; call++) {
		int rc;

		script(call, ENOSPC, false);
		rc = bs_log_spare_fill(scanlog_dir, 1, SCANLOG_SEGMENT, &why);
		failing = UINT32_MAX;
		if (rc == 0)
			break;
		tried++;
		left += rc != BS_ERR_IO || scanlog_clean() != 0 ||
			strstr(why.text, strerror(ENOSPC)) == NULL;
	}
	CHECK(tried > 4 && left == 0, "%u failures to make a spare: nothing is left behind", tried);
	CHECK(scanlog_clean() == 1, "then it is there");
}

int main(void)
{
	failing = UINT32_MAX;
	if (mkdtemp(scanlog_dir) == NULL)
		return 1;
	each_call(EIO, false, true, "EIO");
	each_call(ENOSPC, true, true, "no room after half a write");
	each_call(EIO, false, false, "EIO, and nobody goes on");
	power_goes();
	opening();
	(void)scanlog_clean();
	(void)rmdir(scanlog_dir);
	return check_done();
}

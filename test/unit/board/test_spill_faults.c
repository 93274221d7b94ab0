/*
 * test/unit/board/test_spill_faults.c - a disk that refuses: no descriptors, input errors, no room.
 * An error that may pass is waited out, another one is counted and reported with file and reason.
 * The linker puts these functions between the program and the C library (see the Makefile).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/emit/taker.h"
#include "test/support/await.h"
#include "test/support/check.h"

#define MESSAGE 500u

static char dir[] = "/tmp/boreside-spill-faults-XXXXXX";
static struct bs_fail why;

/* The error of every such call on a piece; 0: it works. times: so many calls, 0: all. */
static _Atomic int open_error, read_error, write_error, readdir_error, unlink_error, rename_error;
static _Atomic unsigned open_times;

int __real_open(const char *path, int flags, ...);
ssize_t __real_read(int fd, void *at, size_t n);
ssize_t __real_write(int fd, const void *at, size_t n);
struct dirent *__real_readdir(DIR *d);
int __real_unlink(const char *path);
int __real_rename(const char *from, const char *to);

int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	int error = strstr(path, ".image") != NULL ? atomic_load(&open_error) : 0;
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, int) : 0;
	va_end(ap);
	if (error == 0)
		return __real_open(path, flags, mode);
	if (atomic_load(&open_times) != 0 && atomic_fetch_sub(&open_times, 1) == 1)
		atomic_store(&open_error, 0);
	errno = error;
	return -1;
}

ssize_t __wrap_read(int fd, void *at, size_t n);
ssize_t __wrap_read(int fd, void *at, size_t n)
{
	errno = atomic_load(&read_error);
	return errno != 0 ? -1 : __real_read(fd, at, n);
}

ssize_t __wrap_write(int fd, const void *at, size_t n);
ssize_t __wrap_write(int fd, const void *at, size_t n)
{
	errno = fd > 2 ? atomic_load(&write_error) : 0;
	return errno != 0 ? -1 : __real_write(fd, at, n);
}

struct dirent *__wrap_readdir(DIR *d);
struct dirent *__wrap_readdir(DIR *d)
{
	errno = atomic_load(&readdir_error);
	return errno != 0 ? NULL : __real_readdir(d);
}

int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
	errno = atomic_load(&unlink_error);
	return errno != 0 ? -1 : __real_unlink(path);
}

int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
	errno = strstr(to, ".bad") != NULL ? atomic_load(&rename_error) : 0;
	return errno != 0 ? -1 : __real_rename(from, to);
}

static bool names(const char *file, int error)
{
	return strstr(why.text, file) != NULL && strstr(why.text, strerror(error)) != NULL;
}

/* ---- the folder by itself ---- */

static void test_passing(void)
{
	static const int errors[] = { EMFILE, ENFILE, ENOMEM, EINTR };
	unsigned char piece[100] = { 1 };
	struct bs_spill s;
	size_t len;
	bool later = true;

	CHECK(bs_spill_open(&s, dir, "a", 1000, &why) == 0 &&
		      bs_spill_put(&s, piece, sizeof(piece), &why) == 0,
	      "a piece");
	for (unsigned i = 0; i < 40; i++) {
		atomic_store(&open_error, errors[i % 4]);
		later = later &&
			bs_spill_take(&s, piece, sizeof(piece), &len, &why) == BS_SPILL_LATER &&
			names("a-", errors[i % 4]);
	}
	atomic_store(&open_error, 0);
	CHECK(later && atomic_load(&s.pieces) == 1 && atomic_load(&s.bytes) == 100,
	      "no descriptor or memory: forty times later, never given up: %s", why.text);
	atomic_store(&read_error, EIO);
	CHECK(bs_spill_take(&s, piece, sizeof(piece), &len, &why) == BS_SPILL_LATER,
	      "an input error: later: %s", why.text);
	atomic_store(&read_error, 0);
	CHECK(bs_spill_take(&s, piece, sizeof(piece), &len, &why) == 1 && len == 100,
	      "it passes: the piece is whole");
	atomic_store(&unlink_error, EROFS);
	CHECK(bs_spill_drop(&s, &why) == BS_ERR_IO && names("a-", EROFS),
	      "it cannot be removed, and that is said: %s", why.text);
	atomic_store(&unlink_error, 0);
	bs_spill_close(&s);
}

static void test_lasting(void)
{
	unsigned char piece[100] = { 1 };
	struct bs_spill s;
	unsigned tries = 1;
	size_t len;

	CHECK(bs_spill_open(&s, dir, "a", 1000, &why) == 0 && atomic_load(&s.pieces) == 1,
	      "the next start finds it again");
	atomic_store(&open_error, EIO);
	atomic_store(&rename_error, EROFS);
	while (tries < 100 && bs_spill_take(&s, piece, sizeof(piece), &len, &why) == BS_SPILL_LATER)
		tries++;
	CHECK(tries == BS_SPILL_TRIES && names("a-", EIO) && names("a-", EROFS) &&
		      atomic_load(&s.pieces) == 0 && atomic_load(&s.bytes) == 0,
	      "given up at the %uth time, nothing is counted any more: %s", tries, why.text);
	atomic_store(&open_error, 0);
	atomic_store(&rename_error, 0);
	bs_spill_close(&s);
	atomic_store(&readdir_error, EIO);
	CHECK(bs_spill_open(&s, dir, "a", 1000, &why) == BS_ERR_IO && names(dir, EIO),
	      "a folder that cannot be read is not an empty one: %s", why.text);
	atomic_store(&readdir_error, 0);
	bs_spill_close(&s);
	CHECK(bs_spill_open(&s, dir, "a", 1000, &why) == 0 && atomic_load(&s.pieces) == 1, "it is");
	atomic_store(&write_error, ENOSPC);
	CHECK(bs_spill_put(&s, piece, sizeof(piece), &why) == BS_ERR_IO && names("a-", ENOSPC) &&
		      atomic_load(&s.pieces) == 1 && atomic_load(&s.bytes) == 100,
	      "no room on the disk: %s", why.text);
	atomic_store(&write_error, 0);
	CHECK(bs_spill_take(&s, piece, sizeof(piece), &len, &why) == 1 &&
		      bs_spill_drop(&s, &why) == 0,
	      "the other is still well");
	bs_spill_close(&s);
}

/* ---- a taker over it ---- */

static struct bs_taker_record record;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool gate;
static _Atomic unsigned gots, entered;
static unsigned got[100];
static unsigned said;
static char lines[8192];

static int take(void *arg, struct bs_taker *c, const unsigned char *msg, size_t len,
		struct bs_fail *fail)
{
	(void)arg;
	(void)fail;
	(void)len;
	atomic_fetch_add(&entered, 1);
	while (!atomic_load(&gate) && !bs_taker_quits(c))
		await_pause_ms(1);
	if (!atomic_load(&gate))
		return BS_ERR_ABORTED;
	memcpy(&got[atomic_load(&gots) % 100], msg, sizeof(got[0]));
	atomic_fetch_add(&gots, 1);
	return 0;
}

static void say(void *arg, const char *line)
{
	size_t n;

	(void)arg;
	(void)pthread_mutex_lock(&lock);
	n = strlen(lines);
	(void)snprintf(lines + n, sizeof(lines) - n, "%s\n", line);
	said++;
	(void)pthread_mutex_unlock(&lock);
	printf("# %s\n", line);
}

static bool was_said(const char *file, int error)
{
	bool yes;

	(void)pthread_mutex_lock(&lock);
	yes = strstr(lines, file) != NULL && strstr(lines, strerror(error)) != NULL;
	(void)pthread_mutex_unlock(&lock);
	return yes;
}

static struct bs_taker *open_one(uint32_t queue)
{
	struct bs_taker_spec spec = { .name = "taker",
				      .file = "taker",
				      .policy = BS_POLICY_SPILL,
				      .queue = queue,
				      .image_bytes = MESSAGE,
				      .spill_dir = dir,
				      .spill_bytes = 1u << 20,
				      .deliver = take,
				      .say = say };
	struct bs_taker *c;

	lines[0] = '\0';
	said = 0;
	atomic_store(&gots, 0);
	atomic_store(&entered, 0);
	atomic_store(&gate, false);
	CHECK(bs_taker_open(&c, &spec, &record, &why) == 0, "a taker: %s", why.text);
	return c;
}

static void push(struct bs_taker *c, unsigned number)
{
	unsigned char msg[MESSAGE] = { 0 };

	memcpy(msg, &number, sizeof(number));
	(void)bs_taker_push(c, msg, sizeof(msg));
}

/* Waits until the counter is at least n. */
static bool reaches(_Atomic uint64_t *counter, uint64_t n)
{
	AWAIT(atomic_load(counter) >= n);
	return atomic_load(counter) >= n;
}

/* 12 images that are on disk, or will be as soon as it takes them; the first is in its hand. */
static void fill(struct bs_taker *c, unsigned n)
{
	push(c, 0);
	AWAIT(atomic_load(&entered) > 0);
	for (unsigned i = 1; i < n; i++) {
		uint64_t before = atomic_load(&record.spilled);

		push(c, i);
		if (atomic_load(&record.waiting) > 5 && atomic_load(&write_error) == 0)
			(void)reaches(&record.spilled, before + 1);
	}
}

static bool all_in_order(unsigned n)
{
	bool good = atomic_load(&gots) == n;

	for (unsigned i = 0; good && i < n; i++)
		good = got[i] == i;
	return good;
}

/* No descriptor for a while: nothing is given up, nothing comes out of order. */
static void test_no_descriptors(void)
{
	struct bs_taker *c = open_one(8);

	memset(&record, 0, sizeof(record));
	fill(c, 16);
	CHECK(atomic_load(&record.spilled) >= 4 && atomic_load(&record.shed) == 0,
	      "%llu of 16 are on disk", (unsigned long long)atomic_load(&record.spilled));
	atomic_store(&open_times, 3);
	atomic_store(&open_error, EMFILE);
	atomic_store(&gate, true);
	CHECK(reaches(&record.handed, 16) && all_in_order(16),
	      "no descriptor three times, then all 16 arrive in order (%u)", atomic_load(&gots));
	CHECK(atomic_load(&record.failed) == 0 && said == 1 && was_said("taker-", EMFILE),
	      "it was said once (%u), nothing failed", said);
	bs_taker_close(c);
}

/* A disk that is full for a while: what it refuses waits in memory, and goes there later. */
static void test_full(void)
{
	struct bs_taker *c = open_one(8);

	memset(&record, 0, sizeof(record));
	atomic_store(&write_error, ENOSPC);
	fill(c, 8);
	AWAIT(was_said("taker-", ENOSPC));
	CHECK(was_said("taker-", ENOSPC) && atomic_load(&record.shed) == 0 &&
		      atomic_load(&record.spilled) == 0,
	      "the folder refuses: it is said, and nothing is shed while memory holds it");
	CHECK(said == 1, "once (%u)", said);
	atomic_store(&write_error, 0);
	CHECK(reaches(&record.spilled, 1), "when the disk has room again images go to it");
	atomic_store(&gate, true);
	CHECK(reaches(&record.handed, 8) && all_in_order(8), "all 8 arrive in order");
	bs_taker_close(c);
}

/* At the end of the process the folder refuses: what waited is shed, with the reason. */
static void test_end(void)
{
	struct bs_taker *c = open_one(8);

	memset(&record, 0, sizeof(record));
	fill(c, 4); /* one in its hand, three wait: below half, none goes to the folder */
	atomic_store(&write_error, ENOSPC);
	bs_taker_close(c);
	atomic_store(&write_error, 0);
	CHECK(atomic_load(&record.shed) == 4 && atomic_load(&record.spilled) == 0 &&
		      was_said("taker-", ENOSPC) && strstr(lines, "shed") != NULL,
	      "what the folder refuses at the end is shed (%llu), counted and said with the reason",
	      (unsigned long long)atomic_load(&record.shed));
	CHECK(atomic_load(&record.taken) == 4, "all are accounted for");
}

int main(void)
{
	struct bs_taker_spec small = { .name = "taker",
				       .file = "taker",
				       .policy = BS_POLICY_SPILL,
				       .queue = 1,
				       .image_bytes = 1u << 20,
				       .spill_dir = dir,
				       .spill_bytes = 1u << 20,
				       .deliver = take,
				       .say = say };
	struct bs_taker *c;

	if (mkdtemp(dir) == NULL)
		return 1;
	test_passing();
	test_lasting();
	test_no_descriptors();
	test_full();
	test_end();
	CHECK(bs_taker_open(&c, &small, &record, &why) == BS_ERR_CONFIG && c == NULL,
	      "a folder that cannot hold one image is refused: %s", why.text);
	CHECK(rmdir(dir) == 0, "nothing is left in the folder");
	return check_done();
}

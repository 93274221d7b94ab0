/*
 * test/unit/drivers/log/test_store_faults.c - a disk that fails under the store of images: what
 * cannot be read is tried again, or told; a cursor is whole, and is written until it is there
 */
#define _GNU_SOURCE
#include "drivers/log/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "test/support/check.h"
#include "test/support/folder.h"

#define MESSAGE 20000u
#define IMAGES  5u
#define ALWAYS  1000u

static struct bs_fail why;
static _Alignas(8) unsigned char image[MESSAGE], answer[MESSAGE + 200];
static unsigned misses;
static struct bs_store_reader reader = { .fd = -1 };
/* So many reads fail, after so many; so many writes put half of it, so many nothing. */
static unsigned reads_fail, reads_pass, writes_short, writes_fail;

ssize_t __real_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at)
{
	if (reads_fail == 0 || (reads_pass > 0 && reads_pass-- > 0))
		return __real_pread(fd, p, n, at);
	reads_fail--;
	errno = EIO;
	return -1;
}

ssize_t __real_pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at)
{
	if (writes_short > 0) {
		writes_short--;
		return __real_pwrite(fd, p, n / 2, at);
	}
	if (writes_fail > 0) {
		writes_fail--;
		errno = EROFS;
		return -1;
	}
	return __real_pwrite(fd, p, n, at);
}

static void missed(void *arg, const char *taker, uint64_t session, uint64_t number)
{
	(void)arg;
	(void)taker;
	(void)session;
	(void)number;
	misses++;
}

static int open_it(struct bs_store **s)
{
	const struct bs_store_spec spec = {
		.dir = dir, .message_max = MESSAGE, .most_bytes = 8u << 20, .missed = missed
	};

	return bs_store_open(s, &spec, &why);
}

static bool put(struct bs_store *s, uint64_t number)
{
	struct bs_wire w = { .kind = BS_WIRE_IMAGE, .session = 1, .seq = number };

	memset(image + BS_WIRE_BYTES, (int)number, 9000);
	bs_wire_encode(image, &w, image + BS_WIRE_BYTES, 9000);
	return bs_store_append(s, image, BS_WIRE_BYTES + 9000, number, &why) == 0;
}

/* The number that follows; 0: none, or an error. */
static uint64_t next(struct bs_store *s, uint64_t after)
{
	const unsigned char *payload;
	struct bs_wire w = { 0 };
	size_t len = 0;

	if (bs_store_next(s, &reader, after, answer, &len, &why) != 1 ||
	    bs_wire_decode(&w, answer, len, &payload, &why) != 0)
		return 0;
	return w.seq;
}

/* Two files of IMAGES each. */
static void fill(void)
{
	struct bs_store *s;

	for (unsigned file = 0; file < 2; file++) {
		CHECK(open_it(&s) == 0 && bs_store_ack(s, "archive", 0, &why) == 0, "a store");
		for (unsigned n = 1; n <= IMAGES; n++)
			CHECK(put(s, file * IMAGES + n), "image %u", file * IMAGES + n);
		bs_store_close(s);
	}
}

/* The newest number decides what the next images are called: it is known, or the store is not. */
static void test_open(void)
{
	struct bs_store *s = NULL;
	unsigned lacks = 0;

	for (reads_pass = 0; reads_pass < 40; reads_pass++) {
		const unsigned pass = reads_pass;
		struct bs_store_counts c = { 0 };

		reads_fail = 1;
		if (open_it(&s) == 0) {
			bs_store_count(s, &c);
			lacks += reads_fail == 0 && c.last != 2 * (uint64_t)IMAGES;
			bs_store_close(s);
		}
		reads_pass = pass;
	}
	reads_fail = reads_pass = 0;
	CHECK(lacks == 0, "one read fails: no store is open that lacks the newest images (%u do)",
	      lacks);
}

/* How many images can be read, asked for so often; a second passes after each time. */
static unsigned read_all(struct bs_store *s, unsigned times, int64_t *now_ns)
{
	uint64_t at = 0;
	unsigned had = 0;

	for (unsigned i = 0; i < times; i++, *now_ns += 1000000000) {
		const uint64_t number = next(s, at);

		had += number != 0;
		at = number != 0 ? number : at;
	}
	return had;
}

/*
 * No image is given up because its file cannot be read for a while; where it never can, its takers
 * are told, those in the middle of it, too.
 */
static void test_away(void)
{
	for (unsigned n = 1; n <= 2; n++) {
		int64_t now_ns = 1000000000;
		struct bs_store *s;
		size_t len;

		bs_clock_script(&now_ns);
		reads_fail = 0;
		CHECK(open_it(&s) == 0, "a store of two files");
		misses = 0;
		reads_fail = n == 1 ? 30 : ALWAYS;
		CHECK(bs_store_next(s, &reader, 3, answer, &len, &why) == BS_ERR_TIMEOUT &&
			      bs_store_waiting(s, 3, UINT64_MAX) == BS_STORE_UNKNOWN,
		      "not now: %s", why.text);
		if (n == 1)
			CHECK(read_all(s, 4 * IMAGES + 10, &now_ns) == 2 * IMAGES && misses == 0,
			      "30 reads fail: all is there afterwards");
		else
			for (unsigned i = 0; i < 60 && misses == 0; i++, now_ns += 1000000000)
				(void)bs_store_next(s, &reader, 3, answer, &len, &why);
		CHECK((misses != 0) == (n == 2), "%u images are told as lost", misses);
		reads_fail = 0;
		bs_store_close(s);
		bs_clock_script(NULL);
	}
}

/* What cannot be read of a file is read again, or told. */
static void test_reading(void)
{
	unsigned silent = 0;
	unsigned whole = 0;
	int64_t now_ns = 1000000000;

	bs_clock_script(&now_ns);
	for (unsigned fails = 1; fails <= 20; fails++) {
		struct bs_store *s;
		unsigned had;

		reads_fail = reads_pass = 0;
		CHECK(open_it(&s) == 0, "a store of two files");
		reads_fail = fails;
		reads_pass = 6; /* a head, a seal and two images */
		misses = 0;
		had = read_all(s, 4 * IMAGES, &now_ns);
		whole += had == 2 * IMAGES;
		silent += had + misses < 2 * IMAGES && misses == 0;
		bs_store_close(s);
	}
	bs_clock_script(NULL);
	reads_fail = reads_pass = 0;
	CHECK(silent == 0 && whole > 0,
	      "1 to 20 reads fail: in %u of 20 cases all is there, in %u some lacks unsaid", whole,
	      silent);
}

static void test_cursor(void)
{
	char path[100];
	uint64_t n = 0;
	struct bs_store *s;

	(void)snprintf(path, sizeof(path), "%s/archive.cursor", dir);
	CHECK(open_it(&s) == 0, "a store");
	writes_short = 1;
	CHECK(bs_store_ack(s, "archive", 1234567, &why) == 0 &&
		      bs_cursor_get(path, &n, &why) == 0 && n == 1234567,
	      "a write that puts half of a cursor is gone on with");
	writes_fail = 1;
	CHECK(bs_store_ack(s, "archive", 8, &why) == BS_ERR_IO, "a cursor that cannot be written");
	CHECK(bs_store_ack(s, "archive", 8, &why) == 0 && bs_cursor_get(path, &n, &why) == 0 &&
		      n == 8,
	      "the same number is written when it comes again");
	writes_short = writes_fail = 1;
	CHECK(bs_cursor_put(path, UINT64_MAX, false, &why) == BS_ERR_IO &&
		      bs_cursor_get(path, &n, &why) == 0 && n == 0,
	      "half of a new number and half of the old one are none: %s", why.text);
	bs_store_close(s);
}

int main(void)
{
	fill();
	test_open();
	test_reading();
	test_away();
	test_cursor();
	if (reader.fd >= 0)
		(void)close(reader.fd);
	return check_done();
}

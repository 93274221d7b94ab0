/*
 * test/unit/drivers/log/test_store.c - images by number: each once and in order, over the end of
 * the writer at any byte, damage, files that go; and the cursors beside them
 */
/* Holds: W60, W61 */
#define _GNU_SOURCE
#include "drivers/log/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "drivers/log/name.h"
#include "test/support/check.h"

#define MESSAGE 20000u

static char dir[64];
static struct bs_fail why;
static _Alignas(8) unsigned char image[MESSAGE], answer[MESSAGE + 200];
static unsigned misses;
static uint64_t missed_session;
static uint64_t base; /* image n has the number base + n + 1 */
static struct bs_store_reader reader = { .fd = -1 };

static void missed(void *arg, const char *taker, uint64_t session, uint64_t number)
{
	(void)arg;
	(void)number;
	(void)taker;
	misses++;
	missed_session = session;
}

static struct bs_store *open_at(uint64_t most)
{
	struct bs_store_spec spec = {
		.dir = dir, .message_max = MESSAGE, .most_bytes = most, .missed = missed
	};
	struct bs_store *s = NULL;

	misses = 0;
	if (bs_store_open(&s, &spec, &why) != 0) {
		printf("# %s\n", why.text);
		exit(1);
	}
	return s;
}

/* The n-th image: of session n / 100 + 1, its length and bytes by its number. */
static size_t make(unsigned n)
{
	struct bs_wire w = { .kind = BS_WIRE_IMAGE, .session = n / 100 + 1, .seq = n % 100 + 1 };
	const size_t len = 200 + n * 37 % (MESSAGE - 300);

	for (size_t i = 0; i < len; i++)
		image[BS_WIRE_BYTES + i] = (unsigned char)(n + i * 7);
	bs_wire_encode(image, &w, image + BS_WIRE_BYTES, len);
	return BS_WIRE_BYTES + len;
}

static bool put(struct bs_store *s, unsigned n)
{
	return bs_store_append(s, image, make(n), base + n + 1, &why) == 0;
}

/* The image that follows *after, which becomes its number; -1: none, -2: an error, -3: torn. */
static int get(struct bs_store *s, uint64_t *after, uint64_t *previous)
{
	const unsigned char *payload;
	const unsigned char *msg;
	struct bs_wire w;
	struct bs_wire its;
	size_t len;
	int rc = bs_store_next(s, &reader, *after, answer, &len, &why);
	unsigned n;

	if (rc <= 0)
		return rc == 0 ? -1 : -2;
	if (bs_wire_decode(&w, answer, len, &payload, &why) != 0 || w.kind != BS_WIRE_STORED ||
	    w.seq <= *after ||
	    bs_wire_get_stored(previous, &msg, &len, payload, (size_t)w.payload_len, &why) != 0 ||
	    bs_wire_decode(&its, msg, len, &payload, &why) != 0 || its.session != w.session)
		return -3;
	*after = w.seq;
	n = (unsigned)((its.session - 1) * 100 + its.seq - 1);
	return len == make(n) && memcmp(msg, image, len) == 0 ? (int)n : -3;
}

/* True: what follows *after is image from, from + 1, ..., below to, each led by the one before. */
static bool are(struct bs_store *s, uint64_t *after, unsigned from, unsigned to)
{
	for (unsigned n = from; n < to; n++) {
		const uint64_t before = *after;
		uint64_t previous = 0;
		const int got = get(s, after, &previous);

		if (got != (int)n || (before != 0 && previous != before)) {
			printf("# %d where %u should be: %s\n", got, n, why.text);
			return false;
		}
	}
	return true;
}

static bool fresh(void)
{
	(void)snprintf(dir, sizeof(dir), "%s/boreside-store-XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"); /* many syncs */
	return mkdtemp(dir) != NULL;
}

static void clear(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	CHECK(system(command) == 0, "%s is removed", dir);
}

static unsigned files(char newest[300])
{
	struct dirent *e;
	DIR *d = opendir(dir);
	uint32_t index;
	unsigned n = 0;
	size_t stem;

	newest[0] = '\0';
	while (d != NULL && (e = readdir(d)) != NULL) {
		if (!bs_log_split(e->d_name, &stem, &index))
			continue;
		n++;
		if (newest[0] == '\0' || strcmp(e->d_name, newest + strlen(dir) + 1) > 0)
			(void)snprintf(newest, 300, "%s/%.200s", dir, e->d_name);
	}
	if (d != NULL)
		(void)closedir(d);
	return n;
}

static void test_order(void)
{
	struct bs_store *s = open_at(8u << 20);
	struct bs_store_counts c;
	uint64_t at = 0;
	uint64_t half = 0;
	uint64_t previous;

	CHECK(get(s, &at, &previous) == -1, "nothing follows in an empty store");
	for (unsigned n = 0; n < 300; n++)
		if (!put(s, n))
			CHECK(false, "image %u: %s", n, why.text);
	CHECK(are(s, &half, 0, 150), "150 images of 300 in order");
	CHECK(half == base + 150, "by the numbers that they were given");
	CHECK(are(s, &at, 0, 300) && get(s, &at, &previous) == -1, "another taker gets all 300");
	CHECK(put(s, 299) && get(s, &at, &previous) == -1, "the same image again is not stored");
	CHECK(put(s, 300) && are(s, &at, 300, 301), "the next is");
	bs_store_close(s);
	s = open_at(8u << 20);
	CHECK(put(s, 300) && put(s, 301) && are(s, &half, 150, 302),
	      "a process that goes on knows the last one, and its numbers follow");
	bs_store_count(s, &c);
	CHECK(c.last == half && half == base + 302, "the last is the newest");
	CHECK(bs_store_waiting(s, base + 100, base + 250) == 150 &&
		      bs_store_waiting(s, base, UINT64_MAX) == 302,
	      "and how many lie between two numbers");
	bs_store_close(s);
	s = open_at(8u << 20);
	base += UINT64_C(9) << 32;
	CHECK(put(s, 302) && are(s, &half, 302, 303) && half == base + 303,
	      "another service's are beyond them");
	bs_store_close(s);
}

/* The writer is killed: of the last file only so many bytes were written. */
static void test_torn(void)
{
	char newest[300];
	bool good = true;
	unsigned cuts = 0;

	for (off_t cut = 8192; good && cut < 8192 + 60000; cut += 1601, cuts++) {
		struct bs_store *s;
		uint64_t at = 0;
		uint64_t previous;
		int n = 0;

		if (!fresh())
			exit(1);
		s = open_at(8u << 20);
		for (unsigned i = 0; i < 20; i++)
			good = good && put(s, i);
		bs_store_close(s);
		good = good && files(newest) == 1 && truncate(newest, cut) == 0;
		s = open_at(8u << 20);
		while (good && (n = get(s, &at, &previous)) >= 0)
			;
		good = good && n == -1;
		/* what comes next follows whatever is left */
		for (unsigned i = 20; i < 22; i++)
			good = good && put(s, i);
		good = good && are(s, &at, 20, 22);
		bs_store_close(s);
		clear();
	}
	CHECK(good, "%u torn files: what is whole is there, and more follows", cuts);
}

static void test_damage(void)
{
	struct bs_store *s = open_at(8u << 20);
	char newest[300];
	uint64_t at = 0;
	uint64_t previous = 0;
	unsigned char byte = 0;
	int fd;

	for (unsigned n = 0; n < 10; n++)
		(void)put(s, n);
	CHECK(are(s, &at, 0, 3) && files(newest) == 1, "three of ten images are taken");
	fd = open(newest, O_RDWR);
	/* each record begins a block: 2 of the head, one for each of these */
	CHECK(pread(fd, &byte, 1, (2 + 3) * 4096 + 200) == 1 && (byte ^= 1, true) &&
		      pwrite(fd, &byte, 1, (2 + 3) * 4096 + 200) == 1,
	      "a bit of the fourth changes on the disk");
	(void)close(fd);
	CHECK(get(s, &at, &previous) == -2, "it is not given: %s", why.text);
	const uint64_t had = at;

	CHECK(get(s, &at, &previous) == 4 && previous == had + 1,
	      "the fifth says that one was before it");
	CHECK(are(s, &at, 5, 10), "and the others follow");
	bs_store_close(s);
}

/* A file whose list cannot be read is not an empty one. */
static void test_unreadable(void)
{
	struct bs_store *s = open_at(8u << 20);
	uint64_t at = base;
	uint64_t previous;
	char file[2][300];
	char away[310];
	int64_t now_ns = bs_now_ns();
	int got = -2;

	for (unsigned n = 0; n < 10; n++) {
		(void)put(s, n);
		if (n % 5 != 4)
			continue;
		bs_store_close(s);
		CHECK(files(file[n / 5]) == n / 5 + 1, "five more images, in file %u", n / 5 + 1);
		s = open_at(8u << 20);
	}
	(void)snprintf(away, sizeof(away), "%s.away", file[0]);
	CHECK(rename(file[0], away) == 0 && get(s, &at, &previous) == -2,
	      "the first file cannot be read: %s", why.text);
	bs_clock_script(&now_ns);
	for (unsigned i = 0; i < 100 && got == -2; i++, now_ns += 1000000000)
		got = get(s, &at, &previous);
	bs_clock_script(NULL);
	CHECK(got == 5 && previous == base + 5 && are(s, &at, 6, 10),
	      "when that lasts, those of the second follow, and say how many were before them");
	bs_store_close(s);
}

static void test_takers(void)
{
	struct bs_store *s = open_at(1u << 20);
	struct bs_store_counts c;
	char newest[300];
	uint64_t at = 0;
	uint64_t number = 0;
	uint64_t previous;
	const uint64_t segment = bs_store_segment(MESSAGE, 1u << 20);

	CHECK(bs_store_ack(s, "slow", 0, &why) == 0, "a taker that asks is known");
	for (unsigned n = 0; n < 400; n++)
		(void)put(s, n);
	bs_store_count(s, &c);
	CHECK(c.bytes <= (1u << 20) + segment, "%llu bytes are kept", (unsigned long long)c.bytes);
	CHECK(misses > 0 && c.takers == 1 && c.taker[0].missed == misses && missed_session != 0,
	      "what went is told: %u of 400", misses);
	const int first = get(s, &at, &previous);

	CHECK(first == (int)misses, "and the rest is there, from %d on", first);
	while (get(s, &at, &previous) >= 0)
		number++;
	CHECK(number + 1 + misses == 400, "none is missing that was not told");
	CHECK(bs_store_ack(s, "slow", at, &why) == 0 && put(s, 400), "it takes them");
	const unsigned before = files(newest);

	misses = 0;
	for (unsigned n = 401; n < 460; n++) {
		(void)put(s, n);
		(void)get(s, &at, &previous);
		(void)bs_store_ack(s, "slow", at, &why);
	}
	CHECK(misses == 0 && files(newest) <= 2 && before <= 2,
	      "what every taker has had goes without a word: %u files", files(newest));
	bs_store_close(s);
	s = open_at(1u << 20);
	bs_store_count(s, &c);
	CHECK(c.takers == 1 && strcmp(c.taker[0].name, "slow") == 0 && c.taker[0].cursor == at,
	      "the next process knows the taker and its cursor");
	for (unsigned i = 1; i < BS_STORE_ASKERS; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "t%u", i);
		CHECK(bs_store_ack(s, name, 0, &why) == 0, "taker %s", name);
	}
	CHECK(bs_store_ack(s, "more", 0, &why) == BS_ERR_STATE, "no more: %s", why.text);
	CHECK(bs_store_ack(s, "+own", 7, &why) == 0 && bs_store_cursor(s, "+own", 1) == 7 &&
		      bs_store_cursor(s, "+other", 1) == 1,
	      "but one of the service's own");
	bs_store_forget(s, "+own");
	bs_store_forget(s, "+other");
	CHECK(bs_store_cursor(s, "+own", 1) == 1 && bs_store_cursor(s, "t1", 1) == 0,
	      "which is forgotten, and nobody else");
	bs_store_close(s);
	s = open_at(1u << 20);
	CHECK(bs_store_cursor(s, "+own", 1) == 1, "for ever");
	bs_store_close(s);
}

static void test_cursor(void)
{
	char path[100];
	uint64_t n = 1;

	(void)snprintf(path, sizeof(path), "%s/x.cursor", dir);
	CHECK(bs_cursor_get(path, &n, &why) == 0 && n == 0, "no cursor is 0");
	CHECK(bs_cursor_put(path, UINT64_MAX, true, &why) == 0 &&
		      bs_cursor_get(path, &n, &why) == 0 && n == UINT64_MAX,
	      "the largest number");
	CHECK(bs_cursor_put(path, 7, false, &why) == 0 && bs_cursor_get(path, &n, &why) == 0 &&
		      n == 7,
	      "a smaller one in its place");
	CHECK(truncate(path, 9) == 0 && bs_cursor_get(path, &n, &why) == BS_ERR_FORMAT && n == 0,
	      "half a cursor is refused: %s", why.text);
}

int main(void)
{
	base = UINT64_C(1700000000) << 32;
	if (!fresh())
		return 1;
	test_order();
	base = UINT64_C(1700000000) << 32;
	clear();
	test_torn();
	if (!fresh())
		return 1;
	test_damage();
	clear();
	if (!fresh())
		return 1;
	test_unreadable();
	clear();
	if (!fresh())
		return 1;
	test_takers();
	test_cursor();
	clear();
	if (reader.fd >= 0)
		(void)close(reader.fd);
	return check_done();
}

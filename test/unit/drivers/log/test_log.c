/*
 * test/unit/drivers/log/test_log.c - a scan's log: written, read, cut and flipped at every byte
 */
/* Holds: L1, L5, L8, L11 */
#define _GNU_SOURCE
#include "test/unit/drivers/log/scanlog.h"

#include "drivers/tool/load/logged.h"
#include "ipc/wire/envelope.h"

#define MESSAGES 18u

static struct bs_fail why;
static char path[2][1200];                  /* of the segments */
static struct bs_log_place place[MESSAGES]; /* of the messages */
static uint64_t bytes[MESSAGES];            /* of their records */

/* A log of two segments, several messages a commit. */
static bool write_log(bool seal)
{
	struct bs_log_writer w;
	bool good;

	(void)scanlog_clean();
	good = scanlog_open(&w, &why) == 0;
	for (unsigned i = 0; good && i < MESSAGES; i++) {
		(void)snprintf(path[w.head.index == 0 ? 0 : 1], sizeof(path[0]), "%s/%s", w.dir,
			       w.name);
		good = w.head.index < 2 && scanlog_append(&w, i, &why) == 0 &&
		       (i % 3 != 2 || bs_log_writer_commit(&w, &why) == 0);
	}
	good = good && bs_log_writer_commit(&w, &why) == 0 && w.durable == MESSAGES;
	(void)snprintf(path[1], sizeof(path[1]), "%s/%s", w.dir, w.name);
	if (good && seal)
		good = bs_log_writer_seal(&w, &why) == 0;
	bs_log_writer_close(&w);
	return good && w.head.index == 1;
}

static bool find_places(void)
{
	struct bs_log_reader *r;
	struct bs_log_message m;
	unsigned n = 0;

	if (bs_log_open(&r, path[0], &why) != 0)
		return false;
	for (; n < MESSAGES && bs_log_next(r, &m, &why) == 1; n++) {
		place[n] = m.place;
		bytes[n] = bs_log_record_bytes(m.len);
	}
	bs_log_close(r);
	return n == MESSAGES;
}

static void test_whole(void)
{
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct scanlog_read got;
	struct stat st;

	CHECK(write_log(true), "eighteen messages in two segments, sealed: %s", why.text);
	for (unsigned i = 0; i < 2; i++) {
		got = scanlog_read(path[i]);
		CHECK(got.rc == 0 && got.messages == MESSAGES && got.same &&
			      got.end == BS_LOG_END_SEALED,
		      "read from file %u: %llu messages as they were: %s", i,
		      (unsigned long long)got.messages, got.why.text);
	}
	CHECK(stat(path[0], &st) == 0 && (st.st_mode & 07777) == 0640, "mode 0640, not %o",
	      (unsigned)st.st_mode & 07777);
	CHECK(st.st_size == SCANLOG_SEGMENT && stat(path[1], &st) == 0 &&
		      st.st_size < SCANLOG_SEGMENT,
	      "the last file is cut at its end: %lld bytes", (long long)st.st_size);
	CHECK(find_places(), "the places of all");
	CHECK(bs_log_open(&r, path[0], &why) == 0 && bs_log_again(r, place[11], &m, &why) == 0 &&
		      scanlog_is(&m, 11) && bs_log_next(r, &m, &why) == 1 && scanlog_is(&m, 0) &&
		      bs_log_again(r, place[17], &m, &why) == 0 && scanlog_is(&m, 17) &&
		      bs_log_next(r, &m, &why) == 1 && scanlog_is(&m, 1),
	      "single messages again, between those in order: %s", why.text);
	CHECK(bs_log_begins(r)->session == SCANLOG_SESSION &&
		      bs_log_begins(r)->started_ns == 1700000000123456789 && bs_log_sealed(r) &&
		      bs_log_segments(r) == 2,
	      "what its head says");
	CHECK(bs_log_again(r, (struct bs_log_place){ 7, 8192 }, &m, &why) == BS_ERR_INDEX &&
		      bs_log_again(r, (struct bs_log_place){ 0, 4 }, &m, &why) == BS_ERR_FORMAT,
	      "no place, no message");
	bs_log_close(r);
	CHECK(write_log(false), "the same without its end");
	got = scanlog_read(path[0]);
	CHECK(got.rc == 0 && got.messages == MESSAGES && got.same && got.end == BS_LOG_END_OPEN,
	      "an open end loses nothing");
	CHECK(bs_log_open(&r, "/tmp/boreside-none/x.bslog", &why) == BS_ERR_IO &&
		      bs_log_open(&r, "/dev/null", &why) == BS_ERR_IO && bs_logged_is(path[0]) &&
		      !bs_logged_is("/dev/null"),
	      "what is no log: %s", why.text);
}

/* One file of two is all that somebody kept. */
static void test_missing(void)
{
	char aside[1210];
	struct scanlog_read got;

	CHECK(write_log(true), "two files");
	(void)snprintf(aside, sizeof(aside), "%s.aside", path[1]);
	CHECK(rename(path[1], aside) == 0, "the second is taken away");
	got = scanlog_read(path[0]);
	CHECK(got.rc == BS_ERR_FORMAT && got.same && got.messages > 0 &&
		      strstr(got.why.text, "goes on in a file that is not here") != NULL,
	      "%llu messages, and: %s", (unsigned long long)got.messages, got.why.text);
	CHECK(rename(aside, path[1]) == 0 && rename(path[0], aside) == 0, "the first is");
	got = scanlog_read(path[1]);
	CHECK(got.rc == BS_ERR_FORMAT && got.messages == 0 &&
		      strstr(got.why.text, "begins in a file that is not here") != NULL,
	      "no message: %s", got.why.text);
}

/* How many messages lie wholly before a byte of a segment. */
static uint64_t before(uint32_t segment, uint64_t offset)
{
	uint64_t n = 0;

	while (n < MESSAGES &&
	       (place[n].segment < segment ||
		(place[n].segment == segment && place[n].offset + bytes[n] <= offset)))
		n++;
	return n;
}

/* Of a segment, what is behind this was never written, or is cut off. */
static uint64_t written_end(uint32_t segment)
{
	const uint64_t n = before(segment, UINT64_MAX);
	const uint64_t end = place[n - 1].offset + bytes[n - 1];

	return (end + BS_LOG_BLOCK - 1) / BS_LOG_BLOCK * BS_LOG_BLOCK;
}

static bool in_message(uint32_t segment, uint64_t offset)
{
	const uint64_t n = before(segment, offset);

	return n < MESSAGES && place[n].segment == segment && place[n].offset <= offset;
}

/* From here on a byte may be what a crash leaves: the last three messages were one commit. */
static bool may_be_torn(uint32_t segment, uint64_t offset)
{
	return segment == 1 && offset >= place[MESSAGES - 3].offset;
}

struct tally {
	unsigned tried, wrong, named, torn;
};

static void judge(struct tally *t, const struct scanlog_read *got, uint64_t least, bool must_name,
		  const char *what, uint32_t segment, uint64_t at)
{
	bool named = got->rc < 0 && (strstr(got->why.text, scanlog_dir) != NULL);
	bool good = got->same && (got->opened != 0 || got->messages >= least) &&
		    (got->opened == 0 || least == 0) && (got->rc == 0 || named) &&
		    (named || !must_name);

	t->tried++;
	t->named += named;
	t->torn += got->rc == 0 && got->end == BS_LOG_END_TORN;
	t->wrong += !good;
	if (!good && t->wrong < 4)
		printf("# %s %u:%llu: opened %d, rc %d, %llu messages, at least %llu: %s\n", what,
		       segment, (unsigned long long)at, got->opened, got->rc,
		       (unsigned long long)got->messages, (unsigned long long)least, got->why.text);
}

/*
 * Each byte of a segment in turn with one bit, or with all bits, the other way. Of a head and a
 * seal the first bytes and some of the zeros; an open log's are looked at with the sealed one's.
 */
static void test_flips(bool sealed)
{
	struct tally t = { 0 };

	for (uint32_t s = 0; s < 2; s++) {
		int fd = open(path[s], O_RDWR);
		uint64_t at = sealed ? 0 : BS_LOG_RECORDS;

		CHECK(fd >= 0, "file %u", s);
		while (at < written_end(s)) {
			bool hit = in_message(s, at);
			unsigned char was;
			unsigned char is;

			if (pread(fd, &was, 1, (off_t)at) != 1)
				break;
			is = was ^ (unsigned char)(at % 2 == 0 ? 0xff : 1u << at / 2 % 8);
			if (pwrite(fd, &is, 1, (off_t)at) != 1)
				break;
			struct scanlog_read got = scanlog_read(path[0]);

			judge(&t, &got, hit ? before(s, at) : MESSAGES,
			      sealed || !may_be_torn(s, at), "flip", s, at);
			if (pwrite(fd, &was, 1, (off_t)at) != 1)
				break;
			at += at < BS_LOG_RECORDS && at % BS_LOG_BLOCK >= 80 ? 16 : 1;
		}
		(void)close(fd);
	}
	CHECK(t.wrong == 0 && t.tried > 20000,
	      "%s: %u bytes flipped, %u named, %u cut off as torn, %u wrong",
	      sealed ? "sealed" : "open", t.tried, t.named, t.torn, t.wrong);
	struct scanlog_read got = scanlog_read(path[0]);

	CHECK(got.rc == 0 && got.messages == MESSAGES, "and it is as it was");
}

static void flip(const char *file, off_t at)
{
	const int fd = open(file, O_RDWR | O_CLOEXEC);
	unsigned char byte = 0;

	CHECK(fd >= 0 && pread(fd, &byte, 1, at) == 1, "a byte of %s", file);
	byte ^= 0xff;
	CHECK(pwrite(fd, &byte, 1, at) == 1, "is another one");
	(void)close(fd);
}

/*
 * Heads are made up for: of an open log's last file, which has no seal, by its first record; where
 * that is damaged, too, by the seal, which says how many records are gone.
 */
static void test_heads(void)
{
	struct scanlog_read got;

	CHECK(write_log(false), "an open log");
	flip(path[1], 0);
	got = scanlog_read(path[0]);
	CHECK(got.rc == BS_ERR_FORMAT && got.messages == MESSAGES && got.same &&
		      strstr(got.why.text, "all messages could be read") != NULL,
	      "without a head and a seal: %llu messages: %s", (unsigned long long)got.messages,
	      got.why.text);
	CHECK(write_log(true), "a sealed log");
	flip(path[1], 0);
	flip(path[1], BS_LOG_RECORDS);
	got = scanlog_read(path[0]);
	CHECK(got.rc == BS_ERR_FORMAT && strstr(got.why.text, "records up to the seal's end"),
	      "without a head and a first record: %s", got.why.text);
}

/* Each length of the last file, and each of the first one. */
static void test_cuts(bool sealed)
{
	struct tally t = { 0 };

	for (uint32_t s = 2; s-- > 0;) {
		for (uint64_t len = written_end(s); len > 0;) {
			len -= len < BS_LOG_RECORDS && len >= 16 ? 16 : 1;
			if (truncate(path[s], (off_t)len) != 0)
				break;
			struct scanlog_read got = scanlog_read(path[s]);

			judge(&t, &got, before(s, len), sealed || s == 0 || len < BS_LOG_RECORDS,
			      "cut", s, len);
		}
		if (s == 1)
			CHECK(write_log(sealed) && find_places(), "a new one");
	}
	CHECK(t.wrong == 0 && t.tried > 20000, "%s: cut at %u bytes, %u named, %u torn, %u wrong",
	      sealed ? "sealed" : "open", t.tried, t.named, t.torn, t.wrong);
}

/* A file that was another scan's log before: none of that is taken for this one's. */
static void test_used_again(void)
{
	char spare[1200];
	struct bs_log_writer w;
	struct scanlog_read got;
	struct stat st;

	CHECK(write_log(true), "a log");
	(void)snprintf(spare, sizeof(spare), "%s/0.spare", scanlog_dir);
	CHECK(rename(path[0], spare) == 0 && unlink(path[1]) == 0, "its file is a spare one");
	CHECK(scanlog_open(&w, &why) == 0 && w.unprepared == 0 && stat(spare, &st) != 0,
	      "another log takes it");
	for (uint64_t i = 0; i < 4; i++)
		CHECK(scanlog_append(&w, i, &why) == 0 && bs_log_writer_commit(&w, &why) == 0,
		      "message %llu", (unsigned long long)i);
	bs_log_writer_close(&w);
	(void)snprintf(path[0], sizeof(path[0]), "%s/%s", w.dir, w.name);
	got = scanlog_read(path[0]);
	CHECK(got.rc == 0 && got.messages == 4 && got.same && got.end == BS_LOG_END_OPEN,
	      "four messages, nothing of before: %llu, %s", (unsigned long long)got.messages,
	      got.why.text);
	(void)scanlog_clean();
	CHECK(bs_log_spare_fill(scanlog_dir, 0, 1 << 20, &why) == 0 &&
		      bs_log_spare_fill(scanlog_dir, 0, 1 << 20, &why) == 0 &&
		      stat(spare, &st) == 0 && st.st_size == 1 << 20,
	      "a spare of another size");
	CHECK(scanlog_open(&w, &why) == 0 && w.unprepared == 1, "is not taken");
	bs_log_writer_close(&w);
	CHECK(bs_log_spare_fill(scanlog_dir, 0, SCANLOG_SEGMENT, &why) == 0 &&
		      stat(spare, &st) == 0 && st.st_size == SCANLOG_SEGMENT,
	      "and is made anew: %s", why.text);
}

static void test_limits(void)
{
	static unsigned char big[SCANLOG_CAP];
	struct bs_log_room room = scanlog_room;
	struct bs_log_writer w;
	bool refused;

	(void)scanlog_clean();
	room.segment_bytes = SCANLOG_SEGMENT + 1;
	refused = bs_log_writer_open(&w, &room, 1, 0, &why) == BS_ERR_SIZE;
	room.segment_bytes = 16384;
	CHECK(refused && bs_log_writer_open(&w, &room, 1, 0, &why) == BS_ERR_SIZE,
	      "segments and buffers that do not fit: %s", why.text);
	room = scanlog_room;
	room.dir = "/tmp/boreside-none";
	CHECK(bs_log_writer_open(&w, &room, 1, 0, &why) == BS_ERR_IO &&
		      strstr(why.text, "/tmp/boreside-none") != NULL,
	      "a folder that is not there is not made: %s", why.text);
	CHECK(scanlog_open(&w, &why) == 0, "a log");
	CHECK(bs_log_writer_append(&w, big, 0, 0, &why) == BS_ERR_SIZE &&
		      bs_log_writer_append(&w, big, sizeof(big), 0, &why) == BS_ERR_SIZE &&
		      bs_log_writer_due(&w) == INT64_MAX,
	      "messages that cannot be: %s", why.text);
	CHECK(bs_log_writer_append(&w, big, 100, 5000, &why) == 0 &&
		      bs_log_writer_due(&w) == 5000 + BS_LOG_COMMIT_NS && w.durable == 0,
	      "due 2 ms after the oldest that waits");
	CHECK(bs_log_writer_commit(&w, &why) == 0 && w.durable == 1 && w.commits == 1 &&
		      bs_log_writer_due(&w) == INT64_MAX && bs_log_writer_commit(&w, &why) == 0 &&
		      w.commits == 1,
	      "committed; a second commit has nothing to do");
	bs_log_writer_close(&w);
	bs_log_writer_close(&w);
}

static void test_by_bytes(void)
{
	const size_t cap = bs_log_writer_bytes(100000);
	unsigned char *buffer = calloc(2, cap);
	struct bs_log_writer w;

	CHECK(buffer != NULL &&
		      bs_log_writer_open(&w,
					 &(struct bs_log_room){ scanlog_dir, BS_LOG_SEGMENT / 16,
								buffer, cap },
					 2, 1, &why) == 0,
	      "a log of large messages: %s", why.text);
	for (unsigned i = 0; i < 3; i++)
		CHECK(bs_log_writer_due(&w) > 1000 &&
			      bs_log_writer_append(&w, buffer + cap, 100000, 1000, &why) == 0,
		      "%u", i);
	CHECK(w.used >= BS_LOG_COMMIT_BYTES && bs_log_writer_due(&w) == 1000 && w.durable == 0,
	      "due at once when 256 KiB wait");
	bs_log_writer_close(&w);
	free(buffer);
}

/*
 * A writer that ends at any record, with what it had not committed, and another one that goes on
 * from what was durable: all is there once. early: it ended before the next file was there. late:
 * its successor knows of nothing that was written, not of the file that was full, either.
 */
static void test_resumed(bool early, bool late)
{
	const uint64_t every = late ? 100 : 7;
	struct scanlog_read got;
	int bad = 0;

	for (uint64_t end = 1; end <= 40; end += late ? 1 : 3) {
		struct bs_log_writer w = { .fd = -1, .dir_fd = -1 };
		struct bs_log_head head;
		uint64_t durable = 0;
		int rc;

		while (scanlog_clean() > 0)
			;
		rc = scanlog_open(&w, &why);
		for (uint64_t i = 0; rc == 0 && i < end; i++) {
			rc = scanlog_append(&w, i, &why);
			if (rc == 0 && i % every == every - 1)
				rc = bs_log_writer_commit(&w, &why);
			durable = i % every == every - 1 || !late ? w.durable : durable;
		}
		head = w.head;
		head.index += early;
		bs_log_writer_close(&w);
		if (rc == 0)
			rc = bs_log_writer_resume(&w, &scanlog_room, &head, durable, &why);
		for (uint64_t i = durable; rc == 0 && i < 60; i++)
			rc = scanlog_append(&w, i, &why);
		if (rc == 0)
			rc = bs_log_writer_seal(&w, &why);
		bs_log_writer_close(&w);
		(void)snprintf(path[0], sizeof(path[0]), "%s/%s", scanlog_dir, w.name);
		got = scanlog_read(path[0]);
		bad += rc != 0 || got.messages != 60 || !got.same || got.rc != 0 ||
		       got.end != BS_LOG_END_SEALED;
	}
	CHECK(bad == 0, "ended at %s of 40 records and resumed%s%s: whole (%d are not)",
	      late ? "each" : "every third", early ? ", before its next file was there" : "",
	      late ? ", from the first on" : "", bad);
}

/* Three writers, each ended when its file had its name and no record: the fourth goes on. */
static void test_unbegun(void)
{
	struct bs_log_writer w = { .fd = -1, .dir_fd = -1 };
	struct bs_log_head head = { .session = 0 };
	struct scanlog_read got;
	int rc = 0;

	while (scanlog_clean() > 0)
		;
	for (int i = 0; rc == 0 && i < 4; i++) {
		bs_log_writer_close(&w);
		rc = i == 0 ? scanlog_open(&w, &why)
			    : bs_log_writer_resume(&w, &scanlog_room, &head, 0, &why);
		if (i == 0)
			head = w.head;
		head.index = 0; /* none of them could say how far it came */
	}
	for (uint64_t i = 0; rc == 0 && i < 10; i++)
		rc = scanlog_append(&w, i, &why);
	if (rc == 0)
		rc = bs_log_writer_seal(&w, &why);
	bs_log_writer_close(&w);
	(void)snprintf(path[0], sizeof(path[0]), "%s/%s", scanlog_dir, w.name);
	got = scanlog_read(path[0]);
	CHECK(rc == 0 && got.messages == 10 && got.same && got.end == BS_LOG_END_SEALED,
	      "three files without a record before it: whole, %llu records",
	      (unsigned long long)got.messages);
}

/* relaxed: a commit is a write; what no sync has confirmed is no damage when it is lost. */
static void test_relaxed(void)
{
	struct bs_log_writer w = { .fd = -1, .dir_fd = -1 };
	int rc;

	while (scanlog_clean() > 0)
		;
	rc = scanlog_open(&w, &why);
	w.relaxed = true;
	for (uint64_t i = 0; rc == 0 && i < 3; i++) {
		rc = scanlog_append(&w, i, &why);
		if (rc == 0)
			rc = bs_log_writer_commit(&w, &why);
	}
	CHECK(rc == 0 && w.durable == 3 && w.synced == 0, "three are written: %s", why.text);
	CHECK(bs_log_writer_seal(&w, &why) == 0 && w.synced == 0, "so is the seal");
	bs_log_writer_close(&w);
	(void)scanlog_clean();
}

int main(void)
{
	if (mkdtemp(scanlog_dir) == NULL)
		return 1;
	test_whole();
	test_missing();
	test_heads();
	CHECK(write_log(true) && find_places(), "a sealed log");
	test_flips(true);
	test_cuts(true);
	CHECK(write_log(false) && find_places(), "an open log");
	test_flips(false);
	test_cuts(false);
	test_used_again();
	test_limits();
	test_by_bytes();
	test_resumed(false, false);
	test_resumed(true, false);
	test_resumed(false, true);
	test_unbegun();
	test_relaxed();
	(void)scanlog_clean();
	(void)rmdir(scanlog_dir);
	return check_done();
}

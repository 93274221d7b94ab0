/*
 * test/unit/drivers/log/test_finish.c - a log whose writer was killed is sealed behind its last
 * good record, wherever it was torn; damage to what was committed stays damage; what killed writers
 * were making is swept away, and nothing else is
 */
/* Holds: L9 */
#define _GNU_SOURCE
#include "drivers/log/finish.h"

#include <sys/file.h>

#include "drivers/log/folder.h"
#include "test/unit/drivers/log/scanlog.h"

#define MESSAGES 60u
#define STEP     61u /* bytes between two places that are tried */

static unsigned char whole[SCANLOG_SEGMENT];
static char last[64]; /* the log's last file: the second one */
static char path[128];

/* A log of two files, committed every five messages, without an end. */
static bool write_log(void)
{
	struct bs_log_writer w;
	struct bs_fail why = { 0 };
	int rc;

	(void)scanlog_clean();
	rc = scanlog_open(&w, &why);
	for (uint64_t i = 0; rc == 0 && i < MESSAGES; i++) {
		rc = scanlog_append(&w, i, &why);
		if (rc == 0 && i % 5 == 4)
			rc = bs_log_writer_commit(&w, &why);
	}
	(void)snprintf(last, sizeof(last), "%s", w.name);
	(void)snprintf(path, sizeof(path), "%s/%s", scanlog_dir, last);
	bs_log_writer_close(&w);
	return rc == 0 && w.head.index >= 1;
}

static bool put_back(size_t bytes)
{
	const int fd = open(path, O_WRONLY | O_TRUNC);
	const bool good = fd >= 0 && write(fd, whole, bytes) == (ssize_t)bytes;

	if (fd >= 0)
		(void)close(fd);
	return good;
}

static bool get_whole(void)
{
	const int fd = open(path, O_RDONLY);
	const bool good = fd >= 0 && read(fd, whole, sizeof(whole)) == (ssize_t)sizeof(whole);

	if (fd >= 0)
		(void)close(fd);
	return good;
}

static bool folder_sealed(void)
{
	struct bs_log_entry *list;
	size_t n;
	bool sealed = bs_log_folder_list(scanlog_dir, &list, &n, NULL) == 0 && n == 1 &&
		      strcmp(list[0].last, last) == 0 &&
		      bs_log_folder_sealed(scanlog_dir, list, NULL) == 1;

	free(list);
	return sealed;
}

/* What can be read before can be read behind, and the log has an end; or the damage stays. */
static bool finishes(void)
{
	const struct scanlog_read before = scanlog_read(path);
	struct bs_fail why = { 0 };
	uint64_t records = 0;
	const int rc = bs_log_finish(scanlog_dir, last, NULL, &records, &why);
	const struct scanlog_read after = scanlog_read(path);
	bool good = after.messages == before.messages && after.same && folder_sealed();

	if (before.rc == 0)
		good = good && rc == 0 && records == before.messages && after.rc == 0 &&
		       after.end == BS_LOG_END_SEALED;
	else
		good = good && rc == BS_ERR_FORMAT && after.rc == BS_ERR_FORMAT;
	if (!good)
		printf("# before: %d, %llu messages; finish %d (%s), %llu records; after: %d %s, "
		       "%llu messages, %s\n",
		       before.rc, (unsigned long long)before.messages, rc, why.text,
		       (unsigned long long)records, after.rc, after.why.text,
		       (unsigned long long)after.messages, folder_sealed() ? "sealed" : "open");
	return good;
}

/* The seal says whether all images had been made; that they are since is kept beside the logs. */
static void test_early(void)
{
	for (int early = 0; early < 2; early++) {
		struct bs_log_entry *list = NULL;
		struct bs_log_writer w;
		struct bs_fail why = { 0 };
		size_t n = 0;
		bool said = early == 0;

		(void)scanlog_clean();
		CHECK(scanlog_open(&w, &why) == 0 && scanlog_append(&w, 0, &why) == 0, "a log");
		w.early = early != 0;
		CHECK(bs_log_writer_seal(&w, &why) == 0, "its seal %s", why.text);
		bs_log_writer_close(&w);
		CHECK(bs_log_folder_list(scanlog_dir, &list, &n, NULL) == 0 && n == 1 &&
			      bs_log_folder_sealed(scanlog_dir, list, &said) == 1 &&
			      said == (early != 0),
		      "sealed %s", early != 0 ? "before its images were made" : "at its end");
		free(list);
	}
	CHECK(bs_log_folder_made(scanlog_dir) == 0, "of no scan it is known that they are made");
	CHECK(bs_log_folder_set_made(scanlog_dir, UINT64_MAX - 6, NULL) == 0 &&
		      bs_log_folder_made(scanlog_dir) == UINT64_MAX - 6,
	      "then it is of one");
}

static void test_cut(void)
{
	unsigned bad = 0;

	for (size_t at = BS_LOG_RECORDS; at <= sizeof(whole); at += STEP)
		bad += !put_back(at) || folder_sealed() || !finishes();
	CHECK(bad == 0, "cut anywhere: sealed behind the last good record (%u times not)", bad);
}

static void test_flip(void)
{
	unsigned bad = 0;
	unsigned damaged = 0;

	for (size_t at = BS_LOG_RECORDS; at < sizeof(whole); at += STEP) {
		whole[at] ^= 0x55;
		bad += !put_back(sizeof(whole));
		damaged += scanlog_read(path).rc != 0;
		bad += !finishes();
		whole[at] ^= 0x55;
	}
	CHECK(bad == 0 && damaged > 0,
	      "spoiled anywhere: the same, or the damage is told as before (%u times; %u not)",
	      damaged, bad);
}

static void test_written(void)
{
	uint64_t records;
	int fd;

	CHECK(put_back(sizeof(whole)), "the log as it was");
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0 &&
		      bs_log_finish(scanlog_dir, last, NULL, &records, NULL) == BS_ERR_STATE &&
		      !folder_sealed(),
	      "one that is being written is left alone");
	if (fd >= 0)
		(void)close(fd);
	CHECK(finishes() && scanlog_read(path).messages == MESSAGES, "then it is sealed");
}

static bool is_there(const char *name)
{
	char file[128];
	struct stat st;

	(void)snprintf(file, sizeof(file), "%s/%s", scanlog_dir, name);
	return stat(file, &st) == 0;
}

static void test_sweep(void)
{
	static const char *const names[] = { "0.spare.part",          "17.spare.part",
					     "0123456789abcdef.part", "1.spare",
					     "0123456789abcde.part",  "scan.part",
					     ".spare.part",           "0123456789abcdefg.part" };
	int held;

	for (unsigned i = 0; i < 8; i++) {
		char file[128];

		(void)snprintf(file, sizeof(file), "%s/%s", scanlog_dir, names[i]);
		(void)close(open(file, O_WRONLY | O_CREAT, 0600));
	}
	(void)snprintf(path, sizeof(path), "%s/17.spare.part", scanlog_dir);
	held = open(path, O_RDONLY);
	CHECK(held >= 0 && flock(held, LOCK_EX) == 0 && bs_log_folder_sweep(scanlog_dir) == 2 &&
		      !is_there(names[0]) && is_there(names[1]) && !is_there(names[2]),
	      "what a killed writer was making goes, what a living one makes stays");
	if (held >= 0)
		(void)close(held);
	CHECK(bs_log_folder_sweep(scanlog_dir) == 1 && !is_there(names[1]), "until it is dead");
	for (unsigned i = 3; i < 8; i++)
		CHECK(is_there(names[i]), "%s stays", names[i]);
}

int main(void)
{
	CHECK(mkdtemp(scanlog_dir) != NULL && write_log() && get_whole(), "a log");
	test_cut();
	test_flip();
	test_written();
	test_sweep();
	test_early();
	(void)scanlog_clean();
	(void)rmdir(scanlog_dir);
	return check_done();
}

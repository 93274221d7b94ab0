/*
 * test/unit/drivers/log/test_solved.c - the file of what became of frames: whole, torn, damaged, of
 * another scan; it goes with its log
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/log/folder.h"
#include "drivers/log/solved.h"
#include "test/support/check.h"

#define LOG    "20261122T211002.123456-0123456789abcdef-00000.bslog"
#define FILE_  "20261122T211002.123456-0123456789abcdef.steps"
#define FRAMES 600u

static const struct bs_solved_head head = { 7, "radial" };
static struct bs_solved s, t;
static char dir[64], log_path[160], path[160];
static struct bs_fail why;

static uint64_t word_of(uint32_t frame)
{
	return BS_SOLVED_MADE | (frame % 3 == 0 ? BS_SOLVED_STOPPED : 0) | (uint64_t)frame << 8 |
	       (uint64_t)(frame % 5) << 32;
}

static int read_all(const struct bs_solved_head *h)
{
	bs_solved_clear(&t);
	return bs_solved_read(&t, log_path, h, &why);
}

static uint32_t read_well(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < FRAMES; i++)
		n += bs_solved_of(&t, i) == (word_of(i) | BS_SOLVED_FILED);
	return n;
}

/* In two parts, out of order, with frames that are not made yet. */
static void whole(void)
{
	struct stat st;
	int fd;

	for (uint32_t i = 0; i < FRAMES; i++)
		if (i % 7 != 6)
			bs_solved_put(&s, i, word_of(i));
	CHECK(bs_solved_open(&fd, dir, LOG, &head, &why) == 0 &&
		      bs_solved_add(fd, &s, 0, FRAMES - 1, &why) == 0,
	      "what is made is filed: %s", why.text);
	for (uint32_t i = 6; i < FRAMES; i += 7)
		bs_solved_put(&s, i, word_of(i));
	CHECK(bs_solved_add(fd, &s, 0, FRAMES + 9, &why) == 0 &&
		      bs_solved_add(fd, &s, 0, UINT64_MAX, &why) == 0,
	      "and what is made later");
	(void)close(fd);
	CHECK(stat(path, &st) == 0 && st.st_size == 80 + 16 * FRAMES && (st.st_mode & 0777) == 0640,
	      "each once, %lld bytes", (long long)st.st_size);
	CHECK(read_all(&head) == 0 && read_well() == FRAMES, "%u frames read", read_well());
	CHECK(read_all(&(struct bs_solved_head){ 0, "radial" }) == 0 && read_well() == FRAMES,
	      "of any session");
	CHECK(read_all(&(struct bs_solved_head){ 8, "radial" }) == 0 && atomic_load(&t.used) == 0 &&
		      read_all(&(struct bs_solved_head){ 7, "radia" }) == 0 &&
		      atomic_load(&t.used) == 0,
	      "nothing of another session, nor another protocol");
}

static void damaged(void)
{
	const unsigned char byte = 0x55;
	int fd = open(path, O_RDWR);

	CHECK(pwrite(fd, &byte, 1, 80 + 16 * 41 + 9) == 1 && read_all(&head) == 1 &&
		      read_well() == FRAMES - 1,
	      "a damaged record is counted, the others are good");
	CHECK(ftruncate(fd, 80 + 16 * 100 + 5) == 0 && read_all(&head) == 1 && read_well() == 99,
	      "a torn end is none");
	CHECK(ftruncate(fd, 33) == 0 && read_all(&head) == 0 && atomic_load(&t.used) == 0,
	      "nor is a torn head");
	(void)close(fd);
	(void)unlink(path);
	CHECK(read_all(&head) == 0 && atomic_load(&t.used) == 0, "no file: a log as of old");
	CHECK(bs_solved_open(&fd, dir, "x.cfl", &head, &why) == BS_ERR_STATE, "%s", why.text);
}

static void pruned(void)
{
	const struct bs_log_limits limits = { .oldest_ns = INT64_MAX };
	struct bs_log_pruned done;
	int fd = open(log_path, O_WRONLY | O_CREAT, 0640);

	(void)close(fd);
	CHECK(bs_solved_open(&fd, dir, LOG, &head, &why) == 0 && access(path, F_OK) == 0, "a file");
	(void)close(fd);
	CHECK(bs_log_folder_prune(dir, &limits, &done, &why) == 0 && done.logs == 1 &&
		      access(path, F_OK) != 0,
	      "it goes with its log");
}

int main(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/boreside-steps-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return 1;
	(void)snprintf(log_path, sizeof(log_path), "%s/%s", dir, LOG);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, FILE_);
	whole();
	damaged();
	pruned();
	(void)rmdir(dir);
	return check_done();
}

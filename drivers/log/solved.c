/* drivers/log/solved.c - see solved.h */
#include "drivers/log/solved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/log/writer.h"
#include "drivers/log/name.h"
#include "ipc/wire/bytes.h"
#include "ipc/wire/envelope.h"

#define MAGIC   "BSLOGSTP"
#define HEAD    80u
#define RECORD  16u
#define AT_ONCE 256u /* records of one write or read */

/* Writes the file's name, or path, where log is a path. False: it is no log's file. */
static bool name_of(char *out, size_t cap, const char *log)
{
	const char *slash = strrchr(log, '/');
	const char *name = slash != NULL ? slash + 1 : log;
	uint32_t index;
	size_t stem;

	if (strlen(name) >= BS_LOG_NAME || !bs_log_split(name, &stem, &index))
		return false;
	stem += (size_t)(name - log);
	return snprintf(out, cap, "%.*s" BS_SOLVED_SUFFIX, (int)stem, log) < (int)cap;
}

static void put_head(unsigned char head[HEAD], const struct bs_solved_head *h)
{
	memset(head, 0, HEAD);
	memcpy(head, MAGIC, 8);
	bs_put_le(head + 8, h->session, 8);
	(void)snprintf((char *)head + 16, HEAD - 16, "%s", h->protocol);
}

int bs_solved_open(int *fd, const char *dir, const char *log, const struct bs_solved_head *head,
		   struct bs_fail *why)
{
	char path[BS_LOG_DIR + BS_LOG_NAME + 8];
	char name[BS_LOG_NAME + 8];
	unsigned char bytes[HEAD];
	int rc = 0;

	*fd = -1;
	if (!name_of(name, sizeof(name), log))
		return bs_fail(why, BS_ERR_STATE, "'%s' is no log's file", log);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	*fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	put_head(bytes, head);
	if (*fd < 0 || (lseek(*fd, 0, SEEK_END) == 0 && write(*fd, bytes, HEAD) != HEAD))
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	if (rc != 0 && *fd >= 0)
		(void)close(*fd);
	return rc;
}

static bool due(uint64_t word)
{
	return (word & (BS_SOLVED_MADE | BS_SOLVED_FILED)) == BS_SOLVED_MADE;
}

int bs_solved_add(int fd, struct bs_solved *s, uint64_t first, uint64_t last, struct bs_fail *why)
{
	unsigned char bytes[AT_ONCE * RECORD];

	for (uint64_t frame = first; frame <= last && frame < BS_SOLVED_MAX;) {
		uint64_t from = frame;
		size_t n = 0;

		for (; frame <= last && frame < BS_SOLVED_MAX && n < AT_ONCE; frame++) {
			const uint64_t word = bs_solved_of(s, frame);
			unsigned char *to = bytes + n * RECORD;

			if (!due(word))
				continue;
			bs_put_le(to + 4, frame, 4);
			bs_put_le(to + 8, word | BS_SOLVED_FILED, 8);
			bs_put_le(to, bs_crc32c(0, to + 4, RECORD - 4), 4);
			n++;
		}
		if (n > 0 && write(fd, bytes, n * RECORD) != (ssize_t)(n * RECORD))
			return bs_fail(why, BS_ERR_IO, "a file " BS_SOLVED_SUFFIX ": %s",
				       strerror(errno));
		for (; from < frame; from++)
			if (due(bs_solved_of(s, from)))
				atomic_fetch_or(&s->word[from], BS_SOLVED_FILED);
	}
	return 0;
}

/* Reads a block of records; returns the number of those that are damaged. */
static int take_records(struct bs_solved *s, const unsigned char *bytes, size_t n)
{
	int damaged = 0;

	for (; n > 0; n--, bytes += RECORD)
		if (bs_get_le(bytes, 4) == bs_crc32c(0, bytes + 4, RECORD - 4))
			bs_solved_put(s, bs_get_le(bytes + 4, 4), bs_get_le(bytes + 8, 8));
		else
			damaged++;
	return damaged;
}

int bs_solved_read(struct bs_solved *s, const char *log, const struct bs_solved_head *head,
		   struct bs_fail *why)
{
	char path[BS_LOG_DIR + BS_LOG_NAME + 8];
	unsigned char bytes[AT_ONCE * RECORD];
	unsigned char own[HEAD];
	int damaged = 0;
	ssize_t n;
	int fd;

	if (!name_of(path, sizeof(path), log))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0
				       : bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	n = read(fd, bytes, HEAD);
	put_head(own, head);
	if (head->session == 0 && n == HEAD)
		memcpy(own + 8, bytes + 8, 8);
	if (n == HEAD && memcmp(bytes, own, HEAD) == 0)
		while ((n = read(fd, bytes, sizeof(bytes))) >= (ssize_t)RECORD)
			damaged += take_records(s, bytes, (size_t)n / RECORD);
	if (n < 0)
		damaged = bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	(void)close(fd);
	return damaged;
}

void bs_solved_remove(int dir, const char *log)
{
	char name[BS_LOG_NAME + 8];

	if (name_of(name, sizeof(name), log))
		(void)unlinkat(dir, name, 0);
}

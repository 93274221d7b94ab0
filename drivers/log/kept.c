/* drivers/log/kept.c - see kept.h */
#include "drivers/log/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory/stamp.h"
#include "core/version.h"
#include "ipc/wire/bytes.h"
#include "ipc/wire/envelope.h"

#define MAGIC "BSKEPTIM"
#define HEAD  64u

const char *bs_kept_path(char path[BS_DRAFT_PATH], const char *dir, uint32_t slot)
{
	(void)snprintf(path, BS_DRAFT_PATH, "%.1000s/%u.kept", dir, slot);
	return path;
}

static uint64_t data_bytes(const struct bs_kept *k)
{
	return (uint64_t)k->matrix[0] * k->matrix[1] * k->matrix[2] * sizeof(float);
}

static void put_head(unsigned char head[HEAD], const struct bs_kept *k, const void *data)
{
	const uint64_t bytes = data_bytes(k);
	const uint32_t crc = bs_crc32c(bs_crc32c(0, k, sizeof(*k)), data, (size_t)bytes);

	memset(head, 0, HEAD);
	memcpy(head, MAGIC, 8);
	(void)snprintf((char *)head + 8, 32, "%s", BS_VERSION);
	bs_put_le(head + 40, sizeof(*k), 8);
	bs_put_le(head + 48, bytes, 8);
	bs_put_le(head + 56, crc, 4);
}

/* Writes one image. An image that is replaced meanwhile is written when this is called again. */
static int write_one(const char *dir, struct bs_study *s, uint32_t slot, uint64_t *filed,
		     struct bs_fail *why)
{
	const struct bs_kept *kept = &s->kept[BS_KEPT_IMAGE][slot];
	const void *data = bs_study_data(s, BS_KEPT_IMAGE, slot);
	const uint64_t number = atomic_load(&kept->number);
	char path[BS_DRAFT_PATH];
	unsigned char head[HEAD];
	struct bs_draft d;
	int rc;

	if (number == 0 || number == *filed || data_bytes(kept) > s->bytes[BS_KEPT_IMAGE])
		return 0;
	rc = bs_draft_open(&d, bs_kept_path(path, dir, slot), why);
	if (rc != 0)
		return rc;
	put_head(head, kept, data);
	rc = bs_draft_write(&d, head, HEAD, why);
	if (rc == 0)
		rc = bs_draft_write(&d, kept, sizeof(*kept), why);
	if (rc == 0)
		rc = bs_draft_write(&d, data, (size_t)data_bytes(kept), why);
	bs_stamp_after();
	if (rc == 0 && atomic_load(&kept->number) != number) {
		bs_draft_drop(&d);
		return 0;
	}
	rc = bs_draft_end(&d, rc, path, BS_DRAFT_REPLACE, why);
	*filed = rc == 0 ? number : *filed;
	return rc;
}

int bs_kept_write(struct bs_kept_filed *filed, const char *dir, struct bs_study *s,
		  struct bs_fail *why)
{
	struct bs_fail unread;
	int first = 0;

	for (uint32_t i = 0; i < s->slots[BS_KEPT_IMAGE]; i++) {
		const int rc = write_one(dir, s, i, &filed->number[i], first == 0 ? why : &unread);

		first = first != 0 ? first : rc;
	}
	return first;
}

static int read_whose(struct bs_kept *kept, unsigned char head[HEAD], int fd, const char *path,
		      struct bs_fail *why)
{
	if (read(fd, head, HEAD) != HEAD || memcmp(head, MAGIC, 8) != 0 ||
	    strncmp((const char *)head + 8, BS_VERSION, 32) != 0 ||
	    bs_get_le(head + 40, 8) != sizeof(*kept) ||
	    read(fd, kept, sizeof(*kept)) != (ssize_t)sizeof(*kept))
		return bs_fail(why, BS_ERR_FORMAT, "%s: not an image that this version has kept",
			       path);
	return 0;
}

static void end_texts(struct bs_kept *k)
{
	k->scan[sizeof(k->scan) - 1] = k->study[sizeof(k->study) - 1] = '\0';
	k->protocol[sizeof(k->protocol) - 1] = k->patient[sizeof(k->patient) - 1] = '\0';
	k->lies[sizeof(k->lies) - 1] = '\0';
}

int bs_kept_whose(struct bs_kept *kept, int fd, const char *path, struct bs_fail *why)
{
	unsigned char head[HEAD];
	const int rc = read_whose(kept, head, fd, path, why);

	end_texts(kept);
	return rc;
}

/* Reads a file's image into its slot, whose number stays 0 unless all of it is good. */
static int read_open(int fd, const char *path, struct bs_study *s, uint32_t slot,
		     struct bs_fail *why)
{
	struct bs_kept *k = &s->kept[BS_KEPT_IMAGE][slot];
	void *data = bs_study_data(s, BS_KEPT_IMAGE, slot);
	unsigned char head[HEAD], own[HEAD];
	static struct bs_kept read_kept;
	uint64_t bytes;

	if (read_whose(&read_kept, head, fd, path, why) != 0)
		return why->code;
	bytes = bs_get_le(head + 48, 8);
	for (int a = 0; a < 3; a++)
		if (read_kept.matrix[a] == 0 || read_kept.matrix[a] > 4096)
			bytes = UINT64_MAX;
	if (bytes > s->bytes[BS_KEPT_IMAGE] || bytes != data_bytes(&read_kept))
		return bs_fail(why, BS_ERR_SIZE, "%s: no room for its image in this site", path);
	if (read(fd, data, (size_t)bytes) != (ssize_t)bytes)
		return bs_fail(why, BS_ERR_FORMAT, "%s: it is too short", path);
	put_head(own, &read_kept, data);
	if (memcmp(head, own, HEAD) != 0 || read_kept.slices > BS_FRAMES_MAX)
		return bs_fail(why, BS_ERR_FORMAT, "%s: it is damaged", path);
	memcpy(k, &read_kept, sizeof(*k));
	end_texts(k);
	return 0;
}

int bs_kept_read(struct bs_study *s, const char *dir, uint32_t *count, struct bs_fail *why)
{
	char path[BS_DRAFT_PATH];
	int last = 0;

	*count = 0;
	(void)bs_draft_sweep(dir);
	for (uint32_t i = 0; i < s->slots[BS_KEPT_IMAGE]; i++) {
		const struct bs_kept *k = &s->kept[BS_KEPT_IMAGE][i];
		const int fd = open(bs_kept_path(path, dir, i),
				    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		int rc = 0;

		if (fd >= 0) {
			rc = read_open(fd, path, s, i, why);
			(void)close(fd);
		} else if (errno != ENOENT) {
			rc = bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
		}
		last = rc != 0 ? rc : last;
		*count += rc == 0 && fd >= 0;
		if (atomic_load(&k->number) > atomic_load(&s->number))
			atomic_store(&s->number, atomic_load(&k->number));
	}
	return last;
}

void bs_kept_prune(const char *dir, int64_t oldest_ns)
{
	char path[BS_DRAFT_PATH];
	struct stat st;

	for (uint32_t i = 0; i < BS_STUDY_SCANS_MAX; i++)
		if (lstat(bs_kept_path(path, dir, i), &st) == 0 &&
		    (int64_t)st.st_mtim.tv_sec * 1000000000 < oldest_ns)
			(void)unlink(path);
}

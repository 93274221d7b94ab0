/* drivers/log/finish.c - see finish.h */
#include "drivers/log/finish.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/file/draft.h"
#include "drivers/log/parts.h"
#include "drivers/log/writer.h"

/* Opens a log's file, which is locked until it is closed. Returns its descriptor, or an error. */
static int open_locked(const char *path, int how, struct bs_fail *why)
{
	const int fd = open(path, how | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return bs_file_fail(why, path, "cannot be opened");
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	(void)close(fd);
	return bs_fail(why, BS_ERR_STATE, "%s: is being written", path);
}

/*
 * Writes a seal. end: offset where the file is cut; 0: it is not cut. signer: signs it, with the
 * chain; NULL: it is not signed.
 */
static int seal(const char *path, const struct bs_log_head *h, uint64_t end,
		const struct bs_signer *signer, const uint8_t *chain, struct bs_fail *why)
{
	const int fd = open_locked(path, O_WRONLY, why);
	unsigned char block[BS_LOG_BLOCK];
	int rc = 0;

	if (fd < 0)
		return fd;
	bs_log_put_seal(block, h);
	if (signer != NULL)
		bs_log_sign_seal(block, chain, signer);
	if (pwrite(fd, block, sizeof(block), BS_LOG_SEAL_AT) != (ssize_t)sizeof(block) ||
	    fdatasync(fd) != 0)
		rc = bs_file_fail(why, path, "cannot be sealed");
	else if (end != 0 && ftruncate(fd, (off_t)end) != 0)
		rc = bs_file_fail(why, path, "is sealed but cannot be cut");
	(void)close(fd);
	return rc;
}

static int settle_file(const char *path, struct bs_fail *why)
{
	const int fd = open_locked(path, O_RDONLY, why);
	int rc = 0;

	if (fd < 0)
		return fd;
	if (fdatasync(fd) != 0 && fdatasync(fd) != 0) /* the first may report an old error */
		rc = bs_file_fail(why, path, "cannot be synced");
	else
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	(void)close(fd);
	return rc;
}

int bs_log_settle(const char *path, struct bs_fail *why)
{
	struct bs_log_reader *r;
	const char *file;
	int rc = bs_log_open(&r, path, why);

	if (rc != 0)
		return rc;
	for (uint32_t i = 0; rc == 0 && (file = bs_log_path(r, i)) != NULL; i++)
		rc = settle_file(file, why);
	bs_log_close(r);
	return rc;
}

/* Makes the names of a folder's files durable: else a power loss takes a file that is sealed. */
static int settle_names(const char *dir, struct bs_fail *why)
{
	const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int rc = fd < 0 || bs_log_sync_names(fd) != 0
			       ? bs_file_fail(why, dir, "cannot be synced")
			       : 0;

	if (fd >= 0)
		(void)close(fd);
	return rc;
}

/* Signs the segments before the last one, and computes that one's chain. */
static int chain_last(const char *path, const char *last, uint64_t end,
		      const struct bs_signer *signer, uint8_t chain[BS_CHAIN], struct bs_fail *why)
{
	const int rc = bs_log_mend(path, signer, chain, why);

	return rc == 0 ? bs_log_chain_of(last, end, chain, why) : rc;
}

int bs_log_finish(const char *dir, const char *name, const struct bs_signer *signer,
		  uint64_t *records, struct bs_fail *why)
{
	uint8_t chain[BS_CHAIN];
	char path[BS_LOG_DIR + BS_LOG_NAME + 1];
	struct bs_fail damage = { 0 };
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_log_head h;
	const char *last;
	uint64_t end;
	int rc;

	*records = 0;
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	rc = bs_log_settle(path, why); /* a seal says that all records before it are on the disk */
	if (rc == 0)
		rc = settle_names(dir, why);
	if (rc == 0)
		rc = bs_log_open(&r, path, why);
	if (rc != 0)
		return rc;
	while ((rc = bs_log_next(r, &m, &damage)) == 1)
		*records = m.number + 1;
	last = bs_log_last(r, &h);
	h.recovered = true;
	end = rc == 0 ? h.end : 0;
	if (h.next != *records)
		signer = NULL; /* what is damaged gets its seal, but nobody's word for it */
	rc = signer != NULL ? chain_last(path, last, h.end, signer, chain, why) : 0;
	if (h.id == 0)
		rc = bs_fail(why, BS_ERR_IO, "%s: nothing of it can be read", last);
	else if (rc == 0)
		rc = seal(last, &h, end, signer, chain, why);
	bs_log_close(r);
	return rc == 0 && damage.code != 0 ? bs_fail(why, BS_ERR_FORMAT, "%s", damage.text) : rc;
}

bool bs_log_has_end(const char *dir, const char *name)
{
	char path[BS_LOG_DIR + BS_LOG_NAME + 1];
	struct bs_log_reader *r;
	bool sealed;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (bs_log_open(&r, path, NULL) != 0)
		return false;
	sealed = bs_log_sealed(r);
	bs_log_close(r);
	return sealed;
}

int bs_log_cut(const char *dir, const char *name, struct bs_fail *why)
{
	char path[BS_LOG_DIR + BS_LOG_NAME + 1];
	unsigned char blocks[BS_LOG_RECORDS];
	struct bs_log_head head;
	struct bs_log_head seal;
	struct stat st;
	int fd;
	int rc = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open_locked(path, O_RDWR, why);
	if (fd < 0)
		return fd;
	if (pread(fd, blocks, sizeof(blocks), 0) == (ssize_t)sizeof(blocks) &&
	    bs_log_get_head(&head, blocks, NULL) == 0 &&
	    bs_log_get_seal(&seal, blocks + BS_LOG_SEAL_AT, NULL) == 0 && seal.id == head.id &&
	    seal.last && fstat(fd, &st) == 0 && (uint64_t)st.st_size > seal.end &&
	    ftruncate(fd, (off_t)seal.end) != 0)
		rc = bs_file_fail(why, path, "is sealed but cannot be cut");
	(void)close(fd);
	return rc;
}

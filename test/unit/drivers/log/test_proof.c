/*
 * test/unit/drivers/log/test_proof.c - what a node signed of a log, and any change of it: each byte
 * of each file, with and without a checksum that fits, files that change places, another key; logs
 * whose writers were killed are signed when they are sealed, and say so
 */
/* Holds: L13, L14, L15, L16, L17 */
#define _GNU_SOURCE
#include "drivers/tool/load/proof.h"

#include "drivers/log/finish.h"
#include "drivers/log/parts.h"
#include "ipc/wire/bytes.h"
#include "ipc/wire/envelope.h"
#include "test/unit/drivers/log/scanlog.h"

#define MESSAGES 60u
#define STEP     53u /* bytes between two that are changed in the records */

static struct bs_signer signer, other;
static struct bs_fail why;
static struct bs_log_proof sum;
static char path[4][160];
static unsigned char was[4][SCANLOG_SEGMENT], now[SCANLOG_SEGMENT];
static size_t bytes[4];
static unsigned files;

static void make_signers(void)
{
	static const char line[] = "boreside-secret AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\n";
	char key[80];

	(void)snprintf(key, sizeof(key), "%s/key", scanlog_dir);
	for (int i = 0; i < 2; i++) {
		char text[sizeof(line)];
		const int fd = open(key, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		memcpy(text, line, sizeof(line));
		text[16] = (char)('A' + i);
		if (fd < 0 || write(fd, text, sizeof(line) - 1) != (ssize_t)sizeof(line) - 1 ||
		    close(fd) != 0 || bs_signer_read(i == 0 ? &signer : &other, key, &why) != 0)
			abort();
	}
	(void)unlink(key);
}

/* Appends messages from..to, committed every five. */
static int append(struct bs_log_writer *w, uint64_t from, uint64_t to)
{
	int rc = 0;

	for (uint64_t i = from; rc == 0 && i < to; i++) {
		rc = scanlog_append(w, i, &why);
		if (rc == 0 && i % 5 == 4)
			rc = bs_log_writer_commit(w, &why);
	}
	return rc;
}

/* Reads the files of the log that is in the folder. */
static void take_files(const struct bs_log_writer *w)
{
	struct bs_log_head h = w->head;

	for (files = 0; files < 4 && files <= w->head.index; files++) {
		char name[BS_LOG_NAME];
		int fd;
		ssize_t n;

		h.index = files;
		bs_log_name(name, &h);
		(void)snprintf(path[files], sizeof(path[0]), "%s/%s", scanlog_dir, name);
		fd = open(path[files], O_RDONLY);
		n = fd >= 0 ? read(fd, was[files], sizeof(was[0])) : -1;
		if (n < 0 || close(fd) != 0)
			abort();
		bytes[files] = (size_t)n;
	}
}

static void put_file(unsigned i, const unsigned char *from, size_t n)
{
	const int fd = open(path[i], O_WRONLY | O_TRUNC | O_CREAT, 0640);

	if (fd < 0 || write(fd, from, n) != (ssize_t)n || close(fd) != 0)
		abort();
}

/* A log of three files that its writer sealed. with: the signer; NULL: none. */
static bool write_log(const struct bs_signer *with)
{
	struct bs_log_writer w;
	int rc;

	(void)scanlog_clean();
	rc = scanlog_open(&w, &why);
	w.signer = with;
	if (rc == 0)
		rc = append(&w, 0, MESSAGES);
	if (rc == 0)
		rc = bs_log_writer_seal(&w, &why);
	bs_log_writer_close(&w);
	if (rc == 0)
		take_files(&w);
	return rc == 0 && files >= 3;
}

static int prove(const struct bs_signer *by)
{
	return bs_log_prove(path[0], by->pub, &sum, &why);
}

static void test_whole(void)
{
	CHECK(write_log(&signer) && prove(&signer) == 0 && sum.segments == files &&
		      sum.recovered == 0,
	      "a log of %u files is what its node signed %s", files, why.text);
	CHECK(prove(&other) == BS_ERR_KEY && strstr(why.text, "another key") != NULL,
	      "and not what an older key did: %s", why.text);
	CHECK(write_log(NULL) && prove(&signer) == BS_ERR_KEY &&
		      strstr(why.text, "not signed") != NULL,
	      "a log without a key is whole, and not signed: %s", why.text);
}

/* Two files of version 1, as a service wrote them then. */
static void test_old(void)
{
	static unsigned char old[40960];
	const int fd = open("test/fuzz/seed/fuzz_log/two", O_RDONLY);
	struct scanlog_read got;

	if (fd < 0 || read(fd, old, sizeof(old)) != (ssize_t)sizeof(old) || close(fd) != 0)
		abort();
	(void)scanlog_clean();
	for (unsigned i = 0; i < 2; i++) {
		(void)snprintf(path[i], sizeof(path[0]), "%s/x-%05u.bslog", scanlog_dir, i);
		put_file(i, old + i * sizeof(old) / 2, sizeof(old) / 2);
	}
	got = scanlog_read(path[0]);
	CHECK(old[8] == 1 && got.messages > 10 && got.same && got.rc == 0 &&
		      got.end == BS_LOG_END_SEALED,
	      "a log of version 1 is read: %u messages", (unsigned)got.messages);
	CHECK(prove(&signer) == BS_ERR_KEY && strstr(why.text, "version 1") != NULL,
	      "nobody has signed it: %s", why.text);
}

static uint32_t sum_of(const unsigned char *p, size_t len, size_t crc_at)
{
	static const unsigned char zeros[4];
	uint32_t crc = bs_crc32c(0, p, crc_at);

	crc = bs_crc32c(crc, zeros, 4);
	return bs_crc32c(crc, p + crc_at + 4, len - crc_at - 4);
}

/* Sets the checksums of the head, the seal and all records anew, as who meant the change would. */
static void sum_again(unsigned char *f, size_t end)
{
	bs_put_le(f + 12, sum_of(f, BS_LOG_BLOCK, 12), 4);
	f += BS_LOG_SEAL_AT;
	bs_put_le(f + 12, sum_of(f, BS_LOG_BLOCK, 12), 4);
	f -= BS_LOG_SEAL_AT;
	for (size_t at = BS_LOG_RECORDS; at + BS_LOG_FRAME <= end;) {
		const uint64_t len = bs_get_le(f + at + 32, 4);
		const uint64_t all = bs_log_record_bytes(len);

		if (len > SCANLOG_SEGMENT || at + all > end)
			return;
		bs_put_le(f + at + 36,
			  bs_crc32c(0, f + at + BS_LOG_FRAME, (size_t)all - BS_LOG_FRAME), 4);
		bs_put_le(f + at + 4, sum_of(f + at, BS_LOG_FRAME, 4), 4);
		at += (size_t)all;
	}
}

/* One byte changed at a time: heads and seals each, records each STEP bytes up to the end. */
static void test_bytes(bool summed)
{
	unsigned tried = 0;
	unsigned unseen = 0;

	if (!write_log(&signer))
		abort();
	for (unsigned i = 0; i < files; i++) {
		const size_t end = (size_t)bs_get_le(was[i] + BS_LOG_SEAL_AT + 56, 8);

		for (size_t at = 0; at < end;
		     at += at < 256 || (at >= 4096 && at < 4400) ? 1 : STEP) {
			memcpy(now, was[i], bytes[i]);
			now[at] ^= (unsigned char)(1u << at % 8);
			if (summed)
				sum_again(now, end);
			if (memcmp(now, was[i], bytes[i]) == 0)
				continue; /* a checksum's own byte, set right again */
			put_file(i, now, bytes[i]);
			tried++;
			if (prove(&signer) == 0 && unseen++ == 0)
				printf("# file %u, byte %zu\n", i, at);
		}
		put_file(i, was[i], bytes[i]);
	}
	CHECK(tried > 2000 && unseen == 0 && prove(&signer) == 0,
	      "of %u bytes changed one at a time%s each is found (%u are not)", tried,
	      summed ? ", with checksums that fit," : "", unseen);
}

/* A record taken out, and the ones behind it given its number: as if it had never come. */
static void test_missing_record(void)
{
	struct bs_log_writer w;
	unsigned char message[SCANLOG_LONGEST];
	unsigned char seal[BS_LOG_BLOCK];
	int rc;

	if (!write_log(&signer))
		abort();
	memcpy(seal, was[files - 1] + BS_LOG_SEAL_AT, sizeof(seal));
	(void)scanlog_clean();
	rc = scanlog_open(&w, &why);
	for (uint64_t i = 0; rc == 0 && i < MESSAGES; i++)
		if (i != 31)
			rc = bs_log_writer_append(&w, message, scanlog_message(message, i), 0,
						  &why);
	if (rc == 0)
		rc = bs_log_writer_seal(&w, &why);
	bs_log_writer_close(&w);
	CHECK(rc == 0 && prove(&signer) == BS_ERR_KEY, "without a record, sealed anew: %s",
	      why.text);
	take_files(&w);
	/* the old signature, with what else the new seal says */
	memcpy(was[files - 1] + BS_LOG_SEAL_AT + 80, seal + 80, 128);
	sum_again(was[files - 1], 0);
	put_file(files - 1, was[files - 1], bytes[files - 1]);
	CHECK(prove(&signer) != 0, "nor with the old signature: %s", why.text);
}

static void test_swapped(void)
{
	static unsigned char first[SCANLOG_SEGMENT];
	size_t n;

	if (!write_log(&signer))
		abort();
	put_file(1, was[2], bytes[2]);
	CHECK(prove(&signer) != 0, "the third file in the second's place: %s", why.text);
	put_file(1, was[1], bytes[1]);
	(void)unlink(path[files - 1]);
	CHECK(prove(&signer) == BS_ERR_FORMAT, "without its last file: %s", why.text);
	put_file(files - 1, was[files - 1], bytes[files - 1]);
	(void)unlink(path[1]);
	CHECK(prove(&signer) == BS_ERR_FORMAT, "without its second: %s", why.text);
	memcpy(first, was[0], bytes[0]);
	n = bytes[0];
	if (!write_log(&signer))
		abort();
	put_file(0, first, n);
	CHECK(prove(&signer) == BS_ERR_FORMAT,
	      "its first file as it was signed when the scan was logged before: %s", why.text);
}

/* A whole log, under the name of another scan. */
static void test_renamed(void)
{
	char name[200];
	unsigned bad = 0;

	if (!write_log(&signer))
		abort();
	for (unsigned i = 0; i < files; i++) {
		(void)snprintf(name, sizeof(name), "%s/20261122T211002.123456-%016llx-%05u.bslog",
			       scanlog_dir, 0xabcdULL, i);
		bad += rename(path[i], name) != 0;
		if (i == 0)
			(void)snprintf(path[0], sizeof(path[0]), "%.159s", name);
	}
	CHECK(bad == 0 && prove(&signer) == BS_ERR_KEY && strstr(why.text, "signed as") != NULL,
	      "another scan's files: %s", why.text);
}

/*
 * A writer is killed behind `end` messages, and another one goes on from the durable ones; what was
 * open is sealed at the end. key: of the signer then.
 */
static bool write_resumed(uint64_t end, const struct bs_signer *key, bool finished)
{
	struct bs_log_writer w;
	uint8_t chain[BS_CHAIN];
	uint64_t records;
	struct bs_log_head head;
	uint64_t durable;
	int rc;

	(void)scanlog_clean();
	rc = scanlog_open(&w, &why);
	w.signer = &signer;
	if (rc == 0)
		rc = append(&w, 0, end);
	head = w.head;
	durable = w.durable;
	bs_log_writer_close(&w);
	if (rc == 0)
		rc = bs_log_writer_resume(&w, &scanlog_room, &head, durable, &why);
	w.signer = &signer;
	if (rc == 0)
		rc = append(&w, durable, MESSAGES);
	if (rc == 0)
		rc = finished ? bs_log_writer_commit(&w, &why) : bs_log_writer_seal(&w, &why);
	bs_log_writer_close(&w);
	if (rc == 0)
		take_files(&w);
	if (rc == 0 && key != NULL)
		rc = finished ? bs_log_finish(scanlog_dir, w.name, key, &records, &why)
			      : bs_log_mend(path[0], key, chain, &why);
	return rc == 0;
}

static void test_recovered(bool finished)
{
	struct scanlog_read got;
	unsigned bad = 0;
	uint32_t recovered = 0;

	for (uint64_t end = 0; end <= MESSAGES; end++) {
		if (!write_resumed(end, &signer, finished) || prove(&signer) != 0) {
			printf("# killed behind %u: %s\n", (unsigned)end, why.text);
			bad++;
		}
		recovered += sum.recovered;
		got = scanlog_read(path[0]);
		bad += got.messages != MESSAGES || !got.same || got.rc != 0 ||
		       got.end != BS_LOG_END_SEALED;
	}
	CHECK(bad == 0 && recovered > MESSAGES / 2,
	      "killed behind each of %u messages, gone on%s: whole, signed, %u segments say that "
	      "they were recovered (%u logs are not)",
	      MESSAGES, finished ? ", killed again and sealed" : "", recovered, bad);
}

static void test_not_recovered(void)
{
	CHECK(write_resumed(38, NULL, false) && prove(&signer) == BS_ERR_KEY,
	      "before that it is not signed: %s", why.text);
	CHECK(write_resumed(38, &other, false) && prove(&signer) == BS_ERR_KEY &&
		      prove(&other) == BS_ERR_KEY,
	      "and with a new key neither one signed all: %s", why.text);
}

/* What a damaged log gets is a seal, and no signature. */
static void test_damaged(void)
{
	uint64_t records;
	struct bs_log_writer w;
	int rc;

	(void)scanlog_clean();
	rc = scanlog_open(&w, &why);
	w.signer = &signer;
	if (rc == 0)
		rc = append(&w, 0, 20);
	bs_log_writer_close(&w);
	take_files(&w);
	was[0][BS_LOG_RECORDS + 60] ^= 1;
	put_file(0, was[0], bytes[0]);
	CHECK(rc == 0 &&
		      bs_log_finish(scanlog_dir, w.name, &signer, &records, &why) == BS_ERR_FORMAT,
	      "a damaged log is sealed: %s", why.text);
	CHECK(prove(&signer) == BS_ERR_FORMAT, "and not proven: %s", why.text);
	take_files(&w);
	CHECK(bs_get_le(was[files - 1] + BS_LOG_SEAL_AT + 112, 8) == 0, "nor signed");
}

int main(void)
{
	if (mkdtemp(scanlog_dir) == NULL)
		return 1;
	make_signers();
	test_whole();
	test_old();
	test_bytes(false);
	test_bytes(true);
	test_missing_record();
	test_swapped();
	test_renamed();
	test_recovered(false);
	test_recovered(true);
	test_not_recovered();
	test_damaged();
	(void)scanlog_clean();
	(void)rmdir(scanlog_dir);
	return check_done();
}

/*
 * test/fuzz/fuzz_log.c - the log's reader on any bytes (libFuzzer)
 *
 * The input is two files of a log. Each is read twice: as it is, and with checksums that are made
 * to fit, else they keep the fuzzer out. No such log is what a key has signed. What is read must
 * lie in what was checked (ASan), numbers must follow one another, and the end must stay the end.
 */
/* Holds: L8 */
#define _GNU_SOURCE
#include "drivers/log/reader.h"
#include "drivers/tool/load/proof.h"
#include "ipc/wire/bytes.h"
#include "ipc/wire/envelope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[] = "/tmp/boreside-fuzz-log-XXXXXX";

static void must(int what)
{
	if (!what)
		abort();
}

static void remove_folder(void)
{
	char path[80];

	for (unsigned i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof(path), "%s/x-%05u.bslog", dir, i);
		(void)unlink(path);
	}
	(void)rmdir(dir);
}

static void write_file(unsigned index, const unsigned char *bytes, size_t len)
{
	char path[80];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/x-%05u.bslog", dir, index);
	f = fopen(path, "wb");
	must(f != NULL && fwrite(bytes, 1, len, f) == len && fclose(f) == 0);
}

static void read_log(void)
{
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_log_message again;
	static const uint8_t key[BS_SIGN_KEY] = { 1 };
	struct bs_log_proof proof;
	struct bs_fail why = { 0 };
	char path[80];
	uint64_t sum = 0;
	uint64_t n = 0;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/x-00000.bslog", dir);
	if (bs_log_open(&r, path, &why) != 0) {
		must(why.code < 0 && why.text[0] != '\0');
		return;
	}
	while ((rc = bs_log_next(r, &m, &why)) == 1) {
		must(m.number == n++);
		for (size_t i = 0; i < m.len; i++)
			sum += m.bytes[i];
		must(bs_log_again(r, m.place, &again, &why) == 0 && again.number == m.number &&
		     again.len == m.len);
	}
	must(rc == 0 || (why.code == rc && why.text[0] != '\0'));
	must(bs_log_next(r, &m, &why) == rc);
	must(sum < UINT64_MAX && bs_log_segments(r) <= 2);
	bs_log_close(r);
	must(bs_log_prove(path, key, &proof, &why) < 0 && why.text[0] != '\0');
}

static void fit(unsigned char *p, size_t len, size_t crc_at)
{
	bs_put_le(p + crc_at, 0, 4);
	bs_put_le(p + crc_at, bs_crc32c(0, p, len), 4);
}

/* Blocks 0 and 1, and records one after the other as far as their lengths lead. */
static void fit_file(unsigned char *p, size_t len)
{
	size_t at = BS_LOG_RECORDS;

	for (size_t block = 0; block < 2 && (block + 1) * BS_LOG_BLOCK <= len; block++)
		fit(p + block * BS_LOG_BLOCK, BS_LOG_BLOCK, 12);
	while (at <= len && len - at >= BS_LOG_FRAME) {
		const uint64_t body = (bs_get_le(p + at + 32, 4) + 7) / 8 * 8;

		if (body <= len - at - BS_LOG_FRAME)
			bs_put_le(p + at + 36, bs_crc32c(0, p + at + BS_LOG_FRAME, (size_t)body),
				  4);
		fit(p + at, BS_LOG_FRAME, 4);
		if (body > len - at - BS_LOG_FRAME)
			break;
		at += BS_LOG_FRAME + (size_t)body;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool made;
	const size_t half = size / 2 / 8 * 8;
	unsigned char *copy = malloc(size > 0 ? size : 1);

	if (!made)
		must(mkdtemp(dir) != NULL && atexit(remove_folder) == 0);
	made = true;
	must(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	for (int fitted = 0; fitted < 2; fitted++) {
		if (fitted) {
			fit_file(copy, half);
			fit_file(copy + half, size - half);
		}
		write_file(0, copy, half);
		write_file(1, copy + half, size - half);
		read_log();
	}
	free(copy);
	return 0;
}

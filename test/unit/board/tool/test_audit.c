/*
 * test/unit/board/tool/test_audit.c - boreside log audit on any bytes: it ends, and finds nothing
 * in what is whole; no bytes make it read what it has not checked (run with a sanitizer)
 *
 * usage: test_audit [mutations [seed]]. A mutation changes some bytes of a log of two segments, of
 * a file of images, of a cursor or of the service's log; half of them have checksums that are made
 * to fit, else these keep the mutations out.
 */
/* Holds: L10 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "board/tool/audit/audit.h"
#include "core/random.h"
#include "drivers/log/reader.h"
#include "ipc/wire/bytes.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"
#include "test/support/check.h"
#include "test/support/folder.h"

#define SESSION   UINT64_C(0x1234)
#define STARTED   INT64_C(1700000000123456789)
#define NUMBER    (UINT64_C(0x655309f1) << 32)
#define SEGMENT   (48u << 10)
#define CAP       (32u << 10)
#define ACQS      60u
#define IMAGES    5u
#define FILE_MAX_ (64u << 10)
#define SHORT     300u /* mutations of make test */

enum { FIRST, SECOND, STORE, CURSOR, EVENTS, FILES };
static struct {
	char path[200];
	unsigned char whole[FILE_MAX_], now[FILE_MAX_];
	size_t bytes, len; /* of both */
} file[FILES];
static char logs[64], images[64];
static unsigned char buffer[CAP], message[16384];
static struct bs_random rng;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(bs_random_uniform(&rng) * n);
}

/* ---- what is whole ---- */

static int put(struct bs_log_writer *w, enum bs_wire_kind kind, uint64_t session, uint64_t seq,
	       size_t len)
{
	struct bs_wire head = { .kind = kind, .session = session, .seq = seq, .time_ns = 5 };
	struct bs_fail why;

	bs_wire_encode(message, &head, message + BS_WIRE_BYTES, len);
	return bs_log_writer_append(w, message, BS_WIRE_BYTES + len, 0, &why) != 0 ||
	       (seq % 7 == 0 && bs_log_writer_commit(w, &why) != 0);
}

static int put_open(struct bs_log_writer *w)
{
	static const char xml[] =
		"<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\"><encoding><encodedSpace>"
		"<matrixSize><x>64</x><y>32</y><z>1</z></matrixSize></encodedSpace>"
		"<trajectory>cartesian</trajectory></encoding></ismrmrdHeader>";
	struct bs_fail why;

	if (bs_wire_put_open(message + BS_WIRE_BYTES, "cart", &why) != 0)
		return 1;
	memcpy(message + BS_WIRE_BYTES + BS_WIRE_OPEN_NAME, xml, sizeof(xml) - 1);
	return put(w, BS_WIRE_OPEN, SESSION, 0, BS_WIRE_OPEN_NAME + sizeof(xml) - 1);
}

static int put_acq(struct bs_log_writer *w, uint64_t seq)
{
	const struct bs_mrd_acq head = {
		.version = 1, .number_of_samples = 64, .available_channels = 1, .active_channels = 1
	};

	memset(message, (int)seq, sizeof(message));
	bs_mrd_put_acq(message + BS_WIRE_BYTES, &head);
	return put(w, BS_WIRE_ACQ, SESSION, seq, (size_t)bs_mrd_acq_bytes(&head));
}

static int write_log(void)
{
	const struct bs_log_head head = { .session = SESSION, .started_ns = STARTED, .scan = 3 };
	struct bs_log_writer w;
	struct bs_fail why;
	int rc = bs_log_writer_resume(&w, &(struct bs_log_room){ logs, SEGMENT, buffer, CAP },
				      &head, 0, &why);

	rc = rc != 0 || put_open(&w);
	for (uint64_t n = 1; rc == 0 && n <= ACQS; n++)
		rc = put_acq(&w, n);
	bs_wire_put_u64(message + BS_WIRE_BYTES, ACQS);
	rc = rc != 0 || put(&w, BS_WIRE_CLOSE, SESSION, ACQS + 1, 8);
	rc = rc != 0 || bs_log_writer_seal(&w, &why) != 0;
	bs_log_writer_close(&w);
	return rc != 0 || w.head.index != 1;
}

/* STORED, with an image of the scan in it. */
static int put_image(struct bs_log_writer *w, uint64_t n)
{
	static const char words[] =
		"<ismrmrdMeta><meta><name>boreside_protocol</name><value>cart</value></meta>"
		"<meta><name>boreside_quality</name><value>complete</value></meta>"
		"<meta><name>boreside_rung</name><value>full</value></meta>"
		"<meta><name>boreside_missing</name><value>0</value></meta>"
		"<meta><name>boreside_gaps</name><value>0</value></meta>"
		"<meta><name>boreside_count_imaging</name><value>12</value></meta></ismrmrdMeta>";
	const size_t len = sizeof(words) - 1;
	struct bs_mrd_image h = { .version = 1,
				  .data_type = BS_MRD_FLOAT,
				  .matrix_size = { 8, 8, 1 },
				  .channels = 1,
				  .image_type = BS_MRD_MAGNITUDE,
				  .image_index = (uint16_t)n,
				  .image_series_index = 3,
				  .attribute_string_len = (uint32_t)len };
	struct bs_wire head = { .kind = BS_WIRE_IMAGE, .session = SESSION, .seq = n, .time_ns = 5 };
	unsigned char *image = message + BS_WIRE_BYTES + 8;
	const size_t bytes = BS_MRD_IMAGE_BYTES + 8 + len + 256;

	memset(message, 0, sizeof(message));
	bs_mrd_put_image(image + BS_WIRE_BYTES, &h);
	bs_put_le(image + BS_WIRE_BYTES + BS_MRD_IMAGE_BYTES, len, 8);
	memcpy(image + BS_WIRE_BYTES + BS_MRD_IMAGE_BYTES + 8, words, len);
	bs_wire_encode(image, &head, image + BS_WIRE_BYTES, bytes);
	bs_put_le(message + BS_WIRE_BYTES, n > 1 ? NUMBER + n - 1 : 0, 8);
	return put(w, BS_WIRE_STORED, SESSION, NUMBER + n, 8 + BS_WIRE_BYTES + bytes);
}

static int write_store(void)
{
	struct bs_log_writer w;
	struct bs_fail why;
	int rc = bs_log_writer_open(&w, &(struct bs_log_room){ images, SEGMENT, buffer, CAP },
				    NUMBER + 1, STARTED, &why);

	for (uint64_t n = 1; rc == 0 && n <= IMAGES; n++)
		rc = put_image(&w, n);
	rc = rc != 0 || bs_log_writer_seal(&w, &why) != 0;
	bs_log_writer_close(&w);
	return rc;
}

/* What was written a moment ago would be read again, as it might be a service's. */
static bool write_file(int i, const unsigned char *bytes, size_t len)
{
	static const struct timespec old[2] = { { STARTED / 1000000000, 0 },
						{ STARTED / 1000000000, 0 } };
	const int fd = open(file[i].path, O_WRONLY | O_CREAT | O_TRUNC, 0640);
	const bool good =
		fd >= 0 && write(fd, bytes, len) == (ssize_t)len && futimens(fd, old) == 0;

	if (fd >= 0)
		(void)close(fd);
	return good;
}

static bool read_whole(int i)
{
	const int fd = open(file[i].path, O_RDONLY);
	const ssize_t n = fd >= 0 ? read(fd, file[i].whole, FILE_MAX_) : -1;

	if (fd >= 0)
		(void)close(fd);
	file[i].bytes = n > 0 ? (size_t)n : 0;
	return n > 0;
}

static bool write_all(void)
{
	char cursor[32];
	static const char events[] =
		"serve: ready\nboreside[serve] info: audit: scan 3, session 0000000000001234, "
		"protocol 'cart', ended 2026-11-29T05:38:59Z after 0.108 s: BS_OK; acquisitions "
		"60, images 5, gaps 0, duplicates 0, rejected 0, late 0, undelivered 0; log "
		"20231114T221320.123456-0000000000001234-00000.bslog\n"
		"{\"time\":\"\",\"audit\":{\"scan\":4,\"session\":\"0000000000001235\","
		"\"code\":-19,"
		"\"acquisitions\":1,\"images\":0,\"text\":\"no log: it could not be written\"}}\n";
	const struct bs_log_head h = { .session = SESSION, .started_ns = STARTED };
	char name[BS_LOG_NAME];
	bool good;

	(void)snprintf(cursor, sizeof(cursor), "%020llu\n", (unsigned long long)(NUMBER + 2));
	(void)snprintf(logs, sizeof(logs), "%s/logs", dir);
	(void)snprintf(images, sizeof(images), "%s/images", dir);
	good = mkdir(logs, 0750) == 0 && mkdir(images, 0750) == 0 && write_log() == 0 &&
	       write_store() == 0;
	bs_log_name(name, &h);
	(void)snprintf(file[FIRST].path, sizeof(file[0].path), "%s/%s", logs, name);
	(void)snprintf(file[SECOND].path, sizeof(file[0].path), "%s/%.*s1.bslog", logs,
		       (int)(strlen(name) - strlen("0.bslog")), name);
	bs_log_name(name, &(struct bs_log_head){ .session = NUMBER + 1, .started_ns = STARTED });
	(void)snprintf(file[STORE].path, sizeof(file[0].path), "%s/%s", images, name);
	(void)snprintf(file[CURSOR].path, sizeof(file[0].path), "%s/pacs.cursor", images);
	(void)snprintf(file[EVENTS].path, sizeof(file[0].path), "%s/events", dir);
	good = good && write_file(CURSOR, (const unsigned char *)cursor, strlen(cursor)) &&
	       write_file(EVENTS, (const unsigned char *)events, sizeof(events) - 1);
	for (int i = 0; i < FILES; i++)
		good = good && read_whole(i);
	return good;
}

/* ---- what is not ---- */

static void fit(unsigned char *p, size_t len, size_t crc_at)
{
	bs_put_le(p + crc_at, 0, 4);
	bs_put_le(p + crc_at, bs_crc32c(0, p, len), 4);
}

/* A message's own checksum, and that of an image in it. */
static void fit_message(unsigned char *p, size_t len)
{
	if (len >= 2 * BS_WIRE_BYTES + 8 && bs_get_le(p + 6, 2) == BS_WIRE_STORED)
		fit(p + BS_WIRE_BYTES + 8, len - BS_WIRE_BYTES - 8, 40);
	if (len >= BS_WIRE_BYTES)
		fit(p, len, 40);
}

/* Heads, seals and records, one after the other as far as their lengths lead. */
static void fit_file(unsigned char *p, size_t len)
{
	size_t at = BS_LOG_RECORDS;

	for (size_t block = 0; block < 2 && (block + 1) * BS_LOG_BLOCK <= len; block++)
		fit(p + block * BS_LOG_BLOCK, BS_LOG_BLOCK, 12);
	while (at <= len && len - at >= BS_LOG_FRAME) {
		const uint64_t length = bs_get_le(p + at + 32, 4);
		const uint64_t body = (length + 7) / 8 * 8;

		if (body > len - at - BS_LOG_FRAME) {
			fit(p + at, BS_LOG_FRAME, 4);
			return;
		}
		fit_message(p + at + BS_LOG_FRAME, (size_t)length);
		bs_put_le(p + at + 36, bs_crc32c(0, p + at + BS_LOG_FRAME, (size_t)body), 4);
		fit(p + at, BS_LOG_FRAME, 4);
		at += BS_LOG_FRAME + (size_t)body;
	}
}

/* A byte, a number of 2, 4 or 8 bytes at one of its ends, a stretch from elsewhere, an end. */
static void mutate(unsigned char *p, size_t *len)
{
	static const uint64_t ends[] = { 0,          1,          UINT64_MAX,       INT64_MAX,
					 UINT32_MAX, 0x40000000, 0x3fffffff,       255,
					 65535,      16777216,   UINT64_C(1) << 63 };
	const size_t at = below((uint32_t)*len - 8);
	const size_t from = below((uint32_t)*len - 8);
	const size_t n = 1 + below(64);

	switch (below(5)) {
	case 0:
		p[at] ^= (unsigned char)(1u << below(8));
		return;
	case 1:
		bs_put_le(p + at, ends[below(sizeof(ends) / sizeof(ends[0]))],
			  1u << (1 + below(3)));
		return;
	case 2:
		bs_put_le(p + at, bs_get_le(p + at, 4) + 1 - below(3), 4);
		return;
	case 3:
		memmove(p + at, p + from, n < *len - at && n < *len - from ? n : 1);
		return;
	default:
		if (below(4) == 0)
			*len = 8 + at;
	}
}

static int audit_all(struct bs_findings *f, struct bs_audit_sum *sum)
{
	const char *dirs[] = { logs, images, NULL };
	const struct bs_audit_request q = { .dirs = dirs,
					    .events = file[EVENTS].path,
					    .store_bytes = 1u << 20 };
	struct bs_fail why;
	FILE *to = f->to;

	memset(f, 0, sizeof(*f));
	f->to = to;
	return bs_audit_run(&q, f, sum, &why);
}

static bool is_mutated(struct bs_findings *f, uint64_t *found)
{
	struct bs_audit_sum sum;
	const bool fits = below(2) == 0;
	bool good = true;

	for (int i = 0; i < FILES; i++) {
		memcpy(file[i].now, file[i].whole, file[i].bytes);
		file[i].len = file[i].bytes;
	}
	for (uint32_t n = 1 + below(4); n > 0; n--) {
		const int i = (int)below(FILES);

		mutate(file[i].now, &file[i].len);
	}
	for (int i = 0; i < FILES; i++) {
		if (fits && i <= STORE)
			fit_file(file[i].now, file[i].len);
		good = good && write_file(i, file[i].now, file[i].len);
	}
	good = good && audit_all(f, &sum) == 0;
	*found += f->found != 0;
	return good;
}

int main(int argc, char **argv)
{
	const uint32_t mutations = argc > 1 ? (uint32_t)atoi(argv[1]) : SHORT;
	static struct bs_findings f;
	struct bs_audit_sum sum;
	uint64_t found = 0;
	uint32_t good = 0;

	bs_random_seed(&rng, argc > 2 ? (uint64_t)atoll(argv[2]) : 1);
	CHECK(write_all(), "a log of two segments, images, a cursor");
	f.to = stdout;
	CHECK(audit_all(&f, &sum) == 0 && f.found == 0 && sum.logs == 1 && sum.images == IMAGES,
	      "nothing is found in what is whole");
	f.to = fopen("/dev/null", "w");
	for (uint32_t i = 0; f.to != NULL && i < mutations; i++)
		good += is_mutated(&f, &found);
	CHECK(good == mutations, "%u of %u mutations are read to the end", good, mutations);
	printf("# in %llu of them something was found\n", (unsigned long long)found);
	return check_done();
}

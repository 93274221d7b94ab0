/*
 * test/unit/board/log/keeping.h - a test's keeper: scans that are put, ACKs that it fills in, and
 * what its logs have; its program is linked with pwrite and fdatasync wrapped (baddisk.h)
 */
#ifndef BS_TEST_BOARD_LOG_KEEPING_H
#define BS_TEST_BOARD_LOG_KEEPING_H

#include <dirent.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "board/log/keeper.h"
#include "core/thread/clock.h"
#include "drivers/log/reader.h"
#include "test/support/await.h"
#include "test/support/check.h"
#include "test/support/folder.h"
#include "test/unit/board/log/baddisk.h"

#define RING    (256u << 10)
#define SEGMENT (1u << 20)
#define MESSAGE 1000u
#define MOST    100000u

static struct bs_log_spec spec = { .mode = BS_LOG_MODE_DURABLE };
static struct bs_keeper k;
static struct bs_fail why;

/* In memory that a successor finds. */
static struct shared {
	struct bs_log_record record;
	_Atomic uint64_t next, durable; /* numbers: to be put next; said to be durable */
	_Alignas(64) unsigned char ring[RING];
} * shared;

static inline void nothing(void *arg)
{
	(void)arg;
}

static inline void nothing_more(void)
{
}

static inline bool start(void)
{
	return bs_keeper_start(&k,
			       &(struct bs_keeper_options){ .spec = &spec,
							    .message_max = 4096,
							    .segment_bytes = SEGMENT,
							    .record = &shared->record,
							    .ring = shared->ring,
							    .ring_bytes = RING,
							    .enter = nothing,
							    .leave = nothing_more,
							    .wake = nothing },
			       &why) == 0;
}

/* Message number n of a session, as the wire has it. */
static inline size_t message(unsigned char *msg, uint64_t session, uint64_t n)
{
	struct bs_wire w = { .kind = n == 0 ? BS_WIRE_OPEN : BS_WIRE_ACQ,
			     .session = session,
			     .seq = n };
	const size_t len = MESSAGE - n % 7 * 100;

	memset(msg + BS_WIRE_BYTES, (int)(n % 251), len);
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, len);
	return BS_WIRE_BYTES + len;
}

static inline void open_scan(uint64_t session)
{
	unsigned char msg[2048];

	bs_keeper_open(&k, 1, msg, message(msg, session, 0), (int64_t)session * 1000, bs_now_ns());
}

static inline void put_at(uint64_t session, uint64_t n, int64_t now_ns)
{
	unsigned char msg[2048];

	bs_keeper_put(&k, n, n, msg, message(msg, session, n), now_ns);
}

static inline void put(uint64_t session, uint64_t n)
{
	put_at(session, n, bs_now_ns());
}

static inline struct bs_wire_ack look_at(uint64_t held, int64_t now_ns)
{
	struct bs_wire_ack ack = { 0 };

	if (!bs_keeper_look(&k, held, now_ns, &ack))
		ack.log = BS_WIRE_LOG_OFF;
	return ack;
}

static inline struct bs_wire_ack look(uint64_t held)
{
	return look_at(held, bs_now_ns());
}

/* All up to held, and the log has it. */
static inline bool durable(uint64_t held)
{
	const struct bs_wire_ack ack = look(held);

	return ack.log == BS_WIRE_LOG_DURABLE && ack.durable == held && ack.unprotected == 0;
}

/* The log of the folder's only scan, read: how many of its numbers are there, each once. */
static struct read {
	uint64_t count, twice, last;
	bool sealed, damaged;
	unsigned mode;
	bool has[MOST];
} got;

static inline void read_log(const char *name)
{
	char path[sizeof(dir) + BS_LOG_NAME];
	const unsigned char *payload;
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_wire w;
	struct stat st = { 0 };
	int rc;

	memset(&got, 0, sizeof(got));
	(void)snprintf(path, sizeof(path), "%s/%.63s", dir, name);
	got.damaged = bs_log_open(&r, path, &why) != 0;
	if (got.damaged)
		return;
	while ((rc = bs_log_next(r, &m, &why)) == 1) {
		got.damaged |= bs_wire_decode(&w, m.bytes, m.len, &payload, &why) != 0;
		got.twice += got.has[w.seq % MOST];
		got.has[w.seq % MOST] = true;
		got.last = w.seq > got.last ? w.seq : got.last;
		got.count++;
	}
	got.damaged |= rc != 0;
	got.sealed = bs_log_end(r) == BS_LOG_END_SEALED;
	bs_log_close(r);
	got.mode = stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
}

static inline void clean(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (strstr(e->d_name, BS_LOG_SUFFIX) != NULL)
			(void)unlinkat(dirfd(d), e->d_name, 0);
	if (d != NULL)
		(void)closedir(d);
}

static inline void end_scan(void)
{
	bs_keeper_end(&k, false, bs_now_ns());
	AWAIT(atomic_load(&shared->record.done) == atomic_load(&shared->record.put));
	CHECK(bs_keeper_ended(&k, bs_now_ns()), "the scan's log is done with");
}

/* Makes the memory and starts the keeper. */
static inline bool begin_keeping(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return false;
	(void)snprintf(spec.dir, sizeof(spec.dir), "%s", dir);
	return bs_log_spare_fill(dir, 0, SEGMENT, &why) == 0 && start();
}

#endif

/*
 * test/bench/log.c - what it costs to have a scan's messages on the disk: append and commit
 *
 * In the folder it is started in: two streams, each into segments that were filled with zeros
 * beforehand and into ones whose space is only set aside (posix_fallocate), in turns.
 *   large  230 KB at 200/s, each committed by itself
 *   small  2 KB at 5,000/s, committed when due (2 ms or 256 KiB); lag: from append to durable
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "drivers/log/writer.h"
#include "test/bench/bench.h"

#define SAMPLES (1u << 20)

struct stream {
	const char *name;
	size_t bytes;
	unsigned rate, block; /* messages: a second, and of a turn */
	bool by_due;
};

struct times {
	double *append, *commit, *lag; /* [SAMPLES] us */
	size_t appends, commits;
};

static char dir[64] = "bench-log-XXXXXX";
static unsigned char *message, *buffer;

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a;
	const double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double at(const double *sorted, size_t n, double share)
{
	return n > 0 ? sorted[(size_t)(share * (double)(n - 1) + 0.5)] : 0.0;
}

static void wait_until(int64_t ns)
{
	const struct timespec t = { ns / 1000000000, ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
		;
}

static int set_aside(bool filled, struct bs_fail *why)
{
	char path[80];
	int rc;
	int fd;

	if (filled)
		return bs_log_spare_fill(dir, 0, BS_LOG_SEGMENT, why);
	(void)snprintf(path, sizeof(path), "%s/0.spare", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, BS_LOG_MODE);
	rc = fd >= 0 ? posix_fallocate(fd, 0, (off_t)BS_LOG_SEGMENT) : -1;
	if (fd >= 0 && (rc != 0 || fsync(fd) != 0 || close(fd) != 0))
		rc = -1;
	return rc == 0 ? 0 : bs_fail(why, BS_ERR_IO, "%s: no room for a segment", path);
}

static int commit(struct bs_log_writer *w, const int64_t *appended, struct times *t,
		  struct bs_fail *why)
{
	const uint64_t first = w->durable;
	const int64_t start = bs_now_ns();
	const int rc = bs_log_writer_commit(w, why);
	const int64_t end = bs_now_ns();

	t->commit[t->commits++] = (double)(end - start) * 1e-3;
	for (uint64_t i = first; rc == 0 && i < w->durable; i++)
		t->lag[i + t->appends - w->next] = (double)(end - appended[i]) * 1e-3;
	return rc;
}

/* A log of one block of messages. */
static int turn(const struct stream *s, bool filled, struct times *t, struct bs_fail *why)
{
	static int64_t appended[8192];
	struct bs_log_writer w;
	char path[160];
	int rc = set_aside(filled, why);
	int64_t begin;

	if (rc == 0)
		rc = bs_log_writer_open(&w,
					&(struct bs_log_room){ dir, BS_LOG_SEGMENT, buffer,
							       bs_log_writer_bytes(s->bytes) },
					1, bs_now_ns(), why);
	if (rc != 0)
		return rc;
	begin = bs_now_ns() + 20000000;
	for (unsigned i = 0; rc == 0 && i < s->block;) {
		const int64_t due = begin + (int64_t)i * 1000000000 / s->rate;
		const int64_t flush = bs_log_writer_due(&w);

		wait_until(due < flush ? due : flush);
		if (bs_now_ns() >= due) {
			appended[i] = bs_now_ns();
			rc = bs_log_writer_append(&w, message, s->bytes, appended[i], why);
			t->append[t->appends++] = (double)(bs_now_ns() - appended[i]) * 1e-3;
			i++;
		}
		if (rc == 0 && (!s->by_due || bs_now_ns() >= bs_log_writer_due(&w)))
			rc = commit(&w, appended, t, why);
	}
	if (rc == 0)
		rc = commit(&w, appended, t, why);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, w.name);
	bs_log_writer_close(&w);
	(void)unlink(path);
	return rc;
}

static void print_times(const struct stream *s, bool filled, struct times *t)
{
	qsort(t->append, t->appends, sizeof(double), by_value);
	qsort(t->commit, t->commits, sizeof(double), by_value);
	qsort(t->lag, t->appends, sizeof(double), by_value);
	(void)printf("  %s  %-9s append %5.0f; commit %6.0f %6.0f %7.0f %7.0f; lag %6.0f %6.0f "
		     "%7.0f  (N %zu, %zu commits)\n",
		     s->name, filled ? "filled" : "set aside", at(t->append, t->appends, 0.5),
		     at(t->commit, t->commits, 0.5), at(t->commit, t->commits, 0.99),
		     at(t->commit, t->commits, 0.999), at(t->commit, t->commits, 1.0),
		     at(t->lag, t->appends, 0.5), at(t->lag, t->appends, 0.99),
		     at(t->lag, t->appends, 0.999), t->appends, t->commits);
}

static int run_stream(const struct bs_bench *b, const struct stream *s, struct times *t)
{
	struct bs_fail why;
	const double each = (double)s->block / s->rate;
	const unsigned turns = b->seconds > each ? (unsigned)(b->seconds / each + 0.5) : 1;

	for (int filled = 0; filled < 2; filled++)
		t[filled].appends = t[filled].commits = 0;
	for (unsigned i = 0; i < 2 * turns && t[i & 1].appends + s->block < SAMPLES; i++)
		if (turn(s, i & 1, &t[i & 1], &why) != 0) {
			(void)fprintf(stderr, "%s: %s\n", b->program, why.text);
			return 1;
		}
	for (int filled = 1; filled >= 0; filled--)
		print_times(s, filled, &t[filled]);
	return 0;
}

int bs_bench_log(struct bs_bench *b)
{
	static const struct stream streams[] = { { "large", 230000, 200, 200, false },
						 { "small", 2000, 5000, 2500, true } };
	struct times t[2];
	struct statfs fs;
	char spare[96];
	int failed = mkdtemp(dir) == NULL || statfs(dir, &fs) != 0;

	message = calloc(1, 230000);
	buffer = malloc(bs_log_writer_bytes(230000));
	for (int i = 0; i < 2; i++) {
		t[i].append = malloc((size_t)3 * SAMPLES * sizeof(double));
		t[i].commit = t[i].append + SAMPLES;
		t[i].lag = t[i].commit + SAMPLES;
		failed |= t[i].append == NULL;
	}
	failed |= message == NULL || buffer == NULL;
	if (!failed)
		(void)printf(
			"  file system type %#lx; us: append p50; commit p50, p99, p99.9, max; "
			"append to durable p50, p99, p99.9\n",
			(unsigned long)fs.f_type);
	for (size_t i = 0; !failed && i < sizeof(streams) / sizeof(streams[0]); i++)
		failed = run_stream(b, &streams[i], t);
	for (int i = 0; i < 2; i++)
		free(t[i].append);
	free(message);
	free(buffer);
	(void)snprintf(spare, sizeof(spare), "%s/0.spare", dir); /* of a turn that failed */
	(void)unlink(spare);
	return rmdir(dir) != 0 || failed;
}

/*
 * test/fault/fault_record.c - `boreside record` killed (SIGKILL) at random moments of a scan
 *
 * By the sender's own books: each readout that was acknowledged is in the log, byte by byte as it
 * was sent, and the log is not damaged, only cut off. Then the recorder is started again in the
 * same folder. The moments come from a fixed seed, but what they hit is the machine's.
 */
/* Holds: L1 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "drivers/log/reader.h"
#include "drivers/log/name.h"
#include "drivers/tool/load/recording.h"
#include "drivers/tool/replay/replay.h"
#include "ipc/wire/mrd.h"
#include "test/support/await.h"
#include "test/support/check.h"

#define KILLS 21u

static char dir[] = "/tmp/boreside-test-XXXXXX";
static char site[128], logs[128], scan[128], url[160], words[128];

struct killer {
	pid_t pid;
	int wait_us; /* after the log's first file is there */
	unsigned before;
};

static int status_of(const char *command)
{
	const int status = system(command);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool prepare(void)
{
	char command[600];
	FILE *f;

	(void)snprintf(site, sizeof(site), "%s/site.cfg", dir);
	(void)snprintf(logs, sizeof(logs), "%s/logs", dir);
	(void)snprintf(scan, sizeof(scan), "%s/scan.h5", dir);
	(void)snprintf(words, sizeof(words), "%s/words", dir);
	(void)snprintf(url, sizeof(url), "ipc://%s/run/kspace.ipc", dir);
	f = fopen(site, "w");
	if (f == NULL)
		return false;
	(void)fputs("node: { name = \"test\"; run_dir = \"run\"; cache_dir = \"\"; threads = 1;\n"
		    "heartbeat_ms = 50.0; };\nprotocols = ( { name = \"p\"; method = \"noop\";\n"
		    "matrix = [32, 32]; coils = 8; samples = 64; readouts = 32;\n"
		    "trajectory: { type = \"radial2d\"; }; } );\n",
		    f);
	(void)fclose(f);
	(void)snprintf(command, sizeof(command),
		       "mkdir %s && '%s' phantom -c %s -p p --repetitions 200 -o %s >%s 2>&1", logs,
		       getenv("BORESIDE"), site, scan, words);
	return status_of(command) == 0;
}

static pid_t spawn(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		if (freopen(words, "a", stderr) == NULL || freopen(words, "a", stdout) == NULL)
			_exit(126);
		(void)execl(getenv("BORESIDE"), "boreside", "record", "-c", site, "-o", logs,
			    "--message", "1", "--segment", "2", (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* How many logs; newest: the one that began last. */
static unsigned count_logs(char newest[200])
{
	DIR *d = opendir(logs);
	struct dirent *e;
	uint32_t index;
	unsigned n = 0;
	size_t stem;

	newest[0] = '\0';
	while (d != NULL && (e = readdir(d)) != NULL) {
		if (!bs_log_split(e->d_name, &stem, &index) || index != 0)
			continue;
		n++;
		if (newest[0] == '\0' || strcmp(e->d_name, newest + strlen(logs) + 1) > 0)
			(void)snprintf(newest, 200, "%s/%.60s", logs, e->d_name);
	}
	if (d != NULL)
		(void)closedir(d);
	return n;
}

static void *kill_later(void *arg)
{
	const struct killer *k = arg;
	char newest[200];

	AWAIT(count_logs(newest) > k->before);
	(void)usleep((useconds_t)k->wait_us);
	(void)kill(k->pid, SIGKILL);
	return NULL;
}

/* The readouts that the service has said are safe. */
static uint32_t acknowledged(const struct bs_replay_report *t)
{
	switch (t->state) {
	case BS_SENDER_STREAMING:
		return t->sent - t->kept;
	case BS_SENDER_CLOSING: /* CLOSE is kept as well */
		return t->sent - (t->kept - 1);
	case BS_SENDER_ENDED:
		return t->refused ? 0 : t->sent;
	default:
		return 0;
	}
}

/* Does a message hold the readout of the recording that its number says? */
static bool is_readout(struct bs_recording *recording, const struct bs_wire *w,
		       const unsigned char *payload)
{
	unsigned char head[BS_MRD_ACQ_BYTES];
	struct bs_recorded a;

	if (w->seq == 0 || bs_recording_read(recording, (uint32_t)w->seq - 1, &a, NULL) != 0)
		return false;
	bs_mrd_put_acq(head, &a.head);
	const size_t traj = (size_t)a.head.number_of_samples * a.head.trajectory_dimensions * 4;
	const size_t data = (size_t)a.head.number_of_samples * a.head.active_channels * 8;

	return w->payload_len == sizeof(head) + traj + data &&
	       memcmp(payload, head, sizeof(head)) == 0 &&
	       memcmp(payload + sizeof(head), a.traj, traj) == 0 &&
	       memcmp(payload + sizeof(head) + traj, a.data, data) == 0;
}

/* How many readouts, from the first on, are in the log as they were; -1: it is damaged. */
static int64_t logged(struct bs_recording *recording, const char *path)
{
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_fail why = { 0 };
	int64_t n = 0;
	bool good = true;
	int rc = bs_log_open(&r, path, &why);

	if (rc != 0) {
		printf("# %s\n", why.text);
		return -1;
	}
	while ((rc = bs_log_next(r, &m, &why)) == 1) {
		const unsigned char *payload;
		struct bs_wire w;

		good = good && bs_wire_decode(&w, m.bytes, m.len, &payload, &why) == 0;
		if (good && w.kind == BS_WIRE_ACQ) {
			good = w.seq == (uint64_t)n + 1 && is_readout(recording, &w, payload);
			n++;
		}
	}
	if (rc != 0 || !good)
		printf("# %s: %s\n", path, why.text);
	bs_log_close(r);
	return rc == 0 && good ? n : -1;
}

struct tally {
	unsigned kills, mid_scan, lost, wrong;
	uint64_t acknowledged, beyond;
};

/* One scan, one kill. paced: over about a second, else as fast as it goes. */
static void play(struct tally *t, struct bs_replay *r, struct bs_recording *recording,
		 unsigned number, int wait_us, bool paced)
{
	struct bs_replay_options o = { .protocol = "",
				       .session = 1000 + number,
				       .speed = paced ? 20.0 : 0.0,
				       .patience_ns = 150000000 };
	struct bs_replay_report report = { 0 };
	struct bs_endpoint e;
	struct killer k;
	struct bs_fail why;
	pthread_t thread;
	char newest[200];
	int64_t n;
	int status;

	k = (struct killer){ .wait_us = wait_us, .before = count_logs(newest) };
	k.pid = spawn();
	if (bs_endpoint_connect(&e, BS_ENDPOINT_KSPACE, url, BS_REPLAY_MESSAGE_MAX, &why) != 0) {
		(void)kill(k.pid, SIGKILL);
		(void)waitpid(k.pid, &status, 0);
		CHECK(false, "no endpoint: %s", why.text);
		return;
	}
	AWAIT(bs_endpoint_connections_now(&e) != 0);
	if (pthread_create(&thread, NULL, kill_later, &k) != 0)
		exit(1);
	(void)bs_replay_run(r, &e, &o, &report, &why);
	(void)pthread_join(thread, NULL);
	t->kills += waitpid(k.pid, &status, 0) == k.pid && WIFSIGNALED(status);
	bs_endpoint_close(&e);
	(void)count_logs(newest);
	n = logged(recording, newest);
	t->wrong += n < 0;
	t->lost += n >= 0 && (uint64_t)n < acknowledged(&report);
	t->mid_scan += report.state == BS_SENDER_STREAMING && acknowledged(&report) > 0;
	t->acknowledged += acknowledged(&report);
	t->beyond += n > (int64_t)acknowledged(&report) ? (uint64_t)n - acknowledged(&report) : 0;
	if (n < (int64_t)acknowledged(&report))
		printf("# kill %u: %u of %u sent, %u acknowledged, %lld in the log\n", number,
		       report.sent, report.total, acknowledged(&report), (long long)n);
}

int main(void)
{
	struct bs_recording *recording = NULL;
	struct bs_replay *r = NULL;
	struct tally t = { 0 };
	struct bs_fail why;
	char command[400];
	uint64_t random = 20261122;

	if (getenv("BORESIDE") == NULL || mkdtemp(dir) == NULL || !prepare() ||
	    bs_replay_open(&r, scan, 0, &why) != 0 ||
	    bs_recording_open(&recording, scan, &why) != 0) {
		CHECK(false, "a scan to send");
		return check_done();
	}
	for (unsigned i = 0; i < KILLS; i++)
		play(&t, r, recording, i, (int)(check_uniform(&random) * 120000.0), i % 3 != 0);
	CHECK(t.kills == KILLS && t.wrong == 0 && t.lost == 0,
	      "%u kills, %u in mid-scan: %llu readouts acknowledged, %u scans lost any of theirs, "
	      "%u logs damaged (%llu more readouts were in the logs)",
	      t.kills, t.mid_scan, (unsigned long long)t.acknowledged, t.lost, t.wrong,
	      (unsigned long long)t.beyond);
	CHECK(t.mid_scan >= KILLS / 4, "%u were in mid-scan", t.mid_scan);
	(void)snprintf(command, sizeof(command), "'%s' log verify %s >%s", getenv("BORESIDE"), logs,
		       words);
	CHECK(status_of(command) == 0, "boreside log verify finds no damage");
	bs_replay_close(r);
	(void)bs_recording_close(recording, NULL);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (check_failed == 0 && system(command) != 0)
		printf("# %s stays\n", dir);
	return check_done();
}

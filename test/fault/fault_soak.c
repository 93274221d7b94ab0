/*
 * test/fault/fault_soak.c - a service that runs for long holds no more than when it was warm:
 * memory, descriptors, shared memory, the files of its folders
 *
 * usage: BORESIDE=path fault_soak [real SECONDS | fast MESSAGES]; make soak
 * Scans follow one another at their own pace (25 images a second) or FASTER times as fast, with a
 * durable log of limited size, an archive that keeps its cursor, a viewer that comes and goes, and
 * the status asked all the while. What each process holds is read from /proc, what the folders hold
 * from the disk, what was made from the sender's words and the archive's book.
 *
 * The first fifth is warm-up. After it a straight line is laid through each process's private
 * memory. A service that lost malloc's smallest piece, 32 bytes, for each image would grow by that
 * times the images; half of it is allowed, and NOISE: pages that a thread's stack or malloc's lists
 * come to use late.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "drivers/log/writer.h"
#include "test/support/book.h"

#define LINES    16u
#define TR_US    2500u /* an image each 40 ms */
#define FASTER   "40"  /* so that the archive keeps up: what it has not asked for is kept */
#define SHORT    8000u /* messages of make test */
#define KEEP_MIB 256u
#define NOISE    (256.0 * 1024)
#define SMALLEST 32.0 /* bytes: malloc's smallest piece */
#define GUESTS   8u   /* descriptors of peers that come and go; fewer than viewers and questions */
#define SAMPLES  20000u
#define VISIT    20 /* images that a viewer takes before it leaves */

enum { SUPERVISOR, INGEST, RECON, EMIT, PROCESSES };
static const char *const names[PROCESSES] = { "supervisor", "ingest", "recon", "emit" };

struct sample {
	double at_s;
	double memory[PROCESSES]; /* private, bytes */
	double resident[PROCESSES];
	unsigned fds[PROCESSES];
	double shared; /* what each maps of the shared memory */
	double run_bytes, log_bytes;
	unsigned run_files, log_files;
};

static struct service service;
static struct sample *sample;
static unsigned frames; /* of a scan */
static unsigned samples, questions, answers;
static pid_t pids[PROCESSES];
static char exe[160], book[160], asked[160], viewers[160], words[160];
static _Atomic bool over;
static _Atomic unsigned visits, seen;

/* ---- what is held ---- */

/* Of a file of lines "Name: number kB", in bytes. */
static double kib_of(pid_t pid, const char *file, const char *name)
{
	char path[64], line[256];
	unsigned long long kib = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			(void)sscanf(line + strlen(name), ": %llu", &kib);
	if (f != NULL)
		(void)fclose(f);
	return (double)kib * 1024.0;
}

static double shared_of(pid_t pid)
{
	char path[64], line[512];
	double sum = 0.0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		unsigned long long from;
		unsigned long long to;

		if (strstr(line, "memfd:boreside") != NULL &&
		    sscanf(line, "%llx-%llx", &from, &to) == 2)
			sum += (double)(to - from);
	}
	if (f != NULL)
		(void)fclose(f);
	return sum;
}

/* Entries of a folder and what they take on the disk. */
static unsigned folder(const char *path, double *bytes)
{
	DIR *d = opendir(path);
	struct dirent *e;
	unsigned n = 0;
	struct stat st;

	*bytes = 0.0;
	while (d != NULL && (e = readdir(d)) != NULL) {
		n += e->d_name[0] != '.';
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			*bytes += (double)st.st_blocks * 512.0;
	}
	if (d != NULL)
		(void)closedir(d);
	return n;
}

static void take_sample(double at_s)
{
	struct sample *s = &sample[samples];
	char path[160];
	double none;

	if (samples == SAMPLES)
		return;
	s->at_s = at_s;
	for (int i = 0; i < PROCESSES; i++) {
		s->memory[i] = kib_of(pids[i], "smaps_rollup", "Anonymous");
		s->resident[i] = kib_of(pids[i], "status", "VmRSS");
		(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pids[i]);
		s->fds[i] = folder(path, &none);
	}
	s->shared = shared_of(pids[INGEST]);
	(void)snprintf(path, sizeof(path), "%s/run", service.dir);
	s->run_files = folder(path, &s->run_bytes);
	(void)snprintf(path, sizeof(path), "%s/logs", service.dir);
	s->log_files = folder(path, &s->log_bytes);
	samples++;
}

/* ---- what is going on meanwhile ---- */

/* A viewer: takes some images, leaves, and another one comes. */
static void *view(void *arg)
{
	static unsigned char msg[1 << 16];
	struct bs_endpoint e;
	size_t len;

	(void)arg;
	while (!atomic_load(&over) &&
	       bs_endpoint_connect(&e, BS_ENDPOINT_VIEWERS_IN, viewers, sizeof(msg), NULL) == 0) {
		for (int n = 0; n < VISIT && !atomic_load(&over);)
			if (bs_endpoint_recv(&e, msg, sizeof(msg), &len, 100, NULL) == 0) {
				(void)atomic_fetch_add(&seen, 1);
				n++;
			}
		bs_endpoint_close(&e);
		(void)atomic_fetch_add(&visits, 1);
	}
	return NULL;
}

static bool make_scan(void)
{
	char command[700];

	(void)snprintf(command, sizeof(command),
		       "'%s' phantom -c %s -p soak --repetitions %u --tr-us %u --snr 20 -o "
		       "%s/scan.h5 >>%s 2>&1",
		       getenv("BORESIDE"), service.site, frames, TR_US, service.dir, service.log);
	return system(command) == 0;
}

static pid_t start_sender(bool fast, unsigned scans)
{
	char scan[160], loops[32];

	(void)snprintf(words, sizeof(words), "%s/words", service.dir);
	(void)snprintf(scan, sizeof(scan), "%s/scan.h5", service.dir);
	(void)snprintf(loops, sizeof(loops), "%u", scans);
	return process_start(words,
			     (char *[]){ getenv("BORESIDE"), "replay", "--url", service.kspace,
					 "-p", "soak", "--patience", "60", "--loop", loops,
					 "--speed", fast ? FASTER : "1", scan, NULL });
}

static void read_pids(void)
{
	char where[64];

	pids[SUPERVISOR] = service.pid;
	for (int i = INGEST; i <= EMIT; i++) {
		(void)snprintf(where, sizeof(where), "\"name\":\"%s\"", names[i]);
		pids[i] = (pid_t)service_number(&service, where, "pid");
	}
}

/* Until the sender has ended; its exit status. */
static int watch(pid_t sender, int every_ms)
{
	static char doc[200000];
	const int64_t begin = await_now_ns();

	while (!process_ended(sender)) {
		take_sample((double)(await_now_ns() - begin) * 1e-9);
		questions++;
		answers += service_ask_once(&service, "json", doc, sizeof(doc));
		await_pause_ms(every_ms);
	}
	return process_end(sender);
}

/* ---- the books ---- */

/* Readouts that its scans sent, each scan's outcome BS_OK; of any other: 0. */
static unsigned long long sent(unsigned *scans)
{
	unsigned long long sum = 0;
	unsigned bad = 0;
	char line[700];
	FILE *f = fopen(words, "r");

	*scans = 0;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		const char *at = strstr(line, ": sent ");
		unsigned long long n;

		if (strncmp(line, "session ", 8) == 0 && at != NULL &&
		    sscanf(at, ": sent %llu", &n) == 1)
			sum += n;
		*scans += strncmp(line, "  outcome: BS_OK", 16) == 0;
		bad += strncmp(line, "  outcome: ", 11) == 0 &&
		       strncmp(line, "  outcome: BS_OK", 16) != 0;
	}
	if (f != NULL)
		(void)fclose(f);
	return bad == 0 ? sum : 0;
}

/* Images that the archive has; *good: no number twice. A scan's end has one, too. */
static unsigned long long archived(bool *good)
{
	unsigned long long number;
	unsigned long long before = 0;
	unsigned long long n = 0;
	char line[128];
	FILE *f = fopen(book, "r");

	*good = true;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		*good = *good && sscanf(line, "%llu", &number) == 1 && (n == 0 || number > before);
		before = number;
		n++;
	}
	if (f != NULL)
		(void)fclose(f);
	return n;
}

static void read_books(unsigned scans)
{
	const unsigned long long images = (unsigned long long)scans * frames;
	unsigned good;
	const unsigned long long readouts = sent(&good);
	bool once = false;

	CHECK(good == scans && readouts == images * LINES, "%u scans of %u good, %llu readouts",
	      good, scans, readouts);
	AWAIT(archived(&once) >= images);
	CHECK(archived(&once) == images && once, "the archive has all %llu images once", images);
}

/* ---- the judgment ---- */

/* What a straight line through the samples from `from` on gains from there to the end. */
static double gain(const double *y, size_t stride, unsigned from)
{
	double n = 0, t = 0, v = 0, tt = 0, tv = 0;

	for (unsigned i = from; i < samples; i++) {
		const double x = sample[i].at_s;
		const double value = *(const double *)((const char *)y + i * stride);

		n += 1;
		t += x;
		v += value;
		tt += x * x;
		tv += x * value;
	}
	if (n < 2 || n * tt - t * t <= 0)
		return 0.0;
	return (n * tv - t * v) / (n * tt - t * t) * (sample[samples - 1].at_s - sample[from].at_s);
}

static void judge_process(int who, unsigned warm, double images)
{
	const double grown = gain(&sample[0].memory[who], sizeof(*sample), warm);
	const double allowed = NOISE + images * SMALLEST / 2;
	const struct sample *last = &sample[samples - 1];
	unsigned most = 0;
	unsigned least = ~0u;

	for (unsigned i = warm / 2; i < warm; i++)
		most = sample[i].fds[who] > most ? sample[i].fds[who] : most;
	for (unsigned i = samples - warm; i < samples; i++)
		least = sample[i].fds[who] < least ? sample[i].fds[who] : least;
	printf("# %s: private %.2f MiB warm, %.2f at the end, line %+.1f KiB (%+.2f bytes an "
	       "image); resident %.2f, %.2f MiB; descriptors %u, %u\n",
	       names[who], sample[warm].memory[who] / 1048576, last->memory[who] / 1048576,
	       grown / 1024, images > 0 ? grown / images : 0.0,
	       sample[warm].resident[who] / 1048576, last->resident[who] / 1048576, most, least);
	if (CHECK_SANITIZED)
		SKIP("%s's memory: the sanitizer keeps what was freed", names[who]);
	else
		CHECK(last->memory[who] > 0 && grown <= allowed,
		      "%s's memory does not grow: %+.1f KiB, %.1f allowed", names[who],
		      grown / 1024, allowed / 1024);
	CHECK(least > 0 && least <= most + GUESTS, "%s's descriptors do not grow: %u, then %u",
	      names[who], most, least);
}

/*
 * log.keep_mib, and what stands beside it: a segment that is written, spare ones, one of them being
 * filled, one more each that was taken while logs were removed; a folder's own blocks.
 */
#define LOG_MOST (KEEP_MIB * 1048576.0 + (BS_LOG_SPARES + 4) * (double)BS_LOG_SEGMENT)

static void judge(double made)
{
	const unsigned warm = samples / 5;
	const double images = made * 0.8;
	double logs = 0.0;
	double shared = 0.0;
	unsigned files[2] = { 0 };
	double bytes[2] = { 0 };

	for (unsigned i = 0; i < samples; i++) {
		const struct sample *s = &sample[i];
		const int late = i >= samples - warm;

		logs = s->log_bytes > logs ? s->log_bytes : logs;
		if (i >= warm && s->shared > shared)
			shared = s->shared;
		if (i >= warm / 2 && i < warm && s->run_files > files[0])
			files[0] = s->run_files;
		if (i >= warm / 2 && i < warm && s->run_bytes > bytes[0])
			bytes[0] = s->run_bytes;
		if (late && (files[1] == 0 || s->run_files < files[1]))
			files[1] = s->run_files;
		if (late && (bytes[1] == 0 || s->run_bytes < bytes[1]))
			bytes[1] = s->run_bytes;
	}
	for (int i = 0; i < PROCESSES; i++)
		judge_process(i, warm, images);
	printf("# shared %.1f MiB; run_dir %u files of %.1f KiB, then %u of %.1f; logs at most "
	       "%.1f MiB\n",
	       shared / 1048576, files[0], bytes[0] / 1024, files[1], bytes[1] / 1024,
	       logs / 1048576);
	CHECK(shared > 0 && shared <= sample[warm].shared, "the shared memory does not grow");
	CHECK(files[1] > 0 && files[1] <= files[0] && bytes[1] <= bytes[0],
	      "run_dir does not grow: %u files, then %u", files[0], files[1]);
	CHECK(logs > 0 && logs <= LOG_MOST, "the logs stay within %.0f MiB: %.0f",
	      LOG_MOST / 1048576, logs / 1048576);
}

static bool start(void)
{
	char body[2000];

	(void)snprintf(body, sizeof(body),
		       "endpoints: { archive = \"\"; images = \"ipc://run/images.ipc\"; };\n"
		       "realtime: { canary = false; };\n"
		       "overload: { spill_dir = \"kept\"; spill_mib = 64; };\n"
		       "log: { dir = \"logs\"; keep_mib = %u; };\n"
		       "protocols = ( { name = \"soak\"; method = \"cartesian\"; matrix = [16, "
		       "16];\n    encoded = [32, 16, 1]; coils = 1; samples = 32; readouts = %u;\n"
		       "    silence_ms = 60000.0; } );\n",
		       KEEP_MIB, LINES);
	if (!service_start_with(&service, SERVICE_PATIENT, body, NULL))
		return false;
	(void)snprintf(book, sizeof(book), "%s/book", service.dir);
	(void)snprintf(asked, sizeof(asked), "ipc://%s/run/images.ipc", service.dir);
	(void)snprintf(viewers, sizeof(viewers), "ipc://%s/run/viewers.ipc", service.dir);
	return true;
}

/* The viewer, the archive and the sender; true: the sender's scans were good. */
static bool soak(bool fast, unsigned scans, int every_ms)
{
	pthread_t viewer;
	pid_t pid[PROCESSES];
	const pid_t archive =
		process_start("/dev/null", (char *[]){ exe, "archive", asked, book, NULL });

	if (pthread_create(&viewer, NULL, view, NULL) != 0)
		return false;
	read_pids();
	memcpy(pid, pids, sizeof(pid));
	CHECK(watch(start_sender(fast, scans), every_ms) == 0, "the sender ends with 0");
	read_books(scans);
	read_pids();
	for (int i = 0; i < PROCESSES; i++)
		CHECK(pids[i] > 0 && pids[i] == pid[i], "%s was not replaced", names[i]);
	atomic_store(&over, true);
	(void)pthread_join(viewer, NULL);
	(void)process_end(archive);
	printf("# %u samples in %.1f s, %u viewers saw %u images, the status answered %u of %u "
	       "times\n",
	       samples, samples > 0 ? sample[samples - 1].at_s : 0.0, atomic_load(&visits),
	       atomic_load(&seen), answers, questions);
	return samples >= 10;
}

int main(int argc, char **argv)
{
	const bool fast = argc < 3 || strcmp(argv[1], "real") != 0;
	unsigned long long messages = argc > 2 ? strtoull(argv[2], NULL, 10) : SHORT;
	unsigned scans;

	if (argc == 4 && strcmp(argv[1], "archive") == 0)
		return book_main(argv[2], argv[3], 20);
	frames = fast ? 3000 : 750;
	if (!fast)
		messages = messages * 1000000u / TR_US;
	while (frames > 25 && messages / (frames * LINES) < 10)
		frames /= 2;
	scans = (unsigned)(messages / (frames * LINES));
	scans = scans > 0 ? scans : 1;
	sample = calloc(SAMPLES, sizeof(*sample));
	if (sample == NULL || readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return 1;
	CHECK(start() && make_scan(), "a service, and a scan of %u images", frames);
	if (check_failed != 0)
		return check_done();
	CHECK(soak(fast, scans, fast ? (argc > 2 ? 200 : 10) : 1000), "it was looked at %u times",
	      samples);
	if (samples >= 10)
		judge((double)scans * frames);
	(void)service_end(&service);
	free(sample);
	return check_done();
}

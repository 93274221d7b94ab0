/*
 * test/fault/fault_realtime.c - real-time set-up through the service: after warm-up no thread on an
 * image's path faults a page in or allocates, over many frames, with locked memory and without; and
 * a machine that refuses everything is told about once, with the remedy, while the service runs on.
 */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "board/service/throttle.h"
#include "test/support/service.h"

#define FRAMES 1000u
#define WARM   50u

#define PROTOCOLS                                                                                  \
	"protocols = (\n" SERVICE_CART                                                             \
	"{ name = \"gridding\"; method = \"gridding\"; " SERVICE_SPOKES "},\n"                     \
	"{ name = \"ls\"; method = \"ls\"; " SERVICE_SPOKES "\n"                                   \
	"    ls: { lambda = 0.01; iterations = 3; preconditioner = \"jacobi\"; }; } );\n"

static struct service service;
static struct peer p;
static struct bs_endpoint archive;
static unsigned sent; /* frames of the scan */
static const char *const threads[] = { "ingest", "recon", "recon/1", "emit" };
#define COSTS 4
static const char *const costs[COSTS] = { "minor_faults", "major_faults", "allocations", "notes" };

static long cost(const char *thread, const char *what)
{
	char where[64];

	(void)snprintf(where, sizeof(where), "\"thread\":\"%s\"", thread);
	return service_number(&service, where, what);
}

/* One more frame of the scan, and its image. */
static bool frame(const char *protocol)
{
	static unsigned char image[65536];
	size_t len;

	for (unsigned i = 0; i < 32; i++)
		if (!peer_acq(&p, protocol, i, sent))
			return false;
	sent++;
	return bs_endpoint_recv(&archive, image, sizeof(image), &len, AWAIT_MS, NULL) == 0;
}

/*
 * Each thread writes down what it cost while images go by, every 100 ms, and the reader does not
 * see when. n frames, and then as many as it takes until each thread has done so twice: the second
 * time holds all that the n frames cost.
 */
static bool frames(const char *protocol, unsigned n)
{
	int64_t limit;
	long noted[4];
	bool good = true;

	for (unsigned f = 0; good && f < n; f++)
		good = frame(protocol);
	for (int t = 0; t < 4; t++)
		noted[t] = cost(threads[t], "notes");
	limit = await_limit();
	for (int t = 0; good && t < 4; t++)
		while (good && cost(threads[t], "notes") < noted[t] + 2)
			good = frame(protocol) && bs_now_ns() < limit;
	return good;
}

static void read_costs(long out[4][COSTS])
{
	for (int t = 0; t < 4; t++)
		for (int c = 0; c < COSTS; c++)
			out[t][c] = cost(threads[t], costs[c]);
}

/* What a kernel may do to the pages of others, locked ones among them, by its counters' names. */
static const char *const doings[] = { "pgmigrate_success", "thp_collapse_alloc", "thp_split_pmd",
				      "thp_split_page",    "numa_hint_faults",   "ksm_swpin_copy",
				      "balloon_migrate",   "compact_success",    "pgrotated" };
#define DOINGS (sizeof(doings) / sizeof(doings[0]))

/* Reads how often the kernel has done each since it started; 0 for what it does not count. */
static void read_doings(long out[DOINGS])
{
	FILE *f = fopen("/proc/vmstat", "r");
	char name[64];
	long n;

	memset(out, 0, DOINGS * sizeof(*out));
	while (f != NULL && fscanf(f, "%63s %ld", name, &n) == 2)
		for (size_t i = 0; i < DOINGS; i++)
			if (strcmp(name, doings[i]) == 0)
				out[i] = n;
	if (f != NULL)
		(void)fclose(f);
}

/* Prints what the kernel has done since then. */
static void say_doings(const char *protocol, const long before[DOINGS])
{
	long now[DOINGS];

	read_doings(now);
	printf("# %s: the kernel meanwhile:", protocol);
	for (size_t i = 0; i < DOINGS; i++)
		if (now[i] != before[i])
			printf(" %s %ld", doings[i], now[i] - before[i]);
	printf("\n");
}

/* locked: page faults must not grow at all; without, the kernel may take a page back at any time:
 * counted and shown, the allocations alone are judged. */
static void test_protocol(const char *protocol, bool locked)
{
	long before[4][COSTS];
	long after[4][COSTS];
	long done[DOINGS];
	bool good = peer_begin(&p, protocol);

	sent = 0;
	good = good && frames(protocol, WARM);
	read_costs(before);
	read_doings(done);
	good = good && frames(protocol, FRAMES);
	read_costs(after);
	say_doings(protocol, done);
	CHECK(good, "%s: %u frames went through", protocol, FRAMES);
	for (int t = 0; t < 4; t++) {
		CHECK(after[t][3] > before[t][3], "%s, %s: wrote it down %ld times meanwhile",
		      protocol, threads[t], after[t][3] - before[t][3]);
		for (int c = 0; c < 3; c++) {
			long grown = after[t][c] - before[t][c];

			if (locked || c == 2)
				CHECK(before[t][c] >= 0 && grown == 0,
				      "%s, %s: %ld %s in %u frames (%ld before)", protocol,
				      threads[t], grown, costs[c], FRAMES, before[t][c]);
			else
				printf("# %s, %s, not locked: %ld %s in %u frames\n", protocol,
				       threads[t], grown, costs[c], FRAMES);
		}
	}
	CHECK(peer_end(&p, (uint64_t)sent * 32) && p.outcome.code == 0, "%s: outcome %s \"%s\"",
	      protocol, bs_err_name(p.outcome.code), p.outcome.text);
}

static bool start(const char *realtime)
{
	char body[4096];

	(void)snprintf(body, sizeof(body), "realtime: { %s };\n" PROTOCOLS, realtime);
	return service_start_with(&service, SERVICE_PATIENT " threads = 2;", body, NULL) &&
	       peer_open(&p, &service) &&
	       bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, 65536,
				   NULL) == 0 &&
	       service_meets(&service, &archive);
}

static void stop(void)
{
	bs_endpoint_close(&archive);
	peer_close(&p);
	(void)service_end(&service);
}

static bool says(const char *what)
{
	static char doc[200000];

	return service_ask(&service, "json", doc, sizeof(doc)) && strstr(doc, what) != NULL;
}

static void test_costs(void)
{
	bool up = start("priority = 5; lock_memory = true;");
	bool locked;

	CHECK(up, "the service starts, real-time");
	if (!up)
		return;
	locked = says("\"lock_memory\":\"on\"");
	if (!locked)
		SKIP("page faults: this machine refuses to lock memory (ulimit -l)");
	if (CHECK_SANITIZED) {
		SKIP("page faults and allocations: a sanitizer causes its own");
	} else {
		test_protocol("cart", locked);
		test_protocol("gridding", locked);
		test_protocol("ls", locked);
	}
	if (says("\"priority\":\"on\""))
		CHECK(cost("ingest", "priority") == 7 && cost("emit", "priority") == 6 &&
			      cost("recon", "priority") == 5 && cost("recon/1", "priority") == 5,
		      "ingest at 7, emit at 6, recon and its team at 5");
	else
		CHECK(says("real-time priority") && service_logs(&service, "real-time priority"),
		      "refused: said in status and log");
	CHECK(service_reaches(&service, "\"canary\"", "wakes", 101) > 100, "a canary wakes");
	stop();
}

static unsigned lines_with(const char *words)
{
	char line[1100];
	unsigned n = 0;
	FILE *f = fopen(service.log, "r");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, words) != NULL;
	if (f != NULL)
		(void)fclose(f);
	return n;
}

/* What a plain user's service is: no capability, no limit raised. This process never gets them
 * back. */
static void test_refused(void)
{
	const struct rlimit none = { 0, 0 };
	const struct rlimit little = { 65536, 65536 };

	(void)prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0);
	(void)prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0);
	(void)setrlimit(RLIMIT_RTPRIO, &none);
	(void)setrlimit(RLIMIT_MEMLOCK, &little);
	CHECK(start("priority = 5; lock_memory = true; recon_cpus = \"1023\";"),
	      "the service starts on a machine that grants nothing");
	CHECK(says("\"priority\":\"refused\"") && says("\"affinity\":\"refused\"") &&
		      says("\"timer_slack\":\"on\""),
	      "status: priority and affinity are refused");
	CHECK(says("LimitRTPRIO") && says("realtime.recon_cpus must name"),
	      "status: with what helps");
	CHECK(service_logs(&service, "LimitRTPRIO") && lines_with("LimitRTPRIO") == 1,
	      "the log says it once for all workers (%u times)", lines_with("LimitRTPRIO"));
	if (!CHECK_SANITIZED) /* which locks nothing, and says that it did */
		CHECK(says("\"lock_memory\":\"refused\"") && says("LimitMEMLOCK=infinity") &&
			      lines_with("locking the memory of") == 1,
		      "and that memory is not locked, once (%u times)",
		      lines_with("locking the memory of"));
	CHECK(cost("recon", "priority") == 0, "recon runs at ordinary priority");
	CHECK(peer_good_scan(&p, "cart", 3), "a scan goes through all the same");
	stop();
}

/* Times that a thread has slept since it started. */
static long sleeps(const char *thread)
{
	char path[64];
	char line[128];
	long n = -1;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%ld/status", cost(thread, "tid"));
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "voluntary_ctxt_switches:", 24) == 0)
			n = strtol(line + 24, NULL, 10);
	if (f != NULL)
		(void)fclose(f);
	return n;
}

/* Of the two threads beside recon that an image passes, while n frames come one at a time. */
static void sleeps_in(unsigned n, long slept[2])
{
	static const char *const passed[2] = { "ingest", "emit" };
	bool good = peer_begin(&p, "cart");

	sent = 0;
	good = good && frames("cart", 5);
	for (int t = 0; t < 2; t++)
		slept[t] = sleeps(passed[t]);
	for (unsigned f = 0; good && f < n; f++)
		good = frame("cart");
	for (int t = 0; t < 2; t++)
		slept[t] = sleeps(passed[t]) - slept[t];
	CHECK(good && peer_end(&p, (uint64_t)sent * 32) && p.outcome.code == 0,
	      "%u frames, one at a time", n);
}

/* Ingest and emit poll while a scan runs, and sleep between scans. */
static void test_poll_beside(void)
{
	long slept[2];
	bool up = start("wait = \"poll\"; canary = false;");

	CHECK(up && says("\"polling\":\"on\""), "the service starts with polling");
	if (!up)
		return;
	sleeps_in(200, slept);
	CHECK(slept[0] < 20 && slept[1] < 20,
	      "polling, ingest and emit slept %ld and %ld times in 200 frames", slept[0], slept[1]);
	long before = sleeps("emit");
	int64_t until = await_limit();

	while (sleeps("emit") <= before + 1 && bs_now_ns() < until)
		bs_sleep_ns(10000000);
	CHECK(sleeps("emit") > before + 1, "between scans emit sleeps");
	stop();
	up = start("canary = false;");
	CHECK(up && says("\"polling\":\"off\""), "and without");
	if (!up)
		return;
	sleeps_in(200, slept);
	CHECK(slept[0] > 40 && slept[1] > 40,
	      "without, ingest and emit slept %ld and %ld times in 200 frames", slept[0], slept[1]);
	stop();
}

/* Recon polls while a scan runs and sleeps between scans, on the processor that it was given. */
static void test_poll(void)
{
	bool up =
		start("wait = \"poll\"; gpu_wait = \"block\"; recon_cpus = \"0\"; canary = false;");

	CHECK(up, "the service starts with polling");
	if (!up)
		return;
	CHECK(says("\"wait\":\"poll\"") && says("\"gpu_wait\":\"block\"") &&
		      says("\"affinity\":\"on\"") && says("\"priority\":\"off\""),
	      "status says so");
	CHECK(says("\"processors\":[]"), "no canary where none is wanted");
	CHECK(peer_good_scan(&p, "gridding", 5) && peer_good_scan(&p, "ls", 2), "scans go through");
	long more = cost("recon", "notes") + 5;

	CHECK(service_reaches(&service, "\"thread\":\"recon\"", "notes", more) >= more &&
		      service_number(&service, "\"name\":\"recon\"", "restarts") == 0,
	      "between scans it sleeps and is well");
	stop();
}

/* A priority and polling: where the kernel would stop it, that is said once, with what helps. */
static void test_throttled(void)
{
	int64_t us = BS_THROTTLE_NONE;
	bool up = start("priority = 5; wait = \"poll\"; gpu_wait = \"block\"; canary = false;");

	CHECK(up, "the service starts real-time and polling");
	if (!up)
		return;
	if (says("\"priority\":\"on\"") && bs_throttle_read(BS_THROTTLE_FILE, &us) &&
	    us != BS_THROTTLE_NONE)
		CHECK(says("\"unthrottled\":\"refused\"") && says("sched_rt_runtime_us=-1") &&
			      lines_with("sched_rt_runtime_us=-1") == 1,
		      "the kernel's limit is %lld us: said in status and once in the log",
		      (long long)us);
	else
		CHECK(says("\"unthrottled\":\"on\"") && lines_with("sched_rt_runtime_us") == 0,
		      "no priority or no limit: nothing is said");
	stop();
	CHECK(start("priority = 5; gpu_wait = \"poll\"; canary = false;") &&
		      says("\"unthrottled\":\"off\"") && lines_with("sched_rt_runtime_us") == 0,
	      "without a protocol on a GPU nobody polls for one");
	stop();
}

int main(void)
{
	test_costs();
	test_throttled();
	test_poll_beside();
	test_poll();
	test_refused();
	return check_done();
}

/*
 * test/fault/fault_parts.c - each call of a part for memory, a mapping, a file, a descriptor, a
 * socket or a thread fails once in turn, in this very process
 *
 * usage: BUILD=dir fault_parts. Either the part says a code and words, or it goes on without what
 * failed; each time all memory and all descriptors are given back. fault_calls does the same to the
 * processes of a service, from outside.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <nanomsg/nn.h>
#include <nanomsg/pair.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "board/arm/measure.h"
#include "board/arm/ready.h"
#include "board/tool/certify/archive.h"
#include "board/tool/certify/load.h"
#include "board/tool/certify/trial.h"
#include "board/log/keeper.h"
#include "board/tool/offline/solver.h"
#include "board/status/status.h"
#include "core/solve/prior.h"
#include "core/thread/canaries.h"
#include "drivers/bridge/server.h"
#include "drivers/step/door.h"
#include "ipc/endpoint.h"
#include "ipc/gate.h"
#include "ipc/shm/shm.h"
#include "test/support/await.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include "test/support/crowd.h"

static const struct bs_gate_spec plain;

#define MOST 2000 /* calls of a group in a part */

static char dir[] = "/tmp/boreside-parts-XXXXXX";
static struct bs_site site;
static void (*fail_next)(const char *group, long n);
static bool (*fail_struck)(void);
static long (*fail_blocks)(void);

static const char *url_of(const char *name)
{
	static char url[128];

	(void)snprintf(url, sizeof(url), "ipc://%s/%s", dir, name);
	return url;
}

/* ---- the parts: 0, or what they say ---- */

/* The service's memory: made, attached to, another site staged and switched to, a death. */
static int shared_memory(struct bs_fail *why)
{
	const struct bs_traj tables[BS_PROTOCOLS_MAX] = { 0 };
	struct bs_shm other;
	struct bs_shm m;
	int bells[BS_BELLS];
	int rc = bs_shm_create(&m, &site, tables, why);
	int fd;

	if (rc != 0)
		return rc;
	for (int i = 0; i < BS_BELLS; i++)
		bells[i] = dup(m.bell_fd[i]);
	fd = dup(m.fd);
	rc = bs_shm_attach(&other, fd, bells, why);
	if (rc == 0)
		rc = bs_shm_stage(&m, &m.s->reload.next, &site, tables, why);
	if (rc == 0) {
		for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++)
			m.s->reload.from[i] = i;
		rc = bs_shm_switch(&m, why);
	}
	if (rc == 0)
		rc = bs_shm_map_tables(&m, why);
	if (rc == 0)
		rc = bs_shm_map_tables(&other, why);
	for (int i = 0; rc == 0 && i < BS_WORKERS; i++) {
		why->code = 0;
		(void)bs_shm_recover(&m, (enum bs_worker)i, why);
		rc = why->code;
	}
	bs_shm_unstage(&m, &m.s->reload.next);
	if (other.s != NULL)
		bs_shm_close(&other);
	bs_shm_close(&m);
	return rc;
}

/* A peer that shakes hands and says something is served: the next one, if the first fails. */
static bool served(struct bs_gate *g, const char *url)
{
	bool good = false;

	for (int i = 0; i < 3 && !good; i++) {
		struct bs_gate_message m;
		int fd = crowd_dial(url);

		good = fd >= 0 && crowd_greet(fd) && crowd_say(fd, url, "hello", 5);
		for (int turn = 0; good && turn < 20; turn++) {
			if (!bs_gate_take(g, &m))
				continue;
			good = m.len == 5 && bs_gate_send(g, m.peer, "good", 4, NULL, 0) == 0;
			bs_gate_release(g, m.peer);
			turn = 100;
		}
		good = good && bs_gate_peers(g) == 1;
		if (fd >= 0)
			(void)close(fd);
		while (bs_gate_take(g, &m))
			bs_gate_release(g, m.peer);
	}
	return good;
}

static int gate_at(const char *url, struct bs_fail *why)
{
	struct bs_gate g;
	int rc = bs_gate_open(&g, url, 4096, &plain, why);

	if (rc == 0) {
		if (!served(&g, url))
			rc = bs_fail(why, 1, "no peer is served");
		bs_gate_close(&g);
	}
	return rc;
}

static int gate_ipc(struct bs_fail *why)
{
	return gate_at(url_of("gate"), why);
}

static int gate_tcp(struct bs_fail *why)
{
	char url[64];

	(void)snprintf(url, sizeof(url), "tcp://127.%d.%d.%d:%d", getpid() >> 16 & 0xff,
		       getpid() >> 8 & 0xff, 1 + (getpid() & 0x7f), 20000 + getpid() % 10000);
	return gate_at(url, why);
}

static int endpoints(struct bs_fail *why)
{
	static const enum bs_endpoint_role pair[][2] = {
		{ BS_ENDPOINT_ARCHIVE_OUT, BS_ENDPOINT_ARCHIVE_IN },
		{ BS_ENDPOINT_VIEWERS_OUT, BS_ENDPOINT_VIEWERS_IN },
		{ BS_ENDPOINT_STATUS, BS_ENDPOINT_STATUS_ASK },
	};
	int rc = 0;

	for (int i = 0; rc == 0 && i < 3; i++) {
		struct bs_endpoint a;
		struct bs_endpoint b;

		rc = bs_endpoint_bind(&a, pair[i][0], url_of("endpoint"), 4096, why);
		if (rc != 0)
			break;
		rc = bs_endpoint_connect(&b, pair[i][1], url_of("endpoint"), 4096, why);
		if (rc == 0) {
			rc = i == 2 ? bs_endpoint_send(&b, "?", 1, NULL, 0, 1000, why) : 0;
			bs_endpoint_close(&b);
		}
		bs_endpoint_close(&a);
	}
	return rc;
}

static int threads(struct bs_fail *why)
{
	static struct bs_canary canary[BS_CANARIES];
	struct bs_canaries all;
	struct bs_team *team;
	int rc = bs_team_open(&team, 3, why);

	if (rc != 0)
		return rc;
	memset(canary, 0, sizeof(canary));
	bs_canaries_start(&all, canary, BS_CANARIES, NULL, 0);
	bs_canaries_stop(&all);
	bs_team_close(team);
	return 0;
}

static int constraint(struct bs_fail *why)
{
	const struct bs_prior_spec spec = { .dims = 2,
					    .matrix = { 5, 7, 1 },
					    .neighbors = 4,
					    .images = 1,
					    .edge = 0.1,
					    .outside = 0.5 };
	float image[5 * 7 * 2];
	struct bs_csr w;
	int rc;

	for (int i = 0; i < 5 * 7 * 2; i++)
		image[i] = (float)(i % 9) + 1.0f;
	rc = bs_prior_make(&w, &spec, image, image, why);
	if (rc == 0)
		bs_csr_close(&w);
	return rc;
}

/* An armed protocol, timed as the service times it. */
static int armed_as(uint32_t i, struct bs_fail *why)
{
	const struct bs_measure_env env = { .seconds = 1e-4 };
	struct bs_admission timed;
	struct bs_team *team;
	struct bs_armed a;
	int rc = bs_team_open(&team, 2, why);

	if (rc != 0)
		return rc;
	rc = bs_armed_open(&a, &site, &site.protocol[i], team, why);
	if (rc == 0) {
		rc = bs_measure(&timed, &a, &env, why);
		bs_armed_close(&a);
	}
	bs_team_close(team);
	return rc;
}

static int armed_gridding(struct bs_fail *why)
{
	return armed_as(0, why);
}

static int armed_cartesian(struct bs_fail *why)
{
	return armed_as(1, why);
}

static void keep_line(void *arg, const char *line)
{
	struct bs_fail *why = arg;

	(void)snprintf(why->text, sizeof(why->text), "%.300s", line);
}

static int checked(struct bs_fail *why)
{
	int rc = bs_ready_protocol(&site, &site.protocol[0], keep_line, why);

	return rc != 0 ? rc : bs_ready_places(&site, keep_line, why);
}

/* A step's socket and memory: a peer is let in, or it is not, and nothing is left of it. */
static int step_door(struct bs_fail *why)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct bs_door d;
	int rc = bs_door_open(&d, dir, "door", 100000, 10.0, why);
	const int fd = rc == 0 ? socket(AF_UNIX, SOCK_SEQPACKET, 0) : -1;

	if (rc != 0)
		return rc;
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%.90s", d.path);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		rc = bs_fail(why, BS_ERR_IO, "no connection");
	bs_door_look(&d);
	if (rc == 0 && d.memory == NULL)
		rc = bs_fail(why, BS_ERR_IO, "not let in");
	if (fd >= 0)
		(void)close(fd);
	bs_door_look(&d);
	if (rc == 0 && d.memory != NULL)
		rc = 1;
	bs_door_close(&d);
	return rc;
}

static int solver(struct bs_fail *why)
{
	struct bs_protocol p = site.protocol[0];
	struct bs_solver s;
	struct bs_tables tables = { 0 };
	struct bs_traj traj;
	struct bs_team *team;
	int rc;

	p.method = BS_METHOD_LS;
	p.density = BS_DENSITY_NONE;
	bs_plan_make(&p);
	rc = bs_team_open(&team, 1, why);
	if (rc != 0)
		return rc;
	rc = bs_traj_make(&traj, &p, why);
	if (rc == 0) {
		tables.traj = &traj;
		rc = bs_solver_open(&s, &p, &tables, team, why);
		if (rc == 0)
			bs_solver_close(&s);
		bs_traj_close(&traj);
	}
	bs_team_close(team);
	return rc;
}

static void nothing(void *arg)
{
	(void)arg;
}

static void nothing_more(void)
{
}

static int keeper(struct bs_fail *why)
{
	static struct bs_log_spec spec = { .mode = BS_LOG_MODE_DURABLE };
	static struct bs_log_record record;
	static _Alignas(64) unsigned char ring[65536];
	const struct bs_keeper_options o = { .spec = &spec,
					     .message_max = 4096,
					     .segment_bytes = 65536,
					     .record = &record,
					     .ring = ring,
					     .ring_bytes = sizeof(ring),
					     .enter = nothing,
					     .leave = nothing_more,
					     .wake = nothing };
	static struct bs_keeper k;
	int rc;

	(void)snprintf(spec.dir, sizeof(spec.dir), "%s/log", dir);
	memset(&record, 0, sizeof(record));
	rc = bs_keeper_start(&k, &o, why);
	if (rc == 0)
		bs_keeper_stop(&k);
	return rc;
}

static int status(struct bs_fail *why)
{
	const struct bs_traj tables[BS_PROTOCOLS_MAX] = { 0 };
	struct bs_status_server *server = NULL;
	struct bs_shm m;
	int rc = bs_shm_create(&m, &site, tables, why);

	if (rc != 0)
		return rc;
	rc = bs_status_serve(&server, &m, url_of("status"), why);
	bs_status_stop(server);
	bs_shm_close(&m);
	return rc;
}

/* What certify has beside its service: a copy of the site, a load, an archive. */
static int certify(struct bs_fail *why)
{
	struct bs_trial trial = { 0 };
	struct bs_cpus where = { 0 };
	struct bs_archive *archive = NULL;
	struct bs_loads loads = { .gate = -1 };
	int rc = bs_trial_make(&trial, &site, &site.protocol[0], why);

	if (rc == 0) {
		rc = bs_loads_start(&loads, BS_LOAD_CPU | BS_LOAD_IO, dir, 0, why);
		bs_loads_stop(&loads);
	}
	if (rc == 0) {
		bs_cpus_add(&where, 0);
		rc = bs_archive_open(&archive, &site.protocol[0], url_of("certify"), &where, NULL,
				     why);
		bs_archive_close(archive);
	}
	bs_trial_remove(&trial);
	return rc;
}

/* A bridge that listens, and a scan's way through it. */
static int bridge(struct bs_fail *why)
{
	static struct bs_server server;
	struct bs_feed feed;
	int rc;

	(void)snprintf(site.mrd.listen, sizeof(site.mrd.listen), "tcp://127.0.0.1:0");
	site.mrd.sessions = 1;
	(void)snprintf(site.images_url, sizeof(site.images_url), "%s", url_of("bridge"));
	(void)snprintf(site.kspace_url, sizeof(site.kspace_url), "%s", url_of("feed"));
	rc = bs_server_open(&server, &site, 4096, 4096, why);
	if (rc == 0)
		rc = bs_feed_open(&feed, &site, 1u << 20, why);
	if (rc == 0)
		bs_feed_close(&feed);
	bs_server_close(&server);
	return rc;
}

/* ---- their calls ---- */

static unsigned open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		(void)closedir(d);
	return n;
}

/* Its n-th call of the group fails. True: there was one. */
static bool fail_one(const char *name, int (*part)(struct bs_fail *why), const char *group, long n,
		     unsigned *refused)
{
	struct bs_fail why = { 0 };
	const unsigned files = open_files();
	const long blocks = fail_blocks();
	bool struck;
	int rc;

	fail_next(group, n);
	rc = part(&why);
	struck = fail_struck();
	fail_next(NULL, 0);
	AWAIT(open_files() == files); /* a peer's thread may have been about to close one */
	if (rc > 0 || (rc < 0 && (why.text[0] == '\0' || rc <= BS_ERR_LAST)))
		CHECK(false, "%s: call %ld for %s fails: %d '%s'", name, n, group, rc, why.text);
	if (open_files() != files || fail_blocks() > blocks)
		CHECK(false, "%s: call %ld for %s fails: %u descriptors and %ld blocks are left",
		      name, n, group, open_files() - files, fail_blocks() - blocks);
	*refused += rc < 0;
	return struck;
}

static void fail_all(const char *name, int (*part)(struct bs_fail *why))
{
	static const char *const groups[] = { "memory",  "mmap",   "open",       "file", "name",
					      "read",    "write",  "descriptor", "look", "peer",
					      "message", "socket", "process" };
	struct bs_fail why = { 0 };
	unsigned refused = 0;
	long calls = 0;
	const int before = check_failed;
	int rc = part(&why); /* what a library keeps from its first use on is there then */

	CHECK(rc == 0, "%s: nothing fails %s", name, why.text);
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
		/* a wake-up is timed 200 times */
		const bool many = strcmp(groups[g], "read") == 0 || strcmp(groups[g], "write") == 0;

		for (long n = 1; n < MOST && fail_one(name, part, groups[g], n, &refused);
		     n += many && n > 4 ? 97 : 1)
			calls++;
	}
	CHECK(calls > 0 && refused > 0 && check_failed == before,
	      "%s: %ld calls failed, one each time: %u times it said so, else it went on", name,
	      calls, refused);
}

static void make_site(void)
{
	struct bs_protocol *p = site.protocol;

	(void)snprintf(site.file, sizeof(site.file), "site.cfg");
	(void)snprintf(site.run_dir, sizeof(site.run_dir), "%s", dir);
	(void)snprintf(site.kspace_url, sizeof(site.kspace_url), "%s", url_of("kspace"));
	site.acq_slots = 16;
	site.image_slots = 3;
	site.threads = 1;
	site.memory_mib = 64;
	site.protocols = 2;
	p[0] = with_name(served_spokes(BS_METHOD_GRIDDING, 16, 12), "spokes");
	p[0].backend = BS_BACKEND_HOST;
	solved(&p[0], 0.1, 3);
	p[1] = p[0];
	(void)snprintf(p[1].name, sizeof(p[1].name), "lines");
	p[1].method = BS_METHOD_CARTESIAN;
	p[1].traj.type = BS_TRAJ_CARTESIAN;
	p[1].encoded[0] = 32;
	p[1].encoded[1] = p[1].readouts = 16;
	p[1].encoded[2] = 1;
	p[1].averages = 2;
	bs_plan_make(&p[1]);
}

/* Starts this program again with the calls' hook in it; false: it cannot be. */
static bool hooked(char **argv)
{
	char hook[300];

	*(void **)&fail_next = dlsym(RTLD_DEFAULT, "fail_next");
	*(void **)&fail_struck = dlsym(RTLD_DEFAULT, "fail_struck");
	*(void **)&fail_blocks = dlsym(RTLD_DEFAULT, "fail_blocks");
	if (fail_next != NULL)
		return true;
	(void)snprintf(hook, sizeof(hook), "%.256s/test/support/fail_hook.so",
		       getenv("BUILD") != NULL ? getenv("BUILD") : "");
	if (CHECK_SANITIZED || getenv("LD_PRELOAD") != NULL || access(hook, R_OK) != 0)
		return false;
	(void)setenv("LD_PRELOAD", hook, 1);
	(void)execv("/proc/self/exe", argv);
	return false;
}

int main(int argc, char **argv)
{
	char log[64];
	int keeps;

	(void)argc;
	if (!hooked(argv)) {
		SKIP("calls that fail: %s", CHECK_SANITIZED ? "the sanitizer has its own malloc"
							    : "no test/support/fail_hook.so");
		return check_done();
	}
	if (mkdtemp(dir) == NULL) {
		SKIP("no temporary directory");
		return check_done();
	}
	make_site();
	(void)snprintf(log, sizeof(log), "%s/log", dir);
	CHECK(mkdir(log, 0700) == 0, "a folder for logs");
	keeps = nn_socket(AF_SP, NN_PAIR); /* the library's own threads stay */
	fail_all("the shared memory", shared_memory);
	fail_all("a gate over ipc", gate_ipc);
	fail_all("a gate over tcp", gate_tcp);
	fail_all("endpoints", endpoints);
	fail_all("a team and canaries", threads);
	fail_all("a constraint W", constraint);
	fail_all("gridding, armed and timed", armed_gridding);
	fail_all("lines, armed and timed", armed_cartesian);
	fail_all("boreside check", checked);
	fail_all("a solver", solver);
	fail_all("a step's door", step_door);
	fail_all("a log's keeper", keeper);
	fail_all("the status", status);
	fail_all("what certify has", certify);
	fail_all("a bridge", bridge);
	(void)nn_close(keeps);
	for (int i = 0; i < 2; i++) { /* spare segments stay */
		(void)snprintf(log, sizeof(log), "%s/log/%d.spare", dir, i);
		(void)unlink(log);
	}
	(void)snprintf(log, sizeof(log), "%s/log", dir);
	CHECK(rmdir(log) == 0 && rmdir(dir) == 0, "no file is left");
	return check_done();
}

/*
 * test/fault/fault_reload.c - a changed site file while the service runs: all of it between two
 * scans, or nothing, with the reason; no image of a scan is lost, counted by the sender's outcomes
 * and the files
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/stat.h>

#include "test/support/service.h"

#define LOOPS  20u
#define FRAMES 3u

#define CART(name, more) "{ name = \"" name "\"; " SERVICE_LINES "silence_ms = 60000.0; " more "}"
#define RADIAL           "{ name = \"radial\"; method = \"noop\"; " SERVICE_SPOKES "}"
#define SITE(list)       SERVICE_SINKS "protocols = ( " list " );\n"

static struct service service;
static struct peer p;
static unsigned images; /* that outcomes have promised */

/* `boreside reload`, its words in the file "said". */
static pid_t reload(void)
{
	const char *program = getenv("BORESIDE");
	char path[128];
	pid_t pid = fork();

	(void)snprintf(path, sizeof(path), "%s/said", service.dir);
	if (pid == 0) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		(void)dup2(fd, STDOUT_FILENO);
		(void)dup2(fd, STDERR_FILENO);
		(void)execl(program, "boreside", "reload", "-c", service.site, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static const char *said(void)
{
	static char text[2000];
	char path[128];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/said", service.dir);
	fd = open(path, O_RDONLY);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static int wait_for(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static long generation(void)
{
	return service_number(&service, "\"site\":", "generation");
}

static bool good(const char *protocol, unsigned frames)
{
	const bool all = peer_good_scan(&p, protocol, frames);

	images += all ? frames : 0;
	return all;
}

static bool refused(const char *protocol, const char *words)
{
	return !peer_begin(&p, protocol) && strstr(p.answer.text, words) != NULL;
}

/* The site file is this now, and the service is told: it takes it up. */
static void take(const char *what, const char *body)
{
	const long before = generation();

	CHECK(service_write_site(&service, SERVICE_PATIENT, body) && wait_for(reload()) == 0 &&
		      generation() == before + 1,
	      "%s: %s", what, said());
}

/* The same, and nothing of it is taken up. */
static void refuse(const char *what, const char *node, const char *body, const char *words)
{
	const long before = generation();

	CHECK(service_write_site(&service, node, body) && wait_for(reload()) == 1 &&
		      strstr(said(), words) != NULL,
	      "%s: %s", what, said());
	CHECK(generation() == before && good("cart", 1), "%s: the service goes on as it was", what);
}

static void test_change(void)
{
	take("one is added, one removed", SITE(CART("cart", "") ",\n" CART("cart_more", "")));
	CHECK(good("cart_more", 2), "the added one serves");
	CHECK(refused("radial", "the site has no protocol 'radial'"),
	      "the removed one is refused: \"%s\"", p.answer.text);
	CHECK(good("cart", 2), "the one that stayed serves");
	CHECK(service_number(&service, "\"name\":\"cart\"", "handed") == 2 + 2,
	      "and what was counted of it stays with it");
	take("they change their places, one its keys",
	     SITE(RADIAL ",\n" CART("cart_more", "discard = 9; ") ",\n" CART("cart", "")));
	CHECK(good("cart_more", 2) && good("cart", 1) && good("radial", 1), "all three serve");
	CHECK(service_number(&service, "\"name\":\"cart\"", "handed") == 5,
	      "the counts of one follow it to its new place");
}

static void test_refusals(void)
{
	refuse("a mistyped key", SERVICE_PATIENT, SITE(CART("cart", "coyls = 3; ")), "unknown key");
	refuse("a key of the node", SERVICE_PATIENT " acq_slots = 99;", SITE(CART("cart", "")),
	       "node.acq_slots: cannot change while the service runs");
	refuse("sinks", SERVICE_PATIENT, "protocols = ( " CART("cart", "") " );\n",
	       "sinks: cannot change while the service runs");
	refuse("an image that is too large", SERVICE_PATIENT,
	       SITE(CART("cart", "") ",\n" CART("large", "image: { matrix = [512, 512]; }; ")),
	       "protocol 'large': matrix, image.matrix, coils");
	refuse("a file that is not there", SERVICE_PATIENT,
	       SITE(CART("cart", "") ",\n" CART(
		       "lost", "image: { combine = \"sense\"; maps_file = \"none.cfl\"; }; ")),
	       "maps_file");
	refuse("a budget that cannot be met", SERVICE_PATIENT,
	       SITE(CART("cart", "") ",\n" CART("fast", "budget: { image_ms = 0.0001; }; ")),
	       "fast");
	CHECK(service_number(&service, "\"protocols\":", "plan_bytes") >= 0 &&
		      refused("fast", "no protocol 'fast'"),
	      "none of them left anything behind");
}

/* The scan in flight ends with the protocol as it was opened; then the change comes. */
static void test_between(void)
{
	pid_t pid;

	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	CHECK(service_write_site(&service, SERVICE_PATIENT, SITE(CART("cart_next", ""))),
	      "its protocol is no longer in the site file");
	pid = reload();
	CHECK(service_until(&service, "\"state\":\"waiting for the scan in flight\""),
	      "the reload waits, and the status says for what");
	CHECK(service_logs(&service, "reload: the file is good; the scan in flight ends first"),
	      "as does the log");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 1);
	CHECK(peer_end(&p, 64) && p.outcome.code == 0 && p.outcome.images == 2,
	      "the scan ends well: %llu images, \"%s\"", (unsigned long long)p.outcome.images,
	      p.outcome.text);
	images += 2;
	CHECK(wait_for(pid) == 0, "then the change is made: %s", said());
	CHECK(refused("cart", "no protocol 'cart'") && good("cart_next", 1),
	      "and the next scan meets it");
}

static void test_signal(void)
{
	CHECK(service_write_site(&service, SERVICE_PATIENT, SITE(CART("cart", "bad = 1; "))) &&
		      kill(service.pid, SIGHUP) == 0 &&
		      service_logs(&service, "goes on as it was: ") &&
		      service_logs(&service, "protocols.[0].bad: unknown key"),
	      "SIGHUP: the log has the reason");
	CHECK(service_write_site(&service, SERVICE_PATIENT, SITE(CART("cart", ""))) &&
		      kill(service.pid, SIGHUP) == 0 &&
		      service_logs(&service, "reloaded: generation 5"),
	      "and that it was done");
}

/* Recon does not begin to arm until it is let go on. */
static pid_t reload_with_recon_stopped(long recon)
{
	pid_t pid = -1;

	CHECK(recon > 0 && kill((pid_t)recon, SIGSTOP) == 0 && (pid = reload()) > 0 &&
		      service_until(&service, "\"state\":\"arming\""),
	      "a reload, up to where recon is to arm");
	return pid;
}

static long pid_of(const char *worker)
{
	char where[64];

	(void)snprintf(where, sizeof(where), "\"name\":\"%s\",\"pid\"", worker);
	return service_number(&service, where, "pid");
}

/* The process that is to arm is killed; then the same reload again. */
static void test_dies(void)
{
	const char *body =
		SITE(CART("cart", "") ",\n" CART("cart_m", "budget: { image_ms = 500.0; }; "));
	const long recon = pid_of("recon");
	const long before = generation();
	char xml[SERVICE_XML_MAX];
	long next;
	pid_t pid;

	CHECK(service_write_site(&service, SERVICE_PATIENT, body), "a protocol with a budget");
	pid = reload_with_recon_stopped(recon);
	CHECK(kill((pid_t)recon, SIGKILL) == 0 && wait_for(pid) == 1 &&
		      strstr(said(), "ended while it armed") != NULL && generation() == before,
	      "recon is killed: the reload is refused: %s", said());
	CHECK(good("cart", 1) && refused("cart_m", "no protocol"), "the service goes on as it was");
	next = pid_of("recon");
	pid = reload_with_recon_stopped(next);
	(void)peer_new_session(&p);
	CHECK(peer_header(&p, "cart", xml, peer_xml(xml, "cart", true)) &&
		      service_until(&service, "\"waiting\":1") && generation() == before,
	      "the same again: a header that comes while it arms waits");
	CHECK(kill((pid_t)next, SIGCONT) == 0 && peer_await(&p, BS_WIRE_ACCEPT) &&
		      generation() == before + 1,
	      "and is accepted");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	CHECK(peer_end(&p, 32) && p.outcome.code == 0 && p.outcome.images == 1, "its scan is good");
	images++;
	CHECK(wait_for(pid) == 0 && good("cart_m", 1), "%s", said());
}

/* Another process is killed before recon arms: its successor takes part in the rest. */
static void test_others_die(const char *worker, const char *body)
{
	const long recon = pid_of("recon");
	const long old = pid_of(worker);
	pid_t pid;

	CHECK(service_write_site(&service, SERVICE_PATIENT, body), "a protocol with a budget");
	pid = reload_with_recon_stopped(recon);
	CHECK(old > 0 && kill((pid_t)old, SIGKILL) == 0 && kill((pid_t)recon, SIGCONT) == 0,
	      "%s is killed while recon arms", worker);
	CHECK(wait_for(pid) == 0 && good("cart_m", 1) && good("cart", 1), "%s", said());
}

/* What a process has open, and the memory that the service's processes share. */
static void sizes(long pid, unsigned *fds, int64_t *shared)
{
	char path[128];
	char name[128];
	DIR *d;

	*fds = 0;
	*shared = -1;
	(void)snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
	d = opendir(path);
	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL; (*fds)++) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, name, sizeof(name) - 1);
		struct stat st;

		name[n > 0 ? n : 0] = '\0';
		if (strstr(name, "memfd:boreside") != NULL &&
		    fstatat(dirfd(d), e->d_name, &st, 0) == 0)
			*shared = (int64_t)st.st_blocks;
	}
	if (d != NULL)
		(void)closedir(d);
}

/* Each scan has a reload in its midst; the protocol before and after it differs. */
static void test_loop(void)
{
	const long recon = pid_of("recon");
	unsigned fds[2][2] = { { 0 } };
	int64_t shared[2][2] = { { 0 } };
	unsigned bad = 0;
	double held_ms = 0.0;

	for (unsigned i = 0; i < LOOPS; i++) {
		const char *body =
			i % 2 == 0 ? SITE(CART("cart", "") ",\n" CART("cart_b", ""))
				   : SITE(CART("cart_b", "discard = 9; ") ",\n" CART("cart", ""));
		pid_t pid = -1;

		bad += !peer_begin(&p, "cart");
		for (unsigned r = 0; r < FRAMES * 32; r++) {
			if (r == 40) {
				bad += !service_write_site(&service, SERVICE_PATIENT, body);
				pid = reload();
			}
			bad += !peer_acq(&p, "cart", r % 32, r / 32);
		}
		bad += !peer_end(&p, FRAMES * 32) || p.outcome.code != 0 ||
		       p.outcome.images != FRAMES;
		images += FRAMES;
		bad += wait_for(pid) != 0;
		held_ms += strtod(strstr(said(), "waited ") != NULL ? strstr(said(), "waited ") + 7
								    : "1e9",
				  NULL);
		bad += !good("cart_b", 1);
		if (i == 1 || i == LOOPS - 1) {
			sizes(service.pid, &fds[i > 1][0], &shared[i > 1][0]);
			sizes(recon, &fds[i > 1][1], &shared[i > 1][1]);
		}
	}
	CHECK(shared[0][0] > 0 && memcmp(shared[0], shared[1], sizeof(shared[0])) == 0 &&
		      memcmp(fds[0], fds[1], sizeof(fds[0])) == 0,
	      "neither memory nor descriptors grow: %lld and %lld blocks, %u and %u, %u and %u",
	      (long long)shared[0][0], (long long)shared[1][0], fds[0][0], fds[1][0], fds[0][1],
	      fds[1][1]);
	CHECK(bad == 0, "%u scans with a reload in each: none failed (%u)", LOOPS, bad);
	printf("# headers waited %.1f ms on average\n", held_ms / LOOPS);
	CHECK(generation() == 5 + (long)LOOPS, "each was taken up");
	CHECK(service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0 &&
		      service_number(&service, "\"name\":\"recon\"", "restarts") == 0,
	      "no slot is lost, no process was replaced");
}

#define WIDE(more)                                                                                 \
	"protocols = ( { name = \"wide\"; method = \"gridding\"; backend = \"host\";\n"            \
	"slices = 400; repetitions = 1; " SERVICE_SPOKES more "} );\n"

/* What is replaced is held until what replaces it is armed; node.memory_mib may grow with it. */
static void test_memory(void)
{
	CHECK(service_start_with(&service, SERVICE_PATIENT " memory_mib = 64;", WIDE(""), NULL),
	      "a service whose one protocol takes half of its memory");
	CHECK(service_write_site(&service, SERVICE_PATIENT " memory_mib = 64;",
				 WIDE("discard = 9; ")) &&
		      wait_for(reload()) == 1 &&
		      strstr(said(), "node.memory_mib: 64 MiB do not hold"),
	      "two of them do not fit: %s", said());
	CHECK(service_write_site(&service, SERVICE_PATIENT " memory_mib = 128;",
				 WIDE("discard = 9; ")) &&
		      wait_for(reload()) == 0 && generation() == 2,
	      "granted more, they do: %s", said());
	(void)service_end(&service);
}

int main(void)
{
	CHECK(service_start_with(&service, SERVICE_PATIENT, SITE(CART("cart", "") ",\n" RADIAL),
				 NULL) &&
		      peer_open(&p, &service),
	      "the service starts");
	CHECK(generation() == 1 && good("cart", 2), "a scan is good");
	test_change();
	test_refusals();
	test_between();
	test_signal();
	test_loop();
	test_dies();
	test_others_die("ingest", SITE(CART("cart_m", "budget: { image_ms = 501.0; }; ") ",\n" CART(
					  "cart", "")));
	test_others_die("emit", SITE(CART("cart", "") ",\n" CART(
					"cart_m", "budget: { image_ms = 502.0; }; ")));
	peer_close(&p);
	CHECK(service_stop(&service) == 0 && files_in(service.out, ".cfl") == images,
	      "every image of every outcome is filed: %u of %u", files_in(service.out, ".cfl"),
	      images);
	service_remove(&service);
	test_memory();
	return check_done();
}

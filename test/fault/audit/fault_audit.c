/*
 * test/fault/audit/fault_audit.c - boreside log audit: over the logs and images of a real service,
 * killed in one scan and left in another, it finds nothing; of each break that is planted in a
 * copy, with checksums that hold again, it names the promise
 */
/* Holds: W61, L6, L10 */
#define _GNU_SOURCE
#include <stdarg.h>

#include "ipc/seal/keys.h"
#include "ipc/seal/sign.h"
#include "test/fault/audit/breaks.h"
#include "test/support/book.h"

#define FRAMES 6u
#define ACQS   (FRAMES * 32u)

static struct service service;
static char copy[128]; /* the folder in which a break is planted */
static char key_file[] = "/tmp/boreside-audit-XXXXXX";
static char key_text[BS_KEY_TEXT_MAX]; /* what the site's logs and lines are signed with */

/* ---- words ---- */

static int run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *fmt, ...)
{
	char command[1200];
	va_list ap;
	int status;

	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What the audit says of a folder. */
static int audit(const char *dir, char *said, size_t cap)
{
	char command[800];
	FILE *f;
	size_t n;
	int status;

	(void)snprintf(command, sizeof(command),
		       "'%s' log audit -c %s/site.cfg --events %s/log --key %s %s/recorded 2>&1",
		       getenv("BORESIDE"), dir, dir, key_text, dir);
	f = popen(command, "r");
	if (f == NULL)
		return -1;
	n = fread(said, 1, cap - 1, f);
	said[n] = '\0';
	status = pclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Status and words: all of them where there are findings that should not be. */
static bool audit_is(const char *dir, int want, const char *what)
{
	static char said[1 << 16];
	const int status = audit(dir, said, sizeof(said));

	if (status != want || strstr(said, ", 0 findings") == NULL)
		printf("# %s: status %d\n# %s\n", what, status, said);
	else
		printf("# %s: %s", what, strrchr(said, '\n') != NULL ? said : "");
	return status == want && strstr(said, ", 0 findings") != NULL;
}

/* ---- a site ---- */

static const char site[] =
	"endpoints: { archive = \"\"; viewers = \"\"; images = \"ipc://run/images.ipc\"; };\n"
	"log: { dir = \"logs\"; mode = \"durable\"; };\n"
	"overload: { sinks = \"spill\"; spill_dir = \"spill\"; spill_mib = 64; };\n" SERVICE_SINKS
	"protocols = (\n" SERVICE_CART "{ name = \"radial\"; method = \"gridding\"; " SERVICE_SPOKES
	"frame: { preview_every = 12; }; } );\n";

static bool phantom(const char *protocol, unsigned repetitions, const char *name)
{
	return run("'%s' phantom -c %s -p %s --repetitions %u --tr-us 400 --snr 20 -o %s/%s.h5 "
		   ">/dev/null 2>&1",
		   getenv("BORESIDE"), service.site, protocol, repetitions, service.dir, name) == 0;
}

/* A sender of its own process; its words go to a file that nobody reads. */
static pid_t send_scan(const char *protocol, const char *name, const char *session)
{
	char words[160];
	char scan[160];

	(void)snprintf(words, sizeof(words), "%s/words", service.dir);
	(void)snprintf(scan, sizeof(scan), "%s/%s.h5", service.dir, name);
	return process_start(words,
			     (char *[]){ getenv("BORESIDE"), "replay", "--url", service.kspace,
					 "-p", (char *)(uintptr_t)protocol, "--patience", "60",
					 "--session", (char *)(uintptr_t)session, scan, NULL });
}

static bool good_scan(const char *protocol, const char *name, const char *session)
{
	const pid_t pid = send_scan(protocol, name, session);
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void take(const char *name)
{
	CHECK(run("'%s' receive -c %s -o %s/%s --name %s --type cfl --once >/dev/null 2>&1",
		  getenv("BORESIDE"), service.site, service.dir, name, name) == 0,
	      "%s takes what there is", name);
}

/* In the middle of a scan the service is killed. */
static pid_t kill_in_scan(const char *session)
{
	const pid_t sender = send_scan("cart", "mid", session); /* it takes 0.4 s */

	CHECK(sender > 0 && service_until(&service, "\"images_left\":2"), "two images have left");
	(void)process_end(service.pid);
	return sender;
}

static void record(void)
{
	char logs[160];
	char words[160];
	pid_t pid;

	(void)snprintf(logs, sizeof(logs), "%s/recorded", service.dir);
	(void)snprintf(words, sizeof(words), "%s/words", service.dir);
	pid = process_start(words,
			    (char *[]){ getenv("BORESIDE"), "record", "-c", service.site, "-o",
					logs, "--message", "1", "--segment", "2", NULL });
	CHECK(good_scan("cart", "long", "90"), "a scan is recorded in segments of 2 MiB");
	(void)kill(pid, SIGTERM);
	(void)waitpid(pid, NULL, 0);
}

static bool make_key(void)
{
	struct bs_ik_pair pair;
	struct bs_signer signer;

	if (unlink(key_file) != 0 || bs_seal_key_make(&pair, key_file, NULL) != 0 ||
	    bs_signer_read(&signer, key_file, NULL) != 0)
		return false;
	bs_seal_key_text(key_text, signer.pub);
	return true;
}

/* Sessions: 16 good, 17 with previews, 18 killed and gone on with, 19 good, 20 left open. */
static void make_site(void)
{
	char body[sizeof(site) + 100];
	pid_t sender;
	int status = -1;

	(void)snprintf(body, sizeof(body), "keys: { sign = \"%s\"; };\n%s", key_file, site);
	CHECK(make_key() && service_start_with(&service, SERVICE_PATIENT, body, NULL),
	      "a service starts");
	CHECK(phantom("cart", FRAMES, "cart") && phantom("radial", FRAMES, "radial") &&
		      phantom("cart", 30, "mid") && phantom("cart", 110, "long"),
	      "phantoms");
	CHECK(good_scan("cart", "cart", "16") && good_scan("radial", "radial", "17"),
	      "two good scans");
	sender = kill_in_scan("18");
	/* an archive that is known and takes nothing: no image is removed */
	CHECK(run("cd %s && echo 00000000000000000000 >spill/images/lazy.cursor && mkdir recorded "
		  "&& touch logs/0123456789abcdef.part spill/images/0123456789abcdef.part",
		  service.dir) == 0,
	      "an archive that does not come, two files that were not finished");
	CHECK(service_spawn(&service, NULL) && waitpid(sender, &status, 0) == sender && status == 0,
	      "killed and started again the service ends the scan well");
	CHECK(run("test ! -e %s/logs/0123456789abcdef.part -a ! -e "
		  "%s/spill/images/0123456789abcdef.part",
		  service.dir, service.dir) == 0,
	      "the start has removed what was not finished, in both folders");
	take("pacs");
	CHECK(good_scan("cart", "cart", "19"), "another good scan");
	take("other");
	CHECK(audit_is(service.dir, 0, "of a site whose service runs"), "nothing is found");
	(void)process_end(kill_in_scan("20"));
	record();
}

/* A copy of the site, one break, and what the audit says of it: it must name the promise. */
static void try_break(const struct audit_break *b)
{
	static char said[1 << 16];
	char line[64];
	bool made;
	int status;

	(void)snprintf(line, sizeof(line), "%s: ", b->promise);
	if (run("rm -rf %s && cp -a --sparse=always %s %s", copy, service.dir, copy) != 0) {
		CHECK(false, "%s: no copy", b->what);
		return;
	}
	made = audit_plant(b, copy);
	status = audit(copy, said, sizeof(said));
	CHECK(made && status == 1 &&
		      (strncmp(said, line, strlen(line)) == 0 ||
		       (strstr(said, line) != NULL && strstr(said, line)[-1] == '\n')),
	      "%s: %s", b->promise, b->what);
	if (made && strstr(said, line) != NULL)
		printf("# %.*s\n", (int)strcspn(strstr(said, line), "\n"), strstr(said, line));
	else
		printf("# %s\n%s\n", made ? "not found" : "not planted", said);
}

static void try_breaks(void)
{
	(void)snprintf(copy, sizeof(copy), "%s-copy", service.dir);
	/* a log that is left open is long and empty; what is not audited is not copied */
	(void)run("cd %s && rm -rf logs/*.spare spill/images/*.spare recorded/*.spare out *.h5; "
		  "for f in */*.bslog */*/*.bslog; do fallocate -d $f; done 2>/dev/null",
		  service.dir);
	for (size_t i = 0; i < sizeof(audit_breaks) / sizeof(audit_breaks[0]); i++)
		try_break(&audit_breaks[i]);
	(void)run("rm -rf %s", copy);
}

int main(void)
{
	const int fd = mkstemp(key_file);

	if (fd < 0 || close(fd) != 0)
		return 1;
	make_site();
	CHECK(audit_is(service.dir, 0, "of a site whose service was killed"), "nothing is found");
	try_breaks();
	service_remove(&service);
	(void)unlink(key_file);
	return check_done();
}

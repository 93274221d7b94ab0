/*
 * test/replay/bridge/sealed.c - the MRD bridge and the page with keys of their own, as another user
 * than the service's: k-space, images and status are sealed, and neither reads the node's key
 */
/* Holds: S6 */
#define _GNU_SOURCE
#include <grp.h>
#include <sys/stat.h>

#include "test/support/service.h"

#include "test/support/mrd_client.h"
#include "test/support/page.h"

#define OTHER 65534u /* a user, and a group */
#define SITE                                                                                       \
	"node: { name = \"test\"; run_dir = \"run\"; cache_dir = \"\"; threads = 1;\n"             \
	"  " SERVICE_PATIENT " };\n"                                                               \
	"endpoints: { archive = \"\"; viewers = \"\"; kspace = \"tcp://127.0.0.1:%u\";\n"          \
	"  images = \"tcp://127.0.0.1:%u\"; status = \"tcp://127.0.0.1:%u\"; };\n"                 \
	"overload: { spill_dir = \"spill\"; spill_mib = 16; };\n"                                  \
	"keys: { own = \"%s\"; service = \"%s\"; peers = (\n"                                      \
	"  { name = \"bridge.mrd\"; key = \"%s\"; roles = [ \"scanner\", \"archive\" ]; },\n"      \
	"  { name = \"page\"; key = \"%s\"; roles = [ \"status\", \"viewer\" ]; } ); };\n"         \
	"%s" SERVICE_PROTOCOLS

static struct service s;
static unsigned port[3];
static char node[64], mrd[64], page[64]; /* public keys */

/* A line of shell in the test's folder, its words to the file tools. */
static bool run(const char *words)
{
	char command[1024];

	(void)snprintf(command, sizeof(command), "cd %s && { %s; } >tools 2>&1", s.dir, words);
	return system(command) == 0;
}

static bool said(const char *file, const char *words)
{
	static char text[1 << 20];
	char path[128];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", s.dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, words) != NULL;
}

static bool new_key(char key[64], const char *name)
{
	char words[128];
	char path[128];
	FILE *f;
	bool good;

	(void)snprintf(words, sizeof(words), "$BORESIDE key new %s.key", name);
	(void)snprintf(path, sizeof(path), "%s/tools", s.dir);
	good = run(words);
	f = good ? fopen(path, "r") : NULL;
	good = f != NULL && fscanf(f, "%63s", key) == 1;
	if (f != NULL)
		(void)fclose(f);
	return good;
}

static bool write_site(const char *name, const char *own, const char *more)
{
	char path[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", s.dir, name);
	f = fopen(path, "w");
	if (f == NULL)
		return false;
	(void)fprintf(f, SITE, port[0], port[1], port[2], own, node, mrd, page, more);
	return fclose(f) == 0;
}

/* Below those that the kernel gives to who connects. Another program may have one: then others. */
static bool start(void)
{
	unsigned draw = (unsigned)getpid() * 7919;

	for (int tries = 0; tries < 10; tries++) {
		for (int i = 0; i < 3; i++)
			port[i] = 10000 + (draw = draw * 1103515245u + 12345u) / 65536 % 20000;
		if (port[0] == port[1] || port[1] == port[2] || port[0] == port[2] ||
		    !write_site("site.cfg", "node.key", "") || !service_spawn(&s, NULL))
			continue;
		AWAIT(service_ended(&s) || run("$BORESIDE status -c site.cfg --wait 1"));
		if (!service_ended(&s))
			return true;
		(void)service_wait(&s);
	}
	return false;
}

/* Beside the service, as another user where that can be. */
static pid_t beside(const char *const words[])
{
	const pid_t pid = fork();
	char program[96];

	if (pid != 0)
		return pid;
	int fd = open(s.log, O_WRONLY | O_CREAT | O_APPEND, 0600);

	(void)dup2(fd, STDERR_FILENO);
	(void)dup2(fd, STDOUT_FILENO);
	(void)snprintf(program, sizeof(program), "%s/boreside", s.dir);
	if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(OTHER) != 0 || setuid(OTHER) != 0))
		_exit(126);
	(void)execv(program, (char *const *)(uintptr_t)words);
	_exit(127);
}

static bool end(pid_t pid)
{
	int status = -1;

	return kill(pid, SIGTERM) == 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

static bool prepare(void)
{
	(void)snprintf(s.dir, sizeof(s.dir), "/tmp/boreside-test-XXXXXX");
	if (mkdtemp(s.dir) == NULL || chmod(s.dir, 0755) != 0)
		return false;
	(void)snprintf(s.site, sizeof(s.site), "%s/site.cfg", s.dir);
	(void)snprintf(s.log, sizeof(s.log), "%s/log", s.dir);
	return new_key(node, "node") && new_key(mrd, "mrd") && new_key(page, "page") &&
	       run("cp $BORESIDE boreside && chmod 755 boreside");
}

/* Keys that the other user may read: its own file, and one of root's that its group may read, as
 * systemd hands over credentials. */
static bool hand_over(void)
{
	char path[2][128];

	if (geteuid() != 0)
		return true;
	(void)snprintf(path[0], sizeof(path[0]), "%s/mrd.key", s.dir);
	(void)snprintf(path[1], sizeof(path[1]), "%s/page.key", s.dir);
	return chown(path[0], OTHER, OTHER) == 0 && chown(path[1], 0, OTHER) == 0 &&
	       chmod(path[1], 0440) == 0;
}

static void through_the_bridge(pid_t *bridge)
{
	const char *const words[] = { "boreside", "bridge", "mrd", "-c", "bridge.cfg", NULL };
	int to;

	*bridge = beside(words);
	to = mrd_port(&s, 1);
	CHECK(to > 0, "a bridge with a key of its own");
	CHECK(mrd_scan(to, "cart", 2) == 2, "a scan through it has its two images");
	AWAIT(run("$BORESIDE status -c site.cfg --json") &&
	      said("tools", "\"asker\":\"bridge.mrd\""));
	CHECK(said("tools", "\"asker\":\"bridge.mrd\""), "it asked for them under its name");
}

static void on_the_page(pid_t *web)
{
	const char *const words[] = { "boreside", "web",         "-c", "page.cfg",
				      "--listen", "127.0.0.1:0", NULL };
	unsigned to = 0;

	*web = beside(words);
	AWAIT((to = page_port(&s, 1)) != 0);
	CHECK(to != 0, "a page with a key of its own");
	AWAIT(page_get(to, "/status.json") && strstr(page_text, "\"answers\":true") != NULL);
	CHECK(strstr(page_text, "\"endpoint\":\"status\"") != NULL, "has the status, sealed");
	AWAIT(page_get(to, "/metrics") && strstr(page_text, "\nboreside_up 1\n") != NULL);
	CHECK(strstr(page_text, "\nboreside_up 1\n") != NULL &&
		      strstr(page_text, "\nboreside_images_total 2\n") != NULL &&
		      strstr(page_text, "\nboreside_sealed_sessions_total{endpoint=\"images\"} ") !=
			      NULL &&
		      strstr(page_text, "\nboreside_sealed_refused_total{endpoint=\"kspace\","
					"why=\"connections\"} 0\n") != NULL,
	      "and the metrics");
	AWAIT(page_get(to, "/pictures.json") && strstr(page_text, "\"image\":2,") != NULL);
	CHECK(strstr(page_text, "\"image\":2,") != NULL, "and the images");
}

static void refusals(void)
{
	CHECK(write_site("wrong.cfg", "none.key",
			 "bridges: { mrd: { listen = \"tcp://127.0.0.1:0\"; key = \"other.key\"; "
			 "}; };\n") &&
		      run("$BORESIDE key new other.key") &&
		      !run("$BORESIDE bridge mrd -c wrong.cfg") &&
		      said("tools", "keys.peers' 'bridge.mrd' has another public key than this"),
	      "a key that is not the bridge's is told before it begins");
	CHECK(run("sed 's|service = \"[^\"]*\"|service = \"'$($BORESIDE key show other.key)'\"|' "
		  "site.cfg >stale.cfg") &&
		      !run("$BORESIDE check stale.cfg") &&
		      said("tools", "keys.service is not keys.own's public key"),
	      "so is a keys.service that is not the node's");
}

int main(void)
{
	pid_t bridge = -1;
	pid_t web = -1;

	(void)umask(022);
	if (geteuid() != 0)
		SKIP("as another user: only root can be one");
	if (!prepare() || !start()) {
		CHECK(0, "a service whose endpoints are sealed");
		service_remove(&s);
		return check_done();
	}
	/* in their site files the node's key is one that is not there */
	CHECK(write_site("bridge.cfg", "none.key",
			 "bridges: { mrd: { listen = \"tcp://127.0.0.1:0\"; pixels = \"float\"; "
			 "key = \"mrd.key\"; }; };\n") &&
		      write_site("page.cfg", "none.key", "web: { key = \"page.key\"; };\n") &&
		      hand_over() && chdir(s.dir) == 0,
	      "site files of the bridge's and the page's");
	through_the_bridge(&bridge);
	on_the_page(&web);
	CHECK(end(bridge), "the bridge ends with 0");
	CHECK(end(web), "so does the page");
	refusals();
	CHECK(service_stop(&s) == 0, "and the service");
	service_remove(&s);
	return check_done();
}

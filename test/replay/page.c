/*
 * test/replay/page.c - the page beside a service: what it serves, whom it refuses, what hostile and
 * stopped browsers do to a scan (nothing), and that no patient's name is in any of it
 */
/* Holds: W41 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "test/support/service.h"

#define NAME   "Doe-Jane-Q"
#define TOKEN  "0123456789abcdef0123"
#define STUCK  150
#define ANSWER (4u << 20)

static struct service s;
static struct peer p;
static char got[ANSWER]; /* the last answer, headers and all */
static size_t got_len;
static unsigned port;

static int connect_to(unsigned to)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)to) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* Bytes out, then all that comes until the other side closes; its status, 0: no answer. */
static int talk(unsigned to, const char *bytes, size_t len)
{
	const int64_t limit = await_limit();
	int fd = connect_to(to);
	ssize_t n = fd >= 0 ? send(fd, bytes, len, MSG_NOSIGNAL) : -1;
	int status = 0;

	got_len = 0;
	while (n > 0 && bs_now_ns() < limit && got_len < sizeof(got) - 1) {
		struct pollfd wait = { fd, POLLIN, 0 };

		if (poll(&wait, 1, 1000) <= 0)
			continue;
		n = recv(fd, got + got_len, sizeof(got) - 1 - got_len, 0);
		got_len += n > 0 ? (size_t)n : 0;
	}
	got[got_len] = '\0';
	if (fd >= 0)
		(void)close(fd);
	return sscanf(got, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

static int ask(unsigned to, const char *method, const char *path, const char *more)
{
	char request[512];
	int n = snprintf(request, sizeof(request),
			 "%s %s HTTP/1.1\r\nConnection: close\r\n%s%s\r\n", method, path,
			 strstr(more, "Host:") == NULL ? "Host: localhost\r\n" : "", more);

	return talk(to, request, (size_t)n);
}

static int get(const char *path)
{
	return ask(port, "GET", path, "");
}

/* What follows the headers. */
static const char *body(size_t *len)
{
	const char *at = strstr(got, "\r\n\r\n");

	*len = at != NULL ? got_len - (size_t)(at + 4 - got) : 0;
	return at != NULL ? at + 4 : "";
}

static bool has(const char *what)
{
	return strstr(got, what) != NULL;
}

/* run_dir/web.url has a port, and somebody answers there. */
static bool find_port(const char *run)
{
	char path[128];
	FILE *f;
	int n;

	(void)snprintf(path, sizeof(path), "%s/%s/web.url", s.dir, run);
	f = fopen(path, "r");
	if (f == NULL)
		return false;
	n = fscanf(f, "http://127.0.0.1:%u/\n", &port);
	(void)fclose(f);
	return n == 1 && get("/") == 200;
}

static void check_page(void)
{
	static const char *const files[] = { "/", "/page.css", "/page.js", "/view.js" };
	size_t sum = 0;
	size_t n;
	int outside = 0;
	int named = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		CHECK(get(files[i]) == 200 && has("default-src 'none'"), "%s is there", files[i]);
		const char *text = body(&n);

		sum += n;
		outside += strstr(text, "http://") != NULL || strstr(text, "https://") != NULL ||
			   strstr(text, "\"//") != NULL;
		named += strstr(text, NAME) != NULL;
	}
	CHECK(sum > 5000 && sum < 100000 && outside == 0 && named == 0,
	      "%zu bytes, no word of another host, no patient's name", sum);
	CHECK(ask(port, "HEAD", "/", "") == 200 && strcmp(body(&n), "") == 0 && n == 0,
	      "HEAD has no body");
	CHECK(get("/nothing") == 404 && has("there is /, /metrics"), "404 in words");
	CHECK(ask(port, "POST", "/metrics", "Content-Length: 3\r\n") == 405 &&
		      has("Allow: GET, HEAD"),
	      "POST: 405");
	CHECK(ask(port, "GET", "/metrics", "Host: evil.example\r\n") == 403 &&
		      ask(port, "GET", "/status.json", "Host: 127.0.0.1.evil.example:80\r\n") ==
			      403 &&
		      ask(port, "GET", "/pictures.json", "Host: 127.0.0.9:80\r\n") == 200 &&
		      ask(port, "GET", "/status.json", "Host: [::1]:8080\r\n") == 200,
	      "without a token under a loopback name alone");
	CHECK(get("/picture/99") == 404 && get("/picture/x") == 404 && get("/picture/-1") == 404,
	      "pictures that are not there");
}

/* A scan whose header names a patient. */
static bool named_scan(void)
{
	char xml[SERVICE_XML_MAX];
	char *at;
	size_t n = peer_xml(xml, "cart", true);
	const char subject[] = "<subjectInformation><patientName>" NAME "</patientName>"
			       "<patientID>" NAME "</patientID></subjectInformation>";

	at = strstr(xml, "<measurementInformation>");
	memmove(at + sizeof(subject) - 1, at, n - (size_t)(at - xml) + 1);
	memcpy(at, subject, sizeof(subject) - 1);
	if (!peer_begin_with(&p, "cart", xml, n + sizeof(subject) - 1))
		return false;
	for (unsigned i = 0; i < 32; i++)
		if (!peer_acq(&p, "cart", i, 0))
			return false;
	return peer_end(&p, 32) && p.outcome.code == 0;
}

static void check_picture(void)
{
	const char *pixels;
	unsigned most = 0;
	size_t n;

	AWAIT(get("/pictures.json") == 200 && has("\"number\":1,"));
	CHECK(has("\"image\":1,\"preview\":false,\"matrix\":[32,32,1],\"shown\":[32,32,1]") &&
		      has("\"quality\":\"complete\"") && !has(NAME),
	      "its image is a picture");
	CHECK(get("/picture/1") == 200, "and its pixels are there");
	pixels = body(&n);
	for (size_t i = 0; i + 1 < n; i += 2) {
		const unsigned v = (unsigned char)pixels[i] | (unsigned)(unsigned char)pixels[i + 1]
								      << 8;

		most = v > most ? v : most;
	}
	CHECK(n == (size_t)32 * 32 * 2 && most == 65535, "32 x 32 of 16 bits, the largest 65535");
}

static void check_documents(void)
{
	/* a busy service's answer may not be there within the page's second */
	AWAIT(get("/status.json") == 200 && has("\"answers\":true"));
	CHECK(has("\"answers\":true") && has("\"state\":") && has("\"folder\":") && !has(NAME),
	      "the status document");
	AWAIT(get("/metrics") == 200 && has("\nboreside_scans_total 1\n"));
	CHECK(has("text/plain; version=0.0.4") && has("\nboreside_up 1\n") &&
		      has("\nboreside_scans_total 1\n") &&
		      has("\nboreside_bridge_up{bridge=\"web\"} 1\n") && !has(NAME),
	      "the metrics");
	CHECK(service_logs(&s, "scan 1") && !service_logged(&s, NAME),
	      "no patient's name is in the log either");
}

/* Half of its lines are sent, all are said to have been. */
static void check_broken(void)
{
	bool good = peer_begin(&p, "cart");

	for (unsigned i = 0; good && i < 16; i++)
		good = peer_acq(&p, "cart", i, 0);
	CHECK(good && peer_end(&p, 32) && p.outcome.code != 0, "a scan that fails");
	AWAIT(get("/metrics") == 200 && has("\nboreside_scans_failed_total 1\n"));
	CHECK(has("\nboreside_scans_failed_total 1\n"), "is counted");
	/* the page's document may be a moment old */
	AWAIT(get("/status.json") == 200 && has("\"code\":-"));
	CHECK(has("\"scans\":[{\"number\":1,") && has("\"code\":-"),
	      "and the status says how it ended");
	CHECK(service_logs(&s, "audit: scan 2, "), "as does its audit line");
}

static void check_promtool(void)
{
	char command[300];
	size_t n;
	FILE *f;

	if (system("command -v promtool >/dev/null") != 0) {
		SKIP("promtool is not installed: its check of /metrics");
		return;
	}
	(void)snprintf(command, sizeof(command), "promtool check metrics >%s/promtool 2>&1", s.dir);
	(void)get("/metrics");
	f = popen(command, "w");
	if (f == NULL)
		abort();
	(void)fputs(body(&n), f);
	CHECK(pclose(f) == 0, "promtool check metrics finds nothing");
}

/* The page as a browser shows it. One that hangs, or cannot start here, is skipped. */
static int browse(void)
{
	char command[600];
	char file[128];
	FILE *f;
	int rc;

	(void)snprintf(
		command, sizeof(command),
		"HOME=%s timeout -k 5 %s chromium --headless=new --no-sandbox --disable-gpu "
		"--disable-dev-shm-usage --no-first-run --user-data-dir=%s/chromium "
		"--virtual-time-budget=5000 --dump-dom http://127.0.0.1:%u/ >%s/dom 2>%s/said",
		s.dir, CHECK_SANITIZED ? "20" : "30", s.dir, port, s.dir, s.dir);
	rc = system(command);
	(void)snprintf(file, sizeof(file), "%s/dom", s.dir);
	f = fopen(file, "r");
	got_len = f != NULL ? fread(got, 1, sizeof(got) - 1, f) : 0;
	got[got_len] = '\0';
	if (f != NULL)
		(void)fclose(f);
	return rc;
}

static bool drawn(void)
{
	return has("ready for a scan") && has("cart, scan ") && has("Scan 2 (cart) failed: ") &&
	       has("armed");
}

static void check_browser(void)
{
	int rc;

	if (system("command -v chromium >/dev/null") != 0) {
		SKIP("chromium is not installed: the page in a browser");
		return;
	}
	rc = browse();
	for (int i = 0; i < 3 && rc == 0 && !drawn(); i++) /* a busy machine's is late */
		rc = browse();
	if (rc != 0 || got_len == 0) {
		SKIP("chromium did not come to an end here (%d): the page in a browser", rc);
		return;
	}
	CHECK(drawn(),
	      "in chromium: the state, the image's words, the scan that failed, the protocols");
}

/* Memory of the page's process that is present, KiB. */
static long resident_kib(void)
{
	const long pid = service_number(&s, "\"name\":\"web\"", "pid");
	char path[64];
	long pages = -1;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%ld/statm", pid);
	f = fopen(path, "r");
	if (f != NULL && fscanf(f, "%*d %ld", &pages) != 1)
		pages = -1;
	if (f != NULL)
		(void)fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) >> 10);
}

static bool ended(int fd)
{
	char sink[4096];
	struct pollfd wait = { fd, POLLIN, 0 };
	ssize_t n;

	if (fd < 0 || poll(&wait, 1, 0) <= 0)
		return fd < 0;
	while ((n = recv(fd, sink, sizeof(sink), MSG_DONTWAIT)) > 0)
		;
	return n == 0 || (errno != EAGAIN && errno != EINTR);
}

/* Many that connect, ask for all there is, again and again, and never read; many that say nothing;
 * some that talk nonsense. */
static void check_stuck(void)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
				      "GET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
				      "GET /picture/1 HTTP/1.1\r\nHost: localhost\r\n\r\n";
	const long before = resident_kib();
	static char junk[60000];
	int fd[STUCK];
	int open = STUCK;

	for (int i = 0; i < STUCK; i++) {
		fd[i] = connect_to(port);
		for (int k = 0; i % 2 == 0 && k < 20; k++)
			(void)!send(fd[i], request, sizeof(request) - 1,
				    MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	memset(junk, 'x', sizeof(junk));
	CHECK(talk(port, junk, sizeof(junk)) != 200 && talk(port, "GET\r\n\r\n", 7) != 200,
	      "nonsense is not answered as if it were a question");
	CHECK(peer_good_scan(&p, "cart", 5), "a scan beside %d browsers that never read", STUCK);
	CHECK(get("/pictures.json") == 200, "the page answers who reads");
	if (CHECK_SANITIZED)
		SKIP("the page's memory: a sanitizer's is not its own");
	else
		CHECK(resident_kib() - before < 24576, "the page's memory grew by %ld KiB",
		      resident_kib() - before);
	/* those that hold something unread are ended; a silent one, too */
	for (int64_t limit = await_limit(); open > 0 && bs_now_ns() < limit;) {
		open = 0;
		for (int i = 1; i < STUCK; i += 2)
			open += !ended(fd[i]);
		await_pause_ms(50);
	}
	CHECK(open == 0, "who says nothing is ended: %d are not", open);
	for (int i = 0; i < STUCK; i++)
		if (fd[i] >= 0)
			(void)close(fd[i]);
}

/* The page's address, through a link that somebody planted. */
static char url[128], victim[128];

static void plant_link(void)
{
	FILE *f;

	(void)snprintf(url, sizeof(url), "%s/run/web.url", s.dir);
	(void)snprintf(victim, sizeof(victim), "%s/victim", s.dir);
	f = fopen(victim, "w");
	CHECK(f != NULL && fclose(f) == 0 && unlink(url) == 0 && symlink(victim, url) == 0,
	      "web.url is a link");
}

/* In the middle of a scan. */
static void check_kill(void)
{
	struct stat st;
	const pid_t pid = (pid_t)service_number(&s, "\"name\":\"web\"", "pid");
	bool good = peer_begin(&p, "cart");
	long now = 0;

	plant_link();
	for (unsigned i = 0; good && i < 32; i++) {
		if (i == 16)
			CHECK(kill(pid, SIGKILL) == 0, "the page is killed");
		good = peer_acq(&p, "cart", i, 0);
	}
	CHECK(good && peer_end(&p, 32) && p.outcome.code == 0 && p.outcome.images == 1,
	      "the scan does not notice");
	AWAIT((now = service_number(&s, "\"name\":\"web\"", "pid")) > 0 && now != pid);
	CHECK(now > 0 && now != pid, "the service has another page");
	AWAIT(find_port("run"));
	AWAIT(get("/metrics") == 200 && has("\nboreside_up 1\n"));
	CHECK(has("\nboreside_bridge_starts_total{bridge=\"web\"} 2\n") &&
		      has("\nboreside_worker_restarts_total{worker=\"emit\"} 0\n"),
	      "which answers; no worker was touched");
	CHECK(stat(victim, &st) == 0 && st.st_size == 0 && lstat(url, &st) == 0 &&
		      S_ISREG(st.st_mode),
	      "the link was replaced, not followed");
}

/* It serves and refuses what the one before did, and has pictures of its own. */
static void check_successor(void)
{
	const char *const paths[] = { "/metrics", "/status.json", "/scans.json", "/pictures.json" };
	static char many[16000];
	size_t len = 0;
	unsigned good = 0;

	check_page();
	AWAIT(get("/pictures.json") == 200 && has("\"connected\":true"));
	(void)service_number(&s, "", "uptime_s");
	(void)service_number(&s, "", "uptime_s");
	CHECK(named_scan(), "another scan of the patient");
	check_picture();
	CHECK(get("/picture/0") == 404 && get("/picture/1x") == 404 && has("a number of") &&
		      get("/picture/18446744073709551615") == 404 && has("not there any more"),
	      "numbers of no picture");
	CHECK(ask(port, "GET", "/metrics", "Host: localhost:8080\r\n") == 200 &&
		      ask(port, "GET", "/metrics", "Host: LocalHost\r\n") == 200 &&
		      ask(port, "GET", "/metrics", "Host: [::1]\r\n") == 200 &&
		      ask(port, "GET", "/metrics", "Host: 127.0.0.1:x:80\r\n") == 403 &&
		      ask(port, "GET", "/metrics", "Host: 127.evil\r\n") == 403,
	      "loopback names, with a port and without");
	CHECK(talk(port, "GET /metrics HTTP/1.0\r\n\r\n", 25) == 403,
	      "who calls it by no name is refused");
	for (unsigned i = 0; i < 100; i++) {
		int n = snprintf(many + len, sizeof(many) - len,
				 "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", paths[i % 4],
				 i == 99 ? "Connection: close\r\n" : "");

		len += (size_t)n;
	}
	(void)talk(port, many, len);
	for (const char *at = got; (at = strstr(at, "HTTP/1.1 200")) != NULL; at++)
		good++;
	CHECK(good == 100, "%u of 100 questions on one connection are answered", good);
	for (unsigned i = 0; i < 50; i++) { /* gone before its answer is there */
		int fd = connect_to(port);

		(void)!send(fd, many, 60, MSG_NOSIGNAL);
		if (fd >= 0)
			(void)close(fd);
	}
	CHECK(get("/status.json") == 200, "those that leave while they wait hold up nobody");
}

/* A page by hand; its status when it ends by itself. */
static pid_t by_hand(const char *listen)
{
	char file[128];
	pid_t pid = fork();

	if (pid == 0) {
		int fd = open(s.log, O_WRONLY | O_APPEND);

		(void)dup2(fd, STDERR_FILENO);
		(void)snprintf(file, sizeof(file), "%s/hand.cfg", s.dir);
		(void)execl(getenv("BORESIDE"), "boreside", "web", "-c", file, "--listen", listen,
			    (char *)NULL);
		_exit(127);
	}
	return pid;
}

static int status_of(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void write_token(const char *token, mode_t mode)
{
	char file[128];
	FILE *f;

	(void)snprintf(file, sizeof(file), "%s/token", s.dir);
	f = fopen(file, "w");
	(void)fchmod(fileno(f), mode);
	(void)fputs(token, f);
	(void)fclose(f);
}

/* Tokens that anybody may read or guess, and a file without one. */
static void check_bad_tokens(void)
{
	char token[400];

	CHECK(status_of(by_hand("127.0.0.1:0")) == 1 && service_logs(&s, "token: No such file"),
	      "no file of the token");
	write_token(TOKEN "\n", 0604);
	CHECK(status_of(by_hand("127.0.0.1:0")) == 1 && service_logs(&s, "anybody may read it"),
	      "a file that anybody may read");
	write_token("short\n", 0600);
	CHECK(status_of(by_hand("127.0.0.1:0")) == 1 && service_logs(&s, "printable characters"),
	      "a token that is short");
	write_token(TOKEN " " TOKEN, 0600);
	CHECK(status_of(by_hand("127.0.0.1:0")) == 1, "two words");
	write_token(TOKEN "\x7f", 0600);
	CHECK(status_of(by_hand("127.0.0.1:0")) == 1, "a character that nobody can type");
	memset(token, 'x', sizeof(token) - 1);
	token[sizeof(token) - 1] = '\0';
	write_token(token, 0600);
	CHECK(status_of(by_hand("127.0.0.1:0")) == 1, "one that is too long");
	CHECK(status_of(by_hand("0.0.0.0:0")) == 2 && service_logs(&s, "127.0.0.1:PORT"),
	      "an address that others reach");
}

/* Another program has the port: it is waited for. */
static void check_taken_port(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char listens[32];
	pid_t pid;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(bind(fd, (struct sockaddr *)&in, sizeof(in)) == 0 && listen(fd, 1) == 0 &&
		      getsockname(fd, (struct sockaddr *)&in, &len) == 0,
	      "a port is taken");
	(void)snprintf(listens, sizeof(listens), "127.0.0.1:%u", ntohs(in.sin_port));
	pid = by_hand(listens);
	CHECK(service_logs(&s, "it is tried again"), "which is said");
	(void)close(fd);
	AWAIT(find_port("hand") && port == ntohs(in.sin_port));
	CHECK(port == ntohs(in.sin_port), "once it is free, the page is there");
	(void)kill(pid, SIGTERM);
	CHECK(status_of(pid) == 0, "and ends when it is told to");
}

/* By hand, beside it, with a token. */
static void check_token(void)
{
	char text[1024];
	char file[128];
	pid_t pid;
	FILE *f;

	(void)snprintf(file, sizeof(file), "%s/hand.cfg", s.dir);
	(void)snprintf(text, sizeof(text),
		       "node: { name = \"hand\"; run_dir = \"hand\"; cache_dir = \"\"; };\n"
		       "endpoints: { status = \"%s\"; viewers = \"ipc://run/viewers.ipc\"; };\n"
		       "web: { token_file = \"token\"; };\n" SERVICE_PROTOCOLS,
		       s.status);
	f = fopen(file, "w");
	(void)fputs(text, f);
	(void)fclose(f);
	(void)snprintf(text, sizeof(text), "mkdir %s/hand", s.dir);
	CHECK(system(text) == 0, "a folder for it");
	check_bad_tokens();
	write_token(TOKEN "\n", 0600);
	pid = by_hand("127.0.0.1:0");
	AWAIT(find_port("hand"));
	CHECK(get("/status.json") == 401 && get("/metrics") == 401 &&
		      get("/pictures.json") == 401 && has("web.token_file"),
	      "with a token: 401 without it");
	CHECK(ask(port, "GET", "/metrics", "Authorization: Bearer " TOKEN "4\r\n") == 401 &&
		      ask(port, "GET", "/metrics", "Authorization: Bearer \r\n") == 401 &&
		      ask(port, "GET", "/metrics", "Authorization: Bearer 0\r\n") == 401,
	      "and with another");
	AWAIT(ask(port, "GET", "/metrics",
		  "Host: node.example\r\nAuthorization: Bearer " TOKEN "\r\n") == 200 &&
	      has("\nboreside_up 1\n"));
	CHECK(has("\nboreside_up 1\n"), "with it, under any name");
	(void)kill(pid, SIGTERM);
	CHECK(status_of(pid) == 0, "it ends when it is told to");
	check_taken_port();
	AWAIT(find_port("run"));
}

int main(void)
{
	if (!service_start_with(
		    &s, SERVICE_PATIENT,
		    "web: { listen = \"127.0.0.1:0\"; };\n" SERVICE_SINKS SERVICE_PROTOCOLS,
		    NULL) ||
	    !peer_open(&p, &s)) {
		printf("not ok the service starts\n");
		service_print_log(&s);
		return 1;
	}
	AWAIT(find_port("run"));
	check_page();
	AWAIT(get("/metrics") == 200 && has("boreside_ready 1"));
	/* a viewer connects in its own time (service_meets): images before that are not for it */
	AWAIT(get("/pictures.json") == 200 && has("\"connected\":true"));
	(void)service_number(&s, "", "uptime_s");
	(void)service_number(&s, "", "uptime_s");
	CHECK(named_scan(), "a scan of a patient with a name");
	check_documents();
	check_picture();
	check_promtool();
	check_broken();
	check_browser();
	check_stuck();
	check_kill();
	check_successor();
	check_token();
	peer_close(&p);
	CHECK(service_stop(&s) == 0 && get("/") == 0, "the service ends, and the page with it");
	service_remove(&s);
	return check_done();
}

/* board/web/web.c - see web.h */
#include "board/web/web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "board/web/answer.h"
#include "core/log.h"
#include "core/peers.h"
#include "core/thread/clock.h"
#include "drivers/file/draft.h"

#define WAIT_MS 1000
#define BIND_NS INT64_C(1000000000) /* time between two attempts to bind the port */
#define HANG_S  60u
/* bytes that the kernel buffers for a connection; it doubles this number */
#define SENT_BYTES (64 << 10)
#define MEMORY     (16u << 10)

/* Reads the token: one line of printable characters, in a file that not everybody may read. */
static int read_token(struct bs_web *w, struct bs_fail *why)
{
	const char *file = w->site->web.token_file;
	char line[BS_WEB_TOKEN_MAX + 3] = "";
	struct stat st;
	size_t n;
	FILE *f;

	if (file[0] == '\0')
		return 0;
	if (stat(file, &st) == 0 && !S_ISREG(st.st_mode))
		return bs_fail(why, BS_ERR_CONFIG, "web.token_file: %.160s: not a regular file",
			       file);
	f = fopen(file, "re");
	if (f == NULL)
		return bs_fail(why, BS_ERR_CONFIG, "web.token_file: %.160s: %s", file,
			       strerror(errno));
	n = fstat(fileno(f), &st) == 0 ? fread(line, 1, sizeof(line) - 1, f) : 0;
	(void)fclose(f);
	if (st.st_mode & S_IROTH)
		return bs_fail(why, BS_ERR_CONFIG,
			       "web.token_file: %.160s: anybody may read it: chmod o-r", file);
	if (n > 0 && line[n - 1] == '\n')
		n--;
	for (size_t i = 0; i < n; i++)
		if (line[i] <= ' ' || line[i] > '~')
			n = 0;
	if (n < BS_WEB_TOKEN_MIN || n > BS_WEB_TOKEN_MAX)
		return bs_fail(why, BS_ERR_CONFIG,
			       "web.token_file: %.160s: one line of %u to %u printable characters "
			       "is needed, as of openssl rand -hex 32",
			       file, BS_WEB_TOKEN_MIN, BS_WEB_TOKEN_MAX);
	memcpy(w->token, line, n);
	w->token[n] = '\0';
	return 0;
}

static int parse(const char *listen, uint32_t *address, uint16_t *port, struct bs_fail *why)
{
	char url[sizeof(((struct bs_web_spec *)0)->listen) + 8];

	(void)snprintf(url, sizeof(url), "tcp://%s", listen);
	return bs_peers_url(address, port, url, why);
}

bool bs_web_loopback(const char *listen)
{
	struct bs_fail why;
	uint32_t address;
	uint16_t port;

	return parse(listen, &address, &port, &why) == 0 && address >> 24 == 127;
}

/* Opens a listening socket; -1: *why says why not. */
static int listen_at(const struct bs_site *site, struct bs_fail *why)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	const int sent = SENT_BYTES;
	const int yes = 1;
	uint32_t address;
	uint16_t port;
	int fd;

	if (parse(site->web.listen, &address, &port, why) != 0)
		return -1;
	in.sin_addr.s_addr = htonl(address);
	in.sin_port = htons(port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sent, sizeof(sent)) != 0 ||
	    bind(fd, (struct sockaddr *)&in, sizeof(in)) != 0 || listen(fd, 64) != 0) {
		(void)bs_fail(why, BS_ERR_IO, "web.listen: %s: %s", site->web.listen,
			      strerror(errno));
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	return fd;
}

/* Opens the socket; tries again while another program has the port, which is reported once. */
static int open_socket(const struct bs_site *site, const volatile sig_atomic_t *stop)
{
	struct bs_fail why;
	bool said = false;
	int fd;

	while ((fd = listen_at(site, &why)) < 0 && !*stop) {
		if (!said)
			bs_log(BS_LOG_ERROR, "%s; it is tried again", why.text);
		said = true;
		bs_sleep_ns(BIND_NS);
		(void)alarm(said ? HANG_S : 0);
	}
	return fd;
}

/* Writes the page's address to run_dir/web.url, where tools look for the port. */
static void tell_address(const struct bs_site *site, int fd)
{
	struct sockaddr_in in = { 0 };
	socklen_t len = sizeof(in);
	char path[BS_PATH_MAX_ + 16];
	char text[INET_ADDRSTRLEN] = "";
	char line[INET_ADDRSTRLEN + 24];
	struct bs_draft d;
	struct bs_fail why;
	int rc;

	if (getsockname(fd, (struct sockaddr *)&in, &len) != 0 ||
	    inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text)) == NULL)
		return;
	bs_log(BS_LOG_INFO, "the page is at http://%s:%u/", text, ntohs(in.sin_port));
	(void)snprintf(path, sizeof(path), "%s/" BS_WEB_URL, site->run_dir);
	(void)snprintf(line, sizeof(line), "http://%s:%u/\n", text, ntohs(in.sin_port));
	rc = bs_draft_open(&d, path, &why);
	if (rc == 0) {
		rc = bs_draft_write(&d, line, strlen(line), &why);
		rc = bs_draft_end(&d, rc, path, BS_DRAFT_REPLACE, &why);
	}
	if (rc != 0)
		bs_log(BS_LOG_WARN, "%s", why.text);
}

static void say_nothing(void *arg, const char *fmt, va_list ap)
{
	(void)arg; /* a browser's errors are not logged */
	(void)fmt;
	(void)ap;
}

static struct MHD_Daemon *start_daemon(struct bs_web *w, int fd)
{
	return MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
		bs_web_answer, w, MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, BS_WEB_CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, BS_WEB_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)MEMORY, MHD_OPTION_NOTIFY_COMPLETED, bs_web_answered, w, MHD_OPTION_END);
}

static void serve_page(struct bs_web *w, struct MHD_Daemon *m, bool supervised,
		       const volatile sig_atomic_t *stop)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(m, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[2] = { { info->epoll_fd, POLLIN, 0 },
				 { w->documents.done_fd, POLLIN, 0 } };
	eventfd_t n;

	while (!*stop) {
		MHD_UNSIGNED_LONG_LONG ms = WAIT_MS;

		if (supervised)
			/* a hang ends this process; the service starts another */
			(void)alarm(HANG_S);
		if (MHD_get_timeout(m, &ms) != MHD_YES || ms > WAIT_MS)
			ms = WAIT_MS;
		(void)poll(fds, 2, (int)ms);
		if (eventfd_read(w->documents.done_fd, &n) == 0)
			bs_web_resume(w);
		(void)MHD_run(m);
	}
	bs_web_resume(w);
}

int bs_web_run(const struct bs_site *site, bool supervised, const volatile sig_atomic_t *stop)
{
	static struct bs_web w;
	struct MHD_Daemon *m = NULL;
	struct bs_fail why = { 0 };
	int fd = -1;
	int rc;

	w.site = site;
	rc = read_token(&w, &why);
	if (rc != 0) {
		bs_log(BS_LOG_ERROR, "%s", why.text);
		return 1;
	}
	rc = bs_documents_open(&w.documents, site, &why);
	if (rc == 0)
		rc = bs_web_taker_open(&w.taker, &w.documents, &why);
	if (rc == 0)
		fd = open_socket(site, stop);
	if (rc == 0 && fd >= 0) {
		m = start_daemon(&w, fd);
		rc = m != NULL ? 0 : bs_fail(&why, BS_ERR_IO, "the page's server");
	}
	if (rc == 0 && m != NULL) {
		tell_address(site, fd);
		serve_page(&w, m, supervised, stop);
	}
	if (rc != 0)
		bs_log(BS_LOG_ERROR, "%s: %s", bs_err_name(rc), why.text);
	if (m != NULL)
		MHD_stop_daemon(m);
	else if (fd >= 0)
		(void)close(fd);
	bs_web_taker_close(&w.taker);
	bs_documents_close(&w.documents);
	return rc == 0 ? 0 : 1;
}

/* ipc/url.c - see url.h */
#include "ipc/url.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/thread/clock.h"

#define IPC "ipc://"
#define TCP "tcp://"

/* bytes of a tcp socket's buffer: the default stalls long messages */
#define SOCKET_BUFFER (4 * 1024 * 1024)
#define BACKLOG       4096
#define LEAVING_NS    INT64_C(1000000000) /* time until a process that was killed is gone */
#define LOOK_NS       INT64_C(2000000)

bool bs_url_is_ipc(const char *url)
{
	return strncmp(url, IPC, strlen(IPC)) == 0;
}

static int parse_tcp(const char *url, bool sealed, struct sockaddr_in *to, struct bs_fail *why)
{
	const char *host = url + strlen(TCP);
	const char *colon = strrchr(host, ':');
	char text[INET_ADDRSTRLEN];
	size_t n = colon != NULL ? (size_t)(colon - host) : 0;
	long port = 0;

	if (colon != NULL && strlen(colon + 1) <= 5 &&
	    strspn(colon + 1, "0123456789") == strlen(colon + 1))
		port = strtol(colon + 1, NULL, 10);
	if (n == 0 || n >= sizeof(text) || port < 1 || port > 65535)
		return bs_fail(why, BS_ERR_CONFIG, "%s: not tcp://ADDRESS:PORT", url);
	memcpy(text, host, n);
	text[n] = '\0';
	to->sin_family = AF_INET;
	to->sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, text, &to->sin_addr) != 1)
		return bs_fail(why, BS_ERR_CONFIG, "%s: an address as 10.0.0.7 is wanted", url);
	if (!sealed && ntohl(to->sin_addr.s_addr) >> 24 != 127)
		return bs_fail(why, BS_ERR_CONFIG,
			       "%s: only loopback addresses (127.x.y.z) are allowed over tcp, but "
			       "where it is sealed: with keys",
			       url);
	return 0;
}

static int parse_ipc(const char *url, struct sockaddr_un *to, struct bs_fail *why)
{
	const char *path = url + strlen(IPC);
	const size_t n = strlen(path);

	if (n == 0 || n >= sizeof(to->sun_path))
		return bs_fail(why, BS_ERR_CONFIG,
			       "%s: the path has %zu bytes, 1 to %zu are possible", url, n,
			       sizeof(to->sun_path) - 1);
	to->sun_family = AF_UNIX;
	memcpy(to->sun_path, path, n + 1);
	return 0;
}

int bs_url_parse(const char *url, bool sealed, struct bs_address *to, struct bs_fail *why)
{
	memset(to, 0, sizeof(*to));
	if (bs_url_is_ipc(url)) {
		to->len = sizeof(to->un);
		return parse_ipc(url, &to->un, why);
	}
	if (strncmp(url, TCP, strlen(TCP)) == 0) {
		to->len = sizeof(to->in);
		return parse_tcp(url, sealed, &to->in, why);
	}
	return bs_fail(why, BS_ERR_CONFIG, "%s: the transport must be ipc:// or tcp://", url);
}

/* Returns true if some process accepts connections at this socket file. */
static bool alive(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool yes;

	if (fd < 0)
		return true; /* when in doubt, the file is left to the process that may serve it */
	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	yes = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 || errno == EAGAIN;
	(void)close(fd);
	return yes;
}

static int not_a_socket(const char *url, struct bs_fail *why)
{
	return bs_fail(why, BS_ERR_IO, "%s: a file that is no socket stands there", url);
}

/* made: a folder that the caller makes, and whose faults the caller reports; NULL: none. */
static int check_directory(const char *url, const char *path, const char *made, struct bs_fail *why)
{
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char *slash;
	struct stat st;
	int rc;

	(void)snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash == NULL)
		(void)snprintf(dir, sizeof(dir), ".");
	else
		slash[slash == dir ? 1 : 0] = '\0';
	rc = stat(dir, &st);
	if (made != NULL && strcmp(dir, made) == 0 && (rc != 0 || !S_ISDIR(st.st_mode)))
		return 0;
	if (rc != 0 || access(dir, W_OK | X_OK) != 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s: %s", url, dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return bs_fail(why, BS_ERR_IO, "%s: %s is not a directory", url, dir);
	if ((st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0)
		return bs_fail(why, BS_ERR_IO, "%s: anybody may write in %s (mode %03o)", url, dir,
			       (unsigned)st.st_mode & 0777);
	return 0;
}

int bs_url_place(const char *url, bool sealed, const char *made, struct bs_fail *why)
{
	const char *path = url + strlen(IPC);
	struct stat st;
	struct bs_address to;
	int rc = bs_url_parse(url, sealed, &to, why);

	if (rc == 0 && bs_url_is_ipc(url)) {
		rc = check_directory(url, path, made, why);
		if (rc == 0 && lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
			rc = not_a_socket(url, why);
	}
	return rc;
}

int bs_url_enter(const char *url, struct bs_fail *why)
{
	const char *path = url + strlen(IPC);
	char at[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const struct group *group;
	struct stat st = { 0 };

	if (!bs_url_is_ipc(url) || access(path, W_OK) == 0 || errno != EACCES)
		return 0;
	(void)snprintf(at, sizeof(at), "%s", path);
	/* up to the folder that cannot be entered */
	while (stat(at, &st) != 0 && strrchr(at, '/') > at)
		*strrchr(at, '/') = '\0';
	group = getgrgid(st.st_gid);
	if (group == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: this user may not enter %s (mode %03o)", url,
			       at, (unsigned)st.st_mode & 0777);
	return bs_fail(why, BS_ERR_IO,
		       "%s: this user may not enter %s, group %s may: adduser USER %s, and log in "
		       "again",
		       url, at, group->gr_name, group->gr_name);
}

static int clear_path(const char *url, bool *served, struct bs_fail *why)
{
	const char *path = url + strlen(IPC);
	struct stat st;
	int rc = check_directory(url, path, NULL, why);

	if (rc != 0)
		return rc;
	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0
				       : bs_fail(why, BS_ERR_IO, "%s: %s", url, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return not_a_socket(url, why);
	*served = alive(path);
	if (*served)
		return bs_fail(why, BS_ERR_IO, "%s: another process serves it", url);
	if (unlink(path) != 0 && errno != ENOENT)
		return bs_fail(why, BS_ERR_IO, "%s: %s", url, strerror(errno));
	return 0;
}

/* Waits for a process that was killed, which may still serve the socket for a moment. */
int bs_url_clear(const char *url, struct bs_fail *why)
{
	const int64_t until = bs_now_ns() + LEAVING_NS;
	bool served = false;
	int rc;

	if (!bs_url_is_ipc(url))
		return 0;
	rc = clear_path(url, &served, why);
	while (rc != 0 && served && bs_now_ns() < until) {
		bs_sleep_ns(LOOK_NS);
		rc = clear_path(url, &served, why);
	}
	return rc;
}

const char *bs_url_path(const char *url)
{
	return url + strlen(IPC);
}

int bs_url_listen(const char *url, bool sealed, int *fd, struct bs_fail *why)
{
	const bool ipc = bs_url_is_ipc(url);
	const int one = 1;
	const int bytes = SOCKET_BUFFER;
	struct bs_address at;
	int rc = bs_url_parse(url, sealed, &at, why);

	*fd = -1;
	if (rc == 0)
		rc = bs_url_clear(url, why);
	if (rc != 0)
		return rc;
	*fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return bs_fail(why, BS_ERR_IO, "%s: socket: %s", url, strerror(errno));
	if (!ipc) {
		(void)setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		(void)setsockopt(*fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	}
	rc = bind(*fd, &at.any, at.len);
	/* the mode is set here: no process can connect before the socket listens */
	if (rc == 0 && ipc)
		rc = chmod(bs_url_path(url), BS_URL_MODE);
	if (rc == 0)
		rc = listen(*fd, BACKLOG);
	if (rc != 0) {
		rc = bs_fail(why, BS_ERR_IO, "%s: bind: %s", url, strerror(errno));
		(void)close(*fd);
		*fd = -1;
	}
	return rc;
}

void bs_url_tune(int fd)
{
	static const struct {
		int level, name, value;
	} all[] = { { IPPROTO_TCP, TCP_NODELAY, 1 },
		    { SOL_SOCKET, SO_KEEPALIVE, 1 },
		    /* idle time in seconds before the first probe */
		    { IPPROTO_TCP, TCP_KEEPIDLE, 60 },
		    { IPPROTO_TCP, TCP_KEEPINTVL, 15 },
		    { IPPROTO_TCP, TCP_KEEPCNT, 4 } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		(void)setsockopt(fd, all[i].level, all[i].name, &all[i].value,
				 sizeof(all[i].value));
}

int bs_url_name_peer(int fd, char *out, size_t cap)
{
	struct bs_address from = { .len = sizeof(from.un) };
	struct ucred who = { 0 };
	char text[INET_ADDRSTRLEN] = "";
	socklen_t n = sizeof(who);

	out[0] = '\0';
	if (getpeername(fd, &from.any, &from.len) != 0)
		return 0;
	if (from.any.sa_family == AF_UNIX && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0)
		(void)snprintf(out, cap, "process %d of user %u", (int)who.pid, (unsigned)who.uid);
	else if (from.any.sa_family == AF_INET &&
		 inet_ntop(AF_INET, &from.in.sin_addr, text, sizeof(text)) != NULL)
		(void)snprintf(out, cap, "%s:%u", text, (unsigned)ntohs(from.in.sin_port));
	return (int)who.pid;
}

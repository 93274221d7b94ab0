/*
 * test/unit/ipc/test_endpoint.c - real nanomsg sockets: the roles, the limits, and what must be
 * refused
 *
 * Every socket lives in a fresh temporary directory, so that parallel runs never meet.
 */
/* Holds: W22, S5 */
#define _GNU_SOURCE
#include "ipc/endpoint.h"
#include "core/thread/clock.h"
#include "ipc/url.h"
#include "test/support/await.h"
#include "test/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX (1u << 20)

static char dir[] = "/tmp/boreside-endpoint-XXXXXX";
static unsigned char big[MAX + 1000], back[MAX + 1000];

static const char *in_dir(const char *name)
{
	static char path[4][128];
	static int turn;
	char *p = path[turn++ % 4];

	(void)snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

static const char *url_of(const char *name)
{
	static char url[128];

	(void)snprintf(url, sizeof(url), "ipc://%s/%s", dir, name);
	return url;
}

static void refusals(void)
{
	static const char *const urls[] = {
		"ws://127.0.0.1:9000",
		"inproc://x",
		"tcp://192.168.0.1:9000",
		"tcp://*:9000",
		"tcp://0.0.0.0:9000",
		"tcp://localhost:9000",
		"tcp://127.0.0.1",
		"tcp://127.0.0.1:0",
		"tcp://127.0.0.1:65536",
		"tcp://eth0;127.0.0.1:80",
		"ipc://",
		"",
		"tcp://127.0.0.1:8x",
		"tcp://127.0.0.1:",
		"/tmp/x",
	};
	char path[300];
	struct bs_endpoint e;
	struct bs_fail why;
	struct stat st;
	int fd;

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		CHECK(bs_endpoint_bind(&e, BS_ENDPOINT_KSPACE, urls[i], MAX, &why) ==
				      BS_ERR_CONFIG &&
			      e.socket == -1,
		      "bind refused: %s", why.text);
		CHECK(bs_endpoint_connect(&e, BS_ENDPOINT_KSPACE, urls[i], MAX, &why) ==
			      BS_ERR_CONFIG,
		      "connect refused: %s", why.text);
	}
	memset(path, 'a', sizeof(path) - 1);
	memcpy(path, "ipc:///tmp/", 11);
	path[sizeof(path) - 1] = '\0';
	CHECK(bs_endpoint_bind(&e, BS_ENDPOINT_KSPACE, path, MAX, &why) == BS_ERR_CONFIG,
	      "a path beyond sun_path is refused");
	CHECK(bs_endpoint_bind(&e, BS_ENDPOINT_KSPACE, url_of("k"), 0, &why) == BS_ERR_CONFIG &&
		      bs_endpoint_bind(&e, BS_ENDPOINT_KSPACE, url_of("k"), SIZE_MAX, &why) ==
			      BS_ERR_CONFIG,
	      "message_max 0 and beyond int: %s", why.text);
	CHECK(bs_endpoint_bind(&e, BS_ENDPOINT_KSPACE, url_of("none/k"), MAX, &why) == BS_ERR_IO,
	      "no directory: %s", why.text);

	fd = open(in_dir("precious"), O_CREAT | O_WRONLY, 0600);
	CHECK(fd >= 0 && write(fd, "keep", 4) == 4 && close(fd) == 0, "a regular file is made");
	CHECK(bs_endpoint_bind(&e, BS_ENDPOINT_KSPACE, url_of("precious"), MAX, &why) == BS_ERR_IO,
	      "regular file: %s", why.text);
	CHECK(stat(in_dir("precious"), &st) == 0 && st.st_size == 4, "the file is still there");
	CHECK(symlink("precious", in_dir("link")) == 0 &&
		      bs_endpoint_bind(&e, BS_ENDPOINT_KSPACE, url_of("link"), MAX, &why) ==
			      BS_ERR_IO &&
		      lstat(in_dir("link"), &st) == 0 && S_ISLNK(st.st_mode),
	      "a symbolic link is refused and stays");
	CHECK(mkdir(in_dir("open"), 0777) == 0 && chmod(in_dir("open"), 0777) == 0 &&
		      bs_endpoint_bind(&e, BS_ENDPOINT_KSPACE, url_of("open/k"), MAX, &why) ==
			      BS_ERR_IO,
	      "a directory where anybody writes: %s", why.text);
	(void)unlink(in_dir("precious"));
	(void)unlink(in_dir("link"));
	(void)rmdir(in_dir("open"));
}

static void socket_files(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct bs_endpoint a;
	struct bs_endpoint b;
	struct bs_fail why;
	struct stat st;
	mode_t before = umask(0);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s/stale", dir);
	CHECK(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && close(fd) == 0,
	      "a stale socket is left behind");
	CHECK(bs_endpoint_bind(&a, BS_ENDPOINT_KSPACE, url_of("stale"), MAX, &why) == 0,
	      "a stale socket is replaced");
	CHECK(lstat(in_dir("stale"), &st) == 0 && S_ISSOCK(st.st_mode) &&
		      (st.st_mode & 0777) == 0660,
	      "the socket is for owner and group only (mode %03o)", st.st_mode & 0777);
	CHECK(umask(0) == 0, "the process's own umask is back");
	(void)umask(before);
	CHECK(bs_endpoint_bind(&b, BS_ENDPOINT_KSPACE, url_of("stale"), MAX, &why) == BS_ERR_IO,
	      "a live socket: %s", why.text);
	CHECK(bs_endpoint_connect(&b, BS_ENDPOINT_KSPACE, url_of("stale"), MAX, &why) == 0 &&
		      bs_endpoint_send(&b, "x", 1, NULL, 0, AWAIT_MS, &why) == 0,
	      "the live one still serves after that");
	bs_endpoint_close(&b);
	bs_endpoint_close(&a);
	bs_endpoint_close(&a);
	CHECK(a.socket == -1, "closing twice is harmless");
}

static _Atomic unsigned listened;
static _Atomic bool enough;

static void *listen_again(void *arg)
{
	struct bs_fail why;
	int fd;

	while (!atomic_load(&enough) && bs_url_listen(arg, false, &fd, &why) == 0) {
		(void)close(fd);
		atomic_fetch_add(&listened, 1);
	}
	return NULL;
}

/* k-space's socket has its mode whatever the umask; files of other threads keep the umask's. */
static void listening(void)
{
	static const mode_t masks[] = { 0, 022, 0177 };
	const mode_t before = umask(0);
	char url[128];
	struct stat st = { .st_mode = 0 };
	struct bs_fail why;
	pthread_t thread;
	unsigned other = 0;
	unsigned made = 0;
	int fd;

	(void)snprintf(url, sizeof(url), "%s", url_of("listens"));
	for (int i = 0; i < 3; i++) {
		(void)umask(masks[i]);
		CHECK(bs_url_listen(url, false, &fd, &why) == 0 &&
			      stat(in_dir("listens"), &st) == 0 && (st.st_mode & 0777) == 0660,
		      "under umask %03o: mode %03o", masks[i], st.st_mode & 0777);
		(void)close(fd);
	}
	(void)umask(022);
	CHECK(pthread_create(&thread, NULL, listen_again, url) == 0, "it listens again and again");
	AWAIT(atomic_load(&listened) > 0);
	while (made < 20000 || atomic_load(&listened) < 1000) {
		const char *path = in_dir("folder");

		other += mkdir(path, 0750) != 0 || stat(path, &st) != 0 ||
			 (st.st_mode & 0777) != 0750;
		if (rmdir(path) != 0 || ++made == 1000000)
			break;
	}
	atomic_store(&enough, true);
	(void)pthread_join(thread, NULL);
	(void)umask(before);
	CHECK(other == 0 && made >= 20000,
	      "%u of %u folders made meanwhile have another mode than 750", other, made);
	(void)unlink(in_dir("listens"));
}

/* Waits on the descriptor that the endpoint gives, then receives. */
static int take(struct bs_endpoint *e, size_t cap, size_t *len, struct bs_fail *why)
{
	const int64_t until_ns = bs_now_ns() + AWAIT_MS * INT64_C(1000000);
	struct pollfd p = { .fd = e->receive_fd, .events = POLLIN };
	int rc;

	do {
		rc = bs_endpoint_wait(&p, 1, until_ns, why);
		if (rc == 0)
			rc = bs_endpoint_recv(e, back, cap, len, 0, why);
	} while (rc == BS_ENDPOINT_TIMEOUT && bs_now_ns() < until_ns);
	return rc;
}

static void pair_on(const char *url)
{
	struct bs_endpoint service;
	struct bs_endpoint sender;
	struct bs_fail why = { 0 };
	size_t len = 0;

	CHECK(bs_endpoint_bind(&service, BS_ENDPOINT_KSPACE, url, MAX, &why) == 0, "bind %s %s",
	      url, why.text);
	CHECK(bs_endpoint_recv(&service, back, sizeof(back), &len, 0, &why) ==
			      BS_ENDPOINT_TIMEOUT &&
		      bs_endpoint_recv(&service, back, sizeof(back), &len, 5, &why) ==
			      BS_ENDPOINT_TIMEOUT,
	      "nothing to receive is a timeout");
	CHECK(bs_endpoint_send(&service, "x", 1, NULL, 0, 5, &why) == BS_ENDPOINT_TIMEOUT,
	      "nobody to send to is a timeout");
	CHECK(bs_endpoint_connect(&sender, BS_ENDPOINT_KSPACE, url, MAX, &why) == 0, "connect");
	CHECK(bs_endpoint_send(&sender, "head", 4, big, 100000, AWAIT_MS, &why) == 0 &&
		      take(&service, sizeof(back), &len, &why) == 0 && len == 100004 &&
		      memcmp(back, "head", 4) == 0 && memcmp(back + 4, big, 100000) == 0,
	      "two pieces arrive as one message (%zu bytes)", len);
	CHECK(bs_endpoint_send(&service, "answer", 6, NULL, 0, AWAIT_MS, &why) == 0 &&
		      take(&sender, sizeof(back), &len, &why) == 0 && len == 6 &&
		      memcmp(back, "answer", 6) == 0,
	      "the service answers");
	CHECK(bs_endpoint_send(&sender, big, MAX, NULL, 0, AWAIT_MS, &why) == 0 &&
		      take(&service, sizeof(back), &len, &why) == 0 && len == MAX &&
		      memcmp(back, big, MAX) == 0,
	      "the largest message arrives");
	memset(back, 0, sizeof(back));
	CHECK(bs_endpoint_send(&sender, big, 5000, NULL, 0, AWAIT_MS, &why) == 0 &&
		      take(&service, 1000, &len, &why) == BS_ERR_LENGTH && len == 5000 &&
		      memcmp(back, big, 1000) == 0 && back[1000] == 0,
	      "short buffer: %s; its length is told", why.text);
	CHECK(bs_endpoint_send(&sender, "next", 4, NULL, 0, AWAIT_MS, &why) == 0 &&
		      take(&service, 1000, &len, &why) == 0 && len == 4,
	      "and the next is whole");
	CHECK(bs_endpoint_connections_now(&service) == 1 &&
		      bs_endpoint_connections_now(&sender) == 1,
	      "one connection on each side");

	uint64_t were = bs_endpoint_connections(&sender);

	CHECK(bs_endpoint_send(&sender, big, MAX + 1, NULL, 0, AWAIT_MS, &why) == 0,
	      "a message beyond the limit is taken by the library");
	CHECK(bs_endpoint_recv(&service, back, sizeof(back), &len, 100, &why) ==
		      BS_ENDPOINT_TIMEOUT,
	      "and does not arrive");
	AWAIT(bs_endpoint_connections(&sender) > were);
	CHECK(bs_endpoint_connections(&sender) > were, "the connection was remade and counted");
	CHECK(bs_endpoint_send(&sender, "after", 5, NULL, 0, AWAIT_MS, &why) == 0 &&
		      take(&service, 1000, &len, &why) == 0 && len == 5,
	      "and works again");

	bs_endpoint_close(&service);
	CHECK(bs_endpoint_bind(&service, BS_ENDPOINT_KSPACE, url, MAX, &why) == 0,
	      "the service comes back %s", why.text);
	CHECK(bs_endpoint_send(&service, "hello", 5, NULL, 0, AWAIT_MS, &why) == 0 &&
		      take(&sender, 1000, &len, &why) == 0 && len == 5,
	      "and the sender is connected again by itself");
	bs_endpoint_close(&sender);
	bs_endpoint_close(&service);
}

/* A second peer of a PAIR is locked out, and the first is not disturbed. */
static void second_peer(void)
{
	struct bs_endpoint service;
	struct bs_endpoint first;
	struct bs_endpoint second;
	struct bs_fail why;
	size_t len;

	CHECK(bs_endpoint_bind(&service, BS_ENDPOINT_KSPACE, url_of("two"), MAX, &why) == 0 &&
		      bs_endpoint_connect(&first, BS_ENDPOINT_KSPACE, url_of("two"), MAX, &why) ==
			      0,
	      "service and first peer");
	CHECK(bs_endpoint_send(&first, "1", 1, NULL, 0, AWAIT_MS, &why) == 0 &&
		      take(&service, 10, &len, &why) == 0,
	      "the first is in");
	CHECK(bs_endpoint_connect(&second, BS_ENDPOINT_KSPACE, url_of("two"), MAX, &why) == 0,
	      "second");
	(void)bs_endpoint_send(&second, "2", 1, NULL, 0, 100, &why);
	CHECK(bs_endpoint_send(&first, "1", 1, NULL, 0, AWAIT_MS, &why) == 0 &&
		      take(&service, 10, &len, &why) == 0 && back[0] == '1',
	      "the second is not heard, the first is");
	bs_endpoint_close(&second);
	bs_endpoint_close(&first);
	bs_endpoint_close(&service);
}

static void other_roles(void)
{
	struct bs_endpoint out;
	struct bs_endpoint in;
	struct bs_fail why;
	size_t len;
	int rc = BS_ENDPOINT_TIMEOUT;

	CHECK(bs_endpoint_bind(&out, BS_ENDPOINT_ARCHIVE_OUT, url_of("archive"), MAX, &why) == 0 &&
		      bs_endpoint_send(&out, "x", 1, NULL, 0, 5, &why) == BS_ENDPOINT_TIMEOUT,
	      "an archive that is away is a timeout");
	CHECK(out.receive_fd == -1 && out.send_fd >= 0, "PUSH has no descriptor to receive");
	CHECK(bs_endpoint_connect(&in, BS_ENDPOINT_ARCHIVE_IN, url_of("archive"), MAX, &why) == 0 &&
		      bs_endpoint_send(&out, "head", 4, "body", 4, AWAIT_MS, &why) == 0 &&
		      take(&in, 100, &len, &why) == 0 && len == 8 &&
		      memcmp(back, "headbody", 8) == 0,
	      "archive: PUSH to PULL");
	bs_endpoint_close(&in);
	bs_endpoint_close(&out);

	CHECK(bs_endpoint_bind(&out, BS_ENDPOINT_VIEWERS_OUT, url_of("viewers"), MAX, &why) == 0 &&
		      bs_endpoint_send(&out, "x", 1, NULL, 0, 5, &why) == 0,
	      "a viewer that is away costs nothing");
	CHECK(bs_endpoint_connect(&in, BS_ENDPOINT_VIEWERS_IN, url_of("viewers"), MAX, &why) == 0,
	      "viewer");
	AWAIT(bs_endpoint_send(&out, "image", 5, NULL, 0, 0, &why) == 0 &&
	      (rc = bs_endpoint_recv(&in, back, 100, &len, 50, &why)) != BS_ENDPOINT_TIMEOUT);
	CHECK(rc == 0 && len == 5, "viewers: PUB to SUB");
	bs_endpoint_close(&in);
	bs_endpoint_close(&out);

	CHECK(bs_endpoint_bind(&in, BS_ENDPOINT_STATUS, url_of("status"), MAX, &why) == 0 &&
		      bs_endpoint_connect(&out, BS_ENDPOINT_STATUS_ASK, url_of("status"), MAX,
					  &why) == 0,
	      "status: REP and REQ");
	CHECK(bs_endpoint_send(&in, "x", 1, NULL, 0, 0, &why) == BS_ERR_STATE,
	      "an answer to no question: %s", why.text);
	CHECK(bs_endpoint_send(&out, "?", 1, NULL, 0, AWAIT_MS, &why) == 0 &&
		      take(&in, 100, &len, &why) == 0 &&
		      bs_endpoint_send(&in, "{}", 2, NULL, 0, AWAIT_MS, &why) == 0 &&
		      take(&out, 100, &len, &why) == 0 && len == 2,
	      "a question and its answer");
	bs_endpoint_close(&in);
	bs_endpoint_close(&out);
}

static void on_signal(int number)
{
	(void)number;
}

static pthread_t receiver;
static volatile int received;

/* Signals until the receiver says that it came back: no time is assumed. */
static void *pester(void *arg)
{
	(void)arg;
	while (!received) {
		(void)pthread_kill(receiver, SIGUSR1);
		await_pause_ms(10);
	}
	return NULL;
}

static void signals_and_waits(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct bs_endpoint e;
	struct bs_fail why;
	struct pollfd p[2];
	uint64_t one = 1;
	pthread_t thread;
	size_t len;
	int event = eventfd(0, EFD_NONBLOCK);

	CHECK(bs_endpoint_bind(&e, BS_ENDPOINT_KSPACE, url_of("wait"), MAX, &why) == 0, "bind");
	p[0] = (struct pollfd){ .fd = e.receive_fd, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = event, .events = POLLIN };
	CHECK(bs_endpoint_wait(p, 2, bs_now_ns() - 5, &why) == BS_ENDPOINT_TIMEOUT &&
		      bs_endpoint_wait(p, 2, bs_now_ns() + 1000000, &why) == BS_ENDPOINT_TIMEOUT,
	      "waiting ends at its time, or at once when that is past");
	CHECK(write(event, &one, sizeof(one)) == sizeof(one) &&
		      bs_endpoint_wait(p, 2, INT64_MAX, &why) == 0 && p[1].revents == POLLIN &&
		      p[0].revents == 0,
	      "an eventfd wakes a wait over several descriptors");
	CHECK(read(event, &one, sizeof(one)) == sizeof(one), "the event is taken");

	(void)sigaction(SIGUSR1, &act, NULL);
	receiver = pthread_self();
	CHECK(pthread_create(&thread, NULL, pester, NULL) == 0, "a thread sends signals");
	CHECK(bs_endpoint_recv(&e, back, 10, &len, -1, &why) == BS_ENDPOINT_INTERRUPTED,
	      "a signal ends recv, and is told apart");
	CHECK(bs_endpoint_wait(p, 2, INT64_MAX, &why) == BS_ENDPOINT_INTERRUPTED,
	      "a signal ends wait, and is told apart");
	received = 1;
	(void)pthread_join(thread, NULL);
	bs_endpoint_close(&e);
	(void)close(event);
}

static void *close_soon(void *arg)
{
	await_pause_ms(100);
	bs_endpoint_close(arg);
	return NULL;
}

/* Who was killed may hold the socket for a moment: a successor waits for it, not for ever. */
static void leaving(void)
{
	struct bs_endpoint first;
	struct bs_endpoint second;
	struct bs_fail why = { 0 };
	pthread_t thread;
	int rc = BS_ERR_IO;

	CHECK(bs_endpoint_bind(&first, BS_ENDPOINT_STATUS, url_of("leaving"), MAX, &why) == 0 &&
		      bs_endpoint_bind(&second, BS_ENDPOINT_STATUS, url_of("leaving"), MAX, &why) ==
			      BS_ERR_IO &&
		      strstr(why.text, "another process serves it") != NULL,
	      "a socket that is served is refused: %s", why.text);
	for (int i = 0; i < 20; i++) { /* a machine that stood still for a second: once more */
		if (pthread_create(&thread, NULL, close_soon, &first) != 0)
			abort();
		rc = bs_endpoint_bind(&second, BS_ENDPOINT_STATUS, url_of("leaving"), MAX, &why);
		(void)pthread_join(thread, NULL);
		if (rc == 0 ||
		    bs_endpoint_bind(&first, BS_ENDPOINT_STATUS, url_of("leaving"), MAX, &why) != 0)
			break;
	}
	CHECK(rc == 0, "one that is closed soon is taken over then: %s", why.text);
	bs_endpoint_close(&second);
	(void)unlink(in_dir("leaving"));
}

int main(void)
{
	uint64_t seed = 3;
	char tcp[64];

	if (mkdtemp(dir) == NULL) {
		SKIP("no temporary directory: %s", strerror(errno));
		return 0;
	}
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (unsigned char)(256 * check_uniform(&seed));
	bs_endpoint_tune_malloc(MAX);
	refusals();
	socket_files();
	listening();
	leaving();
	pair_on(url_of("pair"));
	(void)snprintf(tcp, sizeof(tcp), "tcp://127.%d.%d.%d:%d", getpid() >> 16 & 0xff,
		       getpid() >> 8 & 0xff, 1 + (getpid() & 0x7f), 20000 + getpid() % 10000);
	pair_on(tcp);
	second_peer();
	other_roles();
	signals_and_waits();
	for (int i = 0; i < 7; i++) {
		static const char *const names[] = { "stale",   "pair",   "two", "archive",
						     "viewers", "status", "wait" };

		(void)unlink(in_dir(names[i]));
	}
	CHECK(rmdir(dir) == 0, "nothing else is left behind");
	return check_done();
}

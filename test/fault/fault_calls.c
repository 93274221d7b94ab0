/*
 * test/fault/fault_calls.c - each allocation, open, mmap, write, socket, thread and process of the
 * service's start, its arming, its log and its first scan fails once in turn, in each of its
 * processes, and in the successor of one that was killed within a scan
 *
 * usage: BORESIDE=path BUILD=dir fault_calls [stride]; without, the first calls of each group; a
 * stride of 1 is every call. The service either refuses to start, with status 1 and words, or
 * it stands, ends a scan in words and itself with 0. Nobody dies of a signal. A check of a changed
 * site file that cannot be started is a refusal. fault_parts.c does the same within one process.
 */
#define _GNU_SOURCE
#include "test/support/service.h"

#define MOST 4000

static struct service service;
static struct peer p;
static char hook[300], flag[128], after[128];

static const char body[] = "endpoints: { images = \"ipc://run/images.ipc\"; };\n"
			   "log: { dir = \"logs\"; };\n" SERVICE_SINKS SERVICE_PROTOCOLS;

/* Until it has ended, or takes scans. */
static bool stands(void)
{
	static char doc[200000];

	AWAIT(service_ended(&service) || (service_ask_once(&service, "json", doc, sizeof(doc)) &&
					  strstr(doc, "\"state\":\"idle\"") != NULL));
	return !service_ended(&service);
}

/* Sends what was not acknowledged, again each second, until the scan has its outcome. */
static bool insist(void)
{
	const int64_t limit = await_limit();

	for (; bs_now_ns() < limit; p.seq = p.acked + 1) {
		const int64_t again = bs_now_ns() + 1000000000;

		while (p.seq <= 32)
			if (!peer_acq(&p, "cart", (unsigned)p.seq - 1, 0))
				return false;
		(void)peer_close_scan(&p, 33, 32);
		if (peer_await_until(&p, BS_WIRE_OUTCOME, again) && p.w.session == p.session)
			return true;
	}
	return false;
}

/* killed: this process, in the middle of the scan; NULL: none. */
static bool ends_in_words(const char *killed)
{
	if (!peer_begin(&p, "cart"))
		return killed == NULL && p.w.kind == BS_WIRE_REFUSE && p.answer.text[0] != '\0';
	for (unsigned i = 0; i < 16; i++)
		if (!peer_acq(&p, "cart", i, 0))
			return false;
	if (killed != NULL) {
		char where[64];
		pid_t pid;

		(void)snprintf(where, sizeof(where), "\"name\":\"%s\",\"pid\"", killed);
		pid = (pid_t)service_number(&service, where, "pid");
		(void)close(open(after, O_CREAT | O_WRONLY, 0600));
		if (kill(pid, SIGKILL) != 0)
			return false;
	}
	if (!insist())
		return false;
	return p.outcome.code == 0 ? p.outcome.images == 1 && p.outcome.acquisitions == 32
				   : p.outcome.text[0] != '\0';
}

/* Of a signal that nobody sent. */
static bool crashed(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
	char words[32];
	bool any = false;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		(void)snprintf(words, sizeof(words), "died: signal %d,", signals[i]);
		any = any || service_logged(&service, words);
	}
	return any;
}

/* The service's life with that call failing. NULL: all is as it should be; else what is not. */
static const char *live(const char *killed)
{
	const char *wrong = NULL;
	bool up;
	int status;

	if (!service_spawn(&service, hook))
		return "it is not started";
	up = stands();
	if (up) {
		if (!peer_open(&p, &service) || !ends_in_words(killed))
			wrong = "the scan has no end";
		peer_close(&p);
	}
	status = up ? service_stop(&service) : service_wait(&service);
	if (wrong == NULL && status != (up ? 0 : 1))
		wrong = "its exit status";
	if (wrong == NULL && !up && !service_logged(&service, ": "))
		wrong = "no words";
	return wrong == NULL && crashed() ? "a signal" : wrong;
}

/* *struck: there was such a call. */
static const char *fail(const char *role, bool successor, const char *call, int n, bool *struck)
{
	const char *wrong;
	char number[16];

	memset(&service, 0, sizeof(service));
	(void)snprintf(service.dir, sizeof(service.dir), "/tmp/boreside-test-XXXXXX");
	if (mkdtemp(service.dir) == NULL || !service_write_site(&service, SERVICE_PATIENT, body))
		return "no folder";
	(void)snprintf(flag, sizeof(flag), "%s/struck", service.dir);
	(void)snprintf(after, sizeof(after), "%s/%s", service.dir, successor ? "killed" : "");
	(void)snprintf(number, sizeof(number), "%d", n);
	(void)setenv("FAIL_ROLE", role, 1);
	(void)setenv("FAIL_CALL", call, 1);
	(void)setenv("FAIL_AT", number, 1);
	(void)setenv("FAIL_FLAG", flag, 1);
	(void)setenv("FAIL_AFTER", after, 1); /* the folder itself: from the start */
	wrong = live(successor ? role : NULL);
	*struck = access(flag, F_OK) == 0;
	if (wrong != NULL)
		service_print_log(&service);
	service_remove(&service);
	return wrong;
}

/* The first calls, so many; stride not 0: every so-many-th of all. */
static void fail_all(const char *role, bool successor, const char *call, int calls, int stride)
{
	const int most = stride > 0 ? MOST : calls + 1;
	const char *whose = successor ? "the successor of " : "";
	bool struck = true;
	int times = 0;
	int n = 1;

	for (; struck && n<most; n += stride> 0 ? stride : 1) {
		const char *wrong = fail(role, successor, call, n, &struck);

		times += struck;
		if (wrong != NULL)
			CHECK(false, "%s%s: call %d for %s fails: %s", whose, role, n, call, wrong);
	}
	CHECK(times > 0 && (!struck || stride == 0),
	      "%s%s: %d of its calls for %s failed, one in a life", whose, role, times, call);
}

/* The service stands; the process that would check its changed site file cannot be started. */
static void fail_reload(void)
{
	(void)setenv("FAIL_ROLE", "serve", 1);
	(void)setenv("FAIL_CALL", "spawn", 1);
	(void)setenv("FAIL_AT", "4", 1); /* behind the three workers */
	(void)setenv("FAIL_FLAG", "/tmp/boreside-test-none/struck", 1);
	(void)unsetenv("FAIL_AFTER");
	CHECK(service_start_with(&service, SERVICE_PATIENT, body, hook) &&
		      service_kill(service.pid, SIGHUP) == 0 &&
		      service_logs(&service, "reload refused, the service goes on as it was: its "
					     "check cannot be started"),
	      "a reload whose check cannot be started is refused");
	CHECK(peer_open(&p, &service) && ends_in_words(NULL) && p.outcome.code == 0,
	      "the service goes on as it was");
	peer_close(&p);
	CHECK(service_kill(service.pid, SIGHUP) == 0 && service_logs(&service, "reloaded: "),
	      "the next reload is made");
	CHECK(service_stop(&service) == 0, "and it ends with 0");
	service_remove(&service);
}

int main(int argc, char **argv)
{
	/* what each calls at all, and how many are tried: a refused start is soon over */
	/* clang-format off */
	static const struct {
		const char *role;
		bool successor;
		struct {
			const char *name;
			int calls;
		} call[12];
	} all[] = {
		{ "serve", false, { { "memory", 3 }, { "mmap", 2 }, { "open", 3 }, { "file", 4 }, {
		  "read", 2 }, { "write", 1 }, { "descriptor", 6 }, { "look", 4 }, { "process", 1 },
		  { "spawn", 3 } } },
		{ "ingest", false, { { "memory", 1 }, { "mmap", 1 }, { "open", 2 }, { "file", 3 }, {
		  "name", 1 }, { "read", 2 }, { "write", 1 }, { "descriptor", 1 }, { "peer", 3 }, {
		  "socket", 2 }, { "process", 2 } } },
		{ "recon", false, { { "memory", 1 }, { "mmap", 1 }, { "read", 1 }, { "write", 1 } }
		  },
		{ "emit", false, { { "memory", 1 }, { "mmap", 1 }, { "open", 1 }, { "file", 1 }, {
		  "read", 1 }, { "write", 1 }, { "socket", 1 }, { "peer", 3 }, { "process", 1 } } },
		{ "ingest", true, { { "memory", 1 }, { "open", 1 }, { "file", 1 } } },
		{ "recon", true, { { "mmap", 1 } } },
		{ "emit", true, { { "open", 1 } } },
	};
	/* clang-format on */
	const int stride = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 0;

	(void)snprintf(hook, sizeof(hook), "%.256s/test/support/fail_hook.so",
		       getenv("BUILD") != NULL ? getenv("BUILD") : "");
	if (CHECK_SANITIZED || BS_GPU || access(hook, R_OK) != 0) {
		SKIP("calls that fail: %s", CHECK_SANITIZED ? "the sanitizer has its own malloc"
					    : BS_GPU        ? "CUDA's libraries would be hit"
							    : "no test/support/fail_hook.so");
		return check_done();
	}
	for (size_t r = 0; r < sizeof(all) / sizeof(all[0]); r++)
		for (size_t c = 0; all[r].call[c].name != NULL; c++)
			fail_all(all[r].role, all[r].successor, all[r].call[c].name,
				 all[r].call[c].calls, stride);
	fail_reload();
	return check_done();
}

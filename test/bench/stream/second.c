/* test/bench/stream/second.c - see second.h */
#define _GNU_SOURCE
#include "test/bench/stream/second.h"

#include <sys/prctl.h>

#include "test/bench/bench.h"

static struct service service;
static pid_t sender;
static volatile sig_atomic_t ends;

static struct stream volumes(const char *backend)
{
	struct stream t = { .protocol = "stream",
			    .method = "ls",
			    .deep = true,
			    .matrix = 128,
			    .coils = 1,
			    .samples = 256,
			    .readouts = 556,
			    .rate = 10,
			    .iterations = 200 };

	(void)snprintf(t.backend, sizeof(t.backend), "%s", backend);
	return t;
}

bool second_start(const char *backend, const char *wait)
{
	const struct stream t = volumes(backend);
	const char *share = getenv("SHARE");
	char protocol[1024], body[1200];
	bool good;

	stream_protocol(protocol, sizeof(protocol), &t);
	(void)snprintf(body, sizeof(body),
		       "realtime: { wait = \"%s\"; gpu_priority = false; };\n"
		       "protocols = ( %s );\n",
		       wait, protocol);
	if (share != NULL)
		(void)setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", share, 1);
	good = service_start_with(&service,
				  SERVICE_PATIENT " board = \"workstation\"; acq_slots = 2048; "
						  "threads = 2; memory_mib = 16384;",
				  body, NULL);
	if (share != NULL)
		(void)unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
	if (!good)
		service_print_log(&service);
	return good;
}

void second_stop(void)
{
	if (service.pid <= 0)
		return;
	if (service_stop(&service) != 0)
		check_failed++;
	service_remove(&service);
}

bool second_play(void)
{
	int told[2];
	char byte;
	bool good;

	if (pipe2(told, O_CLOEXEC) != 0)
		return false;
	sender = fork();
	if (sender == 0) {
		(void)dup2(told[1], STDIN_FILENO);
		(void)execl("/proc/self/exe", "bench", "--second", service.kspace, service.archive,
			    (char *)NULL);
		_exit(127);
	}
	(void)close(told[1]);
	good = sender > 0 && read(told[0], &byte, 1) == 1;
	(void)close(told[0]);
	return good;
}

bool second_rest(void)
{
	int status;

	return kill(sender, SIGTERM) == 0 && waitpid(sender, &status, 0) == sender &&
	       WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- the sender ---- */

static void end(int number)
{
	(void)number;
	ends = 1;
}

_Noreturn void bs_bench_second(const char *kspace, const char *archive)
{
	static struct side s;
	const struct stream t = volumes("");
	unsigned scans = 0;
	bool good;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGTERM, end);
	bs_endpoint_tune_malloc(BS_STREAM_IMAGE);
	good = stream_room(t.rate) &&
	       bs_endpoint_connect(&s.p.socket, BS_ENDPOINT_KSPACE, kspace, sizeof(s.p.in), NULL) ==
		       0 &&
	       bs_endpoint_connect(&s.archive, BS_ENDPOINT_ARCHIVE_IN, archive, BS_STREAM_IMAGE,
				   NULL) == 0;
	AWAIT(bs_endpoint_connections_now(&s.archive) != 0);
	good = good && stream_play(&s, &t, 1, false, NULL) && write(STDIN_FILENO, "", 1) == 1;
	for (; good && ends == 0; scans++)
		good = stream_play(&s, &t, t.rate, false, NULL);
	printf("  beside it: %u volumes of 128^3\n", scans * t.rate);
	bs_endpoint_close(&s.archive);
	peer_close(&s.p);
	stream_free();
	(void)fflush(stdout);
	_exit(good ? 0 : 1);
}

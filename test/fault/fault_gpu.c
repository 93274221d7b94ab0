/*
 * test/fault/fault_gpu.c - faults of the GPU: an illegal address ends the recon worker, which is
 * replaced, arms again and reconstructs the next scan; too little device memory is said at arm;
 * what a machine without a GPU is told; and the loads on a GPU, which must not say that they run
 * where they do not
 *
 * This program is the service, too: `serve` and `worker` run the real commands, with one seam.
 * bs_recon_readout is wrapped (Makefile: --wrap): when the file that BORESIDE_TEST_FAULT names is
 * there, it is removed and a sparse product is launched on addresses that do not exist, an error
 * that no call of the process can clear. The program itself has no such switch.
 */
#define _GNU_SOURCE
#include "test/support/service.h"

#include "board/command/command.h"
#include "board/service/worker.h"
#include "board/tool/certify/load.h"
#include "core/frame/recon.h"
#include "gpu/engine/engines.h"

#if BS_GPU
#include "gpu/solve/csr_cuda.h"
#include "gpu/device/memory.h"
#include "gpu/device/load.h"
#endif

int __real_bs_recon_readout(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
			    const float *data, int64_t now_ns, struct bs_fail *why);
int __wrap_bs_recon_readout(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
			    const float *data, int64_t now_ns, struct bs_fail *why);

int __wrap_bs_recon_readout(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
			    const float *data, int64_t now_ns, struct bs_fail *why)
{
	const char *sleep_in = getenv("BORESIDE_TEST_SLEEP");

	if (sleep_in != NULL && unlink(sleep_in) == 0)
		bs_sleep_ns(INT64_C(3000000000));
#if BS_GPU
	const char *trigger = getenv("BORESIDE_TEST_FAULT");

	if (trigger != NULL && unlink(trigger) == 0) {
		const struct bs_csr_cuda nowhere = { .rows = 32,
						     .cols = 32,
						     .slice = (const uint64_t *)64,
						     .col = (const uint32_t *)64,
						     .value = (const float *)64 };

		(void)bs_csr_cuda_product(&nowhere, 1.0f, (const float *)64, (float *)64, false,
					  NULL, NULL);
	}
#endif
	return __real_bs_recon_readout(r, head, row, data, now_ns, why);
}

/* In place of a GPU: the engines of a test that waits for one are on one. */
bool __real_bs_armed_on_gpu(const struct bs_shared *s);
bool __wrap_bs_armed_on_gpu(const struct bs_shared *s);

bool __wrap_bs_armed_on_gpu(const struct bs_shared *s)
{
	return getenv("BORESIDE_TEST_SLEEP") != NULL || __real_bs_armed_on_gpu(s);
}

#define BODY(backend)                                                                              \
	SERVICE_SINKS                                                                              \
	"protocols = ( { name = \"cart\"; method = \"cartesian\"; matrix = [32, 32];\n"            \
	"    encoded = [64, 32, 1]; coils = 2; samples = 64; readouts = 32;\n"                     \
	"    backend = \"" backend "\"; },\n"                                                      \
	"  { name = \"radial\"; method = \"gridding\"; matrix = [32, 32]; coils = 2;\n"            \
	"    samples = 64; readouts = 32; backend = \"" backend "\";\n"                            \
	"    trajectory: { type = \"radial2d\"; }; },\n"                                           \
	"  { name = \"radial_ls\"; method = \"ls\"; matrix = [32, 32]; coils = 2;\n"               \
	"    samples = 64; readouts = 32; backend = \"" backend "\";\n"                            \
	"    trajectory: { type = \"radial2d\"; }; ls: { lambda = 0.1; iterations = 5; }; } );\n"

static struct service service;
static struct peer p;

#if BS_GPU
static const char where_recon[] = "\"name\":\"recon\",\"pid\"";
static char trigger[128];

/* Recon's pid when it is another process and ready, else -1. */
static pid_t successor(pid_t old)
{
	static char doc[200000];
	const char *at = NULL;
	pid_t pid;

	if (service_ask_once(&service, "json", doc, sizeof(doc)))
		at = strstr(doc, where_recon);
	if (at == NULL)
		return -1;
	pid = (pid_t)strtol(at + strlen(where_recon) + 1, NULL, 10);
	at = strstr(at, "\"phase\":");
	return pid > 0 && pid != old && at != NULL && strncmp(at + 8, "\"ready\"", 7) == 0 ? pid
											   : -1;
}

static void poison(const char *protocol)
{
	pid_t old = (pid_t)service_number(&service, where_recon, "pid");
	int64_t since;
	pid_t pid = -1;
	FILE *f;

	CHECK(peer_begin(&p, protocol), "%s: a scan begins", protocol);
	for (unsigned i = 0; i < 16; i++)
		(void)peer_acq(&p, protocol, i, 0);
	f = fopen(trigger, "w");
	if (f != NULL)
		(void)fclose(f);
	since = bs_now_ns();
	for (unsigned i = 16; i < 32; i++)
		(void)peer_acq(&p, protocol, i, 0);
	CHECK(peer_await(&p, BS_WIRE_OUTCOME) && p.outcome.code != 0,
	      "%s: an illegal address on the GPU; the sender is told: %s \"%s\"", protocol,
	      bs_err_name(p.outcome.code), p.outcome.text);
	printf("# told %.1f ms after the fault\n", (double)(bs_now_ns() - since) * 1e-6);
	AWAIT((pid = successor(old)) > 0);
	CHECK(pid > 0, "%s: a new recon, armed on the GPU, is ready %.0f ms after the fault",
	      protocol, (double)(bs_now_ns() - since) * 1e-6);
	CHECK(peer_good_scan(&p, protocol, 2), "%s: the next scan is good", protocol);
}

static void test_sticky(void)
{
	(void)snprintf(trigger, sizeof(trigger), "/tmp/boreside-fault-%d", (int)getpid());
	(void)setenv("BORESIDE_TEST_FAULT", trigger, 1);
	CHECK(service_start_with(&service, SERVICE_PATIENT, BODY("cuda"), NULL),
	      "a service of three protocols on the GPU starts");
	CHECK(peer_open(&p, &service), "a sender connects");
	for (int i = 0; i < 2; i++) {
		poison("cart");
		poison("radial");
		poison("radial_ls");
	}
	CHECK(service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0,
	      "after that no slot of the shared pool is lost");
	CHECK(service_logs(&service, "illegal"), "the log has CUDA's words");
	peer_close(&p);
	(void)service_end(&service);
}

static void test_memory(void)
{
	static struct bs_protocol big;
	struct bs_tables tables = { 0 };
	struct bs_traj traj = { 0 };
	struct bs_arena none = { 0 };
	struct bs_arm_env env = { .arena = &none, .cache_dir = "" };
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	void *self = NULL;
	int rc;

	(void)snprintf(big.name, sizeof(big.name), "huge");
	big.method = BS_METHOD_GRIDDING;
	big.dims = 3;
	big.coils = 64;
	big.samples = big.readouts = 64;
	big.slices = 4;
	big.contrasts = 1;
	big.accuracy = 1e-3;
	big.density = BS_DENSITY_NONE;
	big.combine = BS_COMBINE_RSS;
	big.traj.type = BS_TRAJ_RANDOM;
	bs_plan_make(&big);
	for (int a = 0; a < 3; a++)
		big.matrix[a] = 512;
	bs_plan_make(&big);
	rc = bs_traj_make(&traj, &big, &why);
	tables.traj = &traj;
	if (rc == 0)
		rc = bs_engine_cuda.need(&big, &need, &why);
	if (rc == 0)
		rc = bs_engine_cuda.arm(&self, &big, &tables, &env, &why);
	CHECK(rc == BS_ERR_NOMEM && strstr(why.text, "huge") != NULL &&
		      strstr(why.text, "free") != NULL,
	      "64 coils of 512^3 are refused at arm: %s", why.text);
	bs_traj_close(&traj);
}
#endif

/* Runs boreside check on a site; its words, and true when it refused. */
static bool check_refuses(const char *body, char *words, size_t size)
{
	struct service s = { 0 };
	char command[512];
	FILE *f = NULL;
	size_t n = 0;
	int status = 0;

	(void)snprintf(s.dir, sizeof(s.dir), "/tmp/boreside-test-XXXXXX");
	if (mkdtemp(s.dir) == NULL || !service_write_site(&s, "", body))
		return false;
	(void)snprintf(command, sizeof(command), "'%s' check '%s' 2>&1", getenv("REAL_BORESIDE"),
		       s.site);
	f = popen(command, "r");
	if (f != NULL) {
		n = fread(words, 1, size - 1, f);
		status = pclose(f);
	}
	words[n] = '\0';
	service_remove(&s);
	return status != 0;
}

static void test_without(void)
{
	static char words[20000];
	static char doc[200000];

	CHECK(check_refuses(BODY("cuda"), words, sizeof(words)) && strstr(words, "cuda") != NULL &&
		      strstr(words, "cart") != NULL,
	      "backend cuda without a GPU is refused at check: %.200s", words);
	CHECK(!check_refuses(BODY("auto"), words, sizeof(words)), "backend auto is not");
	CHECK(service_start_with(&service, SERVICE_PATIENT, BODY("auto"), NULL),
	      "backend auto without a GPU: the service starts");
	CHECK(peer_open(&p, &service) && peer_good_scan(&p, "radial", 1), "a scan is good");
	CHECK(service_ask(&service, "json", doc, sizeof(doc)) &&
		      strstr(doc, "gridding/host") != NULL,
	      "and status says that gridding runs on the host");
	peer_close(&p);
	(void)service_stop(&service);
	service_remove(&service);
}

/* A wait for the GPU that uses no processor and outlasts stall_ms is no stall. */
static void test_long_wait(void)
{
	char file[128];
	FILE *f;

	(void)snprintf(file, sizeof(file), "/tmp/boreside-sleep-%d", (int)getpid());
	(void)setenv("BORESIDE_TEST_SLEEP", file, 1);
	CHECK(service_start_with(&service, "heartbeat_ms = 100.0; stall_ms = 2000.0;",
				 "realtime: { gpu_wait = \"block\"; };\n" BODY("host"), NULL),
	      "a service that blocks while it waits for the GPU, stall_ms 2000");
	CHECK(peer_open(&p, &service) && peer_begin(&p, "cart"), "a scan begins");
	f = fopen(file, "w");
	if (f != NULL)
		(void)fclose(f);
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	CHECK(peer_end(&p, 32) && p.outcome.code == 0 && p.outcome.images == 1 &&
		      access(file, F_OK) != 0,
	      "a call of 3 s ends, and the scan with it: %s \"%s\"", bs_err_name(p.outcome.code),
	      p.outcome.text);
	CHECK(service_number(&service, "\"name\":\"recon\"", "stalls") == 0 &&
		      service_number(&service, "\"name\":\"recon\"", "restarts") == 0,
	      "recon is the same");
	peer_close(&p);
	(void)service_end(&service);
	(void)unsetenv("BORESIDE_TEST_SLEEP");
}

/* A process that loads a GPU: before anything here uses CUDA. True: it did. */
static bool loads(uint32_t device)
{
	struct bs_loads l;
	struct bs_fail why = { 0 };
	int rc = bs_loads_start(&l, BS_LOAD_GPU, "/tmp", device, &why);

	CHECK(rc == 0, "a process that will load GPU %u %s", device, why.text);
	if (rc != 0)
		return false;
	bs_loads_go(&l);
	const uint64_t before = atomic_load(&l.done->gpu_kernels);

	const bool loaded = bs_loads_gpu(&l);
	uint64_t after = before;

	if (loaded)
		AWAIT((after = atomic_load(&l.done->gpu_kernels)) > before);
	else
		after = atomic_load(&l.done->gpu_kernels);
	CHECK(loaded ? after > before : after == before, "GPU %u %s: %llu kernels, then %llu",
	      device, loaded ? "is loaded" : "is not", (unsigned long long)before,
	      (unsigned long long)after);
	bs_loads_stop(&l);
	CHECK(!bs_loads_gpu(&l), "stopped, it is not");
	return loaded;
}

#if BS_GPU
/* The load in this process: on the GPU that is current where it is opened, and it goes on. */
static void test_hog(void)
{
	struct bs_hog *hog = NULL;
	struct bs_fail why = { 0 };
	uint64_t first = 0;
	uint64_t then = 0;
	int rc = bs_hog_open(&hog, BS_HOG_GENTLE_US, &why);

	CHECK(rc == 0, "a load of kernels of 0.1 ms %s", why.text);
	if (rc != 0)
		return;
	AWAIT((rc = bs_hog_check(hog, &first, &why)) != 0 || first > 0);
	if (rc == 0)
		AWAIT((rc = bs_hog_check(hog, &then, &why)) != 0 || then > first);
	CHECK(rc == 0 && first > 0 && then > first, "%llu of them have ended, then %llu %s",
	      (unsigned long long)first, (unsigned long long)then, why.text);
	bs_hog_close(hog);
}
#endif

int main(int argc, char **argv)
{
	bool loaded;
	bool gpu = false;

	if (argc > 1 && strcmp(argv[1], "serve") == 0)
		return bs_options_run(&bs_command_serve, argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "worker") == 0)
		return bs_worker_main(argc - 1, argv + 1);
	if (getenv("BORESIDE") == NULL) {
		SKIP("faults of the GPU: BORESIDE names no program");
		return check_done();
	}
	(void)setenv("REAL_BORESIDE", getenv("BORESIDE"), 1);
	(void)setenv("BORESIDE", "/proc/self/exe", 1);
	test_long_wait();
	CHECK(!loads(BS_DEVICES_MAX + 91), "a GPU that is not here cannot be loaded");
	loaded = loads(0);
#if BS_GPU
	struct bs_gpu_info info;
	struct bs_fail why = { 0 };

	gpu = bs_gpu_probe(&info, &why) == 0;
	if (gpu) {
		test_hog();
		test_memory();
		test_sticky();
		SKIP("a machine without a GPU: this one has one");
	} else {
		SKIP("an illegal address on the GPU: %s", why.text);
	}
#else
	SKIP("an illegal address on the GPU: built with GPU=0");
#endif
	CHECK(loaded == gpu, "the first GPU %s", gpu ? "was loaded" : "is not there, and was not");
	if (!gpu)
		test_without();
	return check_done();
}

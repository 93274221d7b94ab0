/* board/tool/certify/load.c - see load.h */
#include "board/tool/certify/load.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/thread/clock.h"

#if BS_GPU
#include "gpu/device/memory.h"
#include "gpu/device/load.h"
#endif

#define CPU_BYTES  ((size_t)64 << 20)
#define IO_PIECE   ((size_t)4 << 20)
#define IO_BYTES   ((off_t)256 << 20)
#define CPUS_MAX   64
#define GPU_LOADED 1u
#define GPU_FAILED 2u

int bs_loads_parse(unsigned *set, const char *list, struct bs_fail *why)
{
	static const struct {
		const char *word;
		unsigned bit;
	} words[] = { { "cpu", BS_LOAD_CPU }, { "io", BS_LOAD_IO }, { "gpu", BS_LOAD_GPU } };

	*set = 0;
	while (*list != '\0') {
		size_t n = strcspn(list, ",");
		unsigned bit = 0;

		for (int i = 0; i < 3; i++)
			if (strlen(words[i].word) == n && strncmp(list, words[i].word, n) == 0)
				bit = words[i].bit;
		if (bit == 0)
			return bs_fail(why, BS_ERR_USAGE, "load '%.*s': none of cpu, io, gpu",
				       (int)n, list);
		*set |= bit;
		list += list[n] == ',' ? n + 1 : n;
	}
	if ((*set & BS_LOAD_GPU) && !BS_GPU)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "load gpu: this program was built without CUDA");
	return 0;
}

const char *bs_loads_words(unsigned set, char out[16])
{
	(void)snprintf(out, 16, "%s%s%s%s%s", set & BS_LOAD_CPU ? "cpu" : "",
		       (set & BS_LOAD_CPU) && (set & ~BS_LOAD_CPU) ? ", " : "",
		       set & BS_LOAD_IO ? "io" : "",
		       (set & BS_LOAD_IO) && (set & BS_LOAD_GPU) ? ", " : "",
		       set & BS_LOAD_GPU ? "gpu" : "");
	return set == 0 ? "none" : out;
}

/* ---- the processes; none returns ---- */

static void spin(struct bs_load_done *done)
{
	volatile unsigned char *at =
		mmap(NULL, CPU_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return;
	for (;;) {
		/* touches every line once, in steps that the prefetcher does not
		 * follow across a page */
		for (size_t i = 0, p = 0; i < CPU_BYTES / 64; i++) {
			at[p]++;
			p = (p + (size_t)64 * 4097) % CPU_BYTES;
		}
		atomic_fetch_add(&done->cpu_passes, 1);
	}
}

static void write_on(struct bs_load_done *done, const char *file)
{
	unsigned char *piece =
		mmap(NULL, IO_PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	off_t to = 0;

	if (piece == MAP_FAILED || fd < 0)
		return;
	memset(piece, 0x5a, IO_PIECE);
	for (;;) {
		ssize_t n = pwrite(fd, piece, IO_PIECE, to);

		if (n <= 0 || fsync(fd) != 0)
			return; /* the disk is full; done says how much was written */
		atomic_fetch_add(&done->io_bytes, (uint64_t)n);
		atomic_fetch_add(&done->io_syncs, 1);
		to = to + n < IO_BYTES ? to + n : 0;
	}
}

static void hold_gpu(const struct bs_loads *l)
{
#if BS_GPU
	struct bs_hog *hog;
	struct bs_fail why = { 0 };
	uint64_t kernels = 0;

	if (bs_gpu_use(l->gpu_device, &why) == 0 && bs_hog_open(&hog, BS_HOG_HARD_US, &why) == 0)
		while (bs_hog_check(hog, &kernels, &why) == 0) {
			atomic_store(&l->done->gpu_kernels, kernels);
			atomic_store(&l->done->gpu, GPU_LOADED);
			bs_sleep_ns(20000000);
		}
	(void)fprintf(stderr, "boreside certify: no load on the GPU: %s\n", why.text);
#endif
	atomic_store(&l->done->gpu, GPU_FAILED);
}

static void child(const struct bs_loads *l, unsigned kind, int gate, pid_t parent)
{
	char go;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)prctl(PR_SET_NAME, "bs-load");
	if (getppid() != parent || read(gate, &go, 1) != 0)
		_exit(1);
	if (kind == BS_LOAD_CPU)
		spin(l->done);
	else if (kind == BS_LOAD_IO)
		write_on(l->done, l->file);
	else
		hold_gpu(l);
	_exit(1);
}

/* ---- */

static int start_one(struct bs_loads *l, unsigned kind, const int gate[2], struct bs_fail *why)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		return bs_fail(why, BS_ERR_IO, "a process for the load: %s", strerror(errno));
	if (pid == 0) {
		(void)close(gate[1]);
		child(l, kind, gate[0], parent);
	}
	l->pid[l->count++] = pid;
	return 0;
}

int bs_loads_start(struct bs_loads *l, unsigned set, const char *dir, uint32_t gpu,
		   struct bs_fail *why)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int gate[2];
	int rc = 0;

	memset(l, 0, sizeof(*l));
	l->gate = -1;
	l->set = set;
	l->gpu_device = gpu;
	l->done = mmap(NULL, sizeof(*l->done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (l->done == MAP_FAILED) {
		l->done = NULL;
		return bs_fail(why, BS_ERR_NOMEM, "loads: %s", strerror(errno));
	}
	(void)snprintf(l->file, sizeof(l->file), "%s/load.tmp", dir);
	if (pipe2(gate, O_CLOEXEC) != 0)
		return bs_fail(why, BS_ERR_IO, "loads: %s", strerror(errno));
	l->gate = gate[1];
	if (set & BS_LOAD_GPU) /* the GPU's process forks first, so that it inherits least */
		rc = start_one(l, BS_LOAD_GPU, gate, why);
	if (rc == 0 && (set & BS_LOAD_IO))
		rc = start_one(l, BS_LOAD_IO, gate, why);
	for (long i = 0; rc == 0 && (set & BS_LOAD_CPU) && i < cpus && i < CPUS_MAX; i++)
		rc = start_one(l, BS_LOAD_CPU, gate, why);
	(void)close(gate[0]);
	if (rc != 0)
		bs_loads_stop(l);
	return rc;
}

static void open_gate(struct bs_loads *l)
{
	if (l->gate >= 0)
		(void)close(l->gate);
	l->gate = -1;
}

/* True if load i was started and has not ended. Its end is left for stop to wait for. */
static bool is_running(const struct bs_loads *l, uint32_t i)
{
	siginfo_t end = { 0 };

	return i < l->count &&
	       waitid(P_PID, (id_t)l->pid[i], &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       end.si_pid == 0;
}

/* True if each load has done something or has ended, in the order of bs_loads_start. */
static bool are_there(const struct bs_loads *l)
{
	const uint32_t io = (l->set & BS_LOAD_GPU) != 0;
	const uint32_t cpu = io + ((l->set & BS_LOAD_IO) != 0);

	return (!(l->set & BS_LOAD_GPU) || atomic_load(&l->done->gpu) != 0 || !is_running(l, 0)) &&
	       (!(l->set & BS_LOAD_IO) || atomic_load(&l->done->io_syncs) != 0 ||
		!is_running(l, io)) &&
	       (!(l->set & BS_LOAD_CPU) || atomic_load(&l->done->cpu_passes) != 0 ||
		!is_running(l, cpu));
}

void bs_loads_go(struct bs_loads *l)
{
	open_gate(l);
	while (!are_there(l))
		bs_sleep_ns(10000000);
}

bool bs_loads_gpu(const struct bs_loads *l)
{
	return (l->set & BS_LOAD_GPU) && is_running(l, 0) &&
	       atomic_load(&l->done->gpu) == GPU_LOADED;
}

void bs_loads_stop(struct bs_loads *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		(void)kill(l->pid[i], SIGKILL);
		while (waitpid(l->pid[i], NULL, 0) < 0 && errno == EINTR)
			;
	}
	l->count = 0;
	open_gate(l);
	if (l->set & BS_LOAD_IO)
		(void)unlink(l->file);
}

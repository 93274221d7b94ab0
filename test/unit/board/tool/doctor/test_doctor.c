/*
 * test/unit/board/tool/doctor/test_doctor.c - what is found on made-up machines, in made-up
 * folders
 */
#define _GNU_SOURCE /* mkdtemp, nftw */
#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "board/tool/doctor/finding.h"
#include "test/support/check.h"

static char root[] = "/tmp/bs_doctor.XXXXXX";
static struct bs_site site;

static struct {
	enum bs_health health;
	char what[64], figure[512], remedy[512];
} found[32];
static uint32_t count;

static void tell(void *arg, enum bs_health health, const char *what, const char *figure,
		 const char *remedy)
{
	(void)arg;
	if (count == sizeof(found) / sizeof(found[0]))
		return;
	found[count].health = health;
	(void)snprintf(found[count].what, sizeof(found[0].what), "%s", what);
	(void)snprintf(found[count].figure, sizeof(found[0].figure), "%s", figure);
	(void)snprintf(found[count++].remedy, sizeof(found[0].remedy), "%s", remedy);
}

/* A file below the root, its folders made. */
static void put(const char *path, const char *text)
{
	char full[400];
	FILE *f;

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		(void)mkdir(full, 0755);
		*p = '/';
	}
	f = fopen(full, "w");
	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		exit(1);
}

static struct bs_doctor doctor(bool with_site)
{
	count = 0;
	return (struct bs_doctor){ .root = root, .site = with_site ? &site : NULL, .tell = tell };
}

/* Where the look at one thing says something of `what`; count: it does not. */
static uint32_t looks(void (*look)(struct bs_doctor *), bool with_site, const char *what)
{
	struct bs_doctor d = doctor(with_site);
	uint32_t i = 0;

	look(&d);
	while (i < count && strcmp(found[i].what, what) != 0)
		i++;
	if (i == count)
		CHECK(false, "nothing is said of %s", what);
	return i;
}

/* It says so. */
static void is(void (*look)(struct bs_doctor *), bool with_site, enum bs_health health,
	       const char *what, const char *words)
{
	static const char *const names[] = { "ok", "warn", "FAIL" };
	const uint32_t i = looks(look, with_site, what);

	if (i == count)
		return;
	CHECK(found[i].health == health && strstr(found[i].figure, words) != NULL &&
		      (found[i].remedy[0] != '\0') == (health != BS_HEALTH_OK),
	      "%s %s: %s: %s", names[found[i].health], what, found[i].figure, found[i].remedy);
}

#define LIMITS(rtprio, memlock, nofile)                                                            \
	"Limit                     Soft Limit           Hard Limit           Units     \n"         \
	"Max open files            1024                 " nofile "                files     \n"    \
	"Max locked memory         " memlock "              8388608              bytes     \n"     \
	"Max realtime priority     " rtprio "                    0                    \n"

static void limits(void)
{
	put("/proc/self/limits", LIMITS("0", "8388608", "1024"));
	put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
	site.realtime.priority = 60;
	site.realtime.lock_memory = true;
	site.memory_mib = 4096;
	is(bs_doctor_priority, true, BS_HEALTH_FAIL, "priorities", "up to 0, 64 wanted");
	is(bs_doctor_priority, false, BS_HEALTH_WARN, "priorities", "up to 0, 64 wanted");
	is(bs_doctor_lock, true, BS_HEALTH_FAIL, "memory lock", "up to 8 MiB");
	is(bs_doctor_files, true, BS_HEALTH_WARN, "open files", "up to 1024");
	put("/proc/self/status", "CapEff:\t0000000000804000\n"); /* SYS_NICE, IPC_LOCK */
	is(bs_doctor_priority, true, BS_HEALTH_OK, "priorities", "CAP_SYS_NICE");
	is(bs_doctor_lock, true, BS_HEALTH_OK, "memory lock", "as much as wanted");
	put("/proc/self/status", "CapEff:\t0000000000000000\n");
	put("/proc/self/limits", LIMITS("94", "unlimited", "4096"));
	is(bs_doctor_priority, true, BS_HEALTH_OK, "priorities", "up to 94, 64 wanted");
	is(bs_doctor_lock, true, BS_HEALTH_OK, "memory lock", "as much as wanted");
	is(bs_doctor_files, true, BS_HEALTH_OK, "open files", "up to 4096");
	site.realtime.priority = 91 - 0;
	is(bs_doctor_priority, true, BS_HEALTH_FAIL, "priorities", "95 wanted");
	site.realtime.priority = 0;
	site.realtime.lock_memory = false;
	put("/proc/self/limits", LIMITS("0", "65536", "unlimited"));
	is(bs_doctor_priority, true, BS_HEALTH_OK, "priorities", "none wanted");
	is(bs_doctor_lock, true, BS_HEALTH_OK, "memory lock", "not wanted");
	is(bs_doctor_files, true, BS_HEALTH_OK, "open files", "any number");
	put("/proc/self/limits", "Max file size             65536                unlimited\n"
				 "Max stack size            262144               unlimited\n");
	is(bs_doctor_stack, true, BS_HEALTH_FAIL, "stack", "up to 256 KiB");
	is(bs_doctor_size, true, BS_HEALTH_WARN, "size of files", "up to 64 KiB");
	put("/proc/self/limits", "Max file size             unlimited            unlimited\n"
				 "Max stack size            8388608              unlimited\n");
	is(bs_doctor_stack, true, BS_HEALTH_OK, "stack", "up to 8192 KiB");
	is(bs_doctor_size, true, BS_HEALTH_OK, "size of files", "any");
}

static void throttle(void)
{
	is(bs_doctor_throttle, true, BS_HEALTH_OK, "throttling", "this kernel has none");
	put("/proc/sys/kernel/sched_rt_runtime_us", "950000\n");
	is(bs_doctor_throttle, true, BS_HEALTH_OK, "throttling", "nothing of the service polls");
	site.realtime.priority = 60;
	site.realtime.wait = BS_WAIT_POLL;
	site.protocols = 1;
	is(bs_doctor_throttle, true, BS_HEALTH_WARN, "throttling", "stopped after 950000 us");
	put("/proc/sys/kernel/sched_rt_runtime_us", "-1\n");
	is(bs_doctor_throttle, true, BS_HEALTH_OK, "throttling", "off");
	put("/proc/sys/kernel/sched_rt_runtime_us", "no number\n");
	is(bs_doctor_throttle, true, BS_HEALTH_OK, "throttling", "none");
	site.realtime.wait = BS_WAIT_BLOCK;
}

#define CPU "/sys/devices/system/cpu/"

static void processors(void)
{
	is(bs_doctor_processors, true, BS_HEALTH_WARN, "processors", "cannot be told");
	put(CPU "online", "0-3\n");
	put(CPU "isolated", "2\n");
	put("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme\n");
	is(bs_doctor_processors, true, BS_HEALTH_OK, "processors", "4 online, 1 isolated");
	put("/proc/cpuinfo", "flags\t\t: fpu hypervisor vme\n");
	is(bs_doctor_processors, true, BS_HEALTH_WARN, "processors", "virtual machine");
	put("/proc/cpuinfo", "flags\t\t: fpu\n");
	(void)strcpy(site.realtime.recon_cpus, "2-3");
	is(bs_doctor_processors, true, BS_HEALTH_OK, "realtime.recon_cpus", "1 of them isolated");
	site.realtime.wait = BS_WAIT_POLL;
	is(bs_doctor_processors, true, BS_HEALTH_WARN, "realtime.recon_cpus", "on 1 processors");
	(void)strcpy(site.realtime.recon_cpus, "2");
	is(bs_doctor_processors, true, BS_HEALTH_OK, "realtime.recon_cpus", "1 of them isolated");
	site.realtime.recon_cpus[0] = '\0';
	is(bs_doctor_processors, true, BS_HEALTH_WARN, "realtime.wait", "all others use");
	site.realtime.wait = BS_WAIT_BLOCK;
	(void)strcpy(site.realtime.ingest_cpus, "3-4");
	is(bs_doctor_processors, true, BS_HEALTH_FAIL, "realtime.ingest_cpus", "processor 4");
	site.realtime.ingest_cpus[0] = '\0';
	put(CPU "online", "0\n");
	is(bs_doctor_processors, true, BS_HEALTH_WARN, "processors", "1 online");
	put(CPU "online", "0-1\n");
}

static void clocks(void)
{
	is(bs_doctor_governor, true, BS_HEALTH_OK, "governor", "none");
	put(CPU "cpu0/cpufreq/scaling_governor", "performance\n");
	put(CPU "cpu1/cpufreq/scaling_governor", "powersave\n");
	is(bs_doctor_governor, true, BS_HEALTH_WARN, "governor", "powersave on 1 of 2");
	put(CPU "cpu1/cpufreq/scaling_governor", "performance\n");
	is(bs_doctor_governor, true, BS_HEALTH_OK, "governor", "all 2");
	is(bs_doctor_idle, true, BS_HEALTH_OK, "idle states", "none");
	put(CPU "cpu0/cpuidle/state0/latency", "0\n");
	put(CPU "cpu0/cpuidle/state0/name", "POLL\n");
	put(CPU "cpu0/cpuidle/state1/latency", "133\n");
	put(CPU "cpu0/cpuidle/state1/name", "C6\n");
	is(bs_doctor_idle, true, BS_HEALTH_WARN, "idle states", "C6, wakes in 133 us");
	put(CPU "cpu0/cpuidle/state1/disable", "1\n");
	is(bs_doctor_idle, true, BS_HEALTH_OK, "idle states", "POLL, wakes in 0 us");
	is(bs_doctor_clock, true, BS_HEALTH_WARN, "clock", "cannot be told");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	is(bs_doctor_clock, true, BS_HEALTH_WARN, "clock", "hpet");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
	is(bs_doctor_clock, true, BS_HEALTH_OK, "clock", "tsc");
}

static void memory(void)
{
	is(bs_doctor_memory, true, BS_HEALTH_WARN, "memory", "cannot be told");
	put("/proc/meminfo", "MemTotal:        8388608 kB\nMemAvailable:    2097152 kB\n"
			     "SwapTotal:       1048576 kB\n");
	is(bs_doctor_memory, true, BS_HEALTH_WARN, "memory",
	   "2048 of 8192 MiB are available, fewer");
	is(bs_doctor_memory, false, BS_HEALTH_OK, "memory", "2048 of 8192");
	site.memory_mib = 16384;
	is(bs_doctor_memory, true, BS_HEALTH_FAIL, "memory", "8192 MiB, node.memory_mib");
	site.memory_mib = 1024;
	is(bs_doctor_memory, true, BS_HEALTH_OK, "memory", "2048");
	is(bs_doctor_paging, true, BS_HEALTH_WARN, "swap", "1024 MiB");
	site.realtime.lock_memory = true;
	is(bs_doctor_paging, true, BS_HEALTH_OK, "swap", "is locked");
	put("/proc/sys/vm/overcommit_memory", "2\n");
	is(bs_doctor_paging, true, BS_HEALTH_WARN, "overcommit", "is 2");
	put("/proc/sys/vm/overcommit_memory", "1\n");
	is(bs_doctor_paging, true, BS_HEALTH_OK, "overcommit", "is 1");
	put("/sys/kernel/mm/transparent_hugepage/defrag", "[always] defer madvise never\n");
	is(bs_doctor_paging, true, BS_HEALTH_WARN, "huge pages", "defrag is always");
	put("/sys/kernel/mm/transparent_hugepage/defrag", "always defer [madvise] never\n");
	is(bs_doctor_paging, true, BS_HEALTH_OK, "huge pages", "defrag is madvise");
}

static void gpu_look(struct bs_doctor *d)
{
	bs_doctor_gpu(d, "/tmp/nvidia-mps/control");
}

static void gpu(void)
{
	site.protocol[0].backend = BS_BACKEND_AUTO;
	is(gpu_look, true, BS_HEALTH_OK, "GPU", "no");
	site.protocol[0].backend = BS_BACKEND_CUDA;
	is(gpu_look, true, BS_HEALTH_FAIL, "GPU", "backend = \"cuda\"");
	put("/proc/driver/nvidia/version", "NVRM version: 535\n");
	is(gpu_look, true, BS_HEALTH_OK, "MPS", "off");
	site.gpu_shared = true;
	is(gpu_look, true, BS_HEALTH_FAIL, "MPS", "off");
	put("/tmp/nvidia-mps/control", "");
	is(gpu_look, true, BS_HEALTH_OK, "MPS", "its daemon runs");
	site.gpu_shared = false;
	is(gpu_look, true, BS_HEALTH_WARN, "MPS", "its daemon runs");
	site.protocol[0].backend = BS_BACKEND_AUTO;
}

/* A folder below the root, for a key of the site. */
static void place(char *field, const char *name, mode_t mode)
{
	(void)snprintf(field, BS_PATH_MAX_, "%s/%s", root, name);
	if (mode != 0 && (mkdir(field, 0700) != 0 || chmod(field, mode) != 0))
		exit(1);
}

/* This machine's own disk, however slow: what is said of it fits the figure. */
static void written(void)
{
	const uint32_t i = looks(bs_doctor_disks, true, "log.dir, written");
	const bool slow = i < count && found[i].health == BS_HEALTH_WARN;
	double ms = -1.0;

	if (i == count)
		return;
	CHECK(sscanf(found[i].figure, "256 KiB are on the disk after %lf ms", &ms) == 1 &&
		      (slow ? ms >= 20.0 : found[i].health == BS_HEALTH_OK && ms <= 20.0) &&
		      (found[i].remedy[0] != '\0') == slow,
	      "%s: %s", slow ? "warn" : "ok", found[i].figure);
}

static void folders(void)
{
	char url[BS_PATH_MAX_];

	place(site.run_dir, "run", 0755);
	place(site.log.dir, "logs", 0750);
	site.sinks = 1;
	place(site.sink[0].dir, "there/images", 0);
	site.log.mode = BS_LOG_MODE_DURABLE;
	written();
	site.log.mode = BS_LOG_MODE_RELAXED;
	is(bs_doctor_disks, true, BS_HEALTH_OK, "log.dir, written", "256 KiB are on the disk");
	site.log.mode = BS_LOG_MODE_DURABLE;
	is(bs_doctor_disks, true, BS_HEALTH_WARN, "log.keep_mib", "until the disk is full");
	is(bs_doctor_disks, true, BS_HEALTH_FAIL, "sinks.[0].dir", "is not there");
	site.log.keep_mib = UINT64_C(1) << 60;
	is(bs_doctor_disks, true, BS_HEALTH_FAIL, "log.dir", "may be wanted");
	site.log.dir[0] = '\0';
	is(bs_doctor_disks, true, BS_HEALTH_WARN, "log.dir", "no log is kept");
	is(bs_doctor_sockets, true, BS_HEALTH_WARN, "sockets' folder", "mode 755");
	(void)chmod(site.run_dir, 0750);
	is(bs_doctor_sockets, true, BS_HEALTH_OK, "sockets' folder", "mode 750");
	(void)snprintf(url, sizeof(url), "ipc://%.200s/kspace.ipc", site.run_dir);
	(void)snprintf(site.kspace_url, sizeof(site.kspace_url), "%s", url);
	is(bs_doctor_sockets, true, BS_HEALTH_OK, "endpoints.kspace", "kspace.ipc");
	(void)snprintf(site.status_url, sizeof(site.status_url), "ipc://%s/gone/status.ipc", root);
	is(bs_doctor_sockets, true, BS_HEALTH_FAIL, "endpoints.status", "gone");
	put("/proc/sys/net/core/rmem_max", "212992\n");
	is(bs_doctor_sockets, true, BS_HEALTH_OK, "sockets' buffers", "212992");
	(void)strcpy(site.kspace_url, "tcp://127.0.0.1:5555");
	is(bs_doctor_sockets, true, BS_HEALTH_WARN, "sockets' buffers", "212992");
}

static int removed(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int main(void)
{
	if (mkdtemp(root) == NULL)
		return 1;
	limits();
	throttle();
	processors();
	clocks();
	memory();
	gpu();
	folders();
	CHECK(nftw(root, removed, 16, FTW_DEPTH | FTW_PHYS) == 0, "the made-up machine is removed");
	return check_done();
}

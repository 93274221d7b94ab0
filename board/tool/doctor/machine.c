/* board/tool/doctor/machine.c - see machine.h */
#include "board/tool/doctor/machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#if BS_GPU
#include "gpu/device/memory.h"
#endif

/* Finds the first line of a file that begins with start; out: what follows,
 * after a colon if any. */
static void line_of(const char *path, const char *start, char *out, size_t cap)
{
	FILE *f = fopen(path, "r");
	char line[512];

	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		const char *colon = strchr(line, ':');

		if (strncmp(line, start, strlen(start)) != 0)
			continue;
		colon = colon != NULL ? colon + 1 + strspn(colon + 1, " \t") : line;
		(void)snprintf(out, cap, "%.*s", (int)strcspn(colon, "\n"), colon);
		break;
	}
	(void)fclose(f);
}

static void read_gpus(struct bs_machine *m, const struct bs_devices *gpus)
{
#if BS_GPU
	struct bs_gpu_info info[BS_DEVICES_MAX];
	struct bs_fail why;
	int fd[2];
	ssize_t got;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) != 0)
		return;
	pid = fork();
	if (pid == 0) {
		uint32_t n = 0;

		memset(info, 0, sizeof(info));
		while (n < gpus->count && bs_gpu_use(gpus->device[n], &why) == 0 &&
		       bs_gpu_probe(&info[n], &why) == 0)
			n++;
		(void)!write(fd[1], info, n * sizeof(info[0]));
		_exit(0);
	}
	(void)close(fd[1]);
	got = pid > 0 ? read(fd[0], info, sizeof(info)) : 0;
	(void)close(fd[0]);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	if (got < (ssize_t)sizeof(info[0]))
		return;
	(void)snprintf(m->gpu, sizeof(m->gpu), "%.63s, %u multiprocessors", info[0].name,
		       info[0].multiprocessors);
	for (uint32_t i = 0; i < gpus->count && (size_t)got == gpus->count * sizeof(info[0]); i++)
		memcpy(m->bus[m->gpus++], info[i].bus, sizeof(info[i].bus));
	line_of("/proc/driver/nvidia/version", "NVRM version", m->driver, sizeof(m->driver));
	if (m->driver[0] == '\0')
		(void)snprintf(m->driver, sizeof(m->driver), "for CUDA %u.%u",
			       info[0].driver / 1000, info[0].driver % 1000 / 10);
#else
	(void)m;
	(void)gpus;
#endif
}

void bs_machine_read(struct bs_machine *m, const struct bs_devices *gpus)
{
	struct utsname u;
	char kb[64] = "";

	memset(m, 0, sizeof(*m));
	if (uname(&u) == 0) {
		(void)snprintf(m->host, sizeof(m->host), "%.64s", u.nodename);
		(void)snprintf(m->system, sizeof(m->system), "%.20s %.50s %.50s %.20s", u.sysname,
			       u.release, u.version, u.machine);
	}
	line_of("/proc/cpuinfo", "model name", m->cpu, sizeof(m->cpu));
	m->processors = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	line_of("/proc/meminfo", "MemTotal", kb, sizeof(kb));
	m->memory_mib = strtoull(kb, NULL, 10) >> 10;
	line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", m->governor,
		sizeof(m->governor));
	read_gpus(m, gpus);
}

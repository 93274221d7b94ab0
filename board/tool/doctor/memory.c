/* board/tool/doctor/memory.c - see finding.h: memory, and what else a process may have */
#include <stdlib.h>
#include <string.h>

#include "board/arm/ready.h"
#include "board/tool/doctor/finding.h"

#define IPC_LOCK 14   /* number of the capability */
#define FILES    1200 /* files for the most senders of the k-space endpoint, and for all else */

/* Returns a line of /proc/meminfo in MiB (it is in kB); 0: there is no such line. */
static uint64_t meminfo_mib(const struct bs_doctor *d, const char *start)
{
	char text[64];

	return bs_doctor_find(d, "/proc/meminfo", start, text, sizeof(text))
		       ? strtoull(text, NULL, 10) >> 10
		       : 0;
}

void bs_doctor_lock(struct bs_doctor *d)
{
	const bool wanted = d->site == NULL || d->site->realtime.lock_memory;
	const uint64_t want_mib = d->site != NULL ? d->site->memory_mib : 0;
	char text[64] = "0";
	uint64_t mib;

	(void)bs_doctor_find(d, "/proc/self/limits", "Max locked memory", text, sizeof(text));
	mib = strtoull(text, NULL, 10) >> 20;
	if (!wanted)
		bs_doctor_say(d, BS_HEALTH_OK, "memory lock", "",
			      "not wanted (realtime.lock_memory is false)");
	else if (bs_doctor_capable(d, IPC_LOCK) || strncmp(text, "unlimited", 9) == 0)
		bs_doctor_say(d, BS_HEALTH_OK, "memory lock", "", "as much as wanted");
	else if (d->site != NULL && mib >= want_mib + 64)
		bs_doctor_say(d, BS_HEALTH_OK, "memory lock", "", "up to %llu MiB",
			      (unsigned long long)mib);
	else
		bs_doctor_say(d, d->site != NULL ? BS_HEALTH_FAIL : BS_HEALTH_WARN, "memory lock",
			      "LimitMEMLOCK=infinity in the unit (boreside.service has it; this "
			      "shell is not the service), or memlock in "
			      "/etc/security/limits.conf",
			      "up to %llu MiB", (unsigned long long)mib);
}

void bs_doctor_memory(struct bs_doctor *d)
{
	const uint64_t total = meminfo_mib(d, "MemTotal:");
	const uint64_t available = meminfo_mib(d, "MemAvailable:");
	const uint64_t want = d->site != NULL ? d->site->memory_mib : 0;

	if (total == 0)
		bs_doctor_say(d, BS_HEALTH_WARN, "memory", "is /proc mounted?", "cannot be told");
	else if (want > total)
		bs_doctor_say(d, BS_HEALTH_FAIL, "memory",
			      "a smaller node.memory_mib, or more memory",
			      "%llu MiB, node.memory_mib allows for %llu",
			      (unsigned long long)total, (unsigned long long)want);
	else
		bs_doctor_say(d, want > available ? BS_HEALTH_WARN : BS_HEALTH_OK, "memory",
			      want > available ? "end other programs, or a smaller node.memory_mib"
					       : "",
			      "%llu of %llu MiB are available%s", (unsigned long long)available,
			      (unsigned long long)total,
			      want > available ? ", fewer than node.memory_mib" : "");
}

/* Reads the word in brackets of a line such as "[always] madvise never". */
static const char *chosen(char *text)
{
	char *from = strchr(text, '[');

	if (from == NULL)
		return text;
	from[strcspn(from, "]")] = '\0';
	return from + 1;
}

void bs_doctor_paging(struct bs_doctor *d)
{
	const uint64_t swap = meminfo_mib(d, "SwapTotal:");
	const bool locked = d->site != NULL && d->site->realtime.lock_memory;
	char text[64];
	int64_t overcommit = 0;

	bs_doctor_say(d, swap > 0 && !locked ? BS_HEALTH_WARN : BS_HEALTH_OK, "swap",
		      swap > 0 && !locked ? "realtime.lock_memory = true, or swapoff -a" : "",
		      "%llu MiB%s", (unsigned long long)swap,
		      swap > 0 && locked ? ", the service's memory is locked" : "");
	if (bs_doctor_number(d, "/proc/sys/vm/overcommit_memory", &overcommit))
		bs_doctor_say(d, overcommit == 2 ? BS_HEALTH_WARN : BS_HEALTH_OK, "overcommit",
			      overcommit == 2 ? "sysctl vm.overcommit_memory=0: CUDA reserves more "
						"addresses than it uses"
					      : "",
			      "vm.overcommit_memory is %lld", (long long)overcommit);
	if (bs_doctor_line(d, "/sys/kernel/mm/transparent_hugepage/defrag", text, sizeof(text))) {
		const char *word = chosen(text);
		const bool stalls = strcmp(word, "always") == 0;

		bs_doctor_say(d, stalls ? BS_HEALTH_WARN : BS_HEALTH_OK, "huge pages",
			      stalls ? "echo madvise > /sys/kernel/mm/transparent_hugepage/defrag: "
				       "a page fault waits while memory is moved about"
				     : "",
			      "transparent_hugepage/defrag is %s", word);
	}
}

void bs_doctor_files(struct bs_doctor *d)
{
	char text[96] = "";
	char *hard;
	uint64_t n;

	if (!bs_doctor_find(d, "/proc/self/limits", "Max open files", text, sizeof(text)))
		return;
	/* the service itself raises its soft limit to the hard one */
	hard = text + strcspn(text, " \t");
	n = strstr(hard, "unlimited") != NULL ? UINT64_MAX : strtoull(hard, NULL, 10);
	bs_doctor_say(d, n < FILES ? BS_HEALTH_WARN : BS_HEALTH_OK, "open files",
		      n < FILES ? "LimitNOFILE=4096 in the unit: a crowd of senders finds no room "
				  "otherwise"
				: "",
		      n == UINT64_MAX ? "any number" : "up to %llu", (unsigned long long)n);
}

/* Returns a soft limit in KiB; UINT64_MAX: unlimited. */
static uint64_t limit_kib(const struct bs_doctor *d, const char *start)
{
	char text[96] = "";

	return !bs_doctor_find(d, "/proc/self/limits", start, text, sizeof(text)) ||
			       strncmp(text, "unlimited", 9) == 0
		       ? UINT64_MAX
		       : strtoull(text, NULL, 10) >> 10;
}

void bs_doctor_stack(struct bs_doctor *d)
{
	const uint64_t kib = limit_kib(d, "Max stack size");
	const bool small = kib < BS_READY_STACK_KIB;

	bs_doctor_say(d, small ? BS_HEALTH_FAIL : BS_HEALTH_OK, "stack",
		      small ? "ulimit -s 8192, or LimitSTACK=8M in the unit" : "",
		      kib == UINT64_MAX ? "any size" : "up to %llu KiB", (unsigned long long)kib);
}

void bs_doctor_size(struct bs_doctor *d)
{
	const uint64_t kib = limit_kib(d, "Max file size");

	bs_doctor_say(d, kib == UINT64_MAX ? BS_HEALTH_OK : BS_HEALTH_WARN, "size of files",
		      kib == UINT64_MAX
			      ? ""
			      : "ulimit -f unlimited, or LimitFSIZE=infinity in the unit: a larger "
				"one meets a full disk",
		      kib == UINT64_MAX ? "any" : "up to %llu KiB", (unsigned long long)kib);
}

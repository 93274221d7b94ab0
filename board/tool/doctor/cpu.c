/* board/tool/doctor/cpu.c - see finding.h: priorities and processors */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/doctor/finding.h"
#include "board/service/throttle.h"

#define CPU      "/sys/devices/system/cpu/"
#define CANARIES 4u  /* steps from recon's priority to the highest one (board/service/realtime.h) */
#define RECON    60u /* recon's priority on nodes that grant one */
#define SYS_NICE 23  /* number of the capability */
#define WAKE_US  100 /* longest wake-up from an idle state, out of an image's 1 ms */
#define STATES   16u /* most idle states that are read */

void bs_doctor_priority(struct bs_doctor *d)
{
	const uint32_t recon = d->site != NULL ? d->site->realtime.priority : RECON;
	const uint32_t want = recon + CANARIES;
	char text[64] = "0";
	uint32_t limit;

	(void)bs_doctor_find(d, "/proc/self/limits", "Max realtime priority", text, sizeof(text));
	limit = strncmp(text, "unlimited", 9) == 0 ? 99 : (uint32_t)strtoul(text, NULL, 10);
	if (recon == 0)
		bs_doctor_say(d, BS_HEALTH_OK, "priorities", "",
			      "none wanted (realtime.priority is 0)");
	else if (bs_doctor_capable(d, SYS_NICE))
		bs_doctor_say(d, BS_HEALTH_OK, "priorities", "", "any (CAP_SYS_NICE), %u wanted",
			      want);
	else if (limit >= want)
		bs_doctor_say(d, BS_HEALTH_OK, "priorities", "", "up to %u, %u wanted", limit,
			      want);
	else
		bs_doctor_say(d, d->site != NULL ? BS_HEALTH_FAIL : BS_HEALTH_WARN, "priorities",
			      "LimitRTPRIO=94 in the unit (boreside.service has it; this shell is "
			      "not the service), or rtprio in /etc/security/limits.conf",
			      "up to %u, %u wanted", limit, want);
}

void bs_doctor_throttle(struct bs_doctor *d)
{
	bool matters = false;
	int64_t us;

	for (uint32_t i = 0; d->site != NULL && i < d->site->protocols; i++)
		matters = matters ||
			  bs_throttle_matters(&d->site->realtime,
					      d->site->protocol[i].backend != BS_BACKEND_HOST);
	if (!bs_doctor_number(d, BS_THROTTLE_FILE, &us))
		bs_doctor_say(d, BS_HEALTH_OK, "throttling", "", "this kernel has none");
	else if (us == BS_THROTTLE_NONE)
		bs_doctor_say(d, BS_HEALTH_OK, "throttling", "", "off");
	else if (matters)
		bs_doctor_say(
			d, BS_HEALTH_WARN, "throttling",
			"sysctl kernel.sched_rt_runtime_us=-1, or realtime.wait and gpu_wait "
			"= \"block\"",
			"real-time threads that poll are stopped after %lld us of each period",
			(long long)us);
	else
		bs_doctor_say(d, BS_HEALTH_OK, "throttling", "",
			      "after %lld us of each period; nothing of the service polls",
			      (long long)us);
}

/* Checks that a worker's processors exist and are its own. */
static void worker_cpus(struct bs_doctor *d, const char *key, const char *text,
			const struct bs_cpus *online, const struct bs_cpus *isolated, bool alone)
{
	char what[48];
	struct bs_cpus want;
	uint32_t shared = 0;

	if (text[0] == '\0' || bs_cpus_parse(&want, text, NULL) != 0)
		return;
	(void)snprintf(what, sizeof(what), "realtime.%s", key);
	for (uint32_t i = 0; i < BS_CPUS_MAX; i++) {
		if (!bs_cpus_has(&want, i))
			continue;
		if (!bs_cpus_has(online, i)) {
			bs_doctor_say(d, BS_HEALTH_FAIL, what, "name processors that are online",
				      "\"%s\": processor %u is not there", text, i);
			return;
		}
		shared += !bs_cpus_has(isolated, i);
	}
	if (alone && shared > 0)
		bs_doctor_say(d, BS_HEALTH_WARN, what,
			      "isolcpus= (and nohz_full=, irqaffinity=) on the kernel's command "
			      "line, or realtime.wait = \"block\"",
			      "\"%s\": it polls on %u processors that others use, too", text,
			      shared);
	else
		bs_doctor_say(d, BS_HEALTH_OK, what, "", "\"%s\", %u of them isolated", text,
			      want.count - shared);
}

void bs_doctor_processors(struct bs_doctor *d)
{
	const struct bs_realtime *rt = d->site != NULL ? &d->site->realtime : NULL;
	struct bs_cpus online = { 0 };
	struct bs_cpus isolated = { 0 };
	char flags[1024] = "";
	bool guest;

	if (!bs_doctor_cpus(d, CPU "online", &online)) {
		bs_doctor_say(d, BS_HEALTH_WARN, "processors", "is /sys mounted?",
			      "cannot be told");
		return;
	}
	(void)bs_doctor_cpus(d, CPU "isolated", &isolated);
	guest = bs_doctor_find(d, "/proc/cpuinfo", "flags", flags, sizeof(flags)) &&
		strstr(flags, " hypervisor") != NULL;
	bs_doctor_say(d, guest || online.count < 2 ? BS_HEALTH_WARN : BS_HEALTH_OK, "processors",
		      guest ? "a machine of its own: what other guests do shows as stalls of "
			      "this one"
		      : online.count < 2 ? "two at least: receiving and reconstructing take turns"
					 : "",
		      "%u online, %u isolated%s", online.count, isolated.count,
		      guest ? ", of a virtual machine" : "");
	if (rt == NULL)
		return;
	const bool polls = rt->wait == BS_WAIT_POLL;

	worker_cpus(d, "ingest_cpus", rt->ingest_cpus, &online, &isolated, polls);
	worker_cpus(d, "recon_cpus", rt->recon_cpus, &online, &isolated, polls);
	worker_cpus(d, "emit_cpus", rt->emit_cpus, &online, &isolated, polls);
	if (polls && rt->recon_cpus[0] == '\0')
		bs_doctor_say(d, BS_HEALTH_WARN, "realtime.wait",
			      "realtime.recon_cpus names processors of its own",
			      "polls, on processors that all others use");
}

void bs_doctor_governor(struct bs_doctor *d)
{
	struct bs_cpus online = { 0 };
	uint32_t slow = 0;
	uint32_t told = 0;
	char other[32] = "";

	(void)bs_doctor_cpus(d, CPU "online", &online);
	for (uint32_t i = 0; i < BS_CPUS_MAX; i++) {
		char path[96];
		char name[32];

		if (!bs_cpus_has(&online, i))
			continue;
		(void)snprintf(path, sizeof(path), CPU "cpu%u/cpufreq/scaling_governor", i);
		if (!bs_doctor_line(d, path, name, sizeof(name)))
			continue;
		told++;
		if (strcmp(name, "performance") == 0)
			continue;
		slow++;
		memcpy(other, name, sizeof(other));
	}
	if (told == 0)
		bs_doctor_say(d, BS_HEALTH_OK, "governor", "",
			      "none: the clock is the firmware's, or the host's");
	else if (slow == 0)
		bs_doctor_say(d, BS_HEALTH_OK, "governor", "", "performance on all %u", told);
	else
		bs_doctor_say(d, BS_HEALTH_WARN, "governor",
			      "cpupower frequency-set -g performance", "%s on %u of %u processors",
			      other, slow, told);
}

/* Returns the wake-up time in us of the slowest idle state in use; -1: there is none. */
static int64_t deepest(const struct bs_doctor *d, char name[32])
{
	int64_t worst = -1;

	for (uint32_t i = 0; i < STATES; i++) {
		char path[96];
		int64_t off = 0;
		int64_t us;

		(void)snprintf(path, sizeof(path), CPU "cpu0/cpuidle/state%u/latency", i);
		if (!bs_doctor_number(d, path, &us))
			break;
		(void)snprintf(path, sizeof(path), CPU "cpu0/cpuidle/state%u/disable", i);
		if ((bs_doctor_number(d, path, &off) && off != 0) || us <= worst)
			continue;
		worst = us;
		(void)snprintf(path, sizeof(path), CPU "cpu0/cpuidle/state%u/name", i);
		if (!bs_doctor_line(d, path, name, 32))
			(void)snprintf(name, 32, "state %u", i);
	}
	return worst;
}

void bs_doctor_idle(struct bs_doctor *d)
{
	char name[32] = "";
	const int64_t us = deepest(d, name);

	if (us < 0)
		bs_doctor_say(d, BS_HEALTH_OK, "idle states", "",
			      "none that the kernel chooses (of a guest: the host's)");
	else
		bs_doctor_say(d, us > WAKE_US ? BS_HEALTH_WARN : BS_HEALTH_OK, "idle states",
			      us > WAKE_US
				      ? "cpupower idle-set -D 100, or hold /dev/cpu_dma_latency "
					"open with a smaller bound"
				      : "",
			      "the deepest, %s, wakes in %lld us", name, (long long)us);
}

void bs_doctor_clock(struct bs_doctor *d)
{
	static const char *const slow[] = { "hpet", "acpi_pm", "jiffies", "refined-jiffies" };
	char name[48];
	bool bad = false;

	if (!bs_doctor_line(d, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
			    name, sizeof(name))) {
		bs_doctor_say(d, BS_HEALTH_WARN, "clock", "is /sys mounted?", "cannot be told");
		return;
	}
	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++)
		bad = bad || strcmp(name, slow[i]) == 0;
	bs_doctor_say(d, bad ? BS_HEALTH_WARN : BS_HEALTH_OK, "clock",
		      bad ? "clocksource=tsc on the kernel's command line, if the machine has one "
			    "that is steady: each reading takes a microsecond so"
			  : "",
		      "%s", name);
}

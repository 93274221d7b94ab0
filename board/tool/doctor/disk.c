/* board/tool/doctor/disk.c - see finding.h: the folders that the service writes in */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "board/tool/doctor/finding.h"
#include "board/emit/folder.h"
#include "core/thread/clock.h"

#define WRITES      16u     /* writes that measure the disk, each followed by a sync */
#define WRITE_BYTES 262144u /* most bytes that one commit of the log waits for */
/* lag of durable from which a disk is called slow; held is never delayed */
#define SLOW_MS 20.0
#define FEW_MIB 1024u /* free space below which a disk is called full */
#define MIB     (UINT64_C(1) << 20)

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a;
	const double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Finds the median and longest time in ms until a write is on the disk. */
static int sync_times(const char *dir, double *median, double *longest)
{
	static const char zeros[WRITE_BYTES];
	double ms[WRITES];
	char path[BS_PATH_MAX_ + 32];
	int rc = 0;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/.doctor-XXXXXX", dir);
	fd = mkstemp(path);
	if (fd < 0)
		return errno;
	for (unsigned i = 0; rc == 0 && i < WRITES; i++) {
		const int64_t from_ns = bs_now_ns();

		if (write(fd, zeros, sizeof(zeros)) != (ssize_t)sizeof(zeros) || fdatasync(fd) != 0)
			rc = errno != 0 ? errno : EIO;
		ms[i] = (double)(bs_now_ns() - from_ns) * 1e-6;
	}
	(void)close(fd);
	(void)unlink(path);
	if (rc != 0)
		return rc;
	qsort(ms, WRITES, sizeof(ms[0]), by_value);
	*median = ms[WRITES / 2];
	*longest = ms[WRITES - 1];
	return 0;
}

/* Finds the free MiB where the folder is or would be made. False: no such place. */
static bool free_mib(const char *dir, uint64_t *mib)
{
	char parent[BS_PATH_MAX_];
	struct statvfs v;
	char *slash;

	(void)snprintf(parent, sizeof(parent), "%s", dir);
	while (statvfs(parent, &v) != 0) {
		slash = strrchr(parent, '/');
		if (slash == NULL || slash == parent)
			return false;
		*slash = '\0';
	}
	*mib = (uint64_t)v.f_bavail * v.f_frsize / MIB;
	return true;
}

/* Checks a folder and its room for want MiB. False: it cannot be used. */
static bool folder(struct bs_doctor *d, const char *key, const char *dir, uint64_t want)
{
	struct bs_fail why = { 0 };
	uint64_t mib = 0;

	if (bs_folder_usable(dir, &why) != 0) {
		bs_doctor_say(d, BS_HEALTH_FAIL, key,
			      "make it, and let the service's user write in it", "%s", why.text);
		return false;
	}
	if (!free_mib(dir, &mib))
		return true;
	if (want > 0 && mib < want)
		bs_doctor_say(d, BS_HEALTH_FAIL, key,
			      "a smaller limit in the site file, or a larger disk",
			      "%s: %llu MiB free, %llu may be wanted", dir, (unsigned long long)mib,
			      (unsigned long long)want);
	else
		bs_doctor_say(d, mib < FEW_MIB ? BS_HEALTH_WARN : BS_HEALTH_OK, key,
			      mib < FEW_MIB ? "make room" : "", "%s: %llu MiB free", dir,
			      (unsigned long long)mib);
	return true;
}

static void log_disk(struct bs_doctor *d, const struct bs_site *site)
{
	const bool durable = site->log.mode == BS_LOG_MODE_DURABLE;
	double median = 0.0;
	double longest = 0.0;
	int error;

	if (!folder(d, "log.dir", site->log.dir, site->log.keep_mib) ||
	    bs_folder_gone(site->log.dir))
		return;
	if (site->log.keep_mib == 0 && site->log.keep_hours <= 0.0)
		bs_doctor_say(d, BS_HEALTH_WARN, "log.keep_mib", "log.keep_mib, or log.keep_hours",
			      "logs are kept until the disk is full");
	error = sync_times(site->log.dir, &median, &longest);
	if (error != 0)
		bs_doctor_say(d, BS_HEALTH_FAIL, "log.dir, written", "see dmesg; another disk",
			      "%s", strerror(error));
	else
		bs_doctor_say(
			d, durable && median > SLOW_MS ? BS_HEALTH_WARN : BS_HEALTH_OK,
			"log.dir, written",
			durable && median > SLOW_MS
				? "a faster disk, or log.mode = \"relaxed\": senders keep what "
				  "is not durable"
				: "",
			"256 KiB are on the disk after %.1f ms (median of %u, at most %.1f)",
			median, WRITES, longest);
}

void bs_doctor_disks(struct bs_doctor *d)
{
	const struct bs_site *site = d->site;
	char key[32];

	if (site == NULL)
		return;
	(void)folder(d, "node.run_dir", site->run_dir, 0);
	if (site->cache_dir[0] != '\0')
		(void)folder(d, "node.cache_dir", site->cache_dir, 0);
	for (uint32_t i = 0; i < site->sinks; i++) {
		(void)snprintf(key, sizeof(key), "sinks.[%u].dir", i);
		if (site->sink[i].dir[0] != '\0')
			(void)folder(d, key, site->sink[i].dir, 0);
	}
	if (bs_site_spills(site))
		(void)folder(d, "overload.spill_dir", site->overload.spill_dir,
			     site->overload.spill_mib);
	if (bs_site_logs(site))
		log_disk(d, site);
	else
		bs_doctor_say(d, BS_HEALTH_WARN, "log.dir",
			      "log: { dir = ...; }: a scan then outlives a killed process",
			      "no log is kept");
}

/* board/tool/doctor/socket.c - see finding.h: the endpoints */
#include <sys/stat.h>
#include <unistd.h>

#include "board/tool/doctor/finding.h"
#include "board/emit/folder.h"
#include "ipc/url.h"

#define BUFFER_BYTES (4 << 20) /* buffer of a socket for one waiting message (ipc/WIRE.md) */

/* Checks the folder of the sockets: only the group may enter it. */
static void run_dir(struct bs_doctor *d, const char *dir)
{
	struct bs_fail why = { 0 };
	struct stat st;
	pid_t pid = 0;
	int fd = -1;

	if (stat(dir, &st) != 0)
		return; /* a missing folder is reported by disk.c */
	if ((st.st_mode & (S_IRWXO)) != 0)
		bs_doctor_say(d, BS_HEALTH_WARN, "sockets' folder",
			      "chmod 750: whoever may enter may stream scans and read images",
			      "%s: mode %03o", dir, (unsigned)st.st_mode & 0777);
	else
		bs_doctor_say(d, BS_HEALTH_OK, "sockets' folder", "", "%s: mode %03o", dir,
			      (unsigned)st.st_mode & 0777);
	if (bs_folder_holder(&fd, &pid, dir, BS_FOLDER_PID, &why) == 0) {
		bs_doctor_say(d, BS_HEALTH_OK, "service", "", "runs there, process %d", (int)pid);
		(void)close(fd);
	}
}

static bool endpoint(struct bs_doctor *d, const char *key, const char *url)
{
	struct bs_fail why = { 0 };

	if (url[0] == '\0')
		return false;
	/* PUSH and PUB beyond loopback are refused by the site's rules */
	if (bs_url_place(url, bs_site_seals(d->site, url), d->site->run_dir, &why) != 0)
		bs_doctor_say(d, BS_HEALTH_FAIL, key, "another URL, or another owner of its folder",
			      "%s", why.text);
	else
		bs_doctor_say(d, BS_HEALTH_OK, key, "", "%s", url);
	return !bs_url_is_ipc(url);
}

void bs_doctor_sockets(struct bs_doctor *d)
{
	const struct bs_site *s = d->site;
	bool tcp = false;
	int64_t bytes;

	if (s == NULL)
		return;
	run_dir(d, s->run_dir);
	tcp |= endpoint(d, "endpoints.kspace", s->kspace_url);
	tcp |= endpoint(d, "endpoints.archive", s->archive_url);
	tcp |= endpoint(d, "endpoints.viewers", s->viewers_url);
	tcp |= endpoint(d, "endpoints.images", s->images_url);
	tcp |= endpoint(d, "endpoints.status", s->status_url);
	if (!bs_doctor_number(d, "/proc/sys/net/core/rmem_max", &bytes))
		return;
	if (tcp && bytes < BUFFER_BYTES)
		bs_doctor_say(d, BS_HEALTH_WARN, "sockets' buffers",
			      "sysctl net.core.rmem_max=4194304 net.core.wmem_max=4194304",
			      "net.core.rmem_max is %lld bytes: a sender over tcp waits more often",
			      (long long)bytes);
	else
		bs_doctor_say(d, BS_HEALTH_OK, "sockets' buffers", "",
			      "net.core.rmem_max is %lld bytes", (long long)bytes);
}

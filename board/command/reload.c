/* board/command/reload.c - boreside reload: a running service takes up its changed site file */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/command/command.h"
#include "board/emit/folder.h"
#include "board/status/ask.h"
#include "core/thread/clock.h"
#include "ipc/seal/keys.h"

#define WAIT_MS 1000
#define LOOK_NS INT64_C(20000000)

/* The service's answer about its reloads (bs_status_reload). */
struct answer {
	unsigned long long begun, ended;
	long code;
	char file[BS_PATH_MAX_], state[64], text[400];
};

/* Copies the next line of the answer, as far as it fits. */
static void take_line(char *out, size_t cap, char **at)
{
	const size_t n = strcspn(*at, "\n");

	(void)snprintf(out, cap, "%.*s", (int)n, *at);
	*at += n + ((*at)[n] == '\n');
}

static struct bs_seal_keys keys;
static bool sealed;

static bool ask(struct answer *a, const char *url)
{
	char reply[1024];
	char *at = reply;
	struct bs_fail why;

	if (bs_status_ask_sealed(url, sealed ? &keys : NULL, "reload", reply, sizeof(reply),
				 WAIT_MS, &why) != 0)
		return false;
	a->begun = strtoull(at, &at, 10);
	a->ended = strtoull(at, &at, 10);
	a->code = strtol(at, &at, 10);
	at += *at == '\n';
	take_line(a->file, sizeof(a->file), &at);
	take_line(a->state, sizeof(a->state), &at);
	take_line(a->text, sizeof(a->text), &at);
	return a->file[0] != '\0';
}

/* Waits until the reload has ended that follows the number `before`. */
static int await_end(int fd, const char *url, unsigned long long before)
{
	char said[64] = "";
	struct answer a;

	for (;;) {
		if (!bs_folder_held(fd))
			return bs_command_fail("the service has ended");
		if (ask(&a, url)) {
			if (a.ended > before)
				break;
			if (a.begun > before && strcmp(a.state, said) != 0 &&
			    strstr(a.state, "waiting") != NULL)
				(void)printf("%s\n", a.state);
			memcpy(said, a.state, sizeof(said));
			(void)fflush(stdout);
		}
		bs_sleep_ns(LOOK_NS);
	}
	if (a.code != 0)
		return bs_command_fail("%s", a.text);
	(void)printf("%s\n", a.text);
	return 0;
}

/* file: the site file that the service is to have been started with; NULL: any file. */
static int reload(const char *run_dir, const char *url, const char *file)
{
	struct bs_fail why;
	struct answer a;
	pid_t pid;
	int fd;
	int status;

	if (bs_folder_holder(&fd, &pid, run_dir, BS_FOLDER_PID, &why) != 0)
		return bs_command_fail("%s", why.text);
	if (!ask(&a, url))
		status = bs_command_fail("%s: no service answers", url);
	else if (file != NULL && strcmp(a.file, file) != 0)
		status = bs_command_fail(
			"the service was started with %s, which it reads again, not %s", a.file,
			file);
	else if (bs_folder_signal(pid, SIGHUP, &why) != 0)
		status = bs_command_fail("%s", why.text);
	else
		status = await_end(fd, url, a.begun);
	(void)close(fd);
	return status;
}

static int run_reload(void *request)
{
	struct bs_command_here *q = request;
	struct bs_site *site = NULL;
	int status;

	if (q->config != NULL) {
		site = bs_command_site(q->config);
		if (site == NULL)
			return 1;
		status = bs_command_seal(&keys, site, site->status_url, NULL, NULL);
		sealed = status > 0;
		if (status < 0) {
			free(site);
			return 1;
		}
	}
	status = site != NULL ? reload(site->run_dir, site->status_url, site->file)
			      : reload(BS_COMMAND_RUN_DIR, BS_COMMAND_STATUS_URL, NULL);
	free(site);
	return status;
}

const struct bs_command bs_command_reload = {
	.name = "reload",
	.summary = "a running service takes up its changed site file",
	.notes =
		"The service checks the whole of the file that it was started with; then, "
		"while no scan is open, its protocols are added, replaced and removed: all of it, "
		"or nothing and status 1 with the reason. Keys of the node cannot change live, but "
		"for node.name, node.memory_mib, node.drain_s and node.log. Files that a protocol "
		"names are read again where a key of the protocol changes. Waits for the scan in "
		"flight and for the result. SIGHUP does the same; the log has the result.",
	.options = bs_command_here,
	.request = &(struct bs_command_here){ 0 },
	.run = run_reload,
};

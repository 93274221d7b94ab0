/* board/command/drain.c - boreside drain: a running service finishes what it has, and ends */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "board/command/command.h"
#include "board/emit/folder.h"
#include "core/thread/clock.h"

/* Waits until the service has ended. Returns its exit status. */
static int await_end(int fd)
{
	char note[160];
	int status;

	while (bs_folder_held(fd))
		bs_sleep_ns(20000000);
	status = bs_folder_ended(fd, note, sizeof(note));
	if (status < 0)
		return bs_command_fail("the service ended without a word");
	(void)printf("drained: %s", note);
	return status;
}

static int run_drain(void *request)
{
	struct bs_command_here *q = request;
	struct bs_fail why;
	struct bs_site *site = NULL;
	int fd = -1;
	pid_t pid;
	int status;

	if (q->config != NULL) {
		site = bs_command_site(q->config);
		if (site == NULL)
			return 1;
	}
	if (bs_folder_holder(&fd, &pid, site != NULL ? site->run_dir : BS_COMMAND_RUN_DIR,
			     BS_FOLDER_PID, &why) != 0 ||
	    bs_folder_signal(pid, SIGUSR1, &why) != 0)
		status = bs_command_fail("%s", why.text);
	else
		status = await_end(fd);
	if (fd >= 0)
		(void)close(fd);
	free(site);
	return status;
}

const struct bs_command bs_command_drain = {
	.name = "drain",
	.summary = "a running service takes no new scan, finishes what it has, and ends",
	.notes = "Waits for the end. A scan in flight goes on until its sender closes it or falls "
		 "silent; its images are delivered. Whoever may signal the service's process may "
		 "drain it: its user, and root. SIGTERM does the same within node.drain_s.",
	.options = bs_command_here,
	.request = &(struct bs_command_here){ 0 },
	.run = run_drain,
};

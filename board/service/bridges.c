/* board/service/bridges.c - processes outside the stream; see supervising.h */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "board/service/herald.h"
#include "board/service/supervising.h"
#include "core/thread/clock.h"
#include "drivers/file/program.h"

#define LAST_NS INT64_C(5000000000)  /* time for a bridge's last words; WatchdogSec is longer */
#define LONG_NS INT64_C(10000000000) /* a bridge that ran this long had started well */

/* The bridges' commands: `boreside COMMAND -c FILE --parent PID [NAME --report 3]`. One with
 * protocols begins once the service is ready, and anew at a reload. */
static const struct {
	const char *command, *name;
	size_t listen; /* offset of the address in struct bs_site; "" there: it is not wanted */
	bool protocols;
} bridges[BS_BRIDGES] = {
	[BS_BRIDGE_MRD] = { "bridge", "mrd", offsetof(struct bs_site, mrd.listen), true },
	[BS_BRIDGE_WEB] = { "web", NULL, offsetof(struct bs_site, web.listen), false },
};

/* Starts a bridge with ordinary scheduling and no descriptors but the standard ones. */
static int start_bridge(struct supervisor *v, int which)
{
	struct bridge *b = &v->bridge[which];
	char self[16];
	const char *argv[] = { "boreside",
			       bridges[which].command,
			       "-c",
			       v->shm.s->site.file,
			       "--parent",
			       self,
			       bridges[which].name,
			       "--report",
			       "3",
			       NULL };
	int report[2] = { 0, 0 };
	int rc;

	(void)snprintf(self, sizeof(self), "%d", (int)getpid());
	if (bridges[which].name == NULL || pipe2(report, O_CLOEXEC | O_NONBLOCK) != 0)
		argv[7] = NULL;
	rc = bs_program_start(&b->pid, &(struct bs_program){ .path = BS_PROGRAM_SELF,
							     .argv = argv,
							     .fd = (int[]){ 0, 1, 2, report[1] },
							     .fds = report[1] > 0 ? 4 : 3,
							     .ordinary = true });
	if (report[1] > 0)
		(void)close(report[1]);
	if (rc != 0 && report[0] > 0)
		(void)close(report[0]);
	b->report = rc == 0 ? report[0] : 0;
	if (rc == 0) {
		atomic_fetch_add(&v->shm.s->bridge[which].starts, 1);
		atomic_store(&v->shm.s->bridge[which].pid, (int32_t)b->pid);
		return 0;
	}
	b->pid = 0;
	bs_herald_say(&v->shm, BS_LOG_ERROR, "starting bridge %s: " BS_PROGRAM_SELF ": %s",
		      bs_bridge_name((enum bs_bridge)which), strerror(rc));
	return BS_ERR_IO;
}

/* Reads what a bridge reports; the last report counts. */
static void hear_bridge(struct supervisor *v, int which)
{
	struct bs_bridge_clients *c = &v->shm.s->bridge[which].clients;
	struct bs_bridge_clients told;

	if (v->bridge[which].report <= 0)
		return;
	while (read(v->bridge[which].report, &told, sizeof(told)) == (ssize_t)sizeof(told))
		*c = told;
	if (v->bridge[which].pid != 0)
		return;
	c->connected = c->active = 0;
	(void)close(v->bridge[which].report);
	v->bridge[which].report = 0;
}

static void take_end(struct supervisor *v, int which, int status, int64_t now)
{
	struct bridge *b = &v->bridge[which];
	const bool well = now - b->start_ns > LONG_NS;

	struct bs_bridge_state *state = &v->shm.s->bridge[which];

	b->pid = 0;
	hear_bridge(v, which);
	b->start_at_ns = b->told ? now : bs_restart_at(&b->restart, well, now);
	bs_end_words(state->last_end, status);
	atomic_store(&state->pid, 0);
	if (!b->told)
		bs_herald_say(&v->shm, BS_LOG_ERROR, "bridge %s ended: %s",
			      bs_bridge_name((enum bs_bridge)which), state->last_end);
}

static bool reap(struct supervisor *v, int which, int64_t now)
{
	struct bridge *b = &v->bridge[which];
	int status;

	if (b->pid != 0 && waitpid(b->pid, &status, WNOHANG) == b->pid)
		take_end(v, which, status, now);
	return b->pid == 0;
}

void bs_bridges_advance(struct supervisor *v, int64_t now)
{
	const uint64_t generation = atomic_load(&v->shm.s->generation);

	for (int i = 0; i < BS_BRIDGES; i++) {
		struct bridge *b = &v->bridge[i];

		hear_bridge(v, i);
		if (!reap(v, i, now)) {
			if (bridges[i].protocols && b->generation != generation &&
			    !b->told) { /* the bridge's protocols are not the site's now */
				b->told = true;
				(void)kill(b->pid, SIGTERM);
			}
			continue;
		}
		if (v->ending || (bridges[i].protocols && !v->ready) || now < b->start_at_ns ||
		    ((const char *)&v->shm.s->site)[bridges[i].listen] == '\0')
			continue;
		b->start_ns = now;
		b->generation = generation;
		b->told = false;
		if (start_bridge(v, i) != 0)
			b->start_at_ns = bs_restart_at(&b->restart, false, now);
		else
			bs_herald_say(&v->shm, BS_LOG_INFO, "bridge %s: process %d",
				      bs_bridge_name((enum bs_bridge)i), (int)b->pid);
	}
}

void bs_bridges_end(struct supervisor *v)
{
	const struct timespec moment = { 0, 5000000 };
	const int64_t until = bs_now_ns() + LAST_NS;

	for (int i = 0; i < BS_BRIDGES; i++) {
		v->bridge[i].told = true;
		if (v->bridge[i].pid != 0)
			(void)kill(v->bridge[i].pid, SIGTERM);
	}
	for (int i = 0; i < BS_BRIDGES; i++) {
		while (!reap(v, i, bs_now_ns()) && bs_now_ns() < until)
			(void)nanosleep(&moment, NULL);
		if (v->bridge[i].pid == 0)
			continue;
		bs_herald_say(&v->shm, BS_LOG_WARN, "bridge %s does not end by itself: killed",
			      bs_bridge_name((enum bs_bridge)i));
		(void)kill(v->bridge[i].pid, SIGKILL);
		(void)waitpid(v->bridge[i].pid, &(int){ 0 }, 0);
		v->bridge[i].pid = 0;
	}
}

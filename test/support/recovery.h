/*
 * test/support/recovery.h - what tests of workers, and services, that are killed share
 *
 * A sender of the real kind in a thread of its own, a worker's pid, an image's bytes.
 */
#ifndef BS_TEST_SUPPORT_RECOVERY_H
#define BS_TEST_SUPPORT_RECOVERY_H

#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>

#include "drivers/tool/replay/replay.h"
#include "test/support/service.h"

/* Of protocol "spokes". service, from, session and speed: its caller's, before the thread. */
struct sent {
	const struct service *service;
	struct bs_replay *from;
	pthread_t thread;
	struct bs_replay_report report;
	struct bs_fail why;
	uint64_t session;
	double speed;
	_Atomic bool over;
	int rc;
};

static inline void *send_scan(void *arg)
{
	struct sent *s = arg;
	const struct bs_replay_options o = { .protocol = "spokes",
					     .session = s->session,
					     .speed = s->speed,
					     .patience_ns = AWAIT_MS * INT64_C(1000000) };
	struct bs_endpoint e;

	s->rc = bs_endpoint_connect(&e, BS_ENDPOINT_KSPACE, s->service->kspace,
				    BS_REPLAY_MESSAGE_MAX, &s->why);
	if (s->rc == 0) {
		s->rc = bs_replay_run(s->from, &e, &o, &s->report, &s->why);
		bs_endpoint_close(&e);
	}
	atomic_store(&s->over, true);
	return NULL;
}

/* A worker's pid, once it is ready; -1: not now. */
static inline pid_t ready_pid(const struct service *s, const char *worker)
{
	static char doc[200000];
	char where[64];
	const char *at;
	const char *phase;

	(void)snprintf(where, sizeof(where), "\"name\":\"%s\",\"pid\":", worker);
	if (!service_ask_once(s, "json", doc, sizeof(doc)) || (at = strstr(doc, where)) == NULL ||
	    (phase = strstr(at, "\"phase\":")) == NULL || strncmp(phase + 8, "\"ready\"", 7) != 0)
		return -1;
	return (pid_t)strtol(at + strlen(where), NULL, 10);
}

/* The bytes of a scan's image in the folder out; 0: there is none. */
static inline size_t image_bytes(const struct service *s, unsigned scan, unsigned number,
				 unsigned char *out, size_t cap)
{
	char path[160];
	size_t n = 0;
	glob_t found;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/out/uid*-s%03u-i%05u.cfl", s->dir, scan, number);
	f = glob(path, 0, NULL, &found) == 0 ? fopen(found.gl_pathv[0], "rb") : NULL;
	globfree(&found);
	if (f == NULL)
		return 0;
	n = fread(out, 1, cap, f);
	(void)fclose(f);
	return n;
}

#endif

/* board/status/server.c - the thread that answers on the status socket; see status.h */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "board/service/realtime.h"
#include "board/status/status.h"
#include "core/memory/stamp.h"
#include "core/thread/thread.h"
#include "ipc/endpoint.h"

#define REQUEST_MAX 4096u
#define POLL_MS     100

struct bs_status_server {
	const struct bs_shm *shm;
	struct bs_endpoint socket;
	pthread_t thread;
	_Atomic bool quit;
	char reply[BS_METRICS_MAX]; /* size of the longest answer; unused pages stay absent */
};

/* Answers one request; an unknown request gets the whole document. */
static int answer_once(struct bs_status_server *s, const char *request, size_t len)
{
	static const struct {
		const char *request;
		int (*make)(char *out, size_t cap, const struct bs_shm *shm);
	} answers[] = { { "text", bs_status_text },
			{ "latency", bs_status_latency_text },
			{ "latency.json", bs_status_latency_json },
			{ "stalls", bs_status_stalls },
			{ "metrics", bs_status_metrics },
			{ "reload", bs_status_reload },
			{ "ready", bs_status_ready } };

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (len == strlen(answers[i].request) &&
		    memcmp(request, answers[i].request, len) == 0)
			return answers[i].make(s->reply, sizeof(s->reply), s->shm);
	return bs_status_json(s->reply, sizeof(s->reply), s->shm);
}

/* Answers again if the site changed meanwhile: names and numbers must be of one site. */
static int answer(struct bs_status_server *s, const char *request, size_t len)
{
	const _Atomic uint32_t *stamp = &s->shm->s->site_stamp;
	uint32_t before;
	int n;

	do {
		before = bs_stamp_read(stamp);
		n = answer_once(s, request, len);
	} while (!bs_stamp_held(stamp, before));
	return n;
}

static void *serve_status(void *arg)
{
	struct bs_status_server *s = arg;
	char request[REQUEST_MAX];
	size_t len;

	bs_rt_leave();
	while (!atomic_load(&s->quit)) {
		int rc =
			bs_endpoint_recv(&s->socket, request, sizeof(request), &len, POLL_MS, NULL);
		int n;

		/* a request that is too long is answered, too */
		if (rc != 0 && rc != BS_ERR_LENGTH)
			continue;
		n = answer(s, request, rc == 0 ? len : 0);
		if (n > 0)
			(void)bs_endpoint_send(&s->socket, s->reply, (size_t)n, NULL, 0, POLL_MS,
					       NULL);
	}
	return NULL;
}

int bs_status_serve(struct bs_status_server **server, const struct bs_shm *shm, const char *url,
		    struct bs_fail *why)
{
	struct bs_status_server *s = calloc(1, sizeof(*s));
	int rc;

	*server = NULL;
	if (s == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "the status server");
	s->shm = shm;
	if (bs_site_seals(&shm->s->site, url))
		rc = bs_endpoint_bind_sealed(
			&s->socket, BS_ENDPOINT_STATUS, url, REQUEST_MAX,
			&(struct bs_endpoint_seal){ BS_METRICS_MAX, &shm->s->site.keys,
						    &shm->s->seal[BS_SEAL_STATUS] },
			why);
	else
		rc = bs_endpoint_bind(&s->socket, BS_ENDPOINT_STATUS, url, REQUEST_MAX, why);
	if (rc != 0) {
		free(s);
		return rc;
	}
	rc = bs_thread_start(&s->thread, serve_status, s);
	if (rc != 0) {
		bs_endpoint_close(&s->socket);
		free(s);
		return bs_fail(why, BS_ERR_NOMEM, "the status thread: %s", strerror(rc));
	}
	*server = s;
	return 0;
}

void bs_status_stop(struct bs_status_server *s)
{
	if (s == NULL)
		return;
	atomic_store(&s->quit, true);
	(void)pthread_join(s->thread, NULL);
	bs_endpoint_close(&s->socket);
	free(s);
}

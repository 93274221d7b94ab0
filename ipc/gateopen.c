/* ipc/gateopen.c - a gate's memory, its beginning and its end; see gate.h */
#include "ipc/gate.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ipc/gatepeer.h"
#include "ipc/url.h"

#define FILES_APART 64u /* descriptors that the process needs for itself */

static _Atomic uint32_t given; /* places that this process's gates have together */

/* The number of peers that the process may have open; raises its limit as far as it may. */
static uint32_t places_of(uint32_t wanted)
{
	const rlim_t others = atomic_load(&given) + FILES_APART;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return wanted < FILES_APART ? wanted : FILES_APART;
	if (r.rlim_cur < others + wanted) {
		r.rlim_cur = r.rlim_max < others + wanted ? r.rlim_max : others + wanted;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
	if (r.rlim_cur >= others + wanted)
		return wanted;
	if (r.rlim_cur > others + FILES_APART)
		return (uint32_t)(r.rlim_cur - others);
	return wanted < FILES_APART ? wanted : FILES_APART;
}

static int make_memory(struct bs_gate *g, struct bs_fail *why)
{
	const size_t each = (g->message_max + BS_SEAL_TAG + 63) & ~(size_t)63;

	g->peer = calloc(g->places, sizeof(*g->peer));
	g->key = calloc(g->places, sizeof(*g->key));
	g->vacant = calloc(g->places, sizeof(*g->vacant));
	g->scratch = malloc(SCRATCH);
	for (unsigned i = 0; i < BS_GATE_BUFFERS && !bs_gate_is_silent(g); i++) {
		g->buffer[i] = aligned_alloc(64, each);
		if (g->buffer[i] == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "%u messages of %zu bytes",
				       BS_GATE_BUFFERS, each);
		memset(g->buffer[i], 0, each);
	}
	if (g->peer == NULL || g->key == NULL || g->vacant == NULL || g->scratch == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%u peers", g->places);
	for (uint32_t i = 0; g->spec.keys != NULL && i < g->spec.keys->peers; i++)
		g->spec.keys->peer[i].here = 0;
	if (g->spec.keys != NULL) {
		g->sealed = aligned_alloc(64, (g->places * sizeof(*g->sealed) + 63) & ~(size_t)63);
		if (g->sealed == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "%u peers", g->places);
		memset(g->sealed, 0, g->places * sizeof(*g->sealed));
	}
	memset(g->peer, 0, g->places * sizeof(*g->peer));
	memset(g->scratch, 0, SCRATCH);
	for (uint32_t i = g->places; i-- > 0;) {
		g->key[i] = UINT64_MAX;
		g->vacant[g->vacancies++] = i;
	}
	return 0;
}

int bs_gate_open(struct bs_gate *g, const char *url, size_t message_max,
		 const struct bs_gate_spec *spec, struct bs_fail *why)
{
	struct epoll_event e = { .events = EPOLLIN };
	int rc;

	memset(g, 0, sizeof(*g));
	g->spec = *spec;
	g->listen_fd = g->fd = -1;
	if (message_max < BS_GATE_HEAD || message_max > BS_GATE_LONGEST)
		return bs_fail(why, BS_ERR_CONFIG, "%s: longest message of %zu bytes, %u to %llu",
			       url, message_max, BS_GATE_HEAD, (unsigned long long)BS_GATE_LONGEST);
	g->message_max = message_max;
	g->places = places_of(spec->places > 0 ? spec->places : BS_GATE_PEERS);
	atomic_fetch_add(&given, g->places);
	g->header = bs_url_is_ipc(url) ? 9 : 8;
	rc = bs_url_listen(url, spec->keys != NULL, &g->listen_fd, why);
	if (rc == 0 && bs_url_is_ipc(url))
		(void)snprintf(g->path, sizeof(g->path), "%s", bs_url_path(url));
	if (rc == 0)
		rc = make_memory(g, why);
	if (rc == 0) {
		g->fd = epoll_create1(EPOLL_CLOEXEC);
		if (g->fd < 0)
			rc = bs_fail(why, BS_ERR_IO, "%s: epoll: %s", url, strerror(errno));
	}
	if (rc == 0)
		g->paused = epoll_ctl(g->fd, EPOLL_CTL_ADD, g->listen_fd, &e) != 0;
	else
		bs_gate_close(g);
	return rc;
}

void bs_gate_close(struct bs_gate *g)
{
	for (uint32_t i = 0; g->peer != NULL && i < g->places; i++) {
		if (g->peer[i].id == 0)
			continue;
		/* Closing with unread bytes resets a connection: the peer would lose the answer. */
		(void)shutdown(g->peer[i].fd, SHUT_WR);
		(void)recv(g->peer[i].fd, g->scratch, SCRATCH, 0);
		(void)close(g->peer[i].fd);
	}
	if (g->listen_fd >= 0) {
		(void)close(g->listen_fd);
		if (g->path[0] != '\0')
			(void)unlink(g->path);
	}
	if (g->fd >= 0)
		(void)close(g->fd);
	for (unsigned i = 0; i < BS_GATE_BUFFERS; i++)
		free(g->buffer[i]);
	for (uint32_t i = 0; g->peer != NULL && i < g->places; i++)
		free(g->peer[i].out_long);
	if (g->sealed != NULL)
		bs_gate_wipe(g);
	free(g->sealed);
	free(g->peer);
	free(g->key);
	free(g->vacant);
	free(g->scratch);
	atomic_fetch_sub(&given, g->places);
	memset(g, 0, sizeof(*g));
	g->listen_fd = g->fd = -1;
}

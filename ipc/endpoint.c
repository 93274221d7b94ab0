/*
 * ipc/endpoint.c - see endpoint.h
 *
 * The numbers come from measurement on nanomsg 1.1.5: without a finite NN_RCVMAXSIZE, sixteen bytes
 * from any peer abort the process; the default socket buffers stall large messages by 20 ms.
 */
#include "ipc/endpoint.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <nanomsg/nn.h>
#include <nanomsg/pair.h>
#include <nanomsg/pipeline.h>
#include <nanomsg/pubsub.h>
#include <nanomsg/reqrep.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "core/thread/clock.h"
#include "ipc/desk.h"
#include "ipc/seal/link.h"
#include "ipc/url.h"

#define SOCKET_BUFFER_BYTES (4 * 1024 * 1024)
#define RECONNECT_MS        20

static const struct {
	int protocol;
	bool receives, sends;
} roles[] = {
	[BS_ENDPOINT_KSPACE] = { NN_PAIR, true, true },
	[BS_ENDPOINT_ARCHIVE_OUT] = { NN_PUSH, false, true },
	[BS_ENDPOINT_ARCHIVE_IN] = { NN_PULL, true, false },
	[BS_ENDPOINT_VIEWERS_OUT] = { NN_PUB, false, true },
	[BS_ENDPOINT_VIEWERS_IN] = { NN_SUB, true, false },
	[BS_ENDPOINT_STATUS] = { NN_REP, true, true },
	[BS_ENDPOINT_STATUS_ASK] = { NN_REQ, true, true },
	[BS_ENDPOINT_IMAGES] = { NN_REP, true, true },
	[BS_ENDPOINT_IMAGES_ASK] = { NN_REQ, true, true },
};

static int set_int(struct bs_endpoint *e, int level, int option, int value)
{
	return nn_setsockopt(e->socket, level, option, &value, sizeof(value));
}

static int get_fd(const struct bs_endpoint *e, int option)
{
	int fd = -1;
	size_t size = sizeof(fd);

	return nn_getsockopt(e->socket, NN_SOL_SOCKET, option, &fd, &size) == 0 ? fd : -1;
}

static int open_socket(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
		       size_t message_max, struct bs_fail *why)
{
	struct bs_address to;

	*e = (struct bs_endpoint){ .socket = -1, .receive_fd = -1, .send_fd = -1, .role = role };
	if (message_max == 0 || message_max > INT_MAX)
		return bs_fail(why, BS_ERR_CONFIG,
			       "%s: largest message of %zu bytes, 1 to %d are possible", url,
			       message_max, INT_MAX);
	if (bs_url_parse(url, false, &to, why) != 0)
		return BS_ERR_CONFIG;
	e->message_max = message_max;
	(void)snprintf(e->url, sizeof(e->url), "%s", url);
	e->socket = nn_socket(AF_SP, roles[role].protocol);
	if (e->socket < 0)
		return bs_fail(why, BS_ERR_IO, "%s: socket: %s", url, nn_strerror(nn_errno()));
	e->send_ms = e->recv_ms = -1; /* nanomsg's own default, no timeout */
	if (set_int(e, NN_SOL_SOCKET, NN_RCVMAXSIZE, (int)message_max) != 0 ||
	    set_int(e, NN_SOL_SOCKET, NN_SNDBUF, SOCKET_BUFFER_BYTES) != 0 ||
	    set_int(e, NN_SOL_SOCKET, NN_RCVBUF, SOCKET_BUFFER_BYTES) != 0 ||
	    set_int(e, NN_SOL_SOCKET, NN_RECONNECT_IVL, RECONNECT_MS) != 0 ||
	    (role == BS_ENDPOINT_VIEWERS_IN &&
	     nn_setsockopt(e->socket, NN_SUB, NN_SUB_SUBSCRIBE, "", 0) != 0))
		goto failed;
	if (roles[role].receives && (e->receive_fd = get_fd(e, NN_RCVFD)) < 0)
		goto failed;
	if (roles[role].sends && (e->send_fd = get_fd(e, NN_SNDFD)) < 0 &&
	    role != BS_ENDPOINT_VIEWERS_OUT)
		goto failed;
	return 0;
failed:
	(void)bs_fail(why, BS_ERR_IO, "%s: option: %s", url, nn_strerror(nn_errno()));
	bs_endpoint_close(e);
	return BS_ERR_IO;
}

/*
 * The service's side of each socket: its pattern; and, where it is sealed, the name in its hello
 * and the roles that may connect.
 */
static const struct {
	/* pattern of the service's side; PAIR: the socket is a client's, or nanomsg's own */
	enum bs_gate_pattern pattern;
	const char *name;
	uint32_t roles;
} desks[] = {
	[BS_ENDPOINT_KSPACE] = { BS_GATE_PAIR, "kspace", BS_ROLE_SCANNER },
	[BS_ENDPOINT_ARCHIVE_OUT] = { BS_GATE_PUSH, NULL, 0 },
	[BS_ENDPOINT_ARCHIVE_IN] = { BS_GATE_PAIR, NULL, 0 },
	[BS_ENDPOINT_VIEWERS_OUT] = { BS_GATE_PUB, NULL, 0 },
	[BS_ENDPOINT_VIEWERS_IN] = { BS_GATE_PAIR, NULL, 0 },
	[BS_ENDPOINT_STATUS] = { BS_GATE_REP, "status", BS_ROLE_STATUS },
	[BS_ENDPOINT_STATUS_ASK] = { BS_GATE_PAIR, "status", BS_ROLE_STATUS },
	[BS_ENDPOINT_IMAGES] = { BS_GATE_REP, "images", BS_ROLE_ARCHIVE | BS_ROLE_VIEWER },
	[BS_ENDPOINT_IMAGES_ASK] = { BS_GATE_PAIR, "images", BS_ROLE_ARCHIVE | BS_ROLE_VIEWER },
};

int bs_endpoint_bind_sealed(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
			    size_t message_max, const struct bs_endpoint_seal *seal,
			    struct bs_fail *why)
{
	const bool silent = desks[role].pattern != BS_GATE_REP;
	const struct bs_desk_spec spec = { .pattern = desks[role].pattern,
					   .message_max = silent ? 0 : message_max,
					   .out_max = seal->answer_max,
					   .keys = seal->keys,
					   .endpoint = desks[role].name,
					   .roles = desks[role].roles,
					   .record = seal->record };
	int rc;

	*e = (struct bs_endpoint){ .socket = -1, .receive_fd = -1, .send_fd = -1, .role = role };
	e->message_max = message_max;
	(void)snprintf(e->url, sizeof(e->url), "%s", url);
	rc = bs_desk_open(&e->desk, url, &spec, why);
	if (rc == 0 && silent)
		e->send_fd = bs_desk_fd(e->desk);
	else if (rc == 0)
		e->receive_fd = bs_desk_fd(e->desk);
	return rc;
}

int bs_endpoint_bind(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
		     size_t message_max, struct bs_fail *why)
{
	mode_t before;
	int rc;

	if (desks[role].pattern != BS_GATE_PAIR)
		return bs_endpoint_bind_sealed(e, role, url, message_max,
					       &(struct bs_endpoint_seal){ .answer_max = INT_MAX },
					       why);
	rc = open_socket(e, role, url, message_max, why);
	if (rc != 0)
		return rc;
	rc = bs_url_clear(url, why);
	if (rc == 0) {
		before = umask(0777 & ~BS_URL_MODE);
		if (nn_bind(e->socket, url) < 0)
			rc = bs_fail(why, BS_ERR_IO, "%s: bind: %s", url, nn_strerror(nn_errno()));
		(void)umask(before);
	}
	if (rc != 0)
		bs_endpoint_close(e);
	return rc;
}

int bs_endpoint_connect(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
			size_t message_max, struct bs_fail *why)
{
	int rc = bs_url_enter(url, why);

	if (rc == 0)
		rc = open_socket(e, role, url, message_max, why);
	if (rc != 0)
		return rc;
	if (nn_connect(e->socket, url) < 0) {
		rc = bs_fail(why, BS_ERR_IO, "%s: connect: %s", url, nn_strerror(nn_errno()));
		bs_endpoint_close(e);
	}
	return rc;
}

int bs_endpoint_connect_sealed(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
			       size_t message_max, const struct bs_seal_keys *keys,
			       struct bs_fail *why)
{
	int rc;

	if (keys == NULL)
		return bs_endpoint_connect(e, role, url, message_max, why);
	*e = (struct bs_endpoint){ .socket = -1, .receive_fd = -1, .send_fd = -1, .role = role };
	e->message_max = message_max;
	(void)snprintf(e->url, sizeof(e->url), "%s", url);
	if (bs_url_is_ipc(url))
		return bs_fail(why, BS_ERR_CONFIG, "%s: keys are for tcp:// alone", url);
	rc = bs_seal_link_open(&e->link, url, desks[role].name, role != BS_ENDPOINT_KSPACE,
			       message_max, keys, why);
	if (rc != 0)
		return rc;
	e->receive_fd = bs_seal_link_receive_fd(e->link);
	e->send_fd = bs_seal_link_send_fd(e->link);
	return 0;
}

int bs_endpoint_connect_own(struct bs_endpoint *e, enum bs_endpoint_role role,
			    const struct bs_site *site, const struct bs_keyed *who, const char *url,
			    size_t message_max, struct bs_fail *why)
{
	struct bs_seal_keys keys;
	int rc;

	if (!bs_site_seals(site, url))
		return bs_endpoint_connect(e, role, url, message_max, why);
	*e = (struct bs_endpoint){ .socket = -1, .receive_fd = -1, .send_fd = -1, .role = role };
	rc = bs_seal_keys_node(&keys, &site->keys, who, why);
	if (rc == 0)
		rc = bs_endpoint_connect_sealed(e, role, url, message_max, &keys, why);
	bs_seal_wipe_bytes(&keys, sizeof(keys));
	return rc;
}

int bs_endpoint_refused(const struct bs_endpoint *e, struct bs_fail *why)
{
	return e->link != NULL ? bs_seal_link_refused(e->link, why) : 0;
}

bool bs_endpoint_is_sealed(const struct bs_endpoint *e)
{
	return e->desk != NULL && bs_desk_is_sealed(e->desk);
}

const char *bs_endpoint_asker(const struct bs_endpoint *e)
{
	const struct bs_seal_peer *who = e->desk != NULL ? bs_desk_who(e->desk) : NULL;

	if (who == NULL)
		return NULL;
	return (who->roles & BS_ROLE_NODE) != 0 ? "" : who->name;
}

int bs_endpoint_renew(struct bs_endpoint *e, struct bs_fail *why)
{
	struct bs_endpoint old = *e;

	if (e->link != NULL) { /* a sealed link makes its connections itself, without nanomsg */
		bs_seal_link_renew(e->link);
		return 0;
	}

	bs_endpoint_close(e);
	return bs_endpoint_connect(e, old.role, old.url, old.message_max, why);
}

/* Returns the error of a failed call: a timeout, a signal, or another. */
static int failed_call(const char *call, struct bs_fail *why)
{
	int e = nn_errno();

	if (e == EAGAIN || e == ETIMEDOUT)
		return BS_ENDPOINT_TIMEOUT;
	if (e == EINTR)
		return BS_ENDPOINT_INTERRUPTED;
	if (e == EFSM)
		return bs_fail(why, BS_ERR_STATE, "%s: not this side's turn", call);
	return bs_fail(why, BS_ERR_IO, "%s: %s", call, nn_strerror(e));
}

/* Sets a socket's timeout. Returns nanomsg's flags for the call, or -1. */
static int arrange(struct bs_endpoint *e, int option, int *is_set, int timeout_ms)
{
	if (timeout_ms == 0)
		return NN_DONTWAIT;
	if (timeout_ms < 0)
		timeout_ms = -1;
	if (*is_set != timeout_ms && set_int(e, NN_SOL_SOCKET, option, timeout_ms) != 0)
		return -1;
	*is_set = timeout_ms;
	return 0;
}

int bs_endpoint_send(struct bs_endpoint *e, const void *head, size_t head_len, const void *tail,
		     size_t tail_len, int timeout_ms, struct bs_fail *why)
{
	/* nanomsg's vector is not const; it only reads from it here. */
	struct nn_iovec piece[2] = { { (void *)(uintptr_t)head, head_len },
				     { (void *)(uintptr_t)tail, tail_len } };
	struct nn_msghdr msg = { .msg_iov = piece, .msg_iovlen = tail_len > 0 ? 2 : 1 };
	int flags;

	if (e->link != NULL)
		return bs_seal_link_send(e->link, head, head_len, tail, tail_len, timeout_ms, why);
	if (e->desk != NULL)
		return bs_desk_send(e->desk, head, head_len, tail, tail_len, timeout_ms, why);
	flags = arrange(e, NN_SNDTIMEO, &e->send_ms, timeout_ms);
	if (flags < 0 || nn_sendmsg(e->socket, &msg, flags) < 0)
		return failed_call("send", why);
	return 0;
}

static int recv_sealed(struct bs_endpoint *e, void *buf, size_t cap, size_t *len, int timeout_ms,
		       struct bs_fail *why)
{
	const unsigned char *msg;
	int rc;

	if (e->desk != NULL)
		return bs_desk_recv(e->desk, buf, cap, len, timeout_ms);
	rc = bs_seal_link_take(e->link, &msg, len, timeout_ms, why);
	if (rc == 0)
		memcpy(buf, msg, *len < cap ? *len : cap);
	return rc;
}

int bs_endpoint_recv(struct bs_endpoint *e, void *buf, size_t cap, size_t *len, int timeout_ms,
		     struct bs_fail *why)
{
	*len = 0;
	if (e->link != NULL || e->desk != NULL) {
		int rc = recv_sealed(e, buf, cap, len, timeout_ms, why);

		if (rc != 0)
			return rc;
	} else {
		int flags = arrange(e, NN_RCVTIMEO, &e->recv_ms, timeout_ms);
		int n = flags < 0 ? -1 : nn_recv(e->socket, buf, cap, flags);

		if (n < 0)
			return failed_call("recv", why);
		*len = (size_t)n;
	}
	if (*len > cap)
		return bs_fail(why, BS_ERR_LENGTH, "message of %zu bytes, at most %zu are taken",
			       *len, cap);
	return 0;
}

/* Takes a message into nanomsg's memory, so that release need not know where it came from. */
static int take_sealed(struct bs_endpoint *e, const unsigned char **msg, size_t *len,
		       struct bs_fail *why)
{
	const unsigned char *at;
	void *own;
	int rc = bs_seal_link_take(e->link, &at, len, 0, why);

	if (rc != 0)
		return rc;
	own = nn_allocmsg(*len > 0 ? *len : 1, 0);
	if (own == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "a message of %zu bytes", *len);
	memcpy(own, at, *len);
	*msg = own;
	return 0;
}

int bs_endpoint_take(struct bs_endpoint *e, const unsigned char **msg, size_t *len,
		     struct bs_fail *why)
{
	void *at = NULL;
	int n;

	*msg = NULL;
	*len = 0;
	if (e->link != NULL)
		return take_sealed(e, msg, len, why);
	n = nn_recv(e->socket, &at, NN_MSG, NN_DONTWAIT);
	if (n < 0)
		return failed_call("recv", why);
	*msg = at;
	*len = (size_t)n;
	return 0;
}

void bs_endpoint_release(const unsigned char *msg)
{
	(void)nn_freemsg((void *)(uintptr_t)msg);
}

int bs_endpoint_wait(struct pollfd *fds, unsigned n, int64_t until_ns, struct bs_fail *why)
{
	struct timespec left = { 0 };
	int ready;

	if (until_ns != INT64_MAX) {
		int64_t ns = until_ns - bs_now_ns();

		if (ns > 0) {
			left.tv_sec = ns / 1000000000;
			left.tv_nsec = ns % 1000000000;
		}
	}
	ready = ppoll(fds, n, until_ns != INT64_MAX ? &left : NULL, NULL);
	if (ready > 0)
		return 0;
	if (ready == 0)
		return BS_ENDPOINT_TIMEOUT;
	if (errno == EINTR)
		return BS_ENDPOINT_INTERRUPTED;
	return bs_fail(why, BS_ERR_IO, "poll: %s", strerror(errno));
}

uint64_t bs_endpoint_connections(const struct bs_endpoint *e)
{
	uint64_t here;
	bool now;

	if (e->link != NULL)
		return bs_seal_link_connections(e->link, &now);
	if (e->desk != NULL)
		return bs_desk_connections(e->desk, &here);
	return nn_get_statistic(e->socket, NN_STAT_ESTABLISHED_CONNECTIONS) +
	       nn_get_statistic(e->socket, NN_STAT_ACCEPTED_CONNECTIONS);
}

uint64_t bs_endpoint_connections_now(const struct bs_endpoint *e)
{
	uint64_t here = 0;
	bool now;

	if (e->link != NULL)
		return bs_seal_link_connections(e->link, &now) > 0 && now;
	if (e->desk != NULL) {
		(void)bs_desk_connections(e->desk, &here);
		return here;
	}
	return nn_get_statistic(e->socket, NN_STAT_CURRENT_CONNECTIONS);
}

uint64_t bs_endpoint_unsent(const struct bs_endpoint *e)
{
	return e->desk != NULL ? bs_desk_unsent(e->desk) : 0;
}

void bs_endpoint_close(struct bs_endpoint *e)
{
	bs_seal_link_close(e->link);
	bs_desk_close(e->desk);
	e->link = NULL;
	e->desk = NULL;
	if (e->socket >= 0)
		while (nn_close(e->socket) != 0 && nn_errno() == EINTR)
			continue; /* a signal came; the socket is still open */
	e->socket = e->receive_fd = e->send_fd = -1;
}

void bs_endpoint_tune_malloc(size_t message_max)
{
	const size_t ceiling = 32u << 20; /* glibc refuses an mmap threshold larger than this */
	size_t threshold = message_max < ceiling / 2 ? message_max * 2 : ceiling;
	size_t trim = message_max < INT_MAX / 8 ? message_max * 8 : INT_MAX;

	if (threshold < 1u << 20)
		threshold = 1u << 20;
	if (trim < 64u << 20)
		trim = 64u << 20;
	(void)mallopt(M_MMAP_THRESHOLD, (int)threshold);
	(void)mallopt(M_TRIM_THRESHOLD, (int)trim);
}

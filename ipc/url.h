/*
 * ipc/url.h - where the service's sockets are: ipc://PATH and tcp://a.b.c.d:PORT
 *
 * Addresses beyond loopback are refused (BS_ERR_CONFIG) but where all that crosses is sealed
 * (ipc/seal); ws:// and inproc:// always: with them nanomsg may abort the process.
 * Test: test/unit/ipc/test_endpoint.c
 */
#ifndef BS_IPC_URL_H
#define BS_IPC_URL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/err.h"

#define BS_URL_MODE 0660 /* of a socket's file */

struct bs_address {
	union {
		struct sockaddr any;
		struct sockaddr_un un;
		struct sockaddr_in in;
	};
	socklen_t len;
};

int bs_url_parse(const char *url, bool sealed, struct bs_address *to, struct bs_fail *why);
bool bs_url_is_ipc(const char *url);
/*
 * Refuses what bind would refuse of the URL and of its socket's folder. The folder need not exist
 * if it is `made`, which the caller creates before it binds. Opens nothing.
 */
int bs_url_place(const char *url, bool sealed, const char *made, struct bs_fail *why);
/*
 * Before a bind, which would delete any file at the path or fail: a socket that nobody serves is
 * deleted; one that is served, still after a second, and anything else is refused.
 */
int bs_url_clear(const char *url, struct bs_fail *why);
/* Before a connect: a socket that is there and that this user may not enter is refused, with the
 * group that may. */
int bs_url_enter(const char *url, struct bs_fail *why);
/* What follows ipc://. */
const char *bs_url_path(const char *url);
/* A socket that listens there and does not block; -1 on failure. The umask stays as it is. */
int bs_url_listen(const char *url, bool sealed, int *fd, struct bs_fail *why);
/* Of a connection over tcp: nothing waits for more of a message, and a host that is gone is noticed
 * within two minutes. */
void bs_url_tune(int fd);
/* Who is at the other end: "process 123 of user 0", or "127.0.0.1:5123". Returns the process's
 * number; 0: it is not known. */
int bs_url_name_peer(int fd, char *out, size_t cap);

#endif

/*
 * ipc/url.h - where the service's sockets are: ipc://PATH and tcp://a.b.c.d:PORT
 *
 * Addresses beyond loopback are refused (BS_ERR_CONFIG) unless every message there is sealed
 * (ipc/seal). ws:// and inproc:// are always refused: with them nanomsg may abort the process.
 * Test: test/unit/ipc/test_endpoint.c
 */
#ifndef BS_IPC_URL_H
#define BS_IPC_URL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/err.h"

#define BS_URL_MODE 0660 /* file mode of a socket */

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
 * Refuses what bind would refuse of the URL and of its socket's folder. A folder equal to `made`,
 * which the caller creates before it binds, need not exist. Opens nothing.
 */
int bs_url_place(const char *url, bool sealed, const char *made, struct bs_fail *why);
/*
 * Call before a bind, which would delete any file at the path or fail. A socket that nobody serves
 * is deleted; a socket that is still served after a second, and any other file, is refused.
 */
int bs_url_clear(const char *url, struct bs_fail *why);
/*
 * Call before a connect: an existing socket that this user may not enter is refused, naming the
 * group that may.
 */
int bs_url_enter(const char *url, struct bs_fail *why);
/* Returns the part of the URL after ipc://. */
const char *bs_url_path(const char *url);
/*
 * Opens a socket that listens at the URL and does not block; *fd is -1 on failure. The umask stays
 * as it is.
 */
int bs_url_listen(const char *url, bool sealed, int *fd, struct bs_fail *why);
/*
 * Sets options of a connection over tcp: parts of a message leave at once, and a host that is gone
 * is noticed within two minutes.
 */
void bs_url_tune(int fd);
/*
 * Writes the name of the peer: "process 123 of user 0", or "127.0.0.1:5123". Returns the number of
 * its process; 0: it is not known.
 */
int bs_url_name_peer(int fd, char *out, size_t cap);

#endif

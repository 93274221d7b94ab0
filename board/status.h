/*
 * board/status.h - what the service is doing, from the shared memory alone
 *
 * json, text: write one document into out, NUL-terminated; return its length, or BS_ERR_NOMEM when
 * cap is too small. They read while the workers write: numbers are whole, but not of one instant.
 * serve: a thread that answers on the status socket: any request with the JSON document, the
 * request "text" with a table for people, "ready" with yes or no: would a scan be taken now. It never touches the reconstruction.
 * The document is described in board/STATUS.md. Test: test/unit/test_status.c
 */
#ifndef BS_BOARD_STATUS_H
#define BS_BOARD_STATUS_H

#include "ipc/shm.h"

#define BS_STATUS_MAX 131072u /* bytes; 16 protocols take about 30,000 */

int bs_status_json(char *out, size_t cap, const struct bs_shm *shm);
int bs_status_text(char *out, size_t cap, const struct bs_shm *shm);
int bs_status_ready(char *out, size_t cap, const struct bs_shm *shm);

struct bs_status_server;
/* shm must outlive the server. */
int bs_status_serve(struct bs_status_server **server, const struct bs_shm *shm, const char *url,
		    struct bs_fail *why);
void bs_status_stop(struct bs_status_server *server);

#endif

/*
 * board/status/status.h - what the service is doing, from the shared memory alone
 *
 * Each writes one document into out, NUL-terminated; its length, or BS_ERR_NOMEM when cap is too
 * small. They read while the workers write: each number is whole, but not all are of one instant.
 * serve: a thread that answers on the status socket: the requests "text", "latency",
 * "latency.json", "stalls", "metrics", "reload" and "ready" (yes or no: would a scan be taken now)
 * with what their names say, any other request with the JSON document. The reconstruction does not
 * notice it.
 * The document is described in board/doc/STATUS.md. Test: test/unit/board/test_status.c
 */
#ifndef BS_BOARD_STATUS_STATUS_H
#define BS_BOARD_STATUS_STATUS_H

#include "ipc/shm/shm.h"

/* bytes; a document of 16 protocols and 64 threads has about 110,000 */
#define BS_STATUS_MAX 262144u
/* bytes; metrics of 16 protocols with every stage have about 580,000 */
#define BS_METRICS_MAX 1048576u

int bs_status_json(char *out, size_t cap, const struct bs_shm *shm);
int bs_status_text(char *out, size_t cap, const struct bs_shm *shm);
/* Writes the latencies alone: per protocol and stage, misses raw and
 * explained, and the canaries. */
int bs_status_latency_json(char *out, size_t cap, const struct bs_shm *shm);
int bs_status_latency_text(char *out, size_t cap, const struct bs_shm *shm);
/* Writes {"now_ns":N,"stalls":[[cpu,begin_ns,end_ns],...]}, each canary's
 * newest. CLOCK_MONOTONIC. */
int bs_status_stalls(char *out, size_t cap, const struct bs_shm *shm);
/* Writes four lines: begun, ended and code of struct bs_reload; the site file;
 * its step; its text. */
int bs_status_reload(char *out, size_t cap, const struct bs_shm *shm);
/* Writes the metrics in Prometheus' text format 0.0.4 (board/doc/WEB.md has the names). */
int bs_status_metrics(char *out, size_t cap, const struct bs_shm *shm);
int bs_status_ready(char *out, size_t cap, const struct bs_shm *shm);

struct bs_status_server;
/* Starts the thread that answers. shm must outlive the server. */
int bs_status_serve(struct bs_status_server **server, const struct bs_shm *shm, const char *url,
		    struct bs_fail *why);
void bs_status_stop(struct bs_status_server *server);

#endif

/*
 * board/status/members.h - parts of the status document, and of its table, with a file of their own
 *
 * realtime.c: what the machine granted, the threads, the canaries. takers.c: who takes images.
 * log.c: the logs of scans. kspace.c: who holds the k-space endpoint. metricsof.c: of the metrics.
 * scans.c: the last scans.
 * seal.c: what came to endpoints that are sealed.
 */
#ifndef BS_BOARD_STATUS_MEMBERS_H
#define BS_BOARD_STATUS_MEMBERS_H

#include "board/status/doc.h"
#include "ipc/shm/shm.h"

void bs_status_realtime(struct bs_doc *d, const struct bs_shared *s);
void bs_status_realtime_table(struct bs_text *t, const struct bs_shared *s);
void bs_status_canary(struct bs_doc *d, const struct bs_shared *s);
void bs_status_canary_table(struct bs_text *t, const struct bs_shared *s);
void bs_status_takers(struct bs_doc *d, const struct bs_shared *s);
void bs_status_takers_table(struct bs_text *t, const struct bs_shared *s);
void bs_status_kspace(struct bs_doc *d, const struct bs_shared *s);
void bs_status_kspace_table(struct bs_text *t, const struct bs_shared *s);
void bs_status_seal(struct bs_doc *d, const struct bs_shared *s);
void bs_status_seal_table(struct bs_text *t, const struct bs_shared *s);
void bs_metrics_seal(struct bs_text *t, const struct bs_shared *s);
void bs_status_log(struct bs_doc *d, const struct bs_shared *s);
void bs_status_log_table(struct bs_text *t, const struct bs_shared *s);
void bs_status_scans(struct bs_doc *d, const struct bs_shared *s);
void bs_metrics_protocols(struct bs_text *t, const struct bs_shm *shm);
void bs_metrics_takers(struct bs_text *t, const struct bs_shared *s);
void bs_metrics_log(struct bs_text *t, const struct bs_shared *s);

#endif

/* board/status/quantiles.h - quantiles in us, as members of the document or columns of a table */
#ifndef BS_BOARD_STATUS_QUANTILES_H
#define BS_BOARD_STATUS_QUANTILES_H

#include "board/status/doc.h"
#include "ipc/shm/shm.h"

/* p50_us, p99_us, p999_us, max_us. */
void bs_quantiles_put(struct bs_doc *d, const struct bs_hist *h);
/* A stage's line without its end: protocol, stage, count, and these four, each `digits` wide. */
void bs_quantiles_table(struct bs_text *t, const struct bs_shm *shm, uint32_t protocol,
			enum bs_stage stage, int digits);

#endif

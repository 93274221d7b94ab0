/*
 * test/simulate/emit/maker.h - a model of the reconstruction as emit sees it: images in slots, and
 * the ends of scans, in the ring; the next scan begins when the end of the last one has passed
 */
#ifndef BS_TEST_SIMULATE_EMIT_MAKER_H
#define BS_TEST_SIMULATE_EMIT_MAKER_H

#include "ipc/shm/shm.h"
#include "test/simulate/simulate.h"

void maker_reset(struct bs_shm *m);
/* One of its steps. calm: only what was asked for. False: there is none before maker_due. */
bool maker_turn(bool calm);
int64_t maker_due(void);
/* One image more, in the calm. */
void maker_once(void);
bool maker_rests(void);
bool maker_has_slot(void);
/* Its successor goes on behind the last image that is in the ring. False: it had none in hand. */
bool maker_kill(void);

#endif

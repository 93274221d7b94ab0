/*
 * board/emit/images.h - images kept for takers that ask: "what follows N?" (ipc/WIRE.md)
 *
 * start -> put* -> stop. put, the files' thread's, stores an image (drivers/log/store.h) before its
 * slot is given back: from then on it outlives this process. A thread of its own answers; asking
 * for what follows N says that N and all before it are safe with this taker. stop: after the last
 * put; waits while somebody who is asking has not had all, as long as the stop allows, but at most
 * BS_IMAGES_LAST_NS for one image.
 * The store is overload.spill_dir/images, bounded by spill_mib, or, without that folder,
 * run_dir/images with `queue` images. It is opened by whichever thread needs it first, and tried
 * again with each image: an emit starts though its disk hangs or is gone.
 * Test: test/fault/fault_receive.c
 */
#ifndef BS_BOARD_EMIT_IMAGES_H
#define BS_BOARD_EMIT_IMAGES_H

#include "board/emit/emit.h"

#define BS_IMAGES_LAST_NS INT64_C(3000000000)

struct bs_images;

int bs_images_start(struct bs_images **im, struct emit *e, struct bs_fail *why);
/* Opens the store, if it can be and is not: before an image is in hand, which is soon done then. */
void bs_images_ready(struct bs_images *im);
/* True: it is stored. */
bool bs_images_put(struct bs_images *im, const struct bs_message *msg);
void bs_images_stop(struct bs_images *im);

#endif

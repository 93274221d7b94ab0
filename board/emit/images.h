/*
 * board/emit/images.h - the store of images: for takers that ask "what follows N?" (ipc/WIRE.md),
 * and for those of the site that spill
 *
 * open -> serve -> ... -> finish -> stop -> close. The store is a taker itself: its thread stores
 * each image (drivers/log/store.h), from then on it outlives this process. Another thread answers;
 * asking for what follows N says that N and all before it are safe with this taker. finish waits
 * while somebody who is asking has not had all, as long as the stop allows, but at most
 * BS_IMAGES_LAST_NS for one image.
 * The store is overload.spill_dir/images, bounded by spill_mib, or, without that folder,
 * run_dir/images with `queue` images. It is opened at a service's start; in a process that replaces
 * another by whichever thread needs it first, and tried again with each image: that one starts
 * though its disk hangs or is gone. Test: test/fault/fault_receive.c
 */
#ifndef BS_BOARD_EMIT_IMAGES_H
#define BS_BOARD_EMIT_IMAGES_H

#include "board/emit/emit.h"
#include "drivers/log/store.h"

#define BS_IMAGES_LAST_NS INT64_C(3000000000)

struct bs_images;

/* A site without a store has no e->images. Before the other takers are made. */
int bs_images_open(struct emit *e, struct bs_fail *why);
/* At a service's start, once all takers are made: cursors that are nobody's any more. */
void bs_images_forget(struct emit *e);
/* Then, too: which images it has of scans that may go on. One that cannot be read is counted. */
void bs_images_find_kept(struct emit *e);
int bs_images_serve(struct bs_images *im, struct bs_fail *why);
void bs_images_finish(struct bs_images *im);
void bs_images_stop(struct bs_images *im);
/* After the takers' threads. */
void bs_images_close(struct emit *e);

#endif

/*
 * board/emit/images.h - the store of images: for takers that ask "what follows N?" (ipc/WIRE.md),
 * and for the site's takers that spill
 *
 * open -> serve -> ... -> finish -> stop -> close. The store is itself a taker: its thread stores
 * each image (drivers/log/store.h), which then outlives this process. Another thread answers
 * questions. A taker that asks what follows N says that it has N and all images before it. finish
 * waits while a connected taker has not had all images, as long as the stop allows, but at most
 * BS_IMAGES_LAST_NS for one image.
 * The store is overload.spill_dir/images, bounded by spill_mib, or, without that folder,
 * run_dir/images with `queue` images. It is opened at a service's start. In a process that replaces
 * another, the thread that needs the store first opens it, and each image is a new attempt: so the
 * process starts even if the disk hangs or is gone. Test: test/fault/fault_receive.c
 */
#ifndef BS_BOARD_EMIT_IMAGES_H
#define BS_BOARD_EMIT_IMAGES_H

#include "board/emit/emit.h"

#define BS_IMAGES_LAST_NS INT64_C(3000000000) /* longest wait of finish for one image */

struct bs_images;

/* Makes e->images, unless the site has no store. Call before the other takers are made. */
int bs_images_open(struct emit *e, struct bs_fail *why);
/* Drops the cursors of takers that are no more, at a service's start, once all takers are made. */
void bs_images_forget(struct emit *e);
/* Notes which images the store has of scans that may be reopened, at a service's start. */
void bs_images_find_kept(struct emit *e);
int bs_images_serve(struct bs_images *im, struct bs_fail *why);
void bs_images_finish(struct bs_images *im);
void bs_images_stop(struct bs_images *im);
/* Call after the takers' threads have ended. */
void bs_images_close(struct emit *e);

#endif

/*
 * board/arm/anatomy.h - makes W of an earlier scan's image, in a thread of its own (ls.w study)
 *
 * open -> { ahead | scan -> pose -> (the engine's settle) }* -> close. ahead: an image was kept; W
 * is made of it at once, for a scan that will lie where it lies, if the protocol tells its field of
 * view. scan: the scan's slot is known. pose: its first readout tells where it lies; where W was
 * not made for that place it is made anew. None of them waits or allocates; settle waits for the
 * thread. Not ahead while a scan of the protocol runs: W is in use.
 * The thread reads the kept image while nobody may write it; an image that is replaced meanwhile is
 * noticed, and its W is not used. It has no real-time priority.
 * Tests: test/unit/board/test_anatomy.c, test/replay/scan/anatomy.sh
 */
#ifndef BS_BOARD_ARM_ANATOMY_H
#define BS_BOARD_ARM_ANATOMY_H

#include "core/solve/live.h"
#include "core/study/anatomy.h"

struct bs_anatomy;

/* W and its room, for a protocol that takes images; *live NULL: it takes none. */
uint64_t bs_anatomy_bytes(const struct bs_protocol *p);
int bs_anatomy_open(struct bs_anatomy **out, const struct bs_protocol *p, struct bs_fail *why);
void bs_anatomy_close(struct bs_anatomy *a);
struct bs_live *bs_anatomy_live(struct bs_anatomy *a);

/* True: the image is of the protocol that W is made of, and W is asked for. */
bool bs_anatomy_ahead(struct bs_anatomy *a, struct bs_study *study, uint32_t slot);
void bs_anatomy_scan(struct bs_anatomy *a, struct bs_study *study, const struct bs_scan_study *scan,
		     const struct bs_scan_info *info);
/* Call with each readout of the image; all but a scan's first are passed by. */
void bs_anatomy_pose(struct bs_anatomy *a, const struct bs_mrd_acq *head);

/*
 * Makes W of an image: what the thread does. image, mask: as long as a complex image. w NULL: image
 * and mask alone, on the scan's grid.
 */
int bs_anatomy_make(struct bs_csr *w, const struct bs_protocol *p, float *image, float *mask,
		    const struct bs_grid *to, const float *magnitude, const struct bs_grid *from,
		    struct bs_fail *why);

#endif

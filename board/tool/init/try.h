/*
 * board/tool/init/try.h - does a site file hold, and does it reconstruct the recording
 *
 * check: the loader's rules, the protocol's files, the memory plan; what is wrong is told on
 * standard error, one line each. BS_ERR_NOMEM where only node.memory_mib is too small: plan_mib
 * has what is needed. run: the first protocol of the site, armed, over the whole recording, as
 * boreside recon does it; images are counted and left. Refused: why has the code and the words.
 * Reads files, allocates, may run for long (core/progress.h); one thread.
 * Tests: test/replay/init
 */
#ifndef BS_BOARD_TOOL_INIT_TRY_H
#define BS_BOARD_TOOL_INIT_TRY_H

#include "core/multiband/bands.h"
#include "core/frame/lines.h"
#include "core/frame/readout.h"
#include "core/protocol.h"

struct bs_tried {
	uint32_t images;
	uint32_t partial;               /* of them */
	char lacks[BS_LACKS_WORDS];     /* what the first partial one lacks */
	char words[BS_BANDS_WORDS];     /* what images should have said that were made before */
	char readout[BS_READOUT_WORDS]; /* of the first image that has any */
	double armed_ms, ran_ms;
};

int bs_try_check(struct bs_site *site, const char *file, uint64_t *plan_mib);
/* Folders and sockets that cannot be used yet, and programs that are not there: told, no more. */
void bs_try_places(const struct bs_site *site);
int bs_try_run(struct bs_tried *t, const struct bs_site *site, const char *recording,
	       struct bs_fail *why);

#endif

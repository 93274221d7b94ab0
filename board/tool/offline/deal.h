/*
 * board/tool/offline/deal.h - the recordings of a folder, and which process takes which
 *
 * list: MRD .h5 and logs (one entry a log), the largest first, so that shares are even; the same
 * order in every process. stem: what its images' folder is called.
 * share: as many recordings as processes or more: each is one process's, in turn. Fewer: each has
 * several processes, which share its images out.
 * Test: test/unit/board/tool/test_ranks.c
 */
#ifndef BS_BOARD_TOOL_OFFLINE_DEAL_H
#define BS_BOARD_TOOL_OFFLINE_DEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define BS_DEAL_NAME 256u

struct bs_dealt {
	char name[BS_DEAL_NAME], stem[BS_DEAL_NAME];
	uint64_t bytes;
};

/* Lists a folder's *count recordings; list is to be freed. BS_ERR_IO, BS_ERR_NOMEM;
 * BS_ERR_FORMAT: no recording. */
int bs_deal_list(const char *folder, struct bs_dealt **list, size_t *count, struct bs_fail *why);
/* Makes FOLDER/STEM; writes FOLDER/STEM/NAME to out, of FOLDER/NAME, which was given. */
int bs_deal_place(char *out, size_t cap, const char *given, const char *stem, struct bs_fail *why);
/* Shares recording i of n. False: this rank has nothing of it; else it is one of several parts. */
bool bs_deal_share(size_t i, size_t n, uint32_t rank, uint32_t size, uint32_t *part,
		   uint32_t *parts);

#endif

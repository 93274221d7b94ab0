/*
 * gpu/engine/shares.h - how a scan is shared out among the GPUs of the site (key gpu.devices)
 *
 * By coils (gridding, ls, sense; two coils or more): GPU i of n has the i-th run of coils
 * (gpu/device/split.h), receives their samples alone and makes their images; sense: their F^H d,
 * and all solve together. GPUs beyond the number of coils stay idle.
 * By slabs (ls, one coil, exact F^H d, samples without weights): every GPU sums its own rows of the
 * image over all samples; the first one solves.
 * Everything else (the grid, field.map_file, maps of a scan, ...) runs on the first GPU,
 * and words say why. Depends on the protocol alone: no GPU is asked. Any thread.
 * Test: test/unit/gpu/test_shares.c
 */
#ifndef BS_GPU_ENGINE_SHARES_H
#define BS_GPU_ENGINE_SHARES_H

#include "core/plan/plan.h"

BS_C_BEGIN

enum bs_sharing { BS_SHARING_NONE, BS_SHARING_COILS, BS_SHARING_SLABS };

struct bs_shares {
	enum bs_sharing how;
	uint32_t parts; /* GPUs that work on the scan; 1: the first alone */
	char words[96]; /* "GPUs 0, 1: 8 coils shared out"; "GPU 0 alone: method cartesian ..." */
};

struct bs_shares bs_shares_of(const struct bs_protocol *p);

BS_C_END
#endif

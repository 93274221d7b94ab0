/*
 * gpu/toeplitz/qcache.h - Q kept on disk, so that a trajectory is summed once and not at every arm
 *
 * A file holds, beside Q, all that Q depends on: sizes, basis, exact or NUFFT with its accuracy,
 * the trajectory and the weights, and whose arithmetic made it. Another rounds otherwise: a node
 * that changes from host to GPU, or to another GPU, does not get the other's bits. The file's name
 * is the hash of these, and they are compared in full, so that two protocols share a file only
 * where they agree in all. A checksum covers the file; one that is damaged, cut short or of another
 * version is made again. A file appears under its name only when it is whole. A cache that cannot
 * be read or written costs time only: that is logged, and Q is computed.
 * File CACHE/q-HASH.bsq: struct header in qcache.c, k, weights, q, checksum; in the machine's byte
 * order. Hash and checksum: core/hash.h, by words. Blocks on the disk; at arm only.
 * Test: test/unit/gpu/test_qcache.c
 */
#ifndef BS_GPU_TOEPLITZ_QCACHE_H
#define BS_GPU_TOEPLITZ_QCACHE_H

#include "gpu/toeplitz/q.h"

BS_C_BEGIN

/* Gets what bs_q_make makes, or has made before, from how->cache_dir. */
int bs_qcache_get(float *q, const struct bs_q_spec *spec, const float *k, const float *weight,
		  const struct bs_q_making *how, struct bs_fail *why);

/*
 * A function in the place of bs_q_make. The spec says what it computes; rounding says how it
 * rounds: a number that must change whenever its rounding does.
 */
#define BS_QCACHE_HOST 0u
struct bs_q_maker {
	uint32_t rounding;
	int (*make)(void *arg, float *q, struct bs_fail *why);
	void *arg;
};
/* Gets Q as bs_qcache_get does; the maker makes it. */
int bs_qcache_get_by(float *q, const struct bs_q_spec *spec, const float *k, const float *weight,
		     const struct bs_q_making *how, const struct bs_q_maker *maker,
		     struct bs_fail *why);

BS_C_END
#endif

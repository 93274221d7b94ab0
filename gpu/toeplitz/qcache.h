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

enum bs_qcache_from { BS_QCACHE_COMPUTED, BS_QCACHE_DISK, BS_QCACHE_NOT_KEPT };

/*
 * Gets what bs_q_make makes, or has made before, from the cache. cache_dir "": there is no cache.
 * from (may be NULL): tells whether it was computed, and whether it could be kept then. progress is
 * called only while Q is computed.
 */
int bs_qcache_get(float *q, const struct bs_q_spec *spec, const float *k, const float *weight,
		  struct bs_team *team, const char *cache_dir,
		  void (*progress)(void *arg, double done), void *arg, enum bs_qcache_from *from,
		  struct bs_fail *why);

/*
 * As bs_qcache_get, with `make` in the place of bs_q_make. spec says what make computes; maker says
 * how it rounds: a number that must change whenever its rounding does.
 */
#define BS_QCACHE_HOST 0u
int bs_qcache_get_by(float *q, const struct bs_q_spec *spec, uint32_t maker, const float *k,
		     const float *weight, const char *cache_dir,
		     int (*make)(void *arg, float *q, struct bs_fail *why), void *arg,
		     enum bs_qcache_from *from, struct bs_fail *why);

BS_C_END
#endif

/*
 * gpu/toeplitz/qcache.h - Q kept on disk, so that a trajectory is summed once and not at every arm
 *
 * A file holds all that Q depends on beside Q itself: sizes, basis, exact or NUFFT with its accuracy,
 * the trajectory and the weights, and whose arithmetic made it, since another rounds otherwise: a
 * node that changes from host to GPU, or to another GPU, never gets the other's bits. Its name is the hash of these, the contents are compared in
 * full, so protocols that agree in them share the file and no two can be taken for each other. A
 * checksum covers the file; one that is damaged, cut short or of another version is made anew. It
 * appears under its name whole or not at all. A cache that cannot be read or written costs time only:
 * that is logged, and Q is computed.
 * File CACHE/q-HASH.bsq: struct header in qcache.c, k, weights, q, checksum; this machine's byte order.
 * Hash and checksum: FNV-1a (Fowler, Noll, Vo) over 64-bit words. Blocks on the disk; at arm only.
 * Test: test/unit/gpu/test_qcache.c
 */
#ifndef BS_GPU_TOEPLITZ_QCACHE_H
#define BS_GPU_TOEPLITZ_QCACHE_H

#include "gpu/toeplitz/q.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bs_qcache_from { BS_QCACHE_COMPUTED, BS_QCACHE_DISK };

/*
 * As bs_q_make, from the cache where it is there. cache_dir "": no cache. from (may be NULL): which.
 * progress is called only while Q is computed.
 */
int bs_qcache_get(float *q, const struct bs_q_spec *spec, const float *k, const float *weight,
		  struct bs_team *team, const char *cache_dir,
		  void (*progress)(void *arg, double done), void *arg, enum bs_qcache_from *from,
		  struct bs_fail *why);

/*
 * The same with another maker in the place of bs_q_make; spec says what it makes, maker how it rounds:
 * any number that changes whenever that does.
 */
#define BS_QCACHE_HOST 0u
int bs_qcache_get_by(float *q, const struct bs_q_spec *spec, uint32_t maker, const float *k,
		     const float *weight, const char *cache_dir,
		     int (*make)(void *arg, float *q, struct bs_fail *why), void *arg,
		     enum bs_qcache_from *from, struct bs_fail *why);

#ifdef __cplusplus
}
#endif
#endif

/*
 * gpu/toeplitz/q.h - Q, the point spread of the samples, from which F^H D F is applied by FFT
 *
 * D: the samples' weights w_m as a diagonal matrix; without weights F^H F. phi: gpu/exact/exact.h.
 * Q(n) = sum_m w_m phi_m^2 exp(+i2pi k_m.n), (F^H D F rho)(n) = sum_n' Q(n - n') rho(n'),
 * for the offsets n = -(N-1) .. N-1 of each axis. Q(-n) = conj Q(n): half is kept,
 *   q [z 2Nz][y 2Ny][x Nx] complex float, x offset 0 .. Nx-1; y and z offset j at j for
 *   j < N, at j + 2N for j < 0; the entry at N is 0. An axis beyond dims has one entry.
 * On the plane x = 0 both halves are kept and agree.
 *
 * exact: the direct sum (gpu/exact/exact.h; four times the work of one F^H d in 3D, twice in 2D).
 * nufft: relative l2 error at most accuracy. Computed at arm: allocates what it needs and frees it.
 * Twins: q.c (host); the same array by q.cu (CUDA, nufft) and gpu/exact/exact.cu (CUDA, exact).
 * Tests: test/unit/gpu/test_exact.c, test/unit/gpu/test_q.c, test/twin/twin_q.c
 * Sources: Stone et al. 2008 (Q); Fessler et al., IEEE Trans Signal Process 2005;53:3393-3402.
 */
#ifndef BS_GPU_TOEPLITZ_Q_H
#define BS_GPU_TOEPLITZ_Q_H

#include "core/err.h"
#include "core/protocol.h"
#include "core/thread/team.h"

BS_C_BEGIN

struct bs_q_spec {
	uint32_t dims;      /* number of dimensions, 2 or 3 */
	uint32_t matrix[3]; /* size N of the image; 1 beyond dims */
	uint64_t samples;
	enum bs_basis basis;
	enum bs_sum sum;
	double accuracy; /* nufft: accuracy, 1e-2 to 1e-6 */
};

/* Number of complex values of q; 0 when a size is out of range. */
uint64_t bs_q_size(const struct bs_q_spec *spec);

/* Returns the index in q of offset n (|n| < N on each axis, n[0] >= 0). */
static inline uint64_t bs_q_index(const struct bs_q_spec *s, const int32_t n[3])
{
	uint64_t y =
		s->dims < 2 ? 0 : (uint64_t)(n[1] < 0 ? n[1] + 2 * (int32_t)s->matrix[1] : n[1]);
	uint64_t z =
		s->dims < 3 ? 0 : (uint64_t)(n[2] < 0 ? n[2] + 2 * (int32_t)s->matrix[2] : n[2]);

	return (z * 2 * s->matrix[1] + y) * s->matrix[0] + (uint64_t)n[0];
}

enum bs_qcache_from { BS_QCACHE_COMPUTED, BS_QCACHE_DISK, BS_QCACHE_NOT_KEPT };

/* Who makes a Q, and where it is kept; all but the team may be NULL. */
struct bs_q_making {
	struct bs_team *team;
	void (*progress)(void *arg, double done); /* is told the share that is done, 0 .. 1 */
	void *arg;
	const char *cache_dir;     /* gpu/toeplitz/qcache.h; NULL or "": there is no cache */
	enum bs_qcache_from *from; /* tells whether Q was computed, and could be kept then */
};

/* k [sample][dims], weight [sample] or NULL. */
int bs_q_make(float *q, const struct bs_q_spec *spec, const float *k, const float *weight,
	      const struct bs_q_making *how, struct bs_fail *why);

BS_C_END
#endif

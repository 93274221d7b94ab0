/* test/paper/ladder/exact.cuh - what the rungs of the exact ladder share; for this folder alone */
#ifndef BS_TEST_PAPER_LADDER_EXACT_CUH
#define BS_TEST_PAPER_LADDER_EXACT_CUH

#include "gpu/device/check.h"
#include "test/paper/ladder/ladder.h"

#define LADDER_TILE_MAX 2048 /* samples: 40 KiB of the 64 KiB of constant memory */
#define LADDER_TURN     6.28318530717958647692f

struct ladder_sample {
	float kx, ky, kz, dr, di;
};

/* All in the memory of one device. */
struct ladder_sum {
	uint64_t voxels;
	bool q; /* d is all ones: its products are left out */
	const float *x, *y, *z;
	const float *kx, *ky, *kz, *dr, *di;
	const struct ladder_sample *sample;
	float *re, *im; /* zero before the first sample */
};

/* Each queues the sum over the first `samples` on the current device's stream. */
int ladder_base(const struct ladder_sum *a, uint64_t samples, cudaStream_t s, struct bs_fail *why);
int ladder_regalloc(const struct ladder_sum *a, uint64_t samples, cudaStream_t s,
		    struct bs_fail *why);
int ladder_layout(const struct ladder_sum *a, uint64_t samples, cudaStream_t s,
		  struct bs_fail *why);
int ladder_constmem(const struct ladder_sum *a, uint64_t samples, cudaStream_t s,
		    struct bs_fail *why);
int ladder_fasttrig(const struct ladder_sum *a, uint64_t samples, cudaStream_t s,
		    struct bs_fail *why);
/* One tile: samples first .. first + count - 1, count <= config->tile. */
int ladder_tune_tile(const struct ladder_sum *a, uint64_t first, uint32_t count,
		     const struct bs_ladder_config *config, cudaStream_t s, struct bs_fail *why);

struct ladder_multi;
int ladder_multi_open(struct ladder_multi **m, const struct ladder_sum *whole, uint64_t samples,
		      struct bs_fail *why);
/* Result in whole->re and im; ms by the host's clock. */
int ladder_multi_run(struct ladder_multi *m, const struct ladder_sum *whole, uint64_t samples,
		     const struct bs_ladder_config *config, double *ms, struct bs_fail *why);
void ladder_multi_close(struct ladder_multi *m);

#define LADDER_THREADS 256 /* before Tune */
#define LADDER_TILE    512

static inline unsigned ladder_blocks(uint64_t voxels, unsigned threads)
{
	return (unsigned)((voxels + threads - 1) / threads);
}

#endif

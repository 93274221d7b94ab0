/*
 * gpu/nufft/cuda/sort.h - samples sorted into sectors on the GPU: twin of sectors.h's open
 *
 * The same order, cells and offsets, to the bit, straight into a plan's tables; the tasks on the
 * host. open takes device memory of its own for so many samples at most: BS_ERR_NOMEM is an answer,
 * the host then sorts. run: order holds numbers from `first` on; weight NULL, or [sample], is left
 * in to->weight in the sorted order. open -> run* -> close, after an error too; run waits
 * for all but the weights, which the null stream still brings. At plan only,
 * one thread. Errors: BS_ERR_GPU, BS_ERR_NOMEM, those of bs_sectors_lay.
 * Test: test/twin/nufft/twin_nufft_sort.c
 */
#ifndef BS_GPU_NUFFT_CUDA_SORT_H
#define BS_GPU_NUFFT_CUDA_SORT_H

#include "gpu/device/memory.h"
#include "gpu/nufft/cuda/sectors.h"

BS_C_BEGIN

struct bs_sorter {
	struct bs_devmem mem;
	uint64_t most;       /* samples */
	uint32_t dims, bits; /* bits: of a key */
	float *k;            /* [sample][dims] */
	uint64_t *key[2];
	uint32_t *sample[2];
	uint32_t *begin; /* [sector + 1] */
	void *work;
	size_t work_bytes;
};

/* What a chunk's tables are given: device memory, [sample] and offset [dims][sample]. */
struct bs_sorted {
	uint32_t *order, *cell;
	float *offset, *weight;
};

/* Device memory from mem, not written yet; without weights weight is NULL. */
int bs_sorted_take(struct bs_sorted *to, uint64_t samples, uint32_t dims, bool weighs,
		   struct bs_devmem *mem, struct bs_fail *why);
/* What run leaves there, of sectors that the host has opened. */
int bs_sorted_fill(const struct bs_sorted *to, struct bs_sectors *sectors, uint64_t first,
		   const float *weight, struct bs_fail *why);

int bs_sorter_open(struct bs_sorter *s, const struct bs_sectors_spec *spec, uint64_t most,
		   struct bs_fail *why);
/* k, index as bs_sectors_open has them, stride from one sample to the next. */
int bs_sorter_run(struct bs_sorter *s, struct bs_sectors *sectors, const float *k, uint32_t stride,
		  const uint32_t *index, uint64_t first, const float *weight,
		  const struct bs_sorted *to, struct bs_fail *why);
void bs_sorter_close(struct bs_sorter *s);

BS_C_END
#endif

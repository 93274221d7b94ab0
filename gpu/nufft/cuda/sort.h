/*
 * gpu/nufft/cuda/sort.h - samples sorted into sectors on the GPU: twin of the sorting in sectors.h
 *
 * The order, cells and offsets are the host's to the bit and go straight into a plan's tables; the
 * tasks are made on the host. open takes device memory of its own for at most this many samples.
 * BS_ERR_NOMEM is an ordinary answer: the host sorts then. run: order holds sample numbers counted
 * from `first`; weight [sample], or NULL, is left in to->weight in the sorted order. open -> run*
 * -> close; close also after an error. run waits for everything but the weights, which the null
 * stream is still copying. At plan only, one thread. Errors: BS_ERR_GPU, BS_ERR_NOMEM, those of
 * bs_sectors_lay.
 * Test: test/twin/nufft/twin_nufft_sort.c
 */
#ifndef BS_GPU_NUFFT_CUDA_SORT_H
#define BS_GPU_NUFFT_CUDA_SORT_H

#include "gpu/device/memory.h"
#include "gpu/nufft/cuda/sectors.h"

BS_C_BEGIN

struct bs_sorter {
	struct bs_devmem mem;
	uint64_t most;       /* most samples of a run */
	uint32_t dims, bits; /* bits: number of bits of a sort key */
	float *k;            /* path [sample][dims] */
	uint64_t *key[2];
	uint32_t *sample[2];
	uint32_t *begin; /* [sector + 1] first sample of each sector */
	void *work;
	size_t work_bytes;
};

/* Sorted tables of a chunk, in device memory: [sample], and offset [dims][sample]. */
struct bs_sorted {
	uint32_t *order, *cell;
	float *offset, *weight;
};

/* Takes the tables from mem and does not write them. weight is NULL when `weighs` is false. */
int bs_sorted_take(struct bs_sorted *to, uint64_t samples, uint32_t dims, bool weighs,
		   struct bs_devmem *mem, struct bs_fail *why);
/* Copies into the tables what run would leave there, from sectors that the host has opened. */
int bs_sorted_fill(const struct bs_sorted *to, struct bs_sectors *sectors, uint64_t first,
		   const float *weight, struct bs_fail *why);

int bs_sorter_open(struct bs_sorter *s, const struct bs_sectors_spec *spec, uint64_t most,
		   struct bs_fail *why);
/* k and index as bs_sectors_open has them; stride: floats from one sample's k to the next. */
int bs_sorter_run(struct bs_sorter *s, struct bs_sectors *sectors, const float *k, uint32_t stride,
		  const uint32_t *index, uint64_t first, const float *weight,
		  const struct bs_sorted *to, struct bs_fail *why);
void bs_sorter_close(struct bs_sorter *s);

BS_C_END
#endif

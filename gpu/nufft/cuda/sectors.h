/*
 * gpu/nufft/cuda/sectors.h - samples sorted into sectors of the grid, for the CUDA kernels
 *
 * A sample's window reaches from window/2 cells below it to window/2 above and covers at most
 * taps = ceil(window) cells an axis, from its first cell on; the sector (tile) that holds the first
 * cell owns the sample. Sectors have at most side[a] cells and tile the periodic grid; padded by
 * taps - 1 cells they hold every window.
 * Order: sector, then first cell (z, y, x), then sample number: fixed by the trajectory alone.
 * A task is a run of at most `run` samples of one sector; sectors without samples have none.
 * Sample i lies at k[(index ? index[i] : i) * stride + axis], cycles per voxel.
 * Host code, at plan only; lay and open allocate. Test: test/unit/gpu/test_sectors.c
 * The same on the GPU: sort.h.
 */
#ifndef BS_GPU_NUFFT_CUDA_SECTORS_H
#define BS_GPU_NUFFT_CUDA_SECTORS_H

#include <stdint.h>

#include "core/err.h"

BS_C_BEGIN

struct bs_sector_task {
	uint32_t sector, first, count;
};

/* Places of a grid cell in the padded sectors that contain it, at most 3 on an axis. */
struct bs_sector_reach {
	uint32_t count;
	uint32_t at[3]; /* number of the sector on this axis << 8 | cell in the padded sector */
};

struct bs_sectors_spec {
	/* dims: dimensions; grid, side: cells on each axis, 1 beyond dims */
	uint32_t dims, grid[3], side[3];
	double window;
	uint32_t run;
};

struct bs_sectors {
	struct bs_sectors_spec spec;
	uint32_t taps;
	uint64_t samples;
	uint32_t axis[3];   /* number of sectors on each axis; 1 beyond dims */
	uint32_t *start[3]; /* [axis + 1] first cell of each sector */
	uint32_t *order;    /* [sample] number of the sample in sorted order */
	/* [dims][sample] first cell minus the lower end of the window, in cells, [0, 1] */
	float *offset;
	uint32_t *cell; /* [sample] first cell relative to its sector: x | y << 8 | z << 16 */
	struct bs_sector_task *task;
	uint32_t tasks;
	uint32_t *task_of;                /* [sectors + 1] first task of each sector */
	struct bs_sector_reach *reach[3]; /* [grid[a]] places of each grid cell */
	uint32_t sectors;
};

uint64_t bs_sectors_count(const struct bs_sectors_spec *spec);
/* Returns the largest number of tasks for any trajectory of this many samples. */
uint64_t bs_sectors_max_tasks(const struct bs_sectors_spec *spec, uint64_t samples);

/*
 * bs_sectors_open in two steps, for a twin that sorts by itself. lay makes all but order, offset
 * and cell (NULL). tasks makes the tasks from begin [sectors + 1], the first sample of each sector.
 */
int bs_sectors_lay(struct bs_sectors *s, const struct bs_sectors_spec *spec, uint64_t samples,
		   struct bs_fail *why);
void bs_sectors_deal(struct bs_sectors *s, const uint32_t *begin);

int bs_sectors_open(struct bs_sectors *s, const struct bs_sectors_spec *spec, uint64_t samples,
		    const float *k, uint32_t stride, const uint32_t *index, struct bs_fail *why);
void bs_sectors_close(struct bs_sectors *s);

BS_C_END
#endif

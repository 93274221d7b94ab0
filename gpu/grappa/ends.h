/*
 * gpu/grappa/ends.h - the samples of missing lines at the ends of the readout
 *
 * In hybrid space the kernel wraps around: the kernel[0] / 2 samples at each end of a missing line
 * are made from samples of the other end. Therefore each of these samples has weights of its own,
 * for the sources that do not wrap. They are stored as differences from the wrapping weights, so
 * that the correction depends only on samples near the ends; those are found as sums over the
 * columns. weights of a neighborhood: [1 + ends][coil out][source][coil in][x], the wrapping
 * weights first. For grappa.c alone. The same bytes for any team. Test:
 * test/unit/gpu/calibrate/test_grappa.c
 */
#ifndef BS_GPU_GRAPPA_ENDS_H
#define BS_GPU_GRAPPA_ENDS_H

#include "gpu/grappa/grappa.h"
#include "gpu/grappa/grappa_simd.h"

struct bs_grappa_ends {
	uint32_t columns, coils, taps, reach; /* reach: number of samples corrected at each end */
	uint32_t lines;
	struct bs_team *team;
	const struct bs_grappa_kernels *simd;
	float *wave; /* [4 reach] waves, step floats each */
	size_t step;
	float *samples; /* [line][coil][4 reach] complex, in the line order of hybrid */
	/* These members belong to the run in progress. */
	const struct bs_neighbors *near;
	const float *const *weights;
	const uint32_t *at, *from;
	float *hybrid;
};

/* Sets the sizes, and states what tables and run need, or takes it. */
void bs_grappa_ends_take(struct bs_grappa_ends *e, const struct bs_grappa_spec *spec,
			 struct bs_room *room);
void bs_grappa_ends_tables(struct bs_grappa_ends *e, struct bs_team *team);
/*
 * Corrects the ends. at, from: where missing lines and their sources start in a coil of hybrid,
 * complex values; from has `most` sources for each line.
 */
void bs_grappa_ends_run(struct bs_grappa_ends *e, const struct bs_neighbors *near,
			const float *const *weights, const uint32_t *at, const uint32_t *from,
			float *hybrid);

#endif

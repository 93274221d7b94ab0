/*
 * gpu/grappa/slice.h - slices that were excited together, apart again (slice-GRAPPA)
 *
 * The lines of several bands are the sum of the bands' lines, each multiplied by its band's phase,
 * exp(i 2pi cycles (y - center)): the band then lies `cycles` fields of view nearer to the start of
 * y. A sample of a band is the sum over its neighborhood in the folded lines: kernel[1] lines
 * beside each other, kernel[0] samples along the readout, all coils. The band's phase is taken off
 * afterwards. In-plane acceleration: the caller gathers the lines that were measured.
 *
 * weights of a band = (S^H S + l I)^-1 S^H T, l = lambda x the mean diagonal of S^H S, in double
 * precision. S: the neighborhoods in the sum of the references with their phases, T: the centers in
 * one reference, at every place whose neighborhood lies inside the references. split: each band
 * alone is a source, with itself or 0 as its target; it is the harder one against leakage.
 *
 * leakage[s][t] = ||kernel of s on reference t alone|| / ||reference t||, t != s, over all places
 * of the references, zeros around.
 *
 * In hybrid space (gpu/grappa/grappa.h) a kernel along the readout is a product; samples so near an
 * end of the readout that the kernel leaves it are corrected, so that results are those of k-space
 * with zeros around. Lines outside k-space count as zeros, too.
 *
 * folded    in  [coil][y][x] complex float, hybrid space, 0 where a line was not measured
 * out       out [coil][y][x] complex float, of one band; 0 where a line was not measured
 * The same bytes for any number of threads. need -> plan -> { prepare -> apply* }* -> close; only
 * plan and close allocate. One caller.
 * Twins: slice.c (host), slice.cu (CUDA: apply; slice_cuda.h).
 * Tests: test/unit/gpu/calibrate/test_slice.c, test/twin/twin_slice.c
 * Sources: Setsompop et al., Magn Reson Med 2012;67:1210-1224; Cauley et al., Magn Reson Med
 * 2014;72:93-102 (split).
 */
#ifndef BS_GPU_GRAPPA_SLICE_H
#define BS_GPU_GRAPPA_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/thread/team.h"

BS_C_BEGIN

#define BS_SLICE_BANDS 16u /* most bands of a group */

struct bs_slice_spec {
	uint32_t lines_y; /* lines of k-space */
	uint32_t columns; /* columns of hybrid space */
	uint32_t coils;
	uint32_t bands;           /* slices that are excited together, 2 .. BS_SLICE_BANDS */
	uint32_t groups;          /* number of such groups, each with weights of its own */
	uint32_t kernel[2];       /* samples x and lines y of the kernel, odd */
	uint32_t reference_lines; /* most lines of a reference */
	double lambda;
	bool split;
};

/* The references of a group's bands, lines of one band each. */
struct bs_slice_references {
	const float *band[BS_SLICE_BANDS]; /* hybrid space, [coil][line][x] complex */
	size_t coil_step, line_step;       /* complex values; x is contiguous */
	uint32_t first, lines;             /* first line as y of k-space; number of lines */
	double cycles[BS_SLICE_BANDS];     /* phase of each band, cycles per line */
	double center;                     /* line at which the bands' phases are 0 */
	bool phased;                       /* the references have their bands' phases already */
	uint64_t version; /* number that changes whenever a member above has changed; never 0 */
};

struct bs_slice;

int bs_slice_need(const struct bs_slice_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_slice_plan(struct bs_slice **plan, const struct bs_slice_spec *spec, struct bs_arena *arena,
		  struct bs_team *team, struct bs_fail *why);
void bs_slice_close(struct bs_slice *plan);

/*
 * Makes the weights and the leakage of a group, unless it has those of this version. BS_ERR_SIZE:
 * more lines than the spec says, or too few for the kernel; BS_ERR_VALUE: the references (all
 * zeros?) do not determine the weights. The group then has none.
 */
int bs_slice_prepare(struct bs_slice *plan, uint32_t group,
		     const struct bs_slice_references *references, struct bs_fail *why);
/*
 * Returns the version of the references that the group's weights were made of; 0: it has no
 * weights.
 */
uint64_t bs_slice_version(const struct bs_slice *plan, uint32_t group);
/*
 * Separates folded, after prepare. have [y]: 1 where a line was measured. wrapped: line y stands at
 * index (y - lines_y / 2) mod lines_y of folded and out, as in bs_grappa_fill; else at y.
 */
void bs_slice_apply(struct bs_slice *plan, uint32_t group, uint32_t band, const float *folded,
		    const uint8_t *have, bool wrapped, float *out);

/* leakage [bands][bands], row s, column t; the diagonal is 0. */
const double *bs_slice_leakage(const struct bs_slice *plan, uint32_t group);
/*
 * weights of a group, complex: [band][coil out][kernel line][coil in][kernel sample]. phases [band]
 * [y] complex: what takes the band's phase off a line.
 */
const float *bs_slice_weights(const struct bs_slice *plan, uint32_t group);
const float *bs_slice_phases(const struct bs_slice *plan, uint32_t group);

BS_C_END
#endif

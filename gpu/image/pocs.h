/*
 * gpu/image/pocs.h - partial Fourier: the end of k-space that a scan leaves out, by projections
 *
 * An axis is partial where its samples reach further on one side of the center than on the other:
 * lines, partitions, or a readout that begins late (asymmetric echo). The image's phase is taken
 * from the symmetric center of all partial axes; then the image is given that phase and its k-space
 * the samples that were measured, `iterations` times; the samples have the last word.
 * With k from the center, h the reach of the shorter side and t = taper h (rounded), the center is
 * weighted along each partial axis by 1 up to h - t, sin^2(pi/2 (h + 1 - |k|) / (t + 1)) up to h.
 *
 * in   [image][z][y][x] complex float on the grid `size`: transforms of what was measured and of
 *      zeros where nothing was, the image's center at index size/2 (gpu/image/cartesian.h)
 * out  [image][z][y][x] complex float, the `matrix` voxels around the center
 *
 * Each image by itself: coils, or one that is unfolded. spans: what was measured of each axis,
 * indices [from, to) with k = 0 at size/2. Where no axis is partial, and where a partial axis lacks
 * its center, out is in, cropped.
 * need -> plan -> run* -> close. Beside the arena plan allocates the tables of the transforms; run
 * allocates nothing. The same bytes for any number of threads. One caller.
 * Twins: pocs.c (host), pocs.cu (CUDA).
 * Test: test/unit/gpu/test_pocs.c, test/replay/scan/left_out.sh
 * Source: Haacke, Lindskog & Lin, J Magn Reson 1991;92:126-145.
 */
#ifndef BS_GPU_IMAGE_POCS_H
#define BS_GPU_IMAGE_POCS_H

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/thread/team.h"

BS_C_BEGIN

struct bs_pocs_span {
	uint32_t from, to;
};

struct bs_pocs_spec {
	/* voxels of the grid; voxels of the images that leave; x y z */
	uint32_t size[3], matrix[3];
	uint32_t images;
	uint32_t iterations;
	/* width of the symmetric center's smooth edge as a share of its reach: 0 .. 1 */
	double taper;
};

struct bs_pocs;

int bs_pocs_need(const struct bs_pocs_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_pocs_plan(struct bs_pocs **plan, const struct bs_pocs_spec *spec, struct bs_arena *arena,
		 struct bs_team *team, struct bs_fail *why);
void bs_pocs_close(struct bs_pocs *plan);
/* Completes images. It may overwrite in. */
void bs_pocs_run(struct bs_pocs *plan, const struct bs_pocs_span spans[3], float *in, float *out);

/*
 * Finds the spans of a frame. lines [kz][ky]: not 0 where the line came (bs_center_spans). samples:
 * number of samples of a readout, which are the last ones of size[0].
 */
void bs_pocs_spans(struct bs_pocs_span spans[3], const uint8_t *lines, const uint32_t size[3],
		   uint32_t samples);
/* Returns true when run would change the image: some axis is partial and has its center. */
bool bs_pocs_is_partial(const struct bs_pocs_span spans[3], const uint32_t size[3]);
/* Converts spans to a grid of other sizes, no wider: for an image that has been cropped. */
void bs_pocs_rescale(struct bs_pocs_span spans[3], const uint32_t size[3], const uint32_t to[3]);

BS_C_END
#endif

/*
 * gpu/image/combine.h - from one complex image a coil to the image that leaves
 *
 * coils in   [coil][z][y][x] complex float
 * maps  in   [coil][z][y][x] complex float, sensitivities; BS_COMBINE_SENSE only
 * out        [channel][z][y][x] complex float, or float: magnitude, or phase in radians (output)
 *   none: channel = coil      rss: sqrt(sum_c |I_c|^2), a complex output has imaginary part 0
 *   sense: sum_c conj(S_c) I_c / sum_c |S_c|^2; 0 where all maps are 0
 * The sum over coils runs in the order of the coils: results do not depend on the team.
 * Allocates nothing. One caller.
 *
 * bs_combiner is the last step of every method, with what the protocol says of the image: how the
 * coils are combined, on which matrix it leaves (image_matrix; gpu/image/resize.h), output. Where
 * that is not the matrix of the coil images these are resized first, one after the other, since a
 * root of a sum of squares is no longer band-limited. A combination by maps is linear, and the maps
 * lie on the coil images' matrix: there the one complex image is resized. Magnitudes come last.
 * Methods that use maps bring one image, which is not combined again. With two sets of maps
 * (map_images; maps [set][coil][z][y][x]) there are two, from each set by itself, whose vectors are
 * orthogonal: their root of the sum of squares leaves as magnitude, the first alone as complex, as
 * BART's pics puts it first of those that it writes. Host only.
 * need -> plan -> run* -> close; need and plan as gpu/image/resize.h says, nothing where the matrix
 * is the same. maps may be another one in each run; NULL where the protocol combines by none.
 *
 * Velocity (output velocity; flow as core/engine.h has it): with keep the coil images, as large as
 * the image leaves, are kept in that place, and their magnitude leaves; with against the image is
 * VENC / pi arg(sum_c I_c conj(K_c)), K those kept there: each coil's own phase is in both, so that
 * no maps are needed, and coils weigh by their power. The phase of 0 is 0, of an image as well.
 * Twins: combine.c (host), combine.cu (CUDA).
 * Tests: test/unit/gpu/test_combine.c, test_resize.c, test/twin/twin_resize.c
 * Sources: Roemer et al., Magn Reson Med 1990;16:192-225 (rss, matched filter); Bernstein et al.,
 * Magn Reson Med 1994;32:330-334 (phase differences of several coils).
 */
#ifndef BS_GPU_IMAGE_COMBINE_H
#define BS_GPU_IMAGE_COMBINE_H

#include "core/engine.h"
#include "core/err.h"
#include "core/memory/arena.h"
#include "core/protocol.h"
#include "core/thread/team.h"

BS_C_BEGIN

void bs_combine(struct bs_team *team, enum bs_combine how, enum bs_output output, uint32_t coils,
		uint64_t voxels, const float *coil_images, const float *maps, float *out);

struct bs_combiner;

int bs_combiner_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
int bs_combiner_plan(struct bs_combiner **plan, const struct bs_protocol *p, struct bs_arena *arena,
		     struct bs_team *team, struct bs_fail *why);
/* image: bs_protocol_image_bytes bytes */
void bs_combiner_run(struct bs_combiner *plan, const float *coil_images, const float *maps,
		     const struct bs_flow *flow, float *image);
void bs_combiner_close(struct bs_combiner *plan); /* plan: may be NULL */

/*
 * Only in a build with GPU=1: arrays are device memory, stream is a cudaStream_t. Only queues.
 * BS_ERR_GPU.
 */
struct CUstream_st;
int bs_combine_cuda(enum bs_combine how, enum bs_output output, uint32_t coils, uint64_t voxels,
		    const float *coil_images, const float *maps, float *out,
		    struct CUstream_st *stream, struct bs_fail *why);

struct bs_combiner_cuda;
struct bs_devmem;
uint64_t bs_combiner_cuda_bytes(const struct bs_protocol *p);
int bs_combiner_cuda_plan(struct bs_combiner_cuda **plan, const struct bs_protocol *p,
			  struct bs_devmem *mem, struct bs_fail *why);
int bs_combiner_cuda_run(const struct bs_combiner_cuda *plan, const float *coil_images,
			 const float *maps, const struct bs_flow *flow, float *image,
			 struct CUstream_st *stream, struct bs_fail *why);
void bs_combiner_cuda_close(struct bs_combiner_cuda *plan); /* plan: may be NULL */

BS_C_END
#endif

/*
 * gpu/image/combine.h - combines the coils' complex images to the image that leaves
 *
 * coils in   [coil][z][y][x] complex float
 * maps  in   [coil][z][y][x] complex float, sensitivities; BS_COMBINE_SENSE only
 * out        [channel][z][y][x] complex float, or float: magnitude, or phase in radians (output)
 *   none: channel = coil      rss: sqrt(sum_c |I_c|^2), a complex output has imaginary part 0
 *   sense: sum_c conj(S_c) I_c / sum_c |S_c|^2; 0 where all maps are 0
 * The sum over coils runs in the order of the coils: results do not depend on the team.
 * Allocates nothing. One caller.
 *
 * bs_combiner is the last step of every method. The protocol says how the coils are combined, on
 * which matrix the image leaves (image_matrix; gpu/image/resize.h), and the output. Where that
 * matrix is not the coil images' matrix, these are resized first, one after the other, since a
 * root of a sum of squares is no longer band-limited. A combination by maps is linear, and the
 * maps lie on the coil images' matrix: so there the one combined complex image is resized.
 * Magnitudes are taken last. Methods that use maps bring one image, which is not combined again.
 * With two sets of maps (map_images; maps [set][coil][z][y][x]) there are two images, one from
 * each set, whose vectors are orthogonal. A magnitude output is their root of the sum of squares;
 * a complex output is the first image alone, which BART's pics also writes first. Host only.
 * need -> plan -> run* -> close. need and plan are as in gpu/image/resize.h; they do nothing where
 * the matrix is the same. maps may differ in each run; NULL where the protocol combines by none.
 *
 * Velocity (output velocity; flow as in core/engine.h): with flow.keep the coil images, on the
 * matrix of the image that leaves, are kept in that place, and their magnitude leaves. With
 * flow.against the image is VENC / pi arg(sum_c I_c conj(K_c)), where K are the images kept in
 * that place. Each coil's own phase is in both, so no maps are needed, and coils are weighted by
 * their power. The phase of 0 is 0, here and in a phase image.
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

struct bs_combination {
	enum bs_combine how;
	enum bs_output output;
	uint32_t coils;
	uint64_t voxels;
	const float *in, *maps; /* [coil][voxel] complex: the coils' images, their maps or NULL */
	float *out;
};

void bs_combine(struct bs_team *team, struct bs_combination c);

struct bs_combiner;

int bs_combiner_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
int bs_combiner_plan(struct bs_combiner **plan, const struct bs_protocol *p, struct bs_arena *arena,
		     struct bs_team *team, struct bs_fail *why);
/* Combines the coils. image: bs_protocol_image_bytes bytes. */
void bs_combiner_run(struct bs_combiner *plan, const float *coil_images, const float *maps,
		     const struct bs_flow *flow, float *image);
void bs_combiner_close(struct bs_combiner *plan); /* frees a plan, which may be NULL */

/*
 * The functions below are built with GPU=1 only. Arrays are device memory, stream is a
 * cudaStream_t; calls only queue. BS_ERR_GPU.
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
/* Frees a plan, one that failed, too; it may be NULL. */
void bs_combiner_cuda_close(struct bs_combiner_cuda *plan);

BS_C_END
#endif

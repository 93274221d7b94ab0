/*
 * gpu/engine/left_out.h - which lines of a frame have come, and partial Fourier, for engines on
 * the grid
 *
 * Which lines have come is kept for each open frame. Where the protocol asks for partial Fourier,
 * images are completed by projections (gpu/image/pocs.h); else nothing is armed.
 * need -> arm -> { begin -> add* -> run }* -> close. size: the grid of the images that run gets.
 * The frame's lines are used as they are, or rescaled for images that have been cropped. run:
 * writes the `matrix` voxels around the center to out; it may overwrite in.
 * Only arm and close allocate. One caller. Test: test/unit/gpu/engine/test_engine_cartesian.c
 */
#ifndef BS_GPU_ENGINE_LEFT_OUT_H
#define BS_GPU_ENGINE_LEFT_OUT_H

#include "core/engine.h"
#include "gpu/image/pocs.h"

BS_C_BEGIN

struct bs_left_out {
	const struct bs_protocol *p;
	struct bs_pocs *pocs; /* plan of partial Fourier; NULL: the protocol asks for none */
	uint32_t size[3];
	uint8_t *lines; /* [frame][kz][ky]: 1 where the line has come */
};

static inline bool bs_left_out_wanted(const struct bs_protocol *p)
{
	return bs_plan_has(&p->plan, BS_PLAN_POCS);
}

/* Returns the specification for images completed on a grid of this size; host and CUDA share it. */
struct bs_pocs_spec bs_left_out_spec(const struct bs_protocol *p, const uint32_t size[3],
				     uint32_t images);
int bs_left_out_need(const struct bs_protocol *p, const uint32_t size[3], uint32_t images,
		     struct bs_need *need, struct bs_fail *why);
int bs_left_out_arm(struct bs_left_out *l, const struct bs_protocol *p, const uint32_t size[3],
		    uint32_t images, const struct bs_arm_env *env, struct bs_fail *why);
void bs_left_out_close(struct bs_left_out *l);
void bs_left_out_begin(struct bs_left_out *l, uint32_t frame);
void bs_left_out_add(struct bs_left_out *l, uint32_t frame, uint32_t line);
const uint8_t *bs_left_out_lines(const struct bs_left_out *l, uint32_t frame);
/* unknown: axes that are not completed (struct bs_report). */
void bs_left_out_run(struct bs_left_out *l, uint32_t frame, uint32_t unknown, float *in,
		     float *out);
/*
 * The measured range of each axis on a grid of this size, from these lines; axes in unknown count
 * as fully measured.
 */
void bs_left_out_spans(struct bs_pocs_span spans[3], const struct bs_protocol *p,
		       const uint8_t *lines, uint32_t unknown, const uint32_t size[3]);

BS_C_END
#endif

/*
 * gpu/engine/left_out.h - the lines of a frame on the grid, and partial Fourier for its engines
 *
 * Which lines have come is kept for each open frame. Where the protocol asks for it, completed
 * images are made of those on a grid of so many samples (gpu/image/pocs.h); else nothing is armed.
 * need -> arm -> { begin -> add* -> run }* -> close. size: the grid that run's images are on, with
 * the frame's lines as they are or, of images that have been cropped, rescaled. run: out gets the
 * `matrix` around the center; in may be overwritten.
 * Only arm and close allocate. One caller. Test: test/unit/gpu/engine/test_engine_cartesian.c
 */
#ifndef BS_GPU_ENGINE_LEFT_OUT_H
#define BS_GPU_ENGINE_LEFT_OUT_H

#include "core/engine.h"
#include "gpu/image/pocs.h"

BS_C_BEGIN

struct bs_left_out {
	const struct bs_protocol *p;
	struct bs_pocs *pocs; /* NULL: none */
	uint32_t size[3];
	uint8_t *lines; /* [frame][kz][ky]: it came */
};

static inline bool bs_left_out_wanted(const struct bs_protocol *p)
{
	return p->partial_fourier == BS_PARTIAL_FOURIER_POCS;
}

/* Of images completed on a grid of that size; the same for both twins. */
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
/* unknown: axes that are left as they are (struct bs_report). */
void bs_left_out_run(struct bs_left_out *l, uint32_t frame, uint32_t unknown, float *in,
		     float *out);
/* What of these lines there is on a grid of this size; unknown axes count as whole. */
void bs_left_out_spans(struct bs_pocs_span spans[3], const struct bs_protocol *p,
		       const uint8_t *lines, uint32_t unknown, const uint32_t size[3]);

BS_C_END
#endif

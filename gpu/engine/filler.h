/*
 * gpu/engine/filler.h - finds the lines that a Cartesian scan leaves out, for an engine (GRAPPA)
 *
 * The host's and the GPU's engine share this. It keeps which lines of each open frame have come,
 * the calibration lines (gpu/calibrate/region.h), and the weights of each slice and contrast
 * (gpu/grappa/grappa.h). Weights are made when an image first needs them, and again when its
 * calibration lines have changed. The engine applies the weights.
 * need -> plan -> { scan -> { begin -> { add | side }* -> prepare }* }* -> close, as the functions
 * of core/engine.h. Only plan and close allocate. One caller.
 * Tests: test/replay/scan/grappa.sh, test/twin/engine/twin_engine_grappa.c
 */
#ifndef BS_GPU_ENGINE_FILLER_H
#define BS_GPU_ENGINE_FILLER_H

#include "core/engine.h"
#include "gpu/grappa/grappa.h"

BS_C_BEGIN

struct bs_filler;

/*
 * The answer where calibration lines are missing: an error, or 0 where the site file takes images
 * without them.
 */
static inline int bs_filler_lacking(const struct bs_protocol *p)
{
	return p->grappa_lacking == BS_LACKING_ZEROS ? 0 : BS_ERR_CALIBRATION;
}

/*
 * Returns the specification of GRAPPA. columns: number of columns of the engine's hybrid space.
 * spec: for the code that applies the weights.
 */
struct bs_grappa_spec bs_filler_spec(const struct bs_protocol *p, uint32_t columns);
int bs_filler_need(const struct bs_protocol *p, uint32_t columns, struct bs_need *need,
		   struct bs_fail *why);
int bs_filler_plan(struct bs_filler **filler, const struct bs_protocol *p, uint32_t columns,
		   struct bs_arena *arena, struct bs_team *team, struct bs_fail *why);
void bs_filler_close(struct bs_filler *f);
void bs_filler_scan(struct bs_filler *f);
void bs_filler_begin(struct bs_filler *f, uint32_t frame);
/*
 * add: a line of the image. side: a line of calibration, or of both kinds, which is given to add
 * first. Lines of the image of a protocol that takes slices apart do not calibrate.
 */
void bs_filler_add(struct bs_filler *f, uint32_t frame, uint32_t row, const float *data,
		   size_t coil_stride);
void bs_filler_side(struct bs_filler *f, uint32_t frame, uint32_t row, const float *data,
		    size_t coil_stride);
/*
 * have: bs_filler_have, or that of a frame to come: of its weights none are missing then.
 * Returns 1: the frame lacks lines, and their weights are made; bs_grappa_fill follows. 0: it lacks
 * no line, or none that is near enough to the measured ones (within their widest gap of them).
 * BS_ERR_CALIBRATION: the scan has not brought the calibration lines that the weights need, or
 * these do not determine the weights. With grappa.lacking zeros it is 0 instead, and *why says what
 * the image lacks.
 */
int bs_filler_prepare(struct bs_filler *f, uint32_t frame, uint8_t *have, struct bs_fail *why);
/* [line]: 1 where the line of the frame has come; before prepare. */
uint8_t *bs_filler_have(const struct bs_filler *f, uint32_t frame);
/* Time that the last prepare took to make weights, ns, for the image's report; 0: it made none. */
int64_t bs_filler_calibrated_ns(const struct bs_filler *f);
struct bs_grappa *bs_filler_grappa(struct bs_filler *f);

BS_C_END
#endif

/*
 * gpu/engine/filler.h - the lines that a Cartesian scan leaves out, in an engine (parallel grappa)
 *
 * What the host's and the GPU's engine share: which lines of each open frame have come, the
 * calibration lines (gpu/calibrate/region.h), the weights of each slice and contrast
 * (gpu/grappa/grappa.h), made when an image first needs them and again when its calibration
 * lines have changed. The engine applies them.
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

/* columns: of the engine's hybrid space. spec: of the weights, for whoever applies them. */
struct bs_grappa_spec bs_filler_spec(const struct bs_protocol *p, uint32_t columns);
int bs_filler_need(const struct bs_protocol *p, uint32_t columns, struct bs_need *need,
		   struct bs_fail *why);
int bs_filler_plan(struct bs_filler **filler, const struct bs_protocol *p, uint32_t columns,
		   struct bs_arena *arena, struct bs_team *team, struct bs_fail *why);
void bs_filler_close(struct bs_filler *f);
void bs_filler_scan(struct bs_filler *f);
void bs_filler_begin(struct bs_filler *f, uint32_t frame);
/* A line of the image; a line of calibration, or of both (then after add). */
void bs_filler_add(struct bs_filler *f, uint32_t frame, uint32_t row, const float *data,
		   size_t coil_stride);
void bs_filler_side(struct bs_filler *f, uint32_t frame, uint32_t row, const float *data,
		    size_t coil_stride);
/*
 * 1: the frame lacks lines, whose weights are made: bs_grappa_fill follows. 0: it lacks none, or
 * none that is near enough to those that came (beyond them by less than their widest gap).
 * BS_ERR_CALIBRATION: the scan has not brought the calibration lines that the weights need, or they
 * do not determine them; with grappa.lacking zeros 0, and *why says what the image lacks.
 */
int bs_filler_prepare(struct bs_filler *f, uint32_t frame, struct bs_fail *why);
/* What the last prepare took; 0: all weights were there. For the image's report. */
int64_t bs_filler_calibrated_ns(const struct bs_filler *f);
struct bs_grappa *bs_filler_grappa(struct bs_filler *f);

BS_C_END
#endif

/*
 * gpu/engine/slicer.h - takes the slices of a group apart, for an engine (slice-GRAPPA)
 *
 * Where slices at once are solved for together, with maps of the scan, there are no weights, and
 * prepare only finds what nothing else tells of the references (below).
 *
 * The host's and the GPU's engine share this, as they share filler.h. It keeps the references, the
 * lines of one slice alone, in hybrid space (gpu/image/cartesian.h), and the weights of each group
 * and contrast (gpu/grappa/slice.h). Weights are made when an image first needs them, and again
 * when its references have changed, of those lines of the frame's grid (each line, or every nth)
 * that all slices of the group have, in a row; which lines a frame has makes no difference. Once a
 * scan has told that grid, the others are made ahead, while nothing else is to be done.
 * Nothing tells whether references have their bands' phases; the lines do. The references are added
 * up both ways, and that sum is taken which is closer to the lines of the first frame, or of the
 * next one that has more. Where both are far from them, the image lacks that.
 * need -> plan -> { scan -> { side | ahead | prepare -> apply }* }* -> close, as the functions of
 * core/engine.h. Only plan and close allocate. One caller.
 * Tests: test/replay/console/multiband.sh, test/twin/engine/twin_engine_apart.c
 */
#ifndef BS_GPU_ENGINE_SLICER_H
#define BS_GPU_ENGINE_SLICER_H

#include "core/engine.h"
#include "gpu/engine/filler.h"
#include "gpu/engine/pattern.h"
#include "gpu/grappa/slice.h"

BS_C_BEGIN

struct bs_slicer;

/*
 * Lines of a frame in hybrid space, [coil][line][x] complex: as bs_cart_hybrid has them, or, not
 * wrapped, line y at y. scale: factor to the values of bs_cart_hybrid.
 */
struct bs_slicer_lines {
	const float *at;
	bool wrapped;
	double scale;
};

/*
 * A frame that was prepared: its lines, as the weights take them. Of a frame whose lines lie at one
 * step, and at each step around the center of k-space, those of the center come apart first, by
 * weights of their own and out of all lines; then those of the step.
 */
struct bs_slicer_frame {
	uint32_t set, band; /* numbers of the set and the band whose weights the frame takes */
	struct bs_pattern at;
	const uint8_t *came; /* [most lines]: 1 where the i-th line has come */
	/* lines first .. end - 1 of the center, and those of them whose whole kernel lies there */
	uint32_t center[2], inner[2]; /* center[1] 0: there are none */
	uint32_t center_set;
	const uint8_t *center_came; /* [line]: 1 where it is an inner one */
	int64_t calibrated_ns;      /* time that prepare took to make weights; 0: it made none */
};

/* The protocol has references. */
static inline bool bs_slicer_wanted(const struct bs_protocol *p)
{
	return bs_plan_has(&p->plan, BS_PLAN_APART) && p->plan.calibrates;
}

/* columns: number of columns of the engine's hybrid space. */
struct bs_slice_spec bs_slicer_spec(const struct bs_protocol *p, uint32_t columns);
int bs_slicer_need(const struct bs_protocol *p, uint32_t columns, struct bs_need *need,
		   struct bs_fail *why);
int bs_slicer_plan(struct bs_slicer **slicer, const struct bs_protocol *p, uint32_t columns,
		   struct bs_arena *arena, struct bs_team *team, struct bs_fail *why);
void bs_slicer_close(struct bs_slicer *s);
void bs_slicer_scan(struct bs_slicer *s);
/*
 * Takes a line of calibration, or of an image and calibration. Returns true if the line also
 * calibrates the filling of lines that are left out.
 */
bool bs_slicer_side(struct bs_slicer *s, uint32_t frame, const struct bs_mrd_acq *head,
		    uint32_t row, const float *data, size_t coil_stride);
/*
 * Makes the weights of a frame, begun or not, and those of its lines that are left out, once in a
 * scan, as if it had the lines and the phases of the frame before: prepare makes them again where
 * it has not. filler: NULL if none are filled. Returns the time that it took, ns; 0: it made none.
 */
int64_t bs_slicer_ahead(struct bs_slicer *s, struct bs_filler *filler, uint32_t frame);
/* Returns true if prepare must be given the frame's lines. step: report->apart.step. */
bool bs_slicer_stale(struct bs_slicer *s, uint32_t frame, uint32_t step, const uint8_t *have);
/*
 * have [line]: 1 where a line of the frame has come. lines: not read unless stale.
 * Returns 1: weights are there, if any, and report->apart says of what; apply follows. 0: the lines
 * hold one slice alone, or stay as they are, and report->why says what the image lacks.
 * BS_ERR_CALIBRATION: the scan has not brought the references, or these do not determine the
 * weights; with grappa.lacking zeros it is 0 instead.
 */
int bs_slicer_prepare(struct bs_slicer *s, uint32_t frame, const uint8_t *have,
		      const struct bs_slicer_lines *lines, struct bs_report *report);
/* Sets have to 0 where a line of the last prepared frame's center cannot come apart: fill it. */
void bs_slicer_leave(const struct bs_slicer *s, uint8_t *have);
/* Makes the last prepared frame's slice of the lines of its group, in place. */
void bs_slicer_apply(struct bs_slicer *s, float *hybrid);
/* An engine that applies the weights itself calls these. space: memory for the lines of prepare. */
const struct bs_slicer_frame *bs_slicer_prepared(const struct bs_slicer *s);
const struct bs_slice *bs_slicer_slice(const struct bs_slicer *s);
float *bs_slicer_space(struct bs_slicer *s);
/*
 * Returns true if the last prepared frame is accelerated in plane: lines between its own are to be
 * filled.
 */
static inline bool bs_slicer_fills(const struct bs_slicer *s)
{
	return bs_slicer_prepared(s)->at.step > 1;
}

BS_C_END
#endif

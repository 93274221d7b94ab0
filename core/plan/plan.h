/*
 * core/plan/plan.h - what a protocol is: how its images are made, decided in one place
 *
 * Made when something is armed or opened, and held there; nobody else asks the protocol's keys.
 * encode: what F^H d is, the sum over a frame's readouts. solve: what makes an image of it. Each is
 * a row of functions, on the host and on the GPU (gpu/encode/encode.h, gpu/solve/solve.h,
 * gpu/engine/cuda/operator.h); the tables of rows have these enums' length.
 * Pure: it depends on the protocol alone. Any thread. Test: test/unit/core/plan/test_plan.c
 */
#ifndef BS_CORE_PLAN_PLAN_H
#define BS_CORE_PLAN_PLAN_H

#include "core/protocol.h"

BS_C_BEGIN

enum bs_encode {
	BS_ENCODE_NOTHING, /* there is no work */
	BS_ENCODE_GRID,    /* a NUFFT along the protocol's trajectory */
	BS_ENCODE_EXACT,   /* the direct sum over its samples */
	BS_ENCODE_FIELD,   /* off resonance, by time segments */
	BS_ENCODE_PATH,    /* along the path that the readouts bring */
	BS_ENCODE_LINES,   /* FFTs of lines on the grid */
	BS_ENCODES
};

enum bs_solve {
	BS_SOLVE_NONE,   /* the sums are the coils' images */
	BS_SOLVE_CG,     /* conjugate gradients on F^H F */
	BS_SOLVE_UNFOLD, /* Cartesian SENSE: the lines that came, with maps */
	BS_SOLVES
};

/* What is done to a readout, and to an image that was made of it, in this order. */
enum bs_plan_stage {
	BS_PLAN_EPI,      /* reversed lines, and readouts on ramps (gpu/engine/phases.h) */
	BS_PLAN_NAVIGATE, /* the phase of navigators is taken off */
	BS_PLAN_WHITEN,   /* by the noise (gpu/engine/front.h) */
	BS_PLAN_COMPRESS, /* to virtual coils */
	BS_PLAN_AVERAGE,  /* of a line that came several times (core/frame/averages.h) */
	BS_PLAN_FILL,     /* GRAPPA: lines that were left out (gpu/engine/filler.h) */
	BS_PLAN_POCS,     /* of an image, from here on: the end of k-space that was left out */
	BS_PLAN_ECHOES,   /* a field map is measured by two contrasts (gpu/engine/echoes.h) */
	BS_PLAN_COMBINE,  /* coils, or images with maps of their own, to one image */
	BS_PLAN_RESIZE,   /* it leaves on another matrix (gpu/image/resize.h) */
	BS_PLAN_PHASE,    /* its argument */
	BS_PLAN_VELOCITY, /* of a set against set 0 (core/flow/flow.h) */
	BS_PLAN_STAGES
};

/* The sensitivity maps that it works with. */
enum bs_plan_maps {
	BS_PLAN_MAPS_NONE,
	BS_PLAN_MAPS_FILE,
	BS_PLAN_MAPS_SCAN, /* made from the scan (gpu/calibrate/maps.h) */
	BS_PLAN_MAPS_STUDY /* an earlier scan's */
};

struct bs_plan {
	enum bs_encode encode;
	enum bs_solve solve;
	uint32_t together; /* coils of an application of F^H F, or of a sum: all of them, or 1 */
	uint32_t stages;   /* 1u << enum bs_plan_stage */
	enum bs_plan_maps maps;
	enum bs_weighing weighs;
	enum bs_method preview, counting; /* core/method.h */
	bool joint;     /* it solves for all coils at once, with maps; else coil by coil */
	bool on_grid;   /* its samples are lines of the grid `encoded`, told by their counters */
	bool streams;   /* where its samples lie, each readout says: it is not known before */
	bool host_only; /* what the readouts say is for the host alone, there is no CUDA row */
	bool off_resonance;        /* its images are corrected by a field map */
	bool takes[BS_KEPT_KINDS]; /* it works with what an earlier scan has left */
	bool accelerated;          /* images of fewer lines than `encoded` has are whole */
	bool corrects;             /* its readouts pass gpu/engine/phases.h */
	bool prepares;             /* then gpu/engine/front.h, before an engine sees them */
	bool calibrates;           /* it makes maps or weights from calibration lines */
	bool waits; /* some of its images wait for maps, weights or coil matrices of the scan */
	bool shares_coils, shares_rows; /* core/method.h */
};

struct bs_plan bs_plan_of(const struct bs_protocol *p);
/* on_grid, streams, off_resonance of its plan, for who is asked with each readout. */
static inline bool bs_plan_on_grid(const struct bs_protocol *p)
{
	return bs_methods[p->method].on_grid || p->traj.type == BS_TRAJ_CARTESIAN;
}
static inline bool bs_plan_streams(const struct bs_protocol *p)
{
	return p->traj.type == BS_TRAJ_STREAM;
}
static inline bool bs_plan_off_resonance(const struct bs_protocol *p)
{
	return p->field.map_file[0] != '\0' || p->field.from == BS_FIELD_STUDY;
}
#define BS_PLAN_WORDS 192u /* bytes that always suffice */
/* "whiten, compress > grid > cg > combine", cut to size. Returns to. */
const char *bs_plan_words(char *to, size_t size, const struct bs_plan *plan);

static inline bool bs_plan_has(struct bs_plan plan, enum bs_plan_stage stage)
{
	return (plan.stages >> (unsigned)stage & 1u) != 0;
}

BS_C_END
#endif

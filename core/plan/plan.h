/*
 * core/plan/plan.h - what a protocol is: how its images are made, decided in one place
 *
 * A protocol holds its plan: it is made once when the site is checked, and again for a protocol
 * that is derived from another one. Everything else walks it and asks no keys.
 * encode: what F^H d is, the sum over a frame's readouts. solve: what makes an image of it. place:
 * where. The first two are rows of functions, on the host and on the GPU (gpu/encode/encode.h,
 * gpu/solve/solve.h, gpu/engine/cuda/operator.h), the third is an engine that walks them
 * (gpu/engine/engines.c); the tables of rows have these enums' length.
 * Pure: it depends on the protocol alone, no GPU is asked. Any thread.
 * Tests: test/unit/core/plan/test_plan.c, test_place.c
 */
#ifndef BS_CORE_PLAN_PLAN_H
#define BS_CORE_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/method.h"

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

/* Where the work is done; of several GPUs with less than all, the first ones. */
enum bs_plan_place {
	BS_PLACE_NOTHING, /* there is no work */
	BS_PLACE_HOST,
	BS_PLACE_GPU,   /* one */
	BS_PLACE_COILS, /* several: GPU i of n has the i-th run of coils (gpu/device/split.h) */
	BS_PLACE_SLABS, /* several: each sums rows of the only coil's F^H d, the first solves */
	BS_PLACES
};

/* Why it has the first of several GPUs alone; in words: bs_plan_place_words. */
enum bs_undivided {
	BS_UNDIVIDED_NOT, /* it has not, or there is one */
	BS_UNDIVIDED_NOTHING,
	BS_UNDIVIDED_MAPS,
	BS_UNDIVIDED_PATH,
	BS_UNDIVIDED_VELOCITY,
	BS_UNDIVIDED_METHOD,
	BS_UNDIVIDED_FIELD,
	BS_UNDIVIDED_SUM,
	BS_UNDIVIDED_ROWS,
	BS_UNDIVIDED_WEIGHTS
};

/* What of it no GPU has; in words: bs_host_only_words. */
enum bs_host_only {
	BS_HOST_ONLY_NOT,
	BS_HOST_ONLY_STREAM, /* what the readouts say */
	BS_HOST_ONLY_ECHOES,
	BS_HOST_ONLY_MAP_SETS,
	BS_HOST_ONLY_REASONS
};

/* What of it no place has. */
enum bs_absent {
	BS_ABSENT_NOT,
	BS_ABSENT_STAGES, /* maps of the scan, or a field, behind what makes these images */
	BS_ABSENT_PATH    /* they are made without the path that comes with the readouts */
};

/* What a scan leaves to later ones. */
enum bs_kept_kind { BS_KEPT_MAPS, BS_KEPT_FIELD, BS_KEPT_KINDS };

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
	enum bs_plan_place
		place; /* as the keys ask; backend auto: where a GPU answers, else the host */
	enum bs_undivided undivided;
	enum bs_host_only host_only;
	enum bs_absent absent;
	uint32_t parts;    /* GPUs that work on a scan */
	uint32_t together; /* coils of an application of F^H F, or of a sum: all of them, or 1 */
	uint32_t stages;   /* 1u << enum bs_plan_stage */
	enum bs_plan_maps maps;
	enum bs_weighing weighs;
	enum bs_method preview, counting; /* core/method.h */
	bool joint;   /* it solves for all coils at once, with maps; else coil by coil */
	bool on_grid; /* its samples are lines of the grid `encoded`, told by their counters */
	bool streams; /* where its samples lie, each readout says: it is not known before */
	bool paths;   /* each says it, or has it in a file's table */
	bool passes;  /* it takes no scan */
	bool windows, previews;    /* it has them (core/method.h) */
	bool off_resonance;        /* its images are corrected by a field map */
	bool takes[BS_KEPT_KINDS]; /* it works with what an earlier scan has left */
	bool accelerated;          /* images of fewer lines than `encoded` has are whole */
	bool corrects;             /* its readouts pass gpu/engine/phases.h */
	bool prepares;             /* then gpu/engine/front.h, before an engine sees them */
	bool calibrates;           /* it makes maps or weights from calibration lines */
	bool waits; /* some of its images wait for maps, weights or coil matrices of the scan */
	bool keeps_phase; /* the image that leaves is one image's own, and has its phase */
};

struct bs_protocol;

/* p->plan, of all else that p has. */
void bs_plan_make(struct bs_protocol *p);
/* p has not been changed since, as far as its plan goes. */
bool bs_plan_holds(const struct bs_protocol *p);
#define BS_PLAN_WORDS 192u /* bytes that always suffice */
/* "whiten, compress > grid > cg > combine", cut to size. Returns to. */
const char *bs_plan_words(char *to, size_t size, const struct bs_plan *plan);

static inline bool bs_plan_has(const struct bs_plan *plan, enum bs_plan_stage stage)
{
	return (plan->stages >> (unsigned)stage & 1u) != 0;
}

static inline bool bs_plan_on_gpu(enum bs_plan_place place)
{
	return place > BS_PLACE_HOST;
}
/* Of the plan's engine there: "gridding/host", "noop". */
const char *bs_plan_engine(const struct bs_plan *plan, enum bs_plan_place place);
#define BS_PLAN_PLACE_WORDS 96u /* bytes that always suffice */
/* The GPUs: "GPUs 0, 1: 8 coils shared out", "GPU 0 alone: method cartesian ...". Returns to. */
const char *bs_plan_place_words(char *to, size_t size, const struct bs_protocol *p);
/* "": nothing. */
const char *bs_host_only_words(enum bs_host_only reason);
/* place.c: for bs_plan_make, of a plan that has all else. */
void bs_plan_choose_place(struct bs_plan *plan, const struct bs_protocol *p);

BS_C_END
#endif

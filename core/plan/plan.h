/*
 * core/plan/plan.h - a protocol's plan: how its images are made, decided in one place
 *
 * A protocol holds its plan. The plan is made once when the site is checked, and again for a
 * protocol that is derived from another one. All other code follows the plan and asks no keys.
 * encode: how F^H d is computed, the sum over a frame's readouts. solve: how an image is made of
 * it. place: where both run. The first two are rows of functions, on the host and on the GPU
 * (gpu/encode/encode.h, gpu/solve/solve.h, gpu/engine/cuda/operator.h); the third is an engine that
 * calls them (gpu/engine/engines.c). The tables of rows have these enums' length.
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
	BS_ENCODE_NOTHING, /* encoding: there is nothing to compute */
	BS_ENCODE_GRID,    /* encoding: a NUFFT along the protocol's trajectory */
	BS_ENCODE_EXACT,   /* encoding: the direct sum over the trajectory's samples */
	BS_ENCODE_FIELD,   /* encoding: sums with off resonance, by time segments */
	BS_ENCODE_PATH,    /* encoding: a NUFFT along the path that the readouts bring */
	BS_ENCODE_LINES,   /* encoding: FFTs of lines on the grid */
	BS_ENCODES
};

enum bs_solve {
	BS_SOLVE_NONE,   /* the sums are the coils' images already */
	BS_SOLVE_CG,     /* solver: conjugate gradients on F^H F */
	BS_SOLVE_UNFOLD, /* Cartesian SENSE: solves for the lines that came, with maps */
	BS_SOLVE_PROX,   /* solver: with a prior, around F^H F of either of these two */
	BS_SOLVES
};

/* The stages that a readout, and an image made of readouts, passes, in this order. */
enum bs_plan_stage {
	/* stage that corrects reversed lines, and readouts on ramps (gpu/engine/phases.h) */
	BS_PLAN_EPI,
	BS_PLAN_NAVIGATE, /* takes the phase of navigators off */
	BS_PLAN_WHITEN,   /* stage that whitens by the noise (gpu/engine/mixer.h) */
	BS_PLAN_COMPRESS, /* stage that compresses to virtual coils */
	BS_PLAN_AVERAGE,  /* averages a line that came several times (core/frame/averages.h) */
	BS_PLAN_APART,    /* takes slices at once apart: slice-GRAPPA, or the solver with maps */
	BS_PLAN_FILL,     /* GRAPPA: fills lines that were left out (gpu/engine/filler.h) */
	/* fills the end of k-space that was left out; from here on the stages are an image's */
	BS_PLAN_POCS,
	BS_PLAN_UNWARP, /* moves voxels back along EPI's blips (gpu/encode/unwarp.h) */
	/* stage that measures a field map by two contrasts (gpu/engine/echoes.h) */
	BS_PLAN_ECHOES,
	/* stage that combines coils, or images with maps of their own, to one image */
	BS_PLAN_COMBINE,
	BS_PLAN_RESIZE,   /* stage that resizes the image to another matrix (gpu/image/resize.h) */
	BS_PLAN_PHASE,    /* takes the image's phase */
	BS_PLAN_VELOCITY, /* makes the velocity of a set against set 0 (core/flow/flow.h) */
	BS_PLAN_JOIN,     /* joins slices to a volume (core/volume/volume.h) */
	BS_PLAN_STEP,     /* passes the site's own step, where the image leaves (ipc/step.h) */
	BS_PLAN_STAGES
};

/* Place where the work is done. A protocol that uses fewer GPUs than there are
 * uses the first ones. */
enum bs_plan_place {
	BS_PLACE_NOTHING, /* place: there is nothing to compute */
	BS_PLACE_HOST,
	BS_PLACE_GPU, /* place: one GPU */
	/* several GPUs: GPU i of n has the i-th run of coils (gpu/device/split.h) */
	BS_PLACE_COILS,
	/* place: several GPUs; each sums rows of the only coil's F^H d, the first one solves */
	BS_PLACE_SLABS,
	BS_PLACES
};

/* Why a protocol uses the first of several GPUs alone; in words: bs_plan_place_words. */
enum bs_undivided {
	BS_UNDIVIDED_NOT, /* the protocol uses several GPUs, or there is only one */
	BS_UNDIVIDED_NOTHING,
	BS_UNDIVIDED_MAPS,
	BS_UNDIVIDED_PATH,
	BS_UNDIVIDED_VELOCITY,
	BS_UNDIVIDED_METHOD,
	BS_UNDIVIDED_PRIOR,
	BS_UNDIVIDED_FIELD,
	BS_UNDIVIDED_SUM,
	BS_UNDIVIDED_ROWS,
	BS_UNDIVIDED_WEIGHTS
};

/* Features of a protocol that no GPU has; bs_host_only_words has their words. */
enum bs_host_only {
	BS_HOST_ONLY_NOT,
	BS_HOST_ONLY_STREAM, /* the GPU cannot take what the readouts themselves tell */
	BS_HOST_ONLY_ECHOES,
	BS_HOST_ONLY_MAP_SETS,
	BS_HOST_ONLY_FOLLOWS, /* solves without a prior that start from the last image */
	BS_HOST_ONLY_PRIOR,   /* the solver with a prior, of some encodings and images */
	BS_HOST_ONLY_FRAMES,  /* priors along frames of some shapes */
	BS_HOST_ONLY_W,
	BS_HOST_ONLY_REASONS
};

/* Features of a protocol that no place, host or GPU, has. */
enum bs_absent {
	BS_ABSENT_NOT,
	/* maps of the scan, or a field map, where another stage makes the images they need */
	BS_ABSENT_STAGES,
	/* maps or fields would be made without the path that comes with the readouts */
	BS_ABSENT_PATH
};

/* Kinds of data that a scan leaves to later ones. */
enum bs_kept_kind { BS_KEPT_MAPS, BS_KEPT_FIELD, BS_KEPT_IMAGE, BS_KEPT_KINDS };

/* The sensitivity maps that a protocol works with. */
enum bs_plan_maps {
	BS_PLAN_MAPS_NONE,
	BS_PLAN_MAPS_FILE,
	BS_PLAN_MAPS_SCAN, /* maps made from the scan (gpu/calibrate/maps.h) */
	BS_PLAN_MAPS_STUDY /* maps come from an earlier scan */
};

struct bs_plan {
	enum bs_encode encode;
	enum bs_solve solve;
	/*
	 * the place that the keys ask for; with backend auto: a GPU where one answers, else the
	 * host
	 */
	enum bs_plan_place place;
	enum bs_undivided undivided;
	enum bs_host_only host_only;
	enum bs_absent absent;
	uint32_t parts; /* GPUs that work on a scan */
	/* number of coils in one application of F^H F, or in one sum: all of them, or 1 */
	uint32_t together;
	uint32_t stages; /* set of bits 1u << enum bs_plan_stage */
	enum bs_plan_maps maps;
	enum bs_weighing weighs;
	enum bs_method preview, counting; /* methods of previews and of counting (core/method.h) */
	bool joint;   /* coils are solved for all at once, with maps; false: coil by coil */
	bool on_grid; /* samples are lines of the grid `encoded`, identified by their counters */
	bool streams; /* readouts say where their samples lie, which is not known before the scan */
	bool from_file; /* a file's table says where samples lie */
	bool passes;    /* the protocol takes no scan */
	/* the protocol has sliding windows; it has previews (core/method.h) */
	bool windows, previews;
	bool off_resonance;        /* images are corrected by a field map */
	bool takes[BS_KEPT_KINDS]; /* works with what an earlier scan has left */
	/* calibration lines that a scan measures among its others are lines of its images, too */
	bool embeds;
	bool own_calibration; /* what is made of calibration lines needs the scan's own */
	bool accelerated;     /* an image made of fewer lines than `encoded` has is whole */
	bool corrects;        /* readouts pass gpu/engine/phases.h */
	bool prepares;    /* readouts then pass gpu/engine/mixer.h, before an engine sees them */
	bool calibrates;  /* makes maps or weights from calibration lines */
	bool waits;       /* some images wait for maps, weights or coil matrices of the scan */
	bool follows;     /* an image depends on the one before (solve.start, solve.damp) */
	bool quadratic;   /* the ladder may leave the prior out (core/latency/budget.h) */
	bool keeps_phase; /* the image that leaves has the phase of one image */
};

struct bs_protocol;

/* Makes p->plan from all other members of p. */
void bs_plan_make(struct bs_protocol *p);
/* Returns true if p->plan is still the plan of p: what it depends on has not been changed. */
bool bs_plan_holds(const struct bs_protocol *p);
#define BS_PLAN_WORDS 192u /* bytes that always suffice */
/* Writes the plan in words, "whiten, compress > grid > cg > combine", cut to size. Returns to. */
const char *bs_plan_words(char *to, size_t size, const struct bs_plan *plan);
/* The same of those stages alone that are among these bits: "compress, resize". */
const char *bs_plan_stage_words(char *to, size_t size, const struct bs_plan *plan, uint32_t stages);

static inline bool bs_plan_has(const struct bs_plan *plan, enum bs_plan_stage stage)
{
	return (plan->stages >> (unsigned)stage & 1u) != 0;
}

/* Slices at once are solved for together, by maps of all of them; else, if at all, one by one. */
static inline bool bs_plan_groups(const struct bs_plan *plan)
{
	return bs_plan_has(plan, BS_PLAN_APART) && plan->joint;
}

static inline bool bs_plan_on_gpu(enum bs_plan_place place)
{
	return place > BS_PLACE_HOST;
}
/* The name of the plan's engine at a place: "gridding/host", "noop". */
const char *bs_plan_engine(const struct bs_plan *plan, enum bs_plan_place place);
#define BS_PLAN_PLACE_WORDS 96u /* bytes that always suffice */
/*
 * Writes the plan's GPUs in words: "GPUs 0, 1: 8 coils shared out", "GPU 0 alone: method cartesian
 * ...". Returns to.
 */
const char *bs_plan_place_words(char *to, size_t size, const struct bs_protocol *p);
/* Returns why only the host can do a protocol, in words; "": a GPU can, too. */
const char *bs_host_only_words(enum bs_host_only reason);
/* Chooses the place of a plan that is complete otherwise (place.c, for bs_plan_make). */
void bs_plan_choose_place(struct bs_plan *plan, const struct bs_protocol *p);

BS_C_END
#endif

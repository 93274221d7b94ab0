/*
 * core/method.h - the reconstruction methods, and what sets them apart
 *
 * The table has one row per method. config/ and core/plan, which makes a plan of a method, ask for
 * its traits; the rest of the service follows the plan. How to add a method: board/doc/HOWTO.md.
 * Test: test/unit/core/test_method.c
 */
#ifndef BS_CORE_METHOD_H
#define BS_CORE_METHOD_H

#include <stdbool.h>
#include <stddef.h>

#include "core/linkage.h"

BS_C_BEGIN

enum bs_method {
	BS_METHOD_GRIDDING,
	BS_METHOD_LS,
	BS_METHOD_SENSE,
	BS_METHOD_CARTESIAN,
	BS_METHOD_CARTESIAN_SENSE, /* cartesian with the key parallel = sense */
	BS_METHOD_NOOP,
	BS_METHOD_PASS,
	BS_METHODS
};

/* How lines that a scan leaves out are made, and slices at once come apart (key parallel). */
enum bs_parallel {
	BS_PARALLEL_NONE,
	BS_PARALLEL_GRAPPA,
	BS_PARALLEL_SENSE,
	BS_PARALLEL_SLICES,      /* slices at once: slice-GRAPPA */
	BS_PARALLEL_SENSE_SLICES /* slices at once are solved for together, with maps */
};

/* Whether samples get weights: density compensation, or the key gridding.density. */
enum bs_weighing { BS_WEIGHS_NEVER, BS_WEIGHS_WHEN_ASKED, BS_WEIGHS_ALWAYS };

struct bs_method_traits {
	/* the method makes images of zeros, whatever the trajectory, to time the service itself */
	bool empty;
	/* the method takes no scan: images of an MRD client go back to it unchanged */
	bool passes;
	/* the method takes lines of the grid `encoded` only; it has no trajectory table */
	bool on_grid;
	bool solves;    /* the method iterates (keys ls.*), and less when time is short */
	bool uses_q;    /* the method solves with Q and F^H d */
	bool uses_maps; /* the method uses maps, on all coils at once; else it works coil by coil */
	/* the method has the key parallel, for lines that an accelerated scan leaves out */
	bool parallel;
	/* the method has the key partial_fourier, for the end of k-space that a scan leaves out */
	bool partial;
	enum bs_weighing weighs;
	bool windows;  /* the method has sliding windows (key frame.step) */
	bool previews; /* the method has previews (key frame.preview_every) */
	/* method of previews, and of images when there is no time to solve */
	enum bs_method preview;
	/* method that accepts the same readouts and computes as little as possible */
	enum bs_method counting;
};

extern const struct bs_method_traits bs_methods[BS_METHODS];
/* names of the methods: "gridding" ...; then NULL */
extern const char *const bs_method_names[BS_METHODS + 1];

/* Returns "?" where there is no such method. */
const char *bs_method_name(enum bs_method m);

/* Returns the simplest method for samples on the grid, or for samples anywhere. */
enum bs_method bs_method_direct(bool on_grid);
/* Returns the method of least squares of each coil by itself, for samples anywhere. */
enum bs_method bs_method_least_squares(void);
/* The method that solves with maps for the lines that method m adds; m's trait parallel is set. */
enum bs_method bs_method_sense(enum bs_method m);
/* The names of the methods that solve, "ls or sense", cut to size. Returns to. */
const char *bs_method_solvers(char *to, size_t size);

BS_C_END
#endif

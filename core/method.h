/*
 * core/method.h - the reconstruction methods, and what sets them apart
 *
 * One row a method: config/ and core/plan, which makes a plan of it, ask for its traits; the rest
 * of the service walks the plan. How to add one: board/doc/HOWTO.md.
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
	BS_METHOD_CARTESIAN_SENSE, /* cartesian with parallel sense is this one */
	BS_METHOD_NOOP,
	BS_METHOD_PASS,
	BS_METHODS
};

/* Density compensation, or weights of the samples (key gridding.density). */
enum bs_weighing { BS_WEIGHS_NEVER, BS_WEIGHS_WHEN_ASKED, BS_WEIGHS_ALWAYS };

struct bs_method_traits {
	bool empty;     /* images of zeros, whatever the trajectory: to time the service itself */
	bool passes;    /* takes no scan: images of an MRD client go back to it as they came */
	bool on_grid;   /* lines of the grid `encoded` alone; no trajectory table */
	bool solves;    /* by iterations: keys ls.*; fewer of them when time is short */
	bool uses_q;    /* solves with Q, by F^H d */
	bool uses_maps; /* all coils at once, with sensitivity maps; else coil by coil */
	bool parallel;  /* key parallel: lines that an accelerated scan leaves out */
	bool partial;   /* key partial_fourier: the end of k-space that a scan leaves out */
	enum bs_weighing weighs;
	bool windows;  /* sliding windows: key frame.step */
	bool previews; /* key frame.preview_every */
	enum bs_method
		preview; /* makes its previews, and its images when there is no time to solve */
	enum bs_method counting; /* accepts the same readouts and computes as little as possible */
};

extern const struct bs_method_traits bs_methods[BS_METHODS];
extern const char *const bs_method_names[BS_METHODS + 1]; /* "gridding" ...; then NULL */

/* "?": there is no such method. */
const char *bs_method_name(enum bs_method m);

/* The simplest method for samples on the grid, or anywhere. */
enum bs_method bs_method_direct(bool on_grid);
/* Least squares of each coil by itself, for samples anywhere. */
enum bs_method bs_method_least_squares(void);
/* What solves with maps for the lines that method m adds, where its trait parallel is set. */
enum bs_method bs_method_sense(enum bs_method m);
/* The names of those that solve, "ls or sense", cut to size. Returns to. */
const char *bs_method_solvers(char *to, size_t size);

BS_C_END
#endif

/*
 * core/method.h - the reconstruction methods, and what sets them apart
 *
 * One row a method: the rest of the service asks for a trait of it and never which method a protocol
 * names. What a method computes is its row in gpu/engine/engines.c. How to add one:
 * board/doc/HOWTO.md. Test: test/unit/core/test_method.c
 */
#ifndef BS_CORE_METHOD_H
#define BS_CORE_METHOD_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum bs_method {
	BS_METHOD_GRIDDING,
	BS_METHOD_LS,
	BS_METHOD_SENSE,
	BS_METHOD_CARTESIAN,
	BS_METHOD_NOOP,
	BS_METHODS
};

/* Density compensation, or weights of the samples (key gridding.density). */
enum bs_weighing { BS_WEIGHS_NEVER, BS_WEIGHS_WHEN_ASKED, BS_WEIGHS_ALWAYS };

struct bs_method_traits {
	bool empty;   /* images of zeros, from whatever trajectory: it times the service itself */
	bool on_grid; /* a readout is a line of the grid `encoded`, found by its counters; no table */
	bool solves;    /* least squares by iterations: keys ls.*, Q, fewer iterations when late */
	bool uses_maps; /* by sensitivity maps to one image; else coil by coil, then combined */
	enum bs_weighing weighs;
	bool windows;      /* sliding windows: key frame.step */
	bool previews;     /* key frame.preview_every */
	bool shares_coils; /* over several GPUs: each takes some of the coils */
	bool shares_rows;  /* one coil, exact sum: each GPU takes some rows of the image */
	enum bs_method
		preview; /* makes its previews, and its image when there is no time to solve */
	enum bs_method counting; /* admits and counts the same readouts, and computes least */
};

extern const struct bs_method_traits bs_methods[BS_METHODS];
extern const char *const bs_method_names[BS_METHODS + 1]; /* "gridding" ...; then NULL */

/* "?": there is no such method. */
const char *bs_method_name(enum bs_method m);

/* "?": there is no such method. */
const char *bs_method_name(enum bs_method m);

/* The method that needs nothing but samples of that kind: on the grid, or anywhere. */
enum bs_method bs_method_direct(bool on_grid);
/* Those that solve, "ls or sense", cut to size. Returns to. */
const char *bs_method_solvers(char *to, size_t size);

#ifdef __cplusplus
}
#endif
#endif

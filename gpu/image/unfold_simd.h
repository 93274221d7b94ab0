/*
 * gpu/image/unfold_simd.h - the loops of unfold.c, built once for each instruction set
 *
 * A block is [row][re lanes | im lanes] float, neighbors in x in the lanes (gpu/fft/fft.h).
 */
#ifndef BS_GPU_IMAGE_UNFOLD_SIMD_H
#define BS_GPU_IMAGE_UNFOLD_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/device/isa.h"

struct bs_unfold_kernels {
	/* Sets out = map x, or adds map x to out. */
	void (*times)(float *out, const float *x, const float *map, size_t rows, bool add);
	/* Adds conj(map) in to sum. */
	void (*gather)(float *sum, const float *in, const float *map, size_t rows);
	/* Sets out = a out + b x. */
	void (*mix)(float *out, float a, const float *x, float b, size_t rows);
	/*
	 * Adds up the slices of each line, slice b times phases [b][line], complex, or takes those
	 * of slice 0 as the sum. Sets each slice to the sum times the conjugate of its phase.
	 * Slices lie `plane` floats apart.
	 */
	void (*cross)(float *rows, size_t plane, const float *phases, uint32_t slices,
		      uint32_t lines, bool add);
	/* Sets lane l of each row to what coil l of so many has, the lanes beyond to 0. */
	void (*beside)(float *out, const float *coils, size_t rows, uint32_t many);
	/* Gives all lanes of each row the same complex value. */
	void (*spread)(float *out, const float *values, size_t rows);
	/* Adds up the lanes of each row: a complex value. */
	void (*collect)(float *values, const float *in, size_t rows);
	/* Copies rows that lie to_step and from_step floats apart. */
	void (*move)(float *to, size_t to_step, const float *from, size_t from_step, size_t rows);
	/* Sets to 0 each row whose line has not come; lines are `step` bytes apart. */
	void (*keep)(float *rows, const uint8_t *came, size_t step, uint32_t lines);
};

BS_ISA_DECLARE(const struct bs_unfold_kernels, bs_unfold_kernels);

#endif

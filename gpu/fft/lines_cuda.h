/*
 * gpu/fft/lines_cuda.h - Fourier transforms along one axis of device arrays, padded and cropped
 *
 * out[outer][i][inner] = scale_out[i] sum_j scale_in[j] in[outer][j][inner]
 *                        exp(S i2pi (j - in_half) (i - out_half) / n)
 * with j < in_count <= n, i < out_count <= n: a centered, oversampled transform reads and writes
 * its data once. scale NULL: ones. planes P > 1: the outer index of in (of out) is the centered
 * one, that of the other its bin: outer = c P + z, z <-> (z +- P/2) mod P. fours M > 0 (inner 1,
 * bs_line_has_fours, sign -1): the outer index is [channel][M], channels a multiple of four,
 * and out is [channel / 4][M][i][channel % 4]. make fills the table of
 * roots (device memory from mem); launch queues the pass and allocates nothing.
 * Any n from 1 to BS_LINE_MAX. Tests: test/twin/nufft/twin_nufft.c, twin_nufft_choices.c,
 * test/twin/engine/twin_engine.c
 */
#ifndef BS_GPU_FFT_LINES_CUDA_H
#define BS_GPU_FFT_LINES_CUDA_H

#include "gpu/device/memory.h"
#include "gpu/fft/cuda/lines.cuh"

#define BS_LINE_MAX 4096u

struct bs_line_pass {
	struct bs_line_plan line;
	uint32_t in_count, in_half, out_count, out_half;
	const float *scale_in, *scale_out;
	uint64_t outer, inner;
	/* planes P of the formula; 1: the outer index is used as it is */
	uint32_t in_planes, out_planes;
	uint32_t fours; /* fours M of the formula; 0: channels stay as they are */
	/* most lines of a block; 0: chosen by the number of lines */
	uint32_t cols;
	/*
	 * use the kernels that transform in registers, where the length has them
	 * (gpu/fft/cuda/registers.cuh)
	 */
	bool registers;
	bool close; /* blocks may start while the kernel before this one in the stream ends */
};

/*
 * Returns true where the lines of a pass lie along memory, one after the other: the kernels of
 * whole rows do them.
 */
static inline bool bs_line_along(const struct bs_line_pass *p)
{
	return p->inner == 1 && p->in_planes <= 1 && p->out_planes <= 1;
}
/* Bytes of device memory that a plan takes. */
uint64_t bs_line_bytes(uint32_t n);
int bs_line_make(struct bs_line_plan *p, uint32_t n, struct bs_devmem *mem, struct bs_fail *why);
/* Makes a table of one value for scale_in or scale_out; count: at most BS_LINE_MAX. */
int bs_line_scale(const float **scale, float value, uint32_t count, struct bs_devmem *mem,
		  struct bs_fail *why);
/*
 * Makes the pass that transforms whole lines along an axis of one array [z][y][x] of this size,
 * index 0 first.
 */
int bs_line_whole(struct bs_line_pass *p, uint32_t axis, const uint32_t size[3],
		  struct bs_devmem *mem, struct bs_fail *why);
/*
 * The number of lines of a block that fits it and is worth its while. most: a limit, a power of
 * two; 0: none. For kernels that bring their own passes.
 */
uint32_t bs_line_cols(uint32_t n, uint64_t lines, uint32_t least, uint32_t most);
static inline size_t bs_line_shared(uint32_t n, uint32_t cols)
{
	return (size_t)2 * n * bs_line_pitch(cols) * sizeof(float2);
}
/* Prepares the kernels; once per process, before any capture. */
int bs_lines_cuda_init(struct bs_fail *why);
/* Queues a pass. sign: +1 inverse, -1 forward. */
int bs_line_launch(const struct bs_line_pass *pass, int sign, const float2 *in, float2 *out,
		   cudaStream_t stream, struct bs_fail *why);
/*
 * Returns true for lengths with kernels that transform in registers; launch uses them where the
 * pass asks for them.
 */
bool bs_line_has_registers(uint32_t n);
/* these kernels also do the rows of four channels at a time */
bool bs_line_has_fours(uint32_t n);
int bs_line_reg_init(uint32_t n, struct bs_fail *why); /* bs_line_make calls it */
int bs_line_launch_registers(const struct bs_line_pass *pass, int sign, const float2 *in,
			     float2 *out, cudaStream_t stream, struct bs_fail *why);

#endif

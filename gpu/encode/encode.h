/*
 * gpu/encode/encode.h - the encodings on the host: each computes F^H d by a row of functions
 *
 * need -> plan -> { scan -> { begin -> { path, add }* -> settle -> finish }* }* -> close. The
 * functions follow those of core/engine.h: what a frame, a readout, held and data are, and what may
 * allocate. With `whole` the order is need -> plan -> adjoint* -> close. A function that is NULL
 * has nothing to do for this encoding; where a caller may ask for it, the encoding does not offer
 * it. The rows of the CUDA engine: gpu/engine/cuda/operator.h.
 * Tests: test/unit/gpu/engine/test_engine_ls.c, test_engine_field.c, test_engine_paths.c,
 * test_engine_cartesian.c
 */
#ifndef BS_GPU_ENCODE_ENCODE_H
#define BS_GPU_ENCODE_ENCODE_H

#include "core/engine.h"
#include "core/protocol.h"
#include "gpu/image/cartesian.h"
#include "gpu/nufft/nufft.h"
#include "gpu/solve/segments.h"

BS_C_BEGIN

struct bs_encoding;

/* An encoding of a protocol. plan makes `plan`; the caller of need sets the other members. */
struct bs_encoder {
	const struct bs_encoding *row;
	const struct bs_protocol *p;
	uint32_t coils; /* number of coils in F^H d */
	bool whole;     /* the encoding has no frames: adjoint makes F^H d of all samples at once */
	void *plan;
};

struct bs_encoding {
	int (*need)(const struct bs_encoder *e, struct bs_need *need, struct bs_fail *why);
	/* Plans the encoding. weight: [readout][sample] density compensation; NULL: ones. */
	int (*plan)(struct bs_encoder *e, const struct bs_tables *tables, const float *weight,
		    const struct bs_arm_env *env, struct bs_fail *why);
	void (*close)(struct bs_encoder *e); /* e: an encoder that was planned */
	void (*scan)(const struct bs_encoder *e);
	void (*begin)(const struct bs_encoder *e, uint32_t frame);
	void (*path)(const struct bs_encoder *e, uint32_t frame, uint32_t readout, const float *k);
	void (*add)(const struct bs_encoder *e, uint32_t frame, uint32_t readout, const float *data,
		    size_t coil_stride);
	/*
	 * Finds what a frame leaves to later frames and what the report says of it. Called before
	 * finish, but not before peek.
	 */
	int (*settle)(const struct bs_encoder *e, uint32_t frame, const uint8_t *held,
		      struct bs_report *report);
	/*
	 * The lines that came, in hybrid space: [coil][kz][ky][x] as bs_cart_hybrid. The caller
	 * writes the missing lines there.
	 */
	float *(*lacking)(const struct bs_encoder *e, uint32_t frame);
	/*
	 * fhd [coil][z][y][x] = F^H d of the readouts that came. held: the groups that a sliding
	 * window holds, for encodings where F^H d is not the sum over the groups; NULL: all groups.
	 */
	int (*finish)(const struct bs_encoder *e, uint32_t frame, const uint8_t *held, float *fhd,
		      struct bs_fail *why);
	/* peek: finish for the readouts that have come so far. The frame goes on unchanged. */
	int (*peek)(const struct bs_encoder *e, uint32_t frame, const uint8_t *held, float *fhd,
		    struct bs_fail *why);
	void (*adjoint)(const struct bs_encoder *e, const float *data, float *fhd);
	/*
	 * normal: the operator that a solver applies, out = sum_c conj(S_c) F^H F S_c in, for the
	 * slice of the last slice() and the samples of the last finish. NULL: Q is made when the
	 * protocol is armed (gpu/toeplitz/q.h). sum: the sum of the weights of the last finish;
	 * NULL: the weights are those given to plan.
	 */
	void (*normal)(void *encoder, const float *maps, const float *in, float *out);
	double (*sum)(const struct bs_encoder *e);
	/* Selects the slice that normal is for, and writes what an image's report says of it. */
	void (*slice)(const struct bs_encoder *e, uint32_t slice, struct bs_report *report);
};

extern const struct bs_encoding bs_encode_grid, bs_encode_exact, bs_encode_field, bs_encode_path,
	bs_encode_lines;

/* The encoder of a protocol, for frames of all its coils; its row is NULL for BS_ENCODE_NOTHING. */
struct bs_encoder bs_encoder_of(const struct bs_protocol *p);

/* The gridding of a protocol: chunks, states, accuracy. The host and CUDA use the same. */
struct bs_nufft_spec bs_gridding_spec(const struct bs_protocol *p);
/*
 * The gridding of a protocol with a field map, by time segments: `together` coils are transformed
 * at a time.
 */
struct bs_segments_spec bs_gridding_segments(const struct bs_protocol *p, uint32_t together);
/* The Cartesian grid of a protocol: the columns, lines and partitions that images are made on. */
struct bs_cart_spec bs_lines_spec(const struct bs_protocol *p);

BS_C_END
#endif

/*
 * gpu/encode/encode.h - what F^H d is: a row of functions for each encoding, on the host
 *
 * need -> plan -> { scan -> { begin -> { path, add }* -> settle -> finish }* }* -> close, as the
 * functions of core/engine.h: frames, readouts, groups, held, data, what may allocate. With `whole`
 * it is need -> plan -> adjoint* -> close. A cell that is NULL: nothing is to be done there, or
 * where a user may ask for it, "not here". CUDA's rows: gpu/engine/cuda/operator.h.
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

/* One encoding of a protocol; what plan has not made is set by whoever calls need. */
struct bs_encoder {
	const struct bs_encoding *row;
	const struct bs_protocol *p;
	uint32_t coils; /* of F^H d */
	bool whole;     /* no frames: F^H d of all samples at once */
	void *plan;
};

struct bs_encoding {
	int (*need)(const struct bs_encoder *e, struct bs_need *need, struct bs_fail *why);
	/* weight [readout][sample]; NULL: ones */
	int (*plan)(struct bs_encoder *e, const struct bs_tables *tables, const float *weight,
		    const struct bs_arm_env *env, struct bs_fail *why);
	void (*close)(struct bs_encoder *e); /* of one that was planned */
	void (*scan)(const struct bs_encoder *e);
	void (*begin)(const struct bs_encoder *e, uint32_t frame);
	void (*path)(const struct bs_encoder *e, uint32_t frame, uint32_t readout, const float *k);
	void (*add)(const struct bs_encoder *e, uint32_t frame, uint32_t readout, const float *data,
		    size_t coil_stride);
	/* What a frame leaves to later ones, and tells of: before finish, but for previews. */
	int (*settle)(const struct bs_encoder *e, uint32_t frame, const uint8_t *held,
		      struct bs_report *report);
	/* Of the lines that came, [coil][kz][ky][x] as bs_cart_hybrid; what lacks is put there. */
	float *(*lacking)(const struct bs_encoder *e, uint32_t frame);
	/*
	 * F^H d, [coil][z][y][x], of the readouts that came. held: the groups of a window where the
	 * sums of its groups are not F^H d; NULL: all.
	 */
	int (*finish)(const struct bs_encoder *e, uint32_t frame, const uint8_t *held, float *fhd,
		      struct bs_fail *why);
	/* Likewise, of those so far, and the frame goes on unchanged. */
	int (*peek)(const struct bs_encoder *e, uint32_t frame, const uint8_t *held, float *fhd,
		    struct bs_fail *why);
	void (*adjoint)(const struct bs_encoder *e, const float *data, float *fhd);
	/*
	 * What a solver applies, out = sum_c conj(S_c) F^H F S_c in, of the slice that was said
	 * last and of the last finish; NULL: Q is made beforehand (gpu/toeplitz/q.h). sum: of the
	 * weights of that finish; NULL: they are those of plan.
	 */
	void (*normal)(void *encoder, const float *maps, const float *in, float *out);
	double (*sum)(const struct bs_encoder *e);
	/* normal is of this slice; what an image's report says of that. */
	void (*slice)(const struct bs_encoder *e, uint32_t slice, struct bs_report *report);
};

extern const struct bs_encoding bs_encode_grid, bs_encode_exact, bs_encode_field, bs_encode_path,
	bs_encode_lines;

/* Of frames of all coils; row NULL: BS_ENCODE_NOTHING. */
struct bs_encoder bs_encoder_of(const struct bs_protocol *p);

/* The gridding of a protocol: chunks, states, accuracy; the same for both twins. */
struct bs_nufft_spec bs_gridding_spec(const struct bs_protocol *p);
/* The same off resonance: coils transformed `together`. */
struct bs_segments_spec bs_gridding_segments(const struct bs_protocol *p, uint32_t together);
/* The lines of the grid: the columns, lines and partitions that images are made on. */
struct bs_cart_spec bs_lines_spec(const struct bs_protocol *p);

BS_C_END
#endif

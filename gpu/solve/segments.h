/*
 * gpu/solve/segments.h - the non-uniform Fourier transform off resonance, by time segments
 *
 * forward:  d[c][m] = sum_n image[c][n] exp(-i2pi (k_m.n + f(n) t_m))
 * adjoint:  image[c][n] = sum_m w_m d[c][m] exp(+i2pi (k_m.n + f(n) t_m))
 * f       [slice][z][y][x] float, Hz; the sign is that of forward
 * t_m     start + dwell times the sample's number within its readout, seconds
 * k, w, image, d: as in gpu/nufft/nufft.h
 *
 * exp(-i2pi f t) is taken to be sum_l b_l(t) exp(-i2pi f tau_l), tau_l evenly over the readout:
 * so each direction is one NUFFT for each of L segments. b_l(t) is the least-squares fit over the
 * histogram of f (all slices together), in double precision; L is the smallest number whose
 * error, the root mean square over the voxels, is at most `error` at every t. Then the transform of
 * random images, or of random samples, is that near to the exact one, in the 2-norm, beside the
 * error of the NUFFT.
 *
 * need -> plan -> { begin, add*, finish | normal }* -> close. The samples of each state are kept
 * and transformed in finish: L sums instead would take L grids a state. Only plan and close
 * allocate. Results are the same for any number of threads. One caller.
 * Errors of plan: BS_ERR_VALUE (f not finite; more than BS_SEGMENTS_MAX segments, in words), those
 * of nufft.h.
 * Sources: Sutton, Noll, Fessler, IEEE Trans Med Imaging 2003;22:178-188; Fessler et al., IEEE
 * Trans Signal Process 2005;53:3393-3402 (fit to the histogram).
 * Twins: segments.c (host), segments.cu (CUDA).
 * Tests: test/unit/gpu/test_segments.c, test/replay/scan/field.sh
 */
#ifndef BS_GPU_SOLVE_SEGMENTS_H
#define BS_GPU_SOLVE_SEGMENTS_H

#include "core/engine.h"
#include "gpu/nufft/nufft.h"

BS_C_BEGIN

#define BS_SEGMENTS_MAX 64u

struct bs_segments_spec {
	/* coils: coils of a state; chunk, states and peek are ignored */
	struct bs_nufft_spec nufft;
	/* number of coils transformed at a time, in normal too: nufft.coils or 1 */
	uint32_t together;
	uint32_t states;  /* number of frames open at once */
	uint32_t readout; /* samples of a readout; nufft.samples is a multiple of it */
	uint32_t slices;
	bool replaced; /* other maps will replace hz, with any values within its range */
	double dwell_s, start_s, error;
};

/* The transform of the segments that are worked on together. */
static inline struct bs_nufft_spec bs_segments_nufft(const struct bs_segments_spec *s)
{
	struct bs_nufft_spec n = s->nufft;

	n.coils = s->together;
	n.chunk = n.part = 0;
	n.states = 0;
	n.peek = false;
	n.tune = NULL;
	return n;
}

struct bs_segments;

int bs_segments_need(const struct bs_segments_spec *spec, struct bs_need *need,
		     struct bs_fail *why);
/* Copies k and weight. hz must live as long as the plan. */
int bs_segments_plan(struct bs_segments **plan, const struct bs_segments_spec *spec, const float *k,
		     const float *weight, const float *hz, const struct bs_arm_env *env,
		     struct bs_fail *why);
void bs_segments_close(struct bs_segments *plan); /* frees a plan, which may be NULL */

/*
 * add: adds one readout, data [coil][readout], coil_stride samples between coils. A readout that
 * never comes counts as zeros.
 */
void bs_segments_begin(struct bs_segments *plan, uint32_t state);
void bs_segments_add(struct bs_segments *plan, uint32_t state, uint32_t number, const float *data,
		     size_t coil_stride);
/* Makes the adjoint of a state's samples, [coil][voxel]; the state stays as it is. */
void bs_segments_finish(struct bs_segments *plan, uint32_t state, uint32_t slice, float *image);

/* Selects the slice of normal; finish selects it, too. */
void bs_segments_slice(struct bs_segments *plan, uint32_t slice);
/*
 * out = sum_c conj(S_c) F^H W F S_c in, one image, coils in order. maps [together][voxel] complex;
 * NULL: together is 1 and S is 1.
 */
void bs_segments_normal(struct bs_segments *plan, const float *maps, const float *in, float *out);

struct bs_segments_info {
	uint32_t segments;
	double error; /* error of the fit (see `error` above): root mean square over voxels */
};
struct bs_segments_info bs_segments_info(const struct bs_segments *plan);
static inline void bs_segments_report(const struct bs_segments *plan, struct bs_report *report)
{
	const struct bs_segments_info info = bs_segments_info(plan);

	report->segments = info.segments;
	report->field_error = info.error;
}

BS_C_END
#endif

/*
 * gpu/calibrate/compress.h - whitening of the coils, and compression to fewer virtual coils
 *
 * Matrices are complex double, column-major as gpu/calibrate/dense.h has them; a [virtual][coils]
 * maps one sample of all coils to one of all virtual coils.
 * whiten    W = L^-1 of Psi = L L^H: noise n of covariance Psi becomes W n with E|(W n)_i|^2 = 1,
 *           uncorrelated (both parts of a complex number together: Pruessmann's convention).
 * compress  the leading eigenvectors of the calibration data's Gram matrix, after whitening where w
 *           is given: A = V^H W. Its rows are orthonormal, so white noise stays white. kept: the
 *           share of the data's energy that the virtual coils keep.
 * aligned   one matrix for each place x along a fully sampled readout, from gram[x] of calibration
 *           data that were transformed along x: a single place needs fewer coils than the whole
 *           readout. Each matrix is multiplied by the unitary matrix that brings it nearest to its
 *           neighbor on the side of the center, so that a virtual coil changes smoothly along x.
 * Each row's phase makes its largest element real and positive before W is applied (aligned: at the
 * center). Any thread; allocates nothing: work is the caller's, aligned to 16 bytes. Errors: those
 * of dense.h; BS_ERR_VALUE where there is no signal to calibrate by.
 * Sources: Buehrer et al., Magn Reson Med 2007;57:1131 (compress); Zhang et al., Magn Reson Med
 * 2013;69:571 (aligned). Test: test/unit/gpu/calibrate/test_compress.c
 */
#ifndef BS_GPU_CALIBRATE_COMPRESS_H
#define BS_GPU_CALIBRATE_COMPRESS_H

#include "core/study/gram.h"
#include "core/study/noise.h"
#include "gpu/calibrate/dense.h"

/*
 * w [coils][coils]: maps the coils in the scan's order to white coils in the order of the noise.
 * scale: bs_noise_scale. Noise of too few samples is refused as singular.
 */
int bs_whiten(double *w, const struct bs_noise *noise, double scale, struct bs_fail *why);

size_t bs_compress_bytes(uint32_t coils);
/* What a compression is made of. */
struct bs_compressing {
	uint32_t virtual_coils, coils; /* virtual_coils: 1 to coils */
	uint32_t places;               /* of aligned: number of places x */
	const double *gram;            /* packed; of aligned [x][coils][coils] */
	const double *w;               /* [coils][coils], or NULL */
	void *work;                    /* bs_compress_bytes */
};
int bs_compress(double *a, const struct bs_compressing *of, double *kept, struct bs_fail *why);
/* a [x][virtual][coils]; kept: the share over all places together. */
int bs_compress_aligned(double *a, const struct bs_compressing *of, double *kept,
			struct bs_fail *why);

#endif

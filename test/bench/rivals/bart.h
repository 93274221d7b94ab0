/*
 * test/bench/rivals/bart.h - BART as a program, on a bench's own trajectory and data
 *
 * BART is its path (Debian's package bart has /usr/bin/bart). Times are of the whole process, its
 * start and its files (in a folder of their own in TMPDIR, removed afterwards) in them: that is how
 * it is used. On the host, with as many threads; Debian's has no CUDA.
 * k [sample][dims] cycles per voxel, samples = along x readouts; data [coil][sample], maps and
 * image [coil][z][y][x] complex. BART's own scale: image is what it wrote.
 * BS_ERR_UNSUPPORTED: it is not there; BS_ERR_IO: it failed, with its exit status.
 * Source: Uecker et al., Proc ISMRM 2015;23:2486; mrirecon.github.io/bart.
 */
#ifndef BS_TEST_BENCH_RIVALS_BART_H
#define BS_TEST_BENCH_RIVALS_BART_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

struct bs_bart_scan {
	uint32_t dims, matrix[3], along, readouts, coils;
	const float *k, *data;
	const float *maps; /* of pics */
};

bool bs_bart_there(struct bs_fail *why);
/* The adjoint of every coil (nufft -a). ms: the median of three; image NULL: it is not read. */
int bs_bart_adjoint(const struct bs_bart_scan *scan, int threads, float *image, double *ms,
		    struct bs_fail *why);
/* pics -l2 -r lambda -i iterations -t */
int bs_bart_pics(const struct bs_bart_scan *scan, double lambda, int iterations, int threads,
		 double *ms, struct bs_fail *why);

#endif

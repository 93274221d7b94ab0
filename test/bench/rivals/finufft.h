/*
 * test/bench/rivals/finufft.h - FINUFFT in this process, on a bench's own trajectory and data
 *
 * FINUFFT is the path of libfinufft.so, 2.5: PyPI's wheel finufft has it (rivals/run.sh), for AVX2
 * and with an FFT that is slow beside Debian's FFTW; one built for the machine is faster. there ->
 * { open -> run* -> close }*. open tries both upsamplings, the transform planned by estimate and by
 * measuring, sorted or not, fewer threads, and keeps what takes least. Single precision; allocates
 * by itself.
 * k [sample][dims] cycles per voxel; in, out as nufft.h's, no weights. BS_ERR_UNSUPPORTED: it is
 * not there, or another version, in words.
 * Source: Barnett, Magland, af Klinteberg, SIAM J Sci Comput 2019;41:C479-C504; its documentation,
 * "C interface".
 */
#ifndef BS_TEST_BENCH_RIVALS_FINUFFT_H
#define BS_TEST_BENCH_RIVALS_FINUFFT_H

#include <stdbool.h>

#include "gpu/nufft/nufft.h"

struct bs_finufft {
	void *plan;
	float *k[3]; /* radians */
	const float *in;
	float *out;
	bool forward;
	char how[64];
};

bool bs_finufft_there(struct bs_fail *why);
int bs_finufft_open(struct bs_finufft *f, const struct bs_nufft_spec *spec, bool forward,
		    const float *k, const float *in, float *out, int threads, struct bs_fail *why);
void bs_finufft_run(void *f);
/* Also after an open that failed. */
void bs_finufft_close(struct bs_finufft *f);

#endif

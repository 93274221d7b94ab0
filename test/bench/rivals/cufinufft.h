/*
 * test/bench/rivals/cufinufft.h - cuFINUFFT in this process, on a bench's own trajectory and data
 *
 * CUFINUFFT is the path of libcufinufft.so, 2.5, as PyPI's wheel cufinufft has it; it needs
 * libcudart.so.12 and libcufft.so.11, whose wheels pip takes along (rivals/run.sh). there -> { open
 * -> run* -> close }*. open tries each of its methods, both upsamplings, coils at once and one
 * after the other, each as a graph and as it is, and keeps what takes least. RIVAL_ACCURACY is what
 * it is asked for in place of the spec's, since it may hold less than that. run is a work of
 * gpu/device/stopwatch.h. Single precision. Allocates by itself, and prints to standard error what
 * it cannot do.
 * k [sample][dims] cycles per voxel; in, out as nufft.h's, weights already in the data: all on the
 * device. BS_ERR_UNSUPPORTED: it is not there, or another version, in words.
 * Source: Shih, Wright, Anden, Blaschke, Barnett, IPDPSW 2021, arXiv 2102.08463; its documentation,
 * "C interface (GPU)".
 */
#ifndef BS_TEST_BENCH_RIVALS_CUFINUFFT_H
#define BS_TEST_BENCH_RIVALS_CUFINUFFT_H

#include <stdbool.h>

#include "gpu/device/stopwatch.h"
#include "gpu/nufft/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bs_cufinufft_choice {
	int method, batch;
	double upsampling;
};

struct bs_cufinufft {
	void *plan;
	float *k[3]; /* radians, device */
	const float *in;
	float *out;
	bool forward, graph; /* graph: so it takes less */
	char how[64];
	struct bs_cufinufft_choice choice;
};

/* False, with the reason, where there is none; NULL asks for no reason. */
bool bs_cufinufft_there(struct bs_fail *why);
int bs_cufinufft_open(struct bs_cufinufft *f, const struct bs_nufft_spec *spec, bool forward,
		      const float *k, const float *in, float *out, struct bs_stopwatch *watch,
		      struct bs_fail *why);
int bs_cufinufft_run(void *arg, cudaStream_t stream, struct bs_fail *why);
/* Also after an open that failed. */
void bs_cufinufft_close(struct bs_cufinufft *f);

#ifdef __cplusplus
}
#endif
#endif

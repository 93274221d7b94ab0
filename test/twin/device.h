/* test/twin/device.h - what the twin tests share: arrays on the device, random numbers, one hash */
#ifndef BS_TEST_TWIN_DEVICE_H
#define BS_TEST_TWIN_DEVICE_H

#include <cuda_runtime_api.h>

#include <stdbool.h>
#include <string.h>

#include "core/thread/team.h"
#include "gpu/device/memory.h"
#include "gpu/device/reach.h"
#include "test/support/check.h"

/* BORESIDE_ROUTE: the twins with the kernels for a lesser GPU, by its number in core/protocol.h. */
__attribute__((constructor)) static inline void hold_route(void)
{
	const char *route = getenv("BORESIDE_ROUTE");

	if (route != NULL)
		bs_reach_hold((enum bs_gpu_route)strtol(route, NULL, 10));
}

/* Under compute-sanitizer: the same kernels on less work. */
static inline bool small(void)
{
	return getenv("BORESIDE_SMALL") != NULL;
}

static inline void fill_random(float *v, size_t n, uint64_t *seed)
{
	for (size_t i = 0; i < n; i++)
		v[i] = (float)(check_uniform(seed) - 0.5);
}

/* k in [-0.5, 0.5): rounding to float must not reach the upper end */
static inline void fill_k(float *k, size_t n, uint64_t *seed)
{
	for (size_t i = 0; i < n; i++) {
		k[i] = (float)(check_uniform(seed) - 0.5);
		if (k[i] >= 0.5f)
			k[i] = -0.5f;
	}
}

/* NULL when the device refuses; the test says so and goes on to fail. */
static inline float *device_copy(const float *from, size_t n)
{
	void *p = NULL;

	if (cudaMalloc(&p, n * sizeof(float) + 1) != cudaSuccess ||
	    (from != NULL &&
	     cudaMemcpy(p, from, n * sizeof(float), cudaMemcpyHostToDevice) != cudaSuccess))
		return NULL;
	if (from == NULL && cudaMemset(p, 0x7f, n * sizeof(float)) != cudaSuccess) /* poison */
		return NULL;
	return p;
}

static inline int fetch(float *to, const float *from, size_t n)
{
	return cudaMemcpy(to, from, n * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess;
}

static inline uint64_t hash_of(const float *v, size_t n)
{
	uint64_t h = UINT64_C(1469598103934665603);

	for (size_t i = 0; i < n; i++) {
		uint32_t bits;

		memcpy(&bits, v + i, 4);
		h = (h ^ bits) * UINT64_C(1099511628211);
	}
	return h;
}

static struct bs_reach reach __attribute__((unused)); /* once a device has answered */

static struct bs_gpu_info gpu __attribute__((unused));
static struct bs_team *team __attribute__((unused)); /* where twin_main was asked for one */

/* True when a device answers; else the skip line is written. */
static inline bool device_answers(const char *what)
{
	struct bs_fail why;

	if (bs_gpu_probe(&gpu, &why) == 0 && bs_reach(&reach, &why) == 0)
		return true;
	SKIP("%s: %s", what, why.text);
	return false;
}

/* All of main: `run` where a device answers, with a team of so many threads; 0: without one. */
static inline int twin_main(const char *what, int threads, void (*run)(void))
{
	if (!device_answers(what))
		return check_done();
	if (threads > 0)
		CHECK(bs_team_open(&team, threads, NULL) == 0, "a team of %d", threads);
	run();
	bs_team_close(team);
	return check_done();
}

#endif

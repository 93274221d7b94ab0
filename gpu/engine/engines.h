/*
 * gpu/engine/engines.h - the engines that this build has, one for each place of a plan
 *
 * find: the engine for a protocol's plan; BS_ERR_UNSUPPORTED with the reason when this build or
 * machine has none (backend cuda without a GPU; a GPU of gpu.devices that is missing or differs
 * from the first). Backend auto: CUDA where a GPU answers, else the host. After find the site's
 * first GPU is current in this thread, which must be the one that arms and runs. For several GPUs
 * see core/plan/plan.h.
 * place: says in words where a found engine works: "host", "GPUs 0, 1: 8 coils shared out".
 * For the recon process only: in a build with GPUs it may start the CUDA runtime.
 */
#ifndef BS_GPU_ENGINE_ENGINES_H
#define BS_GPU_ENGINE_ENGINES_H

#include "core/engine.h"
#include "gpu/device/tune.h"

BS_C_BEGIN

int bs_engine_find(const struct bs_engine **engine, const struct bs_protocol *p,
		   struct bs_fail *why);
void bs_engine_place(char *words, size_t size, const struct bs_engine *engine,
		     const struct bs_protocol *p);

/*
 * Sets how this process waits for its GPUs and whether its streams are urgent; before the first
 * arm. Returns 0 where there is no GPU, and BS_ERR_GPU when the device refuses that way of waiting;
 * everything works even then.
 */
int bs_engines_policy(const struct bs_devices *devices, enum bs_wait wait, bool urgent,
		      struct bs_fail *why);

/* Returns the accuracy of a protocol's gridding on that engine; 0 where the engine states none. */
double bs_gridding_accuracy(const struct bs_protocol *p, const struct bs_engine *engine);
/* Returns, in a build with GPU=1 only, the gridding of a protocol as the CUDA
 * engine asks for it. */
struct bs_nufft_spec;
struct bs_nufft_spec bs_gridding_cuda_spec(const struct bs_protocol *p);

/*
 * Finds the variants of a method's operator on the current GPU, by measuring for about `seconds` or
 * from the cache (gpu/device/tune.h). In a build with GPU=1 only. k: the trajectory, host memory.
 */
struct bs_tuner {
	int (*tune)(struct bs_tuning *found, const struct bs_protocol *p, const float *k,
		    const char *cache_dir, double seconds, struct bs_fail *why);
	const char *times[2]; /* names of the two times that are measured for a variant */
};

/* Returns NULL where the protocol has no variants. */
const struct bs_tuner *bs_engine_tuner(const struct bs_protocol *p);
extern const struct bs_tuner bs_gridding_tuner;

extern const struct bs_engine bs_engine_noop, bs_engine_host;

/* These engines are built with GPU=1 only. The last two are for several GPUs
 * (gpu/engine/multi/engine.cu). */
extern const struct bs_engine bs_engine_cuda, bs_engine_coils, bs_engine_slabs;

BS_C_END
#endif

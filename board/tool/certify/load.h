/*
 * board/tool/certify/load.h - processes that load the machine while a budget is tried
 *
 * start (makes them, and they wait) -> go -> stop. start forks: call it while this process has one
 * thread, no endpoint and no CUDA. go waits until the GPU is loaded, or is known not to be. They
 * end with this process, however it ends.
 *   cpu  one process for each processor, writing through 64 MiB without end
 *   io   one process that writes a file of up to 256 MiB in dir in pieces of 4 MiB, an fsync each
 *   gpu  one process that keeps one GPU busy with kernels of 1 ms (gpu/device/load.h; GPU=1)
 * All run with this process's priority; the GPU's kernels are queued at ordinary priority.
 * done: how much work each has done. Test: test/replay/certify.sh, test/fault/fault_gpu.c
 */
#ifndef BS_BOARD_TOOL_CERTIFY_LOAD_H
#define BS_BOARD_TOOL_CERTIFY_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"

#define BS_LOAD_CPU 1u
#define BS_LOAD_IO  2u
#define BS_LOAD_GPU 4u
#define BS_LOADS    66u /* most processes */

struct bs_load_done {
	_Atomic uint64_t cpu_passes; /* passes over 64 MiB, of all processes together */
	_Atomic uint64_t io_bytes, io_syncs;
	_Atomic uint64_t gpu_kernels;
	/* state of the GPU's load; 1: it runs; 2: it could not start, or no longer runs */
	_Atomic uint32_t gpu;
};

struct bs_loads {
	unsigned set;
	pid_t pid[BS_LOADS];
	uint32_t count;
	uint32_t gpu_device;
	int gate; /* pipe whose end the processes wait for */
	char file[512];
	struct bs_load_done *done; /* counts of work, in memory shared with the processes */
};

/* Reads a list such as "cpu,io" into *set. BS_ERR_USAGE; BS_ERR_UNSUPPORTED: gpu without CUDA. */
int bs_loads_parse(unsigned *set, const char *list, struct bs_fail *why);
/* Writes the loads as words: "cpu, io", or "none". */
const char *bs_loads_words(unsigned set, char out[16]);
/* Starts the loads, which wait. gpu: CUDA's number of the GPU to load. */
int bs_loads_start(struct bs_loads *l, unsigned set, const char *dir, uint32_t gpu,
		   struct bs_fail *why);
void bs_loads_go(struct bs_loads *l);
/* True if the GPU is loaded; call between go and stop. */
bool bs_loads_gpu(const struct bs_loads *l);
void bs_loads_stop(struct bs_loads *l);

#endif

/*
 * gpu/engine/multi/armed.h - the state of a protocol armed on several GPUs; private to its engine
 *
 * A share is one GPU's part of a scan: the CUDA engine (gpu/engine/cuda/armed.h) armed with some of
 * the coils, or for slabs with some rows of the image (core/plan/plan.h). A share ends with its
 * coil images, and a link (gpu/device/link.h) brings them together on the first GPU. With
 * sensitivity maps all GPUs solve one system in step (gpu/engine/multi/ls.h), and the image lies
 * on the first. Slabs: every GPU has all readouts and sums its own rows of F^H d; the first GPU
 * solves. The first GPU is current between all calls of the engine's functions. Only the files
 * named below and engine.cu include this. Test: test/twin/twin_devices.c
 */
#ifndef BS_GPU_ENGINE_MULTI_ARMED_H
#define BS_GPU_ENGINE_MULTI_ARMED_H

#include <cuda_runtime.h>

#include "core/engine.h"
#include "gpu/device/link.h"
#include "gpu/device/memory.h"
#include "gpu/device/split.h"
#include "gpu/engine/cuda/armed.h"
#include "gpu/engine/multi/ls.h"
#include "gpu/solve/ls_cuda.h"

/* Events recorded on the first GPU's stream. Each stage of the report lies between two of them. */
enum bs_multi_mark {
	BS_MULTI_SUMMED,
	BS_MULTI_SOLVED,
	BS_MULTI_COMBINED,
	BS_MULTI_DOWNLOADED,
	BS_MULTI_MARKS
};

/* Share of one GPU: its coils, or its rows of y, are a protocol of their own. */
struct bs_armed_share {
	struct bs_split coils, rows;
	struct bs_protocol p;
	struct bs_tables tables;
	struct bs_armed_cuda *gpu; /* memory and streams on that GPU */
	cudaEvent_t done;          /* event recorded behind what is queued on the share's stream */
	struct bs_report report;
	int rc;
};

struct bs_armed_multi {
	const struct bs_protocol *p;
	struct bs_link *link;
	struct bs_team *team;
	uint32_t parts;
	struct bs_armed_share share[BS_DEVICES_MAX];
	struct bs_ls_multi *ls;  /* joint solve of method sense; else NULL */
	struct bs_ls_cuda *lone; /* slabs: the solver on the first GPU */
	struct bs_report solved; /* report of the joint solve, or of the solve on the first GPU */
	/* The next members are in memory of the first GPU. */
	struct bs_devmem mem;
	float2 *images;   /* images of the coils, [coil][voxel]; NULL for sense */
	float2 *slabs;    /* [GPU][z][own y][x]; NULL where coils are shared out */
	float2 *maps;     /* maps of the current slice; NULL: no maps */
	float2 *all_maps; /* [slice]: maps of all slices; NULL: there is one slice */
	uint32_t slice;   /* number of the current slice, here and in the joint solve */
	struct bs_combiner_cuda *combiner;
	float *out;
	unsigned char *pinned; /* page-locked memory of the arena */
	float *image;
	cudaEvent_t mark[BS_MULTI_MARKS];
	int64_t tail_ns;     /* time kept free before the deadline, from solved to image, ns */
	int64_t deadline_ns; /* deadline of the solves that the team watches, ns */
};

/*
 * Returns true where the shares only sum F^H d, and all GPUs together (maps) or the first one
 * (slabs) solve.
 */
static inline bool bs_armed_multi_is_joint(const struct bs_armed_multi *e)
{
	return e->p->plan.joint || e->p->plan.place == BS_PLACE_SLABS;
}

/*
 * armed.cu: need, device, arm and disarm of core/engine.h. device: one entry for each GPU, without
 * what NCCL and the driver take there.
 */
int bs_armed_multi_need(const struct bs_protocol *p, struct bs_need *n, struct bs_fail *why);
int bs_armed_multi_device(const struct bs_protocol *p, struct bs_need *n, struct bs_fail *why);
int bs_armed_multi_open(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
			const struct bs_arm_env *env, struct bs_fail *why);
void bs_armed_multi_close(void *self);

/*
 * joint.cu. After an error the caller calls bs_link_leave. slice: copies the maps of the frame's
 * slice to where solves read them, except those of the shares; earlier readers are done. follow:
 * makes the link's streams wait for what the shares have queued. solve: runs the joint solve and
 * waits for it. queue_image: queues the shares' images to the first GPU, the combination, and the
 * copy to pinned memory.
 */
int bs_armed_multi_slice(struct bs_armed_multi *e, uint32_t frame, struct bs_fail *why);
int bs_armed_multi_follow(struct bs_armed_multi *e, struct bs_fail *why);
int bs_armed_multi_solve(struct bs_armed_multi *e, uint32_t most, int64_t deadline_ns,
			 struct bs_fail *why);
int bs_armed_multi_queue_image(struct bs_armed_multi *e, struct bs_fail *why);

#endif

/*
 * gpu/engine/multi/armed.h - a protocol armed on several GPUs, from inside
 *
 * A share is one GPU's part of a scan: the CUDA engine (gpu/engine/cuda/armed.h) armed with some of
 * the coils, or for slabs with some rows of the image (core/plan/plan.h); it ends with its coil
 * images. A link (gpu/device/link.h) brings these together on the first GPU. With sensitivity maps
 * all GPUs solve one system in step (gpu/engine/multi/ls.h), and the image lies on the first.
 * Slabs: every GPU has all readouts and sums its own rows of F^H d; the first solves. The first GPU
 * is current between all calls of the engine's. Only the files named below and engine.cu include
 * this. Test: test/twin/twin_devices.c
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

/* Events that the first GPU's stream passes; a stage of the report lies between each two. */
enum bs_multi_mark {
	BS_MULTI_SUMMED,
	BS_MULTI_SOLVED,
	BS_MULTI_COMBINED,
	BS_MULTI_DOWNLOADED,
	BS_MULTI_MARKS
};

/* One GPU's coils, or rows of y, are a protocol of their own. */
struct bs_armed_share {
	struct bs_split coils, rows;
	struct bs_protocol p;
	struct bs_tables tables;
	struct bs_armed_cuda *gpu; /* its memory and streams are that GPU's */
	cudaEvent_t done;          /* what is queued on its stream */
	struct bs_report report;
	int rc;
};

struct bs_armed_multi {
	const struct bs_protocol *p;
	struct bs_link *link;
	struct bs_team *team;
	uint32_t parts;
	struct bs_armed_share share[BS_DEVICES_MAX];
	struct bs_ls_multi *ls;  /* sense */
	struct bs_ls_cuda *lone; /* slabs: on the first GPU */
	struct bs_report solved; /* of the joint solve, or the one on the first GPU */
	/* on the first GPU */
	struct bs_devmem mem;
	float2 *images;   /* [coil][voxel]; sense: none */
	float2 *slabs;    /* [GPU][z][own y][x]; coils: none */
	float2 *maps;     /* of the slice in hand; NULL: none */
	float2 *all_maps; /* [slice]; NULL: there is one */
	uint32_t slice;   /* in hand, here and in the joint solve */
	struct bs_combiner_cuda *combiner;
	float *out;
	unsigned char *pinned; /* of the arena, registered */
	float *image;
	cudaEvent_t mark[BS_MULTI_MARKS];
	int64_t tail_ns;     /* kept free before the deadline: from solved to image */
	int64_t deadline_ns; /* of the solves that the team watches */
};

/* The shares only sum F^H d; all GPUs together (maps) or the first (slabs) solve. */
static inline bool bs_armed_multi_is_joint(const struct bs_armed_multi *e)
{
	return e->p->plan.joint || e->p->plan.place == BS_PLACE_SLABS;
}

/*
 * armed.cu: need, device, arm and disarm of core/engine.h. device: an entry for each GPU, without
 * what NCCL and the driver take there.
 */
int bs_armed_multi_need(const struct bs_protocol *p, struct bs_need *n, struct bs_fail *why);
int bs_armed_multi_device(const struct bs_protocol *p, struct bs_need *n, struct bs_fail *why);
int bs_armed_multi_open(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
			const struct bs_arm_env *env, struct bs_fail *why);
void bs_armed_multi_close(void *self);

/*
 * joint.cu. After an error the caller calls bs_link_leave. slice: of the frame, whose maps are
 * taken in hand, those of the shares apart; what used the others is done. follow: the link's
 * streams wait for what the shares have queued. solve: the joint solve; waits for it. queue_image:
 * the shares' images to the first GPU, combined, and down to pinned memory.
 */
int bs_armed_multi_slice(struct bs_armed_multi *e, uint32_t frame, struct bs_fail *why);
int bs_armed_multi_follow(struct bs_armed_multi *e, struct bs_fail *why);
int bs_armed_multi_solve(struct bs_armed_multi *e, uint32_t most, int64_t deadline_ns,
			 struct bs_fail *why);
int bs_armed_multi_queue_image(struct bs_armed_multi *e, struct bs_fail *why);

#endif

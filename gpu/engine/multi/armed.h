/*
 * gpu/engine/multi/armed.h - a protocol armed on several GPUs, from inside
 *
 * A share each (gpu/engine/multi/share.h), split by coils or slabs (gpu/engine/shares.h), and a link (gpu/device/link.h)
 * between them. Sense: the solve is one on all GPUs together (gpu/engine/multi/solver.h), and its image
 * lies on the first. Slabs: every GPU has all readouts and sums its own rows of F^H d, which are
 * put together on the first and solved there. The first GPU is current between all calls of the
 * engine's. Only the files named below and engine.cu include this. Test:
 * test/twin/twin_devices.c
 */
#ifndef BS_GPU_ENGINE_MULTI_ARMED_H
#define BS_GPU_ENGINE_MULTI_ARMED_H

#include <cuda_runtime.h>

#include "core/engine.h"
#include "gpu/device/memory.h"
#include "gpu/device/link.h"
#include "gpu/engine/shares.h"
#include "gpu/solve/ls_cuda.h"
#include "gpu/engine/multi/solver.h"
#include "gpu/device/split.h"

/* Passed by the first GPU's stream, for the report's stages. */
enum bs_multi_mark {
	BS_MULTI_SUMMED,
	BS_MULTI_SOLVED,
	BS_MULTI_COMBINED,
	BS_MULTI_DOWNLOADED,
	BS_MULTI_MARKS
};

/* One GPU's coils, or rows of y, as a protocol of their own. */
struct bs_armed_share {
	struct bs_split coils, rows;
	struct bs_protocol p;
	struct bs_tables tables;
	void *self;       /* gpu/engine/multi/share.h */
	cudaEvent_t done; /* what is queued on its stream */
	struct bs_report report;
	int rc;
};

struct bs_armed_multi {
	const struct bs_protocol *p;
	struct bs_link *link;
	struct bs_team *team;
	uint32_t parts;
	struct bs_armed_share share[BS_DEVICES_MAX];
	enum bs_sharing how;
	struct bs_solver_multi *solver; /* sense */
	struct bs_solver_cuda *lone;    /* slabs: on the first GPU */
	struct bs_report solved;        /* of either */
	/* on the first GPU */
	struct bs_devmem mem;
	float2 *images; /* [coil][voxel]; sense: none */
	float2 *slabs;  /* [GPU][z][own y][x]; coils: none */
	float2 *maps;   /* NULL: none */
	float *out;
	unsigned char *pinned; /* of the arena, registered */
	float *image;
	cudaEvent_t mark[BS_MULTI_MARKS];
	int64_t tail_ns;     /* from solved to image: the longest of late, fading */
	int64_t deadline_ns; /* of the solves that the team watches */
};

static inline bool bs_armed_multi_is_sense(const struct bs_protocol *p)
{
	return p->method == BS_METHOD_SENSE;
}

/* The solve is none of the shares' own: sense, and slabs. */
static inline bool bs_armed_multi_is_joint(const struct bs_armed_multi *e)
{
	return bs_armed_multi_is_sense(e->p) || e->how == BS_SHARING_SLABS;
}

/* armed.cu: need, arm and disarm of core/engine.h. */
int bs_armed_multi_need(const struct bs_protocol *p, struct bs_need *n, struct bs_fail *why);
int bs_armed_multi_open(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
			const struct bs_arm_env *env, struct bs_fail *why);
void bs_armed_multi_close(void *self);

/*
 * joint.cu: after an error bs_link_leave is the caller's to call. follow: the link's
 * streams go on behind what the shares have queued. solve: the joint one; waits for it.
 * queue_image: one image of them all, and down to the pinned one.
 */
int bs_armed_multi_follow(struct bs_armed_multi *e, struct bs_fail *why);
int bs_armed_multi_solve(struct bs_armed_multi *e, uint32_t most, int64_t deadline_ns,
			 struct bs_fail *why);
int bs_armed_multi_queue_image(struct bs_armed_multi *e, struct bs_fail *why);

#endif

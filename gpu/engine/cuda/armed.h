/*
 * gpu/engine/cuda/armed.h - a protocol armed on one GPU, from inside
 *
 * An operator (gpu/engine/cuda/operator.h), the solve behind it (ls and sense: gpu/solve/ls_cuda.h;
 * lines of the grid: gpu/image/unfold_cuda.h), and the way of the data to the GPU and back. One
 * stream computes, so frames share all buffers but their samples. begin, add, finish, slide, peek,
 * reading, fold, maps and close (disarm) are core/engine.h's, with its rules. Only the files named
 * below and those of gpu/engine/multi include this.
 * Test: test/twin/engine/twin_engine.c
 */
#ifndef BS_GPU_ENGINE_CUDA_ARMED_H
#define BS_GPU_ENGINE_CUDA_ARMED_H

#include <cuda_runtime.h>

#include "core/engine.h"
#include "gpu/engine/cuda/mapped.h"
#include "gpu/engine/cuda/operator.h"
#include "gpu/engine/filler.h"
#include "gpu/engine/mapped.h"
#include "gpu/device/memory.h"
#include "gpu/image/combine.h"
#include "gpu/image/partial_cuda.h"
#include "gpu/image/unfold_cuda.h"
#include "gpu/solve/ls_cuda.h"

#define BS_CUDA_UPLOADS 64u /* at most, under way at the same time */

/* What is queued after the last readout: the rest of F^H d; solves; combination and download. */
enum { BS_CUDA_SUM = 1, BS_CUDA_SOLVE = 2, BS_CUDA_IMAGE = 4, BS_CUDA_ALL = 7 };

/* Events that the streams pass; a stage of the report lies between each two, in this order. */
enum bs_cuda_mark {
	BS_CUDA_UPLOADING,
	BS_CUDA_UPLOADED,
	BS_CUDA_SUMMED,
	BS_CUDA_SOLVED,
	BS_CUDA_COMBINED,
	BS_CUDA_DOWNLOADED,
	BS_CUDA_MARKS
};

struct bs_armed_cuda {
	const struct bs_protocol *p;
	const struct bs_cuda_operator *op;
	void *plan;                     /* the operator's */
	bool share;                     /* as struct bs_cuda_spec */
	bool varies;                    /* no graphs: as struct bs_cuda_operator has it, or flow */
	struct bs_flow flow;            /* of the image that is made next */
	struct bs_ls_cuda *ls;          /* methods ls and sense; else NULL */
	struct bs_unfold_cuda *unfold;  /* Cartesian SENSE: between two graphs; else NULL */
	struct bs_pocs_cuda *completes; /* its image; NULL: nothing does */
	float *solved, *spare;          /* device: that image; room for completes */
	struct bs_segments_cuda *field; /* the operator's; NULL: on resonance */
	struct bs_filler *filler;       /* host: makes weights of lines; NULL: they are zeros */
	struct bs_mapped *scan_maps;    /* made from the scan; NULL: they are not */
	struct bs_mapped_cuda *makes;   /* makes them; NULL: the host does */
	struct bs_devmem mem;
	unsigned char *pinned; /* of the arena, registered: image, then staging or samples */
	unsigned char *pinned_dev;
	const unsigned char *pool; /* registered, or NULL */
	size_t pool_bytes;
	float *image;   /* pinned */
	float *staging; /* pinned, [BS_CUDA_UPLOADS] readouts; NULL: mapped */
	bool mapped;
	float2 *coil_images; /* device */
	float *out;          /* as the device addresses it */
	float2 *maps;        /* device, of the slice in hand; NULL: none */
	float2 *all_maps;    /* device, [slice]; NULL: there is one */
	const float *host_maps;
	const float *host_field; /* of all slices, as host_maps */
	uint64_t maps_step; /* complex values from one slice's to the next one's, on the host */
	uint32_t slice;     /* whose maps are in hand */
	struct bs_partial_cuda window;
	struct bs_combiner_cuda *combiner; /* NULL: a share of several GPUs */
	uint32_t frames;
	cudaStream_t stream, up;
	cudaEvent_t sent[BS_CUDA_UPLOADS], cleared, mark[BS_CUDA_MARKS];
	uint32_t marked;         /* bits: the marks that were recorded, or are part of a graph */
	bool unmarked;           /* the driver refuses marks in a graph: stages are not timed */
	int64_t tail_ns;         /* kept free before the deadline: from solved to image */
	uint64_t made, read;     /* adds; those of them whose upload has ended for certain */
	bool *added;             /* [frame]: a readout came since it was begun */
	cudaGraphExec_t *finish; /* [frame]: all that is left, or its first part; NULL: none */
	cudaGraphExec_t *sum;    /* [frame], under a deadline: the rest of F^H d */
	cudaGraphExec_t tail;    /* solves and image, where finish ends before them */
	cudaGraphExec_t combine; /* image alone, under a deadline */
};

static inline bool bs_armed_cuda_solves(const struct bs_armed_cuda *e)
{
	return e->ls != NULL || e->unfold != NULL;
}

/* armed.cu: all that the protocol fixes; device as core/engine.h; open chooses the variant. */
int bs_armed_cuda_need(const struct bs_cuda_spec *s, struct bs_need *need, struct bs_fail *why);
int bs_armed_cuda_device(const struct bs_cuda_spec *s, const float *field, struct bs_need *need,
			 struct bs_fail *why);
int bs_armed_cuda_open(void **self, const struct bs_cuda_spec *s, const struct bs_tables *tables,
		       const struct bs_arm_env *env, struct bs_fail *why);
void bs_armed_cuda_close(void *self);
int bs_armed_cuda_maps(void *self, uint32_t slice);

/* upload.cu: readouts to the GPU, and to what makes maps of them. */
int bs_armed_cuda_begin(void *self, uint32_t frame);
int bs_armed_cuda_add(void *self, uint32_t frame, uint32_t readout, const float *k,
		      const float *data, size_t coil_stride);
void bs_armed_cuda_scan(void *self);
int bs_armed_cuda_side(void *self, uint32_t frame, enum bs_kind kind, uint32_t row,
		       const struct bs_mrd_acq *head, const float *data, size_t coil_stride);
void bs_armed_cuda_reading(void *self, bool wait, uint64_t *made, uint64_t *read);

/*
 * queue.cu: what is left after the last readout, launched kernel by kernel or as graphs. Only
 * record waits. pass records a mark; flag: cudaEventRecordExternal while a graph is captured, so
 * that each launch of the graph records it anew. watched: only up to F^H d, the host queues the
 * iterations. slice: the maps of the frame's slice, and what the solve made of them at arm, take
 * the places that the graphs read; whatever reads these was queued on this stream, or is done.
 */
int bs_armed_cuda_slice(struct bs_armed_cuda *e, uint32_t frame);
int bs_armed_cuda_pass(struct bs_armed_cuda *e, enum bs_cuda_mark m, unsigned flag,
		       struct bs_fail *why);
int bs_armed_cuda_queue_image(struct bs_armed_cuda *e, unsigned flag, struct bs_fail *why);
int bs_armed_cuda_queue_finish(struct bs_armed_cuda *e, uint32_t frame, bool watched);
int bs_armed_cuda_queue_slide(struct bs_armed_cuda *e, uint32_t frame, const uint8_t *held,
			      bool watched);
int bs_armed_cuda_fold(void *self, uint32_t frame, uint32_t group);
/* Runs everything once, so that no kernel is loaded later; then captures the graphs. */
int bs_armed_cuda_record(struct bs_armed_cuda *e, struct bs_fail *why);
/* Frees the graphs and the lists of them. */
void bs_armed_cuda_unrecord(struct bs_armed_cuda *e);

/*
 * unfold.cu: Cartesian SENSE, by its life; bytes: device memory. unfold waits for the stream;
 * complete only queues: what is left out at an end of k-space, into the coil images' place.
 */
int bs_armed_cuda_unfold_need(const struct bs_protocol *p, const struct bs_csr *w, uint64_t *bytes,
			      struct bs_fail *why);
int bs_armed_cuda_unfold_plan(struct bs_armed_cuda *e, const struct bs_csr *w, struct bs_fail *why);
void bs_armed_cuda_unfold_close(struct bs_armed_cuda *e);
int bs_armed_cuda_unfold(struct bs_armed_cuda *e, uint32_t frame, uint32_t iterations,
			 int64_t deadline_ns, struct bs_report *report, struct bs_fail *why);
int bs_armed_cuda_complete(struct bs_armed_cuda *e, uint32_t frame, uint32_t unknown,
			   struct bs_fail *why);

/*
 * engine.cu: from the last readout to the image. made: image without the maps that it makes
 * before. solve: from F^H d in the coil images, waiting for
 * each iteration. times: the report's stages, once the stream is idle; 0 for what is not done.
 */
int bs_armed_cuda_image(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
			float *image, struct bs_report *report);
int bs_armed_cuda_made(struct bs_armed_cuda *e, uint32_t frame, const uint8_t *held,
		       int64_t deadline_ns, float *image, struct bs_report *report);
int bs_armed_cuda_peek(void *self, uint32_t frame, float *image);
int bs_armed_cuda_solve(struct bs_armed_cuda *e, int64_t deadline_ns, struct bs_report *report);
void bs_armed_cuda_times(const struct bs_armed_cuda *e, uint32_t frame, struct bs_report *report);

#endif

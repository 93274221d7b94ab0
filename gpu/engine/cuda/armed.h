/*
 * gpu/engine/cuda/armed.h - the state of a protocol armed on one GPU; private to the CUDA engines
 *
 * It joins an operator (gpu/engine/cuda/operator.h), the solver behind it (ls and sense:
 * gpu/solve/ls_cuda.h; lines of the grid: gpu/image/unfold_cuda.h; with a prior:
 * gpu/penalty/proximal_cuda.h), and the transfers to the GPU and back. One stream computes, so
 * frames share all buffers but their samples. begin, add, finish, slide, peek, reading, fold, maps
 * and close (disarm) are functions of core/engine.h and keep its rules. Only the files named below
 * and those of gpu/engine/multi include this.
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
#include "gpu/engine/slicer.h"
#include "gpu/device/memory.h"
#include "gpu/image/combine.h"
#include "gpu/image/partial_cuda.h"
#include "gpu/encode/unwarp.h"
#include "gpu/image/unfold_cuda.h"
#include "gpu/penalty/proximal_cuda.h"
#include "gpu/solve/ls_cuda.h"

#define BS_CUDA_UPLOADS 64u /* most uploads under way at the same time */
/* Most readouts that one copy brings to one of several GPUs; a divisor of BS_CUDA_UPLOADS. */
#define BS_CUDA_BATCH 16u

/*
 * The work that is queued after the last readout: the rest of F^H d; solves; combination and
 * download.
 */
enum { BS_CUDA_SUM = 1, BS_CUDA_SOLVE = 2, BS_CUDA_IMAGE = 4, BS_CUDA_ALL = 7 };

/*
 * Events recorded on the streams. Each stage of the report lies between two of them, in this order.
 */
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
	struct bs_team *team; /* copies the image to the caller */
	const struct bs_cuda_operator *op;
	void *plan; /* plan of the operator */
	bool share; /* this GPU is one of several (struct bs_cuda_spec) */
	/* launches differ between frames, so no graphs: the operator varies, or flow does */
	bool varies;
	struct bs_flow flow;   /* velocity encoding of the next image */
	struct bs_ls_cuda *ls; /* solver of methods ls and sense; else NULL */
	/* Cartesian SENSE, which runs between two graphs; else NULL */
	struct bs_unfold_cuda *unfold;
	/* the solver with a prior, which also runs between two graphs; else NULL */
	struct bs_proximal_cuda *prox;
	uint32_t *newest; /* [frame] the group of a window that was folded last */
	/* plan of partial Fourier for the solved image; NULL: none */
	struct bs_pocs_cuda *completes;
	struct bs_once once; /* the last unfold */
	/* solved image, and workspace of completes, in device memory */
	float *solved, *spare;
	/* device memory: images moved back along the blips (NULL: they stay), the map for that */
	float *moved, *hz;
	bool falling;                   /* order of the current frame's lines */
	struct bs_segments_cuda *field; /* time segments of the operator; NULL: on resonance */
	/* makes the weights of missing lines, on the host; NULL: missing lines are zeros */
	struct bs_filler *filler;
	/* makes the weights that take slices apart, on the host; NULL: lines hold one slice */
	struct bs_slicer *slicer;
	/* coil maps made from the scan; NULL: the protocol has none */
	struct bs_mapped *scan_maps;
	struct bs_mapped_cuda *makes; /* makes scan_maps on the GPU; NULL: the host makes them */
	struct bs_devmem mem;
	/* page-locked memory of the arena: the image, then the staging buffer or the samples */
	unsigned char *pinned;
	unsigned char *pinned_dev;
	const unsigned char *pool; /* the pool of readouts, page-locked; NULL: it is not */
	size_t pool_bytes;
	float *image; /* image in pinned host memory */
	/*
	 * pinned host memory, [BS_CUDA_UPLOADS] readouts; of a share [coil][BS_CUDA_UPLOADS] lines;
	 * NULL: readouts are read in mapped memory
	 */
	float *staging;
	/* readouts of a share that wait in staging: consecutive ones of a frame */
	struct {
		uint32_t frame, first, count;
	} batch;
	bool mapped;
	float2 *coil_images; /* images of the coils in device memory */
	float *out;          /* address of the image on the device */
	float2 *maps;        /* maps of the current slice in device memory; NULL: no maps */
	/* device memory, [slice]: maps of all slices; NULL: there is one slice */
	float2 *all_maps;
	const float *host_maps;
	const float *host_field; /* field map of all slices in host memory */
	/* complex values from the maps of one slice to those of the next, in host_maps */
	uint64_t maps_step;
	uint32_t slice; /* the current slice: maps holds its maps */
	struct bs_partial_cuda window;
	/* combiner of coils; NULL: this engine is one share of several GPUs */
	struct bs_combiner_cuda *combiner;
	uint32_t frames;
	cudaStream_t stream, up;
	cudaEvent_t sent[BS_CUDA_UPLOADS], cleared, mark[BS_CUDA_MARKS];
	/* bit mask of the marks that were recorded, or are part of a graph */
	uint32_t marked;
	bool unmarked; /* the driver refuses marks in a graph: stages are not timed */
	/* time kept free before the deadline for the work from BS_CUDA_SOLVED to the image, ns */
	int64_t tail_ns;
	uint64_t made, read; /* number of uploads queued; number of those known to have ended */
	bool *added;         /* [frame]: a readout has come since the frame was begun */
	/* [frame]: graph of all work after the last readout, or of its first part; NULL: none */
	cudaGraphExec_t *finish;
	cudaGraphExec_t *sum;    /* [frame]: graph of the rest of F^H d, used under a deadline */
	cudaGraphExec_t tail;    /* graph of solves and image, where finish ends before them */
	cudaGraphExec_t combine; /* graph of the image alone, used under a deadline */
};

static inline bool bs_armed_cuda_solves(const struct bs_armed_cuda *e)
{
	return e->ls != NULL || e->unfold != NULL || e->prox != NULL;
}

/* The host runs the solver between two graphs. */
static inline bool bs_armed_cuda_between(const struct bs_armed_cuda *e)
{
	return e->unfold != NULL || e->prox != NULL;
}

/*
 * The next functions, in armed.cu, are about memory and set-up, all that the protocol fixes.
 * device: as in core/engine.h. open chooses the operator's variant.
 */
int bs_armed_cuda_need(const struct bs_cuda_spec *s, struct bs_need *need, struct bs_fail *why);
int bs_armed_cuda_device(const struct bs_cuda_spec *s, const float *field, struct bs_need *need,
			 struct bs_fail *why);
int bs_armed_cuda_open(void **self, const struct bs_cuda_spec *s, const struct bs_tables *tables,
		       const struct bs_arm_env *env, struct bs_fail *why);
void bs_armed_cuda_close(void *self);

/*
 * maps.cu: slice copies a slice's maps, and what the solver made of them at arm, to where the
 * graphs read them; all earlier readers are done or ahead of the copy in this stream. measure tells
 * the solver with a prior that a slice's maps have changed; it waits.
 */
int bs_armed_cuda_maps(void *self, uint32_t slice);
int bs_armed_cuda_slice(struct bs_armed_cuda *e, uint32_t slice);
int bs_armed_cuda_measure(struct bs_armed_cuda *e, uint32_t slice, struct bs_fail *why);

/* upload.cu: copies readouts to the GPU, and gives them to what makes coil maps from them. */
int bs_armed_cuda_begin(void *self, uint32_t frame);
int bs_armed_cuda_add(void *self, uint32_t frame, uint32_t readout, const float *k,
		      const float *data, size_t coil_stride);
/* Copies a share's readouts that wait in staging. Call before anything that reads the frame. */
int bs_armed_cuda_flush(struct bs_armed_cuda *e);
void bs_armed_cuda_scan(void *self);
int bs_armed_cuda_side(void *self, uint32_t frame, enum bs_kind kind, uint32_t row,
		       const struct bs_mrd_acq *head, const float *data, size_t coil_stride);
void bs_armed_cuda_reading(void *self, bool wait, uint64_t *made, uint64_t *read);

/*
 * queue.cu: queues the work after the last readout, kernel by kernel or as graphs. Only record
 * waits. pass records a mark; its flag is cudaEventRecordExternal while a graph is captured, so
 * that each launch of the graph records the event anew. watched: queues only up to F^H d, since the
 * host queues the iterations.
 */
int bs_armed_cuda_pass(struct bs_armed_cuda *e, enum bs_cuda_mark m, unsigned flag,
		       struct bs_fail *why);
int bs_armed_cuda_queue_image(struct bs_armed_cuda *e, unsigned flag, struct bs_fail *why);
int bs_armed_cuda_queue_finish(struct bs_armed_cuda *e, uint32_t frame, bool watched);
int bs_armed_cuda_queue_slide(struct bs_armed_cuda *e, uint32_t frame, const uint8_t *held,
			      bool watched);
int bs_armed_cuda_fold(void *self, uint32_t frame, uint32_t group);
/* Runs all work once, so that no kernel is loaded later, then captures the graphs. */
int bs_armed_cuda_record(struct bs_armed_cuda *e, struct bs_fail *why);
/* Destroys the graphs and frees the arrays that hold them. */
void bs_armed_cuda_unrecord(struct bs_armed_cuda *e);

/* prior.cu: solves with a prior; held: as in image, for the parts of a window's groups. Waits. */
int bs_armed_cuda_proximal(struct bs_armed_cuda *e, uint32_t frame, const uint8_t *held,
			   int64_t deadline_ns, struct bs_report *report, struct bs_fail *why);

/*
 * unfold.cu: Cartesian SENSE. bytes: of device memory. unfold waits for the stream. complete only
 * queues: it writes the image with partial Fourier into the place of the coil images.
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
 * engine.cu: the steps from the last readout to the image. made: as image, without making maps
 * first. solve: solves with the F^H d in the coil images; waits for each iteration. times: fills in
 * the report's stages once the stream is idle; 0 for a stage that was not done.
 */
int bs_armed_cuda_image(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
			float *image, struct bs_report *report);
int bs_armed_cuda_made(struct bs_armed_cuda *e, uint32_t frame, const uint8_t *held,
		       int64_t deadline_ns, float *image, struct bs_report *report);
int bs_armed_cuda_peek(void *self, uint32_t frame, float *image);
int bs_armed_cuda_solve(struct bs_armed_cuda *e, int64_t deadline_ns, struct bs_report *report);
void bs_armed_cuda_times(const struct bs_armed_cuda *e, uint32_t frame, struct bs_report *report);

#endif

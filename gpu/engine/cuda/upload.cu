/*
 * gpu/engine/cuda/upload.cu - copies readouts to the GPU, and tells which are still read; see
 * armed.h
 *
 * Readouts are uploaded on a stream of their own: straight from the shared pool where they lie in
 * it (the caller leaves them there until `reading` says they are uploaded), else through pinned
 * memory. The operator's work follows each readout on the other stream, while the scan goes on.
 * With gpu.memory "mapped" nothing is uploaded: a readout is copied into page-locked memory, which
 * kernels read.
 *
 * Each call to the driver takes the host microseconds, which one of several GPUs cannot afford for
 * every readout: its readouts are gathered in pinned memory and go up BS_CUDA_BATCH at a time.
 */
#include "gpu/engine/cuda/armed.h"

#include <string.h>

#include "gpu/device/check.h"

int bs_armed_cuda_begin(void *self, uint32_t frame)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;
	int rc;

	if (e->filler != NULL)
		bs_filler_begin(e->filler, frame);
	rc = bs_mapped_begin(e->scan_maps, frame);
	if (rc == 0)
		rc = bs_armed_cuda_flush(e);
	if (rc != 0)
		return rc;
	/* The frame that had this place before may have been dropped during its uploads. */
	BS_CUDA(cudaStreamSynchronize(e->up), NULL);
	BS_CUDA(cudaStreamSynchronize(e->stream), NULL);
	e->read = e->made;
	e->added[frame] = false;
	rc = e->op->begin(e->plan, frame, e->stream, NULL);
	if (rc != 0)
		return rc;
	if (e->mapped) { /* The host writes there next, so the zeros must have arrived. */
		BS_CUDA(cudaStreamSynchronize(e->stream), NULL);
		return 0;
	}
	BS_CUDA(cudaEventRecord(e->cleared, e->stream), NULL);
	BS_CUDA(cudaStreamWaitEvent(e->up, e->cleared, 0), NULL);
	return 0;
}

void bs_armed_cuda_reading(void *self, bool wait, uint64_t *made, uint64_t *read)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;

	while (e->read < e->made) {
		cudaEvent_t next = e->sent[e->read % BS_CUDA_UPLOADS];

		/*
		 * After an error the GPU reads nothing any more; the next call reports the error.
		 */
		if ((wait ? cudaEventSynchronize(next) : cudaEventQuery(next)) ==
		    cudaErrorNotReady) {
			/* clears the error, for which the next launch is not to blame */
			(void)cudaGetLastError();
			break;
		}
		e->read++;
	}
	*made = e->made;
	*read = e->read;
}

/* Copies all coils' samples; coil_stride complex values between coils. */
static void copy_readout(const struct bs_protocol *p, float *to, size_t to_step, const float *data,
			 size_t coil_stride)
{
	for (uint32_t c = 0; c < p->coils; c++)
		memcpy(to + 2 * c * to_step, data + 2 * c * coil_stride, (size_t)p->samples * 8);
}

/* Rows of `bytes`, one a coil, that go up. */
struct rows {
	float2 *to;
	const float *from;
	size_t from_step, bytes;
};

/* Queues an upload; what is queued for the other stream from then on finds it done. */
static int upload(struct bs_armed_cuda *e, const struct rows *r, cudaEvent_t sent)
{
	BS_CUDA(cudaEventRecord(e->mark[BS_CUDA_UPLOADING], e->up), NULL);
	BS_CUDA(cudaMemcpy2DAsync(r->to, (size_t)e->op->coil_step(e->p) * 8, r->from, r->from_step,
				  r->bytes, e->p->coils, cudaMemcpyHostToDevice, e->up),
		NULL);
	/*
	 * The mark comes before the event `sent`, so that whoever waits for it finds the mark
	 * recorded.
	 */
	BS_CUDA(cudaEventRecord(e->mark[BS_CUDA_UPLOADED], e->up), NULL);
	e->marked |= 1u << BS_CUDA_UPLOADING | 1u << BS_CUDA_UPLOADED;
	BS_CUDA(cudaEventRecord(sent, e->up), NULL);
	BS_CUDA(cudaStreamWaitEvent(e->stream, sent, 0), NULL);
	return 0;
}

static int send(struct bs_armed_cuda *e, float2 *to, const float *data, size_t coil_stride)
{
	const struct bs_protocol *p = e->p;
	const unsigned char *at = (const unsigned char *)data;
	const size_t span = ((p->coils - 1) * coil_stride + p->samples) * 8;
	cudaEvent_t sent = e->sent[e->made % BS_CUDA_UPLOADS];
	int rc;

	if (e->made >= BS_CUDA_UPLOADS && e->read + BS_CUDA_UPLOADS <= e->made) {
		BS_CUDA(cudaEventSynchronize(sent), NULL);
		e->read = e->made - BS_CUDA_UPLOADS + 1;
	}
	if (e->pool == NULL || at < e->pool || span > e->pool_bytes ||
	    (size_t)(at - e->pool) > e->pool_bytes - span) {
		float *staging =
			e->staging + 2 * (e->made % BS_CUDA_UPLOADS) * p->samples * p->coils;

		copy_readout(p, staging, p->samples, data, coil_stride);
		data = staging;
		coil_stride = p->samples;
	}
	const struct rows r = { to, data, coil_stride * 8, (size_t)p->samples * 8 };

	rc = upload(e, &r, sent);
	e->made += rc == 0;
	return rc;
}

int bs_armed_cuda_flush(struct bs_armed_cuda *e)
{
	const struct bs_protocol *p = e->p;
	const uint32_t frame = e->batch.frame;
	const uint32_t first = e->batch.first;
	const uint32_t count = e->batch.count;
	const uint64_t at = (e->made - count) % BS_CUDA_UPLOADS;
	cudaEvent_t sent = e->sent[at - at % BS_CUDA_BATCH];
	int rc;

	if (count == 0)
		return 0;
	e->batch.count = 0;
	const struct rows rows = { e->op->samples(e->plan, frame) + (uint64_t)first * p->samples,
				   e->staging + 2 * at * p->samples,
				   (size_t)BS_CUDA_UPLOADS * p->samples * 8,
				   (size_t)count * p->samples * 8 };

	rc = upload(e, &rows, sent);
	/* a window's group is summed as a whole */
	for (uint32_t r = 0; r < count && rc == 0 && e->window.groups == 0; r++)
		rc = e->op->arrived(e->plan, frame, first + r, e->stream, NULL);
	return rc;
}

/* Copies a share's readout to pinned memory, and sends the readouts there once they are enough. */
static int gather(struct bs_armed_cuda *e, uint32_t frame, uint32_t readout, const float *data,
		  size_t coil_stride)
{
	const uint64_t at = e->made % BS_CUDA_UPLOADS;
	int rc = 0;

	if (frame != e->batch.frame || readout != e->batch.first + e->batch.count)
		rc = bs_armed_cuda_flush(e);
	if (rc != 0)
		return rc;
	if (at % BS_CUDA_BATCH == 0) /* what lay there has gone up */
		BS_CUDA(cudaEventSynchronize(e->sent[at]), NULL);
	if (e->batch.count == 0) {
		e->batch.frame = frame;
		e->batch.first = readout;
	}
	copy_readout(e->p, e->staging + 2 * at * e->p->samples,
		     (size_t)BS_CUDA_UPLOADS * e->p->samples, data, coil_stride);
	e->batch.count++;
	e->read = ++e->made; /* the caller's readout is not read any more */
	return e->made % BS_CUDA_BATCH == 0 ? bs_armed_cuda_flush(e) : 0;
}

int bs_armed_cuda_add(void *self, uint32_t frame, uint32_t readout, const float *k,
		      const float *data, size_t coil_stride)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;
	const struct bs_protocol *p = e->p;
	float2 *to = e->op->samples(e->plan, frame) + (uint64_t)readout * p->samples;
	int rc = e->op->path != NULL ? e->op->path(e->plan, frame, readout, k, e->stream, NULL) : 0;

	if (e->filler != NULL)
		bs_filler_add(e->filler, frame, readout, data, coil_stride);
	/* of slices at once only references make maps, and these come to side */
	if (rc == 0 && e->slicer == NULL)
		rc = bs_mapped_add(e->scan_maps, frame, readout, data, coil_stride);
	if (rc != 0)
		return rc;
	e->added[frame] = true;
	if (e->share && !e->mapped)
		return gather(e, frame, readout, data, coil_stride);
	if (e->mapped) {
		BS_CUDA(cudaEventRecord(e->mark[BS_CUDA_UPLOADING], e->stream), NULL);
		BS_CUDA(cudaEventRecord(e->mark[BS_CUDA_UPLOADED], e->stream), NULL);
		e->marked |= 1u << BS_CUDA_UPLOADING | 1u << BS_CUDA_UPLOADED;
		copy_readout(p, (float *)(e->pinned + ((unsigned char *)to - e->pinned_dev)),
			     (size_t)e->op->coil_step(p), data, coil_stride);
	} else {
		rc = send(e, to, data, coil_stride);
	}
	if (rc != 0 || e->window.groups > 0) /* a window's group is summed as a whole */
		return rc;
	return e->op->arrived(e->plan, frame, readout, e->stream, NULL);
}

void bs_armed_cuda_scan(void *self)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;

	e->once.lines = 0;
	if (e->prox != NULL)
		bs_proximal_cuda_scan(e->prox);
	if (e->filler != NULL)
		bs_filler_scan(e->filler);
	if (e->slicer != NULL)
		bs_slicer_scan(e->slicer);
	bs_mapped_scan(e->scan_maps);
}

int bs_armed_cuda_side(void *self, uint32_t frame, enum bs_kind kind, uint32_t row,
		       const struct bs_mrd_acq *head, const float *data, size_t coil_stride)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;

	/* admission has checked that it has as many samples as any line */
	if (kind == BS_KIND_CALIBRATION &&
	    (e->slicer == NULL || bs_slicer_side(e->slicer, frame, head, row, data, coil_stride)) &&
	    e->filler != NULL)
		bs_filler_side(e->filler, frame, row, data, coil_stride);
	bs_mapped_side(e->scan_maps, frame, kind, row, data, coil_stride);
	return 0;
}

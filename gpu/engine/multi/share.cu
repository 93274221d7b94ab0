/* gpu/engine/multi/share.cu - one GPU's share of a scan on several; see share.h */
#include "gpu/engine/multi/share.h"

#include "gpu/engine/cuda/armed.h"

int bs_share_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	return bs_armed_cuda_need(p->method == BS_METHOD_GRIDDING ? &bs_cuda_gridding
								  : bs_armed_cuda_sum(p),
				  p, true, need, why);
}

int bs_share_arm(bool solves, void **self, const struct bs_protocol *p,
		 const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why)
{
	if (p->method == BS_METHOD_GRIDDING)
		return bs_armed_cuda_open_tuned(&bs_cuda_gridding, false, true, self, p, tables,
						env, why);
	return bs_armed_cuda_open_ls(solves, true, self, p, tables, env, why);
}

void bs_share_disarm(void *self)
{
	bs_armed_cuda_close(self);
}

int bs_share_begin(void *self, uint32_t frame)
{
	return bs_armed_cuda_begin(self, frame);
}

int bs_share_add(void *self, uint32_t frame, uint32_t readout, const float *data,
		 size_t coil_stride)
{
	return bs_armed_cuda_add(self, frame, readout, data, coil_stride);
}

void bs_share_reading(void *self, bool wait, uint64_t *made, uint64_t *read)
{
	bs_armed_cuda_reading(self, wait, made, read);
}

int bs_share_fold(void *self, uint32_t frame, uint32_t group)
{
	return bs_armed_cuda_fold(self, frame, group);
}

int bs_share_finish(void *self, uint32_t frame, bool watched)
{
	return bs_armed_cuda_queue_finish((struct bs_armed_cuda *)self, frame, watched);
}

int bs_share_slide(void *self, uint32_t frame, const uint8_t *held, bool watched)
{
	return bs_armed_cuda_queue_slide((struct bs_armed_cuda *)self, frame, held, watched);
}

int bs_share_peek(void *self, uint32_t frame)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;

	return e->method->peek(e->op, frame, e->coil_images, e->stream, NULL);
}

int bs_share_solve(void *self, int64_t deadline_ns, struct bs_report *report)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;
	int rc = bs_armed_cuda_solve(e, deadline_ns, report);

	return rc != 0 ? rc : bs_armed_cuda_pass(e, BS_CUDA_SOLVED, cudaEventRecordDefault, NULL);
}

void bs_share_outcome(void *self, uint32_t frame, bool watched, struct bs_report *report)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;

	e->read = e->made;
	bs_armed_cuda_times(e, frame, report);
	if (e->solver != NULL && !watched) {
		report->deadline_stop = false;
		bs_solver_cuda_outcome(e->solver, report);
	}
}

float2 *bs_share_images(void *self)
{
	return ((struct bs_armed_cuda *)self)->coil_images;
}

const float2 *bs_share_maps(void *self)
{
	return ((struct bs_armed_cuda *)self)->maps;
}

cudaStream_t bs_share_stream(void *self)
{
	return ((struct bs_armed_cuda *)self)->stream;
}

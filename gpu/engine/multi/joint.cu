/* gpu/engine/multi/joint.cu - the shares' images brought together, solved, combined; see armed.h */
#include "gpu/engine/multi/armed.h"

#include "gpu/device/check.h"

int bs_armed_multi_slice(struct bs_armed_multi *e, uint32_t frame, struct bs_fail *why)
{
	const uint32_t slice = bs_protocol_frame_slice(e->p, frame);
	const size_t values = (size_t)bs_protocol_voxels(e->p) * e->p->coils;
	int rc = slice == e->slice ? 0 : bs_link_enter(e->link, 0, why);

	if (rc != 0 || slice == e->slice)
		return rc;
	if (e->all_maps != NULL)
		BS_CUDA(cudaMemcpyAsync(e->maps, e->all_maps + slice * values,
					values * sizeof(float2), cudaMemcpyDeviceToDevice,
					bs_link_stream(e->link, 0)),
			why);
	if (e->ls != NULL)
		rc = bs_ls_multi_use(e->ls, slice, why);
	if (rc == 0)
		e->slice = slice;
	return rc;
}

int bs_armed_multi_follow(struct bs_armed_multi *e, struct bs_fail *why)
{
	int rc = bs_link_each(e->link, why, [=](uint32_t i) {
		const struct bs_armed_share *s = &e->share[i];

		BS_CUDA(cudaEventRecord(s->done, s->gpu->stream), why);
		return BS_CUDA_RC(cudaStreamWaitEvent(bs_link_stream(e->link, i), s->done, 0), why);
	});

	if (rc == 0)
		rc = bs_link_enter(e->link, 0, why);
	if (rc == 0)
		BS_CUDA(cudaEventRecord(e->mark[BS_MULTI_SUMMED], bs_link_stream(e->link, 0)), why);
	return rc;
}

/* Copies a slab's rows to their place in the image. */
static int place(struct bs_armed_multi *e, const struct bs_armed_share *s, const float2 *from,
		 struct bs_fail *why)
{
	const uint32_t *n = e->p->matrix;
	const size_t row = (size_t)n[0] * sizeof(float2);

	return BS_CUDA_RC(cudaMemcpy2DAsync(e->images + s->rows.first * n[0], n[1] * row, from,
					    s->rows.count * row, s->rows.count * row, n[2],
					    cudaMemcpyDeviceToDevice, bs_link_stream(e->link, 0)),
			  why);
}

/* Brings the shares' images to the first GPU. */
static int bring(struct bs_armed_multi *e, struct bs_fail *why)
{
	const uint32_t *n = e->p->matrix;
	const uint64_t voxels = bs_protocol_voxels(e->p);
	const bool slabs = e->p->plan.place == BS_PLACE_SLABS;
	const void *from[BS_DEVICES_MAX];
	void *to[BS_DEVICES_MAX];
	size_t bytes[BS_DEVICES_MAX];
	int rc;

	for (uint32_t i = 0; i < e->parts; i++) {
		const struct bs_armed_share *s = &e->share[i];

		from[i] = s->gpu->coil_images;
		to[i] = slabs ? e->slabs + s->rows.first * n[0] * n[2]
			      : e->images + s->coils.first * voxels;
		bytes[i] = (size_t)(bs_protocol_voxels(&s->p) * s->coils.count * 8);
	}
	rc = bs_link_gather(e->link, from, to, bytes, why);
	for (uint32_t i = 0; i < e->parts && slabs && rc == 0; i++)
		rc = place(e, &e->share[i], (const float2 *)to[i], why);
	return rc;
}

int bs_armed_multi_solve(struct bs_armed_multi *e, uint32_t most, int64_t deadline_ns,
			 struct bs_fail *why)
{
	const float2 *images[BS_DEVICES_MAX];
	int rc;

	for (uint32_t i = 0; i < e->parts; i++)
		images[i] = e->share[i].gpu->coil_images;
	e->solved.deadline_stop = false;
	if (e->p->plan.joint)
		return bs_ls_multi_run(e->ls, images, most, deadline_ns, &e->solved, why);
	rc = bring(e, why);
	return rc != 0 ? rc
		       : bs_ls_cuda_run(e->lone, e->images, most, deadline_ns,
					bs_link_stream(e->link, 0), &e->solved, why);
}

int bs_armed_multi_queue_image(struct bs_armed_multi *e, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	const bool one = e->p->plan.joint;
	const struct bs_flow none = {}; /* velocities are not shared out */
	cudaStream_t stream = bs_link_stream(e->link, 0);
	int rc = 0;

	BS_CUDA(cudaEventRecord(e->mark[BS_MULTI_SOLVED], stream), why);
	if (!bs_armed_multi_is_joint(e))
		rc = bring(e, why);
	if (rc == 0)
		rc = bs_combiner_cuda_run(
			e->combiner, (const float *)(one ? bs_ls_multi_image(e->ls) : e->images),
			(const float *)e->maps, &none, e->out, stream, why);
	if (rc != 0)
		return rc;
	BS_CUDA(cudaEventRecord(e->mark[BS_MULTI_COMBINED], stream), why);
	BS_CUDA(cudaMemcpyAsync(e->image, e->out, (size_t)bs_protocol_image_bytes(p),
				cudaMemcpyDeviceToHost, stream),
		why);
	return BS_CUDA_RC(cudaEventRecord(e->mark[BS_MULTI_DOWNLOADED], stream), why);
}

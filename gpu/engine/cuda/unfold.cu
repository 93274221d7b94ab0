/*
 * gpu/engine/cuda/unfold.cu - Cartesian SENSE behind the operator; see armed.h
 *
 * The image is written to the place of the first coil's image. Partial Fourier completes it there
 * (gpu/image/pocs_cuda.h). Of slices at once the frame's own is copied there. The launches depend
 * on which lines have come, so they are in no graph.
 */
#include "gpu/engine/cuda/armed.h"

#include "core/multiband/apart.h"
#include "gpu/device/check.h"
#include "gpu/engine/left_out.h"
#include "gpu/image/pocs_cuda.h"
#include "gpu/solve/solve.h"

/* Bytes of solved images in a place of their own; 0: there is one, in the coil images' place. */
static uint64_t solved_bytes(const struct bs_unfold_spec *s, const struct bs_protocol *p)
{
	return s->group > 0 || bs_left_out_wanted(p)
		       ? (uint64_t)s->matrix[0] * s->matrix[1] * s->matrix[2] * 8
		       : 0;
}

/* Slices of the group before the frame's own, which is the first where there is no group. */
static uint32_t before(const struct bs_protocol *p, uint32_t frame)
{
	return bs_plan_groups(&p->plan) ? bs_apart_band_of(p, bs_protocol_frame_slice(p, frame))
					: 0;
}

int bs_armed_cuda_unfold_need(const struct bs_protocol *p, const struct bs_csr *w, uint64_t *bytes,
			      struct bs_fail *why)
{
	const struct bs_unfold_spec s = bs_unfolding_spec(p);
	const struct bs_pocs_spec pocs = bs_left_out_spec(p, p->matrix, 1);
	uint64_t more = 0;
	int rc = bs_unfold_cuda_need(&s, w, bytes, why);

	*bytes += bs_devmem_round(solved_bytes(&s, p));
	if (rc != 0 || !bs_left_out_wanted(p))
		return rc;
	rc = bs_pocs_cuda_need(&pocs, &more, why);
	*bytes += more + bs_devmem_round(bs_protocol_voxels(p) * 8);
	return rc;
}

int bs_armed_cuda_unfold_plan(struct bs_armed_cuda *e, const struct bs_csr *w, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	const struct bs_unfold_spec s = bs_unfolding_spec(p);
	const struct bs_pocs_spec pocs = bs_left_out_spec(p, p->matrix, 1);
	int rc = 0;

	e->solved = (float *)e->coil_images;
	if (solved_bytes(&s, p) > 0)
		e->solved = (float *)bs_devmem_take(&e->mem, solved_bytes(&s, p));
	if (e->solved == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': solution", p->name);
	if (bs_left_out_wanted(p)) {
		e->spare = (float *)bs_devmem_take(&e->mem, bs_protocol_voxels(p) * 8);
		rc = e->spare == NULL
			     ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': solution", p->name)
			     : bs_pocs_cuda_plan(&e->completes, &pocs, &e->mem, why);
	}
	return rc != 0 ? rc
		       : bs_unfold_cuda_plan(&e->unfold, &s, w,
					     (const float *)(s.group > 0 ? e->all_maps : e->maps),
					     (const float *)e->coil_images, e->solved, p->tolerance,
					     &e->mem, why);
}

void bs_armed_cuda_unfold_close(struct bs_armed_cuda *e)
{
	bs_unfold_cuda_close(e->unfold);
	bs_pocs_cuda_close(e->completes);
}

int bs_armed_cuda_unfold(struct bs_armed_cuda *e, uint32_t frame, uint32_t iterations,
			 int64_t deadline_ns, struct bs_report *report, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	const uint32_t slice = bs_protocol_frame_slice(p, frame);
	const struct bs_unfold_group group = bs_unfolding_group(p, slice, &report->apart);
	struct bs_pcg_result result;

	if (bs_once_made(&e->once, report))
		return 0;
	if (bs_plan_groups(&p->plan))
		bs_unfold_cuda_hold(e->unfold, &group,
				    bs_apart_group(p, slice) * bs_protocol_map_values(p));
	int rc = bs_unfold_cuda_solve(e->unfold, e->op->lines(e->plan, frame), iterations,
				      deadline_ns, e->stream, &result, why);

	if (rc != 0)
		return rc;
	bs_report_solve(report, true, result.iterations, result.residual);
	report->deadline_stop = result.deadline_stop;
	bs_once_make(&e->once, report);
	return 0;
}

int bs_armed_cuda_complete(struct bs_armed_cuda *e, uint32_t frame, uint32_t unknown,
			   struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	const uint64_t bytes = bs_protocol_voxels(p) * 8;
	float *own = e->solved + bytes / 4 * before(p, frame);
	struct bs_pocs_span spans[3];

	if (e->completes == NULL && bs_plan_groups(&p->plan))
		BS_CUDA(cudaMemcpyAsync(e->coil_images, own, (size_t)bytes,
					cudaMemcpyDeviceToDevice, e->stream),
			why);
	if (e->completes == NULL)
		return 0;
	bs_left_out_spans(spans, p, e->op->lines(e->plan, frame), unknown, p->matrix);
	return bs_pocs_cuda_run(e->completes, spans, own, e->spare, (float *)e->coil_images,
				e->stream, why);
}

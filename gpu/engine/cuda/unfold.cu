/*
 * gpu/engine/cuda/unfold.cu - Cartesian SENSE behind the operator; see armed.h
 *
 * The image is written to the place of the first coil's image. Partial Fourier completes it there
 * (gpu/image/pocs_cuda.h). Its launches depend on which lines have come, so they are in no graph.
 */
#include "gpu/engine/cuda/armed.h"

#include "gpu/engine/left_out.h"
#include "gpu/image/pocs_cuda.h"
#include "gpu/solve/solve.h"

int bs_armed_cuda_unfold_need(const struct bs_protocol *p, const struct bs_csr *w, uint64_t *bytes,
			      struct bs_fail *why)
{
	const struct bs_unfold_spec s = bs_unfolding_spec(p);
	const struct bs_pocs_spec pocs = bs_left_out_spec(p, p->matrix, 1);
	uint64_t more = 0;
	int rc = bs_unfold_cuda_need(&s, w, bytes, why);

	if (rc != 0 || !bs_left_out_wanted(p))
		return rc;
	rc = bs_pocs_cuda_need(&pocs, &more, why);
	*bytes += more + 2 * bs_devmem_round(bs_protocol_voxels(p) * 8);
	return rc;
}

int bs_armed_cuda_unfold_plan(struct bs_armed_cuda *e, const struct bs_csr *w, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	const struct bs_unfold_spec s = bs_unfolding_spec(p);
	const struct bs_pocs_spec pocs = bs_left_out_spec(p, p->matrix, 1);
	int rc = 0;

	e->solved = (float *)e->coil_images;
	if (bs_left_out_wanted(p)) {
		e->solved = (float *)bs_devmem_take(&e->mem, bs_protocol_voxels(p) * 8);
		e->spare = (float *)bs_devmem_take(&e->mem, bs_protocol_voxels(p) * 8);
		rc = e->solved == NULL || e->spare == NULL
			     ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': solution", p->name)
			     : bs_pocs_cuda_plan(&e->completes, &pocs, &e->mem, why);
	}
	return rc != 0 ? rc
		       : bs_unfold_cuda_plan(&e->unfold, &s, w, (const float *)e->maps,
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
	struct bs_pcg_result result;
	int rc = bs_unfold_cuda_solve(e->unfold, e->op->lines(e->plan, frame), iterations,
				      deadline_ns, e->stream, &result, why);

	if (rc != 0)
		return rc;
	bs_report_solve(report, true, result.iterations, result.residual);
	report->deadline_stop = result.deadline_stop;
	return 0;
}

int bs_armed_cuda_complete(struct bs_armed_cuda *e, uint32_t frame, uint32_t unknown,
			   struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	struct bs_pocs_span spans[3];

	if (e->completes == NULL)
		return 0;
	bs_left_out_spans(spans, p, e->op->lines(e->plan, frame), unknown, p->matrix);
	return bs_pocs_cuda_run(e->completes, spans, e->solved, e->spare, (float *)e->coil_images,
				e->stream, why);
}

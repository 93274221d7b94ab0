/* gpu/penalty/penalty.cu - the table of the priors' rows on the GPU; see penalty_cuda.h */
#include "gpu/penalty/penalty_cuda.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/penalty/cuda/rows.cuh"

static const struct bs_penalty_cuda_row *row_of(enum bs_prior kind)
{
	switch (kind) {
	case BS_PRIOR_WAVELET:
		return &bs_penalty_cuda_wavelet;
	case BS_PRIOR_LOW_RANK:
		return &bs_penalty_cuda_lowrank;
	case BS_PRIOR_TV:
	case BS_PRIOR_TV_FRAMES:
	case BS_PRIOR_TV_CYCLE:
	case BS_PRIOR_W:
		return &bs_penalty_cuda_dual;
	case BS_PRIOR_NONE:
	case BS_PRIORS:
		break;
	}
	return NULL;
}

/* Sets what the plan is before it has memory. */
static int shape(struct bs_penalty_cuda_plan *p, const struct bs_penalty_spec *s,
		 const struct bs_csr *w, struct bs_fail *why)
{
	struct bs_need host;
	int rc;

	memset(p, 0, sizeof(*p));
	memset(&host, 0, sizeof(host));
	rc = bs_penalty_need(s, &host, why); /* the same are legal as on the host */
	if (rc != 0)
		return rc;
	p->s = *s;
	bs_penalty_turn(&p->s); /* the grids' shifts are an axis's own */
	p->w = w;
	p->row = row_of(s->kind);
	p->voxels = (uint64_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	p->size = p->voxels * s->images;
	if (s->kind == BS_PRIOR_W && (w == NULL || w->cols != p->voxels))
		return bs_fail(why, BS_ERR_SIZE,
			       "prior w: W has %llu columns, an image %llu voxels",
			       (unsigned long long)(w != NULL ? w->cols : 0),
			       (unsigned long long)p->voxels);
	return p->row->check != NULL ? p->row->check(p, why) : 0;
}

static void take(struct bs_penalty_cuda_plan *p, struct bs_devroom *room)
{
	bs_devroom_take(room, &p->partial, 2 * PENALTY_BLOCKS_MOST * sizeof(double));
	p->row->take(p, room);
}

int bs_penalty_cuda_need(const struct bs_penalty_spec *s, const struct bs_csr *w, uint64_t *bytes,
			 struct bs_fail *why)
{
	struct bs_penalty_cuda_plan p;
	struct bs_devroom room = {};
	int rc = shape(&p, s, w, why);

	if (rc != 0)
		return rc;
	take(&p, &room);
	*bytes = room.bytes;
	if (s->kind == BS_PRIOR_W)
		*bytes += bs_csr_cuda_need(w, BS_CSR_PLAIN) + bs_csr_cuda_need(w, BS_CSR_ADJOINT);
	return 0;
}

int bs_penalty_cuda_plan(struct bs_penalty_cuda_plan **plan, const struct bs_penalty_spec *s,
			 const struct bs_csr *w, struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_penalty_cuda_plan *p = (struct bs_penalty_cuda_plan *)malloc(sizeof(*p));
	struct bs_devroom room = { mem, 0, false };
	int rc = p == NULL ? bs_fail(why, BS_ERR_NOMEM, "prior") : shape(p, s, w, why);

	*plan = NULL;
	if (rc == 0) {
		take(p, &room);
		rc = bs_devroom_check(&room, "prior", why);
	}
	if (rc == 0 && p->row->ready != NULL)
		rc = p->row->ready(p, mem, why);
	if (rc != 0) {
		free(p);
		return rc;
	}
	p->penalty.self = p;
	p->penalty.value = p->row->value;
	p->penalty.prox = p->row->prox;
	p->penalty.refines = p->row->refines;
	p->penalty.changes = s->kind == BS_PRIOR_WAVELET && s->shifts;
	*plan = p;
	return 0;
}

void bs_penalty_cuda_close(struct bs_penalty_cuda_plan *p)
{
	free(p);
}

const struct bs_penalty_cuda *bs_penalty_cuda_get(const struct bs_penalty_cuda_plan *p)
{
	return &p->penalty;
}

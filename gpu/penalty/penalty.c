/* gpu/penalty/penalty.c - the table of the priors' rows; see penalty.h */
#include "gpu/penalty/penalty.h"

#include <stdlib.h>

#include "gpu/penalty/rows.h"

static const struct bs_penalty_row *const rows[] = {
	[BS_PRIOR_NONE] = NULL,
	[BS_PRIOR_WAVELET] = &bs_penalty_wavelet,
	[BS_PRIOR_TV] = &bs_penalty_dual,
	[BS_PRIOR_TV_FRAMES] = &bs_penalty_dual,
	[BS_PRIOR_TV_CYCLE] = &bs_penalty_dual,
	[BS_PRIOR_LOW_RANK] = &bs_penalty_lowrank,
	[BS_PRIOR_W] = &bs_penalty_dual,
};
_Static_assert(sizeof(rows) / sizeof(rows[0]) == BS_PRIORS, "a row for each prior");

static const struct bs_penalty_row *shape(struct bs_penalty_plan *p,
					  const struct bs_penalty_spec *s, const struct bs_csr *w)
{
	*p = (struct bs_penalty_plan){ .s = *s, .w = w };
	bs_penalty_turn(&p->s);
	p->voxels = (uint64_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	p->size = p->voxels * s->images;
	return rows[s->kind];
}

int bs_penalty_need(const struct bs_penalty_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct bs_room room = { .need = need };
	struct bs_penalty_plan p;
	const struct bs_penalty_row *row;

	for (int a = 0; a < 3; a++)
		if (s->matrix[a] == 0 || s->matrix[a] > 4096)
			return bs_fail(why, BS_ERR_CONFIG, "prior: %u voxels along %c",
				       s->matrix[a], "xyz"[a]);
	if (s->kind == BS_PRIOR_NONE || (unsigned)s->kind >= BS_PRIORS || s->images == 0 ||
	    s->images > BS_PENALTY_IMAGES_MAX)
		return bs_fail(why, BS_ERR_CONFIG, "prior %d: %u images, 1 to %u", (int)s->kind,
			       s->images, BS_PENALTY_IMAGES_MAX);
	if (s->block == 0 || s->block > BS_PENALTY_BLOCK_MAX)
		return bs_fail(why, BS_ERR_CONFIG, "prior: blocks of %u voxels, 1 to %u", s->block,
			       BS_PENALTY_BLOCK_MAX);
	row = shape(&p, s, NULL);
	row->lay_out(&p, &room);
	return 0;
}

int bs_penalty_plan(struct bs_penalty_plan **plan, const struct bs_penalty_spec *s,
		    const struct bs_csr *w, struct bs_arena *arena, struct bs_team *team,
		    struct bs_fail *why)
{
	struct bs_penalty_plan *p = malloc(sizeof(*p));
	struct bs_room room = { .arena = arena };
	const struct bs_penalty_row *row;
	int rc = 0;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "prior");
	row = shape(p, s, w);
	p->team = team;
	row->lay_out(p, &room);
	if (room.full)
		rc = bs_fail(why, BS_ERR_NOMEM, "prior: the arena is too small");
	if (rc == 0 && row->ready != NULL)
		rc = row->ready(p, why);
	if (rc != 0) {
		bs_penalty_close(p);
		return rc;
	}
	p->penalty = (struct bs_penalty){ p, row->value, row->prox, row->refine,
					  s->kind == BS_PRIOR_WAVELET && s->shifts };
	*plan = p;
	return 0;
}

void bs_penalty_close(struct bs_penalty_plan *p)
{
	if (p != NULL)
		free(p->own);
	free(p);
}

void bs_penalty_lambda(struct bs_penalty_plan *p, double lambda)
{
	p->lambda = lambda;
}

const struct bs_penalty *bs_penalty_get(const struct bs_penalty_plan *p)
{
	return &p->penalty;
}

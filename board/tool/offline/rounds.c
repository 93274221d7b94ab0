/* board/tool/offline/rounds.c - see rounds.h */
#include "board/tool/offline/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int bs_rounds_check(const struct bs_rounds *r, const struct bs_protocol *p, struct bs_fail *why)
{
	char solvers[64];

	if (p->plan.solve == BS_SOLVE_NONE)
		return bs_fail(why, BS_ERR_USAGE, "rounds: protocol '%s' is not of method %s",
			       p->name, bs_method_solvers(solvers, sizeof(solvers)));
	if (!(p->lambda > 0.0))
		return bs_fail(why, BS_ERR_USAGE,
			       "rounds: ls.lambda of protocol '%s' is 0: W would have no effect",
			       p->name);
	if (p->frame_step > 0)
		return bs_fail(
			why, BS_ERR_USAGE,
			"rounds: protocol '%s' has a sliding window, whole frames are wanted",
			p->name);
	if (r->neighbors != 0 && r->neighbors != (p->dims == 2 ? 4u : 6u) &&
	    r->neighbors != (p->dims == 2 ? 8u : 26u))
		return bs_fail(why, BS_ERR_USAGE,
			       "rounds: %u neighbors: 4 or 8 in 2D, 6 or 26 in 3D", r->neighbors);
	return 0;
}

int bs_rounds_add(struct bs_rounds *r, const struct bs_protocol *p,
		  const struct bs_recon_image *image, struct bs_fail *why)
{
	uint32_t channels = bs_protocol_channels(p);
	size_t values = (size_t)bs_protocol_voxels(p) * channels;
	float *to;

	if (r->images == 0)
		r->slice = image->head.slice;
	else if (image->head.slice != r->slice)
		return bs_fail(
			why, BS_ERR_SIZE,
			"rounds: images of slices %u and %u: edges are shared by the images of one",
			r->slice, image->head.slice);
	if (channels > BS_ROUNDS_IMAGES - r->images)
		return bs_fail(why, BS_ERR_SIZE, "rounds: more than %u images in the recording",
			       BS_ROUNDS_IMAGES);
	to = realloc(r->joint, (bs_protocol_voxels(p) * r->images + values) * 2 * sizeof(float));
	if (to == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "rounds: no memory for %u images",
			       r->images + channels);
	r->joint = to;
	to += (size_t)bs_protocol_voxels(p) * r->images * 2;
	if (p->output == BS_OUTPUT_COMPLEX)
		memcpy(to, image->pixels, values * 2 * sizeof(float));
	for (size_t v = 0; p->output != BS_OUTPUT_COMPLEX && v < values; v++) {
		to[2 * v] = image->pixels[v];
		to[2 * v + 1] = 0.0f;
	}
	r->images += channels;
	return 0;
}

int bs_rounds_make(struct bs_rounds *r, const struct bs_protocol *p, struct bs_fail *why)
{
	struct bs_prior_spec spec = {
		.dims = p->dims,
		.matrix = { p->matrix[0], p->matrix[1], p->matrix[2] },
		.neighbors = r->neighbors != 0 ? r->neighbors : 2 * p->dims,
		.images = r->images,
		.edge = bs_rounds_edge(r->edge, r->done, r->rounds),
		.outside = 1.0,
	};
	int rc;

	bs_csr_close(&r->w);
	if (r->images == 0)
		return bs_fail(why, BS_ERR_FORMAT, "rounds: the recording makes no image");
	rc = bs_prior_make(&r->w, &spec, r->joint, NULL, why);
	r->images = 0;
	r->done += rc == 0;
	return rc;
}

void bs_rounds_close(struct bs_rounds *r)
{
	free(r->joint);
	r->joint = NULL;
	bs_csr_close(&r->w);
}

double bs_rounds_edge(double last, uint32_t i, uint32_t n)
{
	return n < 2 ? last : last * pow(3.0, 1.0 - (double)i / (double)(n - 1));
}

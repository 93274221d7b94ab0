/* board/tool/certify/expected.c - see expected.h */
#include "board/tool/certify/expected.h"

#include <stdlib.h>
#include <string.h>

#include "board/tool/offline/pipeline.h"

struct count {
	struct bs_protocol p;
	struct bs_pipeline pipeline;
	uint64_t images;
};

/* Reduces a protocol to its frames, without what its method computes. */
static void bare(struct bs_protocol *p)
{
	/* which lines are references shows only where something is made of them */
	if (bs_plan_groups(&p->plan) && p->plan.calibrates) {
		p->parallel = BS_PARALLEL_SLICES;
		p->grappa_kernel[0] = p->grappa_kernel[1] = 5;
		p->grappa_kernel[2] = p->grappa_sources = 1;
		p->grappa_lacking = BS_LACKING_ZEROS;
	}
	p->method = p->plan.counting;
	p->density = BS_DENSITY_NONE;
	p->backend = BS_BACKEND_HOST;
	p->preview_every = 0;
	p->on_miss = BS_MISS_FLAG;
	/* no maps are loaded, so coils are not combined by them */
	if (p->combine == BS_COMBINE_SENSE) {
		p->combine = BS_COMBINE_RSS;
		p->output = BS_OUTPUT_MAGNITUDE;
	}
	p->maps = BS_MAPS_FILE;
	p->field.from = BS_FIELD_FILE;
	p->field.map_file[0] = '\0';
	memset(&p->w, 0, sizeof(p->w));
	p->maps_file[0] = p->w_file[0] = p->density_file[0] = '\0';
	bs_plan_make(p);
}

static int count_ready(void *arg, struct bs_fail *why)
{
	struct count *n = arg;
	struct bs_pipeline *l = &n->pipeline;
	int rc;

	while ((rc = bs_recon_pop(l->armed.recon, &l->image, INT64_MAX, why)) == 1)
		n->images++;
	return rc;
}

int bs_expected_images(uint64_t *images, const struct bs_site *site, const struct bs_protocol *p,
		       const char *recording, struct bs_fail *why)
{
	struct count *n = calloc(1, sizeof(*n));
	int rc;

	*images = 0;
	if (n == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory to count a recording's images");
	n->p = *p;
	bare(&n->p);
	rc = bs_pipeline_open(&n->pipeline, recording, why);
	if (rc == 0)
		rc = bs_pipeline_arm(&n->pipeline, site, &n->p, NULL, 1, why);
	if (rc == 0)
		rc = bs_pipeline_run(&n->pipeline, count_ready, n, true, why);
	*images = n->images;
	bs_pipeline_close(&n->pipeline);
	free(n);
	return rc;
}

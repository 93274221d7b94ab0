/* board/tool/command/prior.c - boreside prior: the anatomical constraint W from reference images */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/arm/anatomy.h"
#include "board/tool/command/tools.h"
#include "board/tool/offline/pipeline.h"
#include "config/config.h"
#include "core/frame/geometry.h"
#include "drivers/tool/image.h"
#include "drivers/tool/written.h"

struct request {
	struct bs_prior_spec spec;
	const char *mask, *out, *config, *protocol, *scan;
	char **references;
	float *images; /* all reference images, one after the other */
};

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPTION_U32, 0, "neighbors", "N", AT(spec.neighbors),
	  .help = "4 or 8 in 2D, 6 or 26 in 3D (4, 6)", .min = 1, .max = 26 },
	{ BS_OPTION_POSITIVE, 0, "edge", "X", AT(spec.edge),
	  .help = "a difference of this share of the largest value is an edge (0.05)" },
	{ BS_OPTION_TEXT, 0, "mask", "M", AT(mask),
	  .help = "differences only where M is not 0; elsewhere voxels are held at 0" },
	{ BS_OPTION_POSITIVE, 0, "outside", "X", AT(spec.outside), .help = "how strongly (1)" },
	{ BS_OPTION_TEXT, 0, "scan", "RECORDING", AT(scan),
	  .help = "W as the service makes it for this scan, of a protocol with ls.w \"study\" "
		  "(its keys count, not the options above): REFERENCE is one MRD image (.h5), put "
		  "on the scan's grid by its position and directions" },
	{ BS_OPTION_TEXT, 'c', "config", "FILE", AT(config), .help = "with --scan: the site file" },
	{ BS_OPTION_TEXT, 'p', "protocol", "PROTOCOL", AT(protocol),
	  .help = "with --scan: which one of the site file (the recording's own, or the only "
		  "one)" },
	{ BS_OPTION_TEXT, 'o', "output", "W.mtx", AT(out),
	  .help = "the matrix, for the key ls.w_file (Matrix Market)", .required = true },
	{ BS_OPERANDS, 0, NULL, "REFERENCE", AT(references), .help = "image files",
	  .required = true },
	{ 0 },
};

/* Checks sizes: the first reference sets the constraint's size, and the others must agree. */
static int check_size(struct request *q, const struct bs_cfl *c, const char *name,
		      struct bs_fail *why)
{
	struct bs_prior_spec *s = &q->spec;

	if (s->dims == 0) {
		if (c->dims[0] > 4096 || c->dims[1] > 4096 || c->dims[2] > 4096)
			return bs_fail(why, BS_ERR_SIZE, "%s: more than 4096 voxels an axis", name);
		s->dims = c->dims[2] > 1 ? 3 : 2;
		for (int d = 0; d < 3; d++)
			s->matrix[d] = (uint32_t)c->dims[d];
		if (s->neighbors == 0)
			s->neighbors = 2 * s->dims;
	}
	for (int d = 0; d < 3; d++)
		if (c->dims[d] != s->matrix[d])
			return bs_fail(why, BS_ERR_SIZE,
				       "%s has %llu x %llu x %llu voxels, the first reference "
				       "%u x %u x %u",
				       name, (unsigned long long)c->dims[0],
				       (unsigned long long)c->dims[1],
				       (unsigned long long)c->dims[2], s->matrix[0], s->matrix[1],
				       s->matrix[2]);
	return 0;
}

static int add_reference(struct request *q, const char *name, struct bs_fail *why)
{
	struct bs_cfl c;
	uint64_t voxels;
	float *more;
	int rc = bs_imagefile_read(&c, name, why);

	if (rc != 0)
		return rc;
	rc = check_size(q, &c, name, why);
	voxels = (uint64_t)q->spec.matrix[0] * q->spec.matrix[1] * q->spec.matrix[2];
	if (rc == 0 && c.size / voxels > 64u - q->spec.images)
		rc = bs_fail(why, BS_ERR_SIZE, "%s: more than 64 reference images", name);
	if (rc == 0) {
		more = realloc(q->images, (q->spec.images * voxels + c.size) * 2 * sizeof(float));
		if (more == NULL) {
			rc = bs_fail(why, BS_ERR_NOMEM, "no memory for %s", name);
		} else {
			q->images = more;
			memcpy(more + q->spec.images * voxels * 2, c.data,
			       c.size * 2 * sizeof(float));
			q->spec.images += (uint32_t)(c.size / voxels);
		}
	}
	bs_cfl_free(&c);
	return rc;
}

/* ---- for a scan ---- */

/* Finds the scan's grid: its field of view by the header, its place by the first readout. */
static int find_grid(struct bs_grid *g, const struct bs_protocol *p, struct bs_pipeline *l,
		     struct bs_fail *why)
{
	struct bs_recorded acq;
	int rc = 0;

	memcpy(g->matrix, p->matrix, sizeof(g->matrix));
	bs_geometry_fov(g->fov_mm, p, &l->info);
	for (uint32_t i = 0; i < bs_recording_count(l->in) && rc == 0; i++) {
		rc = bs_recording_read(l->in, i, &acq, why);
		if (rc == 0 && bs_mrd_kind(acq.head.flags) == BS_KIND_IMAGING) {
			bs_pose_of(&g->pose, &acq.head);
			return 0;
		}
	}
	return rc != 0 ? rc : bs_fail(why, BS_ERR_LENGTH, "it has no readout of an image");
}

/* Puts the reference on the scan's grid, with its mask. */
static int place(struct request *q, float *mask, const struct bs_protocol *p,
		 const struct bs_grid *to, struct bs_fail *why)
{
	struct bs_grid from;
	struct bs_mrd_image head;
	struct bs_cfl c;
	int rc = bs_imagefile_placed(&c, &head, q->references[0], why);

	if (rc != 0)
		return rc;
	for (int a = 0; a < 3; a++) {
		from.matrix[a] = (uint32_t)c.dims[a];
		from.fov_mm[a] = head.field_of_view[a];
		from.pose.position[a] = head.position[a];
		from.pose.read_dir[a] = head.read_dir[a];
		from.pose.phase_dir[a] = head.phase_dir[a];
		from.pose.slice_dir[a] = head.slice_dir[a];
		if (c.dims[a] != head.matrix_size[a])
			rc = BS_ERR_SIZE;
	}
	if (rc != 0 || c.size != c.dims[0] * c.dims[1] * c.dims[2] || q->references[1] != NULL)
		rc = bs_fail(why, BS_ERR_SIZE,
			     "%s: with --scan the reference is one image of one "
			     "channel",
			     q->references[0]);
	for (uint64_t v = 0; rc == 0 && v < c.size; v++)
		c.data[v] = c.data[2 * v + 1] == 0.0f ? c.data[2 * v]
						      : hypotf(c.data[2 * v], c.data[2 * v + 1]);
	if (rc == 0)
		rc = bs_anatomy_make(NULL, p, q->images, mask, to, c.data, &from, why);
	bs_cfl_free(&c);
	return rc;
}

static int make_for(struct request *q, const struct bs_site *site, struct bs_csr *w,
		    struct bs_fail *why)
{
	struct bs_pipeline l = { 0 };
	struct bs_grid to = { .matrix = { 0 } };
	const struct bs_protocol *p = NULL;
	float *mask = NULL;
	int rc = bs_pipeline_open(&l, q->scan, why);

	if (rc == 0) {
		p = bs_config_choose(site, q->protocol, l.info.protocol, why);
		rc = p == NULL ? BS_ERR_PROTOCOL : bs_admit_scan(p, &l.info, why);
	}
	if (rc == 0 && !p->plan.takes[BS_KEPT_IMAGE])
		rc = bs_fail(why, BS_ERR_CONFIG, "protocol '%s' has no ls.w \"study\"", p->name);
	if (rc == 0)
		rc = find_grid(&to, p, &l, why);
	if (rc == 0) {
		q->spec = bs_live_spec(p);
		q->spec.whole = false;
		q->images = malloc(bs_protocol_voxels(p) * 8);
		mask = malloc(bs_protocol_voxels(p) * 8);
		rc = q->images != NULL && mask != NULL
			     ? place(q, mask, p, &to, why)
			     : bs_fail(why, BS_ERR_NOMEM, "no memory for the reference");
	}
	if (rc == 0)
		rc = bs_prior_make(w, &q->spec, q->images, mask, why);
	free(mask);
	bs_pipeline_close(&l);
	return rc;
}

static int make_plain(struct request *q, struct bs_csr *w, struct bs_fail *why)
{
	struct bs_cfl mask = { .data = NULL };
	int rc = 0;

	if (q->mask != NULL) {
		rc = bs_imagefile_read(&mask, q->mask, why);
		if (rc != 0)
			return rc;
		rc = check_size(q, &mask, q->mask, why);
		if (rc == 0 && mask.size != (uint64_t)q->spec.matrix[0] * q->spec.matrix[1] *
						    q->spec.matrix[2])
			rc = bs_fail(why, BS_ERR_SIZE, "%s: a mask is one image", q->mask);
	}
	if (rc == 0)
		rc = bs_prior_make(w, &q->spec, q->images, mask.data, why);
	bs_cfl_free(&mask);
	return rc;
}

static int make_prior(struct request *q, struct bs_fail *why)
{
	struct bs_site *site = NULL;
	struct bs_csr w;
	int rc = 0;

	if (q->scan != NULL) {
		site = q->config != NULL ? bs_command_site(q->config) : NULL;
		rc = site != NULL ? make_for(q, site, &w, why)
				  : bs_fail(why, BS_ERR_CONFIG, "--scan: no valid site file (-c)");
	} else {
		for (char **name = q->references; rc == 0 && *name != NULL; name++)
			rc = add_reference(q, *name, why);
		if (rc == 0)
			rc = make_plain(q, &w, why);
	}
	free(site);
	if (rc != 0)
		return rc;
	rc = bs_mtx_write(q->out, &w, why);
	if (rc == 0)
		(void)printf("%s: %llu rows of %llu voxels from %u images, %u neighbors\n", q->out,
			     (unsigned long long)w.rows, (unsigned long long)w.cols, q->spec.images,
			     q->spec.neighbors);
	bs_csr_close(&w);
	return rc;
}

static int run_prior(void *request)
{
	struct request *q = request;
	struct bs_fail why;
	const int rc = make_prior(q, &why);

	free(q->images);
	return rc == 0 ? 0 : bs_command_fail("%s", why.text);
}

const struct bs_command bs_command_prior = {
	.name = "prior",
	.summary = "an anatomical constraint W for ls and sense, from reference images",
	.notes = "W holds weighted differences of neighbors, small across the references' "
		 "edges. Every image of every reference (.cfl, MRD .h5) counts, each on the "
		 "scale of its largest value; an edge that one of them has is kept in all: for "
		 "echoes or contrasts of one anatomy.",
	.options = options,
	.request = &(struct request){ .spec = { .edge = 0.05, .outside = 1.0 } },
	.run = run_prior,
};

/* board/command/prior.c - boreside prior: the anatomical constraint W from reference images */
#define _GNU_SOURCE /* getopt_long */
#include "board/command/command.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/solve/prior.h"
#include "drivers/file/image.h"
#include "drivers/file/mtx.h"

static const char usage_text[] =
	"usage: boreside prior [options] -o W.mtx REFERENCE...\n"
	"W holds weighted differences of neighbors, small across the references' edges. Every image\n"
	"of every reference (.cfl, MRD .h5) counts, each on the scale of its largest value; an edge\n"
	"that one of them has is kept in all: for echoes or contrasts of one anatomy.\n"
	"  --neighbors N   4 or 8 in 2D, 6 or 26 in 3D (4, 6)\n"
	"  --edge X        a difference of this share of the largest value is an edge (0.05)\n"
	"  --mask M        differences only where M is not 0; elsewhere voxels are held at 0\n"
	"  --outside X     how strongly (1)\n"
	"  -o W.mtx        the matrix, for the key ls.w_file (Matrix Market)\n";

struct request {
	struct bs_prior_spec spec;
	const char *mask, *out;
	float *images; /* all of them, one after the other */
};

static int complain(const char *what, const char *value)
{
	(void)fprintf(stderr, "boreside prior: %s '%s'\n%s", what, value, usage_text);
	return 2;
}

static bool positive(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*value) && *value > 0.0;
}

static int parse(struct request *q, int argc, char **argv)
{
	static const struct option options[] = {
		{ "neighbors", required_argument, NULL, 'n' },
		{ "edge", required_argument, NULL, 'e' },
		{ "mask", required_argument, NULL, 'm' },
		{ "outside", required_argument, NULL, 'x' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	double n = 0.0;
	int opt;

	memset(q, 0, sizeof(*q));
	q->spec.edge = 0.05;
	q->spec.outside = 1.0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		if (opt == 'h') {
			(void)fputs(usage_text, stdout);
			return -1;
		}
		if (opt == '?')
			return complain("see the usage:", argv[optind - 1]);
		if (opt == 'o')
			q->out = optarg;
		else if (opt == 'm')
			q->mask = optarg;
		else if ((opt == 'n' && (!positive(optarg, &n) || n > 26.0 || n != floor(n))) ||
			 (opt == 'e' && !positive(optarg, &q->spec.edge)) ||
			 (opt == 'x' && !positive(optarg, &q->spec.outside)))
			return complain("not a legal value:", optarg);
	}
	q->spec.neighbors = (uint32_t)n;
	if (q->out == NULL)
		return complain("missing option", "-o");
	if (optind == argc)
		return complain("missing", "REFERENCE");
	return 0;
}

/* Sizes of the first reference are the constraint's; the others must agree. */
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

static int make(struct request *q, struct bs_fail *why)
{
	struct bs_cfl mask = { .data = NULL };
	struct bs_csr w;
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
		rc = bs_prior_make(&w, &q->spec, q->images, mask.data, why);
	bs_cfl_free(&mask);
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

int bs_cmd_prior(int argc, char **argv)
{
	struct request q;
	struct bs_fail why;
	int rc = parse(&q, argc, argv);

	if (rc != 0)
		return rc < 0 ? 0 : rc;
	for (int i = optind; rc == 0 && i < argc; i++)
		rc = add_reference(&q, argv[i], &why);
	if (rc == 0)
		rc = make(&q, &why);
	if (rc != 0)
		(void)fprintf(stderr, "boreside prior: %s\n", why.text);
	free(q.images);
	return rc == 0 ? 0 : 1;
}

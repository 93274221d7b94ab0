/* board/tool/command/compare.c - boreside compare: how far image A is from image B */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/command/tools.h"
#include "core/tool/compare.h"
#include "drivers/tool/image.h"
#include "drivers/tool/written.h"

struct request {
	const char *name[2]; /* files of images A and B */
	const char *mask, *png;
	double max_nrmse, max_unscaled; /* largest values that pass; negative: no limit */
};

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 0, "mask", "M", AT(mask),
	  .help = "only where M is not 0; a dimension of 1 in M stands for all" },
	{ BS_OPTION_REAL, 0, "max-nrmse", "X", AT(max_nrmse),
	  .help = "exit with 1 when the scaled NRMSE is above X" },
	{ BS_OPTION_REAL, 0, "max-unscaled", "X", AT(max_unscaled),
	  .help = "exit with 1 when the unscaled NRMSE is above X" },
	{ BS_OPTION_TEXT, 0, "png", "FILE.png", AT(png),
	  .help = "picture: a A, B, and ten times their difference, one row each" },
	{ BS_OPERAND, 0, NULL, "A", AT(name[0]), .help = "the image", .required = true },
	{ BS_OPERAND, 0, NULL, "B", AT(name[1]), .help = "the reference", .required = true },
	{ 0 },
};

/* Writes sizes such as "64 x 64 x 16 x 4", up to the last dimension that is not 1. */
static const char *sizes(char out[400], const uint64_t dims[BS_CFL_DIMS])
{
	unsigned last = BS_CFL_DIMS - 1;
	int n = 0;

	while (last > 1 && dims[last] == 1)
		last--;
	for (unsigned i = 0; i <= last; i++)
		n += snprintf(out + n, 400 - (size_t)n, "%s%" PRIu64, i > 0 ? " x " : "", dims[i]);
	return out;
}

static int same_sizes(const struct bs_cfl *a, const struct bs_cfl *b, const struct request *o,
		      struct bs_fail *why)
{
	char x[400];
	char y[400];

	if (memcmp(a->dims, b->dims, sizeof(a->dims)) == 0)
		return 0;
	return bs_fail(why, BS_ERR_SIZE, "%.80s is %.100s, %.80s is %.100s", o->name[0],
		       sizes(x, a->dims), o->name[1], sizes(y, b->dims));
}

/* Spreads the mask to the image's size: a mask's dimension of 1 applies to every index. */
static int spread_mask(struct bs_cfl *mask, const struct bs_cfl *image, const char *name,
		       struct bs_fail *why)
{
	uint64_t at[BS_CFL_DIMS] = { 0 };
	float *full;

	for (unsigned d = 0; d < BS_CFL_DIMS; d++)
		if (mask->dims[d] != 1 && mask->dims[d] != image->dims[d]) {
			char x[400];
			char y[400];

			return bs_fail(why, BS_ERR_SIZE,
				       "mask %.80s is %.100s, the images are %.100s", name,
				       sizes(x, mask->dims), sizes(y, image->dims));
		}
	full = malloc((size_t)image->size * 2 * sizeof(*full));
	if (full == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the mask");
	for (uint64_t i = 0; i < image->size; i++) {
		uint64_t from = 0;

		for (unsigned d = BS_CFL_DIMS; d-- > 0;)
			from = from * mask->dims[d] + (mask->dims[d] == 1 ? 0 : at[d]);
		full[2 * i] = mask->data[2 * from];
		full[2 * i + 1] = mask->data[2 * from + 1];
		for (unsigned d = 0; d < BS_CFL_DIMS && ++at[d] == image->dims[d]; d++)
			at[d] = 0;
	}
	free(mask->data);
	mask->data = full;
	return 0;
}

static int load_images(struct bs_cfl image[3], const struct request *o, struct bs_fail *why)
{
	int rc = bs_imagefile_read(&image[0], o->name[0], why);

	if (rc == 0)
		rc = bs_imagefile_read(&image[1], o->name[1], why);
	if (rc == 0)
		rc = same_sizes(&image[0], &image[1], o, why);
	if (rc == 0 && o->mask != NULL)
		rc = bs_imagefile_read(&image[2], o->mask, why);
	if (rc == 0 && o->mask != NULL)
		rc = spread_mask(&image[2], &image[1], o->mask, why);
	return rc;
}

static void print_line(const char *tag, const struct bs_difference *d)
{
	(void)printf("%-9s NRMSE %.6e  percent error %.4f %%  PSNR %.2f dB\n", tag, d->nrmse,
		     100.0 * d->nrmse, d->psnr_db);
}

static void print(const struct bs_comparison *c)
{
	(void)printf("voxels %" PRIu64 "   scale a = %.8g %+.8gi (|a| %.8g, phase %.6f rad)\n",
		     c->values, c->scale[0], c->scale[1], hypot(c->scale[0], c->scale[1]),
		     atan2(c->scale[1], c->scale[0]));
	print_line("scaled", &c->scaled);
	print_line("unscaled", &c->unscaled);
	(void)printf("maxabs    %.6e of peak   magnitude NRMSE %.6e\n", c->max_abs,
		     c->magnitude_nrmse);
}

/* Writes a picture of three rows with one gray scale: a A, then B, then 10 (a A - B). */
static int picture(const struct request *o, const struct bs_cfl *a, const struct bs_cfl *b,
		   const double scale[2], struct bs_fail *why)
{
	uint64_t n = a->size;
	uint64_t planes = n / a->dims[0] / a->dims[1];
	struct bs_montage m;
	float *v;
	int rc;

	if (a->dims[0] > 65535 || a->dims[1] > 65535 || planes > 65535)
		return bs_fail(why, BS_ERR_SIZE, "%s: the images are too large for a picture",
			       o->png);
	v = malloc((size_t)n * 6 * sizeof(*v));
	if (v == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory for the picture", o->png);
	for (uint64_t i = 0; i < n; i++) {
		double re = scale[0] * a->data[2 * i] - scale[1] * a->data[2 * i + 1];
		double im = scale[0] * a->data[2 * i + 1] + scale[1] * a->data[2 * i];

		v[2 * i] = (float)re;
		v[2 * i + 1] = (float)im;
		v[2 * (n + i)] = b->data[2 * i];
		v[2 * (n + i) + 1] = b->data[2 * i + 1];
		v[2 * (2 * n + i)] = (float)(10.0 * (re - b->data[2 * i]));
		v[2 * (2 * n + i) + 1] = (float)(10.0 * (im - b->data[2 * i + 1]));
	}
	rc = bs_montage_make(&m, v, true, (uint32_t)a->dims[0], (uint32_t)a->dims[1],
			     3 * (uint32_t)planes, why);
	if (rc == 0)
		rc = bs_montage_arrange(&m, (uint32_t)planes, why);
	if (rc == 0)
		rc = bs_pngfile_save(o->png, &m, "a A, B, ten times the difference", why);
	free(v);
	return rc;
}

static bool above(double value, double limit, const char *what)
{
	if (limit < 0.0 || value <= limit)
		return false;
	return bs_command_fail("%s NRMSE %.6e is above %g", what, value, limit) != 0;
}

static int run_compare(void *request)
{
	struct bs_cfl image[3] = { { .data = NULL }, { .data = NULL }, { .data = NULL } };
	struct request *o = request;
	struct bs_fail why = { 0 };
	struct bs_comparison c;
	int rc = load_images(image, o, &why);
	int status = 0;

	if (rc == 0)
		rc = bs_compare(&c, image[0].data, image[1].data, image[2].data, image[1].size,
				&why);
	if (rc == 0) {
		print(&c);
		status = above(c.scaled.nrmse, o->max_nrmse, "scaled");
		status |= above(c.unscaled.nrmse, o->max_unscaled, "unscaled");
	}
	if (rc == 0 && o->png != NULL)
		rc = picture(o, &image[0], &image[1], c.scale, &why);
	if (rc != 0)
		status = bs_command_fail("%s", why.text);
	for (int i = 0; i < 3; i++)
		bs_cfl_free(&image[i]);
	return status;
}

const struct bs_command bs_command_compare = {
	.name = "compare",
	.summary = "percent error, NRMSE after optimal scaling, PSNR of image A against image B",
	.notes = "A, B and M are .cfl or MRD .h5 images (FILE.h5#SERIES where it holds "
		 "several). B is the reference: errors are relative to it. scaled: after the "
		 "complex factor a that brings A nearest to B.",
	.options = options,
	.request = &(struct request){ .max_nrmse = -1.0, .max_unscaled = -1.0 },
	.run = run_compare,
};

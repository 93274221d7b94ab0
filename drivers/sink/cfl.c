/* drivers/sink/cfl.c - images as BART arrays; see sink.h */
#include "drivers/sink/sink.h"

#include <stdlib.h>

#include "drivers/file/cfl.h"

static int write_named(struct bs_imagename *n, const struct bs_mrd_image *head, const float *data,
		       struct bs_fail *why)
{
	uint64_t dims[BS_CFL_DIMS];
	int rc = BS_DRAFT_EXISTS;

	bs_cfl_sizes(dims, head->matrix_size[0], head->matrix_size[1], head->matrix_size[2],
		     head->channels);
	for (uint32_t t = 0; rc == BS_DRAFT_EXISTS; t++) {
		char path[BS_DRAFT_PATH];

		rc = bs_imagename_make(n, path, head, t, why);
		if (rc != 0)
			return rc;
		rc = n->folder ? bs_cfl_write_new(path, dims, data, why)
			       : bs_cfl_write(path, dims, data, why);
		if (rc == BS_DRAFT_EXISTS && t == BS_IMAGENAME_TRIES)
			rc = bs_fail(why, BS_ERR_IO, "%s and %u like it are taken", path, t);
	}
	if (rc == 0)
		n->images++;
	return rc;
}

static int cfl_put(void *self, const struct bs_mrd_image *head, const char *attributes,
		   const void *pixels, struct bs_fail *why)
{
	const float *real = pixels;
	uint64_t values = (uint64_t)head->matrix_size[0] * head->matrix_size[1] *
			  head->matrix_size[2] * head->channels;
	float *data;
	int rc;

	(void)attributes; /* the format has no place for attributes */
	if (head->data_type == BS_MRD_CXFLOAT)
		return write_named(self, head, real, why);
	data = malloc((size_t)values * 2 * sizeof(*data));
	if (data == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "image %u: no memory for %llu values",
			       head->image_index, (unsigned long long)values);
	for (uint64_t i = 0; i < values; i++) {
		data[2 * i] = real[i];
		data[2 * i + 1] = 0.0f;
	}
	rc = write_named(self, head, data, why);
	free(data);
	return rc;
}

const struct bs_sink bs_sink_cfl = { .type = "cfl",
				     .ext = ".cfl",
				     .last = ".hdr",
				     .bytes = sizeof(struct bs_imagename),
				     .put = cfl_put,
				     .put_pairs = cfl_put,
				     .at = bs_imagename_at };

/* drivers/sink/png.c - images as pictures; see sink.h */
#include "drivers/sink/sink.h"

#include <stdio.h>
#include <string.h>

#include "drivers/file/png.h"
#include "ipc/wire/meta.h"

static int png_put(void *self, const struct bs_mrd_image *head, const char *attributes,
		   const void *pixels, struct bs_fail *why)
{
	struct bs_imagename *n = self;
	struct bs_montage m;
	struct bs_draft d;
	char path[BS_DRAFT_PATH];
	char title[96];
	int rc = bs_montage_make(&m, pixels, head->data_type == BS_MRD_CXFLOAT,
				 head->matrix_size[0], head->matrix_size[1],
				 (uint32_t)head->matrix_size[2] * head->channels, why);

	m.reach = bs_meta_reach(head, attributes, strlen(attributes));
	if (rc == 0)
		rc = bs_imagename_make(n, path, head, 0, why);
	if (rc == 0)
		rc = bs_draft_open(&d, path, why);
	if (rc != 0)
		return rc;
	(void)snprintf(title, sizeof(title), "scan %08x, series %u, image %u",
		       head->measurement_uid, head->image_series_index, head->image_index);
	rc = bs_pngfile_write(&d, &m, title, attributes, why);
	return bs_imagename_commit(n, &d, rc, head, why);
}

const struct bs_sink bs_sink_png = { .type = "png",
				     .ext = ".png",
				     .bytes = sizeof(struct bs_imagename),
				     .put = png_put,
				     .at = bs_imagename_at };

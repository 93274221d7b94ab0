/*
 * drivers/sink/mrd.c - images in MRD's HDF5 layout, through libismrmrd; see sink.h
 *
 * libismrmrd stacks the images of one group in one array, so all of a series must be of one size
 * and type; it finds out only after it has appended the header, hence the check here.
 */
#include "drivers/sink/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/file/hdf5.h"
#include "ipc/wire/mrd.h"

_Static_assert(sizeof(ISMRMRD_ImageHeader) == BS_MRD_IMAGE_BYTES, "the wire's own layout");

struct series {
	uint16_t number, matrix[3], channels, type;
};

struct mrd {
	struct bs_imagename name;
	/* the one file of a target that is a file name */
	bool is_open;
	struct bs_mrdh5_out out;
	struct series *series;
	size_t n_series;
};

static int file_open(struct mrd *m, const struct bs_mrd_image *head, struct bs_fail *why)
{
	char path[BS_DRAFT_PATH];
	int rc = bs_imagename_make(&m->name, path, head, 0, why);

	if (rc == 0)
		rc = bs_mrdh5_create(&m->out, path, why);
	m->n_series = 0;
	m->is_open = rc == 0;
	return rc;
}

/* Closes the file; gives it its name unless a write had failed. */
static int file_close(struct mrd *m, const struct bs_mrd_image *head, struct bs_fail *why)
{
	int rc = bs_mrdh5_finish(&m->out, why);

	m->is_open = false;
	return rc != 0 ? rc : bs_imagename_commit(&m->name, &m->out.draft, 0, head, why);
}

static int check_series(struct mrd *m, const struct bs_mrd_image *head, struct bs_fail *why)
{
	struct series now = { head->image_series_index,
			      { head->matrix_size[0], head->matrix_size[1], head->matrix_size[2] },
			      head->channels,
			      head->data_type };
	struct series *more;

	for (size_t i = 0; i < m->n_series; i++) {
		const struct series *s = &m->series[i];

		if (s->number != now.number)
			continue;
		if (memcmp(s, &now, sizeof(now)) == 0)
			return 0;
		return bs_fail(
			why, BS_ERR_SIZE,
			"%s: series %u has %u x %u x %u, %u channels, type %u; image %u has %u x "
			"%u x %u, %u channels, type %u",
			m->out.path, s->number, s->matrix[0], s->matrix[1], s->matrix[2],
			s->channels, s->type, head->image_index, now.matrix[0], now.matrix[1],
			now.matrix[2], now.channels, now.type);
	}
	more = realloc(m->series, (m->n_series + 1) * sizeof(*more));
	if (more == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory for series %u", m->out.path,
			       now.number);
	m->series = more;
	m->series[m->n_series++] = now;
	return 0;
}

static int append(struct mrd *m, const struct bs_mrd_image *head, const char *attributes,
		  const void *pixels, struct bs_fail *why)
{
	ISMRMRD_Image image;
	char group[32];
	int rc = check_series(m, head, why);

	if (rc != 0)
		return rc;
	bs_mrd_put_image((unsigned char *)&image.head, head);
	image.head.attribute_string_len = (uint32_t)strlen(attributes);
	image.attribute_string = (char *)(uintptr_t)attributes; /* libismrmrd only reads both */
	image.data = (void *)(uintptr_t)pixels;
	(void)snprintf(group, sizeof(group), "image_%u", head->image_series_index);
	if (ismrmrd_append_image(&m->out.set, group, &image) != ISMRMRD_NOERROR)
		return bs_mrdh5_failed(&m->out, why, "cannot append an image");
	return 0;
}

static int mrd_put(void *self, const struct bs_mrd_image *head, const char *attributes,
		   const void *pixels, struct bs_fail *why)
{
	struct mrd *m = self;
	int rc = 0;

	if (m->is_open && m->out.failed)
		rc = bs_fail(why, BS_ERR_IO, "%s: an earlier write failed", m->out.path);
	else if (!m->is_open)
		rc = file_open(m, head, why);
	if (rc != 0)
		return rc;
	rc = append(m, head, attributes, pixels, why);
	if (m->name.folder) {
		m->out.failed = m->out.failed || rc != 0;
		rc = rc != 0 ? (file_close(m, head, NULL), rc) : file_close(m, head, why);
	}
	return rc;
}

static int mrd_end(void *self, struct bs_fail *why)
{
	static const struct bs_mrd_image unnamed; /* a file name does not depend on the image */
	struct mrd *m = self;

	free(m->series);
	return m->is_open ? file_close(m, &unnamed, why) : 0;
}

const struct bs_sink bs_sink_mrd = {
	.type = "mrd", .ext = ".h5", .bytes = sizeof(struct mrd), .put = mrd_put, .end = mrd_end
};

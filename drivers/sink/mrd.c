/*
 * drivers/sink/mrd.c - images in MRD's HDF5 layout, through libismrmrd; see sink.h
 *
 * libismrmrd stacks the images of one group in one array, so all of a series must be of one size
 * and type; it finds out only after it has appended the header, hence the check here.
 */
#include "drivers/sink/sink.h"

#include <ismrmrd/dataset.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/sink/name.h"
#include "drivers/file/hdf5.h"

struct series {
	uint16_t number, matrix[3], channels, type;
};

struct mrd {
	struct bs_imagename name;
	/* the one file of a target that is a file name */
	bool is_open, failed;
	ISMRMRD_Dataset out;
	struct bs_draft draft;
	char path[BS_DRAFT_PATH];
	struct series *series;
	size_t n_series;
};

static int file_open(struct mrd *m, const struct bs_mrd_image *head, struct bs_fail *why)
{
	int rc = bs_imagename_make(&m->name, m->path, head, 0, why);

	if (rc == 0)
		rc = bs_draft_open(&m->draft, m->path, why);
	if (rc != 0)
		return rc;
	m->n_series = 0;
	m->failed = false;
	/* The draft is empty: libismrmrd finds no HDF5 in it and creates that. */
	if (ismrmrd_init_dataset(&m->out, m->draft.temp, "/dataset") != ISMRMRD_NOERROR ||
	    (bs_mrdh5_silence(), ismrmrd_open_dataset(&m->out, true)) != ISMRMRD_NOERROR) {
		rc = bs_mrdh5_fail(why, BS_ERR_IO, m->path, "cannot create");
		(void)ismrmrd_close_dataset(&m->out);
		bs_draft_drop(&m->draft);
		return rc;
	}
	m->is_open = true;
	return 0;
}

/* Closes the file; gives it its name unless a write had failed. */
static int file_close(struct mrd *m, const struct bs_mrd_image *head, struct bs_fail *why)
{
	int rc = 0;

	m->is_open = false;
	if (ismrmrd_close_dataset(&m->out) != ISMRMRD_NOERROR && !m->failed)
		rc = bs_mrdh5_fail(why, BS_ERR_IO, m->path, "cannot finish the file");
	if (m->failed)
		rc = bs_fail(why, BS_ERR_IO, "%s: dropped after a failed write", m->path);
	if (rc != 0) {
		bs_draft_drop(&m->draft);
		return rc;
	}
	return bs_imagename_commit(&m->name, &m->draft, head, why);
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
			m->path, s->number, s->matrix[0], s->matrix[1], s->matrix[2], s->channels,
			s->type, head->image_index, now.matrix[0], now.matrix[1], now.matrix[2],
			now.channels, now.type);
	}
	more = realloc(m->series, (m->n_series + 1) * sizeof(*more));
	if (more == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory for series %u", m->path,
			       now.number);
	m->series = more;
	m->series[m->n_series++] = now;
	return 0;
}

static void to_ismrmrd(ISMRMRD_ImageHeader *to, const struct bs_mrd_image *h, size_t attributes)
{
	memset(to, 0, sizeof(*to));
	to->version = h->version;
	to->data_type = h->data_type;
	to->flags = h->flags;
	to->measurement_uid = h->measurement_uid;
	to->channels = h->channels;
	to->average = h->average;
	to->slice = h->slice;
	to->contrast = h->contrast;
	to->phase = h->phase;
	to->repetition = h->repetition;
	to->set = h->set;
	to->acquisition_time_stamp = h->acquisition_time_stamp;
	to->image_type = h->image_type;
	to->image_index = h->image_index;
	to->image_series_index = h->image_series_index;
	to->attribute_string_len = (uint32_t)attributes;
	for (int i = 0; i < 3; i++) {
		to->matrix_size[i] = h->matrix_size[i];
		to->field_of_view[i] = h->field_of_view[i];
		to->position[i] = h->position[i];
		to->read_dir[i] = h->read_dir[i];
		to->phase_dir[i] = h->phase_dir[i];
		to->slice_dir[i] = h->slice_dir[i];
		to->patient_table_position[i] = h->patient_table_position[i];
		to->physiology_time_stamp[i] = h->physiology_time_stamp[i];
	}
	for (int i = 0; i < 8; i++) {
		to->user_int[i] = h->user_int[i];
		to->user_float[i] = h->user_float[i];
	}
}

static int append(struct mrd *m, const struct bs_mrd_image *head, const char *attributes,
		  const void *pixels, struct bs_fail *why)
{
	ISMRMRD_Image image;
	char group[32];
	int rc = check_series(m, head, why);

	if (rc != 0)
		return rc;
	to_ismrmrd(&image.head, head, strlen(attributes));
	image.attribute_string = (char *)(uintptr_t)attributes; /* both are only read */
	image.data = (void *)(uintptr_t)pixels;
	(void)snprintf(group, sizeof(group), "image_%u", head->image_series_index);
	if (ismrmrd_append_image(&m->out, group, &image) != ISMRMRD_NOERROR) {
		m->failed = true;
		return bs_mrdh5_fail(why, BS_ERR_IO, m->path, "cannot append an image");
	}
	return 0;
}

static int mrd_open(void **self, const char *target, struct bs_fail *why)
{
	struct mrd *m = calloc(1, sizeof(*m));
	int rc;

	if (m == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory for a sink", target);
	m->draft.fd = -1;
	rc = bs_imagename_open(&m->name, target, ".h5", why);
	if (rc != 0)
		free(m);
	else
		*self = m;
	return rc;
}

static int mrd_put(void *self, const struct bs_mrd_image *head, const char *attributes,
		   const void *pixels, struct bs_fail *why)
{
	struct mrd *m = self;
	uint64_t values;
	int rc = bs_sink_values(head, &values, why);

	if (rc == 0 && m->failed && m->is_open)
		rc = bs_fail(why, BS_ERR_IO, "%s: an earlier write failed", m->path);
	if (rc == 0 && !m->is_open)
		rc = file_open(m, head, why);
	if (rc != 0)
		return rc;
	rc = append(m, head, attributes, pixels, why);
	if (m->name.folder) {
		m->failed = m->failed || rc != 0;
		rc = rc != 0 ? (file_close(m, head, NULL), rc) : file_close(m, head, why);
	}
	return rc;
}

static int mrd_close(void *self, struct bs_fail *why)
{
	static const struct bs_mrd_image unnamed; /* a file name does not depend on the image */
	struct mrd *m = self;
	int rc = m->is_open ? file_close(m, &unnamed, why) : 0;

	free(m->series);
	free(m);
	return rc;
}

const struct bs_sink bs_sink_mrd = { "mrd", mrd_open, mrd_put, mrd_close };

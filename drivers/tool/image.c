/* drivers/tool/image.c - see image.h */
#include "drivers/tool/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/file/draft.h"
#include "drivers/tool/load/h5.h"
#include "drivers/tool/load/probe.h"

#define NAME_BYTES 128u
#define LINKS_MAX  4096u /* most links in a group; a file with more is none of images */

struct found {
	const char *want; /* name of the wanted series; NULL: any */
	unsigned count;
	char first[2 * NAME_BYTES];
	char list[200];
};

static ssize_t link_name(hid_t group, hsize_t i, char *name)
{
	return H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, NAME_BYTES,
				  H5P_DEFAULT);
}

static hsize_t links_of(hid_t group)
{
	H5G_info_t info;

	if (H5Gget_info(group, &info) < 0)
		return 0;
	return info.nlinks < LINKS_MAX ? info.nlinks : LINKS_MAX;
}

static bool is_series(hid_t group, const char *name)
{
	hid_t s = H5Gopen2(group, name, H5P_DEFAULT);
	bool yes;

	if (s < 0)
		return false;
	yes = H5Lexists(s, "header", H5P_DEFAULT) > 0 && H5Lexists(s, "data", H5P_DEFAULT) > 0;
	(void)H5Gclose(s);
	return yes;
}

static void note(struct found *f, const char *group, const char *series)
{
	char full[2 * NAME_BYTES];
	size_t used = strlen(f->list);

	(void)snprintf(full, sizeof(full), "%s/%s", group, series);
	if (f->want != NULL && strcmp(f->want, full) != 0 && strcmp(f->want, series) != 0)
		return;
	if (f->count++ == 0)
		memcpy(f->first, full, sizeof(full));
	(void)snprintf(f->list + used, sizeof(f->list) - used, " %s", full);
}

static void find_series(struct found *f, hid_t file)
{
	for (hsize_t i = 0; i < links_of(file); i++) {
		char group[NAME_BYTES];
		hid_t g;

		if (link_name(file, i, group) <= 0 || (g = H5Gopen2(file, group, H5P_DEFAULT)) < 0)
			continue;
		for (hsize_t k = 0; k < links_of(g); k++) {
			char series[NAME_BYTES];

			if (link_name(g, k, series) > 0 && is_series(g, series))
				note(f, group, series);
		}
		(void)H5Gclose(g);
	}
	(void)H5Eclear2(H5E_DEFAULT); /* clears the errors of links that are no groups */
}

/* Reads the sizes [image][channel][z][y][x], which may not exceed what the file can hold. */
static int read_sizes(struct bs_cfl *im, hid_t set, hid_t stored, const char *path,
		      struct bs_fail *why)
{
	static const unsigned to[5] = { 10, 3, 2, 1, 0 };
	hid_t space = H5Dget_space(set);
	hsize_t dims[H5S_MAX_RANK];
	int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, NULL);
	uint64_t limit = (uint64_t)H5Dget_storage_size(set) / H5Tget_size(stored);

	if (space >= 0)
		(void)H5Sclose(space);
	if (rank != 5)
		return bs_fail(
			why, BS_ERR_FORMAT,
			"%s: the images have %d dimensions, MRD has 5 (image, channel, z, y, x)",
			path, rank);
	limit = limit < (UINT64_C(1) << 40) ? limit * BS_MRDH5_SQUEEZE : limit;
	im->size = 1;
	bs_cfl_sizes(im->dims, 1, 1, 1, 1);
	for (int i = 0; i < 5; i++) {
		if (dims[i] == 0 || dims[i] > limit / im->size)
			return bs_fail(
				why, BS_ERR_FORMAT,
				"%s: claims %llu x %llu x %llu x %llu x %llu values, more than "
				"it stores",
				path, (unsigned long long)dims[0], (unsigned long long)dims[1],
				(unsigned long long)dims[2], (unsigned long long)dims[3],
				(unsigned long long)dims[4]);
		im->size *= dims[i];
		im->dims[to[i]] = dims[i];
	}
	return 0;
}

static int read_values(struct bs_cfl *im, hid_t set, hid_t stored, const char *path,
		       struct bs_fail *why)
{
	H5T_class_t kind = H5Tget_class(stored);
	bool cx = kind == H5T_COMPOUND && H5Tget_member_index(stored, "real") >= 0 &&
		  H5Tget_member_index(stored, "imag") >= 0;
	hid_t type;
	herr_t rc;

	if (!cx && kind != H5T_FLOAT && kind != H5T_INTEGER)
		return bs_fail(why, BS_ERR_FORMAT,
			       "%s: the images are neither numbers nor complex numbers", path);
	im->data = malloc((size_t)im->size * 2 * sizeof(*im->data));
	type = cx ? bs_mrdh5_cxfloat_type() : H5Tcopy(H5T_NATIVE_FLOAT);
	if (im->data == NULL || type < 0) {
		if (type >= 0)
			(void)H5Tclose(type);
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory for %llu values", path,
			       (unsigned long long)im->size);
	}
	rc = H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, im->data);
	(void)H5Tclose(type);
	if (rc < 0)
		return bs_mrdh5_fail(why, BS_ERR_FORMAT, path, "the images cannot be read");
	/* makes real values complex in place, from the end */
	for (uint64_t i = im->size; !cx && i-- > 0;) {
		im->data[2 * i] = im->data[i];
		im->data[2 * i + 1] = 0.0f;
	}
	return 0;
}

static int read_series(struct bs_cfl *im, hid_t file, const char *series, const char *path,
		       struct bs_fail *why)
{
	char at[2 * NAME_BYTES + 16];
	hid_t set;
	hid_t stored;
	int rc;

	(void)snprintf(at, sizeof(at), "/%s/data", series);
	set = H5Dopen2(file, at, H5P_DEFAULT);
	stored = set < 0 ? -1 : H5Dget_type(set);
	if (stored < 0 || H5Tget_size(stored) == 0)
		rc = bs_mrdh5_fail(why, BS_ERR_FORMAT, path, "the images cannot be opened");
	else
		rc = read_sizes(im, set, stored, path, why);
	/* limit in seconds: eight megabytes a second, and a constant */
	bs_probe_allow(30 + (unsigned)(im->size >> 20));
	if (rc == 0)
		rc = read_values(im, set, stored, path, why);
	if (stored >= 0)
		(void)H5Tclose(stored);
	if (set >= 0)
		(void)H5Dclose(set);
	return rc;
}

/* The type of an image's head in memory, of the members that tell its place. */
static hid_t head_type(void)
{
	static const struct {
		const char *name;
		size_t at;
	} member[] = {
		{ "matrix_size", offsetof(struct bs_mrd_image, matrix_size) },
		{ "field_of_view", offsetof(struct bs_mrd_image, field_of_view) },
		{ "position", offsetof(struct bs_mrd_image, position) },
		{ "read_dir", offsetof(struct bs_mrd_image, read_dir) },
		{ "phase_dir", offsetof(struct bs_mrd_image, phase_dir) },
		{ "slice_dir", offsetof(struct bs_mrd_image, slice_dir) },
	};
	const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct bs_mrd_image));

	for (size_t i = 0; i < sizeof(member) / sizeof(member[0]); i++) {
		const hid_t three = H5Tarray_create2(i == 0 ? H5T_NATIVE_UINT16 : H5T_NATIVE_FLOAT,
						     1, (const hsize_t[]){ 3 });

		(void)H5Tinsert(type, member[i].name, member[i].at, three);
		(void)H5Tclose(three);
	}
	return type;
}

static int read_head(struct bs_mrd_image *head, hid_t file, const char *series, const char *path,
		     struct bs_fail *why)
{
	char at[2 * NAME_BYTES + 16];
	hid_t set;
	hid_t in;
	hid_t out = H5Screate(H5S_SCALAR);
	hid_t type = head_type();
	hsize_t zero[H5S_MAX_RANK] = { 0 };
	hsize_t one[H5S_MAX_RANK];
	herr_t rc;

	for (int i = 0; i < H5S_MAX_RANK; i++)
		one[i] = 1;
	memset(head, 0, sizeof(*head));
	(void)snprintf(at, sizeof(at), "/%s/header", series);
	set = H5Dopen2(file, at, H5P_DEFAULT);
	in = set < 0 ? -1 : H5Dget_space(set);
	rc = in < 0 ? -1 : H5Sselect_hyperslab(in, H5S_SELECT_SET, zero, NULL, one, NULL);
	if (rc >= 0)
		rc = H5Dread(set, type, out, in, H5P_DEFAULT, head);
	if (in >= 0)
		(void)H5Sclose(in);
	if (set >= 0)
		(void)H5Dclose(set);
	(void)H5Tclose(type);
	(void)H5Sclose(out);
	return rc >= 0 ? 0
		       : bs_mrdh5_fail(why, BS_ERR_FORMAT, path,
				       "the images' heads cannot be read");
}

/* Reads FILE.h5 or FILE.h5#SERIES. head: NULL if it is not wanted. */
static int read_h5(struct bs_cfl *im, struct bs_mrd_image *head, const char *name,
		   struct bs_fail *why)
{
	const char *hash = strrchr(name, '#');
	size_t n = hash != NULL ? (size_t)(hash - name) : strlen(name);
	struct found f = { .want = hash != NULL ? hash + 1 : NULL };
	char path[BS_DRAFT_PATH];
	uint64_t bytes;
	hid_t file;
	int rc;

	memset(im, 0, sizeof(*im));
	if (n >= sizeof(path))
		return bs_fail(why, BS_ERR_IO, "a file name of %zu bytes is too long", n);
	memcpy(path, name, n);
	path[n] = '\0';
	rc = bs_mrdh5_open(&file, &bytes, path, why);
	if (rc != 0)
		return rc;
	find_series(&f, file);
	if (f.count == 0)
		rc = bs_fail(why, BS_ERR_FORMAT, "%s: holds no MRD images%s%s", path,
			     f.want != NULL ? " named " : "", f.want != NULL ? f.want : "");
	else if (f.count > 1)
		rc = bs_fail(why, BS_ERR_FORMAT,
			     "%s: holds several series, say which (%s#SERIES):%s", path, path,
			     f.list);
	else
		rc = read_series(im, file, f.first, path, why);
	if (rc == 0 && head != NULL)
		rc = read_head(head, file, f.first, path, why);
	(void)H5Fclose(file);
	if (rc != 0)
		bs_cfl_free(im);
	return rc;
}

static int try_h5(const char *name, struct bs_fail *why)
{
	struct bs_mrd_image head;
	struct bs_cfl im;
	int rc = read_h5(&im, &head, name, why);

	if (rc == 0)
		bs_cfl_free(&im);
	return rc;
}

int bs_imagefile_placed(struct bs_cfl *image, struct bs_mrd_image *head, const char *name,
			struct bs_fail *why)
{
	const char *ext = strstr(name, ".h5");
	bool h5 = false;
	int rc;

	for (; ext != NULL && !h5; ext = strstr(ext + 1, ".h5"))
		h5 = ext[3] == '\0' || ext[3] == '#';
	memset(image, 0, sizeof(*image));
	if (!h5 && head != NULL)
		return bs_fail(why, BS_ERR_FORMAT, "%s: only MRD images (.h5) tell their place",
			       name);
	if (!h5)
		return bs_cfl_read(image, name, why);
	rc = bs_probe(try_h5, name, why);
	return rc == 0 ? read_h5(image, head, name, why) : rc;
}

int bs_imagefile_read(struct bs_cfl *image, const char *name, struct bs_fail *why)
{
	return bs_imagefile_placed(image, NULL, name, why);
}

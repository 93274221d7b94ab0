/* drivers/file/hdf5.c - see hdf5.h */
#include "drivers/file/hdf5.h"

#include <stdio.h>
#include <string.h>

void bs_mrdh5_silence(void)
{
	(void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	ismrmrd_set_error_handler(NULL);
}

static herr_t take_first(unsigned n, const H5E_error2_t *e, void *text)
{
	/* errno's words stand after this mark, behind time and name */
	static const char mark[] = "error message = '";
	const char *words = n == 0 && e->desc != NULL ? strstr(e->desc, mark) : NULL;

	if (words != NULL) {
		words += strlen(mark);
		(void)snprintf(text, 160, "%.*s", (int)strcspn(words, "'"), words);
	} else if (n == 0 && e->desc != NULL) {
		(void)snprintf(text, 160, "%s", e->desc);
	}
	return 0;
}

int bs_mrdh5_fail(struct bs_fail *why, int code, const char *path, const char *what)
{
	char reason[160] = "";
	char *message = NULL;
	char *last = NULL;

	(void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, reason);
	(void)H5Eclear2(H5E_DEFAULT);
	/* libismrmrd's own newest message is constant text. Messages under it may be HDF5's, which
	 * vanish with HDF5's stack. */
	while (ismrmrd_pop_error(NULL, NULL, NULL, NULL, &message))
		if (last == NULL)
			last = message;
	if (reason[0] == '\0' && last != NULL)
		(void)snprintf(reason, sizeof(reason), "%s", last);
	return bs_fail(why, code, "%s: %s%s%s", path, what, reason[0] ? ": " : "", reason);
}

/*
 * The driver that writes files: while a file is closed, no write fails. A file that HDF5 fails to
 * close stays open in it, keeps its space on the disk, and crashes HDF5's handler at exit.
 */
static struct {
	hid_t access; /* list of access properties; 0: not made yet */
	H5FD_class_t its;
	const H5FD_class_t *sec2;     /* HDF5's driver that this one extends */
	bool closing, broken, failed; /* broken: no further byte is written */
} out_driver;

static herr_t ended(herr_t rc)
{
	out_driver.failed = out_driver.failed || rc < 0;
	return out_driver.closing ? 0 : rc;
}

static herr_t out_write(H5FD_t *f, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size,
			const void *bytes)
{
	if (out_driver.broken)
		return 0;
	return ended(out_driver.sec2->write(f, type, transfer, at, size, bytes));
}

static herr_t out_truncate(H5FD_t *f, hid_t transfer, hbool_t closing)
{
	if (out_driver.broken)
		return 0;
	return ended(out_driver.sec2->truncate(f, transfer, closing));
}

/*
 * Returns the properties to write files with our driver, which closes also a file that libismrmrd
 * leaves open. path: an existing file. Negative: HDF5 fails.
 */
static hid_t access_by(const char *path)
{
	hid_t access = out_driver.access;
	H5FD_t *f = access > 0 ? NULL : H5FDopen(path, H5F_ACC_RDONLY, H5P_DEFAULT, HADDR_UNDEF);

	if (access > 0 || f == NULL)
		return access > 0 ? access : -1;
	out_driver.sec2 = f->cls;
	out_driver.its = *f->cls;
	(void)H5FDclose(f);
	out_driver.its.name = "boreside";
	out_driver.its.write = out_write;
	out_driver.its.truncate = out_truncate;
	access = H5Pcreate(H5P_FILE_ACCESS);
	if (H5Pset_driver(access, H5FDregister(&out_driver.its), NULL) < 0 ||
	    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) < 0)
		return -1;
	out_driver.access = access;
	return access;
}

/* Makes an empty file with the group /dataset. */
static int make_file(struct bs_mrdh5_out *o)
{
	hid_t access = access_by(o->draft.temp);
	hid_t group;

	if (access < 0)
		return -1;
	o->set.fileid = H5Fcreate(o->draft.temp, H5F_ACC_TRUNC, H5P_DEFAULT, access);
	if (o->set.fileid < 0)
		return -1;
	group = H5Gcreate2(o->set.fileid, o->set.groupname, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	return group >= 0 && H5Gclose(group) >= 0 ? 0 : -1;
}

/* Closes the file. drop: nothing more is written to it. True: all of it is written. */
static bool shut(struct bs_mrdh5_out *o, bool drop)
{
	bool closed;

	out_driver.closing = true;
	out_driver.failed = false;
	out_driver.broken = drop;
	closed = ismrmrd_close_dataset(&o->set) == ISMRMRD_NOERROR;
	out_driver.closing = out_driver.broken = false;
	return closed && !out_driver.failed;
}

int bs_mrdh5_create(struct bs_mrdh5_out *o, const char *path, struct bs_fail *why)
{
	int rc = bs_draft_open(&o->draft, path, why);

	if (rc != 0)
		return rc;
	bs_mrdh5_silence();
	o->failed = false;
	(void)snprintf(o->path, sizeof(o->path), "%s", path);
	if (ismrmrd_init_dataset(&o->set, o->draft.temp, "/dataset") != ISMRMRD_NOERROR ||
	    make_file(o) != 0) {
		rc = bs_mrdh5_fail(why, BS_ERR_IO, path, "cannot create");
		(void)shut(o, true);
		bs_draft_drop(&o->draft);
	}
	return rc;
}

int bs_mrdh5_failed(struct bs_mrdh5_out *o, struct bs_fail *why, const char *what)
{
	o->failed = true;
	return bs_mrdh5_fail(why, BS_ERR_IO, o->path, what);
}

int bs_mrdh5_finish(struct bs_mrdh5_out *o, struct bs_fail *why)
{
	int rc = 0;

	if (!shut(o, o->failed) && !o->failed)
		rc = bs_mrdh5_failed(o, why, "cannot finish the file");
	else if (o->failed)
		rc = bs_fail(why, BS_ERR_IO, "%s: dropped after a failed write", o->path);
	if (rc != 0)
		bs_draft_drop(&o->draft);
	return rc;
}

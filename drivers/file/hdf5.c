/* drivers/file/hdf5.c - see hdf5.h */
#define _GNU_SOURCE /* for O_CLOEXEC, flock */
#include "drivers/file/hdf5.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/thread/clock.h"

#define LOCK_TRIES 20u                /* tries to read a file that another process writes */
#define LOCK_NS    INT64_C(100000000) /* time between two such tries */

enum base { U16, U32, U64, I32, F32 };

struct member {
	const char *name;
	size_t offset;
	enum base base;
	unsigned count; /* number of elements; 1: one number; more: an array */
};

#define ACQ(f, base, n)                                                                            \
	{                                                                                          \
#f, offsetof(struct bs_mrd_acq, f), base, n                                        \
	}
static const struct member acq_members[] = {
	ACQ(version, U16, 1),
	ACQ(flags, U64, 1),
	ACQ(measurement_uid, U32, 1),
	ACQ(scan_counter, U32, 1),
	ACQ(acquisition_time_stamp, U32, 1),
	ACQ(physiology_time_stamp, U32, 3),
	ACQ(number_of_samples, U16, 1),
	ACQ(available_channels, U16, 1),
	ACQ(active_channels, U16, 1),
	ACQ(channel_mask, U64, 16),
	ACQ(discard_pre, U16, 1),
	ACQ(discard_post, U16, 1),
	ACQ(center_sample, U16, 1),
	ACQ(encoding_space_ref, U16, 1),
	ACQ(trajectory_dimensions, U16, 1),
	ACQ(sample_time_us, F32, 1),
	ACQ(position, F32, 3),
	ACQ(read_dir, F32, 3),
	ACQ(phase_dir, F32, 3),
	ACQ(slice_dir, F32, 3),
	ACQ(patient_table_position, F32, 3),
	ACQ(user_int, I32, 8),
	ACQ(user_float, F32, 8),
};

#define IDX(f, n)                                                                                  \
	{                                                                                          \
#f, offsetof(struct bs_mrd_idx, f), U16, n                                         \
	}
static const struct member idx_members[] = {
	IDX(kspace_encode_step_1, 1),
	IDX(kspace_encode_step_2, 1),
	IDX(average, 1),
	IDX(slice, 1),
	IDX(contrast, 1),
	IDX(phase, 1),
	IDX(repetition, 1),
	IDX(set, 1),
	IDX(segment, 1),
	IDX(user, 8),
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static hid_t base_type(enum base b)
{
	switch (b) {
	case U16:
		return H5T_NATIVE_UINT16;
	case U32:
		return H5T_NATIVE_UINT32;
	case U64:
		return H5T_NATIVE_UINT64;
	case I32:
		return H5T_NATIVE_INT32;
	case F32:
		break;
	}
	return H5T_NATIVE_FLOAT;
}

/* Inserts a member into a compound type, and closes the member's own type. */
static int insert(hid_t t, const char *name, size_t offset, hid_t member)
{
	int rc = member < 0 ? -1 : (int)H5Tinsert(t, name, offset, member);

	if (member >= 0)
		(void)H5Tclose(member);
	return rc < 0 ? -1 : 0;
}

static hid_t compound(size_t bytes, const struct member *m, size_t count)
{
	hid_t t = H5Tcreate(H5T_COMPOUND, bytes);

	for (size_t i = 0; t >= 0 && i < count; i++) {
		hsize_t n = m[i].count;
		hid_t b = base_type(m[i].base);
		hid_t member = n == 1 ? H5Tcopy(b) : H5Tarray_create2(b, 1, &n);

		if (insert(t, m[i].name, m[i].offset, member) != 0) {
			(void)H5Tclose(t);
			return -1;
		}
	}
	return t;
}

static hid_t acq_head_type(void)
{
	hid_t t = compound(sizeof(struct bs_mrd_acq), acq_members, COUNT(acq_members));

	if (t >= 0 &&
	    insert(t, "idx", offsetof(struct bs_mrd_acq, idx),
		   compound(sizeof(struct bs_mrd_idx), idx_members, COUNT(idx_members)))) {
		(void)H5Tclose(t);
		return -1;
	}
	return t;
}

hid_t bs_mrdh5_acq_type(void)
{
	hid_t t = H5Tcreate(H5T_COMPOUND, sizeof(struct bs_mrdh5_acq));

	if (t < 0)
		return -1;
	if (insert(t, "head", offsetof(struct bs_mrdh5_acq, head), acq_head_type()) ||
	    insert(t, "traj", offsetof(struct bs_mrdh5_acq, traj),
		   H5Tvlen_create(H5T_NATIVE_FLOAT)) ||
	    insert(t, "data", offsetof(struct bs_mrdh5_acq, data),
		   H5Tvlen_create(H5T_NATIVE_FLOAT))) {
		(void)H5Tclose(t);
		return -1;
	}
	return t;
}

hid_t bs_mrdh5_cxfloat_type(void)
{
	static const struct member parts[] = { { "real", 0, F32, 1 }, { "imag", 4, F32, 1 } };

	return compound(8, parts, COUNT(parts));
}

/* Stops both libraries from printing errors. Call before any other call; may be repeated. */
static void silence(void)
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

/* True if another process has the file open to write: HDF5 then fails to read it. */
static bool is_locked(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		(void)close(fd);
	return locked;
}

int bs_mrdh5_open(hid_t *file, uint64_t *bytes, const char *path, struct bs_fail *why)
{
	bool locked = false;
	struct stat st;
	htri_t known;

	silence();
	if (stat(path, &st) != 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return bs_fail(why, BS_ERR_FORMAT, "%s: not a regular file", path);
	known = H5Fis_hdf5(path);
	if (known < 0)
		return bs_mrdh5_fail(why, BS_ERR_IO, path, "cannot read");
	if (known == 0)
		return bs_fail(why, BS_ERR_FORMAT, "%s: not an HDF5 file (%lld bytes)", path,
			       (long long)st.st_size);
	for (unsigned tries = 0; tries < LOCK_TRIES; tries++) {
		errno = 0;
		*file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
		locked = *file < 0 && (errno == EWOULDBLOCK || is_locked(path));
		if (!locked)
			break;
		bs_sleep_ns(LOCK_NS);
	}
	if (*file < 0)
		return bs_mrdh5_fail(why, locked ? BS_ERR_IO : BS_ERR_FORMAT, path,
				     locked ? "another process has it open to write"
					    : "damaged HDF5 file");
	*bytes = (uint64_t)st.st_size;
	return 0;
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
	silence();
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

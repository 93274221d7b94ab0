/* drivers/tool/load/h5.c - see h5.h */
#include "drivers/tool/load/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
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

	bs_mrdh5_silence();
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

/*
 * drivers/file/hdf5.h - MRD's HDF5 layout: compound types in memory, and HDF5's reasons in words
 *
 * The types describe core/mrd.h's structs, so that HDF5 converts between them and whatever the
 * file holds, member by member, by name. The caller closes them (H5Tclose). What is written
 * goes through libismrmrd: create -> its own calls on .set -> finish. Only drivers/ files that read
 * or write HDF5 include this. One thread: Debian's HDF5 is not thread-safe.
 * Source: ISMRMRD 1.8, dataset layout.
 */
#ifndef BS_DRIVERS_FILE_HDF5_H
#define BS_DRIVERS_FILE_HDF5_H

#include <hdf5.h>
#include <ismrmrd/dataset.h>
#include <stdbool.h>

#include "core/mrd.h"
#include "drivers/file/draft.h"

/* One acquisition as HDF5 returns it; traj and data are sequences of float. */
struct bs_mrdh5_acq {
	struct bs_mrd_acq head;
	hvl_t traj, data;
};

/* Returns the compound type; negative: HDF5 is out of memory. */
hid_t bs_mrdh5_acq_type(void);
hid_t bs_mrdh5_cxfloat_type(void);

/* most bytes that one stored byte of deflate can become; no other filter of MRD reaches it */
#define BS_MRDH5_SQUEEZE 1032u

/* Writes "path: what: HDF5's innermost reason" into why. Returns code; clears both error stacks. */
int bs_mrdh5_fail(struct bs_fail *why, int code, const char *path, const char *what);

/* Opens a file read-only, after a check that it is regular and HDF5's. *bytes: its size. */
int bs_mrdh5_open(hid_t *file, uint64_t *bytes, const char *path, struct bs_fail *why);

/* A file while it is written. */
struct bs_mrdh5_out {
	ISMRMRD_Dataset set; /* libismrmrd's handle of the group /dataset */
	struct bs_draft draft;
	char path[BS_DRAFT_PATH];
	bool failed; /* a write failed: the file is in an unknown state */
};

int bs_mrdh5_create(struct bs_mrdh5_out *o, const char *path, struct bs_fail *why);
/* Notes that a call on .set failed: BS_ERR_IO with libismrmrd's reason; finish drops the file. */
int bs_mrdh5_failed(struct bs_mrdh5_out *o, struct bs_fail *why, const char *what);
/* Closes .set. Returns 0 if the draft is whole and can be committed; else the draft was dropped. */
int bs_mrdh5_finish(struct bs_mrdh5_out *o, struct bs_fail *why);

#endif

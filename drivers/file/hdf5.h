/*
 * drivers/file/hdf5.h - MRD's HDF5 files while they are written, and HDF5's reasons in words
 *
 * What is written goes through libismrmrd: create -> its own calls on .set -> finish. Only drivers/
 * files that read (drivers/tool/load/h5.h) or write HDF5 include this. One thread: Debian's HDF5 is
 * not thread-safe. Source: ISMRMRD 1.8, dataset layout.
 */
#ifndef BS_DRIVERS_FILE_HDF5_H
#define BS_DRIVERS_FILE_HDF5_H

#include <hdf5.h>
#include <ismrmrd/dataset.h>
#include <stdbool.h>

#include "drivers/file/draft.h"

/* Stops both libraries from printing errors. Call before any other call; may be repeated. */
void bs_mrdh5_silence(void);
/* Writes "path: what: HDF5's innermost reason" into why. Returns code; clears both error stacks. */
int bs_mrdh5_fail(struct bs_fail *why, int code, const char *path, const char *what);

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

/*
 * drivers/tool/load/h5.h - reading MRD's HDF5 layout: compound types in memory, files
 *
 * The types describe core/mrd.h's structs, so that HDF5 converts between them and whatever the
 * file holds, member by member, by name. The caller closes them (H5Tclose). One thread.
 * Source: ISMRMRD 1.8, dataset layout.
 */
#ifndef BS_DRIVERS_TOOL_LOAD_H5_H
#define BS_DRIVERS_TOOL_LOAD_H5_H

#include "core/mrd.h"
#include "drivers/file/hdf5.h"

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

/* Opens a file read-only, after a check that it is regular and HDF5's. *bytes: its size. */
int bs_mrdh5_open(hid_t *file, uint64_t *bytes, const char *path, struct bs_fail *why);

#endif

/*
 * drivers/tool/load/recording.h - recordings on disk: MRD's HDF5 (group /dataset) through
 * libismrmrd, and, to read, a scan's log (drivers/log)
 *
 * reading: open -> xml, count, read* -> close.  writing: create -> xml, append* -> close.
 * A damaged file is refused with BS_ERR_FORMAT and the reason; sizes in it are checked before
 * they are used. open reads the whole recording once, in a child process (probe.h), because HDF5
 * itself crashes on some damage. A new recording has its name only after a close that
 * succeeded; it replaces an older one; without a header it is dropped. Not for real-time threads:
 * libismrmrd and HDF5 allocate. One thread. Test: test/unit/drivers/test_recording.c
 */
#ifndef BS_DRIVERS_TOOL_LOAD_RECORDING_H
#define BS_DRIVERS_TOOL_LOAD_RECORDING_H

#include "core/err.h"
#include "core/mrd.h"

struct bs_recording;

struct bs_recorded {
	struct bs_mrd_acq head;
	float *traj; /* [samples][dims]; owned by the recording until the next read */
	float *data; /* [channels][samples] complex values */
};

/* path: a file, or FILE/GROUP for a group of the file that is not /dataset. */
int bs_recording_open(struct bs_recording **r, const char *path, struct bs_fail *why);
/* Returns FILE/GROUP, valid until the next call; group NULL: path itself. */
#define BS_RECORDING_GROUP "a group of the HDF5 file (dataset), as FILE/NAME names it, too"
const char *bs_recording_in(const char *path, const char *group);
int bs_recording_create(struct bs_recording **r, const char *path, struct bs_fail *why);
/* Returns the XML header, NUL-terminated; the recording owns it. */
const char *bs_recording_xml(const struct bs_recording *r);
/* Returns "", or what the recording lacks (a log that was not closed) or has besides. */
const char *bs_recording_note(const struct bs_recording *r);
uint32_t bs_recording_count(const struct bs_recording *r);
int bs_recording_read(struct bs_recording *r, uint32_t index, struct bs_recorded *acq,
		      struct bs_fail *why);
int bs_recording_put_xml(struct bs_recording *r, const char *xml, struct bs_fail *why);
int bs_recording_append(struct bs_recording *r, const struct bs_mrd_acq *head, const float *traj,
			const float *data, struct bs_fail *why);
int bs_recording_close(struct bs_recording *r, struct bs_fail *why);

#endif

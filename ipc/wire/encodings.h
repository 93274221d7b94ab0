/*
 * ipc/wire/encodings.h - the encodings of an MRD header behind the first one
 *
 * put keeps what an element says, as far as it can be read. take makes info's next encoding of it
 * once the element <encoding> ends. An invalid number counts as absent, and refuses nothing: most
 * scans use the first encoding alone.
 * No state; any thread. Test: test/unit/ipc/test_xml.c
 */
#ifndef BS_IPC_WIRE_ENCODINGS_H
#define BS_IPC_WIRE_ENCODINGS_H

#include "ipc/wire/limits.h"

struct bs_encoding_written {
	struct bs_mrd_encoding e;
	struct bs_limits limits;
};

/* path: names below <encoding>: "encodedSpace", "matrixSize", "x". */
void bs_encodings_put(struct bs_encoding_written *w, const char *const path[3], const char *text);
/* w is empty afterwards. Encodings beyond BS_ENCODINGS_MORE are not kept. */
void bs_encodings_take(struct bs_encoding_written *w, struct bs_scan_info *info);

#endif

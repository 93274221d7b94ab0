/*
 * ipc/wire/encodings.h - the encodings of an MRD header behind the first one
 *
 * put keeps what an element says, as far as it can be told; take makes info's next encoding of it
 * once the element <encoding> ends. A number that is none is not there, and refuses nothing: most
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

/* path: "encodedSpace", "matrixSize", "x", below <encoding>. */
void bs_encodings_put(struct bs_encoding_written *w, const char *const path[3], const char *text);
/* w is empty afterwards. Encodings beyond BS_ENCODINGS_MORE are left. */
void bs_encodings_take(struct bs_encoding_written *w, struct bs_scan_info *info);

#endif

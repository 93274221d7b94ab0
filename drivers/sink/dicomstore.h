/*
 * drivers/sink/dicomstore.h - DICOM files to a PACS: C-STORE, by DCMTK's storescu
 *
 * open -> { due, send }*. One association a file. What may pass (nobody answers, the association is
 * refused, the PACS is out of resources) is BS_ERR_IO: the same file is sent again later, at first
 * after 1 s, then after twice as long up to 10 s; until then due is false. What will not (the PACS
 * does not take such an image, or cannot read it) is BS_ERR_UNSUPPORTED. A warning is a success.
 * Blocks for as long as the network takes, at most 90 s. One thread.
 * Test: test/unit/drivers/test_dicomstore.c, test/replay/orthanc.sh
 */
#ifndef BS_DRIVERS_SINK_DICOMSTORE_H
#define BS_DRIVERS_SINK_DICOMSTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define BS_DICOM_AET   17u /* bytes, the end included */
#define BS_DICOM_HOST  240u
#define BS_DICOM_OURS  "BORESIDE" /* our own title */
#define BS_DICOM_WORDS 240u

struct bs_dicomstore {
	char aet[BS_DICOM_AET], host[BS_DICOM_HOST], port[6];
	int64_t again_ns; /* not before then; 0: at once */
	unsigned wait_s;  /* after the last failure */
	char why[BS_DICOM_WORDS];
};

/* "AET@host:port". BS_ERR_CONFIG: it is none; the reason says what is wrong. */
int bs_dicomstore_parse(struct bs_dicomstore *s, const char *address, struct bs_fail *why);
/* BS_ERR_UNSUPPORTED too: storescu is not there. */
int bs_dicomstore_open(struct bs_dicomstore *s, const char *address, struct bs_fail *why);
/* False: the last failure is too young, and why has its words. */
bool bs_dicomstore_due(const struct bs_dicomstore *s, struct bs_fail *why);
int bs_dicomstore_send(struct bs_dicomstore *s, const char *path, struct bs_fail *why);

#endif

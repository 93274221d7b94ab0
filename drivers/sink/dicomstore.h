/*
 * drivers/sink/dicomstore.h - sends DICOM files to a PACS: C-STORE, by DCMTK's storescu
 *
 * open -> { due, send }*. One association a file. An error that may pass (nobody answers, the
 * association is refused, the PACS is out of resources) is BS_ERR_IO: the caller sends the same
 * file again when due is true, at first after 1 s, then after twice as long up to 10 s. An error
 * that stays (the PACS does not take such an image, or cannot read it) is BS_ERR_UNSUPPORTED. A
 * warning is a success.
 * Blocks for as long as the network takes, at most 90 s. One thread.
 * Test: test/unit/drivers/test_dicomstore.c, test/replay/orthanc.sh
 */
#ifndef BS_DRIVERS_SINK_DICOMSTORE_H
#define BS_DRIVERS_SINK_DICOMSTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define BS_DICOM_AET   17u        /* bytes of an application entity's title with its NUL */
#define BS_DICOM_HOST  240u       /* bytes of a host's name with its NUL */
#define BS_DICOM_OURS  "BORESIDE" /* title of this program as an application entity */
#define BS_DICOM_WORDS 240u

struct bs_dicomstore {
	char aet[BS_DICOM_AET], host[BS_DICOM_HOST], port[6];
	int64_t again_ns; /* earliest time of the next attempt; 0: at once */
	unsigned wait_s;  /* seconds to wait after the last failure */
	char why[BS_DICOM_WORDS];
};

/* Parses "AET@host:port". BS_ERR_CONFIG: it is no address; the reason says what is wrong. */
int bs_dicomstore_parse(struct bs_dicomstore *s, const char *address, struct bs_fail *why);
/* Errors as parse; BS_ERR_UNSUPPORTED: storescu is not installed. */
int bs_dicomstore_open(struct bs_dicomstore *s, const char *address, struct bs_fail *why);
/* True if a file may be sent now. False: it is too soon after a failure, whose words are in why. */
bool bs_dicomstore_due(const struct bs_dicomstore *s, struct bs_fail *why);
int bs_dicomstore_send(struct bs_dicomstore *s, const char *path, struct bs_fail *why);

#endif

/*
 * drivers/sink/dicomwords.h - what an image's attributes say, as elements of a DICOM data set
 *
 * read -> { put, value }. Attributes as ipc/WIRE.md names them, of any length and content; of an
 * element that the scan's header has several times (TE, TR) the one of the image's contrast.
 * No state of its own; any thread. Test: test/unit/drivers/test_dicom.c
 */
#ifndef BS_DRIVERS_SINK_DICOMWORDS_H
#define BS_DRIVERS_SINK_DICOMWORDS_H

#include <stdio.h>

#include "core/err.h"

#define BS_DICOM_WORD  136u /* bytes of a value, its end included */
#define BS_DICOM_ROWS  48u
#define BS_DICOM_LACKS 600u

struct bs_dicomwords {
	unsigned contrast;
	char value[BS_DICOM_ROWS][BS_DICOM_WORD];
	char lacks[BS_DICOM_LACKS];
};

int bs_dicomwords_read(struct bs_dicomwords *w, const char *attributes, unsigned contrast,
		       struct bs_fail *why);
/* By its name ("mrd_studyInstanceUID"); "" where the attributes have none. */
const char *bs_dicomwords_value(const struct bs_dicomwords *w, const char *name);
/* As a number; fallback where it is none. */
double bs_dicomwords_number(const struct bs_dicomwords *w, const char *name, double fallback);

/* The elements of the table that belong to every image, as lines of dump2dcm's input. */
void bs_dicomwords_put(const struct bs_dicomwords *w, FILE *to);

/* The first so many characters. */
void bs_dicom_cut(char to[BS_DICOM_WORD], const char *from, size_t chars);

/*
 * One element: a text of at most so many characters; what a data set may not hold becomes a blank,
 * a backslash (between two values there) a slash.
 */
void bs_dicom_text(FILE *to, unsigned tag, const char *vr, const char *text, size_t chars);

#endif

/*
 * drivers/sink/dicomwords.h - an image's attributes as elements of a DICOM data set
 *
 * Zeros and the contrast -> take, each value -> { put, value }. ipc/WIRE.md names the attributes,
 * which may have any length and content. If the scan's header has an element several times (TE,
 * TR), the image's contrast picks one.
 * No state of its own; any thread. Test: test/unit/drivers/test_dicom.c
 */
#ifndef BS_DRIVERS_SINK_DICOMWORDS_H
#define BS_DRIVERS_SINK_DICOMWORDS_H

#include <stdbool.h>
#include <stdio.h>

#define BS_DICOM_WORD  136u /* bytes of a value with its NUL */
#define BS_DICOM_ROWS  52u
#define BS_DICOM_LACKS 600u

struct bs_dicomwords {
	unsigned contrast;
	char value[BS_DICOM_ROWS][BS_DICOM_WORD];
	char lacks[BS_DICOM_LACKS];
};

/* Takes one value of an attribute; arg: a struct bs_dicomwords. */
void bs_dicomwords_take(void *arg, const char *name, const char *value, unsigned index);
/* Value of an attribute by its name ("mrd_studyInstanceUID"); "": the attributes have none. */
const char *bs_dicomwords_value(const struct bs_dicomwords *w, const char *name);
/* An attribute's value as a number; fallback if it is no number. */
double bs_dicomwords_number(const struct bs_dicomwords *w, const char *name, double fallback);

/* Writes the table's elements that belong to every image, as lines of dump2dcm's input. */
void bs_dicomwords_put(const struct bs_dicomwords *w, FILE *to);

/* Copies the first `chars` characters. */
void bs_dicom_cut(char to[BS_DICOM_WORD], const char *from, size_t chars);

/*
 * Writes one element: a text of at most `chars` characters. Characters that a data set may not hold
 * become blanks; a backslash, which separates values in DICOM, becomes a slash.
 */
void bs_dicom_text(FILE *to, unsigned tag, const char *vr, const char *text, size_t chars);

/*
 * DICOM's unique identifiers, made from the content that they identify: 2.25 and a UUID's 128 bits
 * in decimal (DICOM PS3.5, B.2). The bits are the first of the SHA-256 of the words, with the
 * version and variant bits of UUID version 8 (RFC 9562). The same words make the same identifier.
 */
#define BS_UID_MAX 65u /* bytes of a UID with its terminator */

void bs_uid_of(char uid[BS_UID_MAX], const char *words);
/* True if valid by PS3.5, 9.1: at most 64 digits and dots, no component empty or with a 0 first. */
bool bs_uid_good(const char *uid);

#endif

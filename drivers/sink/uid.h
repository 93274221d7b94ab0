/*
 * drivers/sink/uid.h - DICOM's unique identifiers, made of what they identify
 *
 * 2.25 and a UUID's 128 bits in decimal (DICOM PS3.5, B.2): here the first bits of the SHA-256 of
 * the words, with the version and variant bits of a UUID of content (8, RFC 9562). The same words
 * make the same identifier wherever and whenever. No state; any thread.
 * Test: test/unit/drivers/test_dicom.c
 */
#ifndef BS_DRIVERS_SINK_UID_H
#define BS_DRIVERS_SINK_UID_H

#include <stdbool.h>
#include <stddef.h>

#define BS_UID_MAX 65u /* with the NUL */

void bs_uid_of(char uid[BS_UID_MAX], const char *words);
/* As PS3.5, 9.1 wants it: digits and dots, no component empty or with a zero before, 64 at most. */
bool bs_uid_good(const char *uid);

#endif

/*
 * drivers/sink/uid.h - DICOM's unique identifiers, made from the content that they identify
 *
 * An identifier is 2.25 and a UUID's 128 bits in decimal (DICOM PS3.5, B.2). The bits are the first
 * of the SHA-256 of the words, with the version and variant bits of UUID version 8 (RFC 9562). The
 * same words always make the same identifier. No state; any thread.
 * Test: test/unit/drivers/test_dicom.c
 */
#ifndef BS_DRIVERS_SINK_UID_H
#define BS_DRIVERS_SINK_UID_H

#include <stdbool.h>
#include <stddef.h>

#define BS_UID_MAX 65u /* bytes of a UID with its terminator */

void bs_uid_of(char uid[BS_UID_MAX], const char *words);
/* True if valid by PS3.5, 9.1: at most 64 digits and dots, no component empty or with a 0 first. */
bool bs_uid_good(const char *uid);

#endif

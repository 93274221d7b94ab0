/*
 * ipc/wire/meta.h - reads an image's attributes, <ismrmrdMeta>, with expat
 *
 * Refuses (BS_ERR_XML): malformed text, a document type or entity declaration. A name or value of
 * more than BS_META_TEXT bytes is cut, between two characters. Expat allocates while it reads.
 * Any thread. Test: test/unit/ipc/test_xml.c
 */
#ifndef BS_IPC_WIRE_META_H
#define BS_IPC_WIRE_META_H

#include "core/err.h"

#define BS_META_TEXT 1024u

/* For each value of each <meta>, in their order; index: 0 for the first one of a name's values. */
typedef void bs_meta_each(void *arg, const char *name, const char *value, unsigned index);

int bs_meta_read(const char *attributes, bs_meta_each *each, void *arg, struct bs_fail *why);

#endif

/*
 * ipc/wire/meta.h - reads an image's attributes, <ismrmrdMeta>, with expat
 *
 * Refuses (BS_ERR_XML): malformed text, a document type or entity declaration. A name or value of
 * more than BS_META_TEXT bytes is cut, between two characters. Expat allocates while it reads. Any
 * thread. Test: test/unit/ipc/test_xml.c, test/unit/drivers/test_sink.c
 */
#ifndef BS_IPC_WIRE_META_H
#define BS_IPC_WIRE_META_H

#include <stddef.h>

#include "core/err.h"
#include "core/mrd.h"

#define BS_META_TEXT 1024u

/*
 * Is called for each value of each <meta>, in their order. index: 0 for the first of a name's
 * values.
 */
typedef void bs_meta_each(void *arg, const char *name, const char *value, unsigned index);

int bs_meta_read(const char *attributes, bs_meta_each *each, void *arg, struct bs_fail *why);
/*
 * The largest magnitude that pixels of a phase image reach on both sides of 0: pi, or, of a
 * velocity, the VENC in the attributes (of len bytes). 0: an image of another type.
 */
double bs_meta_reach(const struct bs_mrd_image *head, const char *attributes, size_t len);

#endif

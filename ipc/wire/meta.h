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
#include "core/text.h"

#define BS_META_TEXT 1024u

/* Calls each for each value of each <meta>, in their order. */
int bs_meta_read(const char *attributes, bs_pair_each *each, void *arg, struct bs_fail *why);
/*
 * The largest magnitude that pixels of a phase image reach on both sides of 0: pi, or, of a
 * velocity, the VENC in the attributes (of len bytes). 0: an image of another type.
 */
double bs_meta_reach(const struct bs_mrd_image *head, const char *attributes, size_t len);

/* Returns what bs_meta_reach does, by the value of boreside_venc; "": the image has none. */
static inline double bs_meta_reach_of(const struct bs_mrd_image *head, const char *venc)
{
	double v;

	if (head->image_type != BS_MRD_PHASE || head->data_type != BS_MRD_FLOAT)
		return 0.0;
	return bs_text_number(venc, &v) && v > 0.0 && v <= 1e9 ? v : 3.14159265358979323846;
}

#endif

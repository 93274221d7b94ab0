/* test/unit/core/attributes.h - an image's attributes as its message has them, in XML */
#ifndef BS_TEST_UNIT_CORE_ATTRIBUTES_H
#define BS_TEST_UNIT_CORE_ATTRIBUTES_H

#include "core/frame/attributes.h"
#include "core/memory/pools.h"

static inline int attributes_xml(char *out, size_t cap, const struct bs_protocol *p,
				 const char *engine, const struct bs_recon_image *image,
				 const struct bs_image_timing *timing, const char *about)
{
	static char pairs[BS_POOLS_ATTRIBUTES];
	int rc = bs_attributes_write(pairs, sizeof(pairs), p, engine, image, timing, about);

	return rc == 0 ? bs_attributes_xml(out, cap, pairs) : rc;
}

#endif

/* test/support/isa.h - the host operators by each of this machine's instruction sets */
#ifndef BS_TEST_SUPPORT_ISA_H
#define BS_TEST_SUPPORT_ISA_H

#include <stdbool.h>
#include <stdlib.h>

#include "gpu/device/isa.h"

static const char *const isa_name[] = { "v2", "v3", "v4" };

/* For plans made from here on; false where the machine lacks it. */
static inline bool isa_use(enum bs_isa isa)
{
	return setenv("BORESIDE_ISA", isa_name[isa], 1) == 0 && bs_isa() == isa;
}

#endif

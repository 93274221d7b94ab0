/* test/support/plan/planned.h - a protocol made by hand, with its plan */
#ifndef BS_TEST_SUPPORT_PLANNED_H
#define BS_TEST_SUPPORT_PLANNED_H

#include "core/protocol.h"

static inline struct bs_protocol planned(struct bs_protocol p)
{
	bs_plan_make(&p);
	return p;
}

#endif

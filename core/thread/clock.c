/* core/thread/clock.c - see clock.h */
#include "core/thread/clock.h"

const int64_t *bs_clock_scripted;

void bs_clock_script(const int64_t *script)
{
	bs_clock_scripted = script;
}

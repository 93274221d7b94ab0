/*
 * drivers/tool/replay/asking.h - a recording's header that asks the service for answers
 */
#ifndef BS_DRIVERS_TOOL_REPLAY_ASKING_H
#define BS_DRIVERS_TOOL_REPLAY_ASKING_H

#include "core/err.h"

/* Returns the header with userParameterLong boreside_answers = 1; NULL. The caller frees it. */
char *bs_asking_xml(const char *xml, struct bs_fail *why);

#endif

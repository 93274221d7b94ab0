/*
 * config/tool/keypage.h - the table of keys as a page: config/KEYS.md
 *
 * Test: test/unit/config/test_keys.c, test/unit/config/check.sh
 */
#ifndef BS_CONFIG_TOOL_KEYPAGE_H
#define BS_CONFIG_TOOL_KEYPAGE_H

#include <stdio.h>

/* Prints the table of keys as Markdown documentation. */
void bs_config_print_keys(FILE *to);

#endif

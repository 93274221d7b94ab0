/*
 * config/config.h - site files: libconfig in, struct bs_site out
 *
 * load reads the file into a fresh configuration, checks every key against the one table
 * (config/keys.c) and reports all faults at once, "file:line: key: why", through report (called
 * once per fault; arg is passed on). Returns 0 or BS_ERR_CONFIG; *site is valid only on 0.
 * Relative paths in the file are taken from the file's own folder. Allocates and frees; call at
 * start only. Tests: test/unit/config/test_config.c, test_defaults.c, test_keys.c
 */
#ifndef BS_CONFIG_CONFIG_H
#define BS_CONFIG_CONFIG_H

#include <stdio.h>

#include "core/err.h"
#include "core/protocol.h"

int bs_config_load(struct bs_site *site, const char *path,
		   void (*report)(void *arg, const char *line), void *arg);
/* The table as Markdown documentation. */
void bs_config_print_keys(FILE *to);
/* The resolved configuration, every key with its value. */
void bs_config_print(FILE *to, const struct bs_site *site);
/* One protocol of it. */
void bs_config_print_protocol(FILE *to, const struct bs_protocol *p);
/*
 * The protocol that is asked for by name; when none is (NULL or ""), the one that the scan's header
 * names (NULL or "": none); and when the site has no such one, its only one, whatever the header
 * calls it. NULL: why tells.
 */
const struct bs_protocol *bs_config_choose(const struct bs_site *site, const char *asked,
					   const char *header, struct bs_fail *why);

#endif

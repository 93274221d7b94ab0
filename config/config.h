/*
 * config/config.h - site files: libconfig in, struct bs_site out
 *
 * load reads the file into a fresh configuration, checks every key against the one table
 * (config/keys.c) and reports all faults at once, "file:line: key: why", through report (called
 * once per fault; arg is passed on). Returns 0 or BS_ERR_CONFIG; *site is valid only on 0. Relative
 * paths in the file start at the file's own folder. Allocates and frees; call at start only. Tests:
 * test/unit/config/test_config.c, test_defaults.c, test_keys.c
 */
#ifndef BS_CONFIG_CONFIG_H
#define BS_CONFIG_CONFIG_H

#include <stdio.h>

#include "core/err.h"
#include "core/protocol.h"

int bs_config_load(struct bs_site *site, const char *path, bs_tell_line *report, void *arg);
/* Prints the resolved configuration, every key with its value. */
void bs_config_print(FILE *to, const struct bs_site *site);
/* Prints one protocol of the configuration. */
void bs_config_print_protocol(FILE *to, const struct bs_protocol *p);
/*
 * Chooses a protocol: the one asked for by name (NULL or "": none is); else the one that the scan's
 * header names (NULL or "": none); and where the site does not have that one, the site's only
 * protocol, whatever the header calls it. NULL: there is none, and why tells the reason.
 */
const struct bs_protocol *bs_config_choose(const struct bs_site *site, const char *asked,
					   const char *header, struct bs_fail *why);

#endif

/*
 * drivers/bridge/names.h - what a client asks for: which protocol, what is known of noise, which
 * keys it sets for its scan (core/plan/scankey.h)
 *
 * A config is a file's name or a text. It names a protocol by a row of bridges.mrd.configs, by its
 * own name, or, any other, by the row "*"; a file's name may end in .xml. Nothing allocates but the
 * JSON reader (jansson), which is given at most BS_BRIDGE_TEXT_MAX bytes. Any thread.
 * Test: test/unit/drivers/bridge/test_names.c, test_choose.c
 */
#ifndef BS_DRIVERS_BRIDGE_NAMES_H
#define BS_DRIVERS_BRIDGE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"
#include "core/plan/scankey.h"

#define BS_NAMES_MAX 256u

/*
 * A config's own name: printable, without spaces around it, at most BS_NAMES_MAX - 1 bytes. A
 * text that is none (XML, a longer one) has the name "".
 */
void bs_names_config(char out[BS_NAMES_MAX], const unsigned char *text, size_t len);
/* The measurement that a noise query asks about: true, and its measurementID. */
bool bs_names_noise(char out[BS_NAME_MAX], const unsigned char *text, size_t len);
/* parameters.config of a JSON text; false: it has none. */
bool bs_names_parameters(char out[BS_NAMES_MAX], const unsigned char *text, size_t len);
/* What of such a text nobody looks at, in words; false: nothing. */
bool bs_names_unused(char *words, size_t size, const unsigned char *text, size_t len);
/*
 * *protocol: as OPEN has it, "" for the header's own, which no config and Open Recon's only one
 * ("openrecon") stand for where no row says otherwise. Where that is none of the site's, or for any
 * other name that nothing has: the protocol that takes this header, if one alone does. info: NULL
 * where the header cannot be read. BS_ERR_PROTOCOL, in words.
 */
int bs_names_find(const char **protocol, const struct bs_site *site, const char *config,
		  const struct bs_scan_info *info, struct bs_fail *why);
/* NULL: the site has none of this name. */
const struct bs_protocol *bs_names_protocol(const struct bs_site *site, const char *name);

/* A row or a protocol has this name; else bs_names_find takes a default, if any. */
bool bs_names_known(const struct bs_site *site, const char *config);

/*
 * What the parameters of its JSON texts set: numbers, and texts that are some, as consoles send
 * both; null is as if it were not there, and a later text goes before an earlier one.
 */
struct bs_chosen {
	uint32_t given;            /* bit of enum bs_scankey */
	double value[BS_SCANKEYS]; /* NaN: no number */
};

void bs_chosen_read(struct bs_chosen *c, const unsigned char *text, size_t len);
/*
 * What of it this protocol (NULL: one that nobody knows) leaves to no scan, in words; it is
 * dropped. False: nothing.
 */
bool bs_chosen_drop(struct bs_chosen *c, const struct bs_protocol *p, char *words, size_t size);
/*
 * *xml of *len bytes, of malloc, of which info was read (ipc/wire/xml.h), becomes another, of a
 * scan of this protocol. BS_ERR_VALUE: a value that it does not take, or that is no number.
 * BS_ERR_UNSUPPORTED: nothing can be added to it.
 */
int bs_chosen_write(const struct bs_chosen *c, const struct bs_protocol *p,
		    const struct bs_scan_info *info, unsigned char **xml, size_t *len,
		    struct bs_fail *why);

#endif

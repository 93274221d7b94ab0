/*
 * drivers/bridge/names.h - what a client asks for: a protocol, noise statistics, keys for its scan
 * (core/plan/scankey.h)
 *
 * A config is a file's name, which may end in .xml, or a text. A row of bridges.mrd.configs maps it
 * to a protocol; else a protocol of the same name is taken; else the row "*". Only the JSON reader
 * (jansson) allocates; it is given at most BS_BRIDGE_TEXT_MAX bytes. Any thread.
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
 * Makes a config's name of its text: printable, without spaces around it, at most BS_NAMES_MAX - 1
 * bytes. A text that is no name (XML, a longer one) gets the name "".
 */
void bs_names_config(char out[BS_NAMES_MAX], const unsigned char *text, size_t len);
/* out: measurementID that a noise query asks about. False: the text is no noise query. */
bool bs_names_noise(char out[BS_NAME_MAX], const unsigned char *text, size_t len);
/* out: parameters.config of a JSON text. False: it has none. */
bool bs_names_parameters(char out[BS_NAMES_MAX], const unsigned char *text, size_t len);
/* words: names the parameters of a JSON text that are not used. False: there are none. */
bool bs_names_unused(char *words, size_t size, const unsigned char *text, size_t len);
/*
 * Finds the protocol for a config. *protocol: the name as OPEN has it; "": the one that the scan's
 * header names. "" is the result for no config and for Open Recon's only config ("openrecon"),
 * unless a row says otherwise. If the site does not have the header's protocol, or the config's
 * name is unknown, it is the one protocol that takes this header; several or none are an error.
 * info: NULL if the header cannot be read. BS_ERR_PROTOCOL, in words.
 */
int bs_names_find(const char **protocol, const struct bs_site *site, const char *config,
		  const struct bs_scan_info *info, struct bs_fail *why);

/* True if a row or a protocol has this name; otherwise bs_names_find takes a default, if any. */
bool bs_names_known(const struct bs_site *site, const char *config);

/*
 * Keys that the parameters of a client's JSON texts set. A value may be a number, or a text of a
 * number, as consoles send both; null counts as absent. A later text overrides an earlier one.
 */
struct bs_chosen {
	uint32_t given;            /* bits of the given keys, by enum bs_scankey */
	double value[BS_SCANKEYS]; /* NaN: the value is no number */
};

void bs_chosen_read(struct bs_chosen *c, const unsigned char *text, size_t len);
/*
 * Drops the keys that this protocol (NULL: unknown) does not let a scan set, and names them in
 * words. False: there are none.
 */
bool bs_chosen_drop(struct bs_chosen *c, const struct bs_protocol *p, char *words, size_t size);
/*
 * Writes the keys into a scan's header: *xml (malloc's, *len bytes), from which info was read
 * (ipc/wire/xml.h), is replaced. p: the scan's protocol. BS_ERR_VALUE: the protocol does not take a
 * value, or it is no number. BS_ERR_UNSUPPORTED: nothing can be added to this XML.
 */
int bs_chosen_write(const struct bs_chosen *c, const struct bs_protocol *p,
		    const struct bs_scan_info *info, unsigned char **xml, size_t *len,
		    struct bs_fail *why);

#endif

/*
 * drivers/bridge/choose.h - what a client's parameters set for its scan
 *
 * read* -> write. read keeps the parameters of JSON texts whose ids are of keys that a scan may set
 * (core/plan/scankey.h): numbers, and texts that are some, as consoles send both; null is as if it
 * were not there, a later text goes before an earlier one. write puts them into the scan's header
 * as userParameters, where the service, its log and who reads that find them; what it wrote is read
 * back before it is believed. One thread. Test: test/unit/drivers/bridge/test_choose.c
 */
#ifndef BS_DRIVERS_BRIDGE_CHOOSE_H
#define BS_DRIVERS_BRIDGE_CHOOSE_H

#include "core/plan/scankey.h"

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

/*
 * core/plan/scankey.h - keys of a protocol that a scan may set for itself
 *
 * A scan sets one by a userParameter of its header: "boreside_" and the last part of the key's name
 * (boreside_iterations). Only keys whose change needs nothing armed anew can be set so: this table.
 * A protocol lists those that it leaves to its scans (key scan_keys), and what it was armed for is
 * their bound. A scan that sets what is not listed, out of range or no number is refused.
 * No state; any thread. Test: test/unit/core/plan/test_scankey.c, test/replay/console/scankeys.c
 */
#ifndef BS_CORE_PLAN_SCANKEY_H
#define BS_CORE_PLAN_SCANKEY_H

#include "core/err.h"
#include "core/mrd.h"
#include "core/protocol.h"

#define BS_SCANKEY_PREFIX "boreside_"
#define BS_SCANKEY_WORDS  96u /* bytes that always suffice */

enum bs_scankey { BS_SCANKEY_ITERATIONS, BS_SCANKEY_VENC };

/* The keys, NULL-ended, and what scans call them, in the order of the enum. */
extern const char *const bs_scankey_names[BS_SCANKEYS + 1];
const char *bs_scankey_id(enum bs_scankey k);
/* By what scans call it; -1: none. */
int bs_scankey_find(const char *id);
/* A parameter of the header: whether it is one of these. text: its value. */
bool bs_scankey_take(struct bs_scan_info *info, const char *name, const char *text);
/* 0, or BS_ERR_CONFIG, BS_ERR_VALUE with the name and what the protocol takes. */
int bs_scankey_admit(const struct bs_protocol *p, const struct bs_scan_info *info,
		     struct bs_fail *why);
/* What the scan set; 0: nothing. */
static inline double bs_scankey_of(const struct bs_scan_info *info, enum bs_scankey k)
{
	return info->scan_keys >> (unsigned)k & 1u ? info->scan_value[k] : 0.0;
}
/* Iterations at most, of an image that may have most; 0: as many as are armed. */
static inline uint32_t bs_scankey_iterations(const struct bs_scan_info *info, uint32_t most)
{
	const uint32_t set = (uint32_t)bs_scankey_of(info, BS_SCANKEY_ITERATIONS);

	return most == 0 || (set != 0 && set < most) ? set : most;
}
/* "ls.iterations 5; image.venc 60"; "": nothing was set. keys, value: as in bs_scan_info. */
const char *bs_scankey_words(char out[BS_SCANKEY_WORDS], uint32_t keys,
			     const double value[BS_SCANKEYS]);

#endif

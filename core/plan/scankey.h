/*
 * core/plan/scankey.h - keys of a protocol that a scan may set for itself
 *
 * A scan sets a key by a userParameter of its header: "boreside_" and the last part of the key's
 * name (boreside_iterations). Only the keys of this table can be set so: no change of theirs needs
 * anything to be armed anew. A protocol lists the keys that it leaves to its scans (key scan_keys);
 * the values that it was armed for are their bounds. A scan is refused when it sets a key that is
 * not listed, a value out of range, or one that is no number.
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

/* names: the keys, NULL-ended, in the order of the enum. id: the name that scans use for a key. */
extern const char *const bs_scankey_names[BS_SCANKEYS + 1];
const char *bs_scankey_id(enum bs_scankey k);
/* The key with this id; -1: there is none. */
int bs_scankey_find(const char *id);
/* Takes a parameter of the header, with its value as text. False: no key has this name. */
bool bs_scankey_take(struct bs_scan_info *info, const char *name, const char *text);
/* Returns 0, or BS_ERR_CONFIG or BS_ERR_VALUE with the name and what the protocol accepts. */
int bs_scankey_admit(const struct bs_protocol *p, const struct bs_scan_info *info,
		     struct bs_fail *why);
/* Returns the value that the scan set; 0: none. */
static inline double bs_scankey_of(const struct bs_scan_info *info, enum bs_scankey k)
{
	return info->scan_keys >> (unsigned)k & 1u ? info->scan_value[k] : 0.0;
}
/*
 * The most iterations of an image that may have most (0: as many as are armed), when the scan sets
 * a bound of its own, too.
 */
static inline uint32_t bs_scankey_iterations(const struct bs_scan_info *info, uint32_t most)
{
	const uint32_t set = (uint32_t)bs_scankey_of(info, BS_SCANKEY_ITERATIONS);

	return most == 0 || (set != 0 && set < most) ? set : most;
}
/*
 * The keys in words, "ls.iterations 5; image.venc 60"; "": none was set. keys, value: as in
 * bs_scan_info.
 */
const char *bs_scankey_words(char out[BS_SCANKEY_WORDS], uint32_t keys,
			     const double value[BS_SCANKEYS]);

#endif

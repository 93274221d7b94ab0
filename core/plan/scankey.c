/* core/plan/scankey.c - see scankey.h */
#include "core/plan/scankey.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

_Static_assert(BS_SCANKEY_VENC + 1 == BS_SCANKEYS, "a place in bs_scan_info for each");

const char *const bs_scankey_names[BS_SCANKEYS + 1] = {
	[BS_SCANKEY_ITERATIONS] = "ls.iterations",
	[BS_SCANKEY_VENC] = "image.venc",
};

const char *bs_scankey_id(enum bs_scankey k)
{
	return strchr(bs_scankey_names[k], '.') + 1;
}

int bs_scankey_find(const char *id)
{
	for (int c = 0; c < (int)BS_SCANKEYS; c++)
		if (strcmp(bs_scankey_id((enum bs_scankey)c), id) == 0)
			return c;
	return -1;
}

bool bs_scankey_take(struct bs_scan_info *info, const char *name, const char *text)
{
	const size_t n = strlen(BS_SCANKEY_PREFIX);
	const int c = strncmp(name, BS_SCANKEY_PREFIX, n) == 0 ? bs_scankey_find(name + n) : -1;

	if (c < 0)
		return false;
	info->scan_keys |= 1u << c;
	if (!bs_text_number(text, &info->scan_value[c]))
		info->scan_value[c] = (double)NAN;
	return true;
}

static int admit_one(const struct bs_protocol *p, const struct bs_scan_info *info,
		     enum bs_scankey k, struct bs_fail *why)
{
	const bool whole = k == BS_SCANKEY_ITERATIONS;
	const double least = whole ? 1.0 : 1e-3;
	const double most = whole ? (double)p->iterations : 1e5;
	const double v = info->scan_value[k];
	char is[32] = "no number";

	if (!isnan(v))
		(void)snprintf(is, sizeof(is), "%g", v);
	if (!(p->scan_keys >> (unsigned)k & 1u))
		return bs_fail(why, BS_ERR_CONFIG,
			       "%s of this scan: scan_keys of protocol '%s' does not list it",
			       bs_scankey_names[k], p->name);
	if (!(v >= least && v <= most) || (whole && v != floor(v)))
		return bs_fail(
			why, BS_ERR_VALUE, "%s of this scan is %s: protocol '%s' takes %g to %g%s",
			bs_scankey_names[k], is, p->name, least, most, whole ? ", whole" : "");
	if (k == BS_SCANKEY_VENC && info->venc_range[1] > 0.0f && info->venc_range[0] != (float)v)
		return bs_fail(why, BS_ERR_VALUE,
			       "%s of this scan is %s cm/s, VENC_0 of its header %g",
			       bs_scankey_names[k], is, (double)info->venc_range[0]);
	return 0;
}

int bs_scankey_admit(const struct bs_protocol *p, const struct bs_scan_info *info,
		     struct bs_fail *why)
{
	int rc = 0;

	for (unsigned c = 0; c < BS_SCANKEYS && rc == 0; c++)
		if (info->scan_keys >> c & 1u)
			rc = admit_one(p, info, (enum bs_scankey)c, why);
	return rc;
}

const char *bs_scankey_words(char out[BS_SCANKEY_WORDS], uint32_t keys,
			     const double value[BS_SCANKEYS])
{
	struct bs_text t = { out, BS_SCANKEY_WORDS, 0, false };

	out[0] = '\0';
	for (unsigned c = 0; c < BS_SCANKEYS; c++)
		if (keys >> c & 1u)
			bs_text_put(&t, "%s%s %g", bs_text_between(&t), bs_scankey_names[c],
				    value[c]);
	return out;
}

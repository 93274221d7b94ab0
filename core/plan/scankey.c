/* core/plan/scankey.c - see scankey.h */
#include "core/plan/scankey.h"

#include <math.h>
#include <string.h>

#include "core/text.h"

_Static_assert(BS_SCANKEY_VENC + 1 == BS_SCANKEYS, "a place in bs_scan_info for each");

const char *const bs_scankey_names[BS_SCANKEYS + 1] = {
	[BS_SCANKEY_ITERATIONS] = "ls.iterations",
	[BS_SCANKEY_VENC] = "image.venc",
};

const char *bs_scankey_id(enum bs_scankey c)
{
	return strchr(bs_scankey_names[c], '.') + 1;
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

/* What this protocol can take of it. */
static void range_of(double range[2], const struct bs_protocol *p, enum bs_scankey c)
{
	range[0] = c == BS_SCANKEY_ITERATIONS ? 1.0 : 1e-3;
	range[1] = c == BS_SCANKEY_ITERATIONS ? (double)p->iterations : 1e5;
}

static int admit_one(const struct bs_protocol *p, const struct bs_scan_info *info, enum bs_scankey c,
		     struct bs_fail *why)
{
	const double v = info->scan_value[c];
	double range[2];

	range_of(range, p, c);
	if (!(p->scan_keys >> (unsigned)c & 1u))
		return bs_fail(why, BS_ERR_CONFIG,
			       BS_SCANKEY_PREFIX "%s of the header: protocol '%s' does not leave "
						"%s to its scans (key scan_keys)",
			       bs_scankey_id(c), p->name, bs_scankey_names[c]);
	if (!(v >= range[0] && v <= range[1]) || (c == BS_SCANKEY_ITERATIONS && v != floor(v)))
		return bs_fail(why, BS_ERR_VALUE,
			       BS_SCANKEY_PREFIX "%s of the header is %g: protocol '%s' takes %s "
						"from %g to %g%s",
			       bs_scankey_id(c), v, p->name, bs_scankey_names[c], range[0], range[1],
			       c == BS_SCANKEY_ITERATIONS ? ", whole" : "");
	if (c == BS_SCANKEY_VENC && info->venc_range[1] > 0.0f &&
	    (info->venc_range[0] != (float)v || info->venc_range[1] != (float)v))
		return bs_fail(why, BS_ERR_VALUE,
			       BS_SCANKEY_PREFIX "%s of the header is %g cm/s, its VENC_0 %g",
			       bs_scankey_id(c), v, (double)info->venc_range[0]);
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

double bs_scankey_of(const struct bs_scan_info *info, enum bs_scankey c)
{
	return info->scan_keys >> (unsigned)c & 1u ? info->scan_value[c] : 0.0;
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

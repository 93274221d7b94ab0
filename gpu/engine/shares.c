/* gpu/engine/shares.c - see shares.h */
#include "gpu/engine/shares.h"

#include <stdio.h>

/* *why: where it cannot be shared out. */
static enum bs_sharing choose(const struct bs_protocol *p, const char **why)
{
	if (p->method == BS_METHOD_CARTESIAN)
		*why = "method cartesian is not shared out";
	else if (p->method == BS_METHOD_NOOP)
		*why = "method noop has no work";
	else if (p->coils > 1)
		return BS_SHARING_COILS;
	else if (p->method != BS_METHOD_LS || p->fhd != BS_SUM_EXACT)
		*why = "there is one coil, and no exact sum";
	else if (p->density != BS_DENSITY_NONE)
		*why = "there is one coil, and its samples have weights";
	else
		return BS_SHARING_SLABS;
	return BS_SHARING_NONE;
}

struct bs_shares bs_shares_of(const struct bs_protocol *p)
{
	const struct bs_devices *d = &p->gpu_devices;
	struct bs_shares s = { BS_SHARING_NONE, 1, "" };
	const char *why = NULL;
	int n;

	if (d->count > 1)
		s.how = choose(p, &why);
	if (s.how == BS_SHARING_NONE) {
		(void)snprintf(s.words, sizeof(s.words), "GPU %u%s%s",
			       d->count > 0 ? d->device[0] : 0, why != NULL ? " alone: " : "",
			       why != NULL ? why : "");
		return s;
	}
	s.parts = s.how == BS_SHARING_COILS && p->coils < d->count ? p->coils : d->count;
	n = snprintf(s.words, sizeof(s.words), "GPUs");
	for (uint32_t i = 0; i < s.parts; i++)
		n += snprintf(s.words + n, sizeof(s.words) - (size_t)n, "%s %u", i > 0 ? "," : "",
			      d->device[i]);
	if (s.how == BS_SHARING_SLABS)
		(void)snprintf(s.words + n, sizeof(s.words) - (size_t)n,
			       ": F^H d shared out by rows of the image, solved on GPU %u",
			       d->device[0]);
	else
		(void)snprintf(s.words + n, sizeof(s.words) - (size_t)n, ": %u coils shared out%s",
			       p->coils, s.parts < d->count ? ", one each" : "");
	return s;
}

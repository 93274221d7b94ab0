/* gpu/shares.c - see shares.h */
#include "gpu/shares.h"

#include <stdio.h>

/* NULL: it can be shared out. */
static const char *reason(const struct bs_protocol *p)
{
	if (p->method == BS_METHOD_CARTESIAN)
		return "method cartesian is not shared out";
	if (p->method == BS_METHOD_NOOP)
		return "method noop has no work";
	return p->coils < 2 ? "there is one coil" : NULL;
}

struct bs_shares bs_shares_of(const struct bs_protocol *p)
{
	const struct bs_devices *d = &p->gpu_devices;
	const uint32_t first = d->count > 0 ? d->device[0] : 0;
	const char *why = d->count > 1 ? reason(p) : NULL;
	struct bs_shares s = { .parts = 1 };
	int n;

	if (d->count <= 1 || why != NULL) {
		(void)snprintf(s.words, sizeof(s.words), "GPU %u%s%s", first,
			       why != NULL ? " alone: " : "", why != NULL ? why : "");
		return s;
	}
	s.parts = p->coils < d->count ? p->coils : d->count;
	n = snprintf(s.words, sizeof(s.words), "GPUs");
	for (uint32_t i = 0; i < s.parts; i++)
		n += snprintf(s.words + n, sizeof(s.words) - (size_t)n, "%s %u", i > 0 ? "," : "",
			      d->device[i]);
	(void)snprintf(s.words + n, sizeof(s.words) - (size_t)n, ": %u coils shared out%s",
		       p->coils, s.parts < d->count ? ", one each" : "");
	return s;
}

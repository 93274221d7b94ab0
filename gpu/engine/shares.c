/* gpu/engine/shares.c - see shares.h */
#include "gpu/engine/shares.h"

#include <stdio.h>

/* why: the reason where it cannot be shared out. */
static enum bs_sharing choose(const struct bs_protocol *p, char *why, size_t size)
{
	const struct bs_plan plan = bs_plan_of(p);

	if (plan.encode == BS_ENCODE_NOTHING)
		(void)snprintf(why, size, "method %s has no work", bs_method_name(p->method));
	else if (plan.maps == BS_PLAN_MAPS_SCAN || plan.maps == BS_PLAN_MAPS_STUDY)
		(void)snprintf(why, size, "its maps come from a scan");
	else if (plan.streams)
		(void)snprintf(why, size, "its path comes with the readouts");
	else if (bs_plan_has(plan, BS_PLAN_VELOCITY))
		(void)snprintf(why, size, "velocities are not shared out");
	else if (!plan.shares_coils)
		(void)snprintf(why, size, "method %s is not shared out", bs_method_name(p->method));
	else if (plan.off_resonance)
		(void)snprintf(why, size, "field.map_file is not shared out");
	else if (p->coils > 1)
		return BS_SHARING_COILS;
	else if (!plan.shares_rows || p->fhd != BS_SUM_EXACT)
		(void)snprintf(why, size, "there is one coil, and no exact sum");
	else if (p->matrix[1] < p->gpu_devices.count)
		(void)snprintf(why, size, "there is one coil, and %u rows", p->matrix[1]);
	else if (p->density != BS_DENSITY_NONE)
		(void)snprintf(why, size, "there is one coil, and its samples have weights");
	else
		return BS_SHARING_SLABS;
	return BS_SHARING_NONE;
}

struct bs_shares bs_shares_of(const struct bs_protocol *p)
{
	const struct bs_devices *d = &p->gpu_devices;
	struct bs_shares s = { BS_SHARING_NONE, 1, "" };
	char why[64] = "";
	int n;

	if (d->count > 1)
		s.how = choose(p, why, sizeof(why));
	if (s.how == BS_SHARING_NONE) {
		(void)snprintf(s.words, sizeof(s.words), "GPU %u%s%s",
			       d->count > 0 ? d->device[0] : 0, why[0] != '\0' ? " alone: " : "",
			       why);
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

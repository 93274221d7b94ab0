/* config/rules/multiband.c - the rules of slices that are excited at once; see rules.h */
#include "config/rules.h"

#include "config/rule.h"
#include "core/protocol.h"

static void without(const struct bs_reading *r, const struct bs_scope *s,
		    const struct bs_multiband *m)
{
	/* these are the defaults that config/keys.c has */
	const bool usual = m->kernel[0] == 5 && m->kernel[1] == 5 && m->kernel[2] <= 1;
	const struct {
		const char *key;
		bool set;
	} keys[] = { { "multiband.factor", m->factor != 0 },
		     { "multiband.references", m->references != BS_REFERENCES_AUTO },
		     { "multiband.shift", m->shift != 0.0 },
		     { "multiband.kernel", !usual },
		     { "multiband.lambda", m->lambda != 1e-4 },
		     { "multiband.split", m->split } };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].set)
			fault(r, s, keys[i].key, "has no effect without parallel slice_grappa");
}

static void rule_kernel(const struct bs_reading *r, const struct bs_scope *s,
			const struct bs_protocol *p)
{
	const uint32_t *kernel = p->multiband.kernel;

	if (!sound(s, "multiband.kernel", "encoded", NULL))
		return;
	if (kernel[0] % 2 != 1 || kernel[1] % 2 != 1 || kernel[2] > 1)
		fault(r, s, "multiband.kernel", "%u x %u: two odd numbers are wanted", kernel[0],
		      kernel[1]);
	else if (kernel[0] > 7)
		fault(r, s, "multiband.kernel", "%u x %u: at most 7 samples along x", kernel[0],
		      kernel[1]);
	else if (kernel[1] > p->encoded[1])
		fault(r, s, "multiband.kernel", "y is %u: there are %u lines", kernel[1],
		      p->encoded[1]);
}

void bs_rules_multiband(const struct bs_reading *r, const struct bs_scope *s,
			const struct bs_protocol *p)
{
	const uint32_t factor = p->multiband.factor;

	if (!sound(s, "method", "parallel", NULL))
		return;
	if (!bs_plan_has(&p->plan, BS_PLAN_APART)) {
		without(r, s, &p->multiband);
		return;
	}
	if (!sound(s, "multiband.factor", "slices", "encoded", "image.output", NULL))
		return;
	if (factor < 2)
		fault_near(r, s, "multiband.factor", "parallel",
			   "slice_grappa is for 2 slices at once or more");
	else if (p->slices % factor != 0)
		fault_near(r, s, "multiband.factor", "parallel", "%u slices are no groups of %u",
			   p->slices, factor);
	if (p->encoded[2] > 1)
		fault(r, s, "parallel", "slice_grappa is for slices: encoded z is %u",
		      p->encoded[2]);
	if (p->output == BS_OUTPUT_VELOCITY)
		fault(r, s, "parallel", "slice_grappa: not with image.output velocity");
	if (sound(s, "image.maps", NULL) && p->plan.maps == BS_PLAN_MAPS_SCAN)
		fault(r, s, "image.maps",
		      "of the scan: its references may be moved, not with parallel slice_grappa");
	rule_kernel(r, s, p);
}

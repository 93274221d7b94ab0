/* config/rules/multiband.c - the rules of slices that are excited at once; see rules.h */
#include "config/rules.h"

#include "config/rule.h"
#include "core/protocol.h"

/* Keys that are given for nothing: those of slice-GRAPPA, or all of them. */
static void without(const struct bs_scope *s, const struct bs_multiband *m, bool apart)
{
	/* these are the defaults that config/keys.c has */
	const bool usual = m->kernel[0] == 5 && m->kernel[1] == 5 && m->kernel[2] <= 1;
	const struct {
		const char *key;
		bool set;
	} keys[] = { { "multiband.factor", m->factor != 0 && !apart },
		     { "multiband.references", m->references != BS_REFERENCES_AUTO && !apart },
		     { "multiband.shift", m->shift != 0.0 && !apart },
		     { "multiband.kernel", !usual },
		     { "multiband.lambda", m->lambda != 1e-4 },
		     { "multiband.split", m->split } };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].set)
			fault(s, keys[i].key, "has no effect without parallel slice_grappa");
}

static void rule_kernel(const struct bs_scope *s, const struct bs_protocol *p)
{
	const uint32_t *kernel = p->multiband.kernel;

	if (!sound(s, "multiband.kernel", "encoded", NULL))
		return;
	if (kernel[0] % 2 != 1 || kernel[1] % 2 != 1 || kernel[2] > 1)
		fault(s, "multiband.kernel", "%u x %u: two odd numbers are wanted", kernel[0],
		      kernel[1]);
	else if (kernel[0] > 7)
		fault(s, "multiband.kernel", "%u x %u: at most 7 samples along x", kernel[0],
		      kernel[1]);
	else if (kernel[1] > p->encoded[1])
		fault(s, "multiband.kernel", "y is %u: there are %u lines", kernel[1],
		      p->encoded[1]);
}

/* Rules of slices at once along a trajectory, which are solved for as a volume. */
static void rule_path(const struct bs_scope *s, const struct bs_protocol *p)
{
	const struct {
		const char *key, *why;
		bool set;
	} keys[] = { { "trajectory.type", "stream", p->plan.streams },
		     { "image.maps", "of the scan", p->plan.maps == BS_PLAN_MAPS_SCAN },
		     { "multiband.references", "references along a trajectory",
		       p->multiband.references != BS_REFERENCES_AUTO },
		     { "gridding.density", "weights", p->density != BS_DENSITY_NONE },
		     { "ls.basis", "box", p->basis == BS_BASIS_BOX },
		     { "field.map_file", "off resonance", p->plan.off_resonance },
		     { "parallel", "volumes", p->dims != 2 } };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].set && sound(s, keys[i].key, NULL))
			fault(s, keys[i].key, "%s: not with parallel sense_sms and method sense",
			      keys[i].why);
}

/* Rules of slices at once that are solved for together. */
static void rule_joint(const struct bs_scope *s, const struct bs_protocol *p)
{
	if (sound(s, "image.map_sets", NULL) && bs_protocol_map_images(p) > 1)
		fault(s, "image.map_sets", "one set: not with parallel sense_sms");
	if (sound(s, "ls.w_file", NULL) && p->w_file[0] != '\0')
		fault(s, "ls.w_file", "not with parallel sense_sms");
	if (!p->plan.on_grid)
		rule_path(s, p);
}

void bs_rules_multiband(const struct bs_scope *s, const struct bs_protocol *p)
{
	const uint32_t factor = p->multiband.factor;
	const bool joint = bs_plan_groups(&p->plan);
	const char *word = joint ? "sense_sms" : "slice_grappa";

	if (!sound(s, "method", "parallel", NULL))
		return;
	if (joint || !bs_plan_has(&p->plan, BS_PLAN_APART))
		without(s, &p->multiband, joint);
	if (!bs_plan_has(&p->plan, BS_PLAN_APART))
		return;
	if (!sound(s, "multiband.factor", "slices", "encoded", "image.output", NULL))
		return;
	if (factor < 2)
		fault_near(s, "multiband.factor", "parallel", "%s is for 2 slices at once or more",
			   word);
	else if (p->slices % factor != 0)
		fault_near(s, "multiband.factor", "parallel", "%u slices are no groups of %u",
			   p->slices, factor);
	if (p->encoded[2] > 1)
		fault(s, "parallel", "%s is for slices: encoded z is %u", word, p->encoded[2]);
	if (p->output == BS_OUTPUT_VELOCITY)
		fault(s, "parallel", "%s: not with image.output velocity", word);
	if (joint) {
		rule_joint(s, p);
		return;
	}
	if (sound(s, "image.maps", NULL) && p->plan.maps == BS_PLAN_MAPS_SCAN)
		fault(s, "image.maps",
		      "of the scan: its references may be moved, not with parallel slice_grappa");
	rule_kernel(s, p);
}

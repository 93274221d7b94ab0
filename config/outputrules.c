/* config/outputrules.c - the rules of what an image is: its phase, a velocity; see rules.h */
#include "config/rules.h"

#include "config/rule.h"

void bs_rules_output(const struct bs_reading *r, const struct bs_scope *s,
		     const struct bs_protocol *p)
{
	const bool flows = p->output == BS_OUTPUT_VELOCITY;

	if (p->combine == BS_COMBINE_RSS && bs_protocol_keeps_phase(p))
		fault(r, s, "image.output",
		      "the root of a sum of squares has no phase: magnitude, or combine none or "
		      "sense");
	if (flows && (p->combine == BS_COMBINE_NONE || p->frame_step > 0))
		fault(r, s, "image.output", "velocity: not with combine none, frame.step");
	if (!flows && p->venc > 0.0 && sound(s, "image.venc", NULL))
		fault(r, s, "image.venc", "has no effect without image.output velocity");
}

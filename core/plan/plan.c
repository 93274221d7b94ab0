/* core/plan/plan.c - see plan.h */
#include "core/plan/plan.h"

static enum bs_encode encode_of(const struct bs_protocol *p)
{
	const struct bs_method_traits *method = &bs_methods[p->method];

	if (method->empty)
		return BS_ENCODE_NOTHING;
	if (method->on_grid)
		return BS_ENCODE_LINES;
	if (bs_protocol_streams(p))
		return BS_ENCODE_PATH;
	if (bs_protocol_off_resonance(p))
		return BS_ENCODE_FIELD;
	return method->solves && p->fhd == BS_SUM_EXACT ? BS_ENCODE_EXACT : BS_ENCODE_GRID;
}

struct bs_plan bs_plan_of(const struct bs_protocol *p)
{
	const struct bs_method_traits *method = &bs_methods[p->method];

	return (struct bs_plan){
		.encode = encode_of(p),
		.solve = method->uses_q   ? BS_SOLVE_CG
			 : method->solves ? BS_SOLVE_UNFOLD
					  : BS_SOLVE_NONE,
		.together = method->solves && !method->uses_maps ? 1 : p->coils,
	};
}

/* config/rules/w.c - the rules of the constraint W, and its defaults; see rules.h */

#include "config/rule.h"
#include "config/rules.h"
#include "core/protocol.h"
#include "core/study/study.h"

void bs_rules_derive_w(const struct bs_scope *s, struct bs_protocol *p)
{
	if (p->w.from != BS_W_STUDY)
		return;
	if (!given(s, "ls.lambda"))
		p->lambda = 0.03;
	if (!given(s, "ls.l2"))
		p->w.l2 = 0.1;
	if (p->w.neighbors == 0)
		p->w.neighbors = 2 * p->dims;
}

static void study(const struct bs_scope *s, const struct bs_protocol *p)
{
	const uint32_t n = p->w.neighbors;

	if (p->plan.solve == BS_SOLVE_PROX &&
	    sound(s, "solve.prior", "solve.start", "solve.damp", NULL))
		fault(s, "ls.w", "study: not with solve.prior, start or damp");
	if (p->w_file[0] != '\0' && sound(s, "ls.w_file", NULL))
		fault(s, "ls.w_file", "has no effect with ls.w study");
	if (p->w.protocol[0] == '\0' && sound(s, "ls.w_protocol", NULL))
		fault_near(s, "ls.w_protocol", "ls.w", "missing; ls.w study needs it");
	if (p->slices > 1 && sound(s, "slices", NULL))
		fault(s, "ls.w", "study: in 3D, or of one slice, not of %u", p->slices);
	if (sound(s, "ls.w_neighbors", "matrix", "dims", NULL) &&
	    (p->dims == 2 ? n != 4 && n != 8 : n != 6 && n != 26))
		fault(s, "ls.w_neighbors", "%u in %uD (%s)", n, p->dims,
		      p->dims == 2 ? "4 or 8" : "6 or 26");
}

void bs_rules_w(const struct bs_scope *s, const struct bs_protocol *p)
{
	const struct bs_w_spec *w = &p->w;
	const struct {
		const char *key;
		bool set;
	} of_study[] = { { "ls.w_protocol", w->protocol[0] != '\0' },
			 { "ls.w_lacking", w->lacking != BS_W_LACKING_REFUSE },
			 { "ls.w_edge", w->edge != 0.1 },
			 { "ls.w_outside", w->outside != 1.0 },
			 { "ls.w_neighbors", w->neighbors != 0 },
			 { "ls.w_mask", w->mask != 0.1 },
			 { "ls.w_margin", w->margin != 1.5 },
			 { "ls.w_off", w->off != 0.75 } };
	const bool solves = p->plan.solve != BS_SOLVE_NONE;
	const bool from_study = p->w.from == BS_W_STUDY;
	const bool any = from_study || p->w_file[0] != '\0';

	if (!sound(s, "ls.w", "ls.w_file", "ls.l2", NULL))
		return;
	if (any && !solves)
		bs_rule_fault_solves(s, from_study ? "ls.w" : "ls.w_file");
	else if (any && sound(s, "ls.lambda", NULL) && p->lambda == 0.0)
		fault(s, "ls.lambda", "is 0: %s would have no effect", from_study ? "W" : "w_file");
	if (!any && p->w.l2 > 0.0)
		fault(s, "ls.l2", "without W ls.lambda is the identity's weight");
	if (p->w.l2 > 0.0 && p->plan.solve != BS_SOLVE_PROX && p->backend == BS_BACKEND_CUDA &&
	    sound(s, "backend", NULL))
		fault(s, "backend", "%s has no CUDA engine: host, or auto",
		      from_study ? "ls.w study" : "ls.l2");
	if (from_study && solves)
		study(s, p);
	for (size_t i = 0; !from_study && i < sizeof(of_study) / sizeof(of_study[0]); i++)
		if (of_study[i].set && sound(s, of_study[i].key, NULL))
			fault(s, of_study[i].key, "has no effect without ls.w study");
}

void bs_rules_w_source(const struct bs_scope *s, const struct bs_site *site,
		       const struct bs_protocol *p)
{
	const struct bs_protocol *q = bs_site_protocol(site, p->w.protocol);

	if (!p->plan.takes[BS_KEPT_IMAGE] || p->w.protocol[0] == '\0')
		return;
	if (q == NULL)
		fault(s, "ls.w_protocol", "no protocol '%s'", p->w.protocol);
	else if (!bs_study_images(q))
		fault(s, "ls.w_protocol",
		      "'%s' leaves no volume or slice of one channel, magnitude or complex: "
		      "combine its coils, join its slices (image.volume)",
		      q->name);
}

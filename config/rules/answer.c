/* config/rules/answer.c - the rules of a site's answers; see rules.h */
#include "config/rules.h"

#include <string.h>

#include "config/rule.h"
#include "core/frame/kind.h"

static const uint32_t kinds[] = { [BS_ANSWER_OF_NAVIGATION] = 1u << BS_KIND_NAVIGATION,
				  [BS_ANSWER_OF_PHASE_CORRECTION] = 1u << BS_KIND_PHASE_CORRECTION,
				  [BS_ANSWER_OF_FEEDBACK] = 1u << BS_KIND_FEEDBACK,
				  [BS_ANSWER_OF_IMAGE] = 0 };

void bs_rules_share_answers(const struct bs_site *site, struct bs_protocol *p)
{
	for (uint32_t i = 0; i < site->answers; i++) {
		const struct bs_answer_spec *a = &site->answer[i];

		if (strcmp(a->on, p->name) != 0 || p->answers.count == BS_ANSWERS_MAX)
			continue;
		p->answers.row[p->answers.count++] = *a;
		p->answers.kinds |= kinds[a->of];
	}
}

/* The rules between an answer and its protocol. */
static void rule_protocol(const struct bs_scope *s, const struct bs_answer_spec *a,
			  const struct bs_protocol *p)
{
	const bool image = a->of == BS_ANSWER_OF_IMAGE;

	if (image != (a->what >= BS_ANSWER_MOTION))
		fault_near(s, "of", "what",
			   image ? "a step's numbers are motion, gate or step"
				 : "motion, gate and step are of images");
	else if (image && p->step.at == 0)
		fault(s, "of", "protocol '%s' has no step that gives numbers", p->name);
	if (p->plan.passes)
		fault(s, "on", "protocol '%s' passes readouts on as they came", p->name);
	if (!image && (uint64_t)p->samples + p->discard > BS_ANSWER_SAMPLES)
		fault(s, "on", "readouts of protocol '%s' have up to %llu samples; at most %u",
		      p->name, (unsigned long long)p->samples + p->discard, BS_ANSWER_SAMPLES);
}

void bs_rules_answers(const struct bs_site *site, const struct bs_scope *answers,
		      const struct bs_scope *protocols)
{
	for (uint32_t i = 0; i < site->protocols; i++)
		if (!sound(&protocols[i], "name", "method", "samples", "discard", NULL))
			return;
	for (uint32_t i = 0; i < site->answers; i++) {
		const struct bs_answer_spec *a = &site->answer[i];
		const struct bs_protocol *p = NULL;
		uint32_t before = 0;

		if (!sound(&answers[i], "on", "what", "of", NULL))
			continue;
		for (uint32_t j = 0; j < site->protocols; j++)
			if (strcmp(site->protocol[j].name, a->on) == 0)
				p = &site->protocol[j];
		for (uint32_t j = 0; j < i; j++)
			before += strcmp(site->answer[j].on, a->on) == 0;
		if (p == NULL)
			fault(&answers[i], "on", "the site has no protocol '%s'", a->on);
		else
			rule_protocol(&answers[i], a, p);
		if (before == BS_ANSWERS_MAX)
			fault(&answers[i], "on", "a protocol has at most %u answers",
			      BS_ANSWERS_MAX);
	}
}

/* config/rules/step.c - the rules of a site's steps; see rules.h */
#include "config/rules.h"

#include <string.h>

#include "config/rule.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

void bs_rules_share_steps(const struct bs_site *site, struct bs_protocol *p)
{
	for (uint32_t i = site->steps; i-- > 0;) {
		const struct bs_step_spec *step = &site->step[i];

		if (strcmp(step->on, p->name) != 0)
			continue;
		p->step = (struct bs_step_of){ i + 1, step->on_late, step->budget_ms, step->takes };
	}
}

/* Rules of what a step's socket and process are called and where they are. */
static void rule_names(const struct bs_scope *s, const struct bs_step_spec *step)
{
	const size_t path = strlen(step->dir) + 1 + strlen(step->name);

	if (step->name[0] == '\0' || step->name[0] == '.' ||
	    strspn(step->name, NAME_LETTERS) != strlen(step->name))
		fault(s, "name", "\"%s\": letters, digits, '.', '_', '-', and no '.' first",
		      step->name);
	if (sound(s, "dir", NULL) && path > BS_IPC_PATH_MAX)
		fault_near(s, "dir", "name",
			   "a socket's path of %zu characters is too long, at most %u", path,
			   BS_IPC_PATH_MAX);
	if (sound(s, "command", NULL) && step->command[0] != '\0' && step->command[0] != '/')
		fault(s, "command", "\"%s\": the program's whole path, from / on", step->command);
}

/* The rules between a step and the protocol that it is on. */
static void rule_on(const struct bs_scope *s, const struct bs_step_spec *step,
		    const struct bs_site *site, const struct bs_scope *protocols)
{
	const struct bs_protocol *p = NULL;

	for (uint32_t i = 0; i < site->protocols; i++) {
		if (!sound(&protocols[i], "name", "method", "budget.image_ms", NULL))
			return;
		if (strcmp(site->protocol[i].name, step->on) == 0)
			p = &site->protocol[i];
	}
	if (p == NULL)
		fault(s, "on", "the site has no protocol '%s'", step->on);
	else if (p->plan.passes)
		fault(s, "on", "protocol '%s' makes no images: they pass as they came", p->name);
	else if (step->takes == BS_STEP_TAKES_FRAME && p->volume)
		fault(s, "takes", "an image of '%s' is joined of several frames", p->name);
	else if (sound(s, "budget_ms", NULL) && p->image_ms > 0.0 && step->budget_ms > p->image_ms)
		fault(s, "budget_ms", "%g is more than budget.image_ms of '%s', %g",
		      step->budget_ms, p->name, p->image_ms);
}

void bs_rules_steps(const struct bs_site *site, const struct bs_scope *steps,
		    const struct bs_scope *protocols)
{
	for (uint32_t i = 0; i < site->steps; i++) {
		if (!sound(&steps[i], "name", "on", NULL))
			continue;
		rule_names(&steps[i], &site->step[i]);
		rule_on(&steps[i], &site->step[i], site, protocols);
		for (uint32_t j = 0; j < i; j++) {
			if (strcmp(site->step[i].name, site->step[j].name) == 0)
				fault(&steps[i], "name", "the same as %s (line %u)", steps[j].label,
				      steps[j].line);
			if (strcmp(site->step[i].on, site->step[j].on) == 0)
				fault(&steps[i], "on",
				      "protocol '%s' has a step, %s (line %u): one process does "
				      "all that is to be done",
				      site->step[i].on, steps[j].label, steps[j].line);
		}
	}
}

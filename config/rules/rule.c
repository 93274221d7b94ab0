/* config/rules/rule.c - see rule.h */
#include "config/rule.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/fault.h"
#include "config/keys.h"

static size_t row_of(const struct bs_scope *s, const char *path)
{
	const struct bs_key *key = bs_key_find(s->scope, path);

	/* a rule names a key that the table lacks, which tests find: they run every rule */
	if (key == NULL)
		abort();
	return (size_t)(key - bs_keys);
}

bool bs_rule_given(const struct bs_scope *s, const char *path)
{
	return s->at[row_of(s, path)] != 0;
}

bool bs_rule_sound(const struct bs_scope *s, ...)
{
	va_list ap;
	bool yes = true;

	va_start(ap, s);
	for (const char *p = va_arg(ap, const char *); p != NULL; p = va_arg(ap, const char *))
		yes = yes && !s->bad[row_of(s, p)];
	va_end(ap);
	return yes;
}

void bs_rule_fault(const struct bs_scope *s, const char *path, const char *near, const char *fmt,
		   ...)
{
	unsigned line = s->at[row_of(s, path)];
	char name[160];
	char why[448];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	line = line != 0 ? line : s->at[row_of(s, near)];
	bs_scope_name(name, s, path);
	bs_fault(s->reading->faults, line != 0 ? line : s->line, name, "%s", why);
}

void bs_rule_fault_solves(const struct bs_scope *s, const char *path)
{
	char solvers[64];

	fault(s, path, "has no effect without method %s",
	      bs_method_solvers(solvers, sizeof(solvers)));
}

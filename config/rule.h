/*
 * config/rule.h - functions that rules are written with: for rules.c and config/rules alone
 */
#ifndef BS_CONFIG_RULE_H
#define BS_CONFIG_RULE_H

#include "config/value.h"

bool bs_rule_given(const struct bs_scope *s, const char *path);
/* The keys in the list, which ends with NULL, are all free of faults. */
bool bs_rule_sound(const struct bs_scope *s, ...);
/*
 * Adds a fault at the line of path; where that key is not given, at the line of near, the key that
 * asks for it.
 */
__attribute__((format(printf, 4, 5))) void bs_rule_fault(const struct bs_scope *s, const char *path,
							 const char *near, const char *fmt, ...);

/* Adds a fault: the key has no effect without a method that solves. */
void bs_rule_fault_solves(const struct bs_scope *s, const char *path);

#define given               bs_rule_given
#define sound               bs_rule_sound
#define fault_near          bs_rule_fault
#define fault(s, path, ...) bs_rule_fault(s, path, path, __VA_ARGS__)

#endif

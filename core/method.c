/* core/method.c - see method.h: the table itself */
#include "core/method.h"

#include <stdio.h>

/* clang-format off */
const char *const bs_method_names[] = {
	[BS_METHOD_GRIDDING] = "gridding",
	[BS_METHOD_LS] = "ls",
	[BS_METHOD_SENSE] = "sense",
	[BS_METHOD_CARTESIAN] = "cartesian",
	[BS_METHOD_CARTESIAN_SENSE] = "cartesian_sense",
	[BS_METHOD_NOOP] = "noop",
	[BS_METHOD_PASS] = "pass",
	[BS_METHODS] = NULL,
};

const struct bs_method_traits bs_methods[] = {
	[BS_METHOD_GRIDDING] = {
		.weighs = BS_WEIGHS_ALWAYS,
		.windows = true, .previews = true,
		.preview = BS_METHOD_GRIDDING, .counting = BS_METHOD_NOOP,
	},
	[BS_METHOD_LS] = {
		.solves = true, .uses_q = true, .weighs = BS_WEIGHS_WHEN_ASKED,
		.windows = true, .previews = true,
		.preview = BS_METHOD_GRIDDING, .counting = BS_METHOD_NOOP,
	},
	[BS_METHOD_SENSE] = {
		.solves = true, .uses_q = true, .uses_maps = true, .weighs = BS_WEIGHS_WHEN_ASKED,
		.windows = true, .previews = true,
		.preview = BS_METHOD_GRIDDING, .counting = BS_METHOD_NOOP,
	},
	[BS_METHOD_CARTESIAN] = {
		.on_grid = true, .parallel = true, .partial = true,
		.preview = BS_METHOD_CARTESIAN, .counting = BS_METHOD_CARTESIAN,
	},
	[BS_METHOD_CARTESIAN_SENSE] = {
		.on_grid = true, .parallel = true, .partial = true,
		.solves = true, .uses_maps = true,
		.preview = BS_METHOD_CARTESIAN, .counting = BS_METHOD_CARTESIAN,
	},
	[BS_METHOD_NOOP] = {
		.empty = true, .windows = true, .previews = true,
		.preview = BS_METHOD_NOOP, .counting = BS_METHOD_NOOP,
	},
	[BS_METHOD_PASS] = {
		.empty = true, .passes = true, .windows = true, .previews = true,
		.preview = BS_METHOD_NOOP, .counting = BS_METHOD_NOOP,
	},
};
/* clang-format on */

_Static_assert(sizeof(bs_methods) / sizeof(bs_methods[0]) == BS_METHODS, "a row for each method");
_Static_assert(sizeof(bs_method_names) / sizeof(bs_method_names[0]) == BS_METHODS + 1,
	       "a name for each method");

const char *bs_method_name(enum bs_method m)
{
	return (unsigned)m < BS_METHODS ? bs_method_names[m] : "?";
}

enum bs_method bs_method_direct(bool on_grid)
{
	return on_grid ? BS_METHOD_CARTESIAN : BS_METHOD_GRIDDING;
}

enum bs_method bs_method_least_squares(void)
{
	return BS_METHOD_LS;
}

enum bs_method bs_method_sense(enum bs_method m)
{
	return bs_methods[m].parallel ? BS_METHOD_CARTESIAN_SENSE : m;
}

const char *bs_method_solvers(char *to, size_t size)
{
	size_t at = 0;

	to[0] = '\0';
	for (int m = 0; m < BS_METHODS; m++)
		if (bs_methods[m].solves && at < size)
			at += (size_t)snprintf(to + at, size - at, "%s%s", at > 0 ? " or " : "",
					       bs_method_names[m]);
	return to;
}

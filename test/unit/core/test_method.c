/* test/unit/core/test_method.c - the methods' rows agree with each other and with the engines */
#include "core/protocol.h"
#include "gpu/engine/engines.h"
#include "test/support/check.h"

#include <string.h>

static void check_row(enum bs_method m)
{
	const struct bs_method_traits *t = &bs_methods[m];
	const struct bs_method_traits *preview = &bs_methods[t->preview];
	const struct bs_method_traits *counting = &bs_methods[t->counting];
	const char *name = bs_method_names[m];

	CHECK(name != NULL && strcmp(bs_method_name(m), name) == 0, "method %d has a name", m);
	CHECK(counting->on_grid == t->on_grid, "%s: the same readouts are admitted", name);
	CHECK(!counting->solves && !counting->uses_maps, "%s: counted without work", name);
	CHECK(!t->previews || (preview->previews && preview->preview == t->preview),
	      "%s: its previews are made by what makes its own", name);
	CHECK(!t->uses_maps || t->solves, "%s: maps are the solver's", name);
	CHECK(!t->uses_q || t->solves, "%s: Q is the solver's", name);
	CHECK(!(t->parallel || t->partial) || t->on_grid, "%s: lines of a grid", name);
	CHECK(bs_methods[bs_method_sense(m)].uses_maps || bs_method_sense(m) == m,
	      "%s: its lines are added by maps, if at all", name);
	CHECK(!t->empty || t->weighs == BS_WEIGHS_NEVER, "%s: no work", name);
}

/* A method without work has an engine of its own; what solves along a trajectory, one beside it. */
static void check_engine(enum bs_method m)
{
	const struct bs_method_traits *t = &bs_methods[m];
	struct bs_protocol p = { .name = "p", .method = m, .backend = BS_BACKEND_HOST };
	const struct bs_engine *e = NULL;
	const struct bs_engine *preview;
	struct bs_fail why;
	const char *name = bs_method_name(m);

	bs_plan_make(&p);
	CHECK(bs_engine_find(&e, &p, &why) == 0, "%s has an engine", name);
	if (e == NULL)
		return;
	CHECK((e == &bs_engine_noop) == t->empty, "%s: at its place", name);
	CHECK(!t->windows || e->fold != NULL, "%s: sliding windows", name);
	CHECK(!t->previews || e->peek != NULL, "%s: previews", name);
	preview = e->preview;
	p.method = t->preview;
	CHECK(bs_engine_find(&e, &p, &why) == (t->preview == m ? 0 : BS_ERR_CONFIG),
	      "%s: no engine for a plan of another method", name);
	bs_plan_make(&p);
	CHECK(bs_engine_find(&e, &p, &why) == 0 && (preview == NULL || e == preview),
	      "%s: whose previews", name);
}

static void check_words(void)
{
	char words[64];

	CHECK(bs_method_names[BS_METHODS] == NULL, "the list of names ends");
	CHECK(strcmp(bs_method_name(BS_METHODS), "?") == 0, "no name beyond it");
	CHECK(strcmp(bs_method_solvers(words, sizeof(words)), "ls or sense or cartesian_sense") ==
		      0,
	      "those that solve: %s", words);
	CHECK(strcmp(bs_method_solvers(words, 6), "ls or") == 0, "cut to size: %s", words);
	CHECK(bs_methods[bs_method_direct(true)].on_grid &&
		      !bs_methods[bs_method_direct(false)].on_grid,
	      "a direct method for either kind of samples");
}

int main(void)
{
	for (int m = 0; m < BS_METHODS; m++) {
		check_row((enum bs_method)m);
		check_engine((enum bs_method)m);
	}
	check_words();
	return check_done();
}

/* test/unit/core/plan/test_plan.c - the encoding and the solver of each kind of protocol */
#include "core/plan/plan.h"

#include "test/support/check.h"

static const struct {
	const char *name;
	struct bs_protocol p;
	struct bs_plan plan;
} kinds[] = {
	{ "gridding",
	  { .method = BS_METHOD_GRIDDING, .fhd = BS_SUM_EXACT },
	  { BS_ENCODE_GRID, BS_SOLVE_NONE, 3 } },
	{ "gridding of a grid",
	  { .method = BS_METHOD_GRIDDING, .traj.type = BS_TRAJ_CARTESIAN },
	  { BS_ENCODE_GRID, BS_SOLVE_NONE, 3 } },
	{ "gridding off resonance",
	  { .method = BS_METHOD_GRIDDING, .field.from = BS_FIELD_STUDY },
	  { BS_ENCODE_FIELD, BS_SOLVE_NONE, 3 } },
	{ "gridding that measures a field",
	  { .method = BS_METHOD_GRIDDING, .field.from = BS_FIELD_ECHOES },
	  { BS_ENCODE_GRID, BS_SOLVE_NONE, 3 } },
	{ "gridding of streams",
	  { .method = BS_METHOD_GRIDDING, .traj.type = BS_TRAJ_STREAM },
	  { BS_ENCODE_PATH, BS_SOLVE_NONE, 3 } },
	{ "ls, exact",
	  { .method = BS_METHOD_LS, .fhd = BS_SUM_EXACT },
	  { BS_ENCODE_EXACT, BS_SOLVE_CG, 1 } },
	{ "ls, NUFFT",
	  { .method = BS_METHOD_LS, .fhd = BS_SUM_NUFFT },
	  { BS_ENCODE_GRID, BS_SOLVE_CG, 1 } },
	{ "ls off resonance",
	  { .method = BS_METHOD_LS, .fhd = BS_SUM_EXACT, .field.map_file = "map" },
	  { BS_ENCODE_FIELD, BS_SOLVE_CG, 1 } },
	{ "sense, exact",
	  { .method = BS_METHOD_SENSE, .fhd = BS_SUM_EXACT },
	  { BS_ENCODE_EXACT, BS_SOLVE_CG, 3 } },
	{ "sense of streams",
	  { .method = BS_METHOD_SENSE, .traj.type = BS_TRAJ_STREAM, .fhd = BS_SUM_EXACT },
	  { BS_ENCODE_PATH, BS_SOLVE_CG, 3 } },
	{ "cartesian", { .method = BS_METHOD_CARTESIAN }, { BS_ENCODE_LINES, BS_SOLVE_NONE, 3 } },
	{ "cartesian with parallel sense",
	  { .method = BS_METHOD_CARTESIAN_SENSE },
	  { BS_ENCODE_LINES, BS_SOLVE_UNFOLD, 3 } },
	{ "noop",
	  { .method = BS_METHOD_NOOP, .traj.type = BS_TRAJ_STREAM },
	  { BS_ENCODE_NOTHING, BS_SOLVE_NONE, 3 } },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct bs_protocol p = kinds[i].p;
		struct bs_plan plan;

		p.coils = 3;
		plan = bs_plan_of(&p);
		CHECK(plan.encode == kinds[i].plan.encode && plan.solve == kinds[i].plan.solve &&
			      plan.together == kinds[i].plan.together,
		      "%s: encoding %d, solver %d, %u coils together", kinds[i].name,
		      (int)plan.encode, (int)plan.solve, plan.together);
	}
	return check_done();
}

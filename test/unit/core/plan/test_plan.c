/* test/unit/core/plan/test_plan.c - what each kind of protocol is, and its words */
#include "core/protocol.h"

#include <string.h>

#include "test/support/check.h"

/* clang-format off */
static const struct {
	const char *name;
	struct bs_protocol p;
	struct {
		enum bs_encode encode;
		enum bs_solve solve;
		uint32_t together;
	} plan;
	const char *words;
} kinds[] = {
	{ "gridding", { .method = BS_METHOD_GRIDDING, .fhd = BS_SUM_EXACT },
	  { BS_ENCODE_GRID, BS_SOLVE_NONE, 3 }, "grid" },
	{ "gridding of a grid", { .method = BS_METHOD_GRIDDING, .traj.type = BS_TRAJ_CARTESIAN,
	  .combine = BS_COMBINE_RSS }, { BS_ENCODE_GRID, BS_SOLVE_NONE, 3 }, "grid > combine" },
	{ "gridding off resonance", { .method = BS_METHOD_GRIDDING, .field.from = BS_FIELD_STUDY },
	  { BS_ENCODE_FIELD, BS_SOLVE_NONE, 3 }, "field" },
	{ "gridding that measures a field", { .method = BS_METHOD_GRIDDING, .field.from =
	  BS_FIELD_ECHOES }, { BS_ENCODE_GRID, BS_SOLVE_NONE, 3 }, "grid > measure field" },
	{ "gridding of streams", { .method = BS_METHOD_GRIDDING, .traj.type = BS_TRAJ_STREAM },
	  { BS_ENCODE_PATH, BS_SOLVE_NONE, 3 }, "path" },
	{ "gridding with maps and all that readouts may have", { .method = BS_METHOD_GRIDDING,
	  .epi_correct = true, .navigators = BS_NAVIGATE_PHASE, .whiten = BS_WHITEN_AUTO,
	  .virtual_coils = 2, .averages = 2, .combine = BS_COMBINE_SENSE, .maps = BS_MAPS_WALSH,
	  .image_matrix = { 8 } }, { BS_ENCODE_GRID, BS_SOLVE_NONE, 3 },
	  "EPI, navigate, whiten, compress, average > grid > combine by maps of the scan, resize" },
	{ "ls, exact", { .method = BS_METHOD_LS, .fhd = BS_SUM_EXACT },
	  { BS_ENCODE_EXACT, BS_SOLVE_CG, 1 }, "exact > cg" },
	{ "ls, NUFFT", { .method = BS_METHOD_LS, .fhd = BS_SUM_NUFFT },
	  { BS_ENCODE_GRID, BS_SOLVE_CG, 1 }, "grid > cg" },
	{ "ls off resonance", { .method = BS_METHOD_LS, .fhd = BS_SUM_EXACT, .field.map_file = "map"
	  }, { BS_ENCODE_FIELD, BS_SOLVE_CG, 1 }, "field > cg" },
	{ "sense, exact", { .method = BS_METHOD_SENSE, .fhd = BS_SUM_EXACT, .combine =
	  BS_COMBINE_SENSE }, { BS_ENCODE_EXACT, BS_SOLVE_CG, 3 }, "exact > cg by maps_file" },
	{ "sense of two images", { .method = BS_METHOD_SENSE, .maps = BS_MAPS_STUDY, .map_images =
	  2, .combine = BS_COMBINE_SENSE }, { BS_ENCODE_EXACT, BS_SOLVE_CG, 3 },
	  "exact > cg by maps of the study > combine" },
	{ "sense of streams", { .method = BS_METHOD_SENSE, .traj.type = BS_TRAJ_STREAM, .fhd =
	  BS_SUM_EXACT }, { BS_ENCODE_PATH, BS_SOLVE_CG, 3 }, "path > cg by maps_file" },
	{ "cartesian", { .method = BS_METHOD_CARTESIAN, .parallel = BS_PARALLEL_GRAPPA,
	  .partial_fourier = BS_PARTIAL_FOURIER_POCS }, { BS_ENCODE_LINES, BS_SOLVE_NONE, 3 },
	  "GRAPPA > lines > POCS" },
	{ "cartesian, of EPI off resonance", { .method = BS_METHOD_CARTESIAN, .epi_correct = true,
	  .field.from = BS_FIELD_STUDY, .combine = BS_COMBINE_RSS },
	  { BS_ENCODE_LINES, BS_SOLVE_NONE, 3 }, "EPI > lines > unwarp, combine" },
	{ "cartesian with parallel sense", { .method = BS_METHOD_CARTESIAN_SENSE, .maps =
	  BS_MAPS_ESPIRIT }, { BS_ENCODE_LINES, BS_SOLVE_UNFOLD, 3 },
	  "lines > unfold by maps of the scan" },
	{ "noop", { .method = BS_METHOD_NOOP, .traj.type = BS_TRAJ_STREAM },
	  { BS_ENCODE_NOTHING, BS_SOLVE_NONE, 3 }, "nothing" },
};
/* clang-format on */

/* Calibration lines are of the grid; images also wait for maps of samples anywhere. */
static void test_waiting(void)
{
	struct bs_protocol p = { .method = BS_METHOD_SENSE, .maps = BS_MAPS_ESPIRIT, .coils = 3 };

	bs_plan_make(&p);
	CHECK(!p.plan.calibrates && p.plan.waits, "samples anywhere");
	p.method = BS_METHOD_CARTESIAN_SENSE;
	bs_plan_make(&p);
	CHECK(p.plan.calibrates && p.plan.waits, "lines");
	p.maps = BS_MAPS_FILE;
	bs_plan_make(&p);
	CHECK(!p.plan.calibrates && !p.plan.waits, "a file's maps");
	p.parallel = BS_PARALLEL_GRAPPA;
	bs_plan_make(&p);
	CHECK(p.plan.calibrates && p.plan.waits, "weights");
	p.parallel = BS_PARALLEL_NONE;
	p.virtual_coils = 2;
	bs_plan_make(&p);
	CHECK(!p.plan.calibrates && p.plan.waits, "coil matrices");
}

int main(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct bs_protocol p = kinds[i].p;
		const struct bs_plan *plan = &p.plan;
		char words[BS_PLAN_WORDS];

		p.coils = 3;
		bs_plan_make(&p);
		CHECK(plan->encode == kinds[i].plan.encode && plan->solve == kinds[i].plan.solve &&
			      plan->together == kinds[i].plan.together,
		      "%s: encoding %d, solver %d, %u coils together", kinds[i].name,
		      (int)plan->encode, (int)plan->solve, plan->together);
		CHECK(strcmp(bs_plan_words(words, sizeof(words), plan), kinds[i].words) == 0,
		      "%s: %s", kinds[i].name, words);
	}
	test_waiting();
	return check_done();
}

/*
 * test/unit/gpu/engine/test_engine_ahead.c - weights of slices at once that are made ahead, before
 * a group's lines come or between them: images and what they say are the same bytes as without,
 * whether the frame is what the one before it lets expect or is not
 *
 * References are noise, lines are their sums. Of groups 0 and 1 the first tells what is expected of
 * the second.
 */
#include <math.h>

#include "gpu/engine/slicer.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"

#define BANDS  2u
#define GROUPS 2u
#define SLICES (BANDS * GROUPS)
#define LINES  36u
#define COILS  4u
#define N      24u /* samples */
#define VALUES (2 * N * COILS)
#define TAU    6.28318530717958647692

static const struct trial {
	const char *what;
	uint32_t step, from[GROUPS]; /* lines of a frame: each step-th one */
	bool phased[GROUPS];         /* references have their bands' phases */
	bool again;                  /* another reference comes behind the first line */
	bool lacks;                  /* group 1 has references of one slice alone */
	bool right;                  /* what is expected comes true */
} trials[] = {
	{ "all lines", 1, { 0, 0 }, { false, false }, false, false, true },
	{ "every second line", 2, { 1, 1 }, { false, false }, false, false, true },
	{ "a group's other lines", 3, { 0, 1 }, { false, false }, false, false, false },
	{ "references with phases", 1, { 0, 0 }, { true, true }, false, false, true },
	{ "of one group alone", 1, { 0, 0 }, { true, false }, false, false, false },
	{ "a reference again", 1, { 0, 0 }, { false, false }, true, false, false },
	{ "no references", 3, { 0, 0 }, { false, false }, false, true, false },
};

static struct bs_team *team;
static float references[SLICES + 1][LINES][VALUES]; /* the last: what comes again */

static struct bs_protocol protocol(void)
{
	struct bs_protocol p = lines_of(N, LINES, 1, N, COILS);

	p.parallel = BS_PARALLEL_SLICES;
	p.slices = SLICES;
	p.uses = 1u << BS_KIND_CALIBRATION;
	p.grappa_kernel[0] = 5;
	p.grappa_kernel[1] = 9;
	p.grappa_kernel[2] = 1;
	p.grappa_sources = 2;
	p.grappa_lambda = 5e-3;
	p.multiband.factor = BANDS;
	p.multiband.kernel[0] = p.multiband.kernel[1] = 5;
	p.multiband.lambda = 1e-2;
	return coils_apart(p);
}

/* A line of a group: the sum of its slices' lines, with phases unless the references have them. */
static void fold(const struct trial *t, uint32_t group, uint32_t y, float *to)
{
	memset(to, 0, VALUES * sizeof(*to));
	for (uint32_t b = 0; b < BANDS; b++) {
		const double angle =
			t->phased[group] ? 0.0 : TAU * b * ((double)y - LINES / 2) / BANDS;
		const float *from = references[group + b * GROUPS][y];

		for (uint32_t i = 0; i < VALUES; i += 2) {
			to[i] += (float)(from[i] * cos(angle) - from[i + 1] * sin(angle));
			to[i + 1] += (float)(from[i] * sin(angle) + from[i + 1] * cos(angle));
		}
	}
}

static struct bs_report report_of(const struct trial *t)
{
	struct bs_report report = { .apart = { .of = BANDS, .step = t->step } };

	for (uint32_t b = 0; b < BANDS; b++)
		report.apart.cycles[b] = (double)b / BANDS;
	return report;
}

static void side(struct armed *a, uint32_t slice, uint32_t y, const float *data)
{
	const struct bs_mrd_acq head = { .flags = BS_MRD_IS_CALIBRATION };

	CHECK(a->engine->side(a->self, bs_protocol_frame(&a->p, slice, 0), BS_KIND_CALIBRATION, y,
			      &head, data, N) == 0,
	      "reference %u of slice %u", y, slice);
}

struct made {
	float image[SLICES][2 * N * LINES * COILS];
	struct bs_report report[SLICES];
	int64_t ahead_ns[SLICES];
	int rc[SLICES];
};

/* A scan's images. */
static void scan(struct armed *a, const struct trial *t, bool ahead, struct made *m)
{
	float line[VALUES];

	memset(m, 0, sizeof(*m));
	a->engine->scan(a->self);
	for (uint32_t i = 0; i < SLICES * LINES; i++)
		if (!t->lacks || i / LINES != 1)
			side(a, i / LINES, i % LINES, references[i / LINES][i % LINES]);
	for (uint32_t s = 0; s < SLICES; s++) {
		const uint32_t frame = bs_protocol_frame(&a->p, s, 0);
		const uint32_t group = s % GROUPS;

		if (ahead && s % 2 == 0)
			m->ahead_ns[s] = a->engine->ahead(a->self, frame);
		CHECK(a->engine->begin(a->self, frame) == 0, "begun");
		if (t->again)
			side(a, s, LINES / 2, references[SLICES][s]);
		for (uint32_t y = t->from[group]; y < LINES; y += t->step) {
			fold(t, group, y, line);
			(void)a->engine->add(a->self, frame, y, NULL, line, N);
			if (ahead && m->ahead_ns[s] == 0)
				m->ahead_ns[s] = a->engine->ahead(a->self, frame);
		}
		m->report[s] = report_of(t);
		m->rc[s] = a->engine->image(a->self, frame, NULL, INT64_MAX, m->image[s],
					    &m->report[s]);
	}
}

static void compare(const struct trial *t)
{
	static struct made with, without;
	const struct bs_protocol p = protocol();
	struct bs_tables none = { 0 };
	struct bs_fail why = { 0 };
	struct armed a, b;
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };

	if (armed_open(&a, &bs_engine_host, &p, &none, env, &why) != 0 ||
	    armed_open(&b, &bs_engine_host, &p, &none, env, &why) != 0) {
		CHECK(false, "armed: %s", why.text);
		return;
	}
	for (int again = 0; again < 2; again++) {
		scan(&a, t, true, &with);
		scan(&b, t, false, &without);
		CHECK(memcmp(with.image, without.image, sizeof(with.image)) == 0 &&
			      memcmp(with.rc, without.rc, sizeof(with.rc)) == 0 &&
			      (with.rc[1] != 0) == t->lacks && with.rc[0] == 0,
		      "%s: the same bytes", t->what);
		for (uint32_t s = 0; s < SLICES; s++)
			CHECK(memcmp(&with.report[s].apart, &without.report[s].apart,
				     sizeof(with.report[s].apart)) == 0 &&
				      strcmp(with.report[s].why.text, without.report[s].why.text) ==
					      0,
			      "%s: slice %u says the same: %s", t->what, s,
			      with.report[s].why.text);
		CHECK(with.ahead_ns[0] == 0 && (with.ahead_ns[1] > 0) == !t->lacks,
		      "%s: the first group tells, the second one's weights are made", t->what);
		/* slice 3's own are those of the lines that are left out */
		if (t->right && t->step > 1)
			CHECK(with.report[3].stage_ns[BS_BUDGET_CALIBRATION] == 0 &&
				      without.report[3].stage_ns[BS_BUDGET_CALIBRATION] > 0,
			      "%s: and its images make none", t->what);
	}
	armed_close(&a);
	armed_close(&b);
}

/* The weights that an image takes are those that were made ahead. */
static void test_weights(const struct trial *t)
{
	const struct bs_protocol p = protocol();
	const struct bs_mrd_acq head = { .flags = BS_MRD_IS_CALIBRATION };
	static float lines[COILS][LINES][2 * N];
	struct bs_slicer_lines at = { (float *)lines, false, sqrt(N) };
	uint8_t have[LINES] = { 0 };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_slicer *s = NULL;
	struct bs_fail why = { 0 };
	uint64_t version[2];

	if (bs_slicer_need(&p, N, &need, &why) != 0 ||
	    bs_arena_open(&arena, need.total_bytes, &why) != 0 ||
	    bs_slicer_plan(&s, &p, N, &arena, team, &why) != 0) {
		CHECK(false, "planned: %s", why.text);
		return;
	}
	bs_slicer_scan(s);
	for (uint32_t i = 0; i < SLICES * LINES; i++)
		(void)bs_slicer_side(s, bs_protocol_frame(&p, i / LINES, 0), &head, i % LINES,
				     references[i / LINES][i % LINES], N);
	for (uint32_t y = t->from[0]; y < LINES; y += t->step)
		have[y] = 1;
	for (uint32_t group = 0; group < GROUPS; group++) {
		struct bs_report report = report_of(t);

		(void)bs_slicer_ahead(s, NULL, bs_protocol_frame(&p, group, 0));
		version[0] = bs_slice_version(bs_slicer_slice(s), group);
		(void)bs_slicer_prepare(s, bs_protocol_frame(&p, group, 0), have, &at, &report);
		version[1] = bs_slice_version(bs_slicer_slice(s), group);
		CHECK((version[0] != 0) == (group > 0) && version[1] != 0 &&
			      (group == 0 || version[0] == version[1]),
		      "%s: weights of group %u are made %s", t->what, group,
		      group > 0 ? "ahead, and stay" : "for its image");
	}
	bs_slicer_close(s);
	bs_arena_close(&arena);
}

int main(void)
{
	struct bs_fail why = { 0 };
	uint64_t seed = 32;

	for (size_t i = 0; i < sizeof(references) / sizeof(float); i++)
		((float *)references)[i] = (float)(check_uniform(&seed) - 0.5);
	if (bs_team_open(&team, 2, &why) != 0)
		return 1;
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		compare(&trials[i]);
	test_weights(&trials[0]);
	test_weights(&trials[1]);
	bs_team_close(team);
	return check_done();
}

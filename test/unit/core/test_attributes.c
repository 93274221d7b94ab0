/* test/unit/core/test_attributes.c - what an image says of its budget, its quality and its times */
/* Holds: W39, W40, D5 */
#include "core/frame/attributes.h"
#include "core/memory/pools.h"
#include "core/latency/budget.h"
#include "core/frame/recon.h"
#include "test/unit/core/attributes.h"
#include "test/support/check.h"

#include <string.h>

#define MS INT64_C(1000000)

static bool says(const char *text, const char *name, const char *value)
{
	char want[256];

	(void)snprintf(want, sizeof(want), "<name>boreside_%s</name><value>%s</value>", name,
		       value);
	return strstr(text, want) != NULL;
}

/* One image, changed from one function to the next. */
static struct bs_protocol p = { .name = "small",
				.method = BS_METHOD_SENSE,
				.iterations = 10,
				.image_ms = 10.0,
				.on_miss = BS_MISS_SHED };
static struct bs_recon_image image = { .readouts = 2 };
static struct bs_image_timing t = { .received_ns = 1000 * MS,
				    .handed_ns = 1001 * MS,
				    .taken_ns = 1002 * MS,
				    .added_ns = 1002 * MS + 500000,
				    .begun_ns = 1003 * MS,
				    .made_ns = 1008 * MS,
				    .passed_ns = 1009 * MS,
				    .latency_ns = 9 * MS,
				    .gaps = 3,
				    .rung = BS_RUNG_FULL };
static char text[BS_POOLS_ATTRIBUTES];

static void stages(void)
{
	int64_t stage_ns[BS_BUDGET_STAGES];

	p.stage_ms[BS_BUDGET_RECEIVE] = 1.5;
	p.stage_ms[BS_BUDGET_SOLVE] = 3.5;
	p.stage_ms[BS_BUDGET_EMIT] = 1.5;
	image.report = (struct bs_report){ .iterations = 10, .residual = 0.25 };
	image.report.stage_ns[BS_BUDGET_ACCUMULATE] = 1 * MS;
	image.report.stage_ns[BS_BUDGET_SOLVE] = 4 * MS;
	bs_image_stages(&t, &image.report, t.passed_ns, stage_ns);
	CHECK(stage_ns[BS_BUDGET_RECEIVE] == 2 * MS && stage_ns[BS_BUDGET_SOLVE] == 4 * MS &&
		      stage_ns[BS_BUDGET_ACCUMULATE] == 1500000 && stage_ns[BS_BUDGET_EMIT] == MS,
	      "stages from the stamps and from the engine");
	CHECK(bs_budget_stages_missed(&p, stage_ns) ==
		      (1u << BS_BUDGET_RECEIVE | 1u << BS_BUDGET_SOLVE),
	      "each stage against its own budget");
}

static void words(void)
{
	int n;

	p.stage_ms[BS_BUDGET_CALIBRATION] = 4.5;
	image.report.stage_ns[BS_BUDGET_CALIBRATION] = 4 * MS;
	bs_attributes_fill(&image.head, &p, &image, &t);
	n = attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	CHECK(n > 0 && says(text, "stage_calibration_us", "4000.000") &&
		      says(text, "budget_ms", "14.5") && image.head.user_int[0] == 14500 &&
		      image.head.user_float[7] == 1000.0f,
	      "an image that calibrates: %s", text);
	image.report.stage_ns[BS_BUDGET_CALIBRATION] = 0;
	image.kinds.used[BS_KIND_IMAGING] = 36;
	image.kinds.unused[BS_KIND_PHASE_CORRECTION] = 33;
	n = attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	CHECK(n > 0 && says(text, "count_imaging", "36") &&
		      says(text, "count_phase_correction", "33") &&
		      strstr(text, "count_noise") == NULL &&
		      says(text, "not_used",
			   "33 of 69 readouts are phase correction and this "
			   "protocol does not use them"),
	      "counts by kind: %s", text);
	CHECK(n > 0 && says(text, "quality", "complete") && says(text, "rung", "full") &&
		      says(text, "budget", "met") && says(text, "stage_missed", "receive") &&
		      says(text, "stage_missed", "solve") && !says(text, "stage_missed", "emit") &&
		      says(text, "at_taken_us", "2000.000") &&
		      says(text, "at_passed_us", "9000.000") &&
		      says(text, "stage_solve_us", "4000.000") && says(text, "gaps", "3"),
	      "the attributes: %s", text);
	bs_attributes_fill(&image.head, &p, &image, &t);
	CHECK(image.head.user_int[0] == 10000 && image.head.user_int[1] == 9000 &&
		      image.head.user_int[2] == 0 && image.head.user_int[3] == 10 &&
		      image.head.user_int[4] == 0 && image.head.user_int[5] == 3 &&
		      image.head.user_int[6] == 0 && image.head.user_int[7] == 0,
	      "and user_int");
	CHECK(image.head.user_float[0] == 0.25f && image.head.user_float[1] == 2000.0f &&
		      image.head.user_float[2] == 0.0f && image.head.user_float[4] == 4000.0f &&
		      image.head.user_float[7] == 1000.0f,
	      "and user_float");
}

static void prepared(void)
{
	CHECK(strstr(text, "whitened") == NULL && strstr(text, "virtual") == NULL &&
		      strstr(text, "field") == NULL,
	      "nothing is said of what was not done");
	(void)strcpy(p.field.map_file, "b0.cfl");
	bs_plan_make(&p);
	image.report.segments = 18;
	image.report.field_error = 5e-4;
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	CHECK(says(text, "field", "b0.cfl") && says(text, "field_segments", "18") &&
		      says(text, "field_error", "5.00e-04"),
	      "off resonance: %s", text);
	image.report.segments = 0;
	(void)attributes_xml(text, sizeof(text), &p, "gridding/host", &image, &t, NULL);
	CHECK(says(text, "field", "b0.cfl") && strstr(text, "field_segments") == NULL,
	      "a preview's engine says no number");
	p.field.map_file[0] = '\0';
	bs_plan_make(&p);
	image.prepared = (struct bs_prepared){ .asked = true, .coils = 2, .virtual_coils = 1 };
	image.prepared.kept = 0.875f;
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	CHECK(says(text, "whitened", "no") && strstr(text, "noise_") == NULL &&
		      says(text, "virtual_coils", "1") &&
		      says(text, "virtual_coils_kept", "0.875000"),
	      "asked for, without noise: %s", text);
	image.prepared.whitened = true;
	image.prepared.noise_samples = 512;
	image.prepared.noise_scale = 0.25f;
	image.prepared.deviation[1] = 2.0f;
	(void)snprintf(image.prepared.noise_scan, sizeof(image.prepared.noise_scan), "1_2");
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	CHECK(says(text, "whitened", "yes") && says(text, "noise_scan", "1_2") &&
		      says(text, "noise_samples", "512") && says(text, "noise_scale", "0.25") &&
		      says(text, "noise_deviation", "0.000e+00 2.000e+00"),
	      "whitened: %s", text);
}

static void corrected(void)
{
	image.prepared = (struct bs_prepared){ 0 };
	CHECK(strstr(text, "navigator") == NULL && strstr(text, "epi_") == NULL,
	      "nothing is said of phases that were left alone");
	p.navigators = BS_NAVIGATE_PHASE;
	p.epi_correct = true;
	bs_plan_make(&p);
	image.corrected = (struct bs_corrected){ 3, 0.5f, 2, -1.25f, 0.75f, true };
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	CHECK(says(text, "navigators", "3") && says(text, "navigator_phase", "0.5") &&
		      says(text, "epi_triples", "2") && says(text, "epi_phase", "-1.25") &&
		      says(text, "epi_shift", "0.75") && says(text, "epi_ramps", "yes"),
	      "navigators and EPI: %s", text);
	p.navigators = BS_NAVIGATE_OFF;
	p.epi_correct = false;
	bs_plan_make(&p);
}

static void quality(void)
{
	image.report.gridded = true;
	t.rung = BS_RUNG_GRIDDING;
	(void)attributes_xml(text, sizeof(text), &p, "gridding/host", &image, &t, NULL);
	bs_attributes_fill(&image.head, &p, &image, &t);
	CHECK(says(text, "quality", "degraded") && says(text, "rung", "gridding") &&
		      image.head.user_int[6] == 2 && image.head.user_int[7] == 3,
	      "gridding in a solver's place is degraded");
	image.report.gridded = false;
	image.report.allowed = 5;
	image.report.iterations = 5;
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	CHECK(says(text, "quality", "degraded"), "so are fewer iterations");
	image.report.iterations = 4;
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	CHECK(says(text, "quality", "complete"), "but not when the tolerance was reached before");
	t.latency_ns = 10 * MS + 1;
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	bs_attributes_fill(&image.head, &p, &image, &t);
	CHECK(says(text, "quality", "late") && says(text, "budget", "missed") &&
		      image.head.user_int[2] == 1 && image.head.user_int[7] == 2,
	      "late by a nanosecond");
	image.missing = 1;
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	CHECK(says(text, "quality", "partial"), "a readout is missing");
	image.missing = 0;
	(void)snprintf(image.lacks, sizeof(image.lacks), "something else");
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	bs_attributes_fill(&image.head, &p, &image, &t);
	CHECK(says(text, "quality", "partial") && says(text, "lacks", "something else") &&
		      image.head.user_int[7] == 1,
	      "or something else that it says: never complete");
	image.lacks[0] = '\0';
	image.missing = 1;
}

static void longest(void)
{
	static char about[BS_SCAN_ABOUT];
	static struct bs_step_result step = { .verdict = BS_STEP_NUMBERED, .numbers = 64 };
	int n;

	memset(step.name, '&', sizeof(step.name) - 1);
	for (int i = 0; i < 64; i++)
		step.number[i] = -1.2345678901234567e-300;

	/* as many bytes of XML as a header's elements may become */
	memset(about, 'a', sizeof(about) - 1 - strlen("<meta><name></name><value></value></meta>"));
	memcpy(about, "mrd_x", sizeof("mrd_x"));
	memset(p.name, '&', sizeof(p.name) - 1);
	t = (struct bs_image_timing){ INT64_MAX / 2,    INT64_MAX, UINT64_MAX, UINT64_MAX,
				      UINT64_MAX,       1,         INT64_MAX,  INT64_MAX,
				      INT64_MAX,        INT64_MAX, INT64_MAX,  INT64_MAX,
				      BS_RUNG_GRIDDING, &step };
	for (int i = 0; i < BS_BUDGET_STAGES; i++) {
		p.stage_ms[i] = 1e-9;
		image.report.stage_ns[i] = INT64_MAX / 4;
	}
	image.prepared.asked = image.prepared.whitened = true;
	memset(image.prepared.noise_scan, '&', sizeof(image.prepared.noise_scan) - 1);
	image.prepared.noise_samples = UINT64_MAX;
	image.prepared.noise_scale = 1.23456e-30f;
	image.prepared.coils = BS_COILS_MAX;
	image.prepared.virtual_coils = BS_COILS_MAX;
	image.prepared.kept = 1.0f;
	for (uint32_t i = 0; i < BS_COILS_MAX; i++)
		image.prepared.deviation[i] = 1e-30f;
	for (int i = 0; i < BS_KINDS; i++)
		image.kinds.used[i] = image.kinds.unused[i] = UINT64_MAX / 100;
	n = attributes_xml(text, sizeof(text), &p, "a name of 31 characters, no more", &image, &t,
			   about);
	CHECK(n > 0 && n < (int)BS_POOLS_ATTRIBUTES, "the longest that it can be: %d of %u bytes",
	      n, BS_POOLS_ATTRIBUTES);
	bs_attributes_fill(&image.head, &p, &image, &t);
	CHECK(image.head.user_int[1] == INT32_MAX && image.head.user_int[5] == INT32_MAX,
	      "numbers beyond 32 bits are cut to the largest");
}

/* What an image says of its step; the image of a site without one says nothing. */
static void step(void)
{
	struct bs_step_result s = { .name = "denoise",
				    .verdict = BS_STEP_USED,
				    .numbers = 2,
				    .ns = 1500,
				    .number = { 0.1, -3.0 } };

	t.passed_ns = t.made_ns + 2000;
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	CHECK(strstr(text, "boreside_step") == NULL && says(text, "stage_emit_us", "2.000"),
	      "no step, no word of one: %s", text);
	t.step = &s;
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	CHECK(says(text, "step", "denoise") && says(text, "step_image", "with") &&
		      says(text, "step_verdict", "used") && says(text, "step_us", "1.500") &&
		      says(text, "step_numbers", "0.10000000000000001 -3") &&
		      says(text, "stage_emit_us", "0.500"),
	      "a step's verdict, time and numbers, and its time is not emit's: %s", text);
	s.verdict = BS_STEP_LATE;
	s.numbers = 0;
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	CHECK(says(text, "step_image", "without") && says(text, "step_verdict", "late") &&
		      strstr(text, "step_numbers") == NULL && says(text, "quality", "complete"),
	      "bypassed: no more is said: %s", text);
	p.step.late = BS_ON_LATE_MARK;
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	bs_attributes_fill(&image.head, &p, &image, &t);
	CHECK(says(text, "quality", "degraded") && image.head.user_int[7] == 3, "marked");
	s.verdict = BS_STEP_NUMBERED;
	(void)attributes_xml(text, sizeof(text), &p, "sense/host", &image, &t, NULL);
	CHECK(says(text, "step_image", "without") && says(text, "quality", "complete"),
	      "numbers alone are as the site wished it");
	p.step.late = BS_ON_LATE_BYPASS;
	t.step = NULL;
}

int main(void)
{
	bs_plan_make(&p);
	stages();
	words();
	prepared();
	corrected();
	step();
	quality();
	longest();
	return check_done();
}

/*
 * test/unit/board/test_measure.c - armed protocols are timed through their own reconstruction
 *
 * No timing passes or fails here: only that every cost was timed, that the sums are those of the
 * parts, and that budgets beyond any machine's reach are judged as they must be.
 */
#define _GNU_SOURCE /* fmemopen */
#include "board/arm/measure.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <string.h>

static struct bs_site site;
static struct bs_admission got;
static struct bs_fail why;
static unsigned beats;

static void beat(void *arg)
{
	(void)arg;
	beats++;
}

static struct bs_protocol radial(enum bs_method method)
{
	struct bs_protocol p = served_spokes(method, 32, 24);

	solved(&p, 0.1, 5);
	p.margin = 0.2;
	return planned_host(with_name(p, "p"));
}

static int measure(const struct bs_protocol *p)
{
	const struct bs_measure_env env = { .seconds = 0.02, .beat = beat };
	struct bs_team *team = NULL;
	struct bs_armed armed;
	int rc = bs_team_open(&team, 1, &why);

	beats = 0;
	if (rc == 0)
		rc = bs_armed_open(&armed, &site, p, team, &why);
	if (rc == 0) {
		rc = bs_measure(&got, &armed, &env, &why);
		bs_armed_close(&armed);
	}
	bs_team_close(team);
	return rc;
}

static void all_costs(enum bs_method method, enum bs_traj_type type, const char *name)
{
	struct bs_protocol p = radial(method);
	int64_t sum = 0;

	p.traj.type = type;
	bs_plan_make(&p);
	why.text[0] = '\0';
	CHECK(measure(&p) == 0 && got.measured, "%s is measured %s", name, why.text);
	CHECK(got.cost[BS_COST_CALIBRATION][BS_CONDITION_WARM].n == 0, "%s calibrates nothing",
	      name);
	for (int c = 0; c < BS_COST_CALIBRATION; c++) {
		const struct bs_estimate *e = got.cost[c];

		CHECK(e[BS_CONDITION_WARM].n >= 2 &&
			      (c == BS_COST_WAKE || e[BS_CONDITION_COLD].n >= 2),
		      "%s: %s timed %u times warm, %u cold", name, bs_cost_name((enum bs_cost)c),
		      e[0].n, e[1].n);
		CHECK(e[0].worst_ns >= e[0].p50_ns && e[BS_CONDITION_LOADED].n == 0,
		      "%s: worst %lld ns, median %lld ns", name, (long long)e[0].worst_ns,
		      (long long)e[0].p50_ns);
		sum += bs_admission_cost(&got, (enum bs_cost)c);
	}
	CHECK(bs_admission_worst(&got, false) == sum && sum > 0, "%s: an image takes %lld ns", name,
	      (long long)sum);
	CHECK(got.frames >= 2 && beats >= got.frames && got.readout_ns >= 0 &&
		      got.frame_ns >= got.readout_ns * p.readouts / 2,
	      "%s: %u frames of %lld ns, %lld ns a readout", name, got.frames,
	      (long long)got.frame_ns, (long long)got.readout_ns);
	CHECK(bs_admission_judge(&got, &p, &why) == 0, "%s: 1,000 s are enough", name);
	p.image_ms = 1e-6;
	CHECK(bs_admission_judge(&got, &p, &why) == BS_ERR_BUDGET, "%s: 1 ns is not: %s", name,
	      why.text);
}

/* Every way to calibrate, each alone and one with all. */
static void calibrations(void)
{
	static const struct {
		const char *name;
		enum bs_method method;
		enum bs_parallel parallel;
		enum bs_maps_from maps;
		uint32_t virtual_coils;
		enum bs_whiten whiten;
	} all[] = {
		{ "grappa", BS_METHOD_CARTESIAN, BS_PARALLEL_GRAPPA, BS_MAPS_FILE, 0,
		  BS_WHITEN_OFF },
		{ "sense", BS_METHOD_CARTESIAN_SENSE, BS_PARALLEL_SENSE, BS_MAPS_ESPIRIT, 0,
		  BS_WHITEN_OFF },
		{ "walsh", BS_METHOD_CARTESIAN, BS_PARALLEL_NONE, BS_MAPS_WALSH, 0, BS_WHITEN_OFF },
		{ "whitened", BS_METHOD_CARTESIAN, BS_PARALLEL_NONE, BS_MAPS_FILE, 0,
		  BS_WHITEN_REQUIRE },
		{ "compressed", BS_METHOD_CARTESIAN, BS_PARALLEL_NONE, BS_MAPS_FILE, 3,
		  BS_WHITEN_OFF },
		{ "all", BS_METHOD_CARTESIAN, BS_PARALLEL_GRAPPA, BS_MAPS_WALSH, 3,
		  BS_WHITEN_AUTO },
		{ "slices at once", BS_METHOD_CARTESIAN, BS_PARALLEL_SLICES, BS_MAPS_FILE, 0,
		  BS_WHITEN_OFF },
		{ "slices at once by sense", BS_METHOD_CARTESIAN_SENSE, BS_PARALLEL_SENSE_SLICES,
		  BS_MAPS_ESPIRIT, 0, BS_WHITEN_OFF },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct bs_estimate *e = got.cost[BS_COST_CALIBRATION];
		struct bs_protocol p = radial(all[i].method);

		p.traj.type = BS_TRAJ_CARTESIAN;
		p.dims = 2;
		p.encoded[0] = 64;
		p.encoded[1] = 32;
		p.encoded[2] = 1;
		p.coils = 4;
		p.readouts = 32;
		p.by_header = all[i].parallel != BS_PARALLEL_NONE;
		p.parallel = all[i].parallel;
		p.maps = all[i].maps;
		p.combine = p.maps != BS_MAPS_FILE ? BS_COMBINE_SENSE : BS_COMBINE_RSS;
		p.virtual_coils = all[i].virtual_coils;
		p.compression = BS_COMPRESSION_GEOMETRIC;
		p.whiten = all[i].whiten;
		p.uses = 1u << BS_KIND_CALIBRATION | 1u << BS_KIND_NOISE;
		p.grappa_kernel[0] = p.grappa_kernel[1] = 5;
		p.grappa_kernel[2] = 1;
		p.grappa_sources = 2;
		p.grappa_lambda = 0.01;
		p.calibration_lines = 24;
		p.espirit_threshold = 0.02;
		p.espirit_crop = 0.5;
		p.epi_correct = all[i].parallel == BS_PARALLEL_GRAPPA;
		p.walsh_block = 5;
		if (p.parallel >= BS_PARALLEL_SLICES) {
			p.slices = 4;
			p.multiband.factor = 2;
			p.multiband.kernel[0] = p.multiband.kernel[1] = 5;
			p.multiband.lambda = 1e-4;
		}
		p.matrix[1] = 32;
		p.stage_ms[BS_BUDGET_CALIBRATION] = 1e6;
		bs_plan_make(&p);
		why.text[0] = '\0';
		CHECK(measure(&p) == 0, "%s is measured %s", all[i].name, why.text);
		CHECK(e[BS_CONDITION_WARM].n >= 2 && e[BS_CONDITION_WARM].p50_ns > 0 &&
			      e[BS_CONDITION_COLD].n >= 2 && e[BS_CONDITION_COLD].p50_ns > 0,
		      "%s: calibrated %u times warm, %u cold: %lld ns", all[i].name, e[0].n, e[1].n,
		      (long long)bs_admission_cost(&got, BS_COST_CALIBRATION));
		CHECK(bs_admission_judge(&got, &p, &why) == 0, "%s: 1,000 s are enough",
		      all[i].name);
		p.stage_ms[BS_BUDGET_CALIBRATION] = 1e-6;
		CHECK(bs_admission_judge(&got, &p, &why) == BS_ERR_BUDGET &&
			      strstr(why.text, "budget.calibration_ms is 1e-06, the estimate") !=
				      NULL,
		      "%s: 1 ns is not: %s", all[i].name, why.text);
	}
}

int main(void)
{
	struct bs_protocol p = radial(BS_METHOD_GRIDDING);
	FILE *f;
	char text[4096] = "";

	CHECK(bs_measure_wanted(&p), "a budget asks for it");
	p.admission = BS_ADMIT_TRUST;
	CHECK(!bs_measure_wanted(&p), "one that is trusted does not");
	p = radial(BS_METHOD_GRIDDING);
	p.image_ms = 0.0;
	CHECK(!bs_measure_wanted(&p), "nor does none");
	all_costs(BS_METHOD_NOOP, BS_TRAJ_RADIAL2D, "noop");
	all_costs(BS_METHOD_GRIDDING, BS_TRAJ_RADIAL2D, "gridding");
	all_costs(BS_METHOD_LS, BS_TRAJ_RADIAL2D, "ls");
	all_costs(BS_METHOD_GRIDDING, BS_TRAJ_STREAM, "gridding of its own path");
	all_costs(BS_METHOD_LS, BS_TRAJ_STREAM, "ls of its own path");
	calibrations();
	p = radial(BS_METHOD_GRIDDING);
	p.combine = BS_COMBINE_SENSE;
	p.maps = BS_MAPS_WALSH;
	p.calibration_lines = 12;
	p.walsh_block = 5;
	bs_plan_make(&p);
	why.text[0] = '\0';
	CHECK(p.plan.waits && measure(&p) == 0 &&
		      got.cost[BS_COST_CALIBRATION][BS_CONDITION_COLD].p50_ns > 0,
	      "maps from spokes: %lld ns %s",
	      (long long)bs_admission_cost(&got, BS_COST_CALIBRATION), why.text);
	p = radial(BS_METHOD_GRIDDING);
	p.averages = 3;
	bs_plan_make(&p);
	CHECK(measure(&p) == 0 && got.frame_ns >= got.readout_ns * p.readouts * 3 / 2,
	      "a frame has all averages: %lld ns, %lld ns a readout %s", (long long)got.frame_ns,
	      (long long)got.readout_ns, why.text);
	p = radial(BS_METHOD_LS);
	p.on_miss = BS_MISS_SHED;
	CHECK(measure(&p) == 0 && got.least.n >= 2, "what sheds is timed at its least, %u times",
	      got.least.n);
	f = fmemopen(text, sizeof(text) - 1, "w");
	if (f != NULL) {
		bs_measure_print(f, &got, &p, "# ");
		(void)fclose(f);
	}
	CHECK(strstr(text, "# protocol 'p'") == text && strstr(text, "finish   cold") != NULL &&
		      strstr(text, "finish   least") != NULL,
	      "the table:\n%s", text);
	return check_done();
}

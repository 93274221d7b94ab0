/* test/unit/core/test_admission.c - estimates from scripted timings, and the refusals they cause */
/* Holds: D6, D7 */
#include "core/latency/admission.h"
#include "test/support/check.h"

#include <string.h>

static struct bs_fail why;

/* 1 .. n ms; the last `spoiled` of them are disturbed */
static struct bs_estimate ramp(uint32_t n, uint32_t spoiled, double margin)
{
	static struct bs_timing t[2000];
	struct bs_estimate e;

	for (uint32_t i = 0; i < n; i++) /* backwards: make sorts */
		t[i] = (struct bs_timing){ (int64_t)(n - i) * 1000000, i < spoiled };
	bs_estimate_make(&e, t, n, margin);
	return e;
}

static void estimates(void)
{
	struct bs_estimate e = ramp(0, 0, 0.2);

	CHECK(e.n == 0 && e.worst_ns == 0, "nothing measured");
	e = ramp(1, 0, 0.0);
	CHECK(e.n == 1 && e.p50_ns == 1000000 && e.max_ns == 1000000 && e.worst_ns == 1000000,
	      "one timing is its own estimate");
	e = ramp(100, 0, 0.2);
	CHECK(e.p50_ns == 50000000 && e.max_ns == 100000000 && e.worst_ns == 120000000 && !e.busy,
	      "of 100, the largest times 1.2: %lld ns", (long long)e.worst_ns);
	e = ramp(2000, 0, 0.0);
	CHECK(e.worst_ns == 1998000000, "of 2,000, the 99.9 %% quantile: %lld ns",
	      (long long)e.worst_ns);
	e = ramp(100, 30, 0.0);
	CHECK(e.disturbed == 30 && !e.busy && e.worst_ns == 70000000 && e.max_ns == 70000000,
	      "30 disturbed ones do not count: %lld ns", (long long)e.worst_ns);
	e = ramp(100, 50, 0.0);
	CHECK(!e.busy && e.worst_ns == 50000000, "half of them are enough");
	e = ramp(100, 51, 0.5);
	CHECK(e.busy && e.worst_ns == 75000000 && e.max_ns == 100000000,
	      "beyond half the machine is busy: the median of all, and the margin: %lld ns",
	      (long long)e.worst_ns);
}

static struct bs_admission a;

static void script(enum bs_cost c, enum bs_condition on, int64_t worst_ns)
{
	a.cost[c][on] = (struct bs_estimate){ .n = 10, .worst_ns = worst_ns };
}

static void budgets(void)
{
	struct bs_protocol p = { .name = "p", .image_ms = 7.5 };

	memset(&a, 0, sizeof(a));
	script(BS_COST_RECEIVE, BS_CONDITION_WARM, 100000);
	script(BS_COST_RECEIVE, BS_CONDITION_COLD, 500000);
	script(BS_COST_WAKE, BS_CONDITION_WARM, 200000);
	script(BS_COST_ADD, BS_CONDITION_WARM, 1000000);
	script(BS_COST_ADD, BS_CONDITION_COLD, 900000);
	script(BS_COST_FINISH, BS_CONDITION_WARM, 3000000);
	script(BS_COST_FINISH, BS_CONDITION_COLD, 4000000);
	script(BS_COST_FINISH, BS_CONDITION_LOADED, 5000000);
	script(BS_COST_HAND, BS_CONDITION_WARM, 800000);
	a.least = (struct bs_estimate){ .n = 5, .worst_ns = 1000000 };
	a.margin = 0.25;
	CHECK(bs_admission_judge(&a, &p, &why) == 0, "what was not measured is not judged");
	a.measured = true;
	CHECK(bs_admission_worst(&a, false) == 7500000, "the sum of each cost's worst: %lld ns",
	      (long long)bs_admission_worst(&a, false));
	CHECK(bs_admission_judge(&a, &p, &why) == 0, "a budget of just that is met");
	p.image_ms = 7.4999;
	CHECK(bs_admission_judge(&a, &p, &why) == BS_ERR_BUDGET, "less is refused: %s", why.text);
	CHECK(strstr(why.text, "protocol 'p'") != NULL && strstr(why.text, "7.500 ms") != NULL &&
		      strstr(why.text, "receive 0.500 (cold, N 10)") != NULL &&
		      strstr(why.text, "add 1.000 (warm") != NULL &&
		      strstr(why.text, "finish 5.000 (loaded") != NULL &&
		      strstr(why.text, "margin 0.25") != NULL && strstr(why.text, "busy") == NULL,
	      "with every number: %s", why.text);
	p.on_miss = BS_MISS_SHED;
	CHECK(bs_admission_judge(&a, &p, &why) == 0, "what sheds is held to its least");
	p.image_ms = 3.4;
	CHECK(bs_admission_judge(&a, &p, &why) == BS_ERR_BUDGET &&
		      strstr(why.text, "finish 1.000 (least, N 5)") != NULL,
	      "which has its limit, too: %s", why.text);
	a.least.busy = true;
	CHECK(bs_admission_judge(&a, &p, &why) == BS_ERR_BUDGET &&
		      strstr(why.text, "busy machine") != NULL,
	      "measured on a busy machine: %s", why.text);
	p.image_ms = 0.0;
	CHECK(bs_admission_judge(&a, &p, &why) == 0, "no budget, nothing to refuse");
}

/* An image that calibrates has a budget for that, or none but its own. */
static void calibration(void)
{
	struct bs_protocol p = { .name = "p", .image_ms = 2.0 };

	memset(&a, 0, sizeof(a));
	a.measured = true;
	script(BS_COST_FINISH, BS_CONDITION_WARM, 2000000);
	script(BS_COST_CALIBRATION, BS_CONDITION_WARM, 3000000);
	script(BS_COST_CALIBRATION, BS_CONDITION_COLD, 4000000);
	CHECK(bs_admission_worst(&a, false) == 2000000, "most images have none");
	CHECK(bs_admission_judge(&a, &p, &why) == BS_ERR_BUDGET &&
		      strstr(why.text, "image_ms is 2, the estimate 6.000 ms") != NULL &&
		      strstr(why.text, "calibration 4.000 (cold, N 10)") != NULL,
	      "without calibration_ms it is the image's: %s", why.text);
	p.image_ms = 6.0;
	CHECK(bs_admission_judge(&a, &p, &why) == 0, "which may have room for it");
	p.image_ms = 2.0;
	p.stage_ms[BS_BUDGET_CALIBRATION] = 4.0;
	CHECK(bs_admission_judge(&a, &p, &why) == 0, "each within its own");
	p.stage_ms[BS_BUDGET_CALIBRATION] = 3.9;
	CHECK(bs_admission_judge(&a, &p, &why) == BS_ERR_BUDGET &&
		      strstr(why.text, "calibration_ms is 3.9, the estimate 4.000 ms (cold") !=
			      NULL,
	      "calibration takes longer: %s", why.text);
	p.image_ms = 0.0;
	CHECK(bs_admission_judge(&a, &p, &why) == BS_ERR_BUDGET, "whatever an image may take");
	p.stage_ms[BS_BUDGET_CALIBRATION] = 4.0;
	p.image_ms = 1.9;
	CHECK(bs_admission_judge(&a, &p, &why) == BS_ERR_BUDGET &&
		      strstr(why.text, "the estimate 2.000 ms") != NULL &&
		      strstr(why.text, "calibration") == NULL,
	      "the image takes longer, the calibration apart: %s", why.text);
}

static void rates(void)
{
	struct bs_protocol p = { .name = "p", .readouts = 100 };
	struct bs_scan_info info = { .tr_ms = 2.0f };

	memset(&a, 0, sizeof(a));
	a.readout_ns = 1500000;
	a.frame_ns = 250000000;
	a.frames = 9;
	CHECK(bs_admission_rate(&a, &p, &info, &why) == 0, "not measured, not judged");
	a.measured = true;
	CHECK(bs_admission_rate(&a, &p, &info, &why) == 0,
	      "1.5 ms a readout, one image: TR 2 ms is kept up with");
	info.tr_ms = 1.4f;
	CHECK(bs_admission_rate(&a, &p, &info, &why) == BS_ERR_BUDGET &&
		      strstr(why.text, "1.4 ms (sequenceParameters/TR)") != NULL &&
		      strstr(why.text, "takes 1.5 ms (median of 9 frames") != NULL,
	      "TR 1.4 ms is not: %s", why.text);
	info.tr_ms = 4.0f;
	info.contrast = (struct bs_limit){ .given = 1, .max = 2 };
	CHECK(bs_admission_rate(&a, &p, &info, &why) == BS_ERR_BUDGET,
	      "three echoes share a TR of 4 ms: %s", why.text);
	info.contrast.given = 0;
	p.interval_ms = 1.0;
	CHECK(bs_admission_rate(&a, &p, &info, &why) == BS_ERR_BUDGET &&
		      strstr(why.text, "1 ms (frame.interval_ms)") != NULL,
	      "what the protocol declares goes before the header: %s", why.text);
	p.interval_ms = 2.4;
	CHECK(bs_admission_rate(&a, &p, &info, &why) == 0,
	      "one image: its own finish may take long");
	info.repetition = (struct bs_limit){ .given = 1, .max = 20 };
	CHECK(bs_admission_rate(&a, &p, &info, &why) == BS_ERR_BUDGET &&
		      strstr(why.text, "every 240 ms") != NULL &&
		      strstr(why.text, "takes 250 ms") != NULL,
	      "many images must not lag more and more: %s", why.text);
	p.interval_ms = 2.5;
	CHECK(bs_admission_rate(&a, &p, &info, &why) == 0, "250 ms for 250 ms is kept up with");
	p.interval_ms = 0.0;
	info.tr_ms = 0.0f;
	CHECK(bs_admission_rate(&a, &p, &info, &why) == 0, "nobody says how fast: taken");
}

int main(void)
{
	estimates();
	budgets();
	calibration();
	rates();
	return check_done();
}

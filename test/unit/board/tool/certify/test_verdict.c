/*
 * test/unit/board/tool/certify/test_verdict.c - what a run proves, on made-up certificates: each
 * reason for which a strict reader would call a contract broken or not proven, one at a time
 */
/* Holds: D8 */
#include "board/tool/certify/verdict.h"

#include <string.h>

#include "board/tool/certify/load.h"
#include "test/support/check.h"

static struct bs_certificate c;

/* Ten scans of 100 images, none late, canaries with a real-time priority. */
static void good(void)
{
	static const struct bs_protocol none;
	struct bs_certify_run *r = &c.run[0];

	memset(&c, 0, sizeof(c));
	c.p = &none;
	c.runs = 1;
	c.minutes = 1.0;
	c.canaries = 2;
	c.canary[0].priority = c.canary[1].priority = 99;
	r->speed = 1.0;
	r->seconds = 60.0;
	r->scans = 10;
	r->readouts = r->taken = 3400;
	r->expected = r->made = r->arrived = r->rung[BS_RUNG_FULL] = 1000;
}

static void judged(enum bs_verdict want, const char *word, const char *what)
{
	bs_verdict_make(&c);
	CHECK(c.verdict == want, "%s: %s", what, bs_verdict_word(c.verdict));
	if (word == NULL)
		CHECK(c.whys == 0, "without a reason against it: %u", c.whys);
	else
		CHECK(c.whys > 0 && strstr(c.why[0], word) != NULL, "because %s",
		      c.whys > 0 ? c.why[0] : "?");
}

static void test_misses(void)
{
	good();
	judged(BS_VERDICT_KEPT, NULL, "all in time");
	c.run[0].raw = 3;
	c.run[0].explained = 2;
	c.run[0].late = c.run[0].outcome_late = 3;
	judged(BS_VERDICT_BROKEN, "explains: 1 of 1000", "one late that no stall explains");
	c.run[0].explained = 3;
	judged(BS_VERDICT_UNPROVEN, "more than 1 in 1000",
	       "three late in 1000, explained by canaries with a priority");
	c.run[0].raw = c.run[0].explained = c.run[0].late = c.run[0].outcome_late = 1;
	judged(BS_VERDICT_KEPT, NULL, "one late in 1000, explained so");
	c.run[0].raw = c.run[0].explained = c.run[0].late = c.run[0].outcome_late = 3;
	c.canary[1].priority = 0;
	judged(BS_VERDICT_UNPROVEN, "no real-time priority", "the same by canaries without one");
	c.canary[1].priority = 99;
	c.throttled = true;
	judged(BS_VERDICT_UNPROVEN, "sched_rt_runtime_us",
	       "the same where a kernel throttles them");
	c.run[0].overslept = 1;
	c.run[0].explained = 2;
	judged(BS_VERDICT_UNPROVEN, "explains: 2; they count",
	       "those that are the sender's do not");
	c.run[0].raw = 4;
	judged(BS_VERDICT_BROKEN, "explains: 1 of 1000", "four late, three explained");
	good();
	c.canary[0].priority = c.canary[1].priority = 0;
	c.run[0].raw = c.run[0].overslept = 1;
	judged(BS_VERDICT_KEPT, NULL,
	       "one in 1000 by the sender's own sleep, whatever the canaries");
	c.run[0].raw = c.run[0].overslept = 2;
	judged(BS_VERDICT_UNPROVEN, "more than 1 in 1000",
	       "two in 1000: too few were tried in time");
	good();
	c.run[0].expected = c.run[0].made = c.run[0].arrived = 999;
	c.run[0].raw = c.run[0].overslept = 1;
	judged(BS_VERDICT_UNPROVEN, "more than 1 in 1000", "one in 999, too");
	good();
	c.canary[0].priority = c.canary[1].priority = 0;
	c.throttled = true;
	judged(BS_VERDICT_KEPT, NULL, "no priority and nothing late: nothing needs explaining");
	c.canaries = 0;
	judged(BS_VERDICT_KEPT, NULL, "no canary at all: the same");
	c.run[0].raw = c.run[0].late = c.run[0].outcome_late = 1;
	judged(BS_VERDICT_BROKEN, "explains: 1 of 1000", "no canary explains nothing");
}

static void test_images(void)
{
	good();
	c.run[0].made = c.run[0].arrived = 999;
	judged(BS_VERDICT_BROKEN, "scans: 1000; that the service handed on: 999",
	       "an image that was never made");
	good();
	c.run[0].arrived = 999;
	judged(BS_VERDICT_BROKEN, "handed on: 1000; that the archive has: 999",
	       "one that never arrived");
	good();
	c.run[0].arrived = c.run[0].made = c.run[0].expected = 0;
	judged(BS_VERDICT_UNPROVEN, "no image came", "none at all");
	good();
	c.run[0].partial = 1;
	judged(BS_VERDICT_BROKEN, "lack readouts: 1", "a partial one");
	good();
	c.run[0].degraded = 7;
	c.run[0].rung[BS_RUNG_FULL] -= 7;
	c.run[0].rung[BS_RUNG_FEWER] = 4;
	c.run[0].rung[BS_RUNG_GRIDDING] = 2;
	c.run[0].rung[BS_RUNG_LATE] = 1;
	judged(BS_VERDICT_BROKEN, ": 7 (by fewer iterations 4, without the prior 0, by gridding 3)",
	       "in time, but gridded instead of solved");
	good();
	c.run[0].bypassed = c.run[0].degraded = 3; /* on_late = "mark" */
	judged(BS_VERDICT_BROKEN, "without the protocol's step: 3 of", "in time, without the step");
	good();
	c.run[0].repeated = 1;
	judged(BS_VERDICT_BROKEN, "came twice: 1", "one that came twice");
	good();
	c.run[0].torn = 1;
	judged(BS_VERDICT_BROKEN, "no whole image of these scans: 1",
	       "a message that was no image");
}

static void test_calibration(void)
{
	static struct bs_protocol p;

	good();
	c.p = &p;
	c.run[0].calibrated = 10;
	judged(BS_VERDICT_KEPT, NULL, "images that calibrate, without a budget for that");
	p.stage_ms[BS_BUDGET_CALIBRATION] = 5.0;
	judged(BS_VERDICT_KEPT, NULL, "with one");
	c.run[0].stage_missed[BS_BUDGET_CALIBRATION] = 2;
	judged(BS_VERDICT_BROKEN, "budget.calibration_ms: 2 of 10", "two over it");
	c.run[0].calibrated = c.run[0].stage_missed[BS_BUDGET_CALIBRATION] = 0;
	judged(BS_VERDICT_UNPROVEN, "no image calibrated anything", "none that calibrates");
}

static void test_service(void)
{
	good();
	c.run[0].faults = 2;
	(void)snprintf(c.run[0].fault, sizeof(c.run[0].fault), "BS_ERR_SEQUENCE: gaps");
	judged(BS_VERDICT_BROKEN, "a fault: 2 of 10; the first: BS_ERR_SEQUENCE",
	       "scans that failed");
	good();
	c.run[0].taken--;
	judged(BS_VERDICT_BROKEN, "sent: 3400; that the service took: 3399",
	       "a readout that was not taken");
	good();
	c.restarts = 1.0;
	judged(BS_VERDICT_BROKEN, "were replaced: 1", "a worker that died on the way");
	c.restarts = -1.0;
	judged(BS_VERDICT_UNPROVEN, "could not be read", "a status that nobody saw");
	good();
	c.run[0].late = 1;
	judged(BS_VERDICT_BROKEN, "words 1, by its outcomes 0, not",
	       "an image late, its outcome knows of none");
	good();
	c.run[0].disagreed = 1;
	judged(BS_VERDICT_BROKEN, "contradicts itself",
	       "an image that was handed on after it said");
	good();
	(void)snprintf(c.refused, sizeof(c.refused), "budget.image_ms is 1e-06");
	judged(BS_VERDICT_BROKEN, "budget.image_ms", "a protocol that was refused");
}

static void test_run(void)
{
	good();
	c.loads = BS_LOAD_CPU | BS_LOAD_IO | BS_LOAD_GPU;
	c.cpu_passes = c.io_syncs = 1;
	c.gpu_loaded = true;
	judged(BS_VERDICT_KEPT, NULL, "beside loads that worked");
	c.cpu_passes = 0;
	judged(BS_VERDICT_UNPROVEN, "on the processors did nothing", "no load on the processors");
	c.cpu_passes = 1;
	c.io_syncs = 0;
	judged(BS_VERDICT_UNPROVEN, "on the disk did nothing", "none on the disk");
	c.io_syncs = 1;
	c.run[0].raw = c.run[0].late = c.run[0].outcome_late = 1;
	c.verdict = BS_VERDICT_KEPT;
	bs_verdict_make(&c);
	CHECK(c.verdict == BS_VERDICT_BROKEN && c.whys == 2 && strstr(c.why[1], "took turns"),
	      "late beside another program on the GPU: with the remedy");
	c.mps = true;
	bs_verdict_make(&c);
	CHECK(c.verdict == BS_VERDICT_BROKEN && c.whys == 1, "under MPS that is not it");
	c.mps = false;
	c.run[0].raw = c.run[0].late = c.run[0].outcome_late = 0;
	c.gpu_loaded = false;
	judged(BS_VERDICT_UNPROVEN, "GPU was not loaded", "none on the GPU");
	good();
	c.cut = true;
	c.run[0].seconds = 12.0;
	judged(BS_VERDICT_UNPROVEN, "after 12.0 s of 60", "a run that was told to stop");
	good();
	c.run[0].arrived = 0;
	c.run[0].made = 1;
	c.run[0].raw = c.run[0].partial = c.run[0].torn = c.run[0].repeated = c.run[0].faults = 1;
	c.run[0].degraded = c.run[0].disagreed = 1;
	c.restarts = 1.0;
	c.run[0].taken = 0;
	bs_verdict_make(&c);
	CHECK(c.whys == BS_CERTIFY_WHY, "as many reasons as there is room for: %u", c.whys);
	bs_verdict_make(&c);
	CHECK(c.whys == BS_CERTIFY_WHY, "judged again, not twice as many");
}

int main(void)
{
	test_misses();
	test_images();
	test_calibration();
	test_service();
	test_run();
	return check_done();
}

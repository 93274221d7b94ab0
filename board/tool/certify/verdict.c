/* board/tool/certify/verdict.c - see verdict.h */
#include "board/tool/certify/verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "board/tool/certify/load.h"

const char *bs_verdict_word(enum bs_verdict v)
{
	return v == BS_VERDICT_KEPT ? "kept" : v == BS_VERDICT_UNPROVEN ? "not proven" : "broken";
}

const char *bs_verdict_doubt(const struct bs_certificate *c)
{
	for (uint32_t i = 0; i < c->canaries; i++)
		if (c->canary[i].priority <= 0)
			return "the canaries had no real-time priority, so that the load or the "
			       "service itself may have stalled them";
	if (c->throttled)
		return "the service polls at a real-time priority and the kernel throttles that "
		       "(kernel.sched_rt_runtime_us), the canaries with it";
	return NULL;
}

__attribute__((format(printf, 3, 4))) static void
because(struct bs_certificate *c, enum bs_verdict v, const char *format, ...)
{
	va_list args;

	if (v < c->verdict)
		c->verdict = v;
	if (c->whys == BS_CERTIFY_WHY)
		return;
	va_start(args, format);
	(void)vsnprintf(c->why[c->whys++], sizeof(c->why[0]), format, args);
	va_end(args);
}

static void judge_images(struct bs_certificate *c, const struct bs_certify_run *r)
{
	uint64_t gridded = r->rung[BS_RUNG_GRIDDING] + r->rung[BS_RUNG_LATE];

	if (bs_certify_attributed(r) > 0)
		because(c, BS_VERDICT_BROKEN,
			"late images that neither a canary's stall nor the sender's own sleep "
			"explains: %" PRIu64 " of %" PRIu64,
			bs_certify_attributed(r), r->arrived);
	if (bs_certify_attributed(r) > 0 && (c->loads & BS_LOAD_GPU) && c->gpu_loaded && !c->mps)
		because(c, BS_VERDICT_BROKEN,
			"another program's kernels took turns with the service's: gpu.shared and "
			"board/deploy/mps, or no other program on this GPU");
	if (r->stage_missed[BS_BUDGET_CALIBRATION] > 0)
		because(c, BS_VERDICT_BROKEN,
			"images that took longer to calibrate than budget.calibration_ms: %" PRIu64
			" of %" PRIu64,
			r->stage_missed[BS_BUDGET_CALIBRATION], r->calibrated);
	if (r->made != r->expected)
		because(c, BS_VERDICT_BROKEN,
			"images that the recording makes in these scans: %" PRIu64
			"; that the service handed on: %" PRIu64,
			r->expected, r->made);
	if (r->arrived != r->made)
		because(c, BS_VERDICT_BROKEN,
			"images that were handed on: %" PRIu64 "; that the archive has: %" PRIu64,
			r->made, r->arrived);
	if (r->partial > 0)
		because(c, BS_VERDICT_BROKEN, "images that lack readouts: %" PRIu64, r->partial);
	if (r->bypassed > 0)
		because(c, BS_VERDICT_BROKEN,
			"images that left without the protocol's step: %" PRIu64 " of %" PRIu64,
			r->bypassed, r->arrived);
	if (r->degraded > r->bypassed)
		because(c, BS_VERDICT_BROKEN,
			"images made by less than the protocol's method, which in time or not are "
			"not what it promises: %" PRIu64 " (by fewer iterations %" PRIu64
			", without the prior %" PRIu64 ", by gridding %" PRIu64 ")",
			r->degraded, r->rung[BS_RUNG_FEWER], r->rung[BS_RUNG_QUADRATIC], gridded);
}

static void judge_service(struct bs_certificate *c, const struct bs_certify_run *r)
{
	if (r->faults > 0)
		because(c, BS_VERDICT_BROKEN,
			"scans that ended with a fault: %" PRIu64 " of %" PRIu64
			"; the first: %.160s",
			r->faults, r->scans, r->fault);
	if (r->taken != r->readouts)
		because(c, BS_VERDICT_BROKEN,
			"readouts that were sent: %" PRIu64 "; that the service took: %" PRIu64,
			r->readouts, r->taken);
	if (c->restarts > 0.0)
		because(c, BS_VERDICT_BROKEN, "processes of the service that were replaced: %.0f",
			c->restarts);
	if (r->torn > 0)
		because(c, BS_VERDICT_BROKEN,
			"messages to the archive that were no whole image of these scans: %" PRIu64,
			r->torn);
	if (r->repeated > 0)
		because(c, BS_VERDICT_BROKEN, "images that came twice: %" PRIu64, r->repeated);
	if (r->disagreed > 0 || r->late != r->outcome_late)
		because(c, BS_VERDICT_BROKEN,
			"the service contradicts itself: images late by their own words %" PRIu64
			", by its outcomes %" PRIu64 ", not handed on when they say %" PRIu64,
			r->late, r->outcome_late, r->disagreed);
}

static void judge_loads(struct bs_certificate *c)
{
	if ((c->loads & BS_LOAD_CPU) && c->cpu_passes == 0)
		because(c, BS_VERDICT_UNPROVEN, "the load on the processors did nothing");
	if ((c->loads & BS_LOAD_IO) && c->io_syncs == 0)
		because(c, BS_VERDICT_UNPROVEN, "the load on the disk did nothing");
	if ((c->loads & BS_LOAD_GPU) && !c->gpu_loaded)
		because(c, BS_VERDICT_UNPROVEN, "the GPU was not loaded");
}

void bs_verdict_make(struct bs_certificate *c)
{
	const struct bs_certify_run *r = &c->run[0];
	const char *doubt = bs_verdict_doubt(c);

	c->verdict = BS_VERDICT_KEPT;
	c->whys = 0;
	if (c->refused[0] != '\0') {
		because(c, BS_VERDICT_BROKEN, "%.250s", c->refused);
		return;
	}
	if (c->cut) /* the first reason is kept: others may follow from it */
		because(c, BS_VERDICT_UNPROVEN, "it was told to stop after %.1f s of %g",
			r->seconds, c->minutes * 60.0);
	judge_images(c, r);
	judge_service(c, r);
	if (c->runs == 0 || r->arrived == 0)
		because(c, BS_VERDICT_UNPROVEN, "no image came");
	if (c->p->stage_ms[BS_BUDGET_CALIBRATION] > 0.0 && r->calibrated == 0 && r->arrived > 0)
		because(c, BS_VERDICT_UNPROVEN,
			"budget.calibration_ms was not tried: no image calibrated anything");
	if (r->explained > 0 && doubt != NULL)
		because(c, BS_VERDICT_UNPROVEN,
			"late images that a stall explains: %" PRIu64 "; they count, since %s",
			r->explained, doubt);
	if (r->explained > r->arrived / BS_CERTIFY_EXCUSED)
		because(c, BS_VERDICT_UNPROVEN,
			"images late while the machine stood still: %" PRIu64 " of %" PRIu64
			", more than 1 in %u that were not tried on a machine that runs",
			r->explained, r->arrived, BS_CERTIFY_EXCUSED);
	if (r->overslept > r->arrived / BS_CERTIFY_EXCUSED)
		because(c, BS_VERDICT_UNPROVEN,
			"images late because the sender woke late by itself: %" PRIu64
			" of %" PRIu64 ", more than 1 in %u that were not tried in time",
			r->overslept, r->arrived, BS_CERTIFY_EXCUSED);
	if (c->restarts < 0.0)
		because(c, BS_VERDICT_UNPROVEN,
			"the service's status could not be read in the end");
	judge_loads(c);
}

/* board/certify/verdict.c - see verdict.h */
#include "board/certify/verdict.h"

#include <stdarg.h>
#include <stdio.h>

typedef unsigned long long count;

const char *bs_verdict_word(enum bs_certify_verdict v)
{
	return v == BS_CERTIFY_KEPT ? "kept" : v == BS_CERTIFY_UNPROVEN ? "not proven" : "broken";
}

const char *bs_verdict_doubt(const struct bs_certificate *c)
{
	for (uint32_t i = 0; i < c->canaries; i++)
		if (c->canary[i].priority <= 0)
			return "the canaries had no real-time priority, so that the load or the service "
			       "itself may have stalled them";
	if (c->throttled)
		return "the service polls at a real-time priority and the kernel throttles that "
		       "(kernel.sched_rt_runtime_us), the canaries with it";
	return NULL;
}

__attribute__((format(printf, 3, 4))) static void
because(struct bs_certificate *c, enum bs_certify_verdict v, const char *format, ...)
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
		because(c, BS_CERTIFY_BROKEN,
			"%llu of %llu images were late, and neither a canary's stall nor the "
			"sender's own sleep explains them",
			(count)bs_certify_attributed(r), (count)r->arrived);
	if (r->made != r->expected)
		because(c, BS_CERTIFY_BROKEN,
			"the recording makes %llu images in these scans, the service handed on %llu",
			(count)r->expected, (count)r->made);
	if (r->arrived != r->made)
		because(c, BS_CERTIFY_BROKEN,
			"%llu images were handed on, the archive has %llu of them", (count)r->made,
			(count)r->arrived);
	if (r->partial > 0)
		because(c, BS_CERTIFY_BROKEN, "%llu images lack readouts", (count)r->partial);
	if (r->degraded > 0)
		because(c, BS_CERTIFY_BROKEN,
			"%llu images were made by less than the protocol's method (%llu by fewer "
			"iterations, %llu by gridding): in time or not, they are not what it promises",
			(count)r->degraded, (count)r->rung[BS_RUNG_FEWER], (count)gridded);
}

static void judge_service(struct bs_certificate *c, const struct bs_certify_run *r)
{
	if (r->faults > 0)
		because(c, BS_CERTIFY_BROKEN,
			"%llu of %llu scans ended with a fault; the first: %.160s",
			(count)r->faults, (count)r->scans, r->fault);
	if (r->taken != r->readouts)
		because(c, BS_CERTIFY_BROKEN, "%llu readouts were sent, the service took %llu",
			(count)r->readouts, (count)r->taken);
	if (c->restarts > 0.0)
		because(c, BS_CERTIFY_BROKEN, "the service's processes were replaced %.0f times",
			c->restarts);
	if (r->torn > 0)
		because(c, BS_CERTIFY_BROKEN,
			"%llu messages to the archive were no whole images of these scans",
			(count)r->torn);
	if (r->repeated > 0)
		because(c, BS_CERTIFY_BROKEN, "%llu images came twice", (count)r->repeated);
	if (r->disagreed > 0 || r->late != r->outcome_late)
		because(c, BS_CERTIFY_BROKEN,
			"the service contradicts itself: %llu images call themselves late, its "
			"outcomes %llu, and %llu were not handed on when they say",
			(count)r->late, (count)r->outcome_late, (count)r->disagreed);
}

static void judge_loads(struct bs_certificate *c)
{
	if ((c->loads & BS_LOAD_CPU) && c->cpu_passes == 0)
		because(c, BS_CERTIFY_UNPROVEN, "the load on the processors did nothing");
	if ((c->loads & BS_LOAD_IO) && c->io_syncs == 0)
		because(c, BS_CERTIFY_UNPROVEN, "the load on the disk did nothing");
	if ((c->loads & BS_LOAD_GPU) && !c->gpu_loaded)
		because(c, BS_CERTIFY_UNPROVEN, "the GPU was not loaded");
}

void bs_verdict_make(struct bs_certificate *c)
{
	const struct bs_certify_run *r = &c->run[0];
	const char *doubt = bs_verdict_doubt(c);

	c->verdict = BS_CERTIFY_KEPT;
	c->whys = 0;
	if (c->refused[0] != '\0') {
		because(c, BS_CERTIFY_BROKEN, "%.250s", c->refused);
		return;
	}
	if (c->cut) /* first: its last scan was ended early for that */
		because(c, BS_CERTIFY_UNPROVEN, "it was told to stop after %.1f s of %g",
			r->seconds, c->minutes * 60.0);
	judge_images(c, r);
	judge_service(c, r);
	if (c->runs == 0 || r->arrived == 0)
		because(c, BS_CERTIFY_UNPROVEN, "no image came");
	if (r->explained > 0 && doubt != NULL)
		because(c, BS_CERTIFY_UNPROVEN,
			"%llu late images are explained by a stall, but %s: they count",
			(count)r->explained, doubt);
	if (r->overslept > r->arrived / BS_VERDICT_OVERSLEPT)
		because(c, BS_CERTIFY_UNPROVEN,
			"%llu of %llu images were late because the sender woke late by itself: "
			"more than 1 in %u were not tried in time",
			(count)r->overslept, (count)r->arrived, BS_VERDICT_OVERSLEPT);
	if (c->restarts < 0.0)
		because(c, BS_CERTIFY_UNPROVEN,
			"the service's status could not be read in the end");
	judge_loads(c);
}

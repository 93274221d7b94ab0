/* core/latency/admission.c - see admission.h */
#include "core/latency/admission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame/averages.h"
#include "core/latency/hist.h"
#include "core/thread/clock.h"

#define MS 1e-6 /* ms per nanosecond */

const char *bs_cost_name(enum bs_cost c)
{
	static const char *const names[BS_COSTS] = { "receive", "wake", "add",
						     "finish",  "hand", "calibration" };

	return (unsigned)c < BS_COSTS ? names[c] : "?";
}

const char *bs_condition_name(enum bs_condition c)
{
	static const char *const names[BS_CONDITIONS] = { "warm", "cold", "loaded" };

	return (unsigned)c < BS_CONDITIONS ? names[c] : "?";
}

static int by_time(const void *a, const void *b)
{
	const struct bs_timing *x = a;
	const struct bs_timing *y = b;

	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

void bs_estimate_make(struct bs_estimate *e, struct bs_timing *t, uint32_t n, double margin)
{
	uint32_t kept = 0;
	int64_t base;

	memset(e, 0, sizeof(*e));
	if (n == 0)
		return;
	qsort(t, n, sizeof(*t), by_time);
	e->n = n;
	e->p50_ns = t[bs_quantile_at(n, 500)].ns;
	for (uint32_t i = 0; i < n; i++)
		e->disturbed += t[i].disturbed;
	e->busy = e->disturbed > n / 2;
	if (e->busy) {
		base = e->p50_ns;
		e->max_ns = t[n - 1].ns;
	} else {
		size_t want = bs_quantile_at(n - e->disturbed, 999);

		base = 0;
		for (uint32_t i = 0; i < n; i++) {
			if (t[i].disturbed)
				continue;
			if (kept++ == want)
				base = t[i].ns;
			e->max_ns = t[i].ns;
		}
	}
	e->worst_ns = (int64_t)((double)base * (1.0 + margin) + 0.5);
}

static enum bs_condition worst_condition(const struct bs_admission *a, enum bs_cost c)
{
	enum bs_condition worst = BS_CONDITION_WARM;

	for (int i = 1; i < BS_CONDITIONS; i++)
		if (a->cost[c][i].worst_ns > a->cost[c][worst].worst_ns)
			worst = (enum bs_condition)i;
	return worst;
}

bool bs_admission_busy(const struct bs_admission *a)
{
	bool busy = a->least.busy;

	for (int c = 0; c < BS_COSTS; c++)
		for (int on = 0; on < BS_CONDITIONS; on++)
			busy = busy || a->cost[c][on].busy;
	return busy;
}

int64_t bs_admission_cost(const struct bs_admission *a, enum bs_cost c)
{
	return a->cost[c][worst_condition(a, c)].worst_ns;
}

int64_t bs_admission_worst(const struct bs_admission *a, bool least)
{
	int64_t sum = 0;

	for (int c = 0; c < BS_COST_CALIBRATION; c++)
		sum += c == BS_COST_FINISH && least ? a->least.worst_ns
						    : bs_admission_cost(a, (enum bs_cost)c);
	return sum;
}

static int judge_calibration(const struct bs_admission *a, const struct bs_protocol *p,
			     struct bs_fail *why)
{
	const enum bs_condition on = worst_condition(a, BS_COST_CALIBRATION);
	const struct bs_estimate *e = &a->cost[BS_COST_CALIBRATION][on];
	const double budget_ms = p->stage_ms[BS_BUDGET_CALIBRATION];

	if (!a->measured || budget_ms <= 0.0 || (double)e->worst_ns * MS <= budget_ms)
		return 0;
	return bs_fail(why, BS_ERR_BUDGET,
		       "protocol '%s': budget.calibration_ms is %g, the estimate %.3f ms (%s, N "
		       "%u); margin %g%s; see budget.admission",
		       p->name, budget_ms, (double)e->worst_ns * MS, bs_condition_name(on), e->n,
		       a->margin, e->busy ? ", busy machine" : "");
}

static int judge_image(const struct bs_admission *a, const struct bs_protocol *p,
		       struct bs_fail *why)
{
	bool least = p->on_miss == BS_MISS_SHED;
	/* calibration has a budget of its own */
	bool apart = p->stage_ms[BS_BUDGET_CALIBRATION] > 0.0;
	int64_t worst = bs_admission_worst(a, least) +
			(apart ? 0 : bs_admission_cost(a, BS_COST_CALIBRATION)) +
			bs_ns_of_ms(p->step.ms);
	char parts[256] = "";
	size_t at = 0;
	bool busy = false;

	if (!a->measured || p->image_ms <= 0.0 || (double)worst * MS <= p->image_ms)
		return 0;
	for (int c = 0; c < BS_COSTS; c++) {
		enum bs_condition on = worst_condition(a, (enum bs_cost)c);
		bool cut = least && c == BS_COST_FINISH;
		const struct bs_estimate *e = cut ? &a->least : &a->cost[c][on];
		int n;

		if (c == BS_COST_CALIBRATION && (apart || e->n == 0))
			break;
		n = snprintf(parts + at, sizeof(parts) - at, "%s%s %.3f (%s, N %u)",
			     at > 0 ? " + " : "", bs_cost_name((enum bs_cost)c),
			     (double)e->worst_ns * MS, cut ? "least" : bs_condition_name(on), e->n);
		busy = busy || e->busy;
		at += n > 0 && (size_t)n < sizeof(parts) - at ? (size_t)n : 0;
	}
	if (p->step.ms > 0.0 && at < sizeof(parts))
		(void)snprintf(parts + at, sizeof(parts) - at, " + its step %g (declared)",
			       p->step.ms);
	return bs_fail(why, BS_ERR_BUDGET,
		       "protocol '%s': budget.image_ms is %g, the estimate %.3f ms = %s; margin "
		       "%g%s; see budget.admission",
		       p->name, p->image_ms, (double)worst * MS, parts, a->margin,
		       busy ? ", busy machine" : "");
}

int bs_admission_judge(const struct bs_admission *a, const struct bs_protocol *p,
		       struct bs_fail *why)
{
	int rc = judge_calibration(a, p, why);

	return rc == 0 ? judge_image(a, p, why) : rc;
}

/* The scan makes several images one after the other, as far as the header says. */
static bool many_images(const struct bs_protocol *p, const struct bs_scan_info *info)
{
	const struct bs_limit *all[] = { &info->repetition, &info->slice, &info->set, &info->phase,
					 &info->average };
	const size_t n =
		sizeof(all) / sizeof(all[0]) - (bs_plan_has(&p->plan, BS_PLAN_AVERAGE) ? 1 : 0);

	for (size_t i = 0; i < n; i++)
		if (all[i]->given && all[i]->max > all[i]->min)
			return true;
	return false;
}

int bs_admission_rate(const struct bs_admission *a, const struct bs_protocol *p,
		      const struct bs_scan_info *info, struct bs_fail *why)
{
	uint32_t echoes = info->contrast.given && info->contrast.max < UINT32_MAX &&
					  info->contrast.max > info->contrast.min
				  ? info->contrast.max - info->contrast.min + 1
				  : 1;
	bool declared = p->interval_ms > 0.0;
	double interval_ms = declared ? p->interval_ms : (double)info->tr_ms / echoes;
	uint32_t readouts = p->readouts * bs_averages_expected(p, info);
	double readout_ms = (double)a->readout_ns * MS;
	double frame_ms = (double)a->frame_ns * MS;
	const char *source = declared ? "frame.interval_ms" : "sequenceParameters/TR";

	if (!a->measured || bs_admission_busy(a) || interval_ms <= 0.0)
		return 0;
	if (readout_ms > interval_ms)
		return bs_fail(why, BS_ERR_BUDGET,
			       "a readout comes every %.4g ms (%s), accumulating one for protocol "
			       "'%s' takes %.4g ms (median of %u frames when armed)",
			       interval_ms, source, p->name, readout_ms, a->frames);
	if (many_images(p, info) && frame_ms > interval_ms * readouts)
		return bs_fail(why, BS_ERR_BUDGET,
			       "a frame of %u readouts comes every %.4g ms (%s %.4g ms each), "
			       "protocol '%s' takes %.4g ms for one (median of %u frames when "
			       "armed)",
			       readouts, interval_ms * readouts, source, interval_ms, p->name,
			       frame_ms, a->frames);
	return 0;
}

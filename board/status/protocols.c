/* board/status/protocols.c - rows of protocols, their budgets, what arming measured */
#include "board/status/rows.h"
#include "config/keys.h"

/* What arming measured; worst_ns includes the margin. */
struct estimate {
	int64_t worst_ns, least_ns, cost_ns[BS_COSTS], step_ns;
};

static bool open_estimate(struct bs_item *x)
{
	const struct bs_admission *a = &x->m->s->admission[x->at[0]];
	const uint32_t step = x->m->s->site.protocol[x->at[0]].step.at;
	struct estimate *v = FILL(estimate, x);

	v->worst_ns = bs_admission_worst(a, false);
	v->least_ns = bs_admission_worst(a, true);
	for (int c = 0; c < BS_COSTS; c++)
		v->cost_ns[c] = bs_admission_cost(a, (enum bs_cost)c);
	v->step_ns = step > 0 ? atomic_load(&x->m->s->step[step - 1].trial_worst_ns) : 0;
	return a->measured;
}

#define COST(cost) VIEW(estimate, cost_ns[cost]), .unit = BS_MS
_Static_assert(BS_COSTS == 6, "a new cost needs a row");
static const struct bs_row estimate_rows[] = {
	{ "image_ms", "The worst that an image takes, with the margin.", VIEW(estimate, worst_ns),
	  .unit = BS_MS },
	{ "least_ms", "The same with the least that a protocol that sheds does.",
	  VIEW(estimate, least_ns), .unit = BS_MS, WHEN(EACH(admission, least.n)), .only = true },
	{ "receive_ms", "A readout's checksum, checks and copy.", COST(BS_COST_RECEIVE) },
	{ "wake_ms", "The processes wake each other.", COST(BS_COST_WAKE) },
	{ "add_ms", "The last readout is accumulated.", COST(BS_COST_ADD) },
	{ "finish_ms", "The image is made.", COST(BS_COST_FINISH) },
	{ "hand_ms", "The image's attributes and checksum.", COST(BS_COST_HAND) },
	{ "calibration_ms", "Of images that calibrate, beside these.", COST(BS_COST_CALIBRATION) },
	{ "step_ms", "Its step, by trial images; `image_ms` lacks it. 0: none was timed.",
	  VIEW(estimate, step_ns), .unit = BS_MS },
	{ "readout_us", "A readout's median, for which the stream must leave time.",
	  EACH(admission, readout_ns), .unit = BS_US },
	{ "frame_ms", "The same of a frame.", EACH(admission, frame_ns), .unit = BS_MS },
	{ 0 }
};

static const struct bs_row rung_rows[] = {
	{ "name", "`full`, `fewer`, `quadratic`, `gridding` or `late`.", PLACE(bs_rung_name),
	  .label = "rung" },
	{ "images", "Images made on each rung of the ladder.", EACH_OF(budget, images), COUNTER },
	{ "steps_down", "Steps taken onto it from above.", EACH_OF(budget, down) },
	{ "steps_up", "Steps taken onto it from below.", EACH_OF(budget, up) },
	{ 0 }
};

static const struct bs_row stage_rows[] = {
	{ "name", "The stage.", PLACE(bs_budget_stage_name), .label = "stage" },
	{ "ms", "Its budget.", EACH_OF(site.protocol, stage_ms), .unit = BS_MS_GIVEN },
	{ "missed", "Images of which a stage took longer than its own budget.",
	  EACH_OF(budget, stage_missed), COUNTER },
	{ 0 }
};

struct steps {
	uint64_t down, up;
};

static bool open_budget(struct bs_item *x)
{
	const struct bs_budget_record *b = &x->m->s->budget[x->at[0]];
	struct steps *v = FILL(steps, x);

	*v = (struct steps){ 0, 0 };
	for (int r = 0; r < BS_RUNGS; r++) {
		v->down += atomic_load(&b->down[r]);
		v->up += atomic_load(&b->up[r]);
	}
	return true;
}

static const struct bs_row budget_rows[] = {
	{ "image_ms", "An image's declared latency; 0: none.", EACH(site.protocol, image_ms),
	  .unit = BS_MS_GIVEN },
	{ "on_miss", "What a late image does: `flag`, `shed` or `stop`.",
	  EACH(site.protocol, on_miss), .words = bs_miss_words },
	{ "handed", "Images that had a budget.", EACH(budget, handed), COUNTER,
	  .as = "budget_images_total" },
	{ "missed", "Of these, those that missed it.", EACH(budget, missed), COUNTER },
	{ "scans_stopped", "Scans that a late image ended.", EACH(budget, stopped), COUNTER,
	  .pass = 1 },
	{ "rung", "Where the ladder stands: 0 full, 1 fewer, 4 quadratic, 2 gridding, 3 late.",
	  EACH(budget, rung), .word = bs_rung_name, GAUGE, .pass = 1 },
	{ "rungs", "Those of the ladder of on_miss `shed`.", .most = BS_RUNGS, .rows = rung_rows,
	  .prefix = "rung_", .pass = 3 },
	{ "stages", "Those with a budget of their own.", .most = BS_BUDGET_STAGES,
	  .rows = stage_rows, .line = "  stage {name:-10} {ms} ms: missed {missed} times\n",
	  .prefix = "budget_stage_", .pass = 2, WHEN(EACH_OF(site.protocol, stage_ms)) },
	{ "down", NULL, VIEW(steps, down) },
	{ "up", NULL, VIEW(steps, up) },
	{ 0 }
};

static const struct bs_row rows[] = {
	{ "name", "Its name in the site file.", EACH(site.protocol, name), .label = "protocol" },
	{ "method", "Its method.", EACH(site.protocol, method), .word = bs_method_name },
	{ "armed", "1 when scans of it are taken.", ITEM(armed), .unit = BS_YES, GAUGE },
	{ "engine", "What makes its images: `gridding/host`.", ITEM(engine), WHEN(ITEM(armed)) },
	{ "place", "Where it runs: `host`, `GPU 0`, `GPUs 0, 1: 8 coils shared out`.", ITEM(place),
	  WHEN(ITEM(armed)) },
	{ "plan_bytes", "Memory that arming it took.", ITEM(arm_bytes), .unit = BS_BYTES, GAUGE },
	{ "budget_ms", "An image's declared latency; 0: none.", EACH(site.protocol, image_ms),
	  .unit = BS_MS, GAUGE, .as = "budget_seconds" },
	{ "budget", "How it is kept, since the service started.", .view = open_budget,
	  .rows = budget_rows,
	  .line = "[image_ms?  budget {image_ms} ms, {on_miss}: {missed} of {handed} images late, "
		  "ladder on {rung}, {down} down, {up} up\n]",
	  .prefix = "budget_", .rounded = true },
	{ "refused", "Why it could not be armed, else empty.", ITEM(refusal), WHEN(ITEM(refused)) },
	{ "selftest", "`passed` and what was not tested, or what is off: then it is refused.",
	  EACH(selftest, words) },
	{ "selftest_error_ppm", "What its self-test is off by, in millionths.",
	  EACH(selftest, error_ppm), GAUGE },
	{ "selftest_tolerance_ppm", "What it may be off by; 0: it was not tested.",
	  EACH(selftest, tolerance_ppm), GAUGE },
	{ "estimate", "What arming measured, key `budget.admission`.", .view = open_estimate,
	  .rows = estimate_rows, WHEN(ITEM(armed)) },
	{ "misses", "Images over the budget.", EACH(misses, raw) },
	{ "misses_explained", "Of these, those that a stall of the machine explains.",
	  EACH(misses, explained), COUNTER, .as = "budget_explained_total" },
	{ 0 }
};

static const struct bs_row refusal_rows[] = { { "refusal", NULL, ITEM(refusal) }, { 0 } };
const struct bs_row bs_status_protocols[] = {
	{ "protocols", "The site's.", .most = BS_PROTOCOLS_MAX, NUMBER(site.protocols),
	  .rows = rows,
	  .line = "protocol {name:-20} [refused?refused][!refused?[armed?armed][!armed?not armed]]"
		  ", {engine}[place?, {place}], {plan_bytes} bytes\n",
	  .prefix = "protocol_", .rounded = true, .pass = 10 },
	{ "refusals", NULL, .most = BS_PROTOCOLS_MAX, NUMBER(site.protocols), .rows = refusal_rows,
	  .line = "refused  {refusal}\n", WHEN(ITEM(refused)) },
	{ 0 }
};

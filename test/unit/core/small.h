/*
 * test/unit/core/small.h - a small service on a scripted clock: recon and its ladder, for the tests
 * beside it
 */
#ifndef BS_TEST_UNIT_CORE_SMALL_H
#define BS_TEST_UNIT_CORE_SMALL_H

#include "core/latency/budget.h"
#include "core/thread/clock.h"
#include "core/frame/recon.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <string.h>

#define MS INT64_C(1000000)

static struct bs_fail why;
static int64_t now_ns;

/* ---- a method whose costs are scripted, and which moves the clock by them ---- */

struct cost {
	int64_t add_ns, rest_ns, iteration_ns; /* of a readout, of finish, of an iteration */
	uint32_t added, finished;              /* calls */
	int refuse;                            /* what finish returns next */
};

static struct cost solver, gridder;

static int fake_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *w)
{
	(void)p;
	(void)w;
	bs_need_add(need, "pretended", 1, 64);
	return 0;
}

static int solver_arm(void **self, const struct bs_protocol *p, const struct bs_tables *t,
		      const struct bs_arm_env *env, struct bs_fail *w)
{
	(void)p;
	(void)t;
	(void)env;
	(void)w;
	*self = &solver;
	return 0;
}

static int gridder_arm(void **self, const struct bs_protocol *p, const struct bs_tables *t,
		       const struct bs_arm_env *env, struct bs_fail *w)
{
	(void)solver_arm(self, p, t, env, w);
	*self = &gridder;
	return 0;
}

static int fake_begin(void *self, uint32_t frame)
{
	(void)self;
	(void)frame;
	return 0;
}

static int fake_add(void *self, uint32_t frame, uint32_t readout, const float *k, const float *data,
		    size_t stride)
{
	(void)k;
	struct cost *c = self;

	(void)frame;
	(void)readout;
	(void)data;
	(void)stride;
	now_ns += c->add_ns;
	c->added++;
	return 0;
}

#define ITERATIONS 10u

/* As a solver does: asks before each iteration but the first. */
static int fake_image(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
		      float *image, struct bs_report *report)
{
	struct cost *c = self;
	uint32_t most = report->allowed > 0 ? report->allowed : ITERATIONS;
	int rc = c->refuse;

	(void)frame;
	(void)held;
	(void)image;
	c->refuse = 0;
	c->finished++;
	now_ns += c->rest_ns;
	for (uint32_t i = 0; c == &solver && i < most; i++) {
		if (i > 0 && now_ns > deadline_ns - c->iteration_ns) {
			report->deadline_stop = true;
			break;
		}
		now_ns += c->iteration_ns;
		report->iterations++;
	}
	report->stage_ns[BS_BUDGET_SOLVE] = report->iterations * c->iteration_ns;
	return rc;
}

static void fake_disarm(void *self)
{
	(void)self;
}

static const struct bs_engine gridder_engine = { .need = fake_need,
						 .arm = gridder_arm,
						 .begin = fake_begin,
						 .add = fake_add,
						 .image = fake_image,
						 .disarm = fake_disarm };
static const struct bs_engine solver_engine = { .need = fake_need,
						.arm = solver_arm,
						.begin = fake_begin,
						.add = fake_add,
						.image = fake_image,
						.disarm = fake_disarm,
						.preview = &gridder_engine };
static const struct bs_engine lone_engine = { .need = fake_need,
					      .arm = solver_arm,
					      .begin = fake_begin,
					      .add = fake_add,
					      .image = fake_image,
					      .disarm = fake_disarm };

/* ---- a small service: a frame of two readouts, and what recon and emit do with it ---- */

struct small {
	struct bs_protocol p;
	struct bs_recon *recon;
	struct bs_budget budget;
	struct bs_recon_image image;
	float pixels[2 * 16 * 16];
	int64_t emit_ns;
	uint32_t repetition;
	/* of the last image */
	enum bs_rung rung;
	int64_t latency_ns;
	bool missed, stepped;
};

static struct bs_protocol protocol(enum bs_method m, enum bs_miss on_miss, double image_ms)
{
	struct bs_protocol p = path_of(m, BS_TRAJ_FILE, 16, 16, 1, 1);

	readouts_of(&p, 2, 16);
	p.iterations = ITERATIONS;
	p.image_ms = image_ms;
	p.on_miss = on_miss;
	return coils_apart(p);
}

static void open_small(struct small *s, const struct bs_protocol *p, bool gridding)
{
	static const struct bs_scan_info info;
	struct bs_tables tables = { 0 };
	struct bs_arm_env env = { 0 };

	memset(s, 0, sizeof(*s));
	s->p = *p;
	s->image.pixels = s->pixels;
	solver = gridder = (struct cost){ 0 };
	if (bs_recon_arm(&s->recon, &s->p, gridding ? &solver_engine : &lone_engine, &tables, &env,
			 &why) != 0)
		abort();
	bs_budget_open(&s->budget, &s->p, bs_recon_stands_in(s->recon));
	bs_budget_scan(&s->budget);
	bs_recon_scan(s->recon, &info);
}

static void readout(struct small *s, uint32_t row)
{
	static const float data[32];
	struct bs_mrd_acq head = { .number_of_samples = 16, .active_channels = 1 };
	struct bs_aim aim = bs_budget_aim(&s->budget);

	head.idx.repetition = (uint16_t)s->repetition;
	bs_recon_aim(s->recon, &aim);
	if (bs_recon_readout(s->recon, &head, row, data, now_ns, &why) != 0)
		abort();
}

/* The image of the frame that is complete; not handed on yet. */
static void make(struct small *s)
{
	struct bs_aim aim = bs_budget_aim(&s->budget);
	int64_t from_ns;

	bs_recon_aim(s->recon, &aim);
	from_ns = now_ns;
	if (bs_recon_pop(s->recon, &s->image, bs_budget_deadline(&s->budget, from_ns), &why) != 1)
		abort();
	s->stepped = bs_budget_made(&s->budget, &s->image.report, from_ns, now_ns, &s->rung);
	s->latency_ns = now_ns - from_ns;
	s->repetition++;
}

static void hand(struct small *s)
{
	now_ns += s->emit_ns;
	s->latency_ns += s->emit_ns;
	s->missed = bs_budget_missed(&s->p, &s->image.report, s->latency_ns);
	s->stepped |= bs_budget_handed(&s->budget, s->rung,
				       s->missed                       ? BS_RESULT_MISSED
				       : s->image.report.deadline_stop ? BS_RESULT_TIGHT
								       : BS_RESULT_MET,
				       s->emit_ns);
}

static void frame(struct small *s)
{
	readout(s, 0);
	readout(s, 1);
	make(s);
	hand(s);
}

static void close_small(struct small *s)
{
	bs_recon_disarm(s->recon);
}

#endif

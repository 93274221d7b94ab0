/*
 * test/twin/twin_shed.c - the ladder's rungs and the stages' times on the CUDA engines
 *
 * The same frame through bs_recon on each rung, host against CUDA, as late images step down. Both
 * sum F^H d and Q exactly, so the solves differ by float rounding as in twin_ls.c: 1e-5, with a
 * prior as in twin_prox.c: 1e-4; gridding as in twin_engine.c: 1e-5 at accuracy 1e-6, with weights
 * that both are given, ones: those that each makes by itself agree less closely (twin_density.c). A
 * report's stages happen one after the other between the last readout's add and finish's return:
 * each that the engine has is more than nothing (an event that a graph did not record anew would
 * give nothing), and together they are no longer than that time by the host's clock, but for the
 * clocks' difference (1 %) and their resolution (20 us).
 */
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include <string.h>

#include "core/thread/clock.h"
#include "core/latency/budget.h"
#include "core/frame/recon.h"
#include "gpu/engine/engines.h"
#include "test/twin/device.h"

#define ITERATIONS 8u
#define LAMBDA     1e-3                   /* of the prior, in the unit of the image */
#define LATE_NS    INT64_C(2000000000000) /* twice the budget */

struct side {
	const struct bs_engine *engine;
	struct bs_arena arena;
	struct bs_recon *recon;
	struct bs_recon_image image;
	int64_t wall_ns; /* from before the last add to the image */
	uint32_t repetition;
};

static struct bs_protocol protocol(enum bs_method method, enum bs_prior prior)
{
	struct bs_protocol p = path_of(method, BS_TRAJ_RADIAL2D, 64, 64, 1, 4);

	readouts_of(&p, 90, 128);
	/* Well conditioned, so that the bound is that of the sums: a Q that differs by 1e-7 moves
	 * the eighth image by 7e-8 here, and by 7e-6 with lambda = 5. */
	solved(&p, 50.0, ITERATIONS);
	p.accuracy = 1e-6;
	p.density = method == BS_METHOD_GRIDDING ? BS_DENSITY_RAMP : BS_DENSITY_FILE;
	p.combine = BS_COMBINE_RSS;
	p.fhd = p.q = BS_SUM_EXACT;
	p.prior.kind = prior;
	p.prior.lambda = LAMBDA;
	p.prior.block = 8;
	p.image_ms = 1e6;
	p.on_miss = BS_MISS_SHED;
	return planned(p);
}

static int open_side(struct side *s, const struct bs_engine *engine, const struct bs_protocol *p,
		     const struct bs_tables *tables, struct bs_fail *why)
{
	struct bs_arm_env env = { .arena = &s->arena, .team = team, .cache_dir = "" };
	static const struct bs_scan_info info;
	struct bs_need need;
	int rc;

	memset(&need, 0, sizeof(need));
	s->engine = engine;
	rc = bs_recon_need(p, engine, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&s->arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_recon_arm(&s->recon, p, engine, tables, &env, why);
	if (rc == 0)
		bs_recon_scan(s->recon, &info);
	s->image.pixels = malloc(bs_protocol_image_bytes(p));
	return rc;
}

static void close_side(struct side *s)
{
	bs_recon_disarm(s->recon);
	bs_arena_close(&s->arena);
	free(s->image.pixels);
}

static int frame(struct side *s, const struct bs_protocol *p, const struct bs_aim *aim,
		 const float *data, struct bs_fail *why)
{
	struct bs_mrd_acq head;
	int rc = 0;

	memset(&head, 0, sizeof(head));
	head.number_of_samples = (uint16_t)p->samples;
	head.active_channels = (uint16_t)p->coils;
	head.idx.repetition = (uint16_t)s->repetition++;
	bs_recon_aim(s->recon, aim);
	for (uint32_t r = 0; rc == 0 && r < p->readouts; r++) {
		if (r == p->readouts - 1)
			s->wall_ns = bs_now_ns();
		rc = bs_recon_readout(s->recon, &head, r, data + 2ull * r * p->samples * p->coils,
				      bs_now_ns(), why);
	}
	if (rc == 0)
		rc = bs_recon_pop(s->recon, &s->image, bs_now_ns() + INT64_C(3600000000000), why);
	s->wall_ns = bs_now_ns() - s->wall_ns;
	return rc;
}

static void check_stages(const char *name, const struct side *s, bool solves)
{
	const int64_t *t = s->image.report.stage_ns;
	int64_t sum = 0;

	for (int i = 0; i < BS_BUDGET_STAGES; i++)
		sum += t[i];
	CHECK(t[BS_BUDGET_UPLOAD] > 0 && t[BS_BUDGET_ACCUMULATE] > 0 && t[BS_BUDGET_COMBINE] > 0 &&
		      t[BS_BUDGET_DOWNLOAD] > 0 && (t[BS_BUDGET_SOLVE] > 0) == solves &&
		      sum <= s->wall_ns + s->wall_ns / 100 + 20000,
	      "%s: upload %.1f, accumulate %.1f, solve %.1f, combine %.1f, download %.1f us: "
	      "together "
	      "%.1f of %.1f",
	      name, (double)t[BS_BUDGET_UPLOAD] * 1e-3, (double)t[BS_BUDGET_ACCUMULATE] * 1e-3,
	      (double)t[BS_BUDGET_SOLVE] * 1e-3, (double)t[BS_BUDGET_COMBINE] * 1e-3,
	      (double)t[BS_BUDGET_DOWNLOAD] * 1e-3, (double)sum * 1e-3, (double)s->wall_ns * 1e-3);
}

/* The report says what the ladder has an image do, and after how many iterations. */
static bool is_of(const struct bs_report *r, const struct bs_protocol *p, const struct bs_aim *aim)
{
	const uint32_t most = aim->iterations > 0 ? aim->iterations : p->iterations;
	const bool quadratic = aim->quadratic && !aim->gridding;
	const bool solves = p->method == BS_METHOD_LS && !aim->gridding;
	const bool prior = p->prior.kind != BS_PRIOR_NONE && solves && !quadratic;

	return r->gridded == aim->gridding && r->quadratic == quadratic &&
	       (r->prior_lambda > 0.0) == prior && r->iterations == (solves ? most : 0);
}

static void rung(const char *method, struct side *h, struct side *c, const struct bs_protocol *p,
		 const struct bs_budget *b, const float *data)
{
	const struct bs_aim aim = bs_budget_aim(b);
	const char *name = bs_rung_name(b->rung);
	uint64_t floats = bs_protocol_image_bytes(p) / 4;
	struct bs_fail why = { 0 };
	int rc = frame(h, p, &aim, data, &why);
	char words[96];
	double e;

	if (rc == 1)
		rc = frame(c, p, &aim, data, &why);
	CHECK(rc == 1, "%s, %s: made by both %s", method, name, why.text);
	if (rc != 1)
		return;
	e = check_rel(c->image.pixels, h->image.pixels, floats);
	CHECK(e <= (c->image.report.prior_lambda > 0.0 ? 1e-4 : 1e-5) &&
		      c->image.report.iterations == h->image.report.iterations &&
		      is_of(&c->image.report, p, &aim) && is_of(&h->image.report, p, &aim),
	      "%s, %s: %s against %s differ by %.1e; %u iterations", method, name,
	      bs_recon_engine(c->recon, &c->image), bs_recon_engine(h->recon, &h->image), e,
	      c->image.report.iterations);
	(void)snprintf(words, sizeof(words), "%s, %s, stages", method, name);
	check_stages(words, c, p->method == BS_METHOD_LS && !aim.gridding);
}

/* Down the ladder by images that are late, and a new scan, which begins on full. */
static void down(const char *method, struct side *h, struct side *c, const struct bs_protocol *p,
		 const float *data)
{
	const bool solves = p->method == BS_METHOD_LS;
	struct bs_budget b;
	enum bs_rung made;

	CHECK(bs_recon_stands_in(h->recon) == solves && bs_recon_stands_in(c->recon) == solves,
	      "%s: gridding stands by on both, or on none", method);
	bs_budget_open(&b, p, solves);
	rung(method, h, c, p, &b, data);
	rung(method, h, c, p, &b, data);
	while (bs_budget_made(&b, &c->image.report, 0, LATE_NS, &made) && b.rung != BS_RUNG_LATE)
		rung(method, h, c, p, &b, data);
	CHECK(b.rung == BS_RUNG_LATE && b.down[BS_RUNG_FEWER] == solves &&
		      b.down[BS_RUNG_QUADRATIC] == (p->prior.kind != BS_PRIOR_NONE) &&
		      b.down[BS_RUNG_GRIDDING] == solves,
	      "%s: down by each rung that it has", method);
	bs_budget_scan(&b);
	rung(method, h, c, p, &b, data);
}

static void ladder(const char *name, enum bs_method method, enum bs_prior prior,
		   const struct bs_engine *host, const struct bs_engine *cuda)
{
	struct bs_protocol p = protocol(method, prior);
	uint64_t values = 2 * bs_protocol_samples(&p) * p.coils;
	float *data = malloc(values * 4);
	float *ones = malloc(bs_protocol_samples(&p) * 4);
	struct bs_tables tables;
	struct bs_traj traj;
	struct side h;
	struct side c;
	struct bs_fail why = { 0 };
	uint64_t seed = 1234567;
	int rc = bs_traj_make(&traj, &p, &why);

	memset(&tables, 0, sizeof(tables));
	memset(&h, 0, sizeof(h));
	memset(&c, 0, sizeof(c));
	fill_random(data, values, &seed);
	for (uint64_t m = 0; m < bs_protocol_samples(&p); m++)
		ones[m] = 1.0f;
	tables.traj = &traj;
	tables.weight = ones;
	if (rc == 0)
		rc = open_side(&h, host, &p, &tables, &why);
	if (rc == 0)
		rc = open_side(&c, cuda, &p, &tables, &why);
	CHECK(rc == 0, "%s: both armed %s", name, why.text);
	if (rc == 0)
		down(name, &h, &c, &p, data);
	close_side(&h);
	close_side(&c);
	bs_traj_close(&traj);
	free(data);
	free(ones);
}

static void compare_all(void)
{
	ladder("ls", BS_METHOD_LS, BS_PRIOR_NONE, &bs_engine_host, &bs_engine_cuda);
	ladder("wavelet", BS_METHOD_LS, BS_PRIOR_WAVELET, &bs_engine_host, &bs_engine_cuda);
	ladder("gridding", BS_METHOD_GRIDDING, BS_PRIOR_NONE, &bs_engine_host, &bs_engine_cuda);
}

int main(void)
{
	return twin_main("the ladder on the GPU", 2, compare_all);
}

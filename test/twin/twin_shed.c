/*
 * test/twin/twin_shed.c - the ladder's rungs and the stages' times on the CUDA engines
 *
 * The same frame through bs_recon on full, fewer and gridding, host against CUDA. Both sum F^H d
 * and Q exactly, so the solves differ by float rounding as in twin_ls.c: 1e-5; gridding as in
 * twin_engine.c: 1e-5 at accuracy 1e-6, with weights that both are given, ones: those that each
 * makes by itself agree less closely (twin_density.c). A report's stages happen one after the other
 * between the last readout's add and finish's return: each that the engine has is more than nothing
 * (an event that a graph did not record anew would give nothing), and together they are no longer
 * than that time by the host's clock, but for the clocks' difference (1 %) and their resolution (20
 * us).
 */
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include <string.h>

#include "core/thread/clock.h"
#include "core/frame/recon.h"
#include "gpu/engine/engines.h"
#include "test/twin/device.h"

#define ITERATIONS 8u

struct side {
	const struct bs_engine *engine;
	struct bs_arena arena;
	struct bs_recon *recon;
	struct bs_recon_image image;
	int64_t wall_ns; /* from before the last add to the image */
	uint32_t repetition;
};

static struct bs_protocol protocol(enum bs_method method)
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

static void rung(const char *name, struct side *h, struct side *c, const struct bs_protocol *p,
		 const struct bs_aim *aim, const float *data)
{
	uint64_t floats = bs_protocol_image_bytes(p) / 4;
	struct bs_fail why = { 0 };
	int rc = frame(h, p, aim, data, &why);
	char words[96];
	double e;

	if (rc == 1)
		rc = frame(c, p, aim, data, &why);
	CHECK(rc == 1, "%s: made by both %s", name, why.text);
	if (rc != 1)
		return;
	e = check_rel(c->image.pixels, h->image.pixels, floats);
	CHECK(e <= 1e-5 && c->image.report.iterations == h->image.report.iterations &&
		      c->image.report.gridded == aim->gridding &&
		      h->image.report.gridded == aim->gridding,
	      "%s: %s against %s differ by %.1e; %u iterations", name,
	      bs_recon_engine(c->recon, &c->image), bs_recon_engine(h->recon, &h->image), e,
	      c->image.report.iterations);
	(void)snprintf(words, sizeof(words), "%s, stages", name);
	check_stages(words, c, p->method == BS_METHOD_LS && !aim->gridding);
}

static void ladder(const char *name, enum bs_method method, const struct bs_engine *host,
		   const struct bs_engine *cuda)
{
	static const struct bs_aim full = { false, false, 0 };
	static const struct bs_aim fewer = { false, false, ITERATIONS / 2 };
	static const struct bs_aim gridding = { true, false, ITERATIONS / 2 };
	struct bs_protocol p = protocol(method);
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
	if (rc == 0) {
		rung("full", &h, &c, &p, &full, data);
		rung("full again", &h, &c, &p, &full, data);
	}
	if (rc == 0 && method == BS_METHOD_LS) {
		CHECK(bs_recon_stands_in(h.recon) && bs_recon_stands_in(c.recon),
		      "gridding stands by on both");
		rung("fewer", &h, &c, &p, &fewer, data);
		CHECK(c.image.report.iterations == ITERATIONS / 2, "half of the iterations: %u",
		      c.image.report.iterations);
		rung("gridding", &h, &c, &p, &gridding, data);
		rung("back on full", &h, &c, &p, &full, data);
	}
	close_side(&h);
	close_side(&c);
	bs_traj_close(&traj);
	free(data);
	free(ones);
}

static void compare_all(void)
{
	ladder("ls", BS_METHOD_LS, &bs_engine_host, &bs_engine_cuda);
	ladder("gridding", BS_METHOD_GRIDDING, &bs_engine_host, &bs_engine_cuda);
}

int main(void)
{
	return twin_main("the ladder on the GPU", 2, compare_all);
}

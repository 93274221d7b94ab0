/*
 * test/twin/nufft/twin_nufft_turns.c - CUDA gridding whose coils take turns on one grid
 *
 * Turns of one coil to all but one, the last one short, odd numbers of coils, every route: the
 * bytes of all coils together, forward too, and the same accuracy against the host. With chunks the
 * images are summed in place of the grids: another rounding, so 1e-5 of the single precision sum,
 * but the same bytes for any turn, any order of arrival, with previews in between.
 */
#include "test/support/check.h"
#include "gpu/nufft/cuda/choice.h"
#include "gpu/nufft/cuda/tune.h"
#include "test/twin/nufft/trial.h"

struct turns {
	struct trial t;
	enum bs_nufft_field field; /* a variant, value 0: none */
	uint32_t value;
};

/* The host's images and samples of the same plan. */
static int host_of(const struct fixture *f, float *image, float *data, struct bs_fail *why)
{
	struct bs_arena arena = { 0 };
	struct bs_need need = { 0 };
	struct bs_nufft *host = NULL;
	int rc = bs_nufft_need(&f->spec, &need, why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_nufft_plan(&host, &f->spec, f->k, f->weight, &arena, team, why);
	if (rc == 0) {
		bs_nufft_adjoint(host, f->data, image);
		bs_nufft_forward(host, f->image, data);
	}
	bs_nufft_close(host);
	bs_arena_close(&arena);
	return rc;
}

/* All samples of state 0 are there; they are announced a chunk at a time, the last ones first. */
static int arrive(struct fixture *f, struct bs_fail *why)
{
	const struct trial *t = f->t;
	const uint64_t chunk = bs_nufft_cuda_choice(f->cuda)->chunk;
	uint64_t left = t->samples;
	int rc = bs_nufft_cuda_begin(f->cuda, 0, NULL, why);

	if (rc == 0 && !up(bs_nufft_cuda_samples(f->cuda, 0), f->data, 2 * t->samples * t->coils))
		rc = bs_fail(why, BS_ERR_GPU, "samples");
	while (rc == 0 && left > 0) {
		const uint64_t first = (left - 1) / chunk * chunk;

		rc = bs_nufft_cuda_arrived(f->cuda, 0, first, left - first, NULL, why);
		left = first;
		if (rc == 0 && left > 0) /* the frame goes on, whatever is looked at */
			rc = bs_nufft_cuda_peek(f->cuda, 0, f->dev_image, NULL, why);
	}
	return rc;
}

/* A preview of all, then the frame: both are the bytes of one adjoint. */
static void check_peek(struct fixture *f, const char *name)
{
	const uint64_t n = 2 * f->voxels * f->t->coils;
	float *peeked = malloc(n * 4);
	float *image = malloc(n * 4);
	struct bs_fail why = { 0 };
	bool ok = arrive(f, &why) == 0 &&
		  bs_nufft_cuda_peek(f->cuda, 0, f->dev_image, NULL, &why) == 0 &&
		  fetch(peeked, f->dev_image, n) &&
		  bs_nufft_cuda_finish(f->cuda, 0, f->dev_image, NULL, &why) == 0 &&
		  fetch(image, f->dev_image, n);

	CHECK(ok && memcmp(image, f->out_image, n * 4) == 0 &&
		      memcmp(peeked, f->out_image, n * 4) == 0,
	      "%s: looked at after each chunk, then finished: the bytes of one adjoint %s", name,
	      why.text);
	free(peeked);
	free(image);
}

/* One number of coils a turn against all of them together, and the host. */
static void check_turn(struct fixture *f, uint32_t turn, const float *const whole[2],
		       const float *const host[2], float *sums)
{
	const struct trial *t = f->t;
	const uint64_t n = 2 * f->voxels * t->coils;
	const uint64_t m = 2 * t->samples * t->coils;
	struct bs_fail why = { 0 };
	char name[96];

	f->spec.turn = turn;
	f->spec.peek = t->chunk > 0;
	int rc = open_plan(f, &why);

	CHECK(rc == 0, "%s, turns of %u: planned %s", t->name, turn, why.text);
	if (rc == 0 && adjoint(f, f->out_image) && forward(f, f->out_data)) {
		const struct bs_nufft_choice *c = bs_nufft_cuda_choice(f->cuda);
		const double e = check_rel(f->out_image, whole[0], n);
		const double a = check_rel(f->out_image, host[0], n);
		const double b = check_rel(f->out_data, host[1], m);

		(void)snprintf(name, sizeof(name), "%s, %u coils in %u turns of %u", t->name,
			       t->coils, c->turns, c->turn);
		CHECK(c->turns > 1 && c->turn * (c->turns - 1) < t->coils &&
			      c->turn * c->turns >= t->coils && c->sums == (c->chunks > 1),
		      "%s, %s", name, c->sums ? "images are summed" : "at once");
		CHECK(c->sums ? e <= 1e-5 : memcmp(f->out_image, whole[0], n * 4) == 0,
		      "%s: %.1e from all coils together%s", name, e,
		      c->sums ? "" : ", the same bytes");
		CHECK(memcmp(f->out_data, whole[1], m * 4) == 0, "%s: forward, the same bytes",
		      name);
		CHECK(a <= 2.0 * t->accuracy && b <= 2.0 * t->accuracy,
		      "%s: twins differ by %.1e adjoint, %.1e forward; at most %.0e", name, a, b,
		      2.0 * t->accuracy);
		if (turn == 1)
			memcpy(sums, f->out_image, n * 4);
		CHECK(memcmp(sums, f->out_image, n * 4) == 0, "%s: the bytes of the least turns",
		      name);
		incremental(f);
		if (f->spec.peek)
			check_peek(f, name);
	} else if (rc == 0) {
		CHECK(false, "%s: ran: %s", t->name, cudaGetErrorString(cudaGetLastError()));
	}
	close_plan(f);
}

/* Turns need less memory, and the sum of what they need is what a plan takes. */
static void check_need(const struct fixture *f)
{
	struct bs_nufft_spec s = f->spec;
	struct bs_need all = { 0 };
	struct bs_need turns = { 0 };
	struct bs_fail why = { 0 };

	s.turn = 0;
	int rc = bs_nufft_cuda_need(&s, &all, &why);

	s.turn = 1;
	rc = rc != 0 ? rc : bs_nufft_cuda_need(&s, &turns, &why);
	CHECK(rc == 0 && turns.total_bytes < all.total_bytes,
	      "%s: %llu bytes, all coils together %llu %s", f->t->name,
	      (unsigned long long)turns.total_bytes, (unsigned long long)all.total_bytes, why.text);
}

static void check_trial(const struct turns *of)
{
	const struct trial t = shrunk(&of->t);
	struct bs_tune tune = { 0 };
	struct fixture f;
	struct bs_fail why = { 0 };

	make_inputs(&f, &t);
	tune.v[of->field] = of->value;
	f.spec.tune = of->value != 0 ? &tune : NULL;
	const uint64_t n = 2 * f.voxels * t.coils;
	const uint64_t m = 2 * t.samples * t.coils;
	float *whole[2] = { malloc(n * 4), malloc(m * 4) };
	float *host[2] = { malloc(n * 4), malloc(m * 4) };
	float *sums = malloc(n * 4);
	int rc = host_of(&f, host[0], host[1], &why);

	if (rc == 0)
		rc = open_plan(&f, &why);
	if (rc == 0 && !(adjoint(&f, whole[0]) && forward(&f, whole[1])))
		rc = bs_fail(&why, BS_ERR_GPU, "all coils together");
	CHECK(rc == 0 && bs_nufft_cuda_choice(f.cuda)->turns == 1, "%s: all coils together %s",
	      t.name, why.text);
	close_plan(&f);
	check_need(&f);
	for (uint32_t turn = 1; rc == 0 && turn < t.coils; turn += small() ? 2 : 1)
		check_turn(&f, turn, (const float *const *)whole, (const float *const *)host, sums);
	for (int i = 0; i < 2; i++) {
		free(whole[i]);
		free(host[i]);
	}
	free(sums);
	release(&f);
}

static void all(void)
{
	static const struct turns trials[] = {
		{ { "2D", RANDOM, 2, { 37, 51, 1 }, 7, 5000, 0, 1e-4 }, 0, 0 },
		{ { "2D mixed", RANDOM, 2, { 37, 51, 1 }, 7, 5000, 0, 1e-4 }, BS_NUFFT_MIXED, 2 },
		{ { "2D folded", RADIAL, 2, { 64, 64, 1 }, 9, 25600, 0, 1e-3 }, BS_NUFFT_FOLD, 2 },
		{ { "2D chunks", RANDOM, 2, { 37, 51, 1 }, 5, 5000, 1300, 1e-5 }, 0, 0 },
		{ { "2D chunks mixed", RADIAL, 2, { 48, 49, 1 }, 6, 9000, 2000, 1e-3 },
		  BS_NUFFT_MIXED,
		  2 },
		{ { "3D", RANDOM, 3, { 31, 45, 27 }, 5, 9000, 0, 1e-3 }, 0, 0 },
		{ { "3D chunks", RADIAL, 3, { 31, 45, 27 }, 5, 20000, 3000, 1e-3 }, 0, 0 },
		{ { "3D chunks mixed", RADIAL, 3, { 32, 30, 34 }, 7, 20000, 3000, 1e-3 },
		  BS_NUFFT_MIXED,
		  2 },
		{ { "3D collected", RANDOM, 3, { 40, 40, 40 }, 5, 9000, 0, 1e-3 },
		  BS_NUFFT_ROUTE,
		  2 },
		{ { "3D chunks collected", RANDOM, 3, { 40, 40, 40 }, 3, 9000, 2500, 1e-3 },
		  BS_NUFFT_ROUTE,
		  2 },
		{ { "3D one lane", RANDOM, 3, { 24, 25, 26 }, 4, 6000, 1500, 1e-4 },
		  BS_NUFFT_LANES,
		  1 },
		/* rows of 96 points, in registers: fours of coils come side by side */
		{ { "3D fours", RANDOM, 3, { 76, 20, 22 }, 8, 9000, 0, 1e-3 }, BS_NUFFT_TAPS, 6 },
		{ { "3D stack", STACK, 3, { 48, 40, 12 }, 5, 12000, 3000, 1e-3 }, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		check_trial(&trials[i]);
}

int main(void)
{
	return twin_main("coils in turns", 2, all);
}

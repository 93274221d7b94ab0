/*
 * test/twin/nufft/twin_nufft_choices.c - CUDA gridding under every choice that a tuner may make
 *
 * Bounds: each choice within twice the accuracy asked for of the host twin, which
 * test/unit/gpu/test_nufft.c holds to direct sums; the same bytes again, and in pieces. Lengths
 * with transforms in registers within 2e-6 of the general ones: two roundings of the same sums.
 */
#include "test/support/check.h"
#include "gpu/nufft/cuda/choice.h"
#include "gpu/nufft/cuda/tune.h"
#include "test/twin/nufft/trial.h"
#include "test/twin/timing.h"

static int run_adjoint(void *arg)
{
	struct fixture *f = arg;
	struct bs_fail why;

	return bs_nufft_cuda_adjoint(f->cuda, f->dev_data, f->dev_image, f->stream, &why);
}

static int run_forward(void *arg)
{
	struct fixture *f = arg;
	struct bs_fail why;

	return bs_nufft_cuda_forward(f->cuda, f->dev_image, f->dev_data, f->stream, &why);
}

/* One choice: against the host twin (whose answers are given), twice the same bytes, and in pieces.
 * A choice that does not apply to this trial is passed over. */
static void candidate(struct fixture *f, const struct bs_tune *tune, const float *host_image,
		      const float *host_data, int *tried)
{
	const struct trial *t = f->t;
	const uint64_t voxels = 2 * f->voxels * t->coils;
	const uint64_t samples = 2 * t->samples * t->coils;
	const double bound = 2.0 * t->accuracy;
	struct bs_nufft_choice other;
	struct bs_fail why = { 0 };
	char words[BS_TUNE_TEXT];
	double ms[2] = { 0.0, 0.0 };
	uint64_t h;
	int rc;

	(void)bs_tune_text(words, &bs_nufft_tunable, tune);
	f->spec.tune = tune;
	rc = bs_nufft_choose(&other, &f->spec, t->path == STACK,
			     t->path == STACK ? t->samples / t->matrix[2] : 0, &why);
	if (rc == BS_ERR_UNSUPPORTED)
		return;
	rc = open_plan(f, &why);
	if (rc == BS_ERR_UNSUPPORTED) { /* it does not apply to these samples */
		close_plan(f);
		return;
	}
	(*tried)++;
	CHECK(rc == 0, "%s, %s: planned%s%s", t->name, words, rc ? ": " : "", rc ? why.text : "");
	if (rc == 0 && (!adjoint(f, f->out_image) || !forward(f, f->out_data))) {
		CHECK(false, "%s, %s: ran: %s", t->name, words,
		      cudaGetErrorString(cudaGetLastError()));
	} else if (rc == 0) {
		const double a = check_rel(f->out_image, host_image, voxels);
		const double b = check_rel(f->out_data, host_data, samples);

		h = hash_of(f->out_image, voxels);
		if (!small()) { /* under a sanitizer times say nothing */
			ms[0] = time_ms(run_adjoint, f, &f->stream);
			ms[1] = time_ms(run_forward, f, &f->stream);
			f->stream = NULL;
		}
		CHECK(a <= bound && b <= bound,
		      "%s, %s: twins differ by %.1e adjoint, %.1e forward; at most %.0e; %.4f and "
		      "%.4f ms",
		      t->name, words, a, b, bound, ms[0], ms[1]);
		CHECK(adjoint(f, f->out_image) && hash_of(f->out_image, voxels) == h,
		      "%s, %s: the same bytes again", t->name, words);
		if (!small())
			incremental(f);
	}
	close_plan(f);
}

/* Every value of every field, alone, and with the choices that lead to other kernels beside it. */
static void candidates(const struct trial *t)
{
	struct bs_arena arena;
	struct bs_need need = { 0 };
	struct bs_nufft *host = NULL;
	struct bs_fail why = { 0 };
	struct bs_tune tune = { 0 };
	struct fixture f;
	int tried = 0;
	int rc;

	make_inputs(&f, t);
	float *image = malloc(f.voxels * t->coils * 8);
	float *data = malloc(t->samples * t->coils * 8);

	rc = bs_nufft_need(&f.spec, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_nufft_plan(&host, &f.spec, f.k, f.weight, &arena, team, &why);
	CHECK(rc == 0, "%s: host twin planned%s%s", t->name, rc ? ": " : "", rc ? why.text : "");
	if (rc == 0) {
		bs_nufft_adjoint(host, f.data, image);
		bs_nufft_forward(host, f.image, data);
		candidate(&f, &tune, image, data, &tried);
		for (uint32_t s = 0; s < bs_nufft_stage_count; s++)
			for (uint32_t v = 0; v < BS_TUNE_VALUES && bs_nufft_stages[s].value[v];
			     v++) {
				memset(&tune, 0, sizeof(tune));
				tune.v[bs_nufft_stages[s].field] = bs_nufft_stages[s].value[v];
				candidate(&f, &tune, image, data, &tried);
			}
		for (uint32_t taps = 4; taps <= 8; taps++)
			for (uint32_t lanes = 1; lanes <= 4; lanes *= 2) {
				memset(&tune, 0, sizeof(tune));
				tune.v[BS_NUFFT_TAPS] = taps;
				tune.v[BS_NUFFT_LANES] = lanes;
				tune.v[BS_NUFFT_LINES] = 2;
				tune.v[BS_NUFFT_PARTS] = 4;
				tune.v[t->dims == 3 ? BS_NUFFT_ROUTE : BS_NUFFT_FOLD] = 2;
				if (t->path == STACK)
					tune.v[BS_NUFFT_ROUTE] = 0;
				candidate(&f, &tune, image, data, &tried);
			}
		bs_nufft_close(host);
		bs_arena_close(&arena);
	}
	CHECK(tried >= 8, "%s: %d choices", t->name, tried);
	free(image);
	free(data);
	release(&f);
}

static int run_finish(void *arg)
{
	struct fixture *f = arg;
	struct bs_fail why;

	return bs_nufft_cuda_finish(f->cuda, 0, f->dev_image, f->stream, &why);
}

/* What is tuned is what a frame waits for: the time after its last readout, not that of all. */
static void after_last_readout(void)
{
	const struct trial t = { "tuning", RADIAL, 2, { 256, 256, 1 }, 8, 131072, 8192, 1e-3 };
	struct bs_tuning *found = calloc(1, sizeof(*found));
	struct bs_fail why = { 0 };
	struct fixture f;
	double whole = 0.0;
	double last = 0.0;

	make_inputs(&f, &t);
	int rc = bs_nufft_tuned(found, &f.spec, f.k, "", 0.01, &why);

	if (rc == 0)
		rc = open_plan(&f, &why);
	if (rc == 0) {
		rc = bs_nufft_cuda_begin(f.cuda, 0, NULL, &why);
		whole = time_ms(run_adjoint, &f, &f.stream);
		last = time_ms(run_finish, &f, &f.stream);
		f.stream = NULL;
	}
	CHECK(rc == 0 && last < 0.7 * whole && found->trial[0].ms[0] < 0.5 * (last + whole),
	      "tuned by %.4f ms: %.4f after the last readout of 16 chunks, %.4f for all %s",
	      found->trial[0].ms[0], last, whole, why.text);
	release(&f);
	free(found);
}

/* Each length with transforms in registers, in all directions and layouts (chunks: rows inward),
 * against the general ones: two roundings of the same sums. */
static void lengths(void)
{
	static const uint32_t grid[] = { 60,  64,  72,  75,  80,  90,  96,  100, 108, 120, 128,
					 135, 144, 150, 160, 180, 192, 200, 216, 225, 240, 250,
					 256, 270, 288, 300, 320, 360, 375, 384, 400, 432, 450,
					 480, 500, 512, 540, 576, 600, 640, 720 };
	struct trial t = { "lengths", RANDOM, 2, { 0, 0, 1 }, 3, 1500, 600, 0.0 };

	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++) {
		struct bs_fail why = { 0 };
		struct bs_nufft_info info = { 0 };
		struct bs_tune general = { 0 };
		struct bs_tune registers = { 0 };
		struct fixture f;
		float *image;
		float *data;
		int rc;

		/* odd matrices, and an oversampling that gives this grid on both axes */
		t.matrix[0] = t.matrix[1] = grid[i] * 2 / 3 | 1;
		make_inputs(&f, &t);
		f.spec.width = 5.0;
		f.spec.oversampling = (grid[i] - 0.25) / t.matrix[0];
		general.v[BS_NUFFT_LINES] = 1;
		registers.v[BS_NUFFT_LINES] = 2;
		image = malloc(f.voxels * t.coils * 8);
		data = malloc(t.samples * t.coils * 8);
		f.spec.tune = &general;
		rc = open_plan(&f, &why);
		if (rc == 0)
			bs_nufft_cuda_info(f.cuda, &info);
		if (rc == 0 && (!adjoint(&f, image) || !forward(&f, data)))
			rc = bs_fail(&why, BS_ERR_GPU, "did not run");
		close_plan(&f);
		f.spec.tune = &registers;
		if (rc == 0)
			rc = open_plan(&f, &why);
		if (rc == 0 && (!adjoint(&f, f.out_image) || !forward(&f, f.out_data)))
			rc = bs_fail(&why, BS_ERR_GPU, "did not run");
		close_plan(&f);
		const double a = check_rel(f.out_image, image, 2 * f.voxels * t.coils);
		const double b = check_rel(f.out_data, data, 2 * t.samples * t.coils);

		CHECK(rc == 0 && info.grid[0] == grid[i] && info.grid[1] == grid[i] && a <= 2e-6 &&
			      b <= 2e-6,
		      "lines of %u: in registers %.1e and %.1e from the general ones %s", grid[i],
		      a, b, why.text);
		free(image);
		free(data);
		release(&f);
	}
}

static void all_candidates(void)
{
	static const struct trial few[] = {
		{ "2D one coil", RADIAL, 2, { 96, 80, 1 }, 1, 20000, 0, 1e-3 },
		{ "2D few samples", RANDOM, 2, { 96, 80, 1 }, 1, 700, 0, 1e-3 },
		{ "2D five coils in chunks", RANDOM, 2, { 61, 75, 1 }, 5, 9000, 2500, 1e-3 },
		{ "3D one coil", RANDOM, 3, { 40, 33, 36 }, 1, 9000, 0, 1e-3 },
		{ "3D three coils in chunks", RANDOM, 3, { 33, 40, 29 }, 3, 9000, 2500, 1e-3 },
		{ "3D stack", STACK, 3, { 48, 40, 12 }, 3, 12000, 0, 1e-3 },
	};
	static const struct trial large[] = {
		{ "3D random 128^3", RANDOM, 3, { 128, 128, 128 }, 1, 284592, 0, 1e-3 },
		{ "2D radial 256^2", RADIAL, 2, { 256, 256, 1 }, 1, 131072, 0, 1e-3 },
	};

	for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
		const struct trial t = shrunk(&few[i]);

		candidates(&t);
	}
	if (!small())
		for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
			candidates(&large[i]);
}

static void compare_all(void)
{
	lengths();
	if (!small())
		after_last_readout();
	all_candidates();
}

int main(void)
{
	return twin_main("choices of CUDA gridding", 2, compare_all);
}

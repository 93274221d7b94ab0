/* test/unit/gpu/test_nufft_tune.c - no choice of the CUDA gridding leaves the accuracy that was
 * asked for */
#include "gpu/nufft/cuda/tune.h"
#include "test/support/check.h"

#include <string.h>

#include "gpu/nufft/cuda/choice.h"
#include "gpu/nufft/window.h"

static const struct bs_nufft_spec specs[] = {
	{ .dims = 2, .matrix = { 256, 256, 1 }, .coils = 1, .samples = 131072, .accuracy = 1e-3 },
	{ .dims = 2, .matrix = { 37, 51, 1 }, .coils = 5, .samples = 5000, .accuracy = 1e-5 },
	{ .dims = 3, .matrix = { 128, 128, 128 }, .coils = 8, .samples = 284592, .accuracy = 1e-3 },
	{ .dims = 3, .matrix = { 31, 45, 27 }, .coils = 3, .samples = 9000, .accuracy = 1e-2 },
	{ .dims = 3, .matrix = { 16, 16, 16 }, .coils = 1, .samples = 900, .accuracy = 1e-6 },
	{ .dims = 2,
	  .matrix = { 64, 64, 1 },
	  .coils = 2,
	  .samples = 9000,
	  .width = 5,
	  .oversampling = 1.5 },
};

static void sound(const struct bs_nufft_spec *s, const struct bs_tune *tune, int *taken, int *wrong)
{
	struct bs_nufft_spec with = *s;
	struct bs_nufft_choice c;
	struct bs_fail why;

	with.tune = tune;
	if (bs_nufft_choose(&c, &with, false, 0, &why) != 0)
		return;
	++*taken;
	*wrong += s->accuracy > 0.0 &&
		  bs_window_reach(s, s->dims, c.sectors.window, c.sectors.grid, BS_WINDOW_CUDA) >
			  fmax(s->accuracy, bs_nufft_cuda_accuracy(s));
	*wrong += c.taps < 4 || c.taps > 8 || (double)c.taps < c.sectors.window;
	*wrong += c.lanes * c.groups < c.channels || c.sectors.run < 1 || c.tasks < 1;
	*wrong += tune->v[BS_NUFFT_TAPS] != 0 && c.taps != tune->v[BS_NUFFT_TAPS];
	*wrong += c.launch.cols != 0 && (c.launch.cols & (c.launch.cols - 1)) != 0;
	for (uint32_t a = 0; a < s->dims; a++)
		*wrong += c.sectors.grid[a] < c.sectors.side[a] + c.taps - 1 ||
			  c.sectors.grid[a] < s->matrix[a];
}

/* Random choices within the ranges that a file may hold. */
static void ranges(void)
{
	uint64_t seed = 7;

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct bs_tune tune = { 0 };
		int taken = 0;
		int wrong = 0;

		sound(&specs[i], &tune, &taken, &wrong);
		CHECK(taken == 1 && wrong == 0, "%u^%u: the default", specs[i].matrix[0],
		      specs[i].dims);
		for (int n = 0; n < 120; n++) {
			for (uint32_t f = 0; f < BS_NUFFT_FIELDS; f++) {
				const uint32_t least = bs_nufft_tunable.field[f].least;
				const uint32_t most = bs_nufft_tunable.field[f].most;

				tune.v[f] = check_uniform(&seed) < 0.7
						    ? 0
						    : least + (uint32_t)(check_uniform(&seed) *
									 (most - least + 1));
			}
			sound(&specs[i], &tune, &taken, &wrong);
		}
		CHECK(taken > 10 && wrong == 0,
		      "%u^%u: %d of 121 choices can be had, %d are unsound", specs[i].matrix[0],
		      specs[i].dims, taken, wrong);
	}
}

static void stages(void)
{
	int wrong = 0;

	for (uint32_t i = 0; i < bs_nufft_stage_count; i++)
		for (uint32_t v = 0; v < BS_TUNE_VALUES && bs_nufft_stages[i].value[v] != 0; v++) {
			const uint32_t f = bs_nufft_stages[i].field;
			const uint32_t value = bs_nufft_stages[i].value[v];

			wrong += f >= BS_NUFFT_FIELDS || value < bs_nufft_tunable.field[f].least ||
				 value > bs_nufft_tunable.field[f].most;
		}
	CHECK(wrong == 0, "what the search tries can be read back from its file");
}

/* The key holds all that a choice depends on, in one line. */
static void keys(void)
{
	float k[64];
	char a[512];
	char b[512];
	struct bs_nufft_spec s = specs[0];
	uint64_t seed = 3;

	for (int i = 0; i < 64; i++)
		k[i] = (float)(check_uniform(&seed) - 0.5);
	s.samples = 32;
	bs_nufft_tune_key(a, sizeof(a), &s, k, "Some GPU", 13000);
	CHECK(strchr(a, '\n') == NULL && strstr(a, "Some GPU, driver 13000") != NULL, "%s", a);
	k[63] += 0.001f;
	bs_nufft_tune_key(b, sizeof(b), &s, k, "Some GPU", 13000);
	CHECK(strcmp(a, b) != 0, "another trajectory, another key");
	k[63] -= 0.001f;
	s.coils = 2;
	bs_nufft_tune_key(b, sizeof(b), &s, k, "Some GPU", 13000);
	CHECK(strcmp(a, b) != 0, "other coils, another key");
	s.coils = 1;
	bs_nufft_tune_key(b, sizeof(b), &s, k, "Some GPU", 13010);
	CHECK(strcmp(a, b) != 0, "another driver, another key");
}

int main(void)
{
	ranges();
	stages();
	keys();
	return check_done();
}

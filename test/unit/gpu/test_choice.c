/*
 * test/unit/gpu/test_choice.c - the CUDA gridding's choice of window and grid for thin matrices:
 * there is one, by every accuracy, and its kernels' polynomials fit
 *
 * Thin axes have more grid than they need, since a padded sector must not meet itself; what the
 * window could reach there is not asked for. Kernels are host tables here: no device is needed.
 */
#include "gpu/nufft/cuda/choice.h"
#include "test/support/check.h"

static void all_accuracies(const uint32_t *size, bool stack)
{
	struct bs_nufft_spec s = { .dims = size[0],
				   .matrix = { size[1], size[2], size[3] },
				   .coils = 2,
				   .samples = 4000,
				   .states = 1 };

	for (int digits = 1; digits <= 6; digits++) {
		struct bs_nufft_choice c = { 0 };
		struct bs_kernel_window w;
		struct bs_fail why = { 0 };
		int rc;

		s.accuracy = pow(10.0, -digits);
		rc = bs_nufft_choose(&c, &s, stack, stack ? 1000 : 0, &why);
		if (rc == 0)
			rc = bs_nufft_kernel_window(&w, &c, &s, &why);
		CHECK(rc == 0, "%ux%ux%u to 1e-%d%s: %u taps on %u x %u x %u %s", size[1], size[2],
		      size[3], digits, stack ? ", a stack" : "", c.taps, c.sectors.grid[0],
		      c.sectors.grid[1], c.sectors.grid[2], why.text);
	}
}

int main(void)
{
	static const uint32_t sizes[][4] = {
		{ 3, 32, 32, 4 }, { 3, 20, 33, 3 }, { 3, 17, 16, 1 },   { 3, 8, 8, 8 },
		{ 2, 5, 7, 1 },   { 2, 1, 16, 1 },  { 2, 16, 1, 1 },    { 2, 1, 1, 1 },
		{ 3, 24, 20, 4 }, { 3, 1, 12, 4 },  { 3, 256, 256, 2 }, { 2, 64, 48, 1 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		all_accuracies(sizes[i], false);
		if (sizes[i][0] == 3 && sizes[i][3] > 1)
			all_accuracies(sizes[i], true);
	}
	return check_done();
}

/* test/unit/gpu/test_nufft_isa.c - the host NUFFT and its transform by every instruction set of
 * this machine */
#define _GNU_SOURCE /* M_PI */
#include <unistd.h>

#include "gpu/fft/fft.h"
#include "gpu/nufft/grid_simd.h"
#include "test/support/isa.h"
#include "test/support/nufft_exact.h"

/* Every width of cell and of window once, with the instruction set that is in force. */
static void kernels(const char *isa)
{
	static const uint32_t coils[] = { 1, 2, 4, 8 };

	for (size_t i = 0; i < 4; i++)
		for (uint32_t w = BS_TAPS_MIN; w <= BS_TAPS_MAX; w += 1 + (w > 4) * 2) {
			struct bs_nufft_spec s = { .dims = 2 + (w & 1),
						   .matrix = { 18, 14, 1 },
						   .coils = coils[i],
						   .samples = 150,
						   .states = 0,
						   .width = w,
						   .oversampling = 2.0 };
			/* aliasing falls by a factor of 8 to 10 a cell from 0.1 at two; then
			 * roundoff */
			double bound = fmax(0.2 * pow(8.0, 2.0 - w), 2e-6);
			float *k;

			s.matrix[2] = s.dims == 3 ? 6 : 1;
			k = i % 2 != 0 ? radial(s.dims, s.samples)
				       : random_floats(s.samples * s.dims, 0.5);
			against_exact(&s, k, NULL, bound, isa);
			free(k);
		}
}

/* Every instruction set that this machine has: the transform's lengths and directions. */
static void transforms(void)
{
	static const uint32_t size[] = { 1,  2,  3,  4,  5,  7,   8,   14, 16,
					 30, 49, 60, 64, 90, 125, 135, 320 };

	for (int isa = BS_ISA_V2; isa <= BS_ISA_V4; isa++) {
		const struct bs_fft_kernels *v;
		double worst = 0.0;

		if (!isa_use((enum bs_isa)isa))
			continue;
		v = BS_ISA_PICK(bs_fft_kernels);
		for (size_t i = 0; i < 2 * sizeof(size) / sizeof(size[0]); i++) {
			uint32_t n = size[i / 2];
			size_t bytes = (size_t)n * v->lanes * 2 * sizeof(float);
			float *a = aligned_alloc(64, (bytes + 63) / 64 * 64);
			float *b = aligned_alloc(64, (bytes + 63) / 64 * 64);
			float *x = random_floats((size_t)n * v->lanes * 2, 1.0);
			struct bs_fft f;
			double sign = i % 2 != 0 ? 1.0 : -1.0;
			double e = 0.0;
			double r = 0.0;

			memcpy(a, x, bytes);
			(void)bs_fft_plan(&f, n);
			float *y = v->run(&f, a, b, i % 2 != 0);

			for (uint32_t l = 0; l < v->lanes; l++)
				for (uint32_t j = 0; j < n; j++) {
					double re = 0.0;
					double im = 0.0;

					for (uint32_t m = 0; m < n; m++) {
						double p = sign * 2.0 * M_PI * (m * j % n) / n;
						const float *d = x + (size_t)m * v->lanes * 2 + l;

						re += d[0] * cos(p) - d[v->lanes] * sin(p);
						im += d[0] * sin(p) + d[v->lanes] * cos(p);
					}
					const float *g = y + (size_t)j * v->lanes * 2 + l;

					e += pow(g[0] - re, 2) + pow(g[v->lanes] - im, 2);
					r += re * re + im * im;
				}
			worst = fmax(worst, sqrt(e / r));
			bs_fft_close(&f);
			free(a);
			free(b);
			free(x);
		}
		/* roundoff grows with the passes: at most 8 of 2^-24, and the plain sum of a
		 * prime */
		CHECK(worst < 5e-7, "transform %s within roundoff: %.1e", isa_name[isa], worst);
		kernels(isa_name[isa]);
	}
}

int main(void)
{
	if (bs_team_open(&team, 2, NULL) != 0)
		return 1;
	transforms();
	bs_team_close(team);
	return check_done();
}

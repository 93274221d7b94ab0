/* test/unit/gpu/test_combine.c - coil combination against double precision */
#include "gpu/image/combine.h"
#include "test/support/check.h"

#include <complex.h>

#define VOXELS 2500u /* two whole blocks and a part */
#define COILS  5u

static float in[2 * COILS * VOXELS], maps[2 * COILS * VOXELS], out[2 * COILS * VOXELS],
	want[2 * COILS * VOXELS];

static double complex at(const float *a, uint32_t coil, uint32_t v)
{
	const float *z = a + 2 * ((size_t)coil * VOXELS + v);

	return z[0] + I * (double)z[1];
}

/* Fills want by the formulas in combine.h; returns the number of floats. */
static size_t expect(enum bs_combine how, bool cx)
{
	size_t n = 0;

	for (uint32_t c = 0; c < (how == BS_COMBINE_NONE ? COILS : 1); c++)
		for (uint32_t v = 0; v < VOXELS; v++) {
			double complex sum = 0;
			double power = 0;

			if (how == BS_COMBINE_NONE)
				sum = at(in, c, v);
			for (uint32_t k = 0; how != BS_COMBINE_NONE && k < COILS; k++) {
				double complex m =
					how == BS_COMBINE_RSS ? at(in, k, v) : at(maps, k, v);

				sum += conj(m) * at(in, k, v);
				power += creal(m * conj(m));
			}
			if (how == BS_COMBINE_RSS)
				sum = sqrt(creal(sum));
			else if (how == BS_COMBINE_SENSE)
				sum = power > 0 ? sum / power : 0;
			want[n++] = (float)(cx ? creal(sum) : cabs(sum));
			if (cx)
				want[n++] = (float)cimag(sum);
		}
	return n;
}

int main(void)
{
	static const char *const names[] = { "none", "rss", "sense" };
	uint64_t seed = 3;

	for (size_t i = 0; i < 2 * COILS * VOXELS; i++) {
		in[i] = (float)(check_uniform(&seed) - 0.5);
		maps[i] = i / 2 % VOXELS == 7 ? 0.0f : (float)(check_uniform(&seed) - 0.5);
	}
	for (int members = 1; members <= 3; members += 2) {
		struct bs_team *team;
		struct bs_fail why;

		CHECK(bs_team_open(&team, members, &why) == 0, "team of %d", members);
		for (int how = BS_COMBINE_NONE; how <= BS_COMBINE_SENSE; how++)
			for (int o = BS_OUTPUT_MAGNITUDE; o <= BS_OUTPUT_COMPLEX; o++) {
				size_t n = expect((enum bs_combine)how, o == BS_OUTPUT_COMPLEX);
				double e;

				bs_combine(team, (enum bs_combine)how, (enum bs_output)o, COILS,
					   VOXELS, in, maps, out);
				e = check_rel(out, want, n);
				/* a few roundings of 6e-8 a voxel; cancellation in sense's sum */
				CHECK(e <= 1e-6, "%s, output %d, %d threads: error %.1e",
				      names[how], o, members, e);
			}
		bs_team_close(team);
	}
	return check_done();
}

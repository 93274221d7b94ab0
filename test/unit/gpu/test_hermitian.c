/*
 * test/unit/gpu/test_hermitian.c - the real spectrum of a Hermitian array against the sum as it
 * stands, in double, by every instruction set of this machine: odd and even sizes, primes, one and
 * two dimensions; the same bytes for any team.
 */
#define _GNU_SOURCE /* M_PI */
#include "gpu/fft/hermitian.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/check.h"
#include "test/support/isa.h"

static double uniform(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

static size_t count_of(const uint32_t size[3])
{
	return (size_t)size[0] * size[1] * size[2];
}

/* Of the offset -n, modulo size. */
static size_t mirror(const uint32_t size[3], size_t i)
{
	size_t x = i % size[0];
	size_t y = i / size[0] % size[1];
	size_t z = i / size[0] / size[1];

	return ((size[2] - z) % size[2] * size[1] + (size[1] - y) % size[1]) * size[0] +
	       (size[0] - x) % size[0];
}

static double complex *hermitian(const uint32_t size[3])
{
	double complex *c = malloc(count_of(size) * sizeof(*c));

	for (size_t i = 0; c != NULL && i < count_of(size); i++)
		c[i] = uniform() + uniform() * I;
	for (size_t i = 0; c != NULL && i < count_of(size); i++) {
		size_t m = mirror(size, i);

		if (m == i)
			c[i] = creal(c[i]);
		else if (m > i)
			c[m] = conj(c[i]);
	}
	return c;
}

/* The sum over n of c(n) exp(-i2pi n.k / size), its terms in the order of n. */
static double direct(const uint32_t size[3], const double complex *c, size_t k)
{
	const size_t at[3] = { k % size[0], k / size[0] % size[1], k / size[0] / size[1] };
	double complex sum = 0.0;

	for (size_t i = 0; i < count_of(size); i++) {
		const size_t n[3] = { i % size[0], i / size[0] % size[1], i / size[0] / size[1] };
		double turns = 0.0;

		for (int a = 0; a < 3; a++)
			turns += (double)(n[a] * at[a] % size[a]) / size[a];
		sum += c[i] * cexp(-2.0 * M_PI * I * turns);
	}
	return creal(sum);
}

static double *half_of(const uint32_t size[3], const double complex *c)
{
	const size_t row = bs_hermitian_row(size[0]);
	double *grid = malloc(row * size[1] * size[2] * sizeof(*grid));

	for (size_t r = 0; grid != NULL && r < (size_t)size[1] * size[2]; r++)
		memcpy(grid + r * row, c + r * size[0], row * sizeof(*grid));
	return grid;
}

static double *spectrum(const uint32_t size[3], const double complex *c, int members)
{
	struct bs_team *team = NULL;
	double *grid = half_of(size, c);

	if (grid == NULL || bs_team_open(&team, members, NULL) != 0 ||
	    bs_hermitian_spectrum(grid, size, team) != 0)
		exit(1);
	bs_team_close(team);
	return grid;
}

/* Relative l2 error of the spectrum of one random array. */
static double error_of(const uint32_t size[3])
{
	const size_t row = bs_hermitian_row(size[0]);
	double complex *c = hermitian(size);
	double *one = spectrum(size, c, 1);
	double *three = spectrum(size, c, 3);
	double e = 0.0;
	double all = 0.0;

	for (size_t k = 0; k < count_of(size); k++) {
		double is = direct(size, c, k);
		double d = one[k / size[0] * row + k % size[0]] - is;

		e += d * d;
		all += is * is;
	}
	for (size_t r = 0; r < (size_t)size[1] * size[2]; r++)
		if (memcmp(one + r * row, three + r * row, size[0] * sizeof(*one)) != 0)
			e = HUGE_VAL;
	free(one);
	free(three);
	free(c);
	return sqrt(e / all);
}

int main(void)
{
	static const uint32_t sizes[][3] = {
		{ 1, 1, 1 },   { 2, 1, 1 },  { 64, 1, 1 },  { 97, 1, 1 },  { 1, 53, 1 },
		{ 2, 2, 2 },   { 7, 5, 3 },  { 16, 12, 1 }, { 31, 29, 1 }, { 15, 45, 1 },
		{ 1, 1, 101 }, { 11, 8, 6 }, { 12, 7, 10 }, { 5, 17, 9 },  { 24, 1, 13 },
	};

	for (int isa = BS_ISA_V2; isa <= BS_ISA_V4; isa++) {
		double worst = 0.0;

		if (!isa_use((enum bs_isa)isa))
			continue;
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			worst = fmax(worst, error_of(sizes[i]));
		/* the sum of a prime grows with it: at most about 100 of 2^-53 */
		CHECK(worst < 1e-14, "%s: the spectrum is the sum, for any team: %.1e",
		      isa_name[isa], worst);
	}
	return check_done();
}

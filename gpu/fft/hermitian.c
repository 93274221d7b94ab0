/* gpu/fft/hermitian.c - see hermitian.h: columns along z and y, then rows in pairs */
#include "gpu/fft/hermitian.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory/arena.h"
#include "gpu/fft/fft.h"

struct job {
	double *grid;
	const uint32_t *size;
	const struct bs_fft_double *simd;
	struct bs_fft fft[3];
	size_t row;    /* doubles from one y to the next */
	uint32_t axis; /* axis along which columns are transformed */
	/* groups of columns, or of pairs of rows, each as many as a vector has lanes */
	uint32_t groups;
	size_t block_size; /* doubles in a block: the longest line in every lane */
	double *blocks;    /* blocks of lines, [member][2] */
};

static double *block_of(const struct job *j, int member)
{
	return j->blocks + (size_t)member * 2 * j->block_size;
}

/* A task transforms a group of columns at one index of the other axis, y or z. */
static void columns(void *arg, int task, int member)
{
	const struct job *j = arg;
	const uint32_t L = j->simd->lanes;
	const uint32_t n = j->size[j->axis];
	const uint32_t x = (uint32_t)task % j->groups * L;
	const size_t plane = j->row * j->size[1];
	const size_t step = j->axis == 2 ? plane : j->row;
	const uint32_t left = (uint32_t)(j->row / 2) - x;
	const uint32_t count = left < L ? left : L;
	double *at = j->grid + (uint32_t)task / j->groups * (j->axis == 2 ? j->row : plane) +
		     2 * (size_t)x;
	double *block = block_of(j, member);

	if (count < L)
		memset(block, 0, j->block_size * sizeof(*block));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < count; k++) {
			block[2 * L * i + k] = at[i * step + 2 * k];
			block[2 * L * i + L + k] = at[i * step + 2 * k + 1];
		}
	block = j->simd->run(&j->fft[j->axis], block, block + j->block_size, false);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < count; k++) {
			at[i * step + 2 * k] = block[2 * L * i + k];
			at[i * step + 2 * k + 1] = block[2 * L * i + L + k];
		}
}

/*
 * Writes a + i b of two rows to a lane. Each row's given half is completed; its transform is real.
 */
static void pair_in(const struct job *j, double *lane, const double *a, const double *b)
{
	const size_t n = j->size[0];
	const size_t L = j->simd->lanes;

	for (size_t x = 0; x <= n / 2; x++) {
		/* the element is its own mirror image, so it is real */
		bool own = x == 0 || 2 * x == n;
		double a_im = own ? 0.0 : a[2 * x + 1];
		double b_im = own ? 0.0 : b[2 * x + 1];

		lane[2 * L * x] = a[2 * x] - b_im;
		lane[2 * L * x + L] = b[2 * x] + a_im;
		if (own)
			continue;
		lane[2 * L * (n - x)] = a[2 * x] + b_im;
		lane[2 * L * (n - x) + L] = b[2 * x] - a_im;
	}
}

/*
 * A task transforms a group of pairs of rows. A last row without a partner is paired with itself.
 */
static void rows(void *arg, int task, int member)
{
	const struct job *j = arg;
	const size_t L = j->simd->lanes;
	const size_t all = (size_t)j->size[1] * j->size[2];
	const size_t first = (size_t)task * 2 * L;
	double *block = block_of(j, member);

	if (first + 2 * L > all)
		memset(block, 0, j->block_size * sizeof(*block));
	for (size_t k = 0; k < L && first + 2 * k < all; k++) {
		const double *a = j->grid + (first + 2 * k) * j->row;

		pair_in(j, block + k, a, first + 2 * k + 1 < all ? a + j->row : a);
	}
	block = j->simd->run(&j->fft[0], block, block + j->block_size, false);
	for (size_t k = 0; k < 2 * L && first + k < all; k++)
		for (size_t x = 0; x < j->size[0]; x++)
			j->grid[(first + k) * j->row + x] = block[2 * L * x + k % 2 * L + k / 2];
}

static int transform_grid(struct job *j, struct bs_team *team)
{
	const uint32_t L = j->simd->lanes;
	const uint32_t *size = j->size;

	for (uint32_t a = 0; a < 3; a++)
		if (bs_fft_plan_double(&j->fft[a], size[a]) != 0)
			return BS_ERR_NOMEM;
	j->groups = ((uint32_t)(j->row / 2) + L - 1) / L;
	for (j->axis = 2; j->axis > 0; j->axis--)
		if (size[j->axis] > 1)
			bs_team_run(team, columns, j, (int)(j->groups * size[3 - j->axis]));
	j->groups = (uint32_t)(((size_t)size[1] * size[2] + 2 * L - 1) / (2 * L));
	bs_team_run(team, rows, j, (int)j->groups);
	return 0;
}

int bs_hermitian_spectrum(double *grid, const uint32_t size[3], struct bs_team *team)
{
	struct job j = { .grid = grid, .size = size, .row = bs_hermitian_row(size[0]) };
	uint32_t longest = size[0] > size[1] ? size[0] : size[1];
	int rc = BS_ERR_NOMEM;

	if (size[2] > longest)
		longest = size[2];
	j.simd = BS_ISA_PICK(bs_fft_double);
	j.block_size = ((size_t)longest * 2 * j.simd->lanes + 7) & ~(size_t)7;
	j.blocks = aligned_alloc(BS_ALIGN,
				 (size_t)bs_team_members(team) * 2 * j.block_size * sizeof(double));
	if (j.blocks != NULL)
		rc = transform_grid(&j, team);
	for (uint32_t a = 0; a < 3; a++)
		bs_fft_close(&j.fft[a]);
	free(j.blocks);
	return rc;
}

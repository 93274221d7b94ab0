/* gpu/fft/cuda/registers.cu - lengths that are transformed in registers; see registers.cuh */
#include "gpu/fft/cuda/registers.cuh"

#include "gpu/device/check.h"

/*
 * Lengths of the grids that accuracies of 1e-2 to 1e-4 lead to: in 3D for a matrix of 48 or more,
 * in 2D up to 512.
 */
static const struct bs_line_reg *shorter(uint32_t *count)
{
	static const struct bs_line_reg all[] = {
		reg_make<6, 10>(),  reg_make<8, 8>(),   reg_make<8, 9>(),   reg_make<5, 15>(),
		reg_make<8, 10>(),  reg_make<9, 10>(),  reg_make<8, 12>(),  reg_make<10, 10>(),
		reg_make<9, 12>(),  reg_make<10, 12>(), reg_make<8, 16>(),  reg_make<9, 15>(),
		reg_make<12, 12>(), reg_make<10, 15>(), reg_make<10, 16>(), reg_make<12, 15>(),
		reg_make<12, 16>(), reg_make<10, 20>(), reg_make<12, 18>(), reg_make<15, 15>(),
		reg_make<15, 16>(), reg_make<10, 25>(), reg_make<16, 16>(),
	};

	*count = sizeof(all) / sizeof(all[0]);
	return all;
}

static const struct bs_line_reg *find(uint32_t n)
{
	const struct bs_line_reg *(*const lists[])(uint32_t *) = { shorter, bs_line_regs_long };

	for (auto list : lists) {
		uint32_t count;
		const struct bs_line_reg *all = list(&count);

		for (uint32_t i = 0; i < count; i++)
			if (all[i].n == n)
				return &all[i];
	}
	return NULL;
}

bool bs_line_has_registers(uint32_t n)
{
	return find(n) != NULL;
}

bool bs_line_has_fours(uint32_t n)
{
	const struct bs_line_reg *r = find(n);

	return r != NULL && r->kernel[0][FOURS] != NULL;
}

int bs_line_launch_registers(const struct bs_line_pass *p, int sign, const float2 *in, float2 *out,
			     cudaStream_t stream, struct bs_fail *why)
{
	const struct bs_line_reg *r = find(p->line.n);
	const reg_kind kind = p->fours > 0 ? FOURS : bs_line_along(p) ? ROWS : COLUMNS;

	if (r == NULL || r->kernel[sign > 0][kind] == NULL)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "lines of %u points in registers",
			       p->line.n);
	const uint32_t most = kind == FOURS ? r->cols / 4 : r->cols;
	const uint64_t lines = kind == FOURS ? p->fours : kind == ROWS ? p->outer : p->inner;
	const uint64_t tiles = (lines + most - 1) / most *
			       (kind == FOURS  ? p->outer / p->fours / 4
				: kind == ROWS ? 1
					       : p->outer);
	int device = 0;
	int processors = 0;
	int resident = 0;

	BS_CUDA(cudaGetDevice(&device), why);
	BS_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), why);
	BS_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, r->kernel[sign > 0][kind],
							      (int)r->threads, r->bytes),
		why);
	const uint64_t blocks = (uint64_t)processors * (uint64_t)(resident > 0 ? resident : 1);

	return bs_launch(r->kernel[sign > 0][kind],
			 dim3((unsigned)(tiles < blocks ? tiles : blocks)), r->threads, r->bytes,
			 p->close, stream, why, *p, tiles, in, out);
}

/*
 * Raises the limit of shared memory: two tiles can be more than the 48 KiB that every kernel may
 * take.
 */
int bs_line_reg_init(uint32_t n, struct bs_fail *why)
{
	const struct bs_line_reg *r = find(n);
	int rc = 0;

	for (int k = 0; r != NULL && rc == 0 && k < 6; k++)
		if (r->kernel[k / 3][k % 3] != NULL)
			rc = bs_cuda_shared((const void *)r->kernel[k / 3][k % 3], 0, why);
	return rc;
}

/* gpu/fft/cuda/registers.cu - lengths that are transformed in registers; see registers.cuh */
#include "gpu/fft/cuda/registers.cuh"

#include "gpu/device/check.h"

/* Grids that accuracies of 1e-2 to 1e-4 lead to for matrices of 64, 128, 192 and 256. */
static const struct bs_line_reg *list(uint32_t *count)
{
	static const struct bs_line_reg all[] = {
		reg_make<8, 12>(),  reg_make<10, 12>(), reg_make<10, 16>(), reg_make<12, 15>(),
		reg_make<12, 16>(), reg_make<15, 18>(), reg_make<15, 20>(), reg_make<16, 20>(),
		reg_make<18, 20>(), reg_make<15, 25>(), reg_make<16, 24>(), reg_make<18, 24>(),
	};

	*count = sizeof(all) / sizeof(all[0]);
	return all;
}

static const struct bs_line_reg *find(uint32_t n)
{
	uint32_t count;
	const struct bs_line_reg *all = list(&count);

	for (uint32_t i = 0; i < count; i++)
		if (all[i].n == n)
			return &all[i];
	return NULL;
}

bool bs_line_has_registers(uint32_t n)
{
	return find(n) != NULL;
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

/* Two tiles can be more than the 48 KiB that every kernel may take. */
int bs_lines_reg_init(struct bs_fail *why)
{
	uint32_t count;
	const struct bs_line_reg *all = list(&count);
	int rc = 0;

	for (uint32_t i = 0; i < count; i++)
		for (int k = 0; rc == 0 && k < 5; k++)
			rc = bs_cuda_shared((const void *)all[i].kernel[k / 3][k % 3], 0, why);
	return rc;
}

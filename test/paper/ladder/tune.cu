/* test/paper/ladder/tune.cu - Tune: FastTrig with any block, tile and unrolling, to be searched */
#include "test/paper/ladder/exact.cuh"

const uint32_t bs_ladder_threads[BS_LADDER_THREADS] = { 64, 128, 256, 512 };
const uint32_t bs_ladder_tiles[BS_LADDER_TILES] = { 32, 128, 256, 512, 1024, 2048 };
const uint32_t bs_ladder_unrolls[BS_LADDER_UNROLLS] = { 1, 2, 4, 8, 16 };

static __constant__ struct ladder_sample tile[LADDER_TILE_MAX];

template <int UNROLL, bool Q> static __global__ void tuned(const struct ladder_sum a, int count)
{
	const uint64_t n = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (n >= a.voxels)
		return;
	const float x = a.x[n];
	const float y = a.y[n];
	const float z = a.z[n];
	float re = a.re[n];
	float im = a.im[n];

#pragma unroll UNROLL
	for (int m = 0; m < count; m++) {
		const float t = LADDER_TURN * (tile[m].kx * x + tile[m].ky * y + tile[m].kz * z);
		const float c = __cosf(t);
		const float s = __sinf(t);

		re += Q ? c : tile[m].dr * c - tile[m].di * s;
		im += Q ? s : tile[m].di * c + tile[m].dr * s;
	}
	a.re[n] = re;
	a.im[n] = im;
}

typedef void (*tuned_kernel)(const struct ladder_sum, int);

template <bool Q> static tuned_kernel by_unroll(uint32_t unroll)
{
	return unroll <= 1   ? tuned<1, Q>
	       : unroll == 2 ? tuned<2, Q>
	       : unroll <= 4 ? tuned<4, Q>
	       : unroll <= 8 ? tuned<8, Q>
			     : tuned<16, Q>;
}

int ladder_tune_tile(const struct ladder_sum *a, uint64_t first, uint32_t count,
		     const struct bs_ladder_config *config, cudaStream_t s, struct bs_fail *why)
{
	const tuned_kernel kernel =
		a->q ? by_unroll<true>(config->unroll) : by_unroll<false>(config->unroll);

	if (count > LADDER_TILE_MAX)
		return bs_fail(why, BS_ERR_SIZE, "a tile of %u samples: at most %d", count,
			       LADDER_TILE_MAX);
	BS_CUDA(cudaMemcpyToSymbolAsync(tile, a->sample + first, (size_t)count * sizeof(tile[0]), 0,
					cudaMemcpyDeviceToDevice, s),
		why);
	kernel<<<ladder_blocks(a->voxels, config->threads), config->threads, 0, s>>>(*a,
										     (int)count);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

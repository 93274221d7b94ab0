/* gpu/nufft/cuda/plane.cu - the gridding kernels in two dimensions, by width and channels */
#include "gpu/nufft/cuda/interpolate.cuh"
#include "gpu/nufft/cuda/spread_plane.cuh"

template <int W, int CB, int WARPS> static bs_grid_kernel spreading()
{
	if constexpr (CB == 1)
		return spread_single<W, WARPS>;
	else
		return spread_plane<W, CB, WARPS>;
}

template <int W, int CB, int WARPS> static struct bs_nufft_kernels kernels()
{
	using P = plane<W, CB, WARPS>;

	return { spreading<W, CB, WARPS>(),
		 interpolate<2, W, CB, 1>,
		 interpolate<2, W, CB, 4>,
		 P::THREADS,
		 INTERPOLATE_THREADS,
		 INTERPOLATE_THREADS,
		 CB,
		 P::spread_bytes,
		 sector<2, W>::bytes(CB),
		 sector<2, W>::bytes(CB) };
}

template <int W> static struct bs_nufft_kernels by_lanes(uint32_t lanes)
{
	return lanes == 1   ? kernels<W, 1, 4>()
	       : lanes == 2 ? kernels<W, 2, 4>()
			    : kernels<W, 4, 4>();
}

struct bs_nufft_kernels bs_nufft_kernels_2d(uint32_t taps, uint32_t lanes)
{
	return bs_by_taps(taps, [lanes](auto w) { return by_lanes<decltype(w)::value>(lanes); });
}

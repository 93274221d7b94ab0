/* gpu/nufft/cuda/volume.cu - the gridding kernels in three dimensions, by width and channels */
#include "gpu/nufft/cuda/interpolate.cuh"
#include "gpu/nufft/cuda/spread_volume.cuh"

template <int W, int CB> static struct bs_nufft_kernels kernels()
{
	using V = volume<W, CB>;

	return { spread_volume<W, CB>,       interpolate<3, W, CB, 1>,
		 interpolate<3, W, CB, 4>,   V::THREADS,
		 INTERPOLATE_THREADS,        sizeof(volume_work<W, CB>),
		 sector<3, W, 1>::bytes(CB), sector<3, W, 4>::bytes(CB) };
}

template <int W> static struct bs_nufft_kernels by_lanes(uint32_t lanes)
{
	return lanes == 1 ? kernels<W, 1>() : kernels<W, 2>();
}

struct bs_nufft_kernels bs_nufft_kernels_3d(uint32_t taps, uint32_t lanes)
{
	return bs_by_taps(taps, [lanes](auto w) { return by_lanes<decltype(w)::value>(lanes); });
}

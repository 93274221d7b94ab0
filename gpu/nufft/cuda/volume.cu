/* gpu/nufft/cuda/volume.cu - the gridding kernels in three dimensions, by width and channels */
#include "gpu/nufft/cuda/interpolate_volume.cuh"
#include "gpu/nufft/cuda/spread_volume.cuh"

template <int W, int CB, int SHARED> static struct bs_nufft_kernels kernels()
{
	using V = volume<W, CB>;
	using P = parted<W, SHARED>;

	return { spread_volume<W, CB>,
		 interpolate<3, W, CB, 1>,
		 interpolate_volume<W, SHARED>,
		 V::THREADS,
		 INTERPOLATE_THREADS,
		 P::THREADS,
		 SHARED,
		 sizeof(volume_work<W, CB>),
		 sector<3, W>::bytes(CB),
		 P::bytes() };
}

/*
 * Returns the kernels by channels. For wider windows, four channels of a sector are more than the
 * shared memory of lesser GPUs holds.
 */
template <int W, int CB> static struct bs_nufft_kernels by_channels(uint32_t channels)
{
	return channels == 1            ? kernels<W, CB, 1>()
	       : channels == 2 || W > 6 ? kernels<W, CB, 2>()
					: kernels<W, CB, (W > 6 ? 2 : 4)>();
}

struct bs_nufft_kernels bs_nufft_kernels_3d(uint32_t taps, uint32_t lanes, uint32_t channels)
{
	return bs_by_taps(taps, [=](auto w) {
		const int W = decltype(w)::value;

		return lanes == 1 ? by_channels<W, 1>(channels) : by_channels<W, 2>(channels);
	});
}

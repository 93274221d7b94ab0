/*
 * gpu/toeplitz/cuda/plane.cuh - y and z in one pass: a plane in the shared memory of a cluster
 *
 * For sizes.cuh alone. CL blocks hold one plane of kx, padded along y. Each block transforms its
 * rows along y; then each takes twice as many columns ky, from all blocks, transforms them
 * along z, multiplies by Q's spectrum and transforms back; and then each its rows again. The padded
 * planes, which five passes would write and read twice, never leave the multiprocessors.
 *
 * Planes are transposed, [kx][z][y]: rows are voxels along y, planes voxels along z; in place. The
 * spectrum is in the order in which threads read it (spectrum.cuh). y and z have one size, G = A B.
 */
#ifndef BS_GPU_TOEPLITZ_CUDA_PLANE_CUH
#define BS_GPU_TOEPLITZ_CUDA_PLANE_CUH

#include "gpu/device/cluster.cuh"
#include "gpu/toeplitz/cuda/pass.cuh"
#include "gpu/toeplitz/cuda/spectrum.cuh"

/*
 * The sizes of a plane. RESIDENT: blocks of a multiprocessor, which the shared memory and the 2 B +
 * P A registers of a thread must allow.
 */
template <int A, int B, int CL, int RESIDENT> struct plane_of {
	static const int G = A * B;
	static const int ROWS = G / 2 / CL; /* rows of a block, one for each line of threads */
	static const int THREADS = A * ROWS;
	/* pitch of [ky][row]: lanes that write a row hit all banks */
	static const int PITCH = ROWS + 1;
	static const int exchange = G * PITCH; /* complex values; the twiddles follow, then mid */
	static const int bytes =
		(exchange + 2 * G) * (int)sizeof(float2) + ROWS * A * (B + 1) * (int)sizeof(float);
	static const int VECTOR = bs_toeplitz_vector(A, G);

	static_assert(ROWS * CL * 2 == G && (ROWS % B == 0 || B % ROWS == 0) && THREADS % 32 == 0,
		      "a line's points j are in one block, or in as many for each j");
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
/* Part of a column of the spectrum that a thread owns. */
template <int A, int B, int VECTOR>
static __device__ __forceinline__ void plane_spectrum(float (&to)[B], const float *q, int t)
{
#pragma unroll
	for (int k = 0; k < B / VECTOR; k++) {
		if constexpr (VECTOR == 4) {
			const float4 s = __ldcs((const float4 *)q + k * A + t);

			to[4 * k] = s.x;
			to[4 * k + 1] = s.y;
			to[4 * k + 2] = s.z;
			to[4 * k + 3] = s.w;
		} else {
			const float2 s = __ldcs((const float2 *)q + k * A + t);

			to[2 * k] = s.x;
			to[2 * k + 1] = s.y;
		}
	}
}

/* The cluster's address of the row of point t + A u + B j of a column that begins at `column`. */
template <int A, int B, int ROWS>
static __device__ __forceinline__ uint32_t plane_place(uint32_t column, int t, int u, int j)
{
	const int s = t + A * u;
	const int rank = ROWS >= B ? B * j / ROWS : j * (B / ROWS) + s / ROWS;
	const int row = ROWS >= B ? B * j % ROWS + s : s % ROWS;

	return bs_cluster_map(column, (uint32_t)rank) + (uint32_t)(row * (int)sizeof(float2));
}
#endif

template <int A, int B, int CL, int RESIDENT>
static __global__ __launch_bounds__(plane_of<A, B, CL, RESIDENT>::THREADS,
				    RESIDENT) void plane(const struct tp_pass a)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	using P = plane_of<A, B, CL, RESIDENT>;
	using S = sets<A, B>;
	extern __shared__ float2 exchange[];
	const int t = (int)threadIdx.x % A;
	const int row = (int)threadIdx.x / A;
	const int rank = (int)bs_cluster_rank();
	const int z = rank * P::ROWS + row;
	float2 *table = exchange + P::exchange;
	float *mid = (float *)(table + 2 * P::G) + row * (A * (B + 1));
	float2 *data = a.out + blockIdx.x / CL * a.out_coil +
		       ((long long)blockIdx.y * a.planes + z) * a.rows;
	const twiddles_shared twiddles = { table };
	float2 v[S::P][A];
	float2 w[B];

	/* keeps the compiler from loading all values into registers at once */
#pragma unroll 1
	for (int i = (int)threadIdx.x; i < 2 * P::G; i += P::THREADS)
		table[i] = a.twiddles[i];
	__syncthreads();
	bs_after_previous();
	if (stopped(a))
		return;
	S::fill(v, t, z < a.planes ? a.rows : 0, [&](int at, int, int) { return data[at]; });
	row_in<A, B>(w, v, mid, t, twiddles, []() {});
#pragma unroll
	for (int k = 0; k < B; k++)
		exchange[(t + A * k) * P::PITCH + row] = w[k];
	bs_cluster_sync();
#pragma unroll 1
	for (int i = 0; i < 2; i++) {
		const int ky = (2 * rank + i) * P::ROWS + row;
		const uint32_t column =
			(uint32_t)__cvta_generic_to_shared(exchange + ky * P::PITCH);
		const float *q = a.q + ((long long)blockIdx.y * P::G + ky) * P::G;
		float spectrum[B];

		S::fill(v, t, a.planes, [&](int, int u, int j) {
			return bs_cluster_load(plane_place<A, B, P::ROWS>(column, t, u, j));
		});
		row_in<A, B>(w, v, mid, t, twiddles,
			     [&]() { plane_spectrum<A, B, P::VECTOR>(spectrum, q, t); });
#pragma unroll
		for (int k = 0; k < B; k++)
			w[k] = make_float2(w[k].x * spectrum[k], w[k].y * spectrum[k]);
		row_out<A, B>(v, w, mid, t, twiddles);
		S::drain(v, t, [&](int at, int u, int j, float2 value) {
			if (at < a.planes)
				bs_cluster_store(plane_place<A, B, P::ROWS>(column, t, u, j),
						 value);
		});
	}
	bs_cluster_sync();
#pragma unroll
	for (int k = 0; k < B; k++)
		w[k] = exchange[(t + A * k) * P::PITCH + row];
	row_out<A, B>(v, w, mid, t, twiddles);
	S::drain(v, t, [&](int at, int, int, float2 value) {
		if (z < a.planes && at < a.rows)
			data[at] = value;
	});
#endif
}

#endif

/*
 * gpu/toeplitz/cuda/plane.cuh - y and z in one pass: a plane in the shared memory of a cluster
 *
 * For toeplitz.cu alone. CL blocks hold one plane of kx, padded along y. Each block transforms some
 * of the rows along y; then each takes some of the columns ky, from all blocks, transforms them
 * along z, multiplies by Q's spectrum and transforms back; and then each its rows again. The padded
 * planes, which five passes would write and read twice, never leave the multiprocessors.
 *
 * Planes are turned, [kx][z][y]: rows are voxels along y, planes voxels along z; in place. The
 * spectrum is in the order in which threads read it (spectrum.cuh). y and z have one size, G = A B.
 */
#ifndef BS_GPU_TOEPLITZ_CUDA_PLANE_CUH
#define BS_GPU_TOEPLITZ_CUDA_PLANE_CUH

#include "gpu/device/cluster.cuh"
#include "gpu/toeplitz/cuda/pass.cuh"

#define TP_PLANE_BLOCKS 3 /* of a multiprocessor: 80 registers, 72 KiB of shared memory */

template <int A, int B, int CL> struct plane_of {
	static const int G = A * B;
	static const int ROWS = G / 2 / CL, COLUMNS = G / CL; /* of a block */
	static const int PITCH = ROWS + 1; /* of [ky][row]: lanes that write a row hit all banks */
	static const int EACH = TP_THREADS / A; /* lines at a time */
	static const int bytes = (G * PITCH + EACH * A * (B + 1) + 2 * G) * (int)sizeof(float2);

	static_assert(ROWS % EACH == 0 && COLUMNS % EACH == 0 && ROWS % B == 0,
		      "every thread has the same work, and a line's points change block together");
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
/* w times a column of the spectrum. */
template <int B>
static __device__ __forceinline__ void plane_multiply(float2 w[B], const float4 spectrum[B / 4])
{
#pragma unroll
	for (int k = 0; k < B / 4; k++) {
		const float4 s = spectrum[k];

		w[4 * k] = make_float2(w[4 * k].x * s.x, w[4 * k].y * s.x);
		w[4 * k + 1] = make_float2(w[4 * k + 1].x * s.y, w[4 * k + 1].y * s.y);
		w[4 * k + 2] = make_float2(w[4 * k + 2].x * s.z, w[4 * k + 2].y * s.z);
		w[4 * k + 3] = make_float2(w[4 * k + 3].x * s.w, w[4 * k + 3].y * s.w);
	}
}

/* Hands each point of the half of a line that holds voxels, as row_out leaves it, to store. */
template <int A, int B, class STORE>
static __device__ __forceinline__ void lower_half(const float2 v[B / A][A], int t, STORE store)
{
#pragma unroll
	for (int u = 0; u < B / A; u++)
#pragma unroll
		for (int j = 0; j < A / 2; j++)
			store(t + A * u + B * j, v[u][j]);
}

/* The block's rows, voxels along y, transformed to ky; exchange [ky][row]. */
template <int A, int B, int CL>
static __device__ __forceinline__ void plane_rows_in(const struct tp_pass &a, float2 *exchange,
						     float2 *mid, int t, int group, int rank,
						     turns_shared turns, const float2 *data)
{
	using P = plane_of<A, B, CL>;

#pragma unroll 1
	for (int i = 0; i < P::ROWS / P::EACH; i++) {
		const int row = i * P::EACH + group;
		const int z = rank * P::ROWS + row;
		const float2 *in = data + (long long)z * a.rows;
		float2 w[B];

		row_in<A, B>(
			w, mid, t, z < a.planes ? a.rows : 0, turns, [&](int at) { return in[at]; },
			[]() {});
#pragma unroll
		for (int k = 0; k < B; k++)
			exchange[(t + A * k) * P::PITCH + row] = w[k];
	}
}
#endif

template <int A, int B, int CL>
static __global__ __launch_bounds__(TP_THREADS, TP_PLANE_BLOCKS) void plane(const struct tp_pass a)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	using P = plane_of<A, B, CL>;
	extern __shared__ float2 exchange[];
	const int t = (int)threadIdx.x % A;
	const int group = (int)threadIdx.x / A;
	const int rank = (int)bs_cluster_rank();
	const uint32_t base = (uint32_t)__cvta_generic_to_shared(exchange);
	float2 *mid = exchange + P::G * P::PITCH + group * (A * (B + 1));
	float2 *data =
		a.out + blockIdx.x / CL * a.out_coil + (long long)blockIdx.y * a.rows * a.planes;
	const float4 *q = (const float4 *)(a.q + (long long)blockIdx.y * P::G * P::G);

	float2 *table = exchange + P::G * P::PITCH + P::EACH * (A * (B + 1));
	const turns_shared turns = { table };

	/* keeps the compiler from loading all into registers at once */
#pragma unroll 1
	for (int i = (int)threadIdx.x; i < 2 * P::G; i += TP_THREADS)
		table[i] = a.turns[i];
	__syncthreads();
	bs_after_previous();
	if (stopped(a))
		return;
	plane_rows_in<A, B, CL>(a, exchange, mid, t, group, rank, turns, data);
	bs_cluster_sync();
#pragma unroll 1
	for (int i = 0; i < P::COLUMNS / P::EACH; i++) {
		const int ky = rank * P::COLUMNS + i * P::EACH + group;
		const uint32_t mine = base + (uint32_t)((ky * P::PITCH + t) * (int)sizeof(float2));
		/* where z = at is kept; the compiler knows at - t, and so the block */
		auto place = [&](int at) {
			const int from = at - t;

			return bs_cluster_map(mine, (uint32_t)(from / P::ROWS)) +
			       (uint32_t)(from % P::ROWS * (int)sizeof(float2));
		};
		float4 spectrum[B / 4];
		float2 v[B / A][A];
		float2 w[B];

		row_in<A, B>(
			w, mid, t, a.planes, turns,
			[&](int at) { return bs_cluster_load(place(at)); },
			[&]() {
#pragma unroll
				for (int k = 0; k < B / 4; k++)
					spectrum[k] = __ldcs(q + ky * (P::G / 4) + k * A + t);
			});
		plane_multiply<B>(w, spectrum);
		row_out<A, B>(v, w, mid, t, turns);
		lower_half<A, B>(v, t, [&](int at, float2 value) {
			if (at < a.planes)
				bs_cluster_store(place(at), value);
		});
	}
	bs_cluster_sync();
#pragma unroll 1
	for (int i = 0; i < P::ROWS / P::EACH; i++) {
		const int row = i * P::EACH + group;
		const int z = rank * P::ROWS + row;
		float2 *out = data + (long long)z * a.rows;
		float2 v[B / A][A];
		float2 w[B];

#pragma unroll
		for (int k = 0; k < B; k++)
			w[k] = exchange[(t + A * k) * P::PITCH + row];
		row_out<A, B>(v, w, mid, t, turns);
		lower_half<A, B>(v, t, [&](int at, float2 value) {
			if (z < a.planes && at < a.rows)
				out[at] = value;
		});
	}
#endif
}

#endif

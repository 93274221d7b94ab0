/*
 * gpu/exact_wgmma.cu - the exact sums' matrix product on Hopper's tensor cores (sm_90a)
 *
 * Two warpgroups of 128 rows each form the left factor in registers and multiply (wgmma, A from
 * registers, B from shared memory); one more brings the tables in by bulk copies, EX_STAGES blocks
 * ahead. A cluster of thread blocks shares q tile and column tile: each copies its part of
 * these tables to all. See exact_tile.h for the arithmetic and the layouts.
 */
#include "gpu/cudacheck.h"
#include "gpu/exact_tile.h"

#define EX_STAGES  8
#define EX_PRODUCER 128 /* threads */

#if defined(__CUDA_ARCH__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define EX_HOPPER 1
#else
#define EX_HOPPER 0
#endif

#if EX_HOPPER
static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void barrier_init(uint32_t bar, uint32_t count)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

static __device__ __forceinline__ void barrier_wait(uint32_t bar, uint32_t parity)
{
	asm volatile("{\n"
		     ".reg .pred done;\n"
		     "WAIT:\n"
		     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
		     "@done bra.uni DONE;\n"
		     "bra.uni WAIT;\n"
		     "DONE:\n"
		     "}" ::"r"(bar), "r"(parity)
		     : "memory");
}

static __device__ __forceinline__ void barrier_expect(uint32_t bar, uint32_t bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
		     : "memory");
}

/* Arrives at the same barrier of thread block `rank` of the cluster. */
static __device__ __forceinline__ void barrier_arrive(uint32_t bar, uint32_t rank)
{
	asm volatile("{\n"
		     ".reg .b32 there;\n"
		     "mapa.shared::cluster.u32 there, %0, %1;\n"
		     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n"
		     "}" ::"r"(bar), "r"(rank)
		     : "memory");
}

static __device__ __forceinline__ void copy_in(uint32_t to, const void *from, uint32_t bytes,
					       uint32_t bar)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		     "[%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(bar)
		     : "memory");
}

static __device__ __forceinline__ void copy_to_all(uint32_t to, const void *from, uint32_t bytes,
						   uint32_t bar, uint16_t mask)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
		     ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(to), "l"(from),
		     "r"(bytes), "r"(bar), "h"(mask)
		     : "memory");
}

/* Core matrices of 128 bytes: 8 columns on, +128; 8 samples on, +1,024; no swizzle. */
static __device__ __forceinline__ uint64_t right_descriptor(uint32_t at)
{
	return (uint64_t)((at & 0x3ffff) >> 4) | (uint64_t)(1024 >> 4) << 16 |
	       (uint64_t)(128 >> 4) << 32;
}

/* d[row][col] (+)= a[row][16] b[16][col]: 64 x 64, asynchronous; keep = 0 sets. */
static __device__ __forceinline__ void multiply(float (&d)[32], const uint32_t (&a)[4], uint64_t b,
						int keep)
{
	asm volatile(
		"{\n"
		".reg .pred keep;\n"
		"setp.ne.b32 keep, %37, 0;\n"
		"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
		"{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
		"%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31},"
		"{%32,%33,%34,%35}, %36, keep, 1, 1, 0;\n"
		"}"
		: "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
		  "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
		  "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
		  "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
		  "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
		  "+f"(d[30]), "+f"(d[31])
		: "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}

static __device__ __forceinline__ void fence(void)
{
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void commit(void)
{
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int PENDING> static __device__ __forceinline__ void settle(void)
{
	asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/* Keeps the compiler from moving uses of the accumulators across the asynchronous products. */
static __device__ __forceinline__ void hold(float (&d)[2][32])
{
#pragma unroll
	for (int i = 0; i < 2; i++)
#pragma unroll
		for (int r = 0; r < 32; r++)
			asm volatile("" : "+f"(d[i][r])::"memory");
}

/* Fragments must be whole before the fence: plain arithmetic could sink below it. */
static __device__ __forceinline__ void keep_before(uint32_t (&f)[2][4])
{
#pragma unroll
	for (int i = 0; i < 2; i++)
		asm volatile("" : "+r"(f[i][0]), "+r"(f[i][1]), "+r"(f[i][2]), "+r"(f[i][3])::"memory");
}

template <int PRODUCTS> struct stage_layout {
	static const int right = 0, y = EX_RIGHT_BYTES(PRODUCTS),
			 x = y + EX_SIDE_BYTES(PRODUCTS), bytes = x + EX_SIDE_BYTES(PRODUCTS);
};

template <int PRODUCTS, int CLUSTER>
static __device__ void produce(const struct ex_product &a, const struct ex_where &w, uint32_t base,
			       uint32_t full, uint32_t empty, uint32_t rank)
{
	typedef stage_layout<PRODUCTS> at;
	const uint32_t side = EX_SIDE_BYTES(PRODUCTS);
	const uint32_t right = EX_RIGHT_BYTES(PRODUCTS);
	const uint16_t all = (uint16_t)((1u << CLUSTER) - 1u);

	for (int b = w.first * EX_BLOCKS, n = 0; b < w.last * EX_BLOCKS; b++, n++) {
		uint32_t s = (uint32_t)(n % EX_STAGES);
		uint32_t bar = full + 8 * s;
		uint32_t to = base + s * at::bytes;
		const unsigned char *r = a.right + ((size_t)b * a.ctiles + w.ct) * right;
		const unsigned char *y = a.y + ((size_t)b * a.qtiles + w.qt) * side;

		barrier_wait(empty + 8 * s, (uint32_t)(n / EX_STAGES + 1) & 1u);
		barrier_expect(bar, at::bytes);
		copy_in(to + at::x, a.x + ((size_t)b * a.ptiles + w.pt) * side, side, bar);
		if (CLUSTER == 1) {
			copy_in(to + at::right, r, right, bar);
			copy_in(to + at::y, y, side, bar);
		} else {
			const uint32_t rpart = right / CLUSTER;
			const uint32_t ypart = side / CLUSTER;

			copy_to_all(to + at::right + rank * rpart, r + rank * rpart, rpart, bar, all);
			copy_to_all(to + at::y + rank * ypart, y + rank * ypart, ypart, bar, all);
		}
	}
}

/* One fragment pair: rows q and q + 8 of this warp's p; hi (and lo) of the left factor. */
template <int PRODUCTS>
static __device__ __forceinline__ void form(const unsigned char *x, const unsigned char *y,
					    uint32_t (&hi)[2][4], uint32_t (&lo)[2][4])
{
	if (PRODUCTS == 3) {
		const uint4 y0 = *reinterpret_cast<const uint4 *>(y);
		const uint4 y1 = *reinterpret_cast<const uint4 *>(y + 512);

#pragma unroll
		for (int i = 0; i < 2; i++) {
			const uint4 v = *reinterpret_cast<const uint4 *>(x + i * 256);

			ex_split(v.x, v.y, y0.x, y0.y, hi[i][0], lo[i][0]);
			ex_split(v.x, v.y, y1.x, y1.y, hi[i][1], lo[i][1]);
			ex_split(v.z, v.w, y0.z, y0.w, hi[i][2], lo[i][2]);
			ex_split(v.z, v.w, y1.z, y1.w, hi[i][3], lo[i][3]);
		}
	} else {
		const uint2 y0 = *reinterpret_cast<const uint2 *>(y);
		const uint2 y1 = *reinterpret_cast<const uint2 *>(y + 256);

#pragma unroll
		for (int i = 0; i < 2; i++) {
			const uint2 v = *reinterpret_cast<const uint2 *>(x + i * 128);

			hi[i][0] = ex_bits(__hmul2(ex_half2(v.x), ex_half2(y0.x)));
			hi[i][1] = ex_bits(__hmul2(ex_half2(v.x), ex_half2(y1.x)));
			hi[i][2] = ex_bits(__hmul2(ex_half2(v.y), ex_half2(y0.y)));
			hi[i][3] = ex_bits(__hmul2(ex_half2(v.y), ex_half2(y1.y)));
		}
	}
}

/* Sixteen samples of both tiles of rows: lo*hi, hi*lo, hi*hi. */
template <int PRODUCTS>
static __device__ __forceinline__ void step(float (&acc)[2][32], const uint32_t (&hi)[2][4],
					    const uint32_t (&lo)[2][4], uint64_t right, int keep)
{
#pragma unroll
	for (int i = 0; i < 2; i++) {
		if (PRODUCTS == 3) {
			multiply(acc[i], lo[i], right, keep);
			multiply(acc[i], hi[i], right + (uint64_t)(8192 >> 4), 1);
			multiply(acc[i], hi[i], right, 1);
		} else {
			multiply(acc[i], hi[i], right, keep);
		}
	}
}

template <int PRODUCTS, int CLUSTER>
static __device__ void consume(const struct ex_product &a, const struct ex_where &w,
			       unsigned char *base, uint32_t full, uint32_t empty)
{
	typedef stage_layout<PRODUCTS> at;
	const int thread = (int)threadIdx.x - EX_PRODUCER;
	const int lane = thread & 31;
	const int STEPS = PRODUCTS == 3 ? 1 : 2; /* of 16 samples, issued together */
	const int entry = PRODUCTS == 3 ? 16 : 8; /* bytes of one lane's piece of a table */
	const int p = (thread >> 7) * 8 + ((thread >> 5) & 3);
	const int my_x = at::x + (p * 4 + (lane & 3)) * entry;
	const int my_y = at::y + lane * entry;
	const float *scale = a.scale + (size_t)(w.ct / a.ctiles_coil) * a.groups;
	float acc[2][32];
	float sum[2][32];
	int n = 0;

#pragma unroll
	for (int i = 0; i < 2; i++)
#pragma unroll
		for (int r = 0; r < 32; r++)
			sum[i][r] = acc[i][r] = 0.0f;
	for (int g = w.first; g < w.last; g++) {
		const float unit = __ldg(scale + g);

#pragma unroll 1
		for (int b = 0; b < EX_BLOCKS; b++, n++) {
			const uint32_t s = (uint32_t)(n % EX_STAGES);
			const unsigned char *stage = base + s * at::bytes;
			const uint64_t right = right_descriptor(shared_address(stage));

			barrier_wait(full + 8 * s, (uint32_t)(n / EX_STAGES) & 1u);
#pragma unroll
			for (int k = 0; k < EX_BLOCK / 16; k += STEPS) {
				uint32_t hi[STEPS][2][4];
				uint32_t lo[STEPS][2][4];

#pragma unroll
				for (int j = 0; j < STEPS; j++) {
					form<PRODUCTS>(stage + my_x + (k + j) * 64 * entry,
						       stage + my_y + (k + j) * 64 * entry, hi[j],
						       lo[j]);
					keep_before(hi[j]);
					if (PRODUCTS == 3)
						keep_before(lo[j]);
				}
				hold(acc);
				fence();
#pragma unroll
				for (int j = 0; j < STEPS; j++)
					step<PRODUCTS>(acc, hi[j], lo[j],
						       right + (uint64_t)(((k + j) * 2048) >> 4),
						       b > 0 || k + j > 0);
				commit();
				settle<1>();
				/* the block before this one has been read by all of this warp */
				if (k == 0 && n > 0 && lane < CLUSTER)
					barrier_arrive(empty + 8 * ((n - 1) % EX_STAGES), (uint32_t)lane);
			}
		}
		settle<0>();
		hold(acc);
#pragma unroll
		for (int i = 0; i < 2; i++)
#pragma unroll
			for (int r = 0; r < 32; r++)
				sum[i][r] = fmaf(acc[i][r], unit, sum[i][r]);
	}
	ex_store(a, w.sums, thread, sum);
}
#endif

template <int PRODUCTS, int CLUSTER>
static __global__ __launch_bounds__(EX_PRODUCER + EX_THREADS, 1) void product_wgmma(
	const __grid_constant__ struct ex_product a)
{
#if EX_HOPPER
	extern __shared__ __align__(1024) unsigned char stages[];
	__shared__ __align__(8) uint64_t bars[2 * EX_STAGES];
	const struct ex_where w = ex_find(a);
	const uint32_t full = shared_address(bars);
	const uint32_t empty = full + 8 * EX_STAGES;
	uint32_t rank;

	asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
	if (threadIdx.x == 0) {
		for (int s = 0; s < EX_STAGES; s++) {
			barrier_init(full + 8 * s, 1);
			barrier_init(empty + 8 * s, CLUSTER * EX_THREADS / 32);
		}
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
	if (threadIdx.x < EX_PRODUCER) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
		if (threadIdx.x == 0)
			produce<PRODUCTS, CLUSTER>(a, w, shared_address(stages), full, empty, rank);
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
		consume<PRODUCTS, CLUSTER>(a, w, stages, full, empty);
	}
	/* nobody leaves while a neighbor may still write to its shared memory */
	__syncwarp();
	asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#else
	(void)a;
#endif
}

typedef void (*product_kernel)(const struct ex_product);

/* [products 3 or 1][cluster 1 or 2]; four leave multiprocessors idle, their groups hold 16 or 18 */
static const product_kernel kernels[2][2] = {
	{ product_wgmma<3, 1>, product_wgmma<3, 2> },
	{ product_wgmma<1, 1>, product_wgmma<1, 2> },
};

static size_t shared_bytes(int products)
{
	return (size_t)EX_STAGES * (EX_RIGHT_BYTES(products) + 2 * EX_SIDE_BYTES(products));
}

int ex_prepare_wgmma(struct bs_fail *why)
{
	for (int n = 0; n < 4; n++)
		BS_CUDA(cudaFuncSetAttribute((const void *)kernels[n / 2][n % 2],
					     cudaFuncAttributeMaxDynamicSharedMemorySize,
					     (int)shared_bytes(n / 2 == 0 ? 3 : 1)),
			why);
	return 0;
}

int ex_product_wgmma(const struct ex_product *a, int products, cudaStream_t stream,
		     struct bs_fail *why)
{
	const int width = a->ptiles % 2 == 0 ? 1 : 0;
	cudaLaunchAttribute attribute;
	cudaLaunchConfig_t config;

	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim.x = 1u << width;
	attribute.val.clusterDim.y = 1;
	attribute.val.clusterDim.z = 1;
	config = cudaLaunchConfig_t();
	config.gridDim = dim3((unsigned)(a->ptiles * a->qtiles * a->ctiles * a->slices));
	config.blockDim = dim3(EX_PRODUCER + EX_THREADS);
	config.dynamicSmemBytes = shared_bytes(products);
	config.stream = stream;
	config.attrs = &attribute;
	config.numAttrs = 1;
	BS_CUDA(cudaLaunchKernelEx(&config, kernels[products == 3 ? 0 : 1][width], *a), why);
	return 0;
}

/*
 * gpu/exact/cuda/wgmma.cu - the exact sums' matrix product on Hopper's tensor cores (sm_90a)
 *
 * Two warpgroups of 64 rows each form the left factor in registers and multiply (wgmma, A from
 * registers, B from shared memory). A third one brings the tables in by bulk copies, several blocks
 * ahead. See tile.h for the arithmetic and the layouts. (Sharing the right factor within a cluster
 * of two blocks by multicast was tried: it is no faster, since the caches keep up.)
 */
#include "gpu/device/check.h"
#include "gpu/exact/cuda/tile.h"

#define EX_PRODUCER 128 /* threads of the warpgroup that brings the tables in */

#if defined(__CUDA_ARCH__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define EX_HOPPER 1
#else
#define EX_HOPPER 0
#endif

/* Stages of the pipeline: blocks under way, each of 38 KiB, or of 19 KiB with one product. */
template <int PRODUCTS> struct stage_layout {
	static const int stages = PRODUCTS == 3 ? 5 : 10;
	static const int right = 0, y = EX_RIGHT_BYTES(PRODUCTS), x = y + EX_Q_BYTES(PRODUCTS),
			 bytes = x + EX_P_BYTES(PRODUCTS);
};

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
		     "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
		     "@done bra.uni DONE;\n"
		     "bra.uni WAIT;\n"
		     "DONE:\n"
		     "}" ::"r"(bar),
		     "r"(parity)
		     : "memory");
}

static __device__ __forceinline__ void barrier_expect(uint32_t bar, uint32_t bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
		     : "memory");
}

static __device__ __forceinline__ void barrier_arrive(uint32_t bar)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

static __device__ __forceinline__ void copy_in(uint32_t to, const void *from, uint32_t bytes,
					       uint32_t bar)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		     "[%0], [%1], %2, [%3];" ::"r"(to),
		     "l"(from), "r"(bytes), "r"(bar)
		     : "memory");
}

/*
 * Returns the descriptor of core matrices of 128 bytes without a swizzle: 8 columns are +128
 * further, 8 samples +EX_K8_BYTES.
 */
static __device__ __forceinline__ uint64_t right_descriptor(uint32_t at)
{
	return (uint64_t)((at & 0x3ffff) >> 4) | (uint64_t)(EX_K8_BYTES >> 4) << 16 |
	       (uint64_t)(128 >> 4) << 32;
}

/* d[row][col] (+)= a[row][16] b[16][col], asynchronously; keep = 0 replaces d. */
static __device__ __forceinline__ void multiply(float (&d)[64], const uint32_t (&a)[4], uint64_t b,
						int keep)
{
	asm volatile("{\n"
		     ".reg .pred keep;\n"
		     "setp.ne.b32 keep, %69, 0;\n"
		     "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
		     "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
		     "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
		     "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
		     "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63},"
		     "{%64,%65,%66,%67}, %68, keep, 1, 1, 0;\n"
		     "}"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
		       "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
		       "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
		       "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
		       "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
		       "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
		       "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
		       "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
		       "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]),
		       "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]),
		       "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
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

/*
 * Waits for this warpgroup's turn. A product whose A is in registers holds up the warp until the
 * tensor core takes it. The warpgroups take turns, so that one forms its fragments while the
 * other's products run; without turns they fall into step, and the tensor core waits for both.
 */
static __device__ __forceinline__ void turn_wait(int group)
{
	asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "n"(EX_THREADS) : "memory");
}

static __device__ __forceinline__ void turn_pass(int group)
{
	asm volatile("bar.arrive %0, %1;" ::"r"(2 - group), "n"(EX_THREADS) : "memory");
}

/* Keeps the compiler from moving uses of the accumulators across the asynchronous products. */
static __device__ __forceinline__ void hold(float (&d)[EX_MT][EX_NR])
{
#pragma unroll
	for (int i = 0; i < EX_MT; i++)
#pragma unroll
		for (int r = 0; r < EX_NR; r++)
			asm volatile("" : "+f"(d[i][r])::"memory");
}

/*
 * Uses the fragments at this point: they are complete before it, and their registers are not reused
 * before it. The compiler does not see that the asynchronous products read them.
 */
template <int PRODUCTS, int STEPS>
static __device__ __forceinline__ void keep(uint32_t (&hi)[STEPS][EX_MT][4],
					    uint32_t (&lo)[STEPS][EX_MT][4])
{
#pragma unroll
	for (int j = 0; j < STEPS; j++)
#pragma unroll
		for (int i = 0; i < EX_MT; i++)
#pragma unroll
			for (int r = 0; r < 4; r++) {
				asm volatile("" : "+r"(hi[j][i][r])::"memory");
				if (PRODUCTS == 3)
					asm volatile("" : "+r"(lo[j][i][r])::"memory");
			}
}

template <int PRODUCTS>
static __device__ void produce(const struct ex_product &a, const struct ex_where &w, uint32_t base,
			       uint32_t full, uint32_t empty)
{
	typedef stage_layout<PRODUCTS> at;
	const uint32_t xs = EX_P_BYTES(PRODUCTS);
	const uint32_t ys = EX_Q_BYTES(PRODUCTS);
	const uint32_t right = EX_RIGHT_BYTES(PRODUCTS);

	for (int b = w.first * EX_BLOCKS, n = 0; b < w.last * EX_BLOCKS; b++, n++) {
		const uint32_t s = (uint32_t)(n % at::stages);
		const uint32_t bar = full + 8 * s;
		const uint32_t to = base + s * at::bytes;

		barrier_wait(empty + 8 * s, (uint32_t)(n / at::stages + 1) & 1u);
		barrier_expect(bar, at::bytes);
		copy_in(to + at::x, a.x + ((size_t)b * a.ptiles + w.pt) * xs, xs, bar);
		copy_in(to + at::y, a.y + ((size_t)b * a.qtiles + w.qt) * ys, ys, bar);
		copy_in(to + at::right, a.right + ((size_t)b * a.ctiles + w.ct) * right, right,
			bar);
	}
}

/*
 * Forms one pair of fragments: rows q and q + 8 of this warp's p; hi (and lo) of the left factor.
 */
template <int PRODUCTS>
static __device__ __forceinline__ void form(const unsigned char *x, const unsigned char *y,
					    uint32_t (&hi)[EX_MT][4], uint32_t (&lo)[EX_MT][4])
{
	if (PRODUCTS == 3) {
		const uint4 y0 = *reinterpret_cast<const uint4 *>(y);
		const uint4 y1 = *reinterpret_cast<const uint4 *>(y + 512);

#pragma unroll
		for (int i = 0; i < EX_MT; i++) {
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
		for (int i = 0; i < EX_MT; i++) {
			const uint2 v = *reinterpret_cast<const uint2 *>(x + i * 128);

			hi[i][0] = ex_bits(__hmul2(ex_half2(v.x), ex_half2(y0.x)));
			hi[i][1] = ex_bits(__hmul2(ex_half2(v.x), ex_half2(y1.x)));
			hi[i][2] = ex_bits(__hmul2(ex_half2(v.y), ex_half2(y0.y)));
			hi[i][3] = ex_bits(__hmul2(ex_half2(v.y), ex_half2(y1.y)));
		}
	}
}

/* Issues the products of sixteen samples for both tiles of rows: lo*hi, hi*lo, hi*hi. */
template <int PRODUCTS>
static __device__ __forceinline__ void
step(float (&acc)[EX_MT][EX_NR], const uint32_t (&hi)[EX_MT][4], const uint32_t (&lo)[EX_MT][4],
     uint64_t right, int keep)
{
	const uint64_t low = right + (uint64_t)(EX_LOW_BYTES >> 4);

	if (PRODUCTS == 3) {
#pragma unroll
		for (int i = 0; i < EX_MT; i++)
			multiply(acc[i], lo[i], right, keep);
#pragma unroll
		for (int i = 0; i < EX_MT; i++)
			multiply(acc[i], hi[i], low, 1);
	}
#pragma unroll
	for (int i = 0; i < EX_MT; i++)
		multiply(acc[i], hi[i], right, PRODUCTS == 3 || keep);
}

template <int PRODUCTS>
static __device__ void consume(const struct ex_product &a, const struct ex_where &w,
			       unsigned char *base, uint32_t full, uint32_t empty)
{
	typedef stage_layout<PRODUCTS> at;
	const int thread = (int)threadIdx.x - EX_PRODUCER;
	const int lane = thread & 31;
	/* steps of 16 samples that are formed and issued together */
	const int STEPS = 2;
	const int entry = PRODUCTS == 3 ? 16 : 8; /* bytes of one lane's piece of a table */
	const int p = (thread >> 7) * (EX_P / 2) + ((thread >> 5) & 3);
	const int my_x = at::x + (p * 4 + (lane & 3)) * entry;
	const int my_y = at::y + lane * entry;
	const float *scale = a.scale + (size_t)(w.ct / a.ctiles_coil) * a.groups;
	uint32_t hi[2][STEPS][EX_MT][4] = {}; /* two sets: one is read while the other is formed */
	uint32_t lo[2][STEPS][EX_MT][4] = {};
	float acc[EX_MT][EX_NR] = {};
	float sum[EX_MT][EX_NR] = {};
	int n = 0;

	if (thread >> 7 == 1)
		turn_pass(1); /* the first turn belongs to warpgroup 0 */
	for (int g = w.first; g < w.last; g++) {
		const float unit = __ldg(scale + g);

#pragma unroll 1
		for (int b = 0; b < EX_BLOCKS; b++, n++) {
			const uint32_t s = (uint32_t)(n % at::stages);
			const unsigned char *stage = base + s * at::bytes;
			const uint64_t right = right_descriptor(shared_address(stage));

			barrier_wait(full + 8 * s, (uint32_t)(n / at::stages) & 1u);
#pragma unroll
			for (int k = 0; k < EX_BLOCK / 16; k += STEPS) {
				const int set = k / STEPS & 1;

#pragma unroll
				for (int j = 0; j < STEPS; j++)
					form<PRODUCTS>(stage + my_x + (k + j) * EX_P * 4 * entry,
						       stage + my_y + (k + j) * EX_Q * 4 * entry,
						       hi[set][j], lo[set][j]);
				keep<PRODUCTS, STEPS>(hi[set], lo[set]);
				turn_wait(thread >> 7);
				hold(acc);
				fence();
#pragma unroll
				for (int j = 0; j < STEPS; j++)
					step<PRODUCTS>(
						acc, hi[set][j], lo[set][j],
						right + (uint64_t)(((k + j) * 2 * EX_K8_BYTES) >>
								   4),
						b > 0 || k + j > 0);
				commit();
				turn_pass(thread >> 7);
				settle<1>();
				/*
				 * The products of the other set have ended, so it may change now.
				 */
				keep<PRODUCTS, STEPS>(hi[1 - set], lo[1 - set]);
				/* this thread has read the block before this one, too */
				if (k == 0 && n > 0)
					barrier_arrive(empty + 8 * ((n - 1) % at::stages));
			}
		}
		settle<0>();
		hold(acc);
#pragma unroll
		for (int i = 0; i < EX_MT; i++)
#pragma unroll
			for (int r = 0; r < EX_NR; r++)
				sum[i][r] = fmaf(acc[i][r], unit, sum[i][r]);
	}
	if (thread >> 7 == 0)
		/* takes the last turn that was passed, so that no barrier is left half full */
		turn_wait(0);
	ex_store(a, w.sums, thread, sum);
}
#endif

template <int PRODUCTS>
static __global__
__launch_bounds__(EX_PRODUCER + EX_THREADS,
		  1) void product_wgmma(const __grid_constant__ struct ex_product a)
{
#if EX_HOPPER
	extern __shared__ __align__(1024) unsigned char stages[];
	__shared__ __align__(8) uint64_t bars[2 * stage_layout<PRODUCTS>::stages];
	const struct ex_where w = ex_find(a);
	const uint32_t full = shared_address(bars);
	const uint32_t empty = full + 8 * stage_layout<PRODUCTS>::stages;

	if (threadIdx.x == 0) {
		for (int s = 0; s < stage_layout<PRODUCTS>::stages; s++) {
			barrier_init(full + 8 * s, 1);
			barrier_init(empty + 8 * s, EX_THREADS);
		}
		/* makes the barriers visible to the copy engine */
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	}
	__syncthreads();
	if (threadIdx.x < EX_PRODUCER) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
		if (threadIdx.x == 0)
			produce<PRODUCTS>(a, w, shared_address(stages), full, empty);
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
		consume<PRODUCTS>(a, w, stages, full, empty);
	}
#else
	(void)a;
#endif
}

static size_t shared_bytes(int products)
{
	return products == 3 ? (size_t)stage_layout<3>::stages * stage_layout<3>::bytes
			     : (size_t)stage_layout<1>::stages * stage_layout<1>::bytes;
}

int ex_prepare_wgmma(struct bs_fail *why)
{
	int err = bs_cuda_shared((const void *)product_wgmma<3>, shared_bytes(3), why);

	return err != 0 ? err
			: bs_cuda_shared((const void *)product_wgmma<1>, shared_bytes(1), why);
}

int ex_product_wgmma(const struct ex_product *a, int products, cudaStream_t stream,
		     struct bs_fail *why)
{
	const auto kernel = products == 3 ? product_wgmma<3> : product_wgmma<1>;

	kernel<<<ex_tiles(a), EX_PRODUCER + EX_THREADS, shared_bytes(products), stream>>>(*a);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

/* gpu/nufft/cuda/passes.cu - samples by channel; the transform along a stack; see dev.cuh */
#include "gpu/device/launch.cuh"
#include "gpu/nufft/cuda/dev.cuh"

#define THREADS 256

/*
 * Transposes 32 samples of 8 coils in each block, in shared memory, so that both sides are whole
 * memory sectors.
 */
static __global__ void __launch_bounds__(THREADS)
	mix(const float2 *data, const float *__restrict__ weight, uint64_t samples, uint64_t first,
	    uint64_t count, uint32_t coils, float2 *__restrict__ mixed)
{
	__shared__ float2 tile[8][33];
	const uint32_t along = threadIdx.x % 32;
	const uint32_t across = threadIdx.x / 32;
	const uint64_t from = first + (uint64_t)blockIdx.x * 32;
	const uint32_t coil = blockIdx.y * 8;

	if (from + along < first + count && coil + across < coils) {
		const float w = weight != NULL ? __ldg(weight + from + along) : 1.0f;
		const float2 v = data[(coil + across) * samples + from + along];

		tile[across][along] = make_float2(v.x * w, v.y * w);
	}
	__syncthreads();
	const uint32_t c = threadIdx.x % 8;
	const uint32_t m = threadIdx.x / 8;

	if (from + m < first + count && coil + c < coils)
		mixed[(from + m) * coils + coil + c] = tile[c][m];
}

/* Transforms cols positions of one coil in each block, a line for each. */
static __global__ void __launch_bounds__(THREADS)
	stack_in(const __grid_constant__ bs_stack_dev s, uint32_t cols, const float2 *data,
		 float2 *__restrict__ mixed)
{
	extern __shared__ float2 shared[];
	const uint32_t n = s.line.n;
	const uint32_t pitch = bs_line_pitch(cols);
	const uint64_t first = (uint64_t)blockIdx.x * cols;
	const float2 *in = data + blockIdx.y * s.samples;
	float2 *a = shared;

	for (uint32_t i = threadIdx.x; i < n * cols; i += THREADS) {
		const uint32_t c = i & (cols - 1);
		const uint32_t j = i / cols;
		float2 v = make_float2(0.0f, 0.0f);

		if (first + c < s.positions) {
			const uint32_t m = __ldg(s.source + j * s.positions + first + c);

			if (m != UINT32_MAX) {
				const float w = s.weight != NULL ? __ldg(s.weight + m) : 1.0f;

				v = in[m];
				v = make_float2(v.x * w, v.y * w);
			}
		}
		a[j * pitch + c] = v;
	}
	__syncthreads();
	a = bs_lines_run<1>(s.line, a, shared + n * pitch, cols, pitch);
	for (uint32_t i = threadIdx.x; i < n * cols; i += THREADS) {
		const uint32_t c = i / n;
		const uint32_t k = i - c * n;

		if (first + c < s.positions)
			mixed[((first + c) * s.coils + blockIdx.y) * n + k] = a[k * pitch + c];
	}
}

static __global__ void __launch_bounds__(THREADS)
	stack_out(const __grid_constant__ bs_stack_dev s, uint32_t cols, const float2 *mixed,
		  float2 *__restrict__ data)
{
	extern __shared__ float2 shared[];
	const uint32_t n = s.line.n;
	const uint32_t pitch = bs_line_pitch(cols);
	const uint64_t first = (uint64_t)blockIdx.x * cols;
	float2 *out = data + blockIdx.y * s.samples;
	float2 *a = shared;

	bs_after_previous();
	for (uint32_t i = threadIdx.x; i < n * cols; i += THREADS) {
		const uint32_t c = i / n;
		const uint32_t k = i - c * n;

		a[k * pitch + c] = first + c < s.positions
					   ? mixed[((first + c) * s.coils + blockIdx.y) * n + k]
					   : make_float2(0.0f, 0.0f);
	}
	__syncthreads();
	a = bs_lines_run<-1>(s.line, a, shared + n * pitch, cols, pitch);
	for (uint32_t i = threadIdx.x; i < n * cols; i += THREADS) {
		const uint32_t c = i & (cols - 1);
		const uint32_t j = i / cols;

		if (first + c < s.positions) {
			const uint32_t m = __ldg(s.source + j * s.positions + first + c);

			if (m != UINT32_MAX)
				out[m] = a[j * pitch + c];
		}
	}
}

int bs_nufft_passes_init(struct bs_fail *why)
{
	int rc = bs_lines_cuda_init(why);

	if (rc == 0)
		rc = bs_nufft_gather_init(why);
	return rc != 0 ? rc : bs_cuda_shared_all(why, stack_in, stack_out);
}

int bs_nufft_mix(const float2 *data, const float *weight, uint64_t samples, uint64_t first,
		 uint64_t count, uint32_t coils, float2 *mixed, cudaStream_t stream,
		 struct bs_fail *why)
{
	const dim3 blocks((unsigned)((count + 31) / 32), (coils + 7) / 8);

	mix<<<blocks, THREADS, 0, stream>>>(data, weight, samples, first, count, coils, mixed);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

static __global__ void __launch_bounds__(THREADS)
	sum(float2 *to, const float2 *from, uint64_t count)
{
	const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

	if (i < count)
		to[i] = bs_cadd(to[i], from[i]);
}

int bs_nufft_sum(float2 *to, const float2 *from, uint64_t count, cudaStream_t stream,
		 struct bs_fail *why)
{
	sum<<<(unsigned)((count + THREADS - 1) / THREADS), THREADS, 0, stream>>>(to, from, count);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

/* Positions of a block: as many as shared memory has room for, by the length of a line. */
static uint32_t stack_cols(const bs_stack_dev *s)
{
	uint32_t cols = 16;

	while (cols > 1 && bs_line_shared(s->line.n, cols) > 48u * 1024u)
		cols /= 2;
	return cols;
}

int bs_nufft_stack_in(const bs_stack_dev *s, const float2 *data, float2 *mixed, cudaStream_t stream,
		      struct bs_fail *why)
{
	const uint32_t cols = stack_cols(s);
	const dim3 blocks((unsigned)((s->positions + cols - 1) / cols), s->coils);

	stack_in<<<blocks, THREADS, bs_line_shared(s->line.n, cols), stream>>>(*s, cols, data,
									       mixed);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

int bs_nufft_stack_out(const bs_stack_dev *s, const float2 *mixed, float2 *data,
		       cudaStream_t stream, struct bs_fail *why)
{
	const uint32_t cols = stack_cols(s);
	const dim3 blocks((unsigned)((s->positions + cols - 1) / cols), s->coils);

	stack_out<<<blocks, THREADS, bs_line_shared(s->line.n, cols), stream>>>(*s, cols, mixed,
										data);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

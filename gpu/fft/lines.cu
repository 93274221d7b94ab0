/* gpu/fft/lines.cu - see lines_cuda.h */
#include "gpu/fft/lines_cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"
#include "gpu/device/launch.cuh"

#define THREADS 256

/* ---- plans ---- */

/*
 * Finds the radices: the fewest passes, then the smallest largest radix. It tries all products of
 * the radices that have a short form.
 */
static uint32_t factor(uint32_t n, uint32_t *radix)
{
	static const uint32_t forms[] = { 8, 6, 5, 4, 3, 2 };
	uint32_t best = BS_LINE_PASSES + 1;

	if (n == 1)
		return 0;
	for (uint32_t f : forms) {
		uint32_t rest[BS_LINE_PASSES];

		if (n % f != 0)
			continue;
		uint32_t passes = 1 + factor(n / f, rest);

		if (passes < best && passes <= BS_LINE_PASSES) {
			best = passes;
			radix[0] = f;
			memcpy(radix + 1, rest, (passes - 1) * sizeof(*rest));
		}
	}
	if (best <= BS_LINE_PASSES)
		return best;
	uint32_t p = 7; /* neither 2, 3 nor 5 divides n */

	while (n % p != 0)
		p += 2;
	radix[0] = p;
	return 1 + factor(n / p, radix + 1);
}

uint64_t bs_line_bytes(uint32_t n)
{
	return bs_devmem_round((uint64_t)n * sizeof(float2));
}

int bs_line_make(struct bs_line_plan *p, uint32_t n, struct bs_devmem *mem, struct bs_fail *why)
{
	if (n == 0 || n > BS_LINE_MAX)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "lines of %u points: 1 to %u", n,
			       BS_LINE_MAX);
	float2 *host = (float2 *)malloc(n * sizeof(float2));
	int rc = bs_line_reg_init(n, why);

	memset(p, 0, sizeof(*p));
	p->n = n;
	p->passes = factor(n, p->radix);
	if (rc == 0 && host == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "roots of unity for lines of %u", n);
	for (uint32_t i = 0; rc == 0 && i < n; i++)
		host[i] =
			make_float2((float)cos(2.0 * M_PI * i / n), (float)sin(2.0 * M_PI * i / n));
	if (rc == 0)
		rc = bs_devmem_upload(mem, &p->root, host, n * sizeof(float2), why);
	free(host);
	return rc;
}

int bs_line_scale(const float **scale, float value, uint32_t count, struct bs_devmem *mem,
		  struct bs_fail *why)
{
	float host[BS_LINE_MAX];

	for (uint32_t i = 0; i < count; i++)
		host[i] = value;
	return bs_devmem_upload(mem, scale, host, count * sizeof(float), why);
}

int bs_line_whole(struct bs_line_pass *p, uint32_t axis, const uint32_t size[3],
		  struct bs_devmem *mem, struct bs_fail *why)
{
	memset(p, 0, sizeof(*p));
	p->in_count = p->out_count = size[axis];
	p->inner = p->outer = 1;
	for (uint32_t i = 0; i < axis; i++)
		p->inner *= size[i];
	for (uint32_t i = axis + 1; i < 3; i++)
		p->outer *= size[i];
	return bs_line_make(&p->line, size[axis], mem, why);
}

uint32_t bs_line_cols(uint32_t n, uint64_t lines, uint32_t least, uint32_t most)
{
	uint32_t cols = most != 0 ? most : 8;

	/* with few lines, more blocks are better than wide blocks */
	while (most == 0 && cols > 2 && cols > least && lines / cols < 256)
		cols /= 2;
	while (cols > 1 && cols > least && bs_line_shared(n, cols) > 96u * 1024u)
		cols /= 2;
	return cols < least ? least : cols;
}

/* ---- kernels ---- */

/* Calls act(point, line) for this thread's points of a block's lines, in the order of memory. */
template <bool ROWS, class DO>
static __device__ __forceinline__ void each_point(uint32_t count, uint32_t cols, DO act)
{
	const uint32_t shift = (uint32_t)__ffs((int)cols) - 1;

	for (uint32_t c = 0; ROWS && c < cols; c++)
		for (uint32_t i = threadIdx.x; i < count; i += THREADS)
			act(i, c);
	for (uint32_t i = threadIdx.x; !ROWS && i < count << shift; i += THREADS)
		act(i >> shift, i & (cols - 1));
}

/*
 * ROWS: lines lie along memory, one after the other. Else columns beside each other in memory are
 * the lines.
 */
template <int S, bool ROWS>
static __global__ void __launch_bounds__(THREADS)
	transform_lines(const __grid_constant__ bs_line_pass p, uint32_t cols, const float2 *in,
			float2 *__restrict__ out)
{
	extern __shared__ float2 shared[];
	const uint32_t n = p.line.n;
	const uint32_t pitch = bs_line_pitch(cols);
	const uint64_t first = (uint64_t)blockIdx.x * cols;
	const uint64_t o = ROWS ? 0 : blockIdx.y + (uint64_t)blockIdx.z * 65535u;
	const uint64_t lines = ROWS ? p.outer : p.inner;
	float2 *a = shared;
	float2 *b = shared + n * pitch;

	if (!ROWS && o >= p.outer)
		return;
	bs_after_previous();
	const float2 *from =
		ROWS ? in : in + bs_line_shifted(o, p.in_planes) * p.in_count * p.inner;
	float2 *to = ROWS ? out : out + bs_line_shifted(o, p.out_planes) * p.out_count * p.inner;

	each_point<ROWS>(n, cols, [&](uint32_t i, uint32_t c) {
		const uint32_t j = bs_line_wrap(i + p.in_half, n);
		float2 v = make_float2(0.0f, 0.0f);

		if (j < p.in_count && first + c < lines) {
			v = from[ROWS ? (first + c) * p.in_count + j : j * p.inner + first + c];
			if (p.scale_in != NULL) {
				float s = __ldg(p.scale_in + j);

				v = make_float2(v.x * s, v.y * s);
			}
		}
		a[i * pitch + c] = v;
	});
	__syncthreads();
	a = bs_lines_run<S>(p.line, a, b, cols, pitch);
	each_point<ROWS>(p.out_count, cols, [&](uint32_t k, uint32_t c) {
		float2 v = a[bs_line_wrap(k + n - p.out_half, n) * pitch + c];
		float s = p.scale_out != NULL ? __ldg(p.scale_out + k) : 1.0f;

		if (first + c < lines)
			to[ROWS ? (first + c) * p.out_count + k : k * p.inner + first + c] =
				make_float2(v.x * s, v.y * s);
	});
}

int bs_lines_cuda_init(struct bs_fail *why)
{
	return bs_cuda_shared_all(why, transform_lines<1, false>, transform_lines<-1, false>,
				  transform_lines<1, true>, transform_lines<-1, true>);
}

int bs_line_launch(const struct bs_line_pass *p, int sign, const float2 *in, float2 *out,
		   cudaStream_t stream, struct bs_fail *why)
{
	const uint32_t cols = bs_line_cols(p->line.n, p->outer * p->inner, 1, p->cols);
	const size_t bytes = bs_line_shared(p->line.n, cols);
	dim3 blocks((unsigned)((p->inner + cols - 1) / cols),
		    (unsigned)(p->outer < 65535u ? p->outer : 65535u),
		    (unsigned)((p->outer + 65534u) / 65535u));

	if (p->registers && bs_line_has_registers(p->line.n))
		return bs_line_launch_registers(p, sign, in, out, stream, why);
	const bool along = bs_line_along(p);

	if (along)
		blocks = dim3((unsigned)((p->outer + cols - 1) / cols));
	return bs_launch(
		along ? (sign > 0 ? transform_lines<1, true> : transform_lines<-1, true>)
		      : (sign > 0 ? transform_lines<1, false> : transform_lines<-1, false>),
		blocks, THREADS, bytes, p->close, stream, why, *p, cols, in, out);
}

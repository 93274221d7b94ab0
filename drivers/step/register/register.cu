/*
 * drivers/step/register/register.cu - register.c's volumes on a GPU: a launch an image
 *
 * All blocks are on the GPU at once, and meet between two passes over the volume. A sum over the
 * voxels is a tree: of a warp, of a block, of the blocks. Their number is always the same, and so
 * are the sum's bits. Each block then improves its own copy of the pose, all alike.
 */
#include "drivers/step/register/register.h" /* installed: "register.h" */

#include <cooperative_groups.h>

#define BLOCKS  64u
#define THREADS 128u
#define WARPS   (THREADS / 32)

namespace cg = cooperative_groups;

struct work {
	struct fixed *fixed; /* [WIDTHS] */
	struct volume moved;
	float *from; /* the image's pixels */
	bool is_complex, first;
	double *sums;  /* [2][SLOPES][BLOCKS]: the halves take turns, a late block still reads */
	double *lines; /* [BLOCKS * THREADS][LONGEST]: more than a stack should have */
	struct pose before, *pose;
};

/* What a pass over voxels or lines has for this thread: from this one, each BLOCKS * THREADS. */
static __device__ size_t thread_of(void)
{
	return blockIdx.x * THREADS + threadIdx.x;
}

/* Adds up the threads' sums, in the same order each time. All threads get them. */
template <unsigned N> static __device__ void add_up(double (&sum)[N], double *sums)
{
	__shared__ double of_warp[N][WARPS], all[N];
	const unsigned k = threadIdx.x;

	for (unsigned n = 0; n < N; n++) {
		for (unsigned d = 16; d > 0; d /= 2)
			sum[n] += __shfl_down_sync(~0u, sum[n], d);
		if (k % 32 == 0)
			of_warp[n][k / 32] = sum[n];
	}
	__syncthreads();
	if (k < N) {
		double s = 0.0;

		for (unsigned w = 0; w < WARPS; w++)
			s += of_warp[k][w];
		sums[k * BLOCKS + blockIdx.x] = s;
	}
	cg::this_grid().sync();
	if (k < N) {
		double s = 0.0;

		for (unsigned b = 0; b < BLOCKS; b++)
			s += sums[k * BLOCKS + b];
		all[k] = s;
	}
	__syncthreads();
	for (unsigned n = 0; n < N; n++)
		sum[n] = all[n];
}

/* As take_volume. */
static __device__ void take(const struct work *w, const struct volume *v, int width)
{
	const struct gaussian g = gaussian_of(width);
	double *line = w->lines + thread_of() * LONGEST;

	for (size_t i = thread_of(); i < voxels(v); i += BLOCKS * THREADS)
		v->at[i] = magnitude(w->from, w->is_complex, i);
	for (int a = 0; a < 3; a++) {
		cg::this_grid().sync();
		for (size_t i = thread_of(); i < lines(v, a); i += BLOCKS * THREADS)
			smooth_line(v, a, i, &g, line);
	}
	cg::this_grid().sync();
}

static __device__ void make_splines(const struct work *w, const struct volume *v)
{
	double *line = w->lines + thread_of() * LONGEST;

	for (int a = 0; a < 3; a++) {
		for (size_t i = thread_of(); i < lines(v, a); i += BLOCKS * THREADS)
			spline_line(v, a, i, line);
		cg::this_grid().sync();
	}
}

static __device__ void prepare(struct fixed *f, double *sums)
{
	const struct volume v = f->v;
	double sum[SLOPES] = { 0.0 };

	for (size_t i = thread_of(); i < voxels(&v); i += BLOCKS * THREADS)
		add_slopes(sum, f, &v, i);
	add_up(sum, sums);
	if (thread_of() == 0)
		make_normal(f->normal, sum);
}

/* Moves a pose in shared memory until it does not change. */
static __device__ void align(struct pose *p, const struct fixed *f, const struct volume *v,
			     double *sums)
{
	__shared__ bool rests;

	if (threadIdx.x == 0)
		p->bright = 1.0;
	__syncthreads();
	for (int turn = 0; turn <= TURNS; turn++) {
		const struct pose now = *p;
		double sum[SUMS] = { 0.0 };

		for (size_t i = thread_of(); i < voxels(v); i += BLOCKS * THREADS)
			add_voxel(sum, f, v, &now, i);
		add_up(sum, sums + (turn % 2) * (SLOPES * BLOCKS));
		if (threadIdx.x == 0)
			rests = improve(p, sum, f, v, turn);
		__syncthreads();
		if (rests)
			break;
	}
}

static __global__ void __launch_bounds__(THREADS, 4) register_image(const struct work w)
{
	__shared__ struct pose pose;

	if (threadIdx.x == 0)
		pose = w.before;
	for (int k = 0; k < WIDTHS; k++) {
		struct fixed *f = w.fixed + k;
		const struct volume v = w.first ? f->v : w.moved;

		take(&w, &v, k);
		if (w.first) {
			prepare(f, w.sums + k * (SLOPES * BLOCKS));
			continue;
		}
		make_splines(&w, &v);
		align(&pose, f, &v, w.sums);
	}
	if (thread_of() == 0)
		*w.pose = pose;
}

/* ---- the host's side ---- */

#define PIXEL_FLOATS 17 /* of a voxel: two pixels, the volume, the first one twice with slopes */

static struct work gpu;

static const char *words_of(cudaError_t e)
{
	return e == cudaSuccess ? NULL : cudaGetErrorString(e);
}

const char *register_cuda_open(const char **name)
{
	static struct cudaDeviceProp its;
	struct cudaFuncAttributes code; /* there is none for each GPU */
	cudaError_t e = cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);

	if (e == cudaSuccess)
		e = cudaGetDeviceProperties(&its, 0);
	if (e == cudaSuccess)
		e = cudaFuncGetAttributes(&code, register_image);
	if (e == cudaSuccess)
		e = cudaMalloc(&gpu.fixed, WIDTHS * sizeof(*gpu.fixed));
	if (e == cudaSuccess)
		e = cudaMalloc(&gpu.sums, 2 * SLOPES * BLOCKS * sizeof(*gpu.sums));
	if (e == cudaSuccess)
		e = cudaMalloc(&gpu.lines, BLOCKS * THREADS * LONGEST * sizeof(*gpu.lines));
	if (e == cudaSuccess)
		e = cudaMalloc(&gpu.pose, sizeof(*gpu.pose));
	*name = its.name;
	return words_of(e);
}

/* Makes room for images of this shape. */
static cudaError_t lay_out(const struct volume *shape)
{
	static float *room;
	static size_t room_voxels;
	const size_t n = voxels(shape);
	struct fixed fixed[WIDTHS];
	cudaError_t e = cudaSuccess;

	if (n > room_voxels) {
		(void)cudaFree(room);
		room_voxels = 0;
		e = cudaMalloc(&room, n * PIXEL_FLOATS * sizeof(*room));
	}
	if (e != cudaSuccess)
		return e;
	room_voxels = n > room_voxels ? n : room_voxels;
	gpu.moved = *shape;
	gpu.moved.at = room + 2 * n;
	gpu.from = room;
	memset(fixed, 0, sizeof(fixed));
	for (int k = 0; k < WIDTHS; k++) {
		fixed[k].v = *shape;
		fixed[k].v.at = room + (3 + 7 * k) * n;
		fixed[k].slope = fixed[k].v.at + n;
	}
	return cudaMemcpy(gpu.fixed, fixed, sizeof(fixed), cudaMemcpyHostToDevice);
}

const char *register_cuda(struct pose *p, const struct volume *shape, const float *from,
			  bool is_complex, bool first)
{
	const size_t bytes = voxels(shape) * (is_complex ? 2 : 1) * sizeof(*from);
	void *arguments[] = { &gpu };
	cudaError_t e = first ? lay_out(shape) : cudaSuccess;

	memcpy(gpu.moved.mm, shape->mm, sizeof(shape->mm));
	gpu.is_complex = is_complex;
	gpu.first = first;
	gpu.before = *p;
	if (e == cudaSuccess)
		e = cudaMemcpy(gpu.from, from, bytes, cudaMemcpyHostToDevice);
	if (e == cudaSuccess)
		e = cudaLaunchCooperativeKernel(register_image, dim3(BLOCKS), dim3(THREADS),
						arguments, 0, NULL);
	if (e == cudaSuccess)
		e = cudaMemcpy(p, gpu.pose, sizeof(*p), cudaMemcpyDeviceToHost);
	return words_of(e);
}

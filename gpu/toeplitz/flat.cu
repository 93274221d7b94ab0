/* gpu/toeplitz/flat.cu - the 2D operator in three passes; see gpu/toeplitz/cuda/flat.cuh */
#include "gpu/toeplitz/cuda/flat.cuh"

#include <string.h>

#include "gpu/device/check.h"
#include "gpu/device/reach.h"
#include "gpu/toeplitz/cuda/addends.cuh"
#include "gpu/toeplitz/cuda/spectrum.cuh"

#define THREADS 256

static const struct tp_half *half_of(uint32_t n)
{
	for (int i = 0; n >= 1 && i < tp_halves_8_count; i++)
		if ((uint32_t)(tp_halves_8[i].a * tp_halves_8[i].b) >= n)
			return &tp_halves_8[i];
	for (int i = 0; n >= 1 && i < tp_halves_16_count; i++)
		if ((uint32_t)(tp_halves_16[i].a * tp_halves_16[i].b) >= n)
			return &tp_halves_16[i];
	return NULL;
}

static int points_of(const struct tp_half *h)
{
	return h->a * h->b;
}

int tp_flat_padded(uint32_t n)
{
	const struct tp_half *h = half_of(n);

	return h != NULL ? 2 * points_of(h) : 0;
}

int tp_flat_lay_out(struct tp_flat_plan *p, const struct bs_toeplitz_spec *spec,
		    struct bs_fail *why)
{
	memset(p, 0, sizeof(*p));
	for (uint32_t i = 0; i < 3; i++)
		if (spec->matrix[i] < 1 ||
		    (i < 2 ? half_of(spec->matrix[i]) == NULL : spec->matrix[i] != 1))
			return bs_fail(why, BS_ERR_SIZE, "Toeplitz operator: matrix[%u] is %u", i,
				       spec->matrix[i]);
	p->x = half_of(spec->matrix[0]);
	p->y = half_of(spec->matrix[1]);
	p->axis[0].n = (int)spec->matrix[0];
	p->axis[1].n = (int)spec->matrix[1];
	p->coils = spec->coils;
	p->operators = spec->operators > 1 ? spec->operators : 1;
	return 0;
}

static size_t voxels_of(const struct tp_flat_plan *p)
{
	return (size_t)p->axis[0].n * p->axis[1].n;
}

static uint64_t table_bytes(const struct tp_half *h)
{
	return 2 * (uint64_t)h->a * (h->b + 1) * sizeof(float2);
}

static uint64_t spectrum_bytes(const struct tp_flat_plan *p)
{
	return (uint64_t)points_of(p->x) * points_of(p->y) * 4 * sizeof(float);
}

/* Bytes of rows. While the plan is made, rows holds the spectrum in its natural order. */
static uint64_t rows_bytes(const struct tp_flat_plan *p)
{
	const uint64_t bytes =
		(uint64_t)p->coils * p->axis[1].n * 2 * points_of(p->x) * sizeof(float2);

	return bytes > spectrum_bytes(p) ? bytes : spectrum_bytes(p);
}

void tp_flat_take(struct tp_flat_plan *p, struct bs_devroom *r)
{
	bs_devroom_take(r, &p->axis[0].twiddles, table_bytes(p->x));
	bs_devroom_take(r, &p->axis[1].twiddles, table_bytes(p->y));
	bs_devroom_take(r, &p->spectrum, p->operators * spectrum_bytes(p));
	bs_devroom_take(r, &p->rows, rows_bytes(p));
	bs_devroom_take(r, &p->addends, p->coils * voxels_of(p) * sizeof(float2));
	bs_devroom_take(r, &p->energy,
			(uint64_t)p->coils * 2 * points_of(p->x) / TP_COLUMNS * sizeof(double));
	bs_devroom_take(r, &p->norms, 2 * (uint64_t)p->coils * 3 * p->axis[1].n * sizeof(double));
}

uint64_t tp_flat_bytes(const struct tp_flat_plan *p, uint32_t coils)
{
	const uint64_t rows = (uint64_t)p->axis[1].n * 2 * points_of(p->x);

	return coils * sizeof(float2) * (2 * (uint64_t)voxels_of(p) + 4 * rows) + spectrum_bytes(p);
}

/* Makes the twiddles as struct tp_axis has them. */
static __global__ void make_twiddles(float2 *twiddles, int a, int b)
{
	const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	const int row = i / (b + 1);
	double s;
	double c;

	if (row >= 2 * a)
		return;
	sincospi(-(double)(row % a * 2 + row / a) * (double)(i % (b + 1)) / (double)(a * b), &s,
		 &c);
	twiddles[i] = make_float2((float)c, (float)s);
}

/* Returns the index of point (x, y) of [ky][kx] in the order of the halves. */
static __device__ int parted(int x, int y, int width, int height)
{
	return (y % 2 * (height / 2) + y / 2) * width + x % 2 * (width / 2) + x / 2;
}

static __global__ void part_spectrum(float *to, const float *from, int width, int height)
{
	const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	const int y = (int)blockIdx.y;

	if (x < width)
		to[parted(x, y, width, height)] = from[y * width + x];
}

static __global__ void part_real(float *to, const float2 *from, int width, int height, float scale)
{
	const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	const int y = (int)blockIdx.y;

	if (x < width)
		to[parted(x, y, width, height)] = from[y * width + x].x * scale;
}

/* Bytes of shared memory of a block of rows_step whose lines hold `beside` coils of one line. */
static size_t step_bytes(const struct tp_half *h, int beside)
{
	return h->row_bytes + (size_t)(h->row_lines / beside) * points_of(h) * sizeof(float2);
}

static int plan_axis(const struct tp_axis *axis, const struct tp_half *h, struct bs_fail *why)
{
	make_twiddles<<<(unsigned)(2 * h->a * (h->b + 1) + THREADS - 1) / THREADS, THREADS>>>(
		(float2 *)axis->twiddles, h->a, h->b);
	BS_CUDA(cudaGetLastError(), why);
	int err = bs_cuda_shared((const void *)h->rows_in, (size_t)h->row_bytes, why);

	if (err == 0)
		err = bs_cuda_shared((const void *)h->rows_out, (size_t)h->row_bytes, why);
	return err != 0 ? err
			: bs_cuda_shared((const void *)h->columns, (size_t)h->column_bytes, why);
}

int tp_flat_plan(struct tp_flat_plan *p, const struct bs_toeplitz_spec *spec, const float *q,
		 struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_devroom room = { mem, 0, false };
	struct bs_reach reach;
	int err = bs_reach(&reach, why);

	tp_flat_take(p, &room);
	if (err == 0)
		err = bs_devroom_check(&room, "Toeplitz operator", why);
	if (err == 0)
		err = plan_axis(&p->axis[0], p->x, why);
	if (err == 0)
		err = plan_axis(&p->axis[1], p->y, why);
	if (err != 0)
		return err;
	p->beside = step_bytes(p->x, 1) <= reach.shared_bytes ? 1 : 2;
	err = bs_cuda_shared((const void *)p->x->rows_step, step_bytes(p->x, p->beside), why);
	if (err != 0)
		return err;
	p->close = reach.overlaps;
	return q != NULL ? tp_flat_put(p, spec, 0, q, why) : bs_cuda_copied(why);
}

int tp_flat_put(const struct tp_flat_plan *p, const struct bs_toeplitz_spec *spec, uint32_t which,
		const float *q, struct bs_fail *why)
{
	const int size[3] = { 2 * points_of(p->x), 2 * points_of(p->y), 1 };
	int err = bs_toeplitz_spectrum((float *)p->rows, spec, size, q, why);

	if (err != 0)
		return err;
	part_spectrum<<<dim3((unsigned)(size[0] + THREADS - 1) / THREADS, (unsigned)size[1]),
			THREADS>>>(p->spectrum + (size_t)which * size[0] * size[1],
				   (const float *)p->rows, size[0], size[1]);
	BS_CUDA(cudaGetLastError(), why);
	BS_CUDA(cudaDeviceSynchronize(), why);
	return 0;
}

int tp_flat_set(const struct tp_flat_plan *p, const float2 *transform, cudaStream_t stream,
		struct bs_fail *why)
{
	const int width = 2 * points_of(p->x);
	const int height = 2 * points_of(p->y);

	part_real<<<dim3((unsigned)(width + THREADS - 1) / THREADS, (unsigned)height), THREADS, 0,
		    stream>>>(p->spectrum, transform, width, height,
			      (float)(1.0 / ((double)width * height)));
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

struct tp_flat_plan tp_flat_one(const struct tp_flat_plan *p, uint32_t which)
{
	struct tp_flat_plan one = *p;

	one.operators = 1;
	one.spectrum += which * (spectrum_bytes(p) / sizeof(float));
	return one;
}

static struct tp_flat work_of(const struct tp_flat_plan *p, uint32_t count, const float *maps)
{
	struct tp_flat a;

	memset(&a, 0, sizeof(a));
	a.x = p->axis[0];
	a.y = p->axis[1];
	a.rows = p->rows;
	a.maps = (const float2 *)maps;
	a.q = p->spectrum;
	a.count = (int)count;
	return a;
}

static int queue_columns(const struct tp_flat_plan *p, const struct tp_flat *a, cudaStream_t stream,
			 struct bs_fail *why)
{
	const int width = 2 * points_of(p->x);

	return bs_launch(p->y->columns,
			 dim3((unsigned)(width / TP_COLUMNS), (unsigned)a->count / p->operators,
			      p->operators),
			 (unsigned)p->y->column_threads, (size_t)p->y->column_bytes, p->close,
			 stream, why, *a, width);
}

int tp_flat_queue(const struct tp_flat_plan *p, const struct tp_flat_work *work,
		  cudaStream_t stream, struct bs_fail *why)
{
	const dim3 lines((unsigned)((p->axis[1].n + p->x->row_lines - 1) / p->x->row_lines),
			 work->count);
	struct tp_flat a = work_of(p, work->count, work->maps);
	int err;

	a.in = (const float2 *)work->in;
	a.out = work->maps != NULL ? p->addends : (float2 *)work->out;
	a.stop = work->stop;
	err = bs_launch(p->x->rows_in, lines, TP_ROW_THREADS, (size_t)p->x->row_bytes, p->close,
			stream, why, a);
	if (err == 0)
		err = queue_columns(p, &a, stream, why);
	return err != 0 ? err
			: bs_launch(p->x->rows_out, lines, TP_ROW_THREADS, (size_t)p->x->row_bytes,
				    p->close, stream, why, a);
}

/* Number of coils that a block of rows_step has side by side, or room for: a power of two. */
static int beside_of(const struct tp_flat_plan *p, const struct bs_toeplitz_cg *cg)
{
	int beside = p->beside;

	while (cg->maps != NULL && beside < (int)cg->coils && beside < p->x->row_lines)
		beside *= 2;
	return beside;
}

int tp_flat_step(const struct tp_flat_plan *p, const struct bs_toeplitz_cg *cg, bool first,
		 cudaStream_t stream, struct bs_fail *why)
{
	struct tp_flat a = work_of(p, cg->maps != NULL ? cg->coils : cg->images, cg->maps);
	struct tp_step g;
	int err;

	memset(&g, 0, sizeof(g));
	g.cg = *cg;
	g.first = first;
	g.beside = beside_of(p, cg);
	g.norms = p->norms;
	g.energies = 2 * points_of(p->x) / TP_COLUMNS * (cg->maps != NULL ? (int)cg->coils : 1);
	a.solves = cg->state;
	a.energy = p->energy;
	err = first ? 0 : queue_columns(p, &a, stream, why);
	if (err != 0)
		return err;
	/*
	 * The launch that begins a solve is not early: what is queued before it, Q among it, must
	 * have ended.
	 */
	const int lines = p->x->row_lines / g.beside;

	return bs_launch(p->x->rows_step,
			 dim3((unsigned)((p->axis[1].n + lines - 1) / lines),
			      cg->maps != NULL ? 1 : cg->images),
			 TP_ROW_THREADS, step_bytes(p->x, g.beside), p->close && !first, stream,
			 why, a, g);
}

int tp_flat_sum(const struct tp_flat_plan *p, uint32_t coils, const int *stop, float *out,
		cudaStream_t stream, struct bs_fail *why)
{
	const uint64_t voxels = voxels_of(p);

	return bs_launch(add_addends,
			 dim3((unsigned)((voxels + ADDENDS_THREADS - 1) / ADDENDS_THREADS)),
			 ADDENDS_THREADS, 0, p->close, stream, why, (float2 *)out, p->addends,
			 coils, voxels, stop);
}

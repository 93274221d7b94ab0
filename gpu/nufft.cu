/* gpu/nufft.cu - CUDA twin of nufft.c: choice of window, tables, launches; see nufft_cuda.h */
#include "gpu/nufft_cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cudacheck.h"
#include "gpu/nufft_kernels.cuh"

/* Largest sector side: smaller sectors have more border, larger ones fewer warps an SM. */
#define SIDE_2D 16
#define SIDE_3D 8

struct launch_set {
	void (*spread)(const bs_nufft_dev, const bs_poly, const float2 *, float2 *);
	void (*interpolate)(const bs_nufft_dev, const bs_poly, const float2 *, float2 *);
	void (*gather)(const bs_nufft_dev, const float2 *, float2 *);
	uint32_t padded_cells;
};

struct choice {
	uint32_t width, grid[3], side, run, coils_a_warp, padded_coils;
	uint64_t tasks;
};

struct bs_nufft_cuda {
	struct bs_nufft_spec spec;
	struct choice chosen;
	struct bs_nufft_dev dev;
	struct bs_poly poly;
	struct launch_set run;
	float *weight_by_sample;
	float2 *mixed; /* [sample][padded coil] */
	float2 *part;  /* [task][padded coil][padded sector] */
	float2 *grid;  /* [coil][z][y][x] */
	cufftHandle fft;
	bool have_fft;
};

/* ---- choice ------------------------------------------------------------------------------- */

static bool smooth(uint32_t n)
{
	static const uint32_t primes[] = { 2, 3, 5, 7 };

	for (uint32_t p : primes)
		while (n % p == 0)
			n /= p;
	return n == 1;
}

static uint32_t grid_for(uint32_t matrix, double oversampling, uint32_t least)
{
	uint32_t g = (uint32_t)ceil(matrix * oversampling - 1e-9);

	g = g < least ? least : g;
	while (!smooth(g) || g % 2 != 0)
		g++;
	return g;
}

/* Aliasing of the Kaiser-Bessel window falls as exp(-pi w sqrt(1 - 1/sigma)) (Fourmont 2003). */
static uint32_t width_for(double accuracy, double oversampling)
{
	return (uint32_t)ceil(-log(accuracy) / (M_PI * sqrt(1.0 - 1.0 / oversampling)));
}

static void try_choice(const struct bs_nufft_spec *s, uint32_t width, double oversampling,
		       struct choice *c, double *cost)
{
	double cells = 1.0;
	double window = 1.0;

	c->width = width;
	c->side = s->dims == 3 ? SIDE_3D : SIDE_2D;
	for (uint32_t a = 0; a < 3; a++) {
		c->grid[a] = a < s->dims ? grid_for(s->matrix[a], oversampling, c->side + width - 1) : 1;
		cells *= c->grid[a];
		window *= a < s->dims ? width : 1;
	}
	/* A grid cell passes memory about ten times; a window cell is two multiply-adds in registers. */
	*cost = cells * 10.0 * 8.0 / 3e12 + (double)s->samples * (window + 40.0) / 8e12;
}

static int choose(const struct bs_nufft_spec *s, struct choice *best, struct bs_fail *why)
{
	static const double ratios[] = { 1.25, 1.5, 2.0 };
	double least = INFINITY;

	if (s->dims != 2 && s->dims != 3)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "CUDA gridding in %u dimensions", s->dims);
	if (s->samples == 0 || s->samples > UINT32_MAX || s->coils == 0 || s->coils > BS_COILS_MAX)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "CUDA gridding of %llu samples, %u coils",
			       (unsigned long long)s->samples, s->coils);
	for (double ratio : ratios) {
		struct choice c = {};
		double cost;
		double sigma = s->accuracy > 0.0 ? ratio : s->oversampling;
		uint32_t width = s->accuracy > 0.0 ? width_for(s->accuracy, ratio)
						   : (uint32_t)ceil(s->width);

		if (width < 2)
			width = 2;
		if (width > 8)
			continue;
		try_choice(s, width, sigma, &c, &cost);
		if (cost < least) {
			least = cost;
			*best = c;
		}
	}
	if (least == INFINITY)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "CUDA gridding: no window of 8 cells or less reaches %g", s->accuracy);
	/* Enough tasks to fill the device, few enough that adding their borders stays cheap. */
	uint64_t run = s->samples / 4096;

	best->run = (uint32_t)(run < 64 ? 64 : run > 1024 ? 1024 : run);
	best->coils_a_warp = s->coils == 1 ? 1 : s->coils == 2 ? 2 : 4;
	best->padded_coils = (s->coils + best->coils_a_warp - 1) / best->coils_a_warp *
			     best->coils_a_warp;
	best->tasks = bs_sectors_max_tasks(best->grid, s->dims, best->side, s->samples, best->run);
	return 0;
}

/* ---- kernels by size ---------------------------------------------------------------------- */

template <int DIM, int W, int CB> static struct launch_set pick3()
{
	constexpr int T = DIM == 3 ? SIDE_3D : SIDE_2D;
	constexpr int P = T + W - 1;

	return { spread<DIM, W, CB, T>, interpolate<DIM, W, CB, T>, gather<DIM, W, T>,
		 DIM == 3 ? P * P * P : P * P };
}

template <int DIM, int W> static struct launch_set pick2(uint32_t coils)
{
	return coils == 1 ? pick3<DIM, W, 1>() : coils == 2 ? pick3<DIM, W, 2>() : pick3<DIM, W, 4>();
}

template <int DIM> static struct launch_set pick1(uint32_t width, uint32_t coils)
{
	switch (width) {
	case 2:
		return pick2<DIM, 2>(coils);
	case 3:
		return pick2<DIM, 3>(coils);
	case 4:
		return pick2<DIM, 4>(coils);
	case 5:
		return pick2<DIM, 5>(coils);
	case 6:
		return pick2<DIM, 6>(coils);
	case 7:
		return pick2<DIM, 7>(coils);
	default:
		return pick2<DIM, 8>(coils);
	}
}

static struct launch_set pick(uint32_t dims, const struct choice *c)
{
	return dims == 3 ? pick1<3>(c->width, c->coils_a_warp) : pick1<2>(c->width, c->coils_a_warp);
}

/* ---- window ------------------------------------------------------------------------------- */

static double bessel_i0(double x)
{
	double term = 1.0;
	double sum = 1.0;

	for (int k = 1; k < 200 && term > 1e-17 * sum; k++) {
		term *= x * x / (4.0 * k * k);
		sum += term;
	}
	return sum;
}

struct shape {
	enum bs_window kind;
	double width, sharp; /* Kaiser-Bessel beta, or 1 / (2 sigma^2) of the Gaussian */
};

/* Beatty et al. 2005, equation 5, for the ratio that the grid really has. */
static struct shape shape_of(enum bs_window kind, double width, double ratio)
{
	double b = width / ratio * (ratio - 0.5);

	if (kind == BS_WINDOW_GAUSS) /* Greengard & Lee, SIAM Rev 2004;46:443-454 */
		return { kind, width, M_PI / width * (ratio - 0.5) / ratio * 2.0 };
	return { kind, width, M_PI * sqrt(fmax(b * b - 0.8, 0.01)) };
}

static double value(const struct shape *s, double x)
{
	double t = 2.0 * x / s->width;

	if (s->kind == BS_WINDOW_GAUSS)
		return exp(-s->sharp * x * x);
	t = 1.0 - t * t;
	return t < 0.0 ? 0.0 : bessel_i0(s->sharp * sqrt(t)) / bessel_i0(s->sharp);
}

/* One polynomial a window cell through the Chebyshev nodes, in powers of u = 2 offset - 1. */
static void fit(struct bs_poly *p, const struct shape *s, uint32_t width)
{
	const int n = (int)width + 5;

	memset(p, 0, sizeof(*p));
	p->terms = n;
	for (uint32_t j = 0; j < width; j++) {
		double cheb[BS_POLY_MAX];
		double power[BS_POLY_MAX] = { 0 };
		double t0[BS_POLY_MAX] = { 1 };
		double t1[BS_POLY_MAX] = { 0, 1 };

		for (int k = 0; k < n; k++) {
			cheb[k] = 0.0;
			for (int i = 0; i < n; i++) {
				double angle = M_PI * (i + 0.5) / n;
				double offset = 0.5 * (cos(angle) + 1.0);

				cheb[k] += value(s, offset + j - 0.5 * width) * cos(k * angle);
			}
			cheb[k] *= (k == 0 ? 1.0 : 2.0) / n;
		}
		for (int k = 0; k < n; k++) { /* T_k in powers of u, by its recurrence */
			double next[BS_POLY_MAX] = { 0 };

			for (int i = 0; i < n; i++)
				power[i] += cheb[k] * t0[i];
			for (int i = 0; i < n; i++)
				next[i] = (i > 0 ? 2.0 * t1[i - 1] : 0.0) - t0[i];
			memcpy(t0, t1, sizeof(t0));
			memcpy(t1, next, sizeof(t1));
		}
		for (int i = 0; i < n; i++)
			p->c[j][i] = (float)power[i];
	}
}

/* 1 / transform of the window at n / grid, by Gauss-Legendre's little brother: a fine midpoint rule. */
static void deapodize(float *out, uint32_t n, uint32_t grid, const struct shape *s)
{
	const int steps = 4000;

	for (uint32_t i = 0; i < n; i++) {
		double nu = ((double)i - n / 2) / grid;
		double sum = 0.0;

		for (int j = 0; j < steps; j++) {
			double x = ((j + 0.5) / steps - 0.5) * s->width;

			sum += value(s, x) * cos(2.0 * M_PI * nu * x);
		}
		out[i] = (float)(steps / (sum * s->width));
	}
}

/* ---- plan --------------------------------------------------------------------------------- */

static uint64_t fft_work_bytes(const struct bs_nufft_spec *s, const struct choice *c)
{
	size_t bytes = 0;
	int n[3];

	for (uint32_t a = 0; a < s->dims; a++)
		n[a] = (int)c->grid[s->dims - 1 - a];
	if (cufftEstimateMany((int)s->dims, n, NULL, 1, 0, NULL, 1, 0, CUFFT_C2C, (int)s->coils,
			      &bytes) != CUFFT_SUCCESS)
		return 0;
	return bytes;
}

int bs_nufft_cuda_need(const struct bs_nufft_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct choice c;
	int rc = choose(s, &c, why);
	uint64_t cells = 1;
	uint64_t sectors = 1;

	if (rc != 0)
		return rc;
	struct launch_set run = pick(s->dims, &c);

	for (uint32_t a = 0; a < 3; a++) {
		cells *= c.grid[a];
		sectors *= a < s->dims ? (c.grid[a] + c.side - 1) / c.side : 1;
		bs_need_add(need, "sector reach", 1,
			    bs_devmem_round((uint64_t)c.grid[a] * sizeof(struct bs_sector_reach)));
		bs_need_add(need, "sector starts", 1, bs_devmem_round((c.grid[a] + 1) * 4u));
		bs_need_add(need, "deapodization", 1, bs_devmem_round(s->matrix[a] * 4u));
	}
	bs_need_add(need, "sorted samples", 1,
		    bs_devmem_round(s->samples * 4u) * 4 + bs_devmem_round(s->samples * s->dims * 4u));
	bs_need_add(need, "tasks", 1,
		    bs_devmem_round(c.tasks * sizeof(struct bs_sector_task)) +
			    bs_devmem_round((sectors + 1) * 4u));
	if (c.coils_a_warp > 1)
		bs_need_add(need, "weighted samples", 1,
			    bs_devmem_round(s->samples * c.padded_coils * 8u));
	bs_need_add(need, "padded sectors", 1,
		    bs_devmem_round(c.tasks * c.padded_coils * run.padded_cells * 8u));
	bs_need_add(need, "oversampled grid", 1, bs_devmem_round(cells * s->coils * 8u));
	bs_need_add(need, "FFT work area", 1, bs_devmem_round(fft_work_bytes(s, &c)));
	return 0;
}

/* Takes device memory and copies a table into it. */
template <typename T>
static int upload(T **to, const T *from, uint64_t count, struct bs_devmem *mem, struct bs_fail *why)
{
	T *at = (T *)bs_devmem_take(mem, (size_t)count * sizeof(T));

	if (at == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "CUDA gridding: device arena");
	BS_CUDA(cudaMemcpy(at, from, (size_t)count * sizeof(T), cudaMemcpyHostToDevice), why);
	*to = at;
	return 0;
}

static int upload_sectors(struct bs_nufft_cuda *p, const struct bs_sectors *s, struct bs_devmem *mem,
			  struct bs_fail *why)
{
	struct bs_nufft_dev *d = &p->dev;
	int rc = upload((uint32_t **)&d->order, s->order, d->samples, mem, why);

	if (rc == 0)
		rc = upload((uint32_t **)&d->cell, s->cell, d->samples, mem, why);
	if (rc == 0)
		rc = upload((float **)&d->offset, s->offset, d->samples * s->dims, mem, why);
	if (rc == 0)
		rc = upload((struct bs_sector_task **)&d->task, s->task, s->tasks, mem, why);
	if (rc == 0)
		rc = upload((uint32_t **)&d->task_of, s->task_of, s->sectors + 1, mem, why);
	for (uint32_t a = 0; rc == 0 && a < s->dims; a++) {
		rc = upload((struct bs_sector_reach **)&d->reach[a], s->reach[a], s->grid[a], mem, why);
		if (rc == 0)
			rc = upload((uint32_t **)&d->start[a], s->start[a], s->axis[a] + 1, mem, why);
	}
	d->tasks = s->tasks;
	for (int a = 0; a < 3; a++)
		d->axis[a] = s->axis[a];
	return rc;
}

static int upload_weights(struct bs_nufft_cuda *p, const struct bs_sectors *s, const float *weight,
			  struct bs_devmem *mem, struct bs_fail *why)
{
	float *w = (float *)malloc((size_t)p->dev.samples * sizeof(*w));
	int rc;

	if (w == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "CUDA gridding: weights");
	for (uint64_t i = 0; i < p->dev.samples; i++)
		w[i] = weight != NULL ? weight[i] : 1.0f;
	rc = upload(&p->weight_by_sample, w, p->dev.samples, mem, why);
	for (uint64_t i = 0; i < p->dev.samples; i++)
		w[i] = weight != NULL ? weight[s->order[i]] : 1.0f;
	if (rc == 0)
		rc = upload((float **)&p->dev.weight, w, p->dev.samples, mem, why);
	free(w);
	return rc;
}

static int make_window(struct bs_nufft_cuda *p, struct bs_devmem *mem, struct bs_fail *why)
{
	float table[BS_AXIS_MAX];
	double least = INFINITY;
	int rc = 0;

	for (uint32_t a = 0; a < p->spec.dims; a++)
		least = fmin(least, (double)p->chosen.grid[a] / p->spec.matrix[a]);
	struct shape s = shape_of(p->spec.window, p->chosen.width, least);

	fit(&p->poly, &s, p->chosen.width);
	for (uint32_t a = 0; rc == 0 && a < 3; a++) {
		table[0] = 1.0f;
		if (p->spec.matrix[a] > BS_AXIS_MAX)
			return bs_fail(why, BS_ERR_UNSUPPORTED, "matrix of %u", p->spec.matrix[a]);
		if (a < p->spec.dims)
			deapodize(table, p->spec.matrix[a], p->chosen.grid[a], &s);
		rc = upload((float **)&p->dev.deapod[a], table, p->spec.matrix[a], mem, why);
	}
	return rc;
}

static int make_fft(struct bs_nufft_cuda *p, struct bs_devmem *mem, struct bs_fail *why)
{
	int n[3];
	size_t bytes = 0;
	size_t room = (size_t)fft_work_bytes(&p->spec, &p->chosen);
	void *work;

	for (uint32_t a = 0; a < p->spec.dims; a++)
		n[a] = (int)p->chosen.grid[p->spec.dims - 1 - a];
	BS_CUFFT(cufftCreate(&p->fft), why);
	p->have_fft = true;
	BS_CUFFT(cufftSetAutoAllocation(p->fft, 0), why);
	BS_CUFFT(cufftMakePlanMany(p->fft, (int)p->spec.dims, n, NULL, 1, 0, NULL, 1, 0, CUFFT_C2C,
				   (int)p->spec.coils, &bytes),
		 why);
	if (bytes > room)
		return bs_fail(why, BS_ERR_NOMEM, "cuFFT wants %zu bytes, its estimate was %zu", bytes,
			       room);
	work = bs_devmem_take(mem, room);
	if (work == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "CUDA gridding: FFT work area");
	BS_CUFFT(cufftSetWorkArea(p->fft, work), why);
	return 0;
}

static int take_buffers(struct bs_nufft_cuda *p, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct choice *c = &p->chosen;
	uint64_t cells = (uint64_t)c->grid[0] * c->grid[1] * c->grid[2];

	if (c->coils_a_warp > 1) {
		p->mixed = (float2 *)bs_devmem_take(mem, p->dev.samples * c->padded_coils * 8u);
		if (p->mixed == NULL)
			goto full;
	}
	p->part = (float2 *)bs_devmem_take(mem, c->tasks * c->padded_coils * p->run.padded_cells * 8u);
	p->grid = (float2 *)bs_devmem_take(mem, cells * p->spec.coils * 8u);
	if (p->part != NULL && p->grid != NULL)
		return 0;
full:
	return bs_fail(why, BS_ERR_NOMEM, "CUDA gridding: device arena");
}

int bs_nufft_cuda_plan(struct bs_nufft_cuda **plan, const struct bs_nufft_spec *s, const float *k,
		       const float *weight, struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_nufft_cuda *p = (struct bs_nufft_cuda *)calloc(1, sizeof(*p));
	struct bs_sectors sectors = {};
	int rc;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "CUDA gridding plan");
	p->spec = *s;
	rc = choose(s, &p->chosen, why);
	if (rc != 0)
		goto fail;
	p->run = pick(s->dims, &p->chosen);
	p->dev.samples = s->samples;
	p->dev.coils = s->coils;
	p->dev.padded_coils = p->chosen.padded_coils;
	for (int a = 0; a < 3; a++) {
		p->dev.grid[a] = p->chosen.grid[a];
		p->dev.matrix[a] = (uint32_t)a < s->dims ? s->matrix[a] : 1;
		p->spec.matrix[a] = p->dev.matrix[a];
	}
	rc = bs_sectors_open(&sectors, s->dims, p->chosen.grid, p->chosen.width, p->chosen.side,
			     p->chosen.run, s->samples, k, why);
	if (rc == 0)
		rc = upload_sectors(p, &sectors, mem, why);
	if (rc == 0)
		rc = upload_weights(p, &sectors, weight, mem, why);
	if (rc == 0)
		rc = make_window(p, mem, why);
	if (rc == 0)
		rc = take_buffers(p, mem, why);
	if (rc == 0)
		rc = make_fft(p, mem, why);
	if (rc != 0)
		goto fail;
	{ /* more than 48 KB of shared memory must be asked for */
		int bytes = (int)(p->run.padded_cells * p->chosen.coils_a_warp * 8u);

		rc = BS_ERR_GPU;
		BS_CUDA_GO(cudaFuncSetAttribute((const void *)p->run.spread,
						cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
			   why, rc, fail);
		BS_CUDA_GO(cudaFuncSetAttribute((const void *)p->run.interpolate,
						cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
			   why, rc, fail);
	}
	bs_sectors_close(&sectors);
	*plan = p;
	return 0;
fail:
	bs_sectors_close(&sectors);
	bs_nufft_cuda_close(p);
	return rc;
}

void bs_nufft_cuda_close(struct bs_nufft_cuda *p)
{
	if (p == NULL)
		return;
	if (p->have_fft)
		(void)cufftDestroy(p->fft);
	free(p);
}

/* ---- transforms --------------------------------------------------------------------------- */

static dim3 blocks_over(const uint32_t size[3], uint32_t coils, dim3 block)
{
	return dim3((size[0] + block.x - 1) / block.x, (size[1] * size[2] + block.y - 1) / block.y,
		    coils);
}

int bs_nufft_cuda_adjoint(struct bs_nufft_cuda *p, const float *data, float *image, void *stream,
			  struct bs_fail *why)
{
	cudaStream_t st = (cudaStream_t)stream;
	const struct choice *c = &p->chosen;
	const float2 *in = (const float2 *)data;
	const dim3 block(32, 4);
	const dim3 batches(p->dev.tasks, c->padded_coils / c->coils_a_warp);
	const size_t shared = (size_t)p->run.padded_cells * c->coils_a_warp * 8u;

	if (p->mixed != NULL) {
		unsigned groups = (unsigned)((p->dev.samples + 127) / 128);

		if (c->coils_a_warp == 2)
			interleave<2><<<groups, 128, 0, st>>>(p->dev, p->weight_by_sample, in, p->mixed);
		else
			interleave<4><<<groups, 128, 0, st>>>(p->dev, p->weight_by_sample, in, p->mixed);
		in = p->mixed;
	}
	p->run.spread<<<batches, 32, shared, st>>>(p->dev, p->poly, in, p->part);
	p->run.gather<<<blocks_over(c->grid, p->spec.coils, block), block, 0, st>>>(p->dev, p->part,
										     p->grid);
	BS_CUDA(cudaGetLastError(), why);
	BS_CUFFT(cufftSetStream(p->fft, st), why);
	BS_CUFFT(cufftExecC2C(p->fft, p->grid, p->grid, CUFFT_INVERSE), why);
	crop<<<blocks_over(p->dev.matrix, p->spec.coils, block), block, 0, st>>>(p->dev, p->grid,
										  (float2 *)image);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

int bs_nufft_cuda_forward(struct bs_nufft_cuda *p, const float *image, float *data, void *stream,
			  struct bs_fail *why)
{
	cudaStream_t st = (cudaStream_t)stream;
	const struct choice *c = &p->chosen;
	const dim3 block(32, 4);
	const dim3 batches(p->dev.tasks, c->padded_coils / c->coils_a_warp);
	const size_t shared = (size_t)p->run.padded_cells * c->coils_a_warp * 8u;

	pad<<<blocks_over(c->grid, p->spec.coils, block), block, 0, st>>>(p->dev, (const float2 *)image,
									   p->grid);
	BS_CUDA(cudaGetLastError(), why);
	BS_CUFFT(cufftSetStream(p->fft, st), why);
	BS_CUFFT(cufftExecC2C(p->fft, p->grid, p->grid, CUFFT_FORWARD), why);
	p->run.interpolate<<<batches, 64, shared, st>>>(p->dev, p->poly, p->grid, (float2 *)data);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

/* test/bench/gpu.cu - see gpu.h */
#include "test/bench/sum.cuh"
#include "test/bench/forward.h"
#include "gpu/solve/pcg_cuda.h"

/* The sample that probe i looks at. */
static __host__ __device__ inline uint64_t probe_sample(int i, uint64_t samples)
{
	return (uint64_t)(draw(UINT64_C(5000) + i) * (double)samples);
}

/* The forward sum in double at the probes' samples, 3D. */
static __global__ void true_samples(const float *k, const float2 *image, uint64_t samples, int nx,
				    int ny, int nz, double2 *out)
{
	const float *at = k + 3 * probe_sample((int)blockIdx.x, samples);
	double2 sum = make_double2(0.0, 0.0);

	for (long long v = threadIdx.x; v < (long long)nx * ny * nz; v += blockDim.x) {
		const int x = (int)(v % nx) - nx / 2;
		const int y = (int)(v / nx % ny) - ny / 2;
		const int z = (int)(v / nx / ny) - nz / 2;
		double turn = -((double)at[0] * x + (double)at[1] * y + (double)at[2] * z);
		double s;
		double c;

		turn -= rint(turn);
		sincospi(2.0 * turn, &s, &c);
		sum.x += image[v].x * c - image[v].y * s;
		sum.y += image[v].x * s + image[v].y * c;
	}
	reduce_into(out + blockIdx.x, sum);
}

/* (T in)(n) in double at the probes, from q (q.h, 3D). */
static __global__ void true_toeplitz(const float2 *q, const float2 *in, int nx, int ny, int nz,
				     const int *probe, double2 *out)
{
	const int *at = probe + 3 * blockIdx.x;
	double2 sum = make_double2(0.0, 0.0);

	for (long long v = threadIdx.x; v < (long long)nx * ny * nz; v += blockDim.x) {
		int x = at[0] + nx / 2 - (int)(v % nx);
		int y = at[1] + ny / 2 - (int)(v / nx % ny);
		int z = at[2] + nz / 2 - (int)(v / nx / ny);
		const double sign = x < 0 ? -1.0 : 1.0;

		if (x < 0) {
			x = -x;
			y = -y;
			z = -z;
		}
		const float2 a = q[((long long)(z < 0 ? z + 2 * nz : z) * (2 * ny) +
				    (y < 0 ? y + 2 * ny : y)) *
					   nx +
				   x];
		const float2 b = in[v];

		sum.x += (double)a.x * b.x - sign * a.y * b.y;
		sum.y += (double)a.x * b.y + sign * a.y * b.x;
	}
	reduce_into(out + blockIdx.x, sum);
}

struct forward_run {
	struct bs_exact_forward_spec spec;
	const struct problem *p;
	float *data;
	void *work;
};

static int run_forward(void *self, cudaStream_t stream, struct bs_fail *why)
{
	const struct forward_run *r = (const struct forward_run *)self;

	return bs_exact_cuda_forward(&r->spec, r->p->k, r->p->image, r->data, r->work, stream, why);
}

/* Samples against double precision, drawn at random like the voxels of the other rows. */
static int forward_error(const struct forward_run *r, double *error, struct bs_fail *why)
{
	float2 got[PROBE];
	double2 truth[PROBE];
	double e = 0.0;
	double t = 0.0;

	true_samples<<<PROBE, BLOCK>>>(r->p->k, (const float2 *)r->p->image, r->p->samples,
				       (int)r->p->n[0], (int)r->p->n[1], (int)r->p->n[2],
				       r->p->truth);
	BS_CUDA(cudaGetLastError(), why);
	BS_CUDA(cudaMemcpy(truth, r->p->truth, sizeof(truth), cudaMemcpyDeviceToHost), why);
	for (int i = 0; i < PROBE; i++) {
		BS_CUDA(cudaMemcpy(&got[i], r->data + 2 * probe_sample(i, r->p->samples),
				   sizeof(got[i]), cudaMemcpyDeviceToHost),
			why);
		e += (got[i].x - truth[i].x) * (got[i].x - truth[i].x) +
		     (got[i].y - truth[i].y) * (got[i].y - truth[i].y);
		t += truth[i].x * truth[i].x + truth[i].y * truth[i].y;
	}
	*error = sqrt(e / t);
	return 0;
}

/* Floor: four multiply-adds a voxel and sample on the ordinary cores. */
static int forward_row(struct bench *b, const char *name, struct problem *p)
{
	struct forward_run r;
	struct bs_gpu_row row;
	int err = 0;

	if (!asked(b, name))
		return 0;
	memset(&row, 0, sizeof(row));
	memset(&r, 0, sizeof(r));
	r.p = p;
	r.spec.dims = p->dims;
	memcpy(r.spec.matrix, p->n, sizeof(r.spec.matrix));
	r.spec.coils = 1;
	r.spec.samples = p->samples;
	random_values(p->image, p->voxels * 2, 11);
	BS_CUDA_GO(cudaMalloc(&r.data, p->samples * sizeof(float2)), b->why, err, out);
	BS_CUDA_GO(cudaMalloc(&r.work, bs_exact_forward_bytes(&r.spec)), b->why, err, out);
	BS_CUDA_GO(cudaDeviceSynchronize(), b->why, err, out);
	err = time_it(b, false, run_forward, &r, &row);
	if (err == 0)
		err = forward_error(&r, &row.seen.error, b->why);
	row.name = name;
	row.detail = "Horner's rule in bricks of 16 x 16 voxels";
	row.floor_ms = 4.0 * (double)p->voxels * (double)p->samples / b->fmas_ms;
	if (err == 0)
		b->row(b->arg, &row);
out:
	(void)cudaFree(r.data);
	(void)cudaFree(r.work);
	return err;
}

int bs_bench_w(struct bs_csr *w, const uint32_t n[3], struct bs_fail *why)
{
	const uint64_t voxels = (uint64_t)n[0] * n[1] * n[2];
	const uint64_t step[3] = { 1, n[0], (uint64_t)n[0] * n[1] };
	const uint64_t axes = n[2] > 1 ? 3 : 2;
	uint64_t e = 0;
	int err = bs_csr_open(w, axes * voxels, voxels, 2 * axes * voxels, false, why);

	if (err != 0)
		return err;
	for (uint64_t r = 0; r < axes * voxels; r++) {
		uint64_t v = r / axes;
		const uint64_t s = step[r % axes];
		const float weight = (float)(0.2 + 0.8 * draw(r));

		v = v + s >= voxels ? voxels - 1 - s : v;
		w->start[r] = e;
		w->col[e] = (uint32_t)v;
		w->value[e++] = -weight;
		w->col[e] = (uint32_t)(v + s);
		w->value[e++] = weight;
	}
	w->start[w->rows] = e;
	return bs_csr_seal(w, why);
}

/* The whole reconstruction: F^H d, then so many iterations with W. */
struct whole_run {
	struct exact_run fhd;
	struct bs_devmem mem;
	struct bs_toeplitz_cuda *normal;
	struct bs_csr_cuda gram;
	struct bs_pcg_cuda *pcg;
	float *q, *x;
	uint32_t iterations;
	bool with_fhd;
};

static int run_whole(void *self, cudaStream_t stream, struct bs_fail *why)
{
	struct whole_run *r = (struct whole_run *)self;
	int err = r->with_fhd ? run_exact(&r->fhd, stream, why) : 0;

	return err != 0 ? err : bs_pcg_cuda_queue(r->pcg, r->iterations, stream, why);
}

#define APPLIES 10

/* As a solver runs them. */
static int run_toeplitz(void *self, cudaStream_t stream, struct bs_fail *why)
{
	struct whole_run *r = (struct whole_run *)self;
	int err = 0;

	for (int i = 0; i < APPLIES && err == 0; i++)
		err = bs_toeplitz_cuda_apply(r->normal, 1, r->fhd.out, r->x, stream, why);
	return err;
}

static int open_solver(struct whole_run *r, struct problem *p, const struct bs_csr *gram,
		       uint32_t iterations, struct bs_fail *why)
{
	struct bs_toeplitz_spec t;
	struct bs_pcg_cuda_spec cg;
	struct bs_pcg_cuda_system system;
	uint64_t bytes[3];
	int err;

	memset(&t, 0, sizeof(t));
	memset(&cg, 0, sizeof(cg));
	memset(&system, 0, sizeof(system));
	t.dims = p->dims;
	memcpy(t.matrix, p->n, sizeof(t.matrix));
	t.coils = 1;
	cg.voxels = p->voxels;
	cg.iterations = iterations;
	r->iterations = iterations;
	err = bs_toeplitz_cuda_need(&t, &bytes[0], why);
	if (err == 0)
		err = bs_pcg_cuda_need(&cg, &bytes[1], why);
	bytes[2] = bs_csr_cuda_need(gram, BS_CSR_PLAIN);
	if (err == 0)
		err = bs_devmem_open(&r->mem, bytes[0] + bytes[1] + bytes[2] + 16 * BS_DEV_ALIGN,
				     "bench", why);
	if (err == 0)
		err = bs_toeplitz_cuda_plan(&r->normal, &t, r->q, &r->mem, why);
	if (err == 0)
		err = bs_csr_cuda_plan(&r->gram, gram, BS_CSR_PLAIN, &r->mem, why);
	system.normal = r->normal;
	system.coils = 1;
	system.mu = 0.1 * (double)p->samples;
	system.gram = &r->gram;
	system.b = p->image;
	system.x = r->x;
	if (err == 0)
		err = bs_pcg_cuda_plan(&r->pcg, &cg, &system, &r->mem, why);
	return err;
}

static int open_whole(struct whole_run *r, struct problem *p, uint32_t iterations,
		      struct bs_fail *why)
{
	const size_t q = (p->dims == 3 ? 4 : 2) * p->voxels;
	const struct bs_exact_cuda_spec how_q = exact_of(BS_EXACT_Q, BS_EXACT_SINGLE);
	const struct bs_exact_cuda_spec how_fhd = exact_of(BS_EXACT_FHD, BS_EXACT_SINGLE);
	struct exact_run once;
	struct bs_csr w;
	struct bs_csr gram;
	int err;

	memset(r, 0, sizeof(*r));
	memset(&w, 0, sizeof(w));
	memset(&gram, 0, sizeof(gram));
	BS_CUDA(cudaMalloc(&r->q, q * sizeof(float2)), why);
	BS_CUDA(cudaMalloc(&r->x, p->voxels * sizeof(float2)), why);
	err = open_exact(&once, p, &how_q, r->q, why);
	if (err == 0)
		err = run_exact(&once, 0, why);
	BS_CUDA(cudaDeviceSynchronize(), why);
	close_exact(&once);
	if (err == 0)
		err = open_exact(&r->fhd, p, &how_fhd, p->image, why);
	if (err == 0)
		err = bs_bench_w(&w, p->n, why);
	if (err == 0)
		err = bs_csr_gram(&gram, &w, UINT64_MAX, why);
	if (err == 0)
		err = open_solver(r, p, &gram, iterations, why);
	bs_csr_close(&w);
	bs_csr_close(&gram);
	return err;
}

static void close_whole(struct whole_run *r)
{
	bs_pcg_cuda_close(r->pcg);
	bs_toeplitz_cuda_close(r->normal);
	close_exact(&r->fhd);
	bs_devmem_close(&r->mem);
	(void)cudaFree(r->q);
	(void)cudaFree(r->x);
}

/* Bytes that an iteration must move: the operator's, the Gram matrix, and each vector's reads and
 * writes where they are fused: p, r, q, x. */
static double iteration_bytes(const struct whole_run *r, const struct problem *p)
{
	return (double)bs_toeplitz_cuda_bytes(r->normal, 1) + (double)p->voxels * (7 * 8 + 11 * 8);
}

static int toeplitz_row(struct bench *b, const char *name, struct whole_run *r, struct problem *p)
{
	struct bs_gpu_row row;
	int err;

	if (!asked(b, name))
		return 0;
	memset(&row, 0, sizeof(row));
	random_values(p->image, p->voxels * 2, 7);
	err = bs_cuda_copied(b->why);
	if (err == 0)
		err = time_it(b, true, run_toeplitz, r, &row);
	row.seen.median_ms /= APPLIES;
	row.min_ms /= APPLIES;
	row.seen.mj /= APPLIES;
	if (err == 0) {
		true_toeplitz<<<PROBE, BLOCK>>>((const float2 *)r->q, (const float2 *)p->image,
						(int)p->n[0], (int)p->n[1], (int)p->n[2], p->probe,
						p->truth);
		err = probe_error(p, r->x, false, &row.seen.error, b->why);
	}
	row.name = name;
	row.detail = "fused passes, ten applications as one graph";
	row.floor_ms = (double)bs_toeplitz_cuda_bytes(r->normal, 1) / b->bytes_ms;
	if (err == 0)
		b->row(b->arg, &row);
	return err;
}

static int whole_row(struct bench *b, const char *name, struct whole_run *r, struct problem *p,
		     bool with_fhd)
{
	struct bs_pcg_result result;
	struct bs_gpu_row row;
	char detail[96];
	int err;

	if (!asked(b, name))
		return 0;
	memset(&row, 0, sizeof(row));
	r->with_fhd = with_fhd;
	err = time_it(b, false, run_whole, r, &row);
	if (err == 0)
		err = bs_pcg_cuda_wait(r->pcg, b->watch.stream, &result, b->why);
	if (err != 0)
		return err;
	(void)snprintf(detail, sizeof(detail), "%u iterations, residual %.2e", result.iterations,
		       result.residual);
	row.name = name;
	row.detail = detail;
	row.floor_ms = r->iterations * iteration_bytes(r, p) / b->bytes_ms +
		       (with_fhd ? r->fhd.products / b->products_ms : 0.0);
	row.seen.error = -1.0;
	b->row(b->arg, &row);
	return 0;
}

static int bench_2008(struct bench *b)
{
	static const struct {
		const char *name;
		enum bs_exact_class precision;
		enum bs_exact_route route;
	} sums[] = {
		{ "exact F^H d 128^3 x 284592 single", BS_EXACT_SINGLE, BS_EXACT_AUTO },
		{ "exact F^H d 128^3 x 284592 fast", BS_EXACT_FAST, BS_EXACT_AUTO },
		{ "exact F^H d 128^3 x 284592 single, mma.sync", BS_EXACT_SINGLE, BS_EXACT_MMA },
	};
	const struct bs_exact_cuda_spec q = exact_of(BS_EXACT_Q, BS_EXACT_SINGLE);
	struct problem p;
	struct whole_run r;
	int err = open_problem(&p, 3, 128, 128, 128, 1, 284592, b->why);

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]) && err == 0; i++) {
		struct bs_exact_cuda_spec how = exact_of(BS_EXACT_FHD, sums[i].precision);

		how.route = sums[i].route;
		err = exact_row(b, sums[i].name, &p, &how, p.image);
	}
	if (err == 0)
		err = forward_row(b, "exact forward 128^3 x 284592", &p);
	if (err == 0) {
		err = open_whole(&r, &p, 60, b->why);
		if (err == 0)
			err = exact_row(b, "exact Q 128^3 (256^3) x 284592", &p, &q, r.q);
		if (err == 0)
			err = toeplitz_row(b, "Toeplitz operator 128^3", &r, &p);
		if (err == 0)
			err = run_exact(&r.fhd, b->watch.stream, b->why);
		if (err == 0)
			err = whole_row(b, "60 iterations with W 128^3", &r, &p, false);
		if (err == 0)
			err = whole_row(b, "2008 whole: F^H d + 60 iterations 128^3", &r, &p, true);
		close_whole(&r);
	}
	close_problem(&p);
	return err;
}

static int bench_2007(struct bench *b)
{
	const struct bs_exact_cuda_spec fhd = exact_of(BS_EXACT_FHD, BS_EXACT_SINGLE);
	struct problem p;
	struct whole_run r;
	int err = open_problem(&p, 3, 64, 64, 64, 1, 3200000, b->why);

	if (err == 0)
		err = exact_row(b, "exact F^H d 64^3 x 3200000 single", &p, &fhd, p.image);
	if (err == 0) {
		err = open_whole(&r, &p, 60, b->why);
		if (err == 0)
			err = toeplitz_row(b, "Toeplitz operator 64^3", &r, &p);
		if (err == 0)
			err = run_exact(&r.fhd, b->watch.stream, b->why);
		if (err == 0)
			err = whole_row(b, "2007 whole: F^H d + 60 iterations 64^3", &r, &p, true);
		close_whole(&r);
	}
	close_problem(&p);
	return err;
}

static int bench_parboil(struct bench *b)
{
	const struct bs_exact_cuda_spec fhd = exact_of(BS_EXACT_FHD, BS_EXACT_SINGLE);
	struct problem p;
	int err = open_problem(&p, 3, 64, 64, 64, 1, 2048, b->why);

	if (err == 0)
		err = exact_row(b, "exact F^H d 64^3 x 2048 single", &p, &fhd, p.image);
	close_problem(&p);
	if (err == 0)
		err = open_problem(&p, 2, 256, 256, 1, 8, 131072, b->why);
	if (err == 0)
		err = exact_row(b, "exact F^H d 256^2 x 131072, 8 coils", &p, &fhd, p.image);
	close_problem(&p);
	return err;
}

int bs_bench_gpu_copy(double *bytes_ms, struct bs_fail *why)
{
	struct bench b;
	int err;

	memset(&b, 0, sizeof(b));
	b.why = why;
	err = bs_stopwatch_open(&b.watch, why);
	if (err == 0)
		err = measure_copy(&b);
	bs_stopwatch_close(&b.watch);
	*bytes_ms = b.bytes_ms;
	return err;
}

int bs_bench_gpu_ls(int (*wanted)(void *arg, const char *name),
		    void (*row)(void *arg, const struct bs_gpu_row *r), void *arg,
		    struct bs_fail *why)
{
	struct bench b;
	int err = open_bench(&b, wanted, row, arg, why);

	/* one that fails leaves the others */
	if (err == 0) {
		const int part[3] = { bench_2008(&b), bench_2007(&b), bench_parboil(&b) };

		for (int i = 0; i < 3; i++)
			err = part[i] != 0 ? part[i] : err;
	}
	bs_stopwatch_close(&b.watch);
	return err;
}

/*
 * test/twin/twin_cg_flat.c - conjugate gradients in 2D on the GPU, two launches an iteration,
 * against the host's
 *
 * Q of a bell, so that the matrix has eigenvalues of 0 to about 25, and mu. Eight iterations add a
 * few single-precision roundings each to what the operators differ by (1e-6): 1e-5 for the images.
 * Where round-off or a tolerance ends a solve, A p by its recurrence may cost or save two of the
 * iterations and one in a hundred, and the residual is still that of x: by the host's A, roundings
 * of one size, a factor of 2.
 */
#include "test/support/check.h"
#include "core/solve/pcg.h"
#include "gpu/solve/pcg_cuda.h"
#include "test/twin/device.h"

#define ITERATIONS 8u
#define MOST       400u

struct problem {
	uint32_t n[2], coils; /* with maps: one image; else an image each */
	bool sense, jacobi;
	double mu, tolerance;
	uint32_t most;
	size_t voxels;
	float *q, *maps, *b, *inverse;
	struct bs_toeplitz *host;
};

static uint32_t images_of(const struct problem *p)
{
	return p->sense ? 1 : p->coils;
}

static void apply(void *self, const float *in, float *out)
{
	const struct problem *p = self;

	if (p->sense)
		bs_toeplitz_sense(p->host, p->coils, p->maps, in, out);
	else
		bs_toeplitz_apply(p->host, 1, in, out);
	for (size_t i = 0; i < 2 * p->voxels; i++)
		out[i] += (float)p->mu * in[i];
}

static void precondition(void *self, const float *in, float *out)
{
	const struct problem *p = self;

	for (size_t i = 0; i < 2 * p->voxels; i++)
		out[i] = p->inverse[i / 2] * in[i];
}

static void make_data(struct problem *p)
{
	const uint32_t *n = p->n;
	uint64_t seed = 9 + n[0];

	p->voxels = (size_t)n[0] * n[1];
	p->q = calloc(p->voxels * 4, 4);
	p->maps = malloc(p->voxels * p->coils * 8);
	p->b = malloc(p->voxels * p->coils * 8);
	p->inverse = malloc(p->voxels * 4);
	for (size_t i = 0; i < p->voxels * 2; i++) {
		const double x = (double)(i % n[0]);
		const double y = (double)(i / n[0]) - (i / n[0] < n[1] ? 0.0 : 2.0 * n[1]);

		p->q[2 * i] = (float)exp(-(x * x + y * y) / 8.0);
	}
	fill_random(p->maps, p->voxels * p->coils * 2, &seed);
	fill_random(p->b, p->voxels * p->coils * 2, &seed);
	for (size_t v = 0; v < p->voxels; v++) {
		double sum = p->sense ? 0.0 : 1.0;

		for (uint32_t c = 0; p->sense && c < p->coils; c++) {
			const float *m = p->maps + 2 * (c * p->voxels + v);

			sum += (double)m[0] * m[0] + (double)m[1] * m[1];
		}
		/* not the diagonal alone, so that the images' norms differ */
		p->inverse[v] = (float)((0.75 + 0.5 * check_uniform(&seed)) / (sum + p->mu));
	}
}

static void drop_data(struct problem *p)
{
	free(p->q);
	free(p->maps);
	free(p->b);
	free(p->inverse);
}

/* x and its results; residual: of `of` by the host's A. */
static void host_solve(struct problem *p, float *x, struct bs_pcg_result *result, const float *of,
		       double *residual)
{
	struct bs_toeplitz_spec spec = { .dims = 2,
					 .matrix = { p->n[0], p->n[1], 1 },
					 .coils = p->coils };
	struct bs_pcg_spec cg = { .size = p->voxels, .iterations = p->most, .precond = p->jacobi };
	struct bs_pcg_stop stop = { .iterations = p->most,
				    .tolerance = p->tolerance,
				    .deadline_ns = INT64_MAX };
	struct bs_pcg_system system = { .self = p,
					.apply = apply,
					.precond = p->jacobi ? precondition : NULL };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_pcg *pcg = NULL;
	struct bs_fail why = { 0 };
	float *ax = malloc(p->voxels * 8);
	int rc = bs_toeplitz_need(&spec, &need, &why);

	if (rc == 0)
		rc = bs_pcg_need(&cg, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_toeplitz_plan(&p->host, &spec, p->q, &arena, team, &why);
	if (rc == 0)
		rc = bs_pcg_plan(&pcg, &cg, &arena, team, &why);
	CHECK(rc == 0, "host solver %s", why.text);
	for (uint32_t i = 0; rc == 0 && i < images_of(p); i++) {
		const size_t at = 2 * p->voxels * i;

		bs_pcg_solve(pcg, &system, p->b + at, x + at, &stop, &result[i]);
		apply(p, of + at, ax);
		residual[i] = check_rel(ax, p->b + at, 2 * p->voxels);
	}
	bs_pcg_close(pcg);
	bs_toeplitz_close(p->host);
	bs_arena_close(&arena);
	free(ax);
}

/* `runs` solves on the device; the last one's. */
static int device_solve(const struct problem *p, int runs, float *x, struct bs_pcg_result *result,
			int *same, struct bs_fail *why)
{
	struct bs_toeplitz_spec spec = { .dims = 2,
					 .matrix = { p->n[0], p->n[1], 1 },
					 .coils = p->coils };
	struct bs_pcg_cuda_spec cg = { .voxels = p->voxels,
				       .iterations = p->most,
				       .tolerance = p->tolerance,
				       .images = images_of(p) };
	struct bs_pcg_cuda_system system = { .coils = p->coils, .mu = p->mu };
	struct bs_toeplitz_cuda *normal = NULL;
	struct bs_pcg_cuda *pcg = NULL;
	struct bs_devmem mem = { 0 };
	const size_t all = 2 * p->voxels * images_of(p);
	float *q = device_copy(p->q, 4 * p->voxels);
	float *maps = device_copy(p->maps, 2 * p->voxels * p->coils);
	float *b = device_copy(p->b, all);
	float *inverse = device_copy(p->inverse, p->voxels);
	float *out = device_copy(NULL, all);
	uint64_t bytes[2];
	uint64_t first = 0;
	int rc = bs_toeplitz_cuda_need(&spec, &bytes[0], why);

	if (rc == 0)
		rc = bs_pcg_cuda_need(&cg, &bytes[1], why);
	if (rc == 0)
		rc = bs_devmem_open(&mem, bytes[0] + bytes[1], "twin_cg_flat", why);
	if (rc == 0 && cudaMemset(mem.base, 0xff, bytes[0] + bytes[1]) != cudaSuccess)
		rc = bs_fail(why, BS_ERR_GPU, "poison");
	if (rc == 0)
		rc = bs_toeplitz_cuda_plan(&normal, &spec, q, &mem, why);
	system.normal = normal;
	system.maps = p->sense ? maps : NULL;
	system.inverse = p->jacobi ? inverse : NULL;
	system.b = b;
	system.x = out;
	if (rc == 0)
		rc = bs_pcg_cuda_plan(&pcg, &cg, &system, &mem, why);
	*same = 1;
	for (int r = 0; r < runs && rc == 0; r++) {
		/* the last one iteration by iteration */
		rc = bs_pcg_cuda_solve(pcg, p->most, r + 1 < runs ? INT64_MAX : INT64_MAX - 1, NULL,
				       result, why);
		if (rc == 0 && !fetch(x, out, all))
			rc = bs_fail(why, BS_ERR_GPU, "fetch");
		first = r == 0 ? hash_of(x, all) : first;
		*same &= hash_of(x, all) == first;
	}
	for (uint32_t i = 0; i < images_of(p); i++)
		result[i].history = NULL;
	bs_pcg_cuda_close(pcg);
	bs_toeplitz_cuda_close(normal);
	bs_devmem_close(&mem);
	(void)cudaFree(q);
	(void)cudaFree(maps);
	(void)cudaFree(b);
	(void)cudaFree(inverse);
	(void)cudaFree(out);
	return rc;
}

static void check_solve(struct problem p, int runs)
{
	struct bs_pcg_result host[BS_COILS_MAX] = { 0 };
	struct bs_pcg_result result[BS_COILS_MAX] = { 0 };
	double residual[BS_COILS_MAX] = { 0 };
	struct bs_fail why = { 0 };
	char what[96];
	int same = 0;

	make_data(&p);
	const size_t all = 2 * p.voxels * images_of(&p);
	float *want = malloc(all * 4);
	float *got = calloc(all, 4);
	int rc = device_solve(&p, runs, got, result, &same, &why);

	(void)snprintf(what, sizeof(what), "%s %ux%u, %u coil(s)%s, mu %g",
		       p.sense ? "sense" : "ls", p.n[0], p.n[1], p.coils,
		       p.jacobi ? ", Jacobi" : "", p.mu);
	CHECK(rc == 0 && same, "%s: %d solves, one hash %s", what, runs, why.text);
	host_solve(&p, want, host, got, residual);
	/* half an ulp times the condition, where a solve goes on until that shows */
	const double far = p.most > ITERATIONS ? fmax(1e-5, (25.0 + p.mu) / p.mu * 0x1p-24) : 1e-5;

	for (uint32_t i = 0; rc == 0 && i < images_of(&p); i++) {
		const size_t at = 2 * p.voxels * i;
		const double off = check_rel(got + at, want + at, 2 * p.voxels);
		const bool to_end = p.most > ITERATIONS && p.tolerance == 0.0;
		const uint32_t slack = p.most > ITERATIONS ? 2 + host[i].iterations / 100 : 0;

		CHECK(result[i].iterations + slack >= host[i].iterations &&
			      result[i].iterations <= host[i].iterations + slack,
		      "%s, image %u: %u iterations, the host %u", what, i, result[i].iterations,
		      host[i].iterations);
		CHECK(off <= far || to_end, "%s, image %u: off by %.2e", what, i, off);
		CHECK(result[i].residual >= 0.5 * residual[i] &&
			      result[i].residual <= 2.0 * residual[i] &&
			      residual[i] <= 2.0 * host[i].residual,
		      "%s, image %u: residual %.3e, by the host's A %.3e; the host's own %.3e",
		      what, i, result[i].residual, residual[i], host[i].residual);
	}
	free(want);
	free(got);
	drop_data(&p);
}

/* A right-hand side of which nothing can be made, between others: no iterations, x = 0. */
static void check_beside(const char *what, float value, double residual)
{
	struct problem p = { .n = { 20, 17 }, .coils = 3, .mu = 0.5, .most = ITERATIONS };
	struct bs_pcg_result result[3];
	struct bs_fail why = { 0 };
	double sum = 0.0;
	int same = 0;

	make_data(&p);
	float *got = malloc(p.voxels * 24);

	if (value == 0.0f)
		memset(p.b + 2 * p.voxels, 0, p.voxels * 8);
	p.b[2 * p.voxels + 77] = value;
	int rc = device_solve(&p, 2, got, result, &same, &why);

	for (size_t i = 0; i < 2 * p.voxels; i++)
		sum += fabs((double)got[2 * p.voxels + i]);
	CHECK(rc == 0 && same && result[0].iterations == ITERATIONS && result[1].iterations == 0 &&
		      result[1].residual == residual && sum == 0.0 &&
		      result[2].iterations == ITERATIONS,
	      "%s beside others: %u, %u, %u iterations, residual %g %s", what, result[0].iterations,
	      result[1].iterations, result[2].iterations, result[1].residual, why.text);
	free(got);
	drop_data(&p);
}

static void check_all(void)
{
	/* few and many coils for the lines of a block, sizes of one and two sets a thread, odd */
	static const uint32_t sizes[][3] = { { 20, 17, 1 },    { 33, 40, 3 },  { 128, 31, 5 },
					     { 160, 150, 12 }, { 192, 7, 2 },  { 220, 192, 8 },
					     { 256, 256, 8 },  { 9, 289, 20 }, { 320, 61, 16 },
					     { 400, 333, 4 },  { 512, 3, 33 } };

	check_beside("zeros", 0.0f, 0.0);
	check_beside("infinity", INFINITY, 1.0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct problem p = { .n = { sizes[i][0], sizes[i][1] },
				     .coils = sizes[i][2],
				     .mu = 0.5,
				     .most = ITERATIONS };

		if (small() && i > 2)
			break;
		for (int j = 0; j < 4; j++) {
			p.sense = j / 2 == 0;
			p.jacobi = j % 2 == 1;
			check_solve(p, i == 0 ? 20 : 3);
		}
	}
	if (small())
		return;
	for (int j = 0; j < 8; j++) {
		struct problem p = { .n = { 61, 72 }, .coils = 6, .most = MOST };

		p.sense = j % 2 == 0;
		p.jacobi = j / 2 % 2 == 1;
		p.mu = j < 4 ? 1.0 : 0.01;
		check_solve(p, 2);
		p.tolerance = 1e-3;
		check_solve(p, 2);
	}
}

int main(void)
{
	return twin_main("conjugate gradients in 2D on the GPU", 4, check_all);
}

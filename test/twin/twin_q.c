/*
 * test/twin/twin_q.c - Q by the GPU's gridding against a direct sum in double precision and against
 * the host's; the same bytes again; where the device has no room, the host's, and words
 *
 * Bounds. Q has the relative l2 error asked for, and single precision's: 5e-6 at 1e-6
 * (test/unit/gpu/test_q.c). Two twins, each with its own: twice that. Of a large Q, the offsets
 * drawn hold some of the squared error, not all: twice the bound.
 */
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include <complex.h>

#include "core/thread/team.h"
#include "gpu/exact/basis.h"
#include "gpu/solve/lsq_cuda.h"
#include "gpu/toeplitz/q_cuda.h"
#include "test/twin/device.h"

#define TAU    6.283185307179586476925
#define FLOOR  5e-6
#define DRAWN  400u
#define PIECES 64

static const struct shape {
	const char *name;
	uint32_t dims, matrix[3];
	uint64_t samples;
	enum bs_basis basis;
	double accuracy;
	bool weighted;
} shapes[] = {
	{ "2D 33x31", 2, { 33, 31, 1 }, 900, BS_BASIS_BOX, 1e-5, true },
	{ "2D 24x40", 2, { 24, 40, 1 }, 900, BS_BASIS_DELTA, 1e-3, false },
	{ "3D 9x10x7", 3, { 9, 10, 7 }, 800, BS_BASIS_BOX, 1e-5, true },
	{ "3D 13x11x12", 3, { 13, 11, 12 }, 800, BS_BASIS_DELTA, 1e-4, false },
	{ "a slab of one partition, 20x17x1", 3, { 20, 17, 1 }, 700, BS_BASIS_BOX, 1e-5, true },
	{ "a slab of three, 40x38x3", 3, { 40, 38, 3 }, 900, BS_BASIS_DELTA, 1e-5, true },
	{ "2D 160x160", 2, { 160, 160, 1 }, 60000, BS_BASIS_DELTA, 1e-5, true },
	{ "2D 511x160", 2, { 511, 160, 1 }, 90000, BS_BASIS_BOX, 1e-3, false },
	{ "3D 65x48x40", 3, { 65, 48, 40 }, 90000, BS_BASIS_BOX, 1e-4, true },
	{ "3D 160x160x160", 3, { 160, 160, 160 }, 200000, BS_BASIS_DELTA, 1e-3, true },
	{ "a slab of 256x256x6", 3, { 256, 256, 6 }, 100000, BS_BASIS_DELTA, 1e-5, false },
};

static double complex direct(const struct shape *s, const float *k, const float *w,
			     const int32_t n[3])
{
	double complex sum = 0.0;

	for (uint64_t m = 0; m < s->samples; m++) {
		const float *at = k + m * s->dims;
		const double phi = s->basis == BS_BASIS_BOX ? bs_basis_box(1.0, at, s->dims) : 1.0;
		double turn = 0.0;

		for (uint32_t a = 0; a < s->dims; a++)
			turn += (double)at[a] * n[a];
		sum += (w != NULL ? (double)w[m] : 1.0) * phi * phi * cexp(I * TAU * turn);
	}
	return sum;
}

/* All offsets of a small Q; of a large one the center's and some that are drawn. */
static void check_direct(const struct shape *s, const struct bs_q_spec *q, const float *k,
			 const float *w, const float *got)
{
	const int32_t N[3] = { (int32_t)s->matrix[0], (int32_t)s->matrix[1],
			       (int32_t)s->matrix[2] };
	const bool all = s->samples < 1000;
	const int32_t places = N[0] * (2 * N[1] - 1) * (2 * N[2] - 1);
	const uint32_t count = all ? (uint32_t)places : DRAWN;
	uint64_t seed = 77;
	double off = 0.0;
	double norm = 0.0;

	for (uint32_t i = 0; i < count; i++) {
		const int32_t at = all ? (int32_t)i : (int32_t)(check_uniform(&seed) * places);
		const int32_t n[3] = { at % N[0], at / N[0] % (2 * N[1] - 1) - N[1] + 1,
				       at / N[0] / (2 * N[1] - 1) - N[2] + 1 };
		const float *v = got + 2 * bs_q_index(q, n);
		const double complex want = direct(s, k, w, n);
		const double d = cabs(want - (v[0] + I * v[1]));

		off += d * d;
		norm += creal(want) * creal(want) + cimag(want) * cimag(want);
	}
	off = sqrt(off / norm);
	CHECK(off <= (all ? 1.0 : 2.0) * fmax(s->accuracy, FLOOR),
	      "%s: within %.1e of the direct sum at %u offsets (asked: %.0e)", s->name, off, count,
	      s->accuracy);
}

/* Q(-n) = conj Q(n) where both are kept, to the bit, and zeros between the offsets. */
static void check_places(const struct shape *s, const struct bs_q_spec *q, const float *got)
{
	const int32_t N[2] = { (int32_t)s->matrix[1], s->dims > 2 ? (int32_t)s->matrix[2] : 1 };
	const uint64_t rows = 2ull * s->matrix[1];
	const uint64_t planes = s->dims > 2 ? 2ull * s->matrix[2] : 1;
	uint64_t odd = 0;

	for (int32_t z = 1 - N[1]; z < N[1]; z++)
		for (int32_t y = 1 - N[0]; y < N[0]; y++) {
			const int32_t n[2][3] = { { 0, y, z }, { 0, -y, -z } };
			const float *a = got + 2 * bs_q_index(q, n[0]);
			const float *b = got + 2 * bs_q_index(q, n[1]);

			odd += a[0] != b[0] || a[1] != -b[1];
		}
	for (uint64_t z = 0; z < planes; z++)
		for (uint64_t y = 0; y < rows; y++)
			for (uint64_t x = 0; x < s->matrix[0]; x++) {
				const float *a = got + 2 * ((z * rows + y) * s->matrix[0] + x);

				if (y == s->matrix[1] || (s->dims > 2 && z == s->matrix[2]))
					odd += a[0] != 0.0f || a[1] != 0.0f;
			}
	CHECK(odd == 0, "%s: Hermitian, and nothing between the offsets; %llu places are not",
	      s->name, (unsigned long long)odd);
}

static void check_shape(const struct shape *s)
{
	struct bs_q_spec q = { .dims = s->dims,
			       .samples = s->samples,
			       .basis = s->basis,
			       .sum = BS_SUM_NUFFT,
			       .accuracy = s->accuracy };
	struct bs_fail why = { 0 };
	uint64_t seed = 9 + s->samples;
	float *k = malloc(s->samples * s->dims * 4);
	float *w = malloc(s->samples * 4);
	float *at[3];
	int rc = 0;

	memcpy(q.matrix, s->matrix, sizeof(q.matrix));
	const size_t n = 2 * bs_q_size(&q);

	for (int i = 0; i < 3; i++) {
		at[i] = malloc(n * 4);
		memset(at[i], 0x7f, n * 4);
	}
	fill_k(k, s->samples * s->dims, &seed);
	for (uint64_t m = 0; m < s->samples; m++)
		w[m] = (float)check_uniform(&seed);
	const float *weight = s->weighted ? w : NULL;

	for (int i = 0; i < 2 && rc == 0; i++)
		rc = bs_q_cuda_make(at[i], &q, k, weight, "twin", &why);
	CHECK(rc == 0, "%s: Q on the GPU %s", s->name, why.text);
	if (rc == 0) {
		CHECK(memcmp(at[0], at[1], n * 4) == 0, "%s: the same bytes again", s->name);
		check_places(s, &q, at[0]);
		check_direct(s, &q, k, weight, at[0]);
		rc = bs_q_make(at[2], &q, k, weight, &(struct bs_q_making){ .team = team }, &why);
		const double off = rc == 0 ? check_rel(at[0], at[2], n) : 1.0;

		CHECK(off <= 2.0 * fmax(s->accuracy, FLOOR), "%s: within %.1e of the host's %s",
		      s->name, off, rc != 0 ? why.text : "");
	}
	for (int i = 0; i < 3; i++)
		free(at[i]);
	free(k);
	free(w);
}

/* All of the device's memory is taken: Q is the host's, byte for byte; what failed has words. */
static void check_full(void)
{
	struct bs_protocol p = path_of(BS_METHOD_LS, BS_TRAJ_FILE, 96, 80, 1, 1);

	readouts_of(&p, 100, 200);
	p.fhd = BS_SUM_EXACT;
	p.accuracy = 1e-4;
	bs_plan_make(&p);
	const uint64_t samples = bs_protocol_samples(&p);
	float *k = malloc(samples * 2 * 4);
	struct bs_traj traj = { .k = k };
	struct bs_tables tables = { .traj = &traj };
	const struct bs_q_spec spec = bs_lsq_q_spec(&p);
	const size_t n = 2 * bs_q_size(&spec);
	float *host = malloc(n * 4);
	float *got = NULL;
	void *taken[PIECES] = { NULL };
	struct bs_fail why = { 0 };
	uint64_t seed = 3;
	uint32_t mark[3] = { 0, 0, BS_QCACHE_HOST };
	int rc;

	fill_k(k, samples * 2, &seed);
	for (size_t i = 0, bytes = (size_t)1 << 40; i < PIECES && bytes >= 4096;)
		if (cudaMalloc(&taken[i], bytes) == cudaSuccess)
			i++;
		else
			bytes /= 2;
	(void)cudaGetLastError();
	rc = bs_q_cuda_make(host, &spec, k, NULL, "full", &why);
	CHECK(rc == BS_ERR_NOMEM && strstr(why.text, "full (Q) needs") != NULL,
	      "a device without room: %s", why.text);
	rc = bs_lsq_cuda_q(&got, &p, &tables, team, "", NULL, &why);
	CHECK(rc == 0 &&
		      bs_q_make(host, &spec, k, NULL, &(struct bs_q_making){ .team = team },
				&why) == 0 &&
		      memcmp(got, host, n * 4) == 0,
	      "Q is then the host's %s", rc != 0 ? why.text : "");
	free(got);
	got = NULL;
	for (size_t i = 0; i < PIECES; i++)
		if (taken[i] != NULL)
			(void)cudaFree(taken[i]);
	rc = bs_lsq_cuda_q(&got, &p, &tables, team, "", NULL, &why);
	CHECK(rc == 0 && bs_q_cuda_make(host, &spec, k, NULL, "room", &why) == 0 &&
		      memcmp(got, host, n * 4) == 0,
	      "with room it is the GPU's %s", rc != 0 ? why.text : "");
	struct bs_q_spec finer = spec;

	finer.accuracy = 1e-6;
	CHECK(bs_q_cuda_rounding(&spec, &mark[0], &why) == 0 &&
		      bs_q_cuda_rounding(&finer, &mark[1], &why) == 0 && mark[0] != mark[1] &&
		      mark[0] != mark[2] && mark[1] != mark[2],
	      "another window is another maker to the cache, and neither is the host");
	free(k);
	free(host);
	free(got);
}

static void compare_all(void)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (!small() || shapes[i].samples < 1000)
			check_shape(&shapes[i]);
	if (!small())
		check_full();
}

int main(void)
{
	return twin_main("Q on the GPU", 2, compare_all);
}

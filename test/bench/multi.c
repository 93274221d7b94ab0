/*
 * test/bench/multi.c - bench multi: one scan on one, two, four and eight GPUs of the node
 *
 * Every row is checked in the same run: against the result of one GPU, and for the same bytes from
 * one run to the next.
 */
#include "test/bench/bench.h"

#if !BS_GPU
int bs_bench_multi(struct bs_bench *b)
{
	(void)b;
	(void)printf("needs a GPU: this program was built with GPU=0\n");
	return 0;
}
#else
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/phantom/random.h"
#include "gpu/device/memory.h"
#include "gpu/multi/multi.h"

#define RUNS 7

enum work { WORK_FHD, WORK_Q, WORK_GRID, WORK_SENSE };

struct problem {
	const char *name;
	enum work work;
	uint32_t dims, matrix[3], coils, iterations;
	uint64_t samples;
	double most; /* relative difference from one GPU's result: roundoff */
};

static const struct problem problems[] = {
	{ "fhd-128", WORK_FHD, 3, { 128, 128, 128 }, 1, 0, 284592, 1e-5 },
	{ "q-128", WORK_Q, 3, { 128, 128, 128 }, 1, 0, 284592, 1e-5 },
	{ "grid-128-8coils", WORK_GRID, 3, { 128, 128, 128 }, 8, 0, 284592, 1e-5 },
	{ "grid-256-8coils", WORK_GRID, 2, { 256, 256, 1 }, 8, 0, 131072, 1e-5 },
	{ "sense-128-8coils", WORK_SENSE, 3, { 128, 128, 128 }, 8, 10, 71148, 1e-4 },
	{ "sense-256-8coils", WORK_SENSE, 2, { 256, 256, 1 }, 8, 30, 131072, 1e-4 },
};

/* Host arrays of a problem. */
struct inputs {
	float *k, *data, *maps;
	float *one, *other, *again; /* results */
	uint64_t floats;
};

/* The operation of a problem, opened on a link. */
struct job {
	const struct problem *p;
	struct bs_multi_exact *exact;
	struct bs_multi_grid *grid;
	struct bs_multi_sense *sense;
	double residual;
};

static void uniform(float *v, uint64_t n, uint64_t seed)
{
	struct bs_random r;

	bs_random_seed(&r, seed);
	for (uint64_t i = 0; i < n; i++) {
		v[i] = (float)(bs_random_uniform(&r) - 0.5);
		if (v[i] >= 0.5f) /* rounded up */
			v[i] = -0.5f;
	}
}

/* Smooth sensitivities: each coil brightest at its own place around the object. */
static void fill_maps(float *maps, const struct problem *p)
{
	const uint64_t voxels = (uint64_t)p->matrix[0] * p->matrix[1] * p->matrix[2];

	for (uint32_t c = 0; c < p->coils; c++) {
		const double turn = 6.283185307179586 * c / p->coils;

		for (uint64_t v = 0; v < voxels; v++) {
			const double x = 2.0 * (double)(v % p->matrix[0]) / p->matrix[0] - 1.0;
			const double y =
				2.0 * (double)(v / p->matrix[0] % p->matrix[1]) / p->matrix[1] -
				1.0;
			const double d = (x - cos(turn)) * (x - cos(turn)) +
					 (y - sin(turn)) * (y - sin(turn));
			const double a = exp(-0.5 * d);
			float *m = maps + 2 * (c * voxels + v);

			m[0] = (float)(a * cos(turn + x));
			m[1] = (float)(a * sin(turn + x));
		}
	}
}

static int open_inputs(struct inputs *in, const struct problem *p)
{
	const uint64_t voxels = (uint64_t)p->matrix[0] * p->matrix[1] * p->matrix[2];

	memset(in, 0, sizeof(*in));
	in->floats = p->work == WORK_GRID ? voxels
		     : p->work == WORK_Q  ? 2 * voxels * (p->dims == 3 ? 4 : 2)
					  : 2 * voxels;
	in->k = malloc(p->samples * p->dims * sizeof(float));
	in->data = malloc(p->samples * p->coils * 2 * sizeof(float));
	in->maps = p->work == WORK_SENSE ? malloc(voxels * p->coils * 2 * sizeof(float)) : NULL;
	in->one = malloc(in->floats * sizeof(float));
	in->other = malloc(in->floats * sizeof(float));
	in->again = malloc(in->floats * sizeof(float));
	if (in->k == NULL || in->data == NULL || in->one == NULL || in->other == NULL ||
	    in->again == NULL || (p->work == WORK_SENSE && in->maps == NULL))
		return BS_ERR_NOMEM;
	uniform(in->k, p->samples * p->dims, 5);
	uniform(in->data, p->samples * p->coils * 2, 6);
	if (in->maps != NULL)
		fill_maps(in->maps, p);
	return 0;
}

static void close_inputs(struct inputs *in)
{
	free(in->k);
	free(in->data);
	free(in->maps);
	free(in->one);
	free(in->other);
	free(in->again);
}

static int open_exact(struct job *j, struct bs_link *link, const struct inputs *in,
		      struct bs_fail *why)
{
	const struct problem *p = j->p;
	struct bs_multi_exact_spec s = { .sum = p->work == WORK_Q ? BS_EXACT_Q : BS_EXACT_FHD,
					 .dims = p->dims,
					 .coils = p->coils,
					 .samples = p->samples };
	int rc;

	memcpy(s.matrix, p->matrix, sizeof(s.matrix));
	rc = bs_multi_exact_open(&j->exact, link, &s, in->k, NULL, why);
	return rc != 0 || p->work == WORK_Q ? rc : bs_multi_exact_load(j->exact, in->data, why);
}

static int open_grid(struct job *j, struct bs_link *link, const struct inputs *in,
		     struct bs_fail *why)
{
	const struct problem *p = j->p;
	struct bs_nufft_spec s = { .dims = p->dims,
				   .coils = p->coils,
				   .samples = p->samples,
				   .states = 1,
				   .accuracy = 1e-3 };
	int rc;

	memcpy(s.matrix, p->matrix, sizeof(s.matrix));
	rc = bs_multi_grid_open(&j->grid, link, &s, in->k, NULL, why);
	return rc != 0 ? rc : bs_multi_grid_load(j->grid, in->data, why);
}

static int open_sense(struct job *j, struct bs_link *link, const struct inputs *in,
		      struct bs_fail *why)
{
	const struct problem *p = j->p;
	struct bs_multi_sense_spec s = { .dims = p->dims,
					 .coils = p->coils,
					 .iterations = p->iterations,
					 .samples = p->samples,
					 .lambda = 0.1 * (double)p->samples };
	int rc;

	memcpy(s.matrix, p->matrix, sizeof(s.matrix));
	rc = bs_multi_sense_open(&j->sense, link, &s, in->k, in->maps, NULL, why);
	return rc != 0 ? rc : bs_multi_sense_load(j->sense, in->data, why);
}

static int run_job(struct job *j, float *out, double *ms, struct bs_fail *why)
{
	if (j->exact != NULL)
		return bs_multi_exact_run(j->exact, out, ms, why);
	if (j->grid != NULL)
		return bs_multi_grid_run(j->grid, out, ms, why);
	return bs_multi_sense_run(j->sense, out, ms, &j->residual, why);
}

static void close_job(struct job *j)
{
	bs_multi_exact_close(j->exact);
	bs_multi_grid_close(j->grid);
	bs_multi_sense_close(j->sense);
}

static double difference(const float *a, const float *b, uint64_t n)
{
	double e = 0.0;
	double r = 0.0;

	for (uint64_t i = 0; i < n; i++) {
		e += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
		r += (double)b[i] * b[i];
	}
	return sqrt(e / r);
}

/* Times, and leaves two results in out and again. */
static int measure(struct job *j, struct inputs *in, float *out, double ms[RUNS],
		   struct bs_fail *why)
{
	int rc = run_job(j, in->again, &ms[0], why);

	for (int r = 0; r < RUNS && rc == 0; r++)
		rc = run_job(j, r == RUNS - 1 ? out : NULL, &ms[r], why);
	return rc;
}

static int parts_row(struct bs_bench *b, const struct problem *p, struct inputs *in, uint32_t parts,
		     enum bs_link_kind kind, double *one_ms)
{
	struct job j = { .p = p };
	struct bs_bench_row row = { 0 };
	struct bs_link *link = NULL;
	struct bs_fail why = { 0, "" };
	double ms[RUNS];
	char name[64];
	char detail[200];
	float *out = parts == 1 ? in->one : in->other;
	double away = 0.0;
	int same = 0;
	int rc = bs_link_open(&link, parts, NULL, kind, &why);

	if (rc == 0)
		rc = p->work == WORK_GRID    ? open_grid(&j, link, in, &why)
		     : p->work == WORK_SENSE ? open_sense(&j, link, in, &why)
					     : open_exact(&j, link, in, &why);
	if (rc == 0)
		rc = measure(&j, in, out, ms, &why);
	if (rc == 0) {
		same = memcmp(out, in->again, in->floats * sizeof(float)) == 0;
		away = parts == 1 ? 0.0 : difference(out, in->one, in->floats);
		bs_bench_sum(&row, ms, RUNS);
		*one_ms = parts == 1 ? row.median_ms : *one_ms;
		(void)printf("  %-18s %4u %11.3f %9.2f %11.2e  %-5s %s", p->name, parts,
			     row.median_ms, *one_ms / row.median_ms, away, same ? "yes" : "NO",
			     bs_link_name(link));
		if (p->work == WORK_SENSE)
			(void)printf("; residual %.2e", j.residual);
		(void)printf("%s\n", away <= p->most ? "" : "; TOO FAR from one GPU's result");
		(void)snprintf(name, sizeof(name), "multi-%s-%u%s", p->name, parts,
			       parts > 1 && kind == BS_LINK_COPY ? "-copies" : "");
		(void)snprintf(detail, sizeof(detail),
			       "%.2f times one GPU; %.2e from its result; same bytes: %s; %.100s",
			       *one_ms / row.median_ms, away, same ? "yes" : "no",
			       bs_link_name(link));
		row.name = name;
		row.detail = detail;
		bs_bench_json(b, &row);
	} else {
		(void)printf("  %-18s %4u  %s\n", p->name, parts, why.text);
	}
	(void)fflush(stdout);
	close_job(&j);
	bs_link_close(link);
	return rc == BS_ERR_UNSUPPORTED ? 0 : rc != 0 || !same || !(away <= p->most);
}

int bs_bench_multi(struct bs_bench *b)
{
	struct bs_gpu_info gpu;
	struct bs_fail why = { 0, "" };
	uint32_t devices;
	int failed = 0;

	if (bs_gpu_probe(&gpu, &why) != 0) {
		(void)printf("needs a GPU: %s\n", why.text);
		return 0;
	}
	devices = bs_link_devices();
	(void)printf("%u x %s%s\n  %-18s %4s %11s %9s %11s  %-5s %s\n", devices, gpu.name,
		     devices == 1 ? ": one GPU, nothing to split" : "", "work", "GPUs", "ms",
		     "speed-up", "difference", "same", "transport");
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
		const struct problem *p = &problems[i];
		struct inputs in;
		double one_ms = 0.0;
		char name[64];

		(void)snprintf(name, sizeof(name), "multi-%s", p->name);
		if (!bs_bench_wanted(b, name))
			continue;
		if (open_inputs(&in, p) != 0) {
			(void)printf("  %-18s no memory\n", p->name);
			failed = 1;
		} else {
			failed |= parts_row(b, p, &in, 1, BS_LINK_AUTO, &one_ms);
			for (uint32_t n = 2; one_ms > 0.0 && n <= devices; n *= 2) {
				failed |= parts_row(b, p, &in, n, BS_LINK_NCCL, &one_ms);
				failed |= parts_row(b, p, &in, n, BS_LINK_COPY, &one_ms);
			}
		}
		close_inputs(&in);
	}
	return failed;
}
#endif

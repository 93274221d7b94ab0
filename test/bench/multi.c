/*
 * test/bench/multi.c - bench multi: one scan on one, two, four and eight GPUs of the node
 *
 * The service's own engines, from the first readout handed over to the image in the host's memory.
 * Every row is checked in the same run: against the image of one GPU, and for the same bytes from
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
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "gpu/device/memory.h"
#include "test/bench/inputs.h"
#include "test/support/plan/engine.h"
#include "test/support/transport.h"
#include "test/support/plan/planned.h"

#define RUNS 7

/* Positions at random. fhd: one iteration is the least that an engine makes. */
static const struct problem {
	const char *name;
	enum bs_method method;
	uint32_t dims, matrix[3], coils, iterations, samples, readouts;
	double most; /* relative difference from one GPU's image: roundoff */
} problems[] = {
	{ "fhd-128", BS_METHOD_LS, 3, { 128, 128, 128 }, 1, 1, 528, 539, 1e-5 },
	{ "grid-128-8coils", BS_METHOD_GRIDDING, 3, { 128, 128, 128 }, 8, 0, 528, 539, 1e-5 },
	{ "grid-256-8coils", BS_METHOD_GRIDDING, 2, { 256, 256, 1 }, 8, 0, 512, 256, 1e-5 },
	{ "sense-128-8coils", BS_METHOD_SENSE, 3, { 128, 128, 128 }, 8, 10, 132, 539, 1e-4 },
	{ "sense-256-8coils", BS_METHOD_SENSE, 2, { 256, 256, 1 }, 8, 30, 512, 256, 1e-4 },
};

/* Host arrays of a problem. */
struct inputs {
	struct bs_protocol p;
	struct bs_team *team;
	struct bs_traj traj;
	float *data, *maps;
	float *one, *other, *again; /* images */
	size_t data_bytes, image_bytes;
};

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

static struct bs_protocol protocol_of(const struct problem *w)
{
	struct bs_protocol p;

	memset(&p, 0, sizeof(p));
	(void)snprintf(p.name, sizeof(p.name), "%s", w->name);
	p.backend = BS_BACKEND_CUDA;
	p.method = w->method;
	p.dims = w->dims;
	memcpy(p.matrix, w->matrix, sizeof(p.matrix));
	for (int a = 0; a < 3; a++)
		p.fov_mm[a] = 200.0f;
	p.coils = w->coils;
	p.slices = p.contrasts = 1;
	p.samples = w->samples;
	p.readouts = w->readouts;
	p.traj.type = BS_TRAJ_RANDOM;
	p.traj.seed = 5;
	p.density = BS_DENSITY_NONE;
	p.accuracy = 1e-3;
	p.combine = w->method == BS_METHOD_SENSE ? BS_COMBINE_SENSE : BS_COMBINE_RSS;
	if (w->method != BS_METHOD_GRIDDING) {
		p.output = BS_OUTPUT_COMPLEX;
		p.normalize = BS_NORMALIZE_NONE;
		p.fhd = p.q = BS_SUM_EXACT;
		p.iterations = w->iterations;
		/* a tenth of F^H F's diagonal; the solver's lambda is times the voxels */
		p.lambda = 0.1 * (double)bs_protocol_samples(&p) / (double)bs_protocol_voxels(&p);
	}
	return planned(p);
}

static int open_inputs(struct inputs *in, const struct problem *w, int threads, struct bs_fail *why)
{
	uint64_t voxels;
	int rc;

	memset(in, 0, sizeof(*in));
	in->p = protocol_of(w);
	voxels = bs_protocol_voxels(&in->p);
	in->image_bytes = (size_t)bs_protocol_image_bytes(&in->p);
	/* whole pages, which the engine locks, as the service's pool */
	in->data_bytes =
		((size_t)bs_protocol_samples(&in->p) * w->coils * 8 + 4095) & ~(size_t)4095;
	in->data = aligned_alloc(4096, in->data_bytes);
	in->maps = malloc(voxels * w->coils * 8);
	in->one = malloc(in->image_bytes);
	in->other = malloc(in->image_bytes);
	in->again = malloc(in->image_bytes);
	if (in->data == NULL || in->maps == NULL || in->one == NULL || in->other == NULL ||
	    in->again == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory");
	bs_bench_uniform(in->data, in->data_bytes / 4, 1.0, 6);
	fill_maps(in->maps, w);
	rc = bs_team_open(&in->team, threads, why);
	return rc != 0 ? rc : bs_traj_make(&in->traj, &in->p, why);
}

static void close_inputs(struct inputs *in)
{
	bs_traj_close(&in->traj);
	bs_team_close(in->team);
	(void)cudaHostUnregister(in->data); /* locked by an engine */
	(void)cudaGetLastError();
	free(in->data);
	free(in->maps);
	free(in->one);
	free(in->other);
	free(in->again);
}

static int open_engine(struct armed *a, const struct inputs *in, uint32_t parts,
		       enum bs_link_kind kind, struct bs_fail *why)
{
	const struct bs_tables tables = { .traj = &in->traj, .maps = in->maps };
	struct bs_protocol p = in->p;

	p.gpu_devices.count = parts;
	bs_plan_make(&p);
	for (uint32_t i = 0; i < parts; i++)
		p.gpu_devices.device[i] = i;
	bs_plan_make(&p);
	transport = kind;
	return armed_open(a, NULL, &p, &tables,
			  (struct bs_arm_env){ .team = in->team,
					       .cache_dir = "",
					       .pool = in->data,
					       .pool_bytes = in->data_bytes },
			  why);
}

static double difference(const float *a, const float *b, size_t n)
{
	double e = 0.0;
	double r = 0.0;

	for (size_t i = 0; i < n; i++) {
		e += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
		r += (double)b[i] * b[i];
	}
	return sqrt(e / r);
}

/* Times, and leaves two images, in out and again. */
static int measure(struct armed *a, struct inputs *in, float *out, double ms[RUNS],
		   struct bs_report *report)
{
	int rc = armed_image(a, in->data, in->again, report);

	for (int r = 0; r < RUNS && rc == 0; r++) {
		const int64_t from_ns = bs_now_ns();

		rc = armed_image(a, in->data, out, report);
		ms[r] = (double)(bs_now_ns() - from_ns) * 1e-6;
	}
	return rc;
}

static void write_row(struct bs_bench *b, const struct problem *w, uint32_t parts, double one_ms,
		      double away, bool same, const struct bs_report *report,
		      struct bs_bench_row *row)
{
	const char *by = parts > 1 ? transport_name : "one GPU";
	char name[64];
	char detail[200];

	(void)printf("  %-18s %4u %11.3f %9.2f %11.2e  %-5s %s", w->name, parts, row->median_ms,
		     one_ms / row->median_ms, away, same ? "yes" : "NO", by);
	if (w->method == BS_METHOD_SENSE)
		(void)printf("; residual %.2e", report->residual);
	(void)printf("%s\n", away <= w->most ? "" : "; TOO FAR from one GPU's image");
	(void)snprintf(name, sizeof(name), "multi-%s-%u%s", w->name, parts,
		       parts > 1 && transport == BS_LINK_COPY ? "-copies" : "");
	(void)snprintf(detail, sizeof(detail),
		       "%.2f times one GPU; %.2e from its image; same bytes: %s; %.100s",
		       one_ms / row->median_ms, away, same ? "yes" : "no", by);
	row->name = name;
	row->detail = detail;
	bs_bench_json(b, row);
}

static int parts_row(struct bs_bench *b, const struct problem *w, struct inputs *in, uint32_t parts,
		     enum bs_link_kind kind, double *one_ms)
{
	struct armed a;
	struct bs_bench_row row = { 0 };
	struct bs_report report = { 0 };
	struct bs_fail why = { 0, "" };
	double ms[RUNS];
	float *out = parts == 1 ? in->one : in->other;
	double away = 0.0;
	bool same = false;
	int rc = open_engine(&a, in, parts, kind, &why);

	if (rc != 0) {
		(void)printf("  %-18s %4u  %s\n", w->name, parts, why.text);
		armed_close(&a);
		return rc != BS_ERR_UNSUPPORTED;
	}
	rc = measure(&a, in, out, ms, &report);
	if (rc == 0) {
		same = memcmp(out, in->again, in->image_bytes) == 0;
		away = parts == 1 ? 0.0 : difference(out, in->one, in->image_bytes / 4);
		bs_bench_sum(&row, ms, RUNS);
		*one_ms = parts == 1 ? row.median_ms : *one_ms;
		write_row(b, w, parts, *one_ms, away, same, &report, &row);
	} else {
		(void)printf("  %-18s %4u  failed (%d)\n", w->name, parts, rc);
	}
	(void)fflush(stdout);
	armed_close(&a);
	return rc != 0 || !same || !(away <= w->most);
}

static int problem_rows(struct bs_bench *b, const struct problem *w, uint32_t devices)
{
	struct inputs in;
	struct bs_fail why = { 0, "" };
	double one_ms = 0.0;
	int failed = open_inputs(&in, w, b->threads, &why) != 0;

	if (failed) {
		(void)printf("  %-18s %s\n", w->name, why.text);
	} else {
		failed = parts_row(b, w, &in, 1, BS_LINK_AUTO, &one_ms);
		for (uint32_t n = 2; one_ms > 0.0 && n <= devices; n *= 2) {
			failed |= parts_row(b, w, &in, n, BS_LINK_NCCL, &one_ms);
			failed |= parts_row(b, w, &in, n, BS_LINK_COPY, &one_ms);
		}
	}
	close_inputs(&in);
	return failed;
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
	devices = transport_devices();
	(void)printf("%u x %s%s\n  %-18s %4s %11s %9s %11s  %-5s %s\n", devices, gpu.name,
		     devices == 1 ? ": one GPU, nothing to split" : "", "work", "GPUs", "ms",
		     "speed-up", "difference", "same", "transport");
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "multi-%s", problems[i].name);
		if (bs_bench_wanted(b, name))
			failed |= problem_rows(b, &problems[i], devices);
	}
	return failed;
}
#endif

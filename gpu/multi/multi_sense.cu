/* gpu/multi/multi_sense.cu - least squares with sensitivities over several GPUs, the coils split; multi.h */
#include "gpu/multi/multi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "core/traj/traj.h"
#include "gpu/device/check.h"
#include "gpu/multi/multi_sums.h"
#include "gpu/engine/multi/solver.h"

/* A part's coils. */
struct share {
	struct bs_split coils;
	struct bs_devmem mem; /* the sum's */
	struct bs_exact_cuda *fhd;
	float *k;
	float2 *data, *maps, *images;
};

struct bs_multi_sense {
	struct bs_protocol p;
	uint64_t voxels;
	struct bs_link *link;
	struct share share[BS_DEVICES_MAX];
	struct bs_solver_multi *solver;
};

static int check_spec(const struct bs_multi_sense_spec *s, uint32_t parts, struct bs_fail *why)
{
	if (s->dims != 2 && s->dims != 3)
		return bs_fail(why, BS_ERR_SIZE, "several GPUs: %u dimensions", s->dims);
	for (uint32_t a = 0; a < 3; a++)
		if (s->matrix[a] < 1 || s->matrix[a] > 512 || (a >= s->dims && s->matrix[a] != 1))
			return bs_fail(why, BS_ERR_SIZE, "several GPUs: matrix[%u] is %u", a,
				       s->matrix[a]);
	if (s->coils < parts || s->coils > BS_COILS_MAX || s->samples < 1 ||
	    s->samples > UINT64_C(1) << 31 || s->iterations < 1 || s->iterations > 10000)
		return bs_fail(why, BS_ERR_SIZE, "%u GPUs: %u coils, %llu samples, %u iterations",
			       parts, s->coils, (unsigned long long)s->samples, s->iterations);
	return 0;
}

/* What the solver goes by. */
static void make_protocol(struct bs_multi_sense *m, const struct bs_multi_sense_spec *s)
{
	struct bs_protocol *p = &m->p;

	(void)snprintf(p->name, sizeof(p->name), "several GPUs");
	p->method = BS_METHOD_SENSE;
	p->combine = BS_COMBINE_SENSE;
	p->density = BS_DENSITY_NONE;
	p->fhd = p->q = BS_SUM_EXACT;
	p->precond = BS_PRECOND_NONE;
	p->dims = s->dims;
	memcpy(p->matrix, s->matrix, sizeof(p->matrix));
	p->coils = s->coils;
	p->samples = (uint32_t)s->samples;
	p->readouts = 1;
	p->iterations = s->iterations;
	m->voxels = bs_protocol_voxels(p);
	p->lambda = s->lambda /
		    (double)m->voxels; /* the solver's is times the voxels: gpu/solve/ls.h */
}

static int plan_fhd(const struct bs_protocol *p, struct share *s, struct bs_fail *why)
{
	struct bs_exact_cuda_spec e;
	uint64_t bytes;
	int err;

	memset(&e, 0, sizeof(e));
	e.sum = BS_EXACT_FHD;
	e.dims = p->dims;
	memcpy(e.matrix, p->matrix, sizeof(e.matrix));
	e.coils = (uint32_t)s->coils.count;
	e.states = 1;
	e.samples = p->samples;
	err = bs_exact_cuda_need(&e, &bytes, why);
	if (err == 0)
		err = bs_devmem_open(&s->mem, bytes, p->name, why);
	return err != 0 ? err : bs_exact_cuda_plan(&s->fhd, &e, s->k, NULL, &s->mem, why);
}

static int open_share(struct bs_multi_sense *m, uint32_t i, const float *k, const float *maps,
		      struct bs_fail *why)
{
	struct share *s = &m->share[i];
	const size_t image = (size_t)m->voxels * sizeof(float2);
	const size_t points = m->p.samples;
	int err = bs_link_enter(m->link, i, why);

	if (err != 0)
		return err;
	s->coils = bs_split_part(m->p.coils, 1, bs_link_parts(m->link), i);
	BS_CUDA(cudaMalloc(&s->k, points * m->p.dims * sizeof(float)), why);
	BS_CUDA(cudaMemcpy(s->k, k, points * m->p.dims * sizeof(float), cudaMemcpyHostToDevice),
		why);
	BS_CUDA(cudaMalloc(&s->data, s->coils.count * points * sizeof(float2)), why);
	BS_CUDA(cudaMalloc(&s->images, s->coils.count * image), why);
	BS_CUDA(cudaMalloc(&s->maps, s->coils.count * image), why);
	BS_CUDA(cudaMemcpy(s->maps, maps + 2 * s->coils.first * m->voxels, s->coils.count * image,
			   cudaMemcpyHostToDevice),
		why);
	err = plan_fhd(&m->p, s, why);
	if (err == 0)
		BS_CUDA(cudaDeviceSynchronize(), why);
	return err;
}

static int open_solver(struct bs_multi_sense *m, const float *k, const float *maps,
		       const struct bs_csr *w, struct bs_fail *why)
{
	const float2 *on_part[BS_DEVICES_MAX];
	struct bs_traj traj;
	struct bs_tables tables;
	struct bs_arm_env env;

	memset(&traj, 0, sizeof(traj));
	memset(&tables, 0, sizeof(tables));
	memset(&env, 0, sizeof(env));
	traj.dims = m->p.dims;
	traj.samples = m->p.samples;
	traj.readouts = 1;
	traj.k = (float *)k; /* read only */
	tables.traj = &traj;
	tables.maps = maps;
	tables.w = w;
	env.cache_dir = ""; /* no cache */
	for (uint32_t i = 0; i < bs_link_parts(m->link); i++)
		on_part[i] = m->share[i].maps;
	return bs_solver_multi_open(&m->solver, m->link, &m->p, &tables, &env, on_part, why);
}

int bs_multi_sense_open(struct bs_multi_sense **out, struct bs_link *link,
			const struct bs_multi_sense_spec *spec, const float *k, const float *maps,
			const struct bs_csr *w, struct bs_fail *why)
{
	struct bs_multi_sense *m;
	int err = check_spec(spec, bs_link_parts(link), why);

	*out = NULL;
	if (err != 0)
		return err;
	m = (struct bs_multi_sense *)calloc(1, sizeof(*m));
	if (m == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "several GPUs");
	m->link = link;
	make_protocol(m, spec);
	for (uint32_t i = 0; i < bs_link_parts(link) && err == 0; i++)
		err = open_share(m, i, k, maps, why);
	err = bs_link_leave(link, err, why);
	if (err == 0)
		err = open_solver(m, k, maps, w, why);
	if (err != 0) {
		bs_multi_sense_close(m);
		return err;
	}
	*out = m;
	return 0;
}

int bs_multi_sense_load(struct bs_multi_sense *m, const float *data, struct bs_fail *why)
{
	const uint64_t points = m->p.samples;
	const void *from[BS_DEVICES_MAX];
	void *to[BS_DEVICES_MAX];
	size_t bytes[BS_DEVICES_MAX];

	for (uint32_t i = 0; i < bs_link_parts(m->link); i++) {
		const struct share *s = &m->share[i];

		from[i] = data + 2 * s->coils.first * points;
		to[i] = s->data;
		bytes[i] = s->coils.count * points * sizeof(float2);
	}
	return bs_link_upload(m->link, from, to, bytes, why);
}

int bs_multi_sense_run(struct bs_multi_sense *m, float *out, double *ms, double *residual,
		       struct bs_fail *why)
{
	const int64_t from = bs_now_ns();
	struct bs_multi_sum sums[BS_DEVICES_MAX];
	const float2 *images[BS_DEVICES_MAX];
	struct bs_report report;
	int err;

	memset(&report, 0, sizeof(report));
	for (uint32_t i = 0; i < bs_link_parts(m->link); i++) {
		const struct share *s = &m->share[i];

		sums[i] =
			(struct bs_multi_sum){ s->fhd, (const float *)s->data, (float *)s->images };
		images[i] = s->images;
	}
	err = bs_multi_sums(m->link, sums, m->p.samples, why);
	if (err == 0)
		err = bs_solver_multi_run(m->solver, images, m->p.iterations, INT64_MAX, &report,
					  why);
	err = bs_link_end(m->link, err, from, ms, why);
	*residual = report.residual;
	if (err == 0 && out != NULL)
		BS_CUDA(cudaMemcpy(out, bs_solver_multi_image(m->solver),
				   (size_t)m->voxels * sizeof(float2), cudaMemcpyDeviceToHost),
			why);
	return err;
}

static void close_share(struct share *s)
{
	bs_exact_cuda_close(s->fhd);
	bs_devmem_close(&s->mem);
	(void)cudaFree(s->k);
	(void)cudaFree(s->data);
	(void)cudaFree(s->images);
	(void)cudaFree(s->maps);
}

void bs_multi_sense_close(struct bs_multi_sense *m)
{
	struct bs_fail why;

	if (m == NULL)
		return;
	bs_solver_multi_close(m->solver);
	for (uint32_t i = 0; i < bs_link_parts(m->link); i++)
		if (bs_link_enter(m->link, i, &why) == 0)
			close_share(&m->share[i]);
	(void)bs_link_enter(m->link, 0, &why);
	free(m);
}

/* gpu/solve/lsq.cu - see lsq_cuda.h */
#include "gpu/solve/lsq_cuda.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "gpu/device/check.h"
#include "gpu/nufft/density_cuda.h"
#include "gpu/exact/basis.h"
#include "gpu/exact/exact_cuda.h"
#include "gpu/toeplitz/q_cuda.h"

int bs_lsq_cuda_weights(float **weight, const struct bs_protocol *p, const struct bs_tables *tables,
			struct bs_team *team, int power, struct bs_fail *why)
{
	const uint64_t n = bs_protocol_samples(p);
	int rc = bs_lsq_weights(weight, p, tables, team, why);

	if (rc != 0 || p->basis != BS_BASIS_BOX)
		return rc;
	float *w = (float *)malloc((size_t)n * sizeof(*w));

	if (w == NULL) {
		free(*weight);
		*weight = NULL;
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': voxel basis", p->name);
	}
	for (uint64_t m = 0; m < n; m++) {
		const double phi = bs_basis_box(1.0, tables->traj->k + m * p->dims, p->dims);

		w[m] = (float)((power == 2 ? phi * phi : phi) *
			       (*weight != NULL ? (double)(*weight)[m] : 1.0));
	}
	free(*weight);
	*weight = w;
	return 0;
}

static size_t q_bytes(const struct bs_protocol *p)
{
	const struct bs_q_spec s = bs_lsq_q_spec(p);

	return (size_t)bs_q_size(&s) * 8;
}

struct q_job {
	const struct bs_protocol *p;
	const struct bs_tables *tables;
	struct bs_team *team;
	const float *weight; /* weights without the voxel basis; NULL: ones */
};

/* Makes Q by the exact sum, in temporary device memory. weight: with the basis squared, or NULL. */
static int sum_q(const struct bs_protocol *p, const float *k, const float *weight, float *q,
		 struct bs_devmem *mem, const struct bs_exact_cuda_spec *s, struct bs_fail *why)
{
	const size_t n = (size_t)s->samples;
	struct bs_exact_cuda *sum = NULL;
	float *at = (float *)bs_devmem_take(mem, n * s->dims * 4);
	float *w = (float *)bs_devmem_take(mem, n * 4);
	float *out = (float *)bs_devmem_take(mem, q_bytes(p));
	int rc;

	if (at == NULL || w == NULL || out == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': Q", p->name);
	BS_CUDA(cudaMemcpy(at, k, n * s->dims * 4, cudaMemcpyHostToDevice), why);
	if (weight != NULL)
		BS_CUDA(cudaMemcpy(w, weight, n * 4, cudaMemcpyHostToDevice), why);
	rc = bs_exact_cuda_plan(&sum, s, at, weight != NULL ? w : NULL, mem, why);
	if (rc == 0)
		rc = bs_exact_cuda_sum(sum, 0, NULL, 0, out, NULL, why);
	if (rc == 0)
		BS_CUDA_GO(cudaMemcpy(q, out, q_bytes(p), cudaMemcpyDeviceToHost), why, rc, done);
done:
	bs_exact_cuda_close(sum);
	return rc;
}

static struct bs_exact_cuda_spec exact_q(const struct bs_protocol *p)
{
	struct bs_exact_cuda_spec s;

	memset(&s, 0, sizeof(s));
	s.sum = BS_EXACT_Q;
	s.dims = p->dims;
	memcpy(s.matrix, p->matrix, sizeof(s.matrix));
	s.coils = s.states = 1;
	s.samples = bs_protocol_samples(p);
	return s;
}

static int make_exact(void *arg, float *q, struct bs_fail *why)
{
	const struct q_job *j = (const struct q_job *)arg;
	const struct bs_protocol *p = j->p;
	const struct bs_exact_cuda_spec s = exact_q(p);
	struct bs_devmem mem;
	float *weight = NULL;
	uint64_t bytes = 0;
	int rc;

	memset(&mem, 0, sizeof(mem));
	rc = bs_lsq_cuda_weights(&weight, p, j->tables, j->team, 2, why);
	if (rc == 0)
		rc = bs_exact_cuda_need(&s, &bytes, why);
	if (rc == 0)
		rc = bs_devmem_open(&mem,
				    bytes + bs_devmem_round(q_bytes(p)) +
					    bs_devmem_round(s.samples * s.dims * 4) +
					    bs_devmem_round(s.samples * 4),
				    p->name, why);
	if (rc == 0)
		rc = sum_q(p, j->tables->traj->k, weight, q, &mem, &s, why);
	bs_devmem_close(&mem);
	free(weight);
	return rc;
}

static int make_nufft(void *arg, float *q, struct bs_fail *why)
{
	const struct q_job *j = (const struct q_job *)arg;
	const struct bs_q_spec s = bs_lsq_q_spec(j->p);

	return bs_q_cuda_make(q, &s, j->tables->traj->k, j->weight, j->p->name, why);
}

/*
 * Gets Q from the cache or makes it. The cache's key holds the weights without the basis, and the
 * spec, which has the basis.
 */
static int get_q(float *q, struct q_job *j, const struct bs_q_making *how, struct bs_fail *why)
{
	const struct bs_q_spec s = bs_lsq_q_spec(j->p);
	const struct bs_exact_cuda_spec exact = exact_q(j->p);
	const bool nufft = s.sum == BS_SUM_NUFFT;
	struct bs_q_maker maker = { 0, nufft ? make_nufft : make_exact, j };
	int rc = nufft ? bs_q_cuda_rounding(&s, &maker.rounding, why)
		       : bs_exact_cuda_rounding(&exact, &maker.rounding, why);

	return rc != 0 ? rc
		       : bs_qcache_get_by(q, &s, j->tables->traj->k, j->weight, how, &maker, why);
}

/*
 * Gets Q even from a node whose GPU is full or cannot grid this: it arms later, and its log says
 * why.
 */
static int get_q_anyhow(float *q, struct q_job *j, const struct bs_q_making *how,
			struct bs_fail *why)
{
	const struct bs_q_spec s = bs_lsq_q_spec(j->p);
	/* the GPU's failure, which is not the caller's where the host takes over */
	struct bs_fail own;
	int rc;

	memset(&own, 0, sizeof(own));
	rc = get_q(q, j, how, &own);
	if (s.sum != BS_SUM_NUFFT ||
	    (rc != BS_ERR_NOMEM && rc != BS_ERR_UNSUPPORTED && rc != BS_ERR_SIZE))
		return rc != 0 ? bs_fail(why, rc, "%s", own.text) : 0;
	bs_log(BS_LOG_WARN, "protocol '%s': Q by the host, not the GPU: %s", j->p->name, own.text);
	return bs_qcache_get(q, &s, j->tables->traj->k, j->weight, how, why);
}

int bs_lsq_cuda_q(float **q, const struct bs_protocol *p, const struct bs_tables *tables,
		  struct bs_team *team, const char *cache_dir, enum bs_qcache_from *from,
		  struct bs_fail *why)
{
	struct bs_tables with;
	struct q_job job = { p, &with, team, NULL };
	const struct bs_q_making how = { team, NULL, NULL, cache_dir, from };
	float *density = NULL;
	float *weight = NULL;
	int rc = bs_density_cuda_tables(&with, &density, p, tables, team, why);

	*q = NULL;
	if (rc == 0)
		rc = bs_lsq_weights(&weight, p, &with, team, why);
	job.weight = weight;
	if (rc == 0 && !bs_lsq_keeps_q(p)) {
		rc = bs_lsq_q(q, p, &with, weight, &how, why);
	} else if (rc == 0) {
		*q = (float *)malloc(q_bytes(p));
		rc = *q == NULL ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': Q", p->name)
				: get_q_anyhow(*q, &job, &how, why);
	}
	free(weight);
	free(density);
	return rc;
}

/* gpu/toeplitz/q.c - host twin; see q.h */
#include "gpu/toeplitz/q.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/exact/basis.h"
#include "gpu/exact/exact.h"
#include "gpu/nufft/nufft.h"

#define AXIS_MAX 1024u /* the grid is twice as large and must fit what gpu/exact/exact.h accepts */

uint64_t bs_q_size(const struct bs_q_spec *s)
{
	uint64_t n = s->matrix[0];

	for (uint32_t a = 0; a < 3; a++)
		if (s->matrix[a] == 0 || s->matrix[a] > (a < s->dims ? AXIS_MAX : 1))
			return 0;
	if (s->dims != 2 && s->dims != 3)
		return 0;
	n *= 2u * s->matrix[1];
	return s->dims == 3 ? n * 2u * s->matrix[2] : n;
}

/*
 * Copies offsets from a centered image [z][y][x] of size M (offset 0 at M/2) to their places in q.
 */
static void put_q(float *q, const struct bs_q_spec *s, const float *image, const uint32_t M[3])
{
	int N[3] = { (int)s->matrix[0], (int)s->matrix[1], (int)s->matrix[2] };

	memset(q, 0, bs_q_size(s) * 8);
	for (int z = 1 - N[2]; z < N[2]; z++)
		for (int y = 1 - N[1]; y < N[1]; y++) {
			const int32_t n[3] = { 0, y, z };
			size_t from = ((size_t)(z + (int)(M[2] / 2)) * M[1] +
				       (size_t)(y + (int)(M[1] / 2))) *
					      M[0] +
				      M[0] / 2;

			memcpy(q + 2 * bs_q_index(s, n), image + 2 * from, (size_t)N[0] * 8);
		}
}

static int by_exact(float *q, const struct bs_q_spec *s, const float *k, const float *weight,
		    const float *phi, const struct bs_q_making *how, struct bs_fail *why)
{
	struct bs_exact_spec e = { .dims = s->dims,
				   .matrix = { 1, 1, 1 },
				   .coils = 1,
				   .samples = s->samples,
				   .states = 1,
				   .basis = s->basis,
				   .real_data = true };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_exact *plan = NULL;
	uint64_t voxels = 1;
	float *image = NULL;
	int rc;

	for (uint32_t a = 0; a < s->dims; a++) {
		e.matrix[a] = 2 * s->matrix[a] - 1;
		voxels *= e.matrix[a];
	}
	bs_need_add(&need, "Q", 1, voxels * 8);
	rc = bs_exact_need(&e, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	if (rc != 0)
		return rc;
	image = bs_arena_take(&arena, voxels * 8, BS_ALIGN);
	rc = bs_exact_plan(&plan, &e, k, weight, &arena, how->team, why);
	if (rc == 0) {
		bs_exact_progress(plan, how->progress, how->arg);
		bs_exact_adjoint(plan, phi, image);
		put_q(q, s, image, e.matrix);
		bs_exact_close(plan);
	}
	bs_arena_close(&arena);
	return rc;
}

/*
 * Makes the plane x = 0 Hermitian: it holds each offset and its mirror image, which a sum by FFT
 * leaves unlike.
 */
static void mirror(float *q, const struct bs_q_spec *s)
{
	int N[3] = { (int)s->matrix[0], (int)s->matrix[1], (int)s->matrix[2] };

	for (int z = 1 - N[2]; z < N[2]; z++)
		for (int y = 1 - N[1]; y < N[1]; y++) {
			const int32_t n[2][3] = { { 0, y, z }, { 0, -y, -z } };
			float *a = q + 2 * bs_q_index(s, n[0]);
			float *b = q + 2 * bs_q_index(s, n[1]);
			float re = 0.5f * (a[0] + b[0]);
			float im = 0.5f * (a[1] - b[1]);

			a[0] = b[0] = re;
			a[1] = im;
			b[1] = -im; /* at the center a is b, and its imaginary part is 0 */
		}
	q[1] = 0.0f;
}

static int by_nufft(float *q, const struct bs_q_spec *s, const float *k, const float *weight,
		    const float *phi, struct bs_team *team, struct bs_fail *why)
{
	struct bs_nufft_spec f = { .dims = s->dims,
				   .matrix = { 1, 1, 1 },
				   .coils = 1,
				   .samples = s->samples,
				   .states = 1,
				   .accuracy = s->accuracy };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_nufft *plan = NULL;
	uint64_t voxels = 1;
	float *image;
	float *d;
	int rc;

	for (uint32_t a = 0; a < s->dims; a++) {
		f.matrix[a] = 2 * s->matrix[a] - 1;
		voxels *= f.matrix[a];
	}
	bs_need_add(&need, "Q", 1, voxels * 8);
	bs_need_add(&need, "ones", 1, s->samples * 8);
	rc = bs_nufft_need(&f, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	if (rc != 0)
		return rc;
	image = bs_arena_take(&arena, voxels * 8, BS_ALIGN);
	d = bs_arena_take(&arena, s->samples * 8, BS_ALIGN);
	rc = bs_nufft_plan(&plan, &f, k, weight, &arena, team, why);
	if (rc == 0) {
		for (uint64_t m = 0; m < s->samples; m++) {
			d[2 * m] = phi[m] * phi[m];
			d[2 * m + 1] = 0.0f;
		}
		bs_nufft_adjoint(plan, d, image);
		put_q(q, s, image, f.matrix);
		mirror(q, s);
		bs_nufft_close(plan);
	}
	bs_arena_close(&arena);
	return rc;
}

/*
 * Computes phi_m to the first power; the direct sum applies it once more itself, by_nufft squares
 * it.
 */
static void basis_of(float *phi, const struct bs_q_spec *s, const float *k)
{
	for (uint64_t m = 0; m < s->samples; m++)
		phi[m] = s->basis == BS_BASIS_BOX
				 ? (float)bs_basis_box(1.0, k + m * s->dims, s->dims)
				 : 1.0f;
}

int bs_q_make(float *q, const struct bs_q_spec *s, const float *k, const float *weight,
	      const struct bs_q_making *how, struct bs_fail *why)
{
	float *phi;
	int rc;

	if (bs_q_size(s) == 0 || s->samples == 0 || s->samples > UINT64_C(1) << 36)
		return bs_fail(why, BS_ERR_CONFIG, "Q of %ux%ux%u voxels, %llu samples",
			       s->matrix[0], s->matrix[1], s->matrix[2],
			       (unsigned long long)s->samples);
	phi = malloc(s->samples * 4);
	if (phi == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "Q: %llu samples",
			       (unsigned long long)s->samples);
	basis_of(phi, s, k);
	rc = s->sum == BS_SUM_NUFFT ? by_nufft(q, s, k, weight, phi, how->team, why)
				    : by_exact(q, s, k, weight, phi, how, why);
	free(phi);
	return rc;
}

/* gpu/toeplitz/q.c - host twin; see q.h */
#include "gpu/toeplitz/q.h"

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

/*
 * Computes phi_m: to the first power for the direct sum, which applies it once more itself; its
 * square, as complex values, for a sum by FFTs.
 */
static void basis_of(float *phi, const struct bs_q_spec *s, const float *k)
{
	for (uint64_t m = 0; m < s->samples; m++) {
		const float v = s->basis == BS_BASIS_BOX
					? (float)bs_basis_box(1.0, k + m * s->dims, s->dims)
					: 1.0f;

		if (s->sum != BS_SUM_NUFFT) {
			phi[m] = v;
			continue;
		}
		phi[2 * m] = v * v;
		phi[2 * m + 1] = 0.0f;
	}
}

int bs_q_make(float *q, const struct bs_q_spec *s, const float *k, const float *weight,
	      const struct bs_q_making *how, struct bs_fail *why)
{
	const bool by_fft = s->sum == BS_SUM_NUFFT;
	struct bs_exact_spec e = { .dims = s->dims,
				   .matrix = { 1, 1, 1 },
				   .coils = 1,
				   .samples = s->samples,
				   .states = 1,
				   .basis = s->basis,
				   .real_data = true };
	struct bs_nufft_spec f = { .dims = s->dims,
				   .coils = 1,
				   .samples = s->samples,
				   .states = 1,
				   .accuracy = s->accuracy };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_exact *exact = NULL;
	struct bs_nufft *nufft = NULL;
	uint64_t voxels = 1;
	float *image;
	float *phi;
	int rc;

	if (bs_q_size(s) == 0 || s->samples == 0 || s->samples > UINT64_C(1) << 36)
		return bs_fail(why, BS_ERR_CONFIG, "Q of %ux%ux%u voxels, %llu samples",
			       s->matrix[0], s->matrix[1], s->matrix[2],
			       (unsigned long long)s->samples);
	for (uint32_t a = 0; a < s->dims; a++) {
		e.matrix[a] = 2 * s->matrix[a] - 1;
		voxels *= e.matrix[a];
	}
	memcpy(f.matrix, e.matrix, sizeof(f.matrix));
	bs_need_add(&need, "Q", 1, voxels * 8);
	bs_need_add(&need, "basis", 1, s->samples * 8);
	rc = by_fft ? bs_nufft_need(&f, &need, why) : bs_exact_need(&e, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	if (rc != 0)
		return rc;
	image = bs_arena_take(&arena, voxels * 8, BS_ALIGN);
	phi = bs_arena_take(&arena, s->samples * 8, BS_ALIGN);
	basis_of(phi, s, k);
	rc = by_fft ? bs_nufft_plan(&nufft, &f, k, weight, &arena, how->team, why)
		    : bs_exact_plan(&exact, &e, k, weight, &arena, how->team, why);
	if (rc == 0 && by_fft) {
		bs_nufft_adjoint(nufft, phi, image);
		put_q(q, s, image, f.matrix);
		mirror(q, s);
	} else if (rc == 0) {
		bs_exact_progress(exact, how->progress, how->arg);
		bs_exact_adjoint(exact, phi, image);
		put_q(q, s, image, e.matrix);
	}
	bs_nufft_close(nufft);
	bs_exact_close(exact);
	bs_arena_close(&arena);
	return rc;
}

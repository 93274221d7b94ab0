/* gpu/circulant.c - host twin; see circulant.h */
#include "gpu/circulant.h"

#include <fftw3.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/q.h"

struct bs_circulant {
	uint32_t matrix[3];
	uint64_t voxels;
	struct bs_team *team;
	fftwf_plan plane_forward, plane_inverse, lines_forward, lines_inverse;
	float *eigen;   /* of C, FFTW's order */
	float *inverse; /* 1 / (scale eigen + shift) / voxels */
	const float *in;
	float *out;
};

int bs_circulant_need(uint32_t dims, const uint32_t matrix[3], struct bs_need *need,
		      struct bs_fail *why)
{
	struct bs_q_spec s = { .dims = dims, .matrix = { matrix[0], matrix[1], matrix[2] } };

	if (bs_q_size(&s) == 0)
		return bs_fail(why, BS_ERR_CONFIG, "circulant preconditioner of %ux%ux%u", matrix[0],
			       matrix[1], matrix[2]);
	bs_need_add(need, "circulant preconditioner", 2,
		    (uint64_t)matrix[0] * matrix[1] * matrix[2] * 4);
	return 0;
}

/* c(j) on the grid of the image: each of the 2^dims offsets that are the same modulo N. */
static void wrap_q(const struct bs_q_spec *s, const float *q, fftw_complex *c)
{
	const uint32_t *N = s->matrix;

	for (size_t v = 0; v < (size_t)N[0] * N[1] * N[2]; v++) {
		int32_t j[3] = { (int32_t)(v % N[0]), (int32_t)(v / N[0] % N[1]),
				 (int32_t)(v / N[0] / N[1]) };

		c[v][0] = 0.0;
		c[v][1] = 0.0;
		for (uint32_t corner = 0; corner < 8; corner++) {
			double share = 1.0;
			int32_t n[3];
			double sign = 1.0;
			const float *from;

			for (uint32_t a = 0; a < 3; a++) {
				bool wrapped = (corner >> a & 1) != 0;

				n[a] = wrapped ? j[a] - (int32_t)N[a] : j[a];
				share *= (double)(wrapped ? j[a] : (int32_t)N[a] - j[a]) / N[a];
			}
			if (share == 0.0)
				continue;
			if (n[0] < 0) { /* the other half by Hermitian symmetry */
				sign = -1.0;
				for (uint32_t a = 0; a < 3; a++)
					n[a] = -n[a];
			}
			from = q + 2 * bs_q_index(s, n);
			c[v][0] += share * (double)from[0];
			c[v][1] += sign * share * (double)from[1];
		}
	}
}

static int find_eigenvalues(struct bs_circulant *p, const struct bs_q_spec *s, const float *q,
			    struct bs_fail *why)
{
	fftw_complex *c = fftw_malloc(p->voxels * sizeof(*c));
	fftw_plan plan = NULL;

	if (c != NULL)
		plan = fftw_plan_dft_3d((int)p->matrix[2], (int)p->matrix[1], (int)p->matrix[0], c, c,
					FFTW_FORWARD, FFTW_ESTIMATE);
	if (plan == NULL) {
		fftw_free(c);
		return bs_fail(why, BS_ERR_NOMEM, "circulant preconditioner");
	}
	wrap_q(s, q, c);
	fftw_execute(plan);
	for (uint64_t v = 0; v < p->voxels; v++)
		p->eigen[v] = (float)c[v][0];
	fftw_destroy_plan(plan);
	fftw_free(c);
	return 0;
}

/* ESTIMATE: the same plan, and so the same bits, in every process. */
static int make_plans(struct bs_circulant *p, struct bs_fail *why)
{
	int nx = (int)p->matrix[0];
	int ny = (int)p->matrix[1];
	int nz = (int)p->matrix[2];
	unsigned how = FFTW_ESTIMATE | FFTW_UNALIGNED;
	fftwf_complex *a = fftwf_malloc(p->voxels * sizeof(*a));
	fftwf_complex *b = fftwf_malloc(p->voxels * sizeof(*b));

	if (a != NULL && b != NULL) {
		p->plane_forward = fftwf_plan_dft_2d(ny, nx, a, b, FFTW_FORWARD, how);
		p->plane_inverse = fftwf_plan_dft_2d(ny, nx, b, b, FFTW_BACKWARD, how);
		p->lines_forward = fftwf_plan_many_dft(1, &nz, nx, b, NULL, nx * ny, 1, b, NULL, nx * ny,
						       1, FFTW_FORWARD, how);
		p->lines_inverse = fftwf_plan_many_dft(1, &nz, nx, b, NULL, nx * ny, 1, b, NULL, nx * ny,
						       1, FFTW_BACKWARD, how);
	}
	fftwf_free(a);
	fftwf_free(b);
	if (p->plane_forward == NULL || p->plane_inverse == NULL || p->lines_forward == NULL ||
	    p->lines_inverse == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "circulant preconditioner: FFT plans");
	return 0;
}

int bs_circulant_plan(struct bs_circulant **plan, uint32_t dims, const uint32_t matrix[3],
		      const float *q, struct bs_arena *arena, struct bs_team *team,
		      struct bs_fail *why)
{
	struct bs_q_spec s = { .dims = dims, .matrix = { matrix[0], matrix[1], matrix[2] } };
	struct bs_circulant *p = calloc(1, sizeof(*p));
	size_t slot;
	int rc;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "circulant preconditioner");
	memcpy(p->matrix, matrix, sizeof(p->matrix));
	p->voxels = (uint64_t)matrix[0] * matrix[1] * matrix[2];
	p->team = team;
	slot = (size_t)((p->voxels * 4 + BS_ALIGN - 1) & ~((uint64_t)BS_ALIGN - 1));
	p->eigen = bs_arena_take(arena, slot, BS_ALIGN);
	p->inverse = bs_arena_take(arena, slot, BS_ALIGN);
	rc = p->eigen == NULL || p->inverse == NULL ?
		     bs_fail(why, BS_ERR_NOMEM, "circulant preconditioner: the arena is too small") :
		     find_eigenvalues(p, &s, q, why);
	if (rc == 0)
		rc = make_plans(p, why);
	if (rc != 0) {
		bs_circulant_close(p);
		return rc;
	}
	*plan = p;
	return 0;
}

void bs_circulant_close(struct bs_circulant *p)
{
	if (p == NULL)
		return;
	fftwf_destroy_plan(p->plane_forward);
	fftwf_destroy_plan(p->plane_inverse);
	fftwf_destroy_plan(p->lines_forward);
	fftwf_destroy_plan(p->lines_inverse);
	free(p);
}

void bs_circulant_shift(struct bs_circulant *p, double scale, double shift)
{
	double most = 0.0;

	for (uint64_t v = 0; v < p->voxels; v++)
		if (scale * (double)p->eigen[v] + shift > most)
			most = scale * (double)p->eigen[v] + shift;
	for (uint64_t v = 0; v < p->voxels; v++) {
		double e = scale * (double)p->eigen[v] + shift;

		if (e < FLT_EPSILON * most)
			e = FLT_EPSILON * most;
		p->inverse[v] = most > 0.0 ? (float)(1.0 / (e * (double)p->voxels)) : 1.0f;
	}
}

static void plane_forward(void *arg, int z, int member)
{
	const struct bs_circulant *p = arg;
	size_t at = (size_t)z * p->matrix[0] * p->matrix[1] * 2;

	(void)member;
	/* FFTW's interface knows no const; this plan keeps its input */
	fftwf_execute_dft(p->plane_forward, (fftwf_complex *)(uintptr_t)(p->in + at),
			  (fftwf_complex *)(p->out + at));
}

static void lines(void *arg, int y, int member)
{
	const struct bs_circulant *p = arg;
	size_t at = (size_t)y * p->matrix[0];
	size_t plane = (size_t)p->matrix[0] * p->matrix[1];
	fftwf_complex *row = (fftwf_complex *)(p->out + 2 * at);

	(void)member;
	fftwf_execute_dft(p->lines_forward, row, row);
	for (size_t z = 0; z < p->matrix[2]; z++)
		for (size_t x = 0; x < p->matrix[0]; x++) {
			row[z * plane + x][0] *= p->inverse[at + z * plane + x];
			row[z * plane + x][1] *= p->inverse[at + z * plane + x];
		}
	fftwf_execute_dft(p->lines_inverse, row, row);
}

static void plane_inverse(void *arg, int z, int member)
{
	const struct bs_circulant *p = arg;
	fftwf_complex *plane = (fftwf_complex *)(p->out + (size_t)z * p->matrix[0] * p->matrix[1] * 2);

	(void)member;
	fftwf_execute_dft(p->plane_inverse, plane, plane);
}

void bs_circulant_apply(struct bs_circulant *p, const float *in, float *out)
{
	p->in = in;
	p->out = out;
	bs_team_run(p->team, plane_forward, p, (int)p->matrix[2]);
	bs_team_run(p->team, lines, p, (int)p->matrix[1]);
	bs_team_run(p->team, plane_inverse, p, (int)p->matrix[2]);
}

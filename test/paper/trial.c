/* test/paper/trial.c - see trial.h */
#include "test/paper/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tool/phantom/coils.h"
#include "core/random.h"
#include "drivers/tool/written.h"
#include "gpu/nufft/density.h"
#include "test/support/plan/planned.h"

#define PI 3.141592653589793

struct bs_protocol bs_trial_protocol(const char *name, uint32_t contrasts, uint32_t iterations)
{
	struct bs_protocol p = { .method = BS_METHOD_LS,
				 .dims = 3,
				 .coils = 1,
				 .slices = 1,
				 .contrasts = contrasts,
				 .accuracy = 1e-5,
				 .density = BS_DENSITY_PIPE,
				 .density_iterations = 20,
				 .iterations = iterations,
				 .fhd = BS_SUM_NUFFT,
				 .q = BS_SUM_NUFFT };

	(void)snprintf(p.name, sizeof(p.name), "%s", name);
	return planned(p);
}

float *bs_trial_take(size_t values, struct bs_fail *why)
{
	float *at = calloc(values, 2 * sizeof(*at));

	if (at == NULL)
		(void)bs_fail(why, BS_ERR_NOMEM, "no memory for %zu complex values", values);
	return at;
}

struct simulate {
	const struct bs_trial *t;
	const struct bs_phantom *ph;
	const struct bs_coils *one;
	float *data;
};

static void sample_readout(void *arg, int task, int member)
{
	const struct simulate *s = arg;
	size_t first = (size_t)task * s->t->traj.samples;

	(void)member;
	bs_coils_sample(s->one, s->ph, s->t->traj.k + first * s->t->traj.dims, s->t->traj.samples,
			s->data + 2 * first);
}

static int simulate(struct bs_trial *t, uint32_t contrast, struct bs_fail *why)
{
	struct bs_phantom ph;
	struct bs_coils one;
	struct simulate s = { t, &ph, &one, NULL };
	float *image;
	int rc = bs_phantom_make(&ph, t->p.dims, t->p.matrix, 0, 1, contrast, why);

	if (rc == 0)
		rc = bs_coils_make(&one, 1, t->p.dims, t->p.matrix, why);
	if (rc != 0)
		return rc;
	image = t->truth[contrast] = bs_trial_take(t->voxels, why);
	s.data = t->data[contrast] = bs_trial_take(t->samples, why);
	if (image == NULL || s.data == NULL)
		return BS_ERR_NOMEM;
	bs_phantom_image(&ph, t->p.dims > 2 ? 4 : 8, image, t->team);
	for (size_t v = t->voxels; v-- > 0;) { /* real to complex, from the back */
		float value = image[v];

		image[2 * v] = value;
		image[2 * v + 1] = 0.0f;
	}
	bs_team_run(t->team, sample_readout, &s, (int)t->traj.readouts);
	return 0;
}

static int open_gridding(struct bs_trial *t, struct bs_fail *why)
{
	struct bs_nufft_spec spec = { .dims = t->p.dims,
				      .coils = 1,
				      .samples = t->samples,
				      .states = 1,
				      .accuracy = t->p.accuracy };
	struct bs_need need = { 0 };
	int rc;

	memcpy(spec.matrix, t->p.matrix, sizeof(spec.matrix));
	t->weight = malloc(t->samples * sizeof(*t->weight));
	if (t->weight == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for %zu weights", t->samples);
	rc = bs_density(t->weight, &t->p, &t->traj, NULL, t->team, why);
	if (rc == 0)
		rc = bs_nufft_need(&spec, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&t->arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_nufft_plan(&t->nufft, &spec, t->traj.k, t->weight, &t->arena, t->team, why);
	return rc;
}

int bs_trial_open(struct bs_trial *t, const struct bs_protocol *p, struct bs_team *team,
		  struct bs_fail *why)
{
	int rc;

	memset(t, 0, sizeof(*t));
	t->p = *p;
	t->team = team;
	t->voxels = (size_t)bs_protocol_voxels(p);
	t->samples = (size_t)bs_protocol_samples(p);
	rc = bs_traj_make(&t->traj, p, why);
	for (uint32_t c = 0; rc == 0 && c < p->contrasts; c++)
		rc = simulate(t, c, why);
	if (rc == 0)
		rc = open_gridding(t, why);
	if (rc != 0) {
		bs_trial_close(t);
		return rc;
	}
	for (size_t v = 0; v < 2 * t->voxels; v++)
		t->energy += (double)t->truth[0][v] * t->truth[0][v];
	return 0;
}

void bs_trial_close(struct bs_trial *t)
{
	if (t->nufft)
		bs_nufft_close(t->nufft);
	bs_arena_close(&t->arena);
	bs_traj_close(&t->traj);
	for (uint32_t c = 0; c < BS_PHANTOM_CONTRASTS; c++) {
		free(t->truth[c]);
		free(t->data[c]);
	}
	free(t->weight);
	memset(t, 0, sizeof(*t));
}

void bs_trial_noisy(const struct bs_trial *t, const float *data, double sigma, uint64_t seed,
		    float *out)
{
	struct bs_random random;

	bs_random_seed(&random, seed);
	for (size_t m = 0; m < t->samples; m++) {
		double z[2];

		bs_random_normal(&random, z);
		for (size_t i = 0; i < 2; i++)
			out[2 * m + i] =
				(float)(sigma * sqrt(0.5) * z[i] + (data ? data[2 * m + i] : 0.0f));
	}
}

void bs_trial_grid(struct bs_trial *t, const float *data, float *image)
{
	bs_nufft_adjoint(t->nufft, data, image);
}

struct bs_comparison bs_trial_error(const struct bs_trial *t, const float *image,
				    const float *truth)
{
	struct bs_comparison c;

	memset(&c, 0, sizeof(c));
	if (bs_compare(&c, image, truth, NULL, t->voxels, NULL) != 0) {
		c.scaled.nrmse = c.unscaled.nrmse = NAN;
		c.scaled.psnr_db = c.unscaled.psnr_db = NAN;
	}
	return c;
}

/* One line of n values, `stride` apart, convolved around its ends with an even real kernel. */
static void cut_line(const double *kernel, uint32_t n, size_t stride, float *line)
{
	float in[2 * BS_AXIS_MAX];

	for (size_t i = 0; i < n; i++)
		memcpy(in + 2 * i, line + 2 * i * stride, 2 * sizeof(float));
	for (size_t i = 0; i < n; i++) {
		double re = 0.0;
		double im = 0.0;

		for (size_t j = 0; j < n; j++) {
			double w = kernel[i > j ? i - j : j - i];

			re += w * (double)in[2 * j];
			im += w * (double)in[2 * j + 1];
		}
		line[2 * i * stride] = (float)re;
		line[2 * i * stride + 1] = (float)im;
	}
}

void bs_trial_cut(const struct bs_trial *t, double reach, float *out)
{
	double kernel[BS_AXIS_MAX];
	size_t stride = 1;

	memcpy(out, t->truth[0], t->voxels * 2 * sizeof(float));
	for (uint32_t a = 0; a < t->p.dims; a++) {
		uint32_t n = t->p.matrix[a];
		int most = (int)floor(reach * n);

		for (uint32_t d = 0; d < n; d++) {
			kernel[d] = 1.0 / n;
			for (int k = 1; k <= most; k++)
				kernel[d] += 2.0 * cos(2.0 * PI * k * d / n) / n;
		}
		for (size_t v = 0; v < t->voxels; v += stride * n)
			for (size_t i = 0; i < stride; i++)
				cut_line(kernel, n, stride, out + 2 * (v + i));
		stride *= n;
	}
}

/* Gridding is linear: image(sigma) = clean + sigma x noise, so two transforms serve the search. */
int bs_trial_noise_for(struct bs_trial *t, double percent, uint64_t seed, double *sigma,
		       struct bs_fail *why)
{
	float *clean = bs_trial_take(t->voxels, why);
	float *noise = bs_trial_take(t->voxels, why);
	float *sum = bs_trial_take(t->voxels, why);
	float *data = bs_trial_take(t->samples, why);
	double lo = 0.0;
	double hi = 100.0 * sqrt(t->energy); /* snr 0.01 */
	int rc = clean && noise && sum && data ? 0 : BS_ERR_NOMEM;

	if (rc == 0) {
		bs_trial_grid(t, t->data[0], clean);
		bs_trial_noisy(t, NULL, 1.0, seed, data);
		bs_trial_grid(t, data, noise);
		for (int i = 0; i < 40; i++) {
			double mid = 0.5 * (lo + hi);

			for (size_t v = 0; v < 2 * t->voxels; v++)
				sum[v] = (float)(clean[v] + mid * noise[v]);
			if (100.0 * bs_trial_error(t, sum, t->truth[0]).scaled.nrmse < percent)
				lo = mid;
			else
				hi = mid;
		}
		*sigma = lo;
	}
	free(clean);
	free(noise);
	free(sum);
	free(data);
	return rc;
}

int bs_trial_picture(const struct bs_trial *t, const char *path, const char *title,
		     const float *const *images, uint32_t count, uint32_t z, double top,
		     struct bs_fail *why)
{
	size_t plane = (size_t)t->p.matrix[0] * t->p.matrix[1];
	float *v = bs_trial_take(plane * count, why);
	struct bs_montage m;
	int rc;

	if (v == NULL)
		return BS_ERR_NOMEM;
	for (uint32_t i = 0; i < count; i++)
		memcpy(v + 2 * plane * i, images[i] + 2 * plane * z, plane * 2 * sizeof(*v));
	rc = bs_montage_make(&m, v, true, t->p.matrix[0], t->p.matrix[1], count, why);
	if (rc == 0)
		rc = bs_montage_arrange(&m, count, why);
	m.window = top;
	if (rc == 0)
		rc = bs_pngfile_save(path, &m, title, why);
	free(v);
	return rc;
}

/*
 * test/unit/gpu/test_nufft_vectors.c - the host NUFFT against independent vectors: NFFT's tests
 * (data/README.md), 64 digits, 1 to 3 dimensions
 */
#define _GNU_SOURCE /* M_PI */
#include <unistd.h>

#include "test/support/nufft_exact.h"

static int read_vector(const char *path, struct bs_nufft_spec *s, float **k, float **image,
		       float **data)
{
	FILE *f = fopen(path, "r");
	double v;
	size_t voxels = 1;

	if (f == NULL || fscanf(f, "%u", &s->dims) != 1 || s->dims < 1 || s->dims > 3) {
		if (f != NULL)
			(void)fclose(f);
		return -1;
	}
	for (uint32_t a = 0; a < 3; a++)
		s->matrix[a] = 1;
	for (uint32_t a = 0; a < s->dims; a++) { /* their last index is the fastest */
		if (fscanf(f, "%u", &s->matrix[s->dims - 1 - a]) != 1)
			s->matrix[0] = 0;
		voxels *= s->matrix[s->dims - 1 - a];
	}
	int got = fscanf(f, "%lu", &s->samples) == 1;

	*k = calloc(s->samples * s->dims + 1, sizeof(float));
	*image = calloc(2 * voxels + 1, sizeof(float));
	*data = calloc(2 * s->samples + 1, sizeof(float));
	for (uint64_t i = 0; got && i < s->samples * s->dims; i++) {
		got = fscanf(f, "%lf", &v) == 1;
		(*k)[i / s->dims * s->dims + s->dims - 1 - i % s->dims] = (float)v;
	}
	for (size_t i = 0; got && i < 2 * voxels; i++) {
		got = fscanf(f, "%lf", &v) == 1;
		(*image)[i] = (float)v;
	}
	for (uint64_t i = 0; got && i < 2 * s->samples; i++) {
		got = fscanf(f, "%lf", &v) == 1;
		(*data)[i] = (float)v;
	}
	(void)fclose(f);
	return got ? 0 : -1;
}

static void vectors(void)
{
	static const uint32_t n1[] = { 1, 2, 4, 10, 20, 50 };
	static const uint32_t m1[] = { 1, 10, 20, 50 };
	const char *folder = getenv("DATA");
	char name[64];
	char path[512];
	int files = 0;
	double worst = 0.0;

	for (int i = 0; i < 2 * (24 + 8 + 1); i++) {
		struct bs_nufft_spec s = { .coils = 1, .states = 1, .accuracy = 1e-6 };
		float *k, *image, *data, *got;
		struct bench b;
		int j = i / 2;
		int adjoint = i % 2;

		if (j < 24)
			(void)snprintf(name, sizeof(name), "1d_%u_%u", n1[j / 4], m1[j % 4]);
		else if (j < 32)
			(void)snprintf(name, sizeof(name), "2d_%u_%u_%u", j & 1 ? 20u : 10u,
				       j & 2 ? 20u : 10u, j & 4 ? 50u : 20u);
		else
			(void)snprintf(name, sizeof(name), "3d_10_10_10_10");
		(void)snprintf(path, sizeof(path), "%s/nfft_ref/tests/data/nfft_%s%s.txt",
			       folder != NULL ? folder : "", adjoint ? "adjoint_" : "", name);
		if (folder == NULL || access(path, R_OK) != 0) {
			SKIP("independent vectors: no %s (set DATA)", path);
			return;
		}
		if (read_vector(path, &s, &k, &image, &data) != 0 ||
		    open_plan(&b, &s, k, NULL, team) != 0) {
			CHECK(0, "%s is read", path);
			return;
		}
		got = malloc((b.image_floats + b.data_floats) * sizeof(float));
		if (adjoint)
			bs_nufft_adjoint(b.plan, data, got);
		else
			bs_nufft_forward(b.plan, image, got);
		double e = adjoint ? check_rel(got, image, b.image_floats)
				   : check_rel(got, data, b.data_floats);

		worst = fmax(worst, e);
		if (!(e <= 5e-6))
			CHECK(0, "independent vector %s%s: %.1e", adjoint ? "adjoint " : "", name,
			      e);
		files++;
		close_plan(&b);
		free(k);
		free(image);
		free(data);
		free(got);
	}
	CHECK(files == 66 && worst <= 5e-6, "%d independent vectors, worst %.1e <= 5e-6", files,
	      worst);
}

int main(void)
{
	if (bs_team_open(&team, 2, NULL) != 0)
		return 1;
	vectors();
	bs_team_close(team);
	return check_done();
}

/*
 * test/replay/brain_sense.c - CG-SENSE of a real brain (3D stack of spirals, 4 coils) against exact
 * sums
 *
 * References (DATA/README.md): brain3d_fhd_coils, F^H d of each coil; brain3d_cgsense_l0.1_i30, 30
 * steps of conjugate gradients at lambda 0.1, both by direct sums in double precision. Bounds:
 * F^H d 1e-5; image 1e-3 with exact sums, 2e-3 by NUFFT at 1e-5; residual of the data 0.0694.
 */
#include <string.h>

#include "core/thread/clock.h"
#include "drivers/file/cfl.h"
#include "drivers/source/recording.h"
#include "gpu/exact/exact.h"
#include "gpu/solve/ls.h"
#include "gpu/nufft/nufft.h"
#include "gpu/toeplitz/q.h"
#include "test/support/check.h"

enum { X = 64, Y = 64, Z = 16, COILS = 4 };
#define VOXELS ((size_t)X * Y * Z)
#define LAMBDA 0.1
#define STEPS  30

struct scan {
	uint64_t samples; /* of all readouts */
	float *k, *data;  /* [sample][3]; [coil][sample] complex */
};

static struct bs_team *team;
static struct bs_cfl maps, fhd_ref, image_ref;

static bool read_scan(struct scan *s, const char *folder)
{
	struct bs_recording *r;
	struct bs_recorded a;
	struct bs_fail why = { 0 };
	char path[512];
	uint64_t each = 0;
	uint32_t n;

	(void)snprintf(path, sizeof(path), "%s/brain3d_sos_4ch.h5", folder);
	if (bs_recording_open(&r, path, &why) != 0) {
		SKIP("brain: %s", why.text);
		return false;
	}
	n = bs_recording_count(r);
	for (uint32_t i = 0; i < n; i++) {
		if (bs_recording_read(r, i, &a, &why) != 0 || a.head.active_channels != COILS ||
		    a.head.trajectory_dimensions != 3 ||
		    (i > 0 && a.head.number_of_samples != each)) {
			CHECK(0, "readout %u: %s", i, why.text);
			return false;
		}
		if (i == 0) {
			each = a.head.number_of_samples;
			s->samples = each * n;
			s->k = malloc(s->samples * 12);
			s->data = malloc(s->samples * COILS * 8);
		}
		memcpy(s->k + i * each * 3, a.traj, each * 12);
		for (uint32_t c = 0; c < COILS; c++)
			memcpy(s->data + 2 * (c * s->samples + i * each), a.data + 2 * c * each,
			       each * 8);
	}
	return bs_recording_close(r, &why) == 0;
}

static bool read_cfl(struct bs_cfl *c, const char *folder, const char *name, size_t values)
{
	struct bs_fail why = { 0 };
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/ref/%s.cfl", folder, name);
	if (bs_cfl_read(c, path, &why) != 0) {
		SKIP("brain: %s", why.text);
		return false;
	}
	CHECK(c->size == values, "%s holds %zu values", name, values);
	return c->size == values;
}

/* F^H d of all coils by the direct sum. */
static void sum(const struct scan *s, float *fhd)
{
	struct bs_exact_spec spec = {
		.dims = 3, .matrix = { X, Y, Z }, .coils = COILS, .samples = s->samples, .states = 1
	};
	struct bs_need need = { 0 };
	struct bs_arena arena;
	struct bs_exact *plan = NULL;
	struct bs_fail why = { 0 };

	if (bs_exact_need(&spec, &need, &why) != 0 ||
	    bs_arena_open(&arena, need.total_bytes, &why) != 0 ||
	    bs_exact_plan(&plan, &spec, s->k, NULL, &arena, team, &why) != 0) {
		CHECK(0, "exact sums: %s", why.text);
		return;
	}
	bs_exact_adjoint(plan, s->data, fhd);
	bs_exact_close(plan);
	bs_arena_close(&arena);
}

/* ||F S_c x - d_c|| / ||d|| */
static double residual_of(struct bs_nufft *plan, const struct scan *s, const float *x)
{
	float *coils = malloc(VOXELS * COILS * 8);
	float *d = malloc(s->samples * COILS * 8);
	double residual;

	for (size_t i = 0; i < VOXELS * COILS; i++) {
		const float *m = maps.data + 2 * i;
		const float *v = x + 2 * (i % VOXELS);

		coils[2 * i] = m[0] * v[0] - m[1] * v[1];
		coils[2 * i + 1] = m[0] * v[1] + m[1] * v[0];
	}
	bs_nufft_forward(plan, coils, d);
	residual = check_rel(d, s->data, s->samples * COILS * 2);
	free(coils);
	free(d);
	return residual;
}

/* F^H d of all coils by the NUFFT; or, of an image x, the residual of the data. */
static double nufft(const struct scan *s, double accuracy, float *fhd, const float *x)
{
	struct bs_nufft_spec spec = { .dims = 3,
				      .matrix = { X, Y, Z },
				      .coils = COILS,
				      .samples = s->samples,
				      .states = 1,
				      .accuracy = accuracy };
	struct bs_need need = { 0 };
	struct bs_arena arena;
	struct bs_nufft *plan = NULL;
	struct bs_fail why = { 0 };
	double residual = 0.0;

	if (bs_nufft_need(&spec, &need, &why) != 0 ||
	    bs_arena_open(&arena, need.total_bytes, &why) != 0 ||
	    bs_nufft_plan(&plan, &spec, s->k, NULL, &arena, team, "", &why) != 0) {
		CHECK(0, "NUFFT: %s", why.text);
		return 1.0;
	}
	if (x != NULL)
		residual = residual_of(plan, s, x);
	else
		bs_nufft_adjoint(plan, s->data, fhd);
	bs_nufft_close(plan);
	bs_arena_close(&arena);
	return residual;
}

static void sense(const struct scan *s, enum bs_sum sum, const float *fhd, float *x)
{
	struct bs_q_spec qs = { 3, { X, Y, Z }, s->samples, BS_BASIS_DELTA, sum, 1e-5 };
	struct bs_ls_spec spec = { .dims = 3,
				   .matrix = { X, Y, Z },
				   .coils = COILS,
				   .sets = 1,
				   .precond = BS_PRECOND_NONE,
				   .iterations = STEPS,
				   .lambda = LAMBDA };
	struct bs_pcg_stop stop = { STEPS, 0.0, INT64_MAX };
	struct bs_pcg_result result = { 0 };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_ls *plan = NULL;
	struct bs_fail why = { 0 };
	float *q = malloc(bs_q_size(&qs) * 8);
	int64_t start_ns = bs_now_ns();
	int64_t made_ns;
	int rc = bs_q_make(q, &qs, s->k, NULL, team, NULL, NULL, &why);

	made_ns = bs_now_ns();
	if (rc == 0)
		rc = bs_ls_need(&spec, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_ls_plan(&plan, &spec, q, maps.data, NULL, &arena, team, &why);
	CHECK(rc == 0, "least squares %s", why.text);
	if (rc == 0) {
		int64_t solve_ns = bs_now_ns();

		bs_ls_solve(plan, fhd, x, &stop, &result);
		printf("# Q %.0f ms, %u steps %.0f ms, relative residual %.2e\n",
		       (double)(made_ns - start_ns) * 1e-6, result.iterations,
		       (double)(bs_now_ns() - solve_ns) * 1e-6, result.residual);
		CHECK(result.iterations == STEPS, "%d steps", STEPS);
		bs_ls_close(plan);
	}
	bs_arena_close(&arena);
	free(q);
}

static void write_image(const float *x)
{
	const char *folder = getenv("BRAIN_OUT"); /* for looking at */
	const uint64_t dims[BS_CFL_DIMS] = { X, Y, Z, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	char path[512];

	if (folder == NULL)
		return;
	(void)snprintf(path, sizeof(path), "%s/brain_sense", folder);
	(void)bs_cfl_write(path, dims, x, NULL);
}

/* By exact sums, minutes under a sanitizer: gpu/exact has tests of its own there. */
static void exact(const struct scan *s, float *fhd, float *x)
{
	double e;

	sum(s, fhd);
	for (size_t c = 0; c < COILS; c++) {
		e = check_rel(fhd + 2 * c * VOXELS, fhd_ref.data + 2 * c * VOXELS, VOXELS * 2);
		CHECK(e <= 1e-5, "exact F^H d, coil %zu: %.1e <= 1e-5", c, e);
	}
	sense(s, BS_SUM_EXACT, fhd, x);
	e = check_rel(x, image_ref.data, VOXELS * 2);
	CHECK(e <= 1e-3, "exact F^H d and Q: image %.1e <= 1e-3", e);
	e = nufft(s, 1e-6, NULL, x);
	CHECK(e <= 0.0694, "residual of the data: %.5f <= 0.0694", e);
}

int main(void)
{
	const char *folder = getenv("DATA");
	struct scan s = { 0 };
	float *fhd = malloc(VOXELS * COILS * 8);
	float *x = malloc(VOXELS * 8);
	double e;

	if (folder == NULL) {
		SKIP("brain: no folder of recordings (DATA)");
		return 0;
	}
	if (!read_scan(&s, folder) || !read_cfl(&maps, folder, "brain3d_maps", VOXELS * COILS) ||
	    !read_cfl(&fhd_ref, folder, "brain3d_fhd_coils", VOXELS * COILS) ||
	    !read_cfl(&image_ref, folder, "brain3d_cgsense_l0.1_i30", VOXELS))
		return check_done();
	(void)bs_team_open(&team, 2, NULL);
	if (CHECK_SANITIZED)
		SKIP("exact sums take minutes under a sanitizer");
	else
		exact(&s, fhd, x);
	(void)nufft(&s, 1e-5, fhd, NULL);
	e = check_rel(fhd, fhd_ref.data, VOXELS * COILS * 2);
	CHECK(e <= 1e-5, "NUFFT's F^H d at 1e-5: %.1e", e);
	sense(&s, BS_SUM_NUFFT, fhd, x);
	e = check_rel(x, image_ref.data, VOXELS * 2);
	CHECK(e <= 2e-3, "F^H d and Q by NUFFT at 1e-5: image %.1e <= 2e-3", e);
	write_image(x);
	bs_team_close(team);
	bs_cfl_free(&maps);
	bs_cfl_free(&fhd_ref);
	bs_cfl_free(&image_ref);
	free(s.k);
	free(s.data);
	free(fhd);
	free(x);
	return check_done();
}

/*
 * test/twin/nufft/twin_nufft_places.c - CUDA gridding keeps the accuracy that was asked for at
 * each voxel and each sample, by default and in each width of its window; asking for more never
 * gives less
 *
 * Bound: the accuracy itself, as in test/unit/gpu/test_nufft_places.c; at 1e-6, which the device's
 * transforms in single precision do not always allow, what the plan says instead (at most 2e-6).
 */
#define _GNU_SOURCE /* M_PI */
#include "test/support/check.h"
#include <cuda_runtime_api.h>

#include "gpu/nufft/cuda/choice.h"
#include "gpu/nufft/cuda/tune.h"
#include "gpu/nufft/nufft_cuda.h"
#include "test/support/places.h"
#include "test/twin/device.h"

struct plan {
	struct bs_devmem mem;
	struct bs_nufft_cuda *cuda;
	float *side[2]; /* device: data, image */
	size_t floats[2];
};

static int run(void *arg, int adjoint, const float *from, float *to)
{
	struct plan *p = arg;
	struct bs_fail why;
	int rc = cudaMemcpy(p->side[1 - adjoint], from, p->floats[1 - adjoint] * 4,
			    cudaMemcpyHostToDevice) != cudaSuccess;

	if (rc == 0)
		rc = adjoint ? bs_nufft_cuda_adjoint(p->cuda, p->side[0], p->side[1], NULL, &why)
			     : bs_nufft_cuda_forward(p->cuda, p->side[1], p->side[0], NULL, &why);
	return rc != 0 || !fetch(to, p->side[adjoint], p->floats[adjoint]);
}

static int measure(const struct places *p, double accuracy, const struct bs_tune *tune,
		   struct places_error *e, struct bs_nufft_info *info, double *said)
{
	const struct bs_nufft_spec s = { .dims = p->t.dims,
					 .matrix = { p->t.n[0], p->t.n[1], p->t.n[2] },
					 .coils = p->t.coils,
					 .samples = p->t.samples,
					 .states = 1,
					 .accuracy = accuracy,
					 .tune = tune };
	struct plan plan = { .floats = { p->floats[0], p->floats[1] } };
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	int rc;

	*said = bs_nufft_cuda_accuracy(&s);
	for (int i = 0; i < 2; i++)
		bs_need_add(&need, "side", 1, bs_devmem_round(p->floats[i] * 4));
	rc = bs_nufft_cuda_need(&s, &need, &why);
	if (rc == 0)
		rc = bs_devmem_open(&plan.mem, need.total_bytes, "places", &why);
	for (int i = 0; rc == 0 && i < 2; i++)
		plan.side[i] = bs_devmem_take(&plan.mem, p->floats[i] * 4);
	if (rc == 0)
		rc = bs_nufft_cuda_plan(&plan.cuda, &s, p->k, NULL, &plan.mem, &why);
	if (rc == 0) {
		bs_nufft_cuda_info(plan.cuda, info);
		rc = places_measure(p, run, &plan, e);
	}
	bs_nufft_cuda_close(plan.cuda);
	bs_devmem_close(&plan.mem);
	if (rc != 0 && tune == NULL)
		printf("# %s\n", why.text);
	return rc;
}

static double one(const struct places *p, int digits, const struct bs_tune *tune)
{
	const double accuracy = pow(10.0, -digits);
	struct places_error e = { 0 };
	struct bs_nufft_info info = { 0 };
	double said = 0.0;
	const int rc = measure(p, accuracy, tune, &e, &info, &said);
	const double bound = digits < 6 ? accuracy : fmin(fmax(said, accuracy), 2e-6);
	const double most = places_most(&e);

	if (rc == BS_ERR_UNSUPPORTED && tune != NULL)
		return 0.0; /* such a width does not reach that */
	CHECK(rc == 0 && said > 0.0 && places_over(p, &e, bound, &info) <= 1.0,
	      "%s %ux%ux%u, %u coils, 1e-%d (said %.1e, width %g, grid %u x %u x %u): worst "
	      "%.1e and %.1e of white data, %.1e and %.1e of a phantom (l2 %.1e, %.1e), "
	      "%.1e and %.1e of a point",
	      places_path_name[p->t.path], p->t.n[0], p->t.n[1], p->t.n[2], p->t.coils, digits,
	      said, info.width, info.grid[0], info.grid[1], info.grid[2], e.most[PLACES_WHITE][1],
	      e.most[PLACES_WHITE][0], e.most[PLACES_PHANTOM][1], e.most[PLACES_PHANTOM][0],
	      e.l2[1], e.l2[0], e.most[PLACES_POINT][1], e.most[PLACES_POINT][0]);
	return most;
}

static void all(void)
{
	uint64_t seed = 88172645463325252u;

	for (size_t i = 0; i < sizeof(places_trials) / sizeof(places_trials[0]); i++) {
		struct places p;
		double before = INFINITY;

		places_open(&p, &places_trials[i], &seed);
		for (int digits = 2; digits <= 6; digits++) {
			const double most = one(&p, digits, NULL);

			CHECK(most < before, "asking for 1e-%d gives no less than asking for 1e-%d",
			      digits, digits - 1);
			before = most;
			for (uint32_t taps = 4; taps <= 8; taps++) {
				struct bs_tune tune = { 0 };

				tune.v[BS_NUFFT_TAPS] = taps;
				(void)one(&p, digits, &tune);
			}
		}
		places_close(&p);
	}
}

int main(void)
{
	return twin_main("CUDA gridding at every place", 0, all);
}

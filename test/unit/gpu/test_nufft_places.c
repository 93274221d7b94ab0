/*
 * test/unit/gpu/test_nufft_places.c - the host NUFFT keeps the accuracy that was asked for
 * everywhere in the image, and asking for more never gives less
 *
 * Bound: the accuracy itself (window.h says of what); at 1e-6, which single precision does not
 * always allow in 3D, what the plan says that it has, which is less than a third off.
 */
#define _GNU_SOURCE /* M_PI */
#include "test/support/places.h"

#include "core/thread/team.h"

static struct bs_team *team;

static int run(void *arg, int adjoint, const float *from, float *to)
{
	(adjoint ? bs_nufft_adjoint : bs_nufft_forward)(arg, from, to);
	return 0;
}

static int measure(const struct places *p, double accuracy, struct places_error *e,
		   struct bs_nufft_info *info, double *said)
{
	struct bs_nufft_spec s = { .dims = p->t.dims,
				   .matrix = { p->t.n[0], p->t.n[1], p->t.n[2] },
				   .coils = p->t.coils,
				   .samples = p->t.samples,
				   .accuracy = accuracy };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_nufft *plan = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_nufft_need(&s, &need, &why);

	*said = bs_nufft_accuracy(&s);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_nufft_plan(&plan, &s, p->k, NULL, &arena, team, &why);
	if (rc == 0) {
		bs_nufft_info(plan, info);
		rc = places_measure(p, run, plan, e);
	} else {
		printf("# %s\n", why.text);
	}
	bs_nufft_close(plan);
	bs_arena_close(&arena);
	return rc;
}

int main(void)
{
	uint64_t seed = 88172645463325252u;

	if (bs_team_open(&team, 2, NULL) != 0)
		return 1;
	for (size_t i = 0; i < sizeof(places_trials) / sizeof(places_trials[0]); i++) {
		const struct places_trial *t = &places_trials[i];
		struct places p;
		double before = INFINITY;

		places_open(&p, t, &seed);
		for (int digits = 2; digits <= 6; digits++) {
			const double accuracy = pow(10.0, -digits);
			struct places_error e = { 0 };
			struct bs_nufft_info info = { 0 };
			double said = 0.0;
			const int rc = measure(&p, accuracy, &e, &info, &said);
			const double most = places_most(&e);

			CHECK(rc == 0 && said > 0.0 &&
				      places_over(&p, &e, fmax(accuracy, said), &info) <= 1.0 &&
				      said <= (digits < 6 ? accuracy : 1.3e-6),
			      "%s %ux%ux%u, %u coils, 1e-%d (width %g, grid %u x %u x %u): worst "
			      "%.1e and %.1e of white data, %.1e and %.1e of a phantom (l2 "
			      "%.1e, %.1e), %.1e and %.1e of a point",
			      places_path_name[t->path], t->n[0], t->n[1], t->n[2], t->coils,
			      digits, info.width, info.grid[0], info.grid[1], info.grid[2],
			      e.most[PLACES_WHITE][1], e.most[PLACES_WHITE][0],
			      e.most[PLACES_PHANTOM][1], e.most[PLACES_PHANTOM][0], e.l2[1],
			      e.l2[0], e.most[PLACES_POINT][1], e.most[PLACES_POINT][0]);
			CHECK(most < before, "asking for 1e-%d gives no less than asking for 1e-%d",
			      digits, digits - 1);
			before = most;
		}
		places_close(&p);
	}
	bs_team_close(team);
	return check_done();
}

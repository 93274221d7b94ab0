/*
 * test/bench/tune.c - bench tune: every variant of the GPU's operators, timed, and the best
 *
 * The sizes are those of the project's speed demand; reference: the most that it allows.
 */
#include "test/bench/bench.h"

#if BS_GPU
#include "board/tool/command/tuning.h"
#include "gpu/nufft/cuda/tune.h"
#include "test/bench/gpu.h"
#include "test/bench/inputs.h"

#define SECONDS 5.0 /* on a row, for each of --seconds */

static void show(struct bs_bench *b, const char *name, const struct bs_tuning *t, double allowed_ms,
		 const char *first, const char *second)
{
	const struct bs_tune_trial *best = &t->trial[t->best];
	struct bs_bench_row out = { .name = name, .reference_ms = allowed_ms };
	char words[BS_TUNE_TEXT];
	char detail[BS_TUNE_TEXT + 96];

	(void)bs_tune_text(words, t->kind, &best->tune);
	(void)snprintf(detail, sizeof(detail), "%s; %s %.4f; without choices %.4f, %.4f", words,
		       second, best->ms[1], t->trial[0].ms[0], t->trial[0].ms[1]);
	out.median_ms = out.min_ms = best->ms[0];
	out.n = 15;
	out.detail = detail;
	bs_bench_write(b, &out);
	bs_tuning_print(t, "", first, second);
}

static int gridding(struct bs_bench *b, const struct bs_bench_case *c, struct bs_tuning *t,
		    struct bs_fail *why)
{
	const struct bs_bench_size *size = &bs_bench_sizes[c->shape];
	const struct bs_nufft_spec spec = bs_bench_nufft_spec(size, c->coils);
	struct bs_traj traj = { 0 };
	char name[64];
	int rc;

	(void)snprintf(name, sizeof(name), "gpu tune %s %u coil%s", size->name, c->coils,
		       c->coils > 1 ? "s" : "");
	if (!bs_bench_wanted(b, name))
		return 0;
	rc = bs_bench_traj(&traj, size, why);
	if (rc == 0)
		rc = bs_nufft_tuned(t, &spec, traj.k, "",
				    SECONDS * b->seconds * (spec.samples > 5000000 ? 4.0 : 1.0),
				    why);
	bs_traj_close(&traj);
	if (rc != 0) {
		(void)printf("%-34s %s\n", name, why->text);
		return 1;
	}
	show(b, name, t, c->adjoint_ms, "adjoint", "forward");
	if (c->forward_ms > 0.0)
		(void)printf("%-24s forward %.4f ms, at most %.3f\n", "", t->trial[t->best].ms[1],
			     c->forward_ms);
	return 0;
}

static int wanted(void *arg, const char *name)
{
	return bs_bench_wanted(arg, name);
}

static void exact_row(void *arg, const struct bs_gpu_row *r)
{
	struct bs_bench_row out = {
		.name = r->name, .median_ms = r->seen.median_ms, .min_ms = r->min_ms, .n = r->n
	};
	char detail[160];

	(void)snprintf(detail, sizeof(detail), "%s, floor %.2f, error %.1e", r->detail, r->floor_ms,
		       r->seen.error);
	out.detail = detail;
	bs_bench_write(arg, &out);
}

static int exact(struct bs_bench *b, struct bs_fail *why)
{
	if (bs_bench_gpu_exact(wanted, exact_row, b, why) == 0)
		return 0;
	(void)printf("%-34s %s\n", "gpu tune exact", why->text);
	return 1;
}

int bs_bench_tune(struct bs_bench *b)
{
	static struct bs_tuning t;
	struct bs_fail why = { 0 };
	int failed = 0;

	for (size_t i = 0; i < BS_BENCH_CASES; i++)
		failed |= gridding(b, &bs_bench_cases[i], &t, &why);
	return exact(b, &why) | failed;
}
#else
int bs_bench_tune(struct bs_bench *b)
{
	(void)b;
	(void)printf("built with GPU=0\n");
	return 0;
}
#endif

/*
 * test/twin/twin_slice.c - bands separated on the device and on the host, with the same weights;
 * the same bytes every run. The time of a volume is printed.
 *
 * Bound 1e-5, relative: sums of at most a thousand products in float, in another order: eps sqrt(n)
 * is 2e-6.
 */
#include "test/support/check.h"

#include "core/thread/team.h"
#include "gpu/grappa/slice_cuda.h"
#include "test/twin/device.h"
#include "test/twin/timing.h"

#define RUNS 20

struct trial {
	struct bs_slice_spec s;
	uint32_t measured; /* every so many lines, but for the first ones */
	uint32_t late;     /* number of the first ones (a partial Fourier acquisition) */
	bool wrapped, timed;
};

static uint64_t seed = 3204;

/* What is queued for the time of a volume. */
struct volume {
	const struct bs_slice_spec *s;
	struct bs_slice_cuda *plan;
	const float *folded;
	float *out;
	cudaStream_t stream;
};

static int queue_volume(void *arg)
{
	struct volume *v = arg;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < v->s->groups * v->s->bands; i++)
		rc = bs_slice_cuda_apply(v->plan, i / v->s->bands, i % v->s->bands, v->folded,
					 false, v->out, v->stream, NULL);
	return rc;
}

/* The host's weights and bands, and the device's bands. */
static void compare(const struct trial *t, const struct bs_slice *host, const float *in,
		    const uint8_t *have, const float *want, size_t n)
{
	const uint32_t group = t->s.groups - 1;
	struct bs_slice_cuda *p = NULL;
	struct bs_devmem mem = { 0 };
	struct bs_fail why = { 0 };
	float *out = malloc(n * 4);
	float *data = device_copy(in, n / t->s.bands);
	float *made = NULL;
	uint64_t first = 0;
	int same = 1;
	int rc = bs_devmem_open(&mem, bs_slice_cuda_bytes(&t->s), "twin", &why);

	if (rc == 0)
		rc = bs_slice_cuda_plan(&p, &t->s, &mem, &why);
	CHECK(rc == 0 && bs_devmem_round(mem.used) == mem.size, "bytes says what plan takes %s",
	      why.text);
	for (uint32_t g = 0; rc == 0 && g < t->s.groups; g++)
		rc = bs_slice_cuda_load(p, g, host, NULL, &why);
	if (rc == 0)
		rc = bs_slice_cuda_lines(p, have, NULL, &why);
	for (int run = 0; rc == 0 && run < (small() ? 2 : RUNS); run++) {
		(void)cudaFree(made);
		made = device_copy(NULL, n);
		for (uint32_t b = 0; rc == 0 && b < t->s.bands; b++)
			rc = bs_slice_cuda_apply(p, group, b, data, t->wrapped,
						 made + b * (n / t->s.bands), NULL, &why);
		if (rc == 0 && !fetch(out, made, n))
			rc = -1;
		if (run == 0)
			first = hash_of(out, n);
		same &= hash_of(out, n) == first;
	}
	CHECK(rc == 0 && check_rel(out, want, n) <= 1e-5 && same,
	      "%u bands, %u coils, %u x %u%s: differs by %.1e, the same bytes in each run %s",
	      t->s.bands, t->s.coils, t->s.columns, t->s.lines_y, t->wrapped ? ", wrapped" : "",
	      check_rel(out, want, n), why.text);
	if (rc == 0 && t->timed) {
		struct volume v = { &t->s, p, data, made, NULL };

		printf("# %u bands, %u groups of %u x %u, %u coils: %.3f ms\n", t->s.bands,
		       t->s.groups, t->s.columns, t->s.lines_y, t->s.coils,
		       time_ms(queue_volume, &v, &v.stream));
	}
	(void)cudaFree(data);
	(void)cudaFree(made);
	bs_slice_cuda_close(p);
	bs_devmem_close(&mem);
	free(out);
}

/* Makes the weights of all groups from references of noise. */
static int prepare(const struct bs_slice_spec *s, struct bs_slice *host, const float *lines,
		   struct bs_fail *why)
{
	const size_t box = (size_t)s->columns * s->reference_lines * s->coils;
	struct bs_slice_references r = { .coil_step = (size_t)s->columns * s->reference_lines,
					 .line_step = s->columns,
					 .first = (s->lines_y - s->reference_lines) / 2,
					 .lines = s->reference_lines,
					 .center = s->lines_y / 2,
					 .version = 1 };
	int rc = 0;

	for (uint32_t b = 0; b < s->bands; b++) {
		r.band[b] = lines + 2 * b * box;
		r.cycles[b] = (double)b / s->bands;
	}
	for (uint32_t g = 0; rc == 0 && g < s->groups; g++)
		rc = bs_slice_prepare(host, g, &r, why);
	return rc;
}

static void one(const struct trial *t)
{
	const struct bs_slice_spec *s = &t->s;
	const size_t n = (size_t)2 * s->columns * s->lines_y * s->coils;
	float *lines = malloc(n * s->bands * 4);
	float *in = malloc(n * 4);
	float *want = malloc(n * s->bands * 4);
	uint8_t *have = malloc(s->lines_y);
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_slice *host = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_slice_need(s, &need, &why);

	fill_random(lines, n * s->bands, &seed);
	fill_random(in, n, &seed);
	for (uint32_t y = 0; y < s->lines_y; y++)
		have[y] = y >= t->late && y % t->measured == 0;
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_slice_plan(&host, s, &arena, team, &why);
	if (rc == 0)
		rc = prepare(s, host, lines, &why);
	CHECK(rc == 0, "%u bands, %u coils: weights %s", s->bands, s->coils, why.text);
	if (rc == 0) {
		for (uint32_t b = 0; b < s->bands; b++)
			bs_slice_apply(host, s->groups - 1, b, in, have, t->wrapped, want + n * b);
		compare(t, host, in, have, want, n * s->bands);
	}
	bs_slice_close(host);
	bs_arena_close(&arena);
	free(lines);
	free(in);
	free(want);
	free(have);
}

static void all_trials(void)
{
	static const struct trial all[] = {
		{ .s = { 104, 104, 12, 4, 1, { 5, 5 }, 104, 1e-4, false },
		  .measured = 2,
		  .late = 26 },
		{ .s = { 33, 31, 3, 2, 2, { 3, 5 }, 24, 1e-4, true },
		  .measured = 1,
		  .wrapped = true },
		{ .s = { 40, 45, 5, 8, 1, { 7, 3 }, 40, 1e-3, false },
		  .measured = 3,
		  .wrapped = true },
		{ .s = { 24, 20, 2, 3, 1, { 1, 3 }, 20, 1e-4, false }, .measured = 1 },
		{ .s = { 48, 130, 33, 2, 1, { 3, 3 }, 30, 1e-3, false }, .measured = 1 },
	};
	static const struct trial volume = {
		.s = { 104, 104, 12, 4, 18, { 5, 5 }, 32, 1e-4, false },
		.measured = 2,
		.timed = true
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		one(&all[i]);
	if (!small())
		one(&volume);
}

int main(void)
{
	return twin_main("slice-GRAPPA on the device", 2, all_trials);
}

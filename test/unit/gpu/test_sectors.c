/* test/unit/gpu/test_sectors.c - sectors: every sample once, every cell of its window inside, a
 * fixed order */
#include "gpu/nufft/cuda/choice.h"
#include "gpu/nufft/trajectory.h"
#include "test/support/check.h"

#include <string.h>

static uint64_t seed = 88172645463325252u;

static float *random_k(uint64_t floats)
{
	float *k = malloc(floats * sizeof(float));

	for (uint64_t i = 0; i < floats; i++) {
		k[i] = (float)(check_uniform(&seed) - 0.5);
		if (i % 97 == 0)
			k[i] = i % 2 != 0 ? -0.5f : 0.0f; /* the edge and the center, exactly */
	}
	return k;
}

/* Cell j of the sample's window on axis a, counted from the sample: the window must hold it. */
static bool windows_fit(const struct bs_sectors *s, const float *k, uint32_t stride,
			const uint32_t *index)
{
	for (uint32_t t = 0; t < s->tasks; t++)
		for (uint64_t e = s->task[t].first;
		     e < (uint64_t)s->task[t].first + s->task[t].count; e++) {
			uint32_t sector = s->task[t].sector;
			uint64_t m = index != NULL ? index[s->order[e]] : s->order[e];

			for (uint32_t a = 0; a < s->spec.dims; a++) {
				uint32_t at = sector % s->axis[a];
				uint32_t local = s->cell[e] >> (8 * a) & 255u;
				uint32_t cell = s->start[a][at] + local;
				uint32_t grid = s->spec.grid[a];
				double x = (double)k[m * stride + a] * grid;
				double from = (double)s->offset[a * s->samples + e] -
					      0.5 * s->spec.window;
				double d = remainder((double)cell - x - from, grid);

				if (cell >= s->start[a][at + 1] || fabs(d) > 1e-5 ||
				    !(s->offset[a * s->samples + e] >= 0.0f &&
				      s->offset[a * s->samples + e] <= 1.0f))
					return false;
				sector /= s->axis[a];
			}
		}
	return true;
}

static bool each_once(const struct bs_sectors *s)
{
	char *seen = calloc(s->samples, 1);
	uint64_t n = 0;
	bool ok = true;

	for (uint32_t t = 0; t < s->tasks; t++) {
		ok = ok && s->task[t].first == n && s->task[t].count > 0 &&
		     s->task[t].count <= s->spec.run && s->task_of[s->task[t].sector] <= t &&
		     t < s->task_of[s->task[t].sector + 1];
		n += s->task[t].count;
	}
	for (uint64_t i = 0; i < s->samples; i++)
		ok = ok && s->order[i] < s->samples && seen[s->order[i]]++ == 0;
	free(seen);
	return ok && n == s->samples && s->task_of[s->sectors] == s->tasks;
}

/* A cell is reached by exactly those padded sectors that hold it. */
static bool reach_is_right(const struct bs_sectors *s, uint32_t a)
{
	uint32_t total = 0;
	uint32_t padded = 0;

	for (uint32_t i = 0; i < s->axis[a]; i++)
		padded += s->start[a][i + 1] - s->start[a][i] + s->taps - 1;
	for (uint32_t c = 0; c < s->spec.grid[a]; c++) {
		const struct bs_sector_reach *r = &s->reach[a][c];

		total += r->count;
		for (uint32_t i = 0; i < r->count; i++)
			if ((s->start[a][r->at[i] >> 8] + (r->at[i] & 255u)) % s->spec.grid[a] != c)
				return false;
	}
	return total == padded;
}

static void try(const struct bs_sectors_spec *spec, uint64_t samples, const uint32_t *index)
{
	struct bs_sectors s;
	struct bs_sectors again;
	struct bs_fail why;
	uint64_t points = index != NULL ? 2 * samples : samples;
	float *k = random_k(points * 3);
	int rc = bs_sectors_open(&s, spec, samples, k, 3, index, &why);

	CHECK(rc == 0, "%u dimensions, window %g, %u samples", spec->dims, spec->window,
	      (unsigned)samples);
	if (rc == 0) {
		bool reach = true;

		for (uint32_t a = 0; a < spec->dims; a++)
			reach = reach && reach_is_right(&s, a);
		CHECK(each_once(&s) && windows_fit(&s, k, 3, index) && reach,
		      "each sample once, its window in its padded sector; every cell is reached");
		CHECK(s.tasks <= bs_sectors_max_tasks(spec, samples), "%u tasks of at most %u",
		      s.tasks, (unsigned)bs_sectors_max_tasks(spec, samples));
		rc = bs_sectors_open(&again, spec, samples, k, 3, index, &why);
		CHECK(rc == 0 && memcmp(again.order, s.order, samples * 4) == 0,
		      "the same order again");
		bs_sectors_close(&again);
		bs_sectors_close(&s);
	}
	free(k);
}

static void refusals(void)
{
	struct bs_sectors_spec spec = { 2, { 20, 64, 1 }, { 16, 16, 1 }, 6.0, 128 };
	struct bs_sectors s;
	struct bs_fail why;
	float k[2] = { 0.0f, 0.0f };

	CHECK(bs_sectors_open(&s, &spec, 1, k, 2, NULL, &why) == BS_ERR_UNSUPPORTED,
	      "a grid smaller than a padded sector: %s", why.text);
	spec.grid[0] = 21;
	CHECK(bs_sectors_open(&s, &spec, 1, k, 2, NULL, &why) == 0, "the smallest grid");
	bs_sectors_close(&s);
	CHECK(bs_sectors_open(&s, &spec, 0, k, 2, NULL, &why) == BS_ERR_UNSUPPORTED,
	      "no samples: %s", why.text);
}

/* What the device will evaluate: the window's polynomials against the window itself. */
static void windows(void)
{
	static const double accuracy[] = { 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6 };

	for (uint32_t dims = 2; dims <= 3; dims++)
		for (size_t i = 0; i < sizeof(accuracy) / sizeof(accuracy[0]); i++) {
			struct bs_nufft_spec s = { .dims = dims,
						   .matrix = { 65, 64, dims == 3 ? 63 : 1 },
						   .coils = 3,
						   .samples = 100000,
						   .states = 1,
						   .accuracy = accuracy[i] };
			struct bs_nufft_choice c;
			struct bs_kernel_window w;
			struct bs_fail why;
			int rc = bs_nufft_choose(&c, &s, false, 0, &why);

			if (rc == 0)
				rc = bs_nufft_kernel_window(&w, &c, &s, &why);
			CHECK(rc == 0, "%uD at %g: width %g, grid %u x %u x %u", dims, accuracy[i],
			      c.sectors.window, c.sectors.grid[0], c.sectors.grid[1],
			      c.sectors.grid[2]);
		}
}

/* Coils that share a scratch of 8 GiB: all are served, by whole groups, whatever a stack has. */
static void turns(void)
{
	static const uint32_t coils[] = { 1, 2, 3, 8, 13, 32, 64 };

	for (uint32_t i = 0; i < 2 * sizeof(coils) / sizeof(coils[0]); i++) {
		const bool stack = i % 2 == 1;
		struct bs_nufft_spec s = { .dims = 3,
					   .matrix = { 256, 256, 256 },
					   .coils = coils[i / 2],
					   .samples = 10000000,
					   .chunk = 625000,
					   .states = 1,
					   .accuracy = 1e-3 };
		const uint64_t most = bs_nufft_positions_max(&s);
		struct bs_nufft_choice c;
		struct bs_nufft_choice fewer;
		struct bs_fail why;
		int rc = bs_nufft_choose(&c, &s, stack, stack ? most : 0, &why);
		uint64_t bytes =
			c.tasks * c.groups * c.lanes * c.padded_cells * 8 +
			(uint64_t)c.channels * 8 *
				((uint64_t)c.sectors.grid[2] * c.sectors.grid[1] * c.matrix[0] +
				 (c.mixed ? c.points : 0));

		CHECK(rc == 0 && c.turn * c.turns >= s.coils && c.turn * (c.turns - 1) < s.coils &&
			      c.channels == c.turn * c.planes && bytes <= UINT64_C(8) << 30 &&
			      c.sums == (c.turns > 1 && c.chunks > 1),
		      "%s, %u coils: %u turns of %u, %.2f GiB", stack ? "stack" : "sectors",
		      s.coils, c.turns, c.turn, (double)bytes / (1 << 30));
		for (uint64_t of = 2; stack && of <= 64; of *= 2) {
			rc = bs_nufft_choose(&fewer, &s, true, most / of, &why);
			CHECK(rc == 0 && fewer.turn <= c.turn && fewer.tasks <= c.tasks,
			      "a stack of %llu positions: turns of %u, not more than %u",
			      (unsigned long long)(most / of), fewer.turn, c.turn);
		}
	}
}

int main(void)
{
	static const uint32_t odd[] = { 3, 5, 1, 7, 9, 11, 0, 2, 15, 13 };
	struct bs_sectors_spec plane = { 2, { 54, 75, 1 }, { 16, 16, 1 }, 5.0, 128 };
	struct bs_sectors_spec volume = { 3, { 45, 64, 40 }, { 16, 8, 8 }, 6.5, 100 };
	struct bs_sectors_spec tiny = { 2, { 23, 23, 1 }, { 16, 16, 1 }, 8.0, 1 };

	try(&plane, 20000, NULL);
	try(&volume, 30000, NULL);
	try(&tiny, 500, NULL);
	try(&plane, 10, odd);
	refusals();
	windows();
	turns();
	return check_done();
}

/*
 * test/unit/gpu/engine/test_engine_group.c - slices at once in the host's engine: one solve of a
 * group makes the images of all its slices, and none but these
 *
 * Which lines a frame holds is told by a number (core/engine.h). Images by one solve are, bit for
 * bit, those that are solved for one by one. Another number, another map or an image of one slice
 * alone in between means another solve.
 */
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"

#define BANDS  3u
#define GROUPS 2u
#define LINES  16u

static struct bs_team *team;
static float *maps;
static const double cycles[BANDS] = { 0.0, 0.25, 0.5 };

static struct bs_protocol protocol(enum bs_partial_fourier partial)
{
	struct bs_protocol p = lines_of(12, LINES, 1, 12, 6);

	p.method = BS_METHOD_CARTESIAN_SENSE;
	p.parallel = BS_PARALLEL_SENSE_SLICES;
	p.matrix[1] = LINES - 2;
	p.slices = BANDS * GROUPS;
	p.multiband.factor = BANDS;
	mapped_by(&p, BS_MAPS_FILE, 24);
	solved(&p, 0.05, 15);
	p.partial_fourier = partial;
	p.pocs_iterations = 3;
	p.pocs_taper = 0.5;
	return planned_host(p);
}

static void fill(float *x, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (float)(check_uniform(&seed) - 0.5);
}

/* Adds a group's lines of this seed to a slice's frame. of: slices that they hold. */
static int image_of(struct armed *a, uint32_t slice, uint64_t seed, uint32_t of, uint64_t number,
		    float *image)
{
	const struct bs_protocol *p = &a->p;
	const size_t line = (size_t)2 * p->samples * p->coils;
	const uint32_t frame = bs_protocol_frame(p, slice, 0);
	struct bs_report report = { .apart = { .of = of, .lines = number } };
	float *data = malloc(line * LINES * sizeof(float));
	int rc = a->engine->begin(a->self, frame);

	fill(data, line * LINES, seed);
	memcpy(report.apart.cycles, cycles, sizeof(cycles));
	for (uint32_t y = 0; rc == 0 && y < LINES; y += 1 + y % 2)
		rc = a->engine->add(a->self, frame, y, NULL, data + y * line, p->samples);
	if (rc == 0)
		rc = a->engine->image(a->self, frame, NULL, INT64_MAX, image, &report);
	CHECK(rc == 0 && report.iterations > 1, "an image after %u iterations", report.iterations);
	free(data);
	return rc;
}

/* Images of the slices of group 1, by lines of this number; 0: each is solved for. */
static void group_of(struct armed *a, uint64_t seed, uint64_t number, float *images)
{
	const size_t n = bs_protocol_image_bytes(&a->p) / 4;

	for (uint32_t b = 0; b < BANDS; b++)
		(void)image_of(a, 1 + b * GROUPS, seed, BANDS, number, images + b * n);
}

/* Where no end of k-space is left out, partial Fourier leaves each slice's image as it is. */
static void completed(const struct bs_tables *tables, const float *images, size_t n)
{
	const struct bs_protocol p = protocol(BS_PARTIAL_FOURIER_POCS);
	float *got = calloc(n, 4);
	struct bs_fail why = { 0 };
	struct armed a;
	int rc = armed_open(&a, &bs_engine_host, &p, tables,
			    (struct bs_arm_env){ .team = team, .cache_dir = "" }, &why);

	CHECK(rc == 0 && a.arena.size - a.arena.used < BS_ALIGN, "armed with POCS %s", why.text);
	if (rc == 0)
		group_of(&a, 7, 5, got);
	CHECK(check_rel(got, images, n) <= 1e-5, "with POCS: %.1e", check_rel(got, images, n));
	armed_close(&a);
	free(got);
}

int main(void)
{
	const struct bs_protocol p = protocol(BS_PARTIAL_FOURIER_NONE);
	const size_t n = bs_protocol_image_bytes(&p) / 4 * BANDS;
	const size_t values = 2 * bs_protocol_map_values(&p) * p.slices;
	float *images[3] = { calloc(n, 4), calloc(n, 4), calloc(n, 4) };
	struct bs_tables tables = { .maps = maps = malloc(values * 4) };
	struct bs_fail why = { 0 };
	struct armed a;

	fill(maps, values, 3);
	if (bs_team_open(&team, 2, &why) != 0 ||
	    armed_open(&a, &bs_engine_host, &p, &tables,
		       (struct bs_arm_env){ .team = team, .cache_dir = "" }, &why) != 0) {
		CHECK(false, "armed: %s", why.text);
		return check_done();
	}
	CHECK(a.arena.size - a.arena.used < BS_ALIGN, "arm takes what need states");
	a.engine->scan(a.self);
	group_of(&a, 7, 0, images[0]);
	group_of(&a, 7, 5, images[1]);
	CHECK(memcmp(images[0], images[1], n * 4) == 0, "by one solve: the same bytes");
	CHECK(memcmp(images[0], images[0] + n / BANDS, n / BANDS * 4) != 0, "of other slices");
	/* these lines are others, so that it shows which solve an image is of */
	group_of(&a, 8, 0, images[0]);
	group_of(&a, 8, 5, images[2]);
	CHECK(memcmp(images[2], images[0], n / BANDS * 4) == 0, "the next solve");
	(void)image_of(&a, 1, 7, BANDS, 5, images[2]);
	CHECK(memcmp(images[2], images[0], n / BANDS * 4) == 0, "the same number: the same solve");
	(void)image_of(&a, 1, 7, BANDS, 6, images[2]);
	CHECK(memcmp(images[2], images[1], n / BANDS * 4) == 0, "another number: another solve");
	(void)image_of(&a, 3, 9, 0, 0, images[2]);
	group_of(&a, 7, 6, images[2]);
	CHECK(memcmp(images[2], images[1], n * 4) == 0,
	      "an image alone lies between: another solve");
	fill(maps, values, 4);
	(void)a.engine->maps(a.self, 1);
	group_of(&a, 7, 6, images[2]);
	CHECK(memcmp(images[2], images[1], n * 4) != 0, "other maps: another solve");
	fill(maps, values, 3);
	(void)a.engine->maps(a.self, 1);
	a.engine->scan(a.self);
	group_of(&a, 7, 6, images[2]);
	CHECK(memcmp(images[2], images[1], n * 4) == 0, "another scan");
	armed_close(&a);
	completed(&tables, images[1], n);
	bs_team_close(team);
	free(maps);
	for (int i = 0; i < 3; i++)
		free(images[i]);
	return check_done();
}

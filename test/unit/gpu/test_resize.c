/*
 * test/unit/gpu/test_resize.c - the image on another matrix against a trigonometric interpolation
 * in double precision; then the combination behind it, and every engine that ends with that
 */
#define _GNU_SOURCE /* setenv */
#include "gpu/image/resize.h"

#include "gpu/image/combine.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include "test/support/plan/engine.h"
#include "test/support/isa.h"
#include "test/support/resized.h"
#include "test/support/window.h"

#include <string.h>

#define MOST 16384u /* voxels of the largest image here */

static uint64_t seed = 4711;
static struct bs_fail why;

static const struct {
	uint32_t from[3], to[3];
} sizes[] = {
	{ { 15, 16, 1 }, { 32, 33, 1 } },  { { 64, 48, 1 }, { 48, 64, 1 } },
	{ { 33, 32, 1 }, { 16, 15, 1 } },  { { 160, 7, 1 }, { 192, 7, 1 } },
	{ { 9, 220, 1 }, { 9, 160, 1 } },  { { 37, 61, 1 }, { 61, 37, 1 } },
	{ { 12, 10, 9 }, { 9, 16, 20 } },  { { 16, 17, 4 }, { 16, 17, 16 } },
	{ { 20, 21, 22 }, { 11, 10, 7 } }, { { 8, 9, 10 }, { 16, 18, 20 } },
	{ { 1, 17, 5 }, { 1, 34, 5 } },    { { 2, 3, 1 }, { 3, 2, 1 } },
	{ { 1, 1, 6 }, { 1, 1, 1 } },      { { 1, 2, 1 }, { 4, 4, 4 } },
};

static float *random_values(size_t n)
{
	float *x = malloc(n * sizeof(*x));

	for (size_t i = 0; i < n; i++)
		x[i] = (float)(check_uniform(&seed) - 0.5);
	return x;
}

static void open(struct bs_resize **r, struct bs_arena *arena, const struct bs_resize_spec *s,
		 struct bs_team *team)
{
	struct bs_need need = { 0 };
	int rc = bs_resize_need(s, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_resize_plan(r, s, arena, team, &why);
	CHECK(rc == 0 && !need.overflow && arena->size - arena->used < BS_ALIGN,
	      "%ux%ux%u to %ux%ux%u: need says what plan takes %s", s->from[0], s->from[1],
	      s->from[2], s->to[0], s->to[1], s->to[2], why.text);
}

/* By every instruction set, with one thread and with three: the same as by the definition. */
static void against_definition(size_t i, enum bs_isa isa)
{
	struct bs_resize_spec s = { .images = 1 };
	float *in, *want, *out;
	float *first = malloc(MOST * 8);
	size_t n, m;

	memcpy(s.from, sizes[i].from, sizeof(s.from));
	memcpy(s.to, sizes[i].to, sizeof(s.to));
	n = (size_t)s.from[0] * s.from[1] * s.from[2];
	m = (size_t)s.to[0] * s.to[1] * s.to[2];
	in = random_values(2 * n);
	out = malloc(MOST * 8);
	want = malloc(MOST * 8);
	resized(want, in, s.from, s.to);
	for (int members = 1; members <= 3; members += 2) {
		struct bs_resize *r = NULL;
		struct bs_arena arena;
		struct bs_team *team;
		double e;

		CHECK(bs_team_open(&team, members, &why) == 0, "team %s", why.text);
		open(&r, &arena, &s, team);
		memset(out, 255, MOST * 8);
		bs_resize_run(r, in, out);
		e = check_rel(out, want, 2 * m);
		/* a few roundings of 6e-8 for each factor of the lengths, or of the 61 summed */
		CHECK(e <= 1e-6, "%ux%ux%u to %ux%ux%u, %s, %d threads: error %.1e", s.from[0],
		      s.from[1], s.from[2], s.to[0], s.to[1], s.to[2], isa_name[isa], members, e);
		if (members == 1)
			memcpy(first, out, 8 * m);
		else
			CHECK(memcmp(first, out, 8 * m) == 0, "the same bytes with %d threads",
			      members);
		bs_resize_close(r);
		bs_arena_close(&arena);
		bs_team_close(team);
	}
	free(in);
	free(out);
	free(want);
	free(first);
}

/* A constant keeps its value; a point at the center voxel stays there. */
static void places(void)
{
	struct bs_resize_spec s = { { 20, 15, 1 }, { 35, 32, 1 }, 1 };
	struct bs_resize *r = NULL;
	struct bs_arena arena;
	struct bs_team *team;
	float *in = calloc(300, 8);
	float *out = malloc(1120 * 8);
	double worst = 0.0;
	size_t top = 0;

	CHECK(bs_team_open(&team, 1, &why) == 0, "team %s", why.text);
	open(&r, &arena, &s, team);
	for (size_t v = 0; v < 300; v++)
		in[2 * v] = 3.0f;
	bs_resize_run(r, in, out);
	for (size_t v = 0; v < 1120; v++)
		worst = fmax(worst, hypot(out[2 * v] - 3.0, out[2 * v + 1]));
	CHECK(worst <= 3e-6, "a constant of 3 keeps its value: %.1e", worst);
	memset(in, 0, 300 * 8);
	in[2 * (7 * 20 + 10)] = 1.0f;
	bs_resize_run(r, in, out);
	for (size_t v = 0; v < 1120; v++)
		if (out[2 * v] > out[2 * top])
			top = v;
	CHECK(top == 16 * 35 + 17, "the voxel at the center stays there: %zu", top);
	bs_resize_close(r);
	bs_arena_close(&arena);
	bs_team_close(team);
	free(in);
	free(out);
}

static void refusals(void)
{
	struct bs_resize_spec same = { { 16, 16, 1 }, { 16, 16, 1 }, 1 };
	struct bs_resize_spec none = { { 16, 16, 1 }, { 0, 16, 1 }, 1 };
	struct bs_resize_spec large = { { 16, 16, 1 }, { 16, 513, 1 }, 1 };
	struct bs_need need = { 0 };

	CHECK(bs_resize_need(&same, &need, &why) == BS_ERR_CONFIG, "%s", why.text);
	CHECK(bs_resize_need(&none, &need, &why) == BS_ERR_CONFIG, "%s", why.text);
	CHECK(bs_resize_need(&large, &need, &why) == BS_ERR_CONFIG, "%s", why.text);
}

#define COILS 3u

/* What combine.h says, from images resized by the definition. Returns the number of floats. */
static size_t combined(float *want, const struct bs_protocol *p, const float *in, const float *maps)
{
	const bool whole = p->output == BS_OUTPUT_COMPLEX;
	const size_t n = bs_protocol_voxels(p);
	const size_t m = bs_protocol_image_voxels(p);
	const uint32_t images = p->combine == BS_COMBINE_SENSE ? 1 : p->coils;
	float *large = malloc(m * images * 8);
	float *joint = malloc(n * 8);
	struct bs_team *team;
	size_t at = 0;

	CHECK(bs_team_open(&team, 1, &why) == 0, "team %s", why.text);
	if (p->combine == BS_COMBINE_SENSE)
		bs_combine(team, (struct bs_combination){ BS_COMBINE_SENSE, BS_OUTPUT_COMPLEX,
							  p->coils, n, in, maps, joint });
	for (uint32_t c = 0; c < images; c++)
		resized(large + 2 * c * m, p->combine == BS_COMBINE_SENSE ? joint : in + 2 * c * n,
			p->matrix, p->image_matrix);
	for (uint32_t c = 0; c < (p->combine == BS_COMBINE_RSS ? 1 : images); c++)
		for (size_t v = 0; v < m; v++) {
			const float *z = large + 2 * (c * m + v);
			double power = 0.0;

			for (uint32_t k = c; k < (p->combine == BS_COMBINE_RSS ? images : c + 1);
			     k++)
				power += pow(large[2 * (k * m + v)], 2) +
					 pow(large[2 * (k * m + v) + 1], 2);
			if (p->combine == BS_COMBINE_RSS || !whole)
				want[at++] = (float)sqrt(power);
			else
				want[at++] = z[0];
			if (whole)
				want[at++] = p->combine == BS_COMBINE_RSS ? 0.0f : z[1];
		}
	bs_team_close(team);
	free(large);
	free(joint);
	return at;
}

static void combine_one(struct bs_protocol p, const float *in, const float *maps, float *out,
			float *want)
{
	static const char *const names[] = { "none", "rss", "sense" };
	const bool same = !bs_plan_has(&p.plan, BS_PLAN_RESIZE);
	struct bs_need need = { 0 };
	struct bs_combiner *c = NULL;
	struct bs_arena arena;
	struct bs_team *team;
	size_t n;
	double e;

	CHECK(bs_team_open(&team, 2, &why) == 0, "team %s", why.text);
	CHECK(bs_combiner_need(&p, &need, &why) == 0 && (need.total_bytes == 0) == same,
	      "memory is wanted where the matrix is another one");
	CHECK(bs_arena_open(&arena, need.total_bytes, &why) == 0 &&
		      bs_combiner_plan(&c, &p, &arena, team, &why) == 0 &&
		      arena.size - arena.used < BS_ALIGN,
	      "need says what plan takes %s", why.text);
	bs_combiner_run(c, in, maps, &(struct bs_flow){ 0 }, out);
	if (same) {
		bs_combine(team, (struct bs_combination){ p.combine, p.output, p.coils,
							  bs_protocol_voxels(&p), in, maps, want });
		CHECK(memcmp(out, want, bs_protocol_image_bytes(&p)) == 0,
		      "%s, output %d: on its own matrix the bytes of the combination alone",
		      names[p.combine], p.output);
	} else {
		n = combined(want, &p, in, maps);
		e = check_rel(out, want, n);
		CHECK(n * 4 == bs_protocol_image_bytes(&p) && e <= 1e-6,
		      "%s, output %d, resized: error %.1e of %zu floats", names[p.combine],
		      p.output, e, n);
	}
	bs_combiner_close(c);
	bs_arena_close(&arena);
	bs_team_close(team);
}

static void combinations(void)
{
	struct bs_protocol p = path_of(BS_METHOD_GRIDDING, BS_TRAJ_FILE, 40, 27, 1, COILS);
	const size_t n = bs_protocol_voxels(&p) * COILS;
	float *in = random_values(2 * n);
	float *maps = random_values(2 * n);
	float *out = malloc(MOST * COILS * 8);
	float *want = malloc(MOST * COILS * 8);

	for (int how = BS_COMBINE_NONE; how <= BS_COMBINE_SENSE; how++)
		for (int o = BS_OUTPUT_MAGNITUDE; o <= BS_OUTPUT_COMPLEX; o++)
			for (uint32_t grow = 0; grow < 3; grow++) {
				p.combine = (enum bs_combine)how;
				p.output = (enum bs_output)o;
				p.image_matrix[0] = grow == 0 ? 40 : grow == 1 ? 64 : 21;
				p.image_matrix[1] = grow == 0 ? 27 : 48;
				p.image_matrix[2] = 1;
				bs_plan_make(&p);
				combine_one(p, in, maps, out, want);
			}
	p.method = BS_METHOD_SENSE; /* one image, that of the solver */
	p.combine = BS_COMBINE_SENSE;
	p.coils = 1;
	p.output = BS_OUTPUT_COMPLEX;
	bs_plan_make(&p);
	for (size_t i = 0; i < 2 * n; i++)
		maps[i] = i % 2 == 0 ? 1.0f : 0.0f; /* what the expectation divides by */
	combine_one(p, in, maps, out, want);
	free(in);
	free(maps);
	free(out);
	free(want);
}

/* ---- engines ------------------------------------------------------------------------------ */

/* Every channel of an image against the same channel on the protocol's matrix. */
static void same_resized(const char *what, const struct bs_protocol *p, const float *got,
			 const float *plain)
{
	const size_t n = 2 * bs_protocol_voxels(p);
	const size_t m = 2 * bs_protocol_image_voxels(p);
	float *want = malloc(m * 4);

	for (uint32_t c = 0; c < bs_protocol_channels(p); c++) {
		double e;

		resized(want, plain + c * n, p->matrix, p->image_matrix);
		e = check_rel(got + c * m, want, m);
		CHECK(e <= 1e-6, "%s: channel %u on %u x %u: %.1e", what, c, p->image_matrix[0],
		      p->image_matrix[1], e);
	}
	free(want);
}

/* A stream with sliding images, or with previews: image by image. */
static void stream(const char *what, struct bs_protocol p, const struct bs_engine *engine)
{
	struct bs_protocol plain;
	struct window_site s;
	struct window_run a;
	struct window_run b;

	p.output = BS_OUTPUT_COMPLEX;
	p.combine = bs_methods[p.method].uses_maps ? BS_COMBINE_SENSE : BS_COMBINE_NONE;
	bs_plan_make(&p);
	plain = p;
	p.image_matrix[0] = p.matrix[0] * 3 / 2 + 1;
	p.image_matrix[1] = p.matrix[1] / 2;
	p.image_matrix[2] = p.matrix[2];
	bs_plan_make(&p);
	CHECK(window_site_open(&s, &p, 2), "%s: a stream", what);
	window_run(&a, &s, &p, engine, 2, 0, p.readouts + 8, NULL, true);
	window_run(&b, &s, &plain, engine, 2, 0, p.readouts + 8, NULL, true);
	CHECK(a.rc == 0 && b.rc == 0 && a.images == b.images && a.images >= 2 &&
		      a.image[0].head.matrix_size[0] == p.image_matrix[0] &&
		      a.image[0].head.matrix_size[1] == p.image_matrix[1],
	      "%s: %u images, %u previews, of %u x %u %s%s", what, a.images, a.previews,
	      a.image[0].head.matrix_size[0], a.image[0].head.matrix_size[1], a.why.text,
	      b.why.text);
	for (uint32_t i = 0; i < a.images && i < b.images; i++)
		same_resized(what, &p, window_image(&a, i), window_image(&b, i));
	free(a.pixels);
	free(b.pixels);
	window_site_close(&s);
}

/* Readout oversampling is cropped first: what is zero-filled is the field of view of the matrix. */
static void cartesian(void)
{
	struct bs_protocol p = coils_apart(lines_of(20, 27, 1, 40, 2));
	float *data = random_values(2 * 27 * 2 * 40);
	float *image[2] = { malloc(MOST * 8), malloc(MOST * 8) };
	struct bs_tables tables = { 0 };
	struct bs_report report;
	struct armed a;
	struct bs_team *team;

	CHECK(bs_team_open(&team, 2, &why) == 0, "team %s", why.text);
	for (int i = 0; i < 2; i++) {
		int rc;

		p.image_matrix[0] = i == 0 ? 0 : 64;
		p.image_matrix[1] = i == 0 ? 0 : 40;
		p.image_matrix[2] = i;
		bs_plan_make(&p);
		rc = armed_open(&a, &bs_engine_host, &p, &tables,
				(struct bs_arm_env){ .team = team, .cache_dir = "" }, &why);
		if (rc == 0)
			rc = armed_image(&a, data, image[i], &report);
		CHECK(rc == 0, "cartesian: an image %s", why.text);
		armed_close(&a);
	}
	same_resized("cartesian", &p, image[1], image[0]);
	bs_team_close(team);
	free(data);
	free(image[0]);
	free(image[1]);
}

static void engines(void)
{
	struct bs_protocol p = window_golden(BS_METHOD_GRIDDING, 8);

	stream("gridding, sliding", p, &bs_engine_host);
	p = window_golden(BS_METHOD_GRIDDING, 0);
	p.preview_every = 9;
	bs_plan_make(&p);
	stream("gridding with previews", p, &bs_engine_host);
	stream("ls, sliding", window_golden(BS_METHOD_LS, 8), &bs_engine_host);
	p = window_golden(BS_METHOD_SENSE, 0);
	p.preview_every = 9;
	bs_plan_make(&p);
	stream("sense with previews", p, &bs_engine_host);
	cartesian();
}

int main(void)
{
	for (int isa = BS_ISA_V2; isa <= BS_ISA_V4; isa++)
		for (size_t i = 0;
		     isa_use((enum bs_isa)isa) && i < sizeof(sizes) / sizeof(sizes[0]); i++)
			against_definition(i, (enum bs_isa)isa);
	places();
	refusals();
	combinations();
	engines();
	return check_done();
}

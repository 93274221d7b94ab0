/*
 * test/unit/core/frame/test_resume.c - a scan's readouts that come once more: images that were
 * handed on before are passed over, the others are the same bytes, volumes too; a scan whose images
 * several processes share out; numbers that do not wrap
 */
/* Holds: W35 */
#include "test/support/window.h"
#include "test/support/plan/planned.h"

#define IMAGES_MAX 64u

struct outcome {
	uint64_t number[IMAGES_MAX];
	uint32_t missing[IMAGES_MAX];
	float *pixels;
	uint32_t images, previews;
};

struct subject {
	const char *name;
	struct bs_protocol p;
	const struct bs_engine *engine;
	uint32_t passes;
	struct window_site site;
	struct bs_arena arena;
	struct bs_team *team;
	struct bs_recon *r;
	size_t floats;
};

static struct bs_fail why;

static struct bs_protocol spokes(enum bs_method method)
{
	struct bs_protocol p = path_of(method, BS_TRAJ_RADIAL2D, 20, 20, 1, 3);

	readouts_of(&p, 15, 40);
	solved(&p, 1e-2, 4);
	p.accuracy = 1e-3;
	p.density = BS_DENSITY_RAMP;
	p.fhd = p.q = BS_SUM_EXACT;
	p.combine = BS_COMBINE_RSS;
	return planned(p);
}

static bool subject_open(struct subject *s)
{
	struct bs_need need = { 0 };
	int rc = window_site_open(&s->site, &s->p, s->passes) ? 0 : BS_ERR_NOMEM;
	struct bs_tables tables = { .traj = &s->site.traj, .maps = s->site.maps };

	s->floats = (size_t)bs_protocol_leaving_bytes(&s->p) / sizeof(float);
	if (rc == 0)
		rc = bs_recon_need(&s->p, s->engine, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&s->arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_team_open(&s->team, 2, &why);
	struct bs_arm_env env = { .arena = &s->arena, .team = s->team, .cache_dir = "" };

	if (rc == 0)
		rc = bs_recon_arm(&s->r, &s->p, s->engine, &tables, &env, &why);
	CHECK(rc == 0, "%s is armed %s", s->name, why.text);
	return rc == 0;
}

static void take(struct subject *s, struct outcome *o)
{
	struct bs_recon_image image = { .pixels = NULL };
	int rc;

	do {
		image.pixels = o->pixels + o->images * s->floats;
		rc = bs_recon_pop(s->r, &image, INT64_MAX, &why);
		if (rc != 1)
			break;
		o->previews += image.preview;
		if (image.preview || o->images + 1 == IMAGES_MAX)
			continue;
		o->number[o->images] = image.number;
		o->missing[o->images++] = image.missing;
	} while (rc == 1);
	if (rc != 0)
		CHECK(false, "%s: %s", s->name, why.text);
}

/* The whole scan, its last pass cut short, of which so many images were handed on. */
static void run(struct subject *s, uint64_t resume, struct outcome *o)
{
	const struct bs_scan_info info = { .channels = s->p.coils };
	const uint32_t total = s->passes * s->p.readouts - 4;
	int rc = 0;

	memset(o, 0, sizeof(*o));
	o->pixels = calloc(IMAGES_MAX, s->floats * sizeof(float));
	if (o->pixels == NULL)
		exit(1);
	bs_recon_scan(s->r, &info);
	bs_recon_resume(s->r, resume, 3);
	for (uint32_t i = 0; i < total; i++) {
		const uint32_t row = i % s->p.readouts;
		struct bs_mrd_acq h = { .number_of_samples = (uint16_t)s->p.samples,
					.active_channels = (uint16_t)s->p.coils,
					.scan_counter = i };

		h.idx.slice = (uint16_t)(i / s->p.readouts % s->p.slices);
		h.idx.repetition = (uint16_t)(i / s->p.readouts / s->p.slices);
		do {
			rc = bs_recon_readout(s->r, &h, row, s->site.data + i * s->site.row, i,
					      &why);
			take(s, o);
		} while (rc == BS_RECON_POP_FIRST);
		if (rc != 0)
			break;
	}
	CHECK(rc == 0, "%s: all readouts are taken %s", s->name, rc != 0 ? why.text : "");
	bs_recon_close(s->r);
	take(s, o);
}

static bool continues(const struct subject *s, const struct outcome *whole, const struct outcome *o,
		      uint32_t resume)
{
	bool same = o->images == whole->images - resume;

	for (uint32_t i = 0; same && i < o->images; i++)
		same = o->number[i] == resume + i + 1 &&
		       o->missing[i] == whole->missing[resume + i] &&
		       memcmp(o->pixels + i * s->floats, whole->pixels + (resume + i) * s->floats,
			      s->floats * sizeof(float)) == 0;
	return same;
}

static bool third_is_made(void *arg, uint64_t number)
{
	(void)arg;
	return number == 3;
}

/* Each image is one part's, with the bytes that it has where one makes all; some are there. */
static void test_share(struct subject *s, const struct outcome *whole, uint32_t parts, bool made)
{
	uint32_t times[IMAGES_MAX] = { 0 };
	uint32_t most = 0;
	bool same = true;

	for (uint32_t part = 0; part < parts; part++) {
		const struct bs_share share = { part, parts, made ? third_is_made : NULL, NULL };
		struct outcome o;

		bs_recon_share(s->r, &share);
		run(s, 0, &o);
		for (uint32_t i = 0; i < o.images; i++) {
			const uint64_t at = o.number[i] - 1;

			times[at]++;
			same = same && o.missing[i] == whole->missing[at] &&
			       memcmp(o.pixels + i * s->floats, whole->pixels + at * s->floats,
				      s->floats * sizeof(float)) == 0;
		}
		same = same && bs_recon_images(s->r) == whole->images;
		most = o.images > most ? o.images : most;
		free(o.pixels);
	}
	bs_recon_share(s->r, NULL);
	for (uint32_t i = 0; i < whole->images; i++)
		same = same && times[i] == (made && i == 2 ? 0 : 1);
	CHECK(same && most <= whole->images / parts + 1,
	      "%s: %u processes make each image once%s, %u of %u at most", s->name, parts,
	      made ? " that is not there" : "", most, whole->images);
}

static void test_subject(struct subject *s)
{
	struct outcome whole;

	if (!subject_open(s))
		return;
	run(s, 0, &whole);
	CHECK(whole.images >= 4 && whole.number[0] == 1 && whole.missing[whole.images - 1] > 0,
	      "%s: %u images, the last one partial", s->name, whole.images);
	for (uint32_t k = 0; k <= whole.images; k++) {
		struct outcome o;

		run(s, k, &o);
		CHECK(continues(s, &whole, &o, k), "%s: behind image %u the others, the same",
		      s->name, k);
		CHECK(s->p.preview_every == 0 || o.previews <= whole.previews,
		      "%s: no previews of what was handed on", s->name);
		free(o.pixels);
	}
	for (uint32_t parts = 1; parts <= 4; parts++) {
		test_share(s, &whole, parts, false);
		test_share(s, &whole, parts, true);
	}
	free(whole.pixels);
	bs_recon_disarm(s->r);
	bs_arena_close(&s->arena);
	bs_team_close(s->team);
	window_site_close(&s->site);
}

static void test_numbers(void)
{
	struct subject s = {
		.name = "noop", .p = spokes(BS_METHOD_NOOP), .engine = &bs_engine_noop, .passes = 1
	};
	struct bs_recon_image image = { .pixels = NULL };
	const struct bs_scan_info info = { .channels = 3 };
	struct bs_mrd_acq h = { .number_of_samples = 40, .active_channels = 3 };
	int rc = 0;

	s.p.readouts = 1;
	if (!subject_open(&s))
		return;
	image.pixels = calloc(s.floats, sizeof(float));
	bs_recon_scan(s.r, &info);
	for (uint32_t i = 0; rc == 0 && i < 65537; i++) {
		h.idx.repetition = (uint16_t)i;
		rc = bs_recon_readout(s.r, &h, 0, s.site.data, i, &why);
		rc = rc == 0 && bs_recon_pop(s.r, &image, INT64_MAX, &why) == 1 ? 0 : -1;
	}
	CHECK(rc == 0 && image.number == 65537 && image.head.image_index == 1,
	      "image %llu, of index %u", (unsigned long long)image.number, image.head.image_index);
	free(image.pixels);
	bs_recon_disarm(s.r);
	bs_arena_close(&s.arena);
	bs_team_close(s.team);
	window_site_close(&s.site);
}

int main(void)
{
	struct subject all[] = {
		{ .name = "gridding",
		  .p = spokes(BS_METHOD_GRIDDING),
		  .engine = &bs_engine_host,
		  .passes = 5 },
		{ .name = "gridding, a window",
		  .p = spokes(BS_METHOD_GRIDDING),
		  .engine = &bs_engine_host,
		  .passes = 4 },
		{ .name = "ls", .p = spokes(BS_METHOD_LS), .engine = &bs_engine_host, .passes = 5 },
		{ .name = "sense, a window, previews",
		  .p = spokes(BS_METHOD_SENSE),
		  .engine = &bs_engine_host,
		  .passes = 4 },
		{ .name = "gridding, volumes",
		  .p = spokes(BS_METHOD_GRIDDING),
		  .engine = &bs_engine_host,
		  .passes = 17 },
	};

	all[1].p.frame_step = all[3].p.frame_step = 5;
	all[0].p.preview_every = 4;
	all[4].p.slices = 2;
	all[4].p.volume = true;
	all[3].p.combine = BS_COMBINE_SENSE;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		bs_plan_make(&all[i].p);
		test_subject(&all[i]);
	}
	test_numbers();
	return check_done();
}

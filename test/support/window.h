/*
 * test/support/window.h - sliding windows and previews of one engine, checked the same way on every
 * backend
 *
 * A stream of several passes through a golden-angle table, with random samples for each readout and
 * pass. Every check goes through core/frame/recon.h, as the service and `boreside recon` do.
 */
#ifndef BS_TEST_SUPPORT_WINDOW_H
#define BS_TEST_SUPPORT_WINDOW_H

#include <string.h>

#include "core/frame/recon.h"
#include "gpu/engine/engines.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#define WINDOW_IMAGES 40u

struct window_site {
	struct bs_protocol p;
	struct bs_traj traj;
	float *maps; /* [slice][coil][voxel] complex, near 1 */
	float *data; /* [pass][readout][coil][sample] complex */
	size_t row;  /* floats of a readout */
	uint32_t passes;
};

struct window_run { /* what came out of one recon */
	struct bs_recon_image image[WINDOW_IMAGES];
	float *pixels; /* [image][image floats] */
	size_t floats;
	uint32_t images, previews;
	struct bs_fail why;
	int rc;
};

static inline float *window_random(size_t n, double offset, uint64_t seed)
{
	float *at = malloc(n * sizeof(*at));

	for (size_t i = 0; at != NULL && i < n; i++)
		at[i] = (float)(check_uniform(&seed) - offset);
	return at;
}

static inline bool window_site_open(struct window_site *s, const struct bs_protocol *p,
				    uint32_t passes)
{
	size_t maps = (size_t)bs_protocol_voxels(p) * p->coils * p->slices * 2;

	memset(s, 0, sizeof(*s));
	s->p = *p;
	s->passes = passes;
	s->row = (size_t)p->coils * p->samples * 2;
	s->data = window_random(s->row * p->readouts * passes, 0.5, 77);
	s->maps = window_random(maps, -0.5, 5);
	return s->data != NULL && s->maps != NULL && bs_traj_make(&s->traj, p, NULL) == 0;
}

static inline void window_site_close(struct window_site *s)
{
	free(s->data);
	free(s->maps);
	bs_traj_close(&s->traj);
}

static inline int window_take(struct bs_recon *r, struct window_run *run)
{
	int rc;

	do {
		struct bs_recon_image *at =
			&run->image[run->images < WINDOW_IMAGES ? run->images : WINDOW_IMAGES - 1];

		at->pixels = run->pixels + (size_t)(at - run->image) * run->floats;
		rc = bs_recon_pop(r, at, INT64_MAX, &run->why);
		if (rc == 1) {
			run->images++;
			run->previews += at->preview;
		}
	} while (rc == 1);
	return rc;
}

/*
 * Readouts first .. last - 1 of the stream (pass * readouts + row), less those that lost names, in
 * a fresh recon of the protocol; the caller frees run->pixels. counted: passes count as
 * repetitions.
 */
static inline void window_run(struct window_run *run, const struct window_site *s,
			      const struct bs_protocol *p, const struct bs_engine *engine,
			      int threads, uint32_t first, uint32_t last,
			      bool (*lost)(uint32_t readout), bool counted)
{
	struct bs_tables tables = { .traj = &s->traj, .maps = s->maps };
	struct bs_scan_info info = { .channels = p->coils };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_team *crew = NULL;
	struct bs_recon *r = NULL;

	memset(run, 0, sizeof(*run));
	run->floats = (size_t)bs_protocol_image_bytes(p) / sizeof(float);
	run->pixels = calloc(WINDOW_IMAGES, run->floats * sizeof(float));
	run->rc = bs_recon_need(p, engine, &need, &run->why);
	if (run->rc == 0)
		run->rc = bs_arena_open(&arena, need.total_bytes, &run->why);
	if (run->rc == 0)
		run->rc = bs_team_open(&crew, threads, &run->why);
	if (run->rc == 0) {
		struct bs_arm_env env = { .arena = &arena, .team = crew, .cache_dir = "" };

		run->rc = bs_recon_arm(&r, p, engine, &tables, &env, &run->why);
		arena.sealed = true;
	}
	if (run->rc == 0)
		bs_recon_scan(r, &info);
	for (uint32_t i = first; run->rc == 0 && i < last; i++) {
		uint32_t row = i % p->readouts;
		struct bs_mrd_acq h = { .version = 1,
					.number_of_samples = (uint16_t)p->samples,
					.active_channels = (uint16_t)p->coils,
					.scan_counter = i + 1 };

		if (lost != NULL && lost(i))
			continue;
		h.idx.kspace_encode_step_1 = (uint16_t)row;
		h.idx.repetition = (uint16_t)(counted ? i / p->readouts : 0);
		do {
			run->rc = bs_recon_readout(r, &h, row, s->data + s->row * i, 1000 + i,
						   &run->why);
			int popped = window_take(r, run);

			if (popped < 0)
				run->rc = popped;
		} while (run->rc == BS_RECON_POP_FIRST);
	}
	if (run->rc == 0) {
		bs_recon_close(r);
		run->rc = window_take(r, run);
	}
	CHECK(r == NULL || (arena.used + BS_ALIGN - 1) / BS_ALIGN * BS_ALIGN == need.total_bytes,
	      "arm takes what need states: %zu of %llu", arena.used,
	      (unsigned long long)need.total_bytes);
	bs_recon_disarm(r);
	bs_team_close(crew);
	bs_arena_close(&arena);
}

static inline const float *window_image(const struct window_run *run, uint32_t i)
{
	return run->pixels + i * run->floats;
}

static inline bool window_same(const struct window_run *a, uint32_t i, const struct window_run *b,
			       uint32_t j)
{
	return i < a->images && j < b->images && a->floats == b->floats &&
	       memcmp(window_image(a, i), window_image(b, j), a->floats * sizeof(float)) == 0;
}

/*
 * Two and a half passes: the right number of frames; each one alike, bit for bit, to that of a
 * recon that saw its readouts only, and within tolerance of one without groups; on any team.
 */
static inline void window_frames(const struct bs_protocol *p, const struct bs_engine *engine,
				 const char *what, double tolerance)
{
	struct window_site site;
	const struct window_site *s = &site;
	const uint32_t n = p->readouts * 5 / 2 / p->frame_step * p->frame_step;
	const uint32_t frames = (n - p->readouts) / p->frame_step + 1;
	struct bs_protocol plain = *p;
	struct window_run all;
	struct window_run other;
	uint32_t same = 0;
	double worst = 0.0;

	CHECK(window_site_open(&site, p, 3), "%s: a stream", what);
	plain.frame_step = 0;
	bs_plan_make(&plain);
	window_run(&all, s, p, engine, 1, 0, n, NULL, true);
	CHECK(all.rc == 0 && all.images == frames, "%s: %u readouts make %u frames (%u) %s", what,
	      n, all.images, frames, all.why.text);
	for (uint32_t f = 0; all.rc == 0 && f < frames; f++) {
		uint32_t first = f * p->frame_step;
		const struct bs_recon_image *i = &all.image[f];

		if (i->missing != 0 || i->readouts != p->readouts || i->head.image_index != f + 1 ||
		    i->last_ns != 999 + first + p->readouts || i->preview)
			CHECK(false, "%s: frame %u: %u readouts, %u missing, index %u", what, f,
			      i->readouts, i->missing, i->head.image_index);
		window_run(&other, s, p, engine, 2, first, first + p->readouts, NULL, true);
		same += other.images == 1 && window_same(&all, f, &other, 0);
		free(other.pixels);
		/* in one frame of its own, whatever the pass that its readouts are of */
		window_run(&other, s, &plain, engine, 1, first, first + p->readouts, NULL, false);
		double e = other.images == 1 ? check_rel(window_image(&all, f),
							 window_image(&other, 0), all.floats)
					     : INFINITY;

		worst = e > worst || !(e == e) ? e : worst;
		free(other.pixels);
	}
	CHECK(same == frames, "%s: %u of %u frames are the bits of their readouts alone", what,
	      same, frames);
	CHECK(worst <= tolerance, "%s: at most %.1e from a frame without groups (%.0e)", what,
	      worst, tolerance);
	window_run(&other, s, p, engine, 4, 0, n, NULL, false);
	same = 0;
	for (uint32_t f = 0; f < frames; f++)
		same += window_same(&all, f, &other, f);
	CHECK(other.images == frames && same == frames,
	      "%s: passes that are not counted, four threads: the same bits in %u of %u", what,
	      same, frames);
	free(other.pixels);
	free(all.pixels);
	window_site_close(&site);
}

/* Previews of one frame: as many as are due, marked as previews; the frame that follows has the
 * bits that it has without them. */
static inline void window_previews(const struct bs_protocol *p, const struct bs_engine *engine,
				   const char *what, uint32_t every)
{
	struct window_site site;
	const struct window_site *s = &site;
	struct bs_protocol with = *p;
	struct bs_protocol without = *p;
	const uint32_t n = p->readouts;
	const uint32_t due = (n - 1) / every;
	struct window_run a;
	struct window_run b;
	struct window_run c;

	CHECK(window_site_open(&site, p, 2), "%s: a stream", what);
	with.frame_step = without.frame_step = without.preview_every = 0;
	with.preview_every = every;
	bs_plan_make(&with);
	bs_plan_make(&without);
	window_run(&a, s, &without, engine, 1, 0, 2 * n, NULL, true);
	window_run(&b, s, &with, engine, 1, 0, 2 * n, NULL, true);
	window_run(&c, s, &with, engine, 4, 0, 2 * n, NULL, true);
	CHECK(a.rc == 0 && b.rc == 0 && a.images == 2 && b.images == 2 * due + 2 &&
		      b.previews == 2 * due,
	      "%s: two frames, %u previews each of them: %u images, %u previews %s", what, due,
	      b.images, b.previews, b.why.text);
	for (uint32_t f = 0; b.rc == 0 && f < 2; f++) {
		uint32_t at = f * (due + 1);

		CHECK(window_same(&a, f, &b, at + due) &&
			      b.image[at + due].head.image_index == f + 1 &&
			      !b.image[at + due].preview,
		      "%s: frame %u after its previews: the same bits, index and series as without",
		      what, f + 1);
		for (uint32_t i = 0; i < due; i++) {
			const struct bs_recon_image *m = &b.image[at + i];
			bool good = m->preview && m->readouts == (i + 1) * every &&
				    m->missing == n - m->readouts &&
				    m->head.image_index == f * due + i + 1 &&
				    m->head.image_series_index ==
					    (b.image[due].head.image_series_index |
					     BS_PREVIEW_SERIES) &&
				    window_same(&b, at + i, &c, at + i);

			CHECK(good, "%s: preview %u holds %u readouts, four threads the same bits",
			      what, f * due + i + 1, m->readouts);
		}
	}
	free(a.pixels);
	free(b.pixels);
	free(c.pixels);
	window_site_close(&site);
}

static inline struct bs_protocol window_golden(enum bs_method method, uint32_t step)
{
	struct bs_protocol p = path_of(method, BS_TRAJ_RADIAL2D, 24, 20, 1, 3);

	readouts_of(&p, 24, 40);
	solved(&p, 0.1, 3);
	p.accuracy = 0.0;
	p.width = 5.0;
	p.oversampling = 2.0;
	p.combine = method == BS_METHOD_SENSE ? BS_COMBINE_SENSE : BS_COMBINE_RSS;
	p.frame_step = step;
	p.fhd = p.q = bs_methods[method].solves ? BS_SUM_NUFFT : BS_SUM_EXACT;
	return planned_host(p);
}

/* Interleaves of one plane after the other: the gridding goes plane by plane, all at once. */
static inline struct bs_protocol window_stack(uint32_t step)
{
	struct bs_protocol p = window_golden(BS_METHOD_GRIDDING, step);

	p.dims = 3;
	p.matrix[0] = p.matrix[1] = p.matrix[2] = 16;
	p.coils = 2;
	p.samples = 60;
	p.readouts = 32;
	p.traj = (struct bs_traj_spec){ .type = BS_TRAJ_STACK, .interleaves = 2, .turns = 4 };
	return planned(p);
}

#endif

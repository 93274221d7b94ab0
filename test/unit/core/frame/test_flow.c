/*
 * test/unit/core/frame/test_flow.c - velocities of sets against set 0, through frames and the
 * host's engine: against double precision, in each order; a set 0 that lacks, is cut, comes once
 * more after a restart; what a header must say
 */
/* Holds: C7, C8 */
#include "core/frame/attributes.h"
#include "core/frame/recon.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/engine/engines.h"
#include "test/unit/core/attributes.h"
#include "test/support/check.h"

#define NX    16u
#define NY    12u
#define COILS 3u
#define SETS  3u
#define VENC  60.0
#define MOST  32u
#define PIX   ((size_t)NX * NY)

static const struct bs_scan_info header = { .channels = COILS,
					    .venc = (float)VENC,
					    .venc_range = { (float)VENC, (float)VENC } };
static double complex object[2][SETS][COILS][PIX]; /* of two repetitions */
static float line[2][SETS][NY][2 * COILS * NX];
static struct bs_fail why;
static struct bs_team *team;
static struct bs_arena arena;
static struct bs_recon *r;
static float pixels[MOST][PIX];
static struct bs_recon_image got[MOST];
static uint32_t images;

static struct bs_protocol protocol = { .name = "flow",
				       .method = BS_METHOD_CARTESIAN,
				       .dims = 2,
				       .traj.type = BS_TRAJ_CARTESIAN,
				       .matrix = { NX, NY, 1 },
				       .encoded = { NX, NY, 1 },
				       .coils = COILS,
				       .samples = NX,
				       .readouts = NY,
				       .slices = 1,
				       .contrasts = 1,
				       .combine = BS_COMBINE_RSS,
				       .output = BS_OUTPUT_VELOCITY };

static void make_scan(void)
{
	const double pi = acos(-1.0);
	uint64_t seed = 11;

	for (uint32_t i = 0; i < 2 * SETS * COILS * PIX; i++)
		((double complex *)object)[i] =
			check_uniform(&seed) + 0.2 + I * (check_uniform(&seed) - 0.5);
	for (uint32_t s = 0; s < 2 * SETS; s++)
		for (uint32_t c = 0; c < COILS; c++)
			for (uint32_t ky = 0; ky < NY; ky++)
				for (uint32_t kx = 0; kx < NX; kx++) {
					double complex sum = 0;

					for (uint32_t v = 0; v < PIX; v++) {
						const double x = (double)(v % NX) - NX / 2;
						const double y = (double)(v / NX) - NY / 2;

						sum += object[s / SETS][s % SETS][c][v] *
						       cexp(-2 * pi * I *
							    (((double)kx - NX / 2) * x / NX +
							     ((double)ky - NY / 2) * y / NY));
					}
					sum /= sqrt((double)PIX);
					line[s / SETS][s % SETS][ky][2 * (c * NX + kx)] =
						(float)creal(sum);
					line[s / SETS][s % SETS][ky][2 * (c * NX + kx) + 1] =
						(float)cimag(sum);
				}
}

static void take(void)
{
	int rc;

	do {
		struct bs_recon_image *image = &got[images];

		image->pixels = pixels[images];
		rc = bs_recon_pop(r, image, INT64_MAX, &why);
		images += rc == 1 && images + 1 < MOST;
	} while (rc == 1);
	if (rc != 0)
		CHECK(false, "pop: %s", why.text);
}

static void put_line(uint32_t repetition, uint32_t set, uint32_t ky)
{
	struct bs_mrd_acq h = { .number_of_samples = NX, .active_channels = COILS };
	int rc;

	h.idx.set = (uint16_t)set;
	h.idx.repetition = (uint16_t)repetition;
	h.idx.kspace_encode_step_1 = (uint16_t)ky;
	do {
		rc = bs_recon_readout(r, &h, ky, line[repetition % 2][set][ky], 1, &why);
		take();
	} while (rc == BS_RECON_POP_FIRST);
	if (rc != 0)
		CHECK(false, "readout: %s", why.text);
}

static void put_set(uint32_t repetition, uint32_t set, uint32_t from)
{
	for (uint32_t ky = from; ky < NY; ky++)
		put_line(repetition, set, ky);
}

static void begin(const struct bs_protocol *p, const struct bs_scan_info *info)
{
	const struct bs_tables tables = { 0 };
	struct bs_need need = { 0 };
	int rc = bs_recon_need(p, &bs_engine_host, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	const struct bs_arm_env env = { .arena = &arena, .team = team, .cache_dir = "" };

	if (rc == 0)
		rc = bs_recon_arm(&r, p, &bs_engine_host, &tables, &env, &why);
	CHECK(rc == 0, "armed %s", why.text);
	if (rc != 0)
		exit(check_done());
	images = 0;
	bs_recon_scan(r, info);
}

static void end(void)
{
	bs_recon_close(r);
	take();
	bs_recon_disarm(r);
	bs_arena_close(&arena);
}

/* Image i is that magnitude of set 0, or that velocity. */
static void is(uint32_t i, uint32_t repetition, uint32_t set, const char *words)
{
	const struct bs_mrd_image *h = &got[i].head;
	double worst = 0;

	for (uint32_t v = 0; v < PIX; v++) {
		double complex sum = 0;
		double off;

		for (uint32_t c = 0; c < COILS; c++)
			sum += object[repetition][set][c][v] * conj(object[repetition][0][c][v]);
		off = set == 0 ? fabs(pixels[i][v] - sqrt(creal(sum)))
			       : fabs(pixels[i][v] - VENC / acos(-1.0) * carg(sum));
		worst = fmax(worst, set == 0 ? off : fmin(off, 2 * VENC - off));
	}
	CHECK(i < images && worst < 1e-4, "%s: image %u is %s %u of repetition %u: off by %.1e",
	      words, i, set == 0 ? "set" : "the velocity of set", set, repetition, worst);
	CHECK(h->set == set && h->repetition == repetition && h->data_type == BS_MRD_FLOAT &&
		      h->image_type == (set == 0 ? BS_MRD_MAGNITUDE : BS_MRD_PHASE) &&
		      ((h->image_series_index & BS_VELOCITY_SERIES) != 0) == (set != 0),
	      "%s: the head of image %u", words, i);
}

static bool whole(uint32_t i)
{
	return got[i].missing == 0 && got[i].lacks[0] == '\0';
}

/* Two repetitions of three sets; then what a restart makes of the same readouts. */
static void in_order(void)
{
	float all[MOST][PIX];

	begin(&protocol, &header);
	for (uint32_t i = 0; i < 2 * SETS; i++)
		put_set(i / SETS, i % SETS, 0);
	end();
	CHECK(images == 2 * SETS, "%u images", images);
	for (uint32_t i = 0; i < 2 * SETS; i++) {
		is(i, i / SETS, i % SETS, "in order");
		CHECK(whole(i), "image %u is whole: %s", i, got[i].lacks);
	}
	memcpy(all, pixels, sizeof(all));
	for (uint32_t before = 1; before < 2 * SETS; before++) {
		begin(&protocol, &header);
		bs_recon_resume(r, before, 0);
		for (uint32_t i = 0; i < 2 * SETS; i++)
			put_set(i / SETS, i % SETS, 0);
		end();
		CHECK(images == 2 * SETS - before && got[0].number == before + 1 &&
			      memcmp(pixels, all[before], images * sizeof(pixels[0])) == 0,
		      "after %u images that were handed on: the same bytes", before);
	}
}

/* Sets line by line, and sets that are whole before their set 0: they wait for it. */
static void together(void)
{
	struct bs_protocol p = protocol;

	p.sets = SETS;
	begin(&p, &header);
	for (uint32_t ky = 0; ky < NY; ky++)
		for (uint32_t s = SETS; s-- > 0;)
			put_line(0, s, ky);
	CHECK(images == SETS, "line by line: %u images", images);
	end();
	for (uint32_t i = 0; i < SETS; i++) {
		is(i, 0, (uint32_t[]){ 0, 2, 1 }[i], "line by line");
		CHECK(whole(i), "image %u is whole: %s", i, got[i].lacks);
	}
	p.repetitions = 2;
	begin(&p, &header); /* two repetitions, one in the other */
	put_set(0, 1, 0);
	put_set(1, 2, 0);
	put_set(1, 0, 0);
	CHECK(images == 2, "one waits: %u images", images);
	put_set(0, 2, 0);
	put_set(0, 0, 0);
	end();
	is(0, 1, 0, "in turn");
	is(1, 1, 2, "in turn");
	is(2, 0, 0, "in turn");
	is(3, 0, 1, "in turn");
	is(4, 0, 2, "in turn");
	p.sets = 2;
	p.repetitions = 1;
	begin(&p, &header); /* set 0 lacks a line, and ends with the scan, before those that wait */
	put_set(0, 1, 0);
	put_set(0, 0, 1);
	CHECK(images == 0, "both are open");
	end();
	CHECK(images == 2 && got[0].head.set == 0 && got[1].head.image_type == BS_MRD_PHASE,
	      "set 0 leaves first");
	CHECK(strncmp(got[1].lacks, "of set 0, the reference: 1 of 12", 32) == 0, "%s",
	      got[1].lacks);
	begin(&p, &header); /* no room to wait: the oldest leaves */
	put_set(0, 1, 0);
	put_set(1, 1, 0);
	CHECK(images == 0, "two wait");
	put_set(2, 0, 0);
	CHECK(images == 2 && got[0].head.repetition == 0 && got[1].head.set == 0,
	      "one made room: %u images", images);
	CHECK(strcmp(got[0].lacks,
		     "no velocity but a magnitude: set 0, the reference, did not come") == 0,
	      "%s", got[0].lacks);
	end();
	CHECK(images == 3 && got[2].head.image_type == BS_MRD_MAGNITUDE, "the other with the scan");
}

static bool says(uint32_t i, const char *words)
{
	CHECK(i < images && strncmp(got[i].lacks, words, strlen(words)) == 0, "image %u: '%s'", i,
	      got[i].lacks);
	return true;
}

static void lacking(void)
{
	struct bs_protocol p = protocol;

	begin(&protocol, &header); /* its set 0 comes after it, and in another repetition */
	put_set(0, 1, 0);
	put_set(0, 0, 0);
	put_set(1, 1, 0);
	end();
	CHECK(images == 3, "%u images", images);
	for (uint32_t i = 0; i < 3; i += 2) {
		(void)says(i, "no velocity but a magnitude: set 0, the reference, did not come");
		CHECK(got[i].head.image_type == BS_MRD_MAGNITUDE &&
			      (got[i].head.image_series_index & BS_VELOCITY_SERIES) == 0,
		      "and image %u is none", i);
	}
	is(1, 0, 0, "late");
	begin(&protocol, &header); /* a line of set 0 lacks */
	put_set(0, 0, 1);
	put_set(0, 2, 0);
	end();
	CHECK(images == 2 && got[1].head.image_type == BS_MRD_PHASE && !whole(0), "two images");
	(void)says(1, "of set 0, the reference: 1 of 12 readouts did not come");
	begin(&protocol, &header); /* nothing of the scan before is left */
	put_set(0, 2, 0);
	end();
	(void)says(0, "no velocity but a magnitude: set 0, the reference, did not come");
	p.contrasts = 2; /* another place */
	begin(&p, &header);
	put_set(0, 0, 0);
	put_set(1, 0, 0);
	put_set(0, 1, 0);
	put_set(1, 2, 0);
	end();
	is(2, 0, 1, "two kept");
	is(3, 1, 2, "two kept");
}

static void words(void)
{
	static const struct {
		float venc, range[2];
		double key;
		struct bs_limit set;
		const char *words;
	} cases[] = {
		{ 60, { 60, 60 }, 0, { 0, 3, 0, 1 }, "" },
		{ 0, { 0, 0 }, 40, { 0, 0, 0, 0 }, "" },
		{ 0, { 0, 0 }, 0, { 0, 1, 0, 1 }, "neither userParameterDouble VENC_0" },
		{ 60, { 60, 120 }, 0, { 0, 1, 0, 1 }, "VENC_1, ... from 60 to 120 cm/s" },
		{ 60, { 60, 60 }, 0, { 0, 0, 0, 1 }, "the header has set 0 alone" },
		{ 60, { 60, 60 }, 0, { 1, 2, 0, 1 }, "without the reference, set 0" },
	};
	char text[4096];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bs_protocol p = protocol;
		struct bs_scan_info info = { .encoded = { NX, NY, 1 } };
		int rc;

		p.venc = cases[i].key;
		info.venc = cases[i].venc;
		memcpy(info.venc_range, cases[i].range, sizeof(info.venc_range));
		info.set = cases[i].set;
		rc = bs_admit_scan(&p, &info, &why);
		CHECK((rc == 0) == (cases[i].words[0] == '\0') &&
			      (rc == 0 || strstr(why.text, cases[i].words) != NULL),
		      "header %zu: %s", i, rc != 0 ? why.text : "taken");
		p.output = BS_OUTPUT_MAGNITUDE;
		bs_plan_make(&p);
		CHECK(bs_admit_scan(&p, &info, &why) == 0, "of magnitudes nothing is asked");
	}
	begin(&protocol, &header);
	put_set(0, 0, 0);
	put_set(0, 1, 0);
	end();
	for (uint32_t i = 0; i < 2; i++) {
		const struct bs_image_timing timing = { 0 };

		(void)attributes_xml(text, sizeof(text), &protocol, "e", &got[i], &timing, NULL);
		CHECK((strstr(text, "<name>boreside_unit</name><value>cm/s</value>") != NULL &&
		       strstr(text, "<name>boreside_venc</name><value>60</value>") != NULL) ==
			      (i == 1),
		      "its unit in the attributes of image %u", i);
	}
}

/* A scan without names is told by its first readout: the same again, another otherwise. */
static void names(void)
{
	struct bs_scan_info named = header;
	char scan[3][17];

	(void)snprintf(named.measurement, sizeof(named.measurement), "m1");
	for (int i = 0; i < 3; i++) {
		begin(&protocol, &header);
		put_set(i == 2, 0, 0);
		end();
		memcpy(scan[i], got[0].scan, sizeof(scan[i]));
	}
	CHECK(strlen(scan[0]) == 16 && strcmp(scan[0], scan[1]) == 0 &&
		      strcmp(scan[0], scan[2]) != 0,
	      "%s %s %s", scan[0], scan[1], scan[2]);
	begin(&protocol, &named);
	put_set(0, 0, 0);
	end();
	CHECK(got[0].scan[0] == '\0', "one with a name has that");
}

int main(void)
{
	bs_plan_make(&protocol);
	CHECK(bs_team_open(&team, 2, &why) == 0, "team %s", why.text);
	make_scan();
	in_order();
	together();
	lacking();
	words();
	names();
	bs_team_close(team);
	return check_done();
}

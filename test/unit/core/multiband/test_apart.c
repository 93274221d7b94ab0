/*
 * test/unit/core/multiband/test_apart.c - which lines hold a group of slices, whose they are, where
 * these lie, and which images wait until it is known
 */
#include "core/multiband/apart.h"
#include "test/support/check.h"

#include <math.h>
#include <string.h>

static struct bs_apart a;
static struct bs_protocol p;
static struct bs_scan_info info;

static void scan(uint32_t slices, uint32_t factor, enum bs_references by)
{
	memset(&p, 0, sizeof(p));
	p.method = BS_METHOD_CARTESIAN;
	p.parallel = BS_PARALLEL_SLICES;
	p.slices = slices;
	p.contrasts = 1;
	p.coils = 2;
	p.multiband.factor = factor;
	p.multiband.references = by;
	bs_plan_make(&p);
	bs_apart_scan(&a, &p, &info);
}

static struct bs_mrd_acq line(uint16_t slice, uint16_t repetition, float z)
{
	return (struct bs_mrd_acq){ .idx = { .slice = slice, .repetition = repetition },
				    .position = { 1.0f, 2.0f, z },
				    .slice_dir = { 0.0f, 0.0f, 1.0f } };
}

static void reference(uint16_t slice, float z)
{
	const struct bs_mrd_acq head = line(slice, 0, z);

	bs_apart_reference(&a, &head);
}

/* The line holds a group. */
static bool group(uint16_t slice, uint16_t repetition)
{
	struct bs_mrd_acq head = line(slice, repetition, 10.0f * slice);
	const bool is = bs_apart_line(&a, &head);

	CHECK(((head.flags & BS_MRD_FOLDED) != 0) == is &&
		      ((head.flags & BS_MRD_IS_CALIBRATION_TOO) != 0) == !is,
	      "slice %u, repetition %u is flagged as what it is", slice, repetition);
	return is;
}

/* Slice and place of a band of a group whose line, by this slice's number, lies at from. */
static void band(uint16_t slice, float from, uint32_t of, uint32_t want, float z)
{
	struct bs_mrd_acq head = line(slice, 1, from);

	bs_apart_band(&a, &head, of);
	CHECK(head.idx.slice == want && fabsf(head.position[2] - z) < 1e-4f &&
		      head.position[0] == 1.0f,
	      "band %u with slice %u: slice %u at %g", of, slice, head.idx.slice,
	      (double)head.position[2]);
}

static void flagged(void)
{
	memset(&info, 0, sizeof(info));
	scan(6, 3, BS_REFERENCES_AUTO);
	CHECK(a.bands == 3 && a.groups == 2, "two groups of three");
	CHECK(a.cycles[0] == 0.0 && a.cycles[2] == 2.0 / 3.0, "moved by thirds");
	for (uint16_t s = 0; s < 6; s++)
		reference(s, 7.0f * s);
	CHECK(group(0, 0) && group(1, 0) && group(3, 0), "any slice of a group names it");
	band(1, 10.0f, 0, 1, 7.0f);
	band(1, 10.0f, 2, 5, 35.0f);
	band(3, 30.0f, 0, 1, 7.0f);
	band(3, 30.5f, 0, 1, 7.5f); /* moved since its group's first line */
	CHECK(group(3, 1), "the next repetition");
	band(3, 30.5f, 2, 5, 35.5f);
	CHECK(!bs_apart_doubtful(&a, &(struct bs_mrd_acq){ .flags = BS_MRD_FOLDED }, true),
	      "and nothing is in doubt");
}

/* Calibration lines between those of a group are of it; those before it are references. */
static void embedded(void)
{
	const struct bs_mrd_acq of_group = line(3, 1, 0.0f);
	const struct bs_mrd_acq of_other = line(1, 0, 0.0f);

	memset(&info, 0, sizeof(info));
	info.calibration = BS_CALIBRATION_EMBEDDED;
	scan(6, 3, BS_REFERENCES_AUTO);
	reference(0, 0.0f);
	CHECK(!bs_apart_embeds(&a, &of_group), "no line of an image has come");
	CHECK(group(1, 0), "a group");
	CHECK(bs_apart_embeds(&a, &of_group), "the group's");
	CHECK(!bs_apart_embeds(&a, &(struct bs_mrd_acq){ .idx.slice = 2 }), "another group's");
	scan(6, 3, BS_REFERENCES_FIRST);
	CHECK(!group(0, 0) && !group(2, 0), "references");
	CHECK(!bs_apart_embeds(&a, &of_other), "a reference's");
	CHECK(bs_apart_embeds(&a, &of_group), "another repetition's");
	info.calibration = BS_CALIBRATION_SEPARATE;
	scan(6, 3, BS_REFERENCES_FLAGGED);
	CHECK(group(1, 0) && !bs_apart_embeds(&a, &of_group), "a scan whose lines are separate");
}

static void by_header(void)
{
	memset(&info, 0, sizeof(info));
	info.places = 2;
	info.band_mm[1] = 30.0f;
	info.steps = 1;
	info.delta_kz = 0.01f;
	scan(4, 2, BS_REFERENCES_FLAGGED);
	CHECK(fabs(a.cycles[1] - 0.3) < 1e-6, "the header's shift: %g", a.cycles[1]);
	CHECK(group(1, 0), "no reference has come");
	band(1, 5.0f, 0, 1, 5.0f);
	band(1, 5.0f, 1, 3, 35.0f);
	band(3, 5.0f, 0, 1, -25.0f);
	p.multiband.shift = 0.25;
	bs_apart_scan(&a, &p, &info);
	CHECK(a.cycles[1] == 0.25, "the protocol's shift comes first");
	p.multiband.shift = 1.0;
	bs_apart_scan(&a, &p, &info);
	CHECK(a.cycles[1] == 0.0, "none");
}

/* Images that are over: how many wait. */
static uint32_t waiting(struct bs_opens *o)
{
	uint32_t n = 0;

	bs_apart_hold(&a, o);
	for (uint32_t i = 0; i < 4; i++)
		n += o->at[i].waits;
	return n;
}

static void first(void)
{
	struct bs_open at[4] = { { .state = BS_OPEN_OVER }, { .state = BS_OPEN_FILLING } };
	struct bs_opens o = { .at = at, .pairs = 4, .lanes = 1, .over = 1 };
	const struct bs_mrd_acq own = { 0 };

	memset(&info, 0, sizeof(info));
	scan(4, 2, BS_REFERENCES_AUTO);
	CHECK(!group(0, 3) && !group(0, 3), "the first repetition, whatever its number");
	CHECK(waiting(&o) == 1 && o.over == 0, "its images wait: slice 0 may hold slice 2");
	CHECK(!group(1, 3) && waiting(&o) == 1, "slice 1 is of another group");
	at[0].urged = true;
	at[0].waits = false;
	o.over = 1;
	CHECK(waiting(&o) == 0, "but not those that may not wait longer");
	at[0].urged = false;
	CHECK(waiting(&o) == 1 && bs_apart_doubtful(&a, &own, false), "in doubt");
	CHECK(!group(2, 3) && waiting(&o) == 0 && o.over == 1, "slice 2 came by itself");
	CHECK(!bs_apart_doubtful(&a, &own, false), "no doubt");
	CHECK(group(0, 4), "the next repetition holds groups");
	band(0, 0.0f, 1, 2, 20.0f);
	CHECK(!group(1, 3), "which may come in turns");
	CHECK(group(0, 3), "and the group's lines hold it from there, whatever their repetition");
	CHECK(bs_apart_doubtful(&a, &own, true), "references do not come twice");

	scan(4, 2, BS_REFERENCES_AUTO);
	CHECK(!group(0, 0) && waiting(&o) == 1, "slice 0 waits again");
	CHECK(group(0, 1) && waiting(&o) == 0 && bs_apart_doubtful(&a, &own, false),
	      "slice 2 did not come before the next repetition: in doubt, and without waiting");
	scan(4, 2, BS_REFERENCES_AUTO);
	CHECK(!group(0, 0) && waiting(&o) == 1, "slice 0 waits");
	bs_apart_close(&a);
	CHECK(waiting(&o) == 0 && bs_apart_doubtful(&a, &own, false), "until the end: in doubt");

	scan(4, 2, BS_REFERENCES_FIRST);
	reference(0, 3.0f);
	CHECK(!group(0, 0), "flagged lines calibrate in plane where the protocol says so");
	CHECK(group(0, 1), "the next repetition");
	band(0, 0.0f, 0, 0, 0.0f);
}

/* Other counters than the repetition tell references and groups, too. */
static void counters(void)
{
	struct bs_mrd_acq head[4] = { line(0, 0, 0.0f), line(0, 0, 0.0f), line(0, 0, 0.0f),
				      line(0, 0, 0.0f) };

	head[1].idx.set = head[2].idx.phase = head[3].idx.average = 1;
	memset(&info, 0, sizeof(info));
	for (int i = 1; i < 4; i++) {
		scan(4, 2, BS_REFERENCES_AUTO);
		CHECK(!bs_apart_line(&a, &head[0]) && bs_apart_line(&a, &head[i]), "counter %d", i);
	}
	p.averages = 2;
	bs_apart_scan(&a, &p, &info);
	CHECK(!bs_apart_line(&a, &head[0]) && !bs_apart_line(&a, &head[3]), "summed averages");
}

int main(void)
{
	flagged();
	embedded();
	by_header();
	first();
	counters();
	p.parallel = BS_PARALLEL_NONE;
	bs_plan_make(&p);
	bs_apart_scan(&a, &p, &info);
	CHECK(a.bands == 0 && !bs_apart_doubtful(&a, &(struct bs_mrd_acq){ 0 }, true),
	      "a protocol that takes none apart");
	return check_done();
}

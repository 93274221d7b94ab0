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

/* Slice and place of a band of the group that this slice is in. */
static void band(uint16_t slice, uint32_t of, uint32_t want, float z)
{
	struct bs_mrd_acq head = line(slice, 1, 5.0f);

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
	band(1, 0, 1, 7.0f);
	band(1, 2, 5, 35.0f);
	band(3, 0, 1, 7.0f);
	CHECK(!bs_apart_doubtful(&a, &(struct bs_mrd_acq){ .flags = BS_MRD_FOLDED }),
	      "and nothing is in doubt");
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
	band(1, 0, 1, 5.0f);
	band(1, 1, 3, 35.0f);
	band(3, 0, 1, -25.0f);
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
	CHECK(waiting(&o) == 1 && bs_apart_doubtful(&a, &own), "in doubt");
	CHECK(!group(2, 3) && waiting(&o) == 0 && o.over == 1, "slice 2 came by itself");
	CHECK(!bs_apart_doubtful(&a, &own), "no doubt");
	CHECK(group(0, 4), "the next repetition holds groups");
	band(0, 1, 2, 20.0f);

	scan(4, 2, BS_REFERENCES_AUTO);
	CHECK(!group(0, 0) && waiting(&o) == 1, "slice 0 waits again");
	CHECK(group(0, 1) && waiting(&o) == 0 && bs_apart_doubtful(&a, &own),
	      "slice 2 did not come before the next repetition: in doubt, and without waiting");
	scan(4, 2, BS_REFERENCES_AUTO);
	CHECK(!group(0, 0) && waiting(&o) == 1, "slice 0 waits");
	bs_apart_close(&a);
	CHECK(waiting(&o) == 0 && bs_apart_doubtful(&a, &own), "until the end: in doubt");

	scan(4, 2, BS_REFERENCES_FIRST);
	reference(0, 3.0f);
	CHECK(!group(0, 0), "flagged lines calibrate in plane where the protocol says so");
	band(0, 0, 0, 0.0f);
}

int main(void)
{
	flagged();
	by_header();
	first();
	p.parallel = BS_PARALLEL_NONE;
	bs_plan_make(&p);
	bs_apart_scan(&a, &p, &info);
	CHECK(a.bands == 0 && !bs_apart_doubtful(&a, &(struct bs_mrd_acq){ 0 }),
	      "a protocol that takes none apart");
	return check_done();
}

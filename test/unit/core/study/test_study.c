/*
 * test/unit/core/study/test_study.c - what scans leave to later ones: which is found, what is
 * refused and in which words, which goes when there is no room, and a writer that died
 */
/* Holds: W59 */
#include "core/study/study.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory/arena.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

static struct bs_site site;
static struct bs_study *study;
static struct bs_scan_study scan;
static struct bs_noise noise;
static struct bs_fail why;

#define MAKES (&site.protocol[0])
#define TAKES (&site.protocol[1])

static void make_site(void)
{
	*MAKES = with_name(lines_of(6, 5, 1, 6, 3), "makes");
	MAKES->slices = 2;
	MAKES->combine = BS_COMBINE_SENSE;
	MAKES->maps = BS_MAPS_ESPIRIT;
	bs_plan_make(MAKES);
	*TAKES = *MAKES;
	memcpy(TAKES->name, "takes", 6);
	TAKES->maps = BS_MAPS_STUDY;
	bs_plan_make(TAKES);
	site.protocols = 2;
	site.study_scans = 3;
}

static struct bs_scan_info header(const char *id, const char *uid)
{
	struct bs_scan_info info = { .encoded = { 6, 5, 1 }, .encoded_fov_mm = { 60, 50, 4 } };

	(void)snprintf(info.measurement, sizeof(info.measurement), "%s", id);
	(void)snprintf(info.study, sizeof(info.study), "%s", uid);
	return info;
}

static struct bs_mrd_acq line(uint16_t slice, float x)
{
	return (struct bs_mrd_acq){ .idx.slice = slice,
				    .position = { x, 0.0f, 10.0f * slice },
				    .read_dir = { 1.0f, 0.0f, 0.0f },
				    .phase_dir = { 0.0f, 1.0f, 0.0f },
				    .slice_dir = { 0.0f, 0.0f, 1.0f } };
}

static int lines(const struct bs_protocol *p, float x)
{
	int rc = 0;

	for (uint16_t s = 0; rc == 0 && s < p->slices; s++) {
		const struct bs_mrd_acq h = line(s, x);

		rc = bs_scan_study_line(&scan, study, p, &noise, &h, &why);
	}
	return rc;
}

/* A scan that leaves maps; kept: false where its writer dies before it has done. */
static float *leave(const char *id, const char *uid, bool keeps)
{
	const struct bs_scan_info info = header(id, uid);
	struct bs_kept *kept;
	void *data = NULL;

	CHECK(bs_scan_study_open(&scan, study, MAKES, &info, &why) == 0 && lines(MAKES, 0.0f) == 0,
	      "'%s' takes nothing", id);
	kept = bs_study_fill(study, BS_KEPT_MAPS, &scan, MAKES, &info, &data);
	if (kept != NULL && keeps)
		bs_study_keep(study, kept);
	return data;
}

/* What a scan that names this one, or is of this study, takes; "": none. */
static const char *takes(const char *named, const char *uid)
{
	struct bs_scan_info info = header("new", uid);
	const struct bs_kept *kept;

	(void)snprintf(info.maps_scan, sizeof(info.maps_scan), "%s", named);
	if (bs_scan_study_open(&scan, study, TAKES, &info, &why) != 0)
		return "";
	kept = bs_scan_study_taken(&scan, study, BS_KEPT_MAPS);
	return kept != NULL ? kept->scan : "none";
}

static bool says(const char *words)
{
	return why.code == BS_ERR_CALIBRATION && strstr(why.text, words) != NULL;
}

static void test_found(void)
{
	float *first = leave("a", "1.2", true);
	float *second = leave("b", "1.2", true);

	CHECK(first != NULL && second != NULL && first != second &&
		      (size_t)labs((long)(second - first)) * sizeof(float) >= 2 * 3 * 30 * 8,
	      "each has room for maps of 2 slices, 3 coils, 30 voxels");
	CHECK(((uintptr_t)first - (uintptr_t)study) % BS_ALIGN == 0, "on a cache line");
	CHECK(strcmp(takes("a", "9"), "a") == 0, "by its name, of whatever study");
	CHECK(strcmp(takes("", "1.2"), "b") == 0, "the newest of the study");
	CHECK(strcmp(takes("", "1.3"), "") == 0 && says("no scan of study '1.3'"), "%s", why.text);
	CHECK(strcmp(takes("", ""), "") == 0 && says("neither"), "%s", why.text);
	CHECK(strcmp(takes("c", "1.2"), "") == 0 && says("'c', which the header names"), "%s",
	      why.text);
	CHECK(leave("a", "1.2", true) == first && strcmp(takes("", "1.2"), "a") == 0,
	      "the same scan again: its own place, and it is the newest");
	CHECK(leave("", "", true) == NULL, "a scan without any name leaves nothing");
}

static void test_room(void)
{
	(void)leave("c", "1.2", true);
	(void)leave("d", "1.2", true);
	CHECK(strcmp(takes("b", ""), "") == 0, "three are kept: the oldest has gone, b");
	CHECK(strcmp(takes("a", ""), "a") == 0 && strcmp(takes("c", ""), "c") == 0 &&
		      strcmp(takes("", "1.2"), "d") == 0,
	      "the others are there");
	(void)leave("e", "1.2", false);
	CHECK(strcmp(takes("e", ""), "") == 0 && strcmp(takes("a", ""), "") == 0 &&
		      strcmp(takes("", "1.2"), "d") == 0,
	      "a writer that died: neither its maps nor those that they were to replace");
	(void)leave("f", "1.2", true);
	CHECK(strcmp(takes("", "1.2"), "f") == 0 && strcmp(takes("c", ""), "c") == 0,
	      "the place is the next one's");
}

static void test_fits(void)
{
	const struct bs_protocol as_it_was = *TAKES;
	struct bs_mrd_acq h;

	TAKES->coils = 4;
	bs_plan_make(TAKES);
	CHECK(strcmp(takes("d", ""), "") == 0 && says("6 x 5 x 1 of 3 coils in 1 sets"), "%s",
	      why.text);
	*TAKES = as_it_was;
	TAKES->map_images = 2;
	bs_plan_make(TAKES);
	CHECK(strcmp(takes("d", ""), "") == 0 && says("of 3 in 2"), "%s", why.text);
	CHECK(!bs_study_wants(&site, BS_KEPT_MAPS, MAKES),
	      "nobody wants one set where two are used");
	*TAKES = as_it_was;
	TAKES->slices = 1;
	bs_plan_make(TAKES);
	CHECK(strcmp(takes("d", ""), "") == 0 && says("has 2 slices, this one 1"), "%s", why.text);
	*TAKES = as_it_was;
	TAKES->matrix[0] = 5; /* of the same voxels: another field of view */
	bs_plan_make(TAKES);
	CHECK(strcmp(takes("d", ""), "") == 0 && says("60 mm along x, of this one 50"), "%s",
	      why.text);
	*TAKES = as_it_was;
	CHECK(strcmp(takes("d", ""), "d") == 0 && lines(TAKES, 0.05f) == 0,
	      "0.05 mm off, of a field of view of 60");
	(void)takes("d", "");
	CHECK(lines(TAKES, 0.07f) == BS_ERR_CALIBRATION && says("slice 0 of scan 'd' lies at (0,"),
	      "%s", why.text);
	(void)takes("d", "");
	h = line(1, 0.0f);
	h.phase_dir[2] = 2e-3f;
	CHECK(bs_scan_study_line(&scan, study, TAKES, &noise, &h, &why) == BS_ERR_CALIBRATION &&
		      says("or its axes differ"),
	      "%s", why.text);
	TAKES->whiten = BS_WHITEN_AUTO;
	bs_plan_make(TAKES);
	noise.coils = 3;
	noise.samples = 8;
	(void)takes("d", "");
	CHECK(lines(TAKES, 0.0f) == BS_ERR_CALIBRATION &&
		      says("were not whitened, those of this one are whitened"),
	      "%s", why.text);
	MAKES->whiten = BS_WHITEN_AUTO;
	bs_plan_make(MAKES);
	(void)leave("w", "1.2", true);
	CHECK(strcmp(takes("w", ""), "w") == 0 && lines(TAKES, 0.0f) == 0, "by the same noise");
	noise.sum[0] = 1.0;
	(void)takes("w", "");
	CHECK(lines(TAKES, 0.0f) == BS_ERR_CALIBRATION && says("so by another noise"), "%s",
	      why.text);
	*TAKES = as_it_was;
}

/* Three channels, named by a letter each. */
static void name_three(struct bs_labels *l, const char *letters)
{
	memset(l, 0, sizeof(*l));
	for (; l->count < 3; l->count++) {
		l->name[l->count][0] = letters[l->count];
		l->number[l->count] = l->count;
	}
}

static int open_named(const char *letters)
{
	struct bs_scan_info info = header("new", "1.2");

	name_three(&info.labels, letters);
	(void)snprintf(info.maps_scan, sizeof(info.maps_scan), "l");
	return bs_scan_study_open(&scan, study, TAKES, &info, &why);
}

static void test_names(void)
{
	const struct bs_protocol as_it_was = *TAKES;
	struct bs_scan_info info = header("l", "1.2");
	struct bs_kept *kept;
	void *data;

	TAKES->whiten = BS_WHITEN_AUTO;
	bs_plan_make(TAKES);
	name_three(&info.labels, "ABC");
	for (int named = 0; named < 2; named++) {
		noise.match.by = named ? BS_MATCHED_NAME : BS_MATCHED_NUMBER;
		CHECK(bs_scan_study_open(&scan, study, MAKES, &info, &why) == 0 &&
			      lines(MAKES, 0.0f) == 0,
		      "maps of coils with names");
		kept = bs_study_fill(study, BS_KEPT_MAPS, &scan, MAKES, &info, &data);
		bs_study_keep(study, kept);
		CHECK(open_named("CAB") == 0 && scan.match.by == BS_MATCHED_NAME &&
			      scan.match.of[0] == 1 && scan.match.of[2] == 0,
		      "in another order");
		noise.match.by = BS_MATCHED_NAME;
		CHECK((lines(TAKES, 0.0f) == 0) == (named == 1) &&
			      (named == 1 || says("taken by number")),
		      "by the same noise, if its channels were matched by name, too: %s", why.text);
	}
	CHECK(open_named("ABD") == BS_ERR_CALIBRATION && says("(C) are not those of this scan"),
	      "%s", why.text);
	noise.match.by = BS_MATCHED_OWN;
	*TAKES = as_it_was;
}

static void test_wants(void)
{
	struct bs_protocol p = *MAKES;

	CHECK(bs_study_wants(&site, BS_KEPT_MAPS, &p), "maps that fit a protocol");
	p.virtual_coils = 3;
	bs_plan_make(&p);
	CHECK(!bs_study_wants(&site, BS_KEPT_MAPS, &p), "of virtual coils: not");
	p = *MAKES;
	p.matrix[1] = 7;
	bs_plan_make(&p);
	CHECK(!bs_study_wants(&site, BS_KEPT_MAPS, &p), "that fit none: not");
	CHECK(!bs_study_wants(&site, BS_KEPT_MAPS, TAKES), "that it did not make: not");
}

int main(void)
{
	uint64_t bytes;

	make_site();
	bytes = bs_study_bytes(&site);
	study = aligned_alloc(BS_ALIGN, (size_t)bytes);
	if (study == NULL)
		return 1;
	memset(study, 0, (size_t)bytes);
	bs_study_init(study, &site);
	CHECK(bs_study_holds(study, &site), "it has room for what it was laid out for");
	test_found();
	test_room();
	test_fits();
	test_names();
	test_wants();
	TAKES->matrix[1] /= 2;
	bs_plan_make(TAKES);
	CHECK(bs_study_holds(study, &site), "and for less");
	TAKES->matrix[1] *= 4;
	bs_plan_make(TAKES);
	CHECK(!bs_study_holds(study, &site), "for more there is no room");
	TAKES->maps = BS_MAPS_FILE;
	bs_plan_make(TAKES);
	CHECK(bs_study_bytes(&site) == 0, "no protocol takes any: no memory");
	free(study);
	return check_done();
}

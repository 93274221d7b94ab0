/*
 * test/unit/core/study/test_image.c - images that scans leave to W: which are kept, which is taken,
 * of which patient; what a scan without one is told
 */
/* Holds: C11 */
#include <stdlib.h>
#include <string.h>

#include "core/frame/recon.h"
#include "core/memory/arena.h"
#include "core/study/study.h"
#include "core/text.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

static struct bs_site site;
static struct bs_study *study;
static struct bs_scan_study scan;
static struct bs_recon_image image;
static float pixels[2 * 6 * 5];
static struct bs_fail why;

#define PROTON (&site.protocol[0])
#define SODIUM (&site.protocol[1])

static void make_site(void)
{
	*PROTON = with_name(lines_of(6, 5, 1, 6, 1), "proton");
	PROTON->slices = 1;
	*SODIUM = *PROTON;
	(void)snprintf(SODIUM->name, sizeof(SODIUM->name), "sodium");
	SODIUM->method = bs_method_least_squares();
	SODIUM->traj.type = BS_TRAJ_RADIAL2D;
	SODIUM->w = (struct bs_w_spec){ .from = BS_W_STUDY, .protocol = "proton", .neighbors = 4 };
	bs_plan_make(PROTON);
	bs_plan_make(SODIUM);
	site.protocols = 2;
	site.study_scans = 2;
}

static struct bs_scan_info header(const char *id, const char *uid, const char *patient,
				  const char *lies)
{
	struct bs_scan_info info = { .encoded = { 6, 5, 1 }, .encoded_fov_mm = { 60, 50, 4 } };
	struct bs_text t = { info.about, sizeof(info.about), 0, false };

	(void)snprintf(info.measurement, sizeof(info.measurement), "%s", id);
	(void)snprintf(info.study, sizeof(info.study), "%s", uid);
	if (patient[0] != '\0')
		bs_text_pair(&t, "mrd_patientID", "%s", patient);
	if (lies[0] != '\0')
		bs_text_pair(&t, "mrd_patientPosition", "%s", lies);
	return info;
}

/* A scan of the proton protocol leaves the image as it is now. */
static bool keeps(const char *id, const char *uid)
{
	const struct bs_scan_info info = header(id, uid, "P1", "HFS");

	return bs_study_image(study, &site, &scan, PROTON, &info, &image) != BS_SCAN_TAKES_NONE;
}

static void whole_image(void)
{
	image = (struct bs_recon_image){ .pixels = pixels,
					 .head = { .data_type = BS_MRD_CXFLOAT,
						   .matrix_size = { 6, 5, 1 },
						   .field_of_view = { 60, 50, 4 },
						   .position = { 7, 8, 9 },
						   .channels = 1 } };
}

/* The scan whose image a scan takes; "": it is refused, or has none. */
static const char *takes(const char *uid, const char *patient, const char *lies)
{
	const struct bs_scan_info info = header("new", uid, patient, lies);
	const struct bs_kept *kept;

	why.code = 0;
	if (bs_scan_study_open(&scan, study, SODIUM, &info, &why) != 0)
		return "";
	kept = bs_scan_study_taken(&scan, study, BS_KEPT_IMAGE);
	return kept != NULL ? kept->scan : "";
}

static bool says(const char *words)
{
	return why.code == BS_ERR_CALIBRATION && strstr(why.text, words) != NULL;
}

static void test_kept(void)
{
	const float *data;

	whole_image();
	pixels[0] = 3.0f;
	pixels[1] = -4.0f;
	CHECK(strcmp(takes("1.2", "", ""), "") == 0 && says("no scan of study '1.2' has left any"),
	      "no image yet: %s", why.text);
	image.missing = 1;
	CHECK(!keeps("p0", "1.2"), "an image that lacks readouts is not kept");
	image.missing = 0;
	(void)snprintf(image.lacks, sizeof(image.lacks), "lines");
	CHECK(!keeps("p0", "1.2"), "nor one that lacks something in words");
	image.lacks[0] = '\0';
	image.preview = true;
	CHECK(!keeps("p0", "1.2"), "nor a preview");
	image.preview = false;
	image.report.gridded = true;
	CHECK(!keeps("p0", "1.2"), "nor one by the gridding that replaces a solve");
	image.report.gridded = false;
	image.head.contrast = 1;
	CHECK(!keeps("p0", "1.2"), "nor a second contrast");
	image.head.contrast = 0;
	image.head.matrix_size[2] = 2;
	CHECK(!keeps("p0", "1.2"), "nor one larger than its room");
	image.head.matrix_size[2] = 1;
	CHECK(!keeps("", ""), "nor one of a scan without names");
	CHECK(keeps("p1", "1.2") && strcmp(takes("1.2", "P1", "HFS"), "p1") == 0,
	      "a whole one is, and a scan of the study takes it");
	data = bs_study_data(study, BS_KEPT_IMAGE, scan.taken[BS_KEPT_IMAGE]);
	CHECK(data[0] == 5.0f &&
		      bs_scan_study_taken(&scan, study, BS_KEPT_IMAGE)->pose[0].position[2] == 9.0f,
	      "its magnitude and its place are kept");
}

static void test_taken(void)
{
	CHECK(strcmp(takes("1.3", "P1", "HFS"), "") == 0, "another study's is not taken");
	CHECK(strcmp(takes("1.2", "P2", "HFS"), "") == 0 && says("is of another patient"), "%s",
	      why.text);
	CHECK(strcmp(takes("1.2", "P1", "FFS"), "") == 0 &&
		      says("the patient lay HFS in scan 'p1', and lies FFS now"),
	      "%s", why.text);
	CHECK(strcmp(takes("1.2", "", ""), "p1") == 0, "a header that does not tell is believed");
	SODIUM->w.lacking = BS_W_LACKING_WITHOUT;
	CHECK(strcmp(takes("1.2", "P2", "HFS"), "") == 0 && why.code == 0 &&
		      strstr(scan.lacks, "another patient") != NULL,
	      "or the scan goes on without: %s", scan.lacks);
	SODIUM->w.lacking = BS_W_LACKING_REFUSE;
	CHECK(keeps("p2", "1.2") && strcmp(takes("1.2", "P1", "HFS"), "p2") == 0 &&
		      scan.lacks[0] == '\0',
	      "the newest is taken");
	CHECK(keeps("p1", "1.2") && strcmp(takes("1.2", "P1", "HFS"), "p1") == 0,
	      "a scan's later image takes its earlier one's place");
	(void)snprintf(SODIUM->w.protocol, sizeof(SODIUM->w.protocol), "other");
	CHECK(!keeps("p3", "1.2") && strcmp(takes("1.2", "P1", "HFS"), "") == 0,
	      "images of a protocol that is not named are neither kept nor taken");
}

int main(void)
{
	uint64_t bytes;

	make_site();
	bytes = bs_study_bytes(&site);
	study = bytes > 0 ? aligned_alloc(BS_ALIGN, (size_t)bytes) : NULL;
	CHECK(study != NULL && bytes >= 2 * 6 * 5 * sizeof(float), "there is room for two images");
	if (study == NULL)
		return check_done();
	memset(study, 0, (size_t)bytes);
	bs_study_init(study, &site);
	test_kept();
	test_taken();
	free(study);
	return check_done();
}

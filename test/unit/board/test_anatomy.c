/*
 * test/unit/board/test_anatomy.c - W made in its thread: of the image ahead, of the place that the
 * first readout tells, the same again; a table that has moved is told
 */
/* Holds: C11 */
#include "board/arm/anatomy.h"

#include <stdlib.h>
#include <string.h>

#include "core/frame/recon.h"
#include "core/memory/arena.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#define N 32

static struct bs_site site;
static struct bs_study *study;
static struct bs_scan_study scan;
static struct bs_scan_info info = { .measurement = "p1",
				    .study = "1.2",
				    .encoded = { 20, 20, 20 },
				    .encoded_fov_mm = { N, N, N } };
static float pixels[N * N * N];
static struct bs_recon_image image = { .pixels = pixels,
				       .head = { .data_type = BS_MRD_FLOAT,
						 .matrix_size = { N, N, N },
						 .field_of_view = { N, N, N },
						 .read_dir = { 1 },
						 .phase_dir = { 0, 1 },
						 .slice_dir = { 0, 0, 1 },
						 .channels = 1 } };
static struct bs_anatomy *anatomy;
static struct bs_live *live;
static struct bs_fail why;

#define PROTON (&site.protocol[0])
#define SODIUM (&site.protocol[1])

static void make_site(void)
{
	*PROTON = with_name(lines_of(N, N, N, N, 1), "proton");
	*SODIUM = *PROTON;
	(void)snprintf(SODIUM->name, sizeof(SODIUM->name), "sodium");
	SODIUM->method = bs_method_least_squares();
	SODIUM->traj.type = BS_TRAJ_RADIAL3D;
	for (int a = 0; a < 3; a++) {
		SODIUM->matrix[a] = 20;
		SODIUM->fov_mm[a] = N;
	}
	SODIUM->w = (struct bs_w_spec){ .from = BS_W_STUDY,
					.protocol = "proton",
					.neighbors = 6,
					.edge = 0.1,
					.outside = 1.0,
					.mask = 0.1,
					.margin = 1.5,
					.off = 0.75,
					.l2 = 0.1 };
	bs_plan_make(PROTON);
	bs_plan_make(SODIUM);
	site.protocols = 2;
	site.study_scans = 2;
	for (int v = 0; v < N * N * N; v++) {
		const int x = v % N - N / 2;
		const int y = v / N % N - N / 2;
		const int z = v / N / N - N / 2;

		pixels[v] = x * x + 2 * y * y + z * z < 100 ? 1.0f : 0.0f;
	}
}

/* A scan whose first readout tells this place. 0, or what settle returns; *sum: of its W. */
static int one(float x, float table, double *sum)
{
	struct bs_mrd_acq head = { .read_dir = { 1 },
				   .phase_dir = { 0, 1 },
				   .slice_dir = { 0, 0, 1 } };
	int rc;

	head.position[0] = x;
	head.patient_table_position[2] = table;
	rc = bs_scan_study_open(&scan, study, SODIUM, &info, &why);
	CHECK(rc == 0 && scan.taken[BS_KEPT_IMAGE] != BS_SCAN_TAKES_NONE, "the scan takes one");
	bs_anatomy_scan(anatomy, study, &scan, &info);
	CHECK(!live->made && !live->aligned, "W is not told to be made before it is");
	bs_anatomy_pose(anatomy, &head);
	rc = live->settle(live->self, &why);
	*sum = 0.0;
	for (uint64_t e = 0; e < live->w.entries; e++)
		*sum += (double)live->w.value[e] * (double)live->w.value[e] * (double)(e % 97 + 1);
	return rc;
}

static void test_scans(void)
{
	const uint32_t slot = bs_study_image(study, &site, &scan, PROTON, &info, &image);
	double first, moved, again, table;

	CHECK(slot != BS_SCAN_TAKES_NONE, "the image is kept");
	bs_anatomy_ahead(anatomy, study, slot);
	CHECK(one(0.0f, 0.0f, &first) == 0 && live->made, "W ahead serves a scan at that place");
	CHECK(one(2.0f, 0.0f, &moved) == 0 && live->made && moved != first,
	      "a scan elsewhere has another W");
	CHECK(one(0.0f, 0.0f, &again) == 0 && again == first, "and then the first one again");
	CHECK(one(0.0f, 20.0f, &table) == BS_ERR_CALIBRATION && !live->made &&
		      strstr(why.text, "the table was at 0 mm along z in scan 'p1'") != NULL,
	      "%s", why.text);
	CHECK(one(100.0f, 0.0f, &table) == BS_ERR_CALIBRATION &&
		      strstr(why.text, "no object in common") != NULL,
	      "%s", why.text);
	SODIUM->w.lacking = BS_W_LACKING_WITHOUT;
	CHECK(one(0.0f, 20.0f, &table) == 0 && !live->made && !bs_live_used(live) &&
		      strstr(live->report.lacks, "the table was") != NULL,
	      "or it goes on without W: %s", live->report.lacks);
	CHECK(one(0.0f, 0.0f, &again) == 0 && live->made && again == first, "the next one has W");
}

int main(void)
{
	uint64_t bytes;
	int rc;

	make_site();
	bytes = bs_study_bytes(&site);
	study = bytes > 0 ? aligned_alloc(BS_ALIGN, (size_t)bytes) : NULL;
	if (study == NULL)
		return 1;
	memset(study, 0, (size_t)bytes);
	bs_study_init(study, &site);
	rc = bs_anatomy_open(&anatomy, SODIUM, &why);
	CHECK(rc == 0, "a W of the study is armed %s", why.text);
	if (rc == 0) {
		live = bs_anatomy_live(anatomy);
		test_scans();
	}
	bs_anatomy_close(anatomy);
	free(study);
	return check_done();
}

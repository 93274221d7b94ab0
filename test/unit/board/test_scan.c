/* test/unit/board/test_scan.c - a simulated scan: header, flags, counters, times, noise, images */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "drivers/tool/phantom/phantom.h"

#include <string.h>
#include <unistd.h>

#include "core/tool/phantom/coils.h"
#include "core/tool/phantom/phantom.h"
#include "drivers/tool/load/cfl.h"
#include "drivers/tool/load/recording.h"
#include "drivers/tool/phantom/scanxml.h"
#include "ipc/wire/xml.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

static char folder[] = "/tmp/boreside-scan-XXXXXX";
static struct bs_team *team;

static const char *path(const char *name)
{
	static char text[3][64];
	static int turn;

	turn = (turn + 1) % 3;
	(void)snprintf(text[turn], sizeof(text[turn]), "%s/%s", folder, name);
	return text[turn];
}

static struct bs_protocol protocol(enum bs_traj_type type, uint32_t nz, uint32_t samples,
				   uint32_t readouts)
{
	const bool lines = type == BS_TRAJ_CARTESIAN;
	struct bs_protocol p =
		path_of(lines ? BS_METHOD_CARTESIAN : BS_METHOD_GRIDDING, type, 20, 18, nz, 3);

	readouts_of(&p, readouts, samples);
	return planned(with_name(p, "a<b>&c"));
}

/* Records, and opens what was recorded; NULL after a failed check. */
static struct bs_recording *record(const struct bs_protocol *p, struct bs_traj *t,
				   uint32_t repetitions, double snr, uint64_t seed)
{
	struct bs_phantom_scan scan = { .protocol = p,
					.traj = t,
					.repetitions = repetitions,
					.snr = snr,
					.seed = seed,
					.dwell_us = 4.0 };
	struct bs_recording *r = NULL;
	struct bs_fail why = { 0 };

	if (bs_traj_make(t, p, &why) ||
	    bs_phantom_record(&scan, team, path("scan.h5"), NULL, &why) ||
	    bs_phantom_truth(&scan, team, path("true"), path("maps"), &why) ||
	    bs_recording_open(&r, path("scan.h5"), &why))
		CHECK(0, "recording: %s", why.text);
	return r;
}

static void test_order(void)
{
	struct bs_protocol p = protocol(BS_TRAJ_SPIRAL2D, 1, 40, 4);
	struct bs_scan_info info;
	struct bs_recording *r;
	struct bs_recorded a;
	struct bs_traj t;
	uint32_t wrong = 0;
	uint32_t count = 0;
	int32_t before = -1;

	p.slices = 2;
	p.contrasts = 3;
	bs_plan_make(&p);
	r = record(&p, &t, 2, 0.0, 1);
	if (r == NULL)
		return;
	const char *xml = bs_recording_xml(r);

	CHECK(bs_mrdxml_read(&info, xml, strlen(xml), NULL) == 0 &&
		      strcmp(info.protocol, p.name) == 0,
	      "the header is read back, with the name '%s'", info.protocol);
	CHECK(info.encoded[0] == 20 && info.recon[1] == 18 && info.channels == 3 &&
		      strcmp(info.trajectory_unit, "cycles/voxel") == 0 &&
		      strcmp(info.trajectory_name, "spiral") == 0 && info.slice.max == 1 &&
		      info.contrast.max == 2 && info.repetition.max == 1 && info.step1.max == 3,
	      "its sizes, unit and limits are the protocol's");
	CHECK(bs_recording_count(r) == 2 * 2 * 4 * 3, "%u acquisitions", bs_recording_count(r));
	for (uint32_t rep = 0; rep < 2; rep++)
		for (uint32_t s = 0; s < 2; s++)
			for (uint32_t i = 0; i < 4; i++)
				for (uint32_t c = 0; c < 3; c++) {
					bool last = s == 1 && i == 3 && c == 2;

					if (bs_recording_read(r, count++, &a, NULL)) {
						wrong++;
						continue;
					}
					wrong += a.head.scan_counter != count ||
						 a.head.idx.repetition != rep ||
						 a.head.idx.slice != s ||
						 a.head.idx.contrast != c ||
						 a.head.idx.kspace_encode_step_1 != i ||
						 a.head.number_of_samples != 40 ||
						 a.head.active_channels != 3 ||
						 a.head.channel_mask[0] != 7 ||
						 a.head.trajectory_dimensions != 2;
					wrong += !(a.head.flags & BS_MRD_FLAG(7)) != (i != 0);
					wrong += !(a.head.flags & BS_MRD_LAST_IN_SLICE) != (i != 3);
					wrong += !(a.head.flags & BS_MRD_LAST_IN_REPETITION) !=
						 !last;
					wrong += !(a.head.flags & BS_MRD_LAST_IN_MEASUREMENT) !=
						 !(last && rep == 1);
					wrong += a.head.user_int[0] <= before;
					wrong += a.head.acquisition_time_stamp !=
						 14760000u + (uint32_t)a.head.user_int[0] / 2500u;
					before = a.head.user_int[0];
					wrong += memcmp(a.traj, t.k + (size_t)i * 80,
							80 * sizeof(float)) != 0;
				}
	CHECK(!wrong, "order, counters, flags, times and trajectories: %u wrong", wrong);
	CHECK(before == 15 * 2480 + 320, "the last echo starts at %d us", before);
	(void)bs_recording_close(r, NULL);
	bs_traj_close(&t);
}

/* One voxel of a .cfl's image. */
static double at(const struct bs_cfl *c, size_t index)
{
	return c->data[2 * index];
}

static void test_truth(void)
{
	struct bs_protocol p = protocol(BS_TRAJ_RADIAL2D, 1, 32, 5);
	struct bs_cfl image = { 0 };
	struct bs_cfl maps = { 0 };
	struct bs_recording *r;
	struct bs_traj t;
	float *want = malloc((size_t)20 * 18 * sizeof(float));
	double worst = 0.0;

	p.slices = 2;
	p.contrasts = 3;
	bs_plan_make(&p);
	r = record(&p, &t, 1, 0.0, 1);
	if (r == NULL || want == NULL || bs_cfl_read(&image, path("true"), NULL) ||
	    bs_cfl_read(&maps, path("maps"), NULL)) {
		CHECK(0, "true images");
		return;
	}
	CHECK(image.dims[0] == 20 && image.dims[1] == 18 && image.dims[5] == 3 &&
		      image.dims[13] == 2 && maps.dims[3] == 3,
	      "true image and maps have the protocol's sizes");
	for (uint32_t i = 0; i < 6; i++) {
		struct bs_phantom ph;

		bs_phantom_make(&ph, 2, p.matrix, i / 3, 2, i % 3, NULL);
		bs_phantom_image(&ph, 8, want, NULL);
		for (size_t v = 0; v < 360; v++)
			worst = fmax(worst, fabs(at(&image, i * 360 + v) - want[v]));
	}
	CHECK(worst == 0.0, "each slice and contrast is where BART looks for it");
	(void)bs_recording_close(r, NULL);
	bs_traj_close(&t);
	bs_cfl_free(&image);
	bs_cfl_free(&maps);
	free(want);
}

/* All samples of the recording in one array, malloc'd. */
static float *all(struct bs_recording *r, size_t floats)
{
	uint32_t n = bs_recording_count(r);
	float *data = malloc(n * floats * sizeof(float));
	struct bs_recorded a;

	for (uint32_t i = 0; data != NULL && i < n; i++)
		if (bs_recording_read(r, i, &a, NULL) == 0)
			memcpy(data + i * floats, a.data, floats * sizeof(float));
	(void)bs_recording_close(r, NULL);
	return data;
}

static void test_noise(void)
{
	struct bs_protocol p = protocol(BS_TRAJ_CARTESIAN, 16, 40, 18 * 16);
	size_t floats = (size_t)2 * 3 * 40;
	size_t n = floats * 18 * 16;
	float *noisy;
	float *clean;
	float *again;
	struct bs_cfl image = { 0 };
	struct bs_recording *r;
	struct bs_traj t;
	double energy = 0.0;
	double square = 0.0;
	double mean = 0.0;

	p.encoded[0] = 40;
	p.encoded[1] = 18;
	p.encoded[2] = 16;
	r = record(&p, &t, 1, 0.0, 1);
	clean = r ? all(r, floats) : NULL;
	bs_traj_close(&t);
	r = record(&p, &t, 1, 25.0, 9);
	noisy = r ? all(r, floats) : NULL;
	bs_traj_close(&t);
	r = record(&p, &t, 1, 25.0, 9);
	again = r ? all(r, floats) : NULL;
	bs_traj_close(&t);
	if (!clean || !noisy || !again || bs_cfl_read(&image, path("true"), NULL)) {
		CHECK(0, "recordings with and without noise");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		double d = (double)noisy[i] - clean[i];

		mean += d / (double)n;
		square += d * d;
	}
	for (uint64_t v = 0; v < image.size; v++)
		energy += at(&image, v) * at(&image, v);
	double sigma = sqrt(2.0 * square / (double)n); /* of a complex sample */
	double want = sqrt(energy) / 25.0;

	/* relative spread of a standard deviation of n parts: 1/sqrt(2n); 5 of them */
	CHECK(fabs(sigma / want - 1.0) < 5.0 / sqrt(2.0 * (double)n) &&
		      fabs(mean) < 5.0 * want / sqrt(2.0 * (double)n),
	      "noise of %.4f where %.4f was asked for, mean %.1e", sigma, want, mean);
	CHECK(memcmp(noisy, again, n * sizeof(float)) == 0, "the same seed, the same noise");
	bs_cfl_free(&image);
	free(clean);
	free(noisy);
	free(again);
}

/* Cartesian samples and their inverse transform at one voxel, against image x sensitivity. */
static void test_cartesian(void)
{
	struct bs_protocol p = protocol(BS_TRAJ_CARTESIAN, 1, 20, 18);
	static const int at_x = 3;
	static const int at_y = 6; /* inside the brain, away from edges */
	struct bs_recording *r;
	struct bs_recorded a;
	struct bs_coils coils;
	struct bs_traj t;
	double sum[2] = { 0 };
	double x[3] = { at_x, at_y, 0 };
	double s[2];

	r = record(&p, &t, 1, 0.0, 1);
	if (r == NULL || bs_coils_make(&coils, 3, 2, p.matrix, NULL))
		return;
	for (uint32_t i = 0; i < 18; i++) {
		if (bs_recording_read(r, i, &a, NULL) || a.head.trajectory_dimensions != 0)
			CHECK(0, "readout %u", i);
		for (uint32_t k = 0; k < 20; k++) {
			const float *d = a.data + 2 * (size_t)(20 + k); /* coil 1 */
			double turn = 6.283185307179586 *
				      (((double)k - 10) / 20 * at_x + ((double)i - 9) / 18 * at_y);

			sum[0] += (d[0] * cos(turn) - d[1] * sin(turn)) / 360;
			sum[1] += (d[0] * sin(turn) + d[1] * cos(turn)) / 360;
		}
	}
	bs_coils_at(&coils, 1, x, s);
	/* brain is 0.2; Gibbs ringing of the skull (1 - 0.2) is at most 9 % of its step */
	CHECK(hypot(sum[0] - 0.2 * s[0], sum[1] - 0.2 * s[1]) < 0.09 * 0.8,
	      "a voxel of the brain through coil 1: %.3f%+.3fi, true %.3f%+.3fi", sum[0], sum[1],
	      0.2 * s[0], 0.2 * s[1]);
	(void)bs_recording_close(r, NULL);
	bs_traj_close(&t);
}

static void refuse(const char *what, const struct bs_phantom_scan *scan, int want)
{
	struct bs_fail why = { 0 };
	int rc = bs_phantom_record(scan, team, path("refused.h5"), NULL, &why);

	CHECK(rc == want && access(path("refused.h5"), F_OK) != 0, "%s: %s", what, why.text);
}

static void test_refused(void)
{
	struct bs_protocol p = protocol(BS_TRAJ_RADIAL2D, 1, 32, 5);
	struct bs_phantom_scan scan = { .protocol = &p, .repetitions = 1, .dwell_us = 4.0 };
	struct bs_traj t;
	char small[300];
	struct bs_scan_info info = { .protocol = "x" };
	struct bs_scanxml x = { .info = &info, .tr_ms = 1.0, .system = "s", .sequence = "q" };
	struct bs_fail why;

	if (bs_traj_make(&t, &p, NULL))
		return;
	scan.traj = &t;
	p.contrasts = 4;
	refuse("four contrasts", &scan, BS_ERR_SIZE);
	p.contrasts = 1;
	scan.tr_us = 100.0;
	refuse("TR too short", &scan, BS_ERR_USAGE);
	scan.tr_us = 1e9;
	refuse("an hour and more", &scan, BS_ERR_SIZE);
	scan.tr_us = 0.0;
	scan.repetitions = 0;
	refuse("no repetition", &scan, BS_ERR_SIZE);
	scan.repetitions = 1;
	scan.snr = NAN;
	refuse("NaN", &scan, BS_ERR_USAGE);
	scan.snr = 0.0;
	p.samples = 31;
	refuse("another table", &scan, BS_ERR_SIZE);
	bs_traj_close(&t);
	CHECK(bs_scanxml_write(small, sizeof(small), &x, &why) == BS_ERR_NOMEM, "%s", why.text);
}

int main(void)
{
	static const char *const left[] = { "scan.h5", "true.cfl", "true.hdr", "maps.cfl",
					    "maps.hdr" };

	if (mkdtemp(folder) == NULL || bs_team_open(&team, 2, NULL)) {
		CHECK(0, "a folder and a team");
		return check_done();
	}
	test_order();
	test_truth();
	test_noise();
	test_cartesian();
	test_refused();
	bs_team_close(team);
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		(void)unlink(path(left[i]));
	(void)rmdir(folder);
	return check_done();
}

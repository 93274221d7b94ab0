/* test/unit/drivers/tool/test_phantomnoise.c - noise scans: kinds, headers, covariances */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "drivers/tool/load/cfl.h"
#include "test/support/scanned.h"

/* Entries of the sample covariance of n vectors that are more than 5 deviations off psi. */
static uint32_t off(const double *sum, double n, const float *psi)
{
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < COILS; i++)
		for (uint32_t j = 0; j < COILS; j++) {
			double bound = 5.0 * sqrt((double)psi[2 * (i + COILS * i)] *
						  psi[2 * (j + COILS * j)] / n);
			uint32_t at = 2 * (i + COILS * j);

			wrong +=
				hypot(sum[at] / n - psi[at], sum[at + 1] / n - psi[at + 1]) > bound;
		}
	return wrong;
}

/* sum[i + coils j] += n_i conj(n_j) of a - b; b NULL: of a. */
static void add_outer(double *sum, const float *a, const float *b, uint32_t samples)
{
	for (uint32_t s = 0; s < samples; s++) {
		double v[COILS][2];

		for (uint32_t c = 0; c < COILS; c++)
			for (uint32_t d = 0; d < 2; d++) {
				size_t at = 2 * ((size_t)c * samples + s) + d;

				v[c][d] = (double)a[at] - (b != NULL ? (double)b[at] : 0.0);
			}
		for (uint32_t i = 0; i < COILS; i++)
			for (uint32_t j = 0; j < COILS; j++) {
				sum[2 * (i + COILS * j)] += v[i][0] * v[j][0] + v[i][1] * v[j][1];
				sum[2 * (i + COILS * j) + 1] +=
					v[i][1] * v[j][0] - v[i][0] * v[j][1];
			}
	}
}

static void test_noise(void)
{
	struct bs_protocol p = protocol(64, 1);
	struct bs_phantom_scan q = like_scanner();
	double sum[2][2 * COILS * COILS] = { { 0 } };
	struct bs_cfl psi[2] = { { .size = 0 } };
	struct bs_traj t = { 0 };
	struct scan clean = record(q, &p);
	struct scan s;
	uint32_t wrong = 0;

	q.snr = 20.0;
	q.plan.noise = 16;
	q.measurement = "noisy";
	q.receiver = (struct bs_phantom_receiver){ 3.0, 0.5, 0.793, 5.0, 256, "earlier" };
	s = record(q, &p);
	q.protocol = &p;
	q.traj = &t;
	if (bs_traj_make(&t, &p, NULL) != 0 ||
	    bs_phantom_covariances(&q, scanned_team, path("lines"), path("noise"), NULL) != 0 ||
	    bs_cfl_read(&psi[0], path("lines"), NULL) != 0 ||
	    bs_cfl_read(&psi[1], path("noise"), NULL) != 0 || s.count != 16 + 64 ||
	    psi[0].size != (size_t)COILS * COILS) {
		CHECK(0, "a scan with noise, and its covariances");
		return;
	}
	for (uint32_t i = 0; i < 16; i++) {
		wrong += s.head[i].flags != BS_MRD_IS_NOISE || s.head[i].number_of_samples != 256 ||
			 s.head[i].sample_time_us != 5.0f || s.head[i].center_sample != 0;
		add_outer(sum[1], s.data[i], NULL, 256);
	}
	for (uint32_t i = 0; i < 64; i++) {
		wrong += s.head[16 + i].flags != clean.head[i].flags;
		add_outer(sum[0], s.data[16 + i], clean.data[i], 40);
	}
	CHECK(wrong == 0, "16 readouts of noise, then the lines: %u wrong", wrong);
	wrong = off(sum[1], 16 * 256, psi[1].data);
	CHECK(wrong == 0, "the noise scan's covariance: %u entries are 5 deviations off", wrong);
	wrong = off(sum[0], 64 * 40, psi[0].data);
	CHECK(wrong == 0, "that of the lines' noise: %u entries are 5 deviations off", wrong);
	/* a dwell time of 10 us, 5 us in the noise scan; two roundings to single precision */
	CHECK(fabs(psi[1].data[0] / (0.793 * 2.0 * psi[0].data[0]) - 1.0) < 2.4e-7,
	      "the two differ by bandwidth and dwell times");
	CHECK(strcmp(s.info.measurement, "noisy") == 0 &&
		      strcmp(s.info.noise_scan, "earlier") == 0 && s.info.noise_bandwidth == 0.793f,
	      "measurement, the earlier one and the bandwidth are in the header");
	drop(&clean);
	drop(&s);
	q.plan.noise_only = true;
	s = record(q, &p);
	CHECK(s.count == 16 && s.head[15].flags == (BS_MRD_IS_NOISE | BS_MRD_LAST_IN_MEASUREMENT),
	      "noise alone: %u readouts", s.count);
	drop(&s);
	bs_cfl_free(&psi[0]);
	bs_cfl_free(&psi[1]);
	bs_traj_close(&t);
}

static void test_refused(void)
{
	struct bs_protocol p = protocol(24, 1);
	struct bs_phantom_scan q = like_scanner();

	q.plan.noise = 4;
	q.receiver.scan_samples = 16;
	q.receiver.scan_dwell_us = 5.0;
	refuse("a noise scan without noise", q, &p, BS_ERR_USAGE);
	q.snr = 10.0;
	q.receiver.scan_samples = 65536;
	refuse("readouts too long", q, &p, BS_ERR_SIZE);
	q.receiver.scan_samples = 16;
	q.receiver.correlation = 1.0;
	refuse("a covariance that is none", q, &p, BS_ERR_USAGE);
	q = like_scanner();
	q.plan.noise_only = true;
	refuse("noise alone, and none", q, &p, BS_ERR_USAGE);
}

int main(void)
{
	static const char *const left[] = { "lines.cfl", "lines.hdr", "noise.cfl", "noise.hdr",
					    NULL };

	if (scanned_begin() != 0)
		return check_done();
	test_noise();
	test_refused();
	scanned_end(left);
	return check_done();
}

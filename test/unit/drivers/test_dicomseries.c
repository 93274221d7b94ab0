/*
 * test/unit/drivers/test_dicomseries.c - the series that a scan's DICOM files are of: magnitudes,
 * phases, velocities, each with its scale, window, number and description; scans without names
 */
/* Holds: I9 */
#define _GNU_SOURCE
#include "test/unit/drivers/dicom.h"

/* A phase and a velocity: their own series, type, unit, steps and window, as in each image. */
static void phases(void)
{
	static const char *const velocity[] = { "boreside_protocol=flow", "mrd_protocolName=aorta",
						"mrd_initialSeriesNumber=7", "boreside_unit=cm/s",
						"boreside_venc=150" };
	static const char *const said[2] = { "rad", "cm/s" };
	static const char *const number[2] = { "1007", "2007" };
	static const char *const described[2] = { "aorta phase", "aorta velocity" };
	static const char *const type[2] = { "ORIGINAL\\PRIMARY\\PHASE MAP",
					     "DERIVED\\PRIMARY\\VELOCITY MAP" };
	static const char *const width[2] = { "8", "302" };
	const double reach[2] = { acos(-1.0), 150.0 };
	char series[3][BS_UID_MAX];
	char slope[2][64];
	float values[NX * NY];
	char with[4096];
	struct bs_fail why = { 0 };

	for (int v = 0; v < 2; v++) {
		struct bs_mrd_image h = head(1);
		const char *path = in_dir("p.dcm");

		make_words(with, velocity, v == 0 ? 3 : 5);
		h.image_type = BS_MRD_PHASE;
		h.image_series_index |= v == 1 ? BS_VELOCITY_SERIES : 0;
		for (int twice = 0; twice < 2; twice++) {
			for (uint32_t i = 0; i < NX * NY; i++)
				values[i] = (float)(reach[v] * (twice ? 0.01 : 1.0) *
						    (2.0 * i / (NX * NY - 1.0) - 1.0));
			CHECK(put_values("p.dcm", &h, with, values, &why) == 0, "%s %s", said[v],
			      why.text);
			(void)snprintf(slope[twice], sizeof(slope[0]), "%.60s",
				       element(path, "0028,1053", 0));
			CHECK(off_by(path, values, NX * NY, true) <= 0.502, "%s: off by %.2f steps",
			      said[v], off_by(path, values, NX * NY, true));
		}
		CHECK(strcmp(slope[0], slope[1]) == 0, "one step a series: %s, %s", slope[0],
		      slope[1]);
		says(path, "0028,0103", 0, "1");
		says(path, "0028,1052", 0, "0");
		says(path, "0028,1054", 0, said[v]);
		says(path, "0028,1050", 0, "0");
		says(path, "0028,1051", 0, width[v]);
		says(path, "0020,0011", 0, number[v]);
		says(path, "0008,103e", 0, described[v]);
		says(path, "0008,0008", 0, type[v]);
		(void)snprintf(series[v], BS_UID_MAX, "%.64s", element(path, "0020,000e", 0));
		validate(path);
	}
	{
		const struct bs_mrd_image h = head(1);

		make_words(with, velocity, 3);
		CHECK(put_values("m.dcm", &h, with, values, &why) == 0, "magnitude %s", why.text);
		says(in_dir("m.dcm"), "0020,0011", 0, "7");
		says(in_dir("m.dcm"), "0008,103e", 0, "aorta");
		(void)snprintf(series[2], BS_UID_MAX, "%.64s",
			       element(in_dir("m.dcm"), "0020,000e", 0));
	}
	CHECK(strcmp(series[0], series[1]) != 0 && strcmp(series[0], series[2]) != 0 &&
		      strcmp(series[1], series[2]) != 0,
	      "three series");
}

/* The images of a series have one scale and window, until one does not fit. */
static void one_scale(void)
{
	static const float brightest[] = { 0.0f, 4000.0f, 1000.0f, 7000.0f, 9000.0f };
	struct bs_mrd_image h = head(1);
	struct bs_fail why = { 0 };
	char slope[5][64];
	char window[5][64];
	float values[NX * NY];
	void *self = NULL;

	CHECK(mkdir(in_dir("scale"), 0700) == 0 &&
		      bs_sink_open(&bs_sink_dicom, &self, in_dir("scale"), &why) == 0,
	      "a folder %s", why.text);
	for (int i = 0; i < 5; i++) {
		char name[64];
		const char *path;

		for (uint32_t v = 0; v < NX * NY; v++)
			values[v] = brightest[i] * (float)v / (NX * NY - 1);
		h.image_index = (uint16_t)(i + 1);
		h.slice = (uint16_t)i;
		if (i == 2) { /* emit is started again */
			(void)bs_sink_close(&bs_sink_dicom, self, NULL);
			CHECK(bs_sink_open(&bs_sink_dicom, &self, in_dir("scale"), &why) == 0,
			      "again: %s", why.text);
		}
		CHECK(bs_sink_put(&bs_sink_dicom, self, &h, words, values, &why) == 0, "%s",
		      why.text);
		(void)snprintf(name, sizeof(name), "scale/uid0000abcd-s001-i%05d.dcm", i + 1);
		path = in_dir(name);
		(void)snprintf(slope[i], 64, "%.60s", element(path, "0028,1053", 0));
		(void)snprintf(window[i], 64, "%.60s", element(path, "0028,1051", 0));
		CHECK(off_by(path, values, NX * NY, false) <= 0.5001, "image %d: its values", i);
		CHECK((strstr(element(path, "0020,4000", 0), "another rescale") != NULL) ==
			      (i == 4),
		      "image %d: %s", i, element(path, "0020,4000", 0));
	}
	(void)bs_sink_close(&bs_sink_dicom, self, NULL);
	for (int i = 2; i < 4; i++)
		CHECK(strcmp(slope[1], slope[i]) == 0 && strcmp(window[1], window[i]) == 0,
		      "image %d has image 1's scale %s, and window %s", i, slope[i], window[i]);
	CHECK(strcmp(slope[1], slope[4]) != 0, "one that does not fit has another: %s", slope[4]);
	CHECK(strtod(window[1], NULL) == floor(strtod(window[1], NULL)), "whole: %s", window[1]);
}

/* Scans whose headers have no identifiers are told apart by what their readouts say. */
static void nameless(void)
{
	static const char *const scans[2][2] = {
		{ "boreside_protocol=p", "boreside_scan=0123456789abcdef" },
		{ "boreside_protocol=p", "boreside_scan=fedcba9876543210" }
	};
	const struct bs_mrd_image h = head(1);
	struct bs_fail why = { 0 };
	char uid[2][2][BS_UID_MAX];
	char with[4096];

	for (int i = 0; i < 2; i++) {
		make_words(with, scans[i], 2);
		CHECK(put("n.dcm", &h, with, &why) == 0, "%s", why.text);
		for (int k = 0; k < 2; k++)
			(void)snprintf(uid[i][k], BS_UID_MAX, "%.64s",
				       element(in_dir("n.dcm"), k ? "0020,000e" : "0020,000d", 0));
		says(in_dir("n.dcm"), "0008,103e", 0, "p");
	}
	CHECK(strcmp(uid[0][0], uid[1][0]) != 0 && strcmp(uid[0][1], uid[1][1]) != 0,
	      "two scans without names: two studies, two series");
}

int main(void)
{
	if (dicom_open()) {
		phases();
		one_scale();
		nameless();
	} else {
		printf("skip DICOM files: the tools of package dcmtk are not here\n");
	}
	return check_done();
}

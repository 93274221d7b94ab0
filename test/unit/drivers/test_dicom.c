/*
 * test/unit/drivers/test_dicom.c - images as DICOM, by DCMTK's tools: read back by dcmdump, judged
 * by whatever validators are installed; identifiers, refusals
 */
/* Holds: I6, I7, I8, I9 */
#define _GNU_SOURCE
#include "ipc/wire/meta.h"
#include "test/unit/drivers/dicom.h"

#include <time.h>

static const char *const all_words[] = {
	"boreside_protocol=brain",
	"boreside_quality=partial",
	"boreside_lacks=1 of 64 readouts did not come",
	"boreside_lambda=0.25",
	"boreside_iterations=10",
	"boreside_latency_us=812.5",
	"boreside_budget=missed",
	"mrd_patientName=M\xc3\xbcller^\\Anna [x] #1",
	"mrd_patientID=  4711 ",
	"mrd_patientBirthdate=1980-02-29",
	"mrd_patientGender=F",
	"mrd_studyInstanceUID=1.2.840.1.7",
	"mrd_studyTime=10:15:00.25",
	"mrd_measurementID=a_30",
	"mrd_TE=4.9|7.4",
	"mrd_TR=8.5",
	"mrd_flipAngle_deg=12",
	"mrd_systemFieldStrength_T=2.89362",
	"mrd_H1resonanceFrequency_Hz=123200000",
	"mrd_systemVendor=Acme",
	"mrd_patientPosition=FFS",
};

/* Stored numbers, rescaled, are the values to half a step. */
static void check_pixels(const char *path, uint32_t values)
{
	const double worst = off_by(path, pixels, values, false);

	CHECK(worst <= 0.5001, "%s: %u pixels, the worst off by %.2e of a step",
	      strrchr(path, '/') + 1, values, worst);
}

static void slice(void)
{
	const struct bs_mrd_image h = head(1);
	struct bs_fail why = { 0 };
	const char *path = in_dir("a.dcm");

	CHECK(put("a.dcm", &h, words, &why) == 0, "a slice %s", why.text);
	says(path, "0008,0016", 0, "=MRImageStorage");
	says(path, "0010,0010", 0, "M\xc3\xbcller^/Anna [x] #1");
	says(path, "0010,0020", 0, "4711");
	says(path, "0010,0030", 0, "19800229");
	says(path, "0010,0040", 0, "F");
	says(path, "0008,0030", 0, "101500.25");
	says(path, "0020,000d", 0, "1.2.840.1.7");
	says(path, "0018,0080", 0, "8.5");
	says(path, "0018,0081", 0, "7.4"); /* of its contrast */
	says(path, "0018,1314", 0, "12");
	says(path, "0018,0087", 0, "2.89362");
	says(path, "0018,0084", 0, "123.2");
	says(path, "0018,5100", 0, "FFS");
	says(path, "0008,0070", 0, "Acme");
	says(path, "0028,0030", 0, "3\\2.5"); /* between rows, between columns */
	says(path, "0018,0050", 0, "4.5");
	says(path, "0029,1003", 0, "0.25");
	says(path, "0029,1004", 0, "10");
	says(path, "0029,1006", 0, "partial");
	says(path, "0029,1007", 0, "1 of 64 readouts did not come");
	says(path, "0029,1008", 0, "missed");
	says(path, "0020,4000", 0, "partial: 1 of 64 readouts did not come");
	check_pixels(path, NX * NY);
	validate(path);
}

static void volume(void)
{
	const struct bs_mrd_image h = head(NZ);
	struct bs_fail why = { 0 };
	const char *path = in_dir("b.dcm");
	double first[3][3];

	CHECK(put("b.dcm", &h, words, &why) == 0, "a volume %s", why.text);
	says(path, "0008,0016", 0, "=EnhancedMRImageStorage");
	says(path, "0028,0008", 0, "3");
	says(path, "0018,0080", 0, "8.5");
	says(path, "0029,1006", 0, "partial");
	for (int z = 0; z < 3; z++) {
		const char *at = element(path, "0020,0032", z);

		CHECK(sscanf(at, "%lf\\%lf\\%lf", &first[z][0], &first[z][1], &first[z][2]) == 3,
		      "frame %d lies at %s", z, at);
	}
	/* voxel (3, 3, 1) is at the position; steps of 2.5, 3, 4.5 mm */
	for (int d = 0; d < 3; d++) {
		const double want = (double)h.position[d] - 7.5 * (double)h.read_dir[d] -
				    9.0 * (double)h.phase_dir[d] - 4.5 * (double)h.slice_dir[d];

		CHECK(fabs(first[0][d] - want) < 1e-5, "first voxel's %c: %.6f, not %.6f", "xyz"[d],
		      first[0][d], want);
		CHECK(fabs(first[2][d] - first[0][d] - 9.0 * (double)h.slice_dir[d]) < 1e-5,
		      "two frames on");
	}
	check_pixels(path, N);
	validate(path);
}

static void instance(char uid[BS_UID_MAX], const char *name, const struct bs_mrd_image *h,
		     const char *attributes)
{
	struct bs_fail why = { 0 };

	CHECK(put(name, h, attributes, &why) == 0, "%s %s", name, why.text);
	(void)snprintf(uid, BS_UID_MAX, "%.64s", element(in_dir(name), "0008,0018", 0));
}

static void identifiers(void)
{
	static const char *const late_words[] = { "boreside_protocol=brain",
						  "boreside_quality=late", "boreside_lambda=0.25",
						  "mrd_measurementID=a_30",
						  "mrd_studyInstanceUID=1.2.840.1.7" };
	static const char *const other_words[] = { "boreside_protocol=brain", "boreside_lambda=0.5",
						   "mrd_measurementID=a_30",
						   "mrd_studyInstanceUID=1.2.840.1.7" };
	static char late[4096];
	static char other[4096];
	struct bs_mrd_image h = head(1);
	char uid[5][BS_UID_MAX];
	const float was = pixels[5];

	make_words(late, late_words, sizeof(late_words) / sizeof(late_words[0]));
	make_words(other, other_words, sizeof(other_words) / sizeof(other_words[0]));
	instance(uid[0], "c.dcm", &h, words);
	h.image_series_index = 9; /* of another service, which counts anew */
	instance(uid[1], "d.dcm", &h, late);
	h.image_series_index = 1;
	CHECK(strcmp(uid[0], uid[1]) == 0 && bs_uid_good(uid[0]),
	      "made again, at other times and late: the same instance %s", uid[0]);
	instance(uid[2], "e.dcm", &h, other);
	CHECK(strcmp(uid[0], uid[2]) != 0, "another lambda: another instance");
	pixels[5] += 1e-6f;
	instance(uid[3], "f.dcm", &h, words);
	CHECK(strcmp(uid[0], uid[3]) != 0, "another pixel: another instance");
	pixels[5] = was;
	h.repetition = 1;
	instance(uid[4], "g.dcm", &h, words);
	CHECK(strcmp(uid[0], uid[4]) != 0, "another repetition: another instance");
	CHECK(strcmp(element(in_dir("c.dcm"), "0020,000e", 0),
		     element(in_dir("g.dcm"), "0020,000e", 0)) == 0,
	      "of the same series");
}

static void uids(void)
{
	static const char *const bad[] = { "",
					   ".",
					   "1.",
					   ".1",
					   "1..2",
					   "01.2",
					   "1.02",
					   "1.a",
					   "1.2 ",
					   ("1.2345678901234567890123456789012345678901234567890"
					    "12345678901234") };
	char a[BS_UID_MAX];
	char b[BS_UID_MAX];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!bs_uid_good(bad[i]), "no identifier: '%s'", bad[i]);
	CHECK(bs_uid_good("1.2.0.30") && bs_uid_good("2.25.7"), "two that are");
	bs_uid_of(a, "abc");
	bs_uid_of(b, "abd");
	/* sha256("abc") begins ba7816bf 8f01cfea 414140de 5dae2223; as a UUID of version 8,
	 * ba7816bf-8f01-8fea-8141-40de5dae2223, in decimal by an independent program */
	CHECK(strcmp(a, "2.25.247859944228867097191300499870369849891") == 0 && strcmp(a, b) != 0,
	      "of words: %s", a);
}

static void odd_values(void)
{
	struct bs_mrd_image h = head(1);
	struct bs_fail why = { 0 };
	float was[4];

	memcpy(was, pixels, sizeof(was));
	pixels[0] = NAN;
	pixels[1] = INFINITY;
	pixels[2] = -1.5f;
	CHECK(put("h.dcm", &h, "", &why) == 0, "no words, no numbers, a negative one %s", why.text);
	says(in_dir("h.dcm"), "0028,1052", 0, "-1.5");
	says(in_dir("h.dcm"), "0020,4000", 0, "2 pixels were no numbers and are 0");
	memcpy(pixels, was, sizeof(was));
	h.data_type = BS_MRD_CXFLOAT;
	CHECK(put("i.dcm", &h, "", &why) == 0, "a complex image is filed as its magnitude %s",
	      why.text);
	h = head(1);
	h.channels = 2;
	CHECK(put("j.dcm", &h, "", &why) == BS_ERR_UNSUPPORTED, "%s", why.text);
	h = head(1);
	h.read_dir[0] = 2.0f;
	CHECK(put("j.dcm", &h, "", &why) == BS_ERR_SIZE, "%s", why.text);
	h = head(1);
	CHECK(put("j.dcm", &h, "<ismrmrdMeta><meta>", &why) == BS_ERR_XML, "%s", why.text);
	CHECK(access(in_dir("j.dcm"), F_OK) != 0, "and no file of these");
	CHECK(put("none/x.dcm", &h, "", &why) == BS_ERR_IO, "%s", why.text);
}

static void list(void *arg, const char *name, const char *value, unsigned index)
{
	bs_text_pair(arg, index > 0 ? "+" : name, "%s", value);
}

/* The same file, whether the attributes come as XML or as pairs. */
static void by_pairs(void)
{
	char pairs[4096] = "";
	struct bs_text t = { pairs, sizeof(pairs), 0, false };
	const struct bs_mrd_image h = head(1);
	struct bs_fail why = { 0 };
	void *self = NULL;
	char said[64];

	(void)setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
	CHECK(put("xml.dcm", &h, words, &why) == 0 && bs_meta_read(words, list, &t, &why) == 0 &&
		      !t.full &&
		      bs_sink_open(&bs_sink_dicom, &self, in_dir("pairs.dcm"), &why) == 0 &&
		      bs_sink_put_pairs(&bs_sink_dicom, self, &h, pairs, pixels, &why) == 0,
	      "an image by pairs %s", why.text);
	(void)bs_sink_close(&bs_sink_dicom, self, NULL);
	(void)unsetenv("SOURCE_DATE_EPOCH");
	says(in_dir("pairs.dcm"), "0018,0081", 0, "7.4");
	CHECK(run(said, sizeof(said), "cd '%s' && cmp xml.dcm pairs.dcm 2>&1", in_dir("")) == 0,
	      "the same bytes: %s", said);
}

static void folder(void)
{
	struct bs_mrd_image h = head(1);
	struct bs_fail why = { 0 };
	struct timespec now;
	void *self = NULL;
	char said[64];
	int64_t since;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	since = (int64_t)now.tv_sec * 1000000000 - 1000000000;
	CHECK(mkdir(in_dir("all"), 0700) == 0 &&
		      bs_sink_open(&bs_sink_dicom, &self, in_dir("all"), &why) == 0 &&
		      !bs_sink_has(&bs_sink_dicom, self, &h, since),
	      "a folder %s", why.text);
	for (int i = 0; i < 2; i++)
		CHECK(bs_sink_put(&bs_sink_dicom, self, &h, words, pixels, &why) == 0 &&
			      bs_sink_has(&bs_sink_dicom, self, &h, since),
		      "an image in it %s", why.text);
	(void)bs_sink_close(&bs_sink_dicom, self, NULL);
	(void)run(said, sizeof(said), "ls -A '%s' | wc -l", in_dir("all"));
	CHECK(strtol(said, NULL, 10) == 2 &&
		      access(in_dir("all/uid0000abcd-s001-i00003-2.dcm"), F_OK) == 0,
	      "two files, nothing overwritten, nothing left beside them: %s", said);
}

int main(void)
{
	const bool tools = dicom_open();

	make_words(words, all_words, sizeof(all_words) / sizeof(all_words[0]));
	uids();
	if (!tools) {
		printf("skip DICOM files: the tools of package dcmtk are not here\n");
	} else {
		slice();
		volume();
		identifiers();
		odd_values();
		by_pairs();
		folder();
	}
	return check_done();
}

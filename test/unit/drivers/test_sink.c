/*
 * test/unit/drivers/test_sink.c - images as .png, .cfl and .h5: content, names, nothing
 * half-written
 */
/* Holds: I1, I2 */
#define _GNU_SOURCE
#include "test/support/check.h"
#include "test/support/folder.h"

#include <dirent.h>
#include <ismrmrd/dataset.h>
#include <png.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/tool/load/cfl.h"
#include "drivers/file/montage.h"
#include "drivers/sink/sink.h"

#define NX 7u
#define NY 5u
#define NZ 3u
#define CH 2u
#define N  (NX * NY * NZ * CH)

static const char attributes[] =
	"<ismrmrdMeta><meta><name>protocol</name><value>brain \xc3\xa4</value>"
	"</meta></ismrmrdMeta>";
static float pixels[2 * N];

static const char *make_dir(const char *name)
{
	const char *path = in_dir(name);

	if (mkdir(path, 0700) != 0)
		CHECK(0, "cannot make %s", path);
	return path;
}

static int count(const char *folder, const char *part)
{
	DIR *d = opendir(folder);
	int n = 0;

	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
		n += e->d_name[0] != '.' && strstr(e->d_name, part) != NULL;
	if (d != NULL)
		(void)closedir(d);
	return n;
}

static struct bs_mrd_image head(bool cx, uint16_t index)
{
	struct bs_mrd_image h;

	memset(&h, 0, sizeof(h));
	h.version = 1;
	h.data_type = cx ? BS_MRD_CXFLOAT : BS_MRD_FLOAT;
	h.image_type = cx ? BS_MRD_COMPLEX : BS_MRD_MAGNITUDE;
	h.measurement_uid = 0xabcd;
	h.matrix_size[0] = NX;
	h.matrix_size[1] = NY;
	h.matrix_size[2] = NZ;
	h.field_of_view[1] = 2.5f;
	h.channels = CH;
	h.repetition = 4;
	h.image_index = index;
	h.image_series_index = 2;
	h.user_int[7] = -7;
	h.user_float[7] = 0.5f;
	return h;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The window by sorting, as the header of montage.h words it. */
static double window_of(const double *mag, size_t n)
{
	double *v = malloc(n * sizeof(*v));
	double at = 0.997 * (double)(n - 1);
	size_t k = (size_t)at;
	double w;

	memcpy(v, mag, n * sizeof(*v));
	qsort(v, n, sizeof(*v), by_value);
	w = k + 1 < n ? v[k] + (at - (double)k) * (v[k + 1] - v[k]) : v[k];
	free(v);
	return w;
}

static void test_window(void)
{
	uint64_t seed = 1;
	struct bs_fail why = { 0 };
	struct bs_montage m;
	int good = 0;

	for (int t = 0; t < 60; t++) {
		uint32_t nx = 1 + (uint32_t)(check_uniform(&seed) * 40);
		uint32_t ny = 1 + (uint32_t)(check_uniform(&seed) * 40);
		float *v = malloc((size_t)nx * ny * sizeof(*v));
		double *mag = malloc((size_t)nx * ny * sizeof(*mag));
		double want;

		for (uint32_t i = 0; i < nx * ny; i++) {
			/* ties, runs and signs too */
			v[i] = t % 3 == 0   ? (float)(i % 5)
			       : t % 3 == 1 ? (float)i - 100.0f
					    : (float)check_uniform(&seed);
			mag[i] = fabs((double)v[i]);
		}
		want = window_of(mag, (size_t)nx * ny);
		if (!(want > 0))
			want = 1.0;
		/* ranks are taken from singles: exact; the two lines differ by rounding only */
		good += bs_montage_make(&m, v, false, nx, ny, 1, &why) == 0 &&
			fabs(m.window - want) <= 1e-12 * want;
		free(v);
		free(mag);
	}
	CHECK(good == 60, "%d of 60 windows are the 99.7 percentile", good);
	CHECK(bs_montage_make(&m, pixels, false, 65535, 65535, 1, &why) == BS_ERR_SIZE, "%s",
	      why.text);
	CHECK(bs_montage_make(&m, pixels, false, 512, 512, 512 * 64, &why) == BS_ERR_SIZE, "%s",
	      why.text);
	CHECK(bs_montage_make(&m, pixels, false, 0, 4, 1, &why) == BS_ERR_SIZE, "%s", why.text);
}

/* Decodes with libpng's own reader. */
static unsigned char *read_png(const char *path, uint32_t *w, uint32_t *h)
{
	png_image im;
	unsigned char *bytes = NULL;

	memset(&im, 0, sizeof(im));
	im.version = PNG_IMAGE_VERSION;
	if (png_image_begin_read_from_file(&im, path)) {
		im.format = PNG_FORMAT_GRAY;
		bytes = malloc(PNG_IMAGE_SIZE(im));
		if (!png_image_finish_read(&im, NULL, bytes, 0, NULL)) {
			free(bytes);
			bytes = NULL;
		}
	}
	*w = im.width;
	*h = im.height;
	png_image_free(&im);
	return bytes;
}

static void check_png(const char *path, bool cx)
{
	double mag[N];
	uint32_t w = 0;
	uint32_t h = 0;
	unsigned char *got = read_png(path, &w, &h);
	uint32_t wrong = 0;
	double window;

	for (uint32_t i = 0; i < N; i++)
		mag[i] = cx ? hypot((double)pixels[2 * i], (double)pixels[2 * i + 1])
			    : fabs((double)pixels[i]);
	window = window_of(mag, N);
	CHECK(got != NULL && w == 3 * NX && h == 2 * NY, "%s montage of %u x %u",
	      cx ? "complex" : "real", w, h); /* 6 planes: 3 columns, 2 rows */
	if (got == NULL)
		return;
	for (uint32_t p = 0; p < NZ * CH; p++)
		for (uint32_t i = 0; i < NX * NY; i++) {
			uint32_t x = p % 3 * NX + i % NX;
			uint32_t y = p / 3 * NY + i / NX;
			double want = 255.0 * fmin(mag[p * NX * NY + i] / window, 1.0);

			/* the window is taken from magnitudes in single precision: one grey level
			 */
			wrong += fabs(got[y * w + x] - floor(want)) > 1.0;
		}
	CHECK(wrong == 0, "%u of its pixels are wrong", wrong);
	free(got);
}

static bool file_holds(const char *path, const char *text)
{
	FILE *f = fopen(path, "rb");
	char bytes[8192];
	size_t n = f != NULL ? fread(bytes, 1, sizeof(bytes), f) : 0;

	if (f != NULL)
		(void)fclose(f);
	return memmem(bytes, n, text, strlen(text)) != NULL;
}

/* One image with index 1, 2, ... for each of count. */
static int put_images(const struct bs_sink *sink, const char *target, int images, bool cx,
		      struct bs_fail *why)
{
	void *self;
	int rc = bs_sink_open(sink, &self, target, why);

	for (int i = 0; rc == 0 && i < images; i++) {
		struct bs_mrd_image h = head(cx, (uint16_t)(i + 1));

		rc = bs_sink_put(sink, self, &h, attributes, pixels, why);
		if (rc != 0)
			(void)bs_sink_close(sink, self, NULL);
	}
	return rc == 0 ? bs_sink_close(sink, self, why) : rc;
}

static void test_png(void)
{
	struct bs_fail why = { 0 };
	const char *folder;

	CHECK(put_images(&bs_sink_png, in_dir("a.png"), 2, true, &why) == 0, "two images %s",
	      why.text);
	check_png(in_dir("a.png"), true);
	check_png(in_dir("a-0002.png"), true);
	CHECK(file_holds(in_dir("a.png"), attributes), "the attributes are inside");
	CHECK(put_images(&bs_sink_png, in_dir("a.png"), 1, false, &why) == 0, "written again %s",
	      why.text);
	check_png(in_dir("a.png"), false);
	folder = make_dir("pngs");
	for (int run = 0; run < 3; run++)
		CHECK(put_images(&bs_sink_png, folder, 2, run == 0, &why) == 0, "into a folder %s",
		      why.text);
	CHECK(count(folder, ".png") == 6, "%d files, none overwritten", count(folder, ".png"));
	check_png(in_dir("pngs/uid0000abcd-s002-i00001.png"), true);
	check_png(in_dir("pngs/uid0000abcd-s002-i00002-3.png"), false);
}

/* A phase's 0 is grey, whatever is in the image; -VENC of a velocity is black, VENC white. */
static void test_signs(void)
{
	static const char venc[] = "<ismrmrdMeta><meta><name>boreside_venc</name><value>150</value>"
				   "</meta></ismrmrdMeta>";
	const float flow[5] = { -150.0f, 0.0f, 75.0f, 150.0f, NAN };
	const float phase[5] = { 0.0f, 0.1f, -0.1f, 3.14159274f, -3.14159274f };
	const unsigned char want[2][5] = { { 0, 127, 191, 255, 0 }, { 127, 131, 123, 255, 0 } };
	struct bs_mrd_image h = { .version = 1,
				  .data_type = BS_MRD_FLOAT,
				  .image_type = BS_MRD_PHASE,
				  .matrix_size = { 5, 1, 1 },
				  .channels = 1 };
	struct bs_fail why = { 0 };

	for (int p = 0; p < 2; p++) {
		unsigned char *got;
		void *self = NULL;
		uint32_t x = 0;
		uint32_t y = 0;
		int rc = bs_sink_open(&bs_sink_png, &self, in_dir("sign.png"), &why);

		if (rc == 0)
			rc = bs_sink_put(&bs_sink_png, self, &h, p == 0 ? venc : attributes,
					 p == 0 ? flow : phase, &why);
		(void)bs_sink_close(&bs_sink_png, self, NULL);
		got = read_png(in_dir("sign.png"), &x, &y);
		CHECK(rc == 0 && got != NULL && x == 5 && memcmp(got, want[p], 5) == 0,
		      "%s: %u %u %u %u %u %s", p == 0 ? "velocity" : "phase", got ? got[0] : 0,
		      got ? got[1] : 0, got ? got[2] : 0, got ? got[3] : 0, got ? got[4] : 0,
		      why.text);
		free(got);
	}
}

static void test_not_finite(void)
{
	float one[4] = { 1.0f, NAN, INFINITY, 0.5f };
	struct bs_fail why = { 0 };
	struct bs_montage m;
	unsigned char row[4];

	CHECK(bs_montage_make(&m, one, false, 4, 1, 1, &why) == 0 && m.window <= 1.0 &&
		      m.window > 0.9,
	      "NaN and infinity do not move the window (%g)", m.window);
	bs_montage_row(&m, 0, row);
	CHECK(row[0] == 255 && row[1] == 0 && row[2] == 0, "and are black");
}

static void test_cfl(void)
{
	struct bs_fail why = { 0 };
	struct bs_cfl c = { 0 };
	const char *folder;
	bool same = true;

	CHECK(put_images(&bs_sink_cfl, in_dir("b.cfl"), 3, true, &why) == 0, "three arrays %s",
	      why.text);
	CHECK(bs_cfl_read(&c, in_dir("b-0003.cfl"), &why) == 0 && c.dims[0] == NX &&
		      c.dims[1] == NY && c.dims[2] == NZ && c.dims[3] == CH && c.size == N &&
		      memcmp(c.data, pixels, sizeof(pixels)) == 0,
	      "the third, bit for bit %s", why.text);
	bs_cfl_free(&c);
	folder = make_dir("cfls");
	CHECK(put_images(&bs_sink_cfl, folder, 2, false, &why) == 0 &&
		      put_images(&bs_sink_cfl, folder, 2, false, &why) == 0,
	      "into a folder, twice %s", why.text);
	CHECK(count(folder, ".cfl") == 4 && count(folder, ".hdr") == 4, "four pairs");
	CHECK(bs_cfl_read(&c, in_dir("cfls/uid0000abcd-s002-i00002-2"), &why) == 0, "the last %s",
	      why.text);
	for (uint32_t i = 0; c.size == N && i < N; i++)
		same = same && c.data[2 * i] == pixels[i] && c.data[2 * i + 1] == 0.0f;
	CHECK(same && c.size == N, "a magnitude has imaginary part 0");
	bs_cfl_free(&c);
}

static void check_mrd(const char *path, uint32_t images, uint32_t index, uint16_t image_index,
		      bool cx)
{
	ISMRMRD_Dataset d;
	ISMRMRD_Image im;
	uint32_t got;

	(void)ismrmrd_init_dataset(&d, path, "/dataset");
	if (ismrmrd_open_dataset(&d, false) != ISMRMRD_NOERROR) {
		CHECK(0, "libismrmrd cannot open %s", path);
		return;
	}
	got = ismrmrd_get_number_of_images(&d, "image_2");
	CHECK(got == images, "libismrmrd finds %u images", got);
	(void)ismrmrd_init_image(&im);
	CHECK(ismrmrd_read_image(&d, "image_2", index, &im) == ISMRMRD_NOERROR &&
		      im.head.image_index == image_index && im.head.matrix_size[2] == NZ &&
		      im.head.field_of_view[1] == 2.5f && im.head.channels == CH &&
		      im.head.user_int[7] == -7 && im.head.user_float[7] == 0.5f &&
		      im.head.repetition == 4 &&
		      im.head.attribute_string_len == sizeof(attributes) - 1 &&
		      memcmp(im.attribute_string, attributes, sizeof(attributes) - 1) == 0 &&
		      memcmp(im.data, pixels, (cx ? 2 : 1) * N * sizeof(float)) == 0,
	      "and reads image %u alike", index);
	(void)ismrmrd_cleanup_image(&im);
	(void)ismrmrd_close_dataset(&d);
}

static void test_mrd(void)
{
	struct bs_fail why = { 0 };
	struct bs_mrd_image h = head(true, 1);
	const char *folder;
	void *self;

	CHECK(put_images(&bs_sink_mrd, in_dir("c.h5"), 3, true, &why) == 0, "three images %s",
	      why.text);
	check_mrd(in_dir("c.h5"), 3, 2, 3, true);
	folder = make_dir("mrds");
	CHECK(put_images(&bs_sink_mrd, folder, 2, false, &why) == 0 &&
		      put_images(&bs_sink_mrd, folder, 2, false, &why) == 0,
	      "into a folder, twice %s", why.text);
	CHECK(count(folder, ".h5") == 4, "four files");
	check_mrd(in_dir("mrds/uid0000abcd-s002-i00002-2.h5"), 1, 0, 2, false);

	CHECK(bs_sink_open(&bs_sink_mrd, &self, in_dir("d.h5"), &why) == 0 &&
		      bs_sink_put(&bs_sink_mrd, self, &h, attributes, pixels, &why) == 0,
	      "an image");
	CHECK(access(in_dir("d.h5"), F_OK) != 0, "no file before close");
	h.matrix_size[0] = NX - 1;
	CHECK(bs_sink_put(&bs_sink_mrd, self, &h, attributes, pixels, &why) == BS_ERR_SIZE, "%s",
	      why.text);
	h = head(false, 3);
	CHECK(bs_sink_put(&bs_sink_mrd, self, &h, attributes, pixels, &why) == BS_ERR_SIZE, "%s",
	      why.text);
	h = head(true, 3);
	CHECK(bs_sink_put(&bs_sink_mrd, self, &h, attributes, pixels, &why) == 0,
	      "the sink goes on");
	CHECK(bs_sink_close(&bs_sink_mrd, self, &why) == 0, "closed %s", why.text);
	check_mrd(in_dir("d.h5"), 2, 1, 3, true);
	CHECK(bs_sink_open(&bs_sink_mrd, &self, in_dir("e.h5"), &why) == 0 &&
		      bs_sink_close(&bs_sink_mrd, self, &why) == 0 &&
		      access(in_dir("e.h5"), F_OK) != 0,
	      "no image, no file");
}

/* What a process before this one filed since a time is known; half a pair is removed. */
static void test_has(void)
{
	static const struct {
		const struct bs_sink *sink;
		const char *folder;
	} all[] = { { &bs_sink_png, "has_png" },
		    { &bs_sink_cfl, "has_cfl" },
		    { &bs_sink_mrd, "has_mrd" },
		    { &bs_sink_nifti, "has_nifti" },
		    { &bs_sink_nifti_gz, "has_nifti_gz" } };
	struct bs_mrd_image image = head(false, 1);
	struct bs_fail why = { 0 };
	struct timespec now;
	void *self = NULL;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	const int64_t before = (int64_t)now.tv_sec * 1000000000 - 1000000000;
	const int64_t later = before + INT64_C(3600000000000);

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct bs_sink *s = all[i].sink;
		struct bs_mrd_image other = head(false, 2);

		CHECK(bs_sink_open(s, &self, make_dir(all[i].folder), &why) == 0 &&
			      !bs_sink_has(s, self, &image, before),
		      "%s: nothing is there", s->type);
		CHECK(bs_sink_put(s, self, &image, "", pixels, &why) == 0 &&
			      bs_sink_has(s, self, &image, before) &&
			      !bs_sink_has(s, self, &image, later),
		      "%s: what was filed since a time, and not before it", s->type);
		CHECK(!bs_sink_has(s, self, &other, before), "%s: not another image", s->type);
		(void)bs_sink_close(s, self, &why);
	}
	CHECK(unlink(in_dir("has_cfl/uid0000abcd-s002-i00001.hdr")) == 0 &&
		      bs_sink_open(&bs_sink_cfl, &self, in_dir("has_cfl"), &why) == 0 &&
		      !bs_sink_has(&bs_sink_cfl, self, &image, before) &&
		      count(in_dir("has_cfl"), ".cfl") == 0,
	      "half a pair is no image, and goes");
	(void)bs_sink_close(&bs_sink_cfl, self, &why);
}

static void test_refusals(void)
{
	static const struct bs_sink *const all[] = { &bs_sink_png, &bs_sink_cfl, &bs_sink_mrd,
						     &bs_sink_nifti, &bs_sink_nifti_gz };
	struct bs_fail why = { 0 };
	void *self;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct bs_sink *s = all[i];
		const char *ext = s->ext;
		struct bs_mrd_image h = head(true, 1);
		char path[256];

		CHECK(bs_sink_open(s, &self, in_dir("none"), &why) == BS_ERR_IO, "%s: %s", s->type,
		      why.text);
		(void)snprintf(path, sizeof(path), "%s/nonexistent/x%s", dir, ext);
		CHECK(bs_sink_open(s, &self, path, &why) == 0 &&
			      bs_sink_put(s, self, &h, attributes, pixels, &why) == BS_ERR_IO,
		      "%s: %s", s->type, why.text);
		(void)bs_sink_close(s, self, NULL);
		(void)snprintf(path, sizeof(path), "%s/x%s", dir, ext);
		if (bs_sink_open(s, &self, path, &why) != 0)
			CHECK(0, "%s: %s", s->type, why.text);
		h.data_type = 6;
		CHECK(bs_sink_put(s, self, &h, attributes, pixels, &why) == BS_ERR_UNSUPPORTED,
		      "%s: %s", s->type, why.text);
		h = head(true, 1);
		h.channels = 0;
		CHECK(bs_sink_put(s, self, &h, attributes, pixels, &why) == BS_ERR_SIZE, "%s: %s",
		      s->type, why.text);
		h.channels = h.matrix_size[0] = h.matrix_size[1] = h.matrix_size[2] = 65535;
		CHECK(bs_sink_put(s, self, &h, attributes, pixels, &why) == BS_ERR_SIZE, "%s: %s",
		      s->type, why.text);
		CHECK(bs_sink_close(s, self, &why) == 0 && access(path, F_OK) != 0,
		      "%s: nothing is left", s->type);
		CHECK(bs_sink_find(s->type) == s && bs_sink_find(path) == s, "%s: found", s->type);
	}
	CHECK(strcmp(bs_sink_find("a.nii")->ext, ".nii") == 0 &&
		      strcmp(bs_sink_find("a.nii.gz")->ext, ".nii.gz") == 0,
	      "by the whole of the ending");
	CHECK(bs_sink_find("x.jpg") == NULL && bs_sink_find("") == NULL, "no sink for .jpg");
}

int main(void)
{
	uint64_t seed = 7;

	for (size_t i = 0; i < 2 * N; i++)
		pixels[i] = (float)(check_uniform(&seed) - 0.5) * (float)(1 + i % 9);
	test_window();
	test_png();
	test_signs();
	test_not_finite();
	test_cfl();
	test_mrd();
	test_has();
	test_refusals();
	CHECK(count(dir, ".part-") == 0 && count(in_dir("pngs"), ".part-") == 0 &&
		      count(in_dir("cfls"), ".part-") == 0 && count(in_dir("mrds"), ".part-") == 0,
	      "no unfinished files are left");
	return check_done();
}

/* test/unit/core/tool/test_compare.c - error measures by hand; .cfl and .h5 files; the command */
#define _GNU_SOURCE
#include "test/support/check.h"
#include "test/support/folder.h"

#include <ismrmrd/dataset.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "board/tool/command/tools.h"
#include "core/tool/compare.h"
#include "drivers/tool/image.h"
#include "drivers/sink/sink.h"

static void test_by_hand(void)
{
	/* ref = (3, 4i), out = (6, 8i + 1): all sums are small integers */
	const float ref[4] = { 3, 0, 0, 4 };
	const float out[4] = { 6, 0, 1, 8 };
	const float mask[4] = { 0, 0, 0, 2 };
	struct bs_fail why = { 0 };
	struct bs_comparison c;
	/* <out, ref> = 18 + (1 - 8i) 4i = 50 + 4i; <out, out> = 101 */
	double e2 = 25.0 -
		    (50.0 * 50.0 + 4.0 * 4.0) / 101.0; /* ||ref||^2 - |<out, ref>|^2 / ||out||^2 */

	CHECK(bs_compare(&c, out, ref, NULL, 2, &why) == 0 && c.values == 2, "two values %s",
	      why.text);
	CHECK(fabs(c.scale[0] - 50.0 / 101.0) < 1e-15 && fabs(c.scale[1] - 4.0 / 101.0) < 1e-15,
	      "scale %g %+gi", c.scale[0], c.scale[1]);
	CHECK(fabs(c.scaled.nrmse - sqrt(e2 / 25.0)) < 1e-14, "scaled %g", c.scaled.nrmse);
	CHECK(fabs(c.unscaled.nrmse - sqrt(26.0 / 25.0)) < 1e-15, "unscaled %g", c.unscaled.nrmse);
	/* peak 4, rms sqrt(13) */
	CHECK(fabs(c.unscaled.psnr_db - 10.0 * log10(16.0 / 13.0)) < 1e-13, "PSNR %g dB",
	      c.unscaled.psnr_db);
	CHECK(bs_compare(&c, out, ref, mask, 2, &why) == 0 && c.values == 1,
	      "one value in the mask");
	CHECK(c.scaled.nrmse < 1e-15 && fabs(c.unscaled.nrmse - sqrt(17.0 / 16.0)) < 1e-15,
	      "a single value can always be scaled right: %g", c.scaled.nrmse);
}

/* The scale is the best: no other nearby does better. A known complex factor is found. */
static void test_scale(void)
{
	enum { N = 500 };
	static float ref[2 * N], out[2 * N];
	uint64_t seed = 3;
	struct bs_comparison c;
	double worst = -INFINITY;

	for (int i = 0; i < N; i++) {
		double re = check_uniform(&seed) - 0.5;
		double im = check_uniform(&seed) - 0.5;

		ref[2 * i] = (float)re;
		ref[2 * i + 1] = (float)im;
		/* out = ref / (2 - i) */
		out[2 * i] = (float)((2 * re - im) / 5);
		out[2 * i + 1] = (float)((2 * im + re) / 5);
	}
	CHECK(bs_compare(&c, out, ref, NULL, N, NULL) == 0 && fabs(c.scale[0] - 2) < 1e-6 &&
		      fabs(c.scale[1] + 1) < 1e-6,
	      "scale %g %+gi of 2 - i", c.scale[0], c.scale[1]);
	/* singles: each value is off by at most 2^-24 relative to its size, in ref and out */
	CHECK(c.scaled.nrmse < 0x1p-22 && c.magnitude_nrmse < 0x1p-22 && c.max_abs < 0x1p-21,
	      "errors %g, %g, %g are rounding", c.scaled.nrmse, c.magnitude_nrmse, c.max_abs);
	for (int i = 0; i < 2 * N; i++)
		out[i] += (float)(check_uniform(&seed) - 0.5);
	(void)bs_compare(&c, out, ref, NULL, N, NULL);
	for (int k = 0; k < 8; k++) {
		double a = c.scale[0] + 0.01 * cos(k);
		double b = c.scale[1] + 0.01 * sin(k);
		double e = 0;
		double r = 0;

		for (int i = 0; i < N; i++) {
			double p = a * out[2 * i] - b * out[2 * i + 1] - ref[2 * i];
			double q = a * out[2 * i + 1] + b * out[2 * i] - ref[2 * i + 1];

			e += p * p + q * q;
			r += (double)ref[2 * i] * ref[2 * i] +
			     (double)ref[2 * i + 1] * ref[2 * i + 1];
		}
		worst = fmax(worst, c.scaled.nrmse - sqrt(e / r));
	}
	CHECK(worst < 0, "no scale around it is better (%g)", worst);
}

static void test_odd_values(void)
{
	const float zero[4] = { 0 };
	const float one[4] = { 1, 0, 0, 1 };
	const float bad[4] = { 1, NAN, 0, 1 };
	struct bs_fail why = { 0 };
	struct bs_comparison c;

	CHECK(bs_compare(&c, one, one, NULL, 2, &why) == 0 && c.unscaled.nrmse == 0 &&
		      isinf(c.unscaled.psnr_db) && c.max_abs == 0,
	      "equal images");
	CHECK(bs_compare(&c, zero, one, NULL, 2, &why) == 0 && c.scaled.nrmse == 1 &&
		      c.scale[0] == 0,
	      "an image of zeros has NRMSE %g", c.scaled.nrmse);
	CHECK(bs_compare(&c, one, zero, NULL, 2, &why) == 0 && isinf(c.unscaled.nrmse),
	      "against zeros it is infinite");
	CHECK(bs_compare(&c, zero, zero, NULL, 2, &why) == 0 && c.unscaled.nrmse == 0,
	      "zeros are equal");
	CHECK(bs_compare(&c, bad, one, NULL, 2, &why) == BS_ERR_VALUE && c.not_finite == 1, "%s",
	      why.text);
	CHECK(bs_compare(&c, one, bad, NULL, 2, &why) == BS_ERR_VALUE, "%s", why.text);
	CHECK(bs_compare(&c, one, one, zero, 2, &why) == BS_ERR_SIZE, "%s", why.text);
}

#define NX 6u
#define NY 4u
#define NZ 2u
#define N1 (NX * NY * NZ)
static float values[2 * N1];

static void put_images(const char *path, int images, uint16_t series, bool cx)
{
	const struct bs_sink *sink = bs_sink_find(path);
	struct bs_mrd_image h;
	void *self;

	memset(&h, 0, sizeof(h));
	h.version = 1;
	h.data_type = cx ? BS_MRD_CXFLOAT : BS_MRD_FLOAT;
	h.matrix_size[0] = NX;
	h.matrix_size[1] = NY;
	h.matrix_size[2] = NZ;
	h.channels = 1;
	if (sink == NULL || bs_sink_open(sink, &self, path, NULL) != 0) {
		CHECK(0, "cannot open %s", path);
		return;
	}
	for (int i = 0; i < images; i++) {
		h.image_index = (uint16_t)(i + 1);
		h.image_series_index = (uint16_t)(series + (series > 7 ? i : 0));
		if (bs_sink_put(sink, self, &h, "<ismrmrdMeta/>", values, NULL) != 0)
			CHECK(0, "cannot write into %s", path);
	}
	if (bs_sink_close(sink, self, NULL) != 0)
		CHECK(0, "cannot close %s", path);
}

static void expect_image(const char *name, uint64_t images, bool cx)
{
	struct bs_fail why = { 0 };
	struct bs_cfl c;
	int rc = bs_imagefile_read(&c, name, &why);
	bool same = rc == 0 && c.size == N1 * images;

	CHECK(rc == 0 && c.dims[0] == NX && c.dims[1] == NY && c.dims[2] == NZ && c.dims[3] == 1 &&
		      c.dims[10] == images && c.size == N1 * images,
	      "%s is read %s", strrchr(name, '/') + 1, why.text);
	for (uint64_t i = 0; same && i < c.size; i++)
		same = cx ? memcmp(&c.data[2 * i], &values[2 * (i % N1)], 8) == 0
			  : c.data[2 * i] == values[i % N1] && c.data[2 * i + 1] == 0.0f;
	CHECK(same, "its values are what was written");
	bs_cfl_free(&c);
}

/* Unsigned 16-bit images, as other reconstructions write them. */
static void test_integers(void)
{
	char no_attributes[] = "";
	uint16_t pixels[N1];
	struct bs_fail why = { 0 };
	ISMRMRD_Dataset d;
	ISMRMRD_Image im;
	struct bs_cfl c;
	bool same = true;

	(void)ismrmrd_init_dataset(&d, in_dir("u.h5"), "/results");
	(void)ismrmrd_open_dataset(&d, true);
	memset(&im, 0, sizeof(im));
	(void)ismrmrd_init_image(&im);
	im.head.data_type = ISMRMRD_USHORT;
	im.head.matrix_size[0] = NX;
	im.head.matrix_size[1] = NY;
	im.head.matrix_size[2] = NZ;
	im.head.channels = 1;
	for (uint16_t i = 0; i < N1; i++)
		pixels[i] = (uint16_t)(65535 - i);
	im.data = pixels;
	im.attribute_string = no_attributes;
	CHECK(ismrmrd_append_image(&d, "picture", &im) == ISMRMRD_NOERROR,
	      "libismrmrd writes integers");
	(void)ismrmrd_close_dataset(&d);
	CHECK(bs_imagefile_read(&c, in_dir("u.h5#results/picture"), &why) == 0, "read %s",
	      why.text);
	for (uint64_t i = 0; c.size == N1 && i < N1; i++)
		same = same && c.data[2 * i] == (float)pixels[i] && c.data[2 * i + 1] == 0.0f;
	CHECK(same && c.size == N1, "as they are");
	bs_cfl_free(&c);
}

static void test_files(void)
{
	struct bs_fail why = { 0 };
	struct bs_cfl c;
	FILE *f;

	for (size_t i = 0; i < 2 * N1; i++)
		values[i] = 1.0f + (float)i;
	put_images(in_dir("a.h5"), 1, 1, true);
	put_images(in_dir("b.h5"), 3, 1, false);
	put_images(in_dir("c.h5"), 2, 8, true); /* two series */
	put_images(in_dir("a.cfl"), 1, 1, true);
	expect_image(in_dir("a.h5"), 1, true);
	expect_image(in_dir("a.h5#image_1"), 1, true);
	expect_image(in_dir("b.h5"), 3, false);
	expect_image(in_dir("c.h5#image_9"), 1, true);
	expect_image(in_dir("c.h5#dataset/image_8"), 1, true);
	expect_image(in_dir("a.cfl"), 1, true);
	CHECK(bs_imagefile_read(&c, in_dir("c.h5"), &why) == BS_ERR_FORMAT, "%s", why.text);
	CHECK(bs_imagefile_read(&c, in_dir("c.h5#image_3"), &why) == BS_ERR_FORMAT, "%s", why.text);
	CHECK(bs_imagefile_read(&c, in_dir("none.h5"), &why) == BS_ERR_IO, "%s", why.text);
	f = fopen(in_dir("text.h5"), "w");
	if (f == NULL || fputs("no image", f) < 0 || fclose(f) != 0)
		CHECK(0, "cannot write");
	CHECK(bs_imagefile_read(&c, in_dir("text.h5"), &why) == BS_ERR_FORMAT, "%s", why.text);
}

/* Every 61st byte of an image file damaged: an image or a coded error, never a crash. */
static void test_damage(void)
{
	static unsigned char bytes[1 << 16];
	FILE *f = fopen(in_dir("a.h5"), "rb");
	size_t n = f != NULL ? fread(bytes, 1, sizeof(bytes), f) : 0;
	int tried = 0;
	int good = 0;

	if (f != NULL)
		(void)fclose(f);
	for (size_t at = 8; at < n; at += 61, tried++) {
		struct bs_cfl c;
		int rc;

		bytes[at] ^= 0x55;
		f = fopen(in_dir("damaged.h5"), "wb");
		if (f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
			CHECK(0, "cannot write");
		bytes[at] ^= 0x55;
		rc = bs_imagefile_read(&c, in_dir("damaged.h5"), NULL);
		good += rc == 0 || rc == BS_ERR_FORMAT;
		if (rc == 0)
			bs_cfl_free(&c);
	}
	CHECK(tried > 0 && good == tried, "%d of %d damaged copies end in order", good, tried);
}

/* The command in a child, its words thrown away; returns its exit status. */
static int command(const char *a, const char *b, const char *option, const char *value)
{
	char *argv[] = { (char *)(uintptr_t) "compare", (char *)(uintptr_t)a,
			 (char *)(uintptr_t)b,          (char *)(uintptr_t)option,
			 (char *)(uintptr_t)value,      NULL };
	int argc = value != NULL ? 5 : option != NULL ? 4 : b != NULL ? 3 : 2;
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		int rc;

		if (freopen("/dev/null", "w", stdout) == NULL ||
		    freopen("/dev/null", "w", stderr) == NULL)
			_exit(99);
		rc = bs_options_run(&bs_command_compare, argc, argv);
		(void)fflush(NULL);
		_exit(rc);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static void test_command(void)
{
	const uint64_t mask_dims[BS_CFL_DIMS] = {
		NX, 1, NZ, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
	};
	const uint64_t odd_dims[BS_CFL_DIMS] = { NX, 2, NZ, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	float mask[2 * NX * 2 * NZ] = { 0 };
	struct stat st;

	CHECK(command(in_dir("a.h5"), in_dir("a.cfl"), "--max-unscaled", "0") == 0, "equal: 0");
	for (size_t i = 0; i < NX * NZ; i++)
		mask[2 * i] = i % NX != 2;
	(void)bs_cfl_write(in_dir("mask"), mask_dims, mask, NULL);
	(void)bs_cfl_write(in_dir("odd"), odd_dims, mask, NULL);
	for (size_t i = 0; i < 2 * N1; i++)
		if (i / 2 % NX == 2)
			values[i] += 40.0f;
	put_images(in_dir("d.cfl"), 1, 1, true);
	CHECK(command(in_dir("d.cfl"), in_dir("a.cfl"), NULL, NULL) == 0, "without a limit: 0");
	CHECK(command(in_dir("d.cfl"), in_dir("a.cfl"), "--max-nrmse", "1e-3") == 1,
	      "above the limit: 1");
	CHECK(command(in_dir("d.cfl"), in_dir("a.cfl"), "--max-nrmse", "0.9") == 0, "below it: 0");
	CHECK(command(in_dir("d.cfl"), in_dir("a.cfl"), "--mask", in_dir("odd")) == 1,
	      "a mask of another size: 1");
	CHECK(command(in_dir("d.cfl"), in_dir("b.h5"), NULL, NULL) == 1, "other sizes: 1");
	CHECK(command(in_dir("d.cfl"), in_dir("none"), NULL, NULL) == 1, "no file: 1");
	CHECK(command(in_dir("d.cfl"), in_dir("a.cfl"), "--max-nrmse", "x") == 2, "no number: 2");
	CHECK(command(in_dir("d.cfl"), in_dir("a.cfl"), "--frobnicate", NULL) == 2, "no option: 2");
	CHECK(command(in_dir("d.cfl"), NULL, NULL, NULL) == 2, "one file: 2");
	CHECK(command(in_dir("d.cfl"), in_dir("a.cfl"), "--png", in_dir("d.png")) == 0 &&
		      stat(in_dir("d.png"), &st) == 0 && st.st_size > 50,
	      "a picture");
}

/* The mask's column of zeros hides exactly the column that differs. */
static void test_mask(void)
{
	char line[1024];

	(void)snprintf(line, sizeof(line),
		       "'%s' compare --max-unscaled 0 --mask '%s' '%s' '%s' >/dev/null",
		       getenv("BORESIDE") ? getenv("BORESIDE") : "", in_dir("mask.cfl"),
		       in_dir("d.cfl"), in_dir("a.h5"));
	if (getenv("BORESIDE") == NULL || access(getenv("BORESIDE"), X_OK) != 0)
		SKIP("BORESIDE does not name the program");
	else
		CHECK(system(line) == 0, "the mask hides the column that differs");
}

int main(void)
{
	test_by_hand();
	test_scale();
	test_odd_values();
	test_files();
	test_integers();
	test_damage();
	test_command();
	test_mask();
	return check_done();
}

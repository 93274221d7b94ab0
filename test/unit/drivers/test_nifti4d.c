/*
 * test/unit/drivers/test_nifti4d.c - a series in one NIfTI file: each image once and in its order,
 * readable by the library at any moment, whatever moment its writer is killed at; files of other
 * scans, kinds, sizes and places
 */
/* Holds: I5 */
#define _GNU_SOURCE
#include "test/support/check.h"

#include <errno.h>
#include <nifti1_io.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/sink/sink.h"

#define NX     64u
#define NY     48u
#define NZ     24u
#define N      (NX * NY * NZ)
#define IMAGES 60u
#define KILLS  40u

static char dir[] = "/tmp/boreside-test-XXXXXX";
static float pixels[N];
static uint64_t random_state = 4;
static int failing_syncs; /* the n-th fdatasync from now on fails; 0: none does */
static int64_t counted;   /* bytes of the last file that was read, as far as its header counts */

int fdatasync(int fd)
{
	if (failing_syncs > 0 && --failing_syncs == 0) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

static struct bs_mrd_image head(uint16_t number)
{
	struct bs_mrd_image h = { .version = 1,
				  .data_type = BS_MRD_FLOAT,
				  .measurement_uid = 0xabcd,
				  .matrix_size = { NX, NY, NZ },
				  .field_of_view = { 128, 96, 60 },
				  .channels = 1,
				  .read_dir = { 1, 0, 0 },
				  .phase_dir = { 0, 1, 0 },
				  .slice_dir = { 0, 0, 1 },
				  .image_index = number,
				  .image_series_index = 7 };

	h.repetition = (uint16_t)(number - 1);
	return h;
}

static void fill(uint32_t number)
{
	for (uint32_t i = 0; i < N; i++)
		pixels[i] = (float)(number * 1000u + i % 1000u);
}

static bool is_image(const float *at, uint32_t number)
{
	for (uint32_t i = 0; i < N; i++)
		if (at[i] != (float)(number * 1000u + i % 1000u))
			return false;
	return true;
}

static int put(void *self, const struct bs_mrd_image *h, const char *lacks)
{
	char attributes[256];
	struct bs_fail why = { 0 };
	int rc;

	(void)snprintf(attributes, sizeof(attributes),
		       "<ismrmrdMeta><meta><name>boreside_quality</name><value>%s</value></meta>"
		       "<meta><name>boreside_lacks</name><value>%s</value></meta>"
		       "<meta><name>mrd_TR</name><value>800</value></meta></ismrmrdMeta>",
		       lacks[0] != '\0' ? "partial" : "complete", lacks);
	fill(h->image_index);
	rc = bs_sink_put(&bs_sink_nifti_4d, self, h, attributes, pixels, &why);
	if (rc != 0)
		CHECK(false, "image %u: %s", h->image_index, why.text);
	return rc;
}

static void *opened(const char *target, uint64_t session)
{
	struct bs_fail why = { 0 };
	void *self = NULL;

	CHECK(bs_sink_open(&bs_sink_nifti_4d, &self, target, &why) == 0, "%s is opened %s", target,
	      why.text);
	if (session != 0)
		bs_sink_nifti_4d.scan(self, session);
	return self;
}

static const char *in_dir(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* The number of images in the file, which are those of these numbers; -1: it is not whole. */
static int images_in(const char *name, uint32_t first, uint32_t step)
{
	nifti_image *im = nifti_image_read(in_dir(name), 1);
	int n = im != NULL && im->data != NULL && im->nx == (int)NX && im->nz == (int)NZ ? im->nt
											 : -1;

	if (n > 0)
		counted = (int64_t)im->iname_offset + (int64_t)n * N * 4;
	for (int t = 0; t < n; t++)
		if (!is_image((const float *)im->data + (size_t)t * N, first + (uint32_t)t * step))
			n = -1;
	if (im != NULL)
		nifti_image_free(im);
	return n;
}

static void test_series(void)
{
	void *self = opened(dir, 0x1234);
	struct bs_mrd_image h;
	nifti_image *im;
	char line[2][513] = { "" };
	FILE *f;

	for (uint16_t i = 1; i <= 6; i++) { /* two contrasts */
		h = head(i);
		h.contrast = (i - 1) % 2;
		(void)put(self, &h, i == 3 ? "slice 4 is missing and zeros" : "");
		CHECK(bs_sink_has(&bs_sink_nifti_4d, self, &h, 0), "it has image %u", i);
		h.image_index = (uint16_t)(i + 2);
		CHECK(!bs_sink_has(&bs_sink_nifti_4d, self, &h, 0), "and not the next one");
	}
	CHECK(images_in("uid0000abcd-s007.4d.nii", 1, 2) == 3, "three of the first contrast");
	CHECK(images_in("uid0000abcd-s007-c1.4d.nii", 2, 2) == 3, "three of the second");
	im = nifti_image_read(in_dir("uid0000abcd-s007.4d.nii"), 0);
	CHECK(im != NULL && fabs((double)im->dt - 0.8) < 1e-6 &&
		      im->time_units == NIFTI_UNITS_SEC && im->sform_code > 0,
	      "its repetition time is 0.8 s, and it has a place");
	nifti_image_free(im);
	f = fopen(in_dir("uid0000abcd-s007.4d.txt"), "r");
	CHECK(f != NULL && fread(line[0], 1, 512, f) == 512 && fread(line[1], 1, 512, f) == 512 &&
		      strstr(line[0], "    0 image     1 repetition     0 complete") == line[0] &&
		      strstr(line[1], "    1 image     3 repetition     2 partial  slice 4 is "
				      "missing and zeros ") == line[1],
	      "what each image lacks: %.80s", line[1]);
	if (f != NULL)
		(void)fclose(f);
	h = head(7);
	h.position[2] += 0.5f;
	(void)put(self, &h, "");
	CHECK(images_in("uid0000abcd-s007.4d.nii", 1, 2) == 3 &&
		      images_in("uid0000abcd-s007-n2.4d.nii", 7, 1) == 1,
	      "an image elsewhere begins another file");
	(void)bs_sink_close(&bs_sink_nifti_4d, self, NULL);
	self = opened(dir, 0x1235);
	h = head(9);
	CHECK(!bs_sink_has(&bs_sink_nifti_4d, self, &h, 0), "another scan has none");
	(void)put(self, &h, "");
	CHECK(images_in("uid0000abcd-s007.4d.nii", 1, 2) == 3 &&
		      images_in("uid0000abcd-s007-n3.4d.nii", 9, 1) == 1,
	      "and begins another file");
	(void)bs_sink_close(&bs_sink_nifti_4d, self, NULL);
}

static void test_file(void)
{
	struct bs_mrd_image h = head(1);

	for (int run = 0; run < 2; run++) {
		void *self = opened(in_dir("run.4d.nii"), 0);

		for (uint16_t i = 1; i <= 2; i++) {
			h = head(i);
			(void)put(self, &h, "");
		}
		(void)bs_sink_close(&bs_sink_nifti_4d, self, NULL);
		CHECK(images_in("run.4d.nii", 1, 1) == 2, "run %d has its own two images", run);
	}
	CHECK(bs_sink_find("x.4d.nii") == &bs_sink_nifti_4d &&
		      bs_sink_find("x.nii") == &bs_sink_nifti &&
		      bs_sink_find("nifti") == &bs_sink_nifti,
	      "by the file's name");
	h.channels = 2;
	h.matrix_size[2] = NZ / 2;
	{
		struct bs_fail why = { 0 };
		void *self = opened(in_dir("two.4d.nii"), 0);

		CHECK(bs_sink_put(&bs_sink_nifti_4d, self, &h, "", pixels, &why) ==
			      BS_ERR_UNSUPPORTED,
		      "two channels: %s", why.text);
		(void)bs_sink_close(&bs_sink_nifti_4d, self, NULL);
	}
}

/* A sync fails, of list, pixels or header. The image is given again, and is there once. */
static void test_syncs(void)
{
	void *self = opened(dir, 0x55);
	struct bs_mrd_image h = head(1);
	struct bs_fail why = { 0 };
	struct stat st;

	h.measurement_uid = 5;
	(void)put(self, &h, "");
	for (uint16_t i = 2; i <= 4; i++) {
		h.image_index = i;
		fill(i);
		failing_syncs = i - 1;
		CHECK(bs_sink_put(&bs_sink_nifti_4d, self, &h, "", pixels, &why) == BS_ERR_IO &&
			      failing_syncs == 0,
		      "sync %u fails: %s", i - 1u, why.text);
		(void)put(self, &h, "");
		CHECK(images_in("uid00000005-s007.4d.nii", 1, 1) == i, "image %u is there once", i);
	}
	CHECK(stat(in_dir("uid00000005-s007.4d.txt"), &st) == 0 && st.st_size == 4 * 512,
	      "and a line for each");
	(void)bs_sink_close(&bs_sink_nifti_4d, self, NULL);
}

/* Averages that are kept apart are series of their own. */
static void test_averages(void)
{
	void *self = opened(dir, 0x66);

	for (uint16_t i = 1; i <= 4; i++) {
		struct bs_mrd_image h = head(i);

		h.measurement_uid = 6;
		h.average = (i - 1) % 2;
		(void)put(self, &h, "");
	}
	CHECK(images_in("uid00000006-s007.4d.nii", 1, 2) == 2 &&
		      images_in("uid00000006-s007-a1.4d.nii", 2, 2) == 2,
	      "two of each average");
	(void)bs_sink_close(&bs_sink_nifti_4d, self, NULL);
}

/* What an emit does that takes the place of one that died: images that are there are left out. */
static void write_rest(const char *folder)
{
	void *self = opened(folder, 0x99);

	for (uint16_t i = 1; i <= IMAGES; i++) {
		const struct bs_mrd_image h = head(i);

		if (!bs_sink_has(&bs_sink_nifti_4d, self, &h, 0) && put(self, &h, "") != 0)
			_exit(1);
	}
	_exit(0);
}

static void test_kills(void)
{
	static const char name[] = "kills/uid0000abcd-s007.4d.nii";
	unsigned torn = 0;
	bool readable = true;
	struct stat st;
	int status = -1;

	(void)mkdir(in_dir("kills"), 0755);
	for (unsigned k = 0; k <= KILLS && status != 0; k++) {
		pid_t child;

		(void)fflush(stdout);
		child = fork();
		if (child == 0) {
			(void)freopen("/dev/null", "w", stdout);
			write_rest(in_dir("kills"));
		}
		if (k < KILLS) {
			(void)usleep((useconds_t)(check_uniform(&random_state) * 25000.0));
			(void)kill(child, SIGKILL);
		}
		(void)waitpid(child, &status, 0);
		if (stat(in_dir(name), &st) == 0) {
			const int n = images_in(name, 1, 1);

			readable = readable && n > 0;
			torn += n > 0 && (int64_t)st.st_size > counted;
		}
	}
	CHECK(readable, "behind each kill the images that the header counts are whole");
	CHECK(status == 0 && images_in(name, 1, 1) == (int)IMAGES,
	      "each of %u images is there once, in their order", IMAGES);
	CHECK(stat(in_dir("kills/uid0000abcd-s007.4d.txt"), &st) == 0 &&
		      st.st_size == (off_t)IMAGES * 512,
	      "and a line for each");
	CHECK(stat(in_dir("kills/uid0000abcd-s007-n2.4d.nii"), &st) != 0, "in one file");
	printf("# %u kills left pixels that no header counted\n", torn);
}

/* A reader meanwhile: what the header counts is there. */
static void test_reader(void)
{
	static const char name[] = "grow/uid0000abcd-s007.4d.nii";
	unsigned looks = 0;
	unsigned bad = 0;
	int status;
	pid_t child;

	(void)mkdir(in_dir("grow"), 0755);
	(void)fflush(stdout);
	child = fork();
	if (child == 0) {
		(void)freopen("/dev/null", "w", stdout);
		write_rest(in_dir("grow"));
	}
	while (waitpid(child, &status, WNOHANG) == 0)
		if (access(in_dir(name), R_OK) == 0) {
			looks++;
			bad += images_in(name, 1, 1) < 1;
		}
	CHECK(status == 0 && bad == 0 && images_in(name, 1, 1) == (int)IMAGES,
	      "read %u times while it grows", looks);
}

int main(void)
{
	char command[64];

	if (mkdtemp(dir) == NULL)
		return 1;
	test_series();
	test_file();
	test_syncs();
	test_averages();
	test_kills();
	test_reader();
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0, "the folder is removed");
	return check_done();
}

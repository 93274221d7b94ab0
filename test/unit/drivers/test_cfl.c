/*
 * test/unit/drivers/test_cfl.c - .cfl/.hdr: round trip, the references at hand, headers that lie;
 * drafts
 */
/* Holds: I1 */
#define _GNU_SOURCE
#include "test/support/check.h"
#include "test/support/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/tool/load/cfl.h"
#include "drivers/file/draft.h"

static void put(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");

	if (f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
		CHECK(0, "cannot write %s", path);
}

static void test_round_trip(void)
{
	const uint64_t dims[BS_CFL_DIMS] = { 5, 4, 3, 2, 1, 1, 1, 1, 1, 1, 7, 1, 1, 1, 1, 1 };
	struct bs_fail why = { 0 };
	struct bs_cfl c = { 0 };
	float data[2 * 5 * 4 * 3 * 2 * 7];

	for (size_t i = 0; i < sizeof(data) / 4; i++)
		data[i] = (float)i * 0.25f;
	data[3] = NAN; /* values are none of its business */
	CHECK(bs_cfl_write(in_dir("a"), dims, data, &why) == 0, "written without extension %s",
	      why.text);
	CHECK(bs_cfl_read(&c, in_dir("a.cfl"), &why) == 0, "read with extension %s", why.text);
	CHECK(c.size == 840 && memcmp(c.dims, dims, sizeof(dims)) == 0, "its dimensions");
	CHECK(c.data != NULL && memcmp(c.data, data, sizeof(data)) == 0, "its values, bit for bit");
	bs_cfl_free(&c);
	data[0] = 42.0f;
	CHECK(bs_cfl_write(in_dir("a.hdr"), dims, data, &why) == 0, "written over");
	CHECK(bs_cfl_read(&c, in_dir("a"), &why) == 0 && c.data[0] == 42.0f, "the new values");
	bs_cfl_free(&c);
	CHECK(bs_cfl_write_new(in_dir("a"), dims, data, &why) == BS_DRAFT_EXISTS,
	      "write_new keeps what is there");
	CHECK(bs_cfl_write_new(in_dir("b"), dims, data, &why) == 0, "write_new elsewhere");
	CHECK(bs_cfl_write("/nonexistent/a", dims, data, &why) == BS_ERR_IO, "%s", why.text);
}

static void test_headers(void)
{
	static const struct {
		const char *text;
		uint64_t size; /* 0: refused */
	} h[] = {
		{ "# Dimensions\n2 3 4\n", 24 },
		{ "# Dimensions\n2 3 4", 24 },
		{ "# Dimensions\r\n2 3 4 \r\n", 24 },
		{ "# Command\nfoo 7\n# Dimensions\n6 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 \n# Files\n",
		  6 },
		{ "", 0 },
		{ "# Dimensions", 0 },
		{ "# Dimensions\n", 0 },
		{ "# Dimensions\n\n2 3\n", 0 },
		{ "2 3 4\n", 0 },
		{ "# Dimensionsx\n2 3 4\n", 0 },
		{ "# Dimensions\n2 0 4\n", 0 },
		{ "# Dimensions\n2 -3 4\n", 0 },
		{ "# Dimensions\n2 3.5 4\n", 0 },
		{ "# Dimensions\n0x10\n", 0 },
		{ "# Dimensions\n1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 2\n", 0 },
		{ "# Dimensions\n4294967296 4294967296\n", 0 },
		{ "# Dimensions\n1152921504606846976\n", 0 }, /* 2^60 values are 2^63 bytes */
		{ "# Dimensions\n18446744073709551617\n", 0 },
		{ "# Dimensions\n99999999999999999999999999999999\n", 0 },
	};
	uint64_t dims[BS_CFL_DIMS];
	uint64_t size;

	for (size_t i = 0; i < sizeof(h) / sizeof(h[0]); i++) {
		struct bs_fail why = { 0 };
		int rc = bs_cfl_parse(dims, &size, h[i].text, strlen(h[i].text), "h.hdr", &why);

		if (h[i].size != 0)
			CHECK(rc == 0 && size == h[i].size, "header %zu: %llu values", i,
			      (unsigned long long)size);
		else
			CHECK(rc == BS_ERR_FORMAT, "header %zu: %s", i, why.text);
	}
}

static void test_bad_files(void)
{
	static const char hdr[] = "# Dimensions\n4 2\n";
	static const char huge[] = "# Dimensions\n1000000 1000000 1000\n";
	static char zeros[70000];
	struct bs_fail why = { 0 };
	struct bs_cfl c;

	CHECK(bs_cfl_read(&c, in_dir("none"), &why) == BS_ERR_IO, "%s", why.text);
	put(in_dir("c.hdr"), hdr, sizeof(hdr) - 1);
	CHECK(bs_cfl_read(&c, in_dir("c"), &why) == BS_ERR_IO, "%s", why.text);
	put(in_dir("c.cfl"), zeros, 63);
	CHECK(bs_cfl_read(&c, in_dir("c"), &why) == BS_ERR_FORMAT, "%s", why.text);
	put(in_dir("c.cfl"), zeros, 65);
	CHECK(bs_cfl_read(&c, in_dir("c"), &why) == BS_ERR_FORMAT, "%s", why.text);
	put(in_dir("c.cfl"), zeros, 64);
	CHECK(bs_cfl_read(&c, in_dir("c"), &why) == 0 && c.size == 8, "the right length is read");
	bs_cfl_free(&c);
	put(in_dir("c.hdr"), huge, sizeof(huge) - 1);
	CHECK(bs_cfl_read(&c, in_dir("c"), &why) == BS_ERR_FORMAT, "%s", why.text);
	put(in_dir("c.hdr"), zeros, sizeof(zeros));
	CHECK(bs_cfl_read(&c, in_dir("c"), &why) == BS_ERR_FORMAT, "%s", why.text);
	CHECK(mkdir(in_dir("d.hdr"), 0700) == 0 &&
		      bs_cfl_read(&c, in_dir("d"), &why) == BS_ERR_FORMAT,
	      "%s", why.text);
}

static void test_draft(void)
{
	struct bs_fail why = { 0 };
	struct bs_draft d;
	struct stat st;
	mode_t mask = umask(027);
	const char *path = in_dir("draft");

	CHECK(bs_draft_open(&d, path, &why) == 0 && bs_draft_write(&d, "abc", 3, &why) == 0,
	      "a draft takes bytes");
	CHECK(stat(path, &st) != 0, "and has no name yet");
	CHECK(bs_draft_commit(&d, path, BS_DRAFT_KEEP, &why) == 0 && stat(path, &st) == 0 &&
		      st.st_size == 3,
	      "commit gives it its name");
	CHECK((st.st_mode & 0777) == 0640, "mode %o under umask 027", st.st_mode & 0777);
	(void)umask(0);
	CHECK(bs_draft_open(&d, path, &why) == 0 && fstat(d.fd, &st) == 0 &&
		      (st.st_mode & 0777) == 0640,
	      "mode %o without a umask", st.st_mode & 0777);
	bs_draft_drop(&d);
	(void)umask(mask);
	CHECK(bs_draft_open(&d, path, &why) == 0 &&
		      bs_draft_commit(&d, path, BS_DRAFT_KEEP, &why) == BS_DRAFT_EXISTS,
	      "an existing file is kept");
	CHECK(bs_draft_commit(&d, in_dir("draft2"), BS_DRAFT_KEEP, &why) == 0,
	      "and the draft goes elsewhere");
	CHECK(stat(path, &st) == 0 && st.st_size == 3, "the first is as it was");
	CHECK(bs_draft_open(&d, path, &why) == 0 &&
		      bs_draft_commit(&d, path, BS_DRAFT_REPLACE, &why) == 0 &&
		      stat(path, &st) == 0 && st.st_size == 0,
	      "replace replaces");
	CHECK(bs_draft_open(&d, path, &why) == 0, "a draft to drop");
	bs_draft_drop(&d);
}

static _Atomic int drafting;

static void *open_drafts(void *of)
{
	struct bs_fail why = { 0 };
	struct bs_draft d;

	for (atomic_store(&drafting, 1); atomic_load(&drafting) != 0;) {
		if (bs_draft_open(&d, of, &why) != 0)
			break;
		bs_draft_drop(&d);
	}
	return NULL;
}

/* Files of other threads keep the process's umask while drafts are opened. */
static void test_umask(void)
{
	mode_t mask = umask(027);
	pthread_t thread;
	unsigned wide = 0;
	char target[128];

	(void)snprintf(target, sizeof(target), "%s/other", dir);
	CHECK(pthread_create(&thread, NULL, open_drafts, target) == 0, "a second thread");
	while (atomic_load(&drafting) == 0)
		(void)sched_yield();
	for (int i = 0; i < 20000; i++) {
		const char *path = in_dir("mine");
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
		struct stat st = { 0 };

		wide += fd < 0 || fstat(fd, &st) != 0 || (st.st_mode & 0777) != 0640;
		(void)close(fd);
		(void)unlink(path);
	}
	atomic_store(&drafting, 0);
	(void)pthread_join(thread, NULL);
	(void)umask(mask);
	CHECK(wide == 0, "%u of 20000 files of another thread have another mode than 640", wide);
}

/* What a killed writer left goes, what a living one has stays; so does what is no draft. */
static void test_sweep(void)
{
	struct bs_fail why = { 0 };
	struct bs_draft d;
	struct stat st;
	int told[2];
	char ready = 0;
	int fd = open(in_dir("name.part-of-speech"), O_WRONLY | O_CREAT, 0600);
	pid_t child = pipe(told) == 0 ? fork() : -1;

	if (child == 0) {
		(void)bs_draft_open(&d, in_dir("killed"), &why);
		(void)write(told[1], "x", 1);
		for (;;)
			(void)pause();
	}
	CHECK(child > 0 && fd >= 0 && close(fd) == 0 && read(told[0], &ready, 1) == 1,
	      "another process drafts");
	CHECK(bs_draft_open(&d, in_dir("mine"), &why) == 0, "and so does this one");
	CHECK(bs_draft_sweep(dir) == 0 && stat(d.temp, &st) == 0, "no draft in use is swept");
	CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child, "the other is killed");
	CHECK(bs_draft_sweep(dir) == 1 && stat(d.temp, &st) == 0, "its draft goes, mine stays");
	CHECK(bs_draft_commit(&d, in_dir("mine"), BS_DRAFT_REPLACE, &why) == 0, "and is committed");
	CHECK(unlink(in_dir("name.part-of-speech")) == 0, "what is no draft stays");
	(void)close(told[0]);
	(void)close(told[1]);
}

static void test_no_litter(void)
{
	DIR *d = opendir(dir);
	int n = 0;

	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
		n += strstr(e->d_name, ".part-") != NULL;
	if (d != NULL)
		(void)closedir(d);
	CHECK(n == 0, "%d unfinished files are left", n);
}

static void test_data(void)
{
	static const struct {
		const char *name;
		uint64_t x, y, z, coil;
	} ref[] = {
		{ "brain3d_maps", 64, 64, 16, 4 },
		{ "brain3d_bartpics_l0.1_i30.cfl", 64, 64, 16, 1 },
		{ "spiral2d_bonn_dcf", 1, 4940, 15, 1 },
		{ "cart2d_phantom", 256, 256, 1, 1 },
	};
	const char *data = getenv("DATA");

	for (size_t i = 0; i < sizeof(ref) / sizeof(ref[0]); i++) {
		struct bs_fail why = { 0 };
		struct bs_cfl c;
		char path[1024];
		double sum = 0;
		int rc;

		(void)snprintf(path, sizeof(path), "%s/ref/%s", data ? data : "", ref[i].name);
		rc = bs_cfl_read(&c, path, &why);
		if (data == NULL || rc == BS_ERR_IO) {
			SKIP("ref/%s is not in DATA", ref[i].name);
			continue;
		}
		for (uint64_t k = 0; rc == 0 && k < 2 * c.size; k++)
			sum += (double)c.data[k] * c.data[k];
		CHECK(rc == 0 && c.dims[0] == ref[i].x && c.dims[1] == ref[i].y &&
			      c.dims[2] == ref[i].z && c.dims[3] == ref[i].coil && sum > 0 &&
			      isfinite(sum),
		      "%s: norm %g %s", ref[i].name, sqrt(sum), why.text);
		bs_cfl_free(&c);
	}
}

int main(void)
{
	test_round_trip();
	test_headers();
	test_bad_files();
	test_draft();
	test_umask();
	test_sweep();
	test_no_litter();
	test_data();
	return check_done();
}

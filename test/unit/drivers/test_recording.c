/*
 * test/unit/drivers/test_recording.c - recordings: round trip, the recordings at hand, damaged
 * files
 */
#define _GNU_SOURCE
#include "test/support/check.h"
#include "test/support/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <hdf5.h>
#include <ismrmrd/dataset.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/tool/load/recording.h"

static char name[4][128];
static const char xml[] = "<?xml version=\"1.0\"?><ismrmrdHeader>\xc3\xa4</ismrmrdHeader>";

static int files_in_dir(void)
{
	DIR *d = opendir(dir);
	int n = 0;

	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
		n += e->d_name[0] != '.';
	if (d != NULL)
		(void)closedir(d);
	return n;
}

/* Every field of the header gets a value of its own. */
static struct bs_mrd_acq acq_number(unsigned i)
{
	struct bs_mrd_acq h;
	unsigned char *at = (unsigned char *)&h;

	memset(&h, 0, sizeof(h));
	for (size_t b = 0; b < sizeof(h); b++)
		at[b] = (unsigned char)(1 + (b * 7 + i) % 61); /* floats stay finite */
	h.version = 1;
	h.number_of_samples = (uint16_t)(3 + i);
	h.active_channels = 2;
	h.trajectory_dimensions = (uint16_t)(i % 4);
	return h;
}

static bool same_head(const struct bs_mrd_acq *a, const struct bs_mrd_acq *b)
{
#define SAME(f) (memcmp(&a->f, &b->f, sizeof(a->f)) == 0)
	return SAME(version) && SAME(flags) && SAME(measurement_uid) && SAME(scan_counter) &&
	       SAME(acquisition_time_stamp) && SAME(physiology_time_stamp) &&
	       SAME(number_of_samples) && SAME(available_channels) && SAME(active_channels) &&
	       SAME(channel_mask) && SAME(discard_pre) && SAME(discard_post) &&
	       SAME(center_sample) && SAME(encoding_space_ref) && SAME(trajectory_dimensions) &&
	       SAME(sample_time_us) && SAME(position) && SAME(read_dir) && SAME(phase_dir) &&
	       SAME(slice_dir) && SAME(patient_table_position) && SAME(idx) && SAME(user_int) &&
	       SAME(user_float);
#undef SAME
}

static void fill(float *v, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		v[i] = (float)i + 1000.0f * (float)seed;
}

#define ACQS 9u
static int write_recording(const char *path)
{
	struct bs_recording *r;
	float traj[3 * 16];
	float data[2 * 2 * 16];
	int rc = bs_recording_create(&r, path, NULL);

	if (rc != 0)
		return rc;
	rc = bs_recording_put_xml(r, xml, NULL);
	for (unsigned i = 0; rc == 0 && i < ACQS; i++) {
		struct bs_mrd_acq h = acq_number(i);

		fill(traj, (size_t)h.number_of_samples * h.trajectory_dimensions, i);
		fill(data, (size_t)h.number_of_samples * 4, i + 100);
		rc = bs_recording_append(r, &h, traj, data, NULL);
	}
	return rc == 0 ? bs_recording_close(r, NULL) : (bs_recording_close(r, NULL), rc);
}

static void test_round_trip(void)
{
	struct bs_fail why = { 0 };
	struct bs_recording *r = NULL;
	struct bs_recorded got;
	float want[64];
	int heads = 0;
	int values = 0;

	CHECK(write_recording(name[0]) == 0, "a recording is written");
	CHECK(files_in_dir() == 1, "nothing but the recording is left (%d files)", files_in_dir());
	CHECK(bs_recording_open(&r, name[0], &why) == 0, "it opens: %s", why.text);
	if (r == NULL)
		return;
	CHECK(strcmp(bs_recording_xml(r), xml) == 0, "the XML comes back");
	CHECK(bs_recording_count(r) == ACQS, "%u acquisitions", bs_recording_count(r));
	for (unsigned k = 0; k < ACQS; k++) {
		unsigned i = (k * 5) % ACQS; /* any order */
		struct bs_mrd_acq h = acq_number(i);
		size_t nt = (size_t)h.number_of_samples * h.trajectory_dimensions;

		if (bs_recording_read(r, i, &got, &why) != 0) {
			CHECK(0, "acquisition %u: %s", i, why.text);
			continue;
		}
		heads += same_head(&got.head, &h);
		fill(want, nt, i);
		values += nt == 0 || memcmp(got.traj, want, 4 * nt) == 0;
		fill(want, (size_t)h.number_of_samples * 4, i + 100);
		values += memcmp(got.data, want, (size_t)h.number_of_samples * 16) == 0;
	}
	CHECK(heads == ACQS, "%d of %u headers equal", heads, ACQS);
	CHECK(values == 2 * ACQS, "%d of %u arrays equal", values, 2 * ACQS);
	CHECK(bs_recording_read(r, ACQS, &got, &why) == BS_ERR_INDEX, "past the end: %s", why.text);
	CHECK(bs_recording_put_xml(r, xml, &why) == BS_ERR_STATE, "no writing: %s", why.text);
	CHECK(bs_recording_close(r, NULL) == 0, "it closes");
}

/* The library that the field uses reads what was written here. */
static void test_ismrmrd_reads(void)
{
	ISMRMRD_Dataset d;
	ISMRMRD_Acquisition a;
	struct bs_mrd_acq h = acq_number(5);

	(void)ismrmrd_init_dataset(&d, name[0], "/dataset");
	CHECK(ismrmrd_open_dataset(&d, false) == ISMRMRD_NOERROR, "libismrmrd opens it");
	CHECK(ismrmrd_get_number_of_acquisitions(&d) == ACQS, "libismrmrd counts the same");
	(void)ismrmrd_init_acquisition(&a);
	CHECK(ismrmrd_read_acquisition(&d, 5, &a) == ISMRMRD_NOERROR &&
		      a.head.scan_counter == h.scan_counter &&
		      a.head.idx.user[7] == h.idx.user[7] && a.head.user_int[7] == h.user_int[7] &&
		      a.head.trajectory_dimensions == 1 && a.traj[2] == 5002.0f &&
		      ((float *)a.data)[3] == 105003.0f,
	      "libismrmrd reads acquisition 5 alike");
	(void)ismrmrd_cleanup_acquisition(&a);
	(void)ismrmrd_close_dataset(&d);
}

static void test_unfinished(void)
{
	struct bs_fail why = { 0 };
	struct bs_recording *r = NULL;
	int before = files_in_dir();
	struct stat st;

	CHECK(bs_recording_create(&r, name[1], &why) == 0, "create");
	CHECK(stat(name[1], &st) != 0, "no file under the name before close");
	CHECK(bs_recording_close(r, &why) == BS_ERR_STATE, "without a header: %s", why.text);
	CHECK(files_in_dir() == before, "nothing is left of it");
	CHECK(bs_recording_create(&r, "/nonexistent/x.h5", &why) == BS_ERR_IO, "%s", why.text);
}

static size_t slurp(const char *path, unsigned char **bytes)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	size_t n = 0;

	*bytes = NULL;
	if (f != NULL && fstat(fileno(f), &st) == 0 &&
	    (*bytes = malloc((size_t)st.st_size)) != NULL)
		n = fread(*bytes, 1, (size_t)st.st_size, f);
	if (f != NULL)
		(void)fclose(f);
	return n;
}

static void spill(const char *path, const unsigned char *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");

	if (f != NULL && fwrite(bytes, 1, n, f) != n)
		CHECK(0, "cannot write %s", path);
	if (f != NULL)
		(void)fclose(f);
}

/* Opens and reads all; returns the first error. Reads what it is given, so that ASan would see. */
static int read_all(const char *path, struct bs_fail *why)
{
	struct bs_recording *r;
	struct bs_recorded got;
	int rc = bs_recording_open(&r, path, why);
	float sum = 0;

	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < bs_recording_count(r) && i < 64; i++) {
		int one = bs_recording_read(r, i, &got, why);

		if (one != 0) {
			rc = one;
			continue;
		}
		for (size_t k = 0;
		     k < (size_t)got.head.number_of_samples * got.head.trajectory_dimensions; k++)
			sum += got.traj[k];
		for (size_t k = 0;
		     k < (size_t)got.head.number_of_samples * got.head.active_channels * 2; k++)
			sum += got.data[k];
	}
	(void)bs_recording_close(r, NULL);
	return rc == 0 && isnan(sum) ? BS_ERR_VALUE : rc;
}

static void test_bad_files(void)
{
	struct bs_fail why = { 0 };
	unsigned char *bytes;
	size_t n = slurp(name[0], &bytes);
	int refused = 0;
	int tried = 0;
	int coded = 0;

	CHECK(read_all("/nonexistent.h5", &why) == BS_ERR_IO, "absent: %s", why.text);
	CHECK(read_all(dir, &why) == BS_ERR_FORMAT, "a folder: %s", why.text);
	spill(name[1], (const unsigned char *)"", 0);
	CHECK(read_all(name[1], &why) == BS_ERR_FORMAT, "empty: %s", why.text);
	spill(name[1], (const unsigned char *)xml, sizeof(xml));
	CHECK(read_all(name[1], &why) == BS_ERR_FORMAT, "text: %s", why.text);
	for (size_t len = 9; len < n; len += n / 25, tried++) {
		spill(name[1], bytes, len);
		refused += read_all(name[1], &why) == BS_ERR_FORMAT;
	}
	CHECK(tried > 0 && refused == tried, "%d of %d truncated copies refused, the last with: %s",
	      refused, tried, why.text);
	/* Damage in the structures either shows as a coded error or lies in values nobody checks.
	 */
	tried = 0;
	for (size_t at = 8; at < n; at += 97, tried++) {
		unsigned char was = bytes[at];
		int rc;

		bytes[at] ^= 0x55;
		spill(name[1], bytes, n);
		bytes[at] = was;
		rc = read_all(name[1], &why);
		coded += rc == 0 || rc == BS_ERR_FORMAT || rc == BS_ERR_VALUE;
	}
	CHECK(tried > 0 && coded == tried, "%d of %d copies with a damaged byte end in order",
	      coded, tried);
	free(bytes);
}

/* Header sizes that disagree with what is stored: written through HDF5's own file format. */
static void test_lying_header(void)
{
	struct bs_fail why = { 0 };
	struct bs_mrd_acq h = acq_number(0);
	unsigned char *bytes;
	size_t n = slurp(name[0], &bytes);
	/* the head's bytes as stored: packed, available and active channels follow the samples */
	unsigned char pattern[6];
	uint16_t three[3] = { h.number_of_samples, h.available_channels, h.active_channels };
	unsigned char *at;

	memcpy(pattern, three, 6);
	at = memmem(bytes, n, pattern, 6);
	CHECK(at != NULL, "the first header is found in the file");
	if (at != NULL) {
		at[0] = 0xff;
		at[1] = 0xff;
		at[4] = 0xff;
		at[5] = 0xff;
		spill(name[1], bytes, n);
		CHECK(read_all(name[1], &why) == BS_ERR_FORMAT, "%s", why.text);
	}
	free(bytes);
}

/* A list that is longer than the file: its rows would be read, one by one, as what is not there. */
static void test_claims(void)
{
	const hsize_t grown = 1000000000;
	struct bs_recording *r = NULL;
	struct bs_fail why = { 0 };
	char path[160];
	hid_t file;
	hid_t set;

	(void)snprintf(path, sizeof(path), "%s/claims.h5", dir);
	CHECK(write_recording(path) == 0, "a recording");
	file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
	set = H5Dopen2(file, "/dataset/data", H5P_DEFAULT);
	CHECK(H5Dset_extent(set, &grown) >= 0 && H5Dclose(set) >= 0 && H5Fclose(file) >= 0,
	      "which claims 10^9 rows");
	CHECK(bs_recording_open(&r, path, &why) == BS_ERR_FORMAT &&
		      strstr(why.text, "more than it stores") != NULL,
	      "is refused: %s", why.text);
	(void)unlink(path);
}

/* What another process has opened to write is not damaged; it is waited for. */
static void test_locked(void)
{
	struct bs_recording *r = NULL;
	struct bs_fail why = { 0 };
	char path[160];
	int fd;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/locked.h5", dir);
	CHECK(write_recording(path) == 0, "a recording");
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0, "somebody writes it");
	rc = bs_recording_open(&r, path, &why);
	CHECK(rc == BS_ERR_IO && strstr(why.text, "damaged") == NULL, "is not damaged: %s",
	      why.text);
	(void)close(fd);
	CHECK(bs_recording_open(&r, path, &why) == 0, "and opens then: %s", why.text);
	(void)bs_recording_close(r, NULL);
	(void)unlink(path);
}

static void test_data(void)
{
	static const struct {
		const char *file;
		uint32_t count;
		uint16_t samples, channels, dims; /* of the last acquisition */
	} want[] = {
		{ "brain3d_sos_4ch.h5", 16, 4162, 4, 3 },
		{ "lung3d_radial_xe.h5", 4601, 45, 1, 3 },
		{ "spiral2d_bonn_clean_slc30.h5", 15, 4940, 1, 3 },
		{ "spiral2d_bonn_CS_slc30.h5", 15, 4940, 1, 3 },
		{ "spiral2d_bonn_Susc70Mhz_slc30.h5", 15, 4940, 1, 3 },
		{ "cart2d_8ch.h5", 769, 512, 8, 0 },
		{ "bad/jemris_units_cycles_per_fov.h5", 16, 4940, 1, 3 },
		{ "bad/jemris_uninitialised_data_3acq.h5", 3, 4940, 1, 3 },
		{ "bad/pulseq7T_gradient_traj_1ch.h5", 141, 974, 1, 2 },
		{ "bad/pypulseq_gradient_traj_malformed_xml_1ch.h5", 9, 1211, 1, 2 },
	};
	const char *data = getenv("DATA");

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct bs_recording *r = NULL;
		struct bs_recorded got = { 0 };
		struct bs_fail why = { 0 };
		char path[1024];
		uint32_t n;
		int rc;

		(void)snprintf(path, sizeof(path), "%s/%s", data ? data : "", want[i].file);
		if (data == NULL || access(path, R_OK) != 0) {
			SKIP("%s is not in DATA", want[i].file);
			continue;
		}
		rc = bs_recording_open(&r, path, &why);
		if (rc != 0) {
			CHECK(0, "%s", why.text);
			continue;
		}
		n = bs_recording_count(r);
		for (uint32_t k = 0; rc == 0 && k < n; k++)
			rc = bs_recording_read(r, k, &got, &why);
		CHECK(rc == 0 && n == want[i].count &&
			      got.head.number_of_samples == want[i].samples &&
			      got.head.active_channels == want[i].channels &&
			      got.head.trajectory_dimensions == want[i].dims &&
			      strstr(bs_recording_xml(r), "ismrmrdHeader") != NULL,
		      "%s: %u acquisitions, the last %u x %u, %u trajectory dimensions %s",
		      want[i].file, n, got.head.active_channels, got.head.number_of_samples,
		      got.head.trajectory_dimensions, why.text);
		(void)bs_recording_close(r, NULL);
	}
}

/* A file with two scans, one of them in a group of another name. */
static void test_groups(void)
{
	struct bs_fail why = { 0 };
	struct bs_recording *r = NULL;
	ISMRMRD_Dataset other;
	char both[256];

	CHECK(write_recording(name[3]) == 0, "a recording is written");
	if (ismrmrd_init_dataset(&other, name[3], "/dataset_2") != ISMRMRD_NOERROR ||
	    ismrmrd_open_dataset(&other, true) != ISMRMRD_NOERROR ||
	    ismrmrd_write_header(&other, "<ismrmrdHeader/>") != ISMRMRD_NOERROR ||
	    ismrmrd_close_dataset(&other) != ISMRMRD_NOERROR)
		CHECK(0, "a second group");
	CHECK(bs_recording_open(&r, name[3], &why) == 0 && bs_recording_count(r) == ACQS &&
		      strcmp(bs_recording_note(r),
			     "other groups hold scans (--group): dataset_2") == 0,
	      "the first is read, and the other said: %s", r != NULL ? bs_recording_note(r) : "");
	(void)bs_recording_close(r, NULL);
	(void)snprintf(both, sizeof(both), "%s", bs_recording_in(name[3], "dataset_2"));
	CHECK(bs_recording_open(&r, both, &why) == BS_ERR_FORMAT &&
		      strstr(why.text, "no acquisitions at /dataset_2/data"),
	      "the second: %s", why.text);
	(void)snprintf(both, sizeof(both), "%s", bs_recording_in(name[3], "third"));
	CHECK(bs_recording_open(&r, both, &why) == BS_ERR_FORMAT &&
		      strstr(why.text, "no MRD header at /third/xml: other groups hold scans") &&
		      strstr(why.text, "dataset, dataset_2"),
	      "one that is not there: %s", why.text);
	(void)snprintf(both, sizeof(both), "%s/", name[3]);
	CHECK(bs_recording_open(&r, both, &why) == BS_ERR_IO, "none: %s", why.text);
	(void)snprintf(both, sizeof(both), "%s/%070d", name[3], 1);
	CHECK(bs_recording_open(&r, both, &why) == BS_ERR_IO, "too long a name: %s", why.text);
	CHECK(strcmp(bs_recording_in(name[3], NULL), name[3]) == 0, "no group is asked for");
}

int main(void)
{
	for (int i = 0; i < 4; i++)
		(void)snprintf(name[i], sizeof(name[i]), "%s/%d.h5", dir, i);
	test_round_trip();
	test_ismrmrd_reads();
	test_unfinished();
	test_bad_files();
	test_lying_header();
	test_claims();
	test_locked();
	test_data();
	test_groups();
	return check_done();
}

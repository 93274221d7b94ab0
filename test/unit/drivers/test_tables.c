/*
 * test/unit/drivers/test_tables.c - trajectories, weights and maps from files: the good and the
 * refused
 */
#define _GNU_SOURCE
#include "drivers/tool/written.h"
#include "test/support/check.h"
#include "test/support/folder.h"
#include "test/support/plan/planned.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/solve/csr.h"
#include "drivers/file/cfl.h"
#include "drivers/file/loader.h"
#include "drivers/tool/load/load.h"
#include "drivers/tool/load/recording.h"
#include "drivers/file/tables.h"

#define SAMPLES  6u
#define READOUTS 4u
#define MATRIX   16u

static char h5[128], cfl[128], weights[128], maps[128], w[128];

static struct bs_protocol protocol(void)
{
	struct bs_protocol p = path_of(BS_METHOD_GRIDDING, BS_TRAJ_FILE, MATRIX, MATRIX, 1, 2);

	readouts_of(&p, READOUTS, SAMPLES);
	p.accuracy = 0.0;
	p.traj.min_extent = 0.25;
	p.traj.tolerance = 1e-4;
	return planned(p);
}

/* What the files are to hold: cycles per voxel, the edge included. */
static float k_of(uint32_t readout, uint32_t sample, uint32_t axis)
{
	float r = -0.5f + (float)sample / SAMPLES;

	return axis == 0 ? r : r * (float)(readout + 1) / READOUTS;
}

struct recipe {
	float unit;       /* multiplies k */
	float third;      /* value of the third dimension; NaN: two dimensions */
	const char *says; /* trajectory_units */
	uint32_t matrix;
	uint32_t readouts;
	uint16_t samples_of_last;
	uint16_t pre, post;
	bool nan;
};
static const struct recipe good = {
	1, NAN, "cycles/voxel", MATRIX, READOUTS, SAMPLES, 0, 0, false
};

static void put_acq(struct bs_recording *r, const struct recipe *c, uint64_t flags,
		    uint32_t readout, uint16_t repetition, uint16_t samples)
{
	static const float zeros[4096];
	uint16_t all = (uint16_t)(samples + c->pre + c->post);
	uint16_t dims = isnan(c->third) ? 2 : 3;
	float traj[3 * 64];
	struct bs_mrd_acq h;

	memset(&h, 0, sizeof(h));
	for (uint32_t s = 0; s < all; s++)
		for (uint32_t a = 0; a < dims; a++) {
			bool kept = s >= c->pre && s < (uint32_t)c->pre + samples;

			traj[s * dims + a] = !kept    ? 77.0f
					     : a == 2 ? c->third
						      : c->unit * k_of(readout, s - c->pre, a);
		}
	if (c->nan)
		traj[5] = NAN;
	h.version = 1;
	h.flags = flags;
	h.number_of_samples = all;
	h.discard_pre = c->pre;
	h.discard_post = c->post;
	h.active_channels = h.available_channels = 2;
	h.trajectory_dimensions = dims;
	h.idx.kspace_encode_step_1 = (uint16_t)(readout + 10);
	h.idx.kspace_encode_step_2 = 3;
	h.idx.repetition = repetition;
	if (bs_recording_append(r, &h, traj, zeros, NULL) != 0)
		CHECK(0, "cannot append");
}

/* A frame of repetition 0, and among it readouts of repetition 1 and of kinds that are no line. */
static void write_recording(const struct recipe *c)
{
	struct bs_recording *r = NULL;
	char xml[2048];

	(void)snprintf(
		xml, sizeof(xml),
		"<?xml version=\"1.0\" encoding=\"ascii\"?><ismrmrdHeader "
		"xmlns=\"http://www.ismrm.org/ISMRMRD\">"
		"<experimentalConditions><H1resonanceFrequency_Hz>1</H1resonanceFrequency_Hz>"
		"</experimentalConditions><encoding><encodedSpace><matrixSize><x>%u</x><y>%u</y>"
		"<z>1</z></matrixSize><fieldOfView_mm><x>1</x><y>1</y><z>1</z></fieldOfView_mm>"
		"</encodedSpace><reconSpace><matrixSize><x>%u</x><y>%u</y><z>1</z></matrixSize>"
		"<fieldOfView_mm><x>1</x><y>1</y><z>1</z></fieldOfView_mm></reconSpace>"
		"<encodingLimits/><trajectory>radial</trajectory></encoding>%s%s%s"
		"</ismrmrdHeader>",
		c->matrix, c->matrix, c->matrix, c->matrix,
		c->says ? "<userParameters><userParameterString><name>trajectory_units</name>"
			  "<value>"
			: "",
		c->says ? c->says : "",
		c->says ? "</value></userParameterString></userParameters>" : "");
	if (bs_recording_create(&r, h5, NULL) != 0 || bs_recording_put_xml(r, xml, NULL) != 0) {
		CHECK(0, "cannot write a recording");
		return;
	}
	put_acq(r, c, BS_MRD_IS_NOISE, 3, 0, 9);
	put_acq(r, c, BS_MRD_IS_PHASE_CORRECTION, 3, 0, SAMPLES);
	put_acq(r, c, BS_MRD_IS_PHASE_CORRECTION | BS_MRD_IS_REVERSE, 3, 0, SAMPLES);
	put_acq(r, c, BS_MRD_IS_DUMMY, 3, 0, SAMPLES);
	put_acq(r, c, BS_MRD_IS_CALIBRATION, 3, 0, SAMPLES);
	put_acq(r, c, BS_MRD_IS_NAVIGATION, 3, 0, 5);
	for (uint32_t i = 0; i < c->readouts; i++) {
		put_acq(r, c, 0, i, 0, i + 1 < c->readouts ? SAMPLES : c->samples_of_last);
		if (i == 1) {
			put_acq(r, c, 0, 3, 1, SAMPLES);
			put_acq(r, c, BS_MRD_IS_NAVIGATION, 3, 0, 5);
			put_acq(r, c, BS_MRD_IS_FEEDBACK, 3, 0, 5);
			put_acq(r, c, BS_MRD_IS_STABILIZATION_REF, 3, 0, SAMPLES);
		}
	}
	CHECK(bs_recording_close(r, NULL) == 0, "a recording is written");
}

static double table_error(const struct bs_traj *t)
{
	double worst = 0;

	for (uint32_t r = 0; r < READOUTS; r++)
		for (uint32_t s = 0; s < SAMPLES; s++)
			for (uint32_t a = 0; a < 2; a++)
				worst = fmax(worst, fabs(t->k[(r * SAMPLES + s) * 2 + a] -
							 (double)k_of(r, s, a)));
	return worst;
}

static void expect_table(const struct bs_protocol *p, const char *what, uint16_t step1,
			 uint16_t step2)
{
	struct bs_fail why = { 0 };
	struct bs_loaded l;
	int rc = bs_tables_load(&l, p, &why);

	CHECK(rc == 0, "%s loads %s", what, why.text);
	if (rc != 0)
		return;
	/* the largest is 0.5: one rounding of the stored value, one of the conversion */
	CHECK(table_error(&l.traj) <= 0x1p-24, "%s: largest error %g cycles/voxel", what,
	      table_error(&l.traj));
	CHECK(l.tables.traj == &l.traj && l.traj.keyed && l.traj.step1[2] == step1 &&
		      l.traj.step2[2] == step2,
	      "%s: readout 2 has counters %u, %u", what, l.traj.step1[2], l.traj.step2[2]);
	bs_tables_free(&l);
}

static void expect_refusal(const struct bs_protocol *p, int code)
{
	struct bs_fail why = { 0 };
	struct bs_loaded l;
	int rc = bs_tables_load(&l, p, &why);

	CHECK(rc == code, "%s: %s", bs_err_name(rc), why.text);
	if (rc == 0)
		bs_tables_free(&l);
}

static void refuse_recipe(const struct recipe *c, int code)
{
	struct bs_protocol p = protocol();

	(void)strcpy(p.traj.file, h5);
	write_recording(c);
	expect_refusal(&p, code);
}

static void test_recordings(void)
{
	struct bs_protocol p = protocol();
	struct recipe c = good;

	(void)strcpy(p.traj.file, h5);
	write_recording(&good);
	expect_table(&p, "two dimensions", 12, 3);
	c.third = 0;
	c.pre = 2;
	c.post = 1;
	c.says = NULL;
	write_recording(&c);
	expect_table(&p, "a third dimension of zeros, discarded samples", 12, 3);
	c.third = 0.25f;
	write_recording(&c);
	expect_refusal(&p, BS_ERR_TRAJECTORY);
	p.traj.third_ignored = true;
	bs_plan_make(&p);
	expect_table(&p, "a third dimension ignored", 12, 3);
	p.traj.third_ignored = false;
	bs_plan_make(&p);
	c = good;
	c.unit = MATRIX;
	c.says = "cycles/fov";
	write_recording(&c);
	expect_refusal(&p, BS_ERR_TRAJECTORY);
	p.traj.unit = BS_UNIT_CYCLES_PER_FOV;
	bs_plan_make(&p);
	expect_table(&p, "cycles/fov", 12, 3);
	c.says = NULL;
	refuse_recipe(&c, BS_ERR_TRAJECTORY); /* out of range */
	c = good;
	c.unit = 0.07f; /* what a gradient waveform looks like */
	refuse_recipe(&c, BS_ERR_TRAJECTORY);
	c = good;
	c.nan = true;
	refuse_recipe(&c, BS_ERR_TRAJECTORY);
	c = good;
	c.matrix = 20;
	refuse_recipe(&c, BS_ERR_SIZE);
	c = good;
	c.readouts = READOUTS - 1;
	refuse_recipe(&c, BS_ERR_SIZE);
	c = good;
	c.samples_of_last = SAMPLES - 1;
	refuse_recipe(&c, BS_ERR_SIZE);
	(void)snprintf(p.traj.file, sizeof(p.traj.file), "%s/none.h5", dir);
	expect_refusal(&p, BS_ERR_IO);
}

static void write_array(const char *name, const float *v, uint64_t d0, uint64_t d1, uint64_t d2,
			uint64_t d3)
{
	const uint64_t dims[BS_CFL_DIMS] = { d0, d1, d2, d3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

	if (bs_cfl_write(name, dims, v, NULL) != 0)
		CHECK(0, "cannot write %s", name);
}

static void test_arrays(void)
{
	struct bs_protocol p = protocol();
	float v[READOUTS * SAMPLES * 3 * 2] = { 0 };

	(void)strcpy(p.traj.file, cfl);
	p.traj.unit = BS_UNIT_CYCLES_PER_FOV;
	bs_plan_make(&p);
	for (uint32_t r = 0; r < READOUTS; r++)
		for (uint32_t s = 0; s < SAMPLES; s++)
			for (uint32_t a = 0; a < 2; a++)
				v[((r * SAMPLES + s) * 3 + a) * 2] = MATRIX * k_of(r, s, a);
	write_array(cfl, v, 3, SAMPLES, READOUTS, 1);
	expect_table(&p, "an array [3, samples, readouts]", 2, 0);
	write_array(cfl, v, 3, SAMPLES, 2, READOUTS / 2);
	expect_table(&p, "an array [3, samples, 2, readouts / 2]", 0, 1);
	write_array(cfl, v, 3, SAMPLES - 1, READOUTS, 1);
	expect_refusal(&p, BS_ERR_SIZE);
	write_array(cfl, v, 3, SAMPLES, READOUTS - 1, 1);
	expect_refusal(&p, BS_ERR_SIZE);
	write_array(cfl, v, 1, SAMPLES, READOUTS, 1);
	expect_refusal(&p, BS_ERR_TRAJECTORY);
	v[11] = 0.5f; /* imaginary */
	write_array(cfl, v, 3, SAMPLES, READOUTS, 1);
	expect_refusal(&p, BS_ERR_TRAJECTORY);
	v[11] = 0.0f;
	v[4] = NAN; /* third dimension */
	write_array(cfl, v, 3, SAMPLES, READOUTS, 1);
	expect_refusal(&p, BS_ERR_TRAJECTORY);
}

static struct bs_protocol radial(void)
{
	struct bs_protocol p = protocol();

	p.traj.type = BS_TRAJ_RADIAL2D;
	p.traj.unit = BS_UNIT_CYCLES_PER_VOXEL;
	return planned(p);
}

static void test_weights(void)
{
	struct bs_protocol p = radial();
	float v[2 * READOUTS * SAMPLES];
	struct bs_fail why = { 0 };
	struct bs_loaded l;
	int rc;

	for (uint32_t i = 0; i < READOUTS * SAMPLES; i++) {
		v[2 * i] = (float)i;
		v[2 * i + 1] = 0;
	}
	p.density = BS_DENSITY_FILE;
	bs_plan_make(&p);
	(void)strcpy(p.density_file, weights);
	for (int leading = 0; leading < 2; leading++) {
		write_array(weights, v, leading ? 1 : SAMPLES, leading ? SAMPLES : READOUTS,
			    leading ? READOUTS : 1, 1);
		rc = bs_tables_load(&l, &p, &why);
		CHECK(rc == 0 && l.tables.weight != NULL && l.tables.weight[7] == 7.0f,
		      "weights%s %s", leading ? " with a leading 1" : "", why.text);
		if (rc == 0)
			bs_tables_free(&l);
	}
	write_array(weights, v, 1, READOUTS, SAMPLES, 1);
	expect_refusal(&p, BS_ERR_SIZE);
	write_array(weights, v, 1, SAMPLES, READOUTS - 1, 1);
	expect_refusal(&p, BS_ERR_SIZE);
	for (int bad = 0; bad < 3; bad++) {
		v[14] = bad == 0 ? NAN : bad == 1 ? -1.0f : 7.0f;
		v[15] = bad == 2 ? 1.0f : 0.0f;
		write_array(weights, v, 1, SAMPLES, READOUTS, 1);
		expect_refusal(&p, BS_ERR_VALUE);
	}
	memset(v, 0, sizeof(v));
	write_array(weights, v, 1, SAMPLES, READOUTS, 1);
	expect_refusal(&p, BS_ERR_VALUE);
}

/* Maps of three slices in dimension 13; anywhere else they are refused. */
static void three_slices(const struct bs_protocol *p)
{
	static float v[3 * 2 * MATRIX * MATRIX * 2];
	uint64_t dims[BS_CFL_DIMS];
	struct bs_fail why = { 0 };
	struct bs_loaded l;

	for (size_t i = 0; i < sizeof(v) / 4; i++)
		v[i] = (float)(i % 1000);
	bs_cfl_sizes(dims, MATRIX, MATRIX, 1, 2);
	for (unsigned d = 4; d < BS_CFL_DIMS; d++) {
		int rc;

		dims[d] = 3;
		CHECK(bs_cfl_write(maps, dims, v, NULL) == 0, "a file of maps");
		rc = bs_tables_load(&l, p, &why);
		CHECK(d == 13 ? rc == 0 && memcmp(l.tables.maps, v, sizeof(v)) == 0
			      : rc == BS_ERR_SIZE,
		      "three sets in dimension %u: %s", d, rc == 0 ? "taken" : why.text);
		if (rc == 0)
			bs_tables_free(&l);
		dims[d] = 1;
	}
}

static void test_maps(void)
{
	static float v[2 * MATRIX * MATRIX * 2];
	struct bs_protocol p = radial();
	struct bs_fail why = { 0 };
	struct bs_loaded l;
	int rc;

	for (size_t i = 0; i < sizeof(v) / 4; i++)
		v[i] = (float)i;
	(void)strcpy(p.maps_file, maps);
	write_array(maps, v, MATRIX, MATRIX, 1, 2);
	rc = bs_tables_load(&l, &p, &why);
	CHECK(rc == 0 && l.tables.maps != NULL && memcmp(l.tables.maps, v, sizeof(v)) == 0,
	      "maps %s", why.text);
	CHECK(rc == 0 && l.tables.weight == NULL && l.tables.w == NULL, "nothing else");
	if (rc == 0)
		bs_tables_free(&l);
	p.slices = 3;
	bs_plan_make(&p);
	CHECK(bs_tables_load(&l, &p, &why) == BS_ERR_SIZE &&
		      strncmp(why.text, "image.maps_file: ", 17) == 0 &&
		      strstr(why.text, "with 1 in dimension 13") != NULL &&
		      strstr(why.text, "with 3 in dimension 13, the slices") != NULL,
	      "one slice's maps for three: %s", why.text);
	three_slices(&p);
	p.slices = 1;
	bs_plan_make(&p);
	write_array(maps, v, MATRIX, MATRIX, 2, 1);
	expect_refusal(&p, BS_ERR_SIZE);
	write_array(maps, v, MATRIX, MATRIX, 1, 1);
	expect_refusal(&p, BS_ERR_SIZE);
	v[1021] = INFINITY;
	write_array(maps, v, MATRIX, MATRIX, 1, 2);
	expect_refusal(&p, BS_ERR_VALUE);
}

/* A map for each slice, in dimension 13. */
static void write_field(const float *v, uint64_t z, uint64_t slices)
{
	uint64_t dims[BS_CFL_DIMS] = { MATRIX, MATRIX, z, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

	dims[13] = slices;
	if (bs_cfl_write(maps, dims, v, NULL) != 0)
		CHECK(0, "cannot write %s", maps);
}

static void test_field(void)
{
	static float v[2 * MATRIX * MATRIX * 2];
	struct bs_protocol p = radial();
	struct bs_fail why = { 0 };
	struct bs_loaded l;
	int rc;

	for (size_t i = 0; i < sizeof(v) / 4; i += 2)
		v[i] = (float)i - 300.0f;
	(void)strcpy(p.field.map_file, maps);
	p.slices = 2;
	bs_plan_make(&p);
	write_field(v, 1, 2);
	rc = bs_tables_load(&l, &p, &why);
	CHECK(rc == 0 && l.tables.field != NULL && l.tables.field[0] == -300.0f &&
		      l.tables.field[2 * MATRIX * MATRIX - 1] == v[sizeof(v) / 4 - 2],
	      "field maps of two slices %s", why.text);
	if (rc == 0)
		bs_tables_free(&l);
	write_field(v, 2, 1);
	expect_refusal(&p, BS_ERR_SIZE);
	write_field(v, 1, 1);
	expect_refusal(&p, BS_ERR_SIZE); /* one map for two slices */
	v[401] = 0.5f;
	write_field(v, 1, 2);
	expect_refusal(&p, BS_ERR_VALUE); /* imaginary hertz */
	v[401] = 0.0f;
	v[400] = NAN;
	write_field(v, 1, 2);
	expect_refusal(&p, BS_ERR_VALUE);
}

static void write_matrix(const char *name, uint32_t cols)
{
	struct bs_csr m;
	struct bs_fail why = { 0 };

	(void)bs_csr_open(&m, 1, cols, 1, false, &why);
	m.start[1] = 1;
	m.col[0] = cols - 1;
	m.value[0] = 2.5f;
	CHECK(bs_mtx_write(name, &m, &why) == 0, "a matrix %s", why.text);
	bs_csr_close(&m);
}

static void test_w(void)
{
	struct bs_protocol p = radial();
	struct bs_fail why = { 0 };
	struct bs_loaded l;
	int rc;

	(void)strcpy(p.w_file, w);
	expect_refusal(&p, BS_ERR_IO);
	write_matrix(w, MATRIX * MATRIX);
	rc = bs_tables_load(&l, &p, &why);
	CHECK(rc == 0 && l.tables.w != NULL && l.tables.w->value[0] == 2.5f, "W %s", why.text);
	if (rc == 0)
		bs_tables_free(&l);
	write_matrix(w, MATRIX * MATRIX - 1);
	expect_refusal(&p, BS_ERR_SIZE);
}

/* The recordings at hand, against what their README says of them. */
static void test_data(void)
{
	static const struct {
		const char *file;
		uint32_t dims, matrix, z, samples, readouts;
		int code;
	} r[] = {
		{ "brain3d_sos_4ch.h5", 3, 64, 16, 4162, 16, 0 },
		{ "lung3d_radial_xe.h5", 3, 64, 64, 45, 4601, 0 },
		{ "spiral2d_bonn_clean_slc30.h5", 2, 220, 1, 4940, 15, 0 },
		{ "bad/jemris_units_cycles_per_fov.h5", 2, 220, 1, 4940, 15, BS_ERR_TRAJECTORY },
		{ "bad/jemris_uninitialised_data_3acq.h5", 2, 220, 1, 4940, 3, BS_ERR_TRAJECTORY },
		{ "bad/pulseq7T_gradient_traj_1ch.h5", 2, 220, 1, 974, 15, BS_ERR_TRAJECTORY },
		{ "bad/pypulseq_gradient_traj_malformed_xml_1ch.h5", 2, 192, 1, 1211, 9,
		  BS_ERR_XML },
	};
	const char *data = getenv("DATA");

	for (size_t i = 0; i < sizeof(r) / sizeof(r[0]); i++) {
		struct bs_protocol p = protocol();
		struct bs_fail why = { 0 };
		struct bs_loaded l;
		int rc;

		(void)snprintf(p.traj.file, sizeof(p.traj.file), "%s/%s", data ? data : "",
			       r[i].file);
		p.dims = r[i].dims;
		p.matrix[0] = p.matrix[1] = r[i].matrix;
		p.matrix[2] = r[i].z;
		p.samples = r[i].samples;
		p.readouts = r[i].readouts;
		bs_plan_make(&p);
		if (data == NULL || access(p.traj.file, R_OK) != 0) {
			SKIP("%s is not in DATA", r[i].file);
			continue;
		}
		rc = bs_tables_load(&l, &p, &why);
		CHECK(rc == r[i].code, "%s: %s %s", r[i].file, bs_err_name(rc), why.text);
		if (rc == 0)
			bs_tables_free(&l);
	}
}

/* A loader that ends before all is said, by a signal or by itself, is said, and waited for. */
static void test_loader_ends(void)
{
	static const struct {
		const char *how, *words;
	} ends[] = { { "killed", "signal 9" }, { "mute", "status 3" }, { "half", "status 3" } };
	struct bs_protocol p = protocol();
	struct bs_fail why;
	struct bs_loaded l;

	(void)strcpy(p.traj.file, h5);
	write_recording(&good);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		int rc;

		(void)setenv("LOADER", ends[i].how, 1);
		rc = bs_tables_load(&l, &p, &why);
		(void)unsetenv("LOADER");
		CHECK(rc == BS_ERR_IO && strstr(why.text, ends[i].words) != NULL &&
			      waitpid(-1, NULL, 0) < 0 && errno == ECHILD,
		      "a loader that is %s: %s", ends[i].how, rc == 0 ? "loaded" : why.text);
	}
	expect_table(&p, "after these", 12, 3);
}

/* What bs_tables_load starts is this program: the loader, or one that ends too early. */
static int load(const char *what)
{
	const char *how = getenv("LOADER");
	const struct bs_load_answer answer = { .size = { READOUTS, 1 } };

	if (how == NULL)
		return bs_load_main(what);
	if (strcmp(how, "killed") == 0)
		(void)raise(SIGKILL);
	if (strcmp(how, "half") == 0)
		(void)!write(STDOUT_FILENO, &answer, sizeof(answer));
	return 3;
}

int main(int argc, char **argv)
{
	if (bs_load_asked(argc, argv))
		return load(argv[2]);
	(void)snprintf(h5, sizeof(h5), "%s/traj.h5", dir);
	(void)snprintf(cfl, sizeof(cfl), "%s/traj.cfl", dir);
	(void)snprintf(weights, sizeof(weights), "%s/w.cfl", dir);
	(void)snprintf(maps, sizeof(maps), "%s/maps.cfl", dir);
	(void)snprintf(w, sizeof(w), "%s/w.mtx", dir);
	test_recordings();
	test_loader_ends();
	test_arrays();
	test_weights();
	test_maps();
	test_field();
	test_w();
	test_data();
	return check_done();
}

/* drivers/tool/load/load.c - see load.h */
#include "drivers/tool/load/load.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/solve/csr.h"
#include "core/whole.h"
#include "drivers/file/loader.h"
#include "drivers/tool/load/cfl.h"
#include "drivers/tool/load/mtx.h"
#include "drivers/tool/load/traj.h"

/* True for sizes [1, samples, readouts], or without the leading 1 if readouts
 * have several samples. */
static bool weight_sizes_fit(const struct bs_cfl *c, const struct bs_protocol *p)
{
	unsigned first = c->dims[0] == 1 && p->samples != 1 ? 1 : 0;

	if (c->dims[0] == 1 && p->samples == 1)
		return c->size == bs_protocol_samples(p);
	return c->dims[first] == p->samples && c->size == bs_protocol_samples(p);
}

static int take_weights(float **out, const struct bs_cfl *c, const struct bs_protocol *p,
			struct bs_fail *why)
{
	float *w = malloc((size_t)c->size * sizeof(*w));
	double sum = 0.0;

	if (w == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory for the weights", p->density_file);
	for (uint64_t i = 0; i < c->size; i++) {
		float re = c->data[2 * i];
		float im = c->data[2 * i + 1];

		if (!isfinite(re) || re < 0.0f || !(im == 0.0f)) {
			free(w);
			return bs_fail(why, BS_ERR_VALUE,
				       "%s: readout %" PRIu64 ", sample %" PRIu64
				       ": the weight is %g %+gi",
				       p->density_file, i / p->samples, i % p->samples, (double)re,
				       (double)im);
		}
		w[i] = re;
		sum += re;
	}
	if (!(sum > 0.0)) {
		free(w);
		return bs_fail(why, BS_ERR_VALUE, "%s: all weights are 0", p->density_file);
	}
	*out = w;
	return 0;
}

static int load_weights(float **out, const struct bs_protocol *p, struct bs_fail *why)
{
	struct bs_cfl c;
	int rc = bs_cfl_read(&c, p->density_file, why);

	if (rc != 0)
		return rc;
	if (!weight_sizes_fit(&c, p))
		rc = bs_fail(why, BS_ERR_SIZE,
			     "%s: weights are [%" PRIu64 ", %" PRIu64 ", %" PRIu64
			     "], protocol '%s' "
			     "needs [1, %u, %u] (samples, readouts)",
			     p->density_file, c.dims[0], c.dims[1], c.dims[2], p->name, p->samples,
			     p->readouts);
	else
		rc = take_weights(out, &c, p, why);
	bs_cfl_free(&c);
	return rc;
}

#define SLICE_DIM 13 /* BART's dimension of slices */
#define IMAGE_DIM 4  /* BART's dimension of sets of maps */

static int check_maps(const struct bs_cfl *c, const struct bs_protocol *p, struct bs_fail *why)
{
	uint64_t voxels = bs_protocol_voxels(p);
	double sum = 0.0;

	if (c->dims[0] != p->matrix[0] || c->dims[1] != p->matrix[1] ||
	    c->dims[2] != p->matrix[2] || c->dims[3] != p->coils ||
	    c->dims[IMAGE_DIM] != bs_protocol_map_images(p) || c->dims[SLICE_DIM] != p->slices ||
	    c->size != bs_protocol_map_values(p) * p->slices)
		return bs_fail(
			why, BS_ERR_SIZE,
			"%s: maps are [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
			"] with %" PRIu64 " in dimension 13, %" PRIu64
			" values in all; protocol '%s' needs [%u, %u, %u, %u, %u] with %u in "
			"dimension 13, the slices",
			p->maps_file, c->dims[0], c->dims[1], c->dims[2], c->dims[3],
			c->dims[IMAGE_DIM], c->dims[SLICE_DIM], c->size, p->name, p->matrix[0],
			p->matrix[1], p->matrix[2], p->coils, bs_protocol_map_images(p), p->slices);
	for (uint64_t i = 0; i < 2 * c->size; i++) {
		double v = c->data[i];

		if (!isfinite(v))
			return bs_fail(why, BS_ERR_VALUE,
				       "%s: slice %" PRIu64 ", coil %" PRIu64 ", voxel %" PRIu64
				       " is %g",
				       p->maps_file, i / 2 / bs_protocol_map_values(p),
				       i / 2 / voxels % p->coils, i / 2 % voxels, v);
		sum += v * v;
	}
	return sum > 0.0 ? 0 : bs_fail(why, BS_ERR_VALUE, "%s: all maps are 0", p->maps_file);
}

static int load_maps(float **out, const struct bs_protocol *p, struct bs_fail *why)
{
	struct bs_cfl c;
	int rc = bs_cfl_read(&c, p->maps_file, why);

	if (rc == 0)
		rc = check_maps(&c, p, why);
	if (rc == 0) {
		*out = c.data;
		c.data = NULL;
	}
	bs_cfl_free(&c);
	return rc;
}

static int take_field(float **out, const struct bs_cfl *c, const struct bs_protocol *p,
		      struct bs_fail *why)
{
	const char *name = p->field.map_file;
	float *hz;

	if (c->dims[0] != p->matrix[0] || c->dims[1] != p->matrix[1] ||
	    c->dims[2] != p->matrix[2] || c->dims[13] != p->slices ||
	    c->size != bs_protocol_voxels(p) * p->slices)
		return bs_fail(why, BS_ERR_SIZE,
			       "%s: the field map is [%" PRIu64 ", %" PRIu64 ", %" PRIu64
			       "], %" PRIu64 " slices, of %" PRIu64
			       " values, protocol '%s' needs [%u, %u, %u], %u slices",
			       name, c->dims[0], c->dims[1], c->dims[2], c->dims[13], c->size,
			       p->name, p->matrix[0], p->matrix[1], p->matrix[2], p->slices);
	hz = malloc((size_t)c->size * sizeof(*hz));
	if (hz == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory for the field map", name);
	for (uint64_t v = 0; v < c->size; v++) {
		if (!isfinite(c->data[2 * v]) || !(c->data[2 * v + 1] == 0.0f)) {
			free(hz);
			return bs_fail(why, BS_ERR_VALUE, "%s: voxel %" PRIu64 " is %g %+gi Hz",
				       name, v, (double)c->data[2 * v], (double)c->data[2 * v + 1]);
		}
		hz[v] = c->data[2 * v];
	}
	*out = hz;
	return 0;
}

static int load_field(float **out, const struct bs_protocol *p, struct bs_fail *why)
{
	struct bs_cfl c;
	int rc = bs_cfl_read(&c, p->field.map_file, why);

	if (rc == 0)
		rc = take_field(out, &c, p, why);
	bs_cfl_free(&c);
	return rc;
}

/* Loads W, which has one column for each voxel. The file's faults are named with their line. */
static int load_w(struct bs_csr *m, const struct bs_protocol *p, struct bs_fail *why)
{
	uint64_t voxels = bs_protocol_voxels(p);
	int rc = bs_mtx_read(m, p->w_file, why);

	if (rc == 0 && m->cols != voxels) {
		rc = bs_fail(why, BS_ERR_SIZE,
			     "%s has %" PRIu64 " columns, the image %" PRIu64 " voxels", p->w_file,
			     m->cols, voxels);
		bs_csr_close(m);
	}
	return rc;
}

/* ---- the process ---- */

static bool write_all(const void *bytes, size_t len)
{
	return bs_write_whole(STDOUT_FILENO, bytes, len, -1);
}

static bool answer(int rc, struct bs_load_answer *a)
{
	a->why.code = rc;
	return write_all(a, sizeof(*a)) && rc == 0;
}

static bool put_traj(const struct bs_protocol *p)
{
	struct bs_load_answer a = { 0 };
	struct bs_traj t = { 0 };
	const int rc = bs_trajfile_load(&t, p, &a.why);
	bool good;

	a.size[0] = t.readouts;
	a.size[1] = t.keyed;
	good = answer(rc, &a) &&
	       write_all(t.k, (size_t)t.readouts * t.samples * t.dims * sizeof(*t.k)) &&
	       write_all(t.step1, t.readouts * sizeof(*t.step1)) &&
	       write_all(t.step2, t.readouts * sizeof(*t.step2));
	bs_traj_close(&t);
	return good;
}

static bool put_w(const struct bs_protocol *p)
{
	struct bs_load_answer a = { 0 };
	struct bs_csr m = { 0 };
	const int rc = load_w(&m, p, &a.why);
	bool good;

	a.size[0] = m.rows;
	a.size[1] = m.cols;
	a.size[2] = m.entries;
	a.size[3] = m.is_complex;
	good = answer(rc, &a) && write_all(m.start, (m.rows + 1) * sizeof(*m.start)) &&
	       write_all(m.col, m.entries * sizeof(*m.col)) &&
	       write_all(m.value, m.entries * (m.is_complex ? 2 : 1) * sizeof(*m.value));
	bs_csr_close(&m);
	return good;
}

static bool put_values(int (*load)(float **out, const struct bs_protocol *p, struct bs_fail *why),
		       const struct bs_protocol *p, uint64_t values)
{
	struct bs_load_answer a = { 0 };
	float *v = NULL;
	const int rc = load(&v, p, &a.why);
	const bool good = answer(rc, &a) && write_all(v, (size_t)values * sizeof(*v));

	free(v);
	return good;
}

static bool put(const char *what, const struct bs_protocol *p)
{
	if (strcmp(what, bs_load_words[BS_LOAD_TRAJ]) == 0)
		return put_traj(p);
	if (strcmp(what, bs_load_words[BS_LOAD_WEIGHTS]) == 0)
		return put_values(load_weights, p, bs_protocol_samples(p));
	if (strcmp(what, bs_load_words[BS_LOAD_MAPS]) == 0)
		return put_values(load_maps, p, 2 * bs_protocol_map_values(p) * p->slices);
	if (strcmp(what, bs_load_words[BS_LOAD_FIELD]) == 0)
		return put_values(load_field, p, bs_protocol_voxels(p) * p->slices);
	return strcmp(what, bs_load_words[BS_LOAD_W]) == 0 && put_w(p);
}

int bs_load_main(const char *what)
{
	struct bs_protocol *p = malloc(sizeof(*p));
	bool good = p != NULL && read(STDIN_FILENO, p, sizeof(*p)) == (ssize_t)sizeof(*p);

	good = good && put(what, p);
	free(p);
	return good ? 0 : 1;
}

/* drivers/file/tables.c - see tables.h */
#define _GNU_SOURCE /* for M_PI */
#include "drivers/file/tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/solve/csr.h"
#include "core/traj/delay.h"
#include "drivers/file/cfl.h"
#include "drivers/file/mtx.h"
#include "drivers/file/traj.h"

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

/* Makes room for maps that the engine will make from the scan. */
static int room_for_maps(float **out, const struct bs_protocol *p, struct bs_fail *why)
{
	const uint64_t size = bs_protocol_map_values(p) * p->slices;
	const bool taken = p->plan.maps == BS_PLAN_MAPS_STUDY;

	*out = calloc((size_t)size, 8);
	if (*out == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "coil maps of %u slices", p->slices);
	for (uint64_t i = 0; taken && i < size; i++)
		/* equal maps, for timing before a scan */
		(*out)[2 * i] = 1.0f / sqrtf((float)p->coils);
	return 0;
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

/*
 * Makes room for a field map that a scan will bring, filled with frequencies within +-range_hz.
 * What is prepared from these serves any map in that range, with nearly the same error everywhere.
 */
static int room_for_field(float **out, const struct bs_protocol *p, struct bs_fail *why)
{
	const uint64_t size = bs_protocol_voxels(p) * p->slices;
	float *hz = malloc((size_t)size * sizeof(*hz));

	if (hz == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "field map of %u slices", p->slices);
	for (uint64_t v = 0; v < size; v++)
		hz[v] = (float)(p->field.range_hz * cos(M_PI * ((double)v + 0.5) / (double)size));
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

static const char *field_key(const struct bs_protocol *p)
{
	return p->plan.takes[BS_KEPT_FIELD] ? "field.from" : "field.map_file";
}

static int make_field(float **out, const struct bs_protocol *p, struct bs_fail *why)
{
	return p->plan.takes[BS_KEPT_FIELD] ? room_for_field(out, p, why) : load_field(out, p, why);
}

int bs_tables_field(float **field, const struct bs_protocol *p, struct bs_fail *why)
{
	struct bs_fail own = { 0 };
	int rc;

	*field = NULL;
	rc = make_field(field, p, &own);
	return rc != 0 ? bs_fail(why, rc, "%s: %s", field_key(p), own.text) : 0;
}

static int load_traj(struct bs_traj *t, const struct bs_protocol *p, struct bs_fail *why)
{
	return p->plan.from_file ? bs_trajfile_load(t, p, why) : bs_traj_make(t, p, why);
}

/* Makes the trajectory with delays, with which the engine computes. The stream
 * is compared with t. */
static int move(struct bs_traj *moved, const struct bs_traj *t, const struct bs_protocol *p,
		struct bs_fail *why)
{
	int rc = bs_traj_open(moved, t->dims, t->samples, t->readouts, why);

	if (rc != 0)
		return rc;
	memcpy(moved->k, t->k, (size_t)t->readouts * t->samples * t->dims * sizeof(*t->k));
	memcpy(moved->step1, t->step1, t->readouts * sizeof(*t->step1));
	memcpy(moved->step2, t->step2, t->readouts * sizeof(*t->step2));
	moved->keyed = t->keyed;
	bs_delay_apply(moved, p->traj.delay, p->traj.delay_cross);
	return 0;
}

/* Loads W, which has one column for each voxel. The file's faults are named with their line. */
static int load_w(struct bs_csr **w, const struct bs_protocol *p, struct bs_fail *why)
{
	uint64_t voxels = bs_protocol_voxels(p);
	struct bs_csr *m = calloc(1, sizeof(*m));
	int rc;

	if (m == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s", p->w_file);
	rc = bs_mtx_read(m, p->w_file, why);
	if (rc == 0 && m->cols != voxels) {
		rc = bs_fail(why, BS_ERR_SIZE,
			     "%s has %" PRIu64 " columns, the image %" PRIu64 " voxels", p->w_file,
			     m->cols, voxels);
		bs_csr_close(m);
	}
	if (rc != 0) {
		free(m);
		return rc;
	}
	*w = m;
	return 0;
}

/* Loads each table in turn. On failure *key is the site file's key of the table. */
static int load_all(struct bs_loaded *l, const struct bs_protocol *p, const char **key,
		    struct bs_fail *why)
{
	struct bs_protocol found = *p;
	const struct bs_plan *plan = &p->plan;
	int rc = 0;

	if (plan->encode != BS_ENCODE_LINES && !plan->streams) {
		*key = p->plan.from_file ? "trajectory.file" : "trajectory.type";
		rc = load_traj(&l->traj, p, why);
		l->tables.traj = &l->traj;
		found.readouts = l->traj.readouts;
		if (rc == 0 && bs_traj_delayed(&p->traj)) {
			rc = move(&l->moved, &l->traj, p, why);
			l->tables.traj = &l->moved;
		}
	}
	if (rc == 0 && p->density == BS_DENSITY_FILE && p->density_file[0] != '\0') {
		*key = "gridding.density_file";
		rc = load_weights(&l->weight, &found, why);
	}
	if (rc == 0 && p->maps_file[0] != '\0') {
		*key = "image.maps_file";
		rc = load_maps(&l->maps, p, why);
	}
	if (rc == 0 && (plan->maps == BS_PLAN_MAPS_SCAN || plan->maps == BS_PLAN_MAPS_STUDY)) {
		*key = "image.maps";
		rc = room_for_maps(&l->maps, p, why);
	}
	if (rc == 0 && plan->off_resonance) {
		*key = field_key(p);
		rc = make_field(&l->field, p, why);
	}
	if (rc == 0 && bs_plan_has(plan, BS_PLAN_ECHOES)) {
		*key = "field.from";
		l->turn = calloc((size_t)bs_protocol_voxels(p) * p->slices, sizeof(*l->turn));
		if (l->turn == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "phases of %u slices", p->slices);
	}
	if (rc == 0 && p->w_file[0] != '\0') {
		*key = "ls.w_file";
		rc = load_w(&l->w, p, why);
	}
	return rc;
}

int bs_tables_load(struct bs_loaded *l, const struct bs_protocol *p, struct bs_fail *why)
{
	struct bs_fail own = { 0 };
	const char *key = "";
	int rc;

	memset(l, 0, sizeof(*l));
	rc = load_all(l, p, &key, &own);
	if (rc != 0) {
		bs_tables_free(l);
		return bs_fail(why, rc, "%s: %s", key, own.text);
	}
	l->tables.weight = l->weight;
	l->tables.maps = l->maps;
	l->tables.made = p->plan.maps == BS_PLAN_MAPS_SCAN ? l->maps : NULL;
	l->tables.field = l->field;
	l->tables.turn = l->turn;
	l->tables.w = l->w;
	return 0;
}

void bs_tables_free(struct bs_loaded *l)
{
	bs_traj_close(&l->traj);
	bs_traj_close(&l->moved);
	free(l->weight);
	free(l->maps);
	free(l->field);
	free(l->turn);
	if (l->w != NULL)
		bs_csr_close(l->w);
	free(l->w);
	memset(l, 0, sizeof(*l));
}

/* drivers/file/tables.c - see tables.h */
#include "drivers/file/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/solve/csr.h"
#include "core/traj/delay.h"
#include "drivers/file/loader.h"

/* Asks for values that a file has, as many as the protocol needs. */
static int load_values(float **out, enum bs_load what, uint64_t values, const struct bs_protocol *p,
		       struct bs_fail *why)
{
	const size_t bytes = (size_t)values * sizeof(**out);
	struct bs_loader l;
	int rc = bs_loader_ask(&l, what, p, why);

	if (rc != 0)
		return rc;
	*out = malloc(bytes);
	if (*out != NULL)
		bs_loader_take(&l, *out, bytes);
	else
		rc = bs_fail(why, BS_ERR_NOMEM, "no memory for %zu bytes", bytes);
	rc = bs_loader_end(&l, rc, why);
	if (rc != 0) {
		free(*out);
		*out = NULL;
	}
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

static const char *field_key(const struct bs_protocol *p)
{
	return p->plan.takes[BS_KEPT_FIELD] ? "field.from" : "field.map_file";
}

static int make_field(float **out, const struct bs_protocol *p, struct bs_fail *why)
{
	return p->plan.takes[BS_KEPT_FIELD]
		       ? room_for_field(out, p, why)
		       : load_values(out, BS_LOAD_FIELD, bs_protocol_voxels(p) * p->slices, p, why);
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
	struct bs_loader l;
	const uint64_t *size = l.answer.size;
	int rc;

	if (!p->plan.from_file)
		return bs_traj_make(t, p, why);
	rc = bs_loader_ask(&l, BS_LOAD_TRAJ, p, why);
	if (rc != 0)
		return rc;
	if (size[0] > p->readouts)
		rc = bs_fail(why, BS_ERR_SIZE, "%llu readouts, of %u", (unsigned long long)size[0],
			     p->readouts);
	else
		rc = bs_traj_open(t, p->dims, p->samples, (uint32_t)size[0], why);
	if (rc == 0) {
		bs_loader_take(&l, t->k, size[0] * t->samples * t->dims * sizeof(*t->k));
		bs_loader_take(&l, t->step1, size[0] * sizeof(*t->step1));
		bs_loader_take(&l, t->step2, size[0] * sizeof(*t->step2));
		t->keyed = size[1] != 0;
	}
	return bs_loader_end(&l, rc, why);
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

static int load_w(struct bs_csr **w, const struct bs_protocol *p, struct bs_fail *why)
{
	struct bs_loader l;
	const uint64_t *size = l.answer.size;
	struct bs_csr *m = calloc(1, sizeof(*m));
	int rc = m == NULL ? bs_fail(why, BS_ERR_NOMEM, "%s", p->w_file)
			   : bs_loader_ask(&l, BS_LOAD_W, p, why);

	if (rc == 0) {
		rc = bs_csr_open(m, size[0], size[1], size[2], size[3] != 0, why);
		if (rc == 0) {
			bs_loader_take(&l, m->start, (m->rows + 1) * sizeof(*m->start));
			bs_loader_take(&l, m->col, m->entries * sizeof(*m->col));
			bs_loader_take(&l, m->value,
				       m->entries * (m->is_complex ? 2 : 1) * sizeof(*m->value));
		}
		rc = bs_loader_end(&l, rc, why);
	}
	if (rc == 0)
		rc = bs_csr_seal(m, why);
	if (rc != 0 && m != NULL)
		bs_csr_close(m);
	if (rc != 0)
		free(m);
	else
		*w = m;
	return rc;
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
		rc = load_values(&l->weight, BS_LOAD_WEIGHTS, bs_protocol_samples(&found), &found,
				 why);
	}
	if (rc == 0 && p->maps_file[0] != '\0') {
		*key = "image.maps_file";
		rc = load_values(&l->maps, BS_LOAD_MAPS, 2 * bs_protocol_map_values(p) * p->slices,
				 p, why);
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
		l->phase_step =
			calloc((size_t)bs_protocol_voxels(p) * p->slices, sizeof(*l->phase_step));
		if (l->phase_step == NULL)
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
	l->tables.phase_step = l->phase_step;
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
	free(l->phase_step);
	if (l->w != NULL)
		bs_csr_close(l->w);
	free(l->w);
	memset(l, 0, sizeof(*l));
}

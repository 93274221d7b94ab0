/* drivers/tool/phantom/source.c - see source.h */
#include "drivers/tool/phantom/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/protocol.h"
#include "core/tool/phantom/coils.h"
#include "core/tool/phantom/field.h"
#include "core/tool/phantom/phantom.h"
#include "drivers/tool/phantom/head.h"
#include "drivers/tool/phantom/truth.h"

#define NONE UINT32_MAX

struct bs_phantom_source {
	const struct bs_phantom_scan *scan;
	const struct bs_protocol *p;
	const struct bs_traj *t;
	struct bs_team *team;
	struct bs_phantom ph[BS_PHANTOM_CONTRASTS]; /* phantoms of the slice being sampled */
	/* phantoms of the slice being sampled, as voxels in a field */
	struct bs_field_object *lit[BS_PHANTOM_CONTRASTS];
	struct bs_coils coils;
	uint32_t ways;   /* 2 if lines that run backwards are sampled elsewhere, else 1 */
	uint32_t slices; /* number of slices in `data` */
	uint32_t held;   /* slice in `data`, if it holds one; or NONE */
	uint32_t frame;  /* frame in `data`, which matters to motion */
	size_t row;      /* floats of one readout */
	float *k;        /* [way][row][sample][dims] where paths are not the table's; or NULL */
	float *data;     /* [slice][contrast][way][row][coil][sample] complex */
	double *work;    /* [member] memory for the field's sums */
	size_t work_each;
};

static float *row_at(const struct bs_phantom_source *s, uint32_t place, uint32_t contrast,
		     uint32_t way, uint32_t row)
{
	size_t i = ((size_t)place * s->p->contrasts + contrast) * s->ways + way;

	return s->data + (i * s->t->readouts + row) * s->row;
}

const float *bs_phantom_path(const struct bs_phantom_scan *scan, uint32_t frame, uint32_t row)
{
	const struct bs_traj *t = scan->traj;
	const size_t each = (size_t)t->samples * t->dims;

	return scan->paths != NULL ? scan->paths + ((size_t)frame * t->readouts + row) * each
				   : t->k + row * each;
}

static const float *k_at(const struct bs_phantom_source *s, uint32_t way, uint32_t row)
{
	size_t each = (size_t)s->t->samples * s->t->dims;

	return s->k != NULL ? s->k + ((size_t)way * s->t->readouts + row) * each
			    : bs_phantom_path(s->scan, s->frame, row);
}

/* A task samples one row in one direction and contrast. */
static void sample_row(void *arg, int task, int member)
{
	struct bs_phantom_source *s = arg;
	const struct bs_phantom_scan *scan = s->scan;
	uint32_t row = (uint32_t)task % s->t->readouts;
	uint32_t way = (uint32_t)task / s->t->readouts % s->ways;
	uint32_t contrast = (uint32_t)task / s->t->readouts / s->ways;
	const struct bs_phantom *ph = &s->ph[contrast];
	float *to = row_at(s, s->slices > 1 ? s->held : 0, contrast, way, row);
	const float *k = k_at(s, way, row);
	struct bs_phantom moved;

	if (s->lit[contrast] != NULL) {
		const bool epi = scan->plan.epi; /* the field acts from line to line alone */
		const double dwell_us = epi ? 0.0 : scan->dwell_us;
		const uint32_t first = s->p->plan.on_grid ? bs_phantom_center(s->p) : 0;
		const uint32_t step = scan->plan.accel[0] > 1 ? scan->plan.accel[0] : 1;
		const double up = scan->plan.falling ? -1.0 : 1.0;
		const double line = up * ((double)row - s->p->encoded[1] / 2);
		const double t0_us = 1e3 * scan->te_ms[contrast] - dwell_us * first +
				     (epi ? line * scan->plan.spacing_us / step : 0.0);

		bs_field_sample(s->lit[contrast], k, 1e-6 * t0_us, 1e-6 * dwell_us, s->t->samples,
				to, s->work + s->work_each * (size_t)member);
		return;
	}
	if (scan->motion > 0.0) {
		double t = s->frame + (double)row / s->t->readouts;

		moved = s->ph[contrast];
		bs_phantom_beat(&moved, scan->motion * sin(2.0 * M_PI * t / scan->motion_frames));
		ph = &moved;
	}
	bs_coils_sample(&s->coils, ph, k, s->t->samples, to);
}

static void drop_field(struct bs_phantom_source *s)
{
	for (uint32_t c = 0; c < BS_PHANTOM_CONTRASTS; c++) {
		bs_field_close(s->lit[c]);
		s->lit[c] = NULL;
	}
	free(s->work);
	s->work = NULL;
	s->work_each = 0;
}

/* Prepares the slice's contrasts as voxels in the field. */
static int light(struct bs_phantom_source *s, uint32_t slice, struct bs_fail *why)
{
	const struct bs_protocol *p = s->p;
	size_t voxels = (size_t)bs_protocol_voxels(p);
	float *image = malloc(2 * voxels * sizeof(*image));
	int rc = 0;

	drop_field(s);
	if (image == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "phantom: no memory for a field");
	bs_phantom_field(s->scan, slice, image + voxels);
	for (uint32_t c = 0; rc == 0 && c < p->contrasts; c++) {
		bs_phantom_truth_image(&s->ph[c], image, s->team);
		rc = bs_field_open(&s->lit[c], &s->coils, image, image + voxels, why);
		if (rc == 0 && bs_field_work(s->lit[c]) > s->work_each)
			s->work_each = bs_field_work(s->lit[c]);
	}
	free(image);
	if (rc != 0)
		return rc;
	if (s->work_each == 0)
		return 0; /* no voxel of this slice has a signal */
	s->work = malloc((size_t)bs_team_members(s->team) * s->work_each * sizeof(*s->work));
	return s->work != NULL
		       ? 0
		       : bs_fail(why, BS_ERR_NOMEM, "phantom: no memory for a field's sums");
}

static int sample_slice(struct bs_phantom_source *s, uint32_t slice, struct bs_fail *why)
{
	int rc = 0;

	s->held = slice;
	rc = bs_phantom_coils(s->scan, slice, &s->coils, why);
	for (uint32_t c = 0; rc == 0 && c < s->p->contrasts; c++)
		rc = bs_phantom_of(&s->ph[c], s->scan->object, s->p->dims, s->p->matrix, slice,
				   s->p->slices, c, why);
	if (rc == 0 && s->scan->field_hz != 0.0)
		rc = light(s, slice, why);
	if (rc == 0)
		bs_team_run(s->team, sample_row, s,
			    (int)(s->t->readouts * s->ways * s->p->contrasts));
	return rc;
}

/* Moves spokes beside their nominal place: k + [Sx Sxy; Sxy Sy] times the step between samples. */
static void delay(const struct bs_phantom_source *s)
{
	const double *m = s->scan->delay;
	uint32_t n = s->t->samples;

	for (uint32_t row = 0; row < s->t->readouts; row++) {
		const float *from = bs_phantom_path(s->scan, s->frame, row);
		float *to = s->k + (size_t)row * n * 2;
		/* the center sample, where no value is folded */
		double x = (double)from[n] - from[n - 2];
		double y = (double)from[n + 1] - from[n - 1];

		for (size_t i = 0; i < n; i++) {
			to[2 * i] = (float)(from[2 * i] + m[0] * x + m[2] * y);
			to[2 * i + 1] = (float)(from[2 * i + 1] + m[2] * x + m[1] * y);
		}
	}
}

int bs_phantom_source_hold(struct bs_phantom_source *s, uint32_t slice, uint32_t frame,
			   struct bs_fail *why)
{
	bool moves = s->scan->motion > 0.0 || s->scan->paths != NULL;
	int rc = 0;

	if (s->held != NONE && (s->slices > 1 || s->held == slice) && (!moves || s->frame == frame))
		return 0;
	s->frame = frame;
	if (s->scan->delayed)
		delay(s);
	if (s->slices == 1)
		return sample_slice(s, slice, why);
	for (uint32_t each = 0; rc == 0 && each < s->slices; each++)
		rc = sample_slice(s, each, why);
	return rc;
}

const float *bs_phantom_source_row(const struct bs_phantom_source *s, uint32_t slice,
				   uint32_t contrast, uint32_t row, bool reversed)
{
	return row_at(s, s->slices > 1 ? slice : 0, contrast, reversed && s->ways > 1 ? 1 : 0, row);
}

/* Places lines along the trapezoid; lines of way 1 are shifted. */
static void run_epi(const struct bs_phantom_source *s)
{
	uint32_t n = s->t->samples;
	uint32_t all = s->scan->trapezoid.samples;
	float *to = s->k;

	for (uint32_t way = 0; way < s->ways; way++)
		for (uint32_t row = 0; row < s->t->readouts; row++)
			for (uint32_t i = 0; i < n; i++, to += s->t->dims) {
				const float *from = s->t->k + ((size_t)row * n + i) * s->t->dims;
				double x = bs_trapezoid_k(&s->scan->trapezoid, i + all - n);

				memcpy(to, from, s->t->dims * sizeof(*to));
				to[0] = (float)(x + way * s->scan->epi_shift / all);
			}
}

static int take_memory(struct bs_phantom_source *s, struct bs_fail *why)
{
	const struct bs_protocol *p = s->p;
	const bool epi = s->scan->plan.epi;
	size_t floats;

	s->row = (size_t)2 * p->coils * p->samples; /* at most 2 x 64 x 65535 floats */
	s->slices = s->scan->plan.order == BS_SLICES_EACH_TR || s->scan->plan.multiband.bands > 1
			    ? p->slices
			    : 1;
	s->ways = epi ? 2 : 1;
	floats = s->row * p->readouts;
	if (floats > SIZE_MAX / sizeof(float) / p->contrasts / s->slices / s->ways ||
	    (uint64_t)p->readouts * s->ways * p->contrasts > INT32_MAX)
		return bs_fail(why, BS_ERR_NOMEM, "phantom: a frame is too large");
	floats *= (size_t)p->contrasts * s->slices * s->ways;
	s->data = malloc(floats * sizeof(float));
	if (s->scan->delayed || epi)
		s->k = malloc((size_t)s->ways * p->readouts * p->samples * p->dims * sizeof(float));
	if (s->data == NULL || ((s->scan->delayed || epi) && s->k == NULL))
		return bs_fail(why, BS_ERR_NOMEM, "phantom: no memory for %zu bytes of samples",
			       floats * sizeof(float));
	return 0;
}

int bs_phantom_source_open(struct bs_phantom_source **source, const struct bs_phantom_scan *scan,
			   struct bs_team *team, struct bs_fail *why)
{
	const struct bs_protocol *p = scan->protocol;
	struct bs_phantom_source *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "phantom: no memory");
	s->scan = scan;
	s->p = p;
	s->t = scan->traj;
	s->team = team;
	s->held = NONE;
	rc = take_memory(s, why);
	if (rc != 0) {
		bs_phantom_source_close(s);
		return rc;
	}
	if (scan->plan.epi)
		run_epi(s);
	*source = s;
	return 0;
}

void bs_phantom_source_close(struct bs_phantom_source *s)
{
	if (s == NULL)
		return;
	drop_field(s);
	free(s->k);
	free(s->data);
	free(s);
}

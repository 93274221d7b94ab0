/* board/tool/selftest/brought.c - scans that bring more than an image's lines; see known.h */
#include "board/tool/selftest/known.h"

#include <string.h>

#define WIDTH       0.45 /* voxels, standard deviation of a Gaussian */
#define CALIBRATION 24u  /* lines along each axis of the block that calibrates */
#define SHIFT       0.4  /* samples that reversed lines lie later */
#define PHASE       0.1  /* cycles that they are turned by */

bool bs_known_brought(const struct bs_protocol *p)
{
	const uint32_t those = 1u << BS_PLAN_EPI | 1u << BS_PLAN_APART | 1u << BS_PLAN_FILL;

	return (p->plan.stages & those) != 0 || p->plan.maps == BS_PLAN_MAPS_SCAN;
}

const char *bs_known_untold(const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;

	if (!plan->on_grid || p->samples != p->encoded[0] ||
	    p->readouts != (uint64_t)p->encoded[1] * p->encoded[2])
		return "what a scan brings, other than whole lines of a whole grid";
	if (p->coils < 3 || (p->encoded[1] < 16 && plan->calibrates))
		return "so few coils or lines to calibrate by";
	if (bs_plan_has(plan, BS_PLAN_APART) &&
	    (p->multiband.references == BS_REFERENCES_FIRST || p->multiband.factor >= p->coils))
		return "references that are images, or as many slices at once as coils";
	if (plan->maps == BS_PLAN_MAPS_SCAN && p->maps == BS_MAPS_WALSH)
		return "maps that are means of many voxels";
	if (plan->maps == BS_PLAN_MAPS_SCAN && plan->joint && !plan->accelerated)
		return "method sense on a grid, by maps of the scan";
	if (p->prior.kind != BS_PRIOR_NONE || p->frame_step > 0)
		return "a prior, or windows, beside what a scan brings";
	return NULL;
}

static double uniform(struct selftest *t, double half)
{
	return half * (2.0 * bs_random_uniform(&t->m->random) - 1.0);
}

/* Draws the objects; places lie in the first one's Gaussians, and where ghosts of them would. */
static void draw_objects(struct selftest *t, uint32_t bands)
{
	const uint32_t *n = t->p->matrix;
	const uint32_t groups = bs_multiband_groups(&t->p->multiband, t->p->slices);
	const struct object *own = &t->object[t->slice / groups];

	for (uint32_t b = 0; b < bands; b++)
		for (uint32_t j = 0; j < BLOBS; j++) {
			/* apart from each other along x, so that no voxel and no ghost has two */
			t->object[b].at[j][0] =
				(((b % 2 ? 0.75 : 0.25) + j) / BLOBS - 0.5) * 0.9 * n[0] +
				uniform(t, 0.5);
			for (uint32_t a = 1; a < 3; a++)
				t->object[b].at[j][a] = uniform(t, 0.4 * (n[a] - 1));
			for (uint32_t c = 0; c < t->p->coils; c++)
				t->object[b].seen[j][c] = uniform(t, 1.0) + I * uniform(t, 1.0);
		}
	for (uint32_t i = 0; i < t->places; i++) {
		size_t at[3];

		for (uint32_t a = 0; a < 3; a++) {
			const double off = n[a] > 1 ? uniform(t, 1.5) : 0.0;
			const double x = own->at[i % BLOBS][a] + off + n[a] / 2 + 0.5;

			at[a] = (size_t)(x + (a == 1 && i % 4 == 3 ? n[a] / 2 : 0)) % n[a];
		}
		t->place[i].voxel = (at[2] * n[1] + at[1]) * n[0] + at[0];
		bs_known_place(t, t->place[i].voxel, t->place[i].at);
	}
}

/* Adds an object's line to the readout, times `by`, its samples `shift` later. */
static void add_line(struct selftest *t, const struct object *o, uint32_t row, double shift,
		     double complex by)
{
	const uint32_t n = t->p->samples;
	const double loud = fmin(1.0, 0.01 * t->p->max_sample);
	double complex e[BLOBS];
	double complex step[BLOBS];
	double k[3];

	bs_known_k(t, row, 0, k);
	k[0] += shift / n;
	for (uint32_t j = 0; j < BLOBS; j++) {
		e[j] = by * loud * turn(k, o->at[j], -1.0, 0.0);
		step[j] = turn_by(-o->at[j][0] / n); /* from a sample to the next */
	}
	for (uint32_t s = 0; s < n; s++) {
		const double square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
		const double size = exp(-2.0 * M_PI * M_PI * WIDTH * WIDTH * square);

		for (uint32_t j = 0; j < BLOBS; j++) {
			for (uint32_t c = 0; c < t->p->coils; c++) {
				const double complex is = size * e[j] * o->seen[j][c];
				float *to = t->m->samples + 2 * ((size_t)c * n + s);

				to[0] += (float)creal(is);
				to[1] += (float)cimag(is);
			}
			e[j] *= step[j];
		}
		k[0] += 1.0 / n;
	}
}

static void clear(struct selftest *t)
{
	uint64_t made;
	uint64_t read;

	bs_recon_reading(t->a->recon, true, &made, &read);
	memset(t->m->samples, 0, (size_t)t->p->samples * t->p->coils * 8);
}

/* Fills the readout with a line of all bands; one that runs backwards is moved and turned. */
static void make_line(struct selftest *t, uint32_t row, uint32_t bands, bool back)
{
	const double shift = t->p->multiband.shift == 0.0   ? 1.0 / bands
			     : t->p->multiband.shift == 1.0 ? 0.0
							    : t->p->multiband.shift;
	const uint32_t ny = t->p->encoded[1];
	const double line = (double)(row % ny) - ny / 2;

	clear(t);
	for (uint32_t b = 0; b < bands; b++)
		add_line(t, &t->object[b], row, back ? SHIFT : 0.0,
			 turn_by((back ? PHASE : 0.0) + (bands > 1 ? b * shift * line : 0.0)));
}

/* Forwards, backwards, forwards through the center of k-space. */
static int give_triple(struct selftest *t, uint32_t bands, struct bs_fail *why)
{
	const uint32_t *E = t->p->encoded;
	const uint32_t row = E[1] / 2 + E[1] * (E[2] / 2);
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < 3; i++) {
		struct bs_mrd_acq h = bs_measuring_head(t->m, row);

		h.flags = BS_MRD_IS_PHASE_CORRECTION | (i == 1 ? BS_MRD_IS_REVERSE : 0);
		make_line(t, row, bands, i == 1);
		rc = bs_known_give(t, &h, row, why);
	}
	return rc;
}

/* The block of lines around the center of k-space; of slices at once of each alone. */
static int give_calibration(struct selftest *t, uint32_t bands, struct bs_fail *why)
{
	const uint32_t *E = t->p->encoded;
	const uint32_t groups = bs_multiband_groups(&t->p->multiband, t->p->slices);
	const uint32_t lines[2] = { E[1] < CALIBRATION ? E[1] : CALIBRATION,
				    E[2] < CALIBRATION ? E[2] : CALIBRATION };
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < lines[0] * lines[1] * bands; i++) {
		const uint32_t y = E[1] / 2 - lines[0] / 2 + i / bands % lines[0];
		const uint32_t z = E[2] / 2 - lines[1] / 2 + i / bands / lines[0];
		struct bs_mrd_acq h = bs_measuring_head(t->m, y + E[1] * z);

		h.flags = BS_MRD_IS_CALIBRATION;
		h.idx.slice = (uint16_t)(bands > 1 ? i % bands * groups : 0);
		clear(t);
		add_line(t, &t->object[i % bands], y + E[1] * z, 0.0, 1.0);
		rc = bs_known_give(t, &h, y + E[1] * z, why);
	}
	return rc;
}

/* Notes the line as the slice alone would have it, if nothing were left out. */
static void note_line(struct selftest *t, uint32_t row)
{
	const uint32_t groups = bs_multiband_groups(&t->p->multiband, t->p->slices);
	double k[3];

	clear(t);
	add_line(t, &t->object[t->slice / groups], row, 0.0, 1.0);
	for (uint32_t s = 0; s < t->p->samples; s++) {
		bs_known_k(t, row, s, k);
		bs_known_note(t, row, s, k, t->m->samples);
	}
}

int bs_known_scan(struct selftest *t, struct bs_fail *why)
{
	const struct bs_plan *plan = &t->p->plan;
	const bool apart = bs_plan_has(plan, BS_PLAN_APART);
	const uint32_t bands = apart ? t->p->multiband.factor : 1;
	const uint32_t step = plan->accelerated && !apart ? 2 : 1;
	const bool epi = bs_plan_has(plan, BS_PLAN_EPI);
	const struct bs_scan_info info = { 0 };
	const uint32_t ny = t->p->encoded[1];
	const uint32_t last = t->p->readouts - (ny % 2 == 0 ? step : 1);
	int rc = 0;

	draw_objects(t, bands);
	bs_armed_scan(t->a, &info, &t->m->noise);
	if (epi)
		rc = give_triple(t, bands, why);
	if (rc == 0 && plan->calibrates)
		rc = give_calibration(t, bands, why);
	for (uint32_t row = 0; rc == 0 && row < t->p->readouts; row++) {
		struct bs_mrd_acq h = bs_measuring_head(t->m, row);
		const bool back = epi && row % ny / step % 2 == 1;

		note_line(t, row);
		if (row % ny % step != 0)
			continue;
		h.flags = (row == last ? BS_MRD_LAST_IN_REPETITION : 0) |
			  (back ? BS_MRD_IS_REVERSE : 0);
		if (back || bands > 1)
			make_line(t, row, bands, back);
		rc = bs_known_give(t, &h, row, why);
	}
	return rc;
}

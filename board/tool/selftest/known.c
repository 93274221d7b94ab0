/* board/tool/selftest/known.c - readouts given, sums over them, images taken; see known.h */
#include "board/tool/selftest/known.h"

#include <string.h>

#include "core/thread/clock.h"

void bs_known_place(const struct selftest *t, size_t voxel, double x[3])
{
	const uint32_t *n = t->p->matrix;
	const size_t at[3] = { voxel % n[0], voxel / n[0] % n[1], voxel / n[0] / n[1] };

	for (int a = 0; a < 3; a++)
		x[a] = (double)at[a] - n[a] / 2;
}

void bs_known_k(const struct selftest *t, uint32_t row, uint32_t s, double k[3])
{
	const uint32_t *E = t->p->encoded;
	const double line[3] = { s, E[1] > 0 ? row % E[1] : 0, E[1] > 0 ? row / E[1] : 0 };

	for (uint32_t a = 0; a < 3; a++)
		if (t->traj == NULL)
			k[a] = E[a] > 1 ? (line[a] - E[a] / 2) / E[a] : 0.0;
		else
			k[a] = a < t->traj->dims ? (double)t->traj->k[((size_t)row * t->p->samples +
								       s) * t->traj->dims +
								      a]
						 : 0.0;
}

double bs_known_field(const struct selftest *t, size_t voxel, double sample)
{
	const struct bs_field_spec *f = &t->p->field;

	return t->field != NULL ? (double)t->field[voxel] *
					  (f->start_ms * 1e-3 + sample * f->dwell_us * 1e-6)
				: 0.0;
}

void bs_known_note(struct selftest *t, uint32_t row, uint32_t s, const double k[3],
		   const float *data)
{
	const uint64_t at = (uint64_t)row * t->p->samples + s;
	const double scale = t->traj == NULL ? 1.0 / sqrt((double)bs_protocol_samples(t->p)) : 1.0;
	const double w = t->weight != NULL ? (double)t->weight[at] : scale;
	const uint32_t i = (uint32_t)(bs_random_uniform(&t->m->random) * PLACES);

	for (uint32_t v = 0; v < t->places && t->how != FITS; v++) {
		const double off = bs_known_field(t, t->place[v].voxel, s);
		const double complex e = w * turn(k, t->place[v].at, 1.0, off);

		for (uint32_t c = 0; c < t->p->coils; c++)
			t->place[v].is[c] += e * of(data + 2 * ((size_t)c * t->p->samples + s));
	}
	if (t->how != FITS)
		return;
	/* of the strong ones, any: a later one takes the place of an earlier one */
	const uint32_t c = i % t->p->coils;
	const double complex is = of(data + 2 * ((size_t)c * t->p->samples + s));

	if (cabs(is) > 0.5 * cabs(t->place[i].is[0])) {
		t->place[i] = (struct place){ .coil = c, .sample = s, .is = { is } };
		memcpy(t->place[i].at, k, sizeof(t->place[i].at));
	}
}

int bs_known_take(struct selftest *t, struct bs_fail *why)
{
	struct bs_recon_image image = { .pixels = t->m->image };
	int rc = 1;

	while (rc == 1 && bs_recon_ready(t->a->recon) > 0) {
		rc = bs_recon_pop(t->a->recon, &image, INT64_MAX, why);
		if (rc != 1 || image.preview || image.head.slice != t->slice)
			continue;
		memcpy(t->image, t->m->image, (size_t)bs_protocol_image_bytes(t->p));
		t->came = true;
	}
	return rc < 0 ? rc : 0;
}

int bs_known_give(struct selftest *t, const struct bs_mrd_acq *h, uint32_t row, struct bs_fail *why)
{
	int rc;

	do {
		rc = bs_armed_readout(t->a, h, row, t->m->samples, bs_now_ns(), why);
		if (rc >= 0 && (h->flags & BS_MRD_LAST) != 0)
			bs_recon_close(t->a->recon);
		const int taken = rc >= 0 ? bs_known_take(t, why) : 0;

		rc = taken != 0 ? taken : rc;
	} while (rc == BS_RECON_POP_FIRST);
	return rc;
}

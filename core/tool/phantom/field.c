/* core/tool/phantom/field.c - see field.h */
#include "core/tool/phantom/field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A voxel of the image that is not 0. */
struct spot {
	uint32_t at[3];
	double hz;
};

struct bs_field_object {
	uint32_t dims, coils;
	uint32_t matrix[3];
	size_t count;
	struct spot *spot;
	double *seen; /* [spot][coil] complex, the image through each coil */
};

/* Returns the field's shape at x, from -0.95 to 0.92 over the cube. */
static double shape_at(const double x[3])
{
	double r = (x[0] - 0.15) * (x[0] - 0.15) + (x[1] + 0.4) * (x[1] + 0.4) + x[2] * x[2];

	return 1.15 * exp(-r / 0.2) - 0.4 - 0.4 * x[1] + 0.15 * (x[0] * x[0] - x[2] * x[2]);
}

void bs_field_map(uint32_t dims, const uint32_t matrix[3], double up, double amplitude_hz,
		  float *hz)
{
	uint32_t n[3] = { matrix[0], matrix[1], dims > 2 ? matrix[2] : 1 };

	for (uint32_t z = 0; z < n[2]; z++)
		for (uint32_t y = 0; y < n[1]; y++)
			for (uint32_t x = 0; x < n[0]; x++) {
				const double at[3] = { ((double)x - n[0] / 2) * 2.0 / n[0],
						       ((double)y - n[1] / 2) * 2.0 / n[1],
						       dims > 2
							       ? ((double)z - n[2] / 2) * 2.0 / n[2]
							       : up };

				*hz++ = (float)(amplitude_hz * shape_at(at));
			}
}

int bs_field_open(struct bs_field_object **object, const struct bs_coils *coils, const float *image,
		  const float *hz, struct bs_fail *why)
{
	const uint32_t *n = coils->matrix;
	size_t voxels = (size_t)n[0] * n[1] * n[2];
	struct bs_field_object *o = calloc(1, sizeof(*o));
	size_t count = 0;

	for (size_t v = 0; v < voxels; v++)
		count += image[v] != 0.0f;
	if (o != NULL) {
		o->spot = malloc((count + 1) * sizeof(*o->spot));
		o->seen = malloc((count + 1) * coils->coils * 2 * sizeof(*o->seen));
	}
	if (o == NULL || o->spot == NULL || o->seen == NULL) {
		bs_field_close(o);
		return bs_fail(why, BS_ERR_NOMEM, "no memory for %zu voxels in a field", count);
	}
	o->dims = coils->dims;
	o->coils = coils->coils;
	memcpy(o->matrix, n, sizeof(o->matrix));
	for (size_t v = 0; v < voxels; v++) {
		struct spot *s = &o->spot[o->count];
		double x[3];

		if (image[v] == 0.0f)
			continue;
		s->hz = (double)hz[v];
		s->at[0] = (uint32_t)(v % n[0]);
		s->at[1] = (uint32_t)(v / n[0] % n[1]);
		s->at[2] = (uint32_t)(v / n[0] / n[1]);
		for (int d = 0; d < 3; d++)
			x[d] = (double)s->at[d] - n[d] / 2;
		for (uint32_t c = 0; c < o->coils; c++) {
			double *seen = o->seen + 2 * (o->count * o->coils + c);

			bs_coils_at(coils, c, x, seen);
			seen[0] *= (double)image[v];
			seen[1] *= (double)image[v];
		}
		o->count++;
	}
	*object = o;
	return 0;
}

void bs_field_close(struct bs_field_object *o)
{
	if (o == NULL)
		return;
	free(o->spot);
	free(o->seen);
	free(o);
}

static size_t axes(const struct bs_field_object *o)
{
	return (size_t)o->matrix[0] + o->matrix[1] + o->matrix[2];
}

size_t bs_field_work(const struct bs_field_object *o)
{
	return 2 * axes(o) + 4 * o->count + (size_t)2 * o->coils;
}

static void unit_phase(double out[2], double cycles)
{
	out[0] = cos(2.0 * M_PI * cycles);
	out[1] = sin(2.0 * M_PI * cycles);
}

static void times(double a[2], const double b[2])
{
	double re = a[0] * b[0] - a[1] * b[1];

	a[1] = a[0] * b[1] + a[1] * b[0];
	a[0] = re;
}

/* Computes exp(-i 2 pi k n) for every n of each axis: [x], [y], [z] complex. */
static void phase_axes(const struct bs_field_object *o, const float *k, double *to)
{
	for (uint32_t d = 0; d < 3; d++)
		for (uint32_t i = 0; i < o->matrix[d]; i++, to += 2)
			unit_phase(to, d < o->dims ? -(double)k[d] * ((double)i - o->matrix[d] / 2)
						   : 0.0);
}

void bs_field_sample(const struct bs_field_object *o, const float *k, double t0_s, double dwell_s,
		     uint32_t samples, float *data, double *work)
{
	double *sum = work;
	double *along = sum + (size_t)2 * o->coils;
	double *phase = along + 2 * axes(o);
	double *step = phase + 2 * o->count;
	const double *y = along + 2 * (size_t)o->matrix[0];
	const double *z = y + 2 * (size_t)o->matrix[1];

	for (size_t i = 0; i < o->count; i++) {
		unit_phase(phase + 2 * i, -o->spot[i].hz * t0_s);
		unit_phase(step + 2 * i, -o->spot[i].hz * dwell_s);
	}
	for (uint32_t s = 0; s < samples; s++, k += o->dims) {
		phase_axes(o, k, along);
		memset(sum, 0, (size_t)2 * o->coils * sizeof(*sum));
		for (size_t i = 0; i < o->count; i++) {
			const struct spot *p = &o->spot[i];
			const double *seen = o->seen + 2 * i * o->coils;
			double e[2] = { phase[2 * i], phase[2 * i + 1] };

			times(e, along + 2 * (size_t)p->at[0]);
			times(e, y + 2 * (size_t)p->at[1]);
			if (o->dims > 2)
				times(e, z + 2 * (size_t)p->at[2]);
			for (size_t c = 0; c < o->coils; c++) {
				sum[2 * c] += seen[2 * c] * e[0] - seen[2 * c + 1] * e[1];
				sum[2 * c + 1] += seen[2 * c] * e[1] + seen[2 * c + 1] * e[0];
			}
			times(phase + 2 * i, step + 2 * i);
		}
		for (size_t c = 0; c < o->coils; c++) {
			data[2 * (c * samples + s)] = (float)sum[2 * c];
			data[2 * (c * samples + s) + 1] = (float)sum[2 * c + 1];
		}
	}
}

/* board/web/picture.c - see picture.h */
#include "board/web/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct source {
	const unsigned char *pixels; /* pixels at any address, not aligned */
	uint32_t nx, ny, nz, channels;
	bool is_complex;
	bool has_sign; /* values have a sign, as phases and velocities have */
};

static float square_at(const struct source *s, uint64_t at)
{
	float v[2] = { 0.0f, 0.0f };

	memcpy(v, s->pixels + at * (s->is_complex ? 8 : 4), s->is_complex ? 8 : 4);
	return v[0] * v[0] + v[1] * v[1];
}

/* Returns a voxel's value: root of the sum of squares, or the first channel's value
 * where it has a sign. */
static float shown(const struct source *s, uint32_t x, uint32_t y, uint32_t z)
{
	const uint64_t plane = (uint64_t)s->nx * s->ny;
	float sum = 0.0f;

	if (s->has_sign) {
		memcpy(&sum, s->pixels + (z * plane + (uint64_t)y * s->nx + x) * 4, 4);
		return isfinite(sum) ? sum : 0.0f;
	}
	for (uint32_t c = 0; c < s->channels; c++)
		sum += square_at(s, ((uint64_t)c * s->nz + z) * plane + (uint64_t)y * s->nx + x);
	return isfinite(sum) ? sqrtf(sum) : 0.0f;
}

/* Computes row y of plane z: means over blocks of step by step pixels. */
static void row_of(const struct source *s, const struct bs_picture *p, uint32_t y, uint32_t z,
		   float *row)
{
	memset(row, 0, p->nx * sizeof(*row));
	for (uint32_t j = 0; j < p->step; j++)
		for (uint32_t x = 0; x < p->nx * p->step; x++)
			row[x / p->step] += shown(s, x, y * p->step + j, z);
	for (uint32_t x = 0; x < p->nx; x++)
		row[x] /= (float)(p->step * p->step);
}

static int describe(struct bs_picture *p, const struct bs_mrd_image *head)
{
	memset(p, 0, sizeof(*p));
	for (int a = 0; a < 3; a++) {
		p->matrix[a] = head->matrix_size[a];
		p->fov_mm[a] = isfinite(head->field_of_view[a]) ? head->field_of_view[a] : 0.0f;
		if (p->matrix[a] == 0)
			return BS_ERR_SIZE;
	}
	p->planes = p->matrix[2];
	do {
		p->step++;
		p->nx = p->matrix[0] / p->step;
		p->ny = p->matrix[1] / p->step;
		if (p->nx == 0 || p->ny == 0)
			return BS_ERR_SIZE;
	} while ((uint64_t)p->nx * p->ny * p->planes > BS_PICTURE_PIXELS);
	p->slice = head->slice;
	p->contrast = head->contrast;
	p->repetition = head->repetition;
	p->series = head->image_series_index;
	p->budget_us = head->user_int[0];
	p->latency_us = head->user_int[1];
	p->missed = head->user_int[2];
	p->iterations = head->user_int[3];
	p->missing = head->user_int[4];
	p->gaps = head->user_int[5];
	p->rung = head->user_int[6];
	p->quality = head->user_int[7];
	return 0;
}

static void put16(unsigned char *to, float value, const struct bs_picture *p)
{
	const float span = p->most - p->least;
	const uint32_t v = span > 0.0f ? (uint32_t)lrintf((value - p->least) / span * 65535.0f) : 0;

	to[0] = (unsigned char)(v & 0xff);
	to[1] = (unsigned char)(v >> 8 & 0xff);
}

int bs_picture_make(unsigned char **out, size_t *len, const struct bs_asked *image,
		    struct bs_fail *why)
{
	const struct bs_mrd_image *head = &image->head;
	const size_t bytes = image->pixels_len;
	const bool is_complex = head->data_type == BS_MRD_CXFLOAT;
	const struct source s = { image->pixels,
				  head->matrix_size[0],
				  head->matrix_size[1],
				  head->matrix_size[2],
				  head->channels,
				  is_complex,
				  !is_complex && head->image_type == BS_MRD_PHASE };
	struct bs_picture p;
	float *values;
	size_t n;

	if (!is_complex && head->data_type != BS_MRD_FLOAT)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "an image of data type %u",
			       head->data_type);
	if (describe(&p, head) != 0 || s.channels == 0 ||
	    bytes / (is_complex ? 8 : 4) / s.channels / s.nx / s.ny / s.nz != 1 ||
	    (size_t)s.nx * s.ny * s.nz * s.channels * (is_complex ? 8 : 4) != bytes)
		return bs_fail(why, BS_ERR_SIZE,
			       "an image of %u x %u x %u, %u channels in %zu bytes", s.nx, s.ny,
			       s.nz, s.channels, bytes);
	n = (size_t)p.nx * p.ny * p.planes;
	values = malloc(n * sizeof(*values));
	*len = sizeof(p) + 2 * n;
	*out = malloc(*len);
	if (values == NULL || *out == NULL) {
		free(values);
		free(*out);
		return bs_fail(why, BS_ERR_NOMEM, "a picture of %zu bytes", *len);
	}
	for (uint32_t z = 0; z < p.planes; z++)
		for (uint32_t y = 0; y < p.ny; y++)
			row_of(&s, &p, y, z, values + ((size_t)z * p.ny + y) * p.nx);
	for (size_t i = 0; i < n; i++)
		p.most = fabsf(values[i]) > p.most ? fabsf(values[i]) : p.most;
	p.least = s.has_sign ? -p.most : 0.0f;
	p.session = image->session;
	p.image = image->number;
	memcpy(*out, &p, sizeof(p));
	for (size_t i = 0; i < n; i++)
		put16(*out + sizeof(p) + 2 * i, values[i], &p);
	free(values);
	return 0;
}

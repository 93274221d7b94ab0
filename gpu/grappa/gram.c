/* gpu/grappa/gram.c - see gram.h */
#include "gpu/grappa/gram.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "gpu/grappa/noise.h"

#define TAU 6.28318530717958647692
/* most samples at both ends of a line that kernels at the readout's ends read */
#define ENDS_MOST (2u * (BS_GRAPPA_KERNEL_X - 1))
#define BLOCK     (BS_GRAPPA_PAIR * BS_GRAPPA_PAIR) /* pairs of coils in a block of products */

static size_t up16(size_t n)
{
	return (n + 15) / 16 * 16;
}

/* Number of coils in whole blocks of products; the last coil may be zeros. */
static uint32_t coils_up(uint32_t coils)
{
	return (coils + BS_GRAPPA_PAIR - 1) / BS_GRAPPA_PAIR * BS_GRAPPA_PAIR;
}

/* Number of the samples at both ends of a line that are kept. */
static uint32_t ends_of(const struct bs_gram *m)
{
	return 2 * (m->kernel[0] - 1);
}

static uint32_t lags_of(const struct bs_gram *m)
{
	return 2 * m->kernel[0] - 1;
}

/* Floats of a line of all coils; of its ends. */
static size_t line_size(const struct bs_gram *m)
{
	return (size_t)coils_up(m->coils) * 2 * m->row;
}

static size_t tail_size(const struct bs_gram *m)
{
	return (size_t)2 * ends_of(m) * m->coils;
}

/* Doubles of one task's sums: a block of products, its lags, the ends. */
static size_t work_size(const struct bs_gram *m)
{
	return 2 * BLOCK * (m->row + lags_of(m)) +
	       (size_t)2 * BS_GRAPPA_PAIR * m->kernel[0] * m->kernel[0] * m->coils;
}

static void take_kept(const struct bs_gram *m, struct bs_gram_kept *k, bool wanted,
		      struct bs_room *r)
{
	const uint64_t lines = wanted ? (uint64_t)m->most[0] * m->most[1] : 0;

	bs_room_take(r, &k->lines, "calibration lines", lines, line_size(m) * sizeof(float));
	bs_room_take(r, &k->ends, "calibration lines' ends", lines, tail_size(m) * sizeof(float));
}

static void lay_out(struct bs_gram *m, struct bs_room *r)
{
	const uint64_t around = (uint64_t)BS_GRAM_AROUND * m->coils;

	take_kept(m, &m->kept, true, r);
	take_kept(m, &m->centers, m->inside, r);
	bs_room_take(r, &m->wave, "calibration waves", ends_of(m), 4 * m->row * sizeof(float));
	bs_room_take(r, &m->lag, "calibration lags", lags_of(m), 2 * m->row * sizeof(double));
	bs_room_take(r, &m->block, "calibration readouts", m->inside ? 0 : BS_TEAM_MAX,
		     2 * m->block_size * sizeof(float));
	bs_room_take(r, &m->g, "calibration inner products", 1, (uint64_t)m->order * m->order * 16);
	bs_room_take(r, &m->work, "calibration sums", BS_TEAM_MAX, m->work_size * sizeof(double));
	bs_room_take(r, &m->around, "calibration noise", 1, around * around * 16u);
	bs_room_take(r, &m->right, "calibration noise", 1, around * m->coils * 16u);
}

static void shape(struct bs_gram *m, const struct bs_grappa_spec *s, bool inside)
{
	memset(m, 0, sizeof(*m));
	memcpy(m->kernel, s->kernel, sizeof(m->kernel));
	memcpy(m->most, s->lines, sizeof(m->most));
	m->encoded = s->encoded[0];
	m->samples = s->columns;
	m->coils = s->coils;
	m->order = s->kernel[0] * s->kernel[1] * s->kernel[2] * s->coils;
	m->inside = inside;
	m->row = up16(s->columns);
	m->fft = BS_ISA_PICK(bs_fft_kernels);
	m->simd = BS_ISA_PICK(bs_grappa_kernels);
	m->block_size = up16((size_t)2 * m->encoded * m->fft->lanes);
	m->work_size = (work_size(m) + 7) / 8 * 8;
}

int bs_gram_need(const struct bs_grappa_spec *s, bool inside, struct bs_need *need,
		 struct bs_fail *why)
{
	struct bs_room room = { .need = need };
	struct bs_gram m;

	if (s->encoded[0] < 2 * s->kernel[0] || s->columns < s->kernel[0])
		return bs_fail(why, BS_ERR_CONFIG,
			       "grappa: a kernel of %u samples, a readout of %u, %u voxels",
			       s->kernel[0], s->encoded[0], s->columns);
	shape(&m, s, inside);
	lay_out(&m, &room);
	return 0;
}

/* Makes the waves that bring columns to the ends' samples of k-space, and those of the lags. */
static void make_waves(struct bs_gram *m)
{
	const int reach = (int)m->kernel[0] - 1;
	const int n = (int)m->samples;

	for (uint32_t t = 0; t < ends_of(m); t++)
		bs_grappa_wave(m->wave + 4 * t * m->row, m->samples, (int)t - reach - n / 2,
			       1.0 / sqrt(n));
	memset(m->lag, 0, lags_of(m) * 2 * m->row * sizeof(double));
	for (uint32_t l = 0; l < lags_of(m); l++)
		for (int x = 0; x < n; x++) {
			const double turn = -TAU * (((int)l - reach) * (x - n / 2) % n) / n;

			m->lag[2 * l * m->row + (size_t)x] = cos(turn);
			m->lag[(2 * l + 1) * m->row + (size_t)x] = sin(turn);
		}
}

int bs_gram_plan(struct bs_gram *m, const struct bs_grappa_spec *s, bool inside,
		 struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	struct bs_room room = { .arena = arena };

	shape(m, s, inside);
	m->team = team;
	lay_out(m, &room);
	if (room.full || (!inside && bs_fft_plan(&m->to_image, s->encoded[0]) != 0))
		return bs_fail(why, BS_ERR_NOMEM, "grappa: calibration");
	memset(m->kept.lines, 0, m->most[0] * m->most[1] * line_size(m) * sizeof(float));
	if (inside)
		memset(m->centers.lines, 0, m->most[0] * line_size(m) * sizeof(float));
	make_waves(m);
	return 0;
}

void bs_gram_close(struct bs_gram *m)
{
	bs_fft_close(&m->to_image);
	memset(m, 0, sizeof(*m));
}

/* Returns the number of a line among those that are kept. */
static size_t number_of(const struct bs_gram *m, uint32_t y, uint32_t z)
{
	return (size_t)z * m->most[0] + y;
}

/* ---- lines ---- */

/*
 * Brings the rows of a block from a transform's order to the centered one, or back: the halves
 * change places.
 */
static void swap_halves(float *to, const float *from, uint32_t rows, size_t cell, bool centered)
{
	const size_t half = (centered ? rows - rows / 2 : rows / 2) * cell;

	memcpy(to, from + half, ((size_t)rows * cell - half) * sizeof(float));
	memcpy(to + (size_t)rows * cell - half, from, half * sizeof(float));
}

/*
 * Makes the images of as many coils' lines as a vector has lanes, cropped to the kept field of
 * view: its middle stays in the middle. lane: from where they are to where their images are, in a.
 */
static void crop(const struct bs_gram *m, const float **lane, float *a)
{
	const uint32_t E = m->encoded;
	const size_t cell = 2 * (size_t)m->fft->lanes;
	float *b = a + m->block_size;
	float *own[BS_FFT_LANES_MAX];
	float *image;
	float *other;

	m->fft->lines_in(a, lane, E, NULL);
	swap_halves(b, a, E, cell, false);
	image = m->fft->run(&m->to_image, b, a, true);
	other = image == a ? b : a;
	swap_halves(other, image, E, cell, true);
	for (uint32_t j = 0; j < m->fft->lanes; j++)
		lane[j] = own[j] = image + (size_t)2 * j * m->samples;
	m->fft->lines_out(own, other + (E / 2 - m->samples / 2) * cell, m->samples, NULL);
}

/* Keeps a coil's line of hybrid space. */
static void keep(const struct bs_gram *m, size_t number, uint32_t coil, const float *line)
{
	const float root = (float)sqrt((double)m->samples);
	const float scale = m->inside ? 1.0f : root / (float)m->encoded;
	float *to = m->taking->lines + number * line_size(m) + (size_t)coil * 2 * m->row;
	float *end = m->taking->ends + number * tail_size(m) + coil;
	float sample[2 * ENDS_MOST];

	for (uint32_t x = 0; x < m->samples; x++) {
		to[x] = scale * line[2 * x];
		to[m->row + x] = scale * line[2 * x + 1];
	}
	m->simd->dots(line, 2 * m->samples, m->wave, 4 * m->row, ends_of(m), sample);
	for (uint32_t t = 0; t < ends_of(m); t++) {
		end[(size_t)t * m->coils] = scale * sample[2 * t];
		end[(size_t)(ends_of(m) + t) * m->coils] = scale * sample[2 * t + 1];
	}
}

/* A task takes a line of all coils. */
static void take_line(void *arg, int task, int member)
{
	const struct bs_gram *m = arg;
	const struct bs_grappa_lines *l = m->from;
	const uint32_t y = (uint32_t)task % m->box[0];
	const uint32_t z = (uint32_t)task / m->box[0];
	const float *first = l->at + 2 * (z * l->z_step + y * l->y_step);
	const uint32_t lanes = m->fft->lanes;
	const float *lane[BS_FFT_LANES_MAX];

	for (uint32_t c = 0; c < m->coils; c += lanes) {
		for (uint32_t j = 0; j < lanes; j++) /* unused lanes get copies of the last coil */
			lane[j] = first +
				  2 * l->coil_step * (c + j < m->coils ? c + j : m->coils - 1);
		if (!m->inside)
			crop(m, lane, m->block + (size_t)member * 2 * m->block_size);
		for (uint32_t j = 0; j < lanes && c + j < m->coils; j++)
			keep(m, number_of(m, y, z), c + j, lane[j]);
	}
}

/* ---- sums ---- */

/* What a task adds up: two coils of the lines that were taken, and all of those `apart`. */
struct sums {
	const struct bs_gram *m;
	uint32_t coil, other; /* first coil of the lines, and of the others' block */
	int apart[2], z;      /* y, z; the partition that is added */
	/* samples and lines of the kernel that are those lines': all, or of centers the middle */
	uint32_t x[2], y[2];
	double *product; /* [BLOCK][re, im][row] */
	double *lag;     /* [lag][BLOCK] complex */
	double *end;     /* [x[0] ..][PAIR][re, im][x][coil] */
};

static struct sums sums_of(const struct bs_gram *m, int member)
{
	const uint32_t *k = m->kernel;
	const bool centers = m->taking == &m->centers;
	double *work = m->work + (size_t)member * m->work_size;
	double *lag = work + 2 * BLOCK * m->row;

	return (struct sums){ .m = m,
			      .x = { centers ? k[0] / 2 : 0, centers ? k[0] / 2 + 1 : k[0] },
			      .y = { centers ? k[1] / 2 : 0, centers ? k[1] / 2 + 1 : k[1] },
			      .product = work,
			      .lag = lag,
			      .end = lag + (size_t)2 * BLOCK * lags_of(m) };
}

static void clear_sums(const struct sums *s)
{
	const uint32_t kx = s->m->kernel[0];

	memset(s->product, 0, 2 * BLOCK * s->m->row * sizeof(double));
	memset(s->end, 0, (size_t)2 * BS_GRAPPA_PAIR * kx * kx * s->m->coils * sizeof(double));
}

/* Returns the kept line that a line is multiplied with. */
static size_t partner_of(const struct sums *s, int line)
{
	return number_of(s->m, (uint32_t)(line + s->apart[0]), (uint32_t)(s->z + s->apart[1]));
}

static void add_products(const struct sums *s, int line, int lines, double sign)
{
	const struct bs_gram *m = s->m;
	const size_t size = line_size(m);

	m->simd->products(
		m->taking->lines + number_of(m, (uint32_t)line, (uint32_t)s->z) * size +
			(size_t)s->coil * 2 * m->row,
		m->kept.lines + partner_of(s, line) * size + (size_t)s->other * 2 * m->row, m->row,
		2 * m->row, size, (uint32_t)lines, (uint32_t)m->row, sign, s->product);
}

/*
 * Adds what the products of hybrid space, where the readout is a circle, have too much: places at
 * its ends, p, where a sample lies beyond the end that the place is at; or inside, all of them.
 */
static void add_line_ends(const struct sums *s, const float *a, const float *b, double sign)
{
	const struct bs_gram *m = s->m;
	const uint32_t kx = m->kernel[0];
	const uint32_t border = kx - 1; /* of the samples that are kept, the first behind the end */
	const size_t step = (size_t)kx * m->coils;

	for (uint32_t p = 0; p < border; p++) {
		const bool before = p < border / 2; /* the place lies before the end */
		const uint32_t beyond = border - p; /* the first sample of the kernel behind it */

		for (uint32_t x = s->x[0]; x < s->x[1]; x++) {
			const bool all = m->inside || (x >= beyond) == before;
			const uint32_t first = all || !before ? 0 : beyond;
			const uint32_t end = all || before ? kx : beyond;
			double *to = s->end + (x - s->x[0]) * BS_GRAPPA_PAIR * 2 * step;

			for (uint32_t i = 0; i < BS_GRAPPA_PAIR && s->coil + i < m->coils; i++)
				m->simd->outer(a + (size_t)(p + x) * m->coils + s->coil + i,
					       b + (size_t)(p + first) * m->coils,
					       (size_t)ends_of(m) * m->coils,
					       (end - first) * m->coils, sign,
					       to + 2 * i * step + (size_t)first * m->coils, step);
		}
	}
}

static void add_ends(const struct sums *s, int line, int lines, double sign)
{
	const size_t tail = tail_size(s->m);

	for (int y = line; y < line + lines; y++)
		add_line_ends(
			s, s->m->taking->ends + number_of(s->m, (uint32_t)y, (uint32_t)s->z) * tail,
			s->m->kept.ends + partner_of(s, y) * tail, sign);
}

/* The lines along an axis, from first to end - 1. */
struct range {
	int first, end;
};

/* The lines that are offset o of places, and have a partner. axis 0: y, 1: z. */
static struct range range_of(const struct sums *s, int axis, int o)
{
	const struct bs_gram *m = s->m;
	const int reach = (int)m->kernel[axis + 1] / 2;
	const int edge = m->inside ? reach : 0;
	const int box = (int)m->box[axis];
	const int far = s->apart[axis];
	int first = edge + o - reach;
	int end = box - edge + o - reach;

	first = first < 0 ? 0 : first;
	first = first < -far ? -far : first;
	end = end > box ? box : end;
	end = end > box - far ? box - far : end;
	return (struct range){ first, end < first ? first : end };
}

/* Makes a sum over the lines `had` one over `want`, which begins and ends no sooner. */
static void move_sum(struct sums *s, struct range had, struct range want, struct range planes,
		     void (*add)(const struct sums *s, int line, int lines, double sign))
{
	const int from = had.end > want.first ? had.end : want.first;
	const int until = had.end < want.first ? had.end : want.first;

	for (s->z = planes.first; s->z < planes.end; s->z++) {
		if (want.end > from)
			add(s, from, want.end - from, 1.0);
		if (until > had.first)
			add(s, had.first, until - had.first, -1.0);
	}
}

/* Returns the sums of sample x of the kernel's line o1 and a coil with those of line o2. */
static double *row_of(const struct sums *s, uint32_t o1, uint32_t x, uint32_t coil, uint32_t o2)
{
	const struct bs_gram *m = s->m;
	const size_t step = (size_t)m->kernel[0] * m->coils;
	const size_t row = (o1 - s->y[0]) * step + (size_t)(x - s->x[0]) * m->coils + coil;

	return m->to + 2 * (row * m->order + o2 * step);
}

static void put_lags(const struct sums *s, uint32_t o1, uint32_t o2)
{
	const struct bs_gram *m = s->m;
	const uint32_t kx = m->kernel[0];

	for (uint32_t x1 = s->x[0]; x1 < s->x[1]; x1++)
		for (uint32_t k = 0; k < kx * BLOCK; k++) {
			const uint32_t c1 = k % BLOCK / BS_GRAPPA_PAIR;
			const uint32_t c2 = s->other + k % BS_GRAPPA_PAIR;
			const double *from = s->lag + 2 * ((kx - 1 - x1) * BLOCK + k);
			double *to;

			if (s->coil + c1 >= m->coils || c2 >= m->coils)
				continue;
			to = row_of(s, o1, x1, s->coil + c1, o2) +
			     2 * ((size_t)k / BLOCK * m->coils + c2);
			to[0] += from[0];
			to[1] += from[1];
		}
}

static void take_ends_off(const struct sums *s, uint32_t o1, uint32_t o2)
{
	const struct bs_gram *m = s->m;
	const size_t step = (size_t)m->kernel[0] * m->coils;

	for (uint32_t x = s->x[0]; x < s->x[1]; x++)
		for (uint32_t i = 0; i < BS_GRAPPA_PAIR && s->coil + i < m->coils; i++) {
			const double *from =
				s->end + ((x - s->x[0]) * BS_GRAPPA_PAIR + i) * 2 * step;
			double *to = row_of(s, o1, x, s->coil + i, o2);

			for (size_t k = 0; k < step; k++) {
				to[2 * k] -= from[k];
				to[2 * k + 1] -= from[step + k];
			}
		}
}

/* Adds the inner products of all offsets that lie so far apart along y, of offset oz along z. */
static void add_offsets(struct sums *s, uint32_t oz, bool ends)
{
	const struct bs_gram *m = s->m;
	const int ky = (int)m->kernel[1];
	const int far = s->apart[0];
	const struct range planes = range_of(s, 1, (int)oz);
	struct range had = { 0, 0 };

	clear_sums(s);
	for (int y = (int)s->y[0]; y < (int)s->y[1]; y++) {
		const struct range want = range_of(s, 0, y);
		const uint32_t o1 = oz * m->kernel[1] + (uint32_t)y;
		const uint32_t o2 = o1 + (uint32_t)(s->apart[1] * ky + far);

		if (y + far < 0 || y + far >= ky)
			continue;
		move_sum(s, had, want, planes, ends ? add_ends : add_products);
		had = want;
		if (ends) {
			take_ends_off(s, o1, o2);
			continue;
		}
		m->simd->lags(s->product, (uint32_t)m->row, m->lag, lags_of(m), s->lag);
		put_lags(s, o1, o2);
	}
}

/*
 * A task sums two coils and a difference of offsets (all y, z from 0; of lines, those after them);
 * no other task writes these sums.
 */
static void make_difference(void *arg, int task, int member)
{
	const struct bs_gram *m = arg;
	const int pairs = (int)(coils_up(m->coils) / BS_GRAPPA_PAIR);
	const int wide = 2 * (int)m->kernel[1] - 1;
	struct sums s = sums_of(m, member);

	s.coil = (uint32_t)(task % pairs) * BS_GRAPPA_PAIR;
	s.apart[0] = task / pairs % wide - (int)m->kernel[1] + 1;
	s.apart[1] = task / pairs / wide;
	if (m->taking == &m->kept && s.apart[1] == 0 && s.apart[0] < 0)
		return;
	for (uint32_t oz = 0; oz + (uint32_t)s.apart[1] < m->kernel[2]; oz++) {
		for (s.other = 0; s.other < m->coils; s.other += BS_GRAPPA_PAIR)
			add_offsets(&s, oz, false);
		add_offsets(&s, oz, true);
	}
}

/* Adds the inner products of lines, or of centers, with the lines of the kernel. */
static int add_lines(struct bs_gram *m, const struct bs_grappa_lines *l,
		     const struct bs_gram_kept *kept, double *to, struct bs_fail *why)
{
	const uint32_t pairs = coils_up(m->coils) / BS_GRAPPA_PAIR;

	if (l->lines[0] == 0 || l->lines[1] == 0 || l->lines[0] > m->most[0] ||
	    l->lines[1] > m->most[1])
		return bs_fail(why, BS_ERR_SIZE,
			       "grappa: %u x %u calibration lines, at most %u x %u", l->lines[0],
			       l->lines[1], m->most[0], m->most[1]);
	memcpy(m->box, l->lines, sizeof(m->box));
	m->from = l;
	m->taking = kept;
	m->to = to;
	bs_team_run(m->team, take_line, m, (int)(m->box[0] * m->box[1]));
	bs_team_run(m->team, make_difference, m,
		    (int)(pairs * (2 * m->kernel[1] - 1) * m->kernel[2]));
	return 0;
}

void bs_gram_clear(struct bs_gram *m)
{
	memset(m->g, 0, (size_t)m->order * m->order * 16u);
}

int bs_gram_join(struct bs_gram *m, const struct bs_grappa_lines *l, struct bs_fail *why)
{
	return add_lines(m, l, &m->kept, m->g, why);
}

int bs_gram_make(struct bs_gram *m, const struct bs_grappa_lines *l, struct bs_fail *why)
{
	bs_gram_clear(m);
	return bs_gram_join(m, l, why);
}

int bs_gram_centers(struct bs_gram *m, const struct bs_grappa_lines *l, double *to,
		    struct bs_fail *why)
{
	const size_t doubles = (size_t)2 * m->order * m->coils;
	int rc;

	memset(to, 0, doubles * sizeof(*to));
	rc = add_lines(m, l, &m->centers, to, why);
	for (size_t i = 1; i < doubles; i += 2)
		to[i] = -to[i];
	return rc;
}

/* gpu/grappa/gram.c - see gram.h */
#include "gpu/grappa/gram.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "gpu/calibrate/dense.h"

#define PAD    16u /* zeros on each side of a line, which a block of correlate may read */
#define AROUND 8u  /* samples around a sample, on three lines */
/* share of the mean diagonal that is added, since lines without noise explain each other */
#define TINY 1e-10

static size_t up16(size_t n)
{
	return (n + 15) / 16 * 16;
}

static size_t row_size(const struct bs_grappa_spec *s)
{
	return up16(s->columns) + 2 * PAD;
}

/* Number of coils in whole blocks of correlate; the last coil may be zeros. */
static uint32_t coils_up(uint32_t coils)
{
	return (coils + BS_GRAPPA_PAIR - 1) / BS_GRAPPA_PAIR * BS_GRAPPA_PAIR;
}

static uint32_t order_of(const struct bs_grappa_spec *s)
{
	return s->kernel[0] * s->kernel[1] * s->kernel[2] * s->coils;
}

/* Doubles of one task's sums: for each difference of shifts, and for each pair of shifts. */
static size_t middle_size(uint32_t kx, uint32_t coils)
{
	return (size_t)2 * (2 * kx - 1) * BS_GRAPPA_PAIR * coils_up(coils);
}

static size_t work_size(const struct bs_grappa_spec *s)
{
	const uint32_t kx = s->kernel[0];

	return (middle_size(kx, s->coils) +
		(size_t)2 * kx * kx * BS_GRAPPA_PAIR * coils_up(s->coils) + 7) /
	       8 * 8;
}

/* Floats of a block: a vector's lanes of encoded samples. */
static size_t block_size(const struct bs_grappa_spec *s)
{
	return up16((size_t)2 * s->encoded[0] * BS_ISA_PICK(bs_fft_kernels)->lanes);
}

static uint64_t lines_bytes(const struct bs_grappa_spec *s)
{
	return (uint64_t)s->lines[0] * s->lines[1] * coils_up(s->coils) * 2 * row_size(s) *
	       sizeof(float);
}

static uint64_t around_of(const struct bs_grappa_spec *s)
{
	return (uint64_t)AROUND * s->coils;
}

int bs_gram_need(const struct bs_grappa_spec *s, bool inside, struct bs_need *need,
		 struct bs_fail *why)
{
	if (s->encoded[0] < 2 * s->kernel[0])
		return bs_fail(why, BS_ERR_CONFIG,
			       "grappa: a kernel of %u samples, a readout of %u", s->kernel[0],
			       s->encoded[0]);
	bs_need_add(need, "calibration lines", 2, lines_bytes(s));
	if (inside || s->columns < s->encoded[0])
		bs_need_add(need, "calibration readouts", (uint64_t)BS_TEAM_MAX * 2,
			    block_size(s) * sizeof(float));
	bs_need_add(need, "calibration inner products", 1,
		    (uint64_t)order_of(s) * order_of(s) * 16u);
	bs_need_add(need, "calibration sums", BS_TEAM_MAX, work_size(s) * sizeof(double));
	bs_need_add(need, "calibration noise", 1, around_of(s) * around_of(s) * 16u);
	bs_need_add(need, "calibration noise", 1, around_of(s) * s->coils * 16u);
	return 0;
}

static bool plan_crop(struct bs_gram *m, const struct bs_grappa_spec *s, struct bs_arena *arena)
{
	if (!m->inside && s->columns == s->encoded[0])
		return true;
	m->fft = BS_ISA_PICK(bs_fft_kernels);
	m->block_size = block_size(s);
	m->block = bs_arena_take(arena, (size_t)BS_TEAM_MAX * 2 * m->block_size * sizeof(float),
				 BS_ALIGN);
	return m->block != NULL && bs_fft_plan(&m->to_image, s->encoded[0]) == 0 &&
	       bs_fft_plan(&m->to_k, s->columns) == 0;
}

int bs_gram_plan(struct bs_gram *m, const struct bs_grappa_spec *s, bool inside,
		 struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	memset(m, 0, sizeof(*m));
	memcpy(m->kernel, s->kernel, sizeof(m->kernel));
	memcpy(m->most, s->lines, sizeof(m->most));
	m->encoded = s->encoded[0];
	m->samples = s->columns;
	m->coils = s->coils;
	m->order = order_of(s);
	m->inside = inside;
	m->team = team;
	m->simd = BS_ISA_PICK(bs_grappa_kernels);
	m->row = row_size(s);
	m->work_size = work_size(s);
	m->lines = bs_arena_take(arena, lines_bytes(s), BS_ALIGN);
	m->middle = bs_arena_take(arena, lines_bytes(s), BS_ALIGN);
	if (!plan_crop(m, s, arena))
		return bs_fail(why, BS_ERR_NOMEM, "grappa: calibration readouts");
	m->g = bs_arena_take(arena, (size_t)m->order * m->order * 16u, BS_ALIGN);
	m->work = bs_arena_take(arena, BS_TEAM_MAX * m->work_size * sizeof(double), BS_ALIGN);
	m->around = bs_arena_take(arena, around_of(s) * around_of(s) * 16u, BS_ALIGN);
	m->right = bs_arena_take(arena, around_of(s) * s->coils * 16u, BS_ALIGN);
	return m->lines != NULL && m->middle != NULL && m->g != NULL && m->work != NULL &&
			       m->around != NULL && m->right != NULL
		       ? 0
		       : bs_fail(why, BS_ERR_NOMEM, "grappa: calibration");
}

void bs_gram_close(struct bs_gram *m)
{
	bs_fft_close(&m->to_image);
	bs_fft_close(&m->to_k);
	memset(m, 0, sizeof(*m));
}

/* Returns the index of a line in lines and middle. */
static size_t line_at(const struct bs_gram *m, uint32_t y, uint32_t z)
{
	return ((size_t)z * m->box[0] + y) * coils_up(m->coils) * 2 * m->row;
}

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

/* The image of lines in a, cropped to the kept field of view: its middle stays in the middle. */
static float *crop(const struct bs_gram *m, float *a, float *b)
{
	const uint32_t E = m->encoded;
	const size_t cell = 2 * (size_t)m->fft->lanes;
	float *image;
	float *other;

	swap_halves(b, a, E, cell, false);
	image = m->fft->run(&m->to_image, b, a, true);
	other = image == a ? b : a;
	swap_halves(other, image, E, cell, true);
	for (size_t i = 0; i < m->samples * cell; i++)
		image[i] = other[(E / 2 - m->samples / 2) * cell + i] / (float)E;
	return image;
}

/*
 * Brings lines to the samples of the kept field of view, for as many coils as a vector has lanes:
 * returns [samples] rows of a block, in the order of k.
 */
static const float *resample(const struct bs_gram *m, const float *const *from, float *a)
{
	const uint32_t N = m->samples;
	const size_t cell = 2 * (size_t)m->fft->lanes;
	float *b = a + m->block_size;
	float *image = a;
	float *other;

	m->fft->lines_in(a, from, m->encoded, NULL);
	if (!m->inside)
		image = crop(m, a, b);
	other = image == a ? b : a;
	swap_halves(other, image, N, cell, false);
	image = m->fft->run(&m->to_k, other, image, false);
	other = image == a ? b : a;
	swap_halves(other, image, N, cell, true);
	return other;
}

/* The samples at each end of a line that `middle` lacks. */
static uint32_t edge_of(const struct bs_gram *m)
{
	const uint32_t reach = m->kernel[0] / 2;

	return m->inside && !m->centers ? 2 * reach : reach;
}

/* Stores a sample of a line. */
static void keep(struct bs_gram *m, size_t at, uint32_t x, float re, float im)
{
	const bool inside = x >= edge_of(m) && x < m->samples - edge_of(m);

	if (!m->centers) {
		m->lines[at + x] = re;
		m->lines[at + m->row + x] = im;
	}
	m->middle[at + x] = inside ? re : 0.0f;
	m->middle[at + m->row + x] = inside ? im : 0.0f;
}

/* A task takes a line of all coils. */
static void take_line(void *arg, int task, int member)
{
	struct bs_gram *m = arg;
	const struct bs_grappa_lines *l = m->from;
	const uint32_t y = (uint32_t)task % m->box[0];
	const uint32_t z = (uint32_t)task / m->box[0];
	const float *first = l->at + 2 * (z * l->z_step + y * l->y_step);
	const uint32_t lanes = m->fft != NULL ? m->fft->lanes : 1;
	const float *lane[BS_FFT_LANES_MAX];

	for (uint32_t c = 0; c < m->coils; c += lanes) {
		const size_t at = line_at(m, y, z) + (size_t)c * 2 * m->row + PAD;
		const float *rows;

		for (uint32_t j = 0; j < lanes; j++) /* unused lanes get copies of the last coil */
			lane[j] = first +
				  2 * l->coil_step * (c + j < m->coils ? c + j : m->coils - 1);
		rows = m->fft != NULL
			       ? resample(m, lane, m->block + (size_t)member * 2 * m->block_size)
			       : lane[0];
		for (uint32_t j = 0; j < lanes && c + j < m->coils; j++)
			for (uint32_t x = 0; x < m->samples; x++)
				keep(m, at + (size_t)j * 2 * m->row, x,
				     rows[2 * (size_t)x * lanes + j],
				     rows[(2 * (size_t)x + 1) * lanes + j]);
	}
}

/*
 * Correlates two coils' lines with all coils' of another line, for shifts up to `reach`:
 * to[shift][2][coils] complex.
 */
static void correlate(const struct bs_gram *m, const float *a, const float *b, int reach,
		      double *to)
{
	const uint32_t coils = coils_up(m->coils);

	for (int d = -reach; d <= reach; d++)
		for (uint32_t c = 0; c < coils; c += BS_GRAPPA_PAIR) {
			double sum[8];

			m->simd->correlate(a + PAD, b + (size_t)c * 2 * m->row + PAD + d, m->row,
					   2 * m->row, (uint32_t)up16(m->samples), sum);
			for (uint32_t i = 0; i < BS_GRAPPA_PAIR; i++)
				memcpy(to + 2 * (((size_t)(d + reach) * BS_GRAPPA_PAIR + i) *
							 coils +
						 c),
				       sum + 4 * i, 4 * sizeof(double));
		}
}

/* Adds the samples of an end that shift x1 of the first line keeps inside: pair += conj(a) b. */
static void add_end(const struct bs_gram *m, const float *a, const float *b, int difference,
		    int begin, int end, double *pair)
{
	const uint32_t coils = coils_up(m->coils);

	for (int x = begin; x < end; x++)
		for (uint32_t i = 0; i < BS_GRAPPA_PAIR; i++) {
			const double ar = a[2 * i * m->row + PAD + x];
			const double ai = a[(2 * i + 1) * m->row + PAD + x];
			const float *p = b + PAD + x + difference;
			double *to = pair + (size_t)2 * i * coils;

			for (uint32_t c = 0; c < m->coils; c++, p += 2 * m->row, to += 2) {
				to[0] += ar * p[0] + ai * p[m->row];
				to[1] += ar * p[m->row] - ai * p[0];
			}
		}
}

/*
 * Makes all pairs of shifts along the readout, pairs[x1][x2][2][coils], from the sums of
 * differences.
 */
static void make_pairs(const struct bs_gram *m, const float *a, const float *b, const double *sum,
		       double *pairs)
{
	const int kx = (int)m->kernel[0];
	const int reach = kx / 2;
	const int edge = (int)edge_of(m);
	const int in = m->inside ? reach : 0; /* first sample that is a place */
	const int n = (int)m->samples;
	const size_t block = (size_t)2 * BS_GRAPPA_PAIR * coils_up(m->coils);

	for (int x1 = 0; x1 < kx; x1++)
		for (int x2 = 0; x2 < kx; x2++) {
			const int o =
				/* the place lies o samples before the sample of the first line */
				x1 - reach;
			double *pair = pairs + (size_t)(x1 * kx + x2) * block;

			memcpy(pair, sum + (size_t)(x2 - x1 + kx - 1) * block,
			       block * sizeof(double));
			add_end(m, a, b, x2 - x1, in + o > 0 ? in + o : 0, edge, pair);
			add_end(m, a, b, x2 - x1, n - edge, o < in ? n - in + o : n, pair);
		}
}

/* Adds a pair of lines to the inner products of offsets o1 and o2. */
static void add_pairs(const struct bs_gram *m, uint32_t o1, uint32_t o2, uint32_t coil,
		      const double *pairs)
{
	const uint32_t kx = m->kernel[0];
	const uint32_t coils = coils_up(m->coils);

	for (uint32_t x1 = 0; x1 < kx; x1++)
		for (uint32_t x2 = 0; x2 < kx; x2++)
			for (uint32_t i = 0; i < BS_GRAPPA_PAIR && coil + i < m->coils; i++) {
				const double *from =
					pairs +
					2 * (((size_t)(x1 * kx + x2) * BS_GRAPPA_PAIR + i) * coils);
				double *to = m->g + 2 * (((size_t)(o1 * kx + x1) * m->coils + coil +
							  i) * m->order +
							 (size_t)(o2 * kx + x2) * m->coils);

				for (uint32_t c = 0; c < 2 * m->coils; c++)
					to[c] += from[c];
			}
}

/* True for line y of the places, whose number of lines is `lines` with a kernel of `kernel`. */
static bool is_place(const struct bs_gram *m, int y, uint32_t lines, uint32_t kernel)
{
	const int edge = m->inside ? (int)(kernel / 2) : 0;

	return y >= edge && y < (int)lines - edge;
}

/*
 * Adds a line and its partner for every pair of offsets whose place lies among the calibration
 * lines.
 */
static void add_line(const struct bs_gram *m, const int line[2], const int apart[2], uint32_t coil,
		     double *work)
{
	const int ky = (int)m->kernel[1];
	const int kz = (int)m->kernel[2];
	const size_t first = (size_t)coil * 2 * m->row;
	const size_t a = line_at(m, (uint32_t)line[0], (uint32_t)line[1]) + first;
	const float *b = m->lines +
			 line_at(m, (uint32_t)(line[0] + apart[0]), (uint32_t)(line[1] + apart[1]));
	double *pairs = work + middle_size(m->kernel[0], m->coils);

	correlate(m, m->middle + a, b, (int)m->kernel[0] - 1, work);
	make_pairs(m, m->lines + a, b, work, pairs);
	for (int z = 0; z < kz; z++)
		for (int y = 0; y < ky; y++) {
			const int other[2] = { y + apart[0], z + apart[1] };

			if (is_place(m, line[0] - (y - ky / 2), m->box[0], m->kernel[1]) &&
			    is_place(m, line[1] - (z - kz / 2), m->box[1], m->kernel[2]) &&
			    other[0] >= 0 && other[0] < ky && other[1] >= 0 && other[1] < kz)
				add_pairs(m, (uint32_t)(z * ky + y),
					  (uint32_t)(other[1] * ky + other[0]), coil, pairs);
		}
}

/*
 * A task sums two coils and a difference of offsets (all y, z from 0); no other task writes these
 * sums.
 */
static void make_difference(void *arg, int task, int member)
{
	struct bs_gram *m = arg;
	const int pairs = (int)(coils_up(m->coils) / BS_GRAPPA_PAIR);
	const int wide = 2 * (int)m->kernel[1] - 1;
	const uint32_t coil = (uint32_t)(task % pairs) * BS_GRAPPA_PAIR;
	const int apart[2] = { task / pairs % wide - (int)m->kernel[1] + 1, task / pairs / wide };
	const int far = apart[0]; /* along y */

	if (apart[1] == 0 && apart[0] < 0)
		return;
	for (int z = 0; z + apart[1] < (int)m->box[1]; z++)
		for (int y = far < 0 ? -far : 0; y < (int)m->box[0] && y + far < (int)m->box[0];
		     y++)
			add_line(m, (const int[2]){ y, z }, apart, coil,
				 m->work + (size_t)member * m->work_size);
}

static int take_lines(struct bs_gram *m, const struct bs_grappa_lines *l, bool centers,
		      struct bs_fail *why)
{
	if (l->lines[0] == 0 || l->lines[1] == 0 || l->lines[0] > m->most[0] ||
	    l->lines[1] > m->most[1])
		return bs_fail(why, BS_ERR_SIZE,
			       "grappa: %u x %u calibration lines, at most %u x %u", l->lines[0],
			       l->lines[1], m->most[0], m->most[1]);
	memcpy(m->box, l->lines, sizeof(m->box));
	if (!centers)
		memset(m->lines, 0, line_at(m, 0, m->box[1]) * sizeof(float));
	memset(m->middle, 0, line_at(m, 0, m->box[1]) * sizeof(float));
	m->from = l;
	m->centers = centers;
	bs_team_run(m->team, take_line, m, (int)(m->box[0] * m->box[1]));
	m->centers = false;
	return 0;
}

void bs_gram_clear(struct bs_gram *m)
{
	memset(m->g, 0, (size_t)m->order * m->order * 16u);
}

int bs_gram_join(struct bs_gram *m, const struct bs_grappa_lines *l, struct bs_fail *why)
{
	const uint32_t pairs = coils_up(m->coils) / BS_GRAPPA_PAIR;
	const int rc = take_lines(m, l, false, why);

	if (rc == 0)
		bs_team_run(m->team, make_difference, m,
			    (int)(pairs * (2 * m->kernel[1] - 1) * m->kernel[2]));
	return rc;
}

int bs_gram_make(struct bs_gram *m, const struct bs_grappa_lines *l, struct bs_fail *why)
{
	bs_gram_clear(m);
	return bs_gram_join(m, l, why);
}

/* Each task takes two coils of the centers and a line of the kernel. */
static void make_right(void *arg, int task, int member)
{
	struct bs_gram *m = arg;
	const uint32_t pairs = coils_up(m->coils) / BS_GRAPPA_PAIR;
	const uint32_t coil = (uint32_t)task % pairs * BS_GRAPPA_PAIR;
	const uint32_t line = (uint32_t)task / pairs;
	const int far = (int)line - (int)m->kernel[1] / 2;
	double *work = m->work + (size_t)member * m->work_size;

	for (int y = 0; y < (int)m->box[0]; y++) {
		if (!is_place(m, y, m->box[0], m->kernel[1]))
			continue;
		correlate(m, m->middle + line_at(m, (uint32_t)y, 0) + (size_t)coil * 2 * m->row,
			  m->lines + line_at(m, (uint32_t)(y + far), 0), (int)m->kernel[0] / 2,
			  work);
		for (uint32_t i = 0; i < BS_GRAPPA_PAIR && coil + i < m->coils; i++)
			for (uint32_t u = 0; u < m->kernel[0] * m->coils; u++) {
				const double *from =
					work + 2 * ((size_t)(u / m->coils * BS_GRAPPA_PAIR + i) *
							    coils_up(m->coils) +
						    u % m->coils);
				double *to =
					m->centers_to + 2 * ((size_t)(coil + i) * m->order +
							     line * m->kernel[0] * m->coils + u);

				to[0] += from[0];
				to[1] -= from[1];
			}
	}
}

int bs_gram_centers(struct bs_gram *m, const struct bs_grappa_lines *l, double *to,
		    struct bs_fail *why)
{
	const int rc = take_lines(m, l, true, why);

	if (rc != 0)
		return rc;
	memset(to, 0, (size_t)m->order * m->coils * 16u);
	m->centers_to = to;
	bs_team_run(m->team, make_right, m,
		    (int)(coils_up(m->coils) / BS_GRAPPA_PAIR * m->kernel[1]));
	return 0;
}

/*
 * Lists the rows of G of the samples around the middle of the kernel, in their order, and of the
 * middle.
 */
static uint32_t rows_around(const struct bs_gram *m, uint32_t *row, uint32_t *middle)
{
	const uint32_t *k = m->kernel;
	const uint32_t line =
		k[0] * m->coils; /* the next line along y, or along z where there is one y */
	const uint32_t reach = k[0] > 1 ? m->coils : 0;
	uint32_t n = 0;

	*middle = (k[2] / 2 * k[1] + k[1] / 2) * line + k[0] / 2 * m->coils;
	for (uint32_t beside = 0; beside < 3; beside++)
		for (uint32_t x = 0; x < (reach > 0 ? 3 : 1); x++) {
			const uint32_t at = *middle + beside * line - line + x * reach - reach;

			if (at != *middle && n < AROUND)
				row[n++] = at;
		}
	return n;
}

/* The sum of conj(s_i) s_j; G holds it in one of both orders. */
static void product(const struct bs_gram *m, uint32_t i, uint32_t j, double to[2])
{
	const bool there = i <= j;
	const double *g = m->g + 2 * (there ? (size_t)i * m->order + j : (size_t)j * m->order + i);

	to[0] = g[0];
	to[1] = there ? g[1] : -g[1];
}

/*
 * Fills the lower triangle of the equations, column by column, and the right sides: column c for
 * coil c.
 */
static void fill_around(struct bs_gram *m, const uint32_t *row, uint32_t middle, uint32_t n)
{
	double trace = 0.0;

	for (uint32_t j = 0; j < n; j++) {
		const uint32_t at = row[j / m->coils] + j % m->coils;

		for (uint32_t i = j; i < n; i++)
			product(m, row[i / m->coils] + i % m->coils, at,
				m->around + 2 * ((size_t)j * n + i));
		trace += m->around[2 * ((size_t)j * n + j)];
	}
	for (uint32_t j = 0; j < n; j++)
		m->around[2 * ((size_t)j * n + j)] += TINY * trace / n;
	for (uint32_t c = 0; c < m->coils; c++)
		for (uint32_t i = 0; i < n; i++)
			product(m, row[i / m->coils] + i % m->coils, middle + c,
				m->right + 2 * ((size_t)c * n + i));
}

double bs_gram_noise(struct bs_gram *m)
{
	uint32_t row[AROUND];
	uint32_t middle;
	const uint32_t n = rows_around(m, row, &middle) * m->coils;
	double sum = 0.0;

	fill_around(m, row, middle, n);
	if (bs_dense_solve(n, m->coils, m->around, m->right, NULL) != 0)
		return 0.0;
	for (uint32_t c = 0; c < m->coils; c++) {
		double left[2];
		double weights = 0.0;

		product(m, middle + c, middle + c, left);
		for (uint32_t i = 0; i < n; i++) {
			const double *w = m->right + 2 * ((size_t)c * n + i);
			double s[2];

			product(m, row[i / m->coils] + i % m->coils, middle + c, s);
			left[0] -= w[0] * s[0] + w[1] * s[1];
			weights += w[0] * w[0] + w[1] * w[1];
		}
		sum += left[0] / (1.0 + weights);
	}
	return sum > 0.0 && isfinite(sum) ? sum / m->coils : 0.0;
}

/* test/unit/core/test_csr.c - sparse products against dense ones; what seal refuses */
#include "core/solve/csr.h"
#include "gpu/solve/csr.h"
#include "test/support/check.h"

#include <string.h>

#define ROWS 9000u /* more than two blocks of rows, and of columns */
#define COLS 8500u

static uint64_t seed = 21;

static void fill(struct bs_csr *m)
{
	uint64_t e = 0;
	uint32_t parts = m->is_complex ? 2 : 1;

	for (uint64_t i = 0; i < m->rows; i++) {
		uint32_t col = (uint32_t)(check_uniform(&seed) * 40);
		uint64_t n = i % 4; /* some rows are empty */

		for (uint64_t j = 0; j < n; j++) {
			m->col[e] = col;
			for (uint32_t p = 0; p < parts; p++)
				m->value[e * parts + p] = (float)(check_uniform(&seed) - 0.5);
			e++;
			col += 1 + (uint32_t)(check_uniform(&seed) * 2500);
		}
		m->start[i + 1] = e;
	}
}

static uint64_t entries_of(void)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < ROWS; i++)
		n += i % 4;
	return n;
}

/* The plain loops of the definition, in double. */
static void plain(const struct bs_csr *m, const float *x, const float *y, double *wx, double *why)
{
	for (uint64_t i = 0; i < m->rows; i++)
		for (uint64_t e = m->start[i]; e < m->start[i + 1]; e++) {
			double a = (double)m->value[m->is_complex ? 2 * e : e];
			double b = m->is_complex ? (double)m->value[2 * e + 1] : 0.0;
			uint64_t c = m->col[e];

			wx[2 * i] += a * (double)x[2 * c] - b * (double)x[2 * c + 1];
			wx[2 * i + 1] += a * (double)x[2 * c + 1] + b * (double)x[2 * c];
			why[2 * c] += a * (double)y[2 * i] + b * (double)y[2 * i + 1];
			why[2 * c + 1] += a * (double)y[2 * i + 1] - b * (double)y[2 * i];
		}
}

static double rel(const float *a, const double *b, size_t n)
{
	double e = 0.0;
	double r = 0.0;

	for (size_t i = 0; i < n; i++) {
		e += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
		r += b[i] * b[i];
	}
	return sqrt(e / r);
}

static void products(bool is_complex)
{
	struct bs_csr m;
	struct bs_fail why = { 0 };
	float *x = malloc(COLS * 8);
	float *y = malloc(ROWS * 8);
	float *wx = malloc(ROWS * 8);
	float *wy = malloc(COLS * 8);
	float *first = malloc(COLS * 8);
	double *twx = calloc(ROWS, 16);
	double *twy = calloc(COLS, 16);
	float *diagonal = malloc(COLS * 4);
	double e;

	CHECK(bs_csr_open(&m, ROWS, COLS, entries_of(), is_complex, &why) == 0, "open %s",
	      why.text);
	fill(&m);
	CHECK(bs_csr_seal(&m, &why) == 0, "seal %s", why.text);
	for (size_t i = 0; i < 2 * COLS; i++)
		x[i] = (float)(check_uniform(&seed) - 0.5);
	for (size_t i = 0; i < 2 * ROWS; i++)
		y[i] = (float)(check_uniform(&seed) - 0.5);
	plain(&m, x, y, twx, twy);
	for (size_t i = 0; i < 2 * COLS; i++) /* onto x, times -2 */
		twy[i] = (double)x[i] - 2.0 * twy[i];
	for (int members = 1; members <= 3; members += 2) {
		struct bs_team *team;

		(void)bs_team_open(&team, members, NULL);
		bs_csr_forward(team, &m, x, wx);
		memcpy(wy, x, COLS * 8);
		bs_csr_adjoint_add(team, &m, -2.0f, y, wy);
		bs_team_close(team);
		/* sums of at most a few floats: 1e-6 is ten roundings */
		e = rel(wx, twx, 2 * ROWS);
		CHECK(e <= 1e-6, "W x, %s: %.1e <= 1e-6", is_complex ? "complex" : "real", e);
		e = rel(wy, twy, 2 * COLS);
		CHECK(e <= 1e-6, "x - 2 W^H y: %.1e <= 1e-6", e);
		if (members == 1)
			memcpy(first, wy, COLS * 8);
	}
	CHECK(memcmp(first, wy, COLS * 8) == 0, "1 and 3 threads: the same bits");
	bs_csr_gram_diagonal(&m, diagonal);
	memset(twy, 0, COLS * 16);
	for (uint64_t i = 0; i < m.entries; i++)
		for (int p = 0; p < (is_complex ? 2 : 1); p++) {
			double v = (double)m.value[is_complex ? 2 * i + (uint64_t)p : i];

			twy[m.col[i]] += v * v;
		}
	e = rel(diagonal, twy, COLS);
	CHECK(e <= 1e-6, "diagonal of W^H W: %.1e <= 1e-6", e);
	bs_csr_close(&m);
	free(x);
	free(y);
	free(wx);
	free(wy);
	free(first);
	free(twx);
	free(twy);
	free(diagonal);
}

enum fault { RANGE, ORDER, TWICE, NAN_VALUE, BACKWARDS, TOTAL };

static void refused(enum fault fault, const char *what)
{
	struct bs_csr m;
	struct bs_fail why = { 0 };

	(void)bs_csr_open(&m, 3, 5, 4, false, &why);
	m.start[1] = 2;
	m.start[2] = 2;
	m.start[3] = 4;
	m.col[0] = 1;
	m.col[1] = 4;
	m.col[2] = 0;
	m.col[3] = 2;
	if (fault == RANGE)
		m.col[3] = 5;
	if (fault == ORDER)
		m.col[3] = 0, m.col[2] = 1;
	if (fault == TWICE)
		m.col[1] = 1;
	if (fault == NAN_VALUE)
		m.value[2] = NAN;
	if (fault == BACKWARDS)
		m.start[2] = 1;
	if (fault == TOTAL)
		m.start[3] = 3;
	CHECK(bs_csr_seal(&m, &why) == BS_ERR_FORMAT, "%s refused: %s", what, why.text);
	bs_csr_close(&m);
}

int main(void)
{
	struct bs_csr m;
	struct bs_fail why = { 0 };

	products(false);
	products(true);
	refused(RANGE, "a column out of range");
	refused(ORDER, "columns out of order");
	refused(TWICE, "a place that is there twice");
	refused(NAN_VALUE, "a NaN");
	refused(BACKWARDS, "a row that ends before it starts");
	refused(TOTAL, "a wrong sum of entries");
	CHECK(bs_csr_open(&m, 0, 5, 1, false, &why) == BS_ERR_FORMAT, "no rows refused: %s",
	      why.text);
	CHECK(bs_csr_open(&m, UINT64_C(1) << 32, 5, 1, false, &why) == BS_ERR_FORMAT,
	      "2^32 rows refused: %s", why.text);
	return check_done();
}

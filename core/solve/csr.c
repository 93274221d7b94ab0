/* core/solve/csr.c - see csr.h */
#include "core/solve/csr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int bs_csr_open(struct bs_csr *m, uint64_t rows, uint64_t cols, uint64_t entries, bool is_complex,
		struct bs_fail *why)
{
	memset(m, 0, sizeof(*m));
	if (rows == 0 || cols == 0 || rows > UINT32_MAX || cols > UINT32_MAX ||
	    entries > UINT64_C(1) << 40)
		return bs_fail(why, BS_ERR_FORMAT, "matrix of %llu x %llu with %llu entries",
			       (unsigned long long)rows, (unsigned long long)cols,
			       (unsigned long long)entries);
	m->rows = rows;
	m->cols = cols;
	m->entries = entries;
	m->is_complex = is_complex;
	m->start = calloc(rows + 1, sizeof(*m->start));
	m->col = calloc(entries + 1, sizeof(*m->col));
	m->value = calloc(entries + 1, sizeof(*m->value) * (is_complex ? 2 : 1));
	if (m->start == NULL || m->col == NULL || m->value == NULL) {
		bs_csr_close(m);
		return bs_fail(why, BS_ERR_NOMEM, "matrix of %llu x %llu with %llu entries",
			       (unsigned long long)rows, (unsigned long long)cols,
			       (unsigned long long)entries);
	}
	return 0;
}

static int check_matrix(const struct bs_csr *m, struct bs_fail *why)
{
	const uint32_t parts = m->is_complex ? 2 : 1;

	if (m->start[0] != 0 || m->start[m->rows] != m->entries)
		return bs_fail(why, BS_ERR_FORMAT, "the rows hold %llu entries, not %llu",
			       (unsigned long long)(m->start[m->rows] - m->start[0]),
			       (unsigned long long)m->entries);
	for (uint64_t i = 0; i < m->rows; i++) {
		unsigned long long row = i + 1;

		if (m->start[i + 1] < m->start[i] || m->start[i + 1] > m->entries)
			return bs_fail(why, BS_ERR_FORMAT, "row %llu ends before it starts", row);
		for (uint64_t e = m->start[i]; e < m->start[i + 1]; e++) {
			if (m->col[e] >= m->cols)
				return bs_fail(why, BS_ERR_FORMAT, "row %llu: column %llu of %llu",
					       row, m->col[e] + 1ull, (unsigned long long)m->cols);
			if (e > m->start[i] && m->col[e] <= m->col[e - 1])
				return bs_fail(why, BS_ERR_FORMAT,
					       "row %llu: column %llu after column %llu", row,
					       m->col[e] + 1ull, m->col[e - 1] + 1ull);
			for (uint32_t part = 0; part < parts; part++)
				if (!isfinite(m->value[e * parts + part]))
					return bs_fail(
						why, BS_ERR_FORMAT,
						"row %llu, column %llu: the value is not finite",
						row, m->col[e] + 1ull);
		}
	}
	return 0;
}

void bs_csr_transpose(struct bs_csr *m)
{
	const size_t parts = m->is_complex ? 2 : 1;

	memset(m->t_start, 0, (m->cols + 2) * sizeof(*m->t_start));
	/*
	 * Entries are counted two places ahead, because filling moves each start on by one place.
	 */
	for (uint64_t e = 0; e < m->entries; e++)
		m->t_start[m->col[e] + 2]++;
	for (uint64_t c = 2; c <= m->cols; c++)
		m->t_start[c] += m->t_start[c - 1];
	for (uint64_t i = 0; i < m->rows; i++)
		for (uint64_t e = m->start[i]; e < m->start[i + 1]; e++) {
			uint64_t to = m->t_start[m->col[e] + 1]++;

			m->t_row[to] = (uint32_t)i;
			memcpy(m->t_value + to * parts, m->value + e * parts, parts * 4);
		}
}

int bs_csr_seal(struct bs_csr *m, struct bs_fail *why)
{
	const size_t parts = m->is_complex ? 2 : 1;
	int rc = check_matrix(m, why);

	if (rc != 0)
		return rc;
	m->t_start = calloc(m->cols + 2, sizeof(*m->t_start));
	m->t_row = calloc(m->entries + 1, sizeof(*m->t_row));
	m->t_value = calloc(m->entries + 1, sizeof(*m->t_value) * parts);
	if (m->t_start == NULL || m->t_row == NULL || m->t_value == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "transpose of %llu entries",
			       (unsigned long long)m->entries);
	bs_csr_transpose(m);
	return 0;
}

void bs_csr_close(struct bs_csr *m)
{
	free(m->start);
	free(m->col);
	free(m->value);
	free(m->t_start);
	free(m->t_row);
	free(m->t_value);
	memset(m, 0, sizeof(*m));
}

void bs_csr_gram_diagonal(const struct bs_csr *m, float *diagonal)
{
	const uint32_t parts = m->is_complex ? 2 : 1;

	for (uint64_t c = 0; c < m->cols; c++) {
		double sum = 0.0;

		for (uint64_t e = m->t_start[c] * parts; e < m->t_start[c + 1] * parts; e++)
			sum += (double)m->t_value[e] * (double)m->t_value[e];
		diagonal[c] = (float)sum;
	}
}

/* Returns the largest sum of the moduli in a row. */
static double largest_sum(const uint64_t *start, const float *value, uint64_t rows, bool is_complex)
{
	double largest = 0.0;

	for (uint64_t i = 0; i < rows; i++) {
		double sum = 0.0;

		for (uint64_t e = start[i]; e < start[i + 1]; e++)
			sum += is_complex ? hypot((double)value[2 * e], (double)value[2 * e + 1])
					  : fabs((double)value[e]);
		largest = sum > largest ? sum : largest;
	}
	return largest;
}

double bs_csr_bound(const struct bs_csr *m)
{
	return largest_sum(m->start, m->value, m->rows, m->is_complex) *
	       largest_sum(m->t_start, m->t_value, m->cols, m->is_complex);
}

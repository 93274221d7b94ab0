/* gpu/solve/csr.cu - sparse matrices on the GPU; see csr_cuda.h */
#include "gpu/solve/csr_cuda.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/solve/cuda/csr_row.cuh"
#include "gpu/device/check.h"

#define CSR_SLICE   32u
#define CSR_THREADS 256u

/* Rows to be sliced: those of M, or of its transpose. */
struct rows_of {
	uint64_t rows, cols;
	const uint64_t *start;
	const uint32_t *col;
	const float *value;
};

static struct rows_of view(const struct bs_csr *m, enum bs_csr_form form)
{
	struct rows_of r;
	const bool plain = form == BS_CSR_PLAIN;

	r.rows = plain ? m->rows : m->cols;
	r.cols = plain ? m->cols : m->rows;
	r.start = plain ? m->start : m->t_start;
	r.col = plain ? m->col : m->t_row;
	r.value = plain ? m->value : m->t_value;
	return r;
}

/* Returns the length of the longest row of a slice. */
static uint64_t width_of(const struct rows_of *r, uint64_t slice)
{
	uint64_t width = 0;

	for (uint64_t i = slice * CSR_SLICE; i < (slice + 1) * CSR_SLICE && i < r->rows; i++)
		if (r->start[i + 1] - r->start[i] > width)
			width = r->start[i + 1] - r->start[i];
	return width;
}

static uint64_t padded_entries(const struct rows_of *r)
{
	uint64_t sum = 0;

	for (uint64_t s = 0; s < (r->rows + CSR_SLICE - 1) / CSR_SLICE; s++)
		sum += width_of(r, s) * CSR_SLICE;
	return sum;
}

uint64_t bs_csr_cuda_need(const struct bs_csr *m, enum bs_csr_form form)
{
	const struct rows_of r = view(m, form);
	const uint64_t entries = padded_entries(&r);

	return bs_devmem_round(((r.rows + CSR_SLICE - 1) / CSR_SLICE + 1) * sizeof(uint64_t)) +
	       bs_devmem_round(entries * sizeof(uint32_t)) +
	       bs_devmem_round(entries * sizeof(float) * (m->is_complex ? 2 : 1));
}

/* Fills the sliced arrays on the host. Entries of padding have value 0 and column 0. */
static void slice_rows(const struct rows_of *r, bool is_complex, bool conjugate, uint64_t *slice,
		       uint32_t *col, float *value)
{
	uint64_t at = 0;

	for (uint64_t s = 0; s * CSR_SLICE < r->rows; s++) {
		const uint64_t width = width_of(r, s);

		slice[s] = at;
		for (uint64_t i = 0; i < CSR_SLICE && s * CSR_SLICE + i < r->rows; i++) {
			const uint64_t row = s * CSR_SLICE + i;

			for (uint64_t e = r->start[row]; e < r->start[row + 1]; e++) {
				const uint64_t to = at + (e - r->start[row]) * CSR_SLICE + i;

				col[to] = r->col[e];
				if (!is_complex) {
					value[to] = r->value[e];
					continue;
				}
				value[2 * to] = r->value[2 * e];
				value[2 * to + 1] =
					conjugate ? -r->value[2 * e + 1] : r->value[2 * e + 1];
			}
		}
		at += width * CSR_SLICE;
	}
	slice[(r->rows + CSR_SLICE - 1) / CSR_SLICE] = at;
}

static int upload(void *to, const void *from, size_t bytes, struct bs_fail *why)
{
	if (bytes > 0)
		BS_CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), why);
	return 0;
}

int bs_csr_cuda_plan(struct bs_csr_cuda *out, const struct bs_csr *m, enum bs_csr_form form,
		     struct bs_devmem *mem, struct bs_fail *why)
{
	const struct rows_of r = view(m, form);
	const uint64_t entries = padded_entries(&r);
	const size_t slices = (size_t)((r.rows + CSR_SLICE - 1) / CSR_SLICE + 1);
	const size_t wide = sizeof(float) * (m->is_complex ? 2 : 1);
	uint64_t *slice = (uint64_t *)malloc(slices * sizeof(uint64_t));
	uint32_t *col = (uint32_t *)calloc((size_t)entries + 1, sizeof(uint32_t));
	float *value = (float *)calloc((size_t)entries + 1, wide);
	void *to[3] = { bs_devmem_take(mem, slices * sizeof(uint64_t)),
			bs_devmem_take(mem, (size_t)entries * sizeof(uint32_t)),
			bs_devmem_take(mem, (size_t)entries * wide) };
	int err = 0;

	memset(out, 0, sizeof(*out));
	if (slice == NULL || col == NULL || value == NULL || to[0] == NULL || to[1] == NULL ||
	    to[2] == NULL) {
		err = bs_fail(why, BS_ERR_NOMEM, "sparse matrix of %llu entries: no memory",
			      (unsigned long long)entries);
	} else {
		slice_rows(&r, m->is_complex, form == BS_CSR_ADJOINT, slice, col, value);
		err = upload(to[0], slice, slices * sizeof(uint64_t), why);
		if (err == 0)
			err = upload(to[1], col, (size_t)entries * sizeof(uint32_t), why);
		if (err == 0)
			err = upload(to[2], value, (size_t)entries * wide, why);
		if (err == 0)
			err = bs_cuda_copied(why);
	}
	free(slice);
	free(col);
	free(value);
	out->rows = r.rows;
	out->cols = r.cols;
	out->is_complex = m->is_complex;
	out->slice = (const uint64_t *)to[0];
	out->col = (const uint32_t *)to[1];
	out->value = (const float *)to[2];
	return err;
}

template <bool COMPLEX>
static __global__ __launch_bounds__(CSR_THREADS) void product(const struct bs_csr_cuda m,
							      float scale, const float2 *in,
							      float2 *out, bool add)
{
	const uint64_t row = (uint64_t)blockIdx.x * CSR_THREADS + threadIdx.x;
	float2 sum;

	if (row >= m.rows)
		return;
	sum = bs_csr_row<COMPLEX>(m, row, in);
	sum.x *= scale;
	sum.y *= scale;
	if (add) {
		sum.x += out[row].x;
		sum.y += out[row].y;
	}
	out[row] = sum;
}

int bs_csr_cuda_product(const struct bs_csr_cuda *m, float scale, const float *in, float *out,
			bool add, struct CUstream_st *stream, struct bs_fail *why)
{
	const unsigned blocks = (unsigned)((m->rows + CSR_THREADS - 1) / CSR_THREADS);

	if (m->is_complex)
		product<true><<<blocks, CSR_THREADS, 0, stream>>>(*m, scale, (const float2 *)in,
								  (float2 *)out, add);
	else
		product<false><<<blocks, CSR_THREADS, 0, stream>>>(*m, scale, (const float2 *)in,
								   (float2 *)out, add);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

/* A row of the Gram matrix while it is summed: the columns met so far, and a sum for each. */
struct gram_row {
	uint32_t *col;
	uint64_t cols;
	uint8_t *met; /* [cols of W]: 1 where the column was met */
	double *sum;  /* sum of each column, [cols of W][2] */
};

static int by_column(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a;
	const uint32_t y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Sums row c of W^H W, which is conj(W[r][c]) W[r][.] over W's rows r. */
static void gather_gram(struct gram_row *g, const struct bs_csr *w, uint64_t c)
{
	const int step = w->is_complex ? 2 : 1;

	g->cols = 0;
	for (uint64_t t = w->t_start[c]; t < w->t_start[c + 1]; t++) {
		const uint64_t row = w->t_row[t];
		const double re = w->t_value[step * t];
		const double im = w->is_complex ? -w->t_value[2 * t + 1] : 0.0;

		for (uint64_t e = w->start[row]; e < w->start[row + 1]; e++) {
			const uint32_t col = w->col[e];
			const double x = w->value[step * e];
			const double y = w->is_complex ? w->value[2 * e + 1] : 0.0;

			if (!g->met[col]) {
				g->met[col] = 1;
				g->sum[2 * col] = g->sum[2 * col + 1] = 0.0;
				g->col[g->cols++] = col;
			}
			g->sum[2 * col] += re * x - im * y;
			g->sum[2 * col + 1] += re * y + im * x;
		}
	}
	for (uint64_t i = 0; i < g->cols; i++)
		g->met[g->col[i]] = 0;
	qsort(g->col, (size_t)g->cols, sizeof(uint32_t), by_column);
}

static int fill_gram(struct bs_csr *gram, const struct bs_csr *w, struct gram_row *g, uint64_t most,
		     struct bs_fail *why)
{
	uint64_t entries = 0;
	int err;

	for (uint64_t c = 0; c < w->cols; c++) {
		gather_gram(g, w, c);
		entries += g->cols;
		if (entries > most)
			return bs_fail(why, BS_ERR_UNSUPPORTED, "W^H W has more than %llu entries",
				       (unsigned long long)most);
	}
	err = bs_csr_open(gram, w->cols, w->cols, entries, w->is_complex, why);
	if (err != 0)
		return err;
	entries = 0;
	for (uint64_t c = 0; c < w->cols; c++) {
		gather_gram(g, w, c);
		gram->start[c] = entries;
		for (uint64_t i = 0; i < g->cols; i++, entries++) {
			gram->col[entries] = g->col[i];
			if (w->is_complex) {
				gram->value[2 * entries] = (float)g->sum[2 * g->col[i]];
				gram->value[2 * entries + 1] = (float)g->sum[2 * g->col[i] + 1];
			} else {
				gram->value[entries] = (float)g->sum[2 * g->col[i]];
			}
		}
	}
	gram->start[w->cols] = entries;
	return 0;
}

int bs_csr_gram(struct bs_csr *gram, const struct bs_csr *w, uint64_t most, struct bs_fail *why)
{
	struct gram_row g;
	int err;

	g.col = (uint32_t *)malloc((size_t)w->cols * sizeof(uint32_t));
	g.met = (uint8_t *)calloc((size_t)w->cols, 1);
	g.sum = (double *)malloc((size_t)w->cols * 2 * sizeof(double));
	if (g.col == NULL || g.met == NULL || g.sum == NULL)
		err = bs_fail(why, BS_ERR_NOMEM, "W^H W: no memory for a row of %llu columns",
			      (unsigned long long)w->cols);
	else
		err = fill_gram(gram, w, &g, most, why);
	free(g.col);
	free(g.met);
	free(g.sum);
	return err;
}

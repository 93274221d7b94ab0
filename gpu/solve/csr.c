/* gpu/solve/csr.c - host twin; see csr.h */
#include "gpu/solve/csr.h"

#define BLOCK 4096u /* rows that a task takes */

struct product {
	uint64_t rows;
	const uint64_t *start;
	const uint32_t *index;
	const float *value;
	const float *in;
	float *out;
	float scale;
	bool is_complex, adjoint;
};

static void real_row(const struct product *p, uint64_t row, float *re, float *im)
{
	for (uint64_t e = p->start[row]; e < p->start[row + 1]; e++) {
		const float *in = p->in + 2 * (uint64_t)p->index[e];

		*re += p->value[e] * in[0];
		*im += p->value[e] * in[1];
	}
}

static void complex_row(const struct product *p, uint64_t row, float *re, float *im)
{
	for (uint64_t e = p->start[row]; e < p->start[row + 1]; e++) {
		const float *in = p->in + 2 * (uint64_t)p->index[e];
		float a = p->value[2 * e];
		float b = p->adjoint ? -p->value[2 * e + 1] : p->value[2 * e + 1];

		*re += a * in[0] - b * in[1];
		*im += a * in[1] + b * in[0];
	}
}

static void block(void *arg, int task)
{
	const struct product *p = arg;
	uint64_t from = (uint64_t)task * BLOCK;
	uint64_t to = p->rows - from < BLOCK ? p->rows : from + BLOCK;

	for (uint64_t row = from; row < to; row++) {
		float re = 0.0f;
		float im = 0.0f;

		if (p->is_complex)
			complex_row(p, row, &re, &im);
		else
			real_row(p, row, &re, &im);
		if (p->adjoint) {
			p->out[2 * row] += p->scale * re;
			p->out[2 * row + 1] += p->scale * im;
		} else {
			p->out[2 * row] = re;
			p->out[2 * row + 1] = im;
		}
	}
}

void bs_csr_forward(struct bs_team *team, const struct bs_csr *w, const float *in, float *out)
{
	struct product p = { w->rows, w->start, w->col,        w->value, in,
			     out,     1.0f,     w->is_complex, false };

	bs_team_do(team, block, &p, (int)((w->rows + BLOCK - 1) / BLOCK));
}

void bs_csr_adjoint_add(struct bs_team *team, const struct bs_csr *w, float scale, const float *in,
			float *out)
{
	struct product p = { w->cols, w->t_start, w->t_row,      w->t_value, in,
			     out,     scale,      w->is_complex, true };

	bs_team_do(team, block, &p, (int)((w->cols + BLOCK - 1) / BLOCK));
}

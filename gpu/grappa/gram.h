/*
 * gpu/grappa/gram.h - inner products of the calibration lines, shifted against each other
 *
 * G[i][j] = sum over places p of conj(d(p + o_i)) d(p + o_j), over the places of the calibration
 * lines d, which are zero outside. Index i = (o * kernel_x + x) * coils + coil stands for the
 * offset o of the window's lines (o = oz * kernel_y + oy) and x samples along the readout, both
 * counted from a corner of the kernel. Complex double, row-major; only blocks with o_i <= o_j are
 * filled. Lines are first cropped to `columns` voxels along the readout, so that x counts samples
 * of that field of view.
 * In hybrid space (gpu/grappa/grappa.h) the sum over a readout that is a circle depends only on the
 * difference of two shifts: products of lines are added up column by column, and a transform of
 * their sum makes all differences. What samples beyond an end have brought in is taken off again.
 * inside, for gpu/grappa/slice.h: places are those whose whole kernel lies inside the lines, and
 * lines are hybrid space, of `columns` columns.
 * need -> plan -> make* -> close, which may follow anything; make is clear and join, which adds
 * further lines. Only plan allocates; results are the same bytes for any team.
 * Test: test/unit/gpu/calibrate/test_grappa.c, test_slice.c
 */
#ifndef BS_GPU_GRAPPA_GRAM_H
#define BS_GPU_GRAPPA_GRAM_H

#include "gpu/fft/fft.h"
#include "gpu/grappa/grappa.h"
#include "gpu/grappa/grappa_simd.h"

/* Lines that are kept, of all coils. */
struct bs_gram_kept {
	/* hybrid space, [z][y][coil][re, im][row]; the last coil may be zeros */
	float *lines;
	/* of each line the samples around its ends, [z][y][re, im][sample][coil] */
	float *ends;
};

struct bs_gram {
	/* sizes of the matrix; samples: of a cropped readout */
	uint32_t kernel[3], encoded, samples, coils, most[2];
	uint32_t order; /* order of the matrix G: its number of rows */
	bool inside;    /* the whole kernel lies inside the lines */
	struct bs_team *team;
	const struct bs_grappa_kernels *simd;
	size_t row; /* columns of a line, and zeros */
	struct bs_gram_kept kept, centers;
	float *wave;            /* waves that make the ends' samples, [sample][re, im][column] */
	double *lag;            /* waves that make the lags, [lag][re, im][row] */
	struct bs_fft to_image; /* transform that crops the readout */
	const struct bs_fft_kernels *fft;
	float *block; /* lines of one vector of coils, [BS_TEAM_MAX][2][block_size] */
	size_t block_size;
	double *g;    /* matrix G, [order][order] complex */
	double *work; /* workspaces [BS_TEAM_MAX][work_size] */
	double *around, *right;
	size_t work_size;
	/* These members belong to the run in progress. */
	const struct bs_grappa_lines *from;
	const struct bs_gram_kept *taking;
	uint32_t box[2];
	double *to;
};

int bs_gram_need(const struct bs_grappa_spec *spec, bool inside, struct bs_need *need,
		 struct bs_fail *why);
int bs_gram_plan(struct bs_gram *m, const struct bs_grappa_spec *spec, bool inside,
		 struct bs_arena *arena, struct bs_team *team, struct bs_fail *why);
void bs_gram_close(struct bs_gram *m);
/* BS_ERR_SIZE: there are more lines than planned, or none. */
int bs_gram_make(struct bs_gram *m, const struct bs_grappa_lines *lines, struct bs_fail *why);
void bs_gram_clear(struct bs_gram *m);
int bs_gram_join(struct bs_gram *m, const struct bs_grappa_lines *lines, struct bs_fail *why);
/*
 * Correlates the neighborhoods of the lines that were joined last with as many centers: to
 * [coil][order] complex, sum over places p of conj(d(p + o_i)) center(p). inside, one partition.
 */
int bs_gram_centers(struct bs_gram *m, const struct bs_grappa_lines *centers, double *to,
		    struct bs_fail *why);

#endif

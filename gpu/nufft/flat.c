/*
 * gpu/nufft/flat.c - a window whose error is the same over the whole field of view; see window.h
 *
 * A Kaiser-Bessel window is two to three times worse at the field's edge than on average, and the
 * edge decides whether an accuracy holds everywhere. Here the window's values w_j in the cells that
 * it covers are free, for each place of a sample between two cells. They are chosen by weighted
 * least squares over frequencies v in the field, such that sum_j w_j exp(i2pi v x_j) is the
 * window's transform. The transform is then set to the mean of that sum over the places,
 * frequencies that came out worst get more weight, and the next round begins. The result has half
 * the Kaiser-Bessel window's largest error, at the same width and oversampling.
 * Sources: Fessler, Sutton, IEEE Trans Signal Process 2003;51:560-574 (least squares for each
 * place); Lawson's weights (Rice, Usow, Math Comp 1968;22:118-127) make them a minimum of the
 * largest error.
 */
#include "gpu/nufft/window.h"

#include <math.h>

#define PLACES      ((int)BS_POLY_MAX)
#define FREQUENCIES 32
#define ROUNDS      24

struct flat {
	uint32_t taps;
	double weight[FREQUENCIES]; /* weights of the frequencies, sum 1 */
	double want[FREQUENCIES];   /* transform of the window at the frequencies */
	double cosine[FREQUENCIES][PLACES][BS_TAPS_MAX], sine[FREQUENCIES][PLACES][BS_TAPS_MAX];
	double tap[PLACES][BS_TAPS_MAX];
	double mean[PLACES]; /* weights of the mean over places, sum 1 */
};

static double place_of(int i)
{
	return 0.5 * (1.0 + cos(M_PI * (i + 0.5) / PLACES));
}

/*
 * The weight of place i in the mean: Fejer's rule, whose nodes are those of Chebyshev
 * interpolation.
 */
static double mean_of(int i)
{
	const double a = M_PI * (i + 0.5) / PLACES;
	double sum = 1.0;

	for (int j = 1; j <= PLACES / 2; j++)
		sum -= 2.0 * cos(2.0 * j * a) / (4.0 * j * j - 1.0);
	return sum / PLACES;
}

/* Sets the frequencies, closer towards the edge, where the error's last lobe is narrow. */
static void lay_frequencies(struct flat *f, const struct bs_window_shape *w)
{
	for (int k = 0; k < FREQUENCIES; k++) {
		const double t = cos(M_PI * (k + 0.5) / (2 * FREQUENCIES));
		const double v = t * 0.5 / w->oversampling;

		f->want[k] = bs_window_plain_transform(w, v);
		f->weight[k] = sqrt(1.0 - t * t) / (1.0 - t * t + 0.009);
		for (int i = 0; i < PLACES; i++)
			for (uint32_t j = 0; j < f->taps; j++) {
				const double a =
					2.0 * M_PI * v * (place_of(i) + j - w->width / 2.0);

				f->cosine[k][i][j] = cos(a);
				f->sine[k][i][j] = sin(a);
			}
	}
	for (int i = 0; i < PLACES; i++)
		f->mean[i] = mean_of(i);
}

/*
 * Makes L L' of the normal matrix sum_k g_k cos(2 pi v_k (a - b)), which is the same for all
 * places.
 */
static void factor(const struct flat *f, long double l[BS_TAPS_MAX][BS_TAPS_MAX])
{
	long double between[BS_TAPS_MAX] = { 0.0L };

	for (int k = 0; k < FREQUENCIES; k++) {
		const double g = f->weight[k] / (f->want[k] * f->want[k]);
		const long double c = (long double)f->cosine[k][0][0];
		const long double s = (long double)f->sine[k][0][0];

		for (uint32_t d = 0; d < f->taps; d++)
			between[d] += (long double)g * (c * (long double)f->cosine[k][0][d] +
							s * (long double)f->sine[k][0][d]);
	}
	between[0] *= 1.0L + 1e-15L;
	for (uint32_t a = 0; a < f->taps; a++)
		for (uint32_t b = 0; b <= a; b++) {
			long double sum = between[a - b];

			for (uint32_t c = 0; c < b; c++)
				sum -= l[a][c] * l[b][c];
			l[a][b] = a == b ? sqrtl(fmaxl(sum, 1e-18L * between[0])) : sum / l[b][b];
		}
}

/* Fits the taps at every place, and the transform that they have. */
static void fit_taps(struct flat *f)
{
	long double l[BS_TAPS_MAX][BS_TAPS_MAX];
	const uint32_t n = f->taps;

	factor(f, l);
	for (int i = 0; i < PLACES; i++) {
		long double x[BS_TAPS_MAX] = { 0.0L };

		for (int k = 0; k < FREQUENCIES; k++)
			for (uint32_t j = 0; j < n; j++)
				x[j] += (long double)(f->weight[k] / f->want[k] *
						      f->cosine[k][i][j]);
		for (uint32_t a = 0; a < n; a++) {
			for (uint32_t c = 0; c < a; c++)
				x[a] -= l[a][c] * x[c];
			x[a] /= l[a][a];
		}
		for (uint32_t a = n; a-- > 0;) {
			for (uint32_t c = a + 1; c < n; c++)
				x[a] -= l[c][a] * x[c];
			x[a] /= l[a][a];
		}
		for (uint32_t j = 0; j < n; j++)
			f->tap[i][j] = (double)x[j];
	}
}

/* Finds the transform that the taps have, and the weights of the next round. */
static void weigh_frequencies(struct flat *f)
{
	double error[FREQUENCIES];
	double most = 0.0;
	double all = 0.0;

	for (int k = 0; k < FREQUENCIES; k++) {
		double re[PLACES] = { 0.0 };
		double im[PLACES] = { 0.0 };

		/* the transform is real, since places come in pairs about the middle */
		f->want[k] = 0.0;
		error[k] = 0.0;
		for (int i = 0; i < PLACES; i++) {
			for (uint32_t j = 0; j < f->taps; j++) {
				re[i] += f->tap[i][j] * f->cosine[k][i][j];
				im[i] += f->tap[i][j] * f->sine[k][i][j];
			}
			f->want[k] += f->mean[i] * re[i];
		}
		for (int i = 0; i < PLACES; i++)
			error[k] += f->mean[i] * (pow(re[i] / f->want[k] - 1.0, 2.0) +
						  pow(im[i] / f->want[k], 2.0));
		error[k] = sqrt(error[k]);
		most = fmax(most, error[k]);
	}
	for (int k = 0; k < FREQUENCIES; k++) {
		f->weight[k] *= error[k] / most + 1e-3;
		all += f->weight[k];
	}
	for (int k = 0; k < FREQUENCIES; k++)
		f->weight[k] = f->weight[k] / all + 1e-7;
}

void bs_window_flatten(struct bs_window_shape *w)
{
	struct flat f = { .taps = (uint32_t)w->width };

	lay_frequencies(&f, w);
	for (int round = 0; round < ROUNDS; round++) {
		fit_taps(&f);
		weigh_frequencies(&f);
	}
	w->flat = true;
	for (uint32_t j = 0; j < f.taps; j++)
		for (int c = 0; c < PLACES; c++) {
			w->tap[j][c] = 0.0;
			for (int i = 0; i < PLACES; i++)
				w->tap[j][c] += f.tap[i][j] * cos(c * M_PI * (i + 0.5) / PLACES) *
						(c == 0 ? 1.0 : 2.0) / PLACES;
		}
}

double bs_window_flat_value(const struct bs_window_shape *w, uint32_t tap, double place)
{
	const double t = 2.0 * (2.0 * place - 1.0);
	double a = 0.0;
	double b = 0.0;

	for (int c = PLACES; c-- > 1;) { /* this is Clenshaw's recurrence */
		const double next = w->tap[tap][c] + t * a - b;

		b = a;
		a = next;
	}
	return w->tap[tap][0] + 0.5 * t * a - b;
}

double bs_window_flat_transform(const struct bs_window_shape *w, double v)
{
	double sum = 0.0;

	for (int i = 0; i < PLACES; i++)
		for (uint32_t j = 0; j < (uint32_t)w->width; j++)
			sum += mean_of(i) * bs_window_flat_value(w, j, place_of(i)) *
			       cos(2.0 * M_PI * v * (place_of(i) + j - w->width / 2.0));
	return sum;
}

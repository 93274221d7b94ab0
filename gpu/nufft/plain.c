/* gpu/nufft/plain.c - windows of closed form, Kaiser-Bessel and Gaussian; see window.h */
#include "gpu/nufft/window.h"

#include <math.h>

/* Returns J0 and I0 as one entire function of q = (beta^2)(1 - x^2): sum (q/4)^k / k!^2. */
static double bessel(double q)
{
	double sum = 1.0;
	double term = 1.0;

	if (q < 0.0)
		return j0(sqrt(-q));
	for (int k = 1; k < 200 && term > 1e-18 * sum; k++) {
		term *= q / (4.0 * k * k);
		sum += term;
	}
	return sum;
}

struct bs_window_shape bs_window_plain(enum bs_window kind, double width, double oversampling)
{
	/*
	 * only matrices of a few voxels have more oversampling, whose optimum would trade roundoff
	 * for nothing
	 */
	double s = oversampling > 4.0 ? 4.0 : oversampling;
	struct bs_window_shape w = { .kind = kind, .width = width, .oversampling = oversampling };

	if (kind == BS_WINDOW_KAISER_BESSEL) {
		double q = width * width / (s * s) * (s - 0.5) * (s - 0.5) - 0.8;

		w.shape = M_PI * sqrt(q > 0.1 ? q : 0.1);
	} else {
		/*
		 * at this width of the Gaussian the tail that is cut off equals the nearest alias
		 * at the field's edge: w^2/(8 s^2) = 2 pi^2 s^2 (1 - 1/oversampling)
		 */
		w.shape = sqrt(width / (4.0 * M_PI)) / pow(1.0 - 1.0 / s, 0.25);
	}
	return w;
}

double bs_window_plain_value(const struct bs_window_shape *w, double x)
{
	const double r = 2.0 * x / w->width;

	if (w->kind == BS_WINDOW_KAISER_BESSEL)
		return bessel(w->shape * w->shape * (1.0 - r * r)) / bessel(w->shape * w->shape);
	return exp(-x * x / (2.0 * w->shape * w->shape));
}

/*
 * Gauss-Legendre, 16 nodes on each of 16 panels of the half width: exact to double precision for
 * the 6 x 12 / 2 oscillations of the highest frequency that is used.
 */
double bs_window_plain_transform(const struct bs_window_shape *w, double v)
{
	static const double node[8] = { 0.0950125098376374402, 0.2816035507792589132,
					0.4580167776572273863, 0.6178762444026437484,
					0.7554044083550030339, 0.8656312023878317439,
					0.9445750230732325761, 0.9894009349916499326 };
	static const double weight[8] = { 0.1894506104550684963, 0.1826034150449235889,
					  0.1691565193950025382, 0.1495959888165767321,
					  0.1246289712555338720, 0.0951585116824927848,
					  0.0622535239386478929, 0.0271524594117540949 };
	const int panels = 16;
	double h = w->width / 4.0 / panels; /* half the width of a panel */
	double sum = 0.0;

	/* the transform of Kaiser-Bessel has a closed form, which is quicker */
	if (w->kind == BS_WINDOW_KAISER_BESSEL) {
		double b2 = w->shape * w->shape;
		double a = M_PI * w->width * v;
		double d = b2 - a * a;
		double s = sqrt(fabs(d));
		double f = s < 1e-6 ? 1.0 : (d > 0.0 ? sinh(s) : sin(s)) / s;

		return w->width * f / bessel(b2);
	}
	for (int p = 0; p < panels; p++)
		for (int i = 0; i < 16; i++) {
			double x = h * (2 * p + 1 + (i < 8 ? -node[i] : node[i - 8]));

			sum += weight[i % 8] * exp(-x * x / (2.0 * w->shape * w->shape)) *
			       cos(2.0 * M_PI * v * x);
		}
	return 2.0 * h * sum;
}

/*
 * gpu/calibrate/eigen_loops.h - the largest eigenpair of a Hermitian matrix in each lane
 *
 * Included by maps_simd.c (one matrix in each lane of a vector) and espirit.cu (one in each
 * thread). They define vec and mask (a number and a truth value for each lane), AT(p, i) (element
 * i of an array), FN, SELECT(mask, vec, vec), AND(mask, mask), ANY(mask), SQRT(vec), LEAST(vec,
 * vec), MOST(vec, vec) and ALL(float).
 * a: the lower triangle by rows, element (i, j) at 2 TRI(i, j) real, + 1 imaginary.
 *
 * The method is direct, so its time does not depend on the data, and no start vector can miss the
 * largest eigenvalue: Householder's reduction to a tridiagonal T, T's largest eigenvalue by
 * Laguerre's method from above (monotone there, and cubic), its eigenvector by the twisted
 * factorization. T less its largest eigenvalue is nowhere positive but for rounding: its factors
 * need no pivoting.
 * Source: Parlett, The Symmetric Eigenvalue Problem, SIAM 1998; Parlett & Dhillon, Linear Algebra
 * Appl 1997;267:247-279 (twisted factors).
 */

#define TRI(i, j)   ((i) * ((i) + 1) / 2 + (j))
#define RE(i, j)    AT(a, 2 * TRI(i, j))
#define IM(i, j)    AT(a, 2 * TRI(i, j) + 1)
#define EIGEN_ROWS  10 /* number of rows of n values in the scratch */
#define EIGEN_STEPS 24 /* most steps of Laguerre's method; 4 to 6 are made */
/* negligible value in a matrix whose trace is 1: the square of what float cannot resolve */
#define NOTHING 1e-24f
#define PIVOT   1e-12f

/* Computes p = A v over the rows from k + 1 on. Returns Re v^H p. */
FN vec eigen_times(const vec *a, int n, int k, vec *pr, vec *pi)
{
	vec dot = ALL(0.0f);

	for (int i = k + 1; i < n; i++) {
		const vec vr = RE(i, k);
		const vec vi = IM(i, k);
		vec sr = RE(i, i) * vr;
		vec si = RE(i, i) * vi;

		for (int j = k + 1; j < i; j++) {
			const vec ar = RE(i, j);
			const vec ai = IM(i, j);
			const vec wr = RE(j, k);
			const vec wi = IM(j, k);

			sr += ar * wr - ai * wi;
			si += ar * wi + ai * wr;
			AT(pr, j) += ar * vr + ai * vi;
			AT(pi, j) += ar * vi - ai * vr;
		}
		AT(pr, i) = sr;
		AT(pi, i) = si;
	}
	for (int i = k + 1; i < n; i++)
		dot += RE(i, k) * AT(pr, i) + IM(i, k) * AT(pi, i);
	return dot;
}

/* Replaces A by A - v w^H - w v^H; w is in p. */
FN void eigen_update(vec *a, int n, int k, const vec *pr, const vec *pi)
{
	for (int i = k + 1; i < n; i++) {
		const vec vr = RE(i, k);
		const vec vi = IM(i, k);
		const vec wr = AT(pr, i);
		const vec wi = AT(pi, i);

		for (int j = k + 1; j <= i; j++) {
			const vec xr = RE(j, k);
			const vec xi = IM(j, k);
			const vec yr = AT(pr, j);
			const vec yi = AT(pi, j);

			RE(i, j) -= vr * yr + vi * yi + wr * xr + wi * xi;
			IM(i, j) -= vi * yr - vr * yi + wi * xr - wr * xi;
		}
	}
}

/*
 * Reduces column k by its reflection I - tau v v^H. v replaces the column; e is the off-diagonal
 * element, made real; fr and fi are the phase that it had.
 */
FN void eigen_column(vec *a, int n, int k, vec *e, vec *fr, vec *fi, vec *tau)
{
	vec rest = ALL(0.0f);
	vec first, size, norm, scale;
	mask none;

	for (int i = k + 2; i < n; i++)
		rest += RE(i, k) * RE(i, k) + IM(i, k) * IM(i, k);
	first = RE(k + 1, k) * RE(k + 1, k) + IM(k + 1, k) * IM(k + 1, k);
	none = first < NOTHING;
	size = SELECT(none, ALL(0.0f), SQRT(first));
	scale = ALL(1.0f) / SELECT(none, ALL(1.0f), size);
	*fr = SELECT(none, ALL(1.0f), RE(k + 1, k) * scale);
	*fi = SELECT(none, ALL(0.0f), IM(k + 1, k) * scale);
	none = rest + first < NOTHING;
	norm = SELECT(none, ALL(0.0f), SQRT(rest + first));
	*e = norm;
	*tau = ALL(0.0f);
	if (k + 2 == n) /* a single element needs no reflection */
		return;
	scale = rest + (size + norm) * (size + norm);
	*tau = SELECT(none, ALL(0.0f), ALL(2.0f) / SELECT(none, ALL(1.0f), scale));
	RE(k + 1, k) = *fr * (size + norm);
	IM(k + 1, k) = *fi * (size + norm);
	*fr = -*fr;
	*fi = -*fi;
}

/*
 * Reduces a to tridiagonal form: writes d, e, phases and tau. The columns of a keep the
 * reflections.
 */
FN void eigen_reduce(vec *a, int n, vec *s)
{
	vec *d = &AT(s, 0);
	vec *e = &AT(s, n);
	vec *pr = &AT(s, 5 * n);
	vec *pi = &AT(s, 6 * n);

	for (int k = 0; k + 1 < n; k++) {
		vec fr, fi, tau, half;

		AT(d, k) = RE(k, k);
		eigen_column(a, n, k, &AT(e, k), &fr, &fi, &tau);
		AT(s, 2 * n + k) = fr;
		AT(s, 3 * n + k) = fi;
		AT(s, 4 * n + k) = tau;
		if (k + 2 == n)
			break;
		/* tau is up to 1 / NOTHING, whose square no float can hold. */
		half = ALL(0.5f) * tau * (tau * eigen_times(a, n, k, pr, pi));
		for (int i = k + 1; i < n; i++) {
			AT(pr, i) = tau * AT(pr, i) - half * RE(i, k);
			AT(pi, i) = tau * AT(pi, i) - half * IM(i, k);
		}
		eigen_update(a, n, k, pr, pi);
	}
	AT(d, n - 1) = RE(n - 1, n - 1);
}

/*
 * Returns the largest root of the characteristic polynomial p. q: the pivots of lambda - T, u =
 * q'/q, w = q''/q. The sums of u and w over the pivots give G = p'/p and H = G^2 - p''/p. A pivot
 * that is not positive means that rounding has put lambda on the root: lambda then stays.
 */
FN vec eigen_value(const vec *d, const vec *e, int n)
{
	vec lambda = ALL(0.0f);
	mask open;

	for (int k = 0; k < n; k++) {
		vec reach = AT(d, k);

		if (k > 0)
			reach += AT(e, k - 1);
		if (k + 1 < n)
			reach += AT(e, k);
		lambda = MOST(lambda, reach);
	}
	lambda = LEAST(lambda, ALL(1.0f)) * ALL(1.000001f);
	open = lambda > ALL(0.0f);
	for (int step = 0; step < EIGEN_STEPS && ANY(open); step++) {
		vec q = lambda - AT(d, 0);
		vec least = q;
		vec inverse = ALL(1.0f) / SELECT(q > ALL(0.0f), q, ALL(1.0f));
		vec u = inverse;
		vec w = ALL(0.0f);
		vec g = u;
		vec h = u * u;

		for (int k = 1; k < n; k++) {
			const vec t = AT(e, k - 1) * AT(e, k - 1) * inverse;
			const vec slope = ALL(1.0f) + t * u;
			const vec bend = t * (w - ALL(2.0f) * u * u);

			q = lambda - AT(d, k) - t;
			least = LEAST(least, q);
			inverse = ALL(1.0f) / SELECT(q > ALL(0.0f), q, ALL(1.0f));
			u = slope * inverse;
			w = bend * inverse;
			g += u;
			h += u * u - w;
		}
		open = AND(open, least > ALL(0.0f));
		h = ALL((float)(n - 1)) * (ALL((float)n) * h - g * g);
		u = ALL((float)n) / (g + SQRT(MOST(h, ALL(0.0f))));
		lambda = SELECT(open, lambda - u, lambda);
		open = AND(open, u > lambda * ALL(1e-7f));
	}
	return lambda;
}

/*
 * Writes the eigenvector of T, not normalized, to z: the factorization is twisted where the
 * remainder is least.
 */
FN void eigen_vector(const vec *d, const vec *e, int n, vec lambda, vec *z, vec *q, vec *r)
{
	vec best = ALL(3e38f);
	vec at = ALL(0.0f);

	for (int k = 0; k < n; k++) {
		const int j = n - 1 - k;
		vec up = AT(d, k) - lambda;
		vec down = AT(d, j) - lambda;

		if (k > 0)
			up -= AT(e, k - 1) * AT(e, k - 1) / AT(q, k - 1);
		if (k > 0)
			down -= AT(e, j) * AT(e, j) / AT(r, j + 1);
		AT(q, k) = SELECT(up * up > ALL(PIVOT * PIVOT), up, ALL(-PIVOT));
		AT(r, j) = SELECT(down * down > ALL(PIVOT * PIVOT), down, ALL(-PIVOT));
	}
	for (int k = 0; k < n; k++) {
		const vec left = AT(q, k) + AT(r, k) - (AT(d, k) - lambda);
		const mask better = left * left < best;

		best = SELECT(better, left * left, best);
		at = SELECT(better, ALL((float)k), at);
	}
	for (int k = 0; k < n; k++) {
		const vec here = ALL((float)k);
		vec before = ALL(0.0f);

		if (k > 0)
			before = -AT(e, k - 1) * AT(z, k - 1) / AT(r, k);
		AT(z, k) = SELECT(at < here, before, SELECT(at > here, ALL(0.0f), ALL(1.0f)));
	}
	for (int k = n - 2; k >= 0; k--)
		AT(z, k) =
			SELECT(at > ALL((float)k), -AT(e, k) * AT(z, k + 1) / AT(q, k), AT(z, k));
}

/*
 * Gives z the phases of T, applies the reflections, and writes it to out [n][re, im] with length 1.
 */
FN void eigen_back(const vec *a, int n, const vec *s, vec *out)
{
	vec fr = ALL(1.0f);
	vec fi = ALL(0.0f);
	vec power = ALL(0.0f);

	for (int k = 0; k < n; k++) {
		const vec z = AT(s, 7 * n + k);

		AT(out, 2 * k) = z * fr;
		AT(out, 2 * k + 1) = z * fi;
		power += z * z;
		if (k + 1 < n) {
			const vec re = fr * AT(s, 2 * n + k) - fi * AT(s, 3 * n + k);

			fi = fr * AT(s, 3 * n + k) + fi * AT(s, 2 * n + k);
			fr = re;
		}
	}
	power = ALL(1.0f) / SQRT(power);
	for (int k = 0; k < 2 * n; k++)
		AT(out, k) *= power;
	for (int k = n - 3; k >= 0; k--) {
		vec sr = ALL(0.0f);
		vec si = ALL(0.0f);

		for (int i = k + 1; i < n; i++) {
			sr += RE(i, k) * AT(out, 2 * i) + IM(i, k) * AT(out, 2 * i + 1);
			si += RE(i, k) * AT(out, 2 * i + 1) - IM(i, k) * AT(out, 2 * i);
		}
		sr *= AT(s, 4 * n + k);
		si *= AT(s, 4 * n + k);
		for (int i = k + 1; i < n; i++) {
			AT(out, 2 * i) -= RE(i, k) * sr - IM(i, k) * si;
			AT(out, 2 * i + 1) -= RE(i, k) * si + IM(i, k) * sr;
		}
	}
}

/*
 * a: n x n, positive semidefinite; overwritten. s: EIGEN_ROWS n values. out: [n][re, im], of length
 * 1. Returns the eigenvalue. A matrix of zeros has eigenvalue 0 and a unit vector.
 */
FN vec eigen_largest(vec *a, int n, vec *s, vec *out)
{
	vec trace = ALL(0.0f);
	vec scale, lambda;

	for (int i = 0; i < n; i++)
		trace += RE(i, i);
	trace = MOST(trace, ALL(0.0f));
	scale = SELECT(trace > ALL(1e-30f), ALL(1.0f), ALL(0.0f)) / MOST(trace, ALL(1e-30f));
	for (int i = 0; i < n * (n + 1); i++)
		AT(a, i) *= scale;
	eigen_reduce(a, n, s);
	lambda = eigen_value(&AT(s, 0), &AT(s, n), n);
	eigen_vector(&AT(s, 0), &AT(s, n), n, lambda, &AT(s, 7 * n), &AT(s, 8 * n), &AT(s, 9 * n));
	eigen_back(a, n, s, out);
	return lambda * trace;
}

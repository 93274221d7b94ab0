/* gpu/exact/loops.h - included by exact_simd.c alone, once for each type `real` */

typedef real SUFFIX(vec) __attribute__((vector_size(VECTOR_BYTES)));
#define VEC   SUFFIX(vec)
#define LANES (VECTOR_BYTES / (int)sizeof(real))
#define COLS  (2 * LANES)
#define LDA   (INNER_BYTES / (int)sizeof(real) + BS_EXACT_PAD)

/* Samples of one pass of the recurrence, so that its state stays in the first-level cache. */
#define SPAN 64

/*
 * The phases advance by one voxel per column through a complex product in double. Its rounding
 * errors add up to about N 1e-16, which neither type can show in a sum.
 */
static void SUFFIX(phases)(void *table, size_t ld, const float *k, uint32_t stride, uint32_t n,
			   uint32_t N)
{
	real *out = table;
	uint32_t cosines = (N + 1) / 2;
	uint32_t sines = N / 2;

	for (uint32_t from = 0; from < n; from += SPAN) {
		uint32_t span = n - from < SPAN ? n - from : SPAN;
		double c[SPAN] = { 0 };
		double s[SPAN] = { 0 };
		double cs[SPAN] = { 0 };
		double ss[SPAN] = { 0 };

		for (uint32_t m = 0; m < span; m++) {
			double half = M_PI * (double)k[(size_t)(from + m) * stride];

			sincos(2.0 * half, &ss[m], &cs[m]);
			if (N % 2 == 0)
				sincos(half, &s[m], &c[m]);
			else
				c[m] = 1.0;
		}
		for (uint32_t h = 0; h < cosines; h++) {
			real *co = out + h * ld + from;
			/*
			 * An odd axis has no sine at offset 0, so its sine column h - 1 belongs to
			 * h.
			 */
			uint32_t at = N % 2 == 0 ? h : h - 1;
			real *si = at < sines ? out + (cosines + at) * ld + from : NULL;

			for (uint32_t m = 0; m < span; m++)
				co[m] = (real)c[m];
			if (si != NULL)
				for (uint32_t m = 0; m < span; m++)
					si[m] = (real)s[m];
			for (uint32_t m = 0; m < SPAN; m++) {
				double next = c[m] * cs[m] - s[m] * ss[m];

				s[m] = s[m] * cs[m] + c[m] * ss[m];
				c[m] = next;
			}
		}
	}
}

static void SUFFIX(pack)(void *tiles, const void *table, size_t ld, uint32_t n, uint32_t N)
{
	const real *in = table;
	real *out = tiles;

	for (uint32_t first = 0; first < N; first += COLS) {
		uint32_t cols = N - first < COLS ? N - first : COLS;

		for (uint32_t m = 0; m < n; m++, out += COLS) {
			for (uint32_t c = 0; c < cols; c++)
				out[c] = in[(first + c) * ld + m];
			for (uint32_t c = cols; c < COLS; c++)
				out[c] = 0;
		}
	}
}

static void SUFFIX(form)(void *row, const void *d, const void *e, const void *y, uint32_t n)
{
	real *restrict out = row;
	const real *dd = d;
	const real *ee = e;
	const real *yy = y;

	if (ee == NULL)
		memset(out, 0, n * sizeof(real));
	else if (yy != NULL)
		for (uint32_t m = 0; m < n; m++)
			out[m] = dd[m] * ee[m] * yy[m];
	else
		for (uint32_t m = 0; m < n; m++)
			out[m] = dd[m] * ee[m];
}

/*
 * Computes acc = A B for one panel and one tile. Row r of a starts at a + r lda. Subtracting a zero
 * vector spreads a scalar over the lanes.
 */
#define PRODUCT(acc, a, lda, b, n)                                                                 \
	do {                                                                                       \
		memset(acc, 0, sizeof(acc));                                                       \
		for (uint32_t kk = 0; kk < (n); kk++) {                                            \
			VEC b0;                                                                    \
			VEC b1;                                                                    \
			memcpy(&b0, (b) + (size_t)kk * COLS, sizeof(b0));                          \
			memcpy(&b1, (b) + (size_t)kk * COLS + LANES, sizeof(b1));                  \
			_Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++)                    \
			{                                                                          \
				VEC ar = (a)[(size_t)r * (lda) + kk] - (VEC){ 0 };                 \
				acc[r][0] += ar * b0;                                              \
				acc[r][1] += ar * b1;                                              \
			}                                                                          \
		}                                                                                  \
	} while (0)

static void SUFFIX(add)(const void *a, const void *b, uint32_t n, double *t, size_t ldt)
{
	const real *aa = a;
	const real *bb = b;
	VEC acc[ROWS][2];

	PRODUCT(acc, aa, LDA, bb, n);
	for (int r = 0; r < ROWS; r++, t += ldt) {
		real sum[COLS];

		memcpy(sum, acc[r], sizeof(sum));
		for (int c = 0; c < COLS; c++)
			t[c] += (double)sum[c];
	}
}

#undef PRODUCT
#undef SPAN
#undef LDA
#undef COLS
#undef LANES
#undef VEC

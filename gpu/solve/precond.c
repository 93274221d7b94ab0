/* gpu/solve/precond.c - see precond.h */
#include "gpu/solve/precond.h"

#include <float.h>
#include <stddef.h>

double bs_precond_power(const float *maps, uint32_t coils, uint64_t voxels, uint64_t voxel)
{
	double sum = 0.0;

	if (coils == 0)
		return 1.0;
	for (uint32_t c = 0; c < coils; c++) {
		const float *s = maps + 2 * (c * voxels + voxel);

		sum += (double)s[0] * (double)s[0] + (double)s[1] * (double)s[1];
	}
	return sum;
}

void bs_precond_diagonal(float *r, const struct bs_csr *w, uint64_t voxels)
{
	if (w != NULL) {
		bs_csr_gram_diagonal(w, r);
		return;
	}
	for (uint64_t v = 0; v < voxels; v++)
		r[v] = 1.0f;
}

float bs_precond_inverse(double d, double most)
{
	if (d > FLT_EPSILON * most)
		return (float)(1.0 / d);
	return (float)(1.0 / (most > 0.0 ? most : 1.0));
}

/* core/frame/noise.c - see noise.h */
#include "core/frame/noise.h"

#include <math.h>
#include <string.h>

#include "core/frame/gram.h"

void bs_noise_start(struct bs_noise *n, const struct bs_scan_info *info)
{
	memset(n, 0, sizeof(*n));
	memcpy(n->scan, info->measurement, sizeof(n->scan));
	n->bandwidth = info->noise_bandwidth;
}

static bool finite_all(const double *gram, uint32_t coils)
{
	double sum = 0.0;

	for (size_t i = 0; i < (size_t)coils * coils; i++)
		sum += gram[i] * 0.0;
	return sum == 0.0;
}

bool bs_noise_add(struct bs_noise *n, const double *gram, uint32_t coils, uint32_t samples,
		  float dwell_us)
{
	if (coils > BS_COILS_MAX || !finite_all(gram, coils))
		return false;
	if (n->readouts == 0) {
		n->coils = coils;
		n->dwell_us = dwell_us;
	}
	if (coils != n->coils || dwell_us != n->dwell_us)
		return false;
	for (size_t i = 0; i < (size_t)coils * coils; i++)
		n->sum[i] += gram[i];
	n->readouts++;
	n->samples += samples;
	return true;
}

double bs_noise_scale(const struct bs_noise *n, float dwell_us)
{
	double scale = n->bandwidth > 0.0f ? 1.0 / (double)n->bandwidth : 1.0;

	return n->dwell_us > 0.0f && dwell_us > 0.0f ? scale * n->dwell_us / dwell_us : scale;
}

static double share(const struct bs_noise *n, double scale)
{
	return n->samples > 1 ? scale / (double)(n->samples - 1) : 0.0;
}

void bs_noise_covariance(const struct bs_noise *n, double scale, double *psi)
{
	bs_gram_matrix(n->sum, n->coils, share(n, scale), psi);
}

double bs_noise_deviation(const struct bs_noise *n, double scale, uint32_t coil)
{
	return sqrt(n->sum[(size_t)coil * n->coils + coil] * share(n, scale));
}

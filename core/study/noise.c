/* core/study/noise.c - see noise.h */
#include "core/study/noise.h"

#include <math.h>
#include <string.h>

#include "core/study/gram.h"

_Static_assert(BS_COILS_MAX == BS_LABELS_MAX, "a label for each coil");

void bs_noise_start(struct bs_noise *n, const struct bs_scan_info *info)
{
	memset(n, 0, sizeof(*n));
	memcpy(n->scan, info->measurement, sizeof(n->scan));
	n->bandwidth = info->noise_bandwidth;
	n->labels = info->labels;
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

void bs_noise_gram(double *gram, const struct bs_mrd_acq *head, const void *data)
{
	const uint32_t coils = head->active_channels;

	memset(gram, 0, (size_t)coils * coils * sizeof(*gram));
	bs_gram_add(gram, coils,
		    (uint32_t)head->number_of_samples - head->discard_pre - head->discard_post,
		    (const unsigned char *)data + (size_t)8 * head->discard_pre,
		    head->number_of_samples);
}

void bs_scan_noise_open(struct bs_scan_noise *s, const struct bs_scan_info *info,
			const struct bs_noise *earlier)
{
	struct bs_match match = { .by = BS_MATCHED_OWN };

	s->own = s->frozen = 0;
	if (earlier != NULL)
		bs_match_channels(&match, (struct bs_named){ &earlier->labels, earlier->scan },
				  (struct bs_named){ &info->labels, info->measurement },
				  earlier->coils);
	if (earlier != NULL && match.by != BS_MATCHED_NONE)
		s->noise = *earlier;
	else
		bs_noise_start(&s->noise, info);
	s->noise.match = match;
}

void bs_scan_noise_copy(struct bs_scan_noise *to, const struct bs_scan_noise *from)
{
	const size_t sums = (size_t)from->noise.coils * from->noise.coils;

	memcpy(&to->noise, &from->noise, offsetof(struct bs_noise, sum));
	memcpy(to->noise.sum, from->noise.sum, sums * sizeof(from->noise.sum[0]));
	to->own = from->own;
	to->frozen = from->frozen;
}

bool bs_scan_noise_add(struct bs_scan_noise *s, const struct bs_scan_info *info,
		       const struct bs_mrd_acq *head, const double *gram)
{
	if (s->frozen)
		return false;
	if (!s->own)
		bs_noise_start(&s->noise, info);
	s->own = 1;
	return bs_noise_add(&s->noise, gram, head->active_channels,
			    (uint32_t)head->number_of_samples - head->discard_pre -
				    head->discard_post,
			    head->sample_time_us);
}

int bs_scan_noise_freeze(struct bs_scan_noise *s, const struct bs_protocol *p,
			 const struct bs_scan_info *info, struct bs_fail *why)
{
	const struct bs_noise *n = &s->noise;

	if (s->frozen)
		return 0;
	if (p->whiten != BS_WHITEN_REQUIRE || (n->coils == p->coils && n->samples >= n->coils)) {
		s->frozen = 1;
		return 0;
	}
	if (n->readouts > 0)
		return bs_fail(why, BS_ERR_CALIBRATION,
			       "noise.whiten of protocol '%s': %llu samples of noise in %u coils, "
			       "of scan '%s', do not make a covariance of %u coils",
			       p->name, (unsigned long long)n->samples, n->coils, n->scan,
			       p->coils);
	if (n->match.by == BS_MATCHED_NONE)
		return bs_fail(why, BS_ERR_CALIBRATION, "noise.whiten of protocol '%s': %s",
			       p->name, n->match.words);
	return bs_fail(why, BS_ERR_CALIBRATION,
		       "noise.whiten of protocol '%s' requires noise: no readout of it came before "
		       "the first line, and %s%s%s",
		       p->name,
		       info->noise_scan[0] != '\0' ? "that of the header's noise scan '" : "",
		       info->noise_scan[0] != '\0' ? info->noise_scan : "the header names no",
		       info->noise_scan[0] != '\0' ? "' is not known" : " noise scan");
}

void bs_noise_keep(struct bs_noise_kept *k, const struct bs_noise *n)
{
	uint32_t at = k->next % BS_NOISE_KEPT;

	if (n->scan[0] == '\0' || n->samples == 0)
		return;
	for (uint32_t i = 0; i < BS_NOISE_KEPT; i++)
		if (strcmp(k->noise[i].scan, n->scan) == 0)
			at = i;
	/* the noise is written before the count: when repeated, it goes to the same place */
	k->noise[at] = *n;
	k->next += at == k->next % BS_NOISE_KEPT;
}

const struct bs_noise *bs_noise_find(const struct bs_noise_kept *k, const char *scan)
{
	for (uint32_t i = 0; scan[0] != '\0' && i < BS_NOISE_KEPT; i++)
		if (strcmp(k->noise[i].scan, scan) == 0)
			return &k->noise[i];
	return NULL;
}

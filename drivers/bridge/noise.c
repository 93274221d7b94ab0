/* drivers/bridge/noise.c - see noise.h */
#include "drivers/bridge/noise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "ipc/wire/mrd.h"

void bs_bridge_noise_begin(struct bs_bridge_noise *n, const char *scan)
{
	memset(n, 0, sizeof(*n));
	(void)snprintf(n->scan, sizeof(n->scan), "%s", scan);
}

void bs_bridge_noise_add(struct bs_bridge_noise *n, const unsigned char *acquisition, size_t len)
{
	struct bs_mrd_acq a;
	size_t traj_at;
	size_t data_at;

	if (n->scan[0] == '\0' ||
	    bs_mrd_parse_acq(&a, &traj_at, &data_at, acquisition, len, NULL) != 0 ||
	    !(a.flags & BS_MRD_IS_NOISE) || a.active_channels > BS_COILS_MAX ||
	    (n->channels != 0 && n->channels != a.active_channels))
		return;
	n->channels = a.active_channels;
	n->dwell_us = a.sample_time_us;
	n->samples += a.number_of_samples;
	for (uint32_t c = 0; c < n->channels; c++)
		for (uint32_t i = 0; i < a.number_of_samples; i++) {
			float v[2];

			memcpy(v, acquisition + data_at + 8 * (c * (size_t)a.number_of_samples + i),
			       8);
			n->sum[c][0] += (double)v[0];
			n->sum[c][1] += (double)v[1];
			n->square[c] += (double)v[0] * v[0] + (double)v[1] * v[1];
		}
}

void bs_bridge_noise_end(const struct bs_bridge_noise *n, struct bs_bridge_noises *all)
{
	struct bs_bridge_known k = { .channels = n->channels, .dwell_us = (double)n->dwell_us };
	struct bs_bridge_known *to = NULL;

	if (n->samples < 2 || n->channels == 0 || n->scan[0] == '\0')
		return;
	memcpy(k.scan, n->scan, sizeof(k.scan));
	for (uint32_t c = 0; c < n->channels; c++) {
		const double count = (double)n->samples;
		const double sum = n->sum[c][0] * n->sum[c][0] + n->sum[c][1] * n->sum[c][1];
		const double sigma = sqrt(fmax(0.0, (n->square[c] - sum / count) / (count - 1.0)));

		if (!isfinite(sigma))
			return;
		k.least = c == 0 || sigma < k.least ? sigma : k.least;
		k.largest = sigma > k.largest ? sigma : k.largest;
		k.mean += sigma / n->channels;
	}
	for (uint32_t i = 0; i < BS_BRIDGE_NOISES; i++)
		if (strcmp(all->known[i].scan, k.scan) == 0)
			to = &all->known[i];
	if (to == NULL)
		to = &all->known[all->next++ % BS_BRIDGE_NOISES];
	*to = k;
}

static void put(struct bs_text *t, const char *name, double value)
{
	bs_text_put(t, "<meta><name>%s</name><value>%.9g</value></meta>", name, value);
}

size_t bs_bridge_noise_words(char *out, size_t cap, const struct bs_bridge_noises *all,
			     const char *scan)
{
	struct bs_text t = { out, cap, 0, false };
	const struct bs_bridge_known *k = NULL;

	for (uint32_t i = 0; i < BS_BRIDGE_NOISES; i++)
		if (scan[0] != '\0' && strcmp(all->known[i].scan, scan) == 0)
			k = &all->known[i];
	bs_text_put(&t, "<ismrmrdMeta><meta><name>status</name><value>%s</value></meta>",
		    k != NULL ? "success" : "failed");
	if (k != NULL) {
		put(&t, "channels", k->channels);
		put(&t, "min_sigma", k->least);
		put(&t, "max_sigma", k->largest);
		put(&t, "mean_sigma", k->mean);
		put(&t, "noise_dwell_time_us", k->dwell_us);
	}
	bs_text_put(&t, "</ismrmrdMeta>");
	return t.len;
}

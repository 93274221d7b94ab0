/*
 * board/tool/command/delays.c - boreside delays: the gradient delays that a recording's spokes
 * show
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/command/tools.h"
#include "config/hint/place.h"
#include "core/frame/kind.h"
#include "core/protocol.h"
#include "core/traj/delay.h"
#include "drivers/tool/load/recording.h"

struct request {
	const char *recording;
	uint32_t spokes;
};

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPTION_U32, 0, "spokes", "N", AT(spokes),
	  .help = "the first N spokes of slice 0, contrast 0 (256)", .min = 2, .max = 4096 },
	{ BS_OPERAND, 0, NULL, "RECORDING", AT(recording),
	  .help = "of a 2D radial scan, its trajectory in it: MRD .h5, or a log",
	  .required = true },
	{ 0 },
};

struct collected {
	struct bs_spokes spokes;
	float *k, *data;
};

static int open_lists(struct collected *c, const struct bs_mrd_acq *h, uint32_t most,
		      struct bs_fail *why)
{
	const size_t samples = (size_t)h->number_of_samples - h->discard_pre - h->discard_post;

	if (h->trajectory_dimensions < 2)
		return bs_fail(why, BS_ERR_TRAJECTORY,
			       "acquisition %u carries no trajectory in two dimensions",
			       h->scan_counter);
	if (h->active_channels > BS_COILS_MAX)
		return bs_fail(why, BS_ERR_SIZE, "acquisition %u has %u channels, at most %u",
			       h->scan_counter, h->active_channels, BS_COILS_MAX);
	c->spokes.samples = (uint32_t)samples;
	c->spokes.coils = h->active_channels;
	/* at most 4,096 spokes of 65,535 samples from 64 coils are kept */
	c->k = calloc(most * samples, 2 * sizeof(*c->k));
	c->data = calloc(most * samples * c->spokes.coils, 2 * sizeof(*c->data));
	c->spokes.k = c->k;
	c->spokes.data = c->data;
	return c->k != NULL && c->data != NULL
		       ? 0
		       : bs_fail(why, BS_ERR_NOMEM, "%u spokes of %zu samples", most, samples);
}

static int take_spoke(struct collected *c, const struct bs_recorded *a, struct bs_fail *why)
{
	const struct bs_mrd_acq *h = &a->head;
	const size_t samples = c->spokes.samples;
	const uint32_t coils = c->spokes.coils;
	float *k = c->k + 2 * samples * c->spokes.readouts;
	float *data = c->data + 2 * samples * coils * c->spokes.readouts;

	if ((uint32_t)h->number_of_samples - h->discard_pre - h->discard_post != samples ||
	    h->active_channels != coils || h->trajectory_dimensions < 2)
		return bs_fail(why, BS_ERR_SIZE,
			       "acquisition %u: %u channels, %u trajectory dimensions; the first "
			       "spoke has %zu samples from %u",
			       h->scan_counter, h->active_channels, h->trajectory_dimensions,
			       samples, coils);
	for (size_t s = 0; s < samples; s++)
		memcpy(k + 2 * s, a->traj + (h->discard_pre + s) * h->trajectory_dimensions,
		       2 * sizeof(*k));
	for (uint32_t coil = 0; coil < coils; coil++)
		memcpy(data + 2 * samples * coil,
		       a->data + 2 * ((size_t)coil * h->number_of_samples + h->discard_pre),
		       samples * 2 * sizeof(*data));
	c->spokes.readouts++;
	return 0;
}

static int collect(struct collected *c, const struct request *o, struct bs_fail *why)
{
	struct bs_recording *in = NULL;
	struct bs_recorded a;
	int rc = bs_recording_open(&in, o->recording, why);

	for (uint32_t i = 0; rc == 0 && i < bs_recording_count(in); i++) {
		rc = bs_recording_read(in, i, &a, why);
		if (rc != 0 || c->spokes.readouts == o->spokes)
			break;
		if (bs_mrd_kind(a.head.flags) != BS_KIND_IMAGING || a.head.idx.slice != 0 ||
		    a.head.idx.contrast != 0 ||
		    a.head.number_of_samples <= a.head.discard_pre + a.head.discard_post)
			continue;
		if (c->k == NULL)
			rc = open_lists(c, &a.head, o->spokes, why);
		if (rc == 0)
			rc = take_spoke(c, &a, why);
	}
	if (in != NULL)
		(void)bs_recording_close(in, NULL);
	return rc;
}

static int run_delays(void *request)
{
	struct request *o = request;
	struct collected c = { .k = NULL };
	char hint[BS_PLACE_HINT];
	struct bs_fail why = { 0 };
	struct bs_delays d;
	int rc = collect(&c, o, &why);

	if (rc == 0)
		rc = bs_delay_estimate(&d, &c.spokes, &why);
	free(c.k);
	free(c.data);
	if (rc != 0)
		return bs_command_fail("%s: %s%s", o->recording, why.text,
				       bs_place_hint(o->recording, hint));
	(void)printf("trajectory: { delay = [%.5f, %.5f, 0.0]; delay_cross = [%.5f, 0.0, 0.0]; }\n"
		     "# %u spokes, %u crossings: two spokes differ by %.3g %% where they cross "
		     "with these delays, by %.3g %% without\n",
		     d.axis[0], d.axis[1], d.cross, c.spokes.readouts, d.pairs, 100.0 * d.after,
		     100.0 * d.before);
	return 0;
}

const struct bs_command bs_command_delays = {
	.name = "delays",
	.summary = "the gradient delays of a radial recording, as the site file has them",
	.notes =
		"By crossing spokes (RING, Rosenzweig et al. 2019). Delays belong to a scanner and "
		"a sequence: what one recording shows holds for the scans to come.",
	.options = options,
	.request = &(struct request){ .spokes = 256 },
	.run = run_delays,
};

/* board/certify/expected.c - see expected.h */
#include "board/certify/expected.h"

#include <stdlib.h>
#include <string.h>

#include "board/arm/armed.h"
#include "core/thread/clock.h"
#include "drivers/source/recording.h"
#include "ipc/wire/xml.h"

struct count {
	struct bs_protocol p;
	struct bs_armed armed;
	struct bs_team *team;
	struct bs_recording *in;
	struct bs_scan_info info;
	struct bs_recon_image image;
	uint64_t images;
};

/* The protocol's frames, without what its method computes. */
static void bare(struct bs_protocol *p)
{
	p->method = bs_methods[p->method].counting;
	p->density = BS_DENSITY_NONE;
	p->backend = BS_BACKEND_HOST;
	p->preview_every = 0;
	p->on_miss = BS_MISS_FLAG;
	if (p->combine == BS_COMBINE_SENSE) { /* without its maps */
		p->combine = BS_COMBINE_RSS;
		p->output = BS_OUTPUT_MAGNITUDE;
	}
	p->maps_file[0] = p->w_file[0] = p->density_file[0] = '\0';
}

static int pop_all(struct count *n, struct bs_fail *why)
{
	int rc;

	while ((rc = bs_recon_pop(n->armed.recon, &n->image, INT64_MAX, why)) == 1)
		n->images++;
	return rc;
}

static int feed(struct count *n, const struct bs_recorded *acq, struct bs_fail *why)
{
	uint32_t row;
	int rc;
	int popped;

	if (bs_admit_acq(&n->p, &n->armed.loaded.traj, &n->info, &acq->head, acq->traj, acq->data,
			 &row, NULL) != 0)
		return 0;
	do {
		rc = bs_recon_readout(n->armed.recon, &acq->head, row, acq->data, bs_now_ns(),
				      NULL);
		popped = pop_all(n, why);
	} while (popped == 0 && rc == BS_RECON_POP_FIRST);
	return popped;
}

static int prepare(struct count *n, const struct bs_site *site, const char *recording,
		   struct bs_fail *why)
{
	const char *xml;
	int rc = bs_recording_open(&n->in, recording, why);

	if (rc != 0)
		return rc;
	xml = bs_recording_xml(n->in);
	rc = bs_mrdxml_read(&n->info, xml, strlen(xml), why);
	if (rc == 0)
		rc = bs_team_open(&n->team, 1, why);
	if (rc == 0)
		rc = bs_armed_open(&n->armed, site, &n->p, n->team, why);
	if (rc != 0)
		return rc;
	n->image.pixels = aligned_alloc(BS_ALIGN, (bs_protocol_image_bytes(&n->p) + BS_ALIGN - 1) /
							  BS_ALIGN * BS_ALIGN);
	return n->image.pixels != NULL ? 0 : bs_fail(why, BS_ERR_NOMEM, "no memory for an image");
}

static int run(struct count *n, struct bs_fail *why)
{
	uint32_t readouts = bs_recording_count(n->in);
	struct bs_recorded acq;
	int rc = 0;

	bs_recon_scan(n->armed.recon, &n->info);
	for (uint32_t i = 0; rc == 0 && i < readouts; i++) {
		rc = bs_recording_read(n->in, i, &acq, why);
		if (rc == 0)
			rc = feed(n, &acq, why);
	}
	bs_recon_close(n->armed.recon);
	return rc == 0 ? pop_all(n, why) : rc;
}

int bs_expected_images(uint64_t *images, const struct bs_site *site, const struct bs_protocol *p,
		       const char *recording, struct bs_fail *why)
{
	struct count *n = calloc(1, sizeof(*n));
	int rc;

	*images = 0;
	if (n == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory to count a recording's images");
	n->p = *p;
	bare(&n->p);
	rc = prepare(n, site, recording, why);
	if (rc == 0)
		rc = run(n, why);
	*images = n->images;
	bs_armed_close(&n->armed);
	bs_team_close(n->team);
	if (n->in != NULL)
		(void)bs_recording_close(n->in, NULL);
	free(n->image.pixels);
	free(n);
	return rc;
}

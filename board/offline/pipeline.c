/* board/offline/pipeline.c - see pipeline.h */
#include "board/offline/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "ipc/wire/xml.h"

int bs_pipeline_open(struct bs_pipeline *l, const char *recording, struct bs_fail *why)
{
	const char *xml;
	int rc = bs_recording_open(&l->in, recording, why);

	if (rc != 0)
		return rc;
	xml = bs_recording_xml(l->in);
	return bs_mrdxml_read(&l->info, xml, strlen(xml), why);
}

int bs_pipeline_arm(struct bs_pipeline *l, const struct bs_site *site, const struct bs_protocol *p,
		    const struct bs_csr *w, uint32_t threads, struct bs_fail *why)
{
	size_t bytes = (size_t)bs_protocol_image_bytes(p);
	int rc = l->team != NULL ? 0 : bs_team_open(&l->team, (int)threads, why);

	if (rc != 0)
		return rc;
	bs_armed_close(&l->armed);
	rc = bs_armed_open_with(&l->armed, site, p, w, l->team, why);
	if (rc != 0)
		return rc;
	free(l->image.pixels);
	l->image.pixels = aligned_alloc(BS_ALIGN, (bytes + BS_ALIGN - 1) / BS_ALIGN * BS_ALIGN);
	return l->image.pixels != NULL
		       ? 0
		       : bs_fail(why, BS_ERR_NOMEM, "no memory for an image of %zu bytes", bytes);
}

static int feed(struct bs_pipeline *l, struct bs_recorded *acq,
		int (*take)(void *arg, struct bs_fail *why), void *arg, bool lenient,
		struct bs_fail *why)
{
	struct bs_fail refusal;
	uint32_t row;
	int rc = bs_admit_acq(l->armed.protocol, &l->armed.loaded.traj, &l->info, &acq->head,
			      acq->traj, acq->data, &row, lenient ? &refusal : why);

	if (rc != 0)
		return lenient ? 0 : rc;
	if (bs_protocol_uses(l->armed.protocol, bs_mrd_kind(acq->head.flags)))
		bs_admit_turn(l->armed.protocol, &acq->head, acq->data);
	l->taken_ns = bs_now_ns();
	do {
		rc = bs_recon_readout(l->armed.recon, &acq->head, row, acq->data, l->taken_ns,
				      lenient ? &refusal : why);
		if (rc < 0 && !lenient)
			return rc;
		int taken = take(arg, why);

		if (taken < 0)
			return taken;
	} while (rc == BS_RECON_POP_FIRST);
	return 0;
}

int bs_pipeline_run(struct bs_pipeline *l, int (*take)(void *arg, struct bs_fail *why), void *arg,
		    bool lenient, struct bs_fail *why)
{
	uint32_t n = bs_recording_count(l->in);
	struct bs_recorded acq;
	int rc = 0;

	bs_recon_scan(l->armed.recon, &l->info);
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		rc = bs_recording_read(l->in, i, &acq, why);
		if (rc == 0)
			rc = feed(l, &acq, take, arg, lenient, why);
	}
	if (rc != 0)
		return rc;
	bs_recon_close(l->armed.recon);
	return take(arg, why);
}

void bs_pipeline_close(struct bs_pipeline *l)
{
	if (l->in != NULL)
		(void)bs_recording_close(l->in, NULL);
	bs_armed_close(&l->armed);
	bs_team_close(l->team);
	free(l->image.pixels);
}

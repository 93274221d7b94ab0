/* board/tool/offline/pipeline.c - see pipeline.h */
#include "board/tool/offline/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/memory/pools.h"
#include "core/progress.h"
#include "core/thread/clock.h"
#include "drivers/file/cfl.h"
#include "drivers/log/solved.h"
#include "ipc/wire/xml.h"

#define GRAM ((size_t)BS_COILS_MAX * BS_COILS_MAX) /* most values of a noise readout's covariance */

int bs_pipeline_open(struct bs_pipeline *l, const char *recording, struct bs_fail *why)
{
	const char *xml;
	int rc = bs_recording_open(&l->in, recording, why);

	if (rc == 0 && bs_recording_count(l->in) == 0)
		rc = bs_fail(why, BS_ERR_LENGTH, "it has a header and no readout: no image");
	if (rc != 0)
		return rc;
	xml = bs_recording_xml(l->in);
	return bs_mrdxml_read(&l->info, xml, strlen(xml), why);
}

int bs_pipeline_noise(struct bs_pipeline *l, const char *recording, struct bs_fail *why)
{
	double gram[GRAM];
	struct bs_pipeline other = { 0 };
	struct bs_recorded acq;
	int rc = bs_pipeline_open(&other, recording, why);
	uint32_t n = rc == 0 ? bs_recording_count(other.in) : 0;

	if (rc == 0)
		bs_scan_noise_open(&other.noise, &other.info, NULL);
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		rc = bs_recording_read(other.in, i, &acq, why);
		if (rc == 0 && bs_mrd_kind(acq.head.flags) == BS_KIND_NOISE &&
		    bs_noise_fits(&acq.head)) {
			bs_noise_gram(gram, &acq.head, acq.data);
			(void)bs_scan_noise_add(&other.noise, &other.info, &acq.head, gram);
		}
	}
	if (rc == 0 && other.noise.noise.samples == 0)
		rc = bs_fail(why, BS_ERR_CALIBRATION, "%s has no readout of noise", recording);
	l->earlier = other.noise.noise;
	bs_pipeline_close(&other);
	return rc;
}

static int open_past(struct bs_pipeline *l, const struct bs_site *site, struct bs_fail *why)
{
	const uint64_t bytes = bs_study_bytes(site);

	l->past = calloc(1, sizeof(*l->past));
	if (l->past != NULL && bytes > 0)
		l->past->study = aligned_alloc(BS_ALIGN, (size_t)bytes);
	if (l->past == NULL || (bytes > 0 && l->past->study == NULL))
		return bs_fail(why, BS_ERR_NOMEM, "no memory for what earlier scans leave");
	if (bytes > 0) {
		memset(l->past->study, 0, (size_t)bytes);
		bs_study_init(l->past->study, site);
	}
	return 0;
}

static struct bs_study *study_of(const struct bs_pipeline *l)
{
	return l->past != NULL ? l->past->study : NULL;
}

static void name_study(struct bs_scan_info *info)
{
	if (info->study[0] == '\0')
		(void)snprintf(info->study, sizeof(info->study), "given");
}

/* Pops the earlier recording's images and drops them. */
static int leave_images(void *arg, struct bs_fail *why)
{
	struct bs_pipeline *l = arg;
	int rc;

	while ((rc = bs_recon_pop(l->armed.recon, &l->image, INT64_MAX, why)) == 1)
		if (study_of(l) != NULL)
			(void)bs_study_image(study_of(l), l->site, &l->scan_study,
					     l->armed.protocol, &l->info, &l->image);
	return rc;
}

int bs_pipeline_again(struct bs_pipeline *l, const char *recording, const struct bs_protocol *p,
		      struct bs_fail *why)
{
	const struct bs_solved_head head = { 0, p->name };
	int damaged;

	l->solved = calloc(1, sizeof(*l->solved));
	if (l->solved == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for how far solves went");
	damaged = bs_solved_read(l->solved, recording, &head, why);
	return damaged <= 0 ? damaged
			    : bs_fail(why, BS_ERR_FORMAT,
				      "the log's file " BS_SOLVED_SUFFIX " has %d damaged records: "
				      "without the file all images are made in full",
				      damaged);
}

int bs_pipeline_before(struct bs_pipeline *l, const struct bs_site *site, const char *protocol,
		       const char *recording, struct bs_fail *why)
{
	struct bs_pipeline other = { .borrowed = true };
	const struct bs_protocol *p;
	int rc = l->past != NULL ? 0 : open_past(l, site, why);

	name_study(&l->info);
	other.past = l->past;
	if (rc == 0)
		rc = bs_pipeline_open(&other, recording, why);
	name_study(&other.info);
	if (rc == 0) {
		p = bs_config_choose(site, protocol, other.info.protocol, why);
		rc = p != NULL ? bs_admit_scan(p, &other.info, why) : BS_ERR_PROTOCOL;
	}
	if (rc == 0)
		rc = bs_pipeline_arm(&other, site, p, NULL, site->threads, why);
	if (rc == 0)
		rc = bs_pipeline_run(&other, leave_images, &other, false, why);
	bs_pipeline_close(&other);
	return rc;
}

int bs_pipeline_arm(struct bs_pipeline *l, const struct bs_site *site, const struct bs_protocol *p,
		    const struct bs_csr *w, uint32_t threads, struct bs_fail *why)
{
	size_t bytes = (size_t)bs_protocol_leaving_bytes(p);
	int rc = l->team != NULL ? 0 : bs_team_open(&l->team, (int)threads, why);

	if (rc != 0)
		return rc;
	bs_armed_close(&l->armed);
	l->site = site;
	rc = bs_armed_open_with(&l->armed, site, p, w, l->team, why);
	if (rc != 0)
		return rc;
	free(l->image.pixels);
	l->image.pixels = aligned_alloc(BS_ALIGN, bs_slot(bytes));
	free(l->readout);
	l->room = (size_t)bs_pools_acq_message(p) + GRAM * sizeof(double);
	l->readout = malloc(l->room);
	return l->image.pixels != NULL && l->readout != NULL
		       ? 0
		       : bs_fail(why, BS_ERR_NOMEM, "no memory for an image of %zu bytes", bytes);
}

/* Leaves noise, maps and fields to later recordings. */
static int leave_data(struct bs_pipeline *l, struct bs_fail *why)
{
	if (l->past != NULL && l->noise.own)
		bs_noise_keep(&l->past->noise, &l->noise.noise);
	return bs_armed_leave(&l->armed, l->site, study_of(l), &l->scan_study, &l->info, why);
}

static int feed(struct bs_pipeline *l, struct bs_recorded *acq,
		int (*take)(void *arg, struct bs_fail *why), void *arg, bool lenient,
		struct bs_fail *why)
{
	const struct bs_intake in = { .p = l->armed.protocol,
				      .table = &l->armed.loaded.traj,
				      .info = &l->info,
				      .noise = &l->noise,
				      .scan = &l->scan_study,
				      .study = study_of(l),
				      .sums_noise = true,
				      .room = l->room };
	struct bs_fail refusal;
	uint32_t row;
	int rc =
		bs_admit_acq(&in, &acq->head, acq->traj, acq->data, &row, lenient ? &refusal : why);

	if (rc != 0)
		bs_recon_lost(l->armed.recon);
	if (rc != 0)
		return lenient ? 0 : rc;
	bs_intake_put(&in, &acq->head, row, acq->traj, acq->data, l->readout);
	bs_answered_readout(&l->answered, &acq->head, l->readout);
	if (l->change != NULL && bs_mrd_kind(acq->head.flags) == BS_KIND_IMAGING)
		l->change(l->change_arg, &acq->head, row, l->readout);
	if (bs_intake_sums(&in, &acq->head))
		(void)bs_scan_noise_add(&l->noise, &l->info, &acq->head, l->readout);
	rc = bs_intake_fits(&in, &acq->head, why);
	if (rc != 0)
		return rc;
	l->taken_ns = bs_now_ns();
	do {
		rc = bs_armed_readout(&l->armed, &acq->head, row, l->readout, l->taken_ns,
				      lenient ? &refusal : why);
		if (rc < 0 && !lenient)
			return rc;
		int taken = take(arg, why);

		if (taken < 0)
			return taken;
	} while (rc == BS_RECON_POP_FIRST);
	return 0;
}

static int run_scan(struct bs_pipeline *l, int (*take)(void *arg, struct bs_fail *why), void *arg,
		    bool lenient, struct bs_fail *why)
{
	uint32_t n = bs_recording_count(l->in);
	struct bs_recorded acq;
	const struct bs_noise *noise = l->earlier.samples > 0 ? &l->earlier : NULL;
	struct bs_progress progress;
	struct bs_fail refusal;
	int closed;
	int rc;

	if (l->earlier.samples == 0 && l->past != NULL)
		noise = bs_noise_find(&l->past->noise, l->info.noise_scan);
	bs_scan_noise_open(&l->noise, &l->info, noise);
	rc = bs_scan_study_open(&l->scan_study, study_of(l), l->armed.protocol, &l->info, why);
	bs_armed_scan(&l->armed, &l->info, &l->noise.noise);
	bs_recon_solved(l->armed.recon, l->solved);
	if (rc == 0)
		rc = bs_armed_take(&l->armed, study_of(l), &l->scan_study, &l->info, why);
	bs_progress_begin(&progress, "reconstructing", n, "readouts");
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		rc = bs_recording_read(l->in, i, &acq, why);
		if (rc == 0)
			rc = feed(l, &acq, take, arg, lenient, why);
		bs_progress_at(&progress, i + 1);
	}
	bs_progress_end(&progress);
	if (rc != 0)
		return rc;
	do {
		closed = bs_armed_scan_close(&l->armed, lenient ? &refusal : why);
		rc = take(arg, why);
	} while (rc >= 0 && closed == BS_RECON_POP_FIRST);
	if (rc >= 0 && closed < 0 && !lenient)
		rc = closed;
	return rc == 0 && !lenient ? leave_data(l, why) : rc;
}

int bs_pipeline_run(struct bs_pipeline *l, int (*take)(void *arg, struct bs_fail *why), void *arg,
		    bool lenient, struct bs_fail *why)
{
	int rc = bs_answered_open(&l->answered, l->answers_out, l->armed.protocol, &l->info, why);

	rc = rc == 0 ? run_scan(l, take, arg, lenient, why) : rc;
	return bs_answered_close(&l->answered, rc, why);
}

int bs_pipeline_field(struct bs_pipeline *l, const struct bs_protocol *p, const char *path,
		      struct bs_fail *why)
{
	const uint64_t size = bs_protocol_voxels(p) * p->slices;
	float *data = malloc((size_t)size * 2 * sizeof(*data));
	uint64_t dims[BS_CFL_DIMS];
	float most_hz;
	int rc;

	if (data == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the field map");
	rc = bs_armed_field(&l->armed, &l->info, data, &most_hz, why);
	for (uint64_t v = size; v-- > 0;) {
		data[2 * v] = data[v];
		data[2 * v + 1] = 0.0f;
	}
	bs_cfl_sizes(dims, p->matrix[0], p->matrix[1], p->matrix[2], 1);
	dims[13] = p->slices;
	if (rc == 0)
		rc = bs_cfl_write(path, dims, data, why);
	free(data);
	return rc;
}

void bs_pipeline_close(struct bs_pipeline *l)
{
	if (l->in != NULL)
		(void)bs_recording_close(l->in, NULL);
	bs_armed_close(&l->armed);
	bs_team_close(l->team);
	free(l->image.pixels);
	if (l->past != NULL && !l->borrowed) {
		free(l->past->study);
		free(l->past);
	}
	free(l->readout);
	free(l->solved);
}

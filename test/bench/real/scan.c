/* test/bench/real/scan.c - see scan.h */
#include "test/bench/real/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/protocol.h"
#include "core/thread/clock.h"
#include "drivers/tool/load/recording.h"
#include "ipc/wire/xml.h"

#define PAGE 4096u

static size_t data_floats(const struct bs_mrd_acq *h)
{
	return 2 * (size_t)h->number_of_samples * h->active_channels;
}

static size_t path_floats(const struct bs_mrd_acq *h)
{
	return (size_t)h->number_of_samples * h->trajectory_dimensions;
}

/* Behind the samples there is room for their path as the engines have it. */
static size_t room(const struct bs_mrd_acq *h)
{
	return (data_floats(h) + path_floats(h) + 15) / 16 * 16;
}

static int copy_readouts(struct real_recording *r, struct bs_recording *from, struct bs_fail *why)
{
	struct bs_recorded a;
	float *to;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < r->count; i++) {
		rc = bs_recording_read(from, i, &a, why);
		if (rc == 0)
			r->bytes += room(&a.head) * sizeof(float);
	}
	r->bytes = (r->bytes + PAGE - 1) / PAGE * PAGE;
	r->block = rc == 0 ? aligned_alloc(PAGE, r->bytes) : NULL;
	if (rc == 0 && r->block == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "%zu bytes of readouts", r->bytes);
	to = r->block;
	for (uint32_t i = 0; rc == 0 && i < r->count; i++) {
		struct real_readout *one = &r->readout[i];

		rc = bs_recording_read(from, i, &a, why);
		if (rc != 0)
			break;
		one->head = a.head;
		one->data = to;
		one->traj = malloc(path_floats(&a.head) * sizeof(float) + 1);
		if (one->traj == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "a path");
		memcpy(one->data, a.data, data_floats(&a.head) * sizeof(float));
		memcpy(one->traj, a.traj, path_floats(&a.head) * sizeof(float));
		to += room(&a.head);
	}
	return rc;
}

int real_read(struct real_recording *r, const char *path, struct bs_fail *why)
{
	struct bs_recording *from = NULL;
	int rc;

	memset(r, 0, sizeof(*r));
	rc = bs_recording_open(&from, path, why);
	if (rc != 0)
		return rc;
	rc = bs_mrdxml_read(&r->info, bs_recording_xml(from), strlen(bs_recording_xml(from)), why);
	r->count = bs_recording_count(from);
	r->readout = calloc(r->count, sizeof(*r->readout));
	if (rc == 0 && r->readout == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "%u readouts", r->count);
	if (rc == 0)
		rc = copy_readouts(r, from, why);
	(void)bs_recording_close(from, NULL);
	return rc;
}

void real_free(struct real_recording *r)
{
	for (uint32_t i = 0; r->readout != NULL && i < r->count; i++)
		free(r->readout[i].traj);
	free(r->readout);
	free(r->block);
	memset(r, 0, sizeof(*r));
}

static void print_fault(void *arg, const char *line)
{
	(void)arg;
	(void)printf("%s\n", line);
}

/* Every readout through the service's checks, once; noise is summed. */
static int admit(struct real_armed *a, struct bs_fail *why)
{
	const struct bs_protocol *p = a->armed.protocol;
	double *gram = malloc(sizeof(*gram) * BS_COILS_MAX * BS_COILS_MAX);
	int rc = gram == NULL ? bs_fail(why, BS_ERR_NOMEM, "a Gram matrix")
			      : bs_admit_scan(p, &a->from->info, why);

	bs_scan_noise_open(&a->noise, &a->from->info, NULL);
	for (uint32_t i = 0; rc == 0 && i < a->from->count; i++) {
		const struct real_readout *one = &a->from->readout[i];
		struct bs_mrd_acq head = one->head;

		rc = bs_admit_acq(p, &a->armed.loaded.traj, &a->from->info, &head, one->traj,
				  one->data, &a->row[i], why);
		if (rc == 0 && bs_mrd_kind(head.flags) == BS_KIND_NOISE) {
			bs_noise_gram(gram, &head, one->data);
			(void)bs_scan_noise_add(&a->noise, &a->from->info, &head, gram);
		}
		if (rc == 0 && p->plan.streams && a->row[i] != BS_ROW_NONE)
			bs_admit_path(p, &a->from->info, &head, one->traj,
				      one->data + bs_path_at(&head));
	}
	free(gram);
	return rc;
}

int real_open(struct real_armed *a, const struct real_recording *r, const char *config,
	      const char *protocol, struct bs_team *team, struct bs_fail *why)
{
	const struct bs_protocol *p = NULL;
	size_t bytes;
	int rc;

	memset(a, 0, sizeof(*a));
	a->from = r;
	a->team = team;
	a->site = malloc(sizeof(*a->site));
	a->row = malloc(sizeof(*a->row) * r->count);
	if (a->site == NULL || a->row == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "a site");
	rc = bs_config_load(a->site, config, print_fault, NULL);
	if (rc != 0)
		return bs_fail(why, rc, "the site file of the bench");
	p = bs_config_choose(a->site, protocol, NULL, why);
	if (p == NULL)
		return BS_ERR_PROTOCOL;
	rc = bs_armed_open_on(&a->armed, a->site, p, team, r->block, r->bytes, why);
	if (rc != 0)
		return rc;
	bytes = (size_t)bs_protocol_image_bytes(p);
	a->image.pixels = aligned_alloc(BS_ALIGN, (bytes + BS_ALIGN - 1) / BS_ALIGN * BS_ALIGN);
	if (a->image.pixels == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "an image");
	return admit(a, why);
}

void real_close(struct real_armed *a)
{
	bs_armed_close(&a->armed);
	free(a->image.pixels);
	free(a->row);
	free(a->site);
	memset(a, 0, sizeof(*a));
}

static bool is_line(const struct real_armed *a, uint32_t i)
{
	const uint64_t flags = a->from->readout[i].head.flags;

	return a->row[i] != BS_ROW_NONE && bs_mrd_kind(flags) == BS_KIND_IMAGING;
}

static int give(struct real_armed *a, uint32_t i, struct bs_fail *why)
{
	const struct real_readout *one = &a->from->readout[i];
	struct bs_mrd_acq head = one->head;

	head.flags &= ~BS_MRD_LAST_IN_MEASUREMENT;
	head.idx.repetition = (uint16_t)a->frames;
	return bs_armed_readout(&a->armed, &head, a->row[i], one->data, bs_now_ns(), why);
}

int real_begin(struct real_armed *a, struct bs_fail *why)
{
	int rc = 0;

	if (a->begun)
		(void)bs_armed_scan_close(&a->armed, why);
	while (bs_recon_ready(a->armed.recon) > 0)
		if (bs_recon_pop(a->armed.recon, &a->image, INT64_MAX, why) < 0)
			break;
	bs_armed_scan(&a->armed, &a->from->info, &a->noise.noise);
	a->begun = true;
	a->frames = 0;
	for (uint32_t i = 0; rc == 0 && i < a->from->count; i++)
		if (!is_line(a, i))
			rc = give(a, i, why);
	return rc;
}

static uint32_t last_line(const struct real_armed *a)
{
	uint32_t i = a->from->count - 1;

	while (i > 0 && !is_line(a, i))
		i--;
	return i;
}

int real_frame(struct real_armed *a, int64_t pause_ns, int64_t *spent_ns, struct bs_fail *why)
{
	const uint32_t last = last_line(a);
	uint64_t made;
	uint64_t read;
	int64_t start_ns;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < last; i++)
		if (is_line(a, i))
			rc = give(a, i, why);
	if (rc != 0)
		return rc > 0 ? bs_fail(why, BS_ERR_STATE, "an image was left") : rc;
	bs_recon_reading(a->armed.recon, true, &made, &read);
	start_ns = bs_now_ns();
	while (bs_now_ns() - start_ns < pause_ns)
		;
	start_ns = bs_now_ns();
	rc = give(a, last, why);
	if (rc == 0)
		rc = bs_recon_pop(a->armed.recon, &a->image, INT64_MAX, why);
	*spent_ns = bs_now_ns() - start_ns;
	a->frames++;
	if (rc == 0)
		return bs_fail(why, BS_ERR_STATE, "no image after the last line");
	return rc < 0 ? rc : 0;
}

/* board/tool/init/try.c - see try.h */
#include "board/tool/init/try.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/arm/memplan.h"
#include "board/arm/ready.h"
#include "board/command/command.h"
#include "board/tool/offline/pipeline.h"
#include "config/config.h"
#include "core/thread/clock.h"

#define MIB (UINT64_C(1) << 20)

/* Prints nothing: a larger node.memory_mib may be all that is needed. */
static void keep_quiet(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

int bs_try_check(struct bs_site *site, const char *file, uint64_t *plan_mib)
{
	struct bs_memplan *plan;
	int rc = bs_config_load(site, file, bs_command_tell, stderr);

	if (rc != 0)
		return rc;
	rc = bs_ready_protocol(site, &site->protocol[0], bs_command_tell, stderr);
	plan = malloc(sizeof(*plan));
	if (rc != 0 || plan == NULL) {
		free(plan);
		return rc != 0 ? rc : BS_ERR_IO;
	}
	rc = bs_memplan_make(plan, site, keep_quiet, NULL);
	*plan_mib = (plan->total_bytes + MIB - 1) / MIB;
	if (rc == BS_ERR_NOMEM && *plan_mib <= site->memory_mib)
		rc = BS_ERR_SIZE;
	if (rc != 0 && rc != BS_ERR_NOMEM)
		(void)bs_memplan_make(plan, site, bs_command_tell, stderr);
	free(plan);
	return rc;
}

void bs_try_places(const struct bs_site *site)
{
	(void)bs_ready_places(site, bs_command_tell, stderr);
}

struct trial {
	struct bs_pipeline pipeline;
	struct bs_tried *tried;
};

static int count_images(void *arg, struct bs_fail *why)
{
	struct trial *t = arg;
	struct bs_recon_image *image = &t->pipeline.image;
	int rc;

	while ((rc = bs_recon_pop(t->pipeline.armed.recon, image, INT64_MAX, why)) == 1) {
		if (image->preview)
			continue;
		t->tried->images++;
		if (t->tried->readout[0] == '\0')
			memcpy(t->tried->readout, image->readout, sizeof(t->tried->readout));
		if (image->lacks[0] == '\0')
			continue;
		if (t->tried->partial++ == 0)
			memcpy(t->tried->lacks, image->lacks, sizeof(t->tried->lacks));
	}
	return rc;
}

int bs_try_run(struct bs_tried *tried, const struct bs_site *site, const char *recording,
	       struct bs_fail *why)
{
	const struct bs_protocol *p = &site->protocol[0];
	struct trial *t = calloc(1, sizeof(*t));
	int64_t begun_ns = bs_now_ns();
	int rc;

	memset(tried, 0, sizeof(*tried));
	if (t == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory to try the recording");
	t->tried = tried;
	rc = bs_pipeline_open(&t->pipeline, recording, why);
	if (rc == 0)
		rc = bs_admit_scan(p, &t->pipeline.info, why);
	if (rc == 0)
		rc = bs_pipeline_arm(&t->pipeline, site, p, NULL, site->threads, why);
	tried->armed_ms = (double)(bs_now_ns() - begun_ns) * 1e-6;
	begun_ns = bs_now_ns();
	if (rc == 0)
		rc = bs_pipeline_run(&t->pipeline, count_images, t, false, why);
	if (rc == 0)
		(void)bs_recon_words(t->pipeline.armed.recon, tried->words, sizeof(tried->words));
	tried->ran_ms = (double)(bs_now_ns() - begun_ns) * 1e-6;
	if (rc == 0 && tried->images == 0)
		rc = bs_fail(why, BS_ERR_STATE, "it makes no image");
	bs_pipeline_close(&t->pipeline);
	free(t);
	return rc;
}

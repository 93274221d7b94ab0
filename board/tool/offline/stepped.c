/* board/tool/offline/stepped.c - see stepped.h */
#include "board/tool/offline/stepped.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/thread/clock.h"
#include "drivers/step/start.h"

#define PAUSE_NS INT64_C(2000000)

static bool has_ended(struct bs_stepped *s)
{
	if (s->pid != 0 && waitpid(s->pid, NULL, WNOHANG) == s->pid)
		s->pid = 0;
	return s->pid == 0;
}

static int start_step(struct bs_stepped *s, const struct bs_step_spec *spec, struct bs_fail *why)
{
	int rc = bs_step_start(&s->pid, spec, s->dir, why);

	while (rc == 0 && !bs_door_ready(&s->door)) {
		if (has_ended(s))
			return bs_fail(why, BS_ERR_ABORTED,
				       "step '%s' ended before it was ready: %s", spec->name,
				       spec->command);
		bs_door_look(&s->door);
		bs_sleep_ns(PAUSE_NS);
	}
	return rc;
}

int bs_stepped_open(struct bs_stepped *s, const struct bs_site *site, const struct bs_protocol *p,
		    struct bs_fail *why)
{
	const struct bs_step_spec *spec = p->step.at > 0 ? &site->step[p->step.at - 1] : NULL;
	const uint64_t bytes = bs_protocol_leaving_bytes(p);
	const uint64_t frame = bs_protocol_kspace_bytes(p);
	int rc;

	memset(s, 0, sizeof(*s));
	if (spec == NULL)
		return 0;
	(void)snprintf(s->result.name, sizeof(s->result.name), "%s", spec->name);
	(void)snprintf(s->dir, sizeof(s->dir), "/tmp/boreside-step-XXXXXX");
	if (mkdtemp(s->dir) == NULL) {
		s->dir[0] = '\0';
		return bs_fail(why, BS_ERR_IO, "a folder for step '%s': %s", spec->name,
			       strerror(errno));
	}
	s->out = malloc((size_t)bytes);
	rc = s->out == NULL ? bs_fail(why, BS_ERR_NOMEM, "no memory for step '%s'", spec->name)
			    : bs_door_open(&s->door, s->dir, spec->name,
					   bytes > frame ? bytes : frame, 0.0, why);
	if (rc == 0 && spec->command[0] == '\0')
		bs_log(BS_LOG_WARN,
		       "step '%s' has no command in the site file: the images are without it",
		       spec->name);
	else if (rc == 0)
		rc = start_step(s, spec, why);
	return rc;
}

int bs_stepped_run(struct bs_stepped *s, const struct bs_protocol *p, struct bs_recon_image *image,
		   struct bs_image_timing *timing, struct bs_fail *why)
{
	struct bs_door_job job = { .head = &image->head,
				   .pixels = image->pixels,
				   .bytes = bs_protocol_image_bytes(p) *
					    (p->volume ? image->joined.slices : 1),
				   .scan = 1,
				   .image = (uint32_t)image->number,
				   .by_ns = INT64_MAX };

	timing->step = NULL;
	if (p->step.at == 0 || image->preview)
		return 0;
	bs_door_look(&s->door);
	bs_door_give_frame(&job, p, image->kspace);
	bs_door_run(&s->door, &job, s->out, &s->result);
	timing->step = &s->result;
	if (s->result.verdict == BS_STEP_USED)
		image->pixels = s->out;
	if (s->result.verdict == BS_STEP_DIED || s->result.verdict == BS_STEP_STALE)
		return bs_fail(why, BS_ERR_ABORTED, "step '%s' at image %llu: %s", s->result.name,
			       (unsigned long long)image->number,
			       bs_step_verdict_name(s->result.verdict));
	if (bs_step_bypassed(s->result.verdict) && s->result.verdict != BS_STEP_ABSENT)
		bs_log(BS_LOG_WARN, "image %llu leaves without step '%s': %s",
		       (unsigned long long)image->number, s->result.name,
		       bs_step_verdict_name(s->result.verdict));
	return 0;
}

void bs_stepped_close(struct bs_stepped *s)
{
	if (s->dir[0] == '\0')
		return;
	if (s->door.path[0] != '\0')
		bs_door_close(&s->door);
	if (s->pid != 0) {
		(void)kill(s->pid, SIGTERM);
		for (int i = 0; i < 500 && !has_ended(s); i++)
			bs_sleep_ns(PAUSE_NS);
	}
	if (s->pid != 0) {
		(void)kill(s->pid, SIGKILL);
		(void)waitpid(s->pid, NULL, 0);
	}
	free(s->out);
	(void)rmdir(s->dir);
	s->dir[0] = '\0';
}

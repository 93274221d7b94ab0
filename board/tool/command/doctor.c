/*
 * board/tool/command/doctor.c - boreside doctor: is this node fit to be on time, and what would
 * help
 */
#include <stdio.h>
#include <stdlib.h>

#include "board/tool/command/tools.h"
#include "board/tool/doctor/finding.h"

struct request {
	const char *config, *root;
};

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", AT(config),
	  .help = "the site file: what the service wants here, its folders and sockets" },
	{ BS_OPTION_TEXT, 0, "root", "DIR", AT(root),
	  .help = "read /proc and /sys below this folder (those of this machine)" },
	{ 0 },
};

static void tell_finding(void *arg, enum bs_health health, const char *what, const char *figure,
			 const char *remedy)
{
	static const char *const words[BS_HEALTHS] = { "ok  ", "warn", "FAIL" };

	(void)fprintf(arg, "%s %s: %s%s%s\n", words[health], what, figure,
		      remedy[0] != '\0' ? ": " : "", remedy);
}

/* Returns the folder of MPS' pipes, from the variable that its daemon uses. */
static const char *mps(char out[320])
{
	const char *dir = getenv("CUDA_MPS_PIPE_DIRECTORY");

	(void)snprintf(out, 320, "%.255s/control",
		       dir != NULL && dir[0] != '\0' ? dir : "/tmp/nvidia-mps");
	return out;
}

static int run_doctor(void *request)
{
	struct request *q = request;
	struct bs_doctor d = { .tell = tell_finding, .arg = stdout };
	struct bs_site *site = NULL;
	char pipes[320];

	if (q->config != NULL) {
		site = bs_command_site(q->config);
		if (site == NULL)
			return 1;
	}
	d.root = q->root;
	d.site = site;
	/* the check of the GPU forks, so it comes first */
	bs_doctor_gpu(&d, mps(pipes));
	bs_doctor_priority(&d);
	bs_doctor_throttle(&d);
	bs_doctor_lock(&d);
	bs_doctor_memory(&d);
	bs_doctor_paging(&d);
	bs_doctor_files(&d);
	bs_doctor_stack(&d);
	bs_doctor_size(&d);
	bs_doctor_processors(&d);
	bs_doctor_governor(&d);
	bs_doctor_idle(&d);
	bs_doctor_clock(&d);
	bs_doctor_disks(&d);
	bs_doctor_sockets(&d);
	(void)printf("%u ok, %u warn, %u FAIL\n", d.count[BS_HEALTH_OK], d.count[BS_HEALTH_WARN],
		     d.count[BS_HEALTH_FAIL]);
	free(site);
	return d.count[BS_HEALTH_FAIL] > 0 ? 1 : 0;
}

const struct bs_command bs_command_doctor = {
	.name = "doctor",
	.summary = "is this machine fit to be on time; what would help",
	.options = options,
	.notes = "One line for each thing that was looked at: ok, warn or FAIL, what, the figure, "
		 "and the remedy. Run it as the user, and with the limits, of the service. Exit "
		 "status 1 where anything is FAIL.",
	.request = &(struct request){ .root = "" },
	.run = run_doctor,
};

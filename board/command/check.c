/* board/command/check.c - boreside check: would the service start, and what memory will it take */
#include "board/command/command.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "board/arm/measure.h"
#include "board/arm/memplan.h"
#include "board/arm/ready.h"
#include "config/config.h"
#include "core/peers.h"
#include "core/progress.h"
#include "core/text.h"
#include "core/thread/canaries.h"

struct request {
	const char *file;
	bool measure, keys;
};

static const struct bs_option options[] = {
	{ BS_OPTION_FLAG, 0, "measure", NULL, offsetof(struct request, measure),
	  .help = "arm every protocol that has a budget, time it, and refuse what cannot be met" },
	{ BS_OPTION_FLAG, 0, "keys", NULL, offsetof(struct request, keys),
	  .help = "no file: print all keys of a site file, as Markdown" },
	{ BS_OPERAND, 0, NULL, "FILE", offsetof(struct request, file), .help = "the site file" },
	{ 0 },
};

static void warn(const struct bs_site *site)
{
	struct bs_peers peers;
	struct bs_fail why;

	if (bs_peers_read(&peers, site->mrd.allow, &why) == 0 && bs_peers_wide(&peers))
		(void)fprintf(stderr,
			      "%s: bridges.mrd.allow: warning: \"%s\" lets nearly anybody connect "
			      "who reaches this port; nobody proves there who he is\n",
			      site->file, site->mrd.allow);
}

/* Prints who starts the steps, and what keeps them apart from the service. */
static void print_steps(const struct bs_site *site)
{
	for (uint32_t i = 0; i < site->steps; i++) {
		const struct bs_step_spec *s = &site->step[i];

		if (s->command[0] == '\0')
			(void)printf("# step '%s' on '%s': the service starts nothing; the unit "
				     "boreside-step@%s connects to %s/%s\n",
				     s->name, s->on, s->name, s->dir, s->name);
		else
			(void)printf("# step '%s' on '%s': a process of the service's own user, "
				     "which may do what that user may: no sandbox; a unit has one "
				     "(command \"\")\n",
				     s->name, s->on);
	}
}

bool (*bs_check_untested)(char *to, size_t size, const struct bs_protocol *p);

static void print_untested(const struct bs_site *site)
{
	char words[160];

	for (uint32_t i = 0; bs_check_untested != NULL && i < site->protocols; i++) {
		(void)bs_check_untested(words, sizeof(words), &site->protocol[i]);
		if (words[0] != '\0')
			(void)printf("# self-test of '%s': %s\n", site->protocol[i].name, words);
	}
}

/* Prints a valid site as a valid site file, with the plan in comments after it;
 * else the faults alone. */
static int check_site(const struct bs_site *site, struct bs_memplan *plan)
{
	int rc = bs_ready_places(site, bs_command_tell, stderr);
	int bad;

	for (uint32_t i = 0; i < site->protocols; i++) {
		bad = bs_ready_protocol(site, &site->protocol[i], bs_command_tell, stderr);
		rc = rc != 0 ? rc : bad;
	}
	bad = bs_memplan_make(plan, site, bs_command_tell, stderr);
	rc = rc != 0 ? rc : bad;
	warn(site);
	if (rc != 0)
		return 1;
	(void)printf("# %s is valid, as resolved\n", site->file);
	bs_config_print(stdout, site);
	(void)printf("#\n");
	bs_memplan_print(stdout, plan, site, "# ");
	print_steps(site);
	print_untested(site);
	return 0;
}

/* Measures one protocol. Returns 0, or the code of a budget that cannot be
 * met, or another error. */
static int measure_one(const struct bs_site *site, const struct bs_protocol *p,
		       struct bs_team *team)
{
	static struct bs_canary canary[BS_CANARIES];
	struct bs_canaries canaries;
	struct bs_measure_env env = { .seconds = BS_MEASURE_SECONDS, .canary = canary };
	static struct bs_admission admission;
	struct bs_armed a;
	struct bs_fail why = { 0 };
	int rc = bs_armed_open(&a, site, p, team, &why);

	if (rc == 0) {
		bs_canaries_start(&canaries, canary, BS_CANARIES, NULL, 0);
		env.canaries = canaries.count;
		rc = bs_measure(&admission, &a, &env, &why);
		bs_canaries_stop(&canaries);
		if (rc == 0) {
			bs_measure_print(stdout, &admission, p, "# ");
			rc = bs_admission_judge(&admission, p, &why);
		}
		bs_armed_close(&a);
	}
	if (rc != 0)
		(void)fprintf(stderr, "%s: %s\n", site->file, why.text);
	return rc;
}

/* Arms and times every protocol with a budget on this machine, one after the other. */
static int measure(const struct bs_site *site, const struct bs_memplan *plan)
{
	const struct sched_param rt = { .sched_priority = (int)site->realtime.priority };
	struct bs_team *team;
	struct bs_fail why;
	int status = 0;

	/* takes the service's priority where that is allowed; the team inherits it */
	if (site->realtime.priority > 0)
		(void)sched_setscheduler(0, SCHED_FIFO, &rt);
	if (bs_team_open(&team, (int)site->threads, &why) != 0)
		return bs_command_fail("%s", why.text);
	(void)printf("#\n");
	for (uint32_t i = 0; i < site->protocols; i++) {
		const struct bs_protocol *p = &site->protocol[i];

		if ((p->image_ms <= 0.0 && p->stage_ms[BS_BUDGET_CALIBRATION] <= 0.0) ||
		    plan->protocol[i].why.code != 0)
			continue;
		status |= measure_one(site, p, team) != 0;
		(void)fflush(stdout);
	}
	bs_team_close(team);
	return status;
}

static int run_check(void *request)
{
	struct request *q = request;
	struct bs_memplan *plan;
	struct bs_site *site;
	int status;

	if ((q->file == NULL) != q->keys || (q->measure && q->keys))
		return bs_options_wrong(q->keys ? "--keys goes alone" : "FILE is missing");
	if (q->keys)
		return bs_command_page("keys");
	site = bs_command_site(q->file);
	if (site == NULL)
		return 1;
	plan = malloc(sizeof(*plan));
	if (plan == NULL) {
		free(site);
		return bs_command_fail("no memory");
	}
	status = check_site(site, plan);
	bs_progress_use();
	if (status == 0 && q->measure)
		status = measure(site, plan);
	if (status == 0)
		(void)printf("# %s is valid: %u protocol%s\n", site->file, site->protocols,
			     bs_text_s(site->protocols));
	free(plan);
	free(site);
	return status;
}

const struct bs_command bs_command_check = {
	.name = "check",
	.summary = "is a site file valid; its memory plan and budgets",
	.notes = "Refuses, with the same words, what serve would refuse to start with: keys, "
		 "folders and sockets that cannot be used, files that are not what their protocol "
		 "needs, memory, GPUs; as the user who calls it. It arms nothing: Q, weights by "
		 "iteration and what is measured are left to --measure and to boreside arm; "
		 "another service in the folder, a port in use and memory that others hold, to "
		 "the start.",
	.options = options,
	.request = &(struct request){ 0 },
	.run = run_check,
};

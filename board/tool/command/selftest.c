/* board/tool/command/selftest.c - boreside selftest: known k-space through each engine */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/command/tools.h"
#include "board/tool/selftest/selftest.h"
#include "core/thread/clock.h"

struct request {
	const char *config, *protocol;
};

static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", offsetof(struct request, config),
	  .help = "the site file", .required = true },
	{ BS_OPTION_TEXT, 'p', "protocol", "PROTOCOL", offsetof(struct request, protocol),
	  .help = "that one alone (all)" },
	{ 0 },
};

/* Arms and tests one protocol; prints a line. Returns the exit status. */
static int test_one(const struct bs_site *site, const struct bs_protocol *p, struct bs_team *team)
{
	static struct bs_armed a;
	struct bs_selftest t = { 0 };
	struct bs_fail why = { 0 };
	int64_t begun_ns;
	int rc = bs_armed_open(&a, site, p, team, &why);

	if (rc != 0)
		return bs_command_fail("%s: %s", p->name, why.text);
	begun_ns = bs_now_ns();
	rc = bs_selftest(&t, &a, team, &why);
	(void)printf("%-20s %s: ", p->name, bs_armed_engine(&a));
	if (rc != 0)
		(void)printf("%s\n", why.text);
	else if (t.tolerance == 0.0)
		(void)printf("%s\n", t.words);
	else
		(void)printf("passed: off by %.2g, %.2g is allowed (%.0f ms)%s\n", t.error,
			     t.tolerance, (double)(bs_now_ns() - begun_ns) * 1e-6,
			     t.words + strlen("passed"));
	bs_armed_close(&a);
	return rc != 0;
}

static int run_selftest(void *request)
{
	struct request *q = request;
	struct bs_team *team = NULL;
	struct bs_site *site;
	struct bs_fail why = { 0 };
	unsigned found = 0;
	int status;

	site = bs_command_site(q->config);
	if (site == NULL)
		return 1;
	status = bs_team_open(&team, (int)site->threads, &why);
	if (status != 0)
		status = bs_command_fail("%s", why.text);
	for (uint32_t i = 0; team != NULL && i < site->protocols; i++)
		if (q->protocol == NULL || strcmp(site->protocol[i].name, q->protocol) == 0) {
			status |= test_one(site, &site->protocol[i], team);
			found++;
		}
	if (team != NULL && found == 0)
		status =
			bs_command_fail("no protocol '%s'", q->protocol != NULL ? q->protocol : "");
	bs_team_close(team);
	free(site);
	return status;
}

const struct bs_command bs_command_selftest = {
	.name = "selftest",
	.summary = "known k-space through each protocol's engine, held to sums in double precision",
	.options = options,
	.after = "Exit status 1 when a protocol is off by more than its tolerance, or cannot be "
		 "armed. What a protocol has that is not tested is said. See board/doc/OPERATE.md.",
	.request = &(struct request){ 0 },
	.run = run_selftest,
};

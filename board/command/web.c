/* board/command/web.c - boreside web: the page in a browser */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "board/command/command.h"
#include "board/web/web.h"

#define NICE 10

struct request {
	const char *config, *listen;
	uint32_t parent; /* process of the service; 0: started by hand */
};

static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", offsetof(struct request, config),
	  .help = "the service's site file", .required = true },
	{ BS_OPTION_TEXT, 0, "listen", "127.0.0.1:PORT", offsetof(struct request, listen),
	  .help = "where, in place of web.listen (127.0.0.1:8080 where the site has none)" },
	{ BS_OPTION_U32, 0, "parent", "PID", offsetof(struct request, parent),
	  .help = "ends with this process, as the service starts it (0: none)" },
	{ 0 },
};

/* Makes the kernel end the page before the service when memory runs out. */
static void yield(void)
{
	FILE *f = fopen("/proc/self/oom_score_adj", "we");

	if (f != NULL) {
		(void)fputs("500", f);
		(void)fclose(f);
	}
}

static int run_web(void *request)
{
	struct request *q = request;
	int status;
	struct bs_site *site;

	if (q->parent != 0 && !bs_command_child(q->parent))
		return 1;
	if (q->parent != 0)
		yield();
	(void)prctl(PR_SET_NAME, "bs-web");
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	(void)signal(SIGPIPE, SIG_IGN);
	site = bs_command_site(q->config);
	if (site == NULL)
		return 1;
	if (q->listen != NULL || site->web.listen[0] == '\0')
		(void)snprintf(site->web.listen, sizeof(site->web.listen), "%s",
			       q->listen != NULL ? q->listen : "127.0.0.1:8080");
	bs_command_log_as(site, "web");
	if (!bs_web_loopback(site->web.listen))
		status = bs_options_wrong("--listen %s: 127.0.0.1:PORT", site->web.listen);
	else
		status = bs_web_run(site, q->parent != 0, bs_command_stop());
	free(site);
	return status;
}

const struct bs_command bs_command_web = {
	.name = "web",
	.summary = "the page in a browser and /metrics, beside a running service",
	.options = options,
	.notes = "A service whose site file has web.listen runs it by itself.",
	.request = &(struct request){ 0 },
	.run = run_web,
};
